"""The wheels that tests make are what the wheel format and PEP 825 say, or as broken as asked."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING, get_args

import pytest
from packaging.utils import parse_wheel_filename

from tests.support.wheels import Fault, make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from tests.support.wheels import BuiltWheel


def entries(wheel: BuiltWheel) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_plain_wheel_has_the_three_files_and_true_digests() -> None:
    wheel = make_wheel("Sample.Project", "1.2", requires_dist=["other>=1"], requires_python=">=3.8")
    assert wheel.filename == "sample_project-1.2-py3-none-any.whl"
    assert parse_wheel_filename(wheel.filename)[0] == "sample-project"
    files = entries(wheel)
    info = "sample_project-1.2.dist-info"
    assert list(files) == [
        "sample_project.py",
        *(f"{info}/{n}" for n in ("METADATA", "WHEEL", "RECORD")),
    ]
    assert files[f"{info}/METADATA"].decode().splitlines() == [
        "Metadata-Version: 2.1",
        "Name: Sample.Project",
        "Version: 1.2",
        "Requires-Python: >=3.8",
        "Requires-Dist: other>=1",
        "",
    ]
    rows = list(csv.reader(files[f"{info}/RECORD"].decode().splitlines()))
    assert rows[-1] == [f"{info}/RECORD", "", ""]
    for path, digest, size in rows[:-1]:
        wanted = base64.urlsafe_b64encode(hashlib.sha256(files[path]).digest()).decode().rstrip("=")
        assert digest == f"sha256={wanted}"
        assert int(size) == len(files[path])


def test_the_same_arguments_give_the_same_bytes() -> None:
    assert make_wheel("sample").content == make_wheel("sample").content


def test_file_name_with_build_tag_several_tags_and_label() -> None:
    wheel = make_wheel(
        "sample",
        tags=["cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64"],
        build="3",
        label="x86_64_v3",
        properties="x86_64 :: level :: v3",
    )
    assert wheel.filename == (
        "sample-1.0-3-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64-x86_64_v3.whl"
    )
    text = entries(wheel)["sample-1.0.dist-info/WHEEL"].decode()
    assert "Tag: cp311-cp311-manylinux_2_17_x86_64\n" in text
    assert "Tag: cp311-cp311-manylinux2014_x86_64\n" in text
    assert "Build: 3\n" in text


def test_variant_json_of_a_variant_wheel_has_one_entry() -> None:
    wheel = make_wheel("sample", label="cu", properties="nvidia :: a :: 2, nvidia :: a :: 1")
    assert json.loads(entries(wheel)["sample-1.0.dist-info/variant.json"]) == {
        "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "default-priorities": {"namespace": ["nvidia"]},
        "variants": {"cu": {"nvidia": {"a": ["1", "2"]}}},
    }


def test_variant_wheels_of_one_release_share_priorities() -> None:
    wheels = make_variant_wheels(
        "sample", "1.0", {"a": "one :: f :: 1", "b": "two :: f :: 1", "null": ""}
    )
    assert [wheel.label for wheel in wheels] == ["a", "b", "null", ""]
    for wheel in wheels[:3]:
        assert wheel.variant_json is not None
        assert wheel.variant_json["default-priorities"]["namespace"] == ["one", "two"]
        assert list(wheel.variant_json["variants"]) == [wheel.label]
    assert wheels[3].variant_json is None


def test_scripts_data_files_and_entry_points() -> None:
    wheel = make_wheel(
        "sample",
        data={"scripts/tool": "#!python\n", "data/share/note.txt": "note"},
        executable=["scripts/tool"],
        entry_points={"console_scripts": ["sample = sample:main"]},
    )
    files = entries(wheel)
    assert files["sample-1.0.data/scripts/tool"] == b"#!python\n"
    assert files["sample-1.0.data/data/share/note.txt"] == b"note"
    assert files["sample-1.0.dist-info/entry_points.txt"] == (
        b"[console_scripts]\nsample = sample:main\n"
    )
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        assert archive.getinfo("sample-1.0.data/scripts/tool").external_attr >> 16 & 0o111


@pytest.mark.parametrize("fault", get_args(Fault))
def test_every_fault_changes_the_wheel(fault: Fault) -> None:
    assert make_wheel("sample", fault=fault).content != make_wheel("sample").content


@pytest.mark.parametrize("fault", ["not-a-zip", "truncated"])
def test_some_faults_leave_no_zip(fault: Fault) -> None:
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(make_wheel("sample", fault=fault).content))


def test_a_corrupt_entry_fails_its_checksum() -> None:
    content = make_wheel("sample", fault="corrupt-entry").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() == "sample.py"


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ("parent-path", b"../escaped.txt"),
        ("absolute-path", b"/tmp/escaped.txt"),
        ("backslash-path", b"..\\escaped.txt"),
        ("null-in-path", b"sub/bad\0name.py"),
    ],
)
def test_bad_paths_stand_in_the_archive_as_they_are(fault: Fault, path: bytes) -> None:
    assert path in make_wheel("sample", fault=fault).content


def test_a_double_entry_is_twice_in_the_directory() -> None:
    content = make_wheel("sample", fault="duplicate-entry").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist().count("sample.py") == 2
