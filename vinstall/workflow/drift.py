"""Installed builds that are no longer the best for this machine."""

from __future__ import annotations

from vinstall.errors import VariantMetadataError
from vinstall.variants.properties import NULL_LABEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.plan import Plan
    from vinstall.workflow.context import Context


def find_drift(context: Context, plan: Plan) -> tuple[str, ...]:
    """A sentence for each kept distribution whose best build is another one now.

    Works from what ``vinstall.json`` keeps of the release, without an index.
    """
    if context.target.is_foreign:
        return ()
    hints = []
    for change in plan.kept:
        assert change.before is not None
        best = best_label(context, change.before)
        if best is not None and best != change.before.label:
            name, version = change.before.name, change.before.version_text
            asked = change.before.stands_for or name
            has = change.before.shown_label or "the non-variant wheel"
            options = "-U --bridge" if change.before.bridge else "-U"
            hints.append(
                f"{name} {version} is installed as {has}; this machine now gets {best}. "
                f"'vinstall install {options} {asked}' switches."
            )
    return tuple(hints)


def best_label(context: Context, distribution: InstalledDistribution) -> str | None:
    """The label that this machine gets now; ``None`` where nothing was written down."""
    import json

    from vinstall.variants.ordering import rank_variants
    from vinstall.variants.readers import read_variant_metadata

    reason = distribution.reason or {}
    release = reason.get("release")
    if not isinstance(release, dict) or reason.get("steered"):
        return None
    variants = context.settings.variants
    names = {distribution.project, distribution.stands_for}
    if any(name in variants.disabled or name in variants.labels for name in names):
        return None
    try:
        metadata = read_variant_metadata(json.dumps(release).encode(), distribution.name)
    except VariantMetadataError:
        return None
    supported = context.query.find_supported(metadata)
    labels = {*metadata.variants, *([NULL_LABEL] if distribution.bridge else ())}
    ranking = rank_variants(labels, metadata, supported, variants.prefer, variants.exclude)
    return ranking.ranked[0].label if ranking.ranked else ""
