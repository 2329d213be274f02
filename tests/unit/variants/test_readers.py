"""Every generation of variant metadata, good and bad.

The files in ``fixtures/variants`` are the examples of PEP 817, PEP 825 and PEP 850, and wheels
of 2025 in their form; the expected models are written by hand from the specifications.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vinstall.errors import VariantMetadataError
from vinstall.variants.metadata import ProviderInfo, VariantMetadata
from vinstall.variants.readers import (
    MAX_BYTES,
    format_index_metadata,
    read_variant_metadata,
    read_wheel_metadata,
)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "variants"
BASE = "https://variants-schema.wheelnext.dev"
ORIGIN = "demo-1.0-variants.json"

CU126 = {"nvidia": {"cuda_version_lower_bound": ("12.6",), "sm_arch": ("80_real", "90_real")}}
CU128 = {
    "nvidia": {
        "cuda_version_lower_bound": ("12.8",),
        "sm_arch": ("100_real", "120_real", "90_real"),
    }
}
NVIDIA_PLUGIN = "nvidia_variant_provider.plugin:NvidiaVariantPlugin"
X86_PLUGIN = "provider_variant_x86_64.plugin:X8664Plugin"

EXPECTED = {
    "v0.0.1.json": VariantMetadata(
        namespaces=("nvidia", "fabric"),
        variants={"null": {}, "cu128": CU128, "cu126": CU126},
        providers={
            "nvidia": ProviderInfo(
                requires=("nvidia-variant-provider>=0.0.1,<1.0.0",),
                plugin_api=NVIDIA_PLUGIN,
                enable_if="platform_system == 'Linux' or platform_system == 'Windows'",
            ),
            "fabric": ProviderInfo(
                requires=("fabric-provider",),
                plugin_api="fabric_provider.plugin:Plugin",
                static_properties={"kind": ("infiniband", "ethernet")},
                optional=True,
            ),
        },
        feature_priorities={"nvidia": ("sm_arch",)},
        schema=f"{BASE}/v0.0.1.json",
        origin=ORIGIN,
    ),
    "v0.0.2.json": VariantMetadata(
        namespaces=("nvidia", "x86_64"),
        variants={"cu128": CU128, "x8664v3": {"x86_64": {"level": ("v3",)}}},
        providers={
            "nvidia": ProviderInfo(
                requires=("nvidia-variant-provider",), enable_if="platform_machine == 'x86_64'"
            ),
            "x86_64": ProviderInfo(requires=("provider-variant-x86-64",), plugin_api=X86_PLUGIN),
        },
        feature_priorities={"x86_64": ("level",)},
        property_priorities={"x86_64": {"level": ("v3", "v2")}},
        schema=f"{BASE}/v0.0.2.json",
        origin=ORIGIN,
    ),
    "no-schema.json": VariantMetadata(
        namespaces=("nvidia",),
        variants={"cu126": CU126},
        providers={
            "nvidia": ProviderInfo(requires=("nvidia-variant-provider",), plugin_api=NVIDIA_PLUGIN)
        },
        origin=ORIGIN,
    ),
    "v0.0.3.json": VariantMetadata(
        namespaces=("x86_64", "aarch64", "blas_lapack"),
        variants={
            "x8664v3_openblas": {
                "blas_lapack": {"provider": ("openblas",)},
                "x86_64": {"level": ("v3",)},
            },
            "x8664v4_mkl": {"blas_lapack": {"provider": ("mkl",)}, "x86_64": {"level": ("v4",)}},
        },
        providers={
            "aarch64": ProviderInfo(
                requires=(
                    "provider-variant-aarch64 >=0.0.1; python_version >= '3.12'",
                    "legacy-provider-variant-aarch64 >=0.0.1; python_version < '3.12'",
                ),
                plugin_api="provider_variant_aarch64.plugin:AArch64Plugin",
                enable_if="platform_machine == 'aarch64' or 'arm' in platform_machine",
            ),
            "blas_lapack": ProviderInfo(
                requires=("blas-lapack-variant-provider",),
                static_properties={"provider": ("accelerate", "openblas", "mkl")},
            ),
            "x86_64": ProviderInfo(
                requires=("provider-variant-x86-64 >=0.0.1",),
                plugin_api=X86_PLUGIN,
                enable_if="platform_machine == 'x86_64' or platform_machine == 'AMD64'",
            ),
        },
        feature_priorities={"aarch64": ("version",), "x86_64": ("level",)},
        property_priorities={"x86_64": {"level": ("v3", "v2", "v1")}},
        schema=f"{BASE}/v0.0.3.json",
        origin=ORIGIN,
    ),
    "peps-825-v0.1.1.json": VariantMetadata(
        namespaces=("x86_64", "aarch64", "blas_lapack"),
        variants={
            "null": {},
            "x86_64_v3_openblas": {
                "blas_lapack": {"library": ("openblas",)},
                "x86_64": {"level": ("v3",)},
            },
            "x86_64_v4_mkl": {"blas_lapack": {"library": ("mkl",)}, "x86_64": {"level": ("v4",)}},
        },
        providers=None,
        schema=f"{BASE}/peps/825/v0.1.1.json",
        origin=ORIGIN,
    ),
    "peps-850-v0.2.0.json": VariantMetadata(
        namespaces=("nvidia", "blas_lapack", "openmp"),
        variants={
            "null": {},
            "cu128_mkl": {
                "blas_lapack": {"interface": ("lp64",), "library": ("mkl",)},
                "nvidia": {
                    "cuda_version_lower_bound": ("12.8",),
                    "sm_arch": ("100_real", "90_real"),
                },
            },
            "openblas_omp": {
                "blas_lapack": {"library": ("openblas",)},
                "openmp": {"runtime": ("gnu", "llvm")},
            },
        },
        providers={
            "nvidia": ProviderInfo(
                requires=("nvidia-variant-provider >=0.0.1",), plugin_api=NVIDIA_PLUGIN
            ),
            "blas_lapack": ProviderInfo(
                static_properties={"library": ("mkl", "openblas"), "interface": ("lp64", "ilp64")},
                feature_order=("interface", "library"),
            ),
            "openmp": ProviderInfo(builtin="openmp", optional=True),
        },
        schema=f"{BASE}/peps/850/v0.2.0.json",
        origin=ORIGIN,
    ),
    "v0.2.0.json": VariantMetadata(
        namespaces=("x86_64", "threads"),
        variants={
            "v3_openmp": {"threads": {"model": ("openmp",)}, "x86_64": {"level": ("v3",)}},
            "v4": {"x86_64": {"avx512_bf16": ("on",), "level": ("v4",)}},
        },
        providers={
            "x86_64": ProviderInfo(requires=("provider-variant-x86-64",)),
            "threads": ProviderInfo(static_properties={"model": ("openmp", "tbb")}),
        },
        schema=f"{BASE}/v0.2.0.json",
        origin=ORIGIN,
    ),
}


def read(document: object) -> VariantMetadata:
    return read_variant_metadata(json.dumps(document).encode(), ORIGIN)


def pep_825(**changes: Any) -> dict[str, Any]:
    """A good file of PEP 825 with two labels, changed at its top."""
    return {
        "$schema": f"{BASE}/peps/825/v0.1.1.json",
        "default-priorities": {"namespace": ["x86_64"]},
        "variants": {"v2": {"x86_64": {"level": ["v2"]}}, "v3": {"x86_64": {"level": ["v3"]}}},
        **changes,
    }


def with_provider(entry: object, schema: str = "v0.2.0") -> dict[str, Any]:
    """A good file with two namespaces, of which ``other`` has this provider."""
    return {
        "$schema": f"{BASE}/{schema}.json",
        "default-priorities": {"namespace": ["x86_64", "other"]},
        "providers": {"x86_64": {"requires": ["p"], "plugin-api": "p:P"}, "other": entry},
        "variants": {"v3": {"x86_64": {"level": ["v3"]}}, "odd": {"other": {"f": ["a"]}}},
    }


class TestGenerations:
    @pytest.mark.parametrize("name", sorted(EXPECTED))
    def test_model(self, name: str) -> None:
        assert read_variant_metadata((FIXTURES / name).read_bytes(), ORIGIN) == EXPECTED[name]

    def test_every_fixture_is_expected(self) -> None:
        assert {path.name for path in FIXTURES.glob("*.json")} == set(EXPECTED)

    def test_the_order_of_features_is_kept(self) -> None:
        provider = {"static-properties": {"z": ["1"], "a": ["1"]}, "install-time": False}
        document = with_provider(provider, "v0.0.3")
        document["static-properties"] = {"other": {"z": ["1"], "a": ["1"]}}
        providers = read(document).providers
        assert providers is not None
        assert list(providers["other"].static_properties or {}) == ["z", "a"]

    @pytest.mark.parametrize("name", ["peps-850-v0.2.0.json", "v0.2.0.json"])
    def test_variantlib_accepts_it(self, name: str) -> None:
        oracle = pytest.importorskip(
            "variantlib.variants_json", reason="variantlib is not installed"
        )
        theirs = oracle.VariantsJson(json.loads((FIXTURES / name).read_bytes()))
        ours = EXPECTED[name]
        assert tuple(theirs.namespace_priorities) == ours.namespaces
        assert set(theirs.variants) == set(ours.variants)
        assert ours.providers is not None
        for namespace, provider in ours.providers.items():
            other = theirs.providers[namespace]
            assert tuple(other.requires) == provider.requires
            assert tuple(other.feature_order) == provider.feature_order
            assert other.optional is provider.optional

    @pytest.mark.parametrize(
        ("use", "expected"),
        [
            ("all", None),
            ("build", {"kind": ("infiniband", "ethernet")}),
            ("none", {"kind": ("infiniband", "ethernet")}),
        ],
    )
    def test_plugin_use(self, use: str, expected: object) -> None:
        document = json.loads((FIXTURES / "v0.0.1.json").read_bytes())
        document["providers"]["fabric"]["plugin-use"] = use
        providers = read(document).providers
        assert providers is not None
        assert providers["fabric"].static_properties == expected

    def test_abi_dependency_needs_no_provider_and_no_priority(self) -> None:
        document = with_provider({"requires": ["q"]})
        document["variants"]["torch29"] = {"abi_dependency": {"torch": ["2.9", "2.10"]}}
        metadata = read(document)
        assert metadata.variants["torch29"] == {"abi_dependency": {"torch": ("2.10", "2.9")}}
        assert metadata.refused == {}

    def test_abi_dependency_among_the_priorities_is_left_out(self) -> None:
        document = pep_825(**{"default-priorities": {"namespace": ["abi_dependency", "x86_64"]}})
        metadata = read(document)
        assert metadata.namespaces == ("x86_64",)
        assert len(metadata.problems) == 1
        assert set(metadata.variants) == {"v2", "v3"}

    def test_unknown_keys_are_ignored_at_every_level(self) -> None:
        document = with_provider({"requires": ["q"], "news": 1})
        plain = read(document)
        document["news"] = {"deep": [1.5, True, None]}
        document["default-priorities"]["news"] = 1
        assert read(document) == plain
        assert plain.problems == ()

    def test_values_are_sets(self) -> None:
        document = pep_825(variants={"a": {"x86_64": {"level": ["v3", "v2"]}}})
        assert read(document).variants == {"a": {"x86_64": {"level": ("v2", "v3")}}}


class TestVersions:
    @pytest.mark.parametrize(
        "schema",
        [
            "v0.0.1",
            "v0.0.2",
            "v0.0.3",
            "peps/817/v0.0.3",
            "v0.2.0",
            "v0.2.9",
            "peps/850/v0.2.0",
            "peps/850/v0.2.3",
        ],
    )
    def test_known(self, schema: str) -> None:
        metadata = read(with_provider({"requires": ["q"]}, schema))
        assert (set(metadata.variants), metadata.problems) == ({"v3", "odd"}, ())

    @pytest.mark.parametrize("schema", ["v0.1.0", "v0.1", "peps/825/v0.1.9", "v0.1.1"])
    def test_known_of_pep_825(self, schema: str) -> None:
        metadata = read(pep_825(**{"$schema": f"{BASE}/{schema}.json"}))
        assert metadata.providers is None
        assert (set(metadata.variants), metadata.problems) == ({"v2", "v3"}, ())

    @pytest.mark.parametrize("version", ["0.3.0", "0.9.1", "0.0.4", "0.0.99"])
    def test_an_unknown_draft_is_read_and_told_once(self, version: str) -> None:
        metadata = read(with_provider({"requires": ["q"]}, f"v{version}"))
        assert set(metadata.variants) == {"v3", "odd"}
        assert len(metadata.problems) == 1
        assert "not known" in metadata.problems[0]

    @pytest.mark.parametrize("version", ["1.0.0", "1.2", "10.0.1", "9" * 5000 + ".0.0"])
    def test_an_unknown_major_version_is_refused(self, version: str) -> None:
        with pytest.raises(VariantMetadataError, match="is not known") as caught:
            read(pep_825(**{"$schema": f"{BASE}/peps/825/v{version}.json"}))
        assert ORIGIN in caught.value.what
        assert caught.value.fix

    def test_numbers_of_many_digits(self) -> None:
        assert read(with_provider({"requires": ["q"]}, f"v0.{'9' * 5000}.0")).variants

    @pytest.mark.parametrize(
        "schema", ["https://example.org/schema.json", 1, ["x"], {}, f"{BASE}/v0.1.1.json\n"]
    )
    def test_without_a_version_the_keys_decide(self, schema: object) -> None:
        assert read(pep_825(**{"$schema": schema})).providers is None
        new = {**with_provider({"static-properties": {"f": ["a"]}}), "$schema": schema}
        assert set(read(new).variants) == {"v3", "odd"}
        old = {**with_provider({"install-time": False}), "$schema": schema}
        old["static-properties"] = {"other": {"f": ["a"]}}
        metadata = read(old)
        assert set(metadata.variants) == {"v3", "odd"}
        assert len(metadata.problems) == 1


class TestBadLabels:
    """What is bad in one label costs that label, and says where and why."""

    @pytest.mark.parametrize(
        ("label", "entry", "place", "reason"),
        [
            ("CU128", {"x86_64": {"level": ["v1"]}}, "CU128", "label"),
            ("a-b", {"x86_64": {"level": ["v1"]}}, "a-b", "label"),
            ("", {"x86_64": {"level": ["v1"]}}, "variants", "label"),
            ("é", {"x86_64": {"level": ["v1"]}}, "é", "label"),
            ("a\n", {"x86_64": {"level": ["v1"]}}, "variants", "label"),
            ("bad", {"X86": {"level": ["v1"]}}, "variants.bad", "namespace"),
            ("bad", {"x.86": {"level": ["v1"]}}, "variants.bad", "namespace"),
            ("bad", {"": {"level": ["v1"]}}, "variants.bad", "namespace"),
            ("bad", {"x86_64": {"le.vel": ["v1"]}}, "variants.bad.x86_64", "feature"),
            ("bad", {"x86_64": {"": ["v1"]}}, "variants.bad.x86_64", "feature"),
            ("bad", {"x86_64": {"level": ["V1"]}}, "variants.bad.x86_64.level", "V1"),
            ("bad", {"x86_64": {"level": ["v-1"]}}, "variants.bad.x86_64.level", "v-1"),
            ("bad", {"x86_64": {"level": [""]}}, "variants.bad.x86_64.level", "''"),
            ("bad", {"x86_64": {"level": [12]}}, "variants.bad.x86_64.level", "12"),
            ("bad", {"x86_64": {"level": [12.5]}}, "variants.bad.x86_64.level", "12.5"),
            ("bad", {"x86_64": {"level": [None]}}, "variants.bad.x86_64.level", "None"),
            ("bad", {"x86_64": {"level": [["v1"]]}}, "variants.bad.x86_64.level", "v1"),
            ("bad", {"x86_64": {"level": []}}, "variants.bad.x86_64.level", "no values"),
            ("bad", {"x86_64": {"level": ["v1", "v1"]}}, "variants.bad.x86_64.level", "twice"),
            ("bad", {"x86_64": {"level": "v1"}}, "variants.bad.x86_64.level", "list"),
            ("bad", {"x86_64": {"level": {"v1": 1}}}, "variants.bad.x86_64.level", "list"),
            ("bad", {"x86_64": {}}, "variants.bad.x86_64", "features"),
            ("bad", {"x86_64": ["level"]}, "variants.bad.x86_64", "features"),
            ("bad", ["x86_64 :: level :: v1"], "variants.bad", "object"),
            ("bad", None, "variants.bad", "object"),
            ("bad", {}, "variants.bad", "null variant"),
            ("null", {"x86_64": {"level": ["v1"]}}, "variants.null", "null variant"),
            ("bad", {"arm": {"f": ["a"]}}, "variants.bad", "default-priorities.namespace"),
        ],
    )
    def test_it_costs_the_label_alone(
        self, label: str, entry: object, place: str, reason: str
    ) -> None:
        document = pep_825()
        document["variants"] = {label: entry, **document["variants"]}
        metadata = read(document)
        assert set(metadata.variants) == {"v2", "v3"}
        assert set(metadata.refused) == {label}
        assert place in metadata.refused[label]
        assert reason in metadata.refused[label]
        assert metadata.problems == (metadata.refused[label],)

    @pytest.mark.parametrize("length", [1, 17, 300])
    def test_a_label_may_have_any_length(self, length: int) -> None:
        document = pep_825(variants={"a" * length: {"x86_64": {"level": ["v3"]}}})
        assert set(read(document).variants) == {"a" * length}

    def test_messages_stay_short_and_printable(self) -> None:
        variants = {
            "\x1b[31m\ud800": {"x86_64": {"level": ["v1"]}},
            "b" * 100_000: {},
            "c": {"x86_64": {"level": ["\x1b" * 100_000]}},
            "d": {"x86_64": {"level": [json.loads("[" * 300 + "]" * 300)]}},
            "e": {"\x07" * 500: {"level": ["v1"]}},
        }
        metadata = read(pep_825(variants=variants))
        assert set(metadata.refused) == set(variants)
        for why in metadata.refused.values():
            assert len(why) < 400
            assert why.isprintable()

    @pytest.mark.parametrize("depth", range(600, 1000, 7))
    def test_depths_that_can_just_be_read(self, depth: int) -> None:
        deep = "[" * depth + "]" * depth
        text = json.dumps(pep_825(variants={"d": {"x86_64": {"level": ["?"]}}}))
        try:
            metadata = read_variant_metadata(text.replace('"?"', deep).encode(), ORIGIN)
        except VariantMetadataError:
            return
        assert set(metadata.refused) == {"d"}


class TestPriorities:
    @pytest.mark.parametrize("entry", ["X", "", "a.b", 1, None, ["x86_64"], "x86_64"])
    def test_a_bad_namespace_costs_itself(self, entry: object) -> None:
        document = pep_825(**{"default-priorities": {"namespace": ["x86_64", entry]}})
        metadata = read(document)
        assert metadata.namespaces == ("x86_64",)
        assert set(metadata.variants) == {"v2", "v3"}
        (problem,) = metadata.problems
        assert problem.startswith("default-priorities.namespace holds")

    @pytest.mark.parametrize("priorities", [{}, {"namespace": []}])
    def test_no_namespaces_refuse_what_uses_one(self, priorities: object) -> None:
        metadata = read(pep_825(**{"default-priorities": priorities}))
        assert metadata.variants == {}
        assert set(metadata.refused) == {"v2", "v3"}

    @pytest.mark.parametrize(
        ("key", "value", "place"),
        [
            ("feature", [], "default-priorities.feature"),
            ("feature", {"x86_64": "level"}, "default-priorities.feature.x86_64"),
            ("feature", {"x86_64": ["level", "level"]}, "default-priorities.feature.x86_64"),
            ("feature", {"x86_64": [3]}, "default-priorities.feature.x86_64"),
            ("property", "v3", "default-priorities.property"),
            ("property", {"x86_64": ["v3"]}, "default-priorities.property.x86_64"),
            ("property", {"x86_64": {"level": "v3"}}, "default-priorities.property.x86_64.level"),
            ("property", {"x86_64": {"level": ["V"]}}, "default-priorities.property.x86_64.level"),
        ],
    )
    def test_a_bad_priority_costs_itself(self, key: str, value: object, place: str) -> None:
        document = with_provider({"requires": ["q"]}, "v0.0.3")
        document["default-priorities"][key] = value
        metadata = read(document)
        assert set(metadata.variants) == {"v3", "odd"}
        assert (metadata.feature_priorities, metadata.property_priorities) == ({}, {})
        (problem,) = metadata.problems
        assert problem.startswith(place)

    @pytest.mark.parametrize("schema", ["v0.2.0", "peps/850/v0.2.1"])
    def test_newer_generations_have_no_other_priorities(self, schema: str) -> None:
        document = with_provider({"requires": ["q"]}, schema)
        document["default-priorities"]["feature"] = {"x86_64": ["level"]}
        assert read(document).feature_priorities == {}


class TestProviders:
    """What is bad in one provider costs the variants that use its namespace."""

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ([], "object"),
            ("requires", "object"),
            ({}, "exactly one"),
            ({"plugin-api": "a:B"}, "exactly one"),
            ({"requires": []}, "exactly one"),
            ({"static-properties": {}}, "exactly one"),
            ({"requires": ["a"], "static-properties": {"f": ["a"]}}, "exactly one"),
            ({"requires": ["a"], "builtin": "b"}, "exactly one"),
            ({"builtin": "b", "static-properties": {"f": ["a"]}}, "exactly one"),
            ({"requires": ["a"], "build-requires": ["a"]}, "exactly one"),
            ({"build-requires": ["a"]}, "pyproject.toml"),
            ({"requires": "a"}, "requires"),
            ({"requires": [1]}, "requires"),
            ({"requires": [""]}, "requires"),
            ({"requires": ["a"], "plugin-api": "a b"}, "plugin-api"),
            ({"requires": ["a"], "plugin-api": ["a"]}, "plugin-api"),
            ({"requires": ["a"], "plugin-api": "os:system('x')"}, "plugin-api"),
            ({"requires": ["a"], "optional": "yes"}, "optional"),
            ({"requires": ["a"], "optional": 1}, "optional"),
            ({"builtin": ["a"]}, "builtin"),
            ({"static-properties": ["f"]}, "object"),
            ({"static-properties": {"F": ["a"]}}, "feature"),
            ({"static-properties": {"f": []}}, "no values"),
            ({"static-properties": {"f": ["a", "a"]}}, "twice"),
            ({"static-properties": {"f": ["A"]}}, "not allowed"),
            ({"static-properties": {"f": ["a"], "g": ["a"]}}, "feature-order"),
            (
                {"static-properties": {"f": ["a"], "g": ["a"]}, "feature-order": ["f"]},
                "feature-order",
            ),
            (
                {"static-properties": {"f": ["a"], "g": ["a"]}, "feature-order": ["f", "g", "h"]},
                "feature-order",
            ),
            (
                {"static-properties": {"f": ["a"], "g": ["a"]}, "feature-order": ["f", "g", "f"]},
                "twice",
            ),
            ({"static-properties": {"f": ["a"]}, "feature-order": ["g"]}, "feature-order"),
            ({"static-properties": {"f": ["a"]}, "feature-order": "f"}, "feature-order"),
        ],
    )
    def test_pep_850(self, entry: object, reason: str) -> None:
        self._check(with_provider(entry), reason)

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ([], "object"),
            ({}, "neither"),
            ({"optional": True}, "neither"),
            ({"requires": []}, "neither"),
            ({"requires": "a"}, "requires"),
            ({"requires": ["a"], "enable-if": ["x"]}, "enable-if"),
            ({"requires": ["a"], "install-time": "no"}, "install-time"),
            ({"requires": ["a"], "optional": None}, "optional"),
            ({"requires": ["a"], "plugin-api": "?"}, "plugin-api"),
            ({"install-time": False}, "static-properties"),
        ],
    )
    @pytest.mark.parametrize("schema", ["v0.0.1", "v0.0.3"])
    def test_pep_817(self, schema: str, entry: object, reason: str) -> None:
        document = with_provider(entry, schema)
        document["static-properties"] = {"other": {"f": ["A B"]}}
        self._check(document, reason)

    def _check(self, document: object, reason: str) -> None:
        metadata = read(document)
        assert set(metadata.variants) == {"v3"}
        assert set(metadata.refused) == {"odd"}
        assert set(metadata.providers or ()) == {"x86_64"}
        problem = metadata.problems[0]
        assert "providers.other" in problem
        assert reason in problem
        assert problem in metadata.refused["odd"]

    @pytest.mark.parametrize(
        "order", [["f", "g"], ["g", "f"]], ids=["as given", "another way round"]
    )
    def test_feature_order(self, order: list[str]) -> None:
        entry = {"static-properties": {"f": ["a"], "g": ["a"]}, "feature-order": order}
        providers = read(with_provider(entry)).providers
        assert providers is not None
        assert providers["other"].feature_order == tuple(order)

    @pytest.mark.parametrize("name", ["abi_dependency", "A", "", "x y"])
    def test_a_name_that_is_no_namespace(self, name: str) -> None:
        document = with_provider({"requires": ["q"]})
        document["providers"][name] = {"requires": ["r"]}
        metadata = read(document)
        assert set(metadata.variants) == {"v3", "odd"}
        assert len(metadata.problems) == 1

    @pytest.mark.parametrize("providers", [[], "x", None, {}])
    @pytest.mark.parametrize("schema", ["v0.0.2", "v0.0.3", "v0.2.0"])
    def test_no_providers_refuse_what_needs_one(self, schema: str, providers: object) -> None:
        document = with_provider({}, schema)
        document["providers"] = providers
        metadata = read(document)
        assert metadata.providers == {}
        assert set(metadata.refused) == {"v3", "odd"}
        assert all("providers" in why for why in metadata.refused.values())

    def test_pep_825_does_not_look_at_providers(self) -> None:
        metadata = read(pep_825(providers={"x86_64": "nonsense"}))
        assert metadata.providers is None
        assert metadata.problems == ()


class TestWholeFile:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "not JSON"),
            (b"{", "not JSON"),
            (b"<html></html>", "not JSON"),
            (b'{"variants": {}} x', "not JSON"),
            (b"{'variants': {}}", "not JSON"),
            (b'{"x": NaN}', "NaN"),
            (b'{"x": -Infinity}', "Infinity"),
            (b"\xff\xfe{\x00}\x00", "UTF-8"),
            (b'{"a": "\xe9"}', "UTF-8"),
            (b"[]", "not a JSON object"),
            (b"null", "not a JSON object"),
            (b"1" * 10_000, "not a JSON object"),
            (b"[" * 100_000, "deep"),
            (b"[" * 100_000 + b"]" * 100_000, "deep"),
            (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deep"),
            (b'{"variants": []}', "variants"),
            (b'{"variants": "x"}', "variants"),
            (b'{"default-priorities": []}', "default-priorities"),
            (b'{"default-priorities": {"namespace": "x86_64"}}', "default-priorities.namespace"),
        ],
    )
    def test_it_names_origin_and_reason(self, data: bytes, reason: str) -> None:
        with pytest.raises(VariantMetadataError) as caught:
            read_variant_metadata(data, ORIGIN)
        assert ORIGIN in caught.value.what
        assert reason in caught.value.why
        assert len(str(caught.value)) < 500

    def test_size(self) -> None:
        good = json.dumps(pep_825()).encode()
        assert MAX_BYTES == 16 * 2**20
        assert read_variant_metadata(good.ljust(MAX_BYTES), ORIGIN).variants
        with pytest.raises(VariantMetadataError, match=str(17 * 2**20)):
            read_variant_metadata(good.ljust(17 * 2**20), ORIGIN)

    def test_a_byte_order_mark_is_tolerated_and_told(self) -> None:
        data = b"\xef\xbb\xbf" + json.dumps(pep_825()).encode()
        metadata = read_variant_metadata(data, ORIGIN)
        assert set(metadata.variants) == {"v2", "v3"}
        (problem,) = metadata.problems
        assert "byte order mark" in problem

    def test_a_huge_number_where_nothing_is_read(self) -> None:
        text = json.dumps(pep_825(more="?")).replace('"?"', "7" * 100_000)
        assert set(read_variant_metadata(text.encode(), ORIGIN).variants) == {"v2", "v3"}

    def test_a_huge_number_where_a_text_belongs(self) -> None:
        variants = {"bad": {"x86_64": {"level": ["?"]}}}
        text = json.dumps(pep_825(variants=variants)).replace('"?"', "7" * 100_000)
        metadata = read_variant_metadata(text.encode(), ORIGIN)
        assert set(metadata.refused) == {"bad"}
        assert len(metadata.refused["bad"]) < 300

    def test_of_two_equal_keys_the_last_one_counts_and_it_is_told(self) -> None:
        text = json.dumps(pep_825())
        text = text.replace('"v2": {"x86_64": {"level": ["v2"]}}', '"v3": {}')
        metadata = read_variant_metadata(text.encode(), ORIGIN)
        assert metadata.variants == {"v3": {"x86_64": {"level": ("v3",)}}}
        (problem,) = metadata.problems
        assert "'v3' is there twice" in problem

    def test_an_empty_file_describes_nothing(self) -> None:
        assert read({}).variants == {}


class TestWheelMetadata:
    """PEP 825, "Variants": in a wheel, exactly one entry, with the label of the file name."""

    def test_good(self) -> None:
        document = pep_825(variants={"v3": {"x86_64": {"level": ["v3"]}}})
        data = json.dumps(document).encode()
        assert read_wheel_metadata(data, "v3", "w.whl").variants == {
            "v3": {"x86_64": {"level": ("v3",)}}
        }

    def test_null(self) -> None:
        data = json.dumps(pep_825(variants={"null": {}})).encode()
        assert read_wheel_metadata(data, "null", "w.whl").variants == {"null": {}}

    @pytest.mark.parametrize(
        ("variants", "reason"),
        [
            ({}, "nothing"),
            ({"v2": {"x86_64": {"level": ["v2"]}}}, "v2"),
            (
                {"v2": {"x86_64": {"level": ["v2"]}}, "v3": {"x86_64": {"level": ["v3"]}}},
                "v2, v3",
            ),
            ({"v3": {"x86_64": {"level": ["v3"]}}, "V": {}}, "V"),
            ({"v3": {}}, "null variant"),
            ({"v3": {"arm": {"f": ["a"]}}}, "default-priorities.namespace"),
        ],
    )
    def test_bad(self, variants: object, reason: str) -> None:
        data = json.dumps(pep_825(variants=variants)).encode()
        with pytest.raises(VariantMetadataError) as caught:
            read_wheel_metadata(data, "v3", "w.whl")
        assert "w.whl" in caught.value.what
        assert reason in caught.value.why


class TestFormatting:
    @pytest.mark.parametrize("name", sorted(EXPECTED))
    def test_reading_it_again(self, name: str) -> None:
        first = EXPECTED[name]
        again = read_variant_metadata(format_index_metadata(first).encode(), ORIGIN)
        assert again.problems == ()
        assert again.namespaces == first.namespaces
        assert again.variants == first.variants
        assert again.providers == first.providers
        assert again.feature_priorities == first.feature_priorities
        assert again.property_priorities == first.property_priorities

    @pytest.mark.parametrize(
        ("name", "schema"),
        [
            ("v0.0.2.json", "v0.0.3.json"),
            ("no-schema.json", "v0.2.0.json"),
            ("v0.0.3.json", "v0.0.3.json"),
            ("peps-825-v0.1.1.json", "peps/825/v0.1.1.json"),
            ("peps-850-v0.2.0.json", "v0.2.0.json"),
        ],
    )
    def test_form(self, name: str, schema: str) -> None:
        document = json.loads(format_index_metadata(EXPECTED[name]))
        assert document["$schema"] == f"{BASE}/{schema}"

    def test_values_are_sorted_lexically(self) -> None:
        """PEP 825, "Variants": sets of values, converted to lists and sorted lexically."""
        document = json.loads(format_index_metadata(EXPECTED["v0.0.1.json"]))
        arch = document["variants"]["cu128"]["nvidia"]["sm_arch"]
        assert arch == ["100_real", "120_real", "90_real"]

    @pytest.mark.parametrize("name", ["no-schema.json", "peps-850-v0.2.0.json", "v0.2.0.json"])
    def test_variantlib_reads_it(self, name: str) -> None:
        oracle = pytest.importorskip(
            "variantlib.variants_json", reason="variantlib is not installed"
        )
        theirs = oracle.VariantsJson(json.loads(format_index_metadata(EXPECTED[name])))
        assert set(theirs.variants) == set(EXPECTED[name].variants)
