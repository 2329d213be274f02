"""HTTP/1.1 on a socket: what is kept, what is dropped, and what is no answer (RFC 9112)."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from vinstall.index.wire import Wire, WireError, is_plain

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

Script = list[list[bytes]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
FIRST, SECOND = OK + b"aa", OK + b"bb"


class ScriptedServer:
    """Answers each request of each connection with what was written down; then closes.

    Attributes:
        url: Where it listens.
        requests: What was asked, by connection.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/page"
        self.requests: list[list[bytes]] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answers in self._script:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            asked: list[bytes] = []
            self.requests.append(asked)
            with connection:
                for answer in answers:
                    data = b""
                    while not data.endswith(b"\r\n\r\n"):
                        more = connection.recv(65536)
                        if not more:
                            break
                        data += more
                    if not data:
                        break
                    asked.append(data)
                    connection.sendall(answer)

    def close(self) -> None:
        # on Linux a close alone does not wake up who waits in accept
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def no_tls() -> ssl.SSLContext:
    raise AssertionError("nothing here is encrypted")


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire(5, no_tls)
    yield made
    made.close()


@pytest.fixture
def serve(wire: Wire) -> Iterator[Callable[[Script], ScriptedServer]]:
    running: list[ScriptedServer] = []

    def start(script: Script) -> ScriptedServer:
        running.append(ScriptedServer(script))
        return running[-1]

    yield start
    wire.close()
    for server in running:
        server.close()


def read(wire: Wire, url: str, method: str = "GET") -> bytes:
    response = wire.send(method, url, {})
    try:
        return b"".join(response.iter_raw())
    finally:
        response.close()


def test_a_connection_is_kept(wire: Wire, serve: Callable[[Script], ScriptedServer]) -> None:
    server = serve([[FIRST, SECOND]])
    assert read(wire, server.url) == b"aa"
    assert read(wire, server.url) == b"bb"
    assert [len(asked) for asked in server.requests] == [2]


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\naa",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\naa",
        b"HTTP/1.1 200 OK\r\n\r\naa",
    ],
    ids=["close", "1.0", "no length"],
)
def test_a_connection_that_ends_is_not_kept(
    wire: Wire, serve: Callable[[Script], ScriptedServer], first: bytes
) -> None:
    server = serve([[first], [SECOND]])
    assert read(wire, server.url) == b"aa"
    assert read(wire, server.url) == b"bb"
    assert [len(asked) for asked in server.requests] == [1, 1]


@pytest.mark.parametrize("late", [False, True])
def test_a_body_that_was_not_read_is_not_the_next_answer(
    wire: Wire, serve: Callable[[Script], ScriptedServer], late: bool
) -> None:
    hidden = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(hidden)
    server = serve([[head, hidden] if late else [head + hidden, SECOND], [SECOND]])
    wire.send("GET", server.url, {}).close()
    assert read(wire, server.url) == b"bb"
    assert len(server.requests) == 2


def test_an_answer_that_nobody_asked_for_is_never_taken(
    wire: Wire, serve: Callable[[Script], ScriptedServer]
) -> None:
    server = serve([[FIRST + OK + b"no", SECOND], [SECOND]])
    assert read(wire, server.url) == b"aa"
    assert read(wire, server.url) == b"bb"
    assert len(server.requests) == 2


def test_a_kept_connection_that_the_server_gave_up_is_replaced(
    wire: Wire, serve: Callable[[Script], ScriptedServer]
) -> None:
    server = serve([[FIRST], [SECOND]])
    assert read(wire, server.url) == b"aa"
    assert read(wire, server.url) == b"bb"


def test_chunks_interim_answers_and_trailers(
    wire: Wire, serve: Callable[[Script], ScriptedServer]
) -> None:
    chunked = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
    )
    server = serve([[chunked, SECOND]])
    assert read(wire, server.url) == b"abc0123456789"
    assert read(wire, server.url) == b"bb"
    assert len(server.requests) == 1


def test_an_answer_to_head_has_no_body(
    wire: Wire, serve: Callable[[Script], ScriptedServer]
) -> None:
    server = serve([[b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", SECOND]])
    assert read(wire, server.url, "HEAD") == b""
    assert read(wire, server.url) == b"bb"
    assert server.requests[0][0].startswith(b"HEAD /page HTTP/1.1\r\nHost: 127.0.0.1:")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\naa", "lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\naa", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "lost"),
        (b"", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\naa", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\naa", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\naa", "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", "protocol"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\naabb\r\n0\r\n\r\n",
            "protocol",
        ),
        (b"HTTP/1.1 200 OK\r\nBroken header\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nName : x\r\n\r\n", "protocol"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "protocol"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 5000, "protocol"),
        (b"HTTP/2 200\r\n\r\n", "protocol"),
        (b"ICY 200 OK\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000, "protocol"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:60],
)
def test_what_is_no_answer(
    wire: Wire, serve: Callable[[Script], ScriptedServer], answer: bytes, kind: str
) -> None:
    server = serve([[answer]])
    with pytest.raises(WireError) as caught:
        read(wire, server.url)
    assert caught.value.kind == kind


def test_silence_ends(serve: Callable[[Script], ScriptedServer]) -> None:
    server = serve([[OK + b"a", FIRST]])
    impatient = Wire(0.2, no_tls)
    with pytest.raises(WireError) as caught:
        read(impatient, server.url)
    assert caught.value.kind == "timeout"
    impatient.close()


def test_a_header_can_not_hold_another(wire: Wire) -> None:
    with pytest.raises(WireError, match="line break"):
        wire.send("GET", "http://127.0.0.1:9/", {"Accept": "x\r\nCookie: y"})


def test_nobody_listens(wire: Wire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(WireError) as caught:
        wire.send("GET", f"http://127.0.0.1:{port}/", {})
    assert caught.value.kind == "connect"


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://example.org/simple/", True),
        ("http://example.org:8080/a%20b?x=1", True),
        ("http://example.org", True),
        ("https://user:secret@example.org/", False),
        ("http://[::1]/", False),
        ("http://example.org/a/../b", False),
        ("http://example.org/a b", False),
        ("http://example.org/\r\nX: y", False),
        ("http://example.org:99999/", False),
        ("http://exämple.org/", False),
        ("ftp://example.org/", False),
        ("http://example.org//other.host/", False),
    ],
)
def test_what_can_be_sent_as_it_is(url: str, plain: bool) -> None:
    assert is_plain(url) is plain
