"""A wheel file, checked before anything of it is written.

Implements the binary distribution format ("File contents", "The .dist-info directory",
"Signed wheel files") and PEP 825 (``variant.json``). ``WheelArchive.open`` looks at the
table of contents, ``WHEEL``, ``METADATA`` and ``RECORD``; the digests of the other files
are compared while they are unpacked, so that each byte is read once.
"""

from __future__ import annotations

import binascii
import contextlib
import hashlib
import os
import stat
import unicodedata
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.filename import (
    normalize_name,
    parse_version,
    parse_wheel_filename,
)
from vinstall.distributions.record import parse_record
from vinstall.errors import WheelFormatError
from vinstall.files import make_reader
from vinstall.patterns import lazy_pattern
from vinstall.wheel.central_directory import (
    DEFLATED,
    METHOD_NAMES,
    STORED,
    ZipEntry,
    data_offset,
    read_central_directory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.filename import WheelFilename
    from vinstall.distributions.record import RecordEntry

MAX_ENTRIES = 1_000_000
"""Entries in one wheel."""
MAX_UNPACKED_BYTES = 64 * 2**30
"""Bytes of all entries together."""
MAX_UNPACKED_RATIO = 200
"""Unpacked bytes for one packed byte, over the whole wheel."""
RATIO_FREE_BYTES = 256 * 2**20
"""Below this many unpacked bytes the ratio does not matter."""
MAX_METADATA_BYTES = 128 * 2**20
"""Bytes of one file that is read into memory (``RECORD``, ``METADATA``...)."""
MAX_PATH_LENGTH = 4096
"""Characters of the path of one entry."""
SMALL_BYTES = 2**16
"""Entries that are packed into so few bytes, and unpack to so few times these, are unpacked at
once."""
_SMALL_RATIO = 16
READ_BYTES = 2**20
"""Bytes that are read at once for small entries that lie one behind the other."""
PACKED_BYTES = 2**17
"""Bytes of a large entry that are inflated at once: what fits into the processor's cache."""
CHUNK_BYTES = 2**18
"""Bytes of a large entry that are handed on at once."""

DIGEST_ALGORITHMS = frozenset(
    {"sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s"}
)
"""What RECORD may use: sha256 or better; md5 and sha1 are forbidden by the format."""
DATA_SCHEMES = frozenset({"purelib", "platlib", "headers", "scripts", "data"})
"""Folders that ``*.data`` may hold."""

_DEVICE = lazy_pattern(r"(?i)(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])(?:\.|$)")
_BAD_CHARACTER = lazy_pattern(r'[\x00-\x1f\x7f<>:"|?*\\]')
_WHEEL_VERSION = lazy_pattern(r"(\d+)\.(\d+)")
_SUPPORTED_MINOR = 0
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class ArchiveFile(NamedTuple):
    """A regular file of a wheel.

    Attributes:
        path: Checked, with ``/`` between the parts.
        digest: ``algorithm=value`` as in RECORD; empty for RECORD and its signatures.
        size: Bytes unpacked.
        executable: Whether the archive sets an executable bit.
        entry: Its row in the table of contents.
    """

    path: str
    digest: str
    size: int
    executable: bool
    entry: ZipEntry


class Hasher(Protocol):
    """What ``hashlib`` gives."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """The digest of all bytes taken."""


class WheelArchive:
    """A wheel that obeys its format, open for reading.

    Safe for reading from several threads at once.

    Attributes:
        filename: The parts of its file name.
        dist_info: Name of its dist-info folder.
        entries: Its regular files, in the order of the archive.
        metadata: Its ``METADATA``.
        root_is_purelib: ``Root-Is-Purelib`` of its ``WHEEL`` file.
        warnings: What is odd but allowed, as sentences.
    """

    @classmethod
    def open(cls, path: Path, filename: str, *, max_unpacked: int = 0) -> WheelArchive:
        """Open a wheel and check all that can be checked without unpacking it.

        Args:
            path: The file, whatever its name is there.
            filename: The name that the index gives it.
            max_unpacked: Bytes that it may unpack to, however small it is; 0 for the usual
                limits.

        Raises:
            WheelFormatError: The wheel breaks a rule; ``why`` names the entry.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise WheelFormatError(
                f"{filename} can not be read", error.strerror or str(error)
            ) from error
        try:
            length = os.fstat(descriptor).st_size
            archive = cls(make_reader(descriptor), length, filename, max_unpacked=max_unpacked)
        except BaseException:
            os.close(descriptor)
            raise
        archive._descriptor = descriptor
        return archive

    def __init__(
        self,
        read_at: Callable[[int, int], bytes],
        length: int,
        filename: str,
        *,
        max_unpacked: int = 0,
    ) -> None:
        """Check a wheel that need not be a whole file yet.

        Args:
            read_at: Gives ``size`` bytes from ``offset``, fewer only at the end; called with
                ``(offset, size)``, by several threads.
            length: Bytes of the wheel.
            filename: The name that the index gives it.
            max_unpacked: As for ``open``.
        """
        self.filename: WheelFilename = parse_wheel_filename(filename)
        self.warnings: tuple[str, ...] = ()
        self._origin = filename
        self._max_unpacked = max_unpacked
        self._descriptor = -1
        self._read_at = read_at
        self._length = length
        self._check()

    def __enter__(self) -> WheelArchive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; again is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def variant_json(self) -> bytes | None:
        """``variant.json`` of the dist-info folder, or ``None`` where there is none."""
        name = f"{self.dist_info}/variant.json"
        return self.read(name) if name in self._by_path else None

    def read(self, name: str) -> bytes:
        """The content of one file, with its checksum (and digest, where known) compared.

        Raises:
            KeyError: There is no such file.
            WheelFormatError: It is damaged, or too large to be read at once.
        """
        entry = self._by_path[name]
        if entry.size > MAX_METADATA_BYTES:
            raise self._refuse(name, f"its {entry.size} bytes are too many")
        content = b"".join(self._chunks(entry))
        if zlib.crc32(content) != entry.crc:
            raise self._damaged(name, "its checksum is wrong")
        row = self._record.get(name)
        if row is not None and row.digest:
            algorithm, _, value = row.digest.partition("=")
            if _encode(hashlib.new(algorithm, content).digest()) != value.rstrip("="):
                raise self._mismatch(name)
        return content

    def read_small(self, files: Sequence[ArchiveFile]) -> Iterator[bytes | None]:
        """The content of files, as far as they are small.

        Returns:
            For each file its content, checked as ``iter_chunks`` does it; ``None`` for those
            that have to be unpacked in pieces.

        Raises:
            WheelFormatError: The content of one is not what RECORD says.
        """
        inflate = _find_inflater()[1]
        buffer, base, end = b"", 0, 0
        for file in files:
            entry = file.entry
            offset = entry.offset
            if entry.packed > SMALL_BYTES or entry.size > SMALL_BYTES * _SMALL_RATIO:
                yield None
                continue
            if not (base <= offset and entry.end <= end):
                buffer = self._read_at(offset, READ_BYTES)
                base, end = offset, offset + len(buffer)
                if entry.end > end:  # something lies between it and the next one
                    yield None
                    continue
            start = data_offset(buffer, entry, self._origin, offset - base)
            content = buffer[start : start + entry.packed]
            if entry.method != STORED:
                try:
                    content = inflate(content, -15, entry.size or 1)
                except Exception as error:  # each library has an error of its own
                    raise self._damaged(entry.name, f"it does not inflate: {error}") from error
            if len(content) != entry.size:
                raise self._damaged(entry.name, f"it does not hold {entry.size} bytes")
            self._check_content(file, content)
            yield content

    def _check_content(self, file: ArchiveFile, content: bytes) -> None:
        if not file.digest:
            if zlib.crc32(content) != file.entry.crc:
                raise self._damaged(file.path, "its checksum is wrong")
            return
        algorithm, _, value = file.digest.partition("=")
        hasher = _new_hasher(algorithm)
        hasher.update(content)
        if _encode(hasher.digest()) != value:
            raise self._mismatch(file.path)

    def iter_chunks(self, file: ArchiveFile) -> Iterator[bytes]:
        """The content of a file in pieces, checked against its digest.

        Files without a digest are checked against the checksum of the archive. The check
        comes after the last piece: only a loop that ends without an error has seen the
        right bytes.

        Raises:
            WheelFormatError: The content is not what RECORD says.
        """
        if not file.digest:
            crc = 0
            for chunk in self._chunks(file.entry):
                crc = zlib.crc32(chunk, crc)
                yield chunk
            if crc != file.entry.crc:
                raise self._damaged(file.path, "its checksum is wrong")
            return
        algorithm, _, value = file.digest.partition("=")
        hasher: Hasher = _new_hasher(algorithm)
        for chunk in self._chunks(file.entry):
            hasher.update(chunk)
            yield chunk
        if _encode(hasher.digest()) != value:
            raise self._mismatch(file.path)

    def _chunks(self, entry: ZipEntry) -> Iterator[bytes]:
        head = self._read_at(entry.offset, min(entry.end - entry.offset, PACKED_BYTES))
        start = data_offset(head, entry, self._origin)
        if start + entry.packed <= len(head):
            packed_chunks = iter((head[start : start + entry.packed],))
        else:
            packed_chunks = self._packed_chunks(head[start:], entry, entry.offset + len(head))
        if entry.method == STORED:
            yield from packed_chunks
            return
        inflater = _find_inflater()[0](-15)
        remaining = entry.size
        for packed in packed_chunks:
            data = packed
            while data:
                try:
                    chunk = inflater.decompress(data, min(remaining + 1, CHUNK_BYTES))
                except Exception as error:  # each library has an error of its own
                    raise self._damaged(entry.name, f"it does not inflate: {error}") from error
                data = inflater.unconsumed_tail
                remaining -= len(chunk)
                if remaining < 0:
                    raise self._damaged(entry.name, f"it is longer than {entry.size} bytes")
                if chunk:
                    yield chunk
                if inflater.eof:
                    break
            if inflater.eof:
                break
        while not inflater.eof:  # what the library still holds back
            chunk = inflater.decompress(b"", min(remaining + 1, CHUNK_BYTES))
            remaining -= len(chunk)
            if not chunk or remaining < 0:
                break
            yield chunk
        if remaining or not inflater.eof:
            raise self._damaged(entry.name, f"it does not hold {entry.size} bytes")

    def _packed_chunks(self, first: bytes, entry: ZipEntry, position: int) -> Iterator[bytes]:
        yield first
        remaining = entry.packed - len(first)
        while remaining:
            chunk = self._read_at(position, min(remaining, PACKED_BYTES))
            if not chunk:
                raise self._damaged(entry.name, "the archive ends too early")
            position += len(chunk)
            remaining -= len(chunk)
            yield chunk

    def _check(self) -> None:
        rows = read_central_directory(
            self._read_at, self._length, self._origin, max_entries=MAX_ENTRIES
        )
        files = self._check_entries(rows)
        self._by_path = {entry.name: entry for entry in files}
        self._record: Mapping[str, RecordEntry] = {}
        self.dist_info = self._find_dist_info(files)
        self._check_wheel_file()
        self._check_metadata()
        self._record = self._check_record()
        self.entries = tuple(self._with_digests(files))

    def _check_entries(self, rows: tuple[ZipEntry, ...]) -> list[ZipEntry]:
        files: list[ZipEntry] = []
        folders: dict[str, str] = {"": ""}  # each checked folder and its comparable form
        seen: dict[str, str] = {}
        packed = unpacked = 0
        for entry in rows:
            name = entry.name
            is_folder = name.endswith("/")
            path = name[:-1] if is_folder else name
            parent, _, last = path.rpartition("/")
            if name.startswith("/"):
                raise self._refuse(name, "its path is absolute")
            if len(path) > MAX_PATH_LENGTH:
                raise self._refuse(name, "its path is too long")
            comparable = folders.get(parent)
            if comparable is None:
                comparable = self._check_folder(name, parent, folders)
            self._check_part(name, last)
            kind = stat.S_IFMT(entry.mode)
            if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
                raise self._refuse(name, f"it is {_kind_name(kind)}, not a regular file")
            if is_folder:
                if entry.size:
                    raise self._refuse(name, "it is a folder with content")
                self._check_folder(name, path, folders)
                continue
            if entry.method not in (STORED, DEFLATED):
                method = METHOD_NAMES.get(entry.method, f"method {entry.method}")
                raise self._refuse(
                    name, f"it is compressed with {method}; a wheel may only store or deflate"
                )
            if entry.method == STORED and entry.size != entry.packed:
                raise self._refuse(name, "it is stored, and its two sizes differ")
            key = f"{comparable}/{_comparable(last)}"
            if key in seen:
                raise self._refuse(name, _collision(name, seen[key]))
            seen[key] = name
            packed += entry.packed
            unpacked += entry.size
            files.append(entry)
        self._check_sizes(packed, unpacked)
        for folder, comparable in folders.items():
            if comparable in seen:
                raise self._refuse(seen[comparable], f"it is a file and the folder {folder!r} too")
        return files

    def _check_folder(self, name: str, path: str, folders: dict[str, str]) -> str:
        comparable = folders.get(path)
        if comparable is None:
            parent, _, last = path.rpartition("/")
            above = self._check_folder(name, parent, folders)
            self._check_part(name, last)
            comparable = folders[path] = f"{above}/{_comparable(last)}"
        return comparable

    def _check_part(self, name: str, part: str) -> None:
        if not part or part == ".":
            raise self._refuse(name, "a part of its path is empty, or a single dot")
        if part == "..":
            raise self._refuse(name, "its path leaves the wheel by '..'")
        if _BAD_CHARACTER.search(part):
            raise self._refuse(name, "its path holds a character that is not allowed")
        if part[-1] in ". ":
            raise self._refuse(name, "a part of its path ends in a dot or a blank")
        if _DEVICE.match(part):
            raise self._refuse(name, "a part of its path is the name of a device on Windows")

    def _check_sizes(self, packed: int, unpacked: int) -> None:
        if unpacked > (self._max_unpacked or MAX_UNPACKED_BYTES):
            raise self._broken(
                f"it would unpack to {unpacked} bytes, which is too much (--max-unpacked)"
            )
        if self._max_unpacked:
            return
        if unpacked > RATIO_FREE_BYTES and unpacked > packed * MAX_UNPACKED_RATIO:
            raise self._broken(
                f"{packed} bytes in it would unpack to {unpacked}, which no honest wheel does "
                "(--max-unpacked)"
            )

    def _find_dist_info(self, files: list[ZipEntry]) -> str:
        tops = {entry.name.partition("/")[0] for entry in files if "/" in entry.name}
        found = sorted(top for top in tops if top.endswith(".dist-info"))
        if len(found) != 1:
            raise self._broken(
                f"it has several dist-info folders: {', '.join(found)}"
                if found
                else "it has no dist-info folder"
            )
        name, dash, version = found[0][: -len(".dist-info")].partition("-")
        if not dash or not self._is_same(name, version):
            raise self._broken(f"its folder {found[0]} does not match its file name")
        for entry in files:
            top, _, rest = entry.name.partition("/")
            if top.endswith(".data"):
                scheme, _, below = rest.partition("/")
                if scheme in ("purelib", "platlib") and _is_info(below):
                    raise self._refuse(entry.name, "it would become another dist-info folder")
                if scheme not in DATA_SCHEMES or not below:
                    raise self._refuse(
                        entry.name,
                        f"{top} may only hold the folders {', '.join(sorted(DATA_SCHEMES))}",
                    )
        return found[0]

    def _is_same(self, name: str, version: str) -> bool:
        if normalize_name(name) != self.filename.project:
            return False
        return (
            version == self.filename.version_text or parse_version(version) == self.filename.version
        )

    def _required(self, name: str) -> str:
        path = f"{self.dist_info}/{name}"
        if path not in self._by_path:
            raise self._broken(f"it has no {path}")
        content = self.read(path)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            if name != "RECORD":
                return content.decode("utf-8", "replace")
            raise self._refuse(path, "it is not UTF-8") from error

    def _check_wheel_file(self) -> None:
        fields: dict[str, str] = {}
        for line in self._required("WHEEL").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip().lower(), value.strip())
        text = fields.get("wheel-version", "")
        version = _WHEEL_VERSION.fullmatch(text)
        if version is None:
            raise self._broken(f"its Wheel-Version {text!r} is not a version")
        if int(version[1]) != 1:
            raise self._broken(f"its Wheel-Version {text} is not 1.x, the only one understood")
        if int(version[2]) > _SUPPORTED_MINOR:
            self.warnings += (
                f"{self._origin} has the Wheel-Version {text}, which is newer than 1.0",
            )
        self.root_is_purelib = fields.get("root-is-purelib", "").lower() == "true"

    def _check_metadata(self) -> None:
        metadata: CoreMetadata = parse_core_metadata(self._required("METADATA"), self._origin)
        if not self._is_same(metadata.name, metadata.version):
            raise self._broken(
                f"its METADATA says {metadata.name} {metadata.version}, its file name says "
                f"{self.filename.name} {self.filename.version_text}"
            )
        self.metadata = metadata

    def _check_record(self) -> dict[str, RecordEntry]:
        rows: dict[str, RecordEntry] = {}
        for row in parse_record(self._required("RECORD"), self._origin):
            path = row.path.replace("\\", "/") if "\\" in row.path else row.path
            if path.startswith("./"):
                path = path[2:]
            if path.endswith("/"):
                continue
            if rows.setdefault(path, row) != row:
                raise self._broken(f"RECORD describes {path} twice, in two ways")
        missing = [path for path in rows if path not in self._by_path and path not in self._exempt]
        if missing:
            raise self._broken(f"RECORD names {_some(missing)}, which it does not hold")
        return rows

    @property
    def _exempt(self) -> tuple[str, str, str]:
        record = f"{self.dist_info}/RECORD"
        return record, f"{record}.jws", f"{record}.p7s"

    def _with_digests(self, files: list[ZipEntry]) -> Iterator[ArchiveFile]:
        exempt = self._exempt
        unlisted = [
            entry.name
            for entry in files
            if entry.name not in self._record and entry.name not in exempt
        ]
        if unlisted:
            raise self._broken(f"RECORD does not name {_some(unlisted)}")
        for entry in files:
            digest = ""
            if entry.name not in exempt:
                row = self._record[entry.name]
                algorithm, equals, value = row.digest.partition("=")
                if not equals or not value:
                    raise self._refuse(entry.name, "RECORD has no digest of it")
                if algorithm not in DIGEST_ALGORITHMS:
                    raise self._refuse(
                        entry.name, f"RECORD uses {algorithm!r} for it, which is not safe"
                    )
                if row.size is not None and row.size != entry.size:
                    raise self._refuse(
                        entry.name, f"RECORD says {row.size} bytes, the archive {entry.size}"
                    )
                digest = row.digest.rstrip("=")
            yield ArchiveFile(entry.name, digest, entry.size, bool(entry.mode & 0o111), entry)

    def _broken(self, why: str) -> WheelFormatError:
        return WheelFormatError(f"{self._origin} is not a valid wheel", why)

    def _refuse(self, entry: str, why: str) -> WheelFormatError:
        return WheelFormatError(
            f"{self._origin} is not a valid wheel", f"the entry {entry!r} is refused: {why}"
        )

    def _damaged(self, entry: str, why: str) -> WheelFormatError:
        return WheelFormatError(
            f"{self._origin} is damaged",
            f"the entry {entry!r} can not be unpacked: {why}",
            "Download the wheel again.",
        )

    def _mismatch(self, entry: str) -> WheelFormatError:
        return WheelFormatError(
            f"{self._origin} is damaged",
            f"the content of {entry!r} does not match the digest in RECORD",
        )


