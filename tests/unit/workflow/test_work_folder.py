from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from vinstall.workflow.work_folder import LOCK_NAME, YOUNG_SECONDS, WorkFolder, remove_abandoned

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_in_use_stays(tmp_path: Path) -> None:
    used = WorkFolder(tmp_path, "work-")
    remove_abandoned(tmp_path, "work-")
    assert used.path.is_dir()
    used.close()
    assert not used.path.exists()


def test_a_folder_of_a_killed_run_goes(tmp_path: Path) -> None:
    left = tmp_path / "work-left"
    left.mkdir()
    (left / LOCK_NAME).touch()
    (left / "file").write_text("text")
    other = tmp_path / "other"
    other.mkdir()
    remove_abandoned(tmp_path, "work-")
    assert not left.exists()
    assert other.is_dir()


def test_a_folder_that_is_being_made_stays(tmp_path: Path) -> None:
    young, old = tmp_path / "work-young", tmp_path / "work-old"
    young.mkdir()
    old.mkdir()
    past = time.time() - YOUNG_SECONDS - 10
    os.utime(old, (past, past))
    remove_abandoned(tmp_path, "work-")
    assert young.is_dir()
    assert not old.exists()


def test_a_folder_that_can_not_be_listed(tmp_path: Path) -> None:
    remove_abandoned(tmp_path / "missing", "work-")
