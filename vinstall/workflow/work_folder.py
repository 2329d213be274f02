"""A folder for the files of one run, which the next run removes if this one is killed.

The process that works in it holds a lock in it. A folder whose lock is free belongs to
nobody any more.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from vinstall.files import ProcessLock

LOCK_NAME = "in-use"
YOUNG_SECONDS = 60
"""A folder without a lock may be one that is being made, unless it is older than this."""


class WorkFolder:
    """A new folder.

    Args:
        base: Where it is made; must exist.
        prefix: Beginning of its name.

    Raises:
        OSError: It can not be made.
    """

    def __init__(self, base: str | Path | None, prefix: str) -> None:
        self._lock: ProcessLock | None = None
        while True:
            self.path = _make_folder(base, prefix)
            try:
                self._lock = _lock_in(self.path)
            except NotImplementedError:
                return  # a file system without locks
            except OSError:
                if self.path.is_dir():
                    self.close()
                    raise
                continue  # taken for an abandoned one before it was locked
            if (self.path / LOCK_NAME).is_file():
                return

    def close(self) -> None:
        """Remove it."""
        if self._lock is not None:
            self._lock.release()
        _remove_tree(self.path)


def remove_abandoned(base: Path, prefix: str) -> None:
    """Remove the folders of runs that were killed, as far as that is allowed.

    Args:
        base: Where they are.
        prefix: Beginning of their names.
    """
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(base) if name.startswith(prefix)]  # noqa: PTH208
        for name in names:
            _remove_if_abandoned(base / name)


def _remove_if_abandoned(folder: Path) -> None:
    import time

    with contextlib.suppress(OSError, NotImplementedError):
        if not (folder / LOCK_NAME).is_file():
            if time.time() - folder.stat().st_mtime > YOUNG_SECONDS:
                _remove_tree(folder)
            return
        lock = ProcessLock(folder / LOCK_NAME)
        if not lock.acquire(0):
            return
        _remove_tree(folder)
        lock.release()


def _make_folder(base: str | Path | None, prefix: str) -> Path:
    if base is None:
        from tempfile import gettempdir

        base = gettempdir()
    path = Path(base, f"{prefix}{os.urandom(8).hex()}").absolute()
    path.mkdir(0o700)
    return path


def _lock_in(folder: Path) -> ProcessLock:
    lock = ProcessLock(folder / LOCK_NAME)
    if not lock.acquire(0):
        raise BlockingIOError(f"{folder} is being removed")
    return lock


def _remove_tree(folder: Path) -> None:
    try:
        with contextlib.suppress(FileNotFoundError):
            (folder / LOCK_NAME).unlink()
        folder.rmdir()
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
