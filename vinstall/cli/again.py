"""The same command as before, where nothing has changed: what it said is said again.

``vinstall install`` is often run to make sure of something that is so. When it found nothing
to do, everything that it looked at is written down with its times: configuration, the
interpreter, the folders of the environment, each distribution that was needed. The same
command line in the same folder with the same variables then needs no more than a look at
those times. Anything else takes the usual road, which is the only one that decides.
"""

# next to nothing is imported: this is done at the start of every command
# ruff: noqa: PTH107, PTH109, PTH111, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import sys

from vinstall.digests import hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FOLDER = "again-v1"
_MOST = 50
"""So many are kept; the oldest give way."""
_FICKLE = frozenset({"_", "OLDPWD", "SHLVL"})
"""Variables that differ from one command to the next and decide nothing."""


def recall(arguments: Sequence[str]) -> str | None:
    """What the same command wrote to stdout, if all is as it was; it had nothing to do.

    Args:
        arguments: Those of the command line.
    """
    path = _find_path(arguments, os.environ)
    if not path:
        return None
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            digest, _, content = file.read().partition("\n")
        if hex_of(content) != digest:
            return None
        head, _, text = content.partition("\n\n")
        for line in head.split("\n"):
            stamp, _, place = line.partition(" ")
            if stamp_of(place) != stamp:
                return None
    except (OSError, ValueError):
        return None
    return text


def remember(
    arguments: Sequence[str], cache_dir: str, places: Iterable[str], lines: Iterable[str]
) -> None:
    """Write down that there was nothing to do.

    Args:
        arguments: Those of the command line.
        cache_dir: Folder of the cache.
        places: Paths of all files and folders that were looked at, there or not.
        lines: What was written to stdout.
    """
    path = _find_path(arguments, os.environ)
    names = list(dict.fromkeys(map(os.path.abspath, places)))
    if not path or os.path.dirname(os.path.dirname(path)) != cache_dir:
        return  # configuration says where the cache is: it would have to be read first
    if not names or any("\n" in name for name in names):
        return
    from pathlib import Path

    from vinstall.files import write_atomically

    text = "".join(f"{line}\n" for line in lines)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        return
    head = "\n".join(f"{stamp_of(name)} {name}" for name in names)
    content = f"{head}\n\n{text}"
    folder = os.path.dirname(path)
    try:
        whole = f"{hex_of(content)}\n{content}"
        write_atomically(Path(path), whole.encode("utf-8", "surrogateescape"))
        kept = [os.path.join(folder, name) for name in os.listdir(folder)]
        for old in sorted(kept, key=os.path.getmtime)[:-_MOST]:
            os.remove(old)
    except OSError:
        return


def stamp_of(path: str) -> str:
    """What changes when a file, or what is in a folder, changes; ``-`` for nothing there."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}:{found.st_mode}"


def _find_path(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Where a command is written down: all that decides it and is no file is in the name."""
    from vinstall import __version__

    try:
        cache = _find_cache(arguments, environment)
        if not cache:
            return ""
        folder = os.getcwd()
        own = os.stat(os.path.dirname(__file__)).st_mtime_ns
        parts = [__version__, str(own), folder, str(os.isatty(1)), str(os.isatty(2))]
        parts += [sys.executable, sys.version, sys.prefix, sys.platform, *arguments, "\n"]
        if hasattr(os, "uname"):
            parts += os.uname()
        parts += (f"{name}={value}" for name, value in environment.items() if name not in _FICKLE)
        return os.path.join(cache, _FOLDER, hex_of("\0".join(parts))[:40])
    except (OSError, ValueError):
        return ""


def _find_cache(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The folder of the cache, as far as the command line and variables tell."""
    found = environment.get("VINSTALL_CACHE_DIR") or environment.get("PIP_CACHE_DIR", "")
    if not found:
        base = environment.get("XDG_CACHE_HOME", "")
        if not base:
            base = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".cache")
        found = os.path.join(base, "vinstall")
    for number, word in enumerate(arguments):
        if word == "--no-cache-dir":
            return ""
        if word == "--cache-dir" and number + 1 < len(arguments):
            found = arguments[number + 1]
        elif word.startswith("--cache-dir="):
            found = word.partition("=")[2]
    return os.path.join(os.getcwd(), found)
