"""Files: verified, gone on with where they broke off, and said clearly when they are wrong."""

from __future__ import annotations

import contextlib
import hashlib
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import (
    Altered,
    ChangingETag,
    Drip,
    HtmlPage,
    IgnoreRange,
    LyingRange,
    Reset,
    Stall,
    Status,
    Truncated,
)
from tests.support.wheels import BuiltWheel, make_wheel
from vinstall.distributions.link import Link
from vinstall.errors import HashMismatchError, IndexAccessError
from vinstall.events import RecordingObserver, TransferAdvanced, TransferFinished, TransferStarted
from vinstall.index.client import HttpClient, Patience
from vinstall.index.download import Downloader
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.index import SimpleIndex

NAME = "sample-1.0-py3-none-any.whl"
FILE = f"/files/{NAME}"


@pytest.fixture(scope="module")
def wheel() -> BuiltWheel:
    """A wheel of about 300 KB that does not compress."""
    noise = random.Random(1).randbytes(300_000)
    return make_wheel("sample", "1.0", files={"sample.bin": noise}, compress=False)


@pytest.fixture
def link(index: SimpleIndex, wheel: BuiltWheel) -> Link:
    """The wheel on the index, with the right hash."""
    index.add(wheel)
    return Link(
        index.file_url(NAME),
        NAME,
        {"sha256": wheel.sha256},
        size=len(wheel.content),
        index=index.simple_url,
    )


@pytest.fixture
def observer() -> RecordingObserver:
    return RecordingObserver()


@pytest.fixture
def make_downloader(
    tmp_path: Path, observer: RecordingObserver
) -> Iterator[Callable[..., Downloader]]:
    """A factory of downloaders that share a cache."""
    with contextlib.ExitStack() as stack:

        def make(cache: bool = True, **settings: Any) -> Downloader:
            client = HttpClient(
                IndexSettings(**{"timeout": 5.0, **settings}),
                observer,
                environment={},
                patience=Patience(sleep=lambda seconds: None),
            )
            stack.callback(client.close)
            return Downloader(client, str(tmp_path / "cache") if cache else "", observer)

        yield make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "target"
    made.mkdir()
    return made


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("cache", [True, False])
def test_file_arrives(
    make_downloader: Callable[..., Downloader],
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
    observer: RecordingObserver,
    cache: bool,
) -> None:
    got = make_downloader(cache).fetch(link, {"sha256": frozenset({wheel.sha256})}, folder)
    assert got.path.read_bytes() == wheel.content
    assert (got.path, got.sha256, got.size) == (folder / NAME, wheel.sha256, len(wheel.content))
    assert names_in(folder) == [NAME]
    started = [event for event in observer.events if isinstance(event, TransferStarted)]
    assert [(event.name, event.total) for event in started] == [(NAME, len(wheel.content))]
    advanced = [event.amount for event in observer.events if isinstance(event, TransferAdvanced)]
    assert sum(advanced) == len(wheel.content)
    assert sum(isinstance(event, TransferFinished) for event in observer.events) == 1


