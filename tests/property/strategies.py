"""What the laws are tried with: releases, machines, wishes and files of variant metadata.

Names come from small sets, so that they meet often; what matters for variants is which names
are equal and in what order they stand, not what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from vinstall.variants.metadata import ProviderInfo, VariantMetadata
from vinstall.variants.properties import ABI_DEPENDENCY, NULL_LABEL, VariantPattern
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from vinstall.variants.properties import Properties

NAMESPACES = ("nvidia", "x86_64", "blas", "0")
FEATURES = ("level", "sm_arch", "on")
VALUES = ("v1", "v2", "12.8", "9_0")
LABELS = ("cu128", "v3", "x86_64_v4", "a", "b", "0.1", "z_")
PREFIXES = ("2", "2.9", "2.10", "2.0", "2.9.1", "10")
BASE = "https://variants-schema.wheelnext.dev"


def orders(names: tuple[str, ...], *, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of the names, each once, in any order."""
    return st.lists(st.sampled_from(names), unique=True, min_size=least).map(tuple)


def properties(namespaces: tuple[str, ...] = NAMESPACES) -> st.SearchStrategy[Properties]:
    """The properties of a variant that is not null, values sorted as PEP 825 wants them."""
    values = st.sets(st.sampled_from(VALUES), min_size=1).map(lambda some: tuple(sorted(some)))
    features = st.dictionaries(st.sampled_from(FEATURES), values, min_size=1)
    return st.dictionaries(st.sampled_from(namespaces), features, min_size=1)


def abi_properties() -> st.SearchStrategy[Properties]:
    """Properties of the namespace ``abi_dependency`` alone."""
    values = st.sets(st.sampled_from(PREFIXES), min_size=1).map(lambda some: tuple(sorted(some)))
    features = st.dictionaries(st.sampled_from(("torch", "numpy")), values, min_size=1)
    return features.map(lambda table: {ABI_DEPENDENCY: table})


@st.composite
def variants(
    draw: st.DrawFn, namespaces: tuple[str, ...] = NAMESPACES, *, abi: bool = False
) -> dict[str, Properties]:
    """Label → properties of a release; sometimes with ``null``."""
    kinds = properties(namespaces)
    if abi:
        both = st.tuples(kinds, abi_properties()).map(lambda pair: {**pair[0], **pair[1]})
        kinds = st.one_of(kinds, abi_properties(), both)
    found: dict[str, Properties] = draw(st.dictionaries(st.sampled_from(LABELS), kinds))
    if draw(st.booleans()):
        found[NULL_LABEL] = {}
    return found


def supported() -> st.SearchStrategy[SupportedProperties]:
    """What a machine supports: any features and values, in any order, or nothing."""
    tables = orders(NAMESPACES).flatmap(
        lambda namespaces: st.fixed_dictionaries(
            {namespace: _feature_tables() for namespace in namespaces}
        )
    )
    return tables.map(lambda table: SupportedProperties(namespaces=table))


def _feature_tables() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    return orders(FEATURES).flatmap(
        lambda features: st.fixed_dictionaries(
            {feature: orders(VALUES, least=1) for feature in features}
        )
    )


def feature_priorities() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    """``default-priorities.feature``, as generations before PEP 825 have it."""
    return st.dictionaries(st.sampled_from(NAMESPACES), orders(FEATURES))


def property_priorities() -> st.SearchStrategy[dict[str, dict[str, tuple[str, ...]]]]:
    """``default-priorities.property``, as generations before PEP 825 have it."""
    return st.dictionaries(
        st.sampled_from(NAMESPACES), st.dictionaries(st.sampled_from(FEATURES), orders(VALUES))
    )


@st.composite
def releases(
    draw: st.DrawFn, *, abi: bool = False, priorities: bool = False, all_listed: bool = False
) -> VariantMetadata:
    """The metadata of a release.

    Args:
        draw: How hypothesis draws.
        abi: Whether some variants have ``abi_dependency`` properties.
        priorities: Whether there are feature and value priorities.
        all_listed: Whether every namespace has a place in ``default-priorities.namespace``.
    """
    listed = st.permutations(NAMESPACES).map(tuple) if all_listed else orders(NAMESPACES)
    return VariantMetadata(
        namespaces=draw(listed),
        variants=draw(variants(abi=abi)),
        feature_priorities=draw(feature_priorities()) if priorities else {},
        property_priorities=draw(property_priorities()) if priorities else {},
    )


def patterns() -> st.SearchStrategy[VariantPattern]:
    """What users prefer or exclude: a namespace, a feature or a property."""
    namespace = st.sampled_from(NAMESPACES)
    feature, value = st.sampled_from(FEATURES), st.sampled_from(VALUES)
    return st.one_of(
        st.builds(VariantPattern, namespace),
        st.builds(VariantPattern, namespace, feature),
        st.builds(VariantPattern, namespace, feature, value),
    )


_PROVIDERS = {
    "nvidia": (ProviderInfo(requires=("p",), plugin_api="p:P"), ProviderInfo(requires=("q",))),
    "x86_64": (ProviderInfo(static_properties={"level": ("v2", "v1")}), ProviderInfo(builtin="x")),
}


@st.composite
def parts(draw: st.DrawFn) -> VariantMetadata:
    """What one source of a release says; two of them often agree, and often do not."""
    choices = {name: st.sampled_from(some) for name, some in _PROVIDERS.items()}
    entries: tuple[Properties, ...] = (
        {"nvidia": {"level": ("v1",)}},
        {"nvidia": {"level": ("v1", "v2")}},
        {"x86_64": {"level": ("v1",)}},
    )
    described = draw(st.dictionaries(st.sampled_from(LABELS[:3]), st.sampled_from(entries)))
    refused = draw(st.dictionaries(st.sampled_from(LABELS[:4]), st.sampled_from(("x", "y"))))
    longest = ("nvidia", "x86_64", "blas")
    prefixes = st.integers(0, 3).map(lambda length: longest[:length])
    return VariantMetadata(
        namespaces=draw(st.one_of(prefixes, prefixes, prefixes, orders(longest))),
        variants=described,
        providers=draw(st.none() | st.fixed_dictionaries({}, optional=choices)),
        feature_priorities=draw(
            st.dictionaries(st.just("nvidia"), st.sampled_from((("a",), ("a", "b"))))
        ),
        property_priorities=draw(
            st.dictionaries(st.just("nvidia"), st.sampled_from(({"a": ("1",)}, {"b": ("1",)})))
        ),
        refused={label: why for label, why in refused.items() if label not in described},
        problems=draw(orders(("p", "q", "r"))),
        schema=draw(st.sampled_from((f"{BASE}/v0.2.0.json", f"{BASE}/v0.2.1.json"))),
        origin=draw(st.sampled_from(("one.json", "two.json", "three.json"))),
    )


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from((*NAMESPACES, *FEATURES, *VALUES, "null", ABI_DEPENDENCY, "p:P")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from((*NAMESPACES, *LABELS, "null")),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
"""Any JSON value, now and then one that looks right."""


def places(document: object) -> list[tuple[str | int, ...]]:
    """The way to every value inside a JSON document, the document itself first."""
    found: list[tuple[str | int, ...]] = [()]
    inner: list[tuple[str | int, object]] = []
    if isinstance(document, dict):
        inner = list(document.items())
    elif isinstance(document, list):
        inner = list(enumerate(document))
    for key, value in inner:
        found += [(key, *rest) for rest in places(value)]
    return found
