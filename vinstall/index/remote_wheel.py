"""One file out of a remote wheel, by range requests (RFC 9110, "Range Requests").

The end of the wheel is fetched first: it holds the central directory, and for wheels built
as the format advises also the dist-info. A wheel of gigabytes costs a few KiB. What is
read this way is believed only as far as the archive's own checks go; the whole wheel is
verified before anything of it is installed.
"""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, cast

from vinstall.errors import IndexAccessError
from vinstall.index.address import redact_url
from vinstall.index.client import ConnectionLostError, StatusError
from vinstall.index.dist_info import BROKEN_ZIP, LIMIT, read_dist_info
from vinstall.patterns import lazy_pattern

if TYPE_CHECKING:
    from vinstall.distributions.link import Link
    from vinstall.index.client import HttpClient, Stream

TAIL = 16 * 1024
"""Bytes of the end that are fetched first."""
SMALL = 256 * 1024
"""Bytes of a wheel that is taken whole where the server knows no ranges."""
_CONTENT_RANGE = lazy_pattern(r"bytes\s+(\d+)-(\d+)/(\d+)")
_NO_RANGE = frozenset({400, 405, 416, 501})
_TRIES = 3


class RangesNotSupportedError(IndexAccessError):
    """The server sends whole files only, or parts that do not fit together."""


def read_remote_file(client: HttpClient, link: Link, name: str) -> bytes:
    """A file of the wheel's top-level dist-info.

    Args:
        client: Fetches.
        link: The wheel.
        name: ``METADATA`` or ``variant.json``.

    Raises:
        RangesNotSupportedError: The server gives no ranges, or they make no archive.
        WheelFormatError: The wheel has no such file.
        IndexAccessError: It can not be fetched.
    """
    remote = RemoteFile(client, link)
    try:
        return read_dist_info(cast("IO[bytes]", remote), link.filename, name, remote.prepare)
    except BROKEN_ZIP as error:
        raise _no_ranges(link, f"the parts make no archive: {error}") from error


class RemoteFile(io.RawIOBase):
    """A file that is fetched as it is read; ``zipfile`` needs reading and seeking only.

    Args:
        client: Fetches.
        link: The wheel.
        tail: Bytes of the end that are fetched at once.

    Attributes:
        length: Bytes of the whole file.
        blocks: What was fetched: position and bytes of each part.

    Raises:
        RangesNotSupportedError: The server gives no ranges.
        IndexAccessError: It can not be fetched.
    """

    def __init__(self, client: HttpClient, link: Link, tail: int = TAIL) -> None:
        super().__init__()
        self._client = client
        self._link = link
        self._position = 0
        self.blocks: list[tuple[int, bytes]] = []
        self._identity: tuple[str, str] | None = None
        self.length = 0
        self._fetch_tail(tail)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.length}[whence]
        if base + offset < 0:
            raise ValueError("a position before the beginning")
        self._position = base + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self.length if size < 0 else min(self._position + size, self.length)
        if end <= self._position:
            return b""
        self.prepare(self._position, end - self._position)
        data = self._find(self._position, end)
        assert data is not None, "prepared just now"
        self._position = end
        return data

    def prepare(self, start: int, size: int) -> None:
        """Have a part at hand that will be read."""
        end = min(start + size, self.length)
        if end <= start or self._find(start, end) is not None:
            return
        if end - start > LIMIT:
            raise ValueError("a part of it is too large")
        for begin, block in self.blocks:
            if start < begin < end <= begin + len(block):
                head = self._fetch(f"bytes={start}-{begin - 1}", start, begin)
                self.blocks.append((start, head + block))
                return
        self.blocks.append((start, self._fetch(f"bytes={start}-{end - 1}", start, end)))

    def _find(self, start: int, end: int) -> bytes | None:
        for begin, block in self.blocks:
            if begin <= start and end <= begin + len(block):
                return block[start - begin : end - begin]
        return None

    def _fetch_tail(self, tail: int) -> None:
        """Fetch the end of the file, which tells the length of the whole."""
        size = self._link.size
        wanted = f"bytes={max(size - tail, 0)}-{size - 1}" if size else f"bytes=-{tail}"
        try:
            self._take_tail(wanted)
        except StatusError as error:
            if error.status not in _NO_RANGE:
                raise
            try:
                length = self._client.head(self._link.url).headers.get("content-length", "")
                if not length.isdecimal() or not int(length):
                    raise _no_ranges(self._link, error.why) from error
                self._take_tail(f"bytes={max(int(length) - tail, 0)}-{int(length) - 1}")
            except StatusError as again:
                raise _no_ranges(self._link, again.why) from again

    def _take_tail(self, wanted: str) -> None:
        for left in reversed(range(_TRIES)):
            try:
                with self._client.stream(self._link.url, {"Range": wanted}) as stream:
                    if stream.status == 200:
                        self._take_whole(stream)
                        return
                    start, end, self.length = self._check(stream)
                    if end != self.length:
                        raise _no_ranges(self._link, "it did not send the end")
                    self.blocks.append((start, _take(stream, end - start, self._link)))
                    return
            except ConnectionLostError:
                if not left:
                    raise

    def _take_whole(self, stream: Stream) -> None:
        """Take the whole file from a server that ignores ranges, if it is small."""
        length = stream.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > SMALL:
            raise _no_ranges(self._link, "the server sends whole files only")
        data = _take(stream, int(length), self._link)
        self.length = len(data)
        self.blocks.append((0, data))

    def _fetch(self, wanted: str, start: int, end: int) -> bytes:
        for left in reversed(range(_TRIES)):
            try:
                with self._client.stream(self._link.url, {"Range": wanted}) as stream:
                    if stream.status == 416 or (self._check(stream) != (start, end, self.length)):
                        raise _no_ranges(self._link, "it sent another part than asked for")
                    return _take(stream, end - start, self._link)
            except ConnectionLostError:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def _check(self, stream: Stream) -> tuple[int, int, int]:
        """Start, end and whole length of a part; all parts must be of one file."""
        if stream.status == 416:
            raise StatusError(416, f"{redact_url(self._link.url)} has no such part", "HTTP 416")
        match = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", "").strip())
        if stream.status != 206 or match is None:
            raise _no_ranges(self._link, "the server sends whole files only")
        if stream.headers.get("content-encoding", "identity").lower() != "identity":
            raise _no_ranges(self._link, "the server encodes the parts")
        identity = (stream.headers.get("etag", ""), stream.headers.get("last-modified", ""))
        if self._identity is None:
            self._identity = identity
        elif self._identity != identity:
            raise _no_ranges(self._link, "the file changed meanwhile")
        return int(match[1]), int(match[2]) + 1, int(match[3])


def _no_ranges(link: Link, why: str) -> RangesNotSupportedError:
    return RangesNotSupportedError(f"{redact_url(link.url)} can not be read in parts", why)


def _take(stream: Stream, size: int, link: Link) -> bytes:
    """A body of a known size; not one byte more is read."""
    if size > LIMIT:
        raise _no_ranges(link, "the server sends more than it was asked for")
    data = bytearray()
    for piece in stream:
        data += piece
        if len(data) > size:
            raise _no_ranges(link, "the server sends more than it was asked for")
    if len(data) != size:
        raise _no_ranges(link, f"it sent {len(data)} bytes of {size}")
    return bytes(data)
