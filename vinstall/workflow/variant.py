"""``variant rank``: rank the labels of any metadata file for any profile, with reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import VariantMetadataError
from vinstall.variants.ordering import Ranking, rank_variants
from vinstall.variants.readers import read_variant_metadata
from vinstall.workflow.context import Context

if TYPE_CHECKING:
    from vinstall.events import Observer
    from vinstall.settings import Settings


def run_rank(path: str, settings: Settings, observer: Observer) -> Ranking:
    """Rank the labels of a metadata file for a profile, or for this machine.

    Args:
        path: A ``*-variants.json`` or ``variant.json`` file of any generation.
        settings: The profile and the overrides.
        observer: Receives warnings.

    Raises:
        VariantMetadataError: The file can not be read at all.
        ProfileError: The profile is wrong.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise VariantMetadataError(
            f"{path} can not be read", error.strerror or str(error)
        ) from error
    metadata = read_variant_metadata(data, path)
    context = Context(settings, observer)
    try:
        supported = context.query.find_supported(metadata)
    finally:
        context.close()
    labels = {*metadata.variants, *metadata.refused}
    variants = settings.variants
    return rank_variants(labels, metadata, supported, variants.prefer, variants.exclude)


def ranking_to_json(ranking: Ranking) -> dict[str, object]:
    """The ranking in the form that ``variant rank --json`` prints."""
    return {
        "ranked": [
            {
                "label": one.label,
                "best_values": [[p.namespace, p.feature, p.value] for p in one.best_values],
            }
            for one in ranking.ranked
        ],
        "refused": [{"label": one.label, "reason": one.reason} for one in ranking.refused],
    }
