"""Indexes, folders and files, as one source of links and metadata.

Fits ``resolution.source.PackageSource`` by shape. Every answer is worked out once a run;
pages and single files are kept on disk. Where an index can not be read, pip's rule holds:
a warning while another place has the project, else an error. A user who ranks indexes
(``first_index``, a pin) is never sent on to the next.
"""

from __future__ import annotations

import threading
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.core_metadata import CoreMetadata, parse_core_metadata
from vinstall.distributions.filename import (
    normalize_name,
    parse_sdist_filename,
    parse_version,
    parse_wheel_filename,
)
from vinstall.errors import (
    BuildError,
    IndexAccessError,
    ProjectNotFoundError,
    WheelFormatError,
)
from vinstall.events import Noted, Warned
from vinstall.index.address import (
    file_url,
    host_of,
    is_secure,
    is_trusted_host,
    is_url,
    project_url,
    redact_url,
    strip_credentials,
)
from vinstall.index.answers import Answers, WorkPool
from vinstall.index.client import StatusError
from vinstall.index.metadata_files import MetadataFiles
from vinstall.index.places import (
    belongs_to,
    is_remote,
    keep_earlier,
    read_local_page,
    read_local_place,
)
from vinstall.index.response_cache import KeptPage, ResponseCache, freshness_of, now
from vinstall.index.simple import PAGE_TYPES
from vinstall.index.variant_files import VariantFiles
from vinstall.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.index.client import HttpClient
    from vinstall.settings import IndexSettings
    from vinstall.variants.metadata import VariantMetadata

_THREADS = 16


