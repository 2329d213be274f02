"""Answers on disk: pages as parsed links, and small files, revalidated when they are stale.

Implements HTTP caching (RFC 9111) as far as an installer needs it: ``max-age``,
``no-store``, ``ETag`` and ``Last-Modified``. A fresh answer needs no connection and no HTTP
library. Entries carry a format number in their folder's name, are written to a temporary
name and renamed, and count as missing when anything about them is wrong.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.link import Link
from vinstall.events import Warned
from vinstall.files import write_atomically
from vinstall.index.address import strip_credentials
from vinstall.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.events import Observer

_PAGES = "pages-v1"
_FILES = "files-v1"


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
    """The links of a page, as kept."""

    links: tuple[Link, ...]
    freshness: Freshness = field(default_factory=Freshness)


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
    return Freshness(
        now + max(seconds, 0.0), headers.get("etag", ""), headers.get("last-modified", "")
    )


class ResponseCache:
    """Kept answers under one folder; an empty folder name keeps nothing.

    Args:
        cache_dir: The folder of the cache.
        observer: Receives one warning when the folder can not be used.
    """

    def __init__(self, cache_dir: str, observer: Observer) -> None:
        self._root = Path(cache_dir) if cache_dir else None
        self._observer = observer

    def find_page(self, url: str, secret: str = "") -> KeptPage | None:
        """The kept links of a page, fresh or not.

        Args:
            url: The page, without credentials.
            secret: A text that differs between credentials.
        """
        path = self._path(_PAGES, url, secret)
        if path is None:
            return None
        import json

        try:
            document = json.loads(path.read_bytes())
            if document["url"] != url:
                return None
            fresh = Freshness(*document["freshness"])
            return KeptPage(tuple(Link(*row) for row in document["links"]), fresh)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep_page(self, url: str, secret: str, page: KeptPage) -> None:
        """Keep the links of a page."""
        import json

        rows = [
            (
                link.url,
                link.filename,
                dict(link.hashes),
                link.requires_python,
                link.yanked,
                None if link.metadata_hashes is None else dict(link.metadata_hashes),
                link.size,
                link.upload_time,
                link.index,
            )
            for link in page.links
        ]
        fresh = page.freshness
        document = {
            "url": url,
            "freshness": [fresh.until, fresh.etag, fresh.modified],
            "links": rows,
        }
        text = json.dumps(document, separators=(",", ":"))
        self._write(self._path(_PAGES, url, secret), text.encode())

    def find_file(self, key: str) -> bytes | None:
        """A small file that is known by its content or its whole address; never stale."""
        path = self._path(_FILES, key, "")
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, body = data[:32], data[32:]
        return body if hashlib.sha256(body).digest() == digest else None

    def keep_file(self, key: str, body: bytes) -> None:
        """Keep a small file."""
        self._write(self._path(_FILES, key, ""), hashlib.sha256(body).digest() + body)

    def _path(self, kind: str, url: str, secret: str) -> Path | None:
        if self._root is None:
            return None
        digest = hashlib.sha256(f"{strip_credentials(url)}\0{secret}".encode()).hexdigest()
        return self._root / kind / digest[:2] / digest[2:]

    def _write(self, path: Path | None, data: bytes) -> None:
        if path is None or self._root is None:
            return
        try:
            write_atomically(path, data)
        except OSError as error:
            root, self._root = self._root, None
            self._observer.receive(
                Warned(
                    "cache-unusable",
                    f"The cache {root} can not be written ({error.strerror or error}); "
                    "going on without it.",
                )
            )


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
