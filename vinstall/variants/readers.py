"""Every generation of ``variant.json`` and ``*-variants.json`` → the one model.

The generations: 0.0.1 and 0.0.2 (wheels of 2025), 0.0.3 (PEP 817), 0.1.x (PEP 825, no
providers), 0.2.x (PEP 850). Unknown keys are ignored at every level. What is bad costs as
little as possible: one label, one provider; only a file that says nothing usable is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from vinstall.errors import VariantMetadataError
from vinstall.variants.metadata import ProviderInfo, VariantMetadata
from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    Properties,
    is_label,
    is_namespace,
    is_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 16 * 1024 * 1024
_VERSION = re.compile(r"/v(\d+)\.(\d+)(?:\.(\d+))?\.json$")
_PLUGIN_API = re.compile(r"[A-Za-z_][\w.]*(\s*:\s*[A-Za-z_][\w.]*)?")

_OLD, _PEP_817, _PEP_825, _PEP_850 = "2025", "PEP 817", "PEP 825", "PEP 850"


class _Bad(Exception):
    """One entry is bad; the text says what and where."""


def read_variant_metadata(data: bytes, origin: str) -> VariantMetadata:
    """Read index-level metadata, of any generation.

    Args:
        data: The file.
        origin: Its name or URL, without credentials, for messages.

    Raises:
        VariantMetadataError: The file says nothing usable; ``why`` names place and reason.
    """
    document, problems = _parse(data, origin)
    schema = document.get("$schema", "")
    generation = _find_generation(schema, origin, problems)
    reader = _Reader(document, generation, origin, problems)
    return reader.read(schema if isinstance(schema, str) else "")


def read_wheel_metadata(data: bytes, label: str, origin: str) -> VariantMetadata:
    """Read the ``variant.json`` of one wheel (PEP 825, "Variants": exactly one entry).

    Raises:
        VariantMetadataError: It says nothing usable, or not exactly this label.
    """
    metadata = read_variant_metadata(data, origin)
    labels = {*metadata.variants, *metadata.refused}
    if labels != {label}:
        found = ", ".join(sorted(labels)) or "nothing"
        raise VariantMetadataError(
            f"{origin} does not describe the variant {label}", f"it describes {found}"
        )
    if label in metadata.refused:
        raise VariantMetadataError(f"{origin} is wrong", metadata.refused[label])
    return metadata


def format_index_metadata(metadata: VariantMetadata) -> str:
    """The metadata as a ``*-variants.json`` file.

    PEP 850 form (0.2.0) where providers are known, PEP 825 form (0.1.1) where none are.
    """
    import json

    base = "https://variants-schema.wheelnext.dev"
    document: dict[str, object] = {
        "$schema": f"{base}/peps/825/v0.1.1.json"
        if metadata.providers is None
        else f"{base}/v0.2.0.json",
        "default-priorities": {"namespace": list(metadata.namespaces)},
    }
    if metadata.providers is not None:
        document["providers"] = {
            namespace: _format_provider(provider)
            for namespace, provider in metadata.providers.items()
        }
    document["variants"] = {
        label: {
            namespace: {feature: sorted(values) for feature, values in sorted(features.items())}
            for namespace, features in sorted(metadata.variants[label].items())
        }
        for label in sorted(metadata.variants)
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _format_provider(provider: ProviderInfo) -> dict[str, object]:
    entry: dict[str, object] = {}
    if provider.static_properties is not None:
        entry["static-properties"] = {
            feature: list(values) for feature, values in provider.static_properties.items()
        }
        if provider.feature_order or len(provider.static_properties) > 1:
            entry["feature-order"] = list(provider.feature_order or provider.static_properties)
    elif provider.builtin:
        entry["builtin"] = provider.builtin
    else:
        entry["requires"] = list(provider.requires)
        if provider.plugin_api:
            entry["plugin-api"] = provider.plugin_api
    if provider.optional:
        entry["optional"] = True
    return entry


def _parse(data: bytes, origin: str) -> tuple[dict[str, Any], list[str]]:
    import json

    problems: list[str] = []
    if len(data) > MAX_BYTES:
        raise VariantMetadataError(
            f"{origin} can not be used", f"it has {len(data)} bytes; the limit is {MAX_BYTES}"
        )
    if data.startswith(b"\xef\xbb\xbf"):
        problems.append("it begins with a byte order mark")
        data = data[3:]

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found:
                problems.append(f"the key {key!r} is there twice; the last one counts")
            found[key] = value
        return found

    def number(text: str) -> str:
        return text

    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_int=number,
            parse_float=number,
            parse_constant=number,
        )
    except UnicodeDecodeError as error:
        raise VariantMetadataError(
            f"{origin} can not be read", f"it is not UTF-8: byte {error.start} is wrong"
        ) from error
    except RecursionError as error:
        raise VariantMetadataError(
            f"{origin} can not be read", "it is nested too deeply"
        ) from error
    except ValueError as error:
        raise VariantMetadataError(
            f"{origin} can not be read", f"it is not JSON: {error}"
        ) from error
    if not isinstance(document, dict):
        raise VariantMetadataError(f"{origin} can not be read", "it is not a JSON object")
    return document, problems


def _find_generation(schema: object, origin: str, problems: list[str]) -> str:
    if schema in ("", None):
        return _OLD
    found = _VERSION.search(schema) if isinstance(schema, str) else None
    if found is None:
        problems.append(f"its $schema {schema!r} has no version; it is read by its keys")
        return _PEP_850
    major, minor, patch = int(found[1]), int(found[2]), int(found[3] or 0)
    if major != 0:
        raise VariantMetadataError(
            f"{origin} can not be read",
            f"its format version {major}.{minor}.{patch} is not known",
            "A newer vinstall may know it.",
        )
    if minor == 0:
        if patch > 3:
            problems.append(f"the draft format 0.0.{patch} is not known; it is read as 0.0.3")
        return _OLD if patch <= 2 else _PEP_817
    if minor == 1:
        return _PEP_825
    if minor > 2:
        problems.append(f"the draft format 0.{minor} is not known; it is read as 0.2")
    return _PEP_850


class _Reader:
    """Reads one document; what is bad is noted where it stands."""

    def __init__(
        self, document: Mapping[str, Any], generation: str, origin: str, problems: list[str]
    ) -> None:
        self._document = document
        self._generation = generation
        self._origin = origin
        self._problems = problems
        self._bad_namespaces: dict[str, str] = {}

    def read(self, schema: str) -> VariantMetadata:
        priorities = self._table(self._document.get("default-priorities", {}), "default-priorities")
        namespaces = self._read_namespaces(priorities)
        features: dict[str, tuple[str, ...]] = {}
        values: dict[str, dict[str, tuple[str, ...]]] = {}
        if self._generation in (_OLD, _PEP_817):
            features, values = self._read_old_priorities(priorities)
        providers = self._read_providers(namespaces, features)
        variants, refused = self._read_variants(namespaces, providers)
        return VariantMetadata(
            namespaces,
            variants,
            providers,
            features,
            values,
            refused,
            tuple(self._problems),
            schema,
            self._origin,
        )

    def _table(self, value: object, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise VariantMetadataError(
                f"{self._origin} can not be used", f"{place} is not an object"
            )
        return value

    def _read_namespaces(self, priorities: Mapping[str, Any]) -> tuple[str, ...]:
        place = "default-priorities.namespace"
        given = priorities.get("namespace", [])
        if not isinstance(given, list):
            raise VariantMetadataError(f"{self._origin} can not be used", f"{place} is not a list")
        found: dict[str, None] = {}
        for entry in given:
            if not isinstance(entry, str) or not is_namespace(entry):
                self._problems.append(f"{place} holds {entry!r}, which is not a namespace")
            elif entry == ABI_DEPENDENCY:
                self._problems.append(f"{place} lists {entry}, which has a fixed place")
            elif entry in found:
                self._problems.append(f"{place} holds {entry!r} twice")
            else:
                found[entry] = None
        return tuple(found)

    def _read_old_priorities(
        self, priorities: Mapping[str, Any]
    ) -> tuple[dict[str, tuple[str, ...]], dict[str, dict[str, tuple[str, ...]]]]:
        features: dict[str, tuple[str, ...]] = {}
        values: dict[str, dict[str, tuple[str, ...]]] = {}
        given = priorities.get("feature", {})
        for namespace, entries in given.items() if isinstance(given, dict) else ():
            try:
                features[namespace] = _texts(
                    entries, f"default-priorities.feature.{namespace}", is_namespace
                )
            except _Bad as bad:
                self._problems.append(str(bad))
        given = priorities.get("property", {})
        for namespace, table in given.items() if isinstance(given, dict) else ():
            for feature, entries in table.items() if isinstance(table, dict) else ():
                try:
                    values.setdefault(namespace, {})[feature] = _texts(
                        entries, f"default-priorities.property.{namespace}.{feature}", is_value
                    )
                except _Bad as bad:
                    self._problems.append(str(bad))
        return features, values

    def _read_providers(
        self, namespaces: tuple[str, ...], features: Mapping[str, tuple[str, ...]]
    ) -> dict[str, ProviderInfo] | None:
        if self._generation == _PEP_825:
            return None
        given = self._document.get("providers")
        if given is None and self._generation == _PEP_850 and not namespaces:
            return {}
        if not isinstance(given, dict):
            if given is not None:
                self._problems.append("providers is not an object")
            return {}
        providers: dict[str, ProviderInfo] = {}
        static = self._document.get("static-properties", {})
        for namespace, entry in given.items():
            place = f"providers.{namespace}"
            try:
                if not is_namespace(namespace) or namespace == ABI_DEPENDENCY:
                    raise _Bad(f"{place}: {namespace!r} can not name a provider")
                if not isinstance(entry, dict):
                    raise _Bad(f"{place} is not an object")
                if self._generation == _PEP_850:
                    providers[namespace] = _read_provider_850(entry, place)
                else:
                    own = static.get(namespace) if isinstance(static, dict) else None
                    providers[namespace] = _read_provider_old(
                        entry, place, own, features.get(namespace, ())
                    )
            except _Bad as bad:
                self._bad_namespaces[namespace] = str(bad)
                self._problems.append(str(bad))
        return providers

    def _read_variants(
        self, namespaces: tuple[str, ...], providers: Mapping[str, ProviderInfo] | None
    ) -> tuple[dict[str, Properties], dict[str, str]]:
        given = self._table(self._document.get("variants", {}), "variants")
        variants: dict[str, Properties] = {}
        refused: dict[str, str] = {}
        for label, entry in given.items():
            try:
                properties = _read_variant(label, entry)
                for namespace in properties:
                    self._check_namespace(namespace, namespaces, providers, f"variants.{label}")
            except _Bad as bad:
                refused[label] = str(bad)
                self._problems.append(str(bad))
            else:
                variants[label] = properties
        return variants, refused

    def _check_namespace(
        self,
        namespace: str,
        namespaces: tuple[str, ...],
        providers: Mapping[str, ProviderInfo] | None,
        place: str,
    ) -> None:
        if namespace == ABI_DEPENDENCY:
            return
        if namespace in self._bad_namespaces:
            raise _Bad(f"{place} uses {namespace}, but {self._bad_namespaces[namespace]}")
        if namespace not in namespaces:
            raise _Bad(
                f"{place} uses {namespace}, which default-priorities.namespace does not list"
            )
        if providers is not None and namespace not in providers:
            raise _Bad(f"{place} uses {namespace}, which providers does not list")


def _read_variant(label: str, entry: object) -> Properties:
    place = f"variants.{label}"
    if not is_label(label):
        raise _Bad(f"{place}: a label may hold only 0-9, a-z, '_' and '.'")
    if not isinstance(entry, dict):
        raise _Bad(f"{place} is not an object")
    properties: dict[str, dict[str, tuple[str, ...]]] = {}
    for namespace, features in entry.items():
        if not is_namespace(namespace):
            raise _Bad(f"{place}: {namespace!r} is not a namespace")
        if not isinstance(features, dict) or not features:
            raise _Bad(f"{place}.{namespace} is not an object with features")
        table: dict[str, tuple[str, ...]] = {}
        for feature, values in features.items():
            if not is_namespace(feature):
                raise _Bad(f"{place}.{namespace}: {feature!r} is not a feature name")
            found = _texts(values, f"{place}.{namespace}.{feature}", is_value)
            if not found:
                raise _Bad(f"{place}.{namespace}.{feature} has no values")
            table[feature] = tuple(sorted(found))
        properties[namespace] = table
    if label == NULL_LABEL and properties:
        raise _Bad(f"{place} has properties, but the null variant has none")
    if label != NULL_LABEL and not properties:
        raise _Bad(f"{place} has no properties, which only the null variant may be")
    return properties


def _read_provider_850(entry: Mapping[str, Any], place: str) -> ProviderInfo:
    given = [
        key
        for key in ("requires", "static-properties", "builtin", "build-requires")
        if entry.get(key)
    ]
    if given == ["build-requires"]:
        raise _Bad(f"{place} has build-requires, which only a pyproject.toml may have")
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise _Bad(
            f"{place} must have exactly one of requires, static-properties and builtin, "
            f"and has {found}"
        )
    optional = _read_flag(entry, "optional", place, default=False)
    if given == ["builtin"]:
        if not isinstance(entry["builtin"], str):
            raise _Bad(f"{place}.builtin is not a text")
        return ProviderInfo(builtin=entry["builtin"], optional=optional)
    if given == ["requires"]:
        return ProviderInfo(
            requires=_read_requires(entry, place),
            plugin_api=_read_plugin_api(entry, place),
            optional=optional,
        )
    static = _read_static(entry["static-properties"], f"{place}.static-properties")
    order = _texts(entry.get("feature-order", []), f"{place}.feature-order", is_namespace)
    if len(static) > 1 and not order:
        raise _Bad(f"{place} has several features, but no feature-order")
    if order and set(order) != set(static):
        raise _Bad(f"{place}.feature-order does not name the features of static-properties")
    return ProviderInfo(static_properties=static, feature_order=order, optional=optional)


def _read_provider_old(
    entry: Mapping[str, Any], place: str, static: object, feature_order: tuple[str, ...]
) -> ProviderInfo:
    """A provider of PEP 817 or before."""
    optional = _read_flag(entry, "optional", place, default=False)
    marker = entry.get("enable-if") or ""
    if not isinstance(marker, str):
        raise _Bad(f"{place}.enable-if is not a text")
    use = entry.get("plugin-use", "all")
    install_time = _read_flag(entry, "install-time", place, default=use not in ("build", "none"))
    requires = _read_requires(entry, place) if entry.get("requires") else ()
    plugin_api = _read_plugin_api(entry, place)
    if not install_time:
        found = _read_static(static if static is not None else {}, f"static-properties of {place}")
        return ProviderInfo(
            requires=requires,
            plugin_api=plugin_api,
            static_properties=found,
            feature_order=tuple(one for one in feature_order if one in found),
            enable_if=marker,
            optional=optional,
        )
    if not requires and not plugin_api:
        raise _Bad(f"{place} has neither requires nor plugin-api")
    return ProviderInfo(
        requires=requires, plugin_api=plugin_api, enable_if=marker, optional=optional
    )


def _read_flag(entry: Mapping[str, Any], key: str, place: str, *, default: bool) -> bool:
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise _Bad(f"{place}.{key} is neither true nor false")
    return value


def _read_requires(entry: Mapping[str, Any], place: str) -> tuple[str, ...]:
    value = entry["requires"]
    if isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
        return tuple(value)
    raise _Bad(f"{place}.requires is not a list of requirements")


def _read_plugin_api(entry: Mapping[str, Any], place: str) -> str:
    value = entry.get("plugin-api") or ""
    if not isinstance(value, str) or (value and not _PLUGIN_API.fullmatch(value)):
        raise _Bad(f"{place}.plugin-api does not look like 'module:object'")
    return value


def _read_static(value: object, place: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _Bad(f"{place} is not an object")
    found = {}
    for feature, values in value.items():
        if not is_namespace(feature):
            raise _Bad(f"{place}: {feature!r} is not a feature name")
        found[feature] = _texts(values, f"{place}.{feature}", is_value)
        if not found[feature]:
            raise _Bad(f"{place}.{feature} has no values")
    return found


def _texts(value: object, place: str, is_good: Any) -> tuple[str, ...]:
    """A list of distinct texts of one grammar."""
    if not isinstance(value, list):
        raise _Bad(f"{place} is not a list")
    return tuple(_iter_texts(value, place, is_good))


def _iter_texts(value: list[object], place: str, is_good: Any) -> Iterator[str]:
    seen = set()
    for entry in value:
        if not isinstance(entry, str) or not is_good(entry):
            raise _Bad(f"{place} holds {entry!r}, which is not allowed there")
        if entry in seen:
            raise _Bad(f"{place} holds {entry!r} twice")
        seen.add(entry)
        yield entry
