"""Wheels are checked before anything of them is written."""

from __future__ import annotations

import io
import random
import stat
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel, record_digest
from vinstall.errors import WheelFormatError
from vinstall.wheel import archive as archive_module
from vinstall.wheel.archive import WheelArchive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.support.wheels import BuiltWheel, Fault

    Road = Callable[[WheelArchive], dict[str, bytes]]

METADATA = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
WHEEL = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
INFO = "demo-1.0.dist-info"


def open_built(folder: Path, wheel: BuiltWheel) -> WheelArchive:
    return WheelArchive.open(wheel.write_to(folder), wheel.filename)


def in_pieces(archive: WheelArchive) -> dict[str, bytes]:
    return {file.path: b"".join(archive.iter_chunks(file)) for file in archive.entries}


def at_once(archive: WheelArchive) -> dict[str, bytes]:
    found = {}
    for file, content in zip(archive.entries, archive.read_small(archive.entries), strict=True):
        assert content is not None, "these are all small"
        found[file.path] = content
    return found


def unpack(archive: WheelArchive) -> dict[str, bytes]:
    found = in_pieces(archive)
    assert found == at_once(archive)
    return found


ROADS = pytest.mark.parametrize("road", [in_pieces, at_once])


def write_wheel(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    record: str | None = None,
    modes: Mapping[str, int] | None = None,
    method: int = zipfile.ZIP_DEFLATED,
    methods: Mapping[str, int] | None = None,
) -> Path:
    """A wheel with entries in any form; RECORD is right unless it is given."""
    files = {**files}
    files.setdefault(f"{INFO}/METADATA", METADATA)
    files.setdefault(f"{INFO}/WHEEL", WHEEL)
    if record is None:
        rows = [
            f'"{path}",{record_digest(content)},{len(content)}\n'
            for path, content in files.items()
            if not path.endswith("/")
        ]
        record = "".join([*rows, f"{INFO}/RECORD,,\n"])
    files[f"{INFO}/RECORD"] = record.encode()
    path = folder / "demo-1.0-py3-none-any.whl"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            entry.create_system = 3
            entry.compress_type = (methods or {}).get(name, method)
            entry.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)
    path.write_bytes(buffer.getvalue())
    return path


def open_files(folder: Path, files: Mapping[str, bytes], **options: object) -> WheelArchive:
    path = write_wheel(folder, files, **options)  # type: ignore[arg-type]
    return WheelArchive.open(path, path.name)


def test_a_good_wheel_is_read_whole(tmp_path: Path) -> None:
    wheel = make_wheel(
        "Demo.Pack",
        "1.5",
        label="cu128",
        properties="nvidia :: cuda :: 12.8",
        files={"demo_pack/__init__.py": "X = 1\n", "demo_pack/tool": "run\n"},
        executable=["demo_pack/tool"],
        data={"data/share/é.txt": "text"},
    )
    with open_built(tmp_path, wheel) as archive:
        assert archive.dist_info == "demo_pack-1.5.dist-info"
        assert archive.filename.label == "cu128"
        assert archive.metadata.name == "Demo.Pack"
        assert archive.root_is_purelib
        assert archive.warnings == ()
        assert archive.variant_json is not None
        assert b'"cu128"' in archive.variant_json
        content = unpack(archive)
        assert content["demo_pack/__init__.py"] == b"X = 1\n"
        assert content["demo_pack-1.5.data/data/share/é.txt"] == b"text"
        assert [file.path for file in archive.entries if file.executable] == ["demo_pack/tool"]
        assert archive.read("demo_pack/tool") == b"run\n"
        with zipfile.ZipFile(tmp_path / wheel.filename) as expected:
            assert set(content) == set(expected.namelist())


def test_platlib_and_no_variant(tmp_path: Path) -> None:
    with open_built(tmp_path, make_wheel("demo", root_is_purelib=False)) as archive:
        assert not archive.root_is_purelib
        assert archive.variant_json is None


def test_stored_and_large_entries_come_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(archive_module, "PACKED_BYTES", 200)
    content = bytes(range(256)) * 50
    for compress in (True, False):
        wheel = make_wheel("demo", files={"demo.bin": content}, compress=compress)
        with open_built(tmp_path, wheel) as archive:
            file = next(one for one in archive.entries if one.path == "demo.bin")
            pieces = list(archive.iter_chunks(file))
            assert b"".join(pieces) == content
            assert len(pieces) > 1


