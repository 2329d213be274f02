"""RECORD: rows, quotes, and rows that are none."""

from __future__ import annotations

import pytest

from vinstall.distributions.record import RecordEntry, format_record, parse_record
from vinstall.errors import WheelFormatError


def test_rows_come_in_the_order_of_the_file() -> None:
    text = "b.py,sha256=x,3\n\na.py,,\n"
    assert parse_record(text, "x") == (RecordEntry("b.py", "sha256=x", 3), RecordEntry("a.py"))


def test_quotes_survive_a_round_trip() -> None:
    entries = (RecordEntry('a,"b".py', "sha256=x", 1), RecordEntry("c.py"))
    assert parse_record(format_record(entries), "x") == entries


@pytest.mark.parametrize(
    "text",
    ["a,b,c,d\n", ",sha256=x,3\n", "a.py,,many\n", f'"{"a" * 200_000}",,\n'],
    ids=["four fields", "no path", "no size", "a field without end"],
)
def test_what_is_no_row_is_named(text: str) -> None:
    with pytest.raises(WheelFormatError, match="RECORD of app is broken"):
        parse_record(text, "app")
