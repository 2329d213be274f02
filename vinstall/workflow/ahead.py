"""Who fetches: threads that receive, children that unpack; and what is fetched ahead.

While the search goes on, what it has chosen so far is hardly ever given up again. So small
wheels are fetched and unpacked as soon as they are chosen, until the first conflict. What
comes ahead lies in the store under its digest, and is installed only if the plan names it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

    from vinstall.distributions.link import Link
    from vinstall.events import Event, Observer
    from vinstall.index.download import Downloader
    from vinstall.resolution.candidate import Candidate
    from vinstall.wheel.store import StoredWheel
    from vinstall.wheel.unpackers import Unpackers
    from vinstall.workflow.context import Context

_THREADS = 8
_MOST_BYTES = 32 * 2**20
"""A wheel that is larger is not fetched on trust."""
_MOST_AHEAD = 512 * 2**20


@dataclass
class Crew:
    """Those who fetch and unpack.

    Attributes:
        context: The run.
        downloader: Receives and verifies.
        unpackers: Processes that unpack; ``None`` where there is too little to do for them.
        pool: Threads; ``None`` for one wheel.
        is_guest: Whether the processes are those of another crew, which ends them.
    """

    context: Context
    downloader: Downloader
    unpackers: Unpackers | None
    pool: ThreadPoolExecutor | None
    is_guest: bool = False

    def fetch(
        self,
        link: Link,
        expected: Mapping[str, frozenset[str]] | None,
        folder: Path,
        demand: Callable[[str], None] | None = None,
    ) -> tuple[StoredWheel, str]:
        """Fetch, verify and unpack one wheel.

        Args:
            link: The wheel.
            expected: Algorithm → accepted digests, as the user listed them.
            folder: Where it lies until it is unpacked.
            demand: Called with its digest when it has arrived; what it raises ends it.

        Returns:
            The entry of the store, and the SHA-256 of the file.

        Raises:
            VinstallError: It can not be had.
        """
        from vinstall.values import replace
        from vinstall.workflow.arriving import fetch_and_unpack, is_worthwhile

        context, unpackers = self.context, self.unpackers
        is_stored = False
        if unpackers is not None and is_worthwhile(link):
            downloaded, is_stored = fetch_and_unpack(
                context.client, self.downloader, unpackers, link, expected, folder
            )
        else:
            downloaded = self.downloader.fetch(link, expected, folder)
        if demand is not None:
            demand(downloaded.sha256)
        stored = context.store.find(downloaded.sha256, check=False) if is_stored else None
        if stored is not None:
            stored = replace(stored, is_verified=True)
        else:
            unpack = unpackers.add if unpackers else context.store.add
            stored = unpack(downloaded.path, link.filename, downloaded.sha256)
        if not link.is_file and downloaded.path.parent == folder:
            downloaded.path.unlink(missing_ok=True)
        return stored, downloaded.sha256

    def stop(self) -> None:
        """Give up what is under way."""
        self.downloader.stop()
        if self.unpackers is not None:
            self.unpackers.stop()

    def close(self) -> None:
        """End threads and children; what waits is not begun any more."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)
        if self.unpackers is not None and not self.is_guest:
            self.unpackers.close()


def make_crew(
    context: Context,
    links: Sequence[Link],
    *,
    observer: Observer | None = None,
    unpackers: Unpackers | None = None,
) -> Crew:
    """Those who fetch some wheels that are not in the store.

    Args:
        context: The run.
        links: The wheels.
        observer: Is told of the transfers, in place of that of the run.
        unpackers: Processes that there are already; whoever made them ends them.
    """
    from vinstall.index.download import Downloader

    downloader = Downloader(
        context.client, context.settings.cache_dir, observer or context.observer
    )
    pool = None
    if len(links) > 1:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(min(_THREADS, len(links)), "fetch")
    if unpackers is not None:
        return Crew(context, downloader, unpackers, pool, is_guest=True)
    return Crew(context, downloader, _make_unpackers(context, links), pool)


def _make_unpackers(context: Context, links: Sequence[Link]) -> Unpackers | None:
    """Processes that unpack, where there is enough to do for them."""
    if not links:
        return None
    from vinstall.wheel.unpackers import WORTHWHILE, Unpackers
    from vinstall.workflow.arriving import is_worthwhile

    if len(links) < WORTHWHILE and not any(map(is_worthwhile, links)):
        return None
    from vinstall.providers.run import clean_environment

    return Unpackers(context.store, clean_environment(context.environment), len(links))


class FetchAhead:
    """Fetches what is chosen while the search goes on; used by one thread.

    Args:
        context: The run.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._observer = _HeldObserver(context.observer)
        self._waiting: dict[str, Link] = {}
        self._fetched: dict[str, Future[tuple[StoredWheel, str]]] = {}
        self._size = 0
        self._is_over = False
        self.crew: Crew | None = None

    def choose(self, candidate: Candidate) -> None:
        """The search has chosen a file."""
        link = candidate.link
        if link is None or self._is_over or not _is_worth_it(candidate, link):
            return
        digest = link.hashes["sha256"]
        size = link.size or 0
        known = digest in self._fetched or digest in self._waiting
        if known or self._size + size > _MOST_AHEAD or self._context.store.has(digest):
            return
        self._size += size
        self._waiting[digest] = link
        if self.crew is None:
            from vinstall.wheel.unpackers import WORTHWHILE
            from vinstall.workflow.arriving import is_worthwhile

            if len(self._waiting) < WORTHWHILE and not is_worthwhile(link):
                return
            links = [*self._waiting.values()] * WORTHWHILE  # there will be more
            self.crew = make_crew(self._context, links, observer=self._observer)
        crew, folder = self.crew, self._context.work_folder
        assert crew.pool is not None, "there are several"
        for key, one in self._waiting.items():
            self._fetched[key] = crew.pool.submit(crew.fetch, one, None, folder)
        self._waiting.clear()

    def stop_choosing(self) -> None:
        """The search has given something up: from now on nothing is certain."""
        self._is_over = True

    def tell(self) -> None:
        """From now on let everybody see what is fetched, and what was."""
        self._observer.release()

    def has(self, link: Link) -> bool:
        """Whether a file is fetched ahead, or was."""
        return link.hashes.get("sha256", "") in self._fetched

    def take(self, link: Link) -> tuple[StoredWheel, str]:
        """Wait for a file.

        Raises:
            VinstallError: It can not be had.
        """
        return self._fetched[link.hashes["sha256"]].result()

    def stop(self) -> None:
        """Give up everything."""
        if self.crew is not None:
            self.crew.stop()

    def close(self) -> None:
        """End threads and children."""
        self._is_over = True
        crew, self.crew = self.crew, None
        if crew is not None:
            crew.close()


def _is_worth_it(candidate: Candidate, link: Link) -> bool:
    return (
        link.is_wheel
        and not link.is_file
        and link.bridge is None
        and not candidate.direct
        and "sha256" in link.hashes
        and 0 < (link.size or 0) <= _MOST_BYTES
    )


class _HeldObserver:
    """Keeps events back until the stage that they belong to has begun; for several threads."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lock = threading.Lock()
        self._held: list[Event] | None = []

    def receive(self, event: Event) -> None:
        """Take one event."""
        with self._lock:
            if self._held is not None:
                self._held.append(event)
                return
        self._observer.receive(event)

    def release(self) -> None:
        """Hand on what was kept, and everything from now on."""
        with self._lock:
            held, self._held = self._held, None
            for event in held or ():
                self._observer.receive(event)