def test_small_entries_are_read_together_and_large_ones_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = random.Random(1).randbytes(5000)
    files: dict[str, str | bytes] = {f"a{number}.txt": f"{number}" for number in range(40)}
    files |= {"large.bin": noise, "flat.bin": b"x" * 90_000, "z.txt": "end"}
    monkeypatch.setattr(archive_module, "SMALL_BYTES", 4000)
    monkeypatch.setattr(archive_module, "READ_BYTES", 3000)
    with open_built(tmp_path, make_wheel("demo", files=files)) as archive:
        found = dict(
            zip(
                (file.path for file in archive.entries),
                archive.read_small(archive.entries),
                strict=True,
            )
        )
        whole = in_pieces(archive)
    assert found["large.bin"] is None
    assert found["flat.bin"] is None
    assert {path for path, content in found.items() if content is None} <= {"large.bin", "flat.bin"}
    assert all(content in (None, whole[path]) for path, content in found.items())


@ROADS
def test_an_entry_that_is_shorter_than_it_says_is_refused(tmp_path: Path, road: Road) -> None:
    files = {"demo.py": b"x" * 1000}
    record = f"demo.py,{record_digest(files['demo.py'])},\n"
    rows = {f"{INFO}/METADATA": METADATA, f"{INFO}/WHEEL": WHEEL}
    record += "".join(f"{path},{record_digest(content)},\n" for path, content in rows.items())
    path = write_wheel(tmp_path, files, record=f"{record}{INFO}/RECORD,,\n")
    content = bytearray(path.read_bytes())
    row = content.index(b"PK\x01\x02")
    assert content[row + 46 : row + 53] == b"demo.py"
    for size in (999, 1001):
        content[row + 24 : row + 28] = size.to_bytes(4, "little")
        path.write_bytes(content)
        with (
            WheelArchive.open(path, path.name) as archive,
            pytest.raises(WheelFormatError, match=r"is longer than|does not hold"),
        ):
            road(archive)


FAULTS: dict[Fault, str] = {
    "no-record": "has no demo-1.0.dist-info/RECORD",
    "record-missing-entry": "RECORD does not name 'demo.py'",
    "record-extra-entry": "RECORD names 'not_there.py'",
    "parent-path": "leaves the wheel",
    "absolute-path": "absolute",
    "backslash-path": "character that is not allowed",
    "data-parent-path": "leaves the wheel",
    "symlink": "symbolic link",
    "duplicate-entry": "there twice",
    "not-a-zip": "not a readable zip file",
    "truncated": "not a readable zip file",
    "wrong-name": "METADATA says other-demo 1.0",
    "wrong-version": "METADATA says demo 999.0",
    "no-metadata": "has no demo-1.0.dist-info/METADATA",
    "no-wheel-file": "has no demo-1.0.dist-info/WHEEL",
    "two-dist-info": "several dist-info folders",
    "wheel-version-2": "Wheel-Version 2.0",
    "not-utf8-record": "RECORD.*not UTF-8",
    "null-in-path": "character that is not allowed",
}


@pytest.mark.parametrize(("fault", "why"), FAULTS.items())
def test_broken_wheels_are_refused_when_opened(tmp_path: Path, fault: Fault, why: str) -> None:
    wheel = make_wheel("demo", fault=fault)
    with pytest.raises(WheelFormatError, match=why) as caught:
        open_built(tmp_path, wheel)
    assert wheel.filename in caught.value.what


@ROADS
@pytest.mark.parametrize("fault", ["record-wrong-hash", "corrupt-entry"])
def test_wrong_content_is_noticed_while_unpacking(tmp_path: Path, fault: Fault, road: Road) -> None:
    with (
        open_built(tmp_path, make_wheel("demo", fault=fault)) as archive,
        pytest.raises(WheelFormatError, match=r"'demo\.py'.*RECORD"),
    ):
        road(archive)


def test_newer_minor_version_is_only_odd(tmp_path: Path) -> None:
    with open_built(tmp_path, make_wheel("demo", fault="wheel-version-1.9")) as archive:
        assert len(archive.warnings) == 1
        assert "1.9" in archive.warnings[0]


