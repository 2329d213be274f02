"""Which files an installed distribution owns.

Implements the recording installed projects specification, "The RECORD file", and what is
left of older forms: ``egg-info`` folders with ``installed-files.txt`` or ``top_level.txt``,
eggs, and ``egg-link`` files of development installs. Moving the files is the business of
``transaction``; nothing here changes anything.

A path counts only if it lies inside the environment after its folder is resolved, so that
neither ``..`` in RECORD nor a link in the environment leads to files of somebody else.
"""

# os.path and not pathlib: a distribution can own tens of thousands of files
# ruff: noqa: PTH100, PTH112, PTH113, PTH114, PTH118, PTH119, PTH120, PTH123
# ruff: noqa: PTH208

from __future__ import annotations

import os
from pathlib import Path

from vinstall.distributions.record import parse_record
from vinstall.errors import InstallError, WheelFormatError
from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vinstall.distributions.installed import InstalledDistribution


@dataclass(frozen=True, slots=True)
class OwnedFiles:
    """What belongs to an installed distribution.

    Attributes:
        files: Absolute paths of files and links that exist, sorted.
        outside: Paths that its RECORD names outside of the environment.
        edits: Files of everybody that lose a line: path → new content.
    """

    files: tuple[str, ...]
    outside: tuple[str, ...] = ()
    edits: Mapping[str, bytes] = field(default_factory=dict)


def files_of(distribution: InstalledDistribution, roots: Sequence[str] = ()) -> tuple[Path, ...]:
    """The files that uninstalling a distribution removes, sorted.

    Args:
        distribution: What is installed.
        roots: Folders that the files must lie in; by default the environment around the
            distribution's location.

    Raises:
        InstallError: Nobody can tell which files belong to it.
    """
    owned = owned_files(distribution, roots)
    return tuple(Path(path) for path in sorted((*owned.files, *owned.edits)))


def owned_files(distribution: InstalledDistribution, roots: Sequence[str] = ()) -> OwnedFiles:
    """What belongs to an installed distribution; see ``files_of``."""
    paths = _PathCheck(distribution, roots)
    if distribution.kind == "dist-info":
        paths.add_all(_paths_in(_read_record(distribution), distribution))
        if os.path.isdir(distribution.info):
            paths.add_tree(distribution.info)  # also what RECORD forgot
        return paths.to_owned()
    if distribution.kind == "egg-link":
        return _egg_link_files(distribution, paths)
    if distribution.kind == "egg-info":
        return _egg_files(distribution, paths)
    raise InstallError(
        f"Cannot uninstall {distribution.name} {distribution.version_text}",
        "it was installed by distutils, which does not record the files that belong to it, so "
        "only a part of it could be removed",
        "Remove it with the tool that installed it.",
    )


def recorded_paths(
    distribution: InstalledDistribution, hints: Iterable[str] = ()
) -> tuple[str, ...]:
    """Absolute paths that a distribution's RECORD names, whether they exist or not.

    A distribution without a readable RECORD names none.

    Args:
        distribution: What is installed.
        hints: Texts of which one must be in RECORD for anybody to care; empty always cares.
    """
    if distribution.kind != "dist-info":
        return ()
    try:
        text = _read_record(distribution)
        if hints and not any(hint in text for hint in hints):
            return ()
        return tuple(_paths_in(text, distribution))
    except InstallError:
        return ()


def environment_root(location: str) -> str:
    """The folder of the environment that a site-packages folder belongs to.

    A folder that is not laid out like an environment is its own root.
    """
    parts = Path(os.path.abspath(location)).parts
    names = [part.lower() for part in parts]
    if len(parts) > 3 and names[-1] in ("site-packages", "dist-packages"):
        if names[-2] == "lib":  # Windows; also dist-packages of Debian's python3
            return str(Path(*parts[:-2]))
        if names[-3] in ("lib", "lib64", "lib32", "libx32"):
            return str(Path(*parts[:-3]))
    return str(Path(*parts))


class _PathCheck:
    """Collects paths, and keeps those inside the roots."""

    def __init__(self, distribution: InstalledDistribution, roots: Sequence[str]) -> None:
        # not the location: that of an egg-link is the project's folder
        holder = os.path.dirname(distribution.info)
        if os.path.basename(distribution.info) == "EGG-INFO":
            holder = os.path.dirname(holder)
        inside = roots or (environment_root(holder),)
        real = {os.path.realpath(root) for root in inside}
        self._roots = tuple(f"{root.rstrip(os.sep)}{os.sep}" for root in real)
        self._exact = real
        self._folders: dict[str, str | None] = {}
        self._found: dict[str, None] = {}
        self._outside: dict[str, None] = {}
        self._bytecode: dict[str, dict[str, list[str]]] = {}

    def add_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        folder, name = os.path.split(path)
        real = self._real_folder(folder)
        if real is None or not name:
            self._outside[path] = None
            return
        whole = os.path.join(real, name)
        if not os.path.lexists(whole):
            if name.endswith(".py"):
                self._add_bytecode(real, name)
            return
        if os.path.isdir(whole) and not os.path.islink(whole):
            return
        self._found[whole] = None
        if name.endswith(".py"):
            self._add_bytecode(real, name)

    def add_tree(self, path: str) -> None:
        """Add everything in a folder; links are taken as links."""
        if not os.path.isdir(path) or os.path.islink(path):
            self.add(path)
            return
        for folder, folders, names in os.walk(path):
            self.add_all(os.path.join(folder, name) for name in names)
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            self.add_all(os.path.join(folder, name) for name in links)

    def to_owned(self, edits: Mapping[str, bytes] | None = None) -> OwnedFiles:
        return OwnedFiles(tuple(sorted(self._found)), tuple(self._outside), edits or {})

    def _real_folder(self, folder: str) -> str | None:
        if folder not in self._folders:
            real = os.path.realpath(folder)
            inside = real in self._exact or real.startswith(self._roots)
            self._folders[folder] = real if inside else None
        return self._folders[folder]

    def _add_bytecode(self, folder: str, name: str) -> None:
        cache = os.path.join(folder, "__pycache__")
        if cache not in self._bytecode:
            self._bytecode[cache] = bytecode_files(cache)
        for found in self._bytecode[cache].get(name[:-3], ()):
            self._found[os.path.join(cache, found)] = None


