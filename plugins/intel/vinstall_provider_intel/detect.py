"""Machine → Facts: Intel GPUs by their PCI numbers, or by Level Zero. The only impure module.

Implements the queries of the Level Zero specification, "Driver and Device" and
"ZE_extension_device_ip_version", as far as they are needed. Level Zero is initialised only for
GPUs that the table of PCI numbers does not know.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinstall_provider_intel.devices import CARDS, decode_ip, find_platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INTEL = 0x8086
_GPU_ONLY = 1
_DESCRIPTION_OF_DRIVERS = 0x00020021
_DEVICE_PROPERTIES = 0x3
_DEVICE_IP_VERSION = 0x1000F


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes:
        ip: Its platform, ``20.1.0``; empty where nobody knows.
        device: PCI device number, ``0xe20b``.
        name: Product name, where Level Zero told it.
    """

    ip: str
    device: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about the machine.

    Attributes:
        gpus: Cards before integrated chips, newer platforms first.
        has_level_zero: Whether the Level Zero loader is installed.
        source: Who told the platforms: ``pci``, ``level-zero``, or ``none``.
        problem: Why Level Zero did not answer.
    """

    gpus: tuple[Gpu, ...] = ()
    has_level_zero: bool = False
    source: str = "none"
    problem: str = ""


def detect_facts(root: str = "/") -> Facts:
    """Ask the machine.

    Args:
        root: Stands in for ``/`` wherever a file is read; the loader is that of this process.
    """
    if sys.platform not in ("linux", "win32"):
        return Facts()
    gpus = [Gpu(find_platform(device), device) for device in _iter_devices(root)]
    is_hidden = sys.platform == "win32" or (not gpus and Path(root, "dev/dxg").exists())
    if not gpus and not is_hidden:
        return Facts()
    loader = _load_level_zero()
    if loader is None:
        return Facts(_sort(gpus), source="pci" if gpus else "none")
    if gpus and all(gpu.ip for gpu in gpus):
        return Facts(_sort(gpus), True, "pci")
    try:
        return Facts(_sort(_ask_level_zero(loader)), True, "level-zero")
    except (OSError, AttributeError) as error:
        return Facts(_sort(gpus), True, "pci" if gpus else "none", str(error))


def read_fingerprint(root: str = "/") -> str:
    """A text that changes when the answer could; reads some small files."""
    parts = sorted(_iter_devices(root))
    for folder in ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib"):
        try:
            found = Path(root, folder, "libze_loader.so.1").stat()
        except OSError:
            continue
        parts.append(f"{folder}:{found.st_mtime_ns}")
    return "|".join([*parts, os.environ.get("LD_LIBRARY_PATH", "")])


def _sort(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    def key(gpu: Gpu) -> tuple[bool, list[int]]:
        return gpu.ip not in CARDS, [-int(part) for part in gpu.ip.split(".") if part]

    return tuple(sorted(gpus, key=key))


def _iter_devices(root: str) -> Iterator[str]:
    """PCI device numbers of the Intel GPUs that have a kernel driver."""
    try:
        nodes = sorted(Path(root, "sys/class/drm").glob("renderD*"))
    except OSError:
        return
    for node in nodes:
        if _read_text(node / "device/vendor") == f"0x{_INTEL:04x}":
            yield _read_text(node / "device/device").lower()


def _load_level_zero() -> Any:
    import ctypes

    name = "libze_loader.so.1"
    if sys.platform == "win32":
        name = os.environ.get("WINDIR", "C:/Windows") + "/System32/ze_loader.dll"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _ask_level_zero(loader: Any) -> list[Gpu]:
    """Every Intel GPU that Level Zero can use.

    Raises:
        OSError: A call failed; the text names it.
        AttributeError: The loader lacks a call.
    """
    import ctypes

    class DriversDescription(ctypes.Structure):
        _fields_ = (
            ("stype", ctypes.c_uint32),
            ("next", ctypes.c_void_p),
            ("flags", ctypes.c_uint32),
        )

    class IpVersion(ctypes.Structure):
        _fields_ = (
            ("stype", ctypes.c_uint32),
            ("next", ctypes.c_void_p),
            ("version", ctypes.c_uint32),
        )

    class DeviceProperties(ctypes.Structure):
        _fields_ = (
            ("stype", ctypes.c_uint32),
            ("next", ctypes.c_void_p),
            ("type", ctypes.c_uint32),
            ("vendor", ctypes.c_uint32),
            ("device", ctypes.c_uint32),
            # flags, subdevice, clock rate
            ("skipped_1", ctypes.c_uint32 * 3),
            ("largest_allocation", ctypes.c_uint64),
            # seven counts of queues, threads, slices
            ("skipped_2", ctypes.c_uint32 * 7),
            ("timer_resolution", ctypes.c_uint64),
            ("valid_bits", ctypes.c_uint32 * 2),
            ("uuid", ctypes.c_uint8 * 16),
            ("name", ctypes.c_char * 256),
        )

    def call(function: str, *arguments: Any) -> None:
        code = getattr(loader, function)(*arguments)
        if code != 0:
            raise OSError(f"{function} failed with 0x{code & 0xFFFFFFFF:x}")

    def list_handles(function: str, *before: Any, after: tuple[Any, ...] = ()) -> list[Any]:
        count = ctypes.c_uint32(0)
        call(function, *before, ctypes.byref(count), None, *after)
        handles = (ctypes.c_void_p * count.value)()
        call(function, *before, ctypes.byref(count), handles, *after)
        return [ctypes.c_void_p(handle) for handle in handles[: count.value]]

    description = DriversDescription(_DESCRIPTION_OF_DRIVERS, None, _GPU_ONLY)
    if hasattr(loader, "zeInitDrivers"):
        drivers = list_handles("zeInitDrivers", after=(ctypes.byref(description),))
    else:
        call("zeInit", ctypes.c_uint32(_GPU_ONLY))
        drivers = list_handles("zeDriverGet")
    gpus = []
    for driver in drivers:
        for device in list_handles("zeDeviceGet", driver):
            version = IpVersion(_DEVICE_IP_VERSION, None, 0)
            properties = DeviceProperties()
            properties.stype = _DEVICE_PROPERTIES
            properties.next = ctypes.cast(ctypes.pointer(version), ctypes.c_void_p)
            call("zeDeviceGetProperties", device, ctypes.byref(properties))
            if properties.vendor == _INTEL:
                name = bytes(properties.name).decode("utf-8", "replace")
                ip = decode_ip(version.version)
                gpus.append(Gpu(ip, f"0x{properties.device:04x}", name))
    return gpus


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
