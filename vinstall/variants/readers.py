"""Every generation of ``variant.json`` and ``*-variants.json`` → the one model.

The generations: 0.0.1 and 0.0.2 (wheels of 2025), 0.0.3 (PEP 817), 0.1.x (PEP 825, no
providers), 0.2.x (PEP 850). Unknown keys are ignored at every level. What is bad costs as
little as possible: one label, one provider; only a file that says nothing usable is an error.
"""

from __future__ import annotations

import reprlib

from vinstall.errors import VariantMetadataError
from vinstall.patterns import lazy_pattern
from vinstall.variants.metadata import ProviderInfo, VariantMetadata
from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    Properties,
    is_label,
    is_namespace,
    is_value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

MAX_BYTES = 16 * 1024 * 1024
_BASE = "https://variants-schema.wheelnext.dev"
_VERSION = lazy_pattern(r"/v([0-9]+)\.([0-9]+)(?:\.([0-9]+))?\.json")
_PLUGIN_API = lazy_pattern(r"[A-Za-z_][\w.]*(\s*:\s*[A-Za-z_][\w.]*)?")

_OLD, _PEP_817, _PEP_825, _PEP_850 = "2025", "PEP 817", "PEP 825", "PEP 850"


_shown = reprlib.Repr()
_shown.maxlevel = 2
_shown.maxstring = _shown.maxother = 60


class _Bad(Exception):
    """One entry is bad; the text says what and where."""


class _Number:
    """A number of the document: nothing wants one, and it may have a million digits."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


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
    generation = _find_generation(document, origin, problems)
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

    PEP 850 form (0.2.0) where providers are known, PEP 825 form (0.1.1) where none are; PEP
    817 form (0.0.3) where the PEP 850 form would lose priorities or conditions. Reading it
    gives the same labels, providers and order.
    """
    import json

    providers = metadata.providers
    old = providers is not None and _needs_old_form(metadata)
    priorities: dict[str, object] = {"namespace": list(metadata.namespaces)}
    document: dict[str, object] = {
        "$schema": f"{_BASE}/peps/825/v0.1.1.json"
        if providers is None
        else f"{_BASE}/v0.0.3.json"
        if old
        else f"{_BASE}/v0.2.0.json",
        "default-priorities": priorities,
    }
    if providers is not None and old:
        features = {**metadata.feature_priorities}
        for namespace, provider in providers.items():
            if provider.feature_order:
                features.setdefault(namespace, provider.feature_order)
        priorities["feature"] = features
        priorities["property"] = metadata.property_priorities
        document["static-properties"] = {
            namespace: provider.static_properties
            for namespace, provider in providers.items()
            if provider.static_properties is not None
        }
    if providers is not None:
        document["providers"] = {
            namespace: _format_provider_old(provider) if old else _format_provider(provider)
            for namespace, provider in providers.items()
        }
    document["variants"] = {
        label: {
            namespace: {feature: sorted(values) for feature, values in sorted(features.items())}
            for namespace, features in sorted(metadata.variants[label].items())
        }
        for label in sorted(metadata.variants)
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=dict) + "\n"


def _needs_old_form(metadata: VariantMetadata) -> bool:
    """Whether the form of PEP 850 would lose something that a generation before it said."""
    return bool(
        metadata.feature_priorities
        or metadata.property_priorities
        or any(
            provider.enable_if
            or (provider.static_properties is not None and provider.requires)
            or not (provider.static_properties or provider.requires or provider.builtin)
            for provider in (metadata.providers or {}).values()
        )
    )


def _format_provider_old(provider: ProviderInfo) -> dict[str, object]:
    entry: dict[str, object] = {}
    if provider.enable_if:
        entry["enable-if"] = provider.enable_if
    if provider.static_properties is not None:
        entry["install-time"] = False
    if provider.optional:
        entry["optional"] = True
    if provider.plugin_api:
        entry["plugin-api"] = provider.plugin_api
    if provider.requires:
        entry["requires"] = list(provider.requires)
    return entry


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
                problems.append(f"the key {_show(key)} is there twice; the last one counts")
            found[key] = value
        return found

    def constant(text: str) -> None:
        raise ValueError(f"{text} is not a JSON value")

    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=constant,
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


def _find_generation(document: Mapping[str, Any], origin: str, problems: list[str]) -> str:
    schema = document.get("$schema")
    if schema in ("", None):
        return _OLD
    found = _VERSION.search(schema) if isinstance(schema, str) else None
    if found is None or found.end() != len(schema):
        problems.append(f"its $schema {_show(schema)} has no version; it is read by its keys")
        return _guess_generation(document)
    # The first digits are enough to know that a version is not known.
    major, minor, patch = (int((part or "0")[:9]) for part in found.groups())
    if major != 0 or found[1].strip("0"):
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


