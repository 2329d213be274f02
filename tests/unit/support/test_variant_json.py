"""Documents of each generation have the keys that their specification names."""

from __future__ import annotations

import pytest

from tests.support.variant_json import (
    Generation,
    Provider,
    combine_documents,
    parse_properties,
    variant_document,
)


def test_properties_may_have_any_space_around_the_colons() -> None:
    assert parse_properties("a::b::c,a :: b :: 1") == {"a": {"b": ["1", "c"]}}


def test_pep_825_has_no_providers() -> None:
    document = variant_document({"v3": "x86_64 :: level :: v3"}, generation="0.1.1")
    assert set(document) == {"$schema", "default-priorities", "variants"}


@pytest.mark.parametrize("generation", ["0.0.1", "0.0.3", "0.2.0"])
def test_other_generations_name_a_provider_for_each_namespace(generation: Generation) -> None:
    document = variant_document({"v3": "x86_64 :: level :: v3"}, generation=generation)
    assert list(document["providers"]) == ["x86_64"]
    assert document["providers"]["x86_64"]["requires"] == ["x86-64-provider"]


def test_static_properties_stand_where_the_generation_wants_them() -> None:
    provider = {"blas": Provider(static_properties={"library": ["mkl", "openblas"]})}
    old = variant_document(
        {"mkl": "blas :: library :: mkl"}, generation="0.0.3", providers=provider
    )
    assert old["static-properties"] == {"blas": {"library": ["mkl", "openblas"]}}
    assert old["providers"]["blas"]["install-time"] is False
    new = variant_document(
        {"mkl": "blas :: library :: mkl"}, generation="0.2.0", providers=provider
    )
    assert new["providers"]["blas"] == {"static-properties": {"library": ["mkl", "openblas"]}}
    assert "static-properties" not in new


def test_two_static_features_need_an_order_in_0_2_0() -> None:
    provider = {"n": Provider(static_properties={"b": ["1"], "a": ["1"]})}
    document = variant_document({"x": "n :: a :: 1"}, generation="0.2.0", providers=provider)
    assert document["providers"]["n"]["feature-order"] == ["b", "a"]


def test_combining_takes_all_labels_and_the_longest_list() -> None:
    one = variant_document({"a": "one :: f :: 1"})
    two = variant_document({"b": "two :: f :: 1"}, namespaces=["one", "two"])
    combined = combine_documents([one, two])
    assert combined["default-priorities"]["namespace"] == ["one", "two"]
    assert set(combined["variants"]) == {"a", "b"}


def test_an_independent_reader_understands_0_2_0() -> None:
    oracle = pytest.importorskip("variantlib.variants_json")
    document = variant_document(
        {"a": "x :: f :: 1, y :: g :: 2", "null": ""},
        generation="0.2.0",
        providers={
            "x": Provider(requires=("x-provider",), plugin_api="x.plugin:Plugin", optional=True),
            "y": Provider(static_properties={"g": ["2", "1"], "h": ["1"]}),
        },
    )
    read = oracle.VariantsJson(document)
    assert sorted(read.variants) == ["a", "null"]
    assert list(read.namespace_priorities) == ["x", "y"]
