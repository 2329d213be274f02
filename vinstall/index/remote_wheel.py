"""One file out of a remote wheel, by range requests (RFC 9110, "Range Requests").

The end of the wheel is fetched first: it holds the central directory, and for wheels built
as the format advises also the dist-info. A wheel of gigabytes costs a few KiB.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from vinstall.errors import IndexAccessError, WheelFormatError
from vinstall.index.address import redact_url
from vinstall.index.client import StatusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vinstall.distributions.link import Link
    from vinstall.index.client import HttpClient

TAIL = 16 * 1024
"""Bytes of the end that are fetched first."""
_LIMIT = 64 * 1024 * 1024


class RangesNotSupportedError(IndexAccessError):
    """The server sends whole files only."""


def read_remote_file(client: HttpClient, link: Link, name: str) -> bytes:
    """A file of the wheel's top-level dist-info.

    Args:
        client: Fetches.
        link: The wheel.
        name: ``METADATA`` or ``variant.json``.

    Raises:
        RangesNotSupportedError: The server does not give ranges.
        WheelFormatError: The wheel is broken or has no such file.
        IndexAccessError: It can not be fetched.
    """
    import zipfile

    remote = _RemoteFile(client, link)
    try:
        with zipfile.ZipFile(remote) as archive:
            found = [
                entry
                for entry in archive.infolist()
                if entry.filename.count("/") == 1 and entry.filename.endswith(f".dist-info/{name}")
            ]
            if len(found) != 1:
                raise WheelFormatError(
                    f"{link.filename} is not a valid wheel",
                    f"it has {len(found) or 'no'} *.dist-info/{name}",
                )
            if found[0].file_size > _LIMIT:
                raise WheelFormatError(
                    f"{link.filename} is not a valid wheel",
                    f"its {name} has {found[0].file_size} bytes",
                )
            remote.prepare(found[0].header_offset, found[0].compress_size + len(name) + 512)
            return archive.read(found[0])
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise WheelFormatError(f"{link.filename} is not a valid wheel", str(error)) from error


class _RemoteFile(io.RawIOBase):
    """A file that is fetched as it is read; ``zipfile`` needs reading and seeking only."""

    def __init__(self, client: HttpClient, link: Link) -> None:
        super().__init__()
        self._client = client
        self._link = link
        self._position = 0
        self._blocks: list[tuple[int, bytes]] = []
        self._length = self._fetch_tail()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._length if size < 0 else min(self._position + size, self._length)
        if end <= self._position:
            return b""
        data = self._find(self._position, end)
        if data is None:
            self.prepare(self._position, end - self._position)
            data = self._find(self._position, end)
            if data is None:
                raise IndexAccessError(
                    f"{redact_url(self._link.url)} gave another part of the file than asked for"
                )
        self._position = end
        return data

    def prepare(self, start: int, size: int) -> None:
        """Fetch a part that will soon be read."""
        end = min(start + size, self._length)
        if self._find(start, end) is not None:
            return
        if end - start > _LIMIT:
            raise WheelFormatError(
                f"{self._link.filename} is not a valid wheel", "its directory is too large"
            )
        response = self._get(f"bytes={start}-{end - 1}")
        self._blocks.append((start, response))

    def _find(self, start: int, end: int) -> bytes | None:
        for begin, block in self._blocks:
            if begin <= start and end <= begin + len(block):
                return block[start - begin : end - begin]
        return None

    def _fetch_tail(self) -> int:
        """Fetch the end of the file; its whole length."""
        try:
            with self._client.stream(self._link.url, {"Range": f"bytes=-{TAIL}"}) as stream:
                length = self._length_of(stream.status, stream.headers.get("content-range", ""))
                data = b"".join(_take(stream, TAIL))
        except StatusError as error:
            if error.status in (400, 405, 416, 501):
                raise RangesNotSupportedError(
                    f"{redact_url(self._link.url)} can not be read in parts", error.why
                ) from error
            raise
        self._blocks.append((length - len(data), data))
        return length

    def _length_of(self, status: int, header: str) -> int:
        _, _, total = header.rpartition("/")
        if status != 206 or not total.strip().isdecimal():
            raise RangesNotSupportedError(
                f"{redact_url(self._link.url)} can not be read in parts",
                "the server sends whole files only",
            )
        return int(total)

    def _get(self, wanted: str) -> bytes:
        with self._client.stream(self._link.url, {"Range": wanted}) as stream:
            if stream.status != 206:
                raise RangesNotSupportedError(
                    f"{redact_url(self._link.url)} can not be read in parts",
                    "the server sends whole files only",
                )
            return b"".join(_take(stream, _LIMIT))


def _take(stream: Iterable[bytes], limit: int) -> list[bytes]:
    """The pieces of a body, up to a limit that no honest answer reaches."""
    pieces = []
    size = 0
    for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise RangesNotSupportedError("the server sends more than it was asked for")
    return pieces
