"""A page of a simple index → a table of its files by release, and back from the cache.

What the index says of each file stays as it came, as JSON text sorted by version; a
``Link`` is made of it when its release is looked at. HTML pages are brought into the same
form. Pages are read by ``msgspec`` once there is enough to read that its import pays; what
it does not like goes to ``json``, which then says what is wrong.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from vinstall.distributions.filename import (
    normalize_name,
    parse_sdist_filename,
    parse_version,
)
from vinstall.distributions.link_table import LinkGroup, LinkTable
from vinstall.index.address import filename_of, is_plain_name, strip_credentials
from vinstall.index.simple import (
    KEPT_SUFFIXES,
    VARIANTS_SUFFIX,
    check_page,
    is_json_page,
    make_reader,
    parse_simple_page,
)
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vinstall.distributions.link import Link

_PLAIN_VERSION = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")
_IMPORT_PAYS = 512 * 1024
"""Bytes of pages that ``json`` reads in the time of the import of ``msgspec``."""
_seen = 0
_decoders: Any = None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A page as it is kept.

    Attributes:
        links: The files.
        base: URL of the page, which relative addresses start from; without credentials.
        index: What the links carry as ``Link.index``.
        body: JSON arrays, one for each group of ``links``.
        hosts: Where the files are, as ``https://host``; only of a page that was just read.
    """

    links: LinkTable
    base: str
    index: str
    body: bytes
    hosts: frozenset[str] = frozenset()


class _Row(NamedTuple):
    filename: str
    yanked: bool
    text: bytes


def read_page(
    data: bytes,
    content_type: str,
    url: str,
    *,
    index: str,
    project: str = "",
    any_page: bool = False,
) -> PageTable:
    """Read a page; see ``parse_simple_page`` for what counts as a link.

    Args:
        data: The body, decoded from its transfer.
        content_type: The header; may be empty, then the body decides.
        url: Where the page was found in the end.
        index: What the links carry as ``Link.index``.
        project: The normalized name of the project; empty for a page of several.
        any_page: Whether an HTML page without a single file is fine.

    Raises:
        IndexAccessError: The page is not one of a simple index, or of an unknown version.
    """
    base = strip_credentials(url)
    hosts: set[str] = set()
    files = _read_json_files(data) if is_json_page(data, content_type, url) else None
    if files is None:
        links = parse_simple_page(data, content_type, url, index=index, any_page=any_page)
        rows = [
            _Row(link.filename, link.yanked is not None, json.dumps(_describe(link)).encode())
            for link in links
        ]
        hosts.update(_origin(link.url) for link in links)
    else:
        meta, status, listed = files
        rows = _keep_links(listed, url, index, hosts) if check_page(meta, status, url) else []
    groups, body = _group(project, rows)
    table = LinkTable(project, groups, _make_reader(body, base, index))
    return PageTable(table, base, index, body, frozenset(hosts))


def load_page(document: Mapping[str, Any], body: bytes) -> PageTable:
    """A page out of the cache.

    Args:
        document: What ``describe_page`` gave.
        body: The body of the table.

    Raises:
        ValueError: They do not belong together.
    """
    groups = [LinkGroup(*row) for row in document["groups"]]
    end = groups[-1].end if groups else 0
    if end != len(body) or checksum(body) != document["checksum"]:
        raise ValueError("the page is damaged")
    base, index = document["base"], document["index"]
    links = LinkTable(document["project"], groups, _make_reader(body, base, index))
    return PageTable(links, base, index, body)


def describe_page(page: PageTable) -> dict[str, object]:
    """All of a page but its body, for JSON."""
    return {
        "project": page.links.project,
        "base": page.base,
        "index": page.index,
        "groups": [list(group) for group in page.links.groups],
        "checksum": checksum(page.body),
    }


