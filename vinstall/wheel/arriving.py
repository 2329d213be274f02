"""A large wheel that a child unpacks while it is received.

The child reads the file that grows; the parent says ``v`` when the whole file was verified,
or ``x`` when it will not be. The end of the wheel, where its table of contents and its
dist-info lie, was fetched before. Nothing is trusted before the whole file was verified, and
what was fetched before must be what the file holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vinstall.errors import InstallError
from vinstall.files import make_reader

if TYPE_CHECKING:
    import subprocess

    from vinstall.wheel.store import WheelStore

_PATIENCE = 0.004
"""Seconds between two looks at a file that has not grown far enough."""


class NotArrivingError(InstallError):
    """The wheel can not be unpacked while it arrives; it has to be done afterwards."""


class ArrivingUnpack:
    """What the parent does: tells a child of one file.

    Methods may be called by the thread that receives and the one that fetches the end.

    Args:
        child: Who unpacks.
        store: Where to.
        filename: The name that the index gives the wheel.
        sha256: The digest that it will have.
        length: Its size in bytes.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        store: WheelStore,
        filename: str,
        sha256: str,
        length: int,
    ) -> None:
        self._child = child
        self._job: dict[str, object] = {
            "store": str(store.root),
            "max_unpacked": store.max_unpacked,
            "filename": filename,
            "sha256": sha256,
            "length": length,
        }
        self._length = length
        self._lock = threading.Lock()
        self._received = 0
        self._is_begun = False
        self._is_over = False

    def begin(self, tail: Path, start: int) -> None:
        """Say where the end of the wheel lies that was fetched, and where in it it begins."""
        with self._lock:
            self._job.update(tail=str(tail), tail_start=start)
            self._begin_if_ready()

    def advance(self, part: Path, received: int) -> None:
        """Say that so many bytes lie in a file."""
        self._received = received
        if "part" not in self._job:
            with self._lock:
                self._job["part"] = str(part)
                self._begin_if_ready()

    def begin_again(self) -> None:
        """Say that what came is worth nothing."""
        if self._received:
            self.give_up()

    def give_up(self) -> None:
        """Say that nothing more will come."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                if self._is_begun:
                    self._send(b"x\n")

    def complete(self, path: Path, size: int) -> bool:
        """Say that the file is whole and was verified, and wait.

        Args:
            path: Where it lies.
            size: Its length.

        Returns:
            Whether the store has it now.
        """
        if size != self._length:
            self.give_up()
        self.advance(path, size)
        with self._lock:
            if not self._is_over:
                self._is_over = True
                if self._is_begun:
                    self._send(b"v\n")
        return self.finish()

    def finish(self) -> bool:
        """Wait until the child is free again; whether it did what it should."""
        self.give_up()
        if not self._is_begun:
            return False
        assert self._child.stdout is not None, "it was asked for"
        self._is_begun = False
        try:
            return self._child.stdout.readline() == b"yes\n"
        except (OSError, ValueError):
            return False

    def _begin_if_ready(self) -> None:
        if "tail" in self._job and "part" in self._job and not self._is_over:
            self._is_begun = True
            self._send(json.dumps(self._job).encode("ascii") + b"\n")

    def _send(self, line: bytes) -> None:
        assert self._child.stdin is not None, "it was asked for"
        with contextlib.suppress(OSError, ValueError):  # a dead child gives no answer
            self._child.stdin.write(line)
            self._child.stdin.flush()


class ArrivingFile:
    """What the child reads: bytes that are there, and those of the end.

    It goes on working in a process that the child forks.

    Args:
        job: What the parent said of it.
        lines: Where the parent goes on.
    """

    def __init__(self, job: dict[str, Any], lines: IO[bytes]) -> None:
        self.length: int = job["length"]
        self._lines = lines
        self._tail = Path(job["tail"]).read_bytes()
        self._tail_start: int = job["tail_start"]
        self._descriptor = os.open(job["part"], os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._read = make_reader(self._descriptor)
        self._received = 0
        self._expects = False
        self._is_verified = False
        self._is_over = False
        self._process = os.getpid()

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes from a place, as soon as they are there; fewer only at the end.

        Raises:
            NotArrivingError: They will not come.
        """
        end = min(offset + size, self.length)
        if end <= offset:
            return b""
        if end > self._received:
            self._received = os.fstat(self._descriptor).st_size
            if not self._expects and self._tail_start <= offset < end:
                return self._tail[offset - self._tail_start : end - self._tail_start]
            while self._received < end:
                self._pause()
                self._received = os.fstat(self._descriptor).st_size
        return self._read(offset, end - offset)

    def expect(self) -> None:
        """From now on wait for what is read, also of the end."""
        self._expects = True

    def wait_until_verified(self) -> None:
        """Come back when the whole file is known to be the right one.

        Raises:
            NotArrivingError: It is not, or its end is not what was fetched before.
        """
        while not self._is_verified:
            self._take_line()
        if self._read(self._tail_start, self.length - self._tail_start) != self._tail:
            raise NotArrivingError("The wheel is not unpacked yet", "its end is another one")

    def close(self) -> None:
        """Hear the parent out, and close the file."""
        with contextlib.suppress(NotArrivingError):
            while not self._is_verified:
                self._take_line()
        os.close(self._descriptor)

    def _pause(self) -> None:
        if os.getpid() != self._process:
            if os.getppid() != self._process:
                raise NotArrivingError("The wheel is not unpacked yet", "nobody waits for it")
            time.sleep(_PATIENCE)
        elif self._is_verified:
            raise NotArrivingError("The wheel is not unpacked yet", "it is too short")
        elif select.select([self._lines], [], [], _PATIENCE)[0]:
            self._take_line()

    def _take_line(self) -> None:
        line = b"" if self._is_over else self._lines.readline()
        if line == b"v\n":
            self._is_verified = True
            return
        self._is_over = True
        raise NotArrivingError("The wheel is not unpacked yet", "it did not arrive")
