"""RECORD: the list of files that an installed distribution owns.

Implements the recording installed projects specification, "The RECORD file".
"""

from __future__ import annotations

from vinstall.errors import WheelFormatError
from vinstall.patterns import lazy_pattern
from vinstall.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_QUOTED = lazy_pattern(r'[,"\r\n]')


class RecordEntry(NamedTuple):
    """One row.

    Attributes:
        path: With ``/`` between parts, relative to the folder that holds the dist-info.
        digest: ``algorithm=urlsafe base64 without padding``, empty where there is none.
        size: Bytes, or ``None``.
    """

    path: str
    digest: str = ""
    size: int | None = None


def parse_record(text: str, origin: str) -> tuple[RecordEntry, ...]:
    """Read RECORD, in the order of the file; blank lines are skipped.

    Raises:
        WheelFormatError: A row does not have the form of one.
    """
    rows: Iterable[list[str]]
    if '"' not in text:
        rows = (line.split(",") for line in text.splitlines() if line)
    else:
        import csv

        try:
            rows = list(csv.reader(text.splitlines()))
        except csv.Error as error:
            raise WheelFormatError(f"RECORD of {origin} is broken", str(error)) from error
    entries = []
    for row in rows:
        if not row:
            continue
        if len(row) > 3 or not row[0]:
            raise WheelFormatError(f"RECORD of {origin} is broken", f"at the row {','.join(row)!r}")
        path, digest, size = [*row, "", ""][:3]
        if size and not size.isdecimal():
            raise WheelFormatError(f"RECORD of {origin} is broken", f"{size!r} is not a size")
        entries.append(RecordEntry(path, digest, int(size) if size else None))
    return tuple(entries)


def merge_record(text: str, entries: Sequence[RecordEntry]) -> str:
    """Add rows to RECORD.

    Args:
        text: RECORD as ``format_record`` writes it, sorted by path, with nothing quoted.
        entries: The new rows.

    Returns:
        All rows, sorted by path.
    """
    lines = text.split("\n")[:-1]
    more = format_record(entries)
    if '"' in more:
        rows = [*parse_record(text, "RECORD"), *entries]
        return format_record(sorted(rows, key=lambda row: row.path))
    lines += more.split("\n")[:-1]
    lines.sort(key=lambda line: line.partition(",")[0])
    return "\n".join([*lines, ""])


def format_record(entries: Iterable[RecordEntry]) -> str:
    """Write RECORD: one row a line, quoted only where a path needs it."""
    lines = []
    must_quote = _QUOTED.search
    for path, digest, size in entries:
        if must_quote(path):
            path = '"' + path.replace('"', '""') + '"'
        lines.append(f"{path},{digest},{'' if size is None else size}\n")
    return "".join(lines)
