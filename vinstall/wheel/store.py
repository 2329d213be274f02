"""Unpacked wheels, found by the digest of the wheel.

One entry is one folder, ``store-v2/<first two digits>/<sha256>/``, with the unpacked files
in ``files/``. What is said of the wheel stands in ``manifest.json``, what is said of each
file in ``files.json`` and ``digests.json``, and their rows of RECORD in ``record.csv``: who
places whole folders needs only some of them. Bytecode comes later
(``vinstall.wheel.bytecode``). Files are later linked or copied from here into environments.
An entry comes into being by one rename, so that a reader never sees half of one, and any
number of processes may work at once.
"""

from __future__ import annotations

import contextlib
import json
import os
from functools import cached_property
from pathlib import Path
from stat import S_IFREG, S_ISREG

from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.record import RecordEntry, format_record
from vinstall.errors import InstallError, StoreAlteredError
from vinstall.files import current_umask, executable_mode_of
from vinstall.patterns import lazy_pattern
from vinstall.values import NamedTuple, dataclass, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.wheel.archive import WheelArchive
else:
    Protocol = object

LAYOUT = "store-v2"
MANIFEST_VERSION = 2
ABANDONED_SECONDS = 24 * 3600
"""Unfinished work of others is removed after this long."""
SHARE = 250
"""Files that are worth being placed by a process of its own: some milliseconds."""
_SHA256 = lazy_pattern(r"[0-9a-f]{64}")


INSTALLED_NAMES = frozenset(
    {"INSTALLER", "REQUESTED", "direct_url.json", "vinstall.json", "RECORD"}
)
"""Files of a dist-info folder that whoever installs writes; those of the wheel are not placed."""


class StoredFile(NamedTuple):
    """One file of an unpacked wheel.

    Attributes:
        path: As in the wheel, with ``/`` between the parts.
        digest: ``algorithm=value`` as RECORD writes it; empty for RECORD itself.
        size: Bytes.
        executable: Whether the wheel sets an executable bit.
        modified: Nanoseconds of its modification time; another value means that somebody
            changed the file after it was unpacked.
    """

    path: str
    digest: str
    size: int
    executable: bool
    modified: int = 0


class StoredFolder(NamedTuple):
    """The files of one folder of an unpacked wheel, in columns.

    Attributes:
        path: Of the folder, with ``/`` between the parts; empty for the root of the wheel.
        names: File names.
        sizes: Bytes of each.
        times: Nanoseconds of the modification time of each.
        executable: Numbers of those with an executable bit.
    """

    path: str
    names: list[str]
    sizes: list[int]
    times: list[int]
    executable: list[int]


