"""Whether there is room for what is going to be written, before it is.

What a file takes when it is unpacked is known only when it is there. Before the download its
size on the index is taken for it, which it is hardly ever less than; so nothing is refused
that would have fitted, and most of what would not have fitted is.
"""

from __future__ import annotations

import os

from vinstall.errors import InstallError
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from vinstall.wheel.store import StoredWheel

SPARE = 64 * 1024
"""Bytes for folders, journals and records."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that will be written below a folder.

    Attributes:
        folder: Where; it may not exist yet.
        size: How much.
        what: What for, as in "12 MB to download".
    """

    folder: Path
    size: int
    what: str


def needs_of_download(sizes: Sequence[int], cache: Path, target: Path) -> tuple[Need, ...]:
    """What fetching, unpacking and installing takes at least.

    Args:
        sizes: Bytes of each file to download; 0 where the index does not say.
        cache: Where files are downloaded and unpacked.
        target: Where they are installed.
    """
    total = sum(sizes)
    needs = [
        Need(cache, max(sizes, default=0), "to download"),
        Need(cache, total, "at least to unpack"),
    ]
    if device_of(cache) != device_of(target):
        needs.append(Need(target, total, "at least to install"))
    return tuple(needs)


def needs_of_install(wheels: Iterable[StoredWheel], target: Path) -> tuple[Need, ...]:
    """What placing unpacked wheels takes, where their files can not be linked or cloned."""
    device = device_of(target)
    size = sum(wheel.size for wheel in wheels if device_of(wheel.folder) != device)
    return (Need(target, size, "to install"),) if size else ()


def check_space(needs: Iterable[Need], free_of: Callable[[Path], int | None] | None = None) -> None:
    """See that there is room; needs of one file system are added up.

    Args:
        needs: What will be written.
        free_of: Gives the bytes that are free where an existing folder is, ``None`` where
            nobody knows; by default asks the system.

    Raises:
        InstallError: There is not enough room; the numbers are in it.
    """
    devices: dict[int, list[Need]] = {}
    for need in needs:
        if need.size:
            devices.setdefault(device_of(need.folder), []).append(need)
    for wanted in devices.values():
        folder = _existing(wanted[0].folder)
        free = (free_of or free_bytes)(folder)
        total = sum(need.size for need in wanted) + SPARE
        if free is None or free >= total:
            continue
        parts = " and ".join(f"{in_words(need.size)} {need.what}" for need in wanted)
        raise InstallError(
            f"There is not enough room on the file system of {folder}",
            f"{parts} are needed, and {in_words(free)} are free",
            "Make room, or use --cache-dir to download to another file system.",
        )


def free_bytes(folder: Path) -> int | None:
    """The bytes that this user may write where a folder is; ``None`` where nobody knows."""
    import shutil

    try:
        found = shutil.disk_usage(folder)
    except OSError:
        return None
    # a network or virtual file system that does not say
    return found.free if found.total else None


def device_of(folder: Path) -> int:
    """The number of the file system that a folder is, or would be made, on."""
    try:
        return os.stat(_existing(folder)).st_dev  # noqa: PTH116
    except OSError:
        return -1


def in_words(size: int) -> str:
    """Bytes as a person reads them."""
    if size >= 10**9:
        return f"{size / 10**9:.1f} GB"
    if size >= 10**6:
        return f"{size / 10**6:.1f} MB"
    return f"{-(-size // 1000)} kB"


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
