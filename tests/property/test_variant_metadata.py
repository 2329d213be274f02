"""Laws of variant metadata: combining it, and reading files that went wrong."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.property import strategies as own
from vinstall.errors import VariantMetadataError
from vinstall.variants.metadata import VariantMetadata, check_wheel_metadata, combine_metadata
from vinstall.variants.ordering import rank_variants
from vinstall.variants.properties import ABI_DEPENDENCY, is_label, is_namespace, is_value
from vinstall.variants.readers import (
    format_index_metadata,
    read_variant_metadata,
    read_wheel_metadata,
)
from vinstall.variants.supported import SupportedProperties

LAW = settings(max_examples=80, deadline=None)
FILES = {
    path.name: path.read_bytes()
    for path in sorted((Path(__file__).parents[2] / "fixtures" / "variants").glob("*.json"))
}
NAMES = st.sampled_from(sorted(FILES))


def combine(*parts: VariantMetadata | None) -> VariantMetadata | None:
    """The combination; ``None`` where the parts contradict each other."""
    if any(part is None for part in parts):
        return None
    try:
        return combine_metadata([part for part in parts if part is not None])
    except VariantMetadataError:
        return None


def check(metadata: VariantMetadata) -> None:
    """Whatever was in the file, the model holds nothing that its users do not expect."""
    assert all(is_namespace(one) and one != ABI_DEPENDENCY for one in metadata.namespaces)
    assert len(set(metadata.namespaces)) == len(metadata.namespaces)
    assert not set(metadata.variants) & set(metadata.refused)
    for label, variant in metadata.variants.items():
        assert is_label(label)
        assert (label == "null") is not bool(variant)
        for namespace, features in variant.items():
            assert namespace == ABI_DEPENDENCY or namespace in metadata.namespaces
            assert (
                namespace == ABI_DEPENDENCY
                or metadata.providers is None
                or namespace in metadata.providers
            )
            assert features
            for feature, values in features.items():
                assert is_namespace(feature)
                assert values
                assert tuple(sorted(set(values))) == values
                assert all(is_value(one) for one in values)
    for provider in (metadata.providers or {}).values():
        assert all(isinstance(one, str) and one for one in provider.requires)
        for text in (provider.plugin_api, provider.enable_if, provider.builtin):
            assert isinstance(text, str)
        assert set(provider.feature_order) <= set(provider.static_properties or ())
    for text in (*metadata.refused.values(), *metadata.problems):
        assert text.isprintable()
        assert len(text) < 1000
    rank_variants({*metadata.variants, *metadata.refused}, metadata, SupportedProperties())


def read(data: bytes) -> VariantMetadata | None:
    """The model; ``None`` where the file is refused. Any other exception is a fault."""
    try:
        metadata = read_variant_metadata(data, "demo-1.0-variants.json")
    except VariantMetadataError as error:
        assert "demo-1.0-variants.json" in error.what  # noqa: PT017
        assert error.why  # noqa: PT017
        return None
    check(metadata)
    return metadata


@LAW
@given(own.metadata_parts(), own.metadata_parts())
def test_combining_is_commutative(one: VariantMetadata, two: VariantMetadata) -> None:
    assert combine(one, two) == combine(two, one)


@LAW
@given(own.metadata_parts(), own.metadata_parts(), own.metadata_parts())
def test_combining_is_associative(
    one: VariantMetadata, two: VariantMetadata, three: VariantMetadata
) -> None:
    at_once = combine(one, two, three)
    left, right = combine(combine(one, two), three), combine(one, combine(two, three))
    assert left == right == at_once


@LAW
@given(own.metadata_parts(), own.metadata_parts())
def test_combining_is_idempotent(one: VariantMetadata, two: VariantMetadata) -> None:
    bad = {label: why for label, why in one.refused.items() if label not in one.variants}
    assert combine(one) == replace(one, refused=bad)
    assert combine(one, one) == combine(one)
    both = combine(one, two)
    assume(both is not None)
    assert combine(both, one) == combine(one, two, one) == both


@LAW
@given(own.releases(older=True), st.data())
def test_a_release_taken_apart_and_combined_again(
    release: VariantMetadata, data: st.DataObject
) -> None:
    """What each wheel says, in any order and with shorter lists of namespaces, is the release."""
    parts = [
        VariantMetadata(
            release.namespaces[: data.draw(st.integers(0, len(release.namespaces)))],
            {label: variant},
            None,
            release.feature_priorities,
            release.property_priorities,
        )
        for label, variant in release.variants.items()
    ]
    parts.append(VariantMetadata(release.namespaces))
    combined = combine_metadata(data.draw(st.permutations(parts)))
    assert combined == release
    for label, variant in release.variants.items():
        wheel = VariantMetadata(variants={label: variant})
        assert check_wheel_metadata(wheel, label, combined) is None


@LAW
@given(own.releases())
def test_reading_what_was_written(release: VariantMetadata) -> None:
    again = read_variant_metadata(format_index_metadata(release).encode(), "")
    assert again.variants == release.variants
    assert again.namespaces == release.namespaces
    assert again.providers is None
    assert again.problems == ()


@LAW
@given(NAMES, st.data())
def test_bytes_that_went_missing_or_came_in(name: str, data: st.DataObject) -> None:
    content = FILES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        end = start + data.draw(st.sampled_from((0, 0, 1, 1, 2, 20, 10_000)))
        new = data.draw(st.binary(max_size=4) | st.sampled_from((b'"', b"{", b"]", b",", b"null")))
        content = content[:start] + new + content[end:]
    read(content)


@LAW
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    read(content)


@LAW
@given(own.json_values())
def test_any_json(value: Any) -> None:
    read(json.dumps(value).encode())


@settings(max_examples=200, deadline=None)
@given(NAMES, st.data())
def test_json_with_other_values_at_some_places(name: str, data: st.DataObject) -> None:
    document: Any = [json.loads(FILES[name])]
    for _ in range(data.draw(st.integers(1, 3))):
        place, other = (data.draw(st.sampled_from(places(document))) for _ in range(2))
        new = data.draw(st.just(None) | st.just("swap") | own.json_values())
        old = get(document, place)
        value = copy.deepcopy(get(document, other)) if new == "swap" else new
        put(document, place, value)
        if new == "swap" and place[: len(other)] != other and other[: len(place)] != place:
            put(document, other, old)
    metadata = read(json.dumps(document[0]).encode())
    if metadata is not None:
        again = read(format_index_metadata(metadata).encode())
        assert again is not None
        assert again.variants == metadata.variants
        assert again.namespaces == metadata.namespaces
        assert again.providers == metadata.providers


@settings(max_examples=200, deadline=None)
@given(NAMES, st.data())
def test_json_with_other_keys_at_some_places(name: str, data: st.DataObject) -> None:
    document: Any = [json.loads(FILES[name])]
    for _ in range(data.draw(st.integers(1, 3))):
        inner = [place for place in places(document) if isinstance(get(document, place[:-1]), dict)]
        if not inner:
            return
        place = data.draw(st.sampled_from(inner))
        table = get(document, place[:-1])
        key = data.draw(
            st.text(max_size=5) | st.sampled_from(("null", "abi_dependency", "$schema"))
        )
        table[key] = table.pop(place[-1])
    read(json.dumps(document[0]).encode())


@LAW
@given(NAMES, own.json_values(), st.data())
def test_one_bad_label_leaves_the_others(name: str, entry: Any, data: st.DataObject) -> None:
    document = json.loads(FILES[name])
    before = read(FILES[name])
    assert before is not None
    label = data.draw(st.text(max_size=5).filter(lambda text: text not in document["variants"]))
    document["variants"][label] = entry
    after = read(json.dumps(document).encode())
    assert after is not None
    assert {one: after.variants[one] for one in before.variants} == before.variants
    assert label in after.variants or label in after.refused


@LAW
@given(NAMES, own.json_values())
def test_a_wheels_metadata(name: str, value: Any) -> None:
    document = json.loads(FILES[name])
    document["variants"] = value
    try:
        metadata = read_wheel_metadata(json.dumps(document).encode(), "null", "w.whl")
    except VariantMetadataError:
        return
    assert metadata.variants == {"null": {}}


def places(value: Any) -> list[tuple[Any, ...]]:
    """The places of all values inside of a JSON value, as keys and indices."""
    found: list[tuple[Any, ...]] = []
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, inner in entries:
        found += [(key,), *((key, *rest) for rest in places(inner))]
    return found


def get(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def put(value: Any, place: tuple[Any, ...], new: Any) -> None:
    get(value, place[:-1])[place[-1]] = new
