"""A link → a file, hashed while it streams, gone on with where it broke off.

Nothing is trusted until the whole hash has matched. A transfer that ends early is told
apart from a file that is another one: the length is compared first.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vinstall.errors import HashMismatchError, IndexAccessError
from vinstall.events import FileChosen, TransferAdvanced, TransferFinished, TransferStarted
from vinstall.files import BLOCK
from vinstall.index.address import path_of, redact_url, strip_credentials
from vinstall.index.client import ConnectionLostError
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.index.client import HttpClient, Stream

_PARTS = "parts-v1"
_WHOLE = "whole-v1"
_ACTIVE: set[str] = set()
_ACTIVE_LOCK = threading.Lock()
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_STEP = 256 * 1024
"""Bytes between two progress events."""
_GOOD_PROGRESS = 64 * 1024
"""Bytes that make a try count as progress."""


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A file that is what was promised.

    Attributes:
        path: Where it lies; for a ``file:`` link the file itself.
        sha256: Hex digest.
        size: Bytes.
    """

    path: Path
    sha256: str
    size: int


class Arriving(Protocol):
    """Who reads a file while it is received."""

    def advance(self, part: Path, received: int, /) -> None:
        """So many bytes of it lie in ``part``."""

    def begin_again(self) -> None:
        """What came is worth nothing."""


class TooLongError(IndexAccessError):
    """More came than the index promises."""


