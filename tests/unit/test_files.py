"""Locks between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT
from vinstall import files
from vinstall.errors import InstallError
from vinstall.files import ProcessLock, lock_between_processes, sync_files

if TYPE_CHECKING:
    from pathlib import Path


def test_only_one_holds_a_lock(tmp_path: Path) -> None:
    first, second = ProcessLock(tmp_path / "lock"), ProcessLock(tmp_path / "lock")
    assert first.acquire(0)
    assert not second.acquire(0)
    assert not second.acquire(0.01)
    first.release()
    assert second.acquire(0)
    second.release()
    second.release()


def test_a_lock_is_free_when_its_process_is_gone(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from vinstall.files import ProcessLock\n"
        "lock = ProcessLock(Path(sys.argv[1])); assert lock.acquire(0)\n"
        "print('held', flush=True); sys.stdin.read(); os._exit(9)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"held"
        lock = ProcessLock(tmp_path / "lock")
        assert not lock.acquire(0)
        child.communicate()
    assert lock.acquire(0)
    lock.release()


def test_the_folder_of_a_lock_is_made_and_a_holder_is_told(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    with lock_between_processes(path):
        with pytest.raises(InstallError) as caught, lock_between_processes(path, timeout=0):
            pass
        assert str(path) in caught.value.what
    with lock_between_processes(path, timeout=0):
        assert path.read_bytes() == b""


def test_a_lock_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        ProcessLock(tmp_path / "missing" / "lock").acquire(0)


def test_files_are_brought_onto_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x")
    sync_files([str(tmp_path / "file")])
    sync_files([])
    with pytest.raises(OSError):
        sync_files([str(tmp_path / "missing" / "file")])


@pytest.mark.skipif(os.name != "posix", reason="syncs file systems")
def test_where_one_file_system_can_not_be_synced_all_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(files, "_sync_file_system", lambda folder: False)
    monkeypatch.setattr(os, "sync", lambda: called.append("sync"))
    sync_files([str(tmp_path / "file")])
    assert called == ["sync"]
