"""A large wheel, readable while it is received, so that it can be unpacked meanwhile.

The table of contents and the dist-info lie at the end of a wheel; they are fetched first, by
range requests of their own. Everything else is read from the part file, each byte as soon as
it is there. Nothing is trusted before the whole file was verified, and what was fetched
first must be what the file holds.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from vinstall.errors import IndexAccessError
from vinstall.files import make_reader
from vinstall.index.remote_wheel import TAIL, RemoteFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from vinstall.distributions.link import Link
    from vinstall.index.client import HttpClient

WORTHWHILE = 16 * 2**20
"""Bytes from which on a wheel is unpacked while it is received."""
_MOST_TAIL = 2 * 2**20
_TAIL_SHARE = 100
"""The end that is fetched first is so small a part of the file, within its limits."""


class NotArrivingError(IndexAccessError):
    """The wheel can not be read before it is there; it has to be unpacked afterwards."""


class ArrivingWheel:
    """A wheel that one thread receives and others read.

    Args:
        client: Fetches the end.
        link: The wheel; its size is known.
    """

    def __init__(self, client: HttpClient, link: Link) -> None:
        assert link.size is not None, "who calls has looked"
        self.length = link.size
        self._client = client
        self._link = link
        self._remote: RemoteFile | None = None
        self._changed = threading.Condition()
        self._received = 0
        self._descriptor = -1
        self._read: Callable[[int, int], bytes] | None = None
        self._expects = False
        self._is_whole = False
        self._problem = ""

    # The side that reads

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes from a place, as soon as they are there; fewer only at the end.

        Raises:
            NotArrivingError: They will not come.
            IndexAccessError: The end could not be fetched.
        """
        end = min(offset + size, self.length)
        if end <= offset:
            return b""
        with self._changed:
            while True:
                if self._problem:
                    raise self._not_arriving(self._problem)
                if self._read is not None and end <= self._received:
                    return self._read(offset, end - offset)
                if not self._expects:
                    break
                self._changed.wait()
        return self._fetch(offset, end)

    def expect(self) -> None:
        """From now on wait for what is read, and do not fetch it."""
        self._expects = True

    def wait_until_verified(self) -> None:
        """Come back when the whole file is known to be the right one.

        Raises:
            NotArrivingError: It is not, or what was fetched first is not of it.
        """
        with self._changed:
            while not self._is_whole and not self._problem:
                self._changed.wait()
            if self._problem:
                raise self._not_arriving(self._problem)
        assert self._read is not None, "it was set with the first byte"
        for start, block in self._remote.blocks if self._remote else ():
            if self._read(start, len(block)) != block:
                raise self._not_arriving("its end is another one than was sent first")

    def _fetch(self, start: int, end: int) -> bytes:
        if self._remote is None:
            tail = max(TAIL, min(self.length // _TAIL_SHARE, _MOST_TAIL))
            self._remote = RemoteFile(self._client, self._link, tail)
            if self._remote.length != self.length:
                raise self._not_arriving("the server gives it another length than the index")
        return self._remote.read_range(start, end)

    def _not_arriving(self, why: str) -> NotArrivingError:
        return NotArrivingError(f"{self._link.filename} can not be read while it arrives", why)

    # The side that receives

    def advance(self, part: Path, received: int) -> None:
        """Say how much of the file is there, and where."""
        with self._changed:
            if self._read is None:
                self._descriptor = os.open(part, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                self._read = make_reader(self._descriptor)
            self._received = received
            self._changed.notify_all()

    def begin_again(self) -> None:
        """Say that what came is worth nothing; readers that had some of it give up."""
        with self._changed:
            if self._received:
                self._problem = "it began again"
                self._changed.notify_all()

    def give_up(self) -> None:
        """Say that nothing more will come."""
        with self._changed:
            self._problem = self._problem or "it did not arrive"
            self._changed.notify_all()

    def complete(self, path: Path, size: int) -> None:
        """Say that the file is whole and was verified.

        Args:
            path: Where it lies.
            size: Its length.
        """
        self.advance(path, size)
        with self._changed:
            if size != self.length:
                self._problem = self._problem or "it has another length than the index says"
            self._is_whole = True
            self._changed.notify_all()

    def close(self) -> None:
        """Give back the open file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