class Downloader:
    """Fetches files; may be used by several threads.

    Args:
        client: Fetches.
        cache_dir: Where parts of unfinished files are kept; empty for nowhere.
        observer: Receives the progress.
    """

    def __init__(self, client: HttpClient, cache_dir: str, observer: Observer) -> None:
        self._client = client
        self._cache = Path(cache_dir) if cache_dir else None
        self._observer = observer
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all transfers at their next byte; what came is kept for a later run."""
        self._stopped.set()

    def fetch(
        self,
        link: Link,
        expected: Mapping[str, frozenset[str]] | None,
        folder: Path,
        arriving: Arriving | None = None,
    ) -> DownloadedFile:
        """Fetch one file and verify it.

        Args:
            link: What to fetch; its own hashes are always verified.
            expected: Algorithm → accepted digests, as the user listed them.
            folder: Where the file goes.
            arriving: Is told how much of it is there, while it is not verified yet.

        Raises:
            HashMismatchError: It arrived whole and is another file.
            IndexAccessError: It did not arrive.
        """
        names = _algorithms(link, expected or {})
        if link.is_file:
            try:
                path = path_of(link.url)
            except ValueError as error:
                raise IndexAccessError(f"{link.url} can not be read", str(error)) from error
            self._observer.receive(FileChosen("local", str(path)))
            body = _Body(names)
            body.read(path, link)
            check_hashes(link, expected or {}, body.digests())
            return DownloadedFile(path, body.digests()["sha256"], body.size)
        path = folder / link.filename
        kept = self._take_whole(link, expected or {}, path, names)
        return kept or self._download(link, expected or {}, path, names, arriving)

    def keep_whole(self, link: Link) -> Path | None:
        """Fetch a file that is needed before it is known whether it will be installed.

        It stays in the cache until ``fetch`` takes it. Nothing is verified yet.

        Returns:
            Where it lies; ``None`` where there is no cache, or nothing to know it by.
        """
        path = self._whole_path(link)
        if path is None:
            return None
        if not path.is_file():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError:
                return None
            self._download(link, {}, path, _algorithms(link, {}))
        return path

    def _whole_path(self, link: Link) -> Path | None:
        if self._cache is None or "sha256" not in link.hashes:
            return None
        return self._cache / _WHOLE / link.hashes["sha256"][:64] / link.filename

    def _take_whole(
        self,
        link: Link,
        expected: Mapping[str, frozenset[str]],
        path: Path,
        names: Iterable[str],
    ) -> DownloadedFile | None:
        """Use the file that an earlier step left in the cache, if it is the right one."""
        kept = self._whole_path(link)
        if kept is None or not kept.is_file():
            return None
        body = _Body(names)
        try:
            body.read(kept, link)
            check_hashes(link, {}, body.digests())
            move_file(kept, path)
        except (HashMismatchError, IndexAccessError, OSError):
            with contextlib.suppress(OSError):
                kept.unlink()
            return None
        with contextlib.suppress(OSError):
            kept.parent.rmdir()
        self._observer.receive(FileChosen("cache", link.filename, body.size))
        try:
            check_hashes(link, expected, body.digests())
        except HashMismatchError:
            path.unlink(missing_ok=True)
            raise
        return DownloadedFile(path, body.digests()["sha256"], body.size)

    def _download(
        self,
        link: Link,
        expected: Mapping[str, frozenset[str]],
        path: Path,
        names: Iterable[str],
        arriving: Arriving | None = None,
    ) -> DownloadedFile:
        self._observer.receive(FileChosen("download", link.filename, link.size))
        part = self._part_path(link, path)
        key = strip_credentials(link.url)
        try:
            resumed, body = self._receive_all(link, part, key, names, arriving)
            try:
                check_hashes(link, expected, body.digests())
            except HashMismatchError:
                _forget(part)
                if not resumed:
                    raise
                _, body = self._receive_all(link, part, key, names, arriving)
                check_hashes(link, expected, body.digests())
            try:
                move_file(part, path)
            except OSError as error:
                raise IndexAccessError(
                    f"{path} can not be written", error.strerror or str(error)
                ) from error
        except HashMismatchError:
            _forget(part)
            raise
        except BaseException as error:
            is_cached = self._cache is not None and part.parent == self._cache / _PARTS
            if is_cached and not isinstance(error, TooLongError) and not _filled_the_disk(error):
                _leave_for_later(part)
            else:
                _forget(part)
            raise
        finally:
            with _ACTIVE_LOCK:
                _ACTIVE.discard(part.name)
            self._observer.receive(TransferFinished(key))
        part.with_suffix(".validator").unlink(missing_ok=True)
        return DownloadedFile(path, body.digests()["sha256"], body.size)

    def _receive_all(
        self,
        link: Link,
        part: Path,
        key: str,
        names: Iterable[str],
        arriving: Arriving | None,
    ) -> tuple[bool, _Body]:
        """Receive until the file is whole, going on after each early end.

        Returns:
            Whether it was put together from several answers, and its digests.

        Raises:
            IndexAccessError: It ended early too often, or can not be stored.
        """
        transfer = _Transfer(link, part, key, names, self._observer, arriving, self._stopped)
        tries = 0
        while True:
            before = transfer.body.size
            try:
                headers = transfer.headers()
                with self._client.stream(link.url, headers) as stream:
                    transfer.receive(stream)
                return transfer.is_resumed, transfer.body
            except ConnectionLostError as error:
                if transfer.body.size - before >= _GOOD_PROGRESS:
                    tries = 0
                if tries >= self._client.retries:
                    raise IndexAccessError(
                        f"{link.filename} did not arrive whole",
                        f"the connection to {redact_url(link.url)} ended early {tries + 1} times"
                        + (f": {error.why}" if error.why else ""),
                        "Run the command again: it goes on from where it broke off.",
                    ) from error
                self._client.wait_before(tries)
                tries += 1
            except OSError as error:
                raise IndexAccessError(
                    f"{link.filename} can not be stored", error.strerror or str(error)
                ) from error

    def _part_path(self, link: Link, path: Path) -> Path:
        """Where the unfinished file lies: in the cache, to be found by a later run."""
        text = f"{strip_credentials(link.url)}\n{sorted(link.hashes.items())}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        own = f"{digest}.{os.getpid()}-{threading.get_ident()}.part"
        with _ACTIVE_LOCK:
            _ACTIVE.add(own)
        if self._cache is None:
            return path.with_name(own)
        parts = self._cache / _PARTS
        try:
            parts.mkdir(parents=True, exist_ok=True)
            probe = parts / own
            _adopt_part(parts, digest, probe)
            probe.open("ab").close()
        except OSError:
            return path.with_name(own)
        return probe


class _Body:
    """Digests and size of what has arrived."""

    def __init__(self, names: Iterable[str]) -> None:
        self._digests = {name: hashlib.new(name) for name in names}
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        for digest in self._digests.values():
            digest.update(piece)

    def read(self, path: Path, link: Link) -> None:
        """Add a whole file."""
        try:
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    self.add(block)
        except OSError as error:
            raise IndexAccessError(
                f"{redact_url(link.url)} can not be read", error.strerror or str(error)
            ) from error

    def digests(self) -> dict[str, str]:
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


class _Transfer:
    """The state of one file between tries."""

    def __init__(
        self,
        link: Link,
        part: Path,
        key: str,
        names: Iterable[str],
        observer: Observer,
        arriving: Arriving | None,
        stopped: threading.Event,
    ) -> None:
        self._link = link
        self._part = part
        self._key = key
        self._names = tuple(names)
        self._observer = observer
        self._arriving = arriving
        self._stopped = stopped
        self._told = False
        self.body = _Body(self._names)
        self.is_resumed = False
        left, self._validator = _read_part(part)
        if left and self._validator:
            self.body.read(part, link)

    def headers(self) -> dict[str, str]:
        """What to ask for: the whole file, or the rest of the same one."""
        if not self.body.size or not self._validator:
            return {}
        return {"Range": f"bytes={self.body.size}-", "If-Range": self._validator}

    def receive(self, stream: Stream) -> None:
        """Take a body, whole or the rest.

        Raises:
            ConnectionLostError: It ended early; what came is kept.
        """
        begun = self.body.size
        goes_on = (
            begun > 0
            and stream.status == 206
            and stream.headers.get("content-range", "").startswith(f"bytes {begun}-")
        )
        if stream.status != 200 and not goes_on:
            self._begin("")
            raise ConnectionLostError(
                f"{self._key} did not arrive whole", "the server gave another part than asked for"
            )
        if goes_on:
            self.is_resumed = True
        else:
            self._begin(_validator_of(stream))
        total = _total_of(stream, self.body.size)
        if total is None:
            total = self._link.size
        if not self._told:
            self._told = True
            self._observer.receive(TransferStarted(self._key, self._link.filename, total))
            if goes_on:
                self._observer.receive(TransferAdvanced(self._key, begun))
        promised = self._link.size
        untold = 0
        arriving, stopped = self._arriving, self._stopped
        with self._part.open("ab") as file:
            for piece in stream:
                if stopped.is_set():
                    raise IndexAccessError(f"{self._link.filename} is not wanted any more")
                file.write(piece)
                if arriving is not None:
                    file.flush()
                    arriving.advance(self._part, self.body.size + len(piece))
                self.body.add(piece)
                if promised is not None and self.body.size > promised:
                    raise TooLongError(
                        f"{self._link.filename} is not the file that the index promises",
                        f"it is longer than {promised} bytes",
                        "Do not install it. The file was changed, or a proxy altered it.",
                    )
                untold += len(piece)
                if untold >= _STEP:
                    self._observer.receive(TransferAdvanced(self._key, untold))
                    untold = 0
        if untold:
            self._observer.receive(TransferAdvanced(self._key, untold))
        if total is not None and self.body.size < total:
            raise ConnectionLostError(
                f"{self._key} did not arrive whole", f"{self.body.size} of {total} bytes came"
            )

    def _begin(self, validator: str) -> None:
        """Begin again with an empty file."""
        if self._arriving is not None:
            self._arriving.begin_again()
        self.body = _Body(self._names)
        self.is_resumed = False
        self._validator = validator
        self._part.open("wb").close()
        self._part.with_suffix(".validator").write_text(validator, "utf-8")


def move_file(source: Path, target: Path) -> None:
    """Move a file, by copying where the folders lie on different file systems."""
    try:
        source.replace(target)
    except OSError:
        import shutil

        shutil.move(str(source), str(target))


def _adopt_part(folder: Path, digest: str, part: Path) -> None:
    """Go on with what an earlier run left, unless that run is still at it."""
    for found in sorted(folder.glob(f"{digest}.*.part")):
        owner = found.name.split(".")[1].partition("-")[0]
        with _ACTIVE_LOCK:
            if found.name in _ACTIVE and found != part:
                continue
        if owner not in ("left", str(os.getpid())) and _is_alive(owner):
            continue
        with contextlib.suppress(OSError):
            found.rename(part)
            found.with_suffix(".validator").rename(part.with_suffix(".validator"))
            return


def _filled_the_disk(error: BaseException) -> bool:
    """Whether there was no room for a file: then its beginning is not left to take room."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _NO_ROOM


