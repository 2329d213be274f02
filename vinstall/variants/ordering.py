"""Which variant of a release is best for a machine, and why the others do not fit.

Implements PEP 825, "Variant ordering", with the feature and value priorities of the
generations before it, the ``abi_dependency`` namespace, and the user's wishes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    Properties,
    VariantFeature,
    VariantPattern,
    VariantProperty,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.supported import SupportedProperties

_RELEASE_PREFIX = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18}){0,2}")
_SHOWN_VALUES = 6
_SHOWN_LENGTH = 60

Key = tuple[int, int, str, int]
"""(index of namespace, index of feature, feature name where it decides, index of value)."""


@dataclass(frozen=True, slots=True)
class RankedVariant:
    """A variant that fits.

    Attributes:
        label: Its label.
        properties: What it was built for.
        best_values: The best supported value of each feature, most important feature first.
        supported: All of its properties that are supported, sorted.
        key: What it was ordered by.
    """

    label: str
    properties: Properties
    best_values: tuple[VariantProperty, ...]
    supported: tuple[VariantProperty, ...]
    key: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class RefusedVariant:
    """A variant that does not fit.

    Attributes:
        label: Its label.
        reason: Why, as the rest of the sentence "left out because …".
        feature: The feature of which no value is supported; ``None`` for other reasons.
        wanted: The values that it was built for.
        offered: The supported values of that feature, best first.
    """

    label: str
    reason: str
    feature: VariantFeature | None = None
    wanted: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """All labels of a release.

    Attributes:
        ranked: What fits, best first; ``null`` last.
        refused: What does not fit, by label.
    """

    ranked: tuple[RankedVariant, ...]
    refused: tuple[RefusedVariant, ...]


def rank_variants(
    labels: Iterable[str],
    metadata: VariantMetadata | None,
    supported: SupportedProperties,
    prefer: Sequence[VariantPattern] = (),
    exclude: Sequence[VariantPattern] = (),
) -> Ranking:
    """Order the labels of a release; their order among the arguments never matters.

    Args:
        labels: The labels of the wheels there are.
        metadata: What the release says; ``None`` where only ``null`` can be judged.
        supported: What the machine supports.
        prefer: Variants with a supported property that matches an earlier pattern come
            first; ``null`` stays last.
        exclude: What matches counts as not supported.
    """
    order = _Order(metadata, supported, tuple(exclude))
    ranked: list[RankedVariant] = []
    refused: list[RefusedVariant] = []
    for label in sorted(set(labels)):
        judged = order.judge(label)
        if isinstance(judged, RankedVariant):
            ranked.append(judged)
        else:
            refused.append(judged)
    ranked.sort(key=lambda one: _sort_key(one, prefer))
    return Ranking(tuple(ranked), tuple(refused))


def _sort_key(
    variant: RankedVariant, prefer: Sequence[VariantPattern]
) -> tuple[bool, tuple[bool, ...], tuple[tuple[bool, Key], ...], str]:
    liked = tuple(not any(pattern.matches(one) for one in variant.supported) for pattern in prefer)
    # Where one list of keys begins with the other, the longer one wins: an end mark that is
    # greater than every key.
    keys = (*((False, key) for key in variant.key), (True, (0, 0, "", 0)))
    return variant.label == NULL_LABEL, liked, keys, variant.label


class _Order:
    """The places of namespaces, features and values, worked out once for a release."""

    def __init__(
        self,
        metadata: VariantMetadata | None,
        supported: SupportedProperties,
        exclude: tuple[VariantPattern, ...],
    ) -> None:
        self._metadata = metadata
        self._supported = supported
        self._exclude = exclude
        self._namespaces = {
            namespace: place
            for place, namespace in enumerate(metadata.namespaces if metadata else ())
        }
        self._features: dict[str, dict[str, int]] = {}
        self._values: dict[tuple[str, str], dict[str, int]] = {}

    def judge(self, label: str) -> RankedVariant | RefusedVariant:
        """Whether one label fits, and where it stands."""
        if label == NULL_LABEL:
            return RankedVariant(label, {}, (), (), ())
        if self._metadata is None:
            return RefusedVariant(label, "the release has no variant metadata")
        if label in self._metadata.refused:
            return RefusedVariant(label, self._metadata.refused[label])
        properties = self._metadata.variants.get(label)
        if properties is None:
            where = f" in {self._metadata.origin}" if self._metadata.origin else ""
            return RefusedVariant(label, f"label not described{where}")
        found: list[tuple[Key, VariantProperty]] = []
        fits: list[VariantProperty] = []
        for namespace, features in properties.items():
            for feature, values in features.items():
                places = self._places(namespace, feature, values)
                hits = sorted((places[value], value) for value in values if value in places)
                if not hits:
                    return self._refuse(label, namespace, feature, values, places)
                place, value = hits[0]
                found.append(
                    (
                        self._key(namespace, feature, place),
                        VariantProperty(namespace, feature, value),
                    )
                )
                fits += [VariantProperty(namespace, feature, value) for _, value in hits]
        found.sort()
        return RankedVariant(
            label,
            properties,
            tuple(one for _, one in found),
            tuple(sorted(fits)),
            tuple(key for key, _ in found),
        )

    def _key(self, namespace: str, feature: str, place: int) -> Key:
        if namespace == ABI_DEPENDENCY:
            return len(self._namespaces), 0, feature, place
        features = self._feature_places(namespace)
        return self._namespaces[namespace], features[feature], "", place

    def _places(self, namespace: str, feature: str, wanted: tuple[str, ...]) -> Mapping[str, int]:
        """Supported value → place; for ``abi_dependency`` every well formed value."""
        key = (namespace, feature)
        if namespace == ABI_DEPENDENCY:
            if key not in self._values:
                self._values[key] = self._abi_places(feature)
            return {one: place for one, place in self._values[key].items() if one in wanted}
        places = self._values.get(key)
        if places is None:
            values = self._supported.values(namespace, feature)
            first = self._first(namespace, feature)
            if first:
                values = (
                    *(one for one in first if one in values),
                    *(one for one in values if one not in first),
                )
            places = {
                value: place
                for place, value in enumerate(values)
                if namespace in self._namespaces
                and not self._is_excluded(VariantProperty(namespace, feature, value))
            }
            self._values[key] = places
        return places

    def _abi_places(self, feature: str) -> dict[str, int]:
        """Every release prefix that a variant of the release names, newer ones first."""
        assert self._metadata is not None, "there are variants to judge"
        prefixes = {
            value
            for properties in self._metadata.variants.values()
            for value in properties.get(ABI_DEPENDENCY, {}).get(feature, ())
            if _RELEASE_PREFIX.fullmatch(value)
        }
        ordered = sorted(prefixes, key=_release_of, reverse=True)
        return {
            value: place
            for place, value in enumerate(ordered)
            if not self._is_excluded(VariantProperty(ABI_DEPENDENCY, feature, value))
        }

    def _feature_places(self, namespace: str) -> dict[str, int]:
        places = self._features.get(namespace)
        if places is None:
            features = tuple(self._supported.namespaces.get(namespace, {}))
            first = self._metadata.feature_priorities.get(namespace, ()) if self._metadata else ()
            ordered = (
                *(one for one in first if one in features),
                *(one for one in features if one not in first),
            )
            places = {feature: place for place, feature in enumerate(ordered)}
            self._features[namespace] = places
        return places

    def _first(self, namespace: str, feature: str) -> tuple[str, ...]:
        if self._metadata is None:
            return ()
        return self._metadata.property_priorities.get(namespace, {}).get(feature, ())

    def _is_excluded(self, one: VariantProperty) -> bool:
        return any(pattern.matches(one) for pattern in self._exclude)

    def _refuse(
        self,
        label: str,
        namespace: str,
        feature: str,
        wanted: tuple[str, ...],
        places: Mapping[str, int],
    ) -> RefusedVariant:
        needs = f"it needs {namespace} :: {feature} :: {_join(wanted)}"
        offered = tuple(places)
        everything = self._supported.values(namespace, feature)
        if namespace == ABI_DEPENDENCY and not any(map(_RELEASE_PREFIX.fullmatch, wanted)):
            why = "which is not a release number of up to three parts"
        elif namespace not in self._namespaces and namespace != ABI_DEPENDENCY:
            why = f"but the metadata does not list {namespace} in default-priorities.namespace"
        elif namespace == ABI_DEPENDENCY or any(value in everything for value in wanted):
            why = "which is excluded (--exclude-variant)"
        elif offered:
            why = f"and this machine supports only {_join(offered)}"
        elif self._supported.reasons.get(namespace):
            why = f"but nothing of {namespace} is supported: {self._supported.reasons[namespace]}"
        elif namespace in self._supported.namespaces:
            why = f"and this machine supports nothing of {namespace} :: {feature}"
        else:
            why = f"and nobody answers for {namespace}"
        return RefusedVariant(
            label, f"{needs}, {why}", VariantFeature(namespace, feature), tuple(wanted), offered
        )


def _join(values: Sequence[str]) -> str:
    shown = " or ".join(value[:_SHOWN_LENGTH] for value in values[:_SHOWN_VALUES])
    more = len(values) - _SHOWN_VALUES
    return f"{shown} (and {more} more)" if more > 0 else shown


def _release_of(prefix: str) -> tuple[int, ...]:
    return tuple(int(part) for part in prefix.split("."))


def abi_requirements(properties: Properties) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What the ``abi_dependency`` properties of a variant ask for.

    Returns:
        (normalized project name, release prefixes that will do, newest first) by project.
    """
    features = properties.get(ABI_DEPENDENCY, {})
    return tuple(
        (
            re.sub("_+", "-", feature),
            tuple(
                sorted(
                    (value for value in features[feature] if _RELEASE_PREFIX.fullmatch(value)),
                    key=_release_of,
                    reverse=True,
                )
            ),
        )
        for feature in sorted(features)
    )


def abi_specifier(prefix: str) -> str:
    """The version specifier of a release prefix: ``2.9`` → ``==2.9.*`` (zeros count)."""
    return f"=={prefix}.*"
