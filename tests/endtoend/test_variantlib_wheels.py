"""Variant wheels made by variantlib, served over HTTP, chosen for many machines.

The wheels and the index-level file come from another implementation of the format
(``variantlib make-variant`` and ``generate-index-json``), so that both ends of the road
meet here: what publishers make is what vinstall takes.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.index import HostedFile, SimpleIndex
from tests.support.profiles import nvidia_machine, write_profile, x86_machine
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.environments import Environment

pytestmark = pytest.mark.skipif(
    find_spec("variantlib") is None, reason="variantlib is not installed (Python 3.11 and newer)"
)

ENTRY = "import sys; from variantlib.commands.main import main; sys.exit(main())"

PYPROJECT = """
[variant.default-priorities]
namespace = ["nvidia", "aarch64", "x86_64"]

[variant.providers.nvidia]
requires = ["nvidia-variant-provider>=0.0.1"]
plugin-api = "nvidia_variant_provider.plugin:NvidiaVariantPlugin"

[variant.providers.aarch64]
requires = ["provider-variant-aarch64>=0.0.1"]

[variant.providers.x86_64]
requires = ["provider-variant-x86-64>=0.0.1"]
"""

VARIANTS = {
    "cu118": [
        "nvidia :: cuda_version_lower_bound :: 11.8",
        "nvidia :: sm_arch :: 60_real",
        "nvidia :: sm_arch :: 61_real",
        "nvidia :: sm_arch :: 70_real",
    ],
    "cu128": [
        "nvidia :: cuda_version_lower_bound :: 12.8",
        "nvidia :: sm_arch :: 80_real",
        "nvidia :: sm_arch :: 90_real",
    ],
    "cu130": [
        "nvidia :: cuda_version_lower_bound :: 13.0",
        "nvidia :: sm_arch :: 90_real",
        "nvidia :: sm_arch :: 120_real",
    ],
    "v2": ["x86_64 :: level :: v2"],
    "v3": ["x86_64 :: level :: v3"],
    "v4": ["x86_64 :: level :: v4"],
    "arm": ["aarch64 :: version :: 8.2a"],
}

ARM = {"aarch64": {"version": ["9.0a", "8.5a", "8.2a", "8.1a", "8.0a"]}}

MACHINES = {
    "no GPU, old CPU": ({"x86_64": {"level": ["v1"]}}, "null"),
    "CUDA 12.8, sm 9.0": (nvidia_machine("12.8", "9.0"), "cu128"),
    "CUDA 13.0, sm 12.0": (nvidia_machine("13.0", "12.0"), "cu130"),
    "CUDA 13.0, sm 9.0": (nvidia_machine("13.0", "9.0"), "cu130"),
    "CUDA 11.8, sm 6.1": (nvidia_machine("11.8", "6.1"), "cu118"),
    "CUDA 12.8, sm 12.0: no build for both": (nvidia_machine("12.8", "12.0"), "null"),
    "GPU and CPU: the GPU comes first": (
        {**nvidia_machine("12.8", "9.0"), **x86_machine(4)},
        "cu128",
    ),
    "GPU without a build, CPU with one": (
        {**nvidia_machine("12.8", "12.0"), **x86_machine(3)},
        "v3",
    ),
    "x86-64 v2": (x86_machine(2), "v2"),
    "x86-64 v3": (x86_machine(3), "v3"),
    "x86-64 v4": (x86_machine(4), "v4"),
    "aarch64": (ARM, "arm"),
}


@dataclass(frozen=True)
class Published:
    """What a publisher has: wheels and an index-level file."""

    folder: Path
    name: str
    version: str


def variantlib(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def publish(wheel: Path, folder: Path) -> None:
    """Make all variants of a wheel, and the index-level file, with variantlib's own commands."""
    folder.mkdir(exist_ok=True)
    pyproject = folder.parent / "pyproject.toml"
    pyproject.write_text(PYPROJECT, encoding="utf-8")
    make = ["make-variant", "-f", str(wheel), "-o", str(folder), "--pyproject-toml", str(pyproject)]
    for label, properties in VARIANTS.items():
        variantlib(*make, "--skip-plugin-validation", "--variant-label", label, "-p", *properties)
    variantlib(*make, "--null-variant")
    (folder / wheel.name).write_bytes(wheel.read_bytes())
    variantlib("generate-index-json", "-d", str(folder))


def serve(published: Published, index: SimpleIndex) -> None:
    for path in sorted(published.folder.iterdir()):
        index.add_file(HostedFile(path.name, published.name, published.version, path.read_bytes()))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """A small wheel of our own, in all its variants."""
    folder = tmp_path_factory.mktemp("published")
    wheel = make_wheel("vsmall", "1.0").write_to(folder)
    publish(wheel, folder / "out")
    return Published(folder / "out", "vsmall", "1.0")


@pytest.fixture(scope="module")
def served(published: Published) -> Iterator[SimpleIndex]:
    """An index with what was published."""
    with SimpleIndex() as index:
        serve(published, index)
        yield index


def label_of(environment: Environment, name: str) -> str:
    """The label that ``list`` shows, and the one in the environment: they must agree."""
    listed = environment.vinstall("list", "--format=json").check().json()
    shown = {entry["name"]: entry.get("variant", "") for entry in listed}
    path = environment.dist_info(name) / "variant.json"
    assert path.is_file() == bool(shown[name])
    return str(shown[name])


@pytest.mark.parametrize("machine", MACHINES)
def test_the_right_label_for_each_machine(
    machine: str, served: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    supported, label = MACHINES[machine]
    profile = write_profile(tmp_path / "machine.toml", supported)
    result = environment.vinstall(
        "--index-url", served.simple_url, "--profile", profile, "vsmall"
    ).check()
    assert result.stdout.splitlines()[-2:] == [
        f"Variants: vsmall 1.0 {label}",
        "Successfully installed vsmall-1.0",
    ]
    assert label_of(environment, "vsmall") == label


def test_the_plain_wheel_without_variants(served: SimpleIndex, environment: Environment) -> None:
    before = len(served.requests)
    environment.vinstall("--index-url", served.simple_url, "--no-variant", "vsmall").check()
    assert label_of(environment, "vsmall") == ""
    paths = [request.path for request in served.requests[before:]]
    assert not [path for path in paths if path.endswith("-variants.json")]


def test_pip_takes_what_is_left_for_it(served: SimpleIndex, environment: Environment) -> None:
    environment.pip("install", "--index-url", served.simple_url, "vsmall").check()
    assert label_of(environment, "vsmall") == ""


@pytest.mark.network
def test_a_real_small_wheel(environment: Environment, tmp_path: Path) -> None:
    """The same with ``six`` from the public index."""
    downloads = tmp_path / "downloads"
    environment.pip("download", "--no-deps", "-d", downloads, "six==1.17.0").check()
    (wheel,) = downloads.glob("*.whl")
    publish(wheel, tmp_path / "out")
    with SimpleIndex() as index:
        serve(Published(tmp_path / "out", "six", "1.17.0"), index)
        for number, (supported, label) in enumerate(MACHINES.values()):
            profile = write_profile(tmp_path / f"{number}.toml", supported)
            environment.vinstall(
                "--index-url",
                index.simple_url,
                "--profile",
                profile,
                "--force-reinstall",
                "six",
            ).check()
            assert label_of(environment, "six") == label
            environment.run_python("-c", "import six").check()