@dataclass(frozen=True)
class StoredWheel:
    """An unpacked wheel.

    Attributes:
        folder: The entry; the files lie below its ``files`` folder.
        filename: File name of the wheel.
        sha256: Digest of the wheel, in hexadecimal.
        dist_info: Name of the dist-info folder.
        root_is_purelib: ``Root-Is-Purelib`` of the ``WHEEL`` file.
        tops: What is in the root of the wheel: name → whether it is a folder.
        data_files: The files below the ``.data`` folder.
        size: Bytes of all files.
        shares: Parts of ``folders`` with about as many files each, as slices and their
            number of files, so that several can share them who have not read them yet.
        entry_points: Text of ``entry_points.txt``; empty where there is none.
        variant_json: Content of ``variant.json``, or ``None``.
        file_mode: Permission bits that the plain files were written with.
        warnings: What is odd about the wheel, as sentences.
        lengths: Bytes of the other files of the entry that tell about its files.
        left_out: Names in the root of the wheel that shall not be installed.
        is_verified: Whether its files were compared with what they should be just now.
    """

    folder: Path
    filename: str
    sha256: str
    dist_info: str
    root_is_purelib: bool
    tops: Mapping[str, bool]
    data_files: tuple[StoredFile, ...]
    size: int
    shares: tuple[tuple[int, int, int], ...] = ()
    entry_points: str = ""
    variant_json: bytes | None = None
    file_mode: int = 0o644
    warnings: tuple[str, ...] = ()
    lengths: Mapping[str, int] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    is_verified: bool = field(default=False, compare=False)

    @property
    def root(self) -> Path:
        """The folder that holds the files."""
        return self.folder / "files"

    @property
    def executable_mode(self) -> int:
        """Permission bits that programs and folders were written with."""
        return executable_mode_of(self.file_mode)

    @cached_property
    def metadata(self) -> CoreMetadata:
        """The core metadata, read at first use."""
        return parse_core_metadata(self.read(f"{self.dist_info}/METADATA"), self.filename)

    @cached_property
    def folders(self) -> tuple[StoredFolder, ...]:
        """All folders that hold files, outer ones first, read at first use.

        Raises:
            StoreAlteredError: The entry lacks them.
        """
        try:
            rows = json.loads(self.read_facts("files.json"))
            return tuple(StoredFolder(*row) for row in rows)
        except (ValueError, TypeError) as error:
            raise StoreAlteredError(self.filename, self.sha256, "files.json") from error

    @cached_property
    def files(self) -> tuple[StoredFile, ...]:
        """Every file that shall be installed, folder by folder, read at first use.

        Raises:
            StoreAlteredError: The entry lacks them.
        """
        files = []
        try:
            digests = iter(json.loads(self.read_facts("digests.json")))
            for folder, names, sizes, times, executable in self.folders:
                prefix = f"{folder}/" if folder else ""
                programs = set(executable)
                for number, (name, size, time) in enumerate(zip(names, sizes, times, strict=True)):
                    digest = next(digests)
                    files.append(StoredFile(prefix + name, digest, size, number in programs, time))
        except (ValueError, TypeError, StopIteration) as error:
            raise StoreAlteredError(self.filename, self.sha256, "digests.json") from error
        if self.left_out:
            files = [one for one in files if one.path.partition("/")[0] not in self.left_out]
        return tuple(files)

    def read_record(self) -> str:
        """Rows of RECORD, sorted by path; none for ``.data`` and what the installer writes.

        Raises:
            StoreAlteredError: The entry lacks them.
        """
        return self.read_facts("record.csv").decode("utf-8", "surrogateescape")

    def read_facts(self, name: str) -> bytes:
        """What is said of the files of the wheel, by the name of the file that says it.

        Raises:
            StoreAlteredError: It is not there, or not whole.
        """
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise StoreAlteredError(self.filename, self.sha256, name) from error
        if len(content) != self.lengths.get(name):
            raise StoreAlteredError(self.filename, self.sha256, name)
        return content

    def read(self, path: str) -> bytes:
        """The content of one file, by its path in the wheel."""
        return (self.root / path).read_bytes()

    def changed_files(self, files: Iterable[StoredFile] | None = None) -> tuple[str, ...]:
        """Paths of the files that are not as they were unpacked.

        Args:
            files: Those to compare; all by default.

        Size, time and permissions are compared; only where the time differs is the file
        read and its digest compared.
        """
        root = f"{self.root}{os.sep}"
        changed = []
        executable_mode = self.executable_mode
        for path, digest, size, executable, modified in self.files if files is None else files:
            try:
                found = os.lstat(root + path)
            except OSError:
                changed.append(path)
                continue
            mode = executable_mode if executable else self.file_mode
            if not has_facts(found, size, mode) or (
                found.st_mtime_ns != modified and not file_matches(root + path, digest)
            ):
                changed.append(path)
        return tuple(changed)


def has_facts(found: os.stat_result, size: int, mode: int) -> bool:
    """Whether something is a plain file of some size with some permission bits."""
    return found.st_size == size and (
        found.st_mode == S_IFREG | mode if os.name == "posix" else S_ISREG(found.st_mode)
    )


