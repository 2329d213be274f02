"""What a resolution changes, and what is refused or said before anything is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vinstall.distributions.core_metadata import CoreMetadata
from vinstall.distributions.installed import InstalledDistribution
from vinstall.distributions.link import Link
from vinstall.distributions.requirement import parse_requirement
from vinstall.errors import RequiredVariantError, ResolutionError
from vinstall.plan import (
    Plan,
    check_required_variants,
    check_variant_losses,
    find_mixed_runtimes,
    make_plan,
)
from vinstall.resolution.candidate import Candidate, ChosenVariant
from vinstall.resolution.resolved import Resolution, Resolved
from vinstall.resolution.selection import Refusal, Release, Selection
from vinstall.settings import Names, ResolveSettings, VariantSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.variants.properties import Properties

CUDA_12: Properties = {"nvidia": {"cuda_version_lower_bound": ("12.8", "12.6")}}
CUDA_13: Properties = {"nvidia": {"cuda_version_lower_bound": ("13.0",)}}
ROCM_6: Properties = {"amd": {"rocm_version": ("6.4",)}}
AVX: Properties = {"x86_64": {"level": ("v3",)}}
CORE = CoreMetadata("app", "1.0")


def there(
    name: str, label: str = "", properties: Properties | None = None
) -> InstalledDistribution:
    """An installed distribution, with the ``variant.json`` that its wheel brought."""
    listed = {
        namespace: {feature: list(values) for feature, values in features.items()}
        for namespace, features in (properties or {}).items()
    }
    variant = {"variants": {label: listed}} if label else None
    info = f"/site/{name}-1.0.dist-info"
    return InstalledDistribution(
        name, name, "1.0", "/site", info, CORE, label=label, variant=variant
    )


def new(
    name: str, label: str = "", properties: Properties | None = None, *, asked: bool = False
) -> Resolved:
    """A wheel that was chosen."""
    variant = ChosenVariant(label, properties or {}) if label else None
    link = Link(f"https://x/{name}.whl", f"{name}-2.0-py3-none-any.whl")
    candidate = Candidate(name, name, "2.0", link=link, variant=variant)
    requirements = (parse_requirement(name),) if asked else ()
    return Resolved(candidate, CORE, frozenset(), requirements, ("parent",), (), name)


def kept(distribution: InstalledDistribution) -> Resolved:
    """A distribution that stays."""
    candidate = Candidate(distribution.project, distribution.name, "1.0", installed=distribution)
    return Resolved(candidate, CORE, frozenset(), (), (), (), distribution.name)


def plan(
    *resolved: Resolved,
    before: tuple[InstalledDistribution, ...] = (),
    selections: Mapping[str, Selection] | None = None,
    resolve: ResolveSettings | None = None,
) -> Plan:
    by_project = {one.project: one for one in before}
    return make_plan(
        Resolution(resolved, selections or {}),
        lambda candidate: by_project.get(candidate.project),
        resolve or ResolveSettings(),
    )


class TestMakePlan:
    """What is added, replaced and kept, in the order of the resolution."""

    def test_kinds(self) -> None:
        old, stays = there("old"), there("stays")
        made = plan(new("fresh"), new("old"), kept(stays), before=(old, stays))
        assert [(one.kind, one.resolved.project, one.before) for one in made.changes] == [
            ("add", "fresh", None),
            ("replace", "old", old),
            ("keep", "stays", stays),
        ]
        assert [one.resolved.project for one in made.installs] == ["fresh", "old"]
        assert [one.resolved.project for one in made.kept] == ["stays"]

    def test_what_is_ignored_is_not_replaced(self) -> None:
        settings = ResolveSettings(ignore_installed=True)
        (change,) = plan(new("old"), before=(there("old"),), resolve=settings).changes
        assert (change.kind, change.before) == ("add", None)

    def test_only_dependencies(self) -> None:
        settings = ResolveSettings(only_deps=True)
        made = plan(new("asked", asked=True), new("needed"), resolve=settings)
        assert [one.resolved.project for one in made.changes] == ["needed"]


class TestRequiredVariants:
    """``--require-variant NAME[=namespace]``."""

    def check(self, required: Mapping[str, str], *resolved: Resolved, **more: object) -> None:
        made = plan(*resolved, **more)  # type: ignore[arg-type]
        check_required_variants(made, VariantSettings(required=required))

    def test_any_variant(self) -> None:
        self.check({"torch": ""}, new("torch", "v3", AVX))

    def test_of_a_namespace(self) -> None:
        self.check({"torch": "nvidia"}, new("torch", "cu128", CUDA_12))

    def test_of_a_namespace_installed_already(self) -> None:
        self.check({"torch": "nvidia"}, kept(there("torch", "cu128", CUDA_12)))

    def test_what_is_not_part_of_it_is_not_required(self) -> None:
        self.check({"torch": "nvidia"}, new("numpy"))

    @pytest.mark.parametrize(
        ("resolved", "taken"),
        [
            (new("torch"), "only the non-variant wheel fits"),
            (new("torch", "null"), "only the null variant fits"),
            (new("torch", "v3", AVX), "only the variant v3 fits"),
            (kept(there("torch", "v3", AVX)), "only the variant v3 fits"),
            (kept(there("torch")), "only the non-variant wheel fits"),
        ],
        ids=["plain", "null", "another", "another installed", "plain installed"],
    )
    def test_what_else_is_taken(self, resolved: Resolved, taken: str) -> None:
        with pytest.raises(RequiredVariantError) as caught:
            self.check({"torch": "nvidia"}, resolved)
        assert caught.value.exit_code == 4
        assert "the nvidia build is required" in caught.value.why
        assert taken in caught.value.why

    def test_why_the_others_did_not_fit(self) -> None:
        from packaging.version import Version

        refusals = (
            Refusal("torch-a.whl", "variant", "it needs CUDA 13.0", "cu130"),
            Refusal("torch-b.whl", "tags", "its tag does not fit", "cu128"),
            Refusal("torch-c.whl", "variant", "no label at all"),
        )
        offered = Selection(Release("torch", Version("2.0"), "2.0", ()), (), refusals)
        with pytest.raises(RequiredVariantError) as caught:
            self.check({"torch": ""}, new("torch"), selections={"torch": offered})
        assert "(cu130: it needs CUDA 13.0)" in caught.value.why

    def test_every_one_is_named(self) -> None:
        with pytest.raises(RequiredVariantError) as caught:
            self.check({"torch": "", "scipy": ""}, new("torch"), new("scipy"))
        assert "torch 2.0" in caught.value.why
        assert "scipy 2.0" in caught.value.why


class TestLosses:
    """An accelerated build is never swapped for a plain one behind the user's back."""

    BEFORE = there("torch", "cu128", CUDA_12)

    @pytest.mark.parametrize("after", ["", "null"])
    def test_a_loss_is_refused(self, after: str) -> None:
        made = plan(new("torch", after), before=(self.BEFORE,))
        with pytest.raises(ResolutionError) as caught:
            check_variant_losses(made, VariantSettings(), frozenset())
        assert "torch 1.0 cu128 → torch 2.0" in caught.value.why
        assert "needed by parent" in caught.value.why

    @pytest.mark.parametrize(
        ("variants", "named"),
        [
            (VariantSettings(allow_change=True), ()),
            (VariantSettings(), ("torch",)),
            (VariantSettings(labels={"torch": "null"}), ()),
            (VariantSettings(disabled=Names(names=frozenset({"torch"}))), ()),
        ],
        ids=["--allow-variant-change", "-U torch", "--variant", "--no-variant"],
    )
    def test_what_the_user_wanted(self, variants: VariantSettings, named: tuple[str, ...]) -> None:
        check_variant_losses(plan(new("torch"), before=(self.BEFORE,)), variants, frozenset(named))

    @pytest.mark.parametrize(
        ("before", "after"),
        [("cu128", "cu130"), ("null", ""), ("", "")],
        ids=["another build", "null to plain", "plain to plain"],
    )
    def test_what_is_no_loss(self, before: str, after: str) -> None:
        made = plan(new("torch", after, CUDA_13), before=(there("torch", before, CUDA_12),))
        check_variant_losses(made, VariantSettings(), frozenset())


