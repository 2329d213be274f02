"""Facts → ordered features of the namespace ``x86_64``.

Implements the plugin API of PEP 850 with the values of ``provider-variant-x86-64``. The
levels are those of the x86-64 psABI, "Micro-Architecture Levels".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vinstall_provider_x86_64 import detect

if TYPE_CHECKING:
    from vinstall_provider_x86_64.detect import Facts

LEVELS: dict[str, frozenset[str]] = {
    "v1": frozenset(),
    "v2": frozenset(["cx16", "lahf_lm", "popcnt", "sse3", "sse4_1", "sse4_2", "ssse3"]),
    "v3": frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"]),
    "v4": frozenset(["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"]),
}
"""Level → flags that it adds to the one before, lowest first. Every 64-bit CPU has those of
``v1``. ``abm`` is Linux's name for LZCNT."""

_EXTENSIONS = (
    # newer than the public provider's list
    "amx_bf16 amx_int8 amx_tile avx512_fp16 avx_vnni_int16 avx_vnni_int8 avx_ne_convert avx_ifma "
    "cmpccxadd sha512 sm3 sm4 cldemote serialize waitpkg "
    # from here on in its order
    "avx_vnni cppc ibrs_enhanced tsc_adjust flush_l1d movdir64b movdiri avx512_bf16 "
    "avx512_bitalg avx512_vbmi2 avx512_vnni avx512_vp2intersect avx512_vpopcntdq avx512ifma "
    "avx512vbmi rdpid sha_ni vaes vpclmulqdq clwb clzero avx512bw avx512cd avx512dq avx512f "
    "avx512vl clflushopt gfni rdseed xsavec xsaveopt adx avx2 avx bmi2 bmi1 abm f16c fma movbe "
    "xsave rdrand aes pclmulqdq sse4a fsgsbase sse4_2 sse4_1 ssse3 sse3 cx16 lahf_lm popcnt "
    "sse2 sse mmx "
    # gone from new CPUs
    "pku xop fma4 tbm avx512er avx512pf 3dnowext 3dnow"
)
EXTENSIONS = tuple(_EXTENSIONS.split())
"""CPU extensions, most wanted first."""


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


class Plugin:
    """Variant provider for ``x86_64``; all of it can be called on the class."""

    namespace = "x86_64"
    is_aot_plugin = False
    stands_in_for = ("provider-variant-x86-64", "variant-x86-64")
    environment_variables: tuple[str, ...] = ()

    @staticmethod
    def get_all_configs() -> list[Feature]:
        """Every value that there is; asks no machine."""
        return [
            Feature("level", list(reversed(LEVELS))),
            *(Feature(name, ["on"]) for name in EXTENSIONS),
        ]

    @staticmethod
    def get_supported_configs() -> list[Feature]:
        """What this CPU supports; empty on other architectures."""
        return list_features(_facts())

    @staticmethod
    def describe() -> dict[str, object]:
        """Facts, notes and whether this is such a CPU, ready for JSON."""
        facts = _facts()
        return {
            "namespace": Plugin.namespace,
            "present": facts.is_x86_64,
            "facts": format_facts(facts),
            "notes": list_notes(facts),
        }

    @staticmethod
    def fingerprint() -> str:
        """Changes when the answer could."""
        return detect.read_fingerprint()


@lru_cache(maxsize=1)
def _facts() -> Facts:
    return detect.detect_facts()


def list_features(facts: Facts) -> list[Feature]:
    """The supported features: ``level``, then the extensions that the CPU has."""
    if not facts.is_x86_64:
        return []
    return [
        Feature("level", list(reversed(list_levels(facts.flags)))),
        *(Feature(name, ["on"]) for name in EXTENSIONS if name in facts.flags),
    ]


def list_levels(flags: frozenset[str]) -> list[str]:
    """Levels that all flags are there for, lowest first."""
    levels = []
    for level, needed in LEVELS.items():
        if not needed <= flags:
            break
        levels.append(level)
    return levels


def find_missing(flags: frozenset[str]) -> list[str]:
    """Flags that keep the CPU from the next level, sorted; none at the highest."""
    for needed in LEVELS.values():
        if not needed <= flags:
            return sorted(needed - flags)
    return []


def list_notes(facts: Facts) -> list[str]:
    """Sentences that the user should read: a level lost to a flag that is merely hidden."""
    missing = find_missing(facts.flags)
    level = len(list_levels(facts.flags))
    wanted = len(list(LEVELS.values())[level]) if level < len(LEVELS) else 0
    if not facts.is_x86_64 or "hypervisor" not in facts.flags or not 0 < len(missing) < wanted / 2:
        return []
    return [
        f"This virtual machine shows most of level v{level + 1} but not {', '.join(missing)}; "
        f"v{level} counts until its settings show that too"
    ]


def format_facts(facts: Facts) -> dict[str, object]:
    """The facts as plain values, for ``vinstall doctor``."""
    return {
        "machine": facts.machine,
        "vendor": facts.vendor,
        "model": facts.model,
        "level": list_levels(facts.flags)[-1] if facts.is_x86_64 else None,
        "missing_for_next_level": find_missing(facts.flags) if facts.is_x86_64 else [],
        "flags": [name for name in EXTENSIONS if name in facts.flags],
        "source": facts.source,
    }
