"""Tags of any interpreter from the facts of its probe; packaging is the second opinion."""

from __future__ import annotations

import pytest
from packaging import tags as packaging_tags

from vinstall.environment.tags import (
    compose_tags,
    expand_platform,
    iter_manylinux,
    iter_musllinux,
    iter_platforms,
    list_tags,
)

LINUX = {"platform": "linux-x86_64", "libc": "glibc", "libc_version": "2.17", "pointer_bits": "64"}


def facts(**changes: str) -> dict[str, str]:
    return {**LINUX, **changes}


def test_cpython_on_linux_in_the_order_of_the_specification() -> None:
    found = list_tags((3, 9), "cpython", facts())
    assert found[:3] == (
        "cp39-cp39-linux_x86_64",
        "cp39-cp39-manylinux_2_17_x86_64",
        "cp39-cp39-manylinux2014_x86_64",
    )
    order = [
        "cp39-cp39-manylinux2014_x86_64",
        "cp39-abi3-manylinux2014_x86_64",
        "cp39-none-manylinux2014_x86_64",
        "cp38-abi3-manylinux2014_x86_64",
        "cp32-abi3-manylinux2014_x86_64",
        "py39-none-manylinux2014_x86_64",
        "py3-none-manylinux2014_x86_64",
        "cp39-none-any",
        "py39-none-any",
        "py3-none-any",
        "py38-none-any",
    ]
    assert sorted(order, key=found.index) == order
    assert len(set(found)) == len(found)
    assert "cp38-cp38-manylinux2014_x86_64" not in found


def test_free_threaded_builds_take_no_stable_abi() -> None:
    found = list_tags((3, 13), "cpython", facts(abi_flags="t"))
    assert found[0] == "cp313-cp313t-linux_x86_64"
    assert not [tag for tag in found if "-abi3-" in tag or "-cp313-" in tag]


def test_debug_builds_load_ordinary_extensions_too() -> None:
    found = list_tags((3, 12), "cpython", facts(abi_flags="d"))
    first = found.index("cp312-cp312d-linux_x86_64")
    assert first < found.index("cp312-cp312-linux_x86_64")
    assert "cp312-abi3-linux_x86_64" in found


def test_pypy() -> None:
    found = list_tags((3, 10), "pypy", facts(soabi="pypy310-pp73"))
    assert found[0] == "pp310-pypy310_pp73-linux_x86_64"
    for tag in ("pp310-none-linux_x86_64", "pp3-none-any", "py3-none-any"):
        assert tag in found
    assert not [tag for tag in found if tag.startswith("cp")]


def test_musl_gets_no_manylinux() -> None:
    platforms = list(iter_platforms(facts(libc="musl", libc_version="1.2")))
    assert platforms == [
        "linux_x86_64",
        "musllinux_1_2_x86_64",
        "musllinux_1_1_x86_64",
        "musllinux_1_0_x86_64",
    ]


def test_an_unknown_c_library_gets_neither() -> None:
    assert list(iter_platforms(facts(libc="", libc_version=""))) == ["linux_x86_64"]


def test_a_32_bit_interpreter_on_a_64_bit_kernel() -> None:
    platforms = list(iter_platforms(facts(pointer_bits="32", libc_version="2.5")))
    assert platforms == ["linux_i686", "manylinux_2_5_i686", "manylinux1_i686"]


@pytest.mark.parametrize(
    ("platform", "changes", "has"),
    [
        ("linux-aarch64", {}, True),
        ("linux-armv7l", {"pointer_bits": "32", "hard_float": "yes"}, True),
        ("linux-armv7l", {"pointer_bits": "32"}, False),
        ("linux-armv6l", {"pointer_bits": "32"}, False),
        ("linux-riscv64", {}, True),
    ],
)
def test_manylinux_is_for_certain_machines(
    platform: str, changes: dict[str, str], has: bool
) -> None:
    found = list(iter_platforms(facts(platform=platform, **changes)))
    machine = platform.partition("-")[2]
    assert (f"manylinux_2_17_{machine}" in found) is has


def test_what_a_manylinux_module_refuses() -> None:
    found = list(iter_platforms(facts(libc_version="2.18", libc_refused="2.17 2.5")))
    assert "manylinux_2_18_x86_64" in found
    assert "manylinux_2_17_x86_64" not in found
    assert "manylinux2014_x86_64" not in found
    assert "manylinux2010_x86_64" in found
    assert "manylinux1_x86_64" not in found


def test_old_names_stand_behind_their_glibc() -> None:
    found = list(iter_manylinux("2.17", "x86_64"))
    assert found[:2] == ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]
    assert found[-2:] == ["manylinux_2_5_x86_64", "manylinux1_x86_64"]
    assert list(iter_manylinux("2.18", "aarch64")) == [
        "manylinux_2_18_aarch64",
        "manylinux_2_17_aarch64",
        "manylinux2014_aarch64",
    ]


@pytest.mark.parametrize("version", ["", "2", "x.y", "2.x"])
def test_odd_versions_of_a_c_library_give_nothing(version: str) -> None:
    assert list(iter_manylinux(version, "x86_64")) == []
    assert list(iter_musllinux(version, "x86_64")) == []


@pytest.mark.parametrize(("version", "machine"), [("14.2", "arm64"), ("11.0", "x86_64")])
def test_macos_as_packaging_has_it(version: str, machine: str) -> None:
    mac = {"platform": f"macosx-11.0-{machine}", "mac_version": version, "mac_machine": machine}
    major, minor = map(int, version.split("."))
    assert list(iter_platforms(mac)) == list(packaging_tags.mac_platforms((major, minor), machine))


@pytest.mark.parametrize("platform", ["win-amd64", "win32", "win-arm64"])
def test_windows(platform: str) -> None:
    assert list(iter_platforms({"platform": platform})) == [platform.replace("-", "_")]


def test_platforms_that_a_user_names() -> None:
    assert expand_platform("manylinux2014_x86_64") == [
        "manylinux2014_x86_64",
        "manylinux2010_x86_64",
        "manylinux1_x86_64",
    ]
    assert expand_platform("manylinux2014_aarch64") == ["manylinux2014_aarch64"]
    assert expand_platform("manylinux_2_28_x86_64") == ["manylinux_2_28_x86_64"]
    assert expand_platform("win-amd64") == ["win_amd64"]
    found = expand_platform("macosx_11_0_arm64")
    assert found[:2] == ["macosx_11_0_arm64", "macosx_11_0_universal2"]


def test_abis_that_a_user_names() -> None:
    found = compose_tags((3, 11), "cp", ["win_amd64"], {}, ["cp311"])
    assert found[0] == "cp311-cp311-win_amd64"
    assert "cp311-none-win_amd64" in found
    assert "cp311-none-any" in found


def test_the_implementation_that_takes_pure_wheels_alone() -> None:
    found = compose_tags((3, 11), "py", ["linux_x86_64"], {})
    assert {tag.partition("-")[0][:2] for tag in found} == {"py"}
    assert "py3-none-any" in found
