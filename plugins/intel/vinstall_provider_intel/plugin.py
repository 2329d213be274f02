"""Facts → ordered features of the namespace ``intel``.

Implements the plugin API of PEP 850 with the values of ``intel-variant-provider``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vinstall_provider_intel import detect
from vinstall_provider_intel.detect import Facts
from vinstall_provider_intel.devices import PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall_provider_intel.detect import Gpu

FORCE_IP = "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP"
SEVERAL_GPUS = "VINSTALL_GPU"
MASKS = ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR")


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature, as the plugin API wants it.

    Attributes:
        name: Name of the feature.
        values: Supported values, best first.
        multi_value: Whether one variant may list several values.
    """

    name: str
    values: list[str]
    multi_value: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What the user's variables say.

    Attributes:
        ip: Platform instead of those of the GPUs; empty for those.
        best_only: Only the best GPU counts, not every one.
        masks: Masks that are set; they change nothing.
    """

    ip: str = ""
    best_only: bool = False
    masks: tuple[str, ...] = ()


class Plugin:
    """Variant provider for ``intel``; all of it can be called on the class."""

    namespace = "intel"
    is_aot_plugin = False
    stands_in_for = ("intel-variant-provider", "provider-variant-xpu")
    environment_variables = (FORCE_IP, SEVERAL_GPUS, *MASKS)

    @staticmethod
    def get_all_configs() -> list[Feature]:
        """Every value that there is; asks no machine."""
        return [Feature("device_ip", list(PLATFORMS), True)]

    @staticmethod
    def get_supported_configs() -> list[Feature]:
        """What this machine supports; empty where there is no Intel GPU that computes.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        options = read_options(os.environ)
        return list_features(_facts(bool(options.ip)), options)

    @staticmethod
    def describe() -> dict[str, object]:
        """Facts, notes and whether a GPU was seen, ready for JSON.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        options = read_options(os.environ)
        facts = _facts(bool(options.ip))
        return {
            "namespace": Plugin.namespace,
            "present": bool(_list_known(facts)),
            "facts": format_facts(facts, options),
            "notes": list_notes(facts, options),
        }

    @staticmethod
    def fingerprint() -> str:
        """Changes when the answer could; reads some small files."""
        return detect.read_fingerprint()


@lru_cache(maxsize=2)
def _facts(is_forced: bool) -> Facts:
    return Facts(source="forced") if is_forced else detect.detect_facts()


def read_options(environment: Mapping[str, str]) -> Options:
    """Read the user's variables; an empty one counts as not set.

    Raises:
        ValueError: A value has a wrong form; the text names the variable and the right form.
    """
    several = environment.get(SEVERAL_GPUS, "").strip().lower()
    if several not in ("", "all", "best"):
        raise ValueError(f"{SEVERAL_GPUS} is {several!r}; it can be 'all' or 'best'")
    ip = environment.get(FORCE_IP, "").strip()
    if ip and ip not in PLATFORMS:
        raise ValueError(
            f"{FORCE_IP} is {ip!r}; it must be a known device IP, for example 12.60.7 "
            f"(known: {', '.join(PLATFORMS)})"
        )
    masks = tuple(name for name in MASKS if name in environment)
    return Options(ip, several == "best", masks)


def list_features(facts: Facts, options: Options) -> list[Feature]:
    """The supported features; none without a GPU that Level Zero can use.

    Args:
        facts: What is known of the machine.
        options: What the user overrules.
    """
    if options.ip:
        return [Feature("device_ip", [options.ip], True)]
    gpus = _list_known(facts) if facts.has_level_zero else []
    values: dict[str, None] = {}
    for gpu in gpus[:1] if options.best_only else gpus:
        values[gpu.ip] = None
        if PLATFORMS[gpu.ip]:
            values[PLATFORMS[gpu.ip]] = None
    return [Feature("device_ip", list(values), True)] if values else []


def _list_known(facts: Facts) -> list[Gpu]:
    return [gpu for gpu in facts.gpus if gpu.ip in PLATFORMS]


def list_notes(facts: Facts, options: Options) -> list[str]:
    """Sentences that the user should read; none where all is as it should be."""
    if options.ip:
        return []
    notes = []
    known = _list_known(facts)
    if known and not facts.has_level_zero:
        notes.append(
            f"{_name(known[0])} is here, but Level Zero (libze_loader) is not; install Intel's "
            f"compute runtime, or set {FORCE_IP}={known[0].ip}"
        )
    for gpu in facts.gpus:
        # Older generations are display adapters, and nobody misses them.
        if gpu.ip and gpu.ip not in PLATFORMS and int(gpu.ip.partition(".")[0]) >= 12:
            notes.append(f"{_name(gpu)} is a platform that is not known, and is left out")
    others = [gpu for gpu in known if gpu.ip != known[0].ip]
    if options.best_only and others:
        names = ", ".join(_name(gpu) for gpu in others)
        notes.append(f"Only the best GPU counts; left out: {names}")
    if facts.problem and known:
        notes.append(f"Level Zero does not answer: {facts.problem}")
    if options.masks and known:
        notes.append(
            f"{', '.join(options.masks)} is set and ignored: a mask belongs to one process, "
            "what is installed stays"
        )
    return notes


def _name(gpu: Gpu) -> str:
    return f"{gpu.name or 'Intel GPU'} ({gpu.device}, {gpu.ip})"


def format_facts(facts: Facts, options: Options) -> dict[str, object]:
    """The facts as plain values, for ``vinstall doctor``."""
    return {
        "source": facts.source,
        "level_zero": facts.has_level_zero,
        "gpus": [
            {"device_ip": gpu.ip, "device": gpu.device, "name": gpu.name} for gpu in facts.gpus
        ],
        "several_gpus": "best" if options.best_only else "all",
        "forced_device_ip": options.ip,
        "masks": list(options.masks),
        "problem": facts.problem,
    }