def _forget(part: Path) -> None:
    """Remove an unfinished file that is of no use."""
    with contextlib.suppress(OSError):
        part.unlink()
    with contextlib.suppress(OSError):
        part.with_suffix(".validator").unlink()


def _leave_for_later(part: Path) -> None:
    """Let a later run go on with an unfinished file."""
    digest = part.name.split(".")[0]
    left = part.with_name(f"{digest}.left.part")
    with contextlib.suppress(OSError):
        part.with_suffix(".validator").replace(left.with_suffix(".validator"))
        part.replace(left)


def _is_alive(process: str) -> bool:
    if not process.isdecimal():
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read_part(part: Path) -> tuple[int, str]:
    """How much of a file is there, and the validator that it came with."""
    try:
        return part.stat().st_size, part.with_suffix(".validator").read_text("utf-8").strip()
    except OSError:
        return 0, ""


def _validator_of(stream: Stream) -> str:
    """What tells whether the file is still the same: a strong ``ETag``, else the date."""
    etag = stream.headers.get("etag", "")
    if etag.startswith("W/") or not etag:
        etag = stream.headers.get("last-modified", "")
    return etag if etag.isascii() and etag.isprintable() else ""


def _total_of(stream: Stream, offset: int) -> int | None:
    length = stream.headers.get("content-length", "")
    return int(length) + offset if length.isdecimal() else None


