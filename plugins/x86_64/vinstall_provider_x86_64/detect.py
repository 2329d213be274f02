"""Machine → Facts: the flags of the CPU. The only impure module.

Linux shows them in ``/proc/cpuinfo``; elsewhere ``archspec`` asks the CPU or the system. It is
imported only there, since its import costs more than all else together.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("x86_64", "amd64")


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about the CPU.

    Attributes:
        machine: Architecture, ``x86_64``; another machine's own word for it.
        vendor: ``GenuineIntel``, ``AuthenticAMD``.
        model: Name of the CPU.
        flags: Extensions by their names in Linux, with ``sse3`` for ``pni``.
        source: Where the flags come from.
    """

    machine: str
    vendor: str = ""
    model: str = ""
    flags: frozenset[str] = frozenset()
    source: str = "none"

    @property
    def is_x86_64(self) -> bool:
        """Whether this is such a CPU at all."""
        return self.machine == "x86_64"


def detect_facts(root: str = "/", machine: str | None = None) -> Facts:
    """Ask the machine.

    Args:
        root: Stands in for ``/``.
        machine: Stands in for the architecture that the system names.
    """
    machine = (machine or read_machine()).lower()
    if machine not in _NAMES:
        return Facts(machine)
    if sys.platform in ("win32", "darwin"):
        return _ask_archspec()
    return parse_cpuinfo(read_first_cpu(root))


def read_machine() -> str:
    """The architecture, in the system's own word."""
    if sys.platform == "win32":
        # A 32-bit interpreter sees its own architecture in the second variable.
        return os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get(
            "PROCESSOR_ARCHITECTURE", ""
        )
    return os.uname().machine


def parse_cpuinfo(text: str) -> Facts:
    """Read the first processor of ``/proc/cpuinfo`` on an x86-64 Linux."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return Facts(
        "x86_64",
        fields.get("vendor_id", ""),
        fields.get("model name", ""),
        normalize_flags(fields.get("flags", "").split()),
        "/proc/cpuinfo" if "flags" in fields else "none",
    )


def normalize_flags(flags: list[str]) -> frozenset[str]:
    """Flags with ``sse3``, which Linux calls ``pni`` and which ``ssse3`` includes."""
    found = frozenset(flags)
    return found | {"sse3"} if found & {"pni", "ssse3"} else found


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
    """A text that changes when the answer could; the clock of the CPU is not part of it."""
    if sys.platform in ("win32", "darwin"):
        return f"{read_machine()}|{os.environ.get('PROCESSOR_IDENTIFIER', '')}"
    facts = parse_cpuinfo(read_first_cpu(root))
    return "|".join([read_machine(), facts.vendor, facts.model, *sorted(facts.flags)])


def _ask_archspec() -> Facts:
    from importlib import import_module

    found = import_module("archspec.cpu.detect").detected_info()
    vendor = str(found.vendor)
    if vendor == "Apple":
        return Facts("aarch64", vendor)
    flags = normalize_flags([str(flag) for flag in found.features])
    return Facts("x86_64", vendor, flags=flags, source="archspec")
