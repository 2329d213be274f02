"""What the property tests draw: releases with variants, machines, metadata, markers.

The pools of names are small on purpose: what is interesting happens where names meet.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from vinstall.variants.metadata import ProviderInfo, VariantMetadata
from vinstall.variants.properties import VariantProperty
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from vinstall.variants.properties import Properties

NAMESPACES = ("aa", "bb", "cc")
FEATURES = ("f", "g", "h")
VALUES = ("1", "1.0", "2", "x_3")
LABELS = ("a", "b", "c.1", "d_2")


def orders(pool: tuple[str, ...], min_size: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of a pool, in some order."""
    sizes = range(min_size, len(pool) + 1)
    return st.sampled_from([one for size in sizes for one in itertools.permutations(pool, size)])


def subsets(
    pool: tuple[str, ...], min_size: int = 0, max_size: int | None = None
) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of a pool, in the order of the pool."""
    sizes = range(min_size, (len(pool) if max_size is None else max_size) + 1)
    return st.sampled_from([one for size in sizes for one in itertools.combinations(pool, size)])


@st.composite
def properties(draw: st.DrawFn, *, close: bool = False) -> Properties:
    """The properties of one variant: few features, so that some machine supports them all.

    Args:
        draw: Given by hypothesis.
        close: From one namespace of two features, so that variants differ by little.
    """
    namespaces, features = (NAMESPACES[:1], FEATURES[:2]) if close else (NAMESPACES, FEATURES)
    return {
        namespace: {feature: draw(subsets(VALUES, 1)) for feature in draw(subsets(features, 1, 2))}
        for namespace in draw(subsets(namespaces, 1, min(2, len(namespaces))))
    }


@st.composite
def machines(draw: st.DrawFn) -> SupportedProperties:
    """What some machine supports; often most of what there is, so that variants fit."""
    return SupportedProperties(
        {
            namespace: {
                feature: draw(orders(VALUES) | orders(VALUES, 3) | orders(VALUES, 4))
                for feature in draw(orders(FEATURES) | orders(FEATURES, 3))
            }
            for namespace in draw(orders(NAMESPACES) | orders(NAMESPACES, 3))
        }
    )


@st.composite
def releases(draw: st.DrawFn, *, older: bool = False) -> VariantMetadata:
    """A release of PEP 825 with a null variant, or of a generation with more priorities.

    Its namespaces all have a priority, as the specification demands.
    """
    close = draw(st.booleans())
    variants = {label: draw(properties(close=close)) for label in draw(subsets(LABELS, 2))}
    namespaces = draw(orders(NAMESPACES, len(NAMESPACES)))
    metadata = VariantMetadata(namespaces, {**variants, "null": {}})
    if not older:
        return metadata
    return replace(
        metadata,
        feature_priorities={one: draw(orders(FEATURES)) for one in draw(orders(NAMESPACES))},
        property_priorities={
            one: {feature: draw(orders(VALUES)) for feature in draw(orders(FEATURES))}
            for one in draw(orders(NAMESPACES))
        },
    )


def variant_properties() -> st.SearchStrategy[VariantProperty]:
    """One property."""
    return st.builds(
        VariantProperty,
        st.sampled_from(NAMESPACES),
        st.sampled_from(FEATURES),
        st.sampled_from(VALUES),
    )


@st.composite
def metadata_parts(draw: st.DrawFn) -> VariantMetadata:
    """One source of metadata, often at odds with another one drawn so."""
    few = st.sampled_from(({"aa": {"f": ("1",)}}, {"aa": {"f": ("2",)}}, {"bb": {"g": ("1",)}}))
    infos = st.sampled_from((ProviderInfo(requires=("p",)), ProviderInfo(builtin="b")))
    return VariantMetadata(
        namespaces=draw(st.sampled_from(((), ("aa",), ("aa", "bb"), ("aa", "bb", "cc"), ("bb",)))),
        variants=draw(st.dictionaries(st.sampled_from(LABELS), few, max_size=2)),
        providers=draw(
            st.none() | st.dictionaries(st.sampled_from(NAMESPACES[:2]), infos, max_size=1)
        ),
        feature_priorities=draw(
            st.dictionaries(st.sampled_from(NAMESPACES), st.just(("g", "f")), max_size=1)
        ),
        refused=draw(
            st.dictionaries(st.sampled_from(LABELS), st.sampled_from(("why", "but")), max_size=2)
        ),
        problems=draw(orders(("p", "q", "r"))),
        schema=draw(st.sampled_from(("", "v0.1.0", "v0.2.0"))),
        origin=draw(st.sampled_from(("a.whl", "b.whl", "c.whl"))),
    )


def json_values() -> st.SearchStrategy[Any]:
    """Anything that a JSON file may hold, in small, and what readers may stumble over."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5)
        | st.sampled_from((*NAMESPACES, *VALUES, "null", "abi_dependency", "", "x86_64", "nvidia"))
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    )


@dataclass(frozen=True, slots=True)
class Leaf:
    """One comparison of a marker: its text, and whether it holds."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """Marker trees joined by ``and`` or by ``or``."""

    word: str
    parts: tuple[Leaf | Branch, ...]


def evaluate(tree: Leaf | Branch) -> bool:
    """Whether a marker tree holds."""
    if isinstance(tree, Leaf):
        return tree.holds
    every = [evaluate(part) for part in tree.parts]
    return all(every) if tree.word == "and" else any(every)


def render(tree: Leaf | Branch, space: str = " ") -> str:
    """A marker tree as text, with all its parentheses."""
    if isinstance(tree, Leaf):
        return tree.text
    return f"{space}{tree.word}{space}".join(
        part.text if isinstance(part, Leaf) else f"({render(part, space)})" for part in tree.parts
    )


def marker_trees(leaves: st.SearchStrategy[Leaf]) -> st.SearchStrategy[Leaf | Branch]:
    """Trees of comparisons."""
    trees: st.SearchStrategy[Leaf | Branch] = st.recursive(
        leaves,
        lambda inner: st.builds(
            Branch,
            st.sampled_from(("and", "or")),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        ),
        max_leaves=12,
    )
    return trees
