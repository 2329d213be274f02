"""Variant properties, features and labels: their grammar and order.

Implements PEP 825, "Variant properties" and "Variant label".
"""

from __future__ import annotations

from collections.abc import Mapping

from vinstall.errors import VariantMetadataError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

NULL_LABEL = "null"
ABI_DEPENDENCY = "abi_dependency"

Properties = Mapping[str, Mapping[str, tuple[str, ...]]]
"""The properties of one variant: namespace → feature → values."""

_KEY = lazy_pattern(r"[a-z0-9_]+")
_VALUE = lazy_pattern(r"[a-z0-9_.]+")
_LABEL = lazy_pattern(r"[0-9a-z_.]+")


def is_namespace(text: str) -> bool:
    """Whether a text is a valid namespace (or feature name: the grammar is the same)."""
    return _KEY.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Whether a text is a valid feature value."""
    return _VALUE.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a text is a valid variant label, of any length."""
    return _LABEL.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, order=True)
class VariantFeature:
    """A namespace and a feature name; written ``namespace :: feature``."""

    namespace: str
    feature: str

    def __str__(self) -> str:
        return f"{self.namespace} :: {self.feature}"


@dataclass(frozen=True, slots=True, order=True)
class VariantProperty:
    """A feature with one value; written ``namespace :: feature :: value``."""

    namespace: str
    feature: str
    value: str

    def __str__(self) -> str:
        return f"{self.namespace} :: {self.feature} :: {self.value}"


@dataclass(frozen=True, slots=True, order=True)
class VariantPattern:
    """A namespace, a feature, or a property, as users name them to prefer or exclude.

    ``feature`` and ``value`` are empty where the pattern is wider.
    """

    namespace: str
    feature: str = ""
    value: str = ""

    def matches(self, variant_property: VariantProperty) -> bool:
        """Whether the property lies within the pattern."""
        return (
            self.namespace == variant_property.namespace
            and self.feature in ("", variant_property.feature)
            and self.value in ("", variant_property.value)
        )

    def __str__(self) -> str:
        return " :: ".join(part for part in (self.namespace, self.feature, self.value) if part)


def parse_pattern(text: str) -> VariantPattern:
    """Read ``ns``, ``ns :: feature`` or ``ns :: feature :: value``; white space never matters.

    Raises:
        VariantMetadataError: The text has another form.
    """
    parts = [part.strip() for part in text.split("::")]
    good = (
        1 <= len(parts) <= 3
        and all(is_namespace(part) for part in parts[:2])
        and all(is_value(part) for part in parts[2:])
    )
    if not good:
        raise VariantMetadataError(
            f"{text!r} is not a variant property",
            "it has to look like 'namespace', 'namespace :: feature' or "
            "'namespace :: feature :: value', in lower case letters, digits and '_'",
        )
    return VariantPattern(*parts)


def parse_property(text: str) -> VariantProperty:
    """Read ``namespace :: feature :: value``; white space around ``::`` never matters.

    Raises:
        VariantMetadataError: The text has another form.
    """
    pattern = parse_pattern(text)
    if not pattern.value:
        raise VariantMetadataError(
            f"{text!r} is not a variant property",
            "it has to look like 'namespace :: feature :: value'",
        )
    return VariantProperty(pattern.namespace, pattern.feature, pattern.value)


def iter_properties(properties: Properties) -> tuple[VariantProperty, ...]:
    """All properties of a variant, sorted."""
    return tuple(
        sorted(
            VariantProperty(namespace, feature, value)
            for namespace, features in properties.items()
            for feature, values in features.items()
            for value in values
        )
    )
