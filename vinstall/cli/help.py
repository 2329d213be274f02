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

ACTIONS = {
    ("profile", "save"): "Write what this machine supports to a file.",
    ("profile", "show"): "Print a profile, or what this machine supports now.",
    ("profile", "check"): "Compare a profile with this machine; status 1 if it claims more.",
    ("provider", "list"): "List who answers for which namespace, whether it may run, and how "
    "long its last answer took.",
    ("provider", "trust"): "Let providers run from now on: NAME is that of their package, as "
    "'vinstall provider list' shows it.",
    ("provider", "forget"): "Take the trust back, and remove environments and kept answers.",
    ("variant", "rank"): "Rank the labels of a metadata file for this machine or a profile.",
    ("variant", "show"): "Print label and properties of wheels.",
    ("variant", "make"): "Make a variant wheel out of a wheel.",
    ("variant", "unmake"): "Make a plain wheel out of a variant wheel.",
    ("variant", "index"): "Write the -variants.json files of a folder of wheels.",
    ("index", "versions"): "List the versions of a project that this Python can take.",
    ("cache", "dir"): "Print where the cache is.",
    ("cache", "info"): "Print how large the cache is.",
    ("cache", "list"): "List the wheels in the cache.",
    ("cache", "remove"): "Remove wheels whose names match a pattern.",
    ("cache", "purge"): "Remove everything from the cache.",
    ("cache", "check"): "Check the cached files against their digests.",
    ("config", "list"): "Print every setting in force.",
    ("config", "get"): "Print one setting.",
    ("config", "set"): "Write one setting.",
    ("config", "unset"): "Remove one setting.",
    ("config", "edit"): "Open the file in an editor.",
    ("config", "debug"): "Print the files, whether they exist, and what they say.",
}
"""(command, action) → what the action does."""

_WITHOUT_OPTIONS = frozenset(
    {
        ("provider", "trust"),
        ("provider", "forget"),
        ("cache", "dir"),
        ("cache", "info"),
        ("cache", "remove"),
        ("cache", "purge"),
        ("cache", "check"),
    }
)
"""Actions that only the general options change."""


def program_name() -> str:
    """How the user called us, for usage lines."""
    called = sys.argv[0] if sys.argv else ""
    return "python -m vinstall" if called.endswith("__main__.py") else "vinstall"


def show_help(console: Console, command: str, program: str, action: str = "") -> int:
    """Print the page of a command; that of ``help`` is the page of vinstall itself.

    Args:
        console: The writer.
        command: Name of a command.
        program: How the program was called.
        action: Which action of the command is of interest; other words change nothing.
    """
    width = max(40, min(console.width, 100))
    lines = format_main_help(program, width)
    if command != "help":
        lines = format_command_help(command, program, width, action)
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


def format_command_help(command: str, program: str, width: int, action: str = "") -> list[str]:
    """The page of one command, or of one of its actions."""
    spec = command_specs()[command]
    summary, usage = spec.summary, spec.usage
    if action in spec.actions:
        summary = ACTIONS.get((command, action), summary)
        usage = tuple(line for line in usage if action in line.split()) or usage
    lines = [summary, *format_usage(usage, program).splitlines()]
    if spec.actions and action not in spec.actions:
        lines += ["", "Actions:"]
        for name in spec.actions:
            lines.extend(_entry(f"  {name}", ACTIONS.get((command, name), ""), width))
    groups = groups_of(spec)
    for group in groups[-1:] if (command, action) in _WITHOUT_OPTIONS else groups:
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
