"""Large wheels, unpacked while they are received: the same result as afterwards."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import (
    Altered,
    ChangingETag,
    Drip,
    IgnoreRange,
    LyingRange,
    Reset,
    Truncated,
)
from tests.support.wheels import make_wheel
from vinstall.distributions.link import Link
from vinstall.errors import HashMismatchError, WheelFormatError
from vinstall.events import RecordingObserver
from vinstall.index.client import HttpClient, Patience
from vinstall.index.download import Downloader
from vinstall.settings import IndexSettings
from vinstall.wheel.store import WheelStore
from vinstall.wheel.unpackers import Unpackers
from vinstall.workflow.arriving import WORTHWHILE, fetch_and_unpack, is_worthwhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel, Fault
    from vinstall.wheel.store import StoredWheel

NAME = "sample-1.0-py3-none-any.whl"
FILE = f"/files/{NAME}"
NOISE = random.Random(1).randbytes(3_000_000)
FILES: dict[str, str | bytes] = {"a.bin": NOISE, "pkg/b.py": "X = 1\n" * 1000, "z.bin": NOISE[::-1]}


@pytest.fixture(scope="module")
def wheel() -> BuiltWheel:
    """A wheel of six megabytes, whose table of contents is read first."""
    return make_wheel("sample", "1.0", files=FILES)


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "store")


@pytest.fixture
def fetch(
    index: SimpleIndex, store: WheelStore, tmp_path: Path
) -> Iterator[Callable[[BuiltWheel], StoredWheel | None]]:
    """Fetches and unpacks a wheel of the index."""
    observer = RecordingObserver()
    client = HttpClient(
        IndexSettings(timeout=5.0),
        observer,
        environment={},
        patience=Patience(sleep=lambda seconds: None),
    )
    folder = tmp_path / "target"
    folder.mkdir()
    unpackers = Unpackers(store, {}, count=1)

    def run(wheel: BuiltWheel) -> StoredWheel | None:
        link = Link(
            index.file_url(wheel.filename),
            wheel.filename,
            {"sha256": wheel.sha256},
            size=len(wheel.content),
        )
        downloader = Downloader(client, str(tmp_path / "cache"), observer)
        downloaded, is_stored = fetch_and_unpack(client, downloader, unpackers, link, None, folder)
        assert downloaded.path.read_bytes() == wheel.content
        return store.find(wheel.sha256) if is_stored else None

    yield run
    unpackers.close()
    client.close()


def content_of(stored: StoredWheel) -> dict[str, bytes]:
    return {file.path: stored.read(file.path) for file in stored.files}


def leftovers(store: WheelStore) -> list[str]:
    return [path.name for path in store.root.rglob(".partial-*")]


def test_the_entry_is_that_of_a_wheel_that_was_there(
    index: SimpleIndex,
    store: WheelStore,
    fetch: Callable[[BuiltWheel], StoredWheel | None],
    wheel: BuiltWheel,
    tmp_path: Path,
) -> None:
    index.add(wheel)
    # the file comes slowly enough for its end to be there first
    index.fail(FILE, Drip(size=500_000, pause=0.05), times=10)
    stored = fetch(wheel)
    assert stored is not None
    other = WheelStore(tmp_path / "other").add(
        wheel.write_to(tmp_path / "files"), wheel.filename, wheel.sha256
    )
    assert content_of(stored) == content_of(other)
    assert [file[:4] for file in stored.files] == [file[:4] for file in other.files]
    assert store.find_fault(wheel.sha256) == ""
    assert leftovers(store) == []


@pytest.mark.parametrize(
    "fault",
    [
        Truncated(1_000_000),
        Truncated(100),
        Reset(after=2_000_000),
        Reset(),
        IgnoreRange(),
        LyingRange(),
        ChangingETag(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("times", [1, 2])
def test_what_goes_wrong_underway_costs_time_only(
    index: SimpleIndex,
    store: WheelStore,
    fetch: Callable[[BuiltWheel], StoredWheel | None],
    wheel: BuiltWheel,
    fault: Any,
    times: int,
) -> None:
    index.add(wheel)
    index.fail(FILE, fault, times=times)
    stored = fetch(wheel)  # None: it has to be unpacked now
    assert stored is None or store.find_fault(wheel.sha256) == ""
    assert leftovers(store) == []


def test_a_server_without_ranges_only_costs_the_advantage(
    index: SimpleIndex,
    store: WheelStore,
    fetch: Callable[[BuiltWheel], StoredWheel | None],
    wheel: BuiltWheel,
) -> None:
    index.add(wheel)
    index.ranges = False
    assert fetch(wheel) is None
    assert not store.has(wheel.sha256)
    assert leftovers(store) == []


def test_nothing_is_kept_of_a_file_with_another_digest(
    index: SimpleIndex,
    store: WheelStore,
    fetch: Callable[[BuiltWheel], StoredWheel | None],
    wheel: BuiltWheel,
) -> None:
    index.add(wheel)
    index.fail(FILE, Altered(), times=100)
    with pytest.raises(HashMismatchError):
        fetch(wheel)
    assert not store.has(wheel.sha256)
    assert leftovers(store) == []


@pytest.mark.parametrize("fault", ["record-wrong-hash", "record-missing-entry", "no-record"])
def test_a_file_that_breaks_the_rules_is_left_to_who_tells_why(
    fault: Fault,
    index: SimpleIndex,
    store: WheelStore,
    fetch: Callable[[BuiltWheel], StoredWheel | None],
    tmp_path: Path,
) -> None:
    broken = make_wheel("sample", "1.0", files=FILES, fault=fault)
    index.add(broken)
    assert fetch(broken) is None
    assert leftovers(store) == []
    with pytest.raises(WheelFormatError):
        store.add(broken.write_to(tmp_path / "files"), broken.filename, broken.sha256)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_large_wheel_is_installed(
    index: SimpleIndex, environment: Environment, ranges: bool
) -> None:
    noise = random.Random(2).randbytes(WORTHWHILE)
    large = make_wheel("sample", "1.0", files={"sample.bin": noise}, compress=False)
    assert is_worthwhile(
        Link("http://host/a", NAME, {"sha256": large.sha256}, size=len(large.content))
    )
    index.add(large)
    index.ranges = ranges
    environment.vinstall("install", "--index-url", index.simple_url, "sample").check()
    assert (environment.site_packages / "sample.bin").read_bytes() == noise
    answers = [request.status for request in index.requests if request.path == FILE]
    assert sorted(answers) == ([200, 206] if ranges else [200, 200])
    again = environment.vinstall("check", "--repair", "--index-url", index.simple_url)
    assert again.returncode == 0, again
