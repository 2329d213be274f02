"""Machine profiles as text, for tests that decide what the hardware is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


_CAPABILITIES = ((7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0), (12, 1))


def profile_text(supported: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Give a profile (``schema = 1``): namespace → feature → values, all best first."""
    lines = ["schema = 1"]
    for namespace, features in supported.items():
        lines.append(f"\n[supported.{namespace}]")
        lines += [f"{feature} = {json.dumps(list(values))}" for feature, values in features.items()]
    return "\n".join(lines) + "\n"


def write_profile(path: Path, supported: Mapping[str, Mapping[str, Sequence[str]]]) -> Path:
    """Write a profile and give its path."""
    path.write_text(profile_text(supported), encoding="utf-8")
    return path


def nvidia_machine(
    driver: str = "12.8", capability: str = "9.0"
) -> dict[str, dict[str, list[str]]]:
    """Give what a machine with one NVIDIA GPU supports, by the rules of the public provider.

    Lower bounds are all CUDA versions from the driver's down to 11.0 (minors 0 to 20),
    upper bounds all above it up to 15.20, architectures those that CUDA's binary rule allows.

    Args:
        driver: CUDA version of the driver, ``major.minor``.
        capability: Compute capability, ``major.minor``.
    """
    major, minor = (int(part) for part in driver.split("."))
    known = [(a, b) for a in range(15, 10, -1) for b in range(20, -1, -1)]
    lower: list[str] = []
    for a, b in known:
        if (a, b) <= (major, minor):
            lower.append(f"{a}.{b}")
            if b == 0:
                lower.append(str(a))
    upper = [f"{a}.{b}" for a, b in reversed(known) if (a, b) > (major, minor)]
    first, second = (int(part) for part in capability.split("."))
    real = [f"{first}{b}_real" for b in range(second, -1, -1)]
    older = [f"{a}{b}_virtual" for a, b in _CAPABILITIES if (a, b) <= (first, second)]
    return {
        "nvidia": {
            "cuda_version_lower_bound": lower,
            "cuda_version_upper_bound": upper,
            "sm_arch": [*real, *reversed(older)],
        }
    }


def x86_machine(level: int = 3) -> dict[str, dict[str, list[str]]]:
    """Give what an x86_64 CPU of a psABI level supports (levels alone)."""
    return {"x86_64": {"level": [f"v{number}" for number in range(level, 0, -1)]}}
