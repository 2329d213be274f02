"""URLs: what is shown, what is kept, what they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vinstall.index.address import (
    file_url,
    filename_of,
    host_of,
    is_secure,
    is_trusted_host,
    path_of,
    project_url,
    quote_url,
    redact_url,
    split_credentials,
    strip_credentials,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "shown", "bare", "credentials"),
    [
        ("https://h.test/s", "https://h.test/s", "https://h.test/s", None),
        ("https://u:p@h.test/s", "https://u:****@h.test/s", "https://h.test/s", ("u", "p")),
        ("https://token@h.test/s", "https://****@h.test/s", "https://h.test/s", ("token", None)),
        ("https://u:@h.test/", "https://u:****@h.test/", "https://h.test/", ("u", "")),
        ("https://u:p%40%2F@h.test/", "https://u:****@h.test/", "https://h.test/", ("u", "p@/")),
        ("https://u:a@b@h.test/", "https://u:****@h.test/", "https://h.test/", ("u", "a@b")),
        ("https://h.test/a@b/c", "https://h.test/a@b/c", "https://h.test/a@b/c", None),
        ("https://h.test?x=a@b", "https://h.test?x=a@b", "https://h.test?x=a@b", None),
        ("file:///a@b", "file:///a@b", "file:///a@b", None),
    ],
)
def test_credentials_in_urls(
    url: str, shown: str, bare: str, credentials: tuple[str, str | None] | None
) -> None:
    assert redact_url(url) == shown
    assert strip_credentials(url) == bare
    assert split_credentials(url) == (bare, credentials)


def test_every_url_of_a_text_is_redacted() -> None:
    text = "from https://u:one@a.test/ to http://two@b.test/x"
    assert redact_url(text) == "from https://u:****@a.test/ to http://****@b.test/x"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://h.test/a/b-1.0.tar.gz", "b-1.0.tar.gz"),
        ("https://h.test/a/b-1.0%2Bcu.whl?x=/y#sha256=1", "b-1.0+cu.whl"),
        ("https://h.test/a/", ""),
        ("https://h.test/a%2F..%2Fb.whl", ""),
        ("https://h.test/..", ""),
        ("https://h.test/a%00.whl", ""),
    ],
)
def test_file_name_of_a_url(url: str, name: str) -> None:
    assert filename_of(url) == name


def test_quoting_leaves_escapes_alone() -> None:
    assert (
        quote_url("https://h.test/a b%20c/\u00e9?x=[1]") == "https://h.test/a%20b%20c/%C3%A9?x=[1]"
    )


def test_paths_and_urls_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a b+c#d%20.whl"
    assert path_of(file_url(path)) == path
    assert path_of("file://localhost" + file_url(path)[7:]) == path
    with pytest.raises(ValueError, match="another machine"):
        path_of("file://other.test/a.whl")


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("https://h.test/simple", "https://h.test/simple/sample/"),
        ("https://h.test/simple/", "https://h.test/simple/sample/"),
        ("https://u:p@h.test/simple", "https://u:p@h.test/simple/sample/"),
        ("https://h.test/simple?key=1", "https://h.test/simple/sample/?key=1"),
    ],
)
def test_page_of_a_project(index: str, expected: str) -> None:
    assert project_url(index, "sample") == expected


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("https://h.test/", True),
        ("http://h.test/", False),
        ("http://localhost:8080/", True),
        ("http://127.0.0.3/", True),
        ("http://[::1]:3141/", True),
        ("http://10.0.0.1/", False),
        ("file:///srv", True),
    ],
)
def test_secure_origins(url: str, secure: bool) -> None:
    assert is_secure(url) is secure


@pytest.mark.parametrize(
    ("entry", "url", "trusted"),
    [
        ("h.test", "https://h.test/", True),
        ("h.test", "http://H.test:8080/", True),
        ("h.test:8080", "http://h.test:8080/", True),
        ("h.test:8080", "http://h.test/", False),
        ("h.test:443", "https://h.test/", True),
        ("test", "http://h.test/", False),
        ("[::1]", "http://[::1]:80/", True),
    ],
)
def test_trusted_hosts(entry: str, url: str, trusted: bool) -> None:
    assert is_trusted_host(url, (entry,)) is trusted


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://u:p@h.test:80/a@b?c#d", "h.test:80"),
        ("https://h.test?x=@y", "h.test"),
        ("https://[::1]:3141/", "[::1]:3141"),
        ("file:///srv", ""),
    ],
)
def test_host(url: str, host: str) -> None:
    assert host_of(url) == host
