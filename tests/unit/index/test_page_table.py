"""Pages as tables: the same links as read one by one, sorted by release, whatever reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vinstall.index import page_table
from vinstall.index.page_table import PageTable, describe_page, load_page, read_page
from vinstall.index.simple import parse_simple_page

JSON = "application/vnd.pypi.simple.v1+json"
URL = "https://index.test/simple/sample/"
INDEX = "https://index.test/simple/"


@pytest.fixture(params=["json", "msgspec"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either of the two that read pages."""
    pays = 10**12 if request.param == "json" else 0
    monkeypatch.setattr(page_table, "_IMPORT_PAYS", pays)
    name: str = request.param
    return name


def file(name: str, **more: Any) -> dict[str, Any]:
    return {"filename": name, "url": f"https://files.test/{name}", "hashes": {}, **more}


def page(*files: Any, **more: Any) -> bytes:
    return json.dumps({"meta": {"api-version": "1.1"}, "files": list(files), **more}).encode()


def read(data: bytes, content_type: str = JSON) -> PageTable:
    return read_page(data, content_type, URL, index=INDEX, project="sample")


def versions(table: PageTable) -> list[tuple[str, bool, bool]]:
    return [(one.version_text, one.is_prerelease, one.is_yanked) for one in table.links.groups]


def wheel(version: str, tag: str = "py3-none-any", **more: Any) -> dict[str, Any]:
    return file(f"sample-{version}-{tag}.whl", **more)


def test_releases_come_newest_first_and_tell_what_they_are(reader: str) -> None:
    data = page(
        wheel("1.9"),
        wheel("1.10", yanked="broken"),
        wheel("2.0rc1"),
        wheel("1.10", "cp311-cp311-win_amd64", yanked=True),
        file("sample-1.9.tar.gz", yanked=True),
        file("sample-1.10-variants.json"),
    )
    assert versions(read(data)) == [
        ("2.0rc1", True, False),
        ("1.10", False, True),
        ("1.9", False, False),
    ]


def test_one_version_in_two_forms_is_one_release(reader: str) -> None:
    table = read(page(wheel("1.0", yanked=True), wheel("1.0.0"), file("sample-1.00-variants.json")))
    assert versions(table) == [("1.0", False, False)]
    assert {link.filename for link in table.links.files(0)} == {
        "sample-1.0-py3-none-any.whl",
        "sample-1.0.0-py3-none-any.whl",
        "sample-1.00-variants.json",
    }


def test_what_belongs_to_no_release_comes_last(reader: str) -> None:
    table = read(page(file("other-1.0-py3-none-any.whl"), wheel("!"), wheel("1.0")))
    assert versions(table) == [("1.0", False, False), ("", False, False)]


@pytest.mark.parametrize(
    "odd",
    [
        {"filename": "sample-1.0.egg", "url": "https://files.test/sample-1.0.egg"},
        {"filename": "../sample-1.0-py3-none-any.whl", "url": "https://files.test/x"},
        {"filename": "sample-1.1-py3-none-any.whl", "url": "file:///etc/passwd"},
        {"filename": "sample-1.1-py3-none-any.whl", "url": "https://files.test:x/a"},
        {"filename": "sample-1.1-py3-none-any.whl", "url": "//other.test/a.whl"},
        {"filename": "sample-1.1-py3-none-any.whl", "url": "a.whl"},
        {"filename": None, "url": "https://files.test/sample-1.2-py3-none-any.whl"},
        {"filename": 3, "url": "https://files.test/sample-1.2-py3-none-any.whl"},
        {"url": None},
        "text",
        None,
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_odd_files_are_told_as_one_by_one(reader: str, odd: object, first: bool) -> None:
    files = [odd, wheel("1.0")] if first else [wheel("1.0"), odd]
    expected = parse_simple_page(page(*files), JSON, URL, index=INDEX)
    assert set(map(repr, read(page(*files)).links)) == set(map(repr, expected))


def test_html_gives_the_same_as_one_by_one() -> None:
    data = (
        b'<a href="https://files.test/sample-1.0-py3-none-any.whl#sha256=' + b"ab" * 32 + b'"'
        b' data-requires-python="&gt;=3.9" data-yanked="why" data-core-metadata="true">x</a>'
    )
    expected = parse_simple_page(data, "text/html", URL, index=INDEX)
    table = read(data, "text/html")
    assert tuple(table.links) == expected
    assert versions(table) == [("1.0", False, True)]


def test_a_quarantined_project_has_no_files(reader: str) -> None:
    status = {"status": "quarantined"}
    assert not read(page(wheel("1.0"), **{"project-status": status})).links


def test_a_page_comes_back_and_damage_is_noticed(reader: str) -> None:
    before = read(page(wheel("1.0"), wheel("2.0")))
    document = json.loads(json.dumps(describe_page(before)))
    assert load_page(document, before.body).links == before.links
    for body in (before.body[:-1], before.body[:-1] + b"}"):
        with pytest.raises(ValueError, match="damaged"):
            load_page(document, body)


def test_a_link_is_made_when_its_release_is_looked_at() -> None:
    made: list[tuple[int, int]] = []
    groups = read(page(wheel("1.0"), wheel("2.0"))).links.groups
    from vinstall.distributions.link_table import LinkTable

    def make(start: int, end: int) -> tuple[()]:
        made.append((start, end))
        return ()

    table = LinkTable("sample", groups, make)
    table.files(1)
    table.files(1)
    assert made == [(groups[0].end, groups[1].end)]
