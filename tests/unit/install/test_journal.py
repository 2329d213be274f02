"""The journal: written before a change, enough to undo it, safe to interrupt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.install.installing import picture
from vinstall.install.journal import (
    JOURNAL_NAME,
    TRASH_PREFIX,
    Intent,
    Journal,
    make_folders,
    remove_trash,
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    for name in ("a.py", "b.py", "c.py"):
        write(folder / "demo" / name, f"old {name}")
    return folder.resolve()


def change(site: Path) -> Journal:
    """Replace three files and add one, without committing."""
    old = [site / "demo" / name for name in ("a.py", "b.py", "c.py")]
    new = site / "fresh" / "sub" / "d.py"
    intent = Intent(
        tuple(map(str, old)),
        (*map(str, old), str(new)),
        (str(new.parent.parent), str(new.parent)),
        roots=(str(site),),
        names=("demo",),
    )
    journal = Journal.begin(str(site), intent)
    for path in old:
        path.rename(journal.stash[str(path)])
    for path in (*old, new):
        write(path, "new")
    write(new.parent / "__pycache__" / "d.cpython-311.pyc", "compiled")
    return journal


def test_roll_back(site: Path) -> None:
    before = picture(site)
    journal = change(site)
    assert not journal.is_committed
    journal.roll_back()
    assert picture(site) == before


def test_what_is_read_is_what_was_written(site: Path) -> None:
    journal = change(site)
    found = Journal.find(str(site))
    assert found is not None
    assert found.folder == journal.folder == str(site / JOURNAL_NAME)
    assert found.stash == journal.stash
    assert tuple(found.intent.targets) == tuple(journal.intent.targets)
    assert tuple(found.intent.names) == ("demo",)


def test_commit_and_finish(site: Path) -> None:
    journal = change(site)
    journal.commit()
    assert journal.is_committed
    journal.finish()
    assert Journal.find(str(site)) is None
    assert {path.name for path in site.iterdir()} == {"demo", "fresh"}
    assert (site / "demo" / "a.py").read_text() == "new"


@pytest.mark.parametrize("works", range(6))
def test_a_roll_back_that_is_interrupted_goes_on_later(
    site: Path, monkeypatch: pytest.MonkeyPatch, works: int
) -> None:
    before = picture(site)
    change(site)
    left = works
    real_unlink, real_replace = os.unlink, os.replace

    def count() -> None:
        nonlocal left
        if left == 0:
            raise OSError(5, "Input/output error")
        left -= 1

    def unlink(path: str) -> None:
        count()
        real_unlink(path)

    def replace(source: str, target: str) -> None:
        count()
        real_replace(source, target)

    journal = Journal.find(str(site))
    assert journal is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        patch.setattr(os, "replace", replace)
        with pytest.raises(OSError, match="Input/output"):
            journal.roll_back()
    again = Journal.find(str(site))
    assert again is not None
    again.roll_back()
    assert picture(site) == before


def test_another_journal_is_never_touched(site: Path) -> None:
    change(site)
    before = picture(site)
    with pytest.raises(FileExistsError):
        Journal.begin(str(site), Intent((), (), ()))
    assert picture(site) == before


def test_a_journal_that_can_not_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            Journal.begin(str(tmp_path / "new" / "site"), Intent((), (), ()))
    assert list(tmp_path.iterdir()) == []


def test_other_file_systems_are_stashed_beside(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write(tmp_path / "bin" / "tool", "old").resolve()
    real = os.stat

    class Elsewhere:
        st_dev = -1

    def stat(path: str, **options: bool) -> object:
        return Elsewhere() if str(path) == str(other.parent) else real(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)
        journal = Journal.begin(str(site), Intent((str(other),), (str(other),), ()))
    aside = Path(journal.stash[str(other)])
    assert aside.parent == other.parent
    other.rename(aside)
    other.write_text("new")
    journal.roll_back()
    assert picture(other.parent) == {"tool": ("file", 0o644, b"old")}

    journal = Journal.begin(str(site), Intent((str(other),), (str(other),), ()))
    other.rename(journal.stash[str(other)])
    journal.commit()
    journal.finish()
    assert list(other.parent.iterdir()) == []


def test_what_can_not_be_removed_does_not_block_the_next_change(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = change(site)
    journal.commit()

    def keep(path: str, **_: bool) -> None:
        """Remove nothing, as Windows does with a library in use."""

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", keep)
        journal.finish()
    assert Journal.find(str(site)) is None
    assert [path.name.startswith(TRASH_PREFIX) for path in site.iterdir()].count(True) == 1
    remove_trash(str(site))
    assert {path.name for path in site.iterdir()} == {"demo", "fresh"}


def test_make_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c"
    assert make_folders(str(path)) == [
        str(tmp_path / "a"),
        str(tmp_path / "a" / "b"),
        str(path),
    ]
    assert make_folders(str(path)) == []
    write(tmp_path / "file", "")
    with pytest.raises(OSError, match="file"):
        make_folders(str(tmp_path / "file" / "x"))
