"""``vinstall.json``: why this build is installed, kept in its dist-info.

The release's variant metadata is kept, too: with it, drift (this machine would get another
build now) can be told later without asking any index.
"""

from __future__ import annotations

from vinstall import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.plan import Change, Plan
    from vinstall.resolution.selection import Selection
    from vinstall.workflow.context import Context

SCHEMA = 1


def make_reason(context: Context, plan: Plan, change: Change) -> Mapping[str, object] | None:
    """What to write down for one change; ``None`` where no variant was in question."""
    candidate = change.resolved.candidate
    selection = plan.selections.get(candidate.project)
    if candidate.variant is None and (selection is None or not selection.rankings):
        return None
    return {
        "schema": SCHEMA,
        "vinstall": __version__,
        "label": candidate.label,
        "steered": _is_steered(context, change),
        **describe_choice(context, plan, change),
        **_bridge(change),
        **_release(selection),
    }


def _is_steered(context: Context, change: Change) -> bool:
    """Whether the user, and not the machine alone, chose the build."""
    variants = context.settings.variants
    project = change.resolved.candidate.plain_project
    return bool(
        project in variants.labels
        or project in variants.disabled
        or variants.prefer
        or variants.exclude
        or any(requirement.label for requirement in change.resolved.requirements)
    )


def describe_choice(context: Context, plan: Plan, change: Change) -> dict[str, object]:
    """Label, properties, supported subset and reason, as reports and files show them."""
    from vinstall.variants.properties import iter_properties

    candidate = change.resolved.candidate
    selection = plan.selections.get(candidate.project)
    described: dict[str, object] = {"label": candidate.label or None}
    variant = candidate.variant
    if variant is not None:
        described.update(
            properties=[str(one) for one in iter_properties(variant.properties)],
            supported=[str(one) for one in variant.supported],
            best_values=[str(one) for one in variant.best_values],
            reason=variant.reason,
            sources=dict(variant.sources),
        )
        if variant.requirements:
            described["requires"] = list(variant.requirements)
        if variant.bridge is not None:
            described["bridge"] = variant.bridge.family
            described["build"] = variant.bridge.label
    elif candidate.project in context.settings.variants.disabled:
        described["reason"] = "variants are switched off"
    else:
        described["reason"] = "no variant fits"
    if selection is not None:
        refused = {refusal.label: refusal.reason for refusal in selection.refusals if refusal.label}
        if refused:
            described["refused"] = refused
    if context.settings.overrides:
        described["overrides"] = [list(pair) for pair in context.settings.overrides]
    return described


def _bridge(change: Change) -> dict[str, object]:
    """What later runs have to know of a build that came through a bridge."""
    variant = change.resolved.candidate.variant
    bridge = variant.bridge if variant is not None else None
    if bridge is None:
        return {}
    found: dict[str, object] = {"agree": dict(bridge.agree)}
    if bridge.is_sister:
        found["stands_for"] = bridge.project
    return found


def _release(selection: Selection | None) -> dict[str, object]:
    """The variant metadata of the release, from the first index that has any."""
    import json

    from vinstall.variants.readers import format_index_metadata

    for ranking in selection.rankings if selection is not None else ():
        if ranking.metadata is not None and ranking.metadata.variants:
            return {"release": json.loads(format_index_metadata(ranking.metadata))}
    return {}