def _guess_generation(document: Mapping[str, Any]) -> str:
    """The generation of a file that does not tell, by the keys that only one has."""
    providers = document.get("providers")
    if not isinstance(providers, dict):
        return _PEP_825
    priorities = document.get("default-priorities")
    keys = {key for entry in providers.values() if isinstance(entry, dict) for key in entry}
    if isinstance(priorities, dict):
        keys.update(priorities)
    old = {"enable-if", "install-time", "plugin-use", "feature", "property"}
    return _PEP_817 if keys & old or "static-properties" in document else _PEP_850


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
        providers = self._read_providers(features)
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
                self._problems.append(f"{place} holds {_show(entry)}, which is not a namespace")
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
        place = "default-priorities.feature"
        for namespace, entries in self._entries(priorities.get("feature", {}), place):
            try:
                features[namespace] = _texts(entries, f"{place}.{_key(namespace)}", is_namespace)
            except _Bad as bad:
                self._problems.append(str(bad))
        place = "default-priorities.property"
        for namespace, table in self._entries(priorities.get("property", {}), place):
            inner = f"{place}.{_key(namespace)}"
            for feature, entries in self._entries(table, inner):
                try:
                    found = _texts(entries, f"{inner}.{_key(feature)}", is_value)
                except _Bad as bad:
                    self._problems.append(str(bad))
                else:
                    values.setdefault(namespace, {})[feature] = found
        return features, values

    def _entries(self, value: object, place: str) -> Iterable[tuple[str, Any]]:
        """The entries of a table that is worth nothing but a note where it is none."""
        if isinstance(value, dict):
            return value.items()
        self._problems.append(f"{place} is not an object")
        return ()

    def _read_providers(
        self, features: Mapping[str, tuple[str, ...]]
    ) -> dict[str, ProviderInfo] | None:
        if self._generation == _PEP_825:
            return None
        given = self._document.get("providers")
        if not isinstance(given, dict):
            if given is not None:
                self._problems.append("providers is not an object")
            return {}
        providers: dict[str, ProviderInfo] = {}
        static = self._document.get("static-properties", {})
        if self._generation != _PEP_850 and not isinstance(static, dict):
            self._problems.append("static-properties is not an object")
            static = {}
        for namespace, entry in given.items():
            place = f"providers.{_key(namespace)}"
            try:
                if not is_namespace(namespace) or namespace == ABI_DEPENDENCY:
                    raise _Bad(f"{place}: this can not name a provider")
                if not isinstance(entry, dict):
                    raise _Bad(f"{place} is not an object")
                if self._generation == _PEP_850:
                    providers[namespace] = _read_provider_850(entry, place)
                else:
                    providers[namespace] = _read_provider_old(
                        entry, place, static.get(namespace), features.get(namespace, ())
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
                    self._check_namespace(
                        namespace, namespaces, providers, f"variants.{_key(label)}"
                    )
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
    place = f"variants.{_key(label)}"
    if not is_label(label):
        raise _Bad(f"{place}: a label may hold only 0-9, a-z, '_' and '.'")
    if not isinstance(entry, dict):
        raise _Bad(f"{place} is not an object")
    properties: dict[str, dict[str, tuple[str, ...]]] = {}
    for namespace, features in entry.items():
        if not is_namespace(namespace):
            raise _Bad(f"{place}: {_show(namespace)} is not a namespace")
        if not isinstance(features, dict) or not features:
            raise _Bad(f"{place}.{namespace} is not an object with features")
        table: dict[str, tuple[str, ...]] = {}
        for feature, values in features.items():
            if not is_namespace(feature):
                raise _Bad(f"{place}.{namespace}: {_show(feature)} is not a feature name")
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
            raise _Bad(f"{place}: {_show(feature)} is not a feature name")
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
            raise _Bad(f"{place} holds {_show(entry)}, which is not allowed there")
        if entry in seen:
            raise _Bad(f"{place} holds {_show(entry)} twice")
        seen.add(entry)
        yield entry


def _show(value: object) -> str:
    """A foreign value for a message: short, however long or deep it is, and escaped."""
    return _shown.repr(value)


def _key(text: str) -> str:
    """A foreign key as part of a place; as it is where it can do no harm."""
    return text if is_label(text) and len(text) <= 100 else _show(text)
