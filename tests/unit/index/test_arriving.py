"""A file that is read while it is received: who waits, who fetches, who gives up."""

from __future__ import annotations

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from vinstall.distributions.link import Link
from vinstall.index.arriving import ArrivingWheel, NotArrivingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from vinstall.index.client import HttpClient

CONTENT = bytes(range(256)) * 1000
NAME = "sample-1.0-py3-none-any.whl"
SECONDS = 10  # so long waits a test for what must come at once


class Answer:
    """A part of a file, as a server gives it."""

    def __init__(self, content: bytes, start: int, end: int) -> None:
        self.status = 206
        self.headers = {"content-range": f"bytes {start}-{end - 1}/{len(content)}"}
        self._body = content[start:end]

    def __iter__(self) -> Iterator[bytes]:
        yield self._body


class Server:
    """Stands for the client of a server that has one file."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.ranges: list[tuple[int, int]] = []

    @contextlib.contextmanager
    def stream(self, url: str, headers: Mapping[str, str]) -> Iterator[Answer]:
        assert url.endswith(NAME)
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", headers["Range"])
        assert found is not None
        start, end = int(found[1]), min(int(found[2]) + 1, len(self.content))
        self.ranges.append((start, end))
        yield Answer(self.content, start, end)


def make(server: Server | None = None, size: int = len(CONTENT)) -> ArrivingWheel:
    link = Link(f"http://host/files/{NAME}", NAME, {"sha256": "0" * 64}, size=size)
    return ArrivingWheel(cast("HttpClient", server or Server()), link)


def arrive(wheel: ArrivingWheel, part: Path, received: int) -> None:
    part.write_bytes(CONTENT[:received])
    wheel.advance(part, received)


def test_what_is_there_is_read_from_the_part_file(tmp_path: Path) -> None:
    server = Server()
    wheel = make(server)
    arrive(wheel, tmp_path / "part", 5000)
    assert wheel.read_at(1000, 3000) == CONTENT[1000:4000]
    assert server.ranges == []
    wheel.close()


def test_the_end_is_fetched_until_all_is_expected(tmp_path: Path) -> None:
    server = Server()
    wheel = make(server)
    arrive(wheel, tmp_path / "part", 5000)
    assert wheel.read_at(len(CONTENT) - 100, 1000) == CONTENT[-100:]
    asked = len(server.ranges)
    assert asked == 1
    assert wheel.read_at(len(CONTENT) - 50, 50) == CONTENT[-50:]
    wheel.expect()
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(wheel.read_at, len(CONTENT) - 100, 100)
        arrive(wheel, tmp_path / "part", len(CONTENT) - 1)
        assert not read.done()
        arrive(wheel, tmp_path / "part", len(CONTENT))
        assert read.result(SECONDS) == CONTENT[-100:]
    assert len(server.ranges) == asked
    wheel.close()


def test_nothing_lies_behind_the_end() -> None:
    assert make().read_at(len(CONTENT), 10) == b""


@pytest.mark.parametrize("how", ["give_up", "begin_again"])
def test_who_waits_hears_that_nothing_comes(tmp_path: Path, how: str) -> None:
    wheel = make()
    arrive(wheel, tmp_path / "part", 10)
    wheel.expect()
    with ThreadPoolExecutor(2) as pool:
        read = pool.submit(wheel.read_at, 5, 10)
        verified = pool.submit(wheel.wait_until_verified)
        getattr(wheel, how)()
        for waiting in (read, verified):
            with pytest.raises(NotArrivingError):
                waiting.result(SECONDS)
    wheel.close()


def test_a_new_beginning_before_the_first_byte_is_none(tmp_path: Path) -> None:
    wheel = make()
    wheel.begin_again()
    wheel.expect()
    arrive(wheel, tmp_path / "part", 10)
    assert wheel.read_at(0, 10) == CONTENT[:10]
    wheel.close()


def test_a_whole_file_is_confirmed(tmp_path: Path) -> None:
    wheel = make()
    assert wheel.read_at(len(CONTENT) - 10, 10) == CONTENT[-10:]
    part = tmp_path / "part"
    part.write_bytes(CONTENT)
    wheel.complete(part, len(CONTENT))
    wheel.wait_until_verified()
    wheel.close()


def test_an_end_that_is_not_of_the_file_is_found(tmp_path: Path) -> None:
    wheel = make(Server(CONTENT[:-1] + b"\0"))
    wheel.read_at(len(CONTENT) - 10, 10)
    part = tmp_path / "part"
    part.write_bytes(CONTENT)
    wheel.complete(part, len(CONTENT))
    with pytest.raises(NotArrivingError, match="another one than was sent first"):
        wheel.wait_until_verified()
    wheel.close()


def test_a_file_of_another_length_does_not_count(tmp_path: Path) -> None:
    wheel = make()
    part = tmp_path / "part"
    part.write_bytes(CONTENT[:-1])
    wheel.complete(part, len(CONTENT) - 1)
    with pytest.raises(NotArrivingError, match="another length"):
        wheel.wait_until_verified()
    wheel.close()


def test_a_server_with_a_file_of_another_length_is_not_read() -> None:
    wheel = make(Server(CONTENT[:-20]))
    with pytest.raises(NotArrivingError, match="another length"):
        wheel.read_at(len(CONTENT) - 100, 10)
