"""Columns and sizes as pip prints them."""

from __future__ import annotations

import pytest

from vinstall.console.tables import format_columns, format_json, format_size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1000 bytes"),
        (1001, "1.0 kB"),
        (9_999, "10.0 kB"),
        (10_001, "10 kB"),
        (999_999, "999 kB"),
        (1_000_000, "1000 kB"),
        (1_000_001, "1.0 MB"),
        (887_654_321, "887.7 MB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert format_size(size) == text


def test_columns() -> None:
    assert format_columns(["Package", "Version"], [["a", "1.0"], ["longer-name", "10.0.1"]]) == [
        "Package     Version",
        "----------- -------",
        "a           1.0",
        "longer-name 10.0.1",
    ]


def test_columns_leave_no_blanks_at_line_ends() -> None:
    lines = format_columns(["A", "B"], [["x", ""], ["y"]])
    assert lines == ["A B", "- -", "x", "y"]


def test_json() -> None:
    assert format_json([{"name": "a"}]) == '[{"name": "a"}]'
    assert format_json({"a": "ä"}, pretty=True) == '{\n  "a": "ä"\n}'
