"""Answers on disk: how long they are fresh, and that broken ones count as missing."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from vinstall.distributions.link import Link
from vinstall.events import RecordingObserver
from vinstall.index.page_table import read_page
from vinstall.index.response_cache import Freshness, KeptPage, ResponseCache, freshness_of, now

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://h.test/simple/sample/"
LINK = Link(
    "https://f.test/sample-1.0-py3-none-any.whl",
    "sample-1.0-py3-none-any.whl",
    {"sha256": "ab" * 32},
    ">=3.9",
    "",
    {},
    12,
    "2026-01-02T03:04:05Z",
    "https://h.test/simple",
)
FILE = {
    "filename": LINK.filename,
    "url": LINK.url,
    "hashes": LINK.hashes,
    "requires-python": LINK.requires_python,
    "yanked": True,
    "core-metadata": True,
    "size": LINK.size,
    "upload-time": LINK.upload_time,
}
PAGE = read_page(
    json.dumps({"meta": {"api-version": "1.1"}, "files": [FILE]}).encode(),
    "application/vnd.pypi.simple.v1+json",
    URL,
    index=LINK.index,
    project="sample",
)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Freshness(1000.0)),
        ({"cache-control": "max-age=600, public"}, Freshness(1600.0)),
        ({"cache-control": 'Max-Age="600"', "age": "100"}, Freshness(1500.0)),
        ({"cache-control": "max-age=60", "age": "100"}, Freshness(1000.0)),
        ({"cache-control": "no-cache, max-age=600", "etag": '"x"'}, Freshness(1000.0, '"x"')),
        ({"cache-control": "no-store"}, None),
        ({"last-modified": "then"}, Freshness(1000.0, "", "then")),
        ({"cache-control": "max-age=-5"}, Freshness(1000.0)),
    ],
)
def test_freshness(headers: dict[str, str], expected: Freshness | None) -> None:
    assert freshness_of(headers, 1000.0) == expected


def test_page_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    page = KeptPage(PAGE, Freshness(5.0, '"e"', "m"))
    cache.keep_page(URL, "", page)
    kept = cache.find_page(URL)
    assert kept is not None
    assert kept.freshness == page.freshness
    assert tuple(kept.page.links) == (LINK,)
    assert kept.page.links.groups == PAGE.links.groups
    assert cache.find_page(URL + "other/") is None


def test_page_of_one_user_is_not_that_of_another(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    cache.keep_page(URL, "one", KeptPage(PAGE))
    assert cache.find_page(URL, "two") is None
    assert cache.find_page(URL) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"url": 1}', b"\xff\x00", b'{"url":"%s"}' % URL.encode()]
)
def test_broken_page_counts_as_missing(tmp_path: Path, content: bytes) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    cache.keep_page(URL, "", KeptPage(PAGE))
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(content)
    assert cache.find_page(URL) is None


@pytest.mark.parametrize("position", [10, -10])
def test_page_with_one_other_byte_counts_as_missing(tmp_path: Path, position: int) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    cache.keep_page(URL, "", KeptPage(PAGE))
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    content = bytearray(path.read_bytes())
    content[position] ^= 0x01
    path.write_bytes(content)
    assert cache.find_page(URL) is None


def test_page_that_needs_no_question_is_told_by_its_file(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    assert not cache.has_fresh_page(URL)
    cache.keep_page(URL, "", KeptPage(PAGE, Freshness(5.0)))
    assert not cache.has_fresh_page(URL)
    cache.keep_page(URL, "", KeptPage(PAGE, Freshness(now() + 100)))
    assert cache.has_fresh_page(URL)


def test_file_comes_back_or_counts_as_missing(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path), RecordingObserver())
    assert cache.find_file("key") is None
    cache.keep_file("key", b"content")
    assert cache.find_file("key") == b"content"
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.find_file("key") is None


def test_no_folder_keeps_nothing() -> None:
    cache = ResponseCache("", RecordingObserver())
    cache.keep_file("key", b"content")
    assert cache.find_file("key") is None


def test_folder_that_can_not_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    observer = RecordingObserver()
    cache = ResponseCache(str(tmp_path / "file" / "cache"), observer)
    cache.keep_file("one", b"1")
    cache.keep_page(URL, "", KeptPage(PAGE))
    assert [warning.code for warning in observer.warnings()] == ["cache-unusable"]


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no write bit there")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes anywhere")
def test_read_only_cache_is_still_read(tmp_path: Path) -> None:
    observer = RecordingObserver()
    ResponseCache(str(tmp_path), observer).keep_file("key", b"content")
    for folder in [tmp_path, *tmp_path.rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o555)
    cache = ResponseCache(str(tmp_path), observer)
    cache.keep_file("other", b"x")
    assert cache.find_file("key") == b"content"
    for folder in [tmp_path, *tmp_path.rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o755)