class IndexSource:
    """Answers for every index, page and folder of the settings; may be used by threads.

    Args:
        settings: Where to look.
        client: Fetches; opens no connection until something is not in the cache.
        cache_dir: Folder of the cache; empty for none.
        observer: Receives warnings and notes.
        build_metadata: Core metadata of a source, by building it; ``None`` builds nothing.
    """

    def __init__(
        self,
        settings: IndexSettings,
        client: HttpClient,
        cache_dir: str,
        observer: Observer,
        *,
        build_metadata: Callable[[Link], CoreMetadata] | None = None,
    ) -> None:
        self._settings = settings
        self._client = client
        self._cache = ResponseCache(cache_dir, observer)
        self._observer = observer
        self._build_metadata = build_metadata
        self._pool = WorkPool(_THREADS, "index")
        self._files = MetadataFiles(client, self._cache, cache_dir, observer)
        self._variants = VariantFiles(self._files, self._pool, observer, self._warn)
        self._links: Answers[Sequence[Link]] = Answers(self._pool)
        self._flat: Answers[Sequence[Link]] = Answers(self._pool)
        self._metadata: Answers[CoreMetadata] = Answers(self._pool)
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._shared: dict[str, int] = {}
        self._read: dict[str, list[int] | None] = {}
        self._is_repeatable = True

    def rest(self) -> None:
        """End the threads; what is asked later starts them again."""
        self._pool.rest()

    def close(self) -> None:
        """Give up what was begun ahead."""
        self._pool.close()

    def find_links(self, project: str) -> Sequence[Link]:
        """All files of a project (see ``PackageSource.find_links``)."""
        return self._links.get(project, partial(self._find_links, project))

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of one file (see ``PackageSource.read_core_metadata``)."""
        return self._metadata.get(link.url, partial(self._read_core_metadata, link))

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        """The variant metadata of one release on one index (see ``PackageSource``)."""
        self._is_repeatable = False
        return self._variants.read(files, wheels)

    def take_shared(self) -> tuple[str, ...]:
        """Projects that more than one index has and no pin ties to one; told only once."""
        with self._lock:
            found = tuple(sorted(self._shared))
            self._shared.clear()
        return found

    def find_kept_pages(self) -> dict[str, list[int]] | None:
        """What all answers so far rest on, if it is nothing but kept pages that are fresh.

        What is known by its hash does not count, since it can not change.

        Returns:
            Path of each page → what ``stamp_of`` says of it; ``None`` where something else was
            read, or an index could not be.
        """
        with self._lock:
            if not self._is_repeatable:
                return None
            read = dict(self._read)
        found = {path: stamp for path, stamp in read.items() if stamp is not None}
        return found if len(found) == len(read) else None

    def read_pages(self, wanted: Sequence[tuple[str, str]]) -> tuple[Sequence[Link], ...]:
        """The links of projects on indexes that are not among the settings, all at once.

        Args:
            wanted: (URL of the index, project). One that does not have the project gives
                nothing: 404, 410, and 403, with which stores of files answer for it.

        Raises:
            IndexAccessError: An index can not be read.
        """
        self.begin_pages(wanted[1:])
        return tuple(
            self._links.get(f"{index} {project}", partial(self._read_other_page, index, project))
            for index, project in wanted
        )

    def begin_pages(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Begin to read such pages; never raises."""
        for index, project in wanted:
            job = partial(self._read_other_page, index, project)
            self._links.begin(f"{index} {project}", job)

    def _read_other_page(self, index: str, project: str) -> Sequence[Link]:
        try:
            links = self._find_page(index, project)
        except StatusError as error:
            if error.status in (403, 404, 410):
                return ()
            raise
        if self._settings.uploaded_prior_to:
            return keep_earlier(list(links), self._settings.uploaded_prior_to)
        return links

    def prefetch_links(self, projects: Iterable[str]) -> None:
        """Begin to fetch pages; never raises."""
        wanted = [
            one
            for one in dict.fromkeys(projects)
            if one not in self._links and not self._is_at_hand(one)
        ]
        if len(wanted) > 1:
            for project in wanted:
                self._links.begin(project, partial(self._find_links, project))

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        """Begin to fetch core metadata of wheels; never raises."""
        for link in links:
            if link.is_wheel and not link.is_file and not self._files.has_metadata(link):
                self._metadata.begin(link.url, partial(self._read_core_metadata, link))

    # Links

    def _is_at_hand(self, project: str) -> bool:
        """Whether all pages of a project are kept and fresh, so that no thread is needed."""
        if project in self._settings.refresh:
            return False
        pinned = self._settings.pins.get(project)
        for index in (pinned,) if pinned else self._indexes():
            if not is_remote(index):
                continue
            url = project_url(index, project)
            if not is_url(url):
                continue  # who asks for the page says so
            if not self._cache.has_fresh_page(
                strip_credentials(url), self._client.credential_key(url)
            ):
                return False
        return True

    def _find_links(self, project: str) -> Sequence[Link]:
        try:
            return self._look_everywhere(project)
        except IndexAccessError:
            self._is_repeatable = False
            raise

    def _look_everywhere(self, project: str) -> Sequence[Link]:
        found: list[Sequence[Link]] = []
        places: list[IndexAccessError] = []
        problems: list[IndexAccessError] = []
        pinned = self._settings.pins.get(project)
        having = 0
        for place in () if pinned else self._settings.find_links:
            try:
                found.append(self._find_flat(place, project))
            except IndexAccessError as error:
                self._warn("find-links", f"{error}. It is skipped.", error.fix)
                places.append(error)
        for index in (pinned,) if pinned else self._indexes():
            try:
                links = self._find_page(index, project)
            except StatusError as error:
                if error.status in (404, 410):
                    self._is_repeatable = False
                    continue
                problems.append(error)
            except IndexAccessError as error:
                problems.append(error)
            else:
                found.append(links)
                having += bool(links)
                if links and self._settings.first_index:
                    break
                continue
            if self._settings.first_index:
                raise problems[-1]
        if problems or places or having > 1:
            self._is_repeatable = False
        if having > 1:
            with self._lock:
                self._shared[project] = having
        found = [links for links in found if links]
        if found:
            for problem in problems:
                self._warn("index-unusable", f"{problem}. It is skipped.", problem.fix)
            every = found[0] if len(found) == 1 else tuple(chain.from_iterable(found))
            if self._settings.uploaded_prior_to:
                return keep_earlier(every, self._settings.uploaded_prior_to)
            return every
        if problems:
            raise _join_problems(project, problems)
        where = "it was looked for in " + (redact_url(pinned) if pinned else self._places())
        raise ProjectNotFoundError(
            f"No index knows {project}", "; ".join([where, *map(str, places)])
        )

    def _indexes(self) -> tuple[str, ...]:
        settings = self._settings
        if settings.no_index:
            return ()
        return tuple(url for url in (settings.index_url, *settings.extra_index_urls) if url)

    def _places(self) -> str:
        places = [*self._indexes(), *self._settings.find_links]
        return ", ".join(redact_url(place) for place in places) or "no place at all"

    def _find_page(self, index: str, project: str) -> Sequence[Link]:
        """The links of one project on one index."""
        if "://" not in index and not index.startswith("file:"):
            index = file_url(Path(index).expanduser().absolute())
        url = project_url(index, project)
        if url.startswith("file:"):
            self._is_repeatable = False
            return read_local_page(url, index, project)
        return self._read_page(url, strip_credentials(index), project)

    def _find_flat(self, place: str, project: str) -> list[Link]:
        """The files of a project in a ``--find-links`` folder or page."""
        every = self._flat.get(place, partial(self._read_flat, place))
        return [link for link in every if belongs_to(link.filename, project)]

    def _read_flat(self, place: str) -> Sequence[Link]:
        if is_remote(place):
            return self._read_page(place, strip_credentials(place))
        self._is_repeatable = False
        return read_local_place(place)

    def _read_page(self, url: str, index: str, project: str = "") -> Sequence[Link]:
        """The links of a remote page, from the cache where that is right.

        Args:
            url: The page; may carry credentials.
            index: What the links carry as ``Link.index``.
            project: Whose page it is; empty for a ``--find-links`` page.
        """
        self._demand_security(url)
        bare = strip_credentials(url)
        secret = self._client.credential_key(url)
        kept = self._cache.find_page(bare, secret)
        asked_again = project in self._settings.refresh
        if kept is not None and kept.freshness.until > now() and not asked_again:
            self._note_read(bare, secret, kept.stamp)
            return kept.page.links
        validators = kept.freshness.validators if kept is not None else {}
        response = self._client.get(url, validators, accept=PAGE_TYPES)
        fresh = freshness_of(response.headers, now())
        if response.status == 304 and kept is not None:
            if fresh is not None and fresh.until > now():
                fresh = replace(
                    fresh,
                    etag=fresh.etag or kept.freshness.etag,
                    modified=fresh.modified or kept.freshness.modified,
                )
                stamp = self._cache.keep_page(bare, secret, KeptPage(kept.page, fresh))
                self._note_read(bare, secret, stamp)
            else:
                self._note_read(bare, secret, None)
            return kept.page.links
        from vinstall.index.page_table import read_page

        page = read_page(
            response.body,
            response.headers.get("content-type", ""),
            response.url,
            index=index,
            project=project,
            any_page=not project,
        )
        stamp = None
        if fresh is not None and (fresh.validators or fresh.until > now()):
            stamp = self._cache.keep_page(bare, secret, KeptPage(page, fresh))
        self._note_read(bare, secret, stamp)
        self._note_other_hosts(bare, page.hosts)
        return page.links

    def _note_read(self, url: str, secret: str, stamp: list[int] | None) -> None:
        path = self._cache.path_of_page(url, secret)
        with self._lock:
            # who has no password later gets no answer that needed one
            self._read[path] = None if secret else stamp

    def _demand_security(self, url: str) -> None:
        """Refuse pages that anybody on the way could change (pip's "secure origins").

        Raises:
            IndexAccessError: Plain http to another machine that the user does not trust.
        """
        if not is_url(url):
            raise IndexAccessError(f"{redact_url(url)} is not a URL", "it names no host")
        if not is_secure(url) and not is_trusted_host(url, self._settings.trusted_hosts):
            host = host_of(url)
            raise IndexAccessError(
                f"{redact_url(url)} is not used",
                f"{host} is reached without TLS and is not a trusted host",
                f"use https, or accept the danger with --trusted-host {host}",
            )

    def _note_other_hosts(self, page: str, origins: Iterable[str]) -> None:
        home = host_of(page)
        hosts = set(map(host_of, origins)) - {home}
        for host in sorted(hosts):
            text = f"Files of {home} come from {host}"
            with self._lock:
                if text in self._told:
                    continue
                self._told.add(text)
            self._observer.receive(Noted(text, verbosity=1))

    # Core metadata

    def _read_core_metadata(self, link: Link) -> CoreMetadata:
        if not link.is_wheel or link.is_file or not link.hashes:
            self._is_repeatable = False
        if not link.is_wheel:
            return self._build_core_metadata(link)
        name = parse_wheel_filename(link.filename)
        data = self._files.read_dist_info(link, "METADATA")
        metadata = parse_core_metadata(data, link.filename)
        if normalize_name(metadata.name) != name.project or (
            metadata.version != name.version_text
            and parse_version(metadata.version) != name.version
        ):
            raise _contradiction(link, metadata)
        return metadata

    def _build_core_metadata(self, link: Link) -> CoreMetadata:
        if self._build_metadata is None:
            raise BuildError(
                f"{link.filename} is a source distribution", "nothing may be built here"
            )
        metadata = self._build_metadata(link)
        if link.index:
            promised = parse_sdist_filename(link.filename, normalize_name(metadata.name))
            if promised is None or parse_version(promised) != parse_version(metadata.version):
                raise _contradiction(link, metadata)
        return metadata

    def _warn(self, code: str, what: str, fix: str = "") -> None:
        with self._lock:
            if what in self._told:
                return
            self._told.add(what)
        self._observer.receive(Warned(code, what, fix))


def _contradiction(link: Link, metadata: CoreMetadata) -> WheelFormatError:
    return WheelFormatError(
        f"{link.filename} contradicts itself",
        f"its metadata is about {metadata.name} {metadata.version}",
    )


def _join_problems(project: str, problems: Sequence[IndexAccessError]) -> IndexAccessError:
    if len(problems) == 1:
        return problems[0]
    return IndexAccessError(
        f"{project} could not be looked up", "; ".join(map(str, problems)), problems[0].fix
    )