@pytest.mark.parametrize(
    "path",
    [
        "../a.py",
        "demo/../../a.py",
        "/a.py",
        "//a.py",
        "C:/a.py",
        "demo\\a.py",
        "demo/a\x00.py",
        "demo/a\n.py",
        "demo/a\x7f.py",
        "demo//a.py",
        "./a.py",
        "demo/./a.py",
        "demo/nul",
        "demo/NUL.txt",
        "con.py",
        "demo/COM1.log",
        "demo/lpt².x",
        "demo/a.py.",
        "demo/a ",
        "demo./a.py",
        "demo /a.py",
        "demo/a:stream",
        'demo/a".py',
        "demo/a?.py",
        "demo/" + "x" * 5000,
    ],
)
def test_unsafe_paths_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(WheelFormatError) as caught:
        open_files(tmp_path, {path: b"x"}, record="")
    assert "is refused" in caught.value.why


@pytest.mark.parametrize(
    "path", ["demo/console.py", "demo/.hidden", "demo/a b.py", "demo/com.py", "demo/nul_.py", "a,b"]
)
def test_harmless_paths_are_accepted(tmp_path: Path, path: str) -> None:
    with open_files(tmp_path, {path: b"x"}) as archive:
        assert unpack(archive)[path] == b"x"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("demo/A.py", "demo/a.py"),
        ("demo/é.py", "demo/e\u0301.py"),
        ("demo/straße.py", "demo/STRASSE.py"),
        ("Demo/a.py", "demo/A.py"),
        ("demo", "demo/a.py"),
        ("demo/a.py", "demo/a.py/b"),
    ],
)
def test_paths_that_collide_somewhere_are_refused(tmp_path: Path, first: str, second: str) -> None:
    with pytest.raises(WheelFormatError):
        open_files(tmp_path, {first: b"1", second: b"2"})


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (stat.S_IFLNK, "symbolic link"),
        (stat.S_IFCHR, "device"),
        (stat.S_IFIFO, "pipe"),
        (stat.S_IFSOCK, "socket"),
        (stat.S_IFDIR, "folder"),
    ],
)
def test_only_regular_files_are_accepted(tmp_path: Path, kind: int, word: str) -> None:
    with pytest.raises(WheelFormatError, match=word):
        open_files(tmp_path, {"demo/x": b"x"}, modes={"demo/x": kind | 0o644})


def test_folders_are_skipped(tmp_path: Path) -> None:
    modes = {"demo/": stat.S_IFDIR | 0o755}
    with open_files(tmp_path, {"demo/": b"", "demo/a.py": b"x"}, modes=modes) as archive:
        assert "demo/" not in unpack(archive)