class ArrivingFile(Protocol):
    """A wheel that is still being received.

    Attributes:
        length: Bytes of the whole wheel.
    """

    length: int

    def read_at(self, offset: int, size: int, /) -> bytes:
        """Bytes from a place, as soon as they are there; what it raises ends the unpacking."""

    def expect(self) -> None:
        """From now on what is read is not worth a request of its own."""

    def wait_until_verified(self) -> None:
        """Come back when the whole file has the digest that it should have; else raise."""


class WheelStore:
    """Unpacked wheels below one folder, shared by all processes of a user.

    Args:
        root: The folder; made at the first ``add``.
        max_unpacked: Bytes that a wheel may unpack to; 0 for the usual limits.
        workers: How many unpack a large wheel, 0 for one for each processor.
        may_fork: Whether these are processes, for which there must be no other threads.
    """

    def __init__(
        self, root: Path, *, max_unpacked: int = 0, workers: int = 0, may_fork: bool = False
    ) -> None:
        self.root = root
        self._workers = workers or min(os.cpu_count() or 1, 8)
        self._may_fork = may_fork and hasattr(os, "fork")
        self.max_unpacked = max_unpacked

    def folder_of(self, sha256: str) -> Path:
        """Where the entry of a wheel is, or would be."""
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a sha256 digest in lower case")
        return self.root / LAYOUT / sha256[:2] / sha256

    def find(self, sha256: str, *, check: bool = True) -> StoredWheel | None:
        """The entry of a wheel.

        Args:
            sha256: Digest of the wheel, in hexadecimal, lower case.
            check: Also compare every file with the manifest.

        Returns:
            The entry, or ``None`` where there is none or it is not whole any more.
        """
        if not _SHA256.fullmatch(sha256):
            return None  # an index can write anything
        found = _load(self.folder_of(sha256), sha256)
        if found is None or not check:
            return found
        try:
            return None if found.changed_files() else replace(found, is_verified=True)
        except StoreAlteredError:
            return None

    def has(self, sha256: str) -> bool:
        """Whether there is an entry, without looking into it."""
        return bool(_SHA256.fullmatch(sha256)) and self.folder_of(sha256).is_dir()

    def find_fault(self, sha256: str) -> str:
        """Read all files of an entry and compare them with their digests.

        Args:
            sha256: Name of the entry.

        Returns:
            What is wrong, as a sentence; empty for nothing.
        """
        if not _SHA256.fullmatch(sha256):
            return "it is not an entry of the store"
        found = _load(self.folder_of(sha256), sha256)
        if found is None:
            return "its manifest can not be read"
        from vinstall.wheel.bytecode import find_altered_bytecode

        try:
            changed = {*found.changed_files(), *find_altered_bytecode(found.folder)}
            if found.read_record() != format_record(record_rows(found.files, found.dist_info)):
                changed.add("record.csv")
        except StoreAlteredError as error:
            return error.why
        root = f"{found.root}{os.sep}"
        for file in found.files:
            if file.digest and not file_matches(root + file.path, file.digest):
                changed.add(file.path)
        return f"altered: {', '.join(sorted(changed)[:5])}" if changed else ""

    def add(self, wheel: Path, filename: str, sha256: str) -> StoredWheel:
        """Unpack a wheel, or give the entry that is already there.

        The digest of every file is compared with RECORD before the entry exists. That
        ``sha256`` is the digest of ``wheel`` is the caller's word.

        Args:
            wheel: The file.
            filename: The name that its index gives it.
            sha256: Its digest, in hexadecimal, lower case.

        Raises:
            WheelFormatError: The wheel breaks a rule of its format, or is damaged.
            InstallError: The store can not be written.
        """
        found = self.find(sha256)
        if found is not None:
            return found
        with self._words_for_errors(filename):
            from vinstall.wheel.archive import WheelArchive

            with WheelArchive.open(wheel, filename, max_unpacked=self.max_unpacked) as archive:
                return self._unpack(archive, sha256, None)

    def add_arriving(self, arriving: ArrivingFile, filename: str, sha256: str) -> StoredWheel:
        """Unpack a wheel while it is received.

        The entry exists only when the whole file was verified.

        Args:
            arriving: The file.
            filename: The name that its index gives it.
            sha256: The digest that it will have, in hexadecimal, lower case.

        Raises:
            WheelFormatError: As for ``add``; the file need not be the right one then.
            InstallError: The store can not be written.
        """
        with self._words_for_errors(filename):
            from vinstall.wheel.archive import WheelArchive

            archive = WheelArchive(
                arriving.read_at, arriving.length, filename, max_unpacked=self.max_unpacked
            )
            arriving.expect()
            return self._unpack(archive, sha256, arriving)

    def remove(self, sha256: str) -> bool:
        """Remove the entry of a wheel; whether there was one."""
        folder = self.folder_of(sha256)
        if not folder.exists():
            return False
        discard_folder(folder)
        return True

    @contextlib.contextmanager
    def _words_for_errors(self, filename: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InstallError(
                f"{filename} can not be unpacked",
                f"{error.strerror or error}: {error.filename or self.root}",
                "Make room, or choose another cache folder with --cache-dir.",
            ) from error

    def _unpack(
        self, archive: WheelArchive, sha256: str, arriving: ArrivingFile | None
    ) -> StoredWheel:
        import tempfile

        from vinstall.wheel.unpacking import unpack_files

        folder = self.folder_of(sha256)
        filename = archive.filename.filename
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder.parent)
        work = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
        try:
            file_mode = 0o666 & ~current_umask()
            times = unpack_files(
                archive,
                work / "files",
                file_mode,
                workers=self._workers,
                may_fork=self._may_fork,
            )
            files = [
                StoredFile(file.path, file.digest, file.size, file.executable, modified)
                for file, modified in zip(archive.entries, times, strict=True)
            ]
            _write_manifest(work, archive, sha256, files, file_mode)
            work.chmod(0o777 & ~current_umask())
            if arriving is not None:
                arriving.wait_until_verified()
            self._publish(work, folder, sha256)
        except BaseException:
            remove_tree(work)
            raise
        stored = _load(folder, sha256)
        if stored is None:
            raise InstallError(
                f"{filename} can not be unpacked", f"{folder} was removed while it was made"
            )
        return replace(stored, is_verified=True)

    def _publish(self, work: Path, folder: Path, sha256: str) -> None:
        for _ in range(3):
            try:
                work.rename(folder)
            except OSError:
                if not folder.exists():
                    raise
            else:
                return
            if self.find(sha256) is not None:  # another process was faster
                remove_tree(work)
                return
            discard_folder(folder)
        raise InstallError(f"{folder} can not be replaced", "it is broken and in use")


