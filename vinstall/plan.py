"""A resolution and what is installed → the changes to make. Decides, and touches nothing."""

from __future__ import annotations

from collections.abc import Mapping

from vinstall.errors import RequiredVariantError, ResolutionError
from vinstall.values import dataclass
from vinstall.variants.properties import NULL_LABEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.resolution.candidate import Candidate
    from vinstall.resolution.resolved import Resolution, Resolved
    from vinstall.resolution.selection import Selection
    from vinstall.settings import ResolveSettings, VariantSettings


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one project.

    Attributes:
        kind: ``add`` where nothing is there, ``replace`` where something is, ``keep``.
        resolved: What will be there.
        before: What is there now.
    """

    kind: Literal["add", "replace", "keep"]
    resolved: Resolved
    before: InstalledDistribution | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes, dependencies first.

    Attributes:
        changes: One for each project of the resolution.
        selections: Project → what its release offered; missing for what is kept.
    """

    changes: tuple[Change, ...]
    selections: Mapping[str, Selection]

    @property
    def installs(self) -> tuple[Change, ...]:
        """The changes that put something into the environment."""
        return tuple(change for change in self.changes if change.kind != "keep")

    @property
    def kept(self) -> tuple[Change, ...]:
        """What is there already and stays."""
        return tuple(change for change in self.changes if change.kind == "keep")


def make_plan(
    resolution: Resolution,
    installed: Callable[[Candidate], InstalledDistribution | None],
    resolve: ResolveSettings,
) -> Plan:
    """Compare what was resolved with what is installed.

    Args:
        resolution: What will be there.
        installed: What a candidate replaces; ``None`` for nothing.
        resolve: How candidates were chosen.
    """
    changes = []
    for resolved in resolution.distributions:
        if resolve.only_deps and resolved.requirements:
            continue
        candidate = resolved.candidate
        if candidate.installed is not None:
            changes.append(Change("keep", resolved, candidate.installed))
            continue
        before = installed(candidate)
        if before is None or resolve.ignore_installed:
            changes.append(Change("add", resolved))
        else:
            changes.append(Change("replace", resolved, before))
    return Plan(tuple(changes), resolution.selections)


def check_required_variants(plan: Plan, variants: VariantSettings) -> None:
    """See that every variant that the user requires is taken.

    Raises:
        RequiredVariantError: A project takes ``null``, a non-variant wheel, or a variant of
            another namespace. Every such project is named.
    """
    failures = []
    by_project = {change.resolved.candidate.plain_project: change for change in plan.changes}
    by_project |= {change.resolved.project: change for change in plan.changes}
    for project, namespace in variants.required.items():
        change = by_project.get(project)
        if change is None:
            continue
        candidate = change.resolved.candidate
        label = candidate.label
        what = f"the {namespace} build" if namespace else "a variant"
        if label in ("", NULL_LABEL):
            taken = "the null variant" if label else "the non-variant wheel"
        elif namespace and namespace not in _namespaces(change):
            taken = f"the variant {label}"
        else:
            continue
        reasons = _tell_refused(plan.selections.get(candidate.project))
        failures.append(
            f"{candidate.name} {candidate.version_text}: {what} is required, but only {taken} "
            f"fits{reasons}"
        )
    if failures:
        raise RequiredVariantError(
            "A required variant is not available",
            "; ".join(failures),
            "'vinstall explain' shows every build with its reason; --profile FILE chooses for "
            "another machine.",
        )


def _namespaces(change: Change) -> frozenset[str]:
    candidate = change.resolved.candidate
    if candidate.variant is not None:
        return frozenset(candidate.variant.properties)
    there = candidate.installed
    if there is not None and there.bridge:
        texts = (there.reason or {}).get("properties")
        lines = texts if isinstance(texts, list) else ()
        return frozenset(str(one).partition("::")[0].strip() for one in lines)
    recorded = there.variant if there is not None else None
    variants = (recorded or {}).get("variants")
    if not isinstance(variants, dict):
        return frozenset()
    return frozenset(str(name) for entry in variants.values() for name in entry)


