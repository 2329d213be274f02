"""Indexes, folders and files, as one source of links and metadata.

Fits ``resolution.source.PackageSource`` by shape. Pages are kept for the run and on disk;
core metadata is had by the cheapest way: a file beside the wheel (PEP 658), else a range
request into it, else the wheel itself. Variant metadata comes from the index's file, else
out of one wheel for each label.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vinstall.distributions.core_metadata import CoreMetadata, parse_core_metadata
from vinstall.distributions.filename import (
    SDIST_SUFFIXES,
    normalize_name,
    parse_version,
    parse_wheel_filename,
)
from vinstall.distributions.link import Link
from vinstall.errors import (
    BuildError,
    HashMismatchError,
    IndexAccessError,
    ProjectNotFoundError,
    VariantMetadataError,
    VinstallError,
    WheelFormatError,
)
from vinstall.events import Noted, Warned
from vinstall.index.address import (
    file_url,
    path_of,
    project_url,
    redact_url,
    strip_credentials,
)
from vinstall.index.client import StatusError
from vinstall.index.response_cache import KeptPage, ResponseCache, freshness_of, now
from vinstall.index.simple import PAGE_TYPES, VARIANTS_SUFFIX, parse_simple_page
from vinstall.variants.metadata import VariantMetadata, combine_metadata
from vinstall.variants.readers import MAX_BYTES, read_variant_metadata, read_wheel_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor

    from vinstall.events import Observer
    from vinstall.index.client import HttpClient
    from vinstall.settings import IndexSettings

_THREADS = 16
_SMALL_WHEEL = 20 * 1024 * 1024
_T = TypeVar("_T")


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
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._links: dict[str, Future[tuple[Link, ...]]] = {}
        self._metadata: dict[str, Future[CoreMetadata]] = {}
        self._flat: dict[str, tuple[Link, ...]] = {}
        self._told: set[str] = set()
        self._closed = False

    def close(self) -> None:
        """Give up what is still under way."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    # what the resolver asks

    def find_links(self, project: str) -> Sequence[Link]:
        """All files of a project (see ``PackageSource.find_links``)."""
        return self._shared(self._links, project, lambda: self._find_links(project))

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of one file (see ``PackageSource.read_core_metadata``)."""
        return self._shared(self._metadata, link.url, lambda: self._read_core_metadata(link))

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        """The variant metadata of one release on one index (see ``PackageSource``)."""
        faults: list[str] = []
        for link in files:
            try:
                found = read_variant_metadata(self._fetch_small(link), redact_url(link.url))
            except VinstallError as error:
                faults.append(f"{link.filename}: {_last(error)}")
                continue
            return self._complete(found, wheels)
        return self._read_from_wheels(wheels, faults)

    def prefetch_links(self, projects: Iterable[str]) -> None:
        """Begin to fetch pages; never raises."""
        wanted = [one for one in dict.fromkeys(projects) if one not in self._links]
        if len(wanted) > 1:
            for project in wanted:
                self._begin(self._links, project, partial(self._find_links, project))

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        """Begin to fetch core metadata of wheels; never raises."""
        for link in links:
            if link.is_wheel and not link.is_file and link.url not in self._metadata:
                self._begin(self._metadata, link.url, partial(self._read_core_metadata, link))

    # one answer for everybody who asks

    def _shared(self, kept: dict[str, Future[_T]], key: str, work: Callable[[], _T]) -> _T:
        from concurrent.futures import Future

        with self._lock:
            future = kept.get(key)
            mine = future is None
            if future is None:
                future = kept[key] = Future()
        if mine:
            _settle(future, work)
        return future.result()

    def _begin(self, kept: dict[str, Future[_T]], key: str, work: Callable[[], _T]) -> None:
        from concurrent.futures import Future, ThreadPoolExecutor

        with self._lock:
            if key in kept or self._closed:
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, "index")
            future: Future[_T] = Future()
            kept[key] = future
            try:
                self._pool.submit(_settle, future, work)
            except RuntimeError:
                del kept[key]

    # links

    def _find_links(self, project: str) -> tuple[Link, ...]:
        found: list[Link] = []
        problems: list[IndexAccessError] = []
        pinned = self._settings.pins.get(project)
        if not pinned:
            for place in self._settings.find_links:
                try:
                    found += self._find_flat(place, project)
                except IndexAccessError as error:
                    self._warn("find-links", f"{redact_url(place)} can not be used: {error}")
        indexes = (pinned,) if pinned else self._indexes()
        answered = False
        for index in indexes:
            try:
                links = self._find_page(index, project)
            except IndexAccessError as error:
                if isinstance(error, StatusError) and error.status == 404:
                    continue
                problems.append(error)
                continue
            answered = True
            found += links
            if links and self._settings.first_index:
                break
        for problem in problems if found or answered else ():
            self._warn("index-unusable", f"{problem}", problem.fix)
        if found:
            return tuple(self._filter_times(found))
        if problems:
            raise _as_not_found(project, problems)
        raise ProjectNotFoundError(
            f"No index knows {project}", "it was looked for in " + self._places()
        )

    def _indexes(self) -> tuple[str, ...]:
        settings = self._settings
        if settings.no_index:
            return ()
        return tuple(url for url in (settings.index_url, *settings.extra_index_urls) if url)

    def _places(self) -> str:
        places = [*self._indexes(), *self._settings.find_links]
        return ", ".join(redact_url(place) for place in places) or "no place at all"

    def _find_page(self, index: str, project: str) -> tuple[Link, ...]:
        """The links of one project on one index."""
        if "://" not in index:
            index = file_url(Path(index).absolute())
        url = project_url(index, project)
        if url.startswith("file:"):
            return self._read_local_page(url, index, project)
        origin = strip_credentials(index)
        bare = strip_credentials(url)
        secret = self._client.credential_key(url)
        kept = self._cache.find_page(bare, secret)
        if kept is not None and kept.freshness.until > now():
            return kept.links
        validators = kept.freshness.validators if kept is not None else {}
        response = self._client.get(url, validators, accept=PAGE_TYPES)
        fresh = freshness_of(response.headers, now())
        if response.status == 304 and kept is not None:
            if fresh is not None:
                merged = replace(
                    fresh,
                    etag=fresh.etag or kept.freshness.etag,
                    modified=fresh.modified or kept.freshness.modified,
                )
                self._cache.keep_page(bare, secret, KeptPage(kept.links, merged))
            return kept.links
        links = parse_simple_page(
            response.body, response.headers.get("content-type", ""), response.url, index=origin
        )
        if fresh is not None:
            self._cache.keep_page(bare, secret, KeptPage(links, fresh))
        self._note_other_hosts(bare, links)
        return links

    def _read_local_page(self, url: str, index: str, project: str) -> tuple[Link, ...]:
        """The page of a project in an index that is a folder."""
        folder = path_of(url)
        page = folder / "index.html"
        if page.is_file():
            return parse_simple_page(page.read_bytes(), "text/html", url, index=index)
        if folder.is_dir():
            return tuple(_folder_links(folder, index))
        raise StatusError(404, f"{project} is not in {redact_url(index)}")

    def _find_flat(self, place: str, project: str) -> list[Link]:
        """The files of a project in a ``--find-links`` folder or page."""
        with self._lock:
            every = self._flat.get(place)
        if every is None:
            every = self._read_flat(place)
            with self._lock:
                self._flat[place] = every
        return [link for link in every if _belongs(link.filename, project)]

    def _read_flat(self, place: str) -> tuple[Link, ...]:
        if not place.startswith(("http:", "https:")):
            path = path_of(place) if place.startswith("file:") else Path(place).expanduser()
            if path.is_dir():
                return tuple(_folder_links(path.absolute(), place))
            if path.name.endswith((".html", ".htm")):
                try:
                    data = path.read_bytes()
                except OSError as error:
                    raise IndexAccessError(
                        f"{place} can not be read", error.strerror or str(error)
                    ) from error
                url = file_url(path.absolute())
                return parse_simple_page(data, "text/html", url, index=place, any_page=True)
            if path.is_file():
                return (Link(file_url(path.absolute()), path.name, index=place),)
            raise IndexAccessError(f"{place} can not be read", "there is no such file or folder")
        response = self._client.get(place, accept="text/html")
        return parse_simple_page(
            response.body,
            response.headers.get("content-type", ""),
            response.url,
            index=strip_credentials(place),
            any_page=True,
        )

    def _filter_times(self, links: Sequence[Link]) -> Sequence[Link]:
        """Leave out what was uploaded later than the user allows."""
        limit = self._settings.uploaded_prior_to
        if not limit:
            return links
        kept = []
        for link in links:
            if not link.upload_time and not link.is_file:
                raise IndexAccessError(
                    f"{redact_url(link.index)} does not tell when {link.filename} was uploaded",
                    "--uploaded-prior-to needs upload times",
                )
            if link.is_file or _moment(link.upload_time) < _moment(limit):
                kept.append(link)
        return kept

    def _note_other_hosts(self, page: str, links: Sequence[Link]) -> None:
        from urllib.parse import urlsplit

        home = urlsplit(page).netloc
        hosts = {urlsplit(link.url).netloc for link in links} - {home}
        for host in sorted(hosts):
            text = f"Files of {home} come from {host}"
            if text not in self._told:
                self._told.add(text)
                self._observer.receive(Noted(text, verbosity=1))

    # core metadata

    def _read_core_metadata(self, link: Link) -> CoreMetadata:
        if not link.is_wheel:
            return self._read_source_metadata(link)
        if link.is_file:
            data = _read_from_local_wheel(link, "METADATA")
        else:
            data = self._read_remote_metadata(link)
        metadata = parse_core_metadata(data, link.filename)
        _check_identity(link, metadata)
        return metadata

    def _read_source_metadata(self, link: Link) -> CoreMetadata:
        if self._build_metadata is None:
            raise BuildError(
                f"{link.filename} is a source distribution", "nothing may be built here"
            )
        return self._build_metadata(link)

    def _read_remote_metadata(self, link: Link) -> bytes:
        key = _content_key(link, "METADATA")
        kept = self._cache.find_file(key) if key else None
        if kept is not None:
            return kept
        data = self._fetch_metadata_file(link)
        if data is None:
            data = self._read_from_remote(link, "METADATA")
        if key:
            self._cache.keep_file(key, data)
        return data

    def _fetch_metadata_file(self, link: Link) -> bytes | None:
        """The metadata file beside a wheel (PEP 658); ``None`` where there is none."""
        if link.metadata_hashes is None:
            return None
        url = link.url.partition("#")[0] + ".metadata"
        try:
            data = self._client.get(url).body
        except StatusError as error:
            if error.status in (404, 403):
                return None
            raise
        for name, digest in link.metadata_hashes.items():
            import hashlib

            try:
                found = hashlib.new(name, data).hexdigest()
            except ValueError:
                continue
            if found != digest:
                raise HashMismatchError(
                    f"The metadata file of {link.filename} is not the one that the index promises",
                    f"Expected {name} {digest}\n             Got        {found}",
                )
        return data

    def _read_from_remote(self, link: Link, name: str) -> bytes:
        """A file of a wheel's dist-info, by ranges, else out of the whole wheel."""
        from vinstall.index.remote_wheel import RangesNotSupportedError, read_remote_file

        try:
            return read_remote_file(self._client, link, name)
        except RangesNotSupportedError:
            if name != "METADATA" and (link.size or 0) > _SMALL_WHEEL:
                raise
        return self._read_from_whole(link, name)

    def _read_from_whole(self, link: Link, name: str) -> bytes:
        import tempfile

        from vinstall.events import SilentObserver
        from vinstall.index.download import Downloader

        with tempfile.TemporaryDirectory(prefix="vinstall-") as folder:
            downloader = Downloader(self._client, "", SilentObserver())
            fetched = downloader.fetch(link, None, Path(folder))
            return _read_from_local_wheel(
                Link(file_url(fetched.path.absolute()), link.filename), name
            )

    # variant metadata

    def _fetch_small(self, link: Link) -> bytes:
        """A ``*-variants.json`` file, with its hash verified."""
        if link.is_file:
            path = path_of(link.url)
            try:
                if path.stat().st_size > MAX_BYTES:
                    raise VariantMetadataError(
                        f"{link.filename} can not be used", f"it is larger than {MAX_BYTES} bytes"
                    )
                data = path.read_bytes()
            except OSError as error:
                raise IndexAccessError(
                    f"{link.filename} can not be read", error.strerror or str(error)
                ) from error
        else:
            data = self._fetch_kept(link)
        from vinstall.index.download import check_hashes

        if link.hashes:
            import hashlib

            found = {name: hashlib.new(name, data).hexdigest() for name in link.hashes}
            check_hashes(link, {}, found)
        return data

    def _fetch_kept(self, link: Link) -> bytes:
        """A small remote file; one with a hash is kept on disk by it."""
        key = _content_key(link, "file")
        kept = self._cache.find_file(key) if key else None
        if kept is not None:
            return kept
        data = self._client.get(link.url, limit=MAX_BYTES).body
        if key:
            self._cache.keep_file(key, data)
        return data

    def _complete(self, found: VariantMetadata, wheels: Sequence[Link]) -> VariantMetadata:
        """Metadata of the index; labels that it gets wrong are read out of their wheels."""
        labels = {parse_wheel_filename(link.filename).label: link for link in wheels}
        bad = [label for label in labels if label in found.refused]
        if not bad:
            for problem in found.problems[:1]:
                self._warn("variant-metadata", f"{found.origin}: {problem}")
            return found
        parts = [replace(found, refused={}, problems=())]
        left: dict[str, str] = {
            label: why for label, why in found.refused.items() if label not in bad
        }
        saved = []
        for label in sorted(bad):
            try:
                part = self._read_wheel_variant(labels[label], label)
                combine_metadata([*parts, part])
            except VinstallError as error:
                left[label] = f"{found.refused[label]} ({_last(error)})"
            else:
                parts.append(part)
                saved.append(label)
        text = f"{found.origin} is wrong: {'; '.join(found.refused[one] for one in sorted(bad))}."
        if saved:
            text += f" The wheels' own metadata is used for {', '.join(saved)}."
        lost = sorted(set(bad) - set(saved))
        if lost:
            text += f" The builds {', '.join(lost)} are left out."
        self._warn("variant-metadata", text)
        return replace(combine_metadata(parts), refused=left, origin=found.origin)

    def _read_from_wheels(self, wheels: Sequence[Link], faults: list[str]) -> VariantMetadata:
        """Combine what one wheel for each label says (no index file, or a bad one)."""
        parts: list[VariantMetadata] = []
        refused: dict[str, str] = {}
        for link in wheels:
            label = parse_wheel_filename(link.filename).label
            try:
                part = self._read_wheel_variant(link, label)
                combine_metadata([*parts, part])
            except VinstallError as error:
                refused[label] = f"its own variant.json can not be used: {_last(error)}"
            else:
                parts.append(part)
        release = "-".join(wheels[0].filename.split("-")[:2]) if wheels else "the release"
        if not parts:
            reasons = [*faults, *(f"{label}: {why}" for label, why in sorted(refused.items()))]
            nothing = VariantMetadataError(
                f"The variants of {release} can not be used",
                "; ".join(reasons) or "nothing describes them",
            )
            self._warn(
                "variant-metadata", f"{nothing}. Its null and non-variant wheels are still used."
            )
            raise nothing
        if faults:
            self._warn(
                "variant-metadata",
                f"{'; '.join(faults)}. The metadata in the wheels of {release} is used instead.",
            )
        else:
            self._observer.receive(
                Noted(f"The variants of {release} were read out of its wheels", verbosity=1)
            )
        if refused:
            left = "; ".join(f"{label}: {why}" for label, why in sorted(refused.items()))
            self._warn("variant-metadata", f"Some builds of {release} are left out: {left}")
        combined = combine_metadata(parts)
        return replace(combined, refused={**combined.refused, **refused})

    def _read_wheel_variant(self, link: Link, label: str) -> VariantMetadata:
        origin = f"variant.json in {link.filename}"
        if link.is_file:
            return read_wheel_metadata(_read_from_local_wheel(link, "variant.json"), label, origin)
        key = _content_key(link, "variant.json")
        data = self._cache.find_file(key) if key else None
        if data is None:
            data = self._read_from_remote(link, "variant.json")
            if key:
                self._cache.keep_file(key, data)
        return read_wheel_metadata(data, label, origin)

    def _warn(self, code: str, what: str, fix: str = "") -> None:
        with self._lock:
            if what in self._told:
                return
            self._told.add(what)
        self._observer.receive(Warned(code, what, fix))


