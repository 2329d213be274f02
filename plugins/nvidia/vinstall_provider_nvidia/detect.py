"""Machine → Facts: the driver, the CUDA numbers and the GPUs. The only impure module.

No device is initialised: NVML is asked through ``nvidia-ml-py`` and libcuda only for
``cuDriverGetVersion``, which needs no ``cuInit``. Both heed no ``CUDA_VISIBLE_DEVICES``.
Heavy imports (ctypes, pynvml) wait until there is a library to ask.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CudaVersion = tuple[int, int]
Capability = tuple[int, int]

LIBRARY_NOT_FOUND = 12
"""NVML_ERROR_LIBRARY_NOT_FOUND, also used where no NVML library could be loaded."""

_FOLDERS = (
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/run/opengl-driver/lib",
)
"""Where drivers put their libraries; the first, and those for Tegra and NixOS, may be unknown
to the dynamic loader."""

_TEGRA: Mapping[str, Capability] = {
    "tegra210": (5, 3),
    "tegra186": (6, 2),
    "tegra194": (7, 2),
    "tegra234": (8, 7),
    "tegra264": (11, 0),
}
"""Chip of a Jetson, as its device tree names it → capability of its GPU."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes:
        index: Its number, as ``nvidia-smi`` counts.
        name: Product name; empty where the driver did not tell.
        capability: Compute capability, ``(9, 0)``; ``None`` where the driver did not tell.
        mig: Whether it is split into MIG instances, which share its capability.
        problem: Why the capability is not known.
    """

    index: int
    name: str = ""
    capability: Capability | None = None
    mig: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about the machine.

    Attributes:
        source: Who answered: ``nvml``, ``libcuda``, or ``none``.
        driver_version: The driver's version by NVML, ``570.86.15``.
        module_version: Version of the kernel module that is loaded now.
        nvml_cuda: Newest CUDA that the driver runs, by NVML.
        library_cuda: Version of the ``libcuda`` that programs will load.
        gpus: GPUs in the order of NVML.
        nvml_code: NVML's return code where it failed; 0 where it did not.
        problem: NVML's words for it.
        is_present: Whether an NVIDIA GPU was seen, be its driver usable or not.
        is_wsl: Whether this is Linux under Windows.
        is_jetson: Whether this is a Tegra board.
    """

    source: str = "none"
    driver_version: str = ""
    module_version: str = ""
    nvml_cuda: CudaVersion | None = None
    library_cuda: CudaVersion | None = None
    gpus: tuple[Gpu, ...] = ()
    nvml_code: int = 0
    problem: str = ""
    is_present: bool = False
    is_wsl: bool = False
    is_jetson: bool = False


def detect_facts(root: str = "/") -> Facts:
    """Ask the machine.

    Args:
        root: Stands in for ``/`` wherever a file is read; libraries are those of this process.
    """
    if sys.platform == "darwin":
        return Facts()
    facts = _ask_nvml()
    tegra = _read_tegra(root)
    facts = replace(
        facts,
        module_version=_read_module_version(root),
        library_cuda=_ask_libcuda(),
        is_wsl=(Path(root) / "dev/dxg").exists() and (Path(root) / "usr/lib/wsl/lib").is_dir(),
        is_jetson=bool(tegra),
    )
    if tegra and not any(gpu.capability for gpu in facts.gpus):
        facts = replace(facts, gpus=(Gpu(0, f"{tegra} integrated GPU", _TEGRA.get(tegra)),))
    if facts.source == "none" and facts.library_cuda:
        facts = replace(facts, source="libcuda")
    is_present = bool(facts.gpus) or _is_hardware_visible(root)
    return replace(facts, is_present=is_present or (facts.is_wsl and facts.source != "none"))


def read_fingerprint(root: str = "/", environment: Mapping[str, str] | None = None) -> str:
    """A text that changes when the answer could: module, libraries, devices.

    Costs some dozens of ``stat`` calls; starts nothing and wakes no device.
    """
    environment = os.environ if environment is None else environment
    root = root.rstrip("/")
    parts = [_read_text(f"{root}/sys/module/nvidia/version")]
    try:
        parts += sorted(one.name for one in Path(f"{root}/proc/driver/nvidia/gpus").iterdir())
    except OSError:
        parts.append("-")
    folders = [root + folder for folder in _FOLDERS]
    folders += filter(None, environment.get("LD_LIBRARY_PATH", "").split(":"))
    paths = [f"{f}/{name}" for f in folders for name in ("libcuda.so.1", "libnvidia-ml.so.1")]
    paths += [f"{root}/etc/ld.so.cache", f"{root}/dev/nvidiactl", f"{root}/dev/dxg"]
    if sys.platform == "win32":
        system = environment.get("WINDIR", "C:/Windows") + "/System32"
        paths += [f"{system}/nvml.dll", f"{system}/nvcuda.dll"]
    for path in paths:
        try:
            found = os.stat(path)  # noqa: PTH116 (a fifth of the time)
        except OSError:
            continue
        parts.append(f"{path}:{found.st_mtime_ns}:{found.st_size}")
    return "|".join(parts)


