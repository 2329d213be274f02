"""Single files out of distributions, by the cheapest way there is.

A file of the dist-info of a wheel comes from the disk, from the cache, from the metadata
file beside the wheel (PEP 658), from ranges of the wheel, or out of the whole wheel. What
has a hash on its page is kept in the cache for good.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import HashMismatchError, IndexAccessError
from vinstall.events import Noted, SilentObserver
from vinstall.index.address import file_url, path_of, redact_url, strip_credentials
from vinstall.index.client import StatusError
from vinstall.values import replace

if TYPE_CHECKING:
    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.index.client import HttpClient
    from vinstall.index.response_cache import ResponseCache

_SMALL_WHEEL = 64 * 1024 * 1024
_METADATA_LIMIT = 64 * 1024 * 1024


class MetadataFiles:
    """Reads files of distributions; may be used by threads.

    Args:
        client: Fetches.
        cache: Keeps what can not change.
        cache_dir: Where whole wheels wait that had to be fetched for their metadata.
        observer: Receives notes.
    """

    def __init__(
        self, client: HttpClient, cache: ResponseCache, cache_dir: str, observer: Observer
    ) -> None:
        self._client = client
        self._cache = cache
        self._cache_dir = cache_dir
        self._observer = observer

    def read_dist_info(self, link: Link, name: str) -> bytes:
        """One file of the dist-info of a wheel.

        Args:
            link: The wheel, remote or not.
            name: ``METADATA`` or ``variant.json``.

        Raises:
            IndexAccessError: It can not be fetched.
            HashMismatchError: The metadata file is not the one that the page promises.
            WheelFormatError: The wheel is broken or has no such file.
        """
        if link.is_file:
            from vinstall.index.dist_info import read_local_dist_info

            return read_local_dist_info(link, name)
        key = _content_key(link, name)
        kept = self._cache.find_file(key) if key else None
        if kept is not None:
            return kept
        data = self._fetch_beside(link) if name == "METADATA" else None
        if data is None:
            data = self._fetch_inside(link, name)
        if key:
            self._cache.keep_file(key, data)
        return data

    def has_metadata(self, link: Link) -> bool:
        """Whether the metadata of a wheel is in the cache."""
        key = _content_key(link, "METADATA")
        return bool(key) and self._cache.has_file(key)

    def read_small(self, link: Link, limit: int) -> bytes:
        """A small file whole, with its hashes verified.

        Raises:
            IndexAccessError: It can not be had, or is larger than ``limit`` bytes.
            HashMismatchError: It is not the one that the page promises.
        """
        if link.is_file:
            data = _read_local(link, limit)
        else:
            key = _content_key(link, "file")
            kept = self._cache.find_file(key) if key else None
            if kept is not None:
                return kept
            data = self._client.get(link.url, limit=limit).body
        from vinstall.index.download import check_hashes, is_known_algorithm

        known = [name for name in link.hashes if is_known_algorithm(name)]
        check_hashes(link, {}, {name: hashlib.new(name, data).hexdigest() for name in known})
        if not link.is_file and key:
            self._cache.keep_file(key, data)
        return data

    def _fetch_beside(self, link: Link) -> bytes | None:
        """The metadata file beside a wheel (PEP 658); ``None`` where there is none."""
        if link.metadata_hashes is None:
            return None
        from vinstall.index.download import is_known_algorithm

        try:
            data = self._client.get(f"{link.url}.metadata", limit=_METADATA_LIMIT).body
        except StatusError as error:
            if 400 <= error.status < 500 and error.status != 429:
                self._observer.receive(
                    Noted(f"{link.filename} has no metadata file, though its page says so")
                )
                return None
            raise
        for name, digest in link.metadata_hashes.items():
            if not is_known_algorithm(name):
                continue
            found = hashlib.new(name, data).hexdigest()
            if found != digest:
                where = f" from {redact_url(link.index)}" if link.index else ""
                raise HashMismatchError(
                    f"The metadata file of {link.filename}{where} is not the one that the "
                    "index promises",
                    f"Expected {name} {digest}\n             Got        {found}",
                )
        return data

    def _fetch_inside(self, link: Link, name: str) -> bytes:
        """A file out of a remote wheel: by ranges, else out of the whole wheel."""
        from vinstall.index.remote_wheel import RangesNotSupportedError, read_remote_file

        try:
            return read_remote_file(self._client, link, name)
        except RangesNotSupportedError as error:
            if name != "METADATA" and (link.size or 0) > _SMALL_WHEEL:
                raise
            self._observer.receive(Noted(f"{error}; {link.filename} is fetched whole"))
        return self._read_from_whole(link, name)

    def _read_from_whole(self, link: Link, name: str) -> bytes:
        """Fetch the whole wheel; the cache keeps it for the download that will follow."""
        from vinstall.index.dist_info import read_local_dist_info
        from vinstall.index.download import Downloader

        downloader = Downloader(self._client, self._cache_dir, SilentObserver())
        whole = downloader.keep_whole(link)
        if whole is not None:
            with contextlib.suppress(IndexAccessError):
                return read_local_dist_info(replace(link, url=file_url(whole.absolute())), name)
        import tempfile

        with tempfile.TemporaryDirectory(prefix="vinstall-") as folder:
            fetched = downloader.fetch(link, None, Path(folder))
            local = replace(link, url=file_url(fetched.path.absolute()))
            return read_local_dist_info(local, name)


def _content_key(link: Link, part: str) -> str:
    """A key for a part of a file that can never change: its hash; else nothing."""
    for name in ("sha512", "sha384", "sha256"):
        if name in link.hashes:
            return f"{part} of {strip_credentials(link.url)} {name}={link.hashes[name]}"
    return ""


def _read_local(link: Link, limit: int) -> bytes:
    try:
        with path_of(link.url).open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IndexAccessError(f"{link.filename} can not be read", reason) from error
    if len(data) > limit:
        raise IndexAccessError(
            f"{link.filename} can not be used", f"it is larger than {limit // (1024 * 1024)} MiB"
        )
    return data
