"""Machine → Facts: GPUs from the kernel's KFD topology, ROCm from its files.

The only impure module. It reads some small files, starts nothing and opens no device.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RocmVersion = tuple[int, int]

_INTEGRATED_NAMES = (
    "gfx902 gfx909 gfx90c gfx1013 gfx1033 gfx1035 gfx1036 gfx1037 gfx1103 "
    "gfx1150 gfx1151 gfx1152 gfx1153"
)
_INTEGRATED = frozenset(_INTEGRATED_NAMES.split())
"""Architectures that exist only inside CPUs."""

_LIBRARY_FOLDERS = (
    "opt/rocm/lib",
    "opt/rocm/lib64",
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib",
)
_CORE_NAME = re.compile(r"librocm-core\.so\.\d+\.\d+\.(\d+)", re.ASCII)
_HIP_NAME = re.compile(r"libamdhip64\.so\.(\d+)\.(\d+)\.\d+", re.ASCII)
_VERSION = re.compile(r"\s*(\d{1,3})\.(\d{1,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes:
        node: Its number in the topology.
        gfx: Architecture, ``gfx1100``; empty where the kernel does not tell.
        is_integrated: Whether it is a part of the CPU.
        simd_count: How many vector units it has.
    """

    node: int
    gfx: str = ""
    is_integrated: bool = False
    simd_count: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about the machine.

    Attributes:
        gpus: Cards before integrated chips, larger ones first.
        rocm_version: Major and minor number of the installed ROCm.
        rocm_source: File that says so.
        driver_version: Version of the ``amdgpu`` kernel module, where it tells one.
    """

    gpus: tuple[Gpu, ...] = ()
    rocm_version: RocmVersion | None = None
    rocm_source: str = ""
    driver_version: str = ""

    @property
    def is_present(self) -> bool:
        """Whether an AMD GPU was seen."""
        return bool(self.gpus)


def detect_facts(root: str = "/", environment: Mapping[str, str] | None = None) -> Facts:
    """Ask the machine.

    Args:
        root: Stands in for ``/``.
        environment: Stands in for the variables of this process.
    """
    environment = os.environ if environment is None else environment
    gpus = sorted(
        _iter_gpus(Path(root)), key=lambda gpu: (gpu.is_integrated, -gpu.simd_count, gpu.node)
    )
    version, source = _find_rocm(Path(root), environment.get("ROCM_PATH", ""))
    driver = _read_text(Path(root, "sys/module/amdgpu/version"))
    return Facts(tuple(gpus), version, source, driver)


def read_fingerprint(root: str = "/", environment: Mapping[str, str] | None = None) -> str:
    """A text that changes when the answer could; reads some small files."""
    environment = os.environ if environment is None else environment
    parts = [repr(gpu) for gpu in sorted(_iter_gpus(Path(root)), key=lambda gpu: gpu.node)]
    paths = [Path(root, folder) for folder in ("opt", *_LIBRARY_FOLDERS)]
    paths += [
        Path(folder, ".info/version")
        for folder in (environment.get("ROCM_PATH", ""), f"{root}/opt/rocm")
        if folder
    ]
    for path in paths:
        try:
            parts.append(f"{path}:{path.stat().st_mtime_ns}")
        except OSError:
            continue
    return "|".join(parts)


def decode_gfx(number: int) -> str:
    """``90010`` → ``gfx90a``: major, minor and stepping in decimal; the last two in hex."""
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}" if number > 0 else ""


def _iter_gpus(root: Path) -> Iterator[Gpu]:
    try:
        nodes = list((root / "sys/class/kfd/kfd/topology/nodes").iterdir())
    except OSError:
        return
    for node in nodes:
        properties = _read_properties(node / "properties")
        simd_count = properties.get("simd_count", 0)
        # A node with vector units is a GPU; one that a container may not see is empty.
        if not simd_count or not node.name.isdigit():
            continue
        gfx = decode_gfx(properties.get("gfx_target_version", 0))
        shares_cpu = properties.get("cpu_cores_count", 0) > 0
        yield Gpu(int(node.name), gfx, shares_cpu or gfx in _INTEGRATED, simd_count)


def _read_properties(path: Path) -> dict[str, int]:
    properties = {}
    for line in _read_text(path).splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdigit():
            properties[name] = int(value)
    return properties


def _find_rocm(root: Path, rocm_path: str) -> tuple[RocmVersion | None, str]:
    """The newest information that there is, and where it comes from."""
    folders = [Path(rocm_path)] if rocm_path else []
    for folder in (*folders, root / "opt/rocm"):
        version = _read_info(folder)
        if version is not None:
            return version
    found = [version for one in (root / "opt").glob("rocm-*") if (version := _read_info(one))]
    if found:
        return max(found)
    for pattern in (_CORE_NAME, _HIP_NAME):
        for place in _LIBRARY_FOLDERS:
            for name in _list_names(root / place):
                match = pattern.fullmatch(name)
                if match:
                    return _decode_library(match), f"/{place}/{name}"
    return None, ""


def _read_info(folder: Path) -> tuple[RocmVersion, str] | None:
    path = folder / ".info/version"
    match = _VERSION.match(_read_text(path))
    return ((int(match[1]), int(match[2])), str(path)) if match else None


def _decode_library(match: re.Match[str]) -> RocmVersion:
    """``60401`` → ``(6, 4)``; ``libamdhip64`` has both numbers apart."""
    if len(match.groups()) == 2:
        return int(match[1]), int(match[2])
    return int(match[1]) // 10000, int(match[1]) // 100 % 100


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted((one.name for one in folder.iterdir()), reverse=True)
    except OSError:
        return []


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
