"""The publisher's side: what vinstall makes is what variantlib and vinstall read (PEP 825)."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.profiles import nvidia_machine, write_profile
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment

LOWER = "nvidia :: cuda_version_lower_bound :: "


@pytest.fixture
def folder(environment: Environment, tmp_path: Path) -> Path:
    """A folder with two variants and ``null`` of one wheel, made by the command."""
    wheel = make_wheel("a", entry_points={"console_scripts": ["a = a:main"]}).write_to(tmp_path)
    out = tmp_path / "out"
    make = ("variant", "make", wheel, "-o", out)
    for label in ("12.6", "13.0"):
        environment.vinstall(
            *make,
            "--label",
            f"cu{label}",
            "--property",
            LOWER + label,
            "--property",
            "nvidia :: sm_arch :: 90_real",
            target=False,
        ).check()
    environment.vinstall(*make, "--label", "null", target=False).check()
    return out


def test_made_wheels_install_by_their_index_file(environment: Environment, folder: Path) -> None:
    environment.vinstall("variant", "index", folder, target=False).check()
    document = json.loads((folder / "a-1.0-variants.json").read_text())
    assert document["$schema"].endswith("/peps/825/v0.1.1.json")
    assert document["default-priorities"] == {"namespace": ["nvidia"]}
    assert document["variants"] == {
        "cu12.6": {"nvidia": {"cuda_version_lower_bound": ["12.6"], "sm_arch": ["90_real"]}},
        "cu13.0": {"nvidia": {"cuda_version_lower_bound": ["13.0"], "sm_arch": ["90_real"]}},
        "null": {},
    }
    profile = write_profile(folder / "machine.toml", nvidia_machine("12.8", "9.0"))
    environment.vinstall(
        "install", "--no-index", "--find-links", folder, "--profile", profile, "a"
    ).check()
    (entry,) = environment.vinstall("list", "--format=json").check().json()
    assert entry["variant"] == "cu12.6"


def test_show_and_unmake(environment: Environment, folder: Path, tmp_path: Path) -> None:
    made = folder / "a-1.0-py3-none-any-cu13.0.whl"
    shown = environment.vinstall("variant", "show", "--json", made, target=False).check().json()
    assert shown == [
        {
            "filename": made.name,
            "label": "cu13.0",
            "properties": [LOWER + "13.0", "nvidia :: sm_arch :: 90_real"],
            "namespaces": ["nvidia"],
        }
    ]
    environment.vinstall("variant", "unmake", made, "-o", tmp_path / "plain", target=False).check()
    (plain,) = (tmp_path / "plain").iterdir()
    assert plain.name == "a-1.0-py3-none-any.whl"
    environment.vinstall("install", "--no-index", plain).check()
    assert environment.installed() == {"a": "1.0"}


@pytest.mark.skipif(find_spec("variantlib") is None, reason="variantlib is not installed")
def test_variantlib_reads_what_is_made_with_providers(
    environment: Environment, tmp_path: Path
) -> None:
    import zipfile

    from variantlib.variant_dist_info import (  # type: ignore[import-untyped, unused-ignore]
        VariantDistInfo,
    )

    wheel = make_wheel("a").write_to(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[variant.default-priorities]\nnamespace = ["nvidia"]\n'
        '[variant.providers.nvidia]\nrequires = ["nvidia-variant-provider"]\n'
    )
    environment.vinstall(
        *("variant", "make", wheel, "--label", "gpu", "--property", LOWER + "12.6"),
        *("--metadata", tmp_path / "pyproject.toml"),
        target=False,
    ).check()
    with zipfile.ZipFile(tmp_path / "a-1.0-py3-none-any-gpu.whl") as archive:
        data = archive.read("a-1.0.dist-info/variant.json")
    found = VariantDistInfo(data, "gpu")
    assert [one.to_str() for one in found.variant_desc.properties] == [LOWER + "12.6"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--label", "GPU", "--property", LOWER + "12"], "label"),
        (["--label", "gpu"], "properties"),
        (["--label", "null", "--property", LOWER + "12"], "null"),
        (["--property", LOWER + "12"], "--label"),
    ],
)
def test_what_can_not_be_made(
    environment: Environment, tmp_path: Path, arguments: list[str], part: str
) -> None:
    wheel = make_wheel("a").write_to(tmp_path)
    result = environment.vinstall("variant", "make", wheel, *arguments, target=False).check(2)
    assert part in result.stderr
    assert sorted(path.name for path in tmp_path.glob("*.whl")) == [wheel.name]


def test_nothing_that_fits_is_said(environment: Environment, folder: Path, tmp_path: Path) -> None:
    environment.vinstall("variant", "index", folder, target=False).check()
    profile = write_profile(tmp_path / "old.toml", nvidia_machine("11.8", "9.0"))
    result = environment.vinstall(
        "variant", "rank", folder / "a-1.0-variants.json", "--profile", profile, target=False
    ).check()
    assert result.stdout.splitlines()[0] == "1. null"
    assert f"hint: No variant fits the profile {profile}" in result.stderr
    assert f"the profile {profile} supports" in result.stdout
    assert "this machine" not in result.stdout
