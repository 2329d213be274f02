"""Servers that mean harm, byte by byte: an error of ours, and an end."""

from __future__ import annotations

import contextlib
import errno
import itertools
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import EndlessBody, Replaced
from tests.support.wheels import make_wheel
from vinstall.distributions.link import Link
from vinstall.errors import IndexAccessError
from vinstall.events import RecordingObserver
from vinstall.index import wire
from vinstall.index.client import HttpClient, Patience
from vinstall.index.download import Downloader
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

OK = b"HTTP/1.1 200 OK\r\n"


@contextlib.contextmanager
def serve(pieces: Iterable[bytes], pause: float = 0.0) -> Iterator[str]:
    """A server that says the same to everybody; its URL.

    Args:
        pieces: What it says, whatever it is asked; may be endless.
        pause: Seconds before each piece.
    """
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def speak(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            for piece in pieces:
                if ended.wait(pause) if pause else ended.is_set():
                    return
                connection.sendall(piece)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=speak, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.fixture
def client() -> Iterator[HttpClient]:
    """A client without patience."""
    settings = IndexSettings(timeout=5.0, retries=1)
    patience = Patience(sleep=lambda seconds: None)
    made = HttpClient(settings, RecordingObserver(), environment={}, patience=patience)
    yield made
    made.close()


ANSWERS: dict[str, Iterable[bytes]] = {
    "no HTTP": [b"SSH-2.0-OpenSSH\r\n\r\n"],
    "another version": [b"HTTP/2.0 200 OK\r\n\r\n"],
    "a status that is none": [b"HTTP/1.1 999 OK\r\n\r\n"],
    "endless interim answers": itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "endless headers": itertools.chain([OK], itertools.repeat(b"X: " + b"y" * 8000 + b"\r\n")),
    "one endless header": itertools.chain([OK, b"X: "], itertools.repeat(b"y" * 8000)),
    "another protocol": [b"HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    "a line break in a header": [OK + b"X: a\nSet: b\r\nContent-Length: 0\r\n\r\n"],
    "a return in a header": [OK + b"X: a\rSet: b\r\nContent-Length: 0\r\n\r\n"],
    "a NUL in a header": [OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n"],
    "a header with a blank": [OK + b"Content Length: 0\r\n\r\n"],
    "a folded header": [OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n"],
    "two lengths": [OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    "a negative length": [OK + b"Content-Length: -1\r\n\r\n"],
    "a length with a sign": [OK + b"Content-Length: +1\r\n\r\na"],
    "a length of other digits": [OK + "Content-Length: \u0661\r\n\r\na".encode()],
    "a huge length": [OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\na"],
    "a short body": [OK + b"Content-Length: 9\r\n\r\na"],
    "a chunk that lies": [OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"],
    "a chunk without length": [OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\nabc\r\n0\r\n\r\n"],
    "a chunk of negative length": [OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n"],
    "a chunk of huge length": [
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 400 + b"\r\na\r\n0\r\n\r\n"
    ],
    "chunks without end": [OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"],
    "an endless line of a chunk": itertools.chain(
        [OK + b"Transfer-Encoding: chunked\r\n\r\n1;"], itertools.repeat(b"x" * 8000)
    ),
    "endless trailers": itertools.chain(
        [OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], itertools.repeat(b"X: y\r\n")
    ),
    "two codings": [OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    "an endless body": itertools.chain([OK + b"\r\n"], itertools.repeat(b"x" * 8000)),
    "endless chunks": itertools.chain(
        [OK + b"Transfer-Encoding: chunked\r\n\r\n"], itertools.repeat(b"5\r\nabcde\r\n")
    ),
    "a coding that is none": [OK + b"Content-Encoding: x\r\nContent-Length: 1\r\n\r\na"],
    "gzip that is none": [OK + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\na"],
}


@pytest.mark.parametrize("case", ANSWERS)
def test_hostile_answers(client: HttpClient, case: str) -> None:
    with serve(ANSWERS[case]) as url, pytest.raises(IndexAccessError) as caught:
        client.get(url, limit=1_000_000)
    assert caught.value.what


@pytest.mark.parametrize("head", [b"", OK, OK + b"\r\n"], ids=["nothing", "headers", "body"])
def test_a_drip_is_given_up(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(wire, "SLOW_SECONDS", 0.3)
    begun = time.monotonic()
    with (
        serve(itertools.chain([head], itertools.repeat(b"x")), pause=0.02) as url,
        pytest.raises(IndexAccessError, match="bytes came in"),
    ):
        client.get(url)
    assert time.monotonic() - begun < 60


def test_slow_but_not_that_slow(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SLOW_SECONDS", 0.1)
    pieces = [OK + b"Content-Length: 30000\r\n\r\n", *[b"x" * 10_000] * 3]
    with serve(pieces, pause=0.05) as url:
        assert len(client.get(url).body) == 30_000


@pytest.fixture
def downloader(client: HttpClient, tmp_path: Path) -> Downloader:
    """Fetches into a cache."""
    return Downloader(client, str(tmp_path / "cache"), RecordingObserver())


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_that_does_not_end(
    downloader: Downloader, index: SimpleIndex, tmp_path: Path
) -> None:
    wheel = make_wheel("demo")
    index.add(wheel)
    path = f"/files/{wheel.filename}"
    index.fail(path, EndlessBody())
    link = Link(f"{index.url}{path}", wheel.filename, {"sha256": wheel.sha256}, size=5000)
    with pytest.raises(IndexAccessError, match="longer than 5000 bytes"):
        downloader.fetch(link, None, tmp_path)
    assert files_in(tmp_path) == []
    assert index.count(path) == 1


def test_a_file_of_another_length(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    wheel = make_wheel("demo")
    index.add(wheel)
    index.fail(f"/files/{wheel.filename}", Replaced(wheel.content + b"more"))
    result = environment.vinstall("install", "--index-url", index.simple_url, "demo").check(1)
    assert f"longer than {len(wheel.content)} bytes" in result.stderr
    assert environment.installed() == {}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_what_filled_the_disk_does_not_stay(
    downloader: Downloader,
    index: SimpleIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    wheel = make_wheel("demo", files={"demo.bin": bytes(range(256)) * 4000}, compress=False)
    index.add(wheel)
    link = Link(index.file_url(wheel.filename), wheel.filename, {"sha256": wheel.sha256})
    whole_open = Path.open

    def small_open(self: Path, mode: str = "r", *more: Any, **options: Any) -> object:
        file = whole_open(self, mode, *more, **options)
        if mode == "ab" and self.suffix == ".part":
            return SmallFile(file, number)
        return file

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", small_open)
        with pytest.raises(IndexAccessError, match="can not be stored"):
            downloader.fetch(link, None, tmp_path)
    assert files_in(tmp_path) == []


class SmallFile(contextlib.AbstractContextManager["SmallFile"]):
    """A file on a disk with room for 300,000 bytes."""

    def __init__(self, file: object, number: int) -> None:
        self.file = file
        self.number = number
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write, as long as there is room."""
        self.size += len(data)
        if self.size > 300_000:
            raise OSError(self.number, "no room")
        return int(self.file.write(data))  # type: ignore[attr-defined]

    def close(self) -> None:
        """Close it."""
        self.file.close()  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        self.close()
