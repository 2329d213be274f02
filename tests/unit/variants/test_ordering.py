"""PEP 825, "Variant ordering", the priorities of PEP 817, and the user's wishes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from vinstall.variants.metadata import VariantMetadata
from vinstall.variants.ordering import (
    RankedVariant,
    RefusedVariant,
    abi_requirements,
    abi_specifier,
    matches_release_prefix,
    rank_variants,
)
from vinstall.variants.properties import (
    Properties,
    VariantFeature,
    VariantProperty,
    parse_pattern,
    parse_property,
)
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MACHINE: Properties = {
    "nvidia": {
        "cuda": ("12.8", "12.6", "12", "11.8"),
        "sm_arch": ("90_real", "80_real", "90_virtual"),
    },
    "x86_64": {"level": ("v3", "v2", "v1"), "avx2": ("on",)},
}


def build(*properties: str) -> Properties:
    """``"ns :: feature :: value"`` texts → the properties of a variant."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for text in properties:
        one = parse_property(text)
        table = found.setdefault(one.namespace, {})
        table[one.feature] = (*table.get(one.feature, ()), one.value)
    return found


def rank(
    variants: Mapping[str, Properties],
    *,
    namespaces: Sequence[str] = ("nvidia", "x86_64"),
    machine: Properties = MACHINE,
    prefer: Sequence[str] = (),
    exclude: Sequence[str] = (),
    features: Mapping[str, tuple[str, ...]] | None = None,
    values: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
) -> list[str]:
    """The labels that fit, best first; the same for every order of the arguments."""
    metadata = VariantMetadata(
        tuple(namespaces),
        variants,
        feature_priorities=features or {},
        property_priorities=values or {},
    )
    orders = {
        tuple(
            one.label
            for one in rank_variants(
                labels,
                metadata,
                SupportedProperties(machine),
                [parse_pattern(text) for text in prefer],
                [parse_pattern(text) for text in exclude],
            ).ranked
        )
        for labels in itertools.islice(itertools.permutations(variants), 24)
    }
    (order,) = orders
    return list(order)


def refuse(
    properties: Properties,
    *,
    machine: SupportedProperties | None = None,
    namespaces: Sequence[str] = ("nvidia", "x86_64"),
    exclude: Sequence[str] = (),
) -> RefusedVariant:
    """What is said of a variant that does not fit."""
    ranking = rank_variants(
        ["odd"],
        VariantMetadata(tuple(namespaces), {"odd": properties}),
        machine or SupportedProperties(MACHINE),
        (),
        [parse_pattern(text) for text in exclude],
    )
    assert ranking.ranked == ()
    (refused,) = ranking.refused
    return refused


