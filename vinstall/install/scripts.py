"""Launchers for entry points, and the first line of scripts that wheels bring.

Implements the entry points specification ("console_scripts", "gui_scripts") and the binary
distribution format ("Installing a wheel 'distribution-1.0-py32-none-any.whl'", rewriting
of ``#!python``).

On Windows a launcher is two text files, ``name-script.py`` and ``name.cmd``; a program with
an interpreter path inside would need a prebuilt stub. ``write_launcher`` is the one place
that would change.
"""

from __future__ import annotations

import keyword
import os
import re

from vinstall.errors import WheelFormatError
from vinstall.patterns import lazy_pattern
from vinstall.values import NamedTuple

MAX_SHEBANG = 127
"""Bytes of a ``#!`` line, without its end, that every Linux kernel reads whole."""
SCRIPT_GROUPS = ("console_scripts", "gui_scripts")

_BAD_NAME = lazy_pattern(r'[\x00-\x1f\x7f/\\<>:"|?*]')
_TARGET = lazy_pattern(r"(?P<module>[\w.]+)\s*:\s*(?P<attribute>[\w.]+)\s*(?:\[[^\[\]]*\])?")
_PYTHON_LINE = lazy_pattern(rb"#!python(w?)(?:[ \t]+([^\r\n]*))?(\r\n|\r|\n|\Z)")


class Script(NamedTuple):
    """A launcher to write.

    Attributes:
        name: What the user types.
        module: Dotted name of the module to import.
        attribute: Dotted name of the object to call.
        is_graphical: Whether it comes from ``gui_scripts``.
    """

    name: str
    module: str
    attribute: str
    is_graphical: bool


class Launcher(NamedTuple):
    """One file of a launcher.

    Attributes:
        name: File name in the scripts folder.
        content: Its bytes.
    """

    name: str
    content: bytes


def parse_scripts(entry_points: str, origin: str) -> tuple[Script, ...]:
    """The launchers that a distribution asks for, in the order of the file.

    Args:
        entry_points: Text of ``entry_points.txt``; may be empty.
        origin: What to name in an error.

    Raises:
        WheelFormatError: The file can not be read, a name could leave the scripts folder,
            or what it stands for is not ``module:attribute``.
    """
    if not any(group in entry_points for group in SCRIPT_GROUPS):
        return ()
    groups = _read_plain(entry_points)
    if groups is None:
        groups = _read_config(entry_points, origin)
    scripts: dict[str, Script] = {}
    for group in SCRIPT_GROUPS:
        for name, target in groups.get(group, {}).items():
            scripts[name] = _parse_script(name, target, group == "gui_scripts", origin)
    return tuple(scripts.values())


def _read_plain(entry_points: str) -> dict[str, dict[str, str]] | None:
    """Groups of lines as most files have them; ``None`` for anything else."""
    groups: dict[str, dict[str, str]] = {}
    group = None
    for line in entry_points.split("\n"):
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        if line[0].isspace():
            return None
        if text[0] == "[":
            title = text[1:-1]
            if text[-1] != "]" or not title or "]" in title:
                return None
            group = groups.setdefault(title, {})
            continue
        name, equals, value = text.partition("=")
        name = name.rstrip()
        if group is None or not equals or not name:
            return None
        group[name] = value.strip()
    return groups


