"""The grammar of PEP 825, "Variant properties" and "Variant label"."""

from __future__ import annotations

import pytest

from vinstall.errors import VariantMetadataError
from vinstall.variants.properties import (
    Properties,
    VariantFeature,
    VariantPattern,
    VariantProperty,
    is_label,
    is_namespace,
    is_value,
    iter_properties,
    parse_pattern,
    parse_property,
)


@pytest.mark.parametrize(
    ("text", "namespace", "value", "label"),
    [
        ("x86_64", True, True, True),
        ("0", True, True, True),
        ("_", True, True, True),
        ("12.8", False, True, True),
        (".", False, True, True),
        ("a" * 200, True, True, True),
        ("", False, False, False),
        ("A", False, False, False),
        ("a-b", False, False, False),
        ("a b", False, False, False),
        (" a", False, False, False),
        ("a\n", False, False, False),
        ("é", False, False, False),
        ("٣", False, False, False),
        ("a::b", False, False, False),
        ("a/b", False, False, False),
    ],
)
def test_grammar(text: str, namespace: bool, value: bool, label: bool) -> None:
    assert (is_namespace(text), is_value(text), is_label(text)) == (namespace, value, label)


@pytest.mark.parametrize(
    "text",
    [
        "nvidia :: sm_arch :: 120_real",
        "nvidia::sm_arch::120_real",
        "  nvidia  ::sm_arch::\t120_real ",
        "nvidia ::sm_arch:: 120_real\n",
    ],
)
def test_white_space_around_the_colons_never_matters(text: str) -> None:
    assert parse_property(text) == VariantProperty("nvidia", "sm_arch", "120_real")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nvidia",
        "nvidia :: sm_arch",
        "nvidia :: sm_arch ::",
        ":: sm_arch :: 1",
        "nvidia :: :: 1",
        "nvidia :: sm_arch :: 1 :: 2",
        "nvidia : sm_arch : 1",
        "Nvidia :: sm_arch :: 1",
        "nvidia :: sm.arch :: 1",
        "nvidia :: sm_arch :: A",
        "nvidia :: sm arch :: 1",
        "nvidia ::: sm_arch :: 1",
    ],
)
def test_what_is_not_a_property(text: str) -> None:
    with pytest.raises(VariantMetadataError) as caught:
        parse_property(text)
    assert repr(text) in caught.value.what
    assert "namespace :: feature :: value" in caught.value.why


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("nvidia", VariantPattern("nvidia")),
        (" nvidia ", VariantPattern("nvidia")),
        ("nvidia::sm_arch", VariantPattern("nvidia", "sm_arch")),
        ("nvidia :: v :: 12.8", VariantPattern("nvidia", "v", "12.8")),
    ],
)
def test_patterns(text: str, pattern: VariantPattern) -> None:
    assert parse_pattern(text) == pattern
    assert parse_pattern(str(pattern)) == pattern


@pytest.mark.parametrize("text", ["", "::", "a ::", "a :: b ::", "a :: b :: c :: d", "a.b", "*"])
def test_what_is_not_a_pattern(text: str) -> None:
    with pytest.raises(VariantMetadataError, match="is not a variant property"):
        parse_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", True),
        ("a :: f", True),
        ("a :: f :: 1", True),
        ("b", False),
        ("a :: g", False),
        ("a :: f :: 2", False),
        ("b :: f :: 1", False),
    ],
)
def test_matching(pattern: str, expected: bool) -> None:
    assert parse_pattern(pattern).matches(VariantProperty("a", "f", "1")) is expected


def test_text_and_order() -> None:
    assert str(VariantProperty("a", "f", "1")) == "a :: f :: 1"
    assert str(VariantFeature("a", "f")) == "a :: f"
    assert VariantProperty("a", "f", "2") < VariantProperty("a", "g", "1")
    assert VariantFeature("a", "z") < VariantFeature("b", "a")


def test_all_properties_sorted() -> None:
    properties: Properties = {"b": {"f": ("2", "1")}, "a": {"z": ("1",), "y": ("1",)}}
    assert [str(one) for one in iter_properties(properties)] == [
        "a :: y :: 1",
        "a :: z :: 1",
        "b :: f :: 1",
        "b :: f :: 2",
    ]
    assert iter_properties({}) == ()
