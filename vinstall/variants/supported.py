"""What a machine supports: namespace → feature → values, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.values import dataclass, field
from vinstall.variants.properties import Properties, VariantProperty

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SupportedProperties:
    """The supported properties, and who said so.

    Attributes:
        namespaces: Namespace → feature → values. Features and values are ordered, best
            first. A namespace that nobody answers for is missing.
        sources: Namespace → who answered ("profile gpu.toml", "plugin nvidia 0.1.0",
            "static properties of the release").
        reasons: Namespace → why nothing of it is supported.
    """

    namespaces: Properties = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    def values(self, namespace: str, feature: str) -> tuple[str, ...]:
        """The supported values of a feature, best first; empty where there are none."""
        return tuple(self.namespaces.get(namespace, {}).get(feature, ()))

    def supports(self, variant_property: VariantProperty) -> bool:
        """Whether the property is supported."""
        return variant_property.value in self.values(
            variant_property.namespace, variant_property.feature
        )

    def who(self, namespace: str) -> str:
        """Whose properties these are, as the subject of a sentence: a profile or the machine."""
        source = self.sources.get(namespace, "")
        return f"the {source}" if source.startswith("profile ") else "this machine"

    def restrict(self, properties: Properties) -> tuple[VariantProperty, ...]:
        """The properties of a variant that are supported, sorted (PEP 825, "Evaluating")."""
        return tuple(
            sorted(
                VariantProperty(namespace, feature, value)
                for namespace, features in properties.items()
                for feature, wanted in features.items()
                for value in wanted
                if value in self.values(namespace, feature)
            )
        )
