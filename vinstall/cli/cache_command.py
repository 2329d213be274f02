"""``cache``: where the cache is, what it holds, and how to empty it."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.cli.parser import OptionConflictError
from vinstall.distributions.filename import normalize_name
from vinstall.errors import VinstallError
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console
    from vinstall.settings import Settings

_STORE = "store-v2"
_MAX_WORDS = {"dir": 0, "info": 0, "list": 1, "remove": 1, "purge": 0, "check": 0}


@dataclass(frozen=True, slots=True)
class Kept:
    """An unpacked wheel in the cache.

    Attributes:
        folder: Its entry in the store.
        filename: File name of the wheel.
    """

    folder: Path
    filename: str


def run_cache(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall cache ACTION``.

    Raises:
        OptionConflictError: Too many words, or none where a pattern is needed.
        VinstallError: The cache is off.
    """
    action, words = arguments.action, arguments.words
    if not settings.cache_dir:
        raise VinstallError("The cache is disabled, so there is nothing to look into")
    if len(words) > _MAX_WORDS[action]:
        raise OptionConflictError("Too many arguments")
    base = Path(settings.cache_dir)
    if action == "dir":
        console.result(settings.cache_dir)
    elif action == "info":
        _tell_info(base, console)
    elif action == "list":
        _list(base, words[0] if words else "*", arguments.text("format", "human"), console)
    elif action == "purge":
        _remove_everything(base, console)
    elif action == "check":
        return _check(base, console)
    elif not words:
        raise OptionConflictError("Please provide a pattern")
    elif words[0] == "*":
        _remove_everything(base, console)
    else:
        _remove(base, words[0], console)
    return 0


def iter_kept(base: Path, pattern: str) -> Iterator[Kept]:
    """The unpacked wheels whose names fit a pattern, in the order of their file names.

    Args:
        base: Folder of the cache.
        pattern: A project name, a name with version, or a file name, with ``*`` and ``?``.
    """
    import json

    found = []
    for path in sorted((base / _STORE).glob("*/*/manifest.json")):
        try:
            filename = json.loads(path.read_bytes())["filename"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        found.append(Kept(path.parent, str(filename)))
    for one in sorted(found, key=lambda kept: kept.filename):
        if _fits(one.filename, pattern):
            yield one


def _fits(filename: str, pattern: str) -> bool:
    name, _, rest = filename.partition("-")
    version = rest.partition("-")[0]
    project, wanted = normalize_name(name), pattern.lower()
    return any(
        fnmatch.fnmatchcase(text, wanted)
        for text in (
            filename.lower(),
            project,
            f"{project}-{version}",
            name.lower(),
            f"{name.lower()}-{version}",
        )
    ) or fnmatch.fnmatchcase(project, normalize_name(pattern))


def _tell_info(base: Path, console: Console) -> None:
    from vinstall.console.tables import format_size

    console.result(f"Cache location: {base}")
    parts = sorted(path for path in _subfolders(base) if not path.name.startswith("work-"))
    for part in parts:
        size, count = _measure(part)
        console.result(f"{part.name}: {format_size(size)} in {count} files")
    size, count = _measure(base)
    console.result(f"Cache size: {format_size(size)}")
    console.result(f"Number of files: {count}")
    console.result(f"Number of unpacked wheels: {sum(1 for _ in iter_kept(base, '*'))}")


def _subfolders(base: Path) -> list[Path]:
    try:
        return [path for path in base.iterdir() if path.is_dir()]
    except OSError:
        return []


def _list(base: Path, pattern: str, shape: str, console: Console) -> None:
    from vinstall.console.tables import format_size

    found = list(iter_kept(base, pattern))
    if shape == "abspath":
        for one in found:
            console.result(str(one.folder))
        return
    if not found:
        console.info("No wheels cached.")
        return
    console.result("Cache contents:\n")
    for one in found:
        console.result(f" - {one.filename} ({format_size(_measure(one.folder)[0])})")


def _remove(base: Path, pattern: str, console: Console) -> None:
    found = list(iter_kept(base, pattern))
    if not found:
        console.warning(f'No matching packages for pattern "{pattern}"')
    _delete([one.folder for one in found], console)


def _check(base: Path, console: Console) -> int:
    """Read every unpacked wheel, and remove those that are not as they were unpacked."""
    from vinstall.wheel.store import WheelStore

    store = WheelStore(base)
    whole = broken = 0
    for folder in sorted((base / _STORE).glob("*/*")):
        if folder.name.startswith("."):
            continue
        fault = store.find_fault(folder.name)
        if not fault:
            whole += 1
            continue
        broken += 1
        console.result(f"{folder}: {fault}")
        _delete([folder], console)
    console.info(f"Unpacked wheels as they should be: {whole}, removed: {broken}")
    return 1 if broken else 0


def _remove_everything(base: Path, console: Console) -> None:
    try:
        parts = sorted(base.iterdir())
    except OSError:
        parts = []
    if not parts:
        console.warning("No matching packages")
    _delete(parts, console)


def _delete(paths: list[Path], console: Console) -> None:
    """Remove files and folders and say how many files that were."""
    import shutil

    from vinstall.console.tables import format_size

    size = count = 0
    for path in paths:
        some, number = _measure(path)
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:
            console.warning(f"{path} can not be removed: {error.strerror or error}")
            continue
        size, count = size + some, count + number
    console.info(f"Files removed: {count} ({format_size(size)})")


def _measure(path: Path) -> tuple[int, int]:
    """Bytes and number of the files below a folder, or of a file."""
    if not path.is_dir():
        try:
            return path.lstat().st_size, 1
        except OSError:
            return 0, 0
    size = count = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
            except OSError:
                continue
            count += 1
    return size, count