def _settle(future: Future[_T], work: Callable[[], _T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise


def _as_not_found(project: str, problems: Sequence[IndexAccessError]) -> IndexAccessError:
    first = problems[0]
    if len(problems) == 1:
        return first
    return IndexAccessError(
        f"{project} could not be looked up", "; ".join(map(str, problems)), first.fix
    )


def _last(error: VinstallError) -> str:
    return error.why or error.what


def _belongs(filename: str, project: str) -> bool:
    if filename.endswith((".whl", VARIANTS_SUFFIX)):
        return normalize_name(filename.partition("-")[0]) == project
    return normalize_name(filename).startswith(f"{project}-")


def _folder_links(folder: Path, index: str) -> list[Link]:
    """Every distribution file and variants file in a folder, sorted by name."""
    kept = (".whl", *SDIST_SUFFIXES, VARIANTS_SUFFIX)
    return [
        Link(file_url(path), path.name, size=path.stat().st_size, index=index)
        for path in sorted(folder.iterdir())
        if path.name.endswith(kept) and path.is_file()
    ]


def _content_key(link: Link, part: str) -> str:
    """A key for a part of a file that can never change: its hash; else nothing."""
    for name in ("sha512", "sha384", "sha256"):
        if name in link.hashes:
            return f"{part} of {name}={link.hashes[name]}"
    return ""


def _read_from_local_wheel(link: Link, name: str) -> bytes:
    """A file of the top-level dist-info of a wheel on disk."""
    import zipfile

    path = path_of(link.url)
    try:
        with zipfile.ZipFile(path) as archive:
            found = [
                entry
                for entry in archive.infolist()
                if entry.filename.count("/") == 1 and entry.filename.endswith(f".dist-info/{name}")
            ]
            if len(found) != 1:
                raise WheelFormatError(
                    f"{link.filename} is not a valid wheel",
                    f"it has {len(found) or 'no'} *.dist-info/{name}",
                )
            if found[0].file_size > MAX_BYTES:
                raise WheelFormatError(
                    f"{link.filename} is not a valid wheel", f"its {name} is too large"
                )
            return archive.read(found[0])
    except OSError as error:
        raise IndexAccessError(f"{path} can not be read", error.strerror or str(error)) from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise WheelFormatError(f"{link.filename} is not a valid wheel", str(error)) from error


def _check_identity(link: Link, metadata: CoreMetadata) -> None:
    """See that the metadata is about what the file name says."""
    name = parse_wheel_filename(link.filename)
    version = parse_version(metadata.version)
    if normalize_name(metadata.name) == name.project and version == name.version:
        return
    raise WheelFormatError(
        f"{link.filename} contradicts itself",
        f"its metadata is about {metadata.name} {metadata.version}",
    )


def _moment(text: str) -> float:
    import datetime

    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return moment.timestamp()