def _algorithms(link: Link, expected: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """What to hash with. An algorithm that only the index knows is left out."""
    names = {name for name in (*link.hashes, *expected) if is_known_algorithm(name)}
    return ("sha256", *sorted(names - {"sha256"}))


def is_known_algorithm(name: str) -> bool:
    """Whether digests of an algorithm can be checked (those of a fixed length)."""
    return name in hashlib.algorithms_available and not name.startswith("shake")


def check_hashes(
    link: Link, expected: Mapping[str, frozenset[str]], found: Mapping[str, str]
) -> None:
    """Compare digests: all of the index's, and one of the user's.

    Raises:
        HashMismatchError: They differ; ``why`` holds both.
    """
    where = f" from {redact_url(link.index)}" if link.index else ""
    for name, digest in link.hashes.items():
        if is_known_algorithm(name) and found.get(name) != digest.lower():
            raise HashMismatchError(
                f"{link.filename}{where} is not the file that the index promises",
                f"Expected {name} {digest}\n             Got        {found.get(name)}",
                "Do not install it. The file was changed, or a proxy altered it.",
            )
    if not expected:
        return
    if any(found.get(name) in digests for name, digests in expected.items()):
        return
    name = "sha256" if "sha256" in expected else next(iter(expected))
    listed = " or ".join(sorted(expected[name]))
    raise HashMismatchError(
        f"{link.filename}{where} is not one of the files that you listed",
        f"Expected {name} {listed}\n             Got        {found.get(name)}",
        "If you have updated the package, update the hashes; otherwise examine the file: "
        "someone may have tampered with it.",
    )