def _ask_nvml() -> Facts:
    """What NVML says; a failure is kept as a code and words."""
    if not _load_nvml():
        return Facts(nvml_code=LIBRARY_NOT_FOUND, problem="the library of NVML is not installed")
    import importlib

    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError as error:
        return Facts(nvml_code=LIBRARY_NOT_FOUND, problem=f"nvidia-ml-py can not be used: {error}")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Facts(nvml_code=int(error.value), problem=str(error))
    try:
        facts = Facts(
            source="nvml",
            driver_version=_text(_or_none(nvml, nvml.nvmlSystemGetDriverVersion)),
            nvml_cuda=_ask_nvml_cuda(nvml),
        )
        return replace(facts, gpus=tuple(_iter_gpus(nvml, nvml.nvmlDeviceGetCount())))
    except nvml.NVMLError as error:
        return replace(facts, nvml_code=int(error.value), problem=str(error))
    finally:
        _or_none(nvml, nvml.nvmlShutdown)


def _ask_nvml_cuda(nvml: Any) -> CudaVersion | None:
    # The second version of the call fails where libcuda is missing; the first one then
    # tells what the driver was made for.
    for name in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"):
        number = _or_none(nvml, getattr(nvml, name))
        if number:
            return decode_cuda(int(number))
    return None


def _iter_gpus(nvml: Any, count: int) -> Iterator[Gpu]:
    for index in range(count):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as error:
            yield Gpu(index, problem=str(error))
            continue
        gpu = Gpu(index, _text(_or_none(nvml, nvml.nvmlDeviceGetName, handle)))
        mode = _or_none(nvml, nvml.nvmlDeviceGetMigMode, handle)
        gpu = replace(gpu, mig=bool(mode and mode[0]))
        try:
            major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
            yield replace(gpu, capability=(int(major), int(minor)))
        except nvml.NVMLError as error:
            yield replace(gpu, problem=str(error))


def _or_none(nvml: Any, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _load_nvml() -> bool:
    """Whether there is an NVML for ``nvidia-ml-py`` to find.

    A library outside the loader's search path is loaded here by its path; the loader then
    takes that one when it is asked for the same name.
    """
    if sys.platform == "win32":
        folders = (
            os.environ.get("WINDIR", "C:/Windows") + "/System32",
            os.environ.get("ProgramFiles", "C:/Program Files") + "/NVIDIA Corporation/NVSMI",  # noqa: SIM112
        )
        return any(Path(folder, "nvml.dll").is_file() for folder in folders)
    return _load("libnvidia-ml.so.1") is not None


def _ask_libcuda() -> CudaVersion | None:
    """Version of the libcuda that a program of this environment would load."""
    library = _load("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    if library is None:
        return None
    import ctypes

    number = ctypes.c_int(0)
    try:
        # Not 0: for example the stub of the toolkit, which answers for no driver.
        if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
            return None
    except AttributeError:
        return None
    return decode_cuda(number.value) if number.value > 0 else None


def _load(name: str) -> Any:
    import ctypes

    for path in (name, *(f"{folder}/{name}" for folder in _FOLDERS)):
        try:
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    return None


def decode_cuda(number: int) -> CudaVersion:
    """``12080`` → ``(12, 8)``: 1000 times the major and 10 times the minor number."""
    return number // 1000, number % 1000 // 10


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _read_module_version(root: str) -> str:
    """Version of the loaded kernel module; only to diagnose."""
    version = _read_text(f"{root}/sys/module/nvidia/version")
    if version:
        return version
    line = _read_text(f"{root}/proc/driver/nvidia/version").partition("\n")[0]
    numbers = [word for word in line.split() if word[:1].isdigit() and "." in word]
    return numbers[0] if numbers else ""


def _read_tegra(root: str) -> str:
    """Chip of a Jetson board, ``tegra234``; empty elsewhere."""
    for word in _read_text(f"{root}/proc/device-tree/compatible").split("\0"):
        vendor, _, chip = word.partition(",")
        if vendor == "nvidia" and chip.startswith("tegra"):
            return chip
    return ""


def _is_hardware_visible(root: str) -> bool:
    """Whether the kernel or the PCI bus shows an NVIDIA GPU, with a driver or without."""
    try:
        if any(Path(root, "proc/driver/nvidia/gpus").iterdir()):
            return True
    except OSError:
        pass
    try:
        devices = list(Path(root, "sys/bus/pci/devices").iterdir())
    except OSError:
        return False
    return any(
        _read_text(f"{device}/vendor") == "0x10de"
        and _read_text(f"{device}/class").startswith("0x03")
        for device in devices
    )
