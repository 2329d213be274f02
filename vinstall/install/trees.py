"""Whole folders of unpacked wheels that are placed as they are.

Most of what is installed goes where nothing is yet: a new environment, a new project. Then
nothing has to be decided for single files, and processes can share the placing: each takes
some folders, compares their files with what was unpacked, and links them.
"""

# os.path and not pathlib: a wheel can hold tens of thousands of files
# ruff: noqa: PTH102, PTH103

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from stat import S_IFREG, S_IMODE

from vinstall.errors import InstallError, StoreAlteredError
from vinstall.forks import MOST_PARTS, HelperFailedError, can_fork, share_work
from vinstall.install.placement import PlacedFile
from vinstall.values import NamedTuple
from vinstall.wheel.store import INSTALLED_NAMES, SHARE, file_matches, has_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from vinstall.install.placement import Placer
    from vinstall.wheel.store import StoredFolder, StoredWheel

_WORTH_A_FORK = 1000
_HAS_DIR_FD = {os.link, os.stat, os.open} <= os.supports_dir_fd if hasattr(os, "link") else False
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_NOTHING: frozenset[str] = frozenset()
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


class _NoSourceError(Exception):
    """A folder of the store is not there any more."""


class _Part(NamedTuple):
    tree: Tree
    start: int  # of the folders of its wheel
    end: int
    files: int
    link: bool
    source: str  # the root of the wheel, and a separator
    target: str
    file_mode: int  # all bits that a plain file has
    executable_mode: int


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
    parts = _split(trees, placer)
    workers = min(os.cpu_count() or 1, 8)
    count = sum(part.files for part in parts)
    if checkpoint or workers < 2 or count < _WORTH_A_FORK or not can_fork():
        if meanwhile is not None:
            meanwhile()
        for part in parts:
            if altered := _place_part(part, placer, checkpoint):
                raise _altered(part, altered)
        return
    groups = _group(parts)

    def place(number: int) -> list[Any]:
        try:
            for at in groups[number]:
                if altered := _place_part(parts[at], placer, None):
                    return [at, altered]
        except InstallError as error:
            return [error.what, error.why, error.fix]
        return []

    try:
        told = share_work(place, list(range(len(groups))), workers, meanwhile)
    except HelperFailedError as error:
        raise InstallError(
            "The environment could not be changed", "a process that helped was ended"
        ) from error
    for found in told.values():
        if len(found) == 2:
            raise _altered(parts[found[0]], found[1])
        if found:
            raise InstallError(*found)


def _altered(part: _Part, path: str) -> StoreAlteredError:
    wheel = part.tree.wheel
    return StoreAlteredError(wheel.filename, wheel.sha256, path)


def _split(trees: Sequence[Tree], placer: Placer) -> list[_Part]:
    """The work in parts of about the same size, without a look at single files."""
    parts = []
    for tree in trees:
        wheel = tree.wheel
        link = placer.can_link(wheel)
        source, target = f"{wheel.root}{os.sep}", f"{tree.library}{os.sep}"
        modes = S_IFREG | wheel.file_mode, S_IFREG | wheel.executable_mode
        parts += [_Part(tree, *share, link, source, target, *modes) for share in wheel.shares]
    return parts


def _group(parts: Sequence[_Part]) -> list[range]:
    """Neighbouring parts together: small wheels, and no more than ``MOST_PARTS``."""
    whole = sum(part.files for part in parts)
    enough = max(SHARE, 2 * whole // MOST_PARTS)
    groups = []
    start = files = 0
    for number, part in enumerate(parts):
        files += part.files
        if files >= enough or number + 1 == len(parts):
            groups.append(range(start, number + 1))
            start, files = number + 1, 0
    return groups


def _place_part(part: _Part, placer: Placer, checkpoint: Callable[[str], None] | None) -> str:
    """Place the files of some folders; the path of one that was altered, or an empty text."""
    wheel = part.tree.wheel
    try:
        folders = wheel.folders[part.start : part.end]
    except StoreAlteredError as error:
        return error.path
    for folder in folders:
        top = folder.path.partition("/")[0]
        if top and (top.endswith(".data") or top in wheel.left_out):
            continue
        if altered := _place_folder(part, folder, placer, checkpoint):
            return altered
    return ""


def _place_folder(
    part: _Part, folder: StoredFolder, placer: Placer, checkpoint: Callable[[str], None] | None
) -> str:
    """Place the files of one folder; the path of one that was altered, or an empty text."""
    wheel = part.tree.wheel
    below = f"{folder.path}/" if folder.path else ""
    source, target = f"{part.source}{below}", f"{part.target}{below}"
    if below:
        _make_folder(target)
    left_out = wheel.left_out if not below else _NOTHING
    if folder.path == wheel.dist_info:
        left_out = INSTALLED_NAMES
    modes = [part.file_mode] * len(folder.names)
    for number in folder.executable:
        modes[number] = part.executable_mode
    is_new = not wheel.is_verified
    opened: list[int] = []
    try:
        try:
            stat, link = _open_folders(source, target, opened)
        except _NoSourceError:
            return folder.path
        if not (part.link and placer.may_link):
            link = _refuse
        # most of an install is this loop: it looks at a file, and links it
        for name, size, time, mode in zip(
            folder.names, folder.sizes, folder.times, modes, strict=True
        ):
            if name in left_out:
                continue
            if checkpoint is not None:
                checkpoint(f"place {target}{name}")
            if is_new:
                try:
                    found = stat(name)
                except FileNotFoundError:
                    return below + name
                if (
                    found.st_mtime_ns != time or found.st_size != size or found.st_mode != mode
                ) and not _is_unaltered(wheel, below + name, found, size, time, mode):
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
                is_executable = mode == part.executable_mode
                placer.place(
                    PlacedFile(
                        target + name, "", "", size, source + name, None, is_executable, part.link
                    ),
                    link=part.link,
                )
                link = link if placer.may_link else _refuse
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return ""


def _open_folders(
    source: str, target: str, opened: list[int]
) -> tuple[Callable[[str], os.stat_result], Callable[[str, str], None]]:
    """What looks at a file of one folder, and what links it into the other one, by name."""
    if not _HAS_DIR_FD:
        return (
            lambda name: os.lstat(source + name),
            lambda name, other: os.link(source + name, target + other),
        )
    try:
        opened.append(os.open(source, _FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        raise _NoSourceError from None
    opened.append(os.open(target, _FOLDER))
    return (
        partial(os.stat, dir_fd=opened[0], follow_symlinks=False),
        partial(os.link, src_dir_fd=opened[0], dst_dir_fd=opened[1]),
    )


def _is_unaltered(
    wheel: StoredWheel, path: str, found: os.stat_result, size: int, time: int, mode: int
) -> bool:
    """The same question, where not all is as it was on a POSIX system: as ``changed_files``."""
    return has_facts(found, size, S_IMODE(mode)) and (
        found.st_mtime_ns == time or _has_content(wheel, path)
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
