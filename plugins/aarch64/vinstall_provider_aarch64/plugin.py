"""Facts → ordered features of the namespace ``aarch64``.

Implements the plugin API of PEP 850 with the values of ``provider-variant-aarch64``. What a
version needs follows the Arm Architecture Reference Manual, "Architecture extensions", as
far as compilers use it and Linux shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vinstall_provider_aarch64 import detect

if TYPE_CHECKING:
    from vinstall_provider_aarch64.detect import Facts

VERSIONS: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "8a": ((), frozenset()),
    "8.1a": (("8a",), frozenset(("asimdrdm", "atomics", "crc32"))),
    "8.2a": (("8.1a",), frozenset(("dcpop",))),
    "8.3a": (("8.2a",), frozenset(("fcma", "jscvt", "lrcpc"))),
    "8.4a": (("8.3a",), frozenset(("asimddp", "flagm", "ilrcpc", "uscat"))),
    "8.5a": (("8.4a",), frozenset(("dcpodp", "flagm2", "frint", "sb"))),
    "8.6a": (("8.5a",), frozenset(("bf16", "ecv", "i8mm"))),
    "8.7a": (("8.6a",), frozenset(("afp", "wfxt"))),
    "9.0a": (("8.5a",), frozenset(("sve2",))),
    "9.1a": (("9.0a", "8.6a"), frozenset()),
    "9.2a": (("9.1a", "8.7a"), frozenset()),
}
"""Version → versions that it contains, and extensions that it adds; lowest first."""

_EXTENSIONS = (
    # newer than the public provider's list
    "sme2 sme f8fma f8dp4 f8dp2 f8cvt f8e4m3 f8e5m2 faminmax lut fpmr ls64 afp wfxt ecv bti "
    "svesha3 svesm4 svebitperm svepmull sveaes "
    # from here on in its order
    "sve2 flagm2 frint sb paca pacg ssbs asimdfhm bf16 dcpodp dgh dit flagm i8mm ilrcpc jscvt "
    "rng sha3 sha512 svebf16 svei8mm uscat asimddp lrcpc asimdhp dcpop fcma fphp sve asimdrdm "
    "atomics aes asimd cpuid crc32 evtstrm fp pmull sha1 sha2 "
    # for few uses
    "sm3 sm4"
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
    """Variant provider for ``aarch64``; all of it can be called on the class."""

    namespace = "aarch64"
    is_aot_plugin = False
    stands_in_for = ("provider-variant-aarch64",)
    environment_variables: tuple[str, ...] = ()

    @staticmethod
    def get_all_configs() -> list[Feature]:
        """Every value that there is; asks no machine."""
        return [
            Feature("version", list(reversed(VERSIONS))),
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
            "present": facts.is_aarch64,
            "facts": format_facts(facts),
            "notes": [],
        }

    @staticmethod
    def fingerprint() -> str:
        """Changes when the answer could."""
        return detect.read_fingerprint()


@lru_cache(maxsize=1)
def _facts() -> Facts:
    return detect.detect_facts()


def list_features(facts: Facts) -> list[Feature]:
    """The supported features: ``version``, then the extensions that the CPU has."""
    if not facts.is_aarch64:
        return []
    return [
        Feature("version", list(reversed(list_versions(facts.flags)))),
        *(Feature(name, ["on"]) for name in EXTENSIONS if name in facts.flags),
    ]


def list_versions(flags: frozenset[str]) -> list[str]:
    """Versions that all extensions are there for, lowest first."""
    versions: list[str] = []
    for version, (contained, needed) in VERSIONS.items():
        # Branch targets come with 8.5 and are skipped by older CPUs. Kernels may hide them,
        # and then SVE2 shows as well that a CPU is past 8.5.
        is_marked = version != "8.5a" or bool(flags & {"bti", "sve2"})
        if set(contained) <= set(versions) and needed <= flags and is_marked:
            versions.append(version)
    return versions


def format_facts(facts: Facts) -> dict[str, object]:
    """The facts as plain values, for ``vinstall doctor``."""
    return {
        "machine": facts.machine,
        "vendor": facts.vendor,
        "model": facts.model,
        "version": list_versions(facts.flags)[-1] if facts.is_aarch64 else None,
        "flags": [name for name in EXTENSIONS if name in facts.flags],
        "source": facts.source,
    }
