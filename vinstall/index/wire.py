"""HTTP/1.1 without a proxy: one request at a time on connections that are kept open.

Implements RFC 9112 as far as a client needs it that asks with GET and HEAD. A resolution
asks hundreds of small questions, and ``httpx`` takes a millisecond of work for each and a
tenth of a second to be imported; a socket and a few lines take a fiftieth of that. What is
out of the ordinary (a proxy, a URL that has to be normalized) goes through ``httpx``.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import threading
import time
from typing import TYPE_CHECKING, Literal

from vinstall.patterns import lazy_pattern

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

Kind = Literal["connect", "connect-timeout", "timeout", "slow", "lost", "broken", "protocol"]
_PLAIN_URL = lazy_pattern(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/(?!/)[!-\"$-~]*)?"
)
_DOTS = lazy_pattern(r"/\.{1,2}(?:/|$|\?)")
_STATUS = lazy_pattern(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: ([^\x00\r\n]*))?")
_NAME = lazy_pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_IN_VALUE = lazy_pattern(rb"[\r\n\x00]")
_BLOCK = 256 * 1024
_INTERIM_LIMIT = 20
"""Answers before the answer (1xx)."""
SLOW_SECONDS = 60.0
"""So long somebody may send next to nothing."""
SLOW_BYTES = 6000
"""What has to come in that time."""
_HEAD_LIMIT = 256 * 1024
"""Bytes of a status line with its headers."""
_IDLE_LIMIT = 32


class WireError(Exception):
    """An exchange that went wrong.

    Attributes:
        kind: How.
    """

    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class WireResponse:
    """An answer whose body is still to come.

    Attributes:
        status_code: The HTTP status.
        reason_phrase: What the server calls it.
        headers: Lower-case names; those that came several times are joined by commas.
    """

    def __init__(
        self,
        wire: Wire,
        connection: _Connection,
        status: int,
        phrase: str,
        headers: dict[str, str],
        body: Iterator[bytes],
        keeps: bool,
    ) -> None:
        self.status_code = status
        self.reason_phrase = phrase
        self.headers = headers
        self._wire = wire
        self._connection: _Connection | None = connection
        self._body = body
        self._keeps = keeps
        self._done = False

    def iter_raw(self) -> Iterator[bytes]:
        """The body in pieces, as it was sent.

        Raises:
            WireError: It ended early, or there was silence for too long.
        """
        yield from self._body
        self._done = True

    def close(self) -> None:
        """Be done with it: the connection is kept where the body was read to its end."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if not self._done and self._keeps:
            self._done = connection.is_at_end
        if self._done and self._keeps:
            self._wire.keep(connection)
        else:
            self._wire.drop(connection)


