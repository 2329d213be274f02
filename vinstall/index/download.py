"""A link → a file, hashed while it streams, gone on with where it broke off.

Nothing is trusted until the whole hash has matched. A transfer that ends early is told
apart from a file that is another one: the length is compared first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import HashMismatchError, IndexAccessError
from vinstall.events import FileChosen, TransferAdvanced, TransferFinished, TransferStarted
from vinstall.files import BLOCK
from vinstall.index.address import path_of, redact_url
from vinstall.index.client import ConnectionLostError, Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.index.client import HttpClient

_PARTS = "parts-v1"
_TRIES = 6


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


class Downloader:
    """Fetches files; may be used by several threads.

    Args:
        client: Fetches.
        cache_dir: Where parts of unfinished files are kept; empty for nowhere.
        observer: Receives the progress.
    """

    def __init__(self, client: HttpClient, cache_dir: str, observer: Observer) -> None:
        self._client = client
        self._parts = Path(cache_dir) / _PARTS if cache_dir else None
        self._observer = observer

    def fetch(
        self, link: Link, expected: Mapping[str, frozenset[str]] | None, folder: Path
    ) -> DownloadedFile:
        """Fetch one file and verify it.

        Args:
            link: What to fetch; its own hashes are always verified.
            expected: Algorithm → accepted digests, as the user listed them.
            folder: Where the file goes.

        Raises:
            HashMismatchError: It arrived whole and is another file.
            IndexAccessError: It did not arrive.
        """
        names = {"sha256", *link.hashes, *(expected or {})}
        digests = {name: hashlib.new(name) for name in sorted(names)}
        if link.is_file:
            path = path_of(link.url)
            self._observer.receive(FileChosen("local", str(path)))
            size = _hash_local(path, link, digests)
        else:
            path = folder / link.filename
            size = self._download(link, path, digests)
        found = {name: digest.hexdigest() for name, digest in digests.items()}
        try:
            check_hashes(link, expected or {}, found)
        except HashMismatchError:
            if not link.is_file:
                path.unlink(missing_ok=True)
            raise
        return DownloadedFile(path, found["sha256"], size)

    def _download(self, link: Link, path: Path, digests: dict[str, hashlib._Hash]) -> int:
        self._observer.receive(FileChosen("download", link.filename, link.size))
        part = self._part_path(link, path)
        try:
            self._receive_all(link, part)
        except BaseException:
            _leave_for_later(part)
            raise
        finally:
            self._observer.receive(TransferFinished(link.url))
        size = _hash_local(part, link, digests)
        move_file(part, path)
        part.with_suffix(".validator").unlink(missing_ok=True)
        return size

    def _receive_all(self, link: Link, part: Path) -> None:
        """Receive until the file is whole, going on after each early end.

        Raises:
            IndexAccessError: It ended early too often, or can not be stored.
        """
        key = link.url
        started = False
        tries = 0
        while True:
            try:
                offset, validator = _read_part(part)
                headers = {}
                if offset and validator:
                    headers = {"Range": f"bytes={offset}-", "If-Range": validator}
                with self._client.stream(link.url, headers) as stream:
                    resumed = _is_resumed(stream, offset if headers else 0)
                    total = _total_of(stream, offset if resumed else 0)
                    if not started:
                        started = True
                        self._observer.receive(TransferStarted(key, link.filename, total))
                        if resumed:
                            self._observer.receive(TransferAdvanced(key, offset))
                    self._receive(stream, part, offset if resumed else 0, total, key)
                return
            except ConnectionLostError as error:
                tries += 1
                if tries >= _TRIES:
                    raise IndexAccessError(
                        f"{link.filename} did not arrive whole",
                        f"the connection to {redact_url(link.url)} ended early {tries} times"
                        + (f": {error.why}" if error.why else ""),
                        "Run the command again: it goes on from where it broke off.",
                    ) from error
            except OSError as error:
                raise IndexAccessError(
                    f"{link.filename} can not be stored", error.strerror or str(error)
                ) from error

    def _receive(
        self, stream: Stream, part: Path, offset: int, total: int | None, key: str
    ) -> None:
        validator = stream.headers.get("etag", "")
        if not validator or validator.startswith("W/"):
            validator = stream.headers.get("last-modified", "")
        if not offset:
            part.with_suffix(".validator").write_text(validator, "utf-8")
        size = offset
        with part.open("ab" if offset else "wb") as file:
            for piece in stream:
                file.write(piece)
                size += len(piece)
                self._observer.receive(TransferAdvanced(key, len(piece)))
        if total is not None and size < total:
            raise ConnectionLostError(
                f"{key} did not arrive whole", f"{size} of {total} bytes came"
            )

    def _part_path(self, link: Link, path: Path) -> Path:
        """Where the unfinished file lies: in the cache, to be found by a later run."""
        digest = hashlib.sha256(link.url.encode()).hexdigest()[:40]
        if self._parts is not None:
            try:
                self._parts.mkdir(parents=True, exist_ok=True)
            except OSError:
                self._parts = None
        if self._parts is None:
            return path.with_name(f"{digest}.part")
        part = self._parts / f"{digest}.{os.getpid()}.part"
        _adopt_part(self._parts, digest, part)
        return part


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
        owner = found.name.split(".")[1]
        if owner != "left" and _is_alive(owner):
            continue
        with contextlib.suppress(OSError):
            found.rename(part)
            found.with_suffix(".validator").rename(part.with_suffix(".validator"))
            return


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


def _is_resumed(stream: Stream, offset: int) -> bool:
    if stream.status != 206 or not offset:
        return False
    return stream.headers.get("content-range", "").startswith(f"bytes {offset}-")


def _total_of(stream: Stream, offset: int) -> int | None:
    length = stream.headers.get("content-length", "")
    return int(length) + offset if length.isdecimal() else None


def _hash_local(path: Path, link: Link, digests: dict[str, hashlib._Hash]) -> int:
    size = 0
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                size += len(block)
                for digest in digests.values():
                    digest.update(block)
    except OSError as error:
        raise IndexAccessError(
            f"{redact_url(link.url)} can not be read", error.strerror or str(error)
        ) from error
    return size


def check_hashes(
    link: Link, expected: Mapping[str, frozenset[str]], found: Mapping[str, str]
) -> None:
    """Compare digests: all of the index's, and one of the user's.

    Raises:
        HashMismatchError: They differ; ``why`` holds both.
    """
    where = f" from {redact_url(link.index)}" if link.index else ""
    for name, digest in link.hashes.items():
        if found.get(name) != digest.lower():
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
