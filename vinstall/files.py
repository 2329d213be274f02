"""Atomic writes, hashed copies, and a lock between processes."""

# os.path and not pathlib: what is read and written here is most of a short run
# ruff: noqa: PTH103, PTH105, PTH108, PTH118

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from vinstall.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
    folder, base = os.path.split(path)
    name = os.path.join(folder, f".{base[:40]}.{os.urandom(8).hex()}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(name, how, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(name, how, 0o600)
    try:
        try:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def sync_files(paths: Iterable[str]) -> None:
    """Bring files onto the disk, and the folders that they are in.

    Where the system can, whole file systems are brought there at once, which is many times
    faster than file by file, and takes what others are writing along.

    Args:
        paths: Absolute paths of files that exist.

    Raises:
        OSError: The disk does not take them.
    """
    devices: dict[int, str] = {}
    folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120
    if os.name == "posix":
        for folder in folders:
            devices.setdefault(os.stat(folder).st_dev, folder)  # noqa: PTH116
        if all(_sync_file_system(folder) for folder in devices.values()):
            return
        os.sync()
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_file_system(folder: str) -> bool:
    """Bring a file system onto the disk; False where the system has no call for one alone."""
    import ctypes

    sync = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if sync is None:
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if sync(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), folder)
    finally:
        os.close(descriptor)
    return True


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


class ProcessLock:
    """A lock that only one process (and one holder in it) has at a time.

    It belongs to an open file, so that it is free when its process ends in any way.

    Args:
        path: The lock file. It stays behind, empty, because removing it would race.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._release: Callable[[], None] | None = None

    def acquire(self, timeout: float = -1) -> bool:
        """Take the lock.

        Args:
            timeout: Seconds to wait; 0 tries once, a negative number waits for ever.

        Returns:
            Whether it was taken; not where somebody else holds it and the time is over.

        Raises:
            OSError: The lock file can not be made.
            NotImplementedError: The file system has no locks.
        """
        try:
            import fcntl
        except ImportError:
            return self._acquire_elsewhere(timeout)
        import errno
        import time

        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self._path, flags, 0o644)
        end, wait = time.monotonic() + timeout, 0.001
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if error.errno == errno.ENOSYS:
                        raise NotImplementedError(str(error)) from error
                    if error.errno not in (errno.EAGAIN, errno.EACCES):
                        raise
                if timeout >= 0 and time.monotonic() >= end:
                    os.close(descriptor)
                    return False
                time.sleep(wait)
                wait = min(wait * 2, 0.1)
        except BaseException:
            os.close(descriptor)
            raise
        self._release = lambda: os.close(descriptor)
        return True

    def release(self) -> None:
        """Give the lock back."""
        if self._release is not None:
            self._release()
            self._release = None

    def _acquire_elsewhere(self, timeout: float) -> bool:
        """Take it where the system has no ``flock``; this import takes its time."""
        from filelock import FileLock, Timeout

        lock = FileLock(str(self._path), thread_local=False)
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            return False
        self._release = lock.release
        return True


def find_lock_holder(path: Path) -> str:
    """Who holds the lock on a file, as ``process 123 (vinstall)``.

    Empty where the system does not tell, or nobody of this machine holds it.
    """
    try:
        number = path.stat().st_ino
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            words = line.split()  # 1: FLOCK  ADVISORY  WRITE 123 fd:00:456 0 EOF
            if "->" in words or len(words) < 6 or words[1] != "FLOCK":
                continue
            if words[5].rpartition(":")[2] == str(number) and int(words[4]) > 0:
                name = Path("/proc", words[4], "comm").read_text("utf-8", "replace").strip()
                return f"process {words[4]} ({name})"
    except (OSError, ValueError):
        pass
    return ""


@contextlib.contextmanager
def lock_between_processes(path: Path, timeout: float = -1) -> Iterator[None]:
    """Hold a ``ProcessLock``, whose folder is made where it is missing.

    Args:
        path: The lock file.
        timeout: Seconds to wait; 0 tries once, a negative number waits as long as it takes.

    Raises:
        InstallError: Somebody else holds the lock and the time is over.
        OSError: The lock file can not be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = ProcessLock(path)
    if not lock.acquire(timeout):
        raise InstallError(
            f"another process holds the lock {path}",
            fix="wait until it is done and try again",
        )
    try:
        yield
    finally:
        lock.release()


def make_reader(descriptor: int) -> Callable[[int, int], bytes]:
    """What reads from a place of an open file: ``(offset, size)`` → bytes, from any thread."""
    if hasattr(os, "pread"):

        def read_at(offset: int, size: int) -> bytes:
            data = os.pread(descriptor, size, offset)
            while 0 < len(data) < size:  # the kernel gives at most 2 GiB at once
                more = os.pread(descriptor, size - len(data), offset + len(data))
                if not more:
                    break
                data += more
            return data

        return read_at

    from threading import Lock

    lock = Lock()

    def read_with_seek(offset: int, size: int) -> bytes:
        parts = []
        with lock:
            os.lseek(descriptor, offset, os.SEEK_SET)
            while size:
                part = os.read(descriptor, min(size, 2**30))
                if not part:
                    break
                parts.append(part)
                size -= len(part)
        return b"".join(parts)

    return read_with_seek


def executable_mode_of(file_mode: int) -> int:
    """The permission bits of programs and folders, where plain files have ``file_mode``."""
    return file_mode | (file_mode & 0o444) >> 2


def current_umask() -> int:
    """The file mode mask of this process."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
