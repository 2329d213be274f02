"""Atomic writes, hashed copies, and a lock between processes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

BLOCK = 1024 * 1024
"""Bytes read at once where files are copied or hashed."""


def write_atomically(path: Path, *parts: bytes) -> None:
    """Write a file so that a reader sees the old one or the whole new one.

    The folder is made where it is missing.

    Args:
        path: The file to write or replace.
        parts: Its bytes, in pieces.

    Raises:
        OSError: It could not be written; ``path`` is as it was and nothing is left beside it.
    """
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def hash_file(file: BinaryIO, algorithms: Iterable[str]) -> dict[str, str]:
    """Read a file from where it stands to its end.

    Args:
        file: An open file.
        algorithms: Names that ``hashlib`` knows.

    Returns:
        Algorithm → hex digest, in the order asked.
    """
    import hashlib

    digests = {name: hashlib.new(name) for name in algorithms}
    while block := file.read(BLOCK):
        for digest in digests.values():
            digest.update(block)
    return {name: digest.hexdigest() for name, digest in digests.items()}


def copy_hashed(source: Path, target: Path, algorithms: Iterable[str]) -> dict[str, str]:
    """Copy the content of a file and hash it on the way.

    Args:
        source: What to copy.
        target: Where to; replaced where it exists.
        algorithms: Names that ``hashlib`` knows.

    Returns:
        Algorithm → hex digest, in the order asked.

    Raises:
        OSError: One of the files can not be used; a part of ``target`` may be left.
    """
    import hashlib

    digests = {name: hashlib.new(name) for name in algorithms}
    with source.open("rb") as reader, target.open("wb") as writer:
        while block := reader.read(BLOCK):
            writer.write(block)
            for digest in digests.values():
                digest.update(block)
    return {name: digest.hexdigest() for name, digest in digests.items()}


@contextlib.contextmanager
def lock_between_processes(path: Path, timeout: float = -1) -> Iterator[None]:
    """Hold a lock that only one process (and one thread of it) has at a time.

    Args:
        path: The lock file. It stays behind, empty, because removing it would race.
        timeout: Seconds to wait; 0 tries once, a negative number waits as long as it takes.

    Raises:
        InstallError: Somebody else holds the lock and the time is over.
        OSError: The lock file can not be made.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(str(path), thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except Timeout as error:
        raise InstallError(
            f"another process holds the lock {path}",
            fix="wait until it is done and try again",
        ) from error
    try:
        yield
    finally:
        lock.release()
