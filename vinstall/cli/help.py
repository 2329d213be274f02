"""The help pages, and scripts that complete words in shells."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from vinstall.cli.options import COLLECTED, WITHOUT_VALUE, command_specs, groups_of
from vinstall.console.diagnostics import format_usage

if TYPE_CHECKING:
    from vinstall.cli.options import Option
    from vinstall.console.output import Console

_INDENT = 30


def program_name() -> str:
    """How the user called us, for usage lines."""
    called = sys.argv[0] if sys.argv else ""
    return "python -m vinstall" if called.endswith("__main__.py") else "vinstall"


def show_help(console: Console, command: str, program: str) -> int:
    """Print the page of a command; that of ``help`` is the page of vinstall itself."""
    width = max(40, min(console.width, 100))
    lines = format_main_help(program, width)
    if command != "help":
        lines = format_command_help(command, program, width)
    for line in lines:
        console.result(line)
    return 0


def format_main_help(program: str, width: int) -> list[str]:
    """The page that lists the commands."""
    lines = [
        "Install packages: the build that fits this machine's GPU, driver and CPU.",
        "",
        "Usage:",
        f"  {program} REQUIREMENT ...",
        f"  {program} COMMAND [options]",
        "",
        "Commands:",
    ]
    for spec in command_specs().values():
        lines.extend(_entry(f"  {spec.name}", spec.summary, width))
    lines += ["", f"'{program} help COMMAND' tells more of a command.", ""]
    lines.extend(
        _group_lines("General options", groups_of(command_specs()["help"])[-1].options, width)
    )
    lines.extend(_entry("  -V, --version", "Show the version.", width))
    return lines


def format_command_help(command: str, program: str, width: int) -> list[str]:
    """The page of one command."""
    spec = command_specs()[command]
    lines = [spec.summary, *format_usage(spec.usage, program).splitlines()]
    for group in groups_of(spec):
        lines.append("")
        lines.extend(_group_lines(group.title, group.options, width))
    return lines


def _group_lines(title: str, options: tuple[Option, ...], width: int) -> list[str]:
    lines = [f"{title}:"]
    for option in options:
        if option.hidden:
            continue
        spelled = [option.name]
        if len(option.names[0]) == 2:
            spelled.insert(0, option.names[0])
        head = f"  {', '.join(spelled)}"
        if option.kind == "projects":
            head += f"[={option.value}]"
        elif option.kind not in WITHOUT_VALUE:
            head += f" <{option.value}>"
        text = option.help
        if option.choices:
            text += f" One of {', '.join(option.choices)}."
        if option.kind in COLLECTED:
            text += " May be repeated."
        lines.extend(_entry(head, text, width))
    return lines


def _entry(head: str, text: str, width: int) -> list[str]:
    wrapped = textwrap.wrap(text, width - _INDENT) or [""]
    first = f"{head:<{_INDENT}}{wrapped[0]}" if len(head) < _INDENT - 1 else ""
    lines = [first] if first else [head, " " * _INDENT + wrapped[0]]
    return lines + [" " * _INDENT + line for line in wrapped[1:]]
