"""Homes, caches and disks that are not as they should be: it works, or nothing is changed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT, isolated_variables, run_command
from tests.support.wheels import make_wheel
from vinstall.workflow.space import device_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex

HOME_NAMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_", "NETRC")


def install(
    environment: Environment, index: SimpleIndex, home: str | None, *options: str, **more: str
) -> Result:
    """Install ``demo`` without any variable that says where a person's files are."""
    variables = {
        name: value
        for name, value in isolated_variables(environment.home).items()
        if not name.startswith(HOME_NAMES)
    }
    variables.update(more, PYTHONPATH=str(ROOT))
    if home is not None:
        variables["HOME"] = home
    return run_command(
        [
            sys.executable, "-m", "vinstall", "--python", environment.python, "install",
            "--index-url", index.simple_url, *options, "demo",
        ],
        variables=variables,
        cwd=environment.home,
    )  # fmt: skip


@pytest.fixture
def other_device(tmp_path: Path) -> Iterator[Path]:
    shared = Path("/dev/shm")
    if not shared.is_dir() or device_of(shared) == device_of(tmp_path):
        pytest.skip("one file system only")
    folder = Path(tempfile.mkdtemp(dir=shared))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", ["unset", "a file", "below a file", "a device", "proc"])
def test_homes_that_can_not_be_written(
    index: SimpleIndex, environment: Environment, tmp_path: Path, kind: str
) -> None:
    index.add(make_wheel("demo"))
    file = tmp_path / "file"
    file.write_text("text")
    home = {
        "unset": None,
        "a file": str(file),
        "below a file": str(file / "home"),
        "a device": "/dev/null",
        "proc": "/proc",
    }[kind]
    options = ("--cache-dir", str(tmp_path / "cache")) if home is None else ()
    install(environment, index, home, *options).check()
    assert environment.installed() == {"demo": "1.0"}
    assert not [path.name for path in environment.path.iterdir() if path.name.startswith(".")]


def test_a_cache_on_another_device(
    index: SimpleIndex, environment: Environment, other_device: Path
) -> None:
    index.add(make_wheel("demo", files={"demo/a.py": "A = 1\n", "demo/b.py": "B = 2\n"}))
    cache = ("--cache-dir", str(other_device / "cache"))
    install(environment, index, str(environment.home), *cache).check()
    assert (environment.site_packages / "demo" / "a.py").read_text() == "A = 1\n"
    assert (environment.site_packages / "demo" / "a.py").stat().st_nlink == 1


def test_no_room_is_said_before_the_first_byte(
    index: SimpleIndex, environment: Environment
) -> None:
    wheel = make_wheel("demo")
    index.add(wheel)
    index.change(wheel.filename, size=4 * 10**18)
    before = environment.snapshot()
    result = install(environment, index, str(environment.home)).check(1)
    assert "There is not enough room on the file system of" in result.stderr
    assert "4000000000.0 GB to download" in result.stderr
    assert "are free" in result.stderr
    assert index.count(f"/files/{wheel.filename}", method="GET") == 0
    assert environment.snapshot() == before


def test_a_temporary_folder_that_is_missing(
    index: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    index.add(make_wheel("demo"))
    install(environment, index, str(environment.home), TMPDIR=str(tmp_path / "none")).check()
    assert environment.installed() == {"demo": "1.0"}


def test_overlap_is_refused_unless_allowed(index: SimpleIndex, environment: Environment) -> None:
    index.add(
        make_wheel("other", files={"shared.py": "other"}),
        make_wheel("demo", files={"shared.py": "demo"}),
    )
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "other").check()
    before = environment.snapshot()
    result = environment.vinstall("install", *options, "demo").check(1)
    assert "demo and other can not be installed together" in result.stderr
    assert "--allow-overlap" in result.stderr
    assert environment.snapshot() == before
    result = environment.vinstall("install", *options, "--allow-overlap", "demo").check()
    assert (environment.site_packages / "shared.py").read_text() == "demo"
    environment.vinstall("uninstall", "--yes", "other").check()
    assert (environment.site_packages / "shared.py").read_text() == "demo"