class TestOrder:
    def test_namespaces_first(self) -> None:
        variants = {
            "a_cpu": build("x86_64 :: level :: v3", "x86_64 :: avx2 :: on"),
            "gpu": build("nvidia :: sm_arch :: 90_virtual"),
        }
        assert rank(variants) == ["gpu", "a_cpu"]
        assert rank(variants, namespaces=["x86_64", "nvidia"]) == ["a_cpu", "gpu"]

    def test_then_features_in_the_order_of_the_provider(self) -> None:
        variants = {
            "a_avx2": build("x86_64 :: avx2 :: on"),
            "v1": build("x86_64 :: level :: v1"),
        }
        assert rank(variants) == ["v1", "a_avx2"]
        turned: Properties = {"x86_64": {"avx2": ("on",), "level": ("v3", "v2", "v1")}}
        assert rank(variants, machine=turned) == ["a_avx2", "v1"]

    def test_then_values_in_the_order_of_the_provider(self) -> None:
        """``12.8`` before ``12.6`` because the provider says so, not by the text."""
        variants = {f"cu{value}": build(f"nvidia :: cuda :: {value}") for value in ("12", "12.6")}
        assert rank(variants) == ["cu12.6", "cu12"]
        turned: Properties = {"nvidia": {"cuda": ("12", "12.6")}}
        assert rank(variants, machine=turned) == ["cu12", "cu12.6"]

    def test_the_best_supported_value_counts(self) -> None:
        variants = {
            "many": build(*(f"nvidia :: sm_arch :: {one}" for one in ("80_real", "120_real"))),
            "one": build("nvidia :: sm_arch :: 90_real"),
        }
        assert rank(variants) == ["one", "many"]

    def test_more_values_of_a_feature_do_not_count(self) -> None:
        """Only the best value is a key, so the label decides."""
        variants = {
            "b_many": build(
                "x86_64 :: level :: v3", "x86_64 :: level :: v2", "x86_64 :: level :: v1"
            ),
            "a_one": build("x86_64 :: level :: v3"),
        }
        assert rank(variants) == ["a_one", "b_many"]

    def test_the_longer_list_wins(self) -> None:
        variants = {
            "a": build("x86_64 :: level :: v3"),
            "b": build("x86_64 :: level :: v3", "x86_64 :: avx2 :: on"),
        }
        assert rank(variants) == ["b", "a"]

    def test_the_first_differing_key_beats_the_length(self) -> None:
        variants = {
            "long": build(
                "nvidia :: cuda :: 12.6", "nvidia :: sm_arch :: 90_real", "x86_64 :: level :: v3"
            ),
            "short": build("nvidia :: cuda :: 12.8"),
        }
        assert rank(variants) == ["short", "long"]

    def test_a_missing_feature_loses_to_a_present_one_where_it_stands(self) -> None:
        variants = {
            "a_arch": build("nvidia :: sm_arch :: 90_real", "x86_64 :: level :: v3"),
            "old": build("nvidia :: cuda :: 11.8"),
        }
        assert rank(variants) == ["old", "a_arch"]

    def test_equal_properties_fall_back_to_the_label(self) -> None:
        one = build("x86_64 :: level :: v3")
        assert rank({"b": one, "a": one, "a.b": one, "0": one, "_": one}) == [
            "0",
            "_",
            "a",
            "a.b",
            "b",
        ]

    def test_null_is_last(self) -> None:
        variants = {"null": {}, "zzz": build("x86_64 :: level :: v1")}
        assert rank(variants) == ["zzz", "null"]
        assert rank(variants, prefer=["nvidia"]) == ["zzz", "null"]

    def test_the_peps_example(self) -> None:
        """PEP 825, "Installation example": CUDA by version, then ROCm, then the fallback."""
        variants = {
            f"cuda{one}": build(f"nvidia :: cuda_version_lower_bound :: {one}")
            for one in ("12.6", "13.0", "13.2")
        }
        variants["rocm7.2"] = build("amd :: rocm_version :: 7.2")
        variants["null"] = {}
        nvidia: Properties = {"nvidia": {"cuda_version_lower_bound": ("13.1", "13.0", "12.6")}}
        amd: Properties = {"amd": {"rocm_version": ("7.2",)}}
        names = ["nvidia", "amd"]
        assert rank(variants, namespaces=names, machine=nvidia) == ["cuda13.0", "cuda12.6", "null"]
        assert rank(variants, namespaces=names, machine=amd) == ["rocm7.2", "null"]
        assert rank(variants, namespaces=names, machine={**amd, **nvidia}) == [
            "cuda13.0",
            "cuda12.6",
            "rocm7.2",
            "null",
        ]
        assert rank(variants, namespaces=names, machine={}) == ["null"]


class TestOlderPriorities:
    """PEP 817, "Variant ordering": named ones first, the rest as the provider gave them."""

    def test_features(self) -> None:
        variants = {
            "avx2": build("x86_64 :: avx2 :: on"),
            "level": build("x86_64 :: level :: v3"),
        }
        assert rank(variants, features={"x86_64": ("avx2",)}) == ["avx2", "level"]
        assert rank(variants, features={"x86_64": ("missing", "avx2")}) == ["avx2", "level"]
        assert rank(variants, features={"nvidia": ("avx2",)}) == ["level", "avx2"]

    def test_values(self) -> None:
        variants = {
            "v1": build("x86_64 :: level :: v1"),
            "v2": build("x86_64 :: level :: v2"),
            "v3": build("x86_64 :: level :: v3"),
            "v4": build("x86_64 :: level :: v4"),
        }
        values = {"x86_64": {"level": ("v4", "v2")}}
        assert rank(variants, values=values) == ["v2", "v3", "v1"]


