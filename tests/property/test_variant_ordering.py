"""Laws of the order of variants (PEP 825, "Variant ordering").

Where variantlib 0.2.2 and the specification part, in what is compared here:

- It adds a null variant where the release has none; vinstall ranks the wheels that exist.
- It reads ``abi_dependency`` from the packages that are installed; vinstall makes requirements
  of it. No release drawn here uses it.
- It raises an error where the machine supports a namespace that has no priority; the releases
  drawn here list all namespaces.
- After a property is forbidden, its place still counts for a variant that also has another
  value of the feature, unless ``filter_values`` is set: the law about wishes sets it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property import strategies as own
from vinstall.variants.ordering import Ranking, rank_variants
from vinstall.variants.properties import VariantPattern, VariantProperty
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.properties import Properties

LAW = settings(max_examples=60, deadline=None)
ORDER = settings(max_examples=200, deadline=None)
PATTERNS = st.lists(
    own.variant_properties().flatmap(
        lambda one: st.sampled_from(
            (
                VariantPattern(one.namespace),
                VariantPattern(one.namespace, one.feature),
                VariantPattern(one.namespace, one.feature, one.value),
            )
        )
    ),
    max_size=3,
)


def rank(release: VariantMetadata, machine: SupportedProperties, **wishes: Any) -> Ranking:
    return rank_variants(release.variants, release, machine, **wishes)


def labels_of(ranking: Ranking) -> list[str]:
    return [one.label for one in ranking.ranked]


def supports_one_value_of_each_feature(variant: Properties, machine: SupportedProperties) -> bool:
    return all(
        set(values) & set(machine.namespaces.get(namespace, {}).get(feature, ()))
        for namespace, features in variant.items()
        for feature, values in features.items()
    )


def order_of_the_pep(release: VariantMetadata, machine: SupportedProperties) -> list[str]:
    """The pseudo code of PEP 825, word by word; priorities as in PEP 817, steps 2 and 3."""
    namespace_order = release.namespaces
    feature_order: dict[str, list[str]] = {}
    value_order: dict[tuple[str, str], list[str]] = {}
    for namespace in namespace_order:
        table = machine.namespaces.get(namespace, {})
        feature_order[namespace] = list(release.feature_priorities.get(namespace, ()))
        feature_order[namespace] += [one for one in table if one not in feature_order[namespace]]
        for feature, supported in table.items():
            named = release.property_priorities.get(namespace, {}).get(feature, ())
            ordered = [*named, *(one for one in supported if one not in named)]
            value_order[namespace, feature] = [one for one in ordered if one in supported]

    def property_key(one: tuple[str, str, str]) -> tuple[int, int, int]:
        namespace, feature, value = one
        return (
            namespace_order.index(namespace),
            feature_order[namespace].index(feature),
            value_order[namespace, feature].index(value),
        )

    def sorted_properties(label: str) -> list[tuple[str, str, str]]:
        best = [
            (
                namespace,
                feature,
                next(one for one in value_order[namespace, feature] if one in values),
            )
            for namespace, features in release.variants[label].items()
            for feature, values in features.items()
        ]
        return sorted(best, key=property_key)

    def compare(left: str, right: str) -> int:
        mine, others = sorted_properties(left), sorted_properties(right)
        for one, other in zip(mine, others, strict=False):
            if one != other:
                return -1 if property_key(one) < property_key(other) else 1
        if len(mine) != len(others):
            return -1 if len(mine) > len(others) else 1
        return -1 if left < right else 1

    compatible = [
        label
        for label, variant in release.variants.items()
        if supports_one_value_of_each_feature(variant, machine)
    ]
    return sorted(compatible, key=cmp_to_key(compare))


@ORDER
@given(own.releases(), own.machines())
def test_it_is_the_order_of_the_pep(release: VariantMetadata, machine: SupportedProperties) -> None:
    assert labels_of(rank(release, machine)) == order_of_the_pep(release, machine)


@ORDER
@given(own.releases(older=True), own.machines())
def test_older_priorities_reorder_features_and_values(
    release: VariantMetadata, machine: SupportedProperties
) -> None:
    assert labels_of(rank(release, machine)) == order_of_the_pep(release, machine)


@LAW
@given(own.releases(older=True), own.machines(), PATTERNS, PATTERNS, st.randoms())
def test_every_label_has_one_place_whatever_the_input_order(
    release: VariantMetadata,
    machine: SupportedProperties,
    prefer: list[VariantPattern],
    exclude: list[VariantPattern],
    random: Any,
) -> None:
    ranking = rank(release, machine, prefer=prefer, exclude=exclude)
    everything = [*labels_of(ranking), *(one.label for one in ranking.refused)]
    assert sorted(everything) == sorted(release.variants)
    labels = [*release.variants, *release.variants]
    random.shuffle(labels)
    entries = list(release.variants.items())
    random.shuffle(entries)
    shuffled = replace(release, variants=dict(entries))
    assert rank_variants(labels, shuffled, machine, prefer, exclude) == ranking


@LAW
@given(own.releases(older=True), own.machines(), PATTERNS, PATTERNS)
def test_null_is_last(
    release: VariantMetadata,
    machine: SupportedProperties,
    prefer: list[VariantPattern],
    exclude: list[VariantPattern],
) -> None:
    assert labels_of(rank(release, machine, prefer=prefer, exclude=exclude))[-1] == "null"


@LAW
@given(own.releases(), own.machines(), st.sampled_from(own.LABELS))
def test_a_label_that_goes_changes_nothing_for_the_others(
    release: VariantMetadata, machine: SupportedProperties, gone: str
) -> None:
    everything = labels_of(rank(release, machine))
    left = [label for label in release.variants if label != gone]
    assert labels_of(rank_variants(left, release, machine)) == [
        label for label in everything if label != gone
    ]


@LAW
@given(own.releases(older=True), own.machines(), own.variant_properties())
def test_one_more_supported_value_loses_no_wheel(
    release: VariantMetadata, machine: SupportedProperties, more: VariantProperty
) -> None:
    before = labels_of(rank(release, machine))
    after = labels_of(rank(release, one_more(machine, more)))
    assert set(before) <= set(after)


@LAW
@given(own.releases(), own.machines(), own.variant_properties())
def test_one_more_value_at_the_end_keeps_the_order(
    release: VariantMetadata, machine: SupportedProperties, more: VariantProperty
) -> None:
    before = labels_of(rank(release, machine))
    after = labels_of(rank(release, one_more(machine, more)))
    assert [label for label in after if label in before] == before


def one_more(machine: SupportedProperties, more: VariantProperty) -> SupportedProperties:
    """The machine with one more value, the least preferred one of its feature."""
    tables = {namespace: dict(features) for namespace, features in machine.namespaces.items()}
    table = tables.setdefault(more.namespace, {})
    values = table.get(more.feature, ())
    table[more.feature] = values if more.value in values else (*values, more.value)
    return SupportedProperties(tables)


@LAW
@given(own.releases(older=True), own.machines(), PATTERNS, PATTERNS)
def test_wishes_reorder_or_narrow_and_never_select_what_does_not_fit(
    release: VariantMetadata,
    machine: SupportedProperties,
    prefer: list[VariantPattern],
    exclude: list[VariantPattern],
) -> None:
    plain = labels_of(rank(release, machine))
    assert sorted(labels_of(rank(release, machine, prefer=prefer))) == sorted(plain)
    assert set(labels_of(rank(release, machine, exclude=exclude))) <= set(plain)


@LAW
@given(own.releases(older=True), own.machines(), PATTERNS)
def test_exclude_is_a_machine_that_supports_less(
    release: VariantMetadata, machine: SupportedProperties, exclude: list[VariantPattern]
) -> None:
    less = SupportedProperties(
        {
            namespace: {
                feature: tuple(
                    value
                    for value in values
                    if not any(
                        pattern.matches(VariantProperty(namespace, feature, value))
                        for pattern in exclude
                    )
                )
                for feature, values in features.items()
            }
            for namespace, features in machine.namespaces.items()
        }
    )
    assert labels_of(rank(release, machine, exclude=exclude)) == labels_of(rank(release, less))


@LAW
@given(own.releases(older=True), own.machines())
def test_what_is_told_is_true(release: VariantMetadata, machine: SupportedProperties) -> None:
    ranking = rank(release, machine)
    for ranked in ranking.ranked:
        variant = release.variants[ranked.label]
        assert ranked.properties == variant
        assert ranked.supported == machine.restrict(variant)
        assert set(ranked.best_values) <= set(ranked.supported)
        assert len(ranked.best_values) == sum(map(len, variant.values()))
        assert ranked.key == tuple(sorted(ranked.key))
    for refused in ranking.refused:
        assert refused.feature is not None
        namespace, feature = refused.feature.namespace, refused.feature.feature
        assert refused.wanted == release.variants[refused.label][namespace][feature]
        assert not set(refused.wanted) & set(machine.values(namespace, feature))


class TestVariantlib:
    """The order equals that of another implementation, where both have the same scope."""

    @settings(max_examples=25, deadline=None)
    @given(own.releases(older=True), own.machines())
    def test_order(self, release: VariantMetadata, machine: SupportedProperties) -> None:
        assert labels_of(rank(release, machine)) == order_of_variantlib(release, machine)

    @settings(max_examples=25, deadline=None)
    @given(own.releases(), own.machines(), PATTERNS)
    def test_exclude(
        self,
        release: VariantMetadata,
        machine: SupportedProperties,
        exclude: list[VariantPattern],
    ) -> None:
        ours = labels_of(rank(release, machine, exclude=exclude))
        assert ours == order_of_variantlib(release, machine, exclude)


def order_of_variantlib(
    release: VariantMetadata,
    machine: SupportedProperties,
    exclude: Sequence[VariantPattern] = (),
) -> list[str]:
    reason = "variantlib is not installed"
    models = pytest.importorskip("variantlib.models.variant", reason=reason)
    resolver = pytest.importorskip("variantlib.resolver.lib", reason=reason)

    def expand(tables: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Any]:
        return [
            models.VariantProperty(namespace, feature, value)
            for namespace, features in tables.items()
            for feature, values in features.items()
            for value in values
        ]

    found = resolver.sort_and_filter_supported_variants(
        [
            models.VariantDescription(expand(variant), label)
            for label, variant in release.variants.items()
        ],
        expand(machine.namespaces),
        namespace_priorities=list(release.namespaces),
        feature_priorities={key: list(one) for key, one in release.feature_priorities.items()},
        property_priorities={
            namespace: {feature: list(values) for feature, values in features.items()}
            for namespace, features in release.property_priorities.items()
        },
        forbidden_namespaces=[one.namespace for one in exclude if not one.feature],
        forbidden_features=[
            models.VariantFeature(one.namespace, one.feature)
            for one in exclude
            if one.feature and not one.value
        ],
        forbidden_properties=[
            models.VariantProperty(one.namespace, one.feature, one.value)
            for one in exclude
            if one.value
        ],
        filter_values=True,
    )
    return [one.label for one in found]
