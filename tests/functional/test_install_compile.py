"""Compiling what was installed, with the interpreter it was installed for."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site, Stop
from vinstall.errors import InstallError
from vinstall.install.transaction import InstallOptions

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = make_wheel(
    "demo",
    files={
        "demo/__init__.py": "X = 1\n",
        "demo/sub/mod.py": "Y = 2\n",
        "demo/template.py": "this is {not} python\n",
        "single.py": "",
    },
    data={"scripts/run.py": "#!python\n"},
)
OPTIONS = InstallOptions(compile=True, warn_script_location=False)


def expected(site: Site) -> set[str]:
    sources = ["demo/__init__.py", "demo/sub/mod.py", "single.py"]
    return {
        os.path.relpath(cache_from_source(str(site.library / source)), site.library)
        for source in sources
    }


def test_modules_are_compiled_and_recorded(tmp_path: Path) -> None:
    site = Site(tmp_path, sys.executable)
    site.install(WHEEL, options=OPTIONS)
    compiled = {path.relative_to(site.library).as_posix() for path in site.root.rglob("*.pyc")}
    assert compiled == expected(site)
    record = site.record("demo")
    assert {path for path in record if path.endswith(".pyc")} == compiled
    assert {record[path] for path in compiled} == {("", "")}
    site.remove("demo")
    assert list(site.library.iterdir()) == []


def test_a_failure_after_compiling_leaves_no_bytecode(tmp_path: Path) -> None:
    def checkpoint(name: str) -> None:
        if name.startswith("record"):
            assert list(site.root.rglob("*.pyc"))
            raise Stop

    site = Site(tmp_path, sys.executable)
    site.library.mkdir(parents=True)
    before = site.tree()
    options = InstallOptions(compile=True, checkpoint=checkpoint)
    with pytest.raises(InstallError):
        site.install(WHEEL, options=options)
    assert site.tree() == before


def test_an_interpreter_that_does_not_start_only_costs_the_bytecode(tmp_path: Path) -> None:
    site = Site(tmp_path, str(tmp_path / "no-python"))
    site.install(WHEEL, options=OPTIONS)
    assert not list(site.root.rglob("*.pyc"))
    assert (site.library / "single.py").exists()
