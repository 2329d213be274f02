"""One page of a simple index → links. No I/O.

Implements the simple repository API: PEP 503 (HTML), 592 (yanked), 629 (version of the
API), 658 and 714 (metadata files), 691 (JSON), 700 (size, upload time), 708 (read over),
740 (provenance), 792 (project status). Both forms turn into the same ``Link`` values.

``page_table`` reads the same pages and makes links of what is looked at.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from vinstall.distributions.filename import SDIST_SUFFIXES
from vinstall.distributions.link import Link
from vinstall.errors import IndexAccessError
from vinstall.index.address import (
    filename_of,
    is_plain_name,
    is_url,
    quote_url,
    redact_url,
    strip_credentials,
)
from vinstall.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGE_TYPES = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
"""What to send as ``Accept`` for a page."""

VARIANTS_SUFFIX = "-variants.json"
KEPT_SUFFIXES = (".whl", *SDIST_SUFFIXES, VARIANTS_SUFFIX)
"""How the names of files end that are links."""
_JSON_TYPE = lazy_pattern(r"application/vnd\.pypi\.simple\.(v\d+|latest)\+json|application/json")
_HTML_TYPE = lazy_pattern(
    r"application/vnd\.pypi\.simple\.(v\d+|latest)\+html|text/html|application/xhtml\+xml"
)
_MAX_SIZE = 1 << 63
_HASH = lazy_pattern(r"(sha512|sha384|sha256|sha224|sha1|md5|blake2b)=([0-9a-fA-F]+)")
_CHARSET = lazy_pattern(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


def parse_simple_page(
    data: bytes, content_type: str, url: str, *, index: str | None = None, any_page: bool = False
) -> tuple[Link, ...]:
    """Read the page of a project.

    Wheels, source distributions and ``*-variants.json`` files are kept; other files are
    not links. ``file:`` links count only on a page that is a local file itself.

    Args:
        data: The body, decoded from its transfer.
        content_type: The header; may be empty, then the body decides.
        url: Where the page was found in the end, for links relative to it.
        index: What the links carry as ``Link.index``; the page itself if not given.
        any_page: Whether an HTML page without a single file is fine (``--find-links``).

    Returns:
        The links in the order of the page.

    Raises:
        IndexAccessError: The page is not one of a simple index, or of an unknown version.
    """
    kind = content_type.partition(";")[0].strip().lower()
    make = _link_maker(url, strip_credentials(url if index is None else index))
    if is_json_page(data, content_type, url):
        return _parse_json(data, url, make)
    if _HTML_TYPE.fullmatch(kind) or not kind:
        _check_version_of_type(kind, url)
        return _parse_html(data, content_type, url, make, any_page)
    raise IndexAccessError(
        f"{redact_url(url)} is not a page of a simple index",
        f"its content type is {kind!r}, not HTML or JSON",
    )


def is_json_page(data: bytes, content_type: str, url: str) -> bool:
    """Whether a page is a JSON page, by its content type, else by its first character.

    Raises:
        IndexAccessError: It is one of an unknown version.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if _JSON_TYPE.fullmatch(kind) or (not kind and data[:64].lstrip()[:1] == b"{"):
        _check_version_of_type(kind, url)
        return True
    return False


def check_page(version: object, status: object, url: str) -> bool:
    """Whether a JSON page may be used; a quarantined project has no files (PEP 792).

    Raises:
        IndexAccessError: It is of an unknown version of the API.
    """
    _check_version(version, url)
    return status != "quarantined"


def make_reader(url: str, index: str) -> Callable[[dict[str, Any]], Link | None]:
    """A function that makes the link of one file of a JSON page, or ``None``.

    Args:
        url: Where the page was found.
        index: What the links carry as ``Link.index``.
    """
    make = _link_maker(url, strip_credentials(index))
    base = strip_credentials(url)
    return lambda file: _link_from_json(file, base, make)


def _check_version_of_type(kind: str, url: str) -> None:
    match = re.search(r"\.v(\d+)\+", kind)
    if match and match[1] != "1":
        raise _unknown_version(match[1], url)


def _unknown_version(version: str, url: str) -> IndexAccessError:
    return IndexAccessError(
        f"{redact_url(url)} can not be read",
        f"it speaks version {version} of the simple repository API, and only version 1 is known",
        "look for a newer release of vinstall",
    )


def _check_version(version: object, url: str) -> None:
    if isinstance(version, str) and version.partition(".")[0].strip() != "1":
        raise _unknown_version(version, url)


# Links


def _link_maker(url: str, index: str) -> Callable[..., Link | None]:
    """A function that makes one link of the page, or ``None`` for what is not one."""
    page_is_local = url.startswith("file:")
    good_hosts: dict[str, bool] = {}

    def make(
        href: str,
        filename: str,
        base: str,
        hashes: Mapping[str, str],
        requires_python: str,
        yanked: str | None,
        metadata_hashes: Mapping[str, str] | None,
        size: int | None,
        upload_time: str,
        provenance: object,
    ) -> Link | None:
        if not filename.endswith(KEPT_SUFFIXES):
            return None
        address = href.partition("#")[0]
        if not address.startswith(("https://", "http://")):
            try:
                address = urljoin(base, address)
            except ValueError:
                return None
            scheme = address.partition(":")[0].lower()
            if scheme not in ("https", "http") and not (scheme == "file" and page_is_local):
                return None
        host = address[: address.find("/", 8)]
        good = good_hosts.get(host)
        if good is None:
            good = good_hosts[host] = is_url(address)
        if not good:
            return None
        return Link(
            quote_url(address),
            filename,
            hashes,
            requires_python,
            yanked,
            metadata_hashes,
            size,
            upload_time,
            index,
            provenance
            if isinstance(provenance, str) and provenance.startswith(("https://", "http://"))
            else "",
        )

    return make


