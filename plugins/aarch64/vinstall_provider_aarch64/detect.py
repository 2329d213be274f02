"""Machine → Facts: the extensions of the CPU. The only impure module.

Linux shows them in ``/proc/cpuinfo``; elsewhere ``archspec`` knows them by the CPU's name. It is
imported only there, since its import costs more than all else together.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAMES = ("aarch64", "arm64")


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about the CPU.

    Attributes:
        machine: Architecture, ``aarch64``; another machine's own word for it.
        vendor: The implementer; on Linux its number, ``0x41``.
        model: The CPU; on Linux the number of its part, ``0xd40``.
        flags: Extensions by their names in Linux.
        source: Where the extensions come from.
    """

    machine: str
    vendor: str = ""
    model: str = ""
    flags: frozenset[str] = frozenset()
    source: str = "none"

    @property
    def is_aarch64(self) -> bool:
        """Whether this is such a CPU at all."""
        return self.machine == "aarch64"


def detect_facts(root: str = "/", machine: str | None = None) -> Facts:
    """Ask the machine.

    Args:
        root: Stands in for ``/``.
        machine: Stands in for the architecture that the system names.
    """
    machine = (machine or read_machine()).lower()
    if sys.platform == "darwin":
        # An interpreter for x86-64 runs on Apple chips too, but its wheels are for x86-64.
        return _ask_archspec() if machine in _NAMES else Facts(machine)
    if machine not in _NAMES:
        return Facts(machine)
    if sys.platform == "win32":
        return _ask_archspec()
    return parse_cpuinfo(read_first_cpu(root))


def read_machine() -> str:
    """The architecture, in the system's own word."""
    if sys.platform == "win32":
        return os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return os.uname().machine


def parse_cpuinfo(text: str) -> Facts:
    """Read the first processor of ``/proc/cpuinfo`` on a 64-bit Arm Linux."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return Facts(
        "aarch64",
        fields.get("CPU implementer", ""),
        fields.get("CPU part", ""),
        frozenset(fields.get("Features", "").split()),
        "/proc/cpuinfo" if "Features" in fields else "none",
    )


def read_first_cpu(root: str = "/") -> str:
    """The part of ``/proc/cpuinfo`` that is about the first processor.

    Not more: the kernel makes the text while it is read, and that takes milliseconds on a server.
    """
    text = b""
    try:
        with Path(root, "proc/cpuinfo").open("rb", buffering=0) as file:
            while b"\n\n" not in text:
                more = file.read(16384)
                if not more:
                    break
                text += more
    except OSError:
        pass
    return text.partition(b"\n\n")[0].decode("utf-8", "replace")


def read_fingerprint(root: str = "/") -> str:
    """A text that changes when the answer could."""
    if sys.platform in ("win32", "darwin"):
        return f"{read_machine()}|{os.environ.get('PROCESSOR_IDENTIFIER', '')}"
    facts = parse_cpuinfo(read_first_cpu(root))
    return "|".join([read_machine(), facts.vendor, facts.model, *sorted(facts.flags)])


def _ask_archspec() -> Facts:
    from importlib import import_module

    host: Any = import_module("archspec.cpu").host()
    flags = frozenset(str(flag) for flag in host.features)
    return Facts("aarch64", str(host.vendor), str(host.name), flags, "archspec")
