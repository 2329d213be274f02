"""What pip installed can be replaced and removed here, and the other way round."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site, picture

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.wheels import BuiltWheel

FILES: dict[str, str | bytes] = {
    "demo/__init__.py": "def main():\n    print('hello')\n",
    "demo/data.bin": b"\0\1",
}
POINTS = {"console_scripts": ["demo = demo:main"]}
DATA = {"data/share/demo/x.txt": "x", "scripts/run": "#!python\nprint(1)\n", "headers/d.h": "h"}


def wheel(version: str) -> BuiltWheel:
    # the script has its executable bit in the wheel: pip does not add it
    return make_wheel(
        "demo",
        version,
        files=FILES,
        entry_points=POINTS,
        data=DATA,
        executable=["scripts/run"],
    )


@pytest.fixture
def site(environment: Environment, tmp_path: Path) -> Site:
    made = Site(tmp_path, str(environment.python))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    made.root, made.library = environment.path, environment.site_packages
    made.scripts = environment.scripts
    made.paths = {
        "purelib": str(made.library),
        "platlib": str(made.library),
        "scripts": str(made.scripts),
        "data": str(made.root),
        "headers": str(made.root / "include" / "site" / version),
    }
    return made


def pip(environment: Environment, *arguments: str) -> None:
    environment.pip(*arguments).check()


def files(root: Path) -> set[str]:
    return {
        path
        for path, (kind, _, _) in picture(root).items()
        if kind == "file" and "__pycache__" not in path and not path.endswith(".vinstall-lock")
    }


@pytest.mark.parametrize("compiled", ["--compile", "--no-compile"])
def test_replace_and_remove_what_pip_installed(
    environment: Environment, site: Site, tmp_path: Path, compiled: str
) -> None:
    empty = files(site.root)
    path = wheel("1.0").write_to(tmp_path / "wheels")
    pip(environment, "install", "--no-deps", "--no-index", compiled, str(path))
    by_pip = site.get("demo")
    assert by_pip.installer == "pip"
    site.install(wheel("2.0"))
    assert site.get("demo").version_text == "2.0"
    assert not Path(by_pip.info).exists()
    site.remove("demo")
    assert files(site.root) == empty
    assert not list(site.library.rglob("demo*"))


def test_the_files_are_those_of_pip(environment: Environment, site: Site, tmp_path: Path) -> None:
    path = wheel("1.0").write_to(tmp_path / "wheels")
    pip(environment, "install", "--no-deps", "--no-index", "--no-compile", str(path))
    expected, record = files(site.root), site.record("demo")
    modes = {name: mode for name, (_, mode, _) in site.tree().items()}
    pip(environment, "uninstall", "-y", "demo")
    site.apply([site.step(wheel("1.0"), requested=True, direct_url={"url": "file:///x"})])
    assert files(site.root) == expected
    assert set(site.record("demo")) == set(record)
    same = set(record) - {
        f"demo-1.0.dist-info/{name}" for name in ("INSTALLER", "direct_url.json", "RECORD")
    }
    for name in same - {"../../../bin/demo"}:
        assert site.record("demo")[name] == record[name], name
    assert {name: mode for name, (_, mode, _) in site.tree().items()} == modes


def test_pip_removes_what_was_installed_here(environment: Environment, site: Site) -> None:
    empty = files(site.root)
    site.apply([site.step(wheel("1.0"), requested=True, reason={"label": ""})])
    assert (
        subprocess.run([site.scripts / "demo"], capture_output=True, text=True, check=True).stdout
        == "hello\n"
    )
    pip(environment, "uninstall", "-y", "demo")
    assert files(site.root) == empty


def test_removals_are_told_one_by_one(environment: Environment, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_wheel(name).write_to(tmp_path)
    environment.vinstall("install", "--no-index", "-f", tmp_path, "one", "two").check()
    result = environment.vinstall("uninstall", "-y", "two", "one").check()
    assert result.stdout.splitlines() == [
        "Found existing installation: two 1.0",
        "Uninstalling two-1.0:",
        "  Successfully uninstalled two-1.0",
        "Found existing installation: one 1.0",
        "Uninstalling one-1.0:",
        "  Successfully uninstalled one-1.0",
    ]