class TestMixedRuntimes:
    """Two majors of CUDA, or of ROCm, in one environment."""

    def test_two_new_builds(self) -> None:
        made = plan(new("torch", "cu128", CUDA_12), new("cupy", "cu13", CUDA_13))
        assert find_mixed_runtimes(made, ()) == (
            "torch 2.0 cu128 is built for CUDA 12, but cupy 2.0 cu13 for 13",
        )

    def test_a_new_and_an_installed_one(self) -> None:
        made = plan(new("cupy", "cu13", CUDA_13))
        (sentence,) = find_mixed_runtimes(made, [there("torch", "cu128", CUDA_12), there("numpy")])
        assert sentence == "cupy 2.0 cu13 is built for CUDA 13, but torch 1.0 cu128 for 12"

    def test_what_is_replaced_does_not_count(self) -> None:
        old = there("torch", "cu128", CUDA_12)
        made = plan(new("torch", "cu130", CUDA_13), new("cupy", "cu13", CUDA_13), before=(old,))
        assert find_mixed_runtimes(made, [old]) == ()

    def test_other_hardware_has_nothing_to_do_with_it(self) -> None:
        made = plan(new("torch", "cu128", CUDA_12), new("jax", "rocm", ROCM_6), new("b", "v3", AVX))
        assert find_mixed_runtimes(made, ()) == ()
