"""``lock`` and ``sync``: locked on one machine, used on another (PEP 751, PEP 825)."""

from __future__ import annotations

import json
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
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

BUILDS = {
    "cu130": "nvidia :: cuda_version_lower_bound :: 13.0",
    "cu126": "nvidia :: cuda_version_lower_bound :: 12.6",
    "null": "",
}
NEEDS = [
    "vcuda; 'nvidia' in variant_namespaces",
    "vthreads; variant_label in 'null'",
]


@pytest.fixture
def lock(index: SimpleIndex, environment: Environment, tmp_path: Path) -> Path:
    """A lock of ``app``, which needs ``vtorch``, made on a machine without a GPU."""
    index.add(*make_variant_wheels("vtorch", "2.0", BUILDS, requires_dist=NEEDS))
    index.add(make_wheel("vcuda"), make_wheel("vthreads"))
    index.add(make_wheel("app", requires_dist=["vtorch"]))
    path = tmp_path / "pylock.toml"
    arguments = ("--index-url", index.simple_url, "--no-providers", "-o", path)
    environment.vinstall("lock", *arguments, "app").check()
    return path


def test_every_build_is_locked_with_its_hash_and_the_metadata(lock: Path) -> None:
    document = tomllib.loads(lock.read_text())
    assert document["lock-version"] == "1.0"
    packages = {package["name"]: package for package in document["packages"]}
    assert set(packages) == {"app", "vtorch", "vcuda", "vthreads"}
    names = [wheel["name"] for wheel in packages["vtorch"]["wheels"]]
    assert names == [
        "vtorch-2.0-py3-none-any-cu126.whl",
        "vtorch-2.0-py3-none-any-cu130.whl",
        "vtorch-2.0-py3-none-any-null.whl",
        "vtorch-2.0-py3-none-any.whl",
    ]
    for package in packages.values():
        assert all(len(wheel["hashes"]["sha256"]) == 64 for wheel in package["wheels"])
    inlined = packages["vtorch"]["variants-json"]
    assert inlined["$schema"].endswith(".json")
    assert inlined["default-priorities"] == {"namespace": ["nvidia"]}
    assert inlined["variants"] == {
        "cu126": {"nvidia": {"cuda_version_lower_bound": ["12.6"]}},
        "cu130": {"nvidia": {"cuda_version_lower_bound": ["13.0"]}},
        "null": {},
    }


@pytest.mark.parametrize(
    ("driver", "label", "needed"),
    [("13.0", "cu130", "vcuda"), ("12.8", "cu126", "vcuda"), (None, "null", "vthreads")],
)
def test_the_build_is_chosen_where_the_lock_is_used(
    lock: Path,
    index: SimpleIndex,
    make_environment: Callable[..., Environment],
    tmp_path: Path,
    driver: str | None,
    label: str,
    needed: str,
) -> None:
    other = make_environment("other")
    supported = nvidia_machine(driver, "9.0") if driver else {}
    profile = write_profile(tmp_path / "machine.toml", supported)
    index.clear()
    other.vinstall("sync", "--profile", profile, lock).check()
    assert set(other.installed()) == {"app", "vtorch", needed}
    assert other.label("vtorch") == label
    assert index.count("/simple/*") == 0
    assert index.count("*-variants.json") == 0


def test_sync_removes_what_is_not_locked_and_switches_builds(
    lock: Path, index: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    index.add(make_wheel("stray"))
    environment.vinstall("--index-url", index.simple_url, "stray").check()
    empty = write_profile(tmp_path / "empty.toml", {})
    first = environment.vinstall("sync", "--profile", empty, lock).check()
    assert "Successfully uninstalled stray-1.0" in first.stdout
    assert environment.label("vtorch") == "null"
    gpu = write_profile(tmp_path / "gpu.toml", nvidia_machine("12.8", "9.0"))
    second = environment.vinstall("sync", "--profile", gpu, lock).check()
    assert environment.label("vtorch") == "cu126"
    assert set(environment.installed()) == {"app", "vtorch", "vcuda"}
    assert "Successfully uninstalled vthreads-1.0" in second.stdout
    again = environment.vinstall("sync", "--profile", gpu, lock).check()
    assert "Successfully" not in again.stdout


def test_install_takes_a_lock_file_by_its_name(
    lock: Path, make_environment: Callable[..., Environment]
) -> None:
    other = make_environment("other")
    other.vinstall("install", "--no-providers", "-r", lock).check()
    assert set(other.installed()) == {"app", "vtorch", "vthreads"}


def test_a_changed_file_is_refused(
    lock: Path, index: SimpleIndex, make_environment: Callable[..., Environment]
) -> None:
    other = make_environment("other")
    index.change(
        "app-1.0-py3-none-any.whl", content=make_wheel("app", files={"app.py": "evil"}).content
    )
    before = other.snapshot()
    result = other.vinstall("sync", "--no-providers", "--no-cache-dir", lock).check(1)
    assert "Expected sha256" in result.stderr
    assert other.snapshot() == before


def test_pip_reads_the_plain_wheels_of_the_lock(lock: Path, environment: Environment) -> None:
    """pip 26 knows no variants and refuses their file names: the rest of the file is sound."""
    document = tomllib.loads(lock.read_text())
    from packaging.pylock import Pylock

    for package in document["packages"]:
        package.pop("variants-json", None)
        package["wheels"] = [wheel for wheel in package["wheels"] if wheel["name"].count("-") == 4]
    Pylock.from_dict(document)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "lock-version"),
        ("x = [", "TOML"),
        ('lock-version = "2.0"', "2.0"),
        ('lock-version = "1.0"\n[[packages]]\nversion = "1"', "packages[0] has no name"),
        (
            'lock-version = "1.0"\n[[packages]]\nname = "a"\nwheels = [{url = "https://h/a"}]',
            "packages[0] (a).wheels[0] has no hashes",
        ),
    ],
)
def test_a_bad_lock_is_told_with_its_place(
    environment: Environment, tmp_path: Path, text: str, part: str
) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(text)
    result = environment.vinstall("sync", path).check(1)
    assert part in result.stderr


def test_the_lock_is_the_same_when_made_again(
    lock: Path, index: SimpleIndex, environment: Environment
) -> None:
    arguments = ("--index-url", index.simple_url, "--no-providers", "-o", "-")
    result = environment.vinstall("lock", *arguments, "app").check()
    assert tomllib.loads(result.stdout) == tomllib.loads(lock.read_text())
    assert json.dumps(tomllib.loads(result.stdout)["tool"]["vinstall"]["requirements"]) == '["app"]'
