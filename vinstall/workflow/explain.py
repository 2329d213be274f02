"""``explain``: what was detected, every build with its reason, and the winner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.values import dataclass, field, replace
from vinstall.variants.properties import NULL_LABEL, iter_properties
from vinstall.workflow.context import Context
from vinstall.workflow.resolving import gather, resolve_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vinstall.events import Observer
    from vinstall.plan import Change
    from vinstall.resolution.selection import Choice, Selection
    from vinstall.settings import Settings


@dataclass(frozen=True, slots=True)
class MachinePart:
    """What is known of one namespace.

    Attributes:
        namespace: The variant namespace.
        source: Who said so.
        features: Feature → values, best first.
        present: Whether such hardware was seen.
        cached: Whether the answer was kept from an earlier run.
        seconds: How long asking took.
        notes: Sentences worth reading.
        reason: Why nothing is supported; empty where something is.
    """

    namespace: str
    source: str = ""
    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    present: bool = False
    cached: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Build:
    """One file of a release.

    Attributes:
        filename: Its name.
        label: Its variant label; empty for none.
        status: ``chosen``, ``fits`` (another ranks before it), ``unmet`` (it ranks before the
            chosen one, but what it needs can not be had) or ``refused``.
        rank: Position among what fits, from 1; 0 for a refused one.
        reason: Why it ranks there, or why it is refused.
        properties: What it was built for.
        best_values: The property that counted for each feature, most important first.
        index: Where it was found, without credentials.
        bridge: The bridge that shows it; empty for none.
        kind: What kind of rule a refused one broke (``tags``, ``variant``...); empty for others.
    """

    filename: str
    label: str
    status: str
    rank: int
    reason: str
    properties: tuple[str, ...] = ()
    best_values: tuple[str, ...] = ()
    index: str = ""
    kind: str = ""
    bridge: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedProject:
    """One project of the resolution.

    Attributes:
        name, version: What was chosen.
        label: Its variant label; empty for a non-variant wheel.
        filename: The file; empty where it stays as installed.
        requested: Whether the user named it.
        sentence: Why this build, in one sentence.
        builds: Every file of the release: the chosen one, what else fits, then the refused.
        problem: What was wrong with the variant metadata; empty normally.
        bridge: The bridge that the build comes through; empty for none.
        build: The name of the build as the user sees it: the label, except for the null
            variant of a bridge.
    """

    name: str
    version: str
    label: str
    filename: str
    requested: bool
    sentence: str
    builds: tuple[Build, ...] = ()
    problem: str = ""
    bridge: str = ""
    build: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that decided.

    Attributes:
        target: Facts of the interpreter: ``executable``, ``python``, ``platform``.
        machine: One part for each namespace that was asked about.
        overrides: (what, where it was said).
        projects: What the user named first, then dependencies, each with its builds.
    """

    target: Mapping[str, str]
    machine: tuple[MachinePart, ...]
    overrides: tuple[tuple[str, str], ...]
    projects: tuple[ExplainedProject, ...]


def run_explain(settings: Settings, observer: Observer) -> Explanation:
    """Explain what an install would choose; changes nothing, downloads no wheel.

    Raises:
        VinstallError: It can not be resolved.
    """
    settings = replace(
        settings, resolve=replace(settings.resolve, ignore_installed=True), dry_run=True
    )
    context = Context(settings, observer)
    try:
        gathered = gather(context)
        resolved = resolve_requests(context, gathered)
        ordered = sorted(resolved.plan.changes, key=lambda change: not change.resolved.requirements)
        projects = tuple(
            explain_change(change, resolved.plan.selections.get(change.resolved.project))
            for change in ordered
        )
        target = context.target
        facts = {
            "executable": target.executable,
            "python": f"{target.implementation} {target.version}",
            "platform": target.facts.get("platform", ""),
            "tag": target.tags[0] if target.tags else "",
        }
        return Explanation(facts, explain_machine(context), context.settings.overrides, projects)
    finally:
        context.close()


def explain_machine(context: Context) -> tuple[MachinePart, ...]:
    """What providers, profiles and static properties said in this run."""
    if "query" not in vars(context):
        return ()
    return tuple(
        MachinePart(
            report.namespace,
            report.source,
            {name: tuple(values) for name, values in report.features.items()},
            report.present,
            report.cached,
            report.seconds,
            tuple(report.notes),
            report.reason,
        )
        for report in context.query.reports()
    )


