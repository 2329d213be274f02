"""A page of a simple index → a table of its files by release, and back from the cache.

What the index says of each file stays as it came, as JSON text sorted by version; a
``Link`` is made of it when its release is looked at. HTML pages are brought into the same
form. Pages are read by ``msgspec`` once there is enough to read that its import pays; what
it does not like goes to ``json``, which then says what is wrong.
"""

from __future__ import annotations

import json
import zlib
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from vinstall.distributions.filename import (
    normalize_name,
    parse_sdist_filename,
    parse_version,
)
from vinstall.distributions.link_table import LinkGroup, LinkTable
from vinstall.index.address import is_plain_name, strip_credentials
from vinstall.index.simple import (
    KEPT_SUFFIXES,
    VARIANTS_SUFFIX,
    check_page,
    is_json_page,
    make_reader,
    parse_simple_page,
)
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vinstall.distributions.link import Link

_PLAIN_VERSION = lazy_pattern(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")
_LONG_FILE = 4000
_LONG_NUMBER = lazy_pattern(rb"[0-9]{4000}")
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


class _Files(NamedTuple):
    """What a page says of its files, in columns."""

    names: list[Any]
    addresses: list[Any]
    yanked: list[Any]
    texts: list[Any]


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
    found = _read_json_files(data) if is_json_page(data, content_type, url) else None
    if found is None:
        links = parse_simple_page(data, content_type, url, index=index, any_page=any_page)
        files = _Files(
            [link.filename for link in links],
            [link.url for link in links],
            [link.yanked is not None for link in links],
            [json.dumps(_describe(link)).encode() for link in links],
        )
        hosts.update(_origin(link.url) for link in links)
    else:
        version, status, files = found
        if check_page(version, status, url):
            files = _keep_links(files, url, index, hosts)
        else:
            files = _Files([], [], [], [])
    groups, body = _group(project, files)
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


def _read_json_files(data: bytes) -> tuple[object, object, _Files] | None:
    """Version of the API, status, and files; ``None`` where a page is out of the ordinary."""
    global _seen
    _seen += len(data)
    if _seen < _IMPORT_PAYS:
        return _read_with_json(data)
    found = _read_with_msgspec(data)
    return found if found is not None else _read_with_json(data)


def _read_with_json(data: bytes) -> tuple[object, object, _Files] | None:
    try:
        page = json.loads(data)
        meta, status = page.get("meta"), page.get("project-status")
        version = meta.get("api-version") if isinstance(meta, dict) else None
        state = status.get("status") if isinstance(status, dict) else None
        dump = json.JSONEncoder(separators=(",", ":")).encode
        if not isinstance(page["files"], list):
            return None
        listed = [file for file in page["files"] if isinstance(file, dict)]
        files = _Files(
            [file.get("filename") for file in listed],
            [file.get("url") for file in listed],
            [file.get("yanked", False) for file in listed],
            [dump(file).encode() for file in listed],
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return version, state, files


def _read_with_msgspec(data: bytes) -> tuple[object, object, _Files] | None:
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
    if any(len(text) > _LONG_FILE and _LONG_NUMBER.search(text) for text in raw.files):
        return None  # ``json`` would refuse it later, when a link is made of it
    files = _Files(
        [file.filename for file in found.files],
        [file.url for file in found.files],
        [file.yanked for file in found.files],
        raw.files,
    )
    return found.meta.api_version, found.project_status.status, files


def _keep_links(files: _Files, url: str, index: str, hosts: set[str]) -> _Files:
    """Leave out what is not a link; on most pages all files are told by one of them."""
    make = make_reader(url, index)
    names, addresses = files.names, files.addresses
    if names and isinstance(addresses[0], str):
        first = addresses[0]
        end = first.find("/", 8 if first.startswith(("https://", "http://")) else 1) + 1
        start = first[:end] if not first.startswith("//") else ""
        if (
            start.startswith(("https://", "http://", "/"))
            and all(type(one) is str for one in names)
            and is_plain_name("".join(names))
            and all(type(one) is str for one in addresses)
            and all(map(str.startswith, addresses, repeat(start)))
            and (link := make(json.loads(bytes(files.texts[0])))) is not None
        ):
            hosts.add(_origin(link.url))
            if all(name.endswith(".whl") for name in names):
                return files
            kept = [number for number, name in enumerate(names) if name.endswith(KEPT_SUFFIXES)]
            return _Files(*([column[number] for number in kept] for column in files))
    kept = []
    for number, text in enumerate(files.texts):
        link = make(json.loads(bytes(text)))
        if link is not None:
            names[number] = link.filename
            hosts.add(_origin(link.url))
            kept.append(number)
    return _Files(*([column[number] for number in kept] for column in files))


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


def _group(project: str, files: _Files) -> tuple[list[LinkGroup], bytes]:
    """Sort files by version, newest first."""
    texts, rest, not_yanked = _split_by_version(project, files)
    merged: dict[Any, tuple[str, list[Any]]] = {}
    keys = _sort_keys(texts)
    yanked = set(texts) - not_yanked
    for text, found in texts.items():
        key = keys[text]
        if key is None:
            rest += found
        elif key in merged:
            merged[key][1].extend(found)
            if text in not_yanked:
                yanked.discard(merged[key][0])
        else:
            merged[key] = (text, found)
    groups: list[LinkGroup] = []
    parts: list[bytes] = []
    end = 0
    for key in sorted(merged, reverse=True):
        text, found = merged[key]
        part = b"[%s]" % b",".join(found)
        end += len(part)
        parts.append(part)
        is_prerelease = not isinstance(key, tuple) and bool(key.is_prerelease)
        groups.append(LinkGroup(text, end, is_prerelease, text in yanked))
    if rest:
        part = b"[%s]" % b",".join(rest)
        parts.append(part)
        groups.append(LinkGroup("", end + len(part), False, False))
    return groups, b"".join(parts)


def _split_by_version(
    project: str, files: _Files
) -> tuple[dict[str, list[Any]], list[Any], set[str]]:
    """Version → texts, the texts of no version, and versions with a file that is not yanked."""
    stems: dict[str, list[Any]] = {}
    good: set[str] = set()
    others: list[int] = []
    for number, (name, yanked, text) in enumerate(
        zip(files.names, files.yanked, files.texts, strict=True)
    ):
        end = name.find("-", name.find("-") + 1)
        if end < 0 or name[-4:] != ".whl":
            others.append(number)
            continue
        stem = name[:end]
        found = stems.get(stem)
        if found is None:
            found = stems[stem] = []
        found.append(text)
        if yanked is False or yanked is None:
            good.add(stem)
    rest: list[Any] = []
    texts: dict[str, list[Any]] = {}
    not_yanked: set[str] = set()
    for stem, found in stems.items():
        name, _, version = stem.partition("-")
        if project and version and normalize_name(name) == project:
            texts.setdefault(version, []).extend(found)
            if stem in good:
                not_yanked.add(version)
        else:
            rest += found
    extra: list[tuple[str, Any]] = []
    for number in others:
        name, text = files.names[number], files.texts[number]
        version = _version_of(name, project)
        if not version:
            rest.append(text)
        elif name.endswith(VARIANTS_SUFFIX):
            extra.append((version, text))
        else:
            texts.setdefault(version, []).append(text)
            if files.yanked[number] is False or files.yanked[number] is None:
                not_yanked.add(version)
    for version, text in extra:
        same = version if version in texts else _find_same(version, texts)
        texts.get(same, rest).append(text)
    return texts, rest, not_yanked


def _find_same(version: str, texts: Iterable[str]) -> str:
    """A version that is written in another way; empty for none."""
    wanted = parse_version(version)
    if wanted is None:
        return ""
    return next((text for text in texts if parse_version(text) == wanted), "")


def _version_of(filename: str, project: str) -> str:
    """The version in the name of no wheel; empty where it belongs to another project."""
    if not project or filename.endswith(".whl"):
        return ""
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