def _tell_refused(selection: Selection | None) -> str:
    if selection is None:
        return ""
    reasons = dict.fromkeys(
        f"{refusal.label}: {refusal.reason}"
        for refusal in selection.refusals
        if refusal.kind in ("variant", "label") and refusal.label
    )
    return f" ({'; '.join(list(reasons)[:4])})" if reasons else ""


def check_variant_losses(plan: Plan, variants: VariantSettings, named: frozenset[str]) -> None:
    """Refuse to swap an accelerated build for a plain one behind the user's back.

    Args:
        plan: The changes.
        variants: Whether swapping is allowed.
        named: Projects that the user named together with ``-U`` or ``--force-reinstall``.

    Raises:
        ResolutionError: An installed variant would be replaced by ``null`` or a non-variant
            wheel without the user having asked for it.
    """
    if variants.allow_change:
        return
    losses = []
    bridged = False
    for change in plan.installs:
        before, candidate = change.before, change.resolved.candidate
        if before is None or before.label in ("", NULL_LABEL):
            continue
        project = candidate.plain_project
        if candidate.label not in ("", NULL_LABEL) or {candidate.project, project} & named:
            continue
        chosen = project in variants.labels or project in variants.disabled
        if chosen:
            continue
        after = f"{candidate.name} {candidate.version_text} " + (
            "null" if candidate.label else "(no variant)"
        )
        needed = f", needed by {', '.join(change.resolved.parents)}" * bool(change.resolved.parents)
        losses.append(f"{before.name} {before.version_text} {before.shown_label} → {after}{needed}")
        bridged = bridged or bool(before.bridge)
    if losses:
        way = "Add --bridge to stay with such builds. " if bridged else ""
        raise ResolutionError(
            "An installed build for this hardware would be lost",
            "; ".join(losses),
            way + "Add --allow-variant-change, or name the project with -U, if that is wanted.",
        )


def find_mixed_runtimes(plan: Plan, installed: Iterable[InstalledDistribution]) -> tuple[str, ...]:
    """Sentences about builds for different major versions of one GPU runtime.

    Libraries for two majors of CUDA (or ROCm) in one process rarely get along. Builds of one
    environment are compared by the versions that they were built for.

    Args:
        plan: What will be there.
        installed: What is there now; what the plan replaces does not count.
    """
    replaced = {change.resolved.project for change in plan.installs}
    members: dict[tuple[str, str], list[tuple[str, frozenset[str]]]] = {}
    for change in plan.installs:
        candidate = change.resolved.candidate
        if candidate.variant is not None:
            name = f"{candidate.name} {candidate.version_text} {candidate.label}"
            _add_runtimes(members, name, candidate.variant.properties)
    for one in installed:
        if one.project not in replaced and one.label:
            variants = (one.variant or {}).get("variants")
            entry = variants.get(one.label) if isinstance(variants, dict) else None
            if isinstance(entry, dict):
                _add_runtimes(members, f"{one.name} {one.version_text} {one.label}", entry)
    sentences = []
    for (namespace, feature), builds in members.items():
        for number, (name, majors) in enumerate(builds):
            for other, others in builds[number + 1 :]:
                if not majors & others:
                    sentences.append(
                        f"{name} is built for {_RUNTIMES[namespace, feature]} "
                        f"{' and '.join(sorted(majors))}, but {other} for "
                        f"{' and '.join(sorted(others))}"
                    )
    return tuple(sentences)


_RUNTIMES = {
    ("nvidia", "cuda_version_lower_bound"): "CUDA",
    ("amd", "rocm_version"): "ROCm",
}


def _add_runtimes(
    members: dict[tuple[str, str], list[tuple[str, frozenset[str]]]],
    name: str,
    properties: Mapping[str, object],
) -> None:
    for namespace, feature in _RUNTIMES:
        features = properties.get(namespace)
        values = features.get(feature) if isinstance(features, Mapping) else None
        if isinstance(values, (list, tuple)) and values:
            majors = frozenset(str(value).partition(".")[0] for value in values)
            members.setdefault((namespace, feature), []).append((name, majors))
