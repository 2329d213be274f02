"""The table of contents of a zip file, against what ``zipfile`` writes."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from vinstall.errors import WheelFormatError
from vinstall.wheel.central_directory import data_offset, read_central_directory


def read(content: bytes, max_entries: int = 100) -> dict[str, tuple[int, int, int]]:
    entries = read_central_directory(
        lambda offset, size: content[offset : offset + size],
        len(content),
        "w.whl",
        max_entries=max_entries,
    )
    return {entry.name: (entry.method, entry.packed, entry.size) for entry in entries}


def make_zip(files: dict[str, bytes], comment: bytes = b"", force_zip64: bool = False) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            with archive.open(name, "w", force_zip64=force_zip64) as file:
                file.write(content)
        archive.comment = comment
    return buffer.getvalue()


@pytest.mark.parametrize("force_zip64", [False, True])
@pytest.mark.parametrize("comment", [b"", b"hello", b"PK\x05\x06 not an end record" + b" " * 30])
def test_reads_what_zipfile_writes(comment: bytes, force_zip64: bool) -> None:
    files = {"a.py": b"a" * 1000, "é/ü.txt": b"", "b": bytes(range(256))}
    content = make_zip(files, comment, force_zip64)
    with zipfile.ZipFile(io.BytesIO(make_zip(files, force_zip64=force_zip64))) as archive:
        expected = {
            info.filename: (info.compress_type, info.compress_size, info.file_size)
            for info in archive.infolist()
        }
    assert read(content) == expected


def test_content_begins_where_the_local_header_ends() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.txt", b"first")
        archive.writestr("b.txt", b"second")
    content = buffer.getvalue()
    entries = read_central_directory(
        lambda offset, size: content[offset : offset + size], len(content), "w.whl", max_entries=9
    )
    found = {}
    for entry in entries:
        header = content[entry.offset : entry.end]
        start = data_offset(header, entry, "w.whl")
        found[entry.name] = header[start : start + entry.packed]
    assert found == {"a.txt": b"first", "b.txt": b"second"}


def test_zip64_counts_are_read() -> None:
    # a zip64 end record and its locator, put before an end record full of ones
    content = make_zip({"a": b"x"})
    position = content.rindex(b"PK\x05\x06")
    size, offset = struct.unpack_from("<LL", content, position + 12)
    record = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, position, 1)
    end = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert list(read(content[:position] + record + locator + end)) == ["a"]


@pytest.mark.parametrize("keep", [0, 1, 21, 22, 60, -1])
def test_cut_off_files_are_refused(keep: int) -> None:
    content = make_zip({"a": b"x" * 100, "b": b"y" * 100})[:keep]
    with pytest.raises(WheelFormatError, match=r"w\.whl is not a readable zip file"):
        read(content)


def test_too_many_entries_are_refused() -> None:
    content = make_zip({f"f{number}": b"" for number in range(11)})
    with pytest.raises(WheelFormatError, match="11 entries"):
        read(content, max_entries=10)


def test_encrypted_entries_are_refused() -> None:
    content = bytearray(make_zip({"a": b"x"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(WheelFormatError, match="'a' is encrypted"):
        read(bytes(content))


def test_overlapping_entries_are_refused() -> None:
    content = bytearray(make_zip({"a": b"x", "b": b"y"}))
    row = content.rindex(b"PK\x01\x02")  # the row of b now points to the content of a
    content[row + 42 : row + 46] = struct.pack("<L", 3)
    with pytest.raises(WheelFormatError, match="overlaps"):
        read(bytes(content))


def test_another_name_in_the_local_header_is_refused() -> None:
    content = bytearray(make_zip({"a.py": b"x"}))
    content[content.index(b"a.py")] = ord("b")
    entries = read_central_directory(
        lambda offset, size: bytes(content[offset : offset + size]),
        len(content),
        "w.whl",
        max_entries=9,
    )
    with pytest.raises(WheelFormatError, match="differs from the table"):
        data_offset(bytes(content), entries[0], "w.whl")


def test_several_volumes_are_refused() -> None:
    content = bytearray(make_zip({"a": b"x"}))
    content[content.rindex(b"PK\x05\x06") + 4] = 1
    with pytest.raises(WheelFormatError, match="volumes"):
        read(bytes(content))


def with_zip64(content: bytes, **lies: int) -> bytes:
    """A zip file with zip64 end record and locator, some of whose numbers are others."""
    position = content.rindex(b"PK\x05\x06")
    size, offset = struct.unpack_from("<LL", content, position + 12)
    said = {"disk": 0, "here": 1, "count": 1, "size": size, "offset": offset, "at": position}
    said |= {"disks": 1, **lies}
    record = struct.pack(
        "<4sQHHLLQQQQ",
        *(b"PK\x06\x06", 44, 45, 45, said["disk"], 0),
        *(said["here"], said["count"], said["size"], said["offset"]),
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, said["at"], said["disks"])
    end = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return content[:position] + record + locator + end


@pytest.mark.parametrize("number", [0, 2, 2**32, 2**63, 2**64 - 1])
@pytest.mark.parametrize("field", ["here", "count", "size", "offset", "at"])
def test_zip64_end_records_that_lie_are_refused(field: str, number: int) -> None:
    content = make_zip({"a": b"x"})
    assert list(read(with_zip64(content))) == ["a"]
    with pytest.raises(WheelFormatError, match=r"w\.whl is not a readable zip file"):
        read(with_zip64(content, **{field: number}))


@pytest.mark.parametrize("values", [[], [0], [2**63, 2**63, 2**63], [1, 2**64 - 1, 0], [1, 1, 40]])
def test_zip64_fields_that_lie_are_refused(values: list[int]) -> None:
    content = make_zip({"a": b"x"})
    row, end = content.rindex(b"PK\x01\x02"), content.rindex(b"PK\x05\x06")
    table = bytearray(content[row:end])
    table[20:28] = b"\xff" * 8  # both sizes, and below the offset
    table[42:46] = b"\xff" * 4
    extra = struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)
    table[30:32] = struct.pack("<H", len(extra))
    table += extra
    tail = bytearray(content[end:])
    tail[12:16] = struct.pack("<L", len(table))
    with pytest.raises(WheelFormatError):
        read(content[:row] + bytes(table) + bytes(tail))
