"""The house: imports go down, never up and never across; the inner rows touch nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import vinstall

ROOT = Path(vinstall.__file__).parent

ROWS = [
    {"digests", "errors", "events", "files", "forks", "patterns", "settings", "values"},
    {"variants", "distributions"},
    {"resolution", "plan", "lockfile", "profile", "bridges"},
    {"index", "providers", "environment", "wheel", "install", "builder", "children"},
    {"workflow"},
    {"console"},
    {"cli"},
]
STAIRS = {
    ("distributions", "variants"),
    ("install", "wheel"),
    ("environment", "children"),
    ("files", "errors"),
    ("events", "values"),
    ("settings", "values"),
}
"""Imports across one row that are allowed, beside the values of ``resolution``."""
VALUES = {("plan", "resolution"), ("lockfile", "resolution"), ("bridges", "resolution")}
OUTSIDE = {"httpx", "rich", "subprocess", "pip", "socket", "urllib3"}


def row_of(part: str) -> int:
    return next(number for number, row in enumerate(ROWS) if part in row)


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name not in ("__init__.py",))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path, *, types: bool) -> list[str]:
    """Names of imported modules, with or without those under ``TYPE_CHECKING``."""
    names: list[str] = []

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                if types:
                    visit(child)
                continue
            if isinstance(child, ast.Import):
                names.extend(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                names.append(child.module)
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    part = part_of(path)
    if part == "__main__":
        return
    own = row_of(part)
    # The lowest row may name the types of upper rows.
    for name in imported(path, types=own > 0):
        if not name.startswith("vinstall."):
            continue
        other = name.split(".")[1]
        if other == part:
            continue
        below = row_of(other)
        allowed = below < own or (part, other) in STAIRS | VALUES
        assert allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_inner_rows_touch_nothing(path: Path) -> None:
    part = part_of(path)
    if part == "__main__" or row_of(part) > 2 or part == "files":
        return
    names = {name.split(".")[0] for name in imported(path, types=False)}
    assert not names & OUTSIDE


def test_children_import_the_standard_library_alone() -> None:
    for path in (ROOT / "children").glob("*.py"):
        names = {name.split(".")[0] for name in imported(path, types=True)}
        assert "vinstall" not in names
        assert not names & {"packaging", "httpx", "rich", "msgspec", "tomli"}


def test_every_row_is_on_disk() -> None:
    parts = {part_of(path) for path in modules()} - {"__main__"}
    assert parts == set().union(*ROWS)