def bytecode_files(cache: str) -> dict[str, list[str]]:
    """Module → compiled files in a ``__pycache__`` folder (PEP 3147, PEP 488)."""
    by_module: dict[str, list[str]] = {}
    try:
        names = [] if os.path.islink(cache) else os.listdir(cache)
    except OSError:
        names = []
    for name in names:
        if name.endswith(".pyc"):
            stem = name[: -len(".pyc")]
            if stem.rpartition(".")[2].startswith("opt-"):
                stem = stem.rpartition(".")[0]
            by_module.setdefault(stem.rpartition(".")[0], []).append(name)
    return by_module


def _read_record(distribution: InstalledDistribution) -> str:
    name = f"{distribution.name} {distribution.version_text}"
    record = os.path.join(distribution.info, "RECORD")
    try:
        with open(record, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except FileNotFoundError:
        by = distribution.installer
        raise InstallError(
            f"Cannot uninstall {name}",
            "its files are unknown: there is no RECORD",
            f"It was installed by {by}; uninstall it with that."
            if by and by not in ("pip", "vinstall")
            else f"Install it again over the old files: 'vinstall install --ignore-installed "
            f"--no-deps {distribution.name}=={distribution.version_text}'.",
        ) from None
    except OSError as error:
        raise InstallError(
            f"Cannot uninstall {name}", f"{record}: {error.strerror or error}"
        ) from error


def _paths_in(text: str, distribution: InstalledDistribution) -> Iterable[str]:
    name = f"{distribution.name} {distribution.version_text}"
    try:
        rows = parse_record(text, name)
    except WheelFormatError as error:
        raise InstallError(f"Cannot uninstall {name}", str(error)) from error
    base = os.path.realpath(distribution.location) + os.sep
    join, normalize = os.path.join, os.path.normpath
    for row in rows:
        path = row.path
        if path.startswith("../") or "/../" in path or "//" in path or "/./" in path:
            yield normalize(join(base, path))
        elif os.sep == "/" and path[0] != "/":
            yield base + path
        else:
            yield normalize(join(base, path))


def _egg_link_files(distribution: InstalledDistribution, paths: _PathCheck) -> OwnedFiles:
    link = distribution.info
    paths.add(link)
    return paths.to_owned(_without_line(os.path.dirname(link), _first_line(link)))


def _egg_files(distribution: InstalledDistribution, paths: _PathCheck) -> OwnedFiles:
    info = distribution.info
    if os.path.basename(info) == "EGG-INFO":  # an unpacked egg
        egg = os.path.dirname(info)
        paths.add_tree(egg)
        name = os.path.basename(egg)
        return paths.to_owned(_without_line(os.path.dirname(egg), name, f"./{name}", egg))
    installed = os.path.join(info, "installed-files.txt")
    if os.path.isfile(installed):
        with open(installed, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.strip() for line in file]
        for line in lines:
            if line:
                paths.add_tree(os.path.normpath(os.path.join(info, line)))
        paths.add_tree(info)
        return paths.to_owned()
    top_level = os.path.join(info, "top_level.txt")
    if not os.path.isfile(top_level):
        raise InstallError(
            f"Cannot uninstall {distribution.name} {distribution.version_text}",
            "its files are unknown: its egg-info says nothing of them",
        )
    shared = _lines(os.path.join(info, "namespace_packages.txt"))
    for module in _lines(top_level):
        if module in shared or os.sep in module or module in (".", ".."):
            continue
        path = os.path.join(distribution.location, module)
        if os.path.isdir(path):
            paths.add_tree(path)
        for ending in (".py", ".pyc", ".pyo"):
            paths.add(path + ending)
    paths.add_tree(info)
    return paths.to_owned()


def _without_line(location: str, *lines: str) -> dict[str, bytes]:
    """``easy-install.pth`` of a folder without some lines, where it has them."""
    path = os.path.join(os.path.realpath(location), "easy-install.pth")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return {}
    gone = {os.path.normcase(line) for line in lines if line}
    kept = [
        line
        for line in content.splitlines(keepends=True)
        if os.path.normcase(os.fsdecode(line.strip())) not in gone
    ]
    after = b"".join(kept)
    return {} if after == content else {path: after}


def _first_line(path: str) -> str:
    lines = _lines(path)
    return lines[0] if lines else ""


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return [line.strip() for line in file if line.strip()]
    except OSError:
        return []
