"""Whole folders of unpacked wheels that are placed as they are.

Most of what is installed goes where nothing is yet: a new environment, a new project. Then
nothing has to be decided for single files, and processes can share the placing: each takes
some folders, compares their files with what was unpacked, and links them.
"""

# os.path and not pathlib: a wheel can hold tens of thousands of files
# ruff: noqa: PTH102, PTH103, PTH118

from __future__ import annotations

import contextlib
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from vinstall.errors import InstallError, StoreAlteredError
from vinstall.forks import MOST_PARTS, HelperFailedError, can_fork, share_work
from vinstall.install.placement import PlacedFile
from vinstall.wheel.store import INSTALLED_NAMES, file_matches, has_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from vinstall.install.placement import Placer
    from vinstall.wheel.store import StoredFolder, StoredWheel

_ENOUGH_FILES = 250
"""A part of the work has about so many files: some milliseconds."""
_WORTH_A_FORK = 1000
_HAS_DIR_FD = {os.link, os.stat, os.open} <= os.supports_dir_fd if hasattr(os, "link") else False
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_LIBRARY_DATA = ("purelib/", "platlib/")


class Tree(NamedTuple):
    """Everything of a wheel that goes beside its dist-info folder, where nothing is yet.

    Attributes:
        wheel: The unpacked wheel.
        library: The folder to place it in.
        tops: Absolute path of each file and folder that will be there → whether it is a
            folder.
    """

    wheel: StoredWheel
    library: str
    tops: Mapping[str, bool]


def find_trees(
    wheels: Sequence[StoredWheel], paths: Mapping[str, str], *, compiled: bool = False
) -> list[Tree | None]:
    """Which wheels can be placed as they are, for all that is known without their files.

    A wheel can if nothing is where its files go, and no other wheel has anything there.

    Args:
        wheels: The unpacked wheels.
        paths: Scheme paths ``purelib`` and ``platlib``.
        compiled: Whether bytecode is placed too; then a wheel can not that has some itself.

    Returns:
        One for each wheel; ``None`` where each file has to be looked at.
    """
    libraries = {name: os.path.realpath(paths[name]) for name in ("purelib", "platlib")}
    trees: list[Tree | None] = []
    wanted: Counter[str] = Counter()
    for wheel in wheels:
        library = libraries["purelib" if wheel.root_is_purelib else "platlib"]
        start = f"{library}{os.sep}"
        tops = {
            start + name: is_folder
            for name, is_folder in wheel.tops.items()
            if not (is_folder and name.endswith(".data"))
        }
        # names that differ in case only are one name on some file systems
        wanted.update(path.casefold() for path in tops)
        is_plain = not any(
            one.path.partition("/")[2].startswith(_LIBRARY_DATA) for one in wheel.data_files
        )
        trees.append(Tree(wheel, library, tops) if is_plain else None)
    for number, tree in enumerate(trees):
        if tree is None:
            continue
        if (
            any(wanted[path.casefold()] > 1 or os.path.lexists(path) for path in tree.tops)
            or f"{tree.library}{os.sep}{tree.wheel.dist_info}" not in tree.tops
            or (compiled and _has_bytecode(tree.wheel))
        ):
            trees[number] = None
    return trees


def _has_bytecode(wheel: StoredWheel) -> bool:
    return any(
        folder.path.rpartition("/")[2] == "__pycache__" for folder in wheel.folders if folder.names
    )


def find_disturbed(trees: Iterable[Tree | None], targets: Iterable[str]) -> set[int]:
    """Which trees hold a place that a single file wants.

    Args:
        trees: As ``find_trees`` gives them.
        targets: Absolute paths of files that are placed one by one, without those that the
            installer writes itself.

    Returns:
        Their numbers.
    """
    owners = {}
    starts = set()
    for number, tree in enumerate(trees):
        if tree is not None:
            owners.update(dict.fromkeys(map(str.casefold, tree.tops), number))
            starts.add(f"{tree.library}{os.sep}".casefold())
    found = set()
    for target in targets:
        folded = target.casefold()
        for start in starts:
            if folded.startswith(start):
                top = start + folded[len(start) :].partition(os.sep)[0]
                if top in owners:
                    found.add(owners[top])
    return found


class _Part(NamedTuple):
    tree: Tree
    folders: Sequence[StoredFolder]
    link: bool