class _Inflater(Protocol):
    unconsumed_tail: bytes
    eof: bool

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


_Inflate = tuple["Callable[[int], _Inflater]", "Callable[[bytes, int, int], bytes]"]


def _find_inflater() -> _Inflate:
    """The fastest raw inflater that is installed: for pieces, and for all at once."""
    global _inflater
    if _inflater is None:
        library: Any = zlib
        with contextlib.suppress(ImportError):
            from isal import isal_zlib as library
        _inflater = (library.decompressobj, library.decompress)
    return _inflater


_inflater: _Inflate | None = None


def _new_hasher(algorithm: str) -> Hasher:
    return hashlib.sha256() if algorithm == "sha256" else hashlib.new(algorithm)


def _encode(digest: bytes) -> str:
    text = binascii.b2a_base64(digest, newline=False).translate(_URL_SAFE)
    return text.rstrip(b"=").decode("ascii")


def _comparable(part: str) -> str:
    if part.isascii():
        return part.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", part).casefold())


def _is_info(path: str) -> bool:
    return path.partition("/")[0].lower().endswith((".dist-info", ".egg-info"))


def _collision(name: str, other: str) -> str:
    if name == other:
        return "it is there twice"
    return f"on some file systems it is the same file as {other!r}"


def _kind_name(kind: int) -> str:
    return {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFDIR: "a folder",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }.get(kind, "something special")


def _some(paths: list[str]) -> str:
    shown = ", ".join(repr(path) for path in paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"
