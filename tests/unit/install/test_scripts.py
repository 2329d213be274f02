"""Launchers, and the first line of scripts."""

from __future__ import annotations

import ast

import pytest

from vinstall.errors import WheelFormatError
from vinstall.install.scripts import (
    Script,
    format_shebang,
    is_python_script,
    is_replaced_by_entry_point,
    parse_scripts,
    rewrite_shebang,
    write_launcher,
)


def test_scripts_are_read_in_order_and_case_is_kept() -> None:
    text = (
        "# comment\n[console_scripts]\nTool = pkg.mod:Main.run\nother=pkg:f [extra1, extra2]\n"
        "\n[gui_scripts]\nwindow = pkg.gui:main\n[other.group]\nthing = not a target %(x)s\n"
    )
    assert parse_scripts(text, "w") == (
        Script("Tool", "pkg.mod", "Main.run", False),
        Script("other", "pkg", "f", False),
        Script("window", "pkg.gui", "main", True),
    )


def test_indented_lines_are_entries_too() -> None:
    text = "[console_scripts]\n    one = a:b\n    two = a:c\n"
    assert [script.name for script in parse_scripts(text, "w")] == ["one", "two"]


@pytest.mark.parametrize("text", ["", "[pytest11]\nx = a\n", "[console_scripts]\n"])
def test_no_scripts(text: str) -> None:
    assert parse_scripts(text, "w") == ()


@pytest.mark.parametrize(
    "line",
    [
        "../x = a:b",
        "a/b = a:b",
        "a\\b = a:b",
        ".. = a:b",
        ". = a:b",
        " = a:b",
        "x\x00y = a:b",
        "x*y = a:b",
        "x = a",
        "x = a:",
        "x = :b",
        "x = a.b",
        "x = a:b()",
        "x = a:b; import os",
        "x = a:b\n  c",
        "x = os:system('x')",
        "x = a b:c",
        "x = a..b:c",
        "x = 1a:c",
        "x = a:class",
        "x = import:c",
        "x = a:b [extra",
        "just a line",
    ],
)
def test_wrong_entries_are_refused(line: str) -> None:
    with pytest.raises(WheelFormatError, match=r"demo\.whl"):
        parse_scripts(f"[console_scripts]\n{line}\n", "demo.whl")


def test_a_missing_section_header_is_refused() -> None:
    with pytest.raises(WheelFormatError, match=r"entry_points\.txt"):
        parse_scripts("x = console_scripts\n", "w")


def test_simple_shebang() -> None:
    assert format_shebang("/usr/bin/python3") == b"#!/usr/bin/python3\n"
    assert format_shebang("/usr/bin/python3", "-E -s") == b"#!/usr/bin/python3 -E -s\n"


@pytest.mark.parametrize(
    ("length", "is_simple"), [(125, True), (126, False)]
)  # with "#!" that is 127 and 128 bytes
def test_long_paths_go_through_the_shell(length: int, is_simple: bool) -> None:
    path = "/" + "p" * (length - 1)
    assert format_shebang(path).startswith(b"#!/bin/sh\n") is not is_simple


@pytest.mark.parametrize("path", ["/a b/python", "/a\tb/python", '/a "b" $c/`d`/p', "/it's b's'"])
def test_the_shell_lines_are_python_too(path: str) -> None:
    lines = format_shebang(path)
    assert lines.startswith(b"#!/bin/sh\n'''exec' '/")
    assert isinstance(ast.parse(lines + b"x = 1\n").body[0], ast.Expr)


def test_launchers_import_and_call() -> None:
    (launcher,) = write_launcher(Script("tool", "pkg.mod", "Main.run", False), "/usr/bin/python3")
    assert launcher.name == "tool"
    text = launcher.content.decode()
    assert text.startswith("#!/usr/bin/python3\n")
    assert "from pkg.mod import Main\n" in text
    assert "sys.exit(Main.run())" in text
    ast.parse(text)


def test_windows_launchers_are_two_files(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        console = write_launcher(Script("tool", "pkg", "main", False), r"C:\env\python.exe")
        window = write_launcher(Script("win", "pkg", "main", True), "python.exe")
    assert [file.name for file in console] == ["tool-script.py", "tool.cmd"]
    assert console[0].content.startswith(b"#!C:\\env\\python.exe\n")
    assert console[1].content == (
        b'@echo off\r\n"C:\\env\\python.exe" "%~dp0tool-script.py" %*\r\n'
    )
    assert b'start "" "pythonw.exe" "%~dp0win-script.py" %*' in window[1].content


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"#!python\nx\n", b"#!/p/python\nx\n"),
        (b"#!python\r\nx\r\n", b"#!/p/python\nx\r\n"),
        (b"#!pythonw\nx\n", b"#!/p/python\nx\n"),
        (b"#!python -E\nx\n", b"#!/p/python -E\nx\n"),
        (b"#!python", b"#!/p/python\n"),
        (b"#!/usr/bin/env python\nx\n", b"#!/usr/bin/env python\nx\n"),
        (b"#!python3\nx\n", b"#!python3\nx\n"),
        (b"#!/bin/sh\n", b"#!/bin/sh\n"),
        (b"\x7fELF", b"\x7fELF"),
        (b"", b""),
        (b"\n#!python\n", b"\n#!python\n"),
    ],
)
def test_rewriting(before: bytes, after: bytes) -> None:
    assert rewrite_shebang(before, "/p/python") == after
    assert is_python_script(before) is (before != after)


@pytest.mark.parametrize(
    ("name", "is_replaced"),
    [
        ("tool", True),
        ("tool.exe", True),
        ("tool-script.py", True),
        ("tool.py", False),
        ("tools", False),
    ],
)
def test_ready_made_launchers(name: str, is_replaced: bool) -> None:
    assert is_replaced_by_entry_point(name, frozenset({"tool"})) is is_replaced
