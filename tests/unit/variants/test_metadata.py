"""PEP 825, "Metadata consistency", and what a wheel says against what its index says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from vinstall.errors import VariantMetadataError
from vinstall.variants.metadata import (
    ProviderInfo,
    VariantMetadata,
    check_wheel_metadata,
    combine_metadata,
)

Variants = Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]

V2: Variants = {"v2": {"x86_64": {"level": ("v2",)}}}
V3: Variants = {"v3": {"x86_64": {"level": ("v3",)}}}
CUDA: Variants = {"cuda": {"nvidia": {"sm_arch": ("80_real", "90_real")}}}
PLUGIN = ProviderInfo(requires=("p",))


def part(
    variants: Variants | None = None, namespaces: tuple[str, ...] = ("x86_64",), origin: str = "w"
) -> VariantMetadata:
    return VariantMetadata(namespaces, variants or {}, origin=origin)


def test_labels_are_united() -> None:
    parts = (part(V2, origin="b.whl"), part(V3, origin="a.whl"), part({"null": {}}, origin="c.whl"))
    for order in itertools.permutations(parts):
        combined = combine_metadata(order)
        assert combined.variants == {**V2, **V3, "null": {}}
        assert combined.origin == "a.whl, b.whl, c.whl"
        assert combined.providers is None


@pytest.mark.parametrize(
    ("lists", "longest"),
    [
        ([("a",)], ("a",)),
        ([("a",), ("a",)], ("a",)),
        ([("a",), ("a", "b")], ("a", "b")),
        ([(), ("a", "b"), ("a",)], ("a", "b")),
        ([("a",), ("a", "b", "c"), ("a", "b")], ("a", "b", "c")),
    ],
)
def test_the_longer_list_of_namespaces(
    lists: list[tuple[str, ...]], longest: tuple[str, ...]
) -> None:
    for order in itertools.permutations(lists):
        assert combine_metadata([part(namespaces=one) for one in order]).namespaces == longest


@pytest.mark.parametrize(
    "lists",
    [
        [("a",), ("b",)],
        [("a", "b"), ("b", "a")],
        [("b",), ("a", "b")],
        [("a", "b"), ("a", "c")],
        [("a",), ("a", "b"), ("a", "c", "b")],
    ],
)
def test_namespaces_that_do_not_begin_alike(lists: list[tuple[str, ...]]) -> None:
    for order in itertools.permutations(lists):
        with pytest.raises(VariantMetadataError, match=r"default-priorities\.namespace"):
            combine_metadata([part(namespaces=one) for one in order])


def test_every_contradiction_is_named() -> None:
    other: Variants = {
        "v2": {"x86_64": {"level": ("v1",)}},
        "v3": {"x86_64": {"level": ("v3", "v4")}},
    }
    first = VariantMetadata(("a",), {**V2, **V3}, {"a": PLUGIN}, origin="one.whl")
    second = VariantMetadata(("b",), other, {"a": ProviderInfo(requires=("q",))}, origin="two.whl")
    for order in ([first, second], [second, first]):
        with pytest.raises(VariantMetadataError) as caught:
            combine_metadata(order)
        assert "one.whl" in caught.value.what
        assert "two.whl" in caught.value.what
        for place in ("variants.v2", "variants.v3", "providers.a", "default-priorities.namespace"):
            assert place in caught.value.why


def test_a_contradiction_without_origins() -> None:
    parts = [part(V2, origin=""), part({"v2": V3["v3"]}, origin="")]
    with pytest.raises(VariantMetadataError, match="metadata in the release contradicts itself"):
        combine_metadata(parts)


def test_priorities_of_older_generations_have_to_agree() -> None:
    first = VariantMetadata(feature_priorities={"a": ("f", "g")}, property_priorities={"a": {}})
    second = VariantMetadata(feature_priorities={"b": ("f",)})
    assert combine_metadata([first, second]).feature_priorities == {"a": ("f", "g"), "b": ("f",)}
    third = VariantMetadata(feature_priorities={"a": ("g", "f")})
    with pytest.raises(VariantMetadataError, match=r"default-priorities\.feature\.a"):
        combine_metadata([first, third])
    fourth = VariantMetadata(property_priorities={"a": {"f": ("1",)}})
    with pytest.raises(VariantMetadataError, match=r"default-priorities\.property\.a"):
        combine_metadata([first, fourth])


def test_providers() -> None:
    nobody, empty = VariantMetadata(), VariantMetadata(providers={})
    one, two = VariantMetadata(providers={"a": PLUGIN}), VariantMetadata(providers={"b": PLUGIN})
    assert combine_metadata([nobody, nobody]).providers is None
    assert combine_metadata([nobody, empty]).providers == {}
    assert combine_metadata([one, nobody, two]).providers == {"a": PLUGIN, "b": PLUGIN}


def test_a_label_refused_in_one_source_and_good_in_another_is_good() -> None:
    bad = VariantMetadata(refused={"v2": "it is bad", "v9": "so is this"})
    combined = combine_metadata([bad, part(V2)])
    assert combined.variants == V2
    assert combined.refused == {"v9": "so is this"}


def test_problems_are_kept_once() -> None:
    parts = [
        VariantMetadata(problems=("b", "a"), origin="1"),
        VariantMetadata(problems=("a", "c"), origin="2"),
    ]
    assert sorted(combine_metadata(parts).problems) == ["a", "b", "c"]
    assert combine_metadata(parts[:1]).problems == ("b", "a")


def test_one_source_is_itself() -> None:
    alone = VariantMetadata(
        ("nvidia", "x86_64"),
        {**V2, **CUDA},
        {"nvidia": PLUGIN, "x86_64": PLUGIN},
        {"nvidia": ("sm_arch",)},
        {"nvidia": {"sm_arch": ("90_real",)}},
        {"bad": "why"},
        ("b", "a"),
        "schema",
        "here",
    )
    assert combine_metadata([alone]) == alone
    assert combine_metadata([alone, alone]) == alone


@pytest.mark.parametrize(
    ("label", "wheel", "index", "contradiction"),
    [
        ("v2", V2, {**V2, **V3}, None),
        ("cuda", CUDA, {"cuda": {"nvidia": {"sm_arch": ("90_real", "80_real")}}}, None),
        ("null", {"null": {}}, {}, None),
        ("null", {"null": {}}, {"null": {}}, None),
        ("v2", V2, {"v2": {"x86_64": {"level": ("v3",)}}}, "other properties"),
        ("v2", V2, {"v2": {"x86_64": {"level": ("v2", "v3")}}}, "other properties"),
        ("v2", V2, {"v2": {"x86_64": {"level": ("v2",), "avx": ("on",)}}}, "other properties"),
        ("v2", V2, {"v2": {"arm": {"level": ("v2",)}}}, "other properties"),
        ("v2", V3, V2, "does not describe"),
        ("v2", {**V2, **V3}, V2, "does not describe"),
        ("v2", {}, V2, "does not describe"),
    ],
)
def test_wheel_against_index(
    label: str, wheel: Variants, index: Variants, contradiction: str | None
) -> None:
    found = check_wheel_metadata(part(wheel), label, part(index, origin="demo-1-variants.json"))
    if contradiction is None:
        assert found is None
    else:
        assert found is not None
        assert contradiction in found
        assert label in found