def _write_manifest(
    folder: Path,
    archive: WheelArchive,
    sha256: str,
    files: list[StoredFile],
    file_mode: int,
) -> None:
    entry_points = ""
    with contextlib.suppress(KeyError):
        entry_points = archive.read(f"{archive.dist_info}/entry_points.txt").decode(
            "utf-8", "replace"
        )
    variant = archive.variant_json
    folders: dict[str, StoredFolder] = {}
    digests: dict[str, list[str]] = {}
    for path, digest, size, executable, modified in files:
        parent, _, name = path.rpartition("/")
        one = folders.get(parent)
        if one is None:
            one = folders[parent] = StoredFolder(parent, [], [], [], [])
            digests[parent] = []
        if executable:
            one.executable.append(len(one.names))
        one.names.append(name)
        one.sizes.append(size)
        one.times.append(modified)
        digests[parent].append(digest)
    order = sorted(folders)
    rows = record_rows(files, archive.dist_info)
    document = {
        "version": MANIFEST_VERSION,
        "sha256": sha256,
        "filename": archive.filename.filename,
        "dist_info": archive.dist_info,
        "root_is_purelib": archive.root_is_purelib,
        "file_mode": file_mode,
        "entry_points": entry_points,
        "variant_json": None if variant is None else variant.decode("latin-1"),
        "warnings": archive.warnings,
        "tops": {one.path.partition("/")[0]: "/" in one.path for one in files},
        "data_files": [file for file in files if is_data(file.path)],
        "size": sum(file.size for file in files),
        "shares": _share([len(folders[path].names) for path in order]),
    }
    facts = {
        "files.json": json.dumps([folders[path] for path in order]).encode(),
        "digests.json": json.dumps([one for path in order for one in digests[path]]).encode(),
        "record.csv": format_record(rows).encode("utf-8", "surrogateescape"),
    }
    for name, content in facts.items():
        (folder / name).write_bytes(content)
    document["lengths"] = {name: len(content) for name, content in facts.items()}
    (folder / "manifest.json").write_text(json.dumps(document), encoding="ascii")