def test_what_is_not_wanted_any_more_ends_and_is_gone_on_with_later(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    index.fail(FILE, Drip(size=100_000, pause=0.2), times=1)
    downloader = make_downloader()
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(downloader.fetch, link, None, folder)
        while not index.count(FILE, method="GET"):
            time.sleep(0.01)
        time.sleep(0.1)
        downloader.stop()
        with pytest.raises(IndexAccessError, match="not wanted any more"):
            fetching.result(timeout=20)
    got = make_downloader().fetch(link, None, folder)
    assert got.path.read_bytes() == wheel.content
    last = index.requests[-1]
    assert (last.status, last.headers.get("range", "")[:6]) == (206, "bytes=")


@pytest.mark.parametrize(
    "fault",
    [
        Truncated(100_000),
        Reset(after=100_000),
        Stall(after=100_000),
        Status(503),
        Reset(),
        Stall(),
    ],
    ids=repr,
)
def test_broken_transfer_goes_on(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
    fault: Any,
) -> None:
    index.fail(FILE, fault, times=2)
    got = make_downloader(timeout=0.3).fetch(link, None, folder)
    assert got.path.read_bytes() == wheel.content
    assert index.count(FILE) == 3


def test_only_the_rest_is_asked_for(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    index.fail(FILE, Truncated(100_000), times=1)
    make_downloader().fetch(link, None, folder)
    first, second = index.matching(FILE)
    assert "range" not in first.headers
    assert second.headers["range"] == "bytes=100000-"
    assert "if-range" in second.headers
    assert second.bytes_sent == len(wheel.content) - 100_000


@pytest.mark.parametrize("fault", [IgnoreRange(), LyingRange(), ChangingETag()], ids=repr)
def test_server_that_can_not_go_on_begins_again(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
    fault: Any,
) -> None:
    index.fail(FILE, fault)
    index.fail(FILE, Truncated(100_000), times=1)
    assert make_downloader().fetch(link, None, folder).path.read_bytes() == wheel.content


def test_server_without_validators_begins_again(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    index.validators = False
    index.fail(FILE, Truncated(100_000), times=1)
    assert make_downloader().fetch(link, None, folder).path.read_bytes() == wheel.content
    assert "range" not in index.matching(FILE)[1].headers


def test_later_run_goes_on(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    index.fail(FILE, Truncated(100_000))
    with pytest.raises(IndexAccessError, match="did not arrive whole"):
        make_downloader(retries=0).fetch(link, None, folder)
    assert names_in(folder) == []
    index.heal()
    index.clear()
    got = make_downloader().fetch(link, None, folder)
    assert got.path.read_bytes() == wheel.content
    assert [request.headers["range"] for request in index.matching(FILE)] == ["bytes=100000-"]


def test_later_run_does_not_trust_a_file_that_changed(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
    tmp_path: Path,
) -> None:
    index.fail(FILE, Truncated(100_000))
    with pytest.raises(IndexAccessError):
        make_downloader(retries=0).fetch(link, None, folder)
    index.heal()
    (part,) = (tmp_path / "cache").rglob("*.part")
    part.write_bytes(b"x" * 100_000)
    assert make_downloader().fetch(link, None, folder).path.read_bytes() == wheel.content


def test_without_a_cache_nothing_is_left(
    make_downloader: Callable[..., Downloader], index: SimpleIndex, link: Link, folder: Path
) -> None:
    index.fail(FILE, Truncated(100_000))
    with pytest.raises(IndexAccessError):
        make_downloader(cache=False, retries=0).fetch(link, None, folder)
    assert names_in(folder) == []


def test_early_end_is_told_apart_from_another_file(
    make_downloader: Callable[..., Downloader], index: SimpleIndex, link: Link, folder: Path
) -> None:
    index.fail(FILE, Truncated(10_000, with_length=False))
    with pytest.raises(IndexAccessError, match="did not arrive whole"):
        make_downloader(retries=1).fetch(link, None, folder)


@pytest.mark.parametrize("fault", [Altered(), HtmlPage()], ids=repr)
def test_another_file_is_refused(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
    tmp_path: Path,
    fault: Any,
) -> None:
    index.fail(FILE, fault)
    with pytest.raises(HashMismatchError) as caught:
        make_downloader().fetch(replace(link, size=None), None, folder)
    assert NAME in caught.value.what
    assert index.simple_url in caught.value.what
    assert f"Expected sha256 {wheel.sha256}" in caught.value.why
    assert "Got" in caught.value.why
    assert names_in(folder) == []
    assert list((tmp_path / "cache").rglob("*.part")) == []


def test_hash_of_the_user_counts(
    make_downloader: Callable[..., Downloader], link: Link, wheel: BuiltWheel, folder: Path
) -> None:
    wrong, right = "0" * 64, wheel.sha256
    downloader = make_downloader()
    with pytest.raises(HashMismatchError) as caught:
        downloader.fetch(link, {"sha256": frozenset({wrong})}, folder)
    assert f"Expected sha256 {wrong}" in caught.value.why
    assert right in caught.value.why
    assert names_in(folder) == []
    assert downloader.fetch(link, {"sha256": frozenset({wrong, right})}, folder).sha256 == right
    sha512 = hashlib.sha512(wheel.content).hexdigest()
    both = {"sha256": frozenset({wrong}), "sha512": frozenset({sha512})}
    assert downloader.fetch(link, both, folder).sha256 == right


def test_every_hash_of_the_index_counts(
    make_downloader: Callable[..., Downloader], link: Link, wheel: BuiltWheel, folder: Path
) -> None:
    wrong = replace(link, hashes={"sha256": wheel.sha256, "md5": "0" * 32})
    with pytest.raises(HashMismatchError, match="md5"):
        make_downloader().fetch(wrong, None, folder)


def test_unknown_algorithms_of_the_index_are_ignored(
    make_downloader: Callable[..., Downloader], link: Link, wheel: BuiltWheel, folder: Path
) -> None:
    strange = replace(link, hashes={"sha256": wheel.sha256, "crc99": "0", "shake_128": "1"})
    assert make_downloader().fetch(strange, None, folder).sha256 == wheel.sha256


def test_slow_file_is_waited_for(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    index.fail(FILE, Drip(size=50_000, pause=0.1))
    got = make_downloader(timeout=0.5, retries=0).fetch(link, None, folder)
    assert got.path.read_bytes() == wheel.content


def test_missing_file_is_said(
    make_downloader: Callable[..., Downloader], index: SimpleIndex, link: Link, folder: Path
) -> None:
    index.fail(FILE, Status(404))
    with pytest.raises(IndexAccessError, match="404"):
        make_downloader().fetch(link, None, folder)


def test_local_file_stays_where_it_is(
    make_downloader: Callable[..., Downloader], wheel: BuiltWheel, folder: Path, tmp_path: Path
) -> None:
    path = wheel.write_to(tmp_path)
    link = Link(path.as_uri(), NAME, {"sha256": wheel.sha256})
    got = make_downloader().fetch(link, None, folder)
    assert (got.path, got.sha256) == (path, wheel.sha256)
    assert names_in(folder) == []
    with pytest.raises(HashMismatchError):
        make_downloader().fetch(replace(link, hashes={"sha256": "0" * 64}), None, folder)
    assert path.exists()


def test_whole_file_fetched_before_is_used(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    downloader = make_downloader()
    kept = downloader.keep_whole(link)
    assert kept is not None
    got = downloader.fetch(link, None, folder)
    assert got.path.read_bytes() == wheel.content
    assert index.count(FILE) == 1
    assert not kept.exists()


def test_whole_file_that_was_damaged_is_fetched_again(
    make_downloader: Callable[..., Downloader],
    index: SimpleIndex,
    link: Link,
    wheel: BuiltWheel,
    folder: Path,
) -> None:
    downloader = make_downloader()
    kept = downloader.keep_whole(link)
    assert kept is not None
    kept.write_bytes(b"damaged")
    assert downloader.fetch(link, None, folder).path.read_bytes() == wheel.content
    assert index.count(FILE) == 2
