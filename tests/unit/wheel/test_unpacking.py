"""How the work on a large wheel is shared."""

from __future__ import annotations

from itertools import chain

import pytest

from vinstall.wheel.archive import ArchiveFile
from vinstall.wheel.central_directory import ZipEntry
from vinstall.wheel.unpacking import FILE_WEIGHT, PARALLEL_WEIGHT, _shares


def make_files(count: int, size: int) -> list[ArchiveFile]:
    entry = ZipEntry("a", 0, 0, 0, size, size, 0, size, 0)
    return [ArchiveFile(f"m{number}", "", size, False, entry) for number in range(count)]


@pytest.mark.parametrize(
    ("count", "size"),
    [(1, 10), (5000, 100), (40, 5 * 2**20), (20_000, 16 * 2**20), (300_000, 1)],
)
def test_shares_are_all_files_in_order_and_not_too_many(count: int, size: int) -> None:
    files = make_files(count, size)
    shares = _shares(files, count * (size + FILE_WEIGHT))
    assert list(chain.from_iterable(shares)) == files
    assert len(shares) <= 4001  # four bytes each fit into a pipe of 16 KiB


def test_a_share_is_worth_a_workers_while() -> None:
    shares = _shares(make_files(5000, 100), 5000 * (100 + FILE_WEIGHT))
    weights = [sum(file.size + FILE_WEIGHT for file in share) for share in shares[:-1]]
    assert len(weights) > 10
    assert min(weights) > PARALLEL_WEIGHT // 4
