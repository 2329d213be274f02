"""METADATA files and RECORD (core metadata; recording installed projects)."""

from __future__ import annotations

import pytest

from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.link import parse_link
from vinstall.distributions.record import RecordEntry, format_record, parse_record
from vinstall.errors import WheelFormatError


def test_fields_end_at_the_first_blank_line() -> None:
    found = parse_core_metadata(
        b"Metadata-Version: 2.1\nName: A.b\nVersion: 1.0\n"
        b"requires-dist: c (>=1)\nRequires-Dist: d;\n  extra == 'x'\n"
        b"Provides-Extra: x\nRequires-Python: >=3.8\n\nRequires-Dist: never\n",
        "a",
    )
    assert (found.name, found.version, found.requires_python) == ("A.b", "1.0", ">=3.8")
    assert found.requires_dist == ("c (>=1)", "d; extra == 'x'")
    assert found.extras == ("x",)


def test_a_line_of_blanks_goes_on_with_its_field() -> None:
    found = parse_core_metadata(
        b"Name: a\r\nVersion: 1\r\nLicense: one\r\n        \r\n        two\x0c\r\n"
        b"Requires-Dist: b\r\n",
        "a",
    )
    assert found.requires_dist == ("b",)


@pytest.mark.parametrize("data", [b"", b"Name: a\n", b"Version: 1\n", b"\xff\xfe"])
def test_name_and_version_are_required(data: bytes) -> None:
    with pytest.raises(WheelFormatError, match="somewhere"):
        parse_core_metadata(data, "somewhere")


def test_record_rows_survive_a_round() -> None:
    entries = (
        RecordEntry("a/b.py", "sha256=abc", 3),
        RecordEntry('odd,"name".py', "", None),
        RecordEntry("a-1.dist-info/RECORD"),
    )
    assert parse_record(format_record(entries), "a") == entries


@pytest.mark.parametrize("text", ["a,b,c,d\n", ",x,1\n", "a,b,many\n"])
def test_bad_record(text: str) -> None:
    with pytest.raises(WheelFormatError):
        parse_record(text, "a")


def test_links_take_hashes_from_the_fragment() -> None:
    link = parse_link("https://h/x/torch-2.1%2Bcu126-py3-none-any.whl#sha256=AB&egg=torch")
    assert link.filename == "torch-2.1+cu126-py3-none-any.whl"
    assert link.hashes == {"sha256": "ab"}
    assert link.url.endswith(".whl#egg=torch")
