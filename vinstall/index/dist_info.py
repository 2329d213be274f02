"""One file of the dist-info folder of a wheel that is not unpacked."""

from __future__ import annotations

import zlib
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile, LargeZipFile, ZipFile

from vinstall.distributions.filename import normalize_name
from vinstall.errors import IndexAccessError, WheelFormatError
from vinstall.index.address import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from vinstall.distributions.link import Link

LIMIT = 64 * 1024 * 1024
"""Bytes of such a file at most, unpacked."""
BROKEN_ZIP = (
    BadZipFile,
    LargeZipFile,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    zlib.error,
)
"""What a damaged archive makes ``zipfile`` raise."""


def read_dist_info(
    file: IO[bytes],
    filename: str,
    name: str,
    prepare: Callable[[int, int], None] | None = None,
) -> bytes:
    """Read one file of the dist-info folder at the top of a wheel.

    Args:
        file: The wheel.
        filename: Its name, which tells whose folder counts.
        name: ``METADATA``, ``variant.json`` …
        prepare: Told the start and the size of what will be read next.

    Raises:
        WheelFormatError: There is no such file, or it is too large.
        BROKEN_ZIP: The archive is damaged.
    """
    with ZipFile(file) as archive:
        entries = archive.infolist()
        found = [
            entry
            for entry in entries
            if entry.filename.endswith(f".dist-info/{name}") and entry.filename.count("/") == 1
        ]
        if len(found) > 1:
            project = normalize_name(filename.partition("-")[0])
            found = [
                entry
                for entry in found
                if normalize_name(entry.filename.partition("-")[0]) == project
            ]
        if len(found) != 1:
            raise WheelFormatError(
                f"{filename} is not a valid wheel",
                f"it has {len(found) or 'no'} *.dist-info/{name}",
            )
        entry = found[0]
        if entry.file_size > LIMIT:
            raise WheelFormatError(
                f"{filename} is not a valid wheel", f"its {name} has {entry.file_size} bytes"
            )
        if prepare is not None:
            later = [
                one.header_offset for one in entries if one.header_offset > entry.header_offset
            ]
            end = min(later, default=archive.start_dir)
            prepare(entry.header_offset, end - entry.header_offset)
        return archive.read(entry)


def read_local_dist_info(link: Link, name: str) -> bytes:
    """Read one file of the dist-info folder of a wheel on disk.

    Raises:
        WheelFormatError: The wheel is broken or has no such file.
        IndexAccessError: It can not be read.
    """
    try:
        with path_of(link.url).open("rb") as file:
            return read_dist_info(file, link.filename, name)
    except OSError as error:
        raise IndexAccessError(
            f"{link.filename} can not be read", error.strerror or str(error)
        ) from error
    except BROKEN_ZIP as error:
        raise WheelFormatError(f"{link.filename} is not a valid wheel", str(error)) from error
