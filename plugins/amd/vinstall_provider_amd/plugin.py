"""Facts → ordered features of the namespace ``amd``.

Implements the plugin API of PEP 850 with the values of ``amd-variant-provider``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vinstall_provider_amd import detect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall_provider_amd.detect import Facts, Gpu, RocmVersion

FORCE_GFX = "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH"
FORCE_ROCM = "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION"
SEVERAL_GPUS = "VINSTALL_GPU"
ROCM_PATH = "ROCM_PATH"
OVERRIDE_GFX = "HSA_OVERRIDE_GFX_VERSION"
MASKS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")

_GFX = re.compile(r"gfx[1-9][0-9]{1,3}[0-9a-f]|gfx[1-9][0-9][0-9a-f]", re.ASCII)
_ROCM = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.\d{1,3})?", re.ASCII)
_GENERATIONS = ("130", "125", "121", "120", "117", "115", "110", "103", "101", "95", "94", "90")


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
        gfx: Architectures instead of those of the GPUs; empty for those.
        rocm_version: Version of ROCm instead of the installed one.
        best_only: Only the best GPU counts, not every one.
        masks: Masks that are set; they change nothing.
        has_override: Whether programs are told another architecture than the GPU's.
    """

    gfx: tuple[str, ...] = ()
    rocm_version: RocmVersion | None = None
    best_only: bool = False
    masks: tuple[str, ...] = ()
    has_override: bool = False


class Plugin:
    """Variant provider for ``amd``; all of it can be called on the class."""

    namespace = "amd"
    is_aot_plugin = False
    stands_in_for = ("amd-variant-provider",)
    environment_variables = (FORCE_GFX, FORCE_ROCM, SEVERAL_GPUS, ROCM_PATH, OVERRIDE_GFX, *MASKS)

    @staticmethod
    def get_all_configs() -> list[Feature]:
        """Every value that there is; asks no machine."""
        names = [f"gfx{one}{step:x}" for one in _GENERATIONS for step in range(16)]
        versions = [f"{major}.{minor}" for major in range(9, 4, -1) for minor in range(20, -1, -1)]
        return [Feature("gfx_arch", names, True), Feature("rocm_version", versions)]

    @staticmethod
    def get_supported_configs() -> list[Feature]:
        """What this machine supports; empty where there is no AMD GPU.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        return list_features(_facts(), read_options(os.environ))

    @staticmethod
    def describe() -> dict[str, object]:
        """Facts, notes and whether a GPU was seen, ready for JSON.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        options = read_options(os.environ)
        facts = _facts()
        return {
            "namespace": Plugin.namespace,
            "present": facts.is_present,
            "facts": format_facts(facts, options),
            "notes": list_notes(facts, options),
        }

    @staticmethod
    def fingerprint() -> str:
        """Changes when the answer could; reads some small files."""
        return detect.read_fingerprint()


@lru_cache(maxsize=1)
def _facts() -> Facts:
    return detect.detect_facts()


def read_options(environment: Mapping[str, str]) -> Options:
    """Read the user's variables; an empty one counts as not set.

    Raises:
        ValueError: A value has a wrong form; the text names the variable and the right form.
    """
    several = environment.get(SEVERAL_GPUS, "").strip().lower()
    if several not in ("", "all", "best"):
        raise ValueError(f"{SEVERAL_GPUS} is {several!r}; it can be 'all' or 'best'")
    gfx = [one for one in re.split(r"[,;\s]+", environment.get(FORCE_GFX, "")) if one]
    for one in gfx:
        if _GFX.fullmatch(one) is None:
            raise ValueError(
                f"{FORCE_GFX} holds {one!r}; it must be architectures with commas between "
                "them, for example gfx1100,gfx942"
            )
    text = environment.get(FORCE_ROCM, "").strip()
    version = _ROCM.fullmatch(text)
    if text and version is None:
        raise ValueError(
            f"{FORCE_ROCM} is {text!r}; it must be a major and a minor number, for example 6.4"
        )
    return Options(
        tuple(dict.fromkeys(gfx)),
        (int(version[1]), int(version[2])) if version else None,
        several == "best",
        tuple(name for name in MASKS if name in environment),
        bool(environment.get(OVERRIDE_GFX)),
    )


def list_features(facts: Facts, options: Options) -> list[Feature]:
    """The supported features; none without a GPU, unless the user says that there is one.

    Args:
        facts: What is known of the machine.
        options: What the user overrules.
    """
    names = list(options.gfx) or _list_gfx(facts, options)
    version = options.rocm_version or (facts.rocm_version if names or facts.gpus else None)
    features = []
    if names:
        features.append(Feature("gfx_arch", names, True))
    if version is not None:
        features.append(Feature("rocm_version", [f"{version[0]}.{version[1]}"]))
    return features


def _list_gfx(facts: Facts, options: Options) -> list[str]:
    known = list(dict.fromkeys(gpu.gfx for gpu in facts.gpus if gpu.gfx))
    return known[:1] if options.best_only else known


def list_notes(facts: Facts, options: Options) -> list[str]:
    """Sentences that the user should read; none where all is as it should be."""
    notes = []
    if options.masks and facts.gpus:
        notes.append(
            f"{', '.join(options.masks)} is set and ignored: a mask belongs to one process, "
            "what is installed stays"
        )
    if options.gfx:
        return notes
    if options.has_override and facts.gpus:
        notes.append(
            f"{OVERRIDE_GFX} is set and ignored; {FORCE_GFX}=gfx1030, for example, chooses builds "
            "for another architecture than the GPU's"
        )
    unknown = [gpu for gpu in facts.gpus if not gpu.gfx]
    if unknown:
        notes.append(
            f"The kernel does not tell the architecture of {_names_of(unknown)}; set {FORCE_GFX}"
        )
    cards = [gpu for gpu in facts.gpus if gpu.gfx and not gpu.is_integrated]
    others = [gpu for gpu in facts.gpus if gpu.gfx and gpu.gfx != facts.gpus[0].gfx]
    if options.best_only and others:
        notes.append(f"Only the best GPU counts; left out: {_names_of(others)}")
    elif len({gpu.gfx for gpu in cards}) > 1:
        notes.append(
            f"A build for one of {_names_of(cards)} need not run on the others; "
            "'--gpu best' keeps only the first"
        )
    if facts.gpus and facts.rocm_version is None and options.rocm_version is None:
        notes.append(f"An AMD GPU is here, but no ROCm; install it, or set {FORCE_ROCM}")
    return notes


def _names_of(gpus: list[Gpu]) -> str:
    return ", ".join(f"GPU {gpu.node} ({gpu.gfx or 'no name'})" for gpu in gpus)


def format_facts(facts: Facts, options: Options) -> dict[str, object]:
    """The facts as plain values, for ``vinstall doctor``."""
    return {
        "gpus": [
            {
                "node": gpu.node,
                "gfx": gpu.gfx,
                "integrated": gpu.is_integrated,
                "simd_count": gpu.simd_count,
            }
            for gpu in facts.gpus
        ],
        "rocm_version": _dotted(facts.rocm_version),
        "rocm_source": facts.rocm_source,
        "driver_version": facts.driver_version,
        "several_gpus": "best" if options.best_only else "all",
        "forced_gfx_arch": list(options.gfx),
        "forced_rocm_version": _dotted(options.rocm_version),
        "masks": list(options.masks),
    }


def _dotted(version: RocmVersion | None) -> str | None:
    return f"{version[0]}.{version[1]}" if version else None