def checksum(data: bytes) -> int:
    """The CRC-32, which tells damage, not malice."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.crc32(data)
    found: int = isal_zlib.crc32(data)
    return found


def _make_reader(body: bytes, base: str, index: str) -> Callable[[int, int], tuple[Link, ...]]:
    def read(start: int, end: int) -> tuple[Link, ...]:
        make = make_reader(base, index)
        found = (make(file) for file in json.loads(body[start:end]))
        return tuple(link for link in found if link is not None)

    return read


# Reading


def _read_json_files(data: bytes) -> tuple[object, object, Iterable[tuple[Any, ...]]] | None:
    """Version of the API, status, and (filename, URL, yanked, text) of each file.

    ``None`` where the page has to be looked at more closely.
    """
    global _seen
    _seen += len(data)
    if _seen < _IMPORT_PAYS:
        return _read_with_json(data)
    found = _read_with_msgspec(data)
    return found if found is not None else _read_with_json(data)


def _read_with_json(data: bytes) -> tuple[object, object, Iterable[tuple[Any, ...]]] | None:
    try:
        page = json.loads(data)
        files, meta, status = page["files"], page.get("meta"), page.get("project-status")
        version = meta.get("api-version") if isinstance(meta, dict) else None
        state = status.get("status") if isinstance(status, dict) else None
        dump = json.JSONEncoder(separators=(",", ":")).encode
        rows = [
            (file.get("filename"), file.get("url"), file.get("yanked", False), dump(file).encode())
            for file in files
            if isinstance(file, dict)
        ]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return version, state, rows


def _read_with_msgspec(data: bytes) -> tuple[object, object, Iterable[tuple[Any, ...]]] | None:
    global _decoders
    import msgspec

    if _decoders is None:
        file = msgspec.defstruct(
            "File",
            [("filename", str), ("url", str), ("yanked", "bool | str | None", False)],
            gc=False,
        )
        meta = msgspec.defstruct("Meta", [("api_version", "str | None", None)], rename="kebab")
        status = msgspec.defstruct("Status", [("status", "str | None", None)])
        page = msgspec.defstruct(
            "Page",
            [
                ("files", list[file]),  # type: ignore[valid-type]
                ("meta", meta, msgspec.field(default_factory=meta)),
                ("project_status", status, msgspec.field(default_factory=status)),
            ],
            rename="kebab",
        )
        texts = msgspec.defstruct("Texts", [("files", list[msgspec.Raw])])
        _decoders = (msgspec.json.Decoder(page), msgspec.json.Decoder(texts))
    try:
        data.decode("utf-8")
        found, raw = (decoder.decode(data) for decoder in _decoders)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    rows = (
        (file.filename, file.url, file.yanked, bytes(text))
        for file, text in zip(found.files, raw.files, strict=True)
    )
    return found.meta.api_version, found.project_status.status, rows


def _keep_links(
    files: Iterable[tuple[Any, ...]], url: str, index: str, hosts: set[str]
) -> list[_Row]:
    """Leave out what is not a link; most addresses are told by their host alone."""
    make = make_reader(url, index)
    rows: list[_Row] = []
    good: set[str] = set()
    for filename, href, yanked, text in files:
        if not isinstance(href, str):
            continue
        if filename is None:
            filename = filename_of(href)
        if (
            not isinstance(filename, str)
            or not filename.endswith(KEPT_SUFFIXES)
            or not is_plain_name(filename)
        ):
            continue
        at = href.find("/", 8)
        host = href[:at] if at > 0 and href.startswith(("https://", "http://")) else ""
        if host not in good and not (href.startswith("/") and not href.startswith("//")):
            link = make(json.loads(text))
            if link is None:
                continue
            hosts.add(_origin(link.url))
            if host and link.url.startswith(f"{host}/"):
                good.add(host)
        rows.append(_Row(filename, isinstance(yanked, str) or yanked is True, text))
    return rows


def _origin(url: str) -> str:
    return url[: url.find("/", 8)]


def _describe(link: Link) -> dict[str, object]:
    """A link in the form of a JSON page (PEP 691, 700)."""
    found: dict[str, object] = {"filename": link.filename, "url": link.url}
    if link.hashes:
        found["hashes"] = dict(link.hashes)
    if link.requires_python:
        found["requires-python"] = link.requires_python
    if link.yanked is not None:
        found["yanked"] = link.yanked
    if link.metadata_hashes is not None:
        found["core-metadata"] = dict(link.metadata_hashes) or True
    if link.size is not None:
        found["size"] = link.size
    if link.upload_time:
        found["upload-time"] = link.upload_time
    if provenance := getattr(link, "provenance", ""):
        found["provenance"] = provenance
    return found


# Grouping


def _group(project: str, rows: Sequence[_Row]) -> tuple[list[LinkGroup], bytes]:
    """Sort files by version, newest first."""
    texts: dict[str, list[_Row]] = {}
    rest: list[_Row] = []
    for row in rows:
        text = _version_of(row.filename, project)
        if text:
            texts.setdefault(text, []).append(row)
        else:
            rest.append(row)
    merged: dict[Any, tuple[str, list[_Row]]] = {}
    keys = _sort_keys(texts)
    for text, found in texts.items():
        key = keys[text]
        if key is None:
            rest += found
        elif key in merged:
            merged[key][1].extend(found)
        else:
            merged[key] = (text, found)
    groups: list[LinkGroup] = []
    parts: list[bytes] = []
    end = 0
    for key in sorted(merged, reverse=True):
        text, found = merged[key]
        files = [row for row in found if not row.filename.endswith(VARIANTS_SUFFIX)]
        if not files:
            rest += found
            continue
        part = b"[%s]" % b",".join(row.text for row in found)
        end += len(part)
        parts.append(part)
        is_prerelease = not isinstance(key, tuple) and bool(key.is_prerelease)
        groups.append(LinkGroup(text, end, is_prerelease, all(row.yanked for row in files)))
    if rest:
        part = b"[%s]" % b",".join(row.text for row in rest)
        parts.append(part)
        groups.append(LinkGroup("", end + len(part), False, False))
    return groups, b"".join(parts)


def _version_of(filename: str, project: str) -> str:
    """The version in a file name; empty where it belongs to another project."""
    if not project:
        return ""
    if filename.endswith(".whl"):
        parts = filename.split("-", 2)
        return parts[1] if len(parts) == 3 and normalize_name(parts[0]) == project else ""
    if filename.endswith(VARIANTS_SUFFIX):
        parts = filename.split("-")
        return parts[1] if len(parts) == 3 and normalize_name(parts[0]) == project else ""
    return parse_sdist_filename(filename, project) or ""


def _sort_keys(texts: Iterable[str]) -> dict[str, Any]:
    """What versions are compared by; without ``packaging`` where all are plain numbers."""
    plain: dict[str, Any] = {}
    for text in texts:
        if not _PLAIN_VERSION.fullmatch(text):
            return {one: parse_version(one) for one in texts}
        numbers = [*map(int, text.split("."))]
        while len(numbers) > 1 and not numbers[-1]:
            numbers.pop()
        plain[text] = tuple(numbers)
    return plain