class Wire:
    """Connections to any number of servers; may be used by threads.

    Args:
        timeout: Seconds of silence, and of waiting for a connection.
        make_context: Makes what checks certificates, when it is first needed.
    """

    def __init__(self, timeout: float, make_context: Callable[[], ssl.SSLContext]) -> None:
        self._timeout = timeout
        self._make_context = make_context
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str, int], list[_Connection]] = {}
        self._open: set[_Connection] = set()
        self._closed = False

    def send(self, method: str, url: str, headers: Mapping[str, str]) -> WireResponse:
        """Ask and read the head of the answer; the caller closes it.

        Args:
            method: ``GET`` or ``HEAD``.
            url: One that ``is_plain`` accepts.
            headers: All but ``Host`` and ``Connection``.

        Raises:
            WireError: There is no answer.
        """
        match = _PLAIN_URL.fullmatch(url)
        assert match is not None, "asked before"
        scheme, host = match["scheme"], match["host"].lower()
        default = 443 if scheme == "https" else 80
        port = int(match["port"] or default)
        shown = host if port == default else f"{host}:{port}"
        lines = [f"{method} {match['path'] or '/'} HTTP/1.1", f"Host: {shown}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise WireError("protocol", "a header holds a line break")
        request = "\r\n".join([*lines, "\r\n"]).encode("utf-8")
        place = (scheme, host, port)
        while True:
            connection = self._take(place)
            is_fresh = connection is None
            if connection is None:
                connection = self._connect(place)
            try:
                return connection.exchange(self, method, request)
            except WireError as error:
                self.drop(connection)
                if is_fresh or error.kind not in ("lost", "broken") or connection.has_answered:
                    raise
            except BaseException:
                self.drop(connection)
                raise

    def keep(self, connection: _Connection) -> None:
        """Keep a connection for the next request."""
        with self._lock:
            idle = self._idle.setdefault(connection.place, [])
            if not self._closed and len(idle) < _IDLE_LIMIT:
                idle.append(connection)
                return
        self.drop(connection)

    def drop(self, connection: _Connection) -> None:
        """Close a connection."""
        with self._lock:
            self._open.discard(connection)
        connection.socket.close()

    def close(self) -> None:
        """Close all connections; who waits for an answer gets an error."""
        with self._lock:
            self._closed = True
            every, self._open = self._open, set()
            self._idle.clear()
        for connection in every:
            with contextlib.suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)
            connection.socket.close()

    def _take(self, place: tuple[str, str, int]) -> _Connection | None:
        """A connection that is open and silent; one that says something was given up there."""
        while True:
            with self._lock:
                idle = self._idle.get(place)
                if not idle:
                    return None
                connection = idle.pop()
            if not connection.is_readable():
                return connection
            self.drop(connection)

    def _connect(self, place: tuple[str, str, int]) -> _Connection:
        scheme, host, port = place
        context = self._make_context() if scheme == "https" else None
        try:
            plain = socket.create_connection((host, port), self._timeout)
        except TimeoutError as error:
            raise WireError("connect-timeout", str(error)) from error
        except (OSError, UnicodeError) as error:
            raise WireError("connect", str(error)) from error
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secured = plain
            if context is not None:
                secured = context.wrap_socket(plain, server_hostname=host)
        except TimeoutError as error:
            plain.close()
            raise WireError("connect-timeout", str(error)) from error
        except (OSError, ValueError) as error:
            plain.close()
            raise WireError("connect", str(error)) from error
        except BaseException:
            plain.close()
            raise
        connection = _Connection(secured, place)
        with self._lock:
            if not self._closed:
                self._open.add(connection)
                return connection
        secured.close()
        raise WireError("broken", "the connections are closed")


def is_plain(url: str) -> bool:
    """Whether a URL can be sent as it is: no user, no IPv6 address, nothing to normalize."""
    match = _PLAIN_URL.fullmatch(url)
    if match is None or int(match["port"] or 1) not in range(1, 65536):
        return False
    return not _DOTS.search(match["path"] or "") and ".." not in match["host"]


