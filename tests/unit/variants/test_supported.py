"""What a machine supports."""

from __future__ import annotations

import pytest

from vinstall.variants.properties import Properties, VariantProperty
from vinstall.variants.supported import SupportedProperties

SUPPORTED = SupportedProperties(
    {"nvidia": {"sm_arch": ("120_real", "90_real"), "empty": ()}, "none": {}}
)


@pytest.mark.parametrize(
    ("namespace", "feature", "values"),
    [
        ("nvidia", "sm_arch", ("120_real", "90_real")),
        ("nvidia", "empty", ()),
        ("nvidia", "missing", ()),
        ("none", "sm_arch", ()),
        ("missing", "sm_arch", ()),
    ],
)
def test_values(namespace: str, feature: str, values: tuple[str, ...]) -> None:
    assert SUPPORTED.values(namespace, feature) == values


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (VariantProperty("nvidia", "sm_arch", "90_real"), True),
        (VariantProperty("nvidia", "sm_arch", "80_real"), False),
        (VariantProperty("nvidia", "empty", "90_real"), False),
        (VariantProperty("amd", "sm_arch", "90_real"), False),
    ],
)
def test_supports(one: VariantProperty, expected: bool) -> None:
    assert SUPPORTED.supports(one) is expected


def test_restrict() -> None:
    """PEP 825, "Evaluating variant markers": of several values, only the supported ones."""
    wanted: Properties = {
        "nvidia": {"sm_arch": ("120_real", "110_real", "90_real")},
        "amd": {"f": ("1",)},
    }
    assert [str(one) for one in SUPPORTED.restrict(wanted)] == [
        "nvidia :: sm_arch :: 120_real",
        "nvidia :: sm_arch :: 90_real",
    ]
    assert SUPPORTED.restrict({}) == ()


def test_nothing_is_supported_where_nothing_is_known() -> None:
    assert SupportedProperties().restrict({"nvidia": {"sm_arch": ("90_real",)}}) == ()
