"""The trusted plugins that are installed beside vinstall.

Only distributions on the fixed list count, whatever else claims the entry point group. Their
light parts (names, fingerprint) are read in this process; questions go to a child.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.providers.choose import BUNDLED, TrustedPlugin

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

GROUP = "variant_plugins"


def find_plugins(
    namespaces: Iterable[str] | None = None, names: Iterable[str] = BUNDLED
) -> dict[str, TrustedPlugin]:
    """Namespace → plugin, for the distributions on the list that are installed.

    Args:
        namespaces: Only these; ``None`` for all.
        names: The list.
    """
    from importlib import metadata

    wanted = None if namespaces is None else set(namespaces)
    found: dict[str, TrustedPlugin] = {}
    for name in names:
        try:
            distribution = metadata.distribution(name)
            version = str(distribution.version or "")
            points = [one for one in distribution.entry_points if one.group == GROUP]
        except (metadata.PackageNotFoundError, OSError, ValueError, KeyError):
            continue
        for point in points:
            if wanted is not None and point.name not in wanted:
                continue
            plugin = _read_plugin(name, version, point)
            found.setdefault(plugin.namespace, plugin)
    return found


def _read_plugin(name: str, version: str, point: EntryPoint) -> TrustedPlugin:
    """The light parts of one plugin; one that can not even be loaded is kept, to be told of."""
    try:
        loaded = point.load()
    except Exception:
        return TrustedPlugin(point.name, name, version, point.value, (normalize_name(name),))
    fingerprint = ""
    try:
        fingerprint = str(loaded.fingerprint())
    except Exception:
        fingerprint = ""
    return TrustedPlugin(
        namespace=str(getattr(loaded, "namespace", point.name)),
        distribution=name,
        version=version,
        object=point.value,
        stands_in_for=tuple(
            normalize_name(str(one)) for one in getattr(loaded, "stands_in_for", ())
        ),
        variables=tuple(str(one) for one in getattr(loaded, "environment_variables", ())),
        fingerprint=fingerprint,
    )


def import_paths() -> tuple[str, ...]:
    """Folders from which the child imports our plugins: those of this process."""
    return tuple(path for path in sys.path if path)
