"""A large wheel that is unpacked while it is received."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vinstall.errors import VinstallError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vinstall.distributions.link import Link
    from vinstall.index.client import HttpClient
    from vinstall.index.download import DownloadedFile, Downloader
    from vinstall.wheel.store import StoredWheel, WheelStore


def is_worthwhile(link: Link) -> bool:
    """Whether a file is so large that unpacking it beside the transfer pays."""
    from vinstall.index.arriving import WORTHWHILE

    return (
        os.name == "posix"  # elsewhere a file that is open can not be moved
        and not link.is_file
        and (link.size or 0) >= WORTHWHILE
        and bool(link.hashes.get("sha256"))
    )


def fetch_and_unpack(
    client: HttpClient,
    downloader: Downloader,
    store: WheelStore,
    link: Link,
    expected: Mapping[str, frozenset[str]] | None,
    folder: Path,
) -> tuple[DownloadedFile, StoredWheel | None]:
    """Fetch and verify a wheel, and unpack it meanwhile.

    Returns:
        The file, and its entry of the store; ``None`` where it has to be unpacked yet, or
        can not be unpacked: whoever does it then tells why.

    Raises:
        VinstallError: As ``Downloader.fetch``.
    """
    from concurrent.futures import ThreadPoolExecutor

    from vinstall.index.arriving import ArrivingWheel

    arriving = ArrivingWheel(client, link)
    sha256 = link.hashes["sha256"]
    try:
        with ThreadPoolExecutor(1, "arriving") as pool:
            unpacking = pool.submit(store.add_arriving, arriving, link.filename, sha256)
            try:
                downloaded = downloader.fetch(link, expected, folder, arriving)
                arriving.complete(downloaded.path, downloaded.size)
            except BaseException:
                arriving.give_up()
                raise
            try:
                return downloaded, unpacking.result()
            except VinstallError:
                return downloaded, None
    finally:
        arriving.close()
