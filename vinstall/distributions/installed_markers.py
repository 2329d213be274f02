"""What the variant markers of an installed distribution see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import VariantMetadataError
from vinstall.variants.markers import VariantMarkers
from vinstall.variants.properties import VariantProperty, parse_property

if TYPE_CHECKING:
    from vinstall.distributions.installed import InstalledDistribution


def markers_of(distribution: InstalledDistribution) -> VariantMarkers:
    """Label and supported properties, as they were written down when it was installed.

    Where nothing was written down (another tool installed it), every property of the wheel
    counts as supported: it was chosen, after all.
    """
    if not distribution.label:
        return VariantMarkers.NON_VARIANT
    texts = (distribution.reason or {}).get("supported")
    properties: list[VariantProperty] = []
    if isinstance(texts, list):
        for text in texts:
            try:
                properties.append(parse_property(str(text)))
            except VariantMetadataError:
                continue
        return VariantMarkers.for_variant(distribution.label, properties)
    variants = (distribution.variant or {}).get("variants")
    entry = variants.get(distribution.label) if isinstance(variants, dict) else None
    for namespace, features in (entry or {}).items() if isinstance(entry, dict) else ():
        for feature, values in features.items() if isinstance(features, dict) else ():
            properties += [
                VariantProperty(namespace, feature, str(value))
                for value in (values if isinstance(values, list) else ())
            ]
    return VariantMarkers.for_variant(distribution.label, properties)
