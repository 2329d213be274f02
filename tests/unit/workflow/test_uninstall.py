"""What a removal is said to take, in few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.workflow.uninstall import summarize_removal

if TYPE_CHECKING:
    from pathlib import Path


def test_folders_are_told_as_a_whole(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    owned = [
        site / "alpha" / "__init__.py",
        site / "alpha" / "deep" / "a.py",
        site / "alpha-1.0.dist-info" / "METADATA",
        site / "alpha_one.py",
        site / "__pycache__" / "alpha_one.cpython-311.pyc",
        tmp_path / "bin" / "alpha",
    ]
    strange = site / "alpha" / "notes.txt"
    for path in (*owned, strange, site / "alpha" / "__pycache__" / "a.pyc"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    removed, left = summarize_removal(str(site), [str(path) for path in owned])
    assert removed == sorted(
        [
            str(tmp_path / "bin" / "alpha"),
            str(site / "alpha" / "*"),
            str(site / "alpha-1.0.dist-info" / "*"),
            str(site / "alpha_one.py"),
        ]
    )
    assert left == [str(strange)]