@pytest.mark.parametrize(
    ("method", "name"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")]
)
def test_other_compressions_are_refused(tmp_path: Path, method: int, name: str) -> None:
    with pytest.raises(WheelFormatError, match=f"compressed with {name}"):
        open_files(tmp_path, {"demo.py": b"x"}, methods={"demo.py": method})


@pytest.mark.parametrize(
    ("digest", "why"),
    [
        ("", "no digest"),
        ("sha256=", "no digest"),
        ("md5=XrY7u-Ae7tCTyyK7j1rNww", "'md5'"),
        ("sha1=Kq5sNclPz7QV2-lfQIuc6R7oRu0", "'sha1'"),
        ("crc=1", "'crc'"),
    ],
)
def test_files_need_a_safe_digest(tmp_path: Path, digest: str, why: str) -> None:
    files = {f"{INFO}/METADATA": METADATA, f"{INFO}/WHEEL": WHEEL}
    rows = "".join(f"{path},{record_digest(content)},\n" for path, content in files.items())
    with pytest.raises(WheelFormatError, match=why):
        open_files(
            tmp_path,
            {"demo.py": b"x", **files},
            record=f"demo.py,{digest},\n{rows}{INFO}/RECORD,,\n",
        )


@ROADS
def test_stronger_digests_are_checked(tmp_path: Path, road: Road) -> None:
    import base64
    import hashlib

    files = {f"{INFO}/METADATA": METADATA, f"{INFO}/WHEEL": WHEEL}
    rows = "".join(f"{path},{record_digest(content)},\n" for path, content in files.items())
    for content, is_right in ((b"x", True), (b"y", False)):
        value = base64.urlsafe_b64encode(hashlib.sha512(b"x").digest()).rstrip(b"=").decode()
        record = f"demo.py,sha512={value},1\n{rows}{INFO}/RECORD,,\n"
        with open_files(tmp_path, {"demo.py": content, **files}, record=record) as archive:
            if is_right:
                assert road(archive)["demo.py"] == b"x"
            else:
                with pytest.raises(WheelFormatError):
                    road(archive)


def test_signatures_need_no_row(tmp_path: Path) -> None:
    files = {f"{INFO}/METADATA": METADATA, f"{INFO}/WHEEL": WHEEL}
    rows = "".join(f"{path},{record_digest(content)},\n" for path, content in files.items())
    everything = {**files, f"{INFO}/RECORD.jws": b"{}", f"{INFO}/RECORD.p7s": b"s"}
    with open_files(tmp_path, everything, record=f"{rows}{INFO}/RECORD,,\n") as archive:
        assert unpack(archive)[f"{INFO}/RECORD.jws"] == b"{}"


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel("demo", files={"demo.py": b"\0" * 3_000_000})
    open_built(tmp_path, wheel).close()
    monkeypatch.setattr(archive_module, "RATIO_FREE_BYTES", 1_000_000)
    with pytest.raises(WheelFormatError, match="no honest wheel"):
        open_built(tmp_path, wheel)
    monkeypatch.setattr(archive_module, "MAX_UNPACKED_BYTES", 2_000_000)
    with pytest.raises(WheelFormatError, match="too much"):
        open_built(tmp_path, wheel)
    monkeypatch.setattr(archive_module, "MAX_ENTRIES", 3)
    with pytest.raises(WheelFormatError, match="entries"):
        open_built(tmp_path, wheel)


def test_the_user_sets_another_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel("demo", files={"demo.py": b"\0" * 3_000_000})
    path = wheel.write_to(tmp_path)
    monkeypatch.setattr(archive_module, "RATIO_FREE_BYTES", 1_000_000)
    monkeypatch.setattr(archive_module, "MAX_UNPACKED_BYTES", 2_000_000)
    WheelArchive.open(path, wheel.filename, max_unpacked=4_000_000).close()
    with pytest.raises(WheelFormatError, match="--max-unpacked"):
        WheelArchive.open(path, wheel.filename, max_unpacked=2_500_000)


def test_entries_that_unpack_to_more_than_they_say_are_refused(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, {"demo.py": b"x" * 100_000})
    content = bytearray(path.read_bytes())
    row = content.index(b"PK\x01\x02")
    assert content[row + 46 : row + 53] == b"demo.py"
    content[row + 24 : row + 28] = (50).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(WheelFormatError, match="RECORD says 100000 bytes"):
        WheelArchive.open(path, path.name)


@pytest.mark.parametrize(
    ("filename", "is_accepted"),
    [
        ("demo-1.0-py3-none-any.whl", True),
        ("Demo-1.0.0-py3-none-any.whl", True),
        ("other-1.0-py3-none-any.whl", False),
        ("demo-1.1-py3-none-any.whl", False),
        ("demo-1.0-py3-none-any-cu128.whl", True),
    ],
)
def test_the_file_name_must_agree(tmp_path: Path, filename: str, is_accepted: bool) -> None:
    path = write_wheel(tmp_path, {"demo.py": b"x"})
    if is_accepted:
        WheelArchive.open(path, filename).close()
    else:
        with pytest.raises(WheelFormatError, match="does not match"):
            WheelArchive.open(path, filename)


@pytest.mark.parametrize(
    "path",
    [
        "demo-1.0.data/unknown/x",
        "demo-1.0.data/x",
        "demo-1.0.data/scripts",
        "other.data/x",
        "demo-1.0.data/purelib/other-2.0.dist-info/METADATA",
    ],
)
def test_data_folders_hold_known_schemes_only(tmp_path: Path, path: str) -> None:
    with pytest.raises(WheelFormatError, match="is refused"):
        open_files(tmp_path, {path: b"x"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "Wheel-Version ''"),
        (b"Wheel-Version: one\n", "Wheel-Version 'one'"),
        (b"Wheel-Version: 0.9\n", "0.9"),
    ],
)
def test_wheel_version_must_be_understood(tmp_path: Path, text: bytes, why: str) -> None:
    with pytest.raises(WheelFormatError, match=why):
        open_files(tmp_path, {f"{INFO}/WHEEL": text})


def test_a_missing_file_is_a_wheel_error(tmp_path: Path) -> None:
    with pytest.raises(WheelFormatError, match="can not be read"):
        WheelArchive.open(tmp_path / "none", "demo-1.0-py3-none-any.whl")
