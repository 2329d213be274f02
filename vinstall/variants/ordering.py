"""Which variant of a release is best for a machine, and why the others do not fit.

Implements PEP 825, "Variant ordering", with the feature and value priorities of the
generations before it, the ``abi_dependency`` namespace, and the user's wishes.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass
from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    Properties,
    VariantFeature,
    VariantPattern,
    VariantProperty,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.supported import SupportedProperties

_RELEASE_PREFIX = lazy_pattern(r"[0-9]{1,18}(\.[0-9]{1,18}){0,2}")
_SHOWN_VALUES = 6
_SHOWN_LENGTH = 60

Key = tuple[int, int, str, int]
"""(index of namespace, index of feature, feature name where it decides, index of value)."""

_END: Key = (sys.maxsize, 0, "", 0)
"""Greater than every key: where one list of keys begins with the other, the longer one wins."""

_Choices = dict[str, tuple[Key, VariantProperty]]
"""Value → its key and the property, best first."""


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
) -> tuple[bool, tuple[bool, ...], tuple[Key, ...], str]:
    liked = tuple(not any(pattern.matches(one) for one in variant.supported) for pattern in prefer)
    return variant.label == NULL_LABEL, liked, (*variant.key, _END), variant.label


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
        self._choices: dict[tuple[str, str], _Choices] = {}
        self._prefixes: dict[str, set[str]] | None = None

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
        best: list[tuple[Key, VariantProperty]] = []
        fits: list[VariantProperty] = []
        for namespace, features in sorted(properties.items()):
            for feature, values in sorted(features.items()):
                choices = self._find_choices(namespace, feature)
                hits = [choices[value] for value in sorted(values) if value in choices]
                if not hits:
                    return self._refuse(label, namespace, feature, values, choices)
                best.append(min(hits))
                fits += [one for _, one in hits]
        best.sort()
        return RankedVariant(
            label,
            properties,
            tuple(one for _, one in best),
            tuple(fits),
            tuple(key for key, _ in best),
        )

    def _find_choices(self, namespace: str, feature: str) -> _Choices:
        """What may be chosen of a feature, best first; found once for all labels."""
        found = self._choices.get((namespace, feature))
        if found is None:
            if namespace == ABI_DEPENDENCY:
                keys = self._place_prefixes(feature)
            else:
                keys = self._place_values(namespace, feature)
            properties = {value: VariantProperty(namespace, feature, value) for value in keys}
            found = {
                value: (key, properties[value])
                for value, key in keys.items()
                if not any(pattern.matches(properties[value]) for pattern in self._exclude)
            }
            self._choices[namespace, feature] = found
        return found

    def _place_values(self, namespace: str, feature: str) -> dict[str, Key]:
        """The supported values of a feature, best first."""
        place = self._namespaces.get(namespace)
        values = self._supported.values(namespace, feature)
        if place is None or self._metadata is None or not values:
            return {}
        features = self._features.get(namespace)
        if features is None:
            first = self._metadata.feature_priorities.get(namespace, ())
            ordered = _put_first(first, tuple(self._supported.namespaces[namespace]))
            features = self._features[namespace] = {one: at for at, one in enumerate(ordered)}
        first = self._metadata.property_priorities.get(namespace, {}).get(feature, ())
        return {
            value: (place, features[feature], "", at)
            for at, value in enumerate(_put_first(first, values))
        }

    def _place_prefixes(self, feature: str) -> dict[str, Key]:
        """Every release prefix that a variant of the release names, newer ones first.

        Two ways to write one release (``2.9`` and ``2.09``) share a place.
        """
        if self._prefixes is None:
            self._prefixes = {}
            for properties in self._metadata.variants.values() if self._metadata else ():
                for name, values in properties.get(ABI_DEPENDENCY, {}).items():
                    good = filter(_RELEASE_PREFIX.fullmatch, values)
                    self._prefixes.setdefault(name, set()).update(good)
        prefixes = self._prefixes.get(feature, set())
        releases = sorted({_release_of(one) for one in prefixes}, reverse=True)
        places = {release: at for at, release in enumerate(releases)}
        return {
            one: (len(self._namespaces), 0, feature, places[_release_of(one)]) for one in prefixes
        }

    def _refuse(
        self,
        label: str,
        namespace: str,
        feature: str,
        wanted: tuple[str, ...],
        choices: _Choices,
    ) -> RefusedVariant:
        needs = f"it needs {namespace} :: {feature} :: {_join(wanted)}"
        offered = () if namespace == ABI_DEPENDENCY else tuple(choices)
        everything = self._supported.values(namespace, feature)
        who = self._supported.who(namespace)
        if namespace == ABI_DEPENDENCY and not any(map(_RELEASE_PREFIX.fullmatch, wanted)):
            why = "which is not a release number of up to three parts"
        elif namespace not in self._namespaces and namespace != ABI_DEPENDENCY:
            why = f"but the metadata does not list {namespace} in default-priorities.namespace"
        elif namespace == ABI_DEPENDENCY or any(value in everything for value in wanted):
            why = "which is excluded (--exclude-variant)"
        elif offered:
            why = f"and {who} supports only {_join(offered)}"
        elif self._supported.reasons.get(namespace):
            why = f"but nothing of {namespace} is supported: {self._supported.reasons[namespace]}"
        elif namespace in self._supported.namespaces:
            why = f"and {who} supports nothing of {namespace} :: {feature}"
        else:
            why = f"and nobody answers for {namespace}"
        return RefusedVariant(
            label, f"{needs}, {why}", VariantFeature(namespace, feature), tuple(wanted), offered
        )


def _put_first(first: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Those of the others that are named, in the order named, then the rest as it was."""
    if not first:
        return tuple(others)
    return (
        *(one for one in first if one in others),
        *(one for one in others if one not in first),
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


def matches_release_prefix(version_text: str, prefix: str) -> bool:
    """Whether a version belongs to a release prefix, as ``=={prefix}.*`` has it.

    Implements PEP 817, "ABI Dependency Variant Namespace". ``2.9`` takes 2.9 and 2.9.1;
    ``2.0`` takes 2 and 2.0.3, but not 2.1. A version with an epoch, and a text that is no
    version, belong to none.
    """
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(version_text)
    except InvalidVersion:
        return False
    if version.epoch or not _RELEASE_PREFIX.fullmatch(prefix):
        return False
    wanted = _release_of(prefix)
    release = (*version.release, *(0 for _ in wanted))
    return release[: len(wanted)] == wanted
