"""Pages of the simple repository API, in both forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vinstall.distributions.link import Link
from vinstall.errors import IndexAccessError
from vinstall.index.simple import parse_simple_page

JSON = "application/vnd.pypi.simple.v1+json"
URL = "https://index.test/simple/sample/"
WHEEL = "sample-1.0-py3-none-any.whl"
DIGEST = "ab" * 32


def json_page(*files: dict[str, Any], **more: Any) -> bytes:
    document = {"meta": {"api-version": "1.1"}, "name": "sample", "files": files, **more}
    return json.dumps(document).encode()


def html_page(*anchors: str, head: str = "") -> bytes:
    return (
        f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(anchors)}</body></html>".encode()
    )


def one(links: tuple[Link, ...]) -> Link:
    assert len(links) == 1
    return links[0]


def test_json_gives_every_field() -> None:
    page = json_page(
        {
            "filename": WHEEL,
            "url": f"https://files.test/a/{WHEEL}",
            "hashes": {"sha256": DIGEST.upper()},
            "requires-python": ">=3.9",
            "yanked": "broken",
            "core-metadata": {"sha256": DIGEST},
            "size": 1234,
            "upload-time": "2026-01-02T03:04:05.678901Z",
            "provenance": None,
        },
        tracks=["https://other.test/simple/sample/"],
    )
    assert parse_simple_page(page, JSON, URL, index="https://index.test/simple") == (
        Link(
            f"https://files.test/a/{WHEEL}",
            WHEEL,
            {"sha256": DIGEST},
            ">=3.9",
            "broken",
            {"sha256": DIGEST},
            1234,
            "2026-01-02T03:04:05.678901Z",
            "https://index.test/simple",
        ),
    )


@pytest.mark.parametrize(
    ("value", "expected"), [(False, None), (True, ""), ("why", "why"), ("", ""), (None, None)]
)
def test_json_yanked(value: object, expected: str | None) -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL, "hashes": {}, "yanked": value})
    assert one(parse_simple_page(page, JSON, URL)).yanked == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"core-metadata": True}, {}),
        ({"core-metadata": False}, None),
        ({"core-metadata": {"sha256": DIGEST}}, {"sha256": DIGEST}),
        ({"dist-info-metadata": {"sha256": DIGEST}}, {"sha256": DIGEST}),
        ({"core-metadata": False, "dist-info-metadata": True}, None),
    ],
)
def test_json_metadata_file(fields: dict[str, Any], expected: object) -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL, "hashes": {}, **fields})
    assert one(parse_simple_page(page, JSON, URL)).metadata_hashes == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"size": "big"},
        {"size": -1},
        {"size": True},
        {"requires-python": 3},
        {"upload-time": 0},
        {"hashes": None},
        {"hashes": {"sha256": 5}},
    ],
)
def test_json_fields_of_a_wrong_type_count_as_missing(fields: dict[str, Any]) -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL, **fields})
    link = one(parse_simple_page(page, JSON, URL))
    assert (link.size, link.requires_python, link.upload_time, link.hashes) == (None, "", "", {})


@pytest.mark.parametrize(
    "file",
    [
        {"filename": "../evil-1.0-py3-none-any.whl", "url": WHEEL},
        {"filename": "a\\b-1.0-py3-none-any.whl", "url": WHEEL},
        {"filename": "nul\x00-1.0-py3-none-any.whl", "url": WHEEL},
        {"filename": WHEEL},
        {"filename": WHEEL, "url": "file:///etc/sample-1.0-py3-none-any.whl"},
        {"filename": WHEEL, "url": "ftp://files.test/sample-1.0-py3-none-any.whl"},
        {"filename": WHEEL, "url": "javascript:alert(1)//sample-1.0-py3-none-any.whl"},
        {"filename": WHEEL, "url": "http://[::1/sample.whl"},
        {"filename": WHEEL, "url": "http://h.test:port/sample.whl"},
        {"filename": WHEEL, "url": "https:///sample.whl"},
        {"filename": "sample-1.0.exe", "url": "sample-1.0.exe"},
        {"filename": "sample-1.0.egg", "url": "sample-1.0.egg"},
        "not an object",
    ],
)
def test_what_is_no_usable_file_is_left_out(file: Any) -> None:
    good = {"filename": "sample-2.0-py3-none-any.whl", "url": "sample-2.0-py3-none-any.whl"}
    links = parse_simple_page(json_page(file, good), JSON, URL)
    assert [link.filename for link in links] == ["sample-2.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    "filename",
    [
        WHEEL,
        "sample-1.0-py3-none-any-cu128.whl",
        "sample-1.0.tar.gz",
        "sample-1.0.zip",
        "sample-1.0-variants.json",
    ],
)
def test_kinds_that_are_kept(filename: str) -> None:
    page = json_page({"filename": filename, "url": filename, "hashes": {}})
    assert one(parse_simple_page(page, JSON, URL)).filename == filename
    html = html_page(f'<a href="{filename}">{filename}</a>')
    assert one(parse_simple_page(html, "text/html", URL)).filename == filename


def test_html_gives_every_field() -> None:
    page = html_page(
        f'<a href="../../files/{WHEEL}#sha256={DIGEST}" data-requires-python="&gt;=3.9"'
        f' data-yanked="broken" data-core-metadata="sha256={DIGEST}">{WHEEL}</a>'
    )
    assert parse_simple_page(page, "text/html; charset=utf-8", URL) == (
        Link(
            f"https://index.test/files/{WHEEL}",
            WHEEL,
            {"sha256": DIGEST},
            ">=3.9",
            "broken",
            {"sha256": DIGEST},
            index=URL,
        ),
    )


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("", None),
        ('data-core-metadata="true"', {}),
        ('data-core-metadata="false"', None),
        (f'data-core-metadata="sha256={DIGEST}"', {"sha256": DIGEST}),
        (f'data-dist-info-metadata="sha256={DIGEST}"', {"sha256": DIGEST}),
        ('data-core-metadata="true" data-dist-info-metadata="false"', {}),
    ],
)
def test_html_metadata_file(attribute: str, expected: object) -> None:
    page = html_page(f'<a href="{WHEEL}" {attribute}>x</a>')
    assert one(parse_simple_page(page, "text/html", URL)).metadata_hashes == expected


@pytest.mark.parametrize(
    ("base", "href", "expected"),
    [
        ("", WHEEL, f"{URL}{WHEEL}"),
        ("", f"/f/{WHEEL}", f"https://index.test/f/{WHEEL}"),
        ("", f"//cdn.test/{WHEEL}", f"https://cdn.test/{WHEEL}"),
        ("", f"https://cdn.test/{WHEEL}?token=a%20b", f"https://cdn.test/{WHEEL}?token=a%20b"),
        ('<base href="https://cdn.test/x/">', WHEEL, f"https://cdn.test/x/{WHEEL}"),
        ('<base href="/x/">', WHEEL, f"https://index.test/x/{WHEEL}"),
        ('<base href="/x/"><base href="/y/">', WHEEL, f"https://index.test/x/{WHEEL}"),
    ],
)
def test_where_html_links_lead(base: str, href: str, expected: str) -> None:
    page = html_page(f'<a href="{href}">x</a>', head=base)
    assert one(parse_simple_page(page, "text/html", URL)).url == expected


@pytest.mark.parametrize("written", ["sample-1.0%2Bcu128-", "sample-1.0+cu128-"])
def test_plus_signs_may_be_escaped(written: str) -> None:
    page = html_page(f'<a href="{written}py3-none-any.whl">x</a>')
    link = one(parse_simple_page(page, "text/html", URL))
    assert link.filename == "sample-1.0+cu128-py3-none-any.whl"
    assert link.url == f"{URL}{written}py3-none-any.whl"


def test_spaces_in_addresses_are_escaped() -> None:
    page = html_page(f'<a href="my files/{WHEEL}">x</a>')
    assert one(parse_simple_page(page, "text/html", URL)).url == f"{URL}my%20files/{WHEEL}"


def test_other_fragments_are_no_hash() -> None:
    page = html_page(f'<a href="{WHEEL}#egg=sample">x</a>')
    link = one(parse_simple_page(page, "text/html", URL))
    assert link.hashes == {}
    assert "#" not in link.url


def test_page_without_content_type_is_told_by_its_body() -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL, "hashes": {}})
    assert one(parse_simple_page(page, "", URL)).filename == WHEEL
    assert one(parse_simple_page(html_page(f'<a href="{WHEEL}">x</a>'), "", URL)).filename == WHEEL


def test_page_in_another_charset() -> None:
    page = f'<a href="{WHEEL}" data-yanked="caf\xe9">x</a>'.encode("latin-1")
    assert one(parse_simple_page(page, "text/html; charset=latin-1", URL)).yanked == "caf\xe9"


def test_local_page_may_link_local_files() -> None:
    page = html_page(f'<a href="{WHEEL}">x</a>', f'<a href="https://cdn.test/{WHEEL}">x</a>')
    links = parse_simple_page(page, "text/html", "file:///srv/wheels/index.html")
    assert [link.url for link in links] == [
        f"file:///srv/wheels/{WHEEL}",
        f"https://cdn.test/{WHEEL}",
    ]


def test_credentials_of_the_page_stay_with_the_page() -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL, "hashes": {}})
    link = one(parse_simple_page(page, JSON, "https://u:secret@index.test/simple/sample/"))
    assert link.url == f"{URL}{WHEEL}"
    assert link.index == URL


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (
            json_page(
                {"filename": WHEEL, "url": WHEEL}, **{"project-status": {"status": "quarantined"}}
            ),
            JSON,
        ),
        (
            html_page(
                f'<a href="{WHEEL}">x</a>',
                head='<meta name="pypi:project-status" content="quarantined">',
            ),
            "text/html",
        ),
    ],
)
def test_quarantined_project_has_no_files(data: bytes, content_type: str) -> None:
    assert parse_simple_page(data, content_type, URL) == ()


@pytest.mark.parametrize("status", ["active", "archived", "deprecated", "something-new"])
def test_other_project_statuses_change_nothing(status: str) -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL}, **{"project-status": {"status": status}})
    assert len(parse_simple_page(page, JSON, URL)) == 1


@pytest.mark.parametrize(
    ("data", "content_type", "word"),
    [
        (b"{", JSON, "not valid JSON"),
        (b"[]", JSON, "lists no files"),
        (b'{"files": {}}', JSON, "lists no files"),
        (b"[" * 100_000, JSON, "not valid JSON"),
        (b"\xff\xfe{", JSON, "not valid JSON"),
        (json_page(meta={"api-version": "2.0"}), JSON, "version 2"),
        (json_page(), "application/vnd.pypi.simple.v2+json", "version 2"),
        (
            html_page(head='<meta name="pypi:repository-version" content="2.0">'),
            "text/html",
            "version 2",
        ),
        (b"PK", "application/zip", "application/zip"),
        (html_page("<h1>Please log in</h1>"), "text/html", "HTML page"),
    ],
)
def test_what_is_no_page_is_refused(data: bytes, content_type: str, word: str) -> None:
    with pytest.raises(IndexAccessError) as caught:
        parse_simple_page(data, content_type, "https://u:secret@index.test/simple/sample/")
    assert word in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("version", ["1.0", "1.9", None])
def test_newer_minor_versions_are_read(version: str | None) -> None:
    page = json_page({"filename": WHEEL, "url": WHEEL}, meta={"api-version": version})
    assert len(parse_simple_page(page, JSON, URL)) == 1


def test_empty_page_of_an_index_is_no_error() -> None:
    page = html_page(head='<meta name="pypi:repository-version" content="1.0">')
    assert parse_simple_page(page, "text/html", URL) == ()
    assert parse_simple_page(json_page(), JSON, URL) == ()
    assert parse_simple_page(html_page("<h1>x</h1>"), "text/html", URL, any_page=True) == ()


def test_large_page_keeps_its_order() -> None:
    names = [f"sample-1.{number}-py3-none-any.whl" for number in range(5000)]
    page = json_page(*({"filename": name, "url": name, "hashes": {}} for name in names))
    assert [link.filename for link in parse_simple_page(page, JSON, URL)] == names
    html = html_page(*(f'<a href="{name}">{name}</a>' for name in names))
    assert [link.filename for link in parse_simple_page(html, "text/html", URL)] == names