def explain_change(change: Change, selection: Selection | None) -> ExplainedProject:
    """Why one project gets the build that it gets."""
    candidate = change.resolved.candidate
    link = candidate.link
    bridge = candidate.variant.bridge if candidate.variant is not None else None
    return ExplainedProject(
        name=change.resolved.metadata.name,
        version=candidate.version_text,
        label=candidate.label,
        filename=link.filename if link is not None else "",
        requested=bool(change.resolved.requirements),
        sentence=_tell_choice(change, selection),
        builds=tuple(_iter_builds(change, selection)) if selection is not None else (),
        problem=selection.problem if selection is not None else "",
        bridge=bridge.family if bridge is not None else "",
        build=candidate.build,
    )


def _tell_choice(change: Change, selection: Selection | None) -> str:
    candidate = change.resolved.candidate
    if selection is None or not selection.rankings:
        return "it has no variants" if selection is not None else "it is installed already"
    refused = sum(1 for refusal in selection.refusals if refusal.label)
    if candidate.variant is None and any(one.variant for one in selection.choices):
        return "the non-variant wheel, since what its other builds need can not be had"
    if candidate.variant is None:
        return f"the non-variant wheel, since none of its {refused} variant wheels fits"
    if candidate.label == NULL_LABEL and candidate.variant.bridge is None:
        return "the null variant, since no other variant fits"
    return candidate.variant.reason


def _tell_plain(choice: Choice, selection: Selection) -> str:
    """Why a file without a label stands where it stands."""
    if choice.wheel is None:
        return "a source, taken only where no wheel fits"
    if selection.rankings:
        return "a non-variant wheel ranks after all variants"
    return "the wheel whose tag fits best"


def _iter_builds(change: Change, selection: Selection) -> list[Build]:
    candidate = change.resolved.candidate
    chosen = (candidate.link, candidate.label)
    builds = []
    seen = set()
    rank = 0
    for choice in selection.choices:
        key = (choice.link.url, choice.link.filename)
        if key in seen:
            continue
        seen.add(key)
        rank += 1
        variant = choice.variant
        bridge = choice.link.bridge
        real = bridge.real if bridge is not None else choice.link
        label = variant.label if variant else ""
        builds.append(
            Build(
                real.filename,
                label,
                "chosen" if (real, label) == chosen else "fits",
                rank,
                variant.reason if variant else _tell_plain(choice, selection),
                tuple(map(str, iter_properties(variant.properties))) if variant else (),
                tuple(map(str, variant.best_values)) if variant else (),
                real.index,
                bridge=bridge.family if bridge is not None else "",
            )
        )
    place = next((at for at, one in enumerate(builds) if one.status == "chosen"), 0)
    builds[:place] = [_give_up(one, selection) for one in builds[:place]]
    properties = {
        label: tuple(map(str, iter_properties(entry)))
        for ranking in selection.rankings
        if ranking.metadata is not None
        for label, entry in ranking.metadata.variants.items()
    }
    builds.extend(
        Build(
            refusal.filename,
            refusal.label,
            "refused",
            0,
            refusal.reason,
            properties.get(refusal.label, ()),
            kind=refusal.kind,
        )
        for refusal in selection.refusals
    )
    builds.extend(_iter_not_looked_for(selection, properties))
    return builds


def _give_up(build: Build, selection: Selection) -> Build:
    """A build that ranks before the chosen one: the resolver found no way to have it."""
    needs = dict.fromkeys(
        line
        for choice in selection.choices
        if choice.variant is not None and choice.variant.label == build.label
        for line in choice.variant.requirements
    )
    what = f" ({', '.join(needs)}, and so on)" if needs else ""
    reason = f"it fits, but what it needs{what} can not be had together with the rest"
    return replace(build, status="unmet", reason=reason)


def _iter_not_looked_for(
    selection: Selection, properties: Mapping[str, tuple[str, ...]]
) -> Iterator[Build]:
    """Builds that a bridge knows of, but whose files it did not look for."""
    told = {refusal.label for refusal in selection.refusals}
    for ranking in selection.rankings:
        family = ranking.index.partition("bridge:")[2]
        if not family:
            continue
        for refused in ranking.ranking.refused:
            if refused.label not in told:
                yield Build(
                    "",
                    refused.label,
                    "refused",
                    0,
                    refused.reason,
                    properties.get(refused.label, ()),
                    kind="variant",
                    bridge=family,
                )


def explanation_to_json(explanation: Explanation) -> dict[str, object]:
    """The explanation, ready for JSON."""
    from dataclasses import asdict

    data = asdict(explanation)
    data["overrides"] = [list(pair) for pair in explanation.overrides]
    return {"version": "1", **data}