class _Connection:
    """One socket, and what was read from it too early."""

    __slots__ = (
        *("__weakref__", "_arrived", "_rest", "_waited"),
        *("has_answered", "is_at_end", "place", "socket"),
    )

    def __init__(self, connected: socket.socket, place: tuple[str, str, int]) -> None:
        self.socket = connected
        self.place = place
        self.has_answered = False
        self.is_at_end = False
        self._rest = b""
        self._waited = 0.0
        self._arrived = 0

    def is_readable(self) -> bool:
        """Whether there is something to read, such as the end, that nobody asked for."""
        if self._rest:
            return True
        try:
            if hasattr(select, "poll"):
                poll = select.poll()
                poll.register(self.socket, select.POLLIN)
                return bool(poll.poll(0))
            return bool(select.select([self.socket], [], [], 0)[0])
        except (OSError, ValueError):
            return True

    def exchange(self, wire: Wire, method: str, request: bytes) -> WireResponse:
        self.has_answered = self.is_at_end = False
        try:
            self.socket.sendall(request)
        except TimeoutError as error:
            raise WireError("timeout", str(error)) from error
        except OSError as error:
            raise WireError("broken", str(error)) from error
        self._waited, self._arrived = 0.0, 0
        for _ in range(_INTERIM_LIMIT):
            minor, status, phrase, headers = self._read_head()
            if status >= 200:
                break
            if status == 101:
                raise WireError("protocol", "the server speaks another protocol")
        else:
            raise WireError("protocol", "the server announces an answer without end")
        words = headers.get("connection", "").lower()
        keeps = minor == 1 and "close" not in words
        body, has_end = self._body(method, status, headers)
        return WireResponse(wire, self, status, phrase, headers, body, keeps and has_end)

    def _read_head(self) -> tuple[int, int, str, dict[str, str]]:
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            if len(data) > _HEAD_LIMIT:
                raise WireError("protocol", "the headers of the answer are too long")
            more = self._receive()
            if not more:
                raise WireError("lost", "the server closed the connection without an answer")
            self.has_answered = True
            data += more
        self._rest = data[end + 4 :]
        first, *lines = data[:end].split(b"\r\n")
        match = _STATUS.fullmatch(first)
        if match is None:
            raise WireError("protocol", "the answer is not HTTP/1.1")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not _NAME.fullmatch(name) or _BAD_IN_VALUE.search(value):
                raise WireError("protocol", "the answer has a header that is none")
            key, text = name.decode("ascii").lower(), _decode(value.strip(b" \t"))
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        return int(match[1]), int(match[2]), _decode(match[3] or b""), headers

    def _body(
        self, method: str, status: int, headers: Mapping[str, str]
    ) -> tuple[Iterator[bytes], bool]:
        """The body, and whether its end is told apart from the end of the connection."""
        coding = headers.get("transfer-encoding", "").strip().lower()
        if method == "HEAD" or status in (204, 304):
            self.is_at_end = True
            return iter(()), True
        if coding:
            if coding != "chunked":
                raise WireError("protocol", f"the transfer encoding {coding!r} is not known")
            return self._read_chunks(), "content-length" not in headers
        if "content-length" in headers:
            lengths = {part.strip() for part in headers["content-length"].split(",")}
            length = lengths.pop()
            if lengths or not (length.isascii() and length.isdigit() and len(length) < 19):
                raise WireError("protocol", "the answer has no valid length")
            self.is_at_end = int(length) == 0
            return self._read_length(int(length)), True
        return self._read_all(), False

    def _read_length(self, remaining: int) -> Iterator[bytes]:
        while remaining:
            piece = self._take(remaining)
            if not piece:
                raise WireError("lost", f"the connection was closed {remaining} bytes too early")
            remaining -= len(piece)
            self.is_at_end = not remaining
            yield piece

    def _read_all(self) -> Iterator[bytes]:
        while piece := self._take(_BLOCK):
            yield piece

    def _read_chunks(self) -> Iterator[bytes]:
        while True:
            text = self._read_line().partition(b";")[0].strip(b" \t")
            try:
                size = int(text, 16) if re.fullmatch(rb"[0-9A-Fa-f]{1,15}", text) else -1
            except ValueError:
                size = -1
            if size < 0:
                raise WireError("protocol", "a chunk of the answer has no valid length")
            if not size:
                break
            yield from self._read_length(size)
            self.is_at_end = False
            if self._read_line():
                raise WireError("protocol", "a chunk of the answer is longer than it says")
        for _ in range(1000):
            if not self._read_line():
                self.is_at_end = True
                return
        raise WireError("protocol", "the answer has too many trailers")

    def _read_line(self) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            if len(self._rest) > 16384:
                raise WireError("protocol", "a line of the answer is too long")
            more = self._receive()
            if not more:
                raise WireError("lost", "the connection was closed too early")
            self._rest += more
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line

    def _take(self, size: int) -> bytes:
        """Up to so many bytes; none at the end."""
        if self._rest:
            piece, self._rest = self._rest[:size], self._rest[size:]
            return piece
        return self._receive(min(size, _BLOCK))

    def _receive(self, size: int = 65536) -> bytes:
        begun = time.perf_counter()
        try:
            piece = self.socket.recv(size)
        except TimeoutError as error:
            raise WireError("timeout", str(error)) from error
        except (OSError, ValueError) as error:
            raise WireError("broken", str(error)) from error
        self._waited += time.perf_counter() - begun
        self._arrived += len(piece)
        if self._waited > SLOW_SECONDS:
            if self._arrived < SLOW_BYTES:
                raise WireError("slow", f"{self._arrived} bytes came in {self._waited:.0f} s")
            self._waited, self._arrived = 0.0, 0
        return piece


def _decode(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")
