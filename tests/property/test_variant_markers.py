"""Laws of variant markers: folding and then asking ``packaging`` is evaluating at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from tests.property import strategies as own
from vinstall.errors import RequirementError
from vinstall.variants.markers import (
    VariantMarkers,
    find_illegal_variant_marker,
    fold_variant_markers,
)

if TYPE_CHECKING:
    from vinstall.variants.properties import VariantProperty

LAW = settings(max_examples=100, deadline=None)

ENVIRONMENT = {"os_name": "posix", "python_version": "3.11", "sys_platform": "linux", "extra": "x"}
ORDINARY = st.sampled_from(
    (
        own.Leaf("os_name == 'posix'", True),
        own.Leaf('"nt" == os_name', False),
        own.Leaf("python_version>='3.9'", True),
        own.Leaf("python_version   <   '3.9'", False),
        own.Leaf("'lin' in sys_platform", True),
        own.Leaf("sys_platform not  in 'win32 darwin'", True),
        own.Leaf("extra == 'x'", True),
        own.Leaf("extra == 'y'", False),
        own.Leaf("extra == 'variant_label'", False),
    )
)
HEADS = st.sampled_from(
    ("dep", "dep[a,b]>=1,<2", "dep (>1)", "dep @ https://example.org/d;a-1.0.whl#sha256=0")
)


@st.composite
def markers(draw: st.DrawFn) -> VariantMarkers:
    """What the markers of some wheel see; often a non-variant wheel."""
    label = draw(st.sampled_from(("", "null", *own.LABELS)))
    if label in ("", "null"):
        return VariantMarkers.for_variant(label, ())
    return VariantMarkers.for_variant(label, draw(st.sets(own.variant_properties(), max_size=6)))


@st.composite
def comparisons(draw: st.DrawFn, seen: VariantMarkers) -> own.Leaf:
    """A comparison with a variant marker, and whether it holds (PEP 825)."""
    quote = draw(st.sampled_from("'\""))
    if draw(st.booleans()):
        label = draw(st.sampled_from(("", "null", *own.LABELS)))
        equal = draw(st.booleans())
        sides = ["variant_label", f"{quote}{label}{quote}"]
        if draw(st.booleans()):
            sides.reverse()
        space = draw(st.sampled_from(("", " ", "  ")))
        text = f"{space}{'==' if equal else '!='}{space}".join(sides)
        return own.Leaf(text, (label == seen.label) is equal)
    one = draw(own.variant_properties())
    size = draw(st.integers(1, 3))
    parts = (one.namespace, one.feature, one.value)[:size]
    inside = any(
        (other.namespace, other.feature, other.value)[:size] == parts for other in seen.properties
    )
    name = ("variant_namespaces", "variant_features", "variant_properties")[size - 1]
    colons = draw(st.sampled_from(("::", " :: ", ":: ", "\t::  ")))
    negated = draw(st.booleans())
    word = draw(st.sampled_from(("not in", "not   in"))) if negated else "in"
    return own.Leaf(f"{quote}{colons.join(parts)}{quote} {word} {name}", inside is not negated)


@st.composite
def questions(draw: st.DrawFn) -> tuple[VariantMarkers, own.Leaf | own.Branch]:
    """What a wheel sees, and a tree of variant and ordinary comparisons."""
    seen = draw(markers())
    return seen, draw(own.marker_trees(comparisons(seen) | ORDINARY))


@LAW
@given(questions(), HEADS, st.sampled_from((" ", "  ", "\t")))
def test_folding_is_evaluating(
    question: tuple[VariantMarkers, own.Leaf | own.Branch], head: str, space: str
) -> None:
    seen, tree = question
    folded = fold_variant_markers(f"{head} ; {own.render(tree, space)}", seen)
    if folded is None:
        assert not own.evaluate(tree)
        return
    assert find_illegal_variant_marker(folded) is None
    requirement = Requirement(folded)
    holds = requirement.marker is None or requirement.marker.evaluate(ENVIRONMENT)
    assert holds is own.evaluate(tree)
    plain = Requirement(head)
    assert (requirement.name, requirement.extras) == (plain.name, plain.extras)
    assert (requirement.specifier, requirement.url) == (plain.specifier, plain.url)


@LAW
@given(questions())
def test_without_parentheses_and_binds_more_than_or(
    question: tuple[VariantMarkers, own.Leaf | own.Branch],
) -> None:
    seen, tree = question
    leaves = list(_leaves(tree))
    alternatives = [leaves[start : start + 3] for start in range(0, len(leaves), 3)]
    text = " or ".join(" and ".join(one.text for one in group) for group in alternatives)
    expected = any(all(one.holds for one in group) for group in alternatives)
    folded = fold_variant_markers(f"dep; {text}", seen)
    if folded is None:
        assert not expected
    else:
        marker = Requirement(folded).marker
        assert (marker is None or marker.evaluate(ENVIRONMENT)) is expected


def _leaves(tree: own.Leaf | own.Branch) -> list[own.Leaf]:
    if isinstance(tree, own.Leaf):
        return [tree]
    return [leaf for part in tree.parts for leaf in _leaves(part)]


@LAW
@given(questions())
def test_folding_twice_is_folding_once(
    question: tuple[VariantMarkers, own.Leaf | own.Branch],
) -> None:
    seen, tree = question
    once = fold_variant_markers(f"dep ; {own.render(tree)}", seen)
    if once is not None:
        assert fold_variant_markers(once, seen) == once


@LAW
@given(questions(), st.data())
def test_a_broken_marker_is_an_error_of_ours(
    question: tuple[VariantMarkers, own.Leaf | own.Branch], data: st.DataObject
) -> None:
    seen, tree = question
    text = f"dep; {own.render(tree)}"
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 4))
    broken = (
        text[:start]
        + data.draw(st.sampled_from(("", "(", ")", "'", "and ", "=", "é")))
        + (text[end:])
    )
    try:
        fold_variant_markers(broken, seen)
    except RequirementError as error:
        assert repr(broken.strip()) in error.what  # noqa: PT017


@LAW
@given(st.text(max_size=60))
def test_any_text_behind_a_variant_marker(text: str) -> None:
    try:
        fold_variant_markers(f"dep; variant_label == 'a' and {text}", VariantMarkers.NON_VARIANT)
    except RequirementError:
        return


@given(st.sets(own.variant_properties(), max_size=6))
def test_features_and_namespaces_follow_from_the_properties(
    properties: set[VariantProperty],
) -> None:
    seen = VariantMarkers.for_variant("a", properties)
    compact = seen.members("variant_properties")
    assert len(compact) == len(properties)
    assert seen.members("variant_features") == {one.rpartition("::")[0] for one in compact}
    assert seen.members("variant_namespaces") == {one.partition("::")[0] for one in compact}
