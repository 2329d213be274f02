"""Builds in environments of their own: what they see is what the target would get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.profiles import nvidia_machine, write_profile
from tests.support.sdist import make_sdist, source_tree, write_source_tree
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

LOWER = "nvidia :: cuda_version_lower_bound :: "

SEEING = """\
import pathlib
import backend
from backend import *


def _look():
    try:
        import engine
        seen = engine.VARIANT
    except ImportError:
        seen = "nothing"
    place = pathlib.Path(__file__).resolve().parent.parent / "src" / "sample.py"
    place.parent.mkdir(exist_ok=True)
    place.write_text("VARIANT = " + repr(seen))


def build_wheel(*arguments):
    _look()
    return backend.build_wheel(*arguments)


def build_editable(*arguments):
    _look()
    return backend.build_editable(*arguments)
"""
"""A build backend that writes down which build of ``engine`` it can import."""


def seeing_tree(*requires: str) -> dict[str, str]:
    """A project whose module tells which build of ``engine`` its own build saw."""
    tree = source_tree("sample", build_requires=requires or ("engine",))
    text = tree["pyproject.toml"].replace('"backend"', '"seeing"')
    return {**tree, "pyproject.toml": text, "_build/seeing.py": SEEING}


@pytest.fixture
def engines(index: SimpleIndex) -> SimpleIndex:
    """An index with two variants, ``null`` and a plain wheel of ``engine`` 1.0."""
    variants = {"cu126": LOWER + "12.6", "cu130": LOWER + "13.0", "null": ""}
    index.add(*make_variant_wheels("engine", "1.0", variants, plain=True))
    return index


@pytest.mark.parametrize("editable", [False, True])
@pytest.mark.parametrize(
    ("options", "label"),
    [
        ([], "cu126"),
        (["--variant", "engine=null"], "null"),
        (["--no-variant"], ""),
    ],
)
def test_builds_see_the_variant_that_the_target_gets(
    environment: Environment,
    engines: SimpleIndex,
    tmp_path: Path,
    options: list[str],
    label: str,
    editable: bool,
) -> None:
    project = write_source_tree(tmp_path / "project", seeing_tree())
    profile = write_profile(tmp_path / "machine.toml", nvidia_machine("12.8", "9.0"))
    asked: list[str | Path] = ["install", "--index-url", engines.simple_url, *options]
    asked += ["--profile", profile, "engine", *(["-e"] if editable else []), project]
    environment.vinstall(*asked).check()
    assert environment.label("engine") == label
    assert environment.label("sample") == label


def test_builds_see_the_variant_that_the_target_has(
    environment: Environment, engines: SimpleIndex, tmp_path: Path
) -> None:
    project = write_source_tree(tmp_path / "project", seeing_tree())
    profile = write_profile(tmp_path / "machine.toml", nvidia_machine("13.0", "9.0"))
    common = ("install", "--index-url", engines.simple_url, "--profile", profile)
    environment.vinstall(*common, "--variant", "engine=cu126", "engine").check()
    environment.vinstall(*common, project).check()
    assert environment.label("engine") == "cu126"
    assert environment.label("sample") == "cu126"


def test_what_is_installed_is_not_seen(environment: Environment, tmp_path: Path) -> None:
    make_wheel("engine", files={"engine.py": "VARIANT = 'installed'\n"}).write_to(tmp_path)
    tree = seeing_tree()
    tree["pyproject.toml"] = tree["pyproject.toml"].replace('["engine"]', "[]")
    project = write_source_tree(tmp_path / "project", tree)
    environment.vinstall("install", "--no-index", "-f", tmp_path, "engine").check()
    environment.vinstall("install", "--no-index", project).check()
    assert environment.label("sample") == "nothing"
    environment.vinstall(
        "install", "--no-index", "--no-build-isolation", "--force-reinstall", project
    ).check()
    assert environment.label("sample") == "installed"


def test_build_constraints_hold_for_builds_alone(environment: Environment, tmp_path: Path) -> None:
    for version in ("1.0", "2.0"):
        files = {"engine.py": f"VARIANT = {version!r}\n"}
        make_wheel("engine", version, files=files).write_to(tmp_path)
    project = write_source_tree(tmp_path / "project", seeing_tree())
    limits = tmp_path / "limits.txt"
    limits.write_text("engine<2\n")
    common = ("install", "--no-index", "-f", tmp_path)
    environment.vinstall(*common, "--build-constraint", limits, "engine", project).check()
    assert environment.label("engine") == "2.0"
    assert environment.label("sample") == "1.0"
    environment.vinstall(*common, "-c", limits, "--force-reinstall", project).check()
    assert environment.label("sample") == "2.0"


def test_what_a_build_needs_is_named_where_it_can_not_be_had(
    environment: Environment, tmp_path: Path
) -> None:
    project = write_source_tree(tmp_path / "project", seeing_tree("engine>=9"))
    result = environment.vinstall("install", "--no-index", project).check(1)
    assert f"What the build of {project} needs can not be installed (engine>=9)" in result.stderr
    assert environment.installed() == {}


def test_a_build_that_needs_itself_ends(environment: Environment, tmp_path: Path) -> None:
    make_sdist("loop", build_requires=["loop"]).write_to(tmp_path)
    result = environment.vinstall("install", "--no-index", "-f", tmp_path, "loop").check(1)
    assert "it needs itself" in result.stderr


@pytest.mark.parametrize("editable", [False, True])
def test_check_build_dependencies(environment: Environment, tmp_path: Path, editable: bool) -> None:
    make_wheel("engine", files={"engine.py": "VARIANT = 'there'\n"}).write_to(tmp_path)
    project = write_source_tree(tmp_path / "project", seeing_tree("engine>=1"))
    common = ("install", "--no-index", "-f", tmp_path, "--no-build-isolation")
    asked: list[str | Path] = [*common, "--check-build-dependencies", project]
    if editable:
        asked.insert(-1, "-e")
    result = environment.vinstall(*asked).check(1)
    assert "engine>=1" in result.stderr
    assert "missing" in result.stderr
    environment.vinstall(*common, "engine").check()
    environment.vinstall(*asked).check()
    assert environment.label("sample") == "there"


def test_an_archive_that_leads_out_is_refused(environment: Environment, tmp_path: Path) -> None:
    path = make_sdist("sample", fault="parent-path").write_to(tmp_path / "files")
    result = environment.vinstall("install", "--no-index", path).check(1)
    assert "leads out of its folder" in result.stderr
    assert not list(tmp_path.rglob("escaped.txt"))


def test_settings_of_a_line_reach_its_build_alone(environment: Environment, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_source_tree(tmp_path / name, source_tree(name))
    (tmp_path / "a.txt").write_text(
        f"{tmp_path / 'one'} --config-settings=key=line\n-e {tmp_path / 'two'}\n"
    )
    environment.vinstall("install", "--no-index", "-r", tmp_path / "a.txt").check()
    settings = environment.site_packages / "one_config_settings.json"
    assert json.loads(settings.read_text()) == {"key": "line"}
    assert not (environment.site_packages / "two_config_settings.json").exists() or (
        json.loads((environment.site_packages / "two_config_settings.json").read_text())
        != {"key": "line"}
    )
