from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vinstall.errors import InstallError
from vinstall.workflow.space import (
    SPARE,
    Need,
    check_space,
    device_of,
    free_bytes,
    in_words,
    needs_of_download,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_needs_of_one_file_system_are_added(tmp_path: Path) -> None:
    needs = [Need(tmp_path / "a" / "b", 300_000, "to download"), Need(tmp_path, 500_000, "to keep")]
    check_space(needs, lambda folder: 800_000 + SPARE)
    with pytest.raises(InstallError) as caught:
        check_space(needs, lambda folder: 800_000 + SPARE - 1)
    assert str(tmp_path) in caught.value.what
    assert (
        caught.value.why == "300 kB to download and 500 kB to keep are needed, and 866 kB are free"
    )
    assert "--cache-dir" in caught.value.fix


def test_what_nobody_knows_is_not_refused(tmp_path: Path) -> None:
    check_space([Need(tmp_path, 10**18, "to keep")], lambda folder: None)
    check_space([Need(tmp_path, 0, "to keep")], lambda folder: 0)


def test_downloads_are_unpacked_and_then_linked(tmp_path: Path) -> None:
    needs = needs_of_download([5, 7, 0], tmp_path / "cache", tmp_path / "environment")
    assert [(need.folder.name, need.size) for need in needs] == [("cache", 7), ("cache", 12)]


def test_another_file_system_takes_a_copy(tmp_path: Path) -> None:
    from pathlib import Path

    other = Path("/dev/shm")
    if not other.is_dir() or device_of(other) == device_of(tmp_path):
        pytest.skip("one file system only")
    needs = needs_of_download([5, 7], tmp_path, other / "not" / "there")
    assert [need.size for need in needs if need.folder != tmp_path] == [12]


def test_the_system_knows(tmp_path: Path) -> None:
    free = free_bytes(tmp_path)
    assert free is not None
    assert free >= 0
    assert free_bytes(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "1 kB"), (1001, "2 kB"), (1_500_000, "1.5 MB"), (2_500_000_000, "2.5 GB")],
)
def test_in_words(size: int, words: str) -> None:
    assert in_words(size) == words