def place_trees(
    trees: Sequence[Tree],
    placer: Placer,
    checkpoint: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Place trees, by several processes where there is enough to do.

    Args:
        trees: What to place; the folders in their ``tops`` exist and are empty.
        placer: How files get into place.
        checkpoint: Called with the name of each step before it happens; one process does
            everything then.
        meanwhile: What this process does while others have begun.

    Raises:
        StoreAlteredError: A file is not what was unpacked.
        InstallError: A file or folder is there already, or another process failed.
        OSError: Something can not be placed.
    """
    parts = list(_split(trees, placer))
    workers = min(os.cpu_count() or 1, 8)
    count = sum(len(folder.names) for part in parts for folder in part.folders)
    if checkpoint or workers < 2 or count < _WORTH_A_FORK or not can_fork():
        if meanwhile is not None:
            meanwhile()
        for part in parts:
            _tell_altered(part, _place_part(part, placer, checkpoint))
        return
    try:
        altered = share_work(
            lambda number: _place_part(parts[number], placer, None),
            list(range(len(parts))),
            workers,
            meanwhile,
        )
    except HelperFailedError as error:
        raise InstallError(
            "The environment could not be changed", "a process that helped was ended"
        ) from error
    for number, path in altered.items():
        _tell_altered(parts[number], path)


def _tell_altered(part: _Part, path: str) -> None:
    if path:
        wheel = part.tree.wheel
        raise StoreAlteredError(wheel.filename, wheel.sha256, path)


def _split(trees: Sequence[Tree], placer: Placer) -> Iterator[_Part]:
    """Neighbouring folders together, until they are worth a process's while."""
    whole = sum(len(folder.names) for tree in trees for folder in tree.wheel.folders)
    enough = max(_ENOUGH_FILES, 2 * whole // MOST_PARTS)
    for tree in trees:
        link = placer.can_link(tree.wheel)
        folders: list[StoredFolder] = []
        count = 0
        for folder in tree.wheel.folders:
            top = folder.path.partition("/")[0]
            if folder.path and (top.endswith(".data") or top in tree.wheel.left_out):
                continue
            for one in _cut(folder, enough):
                folders.append(one)
                count += len(one.names)
                if count >= enough:
                    yield _Part(tree, folders, link)
                    folders, count = [], 0
        if folders:
            yield _Part(tree, folders, link)


def _cut(folder: StoredFolder, enough: int) -> Iterator[StoredFolder]:
    """A folder with very many files in pieces."""
    count = len(folder.names)
    if count < 2 * enough:
        yield folder
        return
    for start in range(0, count, enough):
        end = start + enough
        yield folder._replace(
            names=folder.names[start:end],
            sizes=folder.sizes[start:end],
            times=folder.times[start:end],
            executable=[number - start for number in folder.executable if start <= number < end],
        )


def _place_part(part: _Part, placer: Placer, checkpoint: Callable[[str], None] | None) -> str:
    """Place the files of some folders; the path of one that was altered, or an empty text."""
    for folder in part.folders:
        if altered := _place_folder(part, folder, placer, checkpoint):
            return altered
    return ""


def _place_folder(
    part: _Part, folder: StoredFolder, placer: Placer, checkpoint: Callable[[str], None] | None
) -> str:
    """Place the files of one folder; the path of one that was altered, or an empty text."""
    wheel = part.tree.wheel
    below = f"{folder.path}/" if folder.path else ""
    source = os.path.join(wheel.root, below)
    target = os.path.join(part.tree.library, below)
    _make_folder(target)
    left_out = wheel.left_out if not below else frozenset()
    if folder.path == wheel.dist_info:
        left_out = INSTALLED_NAMES
    modes = [wheel.file_mode] * len(folder.names)
    for number in folder.executable:
        modes[number] = wheel.executable_mode
    with contextlib.ExitStack() as stack:
        try:
            stat, link = _open_folders(source, target, stack)
        except FileNotFoundError:
            return folder.path
        link = link if part.link and placer.may_link else _refuse
        for name, size, time, mode in zip(
            folder.names, folder.sizes, folder.times, modes, strict=True
        ):
            if name in left_out:
                continue
            if checkpoint is not None:
                checkpoint(f"place {target}{name}")
            if not wheel.is_verified:
                try:
                    found = stat(name)
                except FileNotFoundError:
                    return below + name
                if not has_facts(found, size, mode) or (
                    found.st_mtime_ns != time and not _has_content(wheel, below + name)
                ):
                    return below + name
            try:
                link(name, name)
            except FileExistsError:
                raise InstallError(
                    f"{wheel.filename} can not be installed",
                    f"{target}{name} appeared while it was installed",
                    "If another program changes the environment too, wait until it is done.",
                ) from None
            except OSError:  # not from here, or not once more
                is_executable = mode == wheel.executable_mode
                placer.place(
                    PlacedFile(
                        target + name, "", "", size, source + name, None, is_executable, part.link
                    ),
                    link=part.link,
                )
                link = link if placer.may_link else _refuse
    return ""


def _open_folders(
    source: str, target: str, stack: contextlib.ExitStack
) -> tuple[Callable[[str], os.stat_result], Callable[[str, str], None]]:
    """What looks at a file of one folder, and what links it into the other one, by name."""
    if not _HAS_DIR_FD:
        return (
            lambda name: os.lstat(source + name),
            lambda name, other: os.link(source + name, target + other),
        )
    opened = []
    for path in (source, target):
        opened.append(os.open(path, _FOLDER))
        stack.callback(os.close, opened[-1])
    return (
        partial(os.stat, dir_fd=opened[0], follow_symlinks=False),
        partial(os.link, src_dir_fd=opened[0], dst_dir_fd=opened[1]),
    )


def _has_content(wheel: StoredWheel, path: str) -> bool:
    digest = next((one.digest for one in wheel.files if one.path == path), "")
    return file_matches(str(wheel.root / path), digest)


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path)
    except FileExistsError:
        pass
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)


def _refuse(source: str, target: str) -> None:
    """What stands for a link that can not be made."""
    raise OSError
