"""Tags, markers and expansions of every interpreter here, as packaging and pip have them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import packaging
import pytest

from vinstall.environment.database import InstalledDatabase
from vinstall.environment.interpreter import foreign_target, probe_target
from vinstall.events import SilentObserver
from vinstall.settings import TargetSettings

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from vinstall.distributions.target import Target

ASK_PACKAGING = """
import json, sys
sys.path.insert(0, sys.argv[1])
from packaging.markers import default_environment
from packaging.tags import sys_tags
print(json.dumps([sys.executable, [str(tag) for tag in sys_tags()], default_environment()]))
"""
ASK_PIP = """
import json, sys
from pip._internal.utils.compatibility_tags import get_supported
print(json.dumps([str(tag) for tag in get_supported(**json.loads(sys.argv[1]))]))
"""


def run(python: str, code: str, *arguments: str) -> str:
    return subprocess.run(
        [python, "-I", "-c", code, *arguments], check=True, capture_output=True, text=True
    ).stdout


def interpreters() -> list[str]:
    """Every Python from 3.8 on that can be found and run, as its own path."""
    names = ["python3", *(f"python3.{minor}" for minor in range(8, 15))]
    found = [sys.executable, *filter(None, map(shutil.which, names)), "/usr/bin/python3"]
    real = []
    for path in dict.fromkeys(found):
        try:
            real.append(run(path, "import sys; print(sys.executable)").strip())
        except (OSError, subprocess.CalledProcessError):
            continue  # a shim of a Python that is not there
    return list(dict.fromkeys(real))


def probe(python: str) -> Target:
    return probe_target(python, "", SilentObserver())


@pytest.mark.parametrize("python", interpreters())
def test_tags_and_markers_are_those_of_packaging(python: str) -> None:
    folder = str(Path(packaging.__file__).parent.parent)
    _, tags, markers = json.loads(run(python, ASK_PACKAGING, folder))
    target = probe(python)
    assert list(target.tags) == tags
    assert dict(target.markers) == markers


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (TargetSettings(platforms=("manylinux2014_x86_64",)), {}),
        (TargetSettings(platforms=("manylinux1_x86_64",)), {}),
        (TargetSettings(platforms=("manylinux2014_aarch64",)), {}),
        (TargetSettings(platforms=("manylinux_2_28_x86_64",)), {}),
        (TargetSettings(platforms=("musllinux_1_2_x86_64",)), {}),
        (TargetSettings(platforms=("win_amd64",)), {}),
        (TargetSettings(platforms=("macosx_12_0_arm64",)), {}),
        (TargetSettings(platforms=("macosx_10_15_x86_64",)), {}),
        (TargetSettings(platforms=("any",)), {}),
        (
            TargetSettings(platforms=("manylinux_2_28_x86_64", "manylinux2014_x86_64")),
            {},
        ),
        (TargetSettings(python_version="3.9"), {"version": "39"}),
        (TargetSettings(python_version="3.12", platforms=("win32",)), {"version": "312"}),
        (TargetSettings(python_version="3"), {"version": "3"}),
        (
            TargetSettings(implementation="py", platforms=("win32",)),
            {"impl": "py"},
        ),
        (
            TargetSettings(
                implementation="cp", abis=("abi3",), python_version="3.8",
                platforms=("manylinux2014_x86_64",),
            ),
            {"impl": "cp", "abis": ["abi3"], "version": "38"},
        ),
        (
            TargetSettings(
                abis=("cp310", "none"), python_version="3.10", platforms=("linux_x86_64",)
            ),
            {"abis": ["cp310", "none"], "version": "310"},
        ),
    ],
)  # fmt: skip
def test_other_platforms_are_expanded_as_by_pip(
    settings: TargetSettings, options: dict[str, object]
) -> None:
    pytest.importorskip("pip")
    wanted = dict(options)
    if settings.platforms:
        wanted["platforms"] = list(settings.platforms)
    expected = json.loads(run(sys.executable, ASK_PIP, json.dumps(wanted)))
    found = foreign_target(probe(sys.executable), settings)
    # pip names some twice, and for "py" the ABI of the Python that runs it, which no wheel has
    useful = [tag for tag in expected if not ("-cp" in tag and tag.startswith("py"))]
    assert list(found.tags) == list(dict.fromkeys(useful))
    assert found.is_foreign


def test_a_virtual_environment_can_be_required(environment: Environment) -> None:
    base = Path(sys.base_prefix, "bin", "python3")
    if os.name == "nt" or not base.exists():
        pytest.skip("the Python below the tests' own can not be named")
    required = {"PIP_REQUIRE_VIRTUALENV": "1"}
    refused = environment.vinstall(
        "--python", base, "install", "--no-index", "x", variables=required, target=False
    ).check(3)
    assert "Could not find an activated virtualenv (required)" in refused.stderr
    environment.vinstall("install", "--no-index", "x", variables=required).check(1)


@pytest.mark.skipif(
    not list(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")), reason="no such Python here"
)
def test_a_python_of_the_system_is_left_alone(environment: Environment, tmp_path: Path) -> None:
    system = "/usr/bin/python3"

    def install(*options: str | Path) -> str:
        return (
            environment.vinstall(
                "--python", system, "install", "--no-index", *options, "x", target=False
            )
            .check(1)
            .stderr
        )

    assert "externally-managed-environment" in install() or "externally managed" in install()
    for lifted in (
        ["--target", tmp_path / "there"],
        ["--prefix", tmp_path / "there"],
        ["--root", tmp_path / "there"],
        ["--break-system-packages", "--dry-run"],
        ["--dry-run"],
    ):
        assert "externally" not in install(*lifted)


def test_many_distributions_are_listed_and_not_read(tmp_path: Path) -> None:
    for number in range(150):
        info = tmp_path / f"Some_Name{number}-1.{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: Some.Name{number}\nVersion: 1.{number}\n"
        )
    target = probe(sys.executable)
    database = InstalledDatabase(target, search_path=(str(tmp_path),))
    opened: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(str(tmp_path)):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    assert "some-name149" in database
    assert "other" not in database
    assert opened == []
    found = database.get("some-name7")
    assert found is not None
    assert found.version_text == "1.7"
    assert {Path(path).parent.name for path in opened} == {"Some_Name7-1.7.dist-info"}
    assert len(list(database)) == 150
