"""Laws of RECORD: what is written is read again, and it tells the truth."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.wheels import make_wheel, record_digest
from tests.unit.install.installing import Site
from vinstall.distributions.record import RecordEntry, format_record, parse_record

_PATHS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20
).filter(lambda text: text.strip() != "")
_ENTRIES = st.builds(
    RecordEntry,
    _PATHS,
    st.sampled_from(["", "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", "sha512=x_-"]),
    st.none() | st.integers(0, 2**60),
)


@given(st.lists(_ENTRIES))
def test_reading_what_was_written(entries: list[RecordEntry]) -> None:
    assert parse_record(format_record(entries), "w") == tuple(entries)


@given(st.lists(_ENTRIES))
def test_it_is_what_the_csv_module_reads(entries: list[RecordEntry]) -> None:
    rows = list(csv.reader(io.StringIO(format_record(entries), newline="")))
    assert rows == [
        [entry.path, entry.digest, "" if entry.size is None else str(entry.size)]
        for entry in entries
    ]


@settings(max_examples=20, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-zé][a-z0-9_é, ]{0,6}[a-z0-9]\.(py|txt)", fullmatch=True),
        st.binary(max_size=50),
        max_size=5,
    )
)
def test_record_names_every_installed_file_and_nothing_else(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        site = Site(Path(name))
        contents: dict[str, str | bytes] = {f"demo/{path}": text for path, text in files.items()}
        site.install(make_wheel("demo", files=contents, data={"scripts/run": "#!python\n"}))
        record = site.record("demo")
        there = {path.resolve() for path in site.root.rglob("*") if path.is_file()}
        assert {(site.library / path).resolve() for path in record} == there
        for path, (digest, size) in record.items():
            if path != "demo-1.0.dist-info/RECORD":
                content = (site.library / path).read_bytes()
                assert digest == record_digest(content)
                assert size == str(len(content))
