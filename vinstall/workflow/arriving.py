"""A large wheel that is unpacked while it is received."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vinstall.distributions.link import Link
    from vinstall.index.client import HttpClient
    from vinstall.index.download import DownloadedFile, Downloader
    from vinstall.wheel.arriving import ArrivingUnpack
    from vinstall.wheel.unpackers import Unpackers

WORTHWHILE = 16 * 2**20
"""Bytes from which on a wheel is unpacked while it is received."""
_TAIL_SHARE = 50
_LEAST_TAIL = 64 * 1024
_MOST_TAIL = 4 * 2**20
"""The end that is fetched first is so small a part of the file, within these limits."""


def is_worthwhile(link: Link) -> bool:
    """Whether a file is so large that unpacking it beside the transfer pays."""
    return (
        os.name == "posix"  # elsewhere a file that is open can not be moved
        and not link.is_file
        and (link.size or 0) >= WORTHWHILE
        and bool(link.hashes.get("sha256"))
    )


def fetch_and_unpack(
    client: HttpClient,
    downloader: Downloader,
    unpackers: Unpackers,
    link: Link,
    expected: Mapping[str, frozenset[str]] | None,
    folder: Path,
) -> tuple[DownloadedFile, bool]:
    """Fetch and verify a wheel, and unpack it meanwhile.

    Returns:
        The file, and whether the store has it. Where not, it has to be unpacked yet, or can
        not be unpacked: whoever does it then tells why.

    Raises:
        VinstallError: As ``Downloader.fetch``.
    """
    from threading import Thread

    length, sha256 = link.size or 0, link.hashes["sha256"]
    with unpackers.unpack_arriving(link.filename, sha256, length) as arriving:
        if arriving is None:
            return downloader.fetch(link, expected, folder), False
        # nobody waits for it: a file that is there before its end is unpacked afterwards
        words = (client, link, folder, arriving)
        Thread(target=_fetch_tail, args=words, name="tail", daemon=True).start()
        try:
            downloaded = downloader.fetch(link, expected, folder, arriving)
            return downloaded, arriving.complete(downloaded.path, downloaded.size)
        finally:
            arriving.give_up()


def _fetch_tail(client: HttpClient, link: Link, folder: Path, arriving: ArrivingUnpack) -> None:
    from vinstall.index.remote_wheel import RemoteFile

    length = link.size or 0
    tail = max(_LEAST_TAIL, min(length // _TAIL_SHARE, _MOST_TAIL))
    path = folder / f"{link.hashes['sha256'][:64]}.tail"
    try:
        remote = RemoteFile(client, link, tail)
        start, content = remote.blocks[0]
        if remote.length == length and start + len(content) == length:
            path.write_bytes(content)
            arriving.begin(path, start)
    except Exception:  # whatever it is: then it is unpacked afterwards
        arriving.give_up()
