"""The trusted plugins that are installed beside vinstall.

Only distributions on the fixed list count, whatever else claims the entry point group. Their
light parts (names, fingerprint) are read in this process; questions go to a child.

Implements the entry points specification, as far as this group needs it. ``importlib.metadata``
would do the same, but takes longer to import than everything here takes together, and every
install with variants comes by.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.providers.choose import BUNDLED, TrustedPlugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROUP = "variant_plugins"


def find_plugins(
    namespaces: Iterable[str] | None = None,
    names: Iterable[str] = BUNDLED,
    folders: Iterable[str] | None = None,
) -> dict[str, TrustedPlugin]:
    """Namespace → plugin, for the distributions on the list that are installed.

    Args:
        namespaces: Only these; ``None`` for all. Plugins of others are not even loaded.
        names: The list.
        folders: Where distributions lie, the first wins; ``None`` for ``sys.path``.
    """
    wanted = None if namespaces is None else set(namespaces)
    order = {normalize_name(name): name for name in names}
    infos: dict[str, Path] = {}
    for project, info in _iter_infos(sys.path if folders is None else folders):
        if project in order:
            infos.setdefault(project, info)
    found: dict[str, TrustedPlugin] = {}
    for project, name in order.items():
        if project not in infos:
            continue
        version = infos[project].name[: -len(".dist-info")].partition("-")[2]
        for namespace, reference in _read_points(infos[project]):
            if (wanted is None or namespace in wanted) and namespace not in found:
                found[namespace] = _read_plugin(name, version, namespace, reference)
    return found


def _iter_infos(folders: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """(normalized project, dist-info folder) for every installed distribution."""
    for folder in folders:
        try:
            with os.scandir(folder or ".") as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                yield normalize_name(name.partition("-")[0]), Path(folder, name)


def _read_points(info: Path) -> list[tuple[str, str]]:
    """(name, ``module:object``) of the entry points of our group."""
    try:
        lines = (info / "entry_points.txt").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    inside = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.append((name.strip(), value.partition("[")[0].strip()))
    return found


def _read_plugin(name: str, version: str, namespace: str, reference: str) -> TrustedPlugin:
    """The light parts of one plugin; one that can not even be loaded is kept, to be told of."""
    import importlib

    module, _, path = reference.partition(":")
    try:
        loaded: object = importlib.import_module(module.strip())
        for part in path.strip().split(".") if path.strip() else ():
            loaded = getattr(loaded, part)
    except Exception:
        return TrustedPlugin(namespace, name, version, reference, (normalize_name(name),))
    try:
        fingerprint = str(loaded.fingerprint())  # type: ignore[attr-defined]
    except Exception:
        fingerprint = ""
    return TrustedPlugin(
        namespace=namespace,
        distribution=name,
        version=version,
        object=reference,
        stands_in_for=tuple(
            normalize_name(str(one)) for one in getattr(loaded, "stands_in_for", ())
        ),
        variables=tuple(str(one) for one in getattr(loaded, "environment_variables", ())),
        fingerprint=fingerprint,
    )


def import_paths() -> tuple[str, ...]:
    """Folders from which the child imports our plugins: those of this process."""
    return tuple(path for path in sys.path if path)
