"""The one model of variant metadata in memory, whatever generation of file it came from.

Implements PEP 825, "Variant metadata" and "Metadata consistency", and the provider
entries of PEP 817 and PEP 850.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.variants.properties import Properties


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