class TestWishes:
    VARIANTS: Mapping[str, Properties] = {
        "cu128": build("nvidia :: cuda :: 12.8"),
        "cu126": build("nvidia :: cuda :: 12.6", "x86_64 :: level :: v2"),
        "v3": build("x86_64 :: level :: v3"),
        "null": {},
    }

    @pytest.mark.parametrize(
        ("prefer", "expected"),
        [
            ([], ["cu128", "cu126", "v3", "null"]),
            (["x86_64"], ["cu126", "v3", "cu128", "null"]),
            (["x86_64 :: level :: v3"], ["v3", "cu128", "cu126", "null"]),
            (["x86_64 :: level :: v3", "x86_64"], ["v3", "cu126", "cu128", "null"]),
            (["nvidia :: cuda :: 12.6"], ["cu126", "cu128", "v3", "null"]),
            (["amd"], ["cu128", "cu126", "v3", "null"]),
        ],
    )
    def test_prefer(self, prefer: list[str], expected: list[str]) -> None:
        assert rank(self.VARIANTS, prefer=prefer) == expected

    @pytest.mark.parametrize(
        ("exclude", "expected"),
        [
            (["nvidia"], ["v3", "null"]),
            (["nvidia :: cuda"], ["v3", "null"]),
            (["nvidia :: cuda :: 12.8"], ["cu126", "v3", "null"]),
            (["x86_64"], ["cu128", "null"]),
            (["nvidia", "x86_64"], ["null"]),
            (["amd"], ["cu128", "cu126", "v3", "null"]),
        ],
    )
    def test_exclude(self, exclude: list[str], expected: list[str]) -> None:
        assert rank(self.VARIANTS, exclude=exclude) == expected

    def test_an_excluded_value_leaves_the_others_of_its_feature(self) -> None:
        variants = {
            "both": build("nvidia :: cuda :: 12.8", "nvidia :: cuda :: 11.8"),
            "one": build("nvidia :: cuda :: 12.6"),
        }
        assert rank(variants) == ["both", "one"]
        assert rank(variants, exclude=["nvidia :: cuda :: 12.8"]) == ["one", "both"]

    def test_no_wish_selects_what_does_not_fit(self) -> None:
        variants = {"amd": build("amd :: gfx_arch :: gfx90a"), "null": {}}
        assert rank(variants, namespaces=["amd"], prefer=["amd"]) == ["null"]


