"""Answers on disk: pages as tables of links, and small files, revalidated when stale.

Implements HTTP caching (RFC 9111) as far as an installer needs it: ``max-age``,
``no-store``, ``ETag`` and ``Last-Modified``. A fresh answer needs no connection and no HTTP
library. Entries carry a format number in their folder's name, are written to a temporary
name and renamed, and count as missing when anything about them is wrong.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from vinstall.digests import sha256
from vinstall.events import Warned
from vinstall.files import write_atomically
from vinstall.index.address import strip_credentials
from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.events import Observer
    from vinstall.index.page_table import PageTable

_PAGES = "pages-v3"
_FILES = "files-v1"
_HEAD = 8192
"""Bytes that hold the first line of most pages."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Until when an answer needs no question, and how to ask afterwards.

    Attributes:
        until: Seconds since the epoch; in the past for an answer that is always asked about.
        etag: The validator, empty for none.
        modified: ``Last-Modified``, empty for none.
    """

    until: float = 0.0
    etag: str = ""
    modified: str = ""

    @property
    def validators(self) -> dict[str, str]:
        """Headers that ask whether the answer still holds."""
        headers = {}
        if self.etag:
            headers["If-None-Match"] = self.etag
        if self.modified:
            headers["If-Modified-Since"] = self.modified
        return headers


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page, as kept.

    Attributes:
        page: What it says.
        freshness: Until when it needs no question.
        stamp: As ``stamp_of``; ``None`` where it was not read from the cache.
    """

    page: PageTable
    freshness: Freshness = field(default_factory=Freshness)
    stamp: list[int] | None = field(default=None, compare=False)


def freshness_of(headers: Mapping[str, str], now: float) -> Freshness | None:
    """How long an answer may be kept; ``None`` where it may not (``no-store``).

    Args:
        headers: Of the answer, with lower-case names.
        now: Seconds since the epoch.
    """
    control = headers.get("cache-control", "").lower()
    seconds = 0.0
    for part in control.split(","):
        name, _, value = part.strip().partition("=")
        if name == "no-store":
            return None
        if name == "max-age" and value.strip('"').isdecimal():
            seconds = float(value.strip('"'))
    if "no-cache" in control:
        seconds = 0.0
    age = headers.get("age", "")
    seconds -= float(age) if age.isdecimal() else 0.0
    etag, modified = (
        value if value.isascii() and value.isprintable() else ""
        for value in (headers.get("etag", ""), headers.get("last-modified", ""))
    )
    return Freshness(now + max(seconds, 0.0), etag, modified)


class ResponseCache:
    """Kept answers under one folder; an empty folder name keeps nothing.

    Args:
        cache_dir: The folder of the cache.
        observer: Receives one warning when the folder can not be used.
    """

    def __init__(self, cache_dir: str, observer: Observer) -> None:
        self._root = cache_dir
        self._observer = observer

    def find_page(self, url: str, secret: str = "") -> KeptPage | None:
        """The kept links of a page, fresh or not.

        Args:
            url: The page, without credentials.
            secret: A text that differs between credentials.
        """
        path = self._path(_PAGES, url, secret)
        if not path:
            return None
        import json

        from vinstall.index.page_table import load_page

        try:
            head, body, facts = _read_page(path)
            document = json.loads(head)
            if document["url"] != url:
                return None
            freshness = Freshness(*document["freshness"])
            return KeptPage(load_page(document, body), freshness, _stamp(facts))
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def has_fresh_page(self, url: str, secret: str = "") -> bool:
        """Whether a page that needs no question is kept, by the time of its file alone."""
        path = self._path(_PAGES, url, secret)
        try:
            return bool(path) and os.stat(path).st_mtime > now()  # noqa: PTH116
        except OSError:
            return False

    def path_of_page(self, url: str, secret: str = "") -> str:
        """Where a page is kept, or would be; empty for nowhere."""
        return self._path(_PAGES, url, secret)

    def keep_page(self, url: str, secret: str, kept: KeptPage) -> list[int] | None:
        """Keep a page.

        Returns:
            What ``stamp_of`` says of it; ``None`` where it is not kept, or not fresh.
        """
        import json

        from vinstall.index.page_table import describe_page

        fresh = kept.freshness
        document = {
            "url": url,
            "freshness": [fresh.until, fresh.etag, fresh.modified],
            **describe_page(kept.page),
        }
        head = json.dumps(document, separators=(",", ":")).encode()
        path = self._path(_PAGES, url, secret)
        self._write(path, head, b"\n", kept.page.body)
        if not path:
            return None
        times = int(fresh.until * 1e9)
        try:
            os.utime(path, ns=(times, times))
        except (OSError, OverflowError):
            return None
        stamp = stamp_of(path)
        # another process can have kept another one meanwhile
        return stamp if stamp is not None and abs(stamp[0] - times) < 1000 else None

    def find_file(self, key: str) -> bytes | None:
        """A small file that is known by its content or its whole address; never stale."""
        path = self._path(_FILES, key, "")
        if not path:
            return None
        try:
            data = _read(path)
        except OSError:
            return None
        digest, body = data[:32], data[32:]
        return body if sha256(body).digest() == digest else None

    def keep_file(self, key: str, body: bytes) -> None:
        """Keep a small file."""
        self._write(self._path(_FILES, key, ""), sha256(body).digest(), body)

    def has_file(self, key: str) -> bool:
        """Whether a small file is kept, without looking into it."""
        path = self._path(_FILES, key, "")
        return bool(path) and os.path.isfile(path)  # noqa: PTH113

    def _path(self, kind: str, url: str, secret: str) -> str:
        """Where an answer is kept; empty for nowhere."""
        if not self._root:
            return ""
        text = f"{strip_credentials(url)}\0{secret}"
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self._root}{os.sep}{kind}{os.sep}{digest[:2]}{os.sep}{digest[2:]}"

    def _write(self, path: str, *parts: bytes) -> None:
        if not path or not self._root:
            return
        try:
            write_atomically(Path(path), *parts)
        except OSError as error:
            root, self._root = self._root, ""
            self._observer.receive(
                Warned(
                    "cache-unusable",
                    f"The cache {root} can not be written ({error.strerror or error}); "
                    "going on without it.",
                )
            )


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.readall()


def _read_page(path: str) -> tuple[bytes, bytes, os.stat_result]:
    """The first line of a file, the rest, without a copy of it, and facts about the file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        start = os.read(descriptor, _HEAD)
        while (end := start.find(b"\n")) < 0:
            more = os.read(descriptor, 16 * _HEAD)
            if not more:
                raise ValueError("it has one line only")
            start += more
        facts = os.fstat(descriptor)
        size = facts.st_size - end - 1
        os.lseek(descriptor, end + 1, os.SEEK_SET)
        body = os.read(descriptor, size)
        while len(body) < size:
            more = os.read(descriptor, size - len(body))
            if not more:
                raise ValueError("it became shorter")
            body += more
    finally:
        os.close(descriptor)
    return start[:end], body, facts


def stamp_of(path: str) -> list[int] | None:
    """What tells a kept page from every other one in its place; ``None`` for one not fresh.

    A page is kept under a new file, whose time is the end of its freshness.
    """
    try:
        facts = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return _stamp(facts)


def _stamp(facts: os.stat_result) -> list[int] | None:
    if facts.st_mtime <= now():
        return None
    return [facts.st_mtime_ns, facts.st_size, facts.st_ino]


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
