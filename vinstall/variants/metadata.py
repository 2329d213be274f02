"""The one model of variant metadata in memory, whatever generation of file it came from.

Implements PEP 825, "Variant metadata" and "Metadata consistency", and the provider
entries of PEP 817 and PEP 850.
"""

from __future__ import annotations

from vinstall.errors import VariantMetadataError
from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeVar

    from vinstall.variants.properties import Properties

    _T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What metadata says about the provider of one namespace.

    Attributes:
        requires: Requirements of the provider package; empty where the metadata answers itself.
        plugin_api: ``module:object`` of the plugin; empty where it follows from ``requires``.
        static_properties: Feature → values, best first, where the metadata itself says what
            is supported (PEP 850 ``static-properties``, PEP 817 ahead-of-time providers);
            ``None`` where a provider has to be asked.
        feature_order: Features, best first; empty where not given.
        enable_if: An environment marker (PEP 817); empty where not given.
        optional: Whether the provider counts only when the user switches it on.
        builtin: Name of a provider that installers bring along (PEP 850); may be empty.
    """

    requires: tuple[str, ...] = ()
    plugin_api: str = ""
    static_properties: Mapping[str, tuple[str, ...]] | None = None
    feature_order: tuple[str, ...] = ()
    enable_if: str = ""
    optional: bool = False
    builtin: str = ""


@dataclass(frozen=True, slots=True)
class VariantMetadata:
    """What one release on one index says of its variants.

    Attributes:
        namespaces: ``default-priorities.namespace``, best first.
        variants: Label → properties. The null variant may be missing; it needs no entry.
        providers: Namespace → provider; ``None`` where the generation names no providers
            (PEP 825), which is not the same as an empty mapping.
        feature_priorities: Namespace → features to put first (generations before PEP 825).
        property_priorities: Namespace → feature → values to put first (the same generations).
        refused: Label → why its entry is bad. Such labels are not in ``variants``.
        problems: Sentences about parts that were ignored, in the order met.
        schema: The ``$schema`` text, empty where there was none.
        origin: Where it was read: a file name or URL without credentials, for messages.
    """

    namespaces: tuple[str, ...] = ()
    variants: Mapping[str, Properties] = field(default_factory=dict)
    providers: Mapping[str, ProviderInfo] | None = None
    feature_priorities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    property_priorities: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    schema: str = ""
    origin: str = ""


def combine_metadata(parts: Iterable[VariantMetadata]) -> VariantMetadata:
    """Combine the variant metadata found for one release.

    Implements PEP 825, "Metadata consistency".

    Args:
        parts: Metadata of one release from one index, in any order; at least one.

    Returns:
        The union of the labels and providers; namespaces best first, the longest list met.

    Raises:
        VariantMetadataError: Two parts describe one label or provider differently, or
            neither of two lists begins with the other. All such places are named.
    """
    every = sorted(parts, key=lambda part: (part.origin, part.schema, part.namespaces))
    faults: list[str] = []
    namespaces = _combine_lists(
        [part.namespaces for part in every], "default-priorities.namespace", faults
    )
    variants: dict[str, Properties] = {}
    refused: dict[str, str] = {}
    providers: dict[str, ProviderInfo] = {}
    features: dict[str, tuple[str, ...]] = {}
    values: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for part in every:
        _merge(variants, part.variants, "variants", faults)
        _merge(providers, part.providers or {}, "providers", faults)
        _merge(features, part.feature_priorities, "default-priorities.feature", faults)
        _merge(values, part.property_priorities, "default-priorities.property", faults)
        for label, why in part.refused.items():
            refused[label] = min(why, refused.get(label, why))
    origins = sorted({one for part in every for one in part.origin.split(", ") if one})
    if faults:
        raise VariantMetadataError(
            f"The variant metadata in {', '.join(origins) or 'the release'} contradicts itself",
            "; ".join(dict.fromkeys(faults)),
        )
    known = any(part.providers is not None for part in every)
    return VariantMetadata(
        namespaces,
        variants,
        providers if known else None,
        features,
        values,
        {label: why for label, why in refused.items() if label not in variants},
        _combine_problems([part.problems for part in every]),
        max((part.schema for part in every), default=""),
        ", ".join(origins),
    )


def _combine_problems(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The problems of all parts, in an order that does not depend on theirs."""
    if len(set(lists)) == 1:
        return lists[0]
    return tuple(sorted({problem for problems in lists for problem in problems}))


def check_wheel_metadata(wheel: VariantMetadata, label: str, index: VariantMetadata) -> str | None:
    """How a wheel's own metadata contradicts the index's; ``None`` where it does not."""
    if set(wheel.variants) != {label}:
        return f"the wheel does not describe the variant {label} and nothing else"
    there = index.variants.get(label)
    if there is not None and _sets(there) != _sets(wheel.variants[label]):
        return f"the wheel has other properties for {label} than {index.origin or 'its index'}"
    return None


def _sets(properties: Properties) -> dict[tuple[str, str], frozenset[str]]:
    return {
        (namespace, feature): frozenset(values)
        for namespace, features in properties.items()
        for feature, values in features.items()
    }


def _combine_lists(
    lists: Sequence[tuple[str, ...]], place: str, faults: list[str]
) -> tuple[str, ...]:
    longest = max(lists, key=lambda one: (len(one), one), default=())
    for one in lists:
        if longest[: len(one)] != one:
            faults.append(f"{place}: {list(one)} does not begin {list(longest)}")
    return longest


def _merge(into: dict[str, _T], more: Mapping[str, _T], place: str, faults: list[str]) -> None:
    for key, value in more.items():
        if key not in into:
            into[key] = value
        elif into[key] != value:
            faults.append(f"{place}.{key} is described in two ways")
