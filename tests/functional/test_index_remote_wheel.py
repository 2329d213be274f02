"""Single files out of remote wheels: few bytes, and never a wrong answer."""

from __future__ import annotations

import io
import random
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import ChangingETag, IgnoreRange, LyingRange, Reset, Status, Truncated
from tests.support.index import HostedFile, SimpleIndex
from tests.support.wheels import make_wheel
from vinstall.distributions.link import Link
from vinstall.errors import IndexAccessError, WheelFormatError
from vinstall.events import SilentObserver
from vinstall.index.client import HttpClient, Patience
from vinstall.index.remote_wheel import RangesNotSupportedError, read_remote_file
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "sample-1.0-py3-none-any-v3.whl"
FILE = f"/files/{NAME}"
NOISE = random.Random(2).randbytes(2_000_000)
WHEEL = make_wheel(
    "sample",
    "1.0",
    label="v3",
    properties="x86_64 :: level :: v3",
    files={"sample.bin": NOISE},
    compress=False,
)


@pytest.fixture
def client() -> Iterator[HttpClient]:
    made = HttpClient(
        IndexSettings(timeout=5.0, retries=2),
        SilentObserver(),
        environment={},
        patience=Patience(sleep=lambda seconds: None),
    )
    yield made
    made.close()


def host(index: SimpleIndex, content: bytes = WHEEL.content, size: int | None = None) -> Link:
    index.add_file(HostedFile(NAME, "sample", "1.0", content))
    return Link(index.file_url(NAME), NAME, size=size)


def dist_info(name: str, content: bytes = WHEEL.content) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(f"sample-1.0.dist-info/{name}")


@pytest.mark.parametrize("name", ["METADATA", "variant.json"])
@pytest.mark.parametrize("size", [None, len(WHEEL.content)])
def test_a_few_kilobytes_are_enough(
    client: HttpClient, index: SimpleIndex, name: str, size: int | None
) -> None:
    assert read_remote_file(client, host(index, size=size), name) == dist_info(name)
    assert index.bytes_sent < 40_000


def test_dist_info_at_the_beginning(client: HttpClient, index: SimpleIndex) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sample-1.0.dist-info/METADATA", "Name: sample\nVersion: 1.0\n" * 500)
        archive.writestr("sample.bin", NOISE)
    data = read_remote_file(client, host(index, buffer.getvalue()), "METADATA")
    assert data == dist_info("METADATA", buffer.getvalue())
    assert index.count(FILE) == 2
    assert index.bytes_sent < 40_000


def test_directory_larger_than_the_tail(client: HttpClient, index: SimpleIndex) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sample.bin", NOISE)
        for number in range(1500):
            archive.writestr(f"sample/data_{number}.txt", "x")
        archive.writestr("sample-1.0.dist-info/METADATA", "Name: sample\nVersion: 1.0\n")
    content = buffer.getvalue()
    assert read_remote_file(client, host(index, content), "METADATA") == dist_info(
        "METADATA", content
    )
    assert index.bytes_sent < 400_000


def test_comment_and_zip64(
    client: HttpClient, index: SimpleIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sample.bin", NOISE)
        archive.writestr("sample-1.0.dist-info/METADATA", "Name: sample\nVersion: 1.0\n")
        archive.comment = b"c" * 40_000
    content = buffer.getvalue()
    assert b"PK\x06\x06" in content
    assert read_remote_file(client, host(index, content), "METADATA") == dist_info(
        "METADATA", content
    )


def test_small_wheel_comes_whole_from_a_server_without_ranges(
    client: HttpClient, index: SimpleIndex
) -> None:
    small = make_wheel("sample", "1.0", label="v3", properties="x86_64 :: level :: v3")
    index.ranges = False
    link = host(index, small.content)
    assert read_remote_file(client, link, "METADATA") == dist_info("METADATA", small.content)
    assert index.count(FILE) == 1


def test_large_wheel_is_not_taken_whole(client: HttpClient, index: SimpleIndex) -> None:
    index.ranges = False
    with pytest.raises(RangesNotSupportedError):
        read_remote_file(client, host(index), "METADATA")


@pytest.mark.parametrize("fault", [IgnoreRange(), LyingRange()], ids=repr)
def test_wrong_parts_are_noticed(client: HttpClient, index: SimpleIndex, fault: Any) -> None:
    link = host(index)
    index.fail(FILE, fault)
    with pytest.raises(RangesNotSupportedError):
        read_remote_file(client, link, "METADATA")


def test_file_that_changes_meanwhile_is_noticed(client: HttpClient, index: SimpleIndex) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sample-1.0.dist-info/METADATA", "Name: sample\nVersion: 1.0\n")
        archive.writestr("sample.bin", NOISE)
    link = host(index, buffer.getvalue())
    index.fail(FILE, ChangingETag())
    with pytest.raises(RangesNotSupportedError, match="changed"):
        read_remote_file(client, link, "METADATA")


def test_server_that_refuses_the_end_is_asked_for_the_length(
    client: HttpClient, index: SimpleIndex
) -> None:
    link = host(index)
    index.fail(FILE, Status(416), times=1, method="GET")
    assert read_remote_file(client, link, "METADATA") == dist_info("METADATA")
    assert [request.method for request in index.requests] == ["GET", "HEAD", "GET"]


@pytest.mark.parametrize("fault", [Truncated(1000), Reset(after=1000)], ids=repr)
def test_broken_answers_are_asked_for_again(
    client: HttpClient, index: SimpleIndex, fault: Any
) -> None:
    link = host(index)
    index.fail(FILE, fault, times=1)
    assert read_remote_file(client, link, "METADATA") == dist_info("METADATA")


@pytest.mark.parametrize("status", [401, 404, 503])
def test_other_trouble_is_an_error_of_access(
    client: HttpClient, index: SimpleIndex, status: int
) -> None:
    link = host(index)
    index.fail(FILE, Status(status))
    with pytest.raises(IndexAccessError) as caught:
        read_remote_file(client, link, "METADATA")
    assert not isinstance(caught.value, RangesNotSupportedError)


def test_wheel_without_the_file(client: HttpClient, index: SimpleIndex) -> None:
    with pytest.raises(WheelFormatError, match=r"no \*\.dist-info/entry_points\.txt"):
        read_remote_file(client, host(index), "entry_points.txt")


@pytest.mark.parametrize("content", [b"", b"x", b"x" * 100_000], ids=len)
def test_no_archive(client: HttpClient, index: SimpleIndex, content: bytes) -> None:
    with pytest.raises(IndexAccessError):
        read_remote_file(client, host(index, content), "METADATA")