class TestRefusals:
    def test_no_value_is_supported(self) -> None:
        refused = refuse(build("nvidia :: cuda :: 13.0", "x86_64 :: level :: v3"))
        assert refused.feature == VariantFeature("nvidia", "cuda")
        assert refused.wanted == ("13.0",)
        assert refused.offered == ("12.8", "12.6", "12", "11.8")
        assert "nvidia :: cuda :: 13.0" in refused.reason
        assert "12.8" in refused.reason

    @pytest.mark.parametrize(
        ("machine", "reason"),
        [
            (SupportedProperties(), "nobody answers for nvidia"),
            (SupportedProperties({"nvidia": {}}), "nothing of nvidia :: cuda"),
            (SupportedProperties({"nvidia": {"sm_arch": ("1",)}}), "nothing of nvidia :: cuda"),
            (SupportedProperties(reasons={"nvidia": "it timed out"}), "it timed out"),
        ],
    )
    def test_why_nothing_is_supported(self, machine: SupportedProperties, reason: str) -> None:
        assert reason in refuse(build("nvidia :: cuda :: 12.8"), machine=machine).reason

    def test_a_namespace_without_a_priority(self) -> None:
        refused = refuse(build("nvidia :: cuda :: 12.8"), namespaces=["x86_64"])
        assert "default-priorities.namespace" in refused.reason

    def test_excluded(self) -> None:
        refused = refuse(build("nvidia :: cuda :: 12.8"), exclude=["nvidia"])
        assert "--exclude-variant" in refused.reason

    def test_every_feature_has_to_fit(self) -> None:
        assert refuse(build("x86_64 :: level :: v3", "x86_64 :: avx512 :: on")).feature == (
            VariantFeature("x86_64", "avx512")
        )

    def test_labels_that_nothing_describes(self) -> None:
        metadata = VariantMetadata(refused={"bad": "its entry is bad"}, origin="demo-variants.json")
        ranking = rank_variants(["null", "new", "bad"], metadata, SupportedProperties())
        assert [one.label for one in ranking.ranked] == ["null"]
        assert {one.label: one.reason for one in ranking.refused} == {
            "bad": "its entry is bad",
            "new": "label not described in demo-variants.json",
        }

    def test_only_null_fits_without_metadata(self) -> None:
        ranking = rank_variants(["b", "null", "a"], None, SupportedProperties(MACHINE))
        assert [one.label for one in ranking.ranked] == ["null"]
        assert [one.label for one in ranking.refused] == ["a", "b"]

    def test_null_stays_where_its_entry_is_bad(self) -> None:
        metadata = VariantMetadata(refused={"null": "it has properties"})
        ranking = rank_variants(["null"], metadata, SupportedProperties())
        assert ranking.ranked == (RankedVariant("null", {}, (), (), ()),)

    def test_labels_without_a_wheel_are_not_ranked(self) -> None:
        metadata = VariantMetadata(("x86_64",), {"a": build("x86_64 :: level :: v3")})
        assert rank_variants([], metadata, SupportedProperties(MACHINE)).ranked == ()

    def test_long_lists_are_cut(self) -> None:
        many = tuple(str(number) for number in range(500))
        machine = SupportedProperties({"nvidia": {"cuda": many}})
        refused = refuse(build("nvidia :: cuda :: x"), machine=machine)
        assert refused.offered == many
        assert len(refused.reason) < 200
        assert "494 more" in refused.reason


def test_what_is_told_of_a_ranked_variant() -> None:
    properties = build(
        "x86_64 :: level :: v2",
        "nvidia :: sm_arch :: 80_real",
        "nvidia :: sm_arch :: 90_real",
        "nvidia :: sm_arch :: 120_real",
    )
    metadata = VariantMetadata(("nvidia", "x86_64"), {"a": properties})
    (ranked,) = rank_variants(["a"], metadata, SupportedProperties(MACHINE)).ranked
    assert ranked.properties == properties
    assert ranked.best_values == (
        VariantProperty("nvidia", "sm_arch", "90_real"),
        VariantProperty("x86_64", "level", "v2"),
    )
    assert [str(one) for one in ranked.supported] == [
        "nvidia :: sm_arch :: 80_real",
        "nvidia :: sm_arch :: 90_real",
        "x86_64 :: level :: v2",
    ]


