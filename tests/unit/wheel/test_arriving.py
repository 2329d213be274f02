"""A file that grows: what the parent says, what the child waits for, when both give up."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from vinstall.wheel.arriving import ArrivingFile, ArrivingUnpack, NotArrivingError
from vinstall.wheel.store import WheelStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing is unpacked so on Windows")

CONTENT = bytes(range(256)) * 1000
TAIL = 5000


class Child:
    """Stands for the process: what it is told, and one answer."""

    def __init__(self, answer: bytes = b"yes\n") -> None:
        self.stdin = io.BytesIO()
        self.stdout = io.BytesIO(answer)

    @property
    def told(self) -> list[bytes]:
        return self.stdin.getvalue().splitlines()


def make(child: Child, length: int = len(CONTENT)) -> ArrivingUnpack:
    store = WheelStore(Path("store"), max_unpacked=7)
    return ArrivingUnpack(cast("Popen[bytes]", child), store, "a.whl", "0" * 64, length)


@pytest.mark.parametrize("tail_first", [True, False])
def test_a_child_begins_when_end_and_beginning_are_there(tail_first: bool) -> None:
    child = Child()
    arriving = make(child)
    steps: list[Callable[[], None]] = [
        lambda: arriving.begin(Path("tail"), 11),
        lambda: arriving.advance(Path("part"), 5),
    ]
    for step in steps if tail_first else steps[::-1]:
        assert child.told == []
        step()
    arriving.advance(Path("part"), 100)
    (line,) = child.told
    assert json.loads(line) == {
        "store": "store",
        "max_unpacked": 7,
        "filename": "a.whl",
        "sha256": "0" * 64,
        "length": len(CONTENT),
        "tail": "tail",
        "tail_start": 11,
        "part": "part",
    }


@pytest.mark.parametrize(("answer", "expected"), [(b"yes\n", True), (b"no\n", False), (b"", False)])
def test_the_answer_comes_after_the_file_was_verified(answer: bytes, expected: bool) -> None:
    child = Child(answer)
    arriving = make(child)
    arriving.begin(Path("tail"), 11)
    arriving.advance(Path("part"), 5)
    assert arriving.complete(Path("part"), len(CONTENT)) is expected
    assert child.told[1:] == [b"v"]
    assert not arriving.finish()
    assert child.told[1:] == [b"v"]


def test_a_file_that_was_there_before_its_end_is_unpacked_afterwards() -> None:
    child = Child()
    arriving = make(child)
    arriving.advance(Path("part"), 5)
    assert not arriving.complete(Path("part"), len(CONTENT))
    arriving.begin(Path("tail"), 11)
    assert child.told == []


def test_another_length_does_not_count() -> None:
    child = Child(b"no\n")
    arriving = make(child)
    arriving.begin(Path("tail"), 11)
    arriving.advance(Path("part"), 5)
    assert not arriving.complete(Path("part"), len(CONTENT) - 1)
    assert child.told[1:] == [b"x"]


def test_a_new_beginning_ends_it_if_something_had_come() -> None:
    child = Child(b"no\n")
    arriving = make(child)
    arriving.begin(Path("tail"), 11)
    arriving.begin_again()
    arriving.advance(Path("part"), 5)
    assert len(child.told) == 1
    arriving.begin_again()
    arriving.give_up()
    assert child.told[1:] == [b"x"]
    assert not arriving.complete(Path("part"), len(CONTENT))


class Growing:
    """A part file, its end, and the line of a parent."""

    def __init__(self, folder: Path, tail: bytes = CONTENT[-TAIL:]) -> None:
        self.part = folder / "part"
        self.part.touch()
        (folder / "tail").write_bytes(tail)
        reader, self._writer = os.pipe()
        self.lines = open(reader, "rb")  # noqa: SIM115, PTH123
        job: dict[str, Any] = {
            "length": len(CONTENT),
            "tail": str(folder / "tail"),
            "tail_start": len(CONTENT) - TAIL,
            "part": str(self.part),
        }
        self.file = ArrivingFile(job, self.lines)

    def grow(self, size: int) -> None:
        with self.part.open("ab") as file:
            file.write(CONTENT[file.tell() : size])

    def say(self, line: bytes) -> None:
        os.write(self._writer, line)

    def later(self, *steps: Any) -> None:
        """Do something in a moment, when the file is waited for."""

        def run() -> None:
            time.sleep(0.02)
            for step in steps:
                step()

        threading.Thread(target=run).start()

    def close(self) -> None:
        os.close(self._writer)
        self.lines.close()


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path)
    yield made
    made.close()


def test_what_is_there_is_read_at_once(growing: Growing) -> None:
    growing.grow(5000)
    assert growing.file.read_at(1000, 3000) == CONTENT[1000:4000]
    assert growing.file.read_at(len(CONTENT), 10) == b""


def test_the_end_is_there_from_the_beginning(growing: Growing) -> None:
    assert growing.file.read_at(len(CONTENT) - 100, 1000) == CONTENT[-100:]
    assert growing.file.read_at(len(CONTENT) - TAIL, 10) == CONTENT[-TAIL : -TAIL + 10]


def test_what_is_not_there_is_waited_for(growing: Growing) -> None:
    growing.later(lambda: growing.grow(9000))
    assert growing.file.read_at(8000, 1000) == CONTENT[8000:9000]


def test_the_end_is_waited_for_once_all_is_expected(growing: Growing) -> None:
    growing.file.expect()
    growing.later(lambda: growing.grow(len(CONTENT)))
    assert growing.file.read_at(len(CONTENT) - 100, 100) == CONTENT[-100:]
    assert growing.part.stat().st_size == len(CONTENT)


@pytest.mark.parametrize("line", [b"x\n", b"v\n", b"nonsense\n", b"{}\n"])
def test_who_waits_hears_that_nothing_comes(growing: Growing, line: bytes) -> None:
    growing.grow(10)
    growing.later(lambda: growing.say(line))
    with pytest.raises(NotArrivingError):
        growing.file.read_at(5, 10)


def test_a_parent_that_is_gone_is_noticed(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    os.close(growing._writer)
    with pytest.raises(NotArrivingError):
        growing.file.read_at(5, 10)
    growing.lines.close()


def test_a_whole_file_is_confirmed(growing: Growing) -> None:
    growing.grow(len(CONTENT))
    growing.say(b"v\n")
    growing.file.wait_until_verified()
    growing.file.close()


def test_an_end_that_is_not_of_the_file_is_found(tmp_path: Path) -> None:
    growing = Growing(tmp_path, CONTENT[-TAIL:-1] + b"\0")
    growing.grow(len(CONTENT))
    growing.say(b"v\n")
    with pytest.raises(NotArrivingError, match="end is another one"):
        growing.file.wait_until_verified()
    growing.close()
