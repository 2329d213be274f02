"""What is installed: the distributions in the folders of an interpreter.

Implements the recording installed projects specification, and reads the older forms
(``egg-info``, ``egg-link``). Folders are listed once; a distribution is read when it is
asked for.
"""

from __future__ import annotations

import os
from pathlib import Path

from vinstall.distributions.core_metadata import CoreMetadata, parse_core_metadata
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.installed import InstalledDistribution
from vinstall.errors import VinstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.distributions.target import Target


class InstalledDatabase:
    """The installed distributions of a target, read as they are asked for.

    Args:
        target: Whose folders to look into.
        search_path: Other folders; the first that has a project wins.
    """

    def __init__(self, target: Target, search_path: Sequence[str] | None = None) -> None:
        self._folders = tuple(target.search_path if search_path is None else search_path)
        self._found: dict[str, tuple[str, str]] | None = None
        self._read: dict[str, InstalledDistribution | None] = {}

    def get(self, project: str) -> InstalledDistribution | None:
        """The installed distribution of a normalized project name, if there is one."""
        if project not in self._read:
            place = self._places().get(project)
            self._read[project] = read_distribution(*place) if place else None
        return self._read[project]

    def __iter__(self) -> Iterator[InstalledDistribution]:
        for project in sorted(self._places()):
            found = self.get(project)
            if found is not None:
                yield found

    def __contains__(self, project: object) -> bool:
        return project in self._places()

    def is_current(self) -> bool:
        """Whether the folders still hold the distributions that were read."""
        if self._found is None:
            return True
        return self._found == self._list_all()

    def forget(self) -> None:
        """Forget what was read, since the environment has changed."""
        self._found = None
        self._read.clear()

    def _places(self) -> dict[str, tuple[str, str]]:
        """Normalized project → (folder, name of the entry in it)."""
        if self._found is None:
            self._found = self._list_all()
        return self._found

    def _list_all(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for folder in self._folders:
            for project, name in list_folder(folder):
                found.setdefault(project, (folder, name))
        return found


def list_folder(folder: str) -> list[tuple[str, str]]:
    """(normalized project, entry name) for every distribution in one folder."""
    found = []
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return []
    for name in names:
        if name.startswith(("~", ".")):
            continue
        stem, dot, kind = name.rpartition(".")
        if not dot:
            continue
        if kind in ("dist-info", "egg-info"):
            found.append((normalize_name(stem.partition("-")[0]), name))
        elif kind == "egg-link":
            found.append((normalize_name(stem), name))
        elif kind == "egg" and os.path.isdir(os.path.join(folder, name, "EGG-INFO")):  # noqa: PTH112, PTH118
            found.append((normalize_name(stem.partition("-")[0]), f"{name}/EGG-INFO"))
    found.sort(key=lambda one: not one[1].endswith("dist-info"))
    return found


def read_distribution(folder: str, name: str) -> InstalledDistribution | None:
    """Read one distribution; ``None`` where it is too broken to be one.

    Args:
        folder: The folder that holds it.
        name: Its ``dist-info``, ``egg-info`` or ``egg-link`` in that folder.
    """
    info = Path(folder, name)
    location = folder
    kind = name.rpartition(".")[2] if not name.endswith("EGG-INFO") else "egg-info"
    if kind == "egg-link":
        try:
            location = info.read_text("utf-8").splitlines()[0].strip()
        except (OSError, IndexError, UnicodeDecodeError):
            return None
        stem = normalize_name(name[: -len(".egg-link")])
        for project, entry in list_folder(location):
            if project == stem and entry.endswith("egg-info"):
                metadata = _read_metadata(Path(location, entry))
                break
        else:
            return None
    elif kind == "egg-info" and info.is_file():
        kind = "distutils"
        metadata = _read_metadata(info)
    else:
        metadata = _read_metadata(info)
    if metadata is None:
        return None
    variant = _read_json(info / "variant.json") if kind == "dist-info" else None
    labels = (variant or {}).get("variants")
    label = next(iter(labels)) if isinstance(labels, dict) and len(labels) == 1 else ""
    reason = _read_json(info / "vinstall.json") if kind == "dist-info" else None
    bridge = str((reason or {}).get("bridge") or "")
    agree = (reason or {}).get("agree")
    if bridge and not label:
        label = str((reason or {}).get("label") or "")
    return InstalledDistribution(
        name=metadata.name,
        project=normalize_name(metadata.name),
        version_text=metadata.version,
        location=location,
        info=str(info),
        metadata=metadata,
        installer=_read_text(info / "INSTALLER").strip() if kind == "dist-info" else "",
        requested=kind == "dist-info" and (info / "REQUESTED").is_file(),
        direct_url=_read_json(info / "direct_url.json") if kind == "dist-info" else None,
        label=label,
        variant=variant,
        reason=reason,
        kind=kind,
        bridge=bridge,
        build=str((reason or {}).get("build") or "") if bridge else "",
        agree=(
            {str(name): str(value) for name, value in agree.items()}
            if bridge and isinstance(agree, dict)
            else {}
        ),
        stands_for=str((reason or {}).get("stands_for") or "") if bridge else "",
    )


def _read_metadata(info: Path) -> CoreMetadata | None:
    for path in (info / "METADATA", info / "PKG-INFO", info):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        try:
            return parse_core_metadata(data, str(path))
        except VinstallError:
            break
    stem = info.name.rpartition(".")[0].split("-")
    if len(stem) >= 2 and info.is_dir():
        return CoreMetadata(stem[0], stem[1])
    return None


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _read_json(path: Path) -> Mapping[str, object] | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
