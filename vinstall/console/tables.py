"""Columns, sizes and JSON, in the shapes that pip's readers expect."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def format_size(size: float) -> str:
    """Bytes as pip writes them: ``12 bytes``, ``1.2 kB``, ``12 kB``, ``1.2 MB``."""
    if size > 1_000_000:
        return f"{size / 1_000_000:.1f} MB"
    if size > 10_000:
        return f"{int(size / 1000)} kB"
    if size > 1000:
        return f"{size / 1000:.1f} kB"
    return f"{int(size)} bytes"


def format_columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table: the header, a line of dashes, the rows; no blanks at line ends.

    Args:
        header: Titles of the columns.
        rows: Cells; a missing one at the end counts as empty.
    """
    table = [list(header), *(list(row) for row in rows)]
    count = len(header)
    table = [[*row, *[""] * (count - len(row))] for row in table]
    widths = [max(len(row[place]) for row in table) for place in range(count)]
    table.insert(1, ["-" * width for width in widths])
    return [
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def format_json(data: object, *, pretty: bool = False) -> str:
    """A value as JSON: on one line, or indented for people."""
    import json

    if pretty:
        return json.dumps(data, indent=2, ensure_ascii=False)
    return json.dumps(data)
