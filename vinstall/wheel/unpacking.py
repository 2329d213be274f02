"""Writes the files of a wheel into a folder: by one, or by several who share the work.

Threads are enough for few large files. Small ones are mostly work for the interpreter, of
which threads have one together; so a process without other threads forks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vinstall.errors import InstallError, WheelFormatError
from vinstall.files import executable_mode_of
from vinstall.forks import MOST_PARTS, HelperFailedError, share_work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from vinstall.wheel.archive import ArchiveFile, WheelArchive

    _Share = Sequence[ArchiveFile]
    _Unpack = Callable[[_Share], list[int]]

FILE_WEIGHT = 20_000
"""Making a file takes about as long as unpacking so many bytes."""
PARALLEL_WEIGHT = 16 * 2**20
"""Wheels that weigh more than this are unpacked by several."""
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def unpack_files(
    archive: WheelArchive, root: Path, file_mode: int, *, workers: int, may_fork: bool
) -> list[int]:
    """Write every file of a wheel, each compared with its digest.

    Args:
        archive: The wheel.
        root: A folder to make.
        file_mode: Permission bits of plain files.
        workers: How many share a large wheel.
        may_fork: Whether these are processes; there must be no other threads then.

    Returns:
        Nanoseconds of the modification time of each file, in the order of the archive.

    Raises:
        WheelFormatError: The content of a file is not what RECORD says.
        InstallError: A process that helped failed; why is not known.
        OSError: A file can not be written.
    """
    _make_folders(archive, root)
    prefix = f"{root}{os.sep}"
    executable_mode = executable_mode_of(file_mode)

    def unpack(files: _Share) -> list[int]:
        times = []
        for file, content in zip(files, archive.read_small(files), strict=True):
            mode = executable_mode if file.executable else file_mode
            times.append(_write_entry(archive, file, content, prefix + file.path, mode))
        return times

    weight = sum(map(_weigh, archive.entries))
    if workers < 2 or weight < PARALLEL_WEIGHT:
        return unpack(archive.entries)
    by_many = _unpack_by_processes if may_fork else _unpack_by_threads
    shares = _shares(archive.entries, weight)
    return [one for part in by_many(unpack, shares, workers) for one in part]


def _weigh(file: ArchiveFile) -> int:
    return file.size + FILE_WEIGHT


def _make_folders(archive: WheelArchive, root: Path) -> None:
    root.mkdir()
    made = {""}
    for file in archive.entries:
        parent = file.path.rpartition("/")[0]
        if parent not in made:
            (root / parent).mkdir(parents=True, exist_ok=True)
            while parent and parent not in made:
                made.add(parent)
                parent = parent.rpartition("/")[0]


def _unpack_by_threads(unpack: _Unpack, shares: Sequence[_Share], workers: int) -> list[list[int]]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers, thread_name_prefix="unpack") as pool:
        parts = [pool.submit(unpack, share) for share in shares]
        try:
            return [part.result() for part in parts]
        except BaseException:
            for part in parts:
                part.cancel()
            raise


def _unpack_by_processes(
    unpack: _Unpack, shares: Sequence[_Share], workers: int
) -> list[list[int]]:
    """Share the work with forked processes."""
    order = list(range(len(shares)))
    # the largest share takes as long as all others: who waits for it to arrive is not missed
    largest = max(order, key=lambda number: sum(file.size for file in shares[number]))
    order.insert(0, order.pop(largest))
    try:
        done = share_work(lambda number: unpack(shares[number]), order, workers)
    except HelperFailedError as error:
        raise InstallError("A wheel can not be unpacked", "a process for it failed") from error
    return [done[number] for number in range(len(shares))]


def _shares(files: Sequence[ArchiveFile], whole: int) -> list[_Share]:
    """Neighbours together, until they are worth a worker's while."""
    shares = []
    start = weight = 0
    enough = max(PARALLEL_WEIGHT // 4, whole // MOST_PARTS)
    for number, file in enumerate(files):
        weight += _weigh(file)
        if weight > enough:
            shares.append(files[start : number + 1])
            start, weight = number + 1, 0
    shares.append(files[start:])
    return shares


def _write_entry(
    archive: WheelArchive, file: ArchiveFile, content: bytes | None, target: str, mode: int
) -> int:
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
    except FileExistsError:
        raise WheelFormatError(
            f"{archive.filename.filename} is not a valid wheel",
            f"the entry {file.path!r} is refused: another one is the same file here",
        ) from None
    try:
        for chunk in archive.iter_chunks(file) if content is None else (content,):
            written = os.write(descriptor, chunk)
            while written < len(chunk):
                written += os.write(descriptor, memoryview(chunk)[written:])
        return os.fstat(descriptor).st_mtime_ns
    finally:
        os.close(descriptor)