def _clean_hashes(value: object) -> dict[str, str]:
    """Algorithm → digest, lower case; what is not text is left out."""
    if not isinstance(value, dict):
        return {}
    return {
        name.lower(): digest.lower()
        for name, digest in value.items()
        if isinstance(name, str) and isinstance(digest, str)
    }


# JSON


def _parse_json(data: bytes, url: str, make: Callable[..., Link | None]) -> tuple[Link, ...]:
    try:
        page = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise IndexAccessError(
            f"{redact_url(url)} is not a page of a simple index", f"it is not valid JSON: {error}"
        ) from error
    if not isinstance(page, dict) or not isinstance(page.get("files"), list):
        raise IndexAccessError(
            f"{redact_url(url)} is not a page of a simple index", "its JSON lists no files"
        )
    meta, status = page.get("meta"), page.get("project-status")
    if not check_page(
        meta.get("api-version") if isinstance(meta, dict) else None,
        status.get("status") if isinstance(status, dict) else None,
        url,
    ):
        return ()
    base = strip_credentials(url)
    links = []
    for file in page["files"]:
        link = _link_from_json(file, base, make) if isinstance(file, dict) else None
        if link is not None:
            links.append(link)
    return tuple(links)


def _link_from_json(
    file: dict[str, Any], base: str, make: Callable[..., Link | None]
) -> Link | None:
    href, filename = file.get("url"), file.get("filename")
    if not isinstance(href, str):
        return None
    if filename is None:
        filename = filename_of(href)
    if not isinstance(filename, str) or not is_plain_name(filename):
        return None
    requires_python = file.get("requires-python")
    yanked = file.get("yanked", False)
    size = file.get("size")
    upload_time = file.get("upload-time")
    return make(
        href,
        filename,
        base,
        _clean_hashes(file.get("hashes")),
        requires_python if isinstance(requires_python, str) else "",
        " ".join(yanked.split()) if isinstance(yanked, str) else "" if yanked is True else None,
        _metadata_from_json(file),
        size if type(size) is int and 0 <= size < _MAX_SIZE else None,
        upload_time if isinstance(upload_time, str) else "",
        file.get("provenance"),
    )


def _metadata_from_json(file: dict[str, Any]) -> Mapping[str, str] | None:
    """PEP 714: ``core-metadata`` counts before ``dist-info-metadata``."""
    for key in ("core-metadata", "dist-info-metadata"):
        if key in file:
            value = file[key]
            if value is True:
                return {}
            return _clean_hashes(value) if isinstance(value, dict) else None
    return None


# HTML


def _parse_html(
    data: bytes,
    content_type: str,
    url: str,
    make: Callable[..., Link | None],
    any_page: bool,
) -> tuple[Link, ...]:
    from html.parser import HTMLParser

    base = strip_credentials(url)
    links: list[Link] = []
    meta: dict[str, str] = {}
    listed = 0
    based = False

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            nonlocal listed, base, based
            if tag == "a":
                listed += _is_listing(dict(attrs).get("href") or "")
                link = _link_from_anchor(dict(attrs), base, make)
                if link is not None:
                    links.append(link)
            elif tag == "base" and not based:
                href = dict(attrs).get("href")
                if href:
                    based = True
                    base = _join(base, href)
            elif tag == "meta":
                values = dict(attrs)
                meta[values.get("name") or ""] = values.get("content") or ""

    charset = _CHARSET.search(content_type)
    try:
        text = data.decode(charset[1] if charset else "utf-8", "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    parser = Parser(convert_charrefs=True)
    try:
        parser.feed(text)
        parser.close()
    except AssertionError as error:  # html.parser's word for a declaration that it does not know
        raise IndexAccessError(
            f"{redact_url(url)} is not a page of a simple index", f"its HTML is broken: {error}"
        ) from error
    _check_version(meta.get("pypi:repository-version"), url)
    if meta.get("pypi:project-status") == "quarantined":
        return ()
    if not links and not any_page and "pypi:repository-version" not in meta and not listed:
        raise IndexAccessError(
            f"{redact_url(url)} is not a page of a simple index",
            "it is an HTML page that lists no files",
            "check the address of the index, and whether a proxy or a login page answers for it",
        )
    return tuple(links)


def _is_listing(href: str) -> bool:
    """Whether a link is one that a list of files has: a file, or the way up."""
    path = href.partition("#")[0].partition("?")[0]
    return path.startswith("..") or path.lower().endswith(
        (*KEPT_SUFFIXES, ".egg", ".exe", ".asc", ".msi")
    )


def _join(base: str, href: str) -> str:
    try:
        joined = urljoin(base, href.strip())
        urlsplit(joined)
    except ValueError:
        return base
    return joined


def _link_from_anchor(
    attributes: Mapping[str, str | None], base: str, make: Callable[..., Link | None]
) -> Link | None:
    href = (attributes.get("href") or "").strip()
    filename = filename_of(href)
    if not filename:
        return None
    fragment = href.partition("#")[2]
    found = _HASH.search(fragment) if fragment else None
    metadata: Mapping[str, str] | None = None
    for name in ("data-core-metadata", "data-dist-info-metadata"):
        if name in attributes:
            value = attributes[name] or ""
            match = _HASH.fullmatch(value)
            if match:
                metadata = {match[1]: match[2].lower()}
            elif value.lower() != "false":
                metadata = {}
            break
    return make(
        href,
        filename,
        base,
        {found[1]: found[2].lower()} if found else {},
        attributes.get("data-requires-python") or "",
        " ".join((attributes["data-yanked"] or "").split())
        if "data-yanked" in attributes
        else None,
        metadata,
        None,
        "",
        attributes.get("data-provenance"),
    )
