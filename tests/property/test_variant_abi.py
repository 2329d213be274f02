"""Laws of the namespace ``abi_dependency`` (PEP 817, "ABI Dependency Variant Namespace").

Ranking takes it for one more namespace, after all listed ones, of which everything well formed
is supported: features by name, values by release, newer ones first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property import strategies as own
from vinstall.variants.ordering import (
    abi_requirements,
    abi_specifier,
    matches_release_prefix,
    rank_variants,
)
from vinstall.variants.properties import ABI_DEPENDENCY
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.properties import Properties

LAW = settings(max_examples=60, deadline=None)
NEWEST_FIRST = ("10", "2.10", "2.9.1", "2.9.0", "2.9", "2.0", "2")
PROJECTS = ("numpy", "scikit_learn", "torch")
BAD = ("1.2.3.4", "v2", "2.", ".", "2.9rc1")
PREFIXES = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
VERSIONS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "", "", "0!", "1!")),
    st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda some: ".".join(map(str, some))),
    st.sampled_from(("", "", "a1", "rc2", ".post1", ".dev3")),
    st.sampled_from(("", "", "+cu128")),
)


@st.composite
def builds(draw: st.DrawFn) -> VariantMetadata:
    """A release of which some variants were built for some release of another project."""
    release = draw(own.releases())
    variants: dict[str, Properties] = dict(release.variants)
    for number in range(draw(st.integers(1, 3))):
        table = {
            project: draw(own.subsets(tuple(sorted(NEWEST_FIRST)), 1))
            for project in draw(own.subsets(PROJECTS, 1))
        }
        others = draw(st.just({}) | own.properties())
        variants[f"t{number}"] = {**others, ABI_DEPENDENCY: table}
    return replace(release, variants=variants)


@LAW
@given(builds(), own.machines())
def test_it_ranks_as_the_last_namespace_that_supports_everything(
    release: VariantMetadata, machine: SupportedProperties
) -> None:
    everything = dict.fromkeys(sorted(PROJECTS), NEWEST_FIRST)
    replaced = replace(
        release,
        namespaces=(*release.namespaces, "ordinary"),
        variants={
            label: {
                "ordinary" if namespace == ABI_DEPENDENCY else namespace: features
                for namespace, features in variant.items()
            }
            for label, variant in release.variants.items()
        },
    )
    ordinary = SupportedProperties({**machine.namespaces, "ordinary": everything})
    expected = rank_variants(replaced.variants, replaced, ordinary)
    ranking = rank_variants(release.variants, release, machine)
    assert [one.label for one in ranking.ranked] == [one.label for one in expected.ranked]
    assert [[(best.feature, best.value) for best in one.best_values] for one in ranking.ranked] == [
        [(best.feature, best.value) for best in one.best_values] for one in expected.ranked
    ]


@LAW
@given(builds(), own.machines(), st.sampled_from(PROJECTS), st.sampled_from(BAD))
def test_a_bad_value_is_worth_nothing(
    release: VariantMetadata, machine: SupportedProperties, project: str, bad: str
) -> None:
    worse: dict[str, Properties] = {
        label: {
            namespace: {
                feature: (*values, bad)
                if (namespace, feature) == (ABI_DEPENDENCY, project)
                else values
                for feature, values in features.items()
            }
            for namespace, features in variant.items()
        }
        for label, variant in release.variants.items()
    }
    before = rank_variants(release.variants, release, machine)
    after = rank_variants(worse, replace(release, variants=worse), machine)
    assert [(one.label, one.best_values, one.supported) for one in after.ranked] == [
        (one.label, one.best_values, one.supported) for one in before.ranked
    ]
    for label, variant in release.variants.items():
        assert abi_requirements(worse[label]) == abi_requirements(variant)


@LAW
@given(builds())
def test_the_requirements_are_all_the_alternatives_newest_first(release: VariantMetadata) -> None:
    for variant in release.variants.values():
        needs = abi_requirements(variant)
        table = variant.get(ABI_DEPENDENCY, {})
        assert [project for project, _ in needs] == [one.replace("_", "-") for one in sorted(table)]
        for (_, alternatives), feature in zip(needs, sorted(table), strict=True):
            assert alternatives == tuple(one for one in NEWEST_FIRST if one in table[feature])


@settings(max_examples=300, deadline=None)
@given(VERSIONS, PREFIXES)
def test_a_prefix_takes_what_its_specifier_takes(version: str, prefix: str) -> None:
    """``packaging`` is the oracle; epochs are not supported."""
    from packaging.specifiers import SpecifierSet

    expected = SpecifierSet(abi_specifier(prefix)).contains(version, prereleases=True)
    assert matches_release_prefix(version, prefix) is expected
