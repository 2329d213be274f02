"""``--require-hashes`` and lock files, over all builds of a release."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.profiles import nvidia_machine, write_profile
from tests.support.wheels import make_variant_wheels, make_wheel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel

BUILDS = {
    "cu130": "nvidia :: cuda_version_lower_bound :: 13.0",
    "cu126": "nvidia :: cuda_version_lower_bound :: 12.6",
    "null": "",
}


@pytest.fixture
def wheels(index: SimpleIndex) -> dict[str, BuiltWheel]:
    """Label → build of one release on the index; empty for the build without a label."""
    made = make_variant_wheels("vtorch", "2.0", BUILDS)
    index.add(*made)
    return {wheel.filename.removesuffix(".whl").split("-any")[1][1:]: wheel for wheel in made}


def install(
    environment: Environment, index: SimpleIndex, driver: str | None, *words: str | Path
) -> Result:
    """Install for a machine with this driver, or without a GPU."""
    supported = nvidia_machine(driver, "9.0") if driver else {}
    profile = write_profile(environment.home / "machine.toml", supported)
    options = ("--index-url", index.simple_url, "--profile", profile, "--require-hashes")
    return environment.vinstall("install", *options, *words)


def write_requirements(path: Path, wheels: Iterable[BuiltWheel], line: str = "vtorch==2.0") -> Path:
    """A requirements file that lists the hashes of some builds."""
    hashes = " ".join(f"--hash=sha256:{wheel.sha256}" for wheel in wheels)
    path.write_text(f"{line} {hashes}\n")
    return path


@pytest.mark.parametrize(
    ("driver", "label"), [("13.0", "cu130"), ("12.8", "cu126"), (None, "null")]
)
@pytest.mark.parametrize("known", [True, False], ids=["index tells hashes", "index tells none"])
def test_each_machine_takes_its_build(
    index: SimpleIndex,
    environment: Environment,
    wheels: dict[str, BuiltWheel],
    tmp_path: Path,
    driver: str | None,
    label: str,
    known: bool,
) -> None:
    if not known:
        for wheel in wheels.values():
            index.change(wheel.filename, hashes={})
    file = write_requirements(tmp_path / "requirements.txt", wheels.values())
    install(environment, index, driver, "-r", file).check()
    assert environment.label("vtorch") == label


@pytest.mark.parametrize(
    ("listed", "label"),
    [(("cu126", "null", ""), "cu126"), (("null", ""), "null"), (("",), ""), (("cu130",), "cu130")],
)
def test_builds_that_are_not_listed_do_not_count(
    index: SimpleIndex,
    environment: Environment,
    wheels: dict[str, BuiltWheel],
    tmp_path: Path,
    listed: tuple[str, ...],
    label: str,
) -> None:
    file = write_requirements(tmp_path / "r.txt", [wheels[one] for one in listed])
    install(environment, index, "13.0", "-r", file).check()
    assert environment.label("vtorch") == label


def test_a_build_that_does_not_run_here_is_not_taken_for_its_hash(
    index: SimpleIndex, environment: Environment, wheels: dict[str, BuiltWheel], tmp_path: Path
) -> None:
    file = write_requirements(tmp_path / "r.txt", [wheels["cu130"]])
    before = environment.snapshot()
    result = install(environment, index, None, "-r", file).check(1)
    assert "cu130" in result.stderr
    assert environment.snapshot() == before


@pytest.mark.parametrize("driver", ["13.0", None])
@pytest.mark.parametrize("known", [True, False])
def test_a_build_that_was_changed_is_refused(
    index: SimpleIndex,
    environment: Environment,
    wheels: dict[str, BuiltWheel],
    tmp_path: Path,
    driver: str | None,
    known: bool,
) -> None:
    """Whichever build a machine would take: neither it nor another one in its place."""
    file = write_requirements(tmp_path / "r.txt", wheels.values())
    evil = make_variant_wheels("vtorch", "2.0", BUILDS, files={"evil.py": ""})
    for wheel in evil:
        hashes = {"sha256": wheel.sha256} if known else {}
        index.change(wheel.filename, content=wheel.content, hashes=hashes)
    before = environment.snapshot()
    result = install(environment, index, driver, "-r", file).check(1)
    assert "hash" in result.stderr.lower()
    assert environment.snapshot(ignore=["*.vinstall-lock"]) == before


def test_variant_metadata_can_not_smuggle_a_dependency_in(
    index: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    needs = ["vcuda; 'nvidia' in variant_namespaces"]
    wheels = make_variant_wheels("vtorch", "2.0", BUILDS, requires_dist=needs)
    index.add(*wheels, make_wheel("vcuda"))
    file = write_requirements(tmp_path / "r.txt", wheels)
    before = environment.snapshot()
    result = install(environment, index, "13.0", "-r", file).check(1)
    assert "vcuda" in result.stderr
    assert environment.snapshot() == before
    install(environment, index, None, "-r", file).check()
    assert environment.installed() == {"vtorch": "2.0"}


@pytest.mark.parametrize("line", ["vtorch", "vtorch==2.0"])
def test_what_has_no_hash_is_refused(
    index: SimpleIndex, environment: Environment, wheels: dict[str, BuiltWheel], line: str
) -> None:
    install(environment, index, None, line).check(1)
    assert environment.installed() == {}


@pytest.mark.parametrize("fragment", ["", "#", "#egg=vtorch", "#subdirectory=a", "#sha256="])
def test_a_fragment_is_no_hash(
    index: SimpleIndex, environment: Environment, wheels: dict[str, BuiltWheel], fragment: str
) -> None:
    url = f"{index.file_url(wheels['null'].filename)}{fragment}"
    for line in (url, f"vtorch @ {url}"):
        install(environment, index, None, line).check(1)
    assert environment.installed() == {}


def test_a_url_with_its_hash(
    index: SimpleIndex, environment: Environment, wheels: dict[str, BuiltWheel]
) -> None:
    wheel = wheels["null"]
    url = f"{index.file_url(wheel.filename)}#sha256="
    install(environment, index, None, f"vtorch @ {url}{'0' * 64}").check(1)
    install(environment, index, None, f"vtorch @ {url}{wheel.sha256}").check()


@pytest.mark.parametrize("hashes", ["sha256", "md5", "none"])
def test_a_lock_has_a_safe_hash_of_every_build(
    index: SimpleIndex,
    environment: Environment,
    wheels: dict[str, BuiltWheel],
    hashes: str,
) -> None:
    for wheel in wheels.values():
        told = {"none": {}, "md5": {"md5": hashlib.md5(wheel.content).hexdigest()}}
        if hashes in told:
            index.change(wheel.filename, hashes=told[hashes])
    options = ("--index-url", index.simple_url, "--no-providers", "-o", "-")
    document = tomllib.loads(environment.vinstall("lock", *options, "vtorch").check().stdout)
    (package,) = document["packages"]
    found = {wheel["name"]: wheel["hashes"]["sha256"] for wheel in package["wheels"]}
    assert found == {wheel.filename: wheel.sha256 for wheel in wheels.values()}


@pytest.mark.parametrize("driver", ["13.0", "12.8", None])
def test_a_locked_build_that_was_changed_is_refused(
    index: SimpleIndex,
    environment: Environment,
    wheels: dict[str, BuiltWheel],
    tmp_path: Path,
    driver: str | None,
) -> None:
    lock = tmp_path / "pylock.toml"
    options = ("--index-url", index.simple_url, "--no-providers", "-o", lock)
    environment.vinstall("lock", *options, "vtorch").check()
    for wheel in make_variant_wheels("vtorch", "2.0", BUILDS, files={"evil.py": ""}):
        index.change(wheel.filename, content=wheel.content, hashes={"sha256": wheel.sha256})
    supported = nvidia_machine(driver, "9.0") if driver else {}
    profile = write_profile(tmp_path / "machine.toml", supported)
    before = environment.snapshot()
    result = environment.vinstall("sync", "--profile", profile, lock).check(1)
    assert "Expected sha256" in result.stderr
    assert environment.snapshot() == before


@pytest.mark.parametrize(
    "hashes", ["{}", '{md5 = "0"}', '{sha256 = ""}', "{sha256 = 1}", '{unknown = "00"}', '"x"']
)
def test_a_locked_build_without_a_safe_hash_is_refused(
    environment: Environment, tmp_path: Path, hashes: str
) -> None:
    wheel = make_wheel("demo")
    path = wheel.write_to(tmp_path)
    lock = tmp_path / "pylock.toml"
    lock.write_text(
        'lock-version = "1.0"\ncreated-by = "x"\n[[packages]]\nname = "demo"\nversion = "1.0"\n'
        f'[[packages.wheels]]\nname = "{wheel.filename}"\npath = "{path.name}"\n'
        f"hashes = {hashes}\n"
    )
    environment.vinstall("sync", lock).check(1)
    assert environment.installed() == {}
