"""``vinstall cache``: what it lists, removes and refuses."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from vinstall.cli.cache_command import iter_kept, run_cache
from vinstall.cli.parser import OptionConflictError
from vinstall.cli.precedence import Arguments
from vinstall.console.output import Console
from vinstall.errors import VinstallError
from vinstall.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def keep_wheel(base: Path, filename: str, digest: str) -> Path:
    entry = base / "store-v2" / digest[:2] / digest
    (entry / "files").mkdir(parents=True)
    (entry / "files" / "module.py").write_bytes(b"x" * 100)
    (entry / "manifest.json").write_text(json.dumps({"filename": filename}))
    return entry


@pytest.fixture
def base(tmp_path: Path) -> Path:
    keep_wheel(tmp_path, "alpha-1.0-py3-none-any.whl", "aa" * 32)
    keep_wheel(tmp_path, "alpha-2.0-py3-none-any.whl", "bb" * 32)
    keep_wheel(tmp_path, "Other_Name-1.0-py3-none-any-x1.whl", "cc" * 32)
    return tmp_path


def run(base: Path | str, action: str, *words: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    arguments = Arguments("cache", action, words)
    settings = Settings(cache_dir=str(base))
    assert run_cache(settings, arguments, Console(stdout=out, stderr=err)) == 0
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["Other_Name-1.0", "alpha-1.0", "alpha-2.0"]),
        ("alpha", ["alpha-1.0", "alpha-2.0"]),
        ("alpha-2*", ["alpha-2.0"]),
        ("other-name", ["Other_Name-1.0"]),
        ("OTHER.name", ["Other_Name-1.0"]),
        ("none", []),
    ],
)
def test_patterns(base: Path, pattern: str, expected: list[str]) -> None:
    found = ["-".join(one.filename.split("-")[:2]) for one in iter_kept(base, pattern)]
    assert found == expected


def test_list(base: Path) -> None:
    out, _ = run(base, "list", "alpha")
    assert out.splitlines()[0] == "Cache contents:"
    assert [line.split(" (")[0] for line in out.splitlines()[2:]] == [
        " - alpha-1.0-py3-none-any.whl",
        " - alpha-2.0-py3-none-any.whl",
    ]


def test_remove_takes_only_what_fits(base: Path) -> None:
    out, _ = run(base, "remove", "alpha")
    assert out.startswith("Files removed: 4 (")
    assert [one.filename for one in iter_kept(base, "*")] == ["Other_Name-1.0-py3-none-any-x1.whl"]


def test_remove_nothing_warns(base: Path) -> None:
    out, err = run(base, "remove", "none")
    assert err == 'WARNING: No matching packages for pattern "none"\n'
    assert out.startswith("Files removed: 0 ")


def test_purge_empties_the_folder(base: Path) -> None:
    run(base, "purge")
    assert list(base.iterdir()) == []


def test_info_counts(base: Path) -> None:
    out, _ = run(base, "info")
    assert "Number of unpacked wheels: 3" in out
    assert "Number of files: 6" in out


def test_dir(base: Path) -> None:
    assert run(base, "dir")[0] == f"{base}\n"


@pytest.mark.parametrize(
    ("action", "words", "said"),
    [
        ("dir", ("x",), "Too many arguments"),
        ("list", ("a", "b"), "Too many arguments"),
        ("remove", (), "Please provide a pattern"),
    ],
)
def test_wrong_number_of_words(base: Path, action: str, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(OptionConflictError, match=said):
        run(base, action, *words)


def test_cache_is_off() -> None:
    with pytest.raises(VinstallError, match="disabled"):
        run("", "dir")
