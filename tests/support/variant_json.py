"""Variant metadata documents of every generation.

Covers the structures of PEP 825 ("Variant metadata"), PEP 850 (providers) and PEP 817
(the older umbrella draft), as they are written in ``variant.json`` and
``{name}-{version}-variants.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Generation = Literal["0.0.1", "0.0.3", "0.1.1", "0.2.0"]
Document = dict[str, Any]

SCHEMA_URLS: dict[Generation, str] = {
    "0.0.1": "https://variants-schema.wheelnext.dev/v0.0.1.json",
    "0.0.3": "https://variants-schema.wheelnext.dev/v0.0.3.json",
    "0.1.1": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
    "0.2.0": "https://variants-schema.wheelnext.dev/v0.2.0.json",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """Who answers for one namespace; each generation writes the fields that it knows.

    Attributes:
        requires: Requirements that install the provider.
        plugin_api: Object reference of the plugin; empty leaves the key out.
        optional: Whether the user must enable the provider.
        enable_if: Environment marker (0.0.1 and 0.0.3).
        plugin_use: ``all``, ``build`` or ``none`` (0.0.1).
        install_time: False where ``static_properties`` answer (0.0.3).
        static_properties: Feature to values, best first (0.0.3 and 0.2.0).
        feature_order: Features of ``static_properties``, best first (0.2.0).
        builtin: Name of a provider that the installer has inside (0.2.0).
    """

    requires: tuple[str, ...] = ()
    plugin_api: str = ""
    optional: bool = False
    enable_if: str = ""
    plugin_use: str = ""
    install_time: bool = True
    static_properties: Mapping[str, Sequence[str]] | None = None
    feature_order: tuple[str, ...] = ()
    builtin: str = ""


def parse_properties(text: Iterable[str] | str) -> dict[str, dict[str, list[str]]]:
    """Turn ``"ns :: feature :: value"`` lines into namespace → feature → sorted values.

    Args:
        text: Properties, either an iterable of them or one string split at commas.
    """
    lines = text.split(",") if isinstance(text, str) else text
    result: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if not line.strip():
            continue
        namespace, feature, value = (part.strip() for part in line.split("::"))
        values = result.setdefault(namespace, {}).setdefault(feature, [])
        if value not in values:
            values.append(value)
            values.sort()
    return result


def variant_document(
    variants: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]] | str],
    *,
    generation: Generation = "0.1.1",
    namespaces: Sequence[str] | None = None,
    providers: Mapping[str, Provider] | None = None,
    feature_priorities: Mapping[str, Sequence[str]] | None = None,
    property_priorities: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> Document:
    """Give the document for some labels, ready for ``json.dumps``.

    Args:
        variants: Label to properties, as nested mappings or as one string of
            ``ns :: feature :: value`` separated by commas.
        generation: Which format to write.
        namespaces: ``default-priorities.namespace``; by default the namespaces in the
            order in which they appear, without ``abi_dependency``.
        providers: Namespace to provider. By default, in the generations that have
            providers, each namespace gets one that requires ``{namespace}-provider``.
        feature_priorities: ``default-priorities.feature`` (0.0.1 and 0.0.3).
        property_priorities: ``default-priorities.property`` (0.0.1 and 0.0.3).
    """
    described = {
        label: parse_properties(value)
        if isinstance(value, str)
        else {
            namespace: {feature: list(values) for feature, values in features.items()}
            for namespace, features in value.items()
        }
        for label, value in variants.items()
    }
    if namespaces is None:
        seen = (namespace for features in described.values() for namespace in features)
        namespaces = [name for name in dict.fromkeys(seen) if name != "abi_dependency"]
    priorities: dict[str, Any] = {"namespace": list(namespaces)}
    document: Document = {"$schema": SCHEMA_URLS[generation], "default-priorities": priorities}
    if generation in {"0.0.1", "0.0.3"}:
        if feature_priorities:
            priorities["feature"] = {key: list(value) for key, value in feature_priorities.items()}
        if property_priorities:
            priorities["property"] = {
                namespace: {feature: list(values) for feature, values in features.items()}
                for namespace, features in property_priorities.items()
            }
    if generation != "0.1.1":
        if providers is None:
            providers = {
                name: Provider(
                    requires=(f"{name.replace('_', '-')}-provider",),
                    plugin_api=f"{name}_provider.plugin:Plugin",
                )
                for name in namespaces
            }
        document["providers"] = {
            name: _provider_table(provider, generation) for name, provider in providers.items()
        }
        static = {
            name: {feature: list(values) for feature, values in provider.static_properties.items()}
            for name, provider in providers.items()
            if provider.static_properties is not None
        }
        if generation == "0.0.3" and static:
            document["static-properties"] = static
    document["variants"] = described
    return document


def combine_documents(documents: Sequence[Document]) -> Document:
    """Give the index-level document for the wheels of one release.

    The union of all labels; the longest namespace list; the rest from the first document.
    Contradictions are not looked for: tests may want them.
    """
    combined = {**documents[0], "variants": {}}
    for document in documents:
        namespaces = document["default-priorities"]["namespace"]
        if len(namespaces) > len(combined["default-priorities"]["namespace"]):
            combined["default-priorities"] = document["default-priorities"]
        for key in ("providers", "static-properties"):
            if key in document:
                combined[key] = {**combined.get(key, {}), **document[key]}
        combined["variants"] = {**combined["variants"], **document["variants"]}
    return combined


def _provider_table(provider: Provider, generation: Generation) -> dict[str, Any]:
    table: dict[str, Any] = {}
    static = provider.static_properties
    if generation == "0.2.0" and static is not None:
        table["static-properties"] = {feature: list(values) for feature, values in static.items()}
        order = provider.feature_order or (tuple(static) if len(static) > 1 else ())
        if order:
            table["feature-order"] = list(order)
    elif generation == "0.2.0" and provider.builtin:
        table["builtin"] = provider.builtin
    else:
        table["requires"] = list(provider.requires)
        if provider.plugin_api:
            table["plugin-api"] = provider.plugin_api
    if provider.optional:
        table["optional"] = True
    if generation in {"0.0.1", "0.0.3"} and provider.enable_if:
        table["enable-if"] = provider.enable_if
    if generation == "0.0.1" and provider.plugin_use:
        table["plugin-use"] = provider.plugin_use
    if generation == "0.0.3" and (not provider.install_time or static is not None):
        table["install-time"] = False
    return table