def _read_config(entry_points: str, origin: str) -> dict[str, dict[str, str]]:
    from configparser import Error, RawConfigParser

    parser = RawConfigParser(
        delimiters=("=",), strict=False, interpolation=None, default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(entry_points)
    except Error as error:
        raise WheelFormatError(
            f"{origin} has a broken entry_points.txt", " ".join(str(error).split())
        ) from error
    return {group: dict(parser.items(group)) for group in parser.sections()}


def _parse_script(name: str, target: str, is_graphical: bool, origin: str) -> Script:
    if not name or _BAD_NAME.search(name) or name.strip(". ") == "":
        raise WheelFormatError(
            f"{origin} asks for a script that can not be made",
            f"{name!r} is not the name of a file",
        )
    match = _TARGET.fullmatch(target.strip())
    parts = f"{match['module']}.{match['attribute']}".split(".") if match else [""]
    if match is None or not all(
        part.isidentifier() and not keyword.iskeyword(part) for part in parts
    ):
        raise WheelFormatError(
            f"{origin} asks for a script that can not be made",
            f"{name!r} stands for {target!r}, which does not have the form module:callable",
        )
    return Script(name, match["module"], match["attribute"], is_graphical)


def format_shebang(executable: str, arguments: str = "") -> bytes:
    """The first line (or lines) of a Python script, with the line end.

    A path that is too long or holds blanks goes through ``/bin/sh``, in lines that are a
    command to the shell and a text constant to Python.

    Args:
        executable: Path of the interpreter.
        arguments: More words for the interpreter.
    """
    path = os.fsencode(executable)
    words = arguments.encode("utf-8", "surrogateescape")
    simple = b"#!" + path + (b" " + words if words else b"")
    if os.name == "nt" or (
        len(simple) <= MAX_SHEBANG and not re.search(rb"\s", path) and b"\n" not in words
    ):
        return simple + b"\n"
    # single quotes: to Python, a backslash before anything else would be a wrong escape
    quoted = b"'" + path.replace(b"'", rb"'\''") + b"'"
    more = b" " + words if words else b""
    return b"#!/bin/sh\n'''exec' " + quoted + more + b' "$0" "$@"\n' + b"' '''\n"


def write_launcher(script: Script, executable: str) -> tuple[Launcher, ...]:
    """The files that make a script run.

    Args:
        script: The launcher.
        executable: Path of the interpreter that shall run it.
    """
    first = script.attribute.partition(".")[0]
    body = (
        "import sys\n"
        "\n"
        f"from {script.module} import {first}\n"
        "\n"
        'if __name__ == "__main__":\n'
        '    for ending in (".exe", ".pyw", "-script.py"):\n'
        "        if sys.argv[0].endswith(ending):\n"
        "            sys.argv[0] = sys.argv[0][: -len(ending)]\n"
        f"    sys.exit({script.attribute}())\n"
    )
    # no coding line: the body is UTF-8, which is what Python 3 reads by default
    content = format_shebang(executable) + body.encode("utf-8")
    if os.name != "nt":
        return (Launcher(script.name, content),)
    runner = _graphical(executable) if script.is_graphical else executable
    start = 'start "" ' if script.is_graphical else ""
    command = f'@echo off\r\n{start}"{runner}" "%~dp0{script.name}-script.py" %*\r\n'
    return (
        Launcher(f"{script.name}-script.py", content),
        Launcher(f"{script.name}.cmd", command.encode("utf-8")),
    )


def is_python_script(start: bytes) -> bool:
    """Whether a script of a wheel begins with ``#!python`` and must be rewritten."""
    return _PYTHON_LINE.match(start) is not None


def rewrite_shebang(content: bytes, executable: str) -> bytes:
    """Put the interpreter into the first line of a script, where it is ``#!python``."""
    match = _PYTHON_LINE.match(content)
    if match is None:
        return content
    runner = _graphical(executable) if match[1] else executable
    arguments = (match[2] or b"").decode("utf-8", "surrogateescape").strip()
    return format_shebang(runner, arguments) + content[match.end() :]


def is_replaced_by_entry_point(name: str, scripts: frozenset[str]) -> bool:
    """Whether a script that a wheel brings is a ready-made launcher of an entry point.

    Such files come from wheels built by old tools; the launcher made here takes their
    place.
    """
    for ending in ("-script.pyw", "-script.py", ".exe", ".pya"):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return name in scripts


def _graphical(executable: str) -> str:
    if os.name != "nt":
        return executable
    folder, name = os.path.split(executable)
    return os.path.join(folder, re.sub(r"(?i)^python(?!w)", "pythonw", name))  # noqa: PTH118
