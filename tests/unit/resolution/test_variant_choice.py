"""Choosing builds while choosing versions (PEP 825, "Variant ordering"; variants.md §3-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import (
    FakeLookup,
    FakeSource,
    installed_distribution,
    solve,
    supports,
)
from vinstall.errors import NoMatchingWheelError, ResolutionError
from vinstall.settings import Names, ResolveSettings, VariantSettings
from vinstall.variants.properties import parse_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence


def cuda(*versions: str) -> dict[str, dict[str, tuple[str, ...]]]:
    return {"nvidia": {"cuda": versions}}


def torch(version: str = "2.9", *, plain: bool = True, null: bool = True) -> FakeSource:
    source = FakeSource()
    source.add("torch", version, label="cu128", properties=cuda("12.8"), requires=["cudalib"])
    source.add("torch", version, label="cu130", properties=cuda("13.0"), requires=["cudalib"])
    if null:
        source.add("torch", version, label="null")
    if plain:
        source.add("torch", version)
    source.add("cudalib", "1")
    return source


GPU: dict[str, Sequence[str]] = {"cuda": ["12.8", "12.6"]}


def test_the_best_supported_variant() -> None:
    solved = solve(torch(), "torch", lookup=supports(nvidia={"cuda": ["13.0", "12.8"]}))
    assert solved.labels == {"torch": "cu130"}
    assert solved.versions == {"torch": "2.9", "cudalib": "1"}


def test_null_then_the_non_variant_wheel() -> None:
    assert solve(torch(), "torch").labels == {"torch": "null"}
    solved = solve(torch(null=False), "torch")
    assert solved.labels == {}
    assert solved.versions == {"torch": "2.9"}


def test_version_comes_before_variant() -> None:
    source = torch("1.0")
    source.add("torch", "2.0", label="cu130", properties=cuda("13.0"))
    source.add("torch", "2.0")
    solved = solve(source, "torch", lookup=supports(nvidia=GPU))
    assert solved.versions == {"torch": "2.0"}
    assert solved.labels == {}


def test_only_unsupported_variants_tell_why() -> None:
    source = FakeSource()
    source.add("torch", "2.9", label="cu130", properties=cuda("13.0"))
    with pytest.raises(NoMatchingWheelError) as caught:
        solve(source, "torch", lookup=supports(nvidia=GPU))
    text = " ".join(caught.value.causes)
    assert "13.0" in text
    assert "12.8" in text


def test_no_variant_asks_nobody() -> None:
    lookup = supports(nvidia=GPU)
    solved = solve(
        torch(), "torch", lookup=lookup, variants=VariantSettings(disabled=Names(everything=True))
    )
    assert solved.labels == {}
    assert lookup.asked == 0


def test_a_label_can_be_asked_for() -> None:
    lookup = supports(nvidia=GPU)
    by_setting = VariantSettings(labels={"torch": "null"})
    assert solve(torch(), "torch", lookup=lookup, variants=by_setting).labels == {"torch": "null"}
    assert solve(torch(), "torch --variant=null", lookup=lookup).labels == {"torch": "null"}
    with pytest.raises(NoMatchingWheelError):
        solve(torch(), "torch --variant=cu130", lookup=lookup)


def test_excluded_properties_count_as_unsupported() -> None:
    variants = VariantSettings(exclude=(parse_pattern("nvidia"),))
    solved = solve(torch(), "torch", lookup=supports(nvidia=GPU), variants=variants)
    assert solved.labels == {"torch": "null"}


def test_bad_metadata_costs_the_variants_not_the_version() -> None:
    source = torch()
    source.variants.clear()
    source.add("torch", "1.0")
    solved = solve(source, "torch", lookup=supports(nvidia=GPU))
    assert solved.versions == {"torch": "2.9"}
    assert solved.labels == {"torch": "null"}


def test_the_first_index_with_a_compatible_variant_wins() -> None:
    first, second = "https://one.test/simple", "https://two.test/simple"
    source = FakeSource()
    source.add("t", "1", label="cu130", properties=cuda("13.0"), index=first)
    source.add("t", "1", label="cu126", properties=cuda("12.6"), index=second)
    source.add("t", "1", label="null", index=first)
    solved = solve(source, "t", lookup=supports(nvidia=GPU))
    assert solved.labels == {"t": "cu126"}
    source.add("t", "1", label="cu128", properties=cuda("12.8"), index=first)
    assert solve(source, "t", lookup=supports(nvidia=GPU)).labels == {"t": "cu128"}


def test_hashes_choose_among_the_listed_builds() -> None:
    from dataclasses import replace

    from tests.support.fakes import make_rules
    from vinstall.distributions.requirement import parse_requirement
    from vinstall.resolution.selection import group_releases, select_release

    source = FakeSource()
    source.add("t", "1", label="cu128", properties=cuda("12.8"), hashes={"sha256": "aa"})
    source.add("t", "1", label="null", hashes={"sha256": "bb"})
    requirement = replace(parse_requirement("t==1"), hashes={"sha256": frozenset({"bb"})})
    (release,) = group_releases("t", source.links["t"])
    selection = select_release(
        release, make_rules(), source, supports(nvidia=GPU), hashes=requirement.hashes
    )
    assert [choice.variant.label for choice in selection.choices if choice.variant] == ["null"]
    assert [refusal.kind for refusal in selection.refusals] == ["hash"]


def test_the_next_build_is_tried_before_an_older_version() -> None:
    source = FakeSource()
    source.add("t", "2", label="cu128", properties=cuda("12.8"), requires=["missing"])
    source.add("t", "2", label="null")
    source.add("t", "1")
    solved = solve(source, "t", lookup=supports(nvidia=GPU))
    assert (solved.versions, solved.labels) == ({"t": "2"}, {"t": "null"})


def test_variant_markers_of_dependencies() -> None:
    source = FakeSource()
    source.add(
        "t",
        "1",
        label="gpu",
        properties=cuda("12.8", "13.0"),
        requires=[
            "a; 'nvidia' in variant_namespaces",
            "b; 'nvidia :: cuda :: 13.0' in variant_properties",
            "c; variant_label == 'gpu'",
        ],
    )
    for name in "abc":
        source.add(name, "1")
    solved = solve(source, "t", lookup=supports(nvidia=GPU))
    assert solved.versions == {"t": "1", "a": "1", "c": "1"}


class TestAbiDependency:
    """``abi_dependency`` is a requirement of the build (variants.md §3)."""

    def source(self) -> FakeSource:
        source = FakeSource()
        for version in ("2.8.0", "2.9.1", "2.10.0"):
            source.add("torch", version)
            prefix = version.rpartition(".")[0]
            source.add(
                "ext",
                "1",
                label="t" + prefix.replace(".", "_"),
                properties={"abi_dependency": {"torch": (prefix,)}},
                requires=["torch"],
            )
        return source

    def test_the_newest_alone(self) -> None:
        solved = solve(self.source(), "ext")
        assert solved.versions == {"ext": "1", "torch": "2.10.0"}
        assert solved.labels == {"ext": "t2_10"}

    @pytest.mark.parametrize(
        ("text", "label"), [("torch==2.8.*", "t2_8"), ("torch<2.10", "t2_9"), ("torch", "t2_10")]
    )
    @pytest.mark.parametrize("first", [True, False])
    def test_the_build_follows_the_torch_that_is_forced(
        self, text: str, label: str, first: bool
    ) -> None:
        texts = ["ext", text] if first else [text, "ext"]
        assert solve(self.source(), *texts).labels == {"ext": label}

    def test_the_build_follows_the_installed_torch(self) -> None:
        there = [installed_distribution("torch", "2.8.0")]
        solved = solve(self.source(), "ext", installed=there)
        assert solved.versions == {"ext": "1", "torch": "2.8.0"}
        assert solved.labels == {"ext": "t2_8"}

    def test_a_third_party_forces_torch(self) -> None:
        source = self.source()
        source.add("other", "1", requires=["torch==2.9.1"])
        assert solve(source, "ext", "other").labels == {"ext": "t2_9"}

    def test_no_build_for_that_torch_is_explained(self) -> None:
        source = self.source()
        source.add("torch", "1.0")
        with pytest.raises(ResolutionError) as caught:
            solve(source, "ext", "torch<2")
        assert any("torch==2." in line for line in caught.value.causes)

    def test_excluded_alternatives_are_not_tried(self) -> None:
        source = FakeSource()
        source.add("torch", "2.8.0")
        source.add("torch", "2.9.0")
        source.add(
            "ext",
            "1",
            label="any",
            properties={"abi_dependency": {"torch": ("2.8", "2.9")}},
            requires=["old; 'abi_dependency :: torch :: 2.8' in variant_properties"],
        )
        variants = VariantSettings(exclude=(parse_pattern("abi_dependency :: torch :: 2.9"),))
        source.add("old", "1")
        assert solve(source, "ext", variants=variants).versions == {
            "ext": "1",
            "torch": "2.8.0",
            "old": "1",
        }
        assert solve(source, "ext").versions == {"ext": "1", "torch": "2.9.0"}

    def test_alternatives_without_end_are_bounded(self) -> None:
        source = FakeSource()
        many = tuple(str(number) for number in range(40))
        source.add(
            "ext",
            "1",
            label="any",
            properties={"abi_dependency": dict.fromkeys(("a", "b", "c", "d"), many)},
        )
        with pytest.raises(ResolutionError):
            solve(source, "ext")

    def test_alternatives_of_one_build(self) -> None:
        source = FakeSource()
        source.add("torch", "2.8.0")
        source.add("torch", "2.9.0")
        source.add("torch", "3.0.0")
        source.add(
            "ext", "1", label="any", properties={"abi_dependency": {"torch": ("2.8", "2.9")}}
        )
        assert solve(source, "ext").versions == {"ext": "1", "torch": "2.9.0"}
        assert solve(source, "ext", "torch<2.9").versions == {"ext": "1", "torch": "2.8.0"}


def test_upgrade_switches_to_the_best_build() -> None:
    there = [installed_distribution("torch", "2.9", label="null")]
    upgrade = ResolveSettings(upgrade=True)
    lookup = supports(nvidia=GPU)
    solved = solve(torch(), "torch", installed=there, lookup=lookup, resolve_settings=upgrade)
    assert solved.labels == {"torch": "cu128"}
    kept = solve(torch(), "torch", installed=there, lookup=lookup)
    assert kept.labels == {"torch": "null"}
    assert FakeLookup().asked == 0
