"""An explanation as a page or a picture, drawn by rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

_WIDTH = 120
_STYLES = {"*": "bold green", "+": "cyan", "-": "dim"}


def format_html(lines: Iterable[str], title: str) -> str:
    """A page of its own with the lines, the chosen build in bold green, the refused dimmed."""
    import html

    page = _draw(lines).export_html(inline_styles=True)
    return page.replace("<head>", f"<head>\n<title>{html.escape(title)}</title>", 1)


def format_svg(lines: Iterable[str], title: str) -> str:
    """A picture of a terminal with the lines."""
    return _draw(lines).export_svg(title=title)


def _draw(lines: Iterable[str]) -> Console:
    from rich.console import Console
    from rich.text import Text

    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        mark = line.strip()[:2].rstrip()
        heading = bool(line) and not line.startswith(" ")
        style = _STYLES.get(mark, "bold" if heading else "")
        console.print(Text(line, style=style), soft_wrap=False)
    return console