def _share(counts: list[int]) -> list[tuple[int, int, int]]:
    """Neighbouring folders together, until they have ``SHARE`` files."""
    shares = []
    start = files = 0
    for number, count in enumerate(counts):
        files += count
        if files >= SHARE or number + 1 == len(counts):
            shares.append((start, number + 1, files))
            start, files = number + 1, 0
    return shares


def record_rows(files: Iterable[StoredFile], dist_info: str) -> list[RecordEntry]:
    """Rows of RECORD, sorted by path; none for ``.data`` and what the installer writes."""
    made = {f"{dist_info}/{name}" for name in INSTALLED_NAMES}
    rows = [
        RecordEntry(one.path, one.digest, one.size if one.digest else None)
        for one in files
        if not is_data(one.path) and one.path not in made
    ]
    rows.sort(key=lambda row: row.path)
    return rows


def is_data(path: str) -> bool:
    """Whether a file of a wheel belongs somewhere else than beside the dist-info folder."""
    top, slash, _ = path.partition("/")
    return bool(slash) and top.endswith(".data")


def _load(folder: Path, sha256: str) -> StoredWheel | None:
    try:
        document = json.loads((folder / "manifest.json").read_bytes())
        if document["version"] != MANIFEST_VERSION or document["sha256"] != sha256:
            return None
        variant = document["variant_json"]
        return StoredWheel(
            folder=folder,
            filename=document["filename"],
            sha256=sha256,
            dist_info=document["dist_info"],
            root_is_purelib=document["root_is_purelib"],
            tops=dict(document["tops"]),
            data_files=tuple(StoredFile(*row) for row in document["data_files"]),
            size=int(document["size"]),
            shares=tuple((int(a), int(b), int(count)) for a, b, count in document["shares"]),
            entry_points=document["entry_points"],
            variant_json=None if variant is None else variant.encode("latin-1"),
            file_mode=document["file_mode"],
            lengths=dict(document["lengths"]),
            warnings=tuple(document["warnings"]),
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def file_matches(path: str, digest: str) -> bool:
    """Whether a file has the digest (``algorithm=value``) that RECORD says."""
    import base64
    import hashlib

    algorithm, _, value = digest.partition("=")
    if not value:
        return False
    hasher = hashlib.new(algorithm)
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            while chunk := file.read(2**20):
                hasher.update(chunk)
    except OSError:
        return False
    return base64.urlsafe_b64encode(hasher.digest()).rstrip(b"=").decode("ascii") == value


def discard_folder(folder: Path) -> None:
    """Take an entry away at once, then remove it."""
    import secrets

    aside = folder.parent / f".partial-{secrets.token_hex(8)}"
    try:
        folder.rename(aside)
    except FileNotFoundError:
        return
    remove_tree(aside)


def remove_tree(folder: Path) -> None:
    """Remove a folder; what can not be removed stays."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove what processes that were killed left behind in a folder long ago."""
    import time

    limit = time.time() - ABANDONED_SECONDS
    with contextlib.suppress(OSError), os.scandir(parent) as found:
        for entry in found:
            if entry.name.startswith(".partial-") and entry.stat().st_mtime < limit:
                remove_tree(Path(entry.path))