class TestAbiDependency:
    """The namespace that is a dependency: it needs no provider and ranks after all others."""

    def test_newer_prefix_first(self) -> None:
        variants = {
            f"t{value}": build(f"abi_dependency :: torch :: {value}")
            for value in ("2.9", "2.10", "2", "2.9.1", "10")
        }
        assert rank(variants, machine={}) == ["t10", "t2.10", "t2.9.1", "t2.9", "t2"]

    def test_two_ways_to_write_one_release_share_a_place(self) -> None:
        """The label decides, not the order in which a set gives them."""
        variants = {
            label: build(f"abi_dependency :: torch :: {value}")
            for label, value in (("c", "2.9"), ("b", "2.09"), ("a", "02.9"), ("d", "2.10"))
        }
        assert rank(variants, machine={}) == ["d", "a", "b", "c"]

    def test_two_projects_by_name(self) -> None:
        variants = {
            "numpy": build("abi_dependency :: numpy :: 1"),
            "a_torch": build("abi_dependency :: torch :: 9"),
            "both": build("abi_dependency :: numpy :: 1", "abi_dependency :: torch :: 2"),
        }
        assert rank(variants, machine={}) == ["both", "numpy", "a_torch"]

    def test_after_all_listed_namespaces(self) -> None:
        variants = {
            "a_torch": build("abi_dependency :: torch :: 99"),
            "cpu": build("x86_64 :: avx2 :: on"),
            "cpu_torch": build("x86_64 :: avx2 :: on", "abi_dependency :: torch :: 2.8"),
            "null": {},
        }
        assert rank(variants) == ["cpu_torch", "cpu", "a_torch", "null"]

    @pytest.mark.parametrize(
        "value", ["2.9.1.0", "2.", ".2", "v2", "2.9rc1", "1_2", ".", "9" * 5000]
    )
    def test_what_is_no_release_prefix(self, value: str) -> None:
        refused = refuse(build(f"abi_dependency :: torch :: {value}"))
        assert "release number" in refused.reason
        assert len(refused.reason) < 200

    def test_exclude(self) -> None:
        refused = refuse(build("abi_dependency :: torch :: 2"), exclude=["abi_dependency :: torch"])
        assert refused.feature == VariantFeature("abi_dependency", "torch")
        assert "--exclude-variant" in refused.reason

    def test_requirements(self) -> None:
        properties = build(
            "abi_dependency :: torch :: 2.9",
            "abi_dependency :: torch :: 2.10",
            "abi_dependency :: my__lib :: 1",
            "x86_64 :: level :: v3",
        )
        assert abi_requirements(properties) == (("my-lib", ("1",)), ("torch", ("2.10", "2.9")))
        assert abi_requirements(build("x86_64 :: level :: v3")) == ()

    @pytest.mark.parametrize(
        ("prefix", "inside", "outside"),
        [
            ("2.9", ["2.9", "2.9.0", "2.9.1", "2.9.1.post1", "2.9.1+cu128"], ["2.10", "2.8.9"]),
            ("2.0", ["2", "2.0", "2.0.3"], ["2.1", "20.0"]),
            ("2", ["2", "2.0", "2.11.3"], ["1.9", "20.1"]),
            ("2.9.1", ["2.9.1", "2.9.1.1"], ["2.9", "2.9.10"]),
        ],
    )
    def test_specifier(self, prefix: str, inside: list[str], outside: list[str]) -> None:
        from packaging.specifiers import SpecifierSet

        specifier = SpecifierSet(abi_specifier(prefix))
        assert all(specifier.contains(version) for version in inside)
        assert not any(specifier.contains(version) for version in outside)
        assert all(matches_release_prefix(version, prefix) for version in inside)
        assert not any(matches_release_prefix(version, prefix) for version in outside)

    @pytest.mark.parametrize(
        ("version", "prefix"),
        [("1!2.9", "2.9"), ("2.9", "2.9.0.0"), ("2.9", "v2"), ("two", "2"), ("", "0"), ("2", "")],
    )
    def test_epochs_and_what_is_no_version_match_nothing(self, version: str, prefix: str) -> None:
        assert not matches_release_prefix(version, prefix)


def test_whose_properties_lack_it() -> None:
    variants = {"cu13": build("nvidia :: cuda :: 13.0")}
    metadata = VariantMetadata(namespaces=("nvidia",), variants=variants)
    for source, who in (("profile gpu.toml", "the profile gpu.toml"), ("plugin x", "this machine")):
        supported = SupportedProperties(MACHINE, {"nvidia": source})
        (refused,) = rank_variants(variants, metadata, supported).refused
        assert f"and {who} supports only 12.8" in refused.reason
