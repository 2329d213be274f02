"""Folders and pages on this machine that hold distribution files.

Nothing here uses the network. A folder is what ``--find-links`` names, a project's folder
of an index that is a folder, or one HTML page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import SDIST_SUFFIXES, normalize_name
from vinstall.distributions.link import Link
from vinstall.errors import IndexAccessError
from vinstall.index.address import file_url, path_of, redact_url
from vinstall.index.client import StatusError
from vinstall.index.simple import VARIANTS_SUFFIX, parse_simple_page

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEPT = (".whl", *SDIST_SUFFIXES, VARIANTS_SUFFIX)


def is_remote(place: str) -> bool:
    """Whether a place is on the network."""
    return place.lower().startswith(("http://", "https://"))


def belongs_to(filename: str, project: str) -> bool:
    """Whether a file is one of a project, by its name; source names are taken widely."""
    if filename.endswith((".whl", VARIANTS_SUFFIX)):
        return normalize_name(filename.partition("-")[0]) == project
    return normalize_name(filename).startswith(f"{project}-")


def read_local_place(place: str) -> tuple[Link, ...]:
    """Every distribution file of a ``--find-links`` folder, page or file.

    Args:
        place: A path, or a ``file:`` URL.

    Raises:
        IndexAccessError: It is not there or can not be read.
    """
    try:
        path = path_of(place) if place.startswith("file:") else Path(place).expanduser()
        path = path.absolute()
        if path.is_dir():
            return _folder_links(path, place)
        if path.suffix.lower() in (".html", ".htm"):
            return parse_simple_page(
                path.read_bytes(), "text/html", file_url(path), index=place, any_page=True
            )
        if path.is_file():
            return (Link(file_url(path), path.name, size=path.stat().st_size, index=place),)
    except OSError as error:
        raise IndexAccessError(f"{place} can not be read", error.strerror or str(error)) from error
    except (ValueError, RuntimeError) as error:
        raise IndexAccessError(f"{place} can not be read", str(error)) from error
    raise IndexAccessError(f"{place} can not be read", "there is no such file or folder")


def read_local_page(url: str, index: str, project: str) -> tuple[Link, ...]:
    """The page of a project in an index that is a folder: ``index.html``, or its files.

    Raises:
        StatusError: With 404, where the index does not have the project.
        IndexAccessError: It can not be read.
    """
    try:
        folder = path_of(url)
        page = folder / "index.html"
        if page.is_file():
            return parse_simple_page(page.read_bytes(), "text/html", url, index=index)
        if folder.is_dir():
            return _folder_links(folder, index)
    except OSError as error:
        raise IndexAccessError(
            f"{redact_url(url)} can not be read", error.strerror or str(error)
        ) from error
    except ValueError as error:
        raise IndexAccessError(f"{redact_url(url)} can not be read", str(error)) from error
    raise StatusError(404, f"{project} is not in {redact_url(index)}")


def keep_earlier(links: Sequence[Link], limit: str) -> tuple[Link, ...]:
    """Leave out what was uploaded at a moment or later (``--uploaded-prior-to``).

    Local files have no such time and stay; so do variants files, which may be made anew.

    Args:
        links: Links of one project.
        limit: ISO 8601.

    Raises:
        IndexAccessError: An index does not tell when it got a file.
    """
    end = _moment(limit)
    if end is None:
        raise IndexAccessError(
            f"{limit!r} is not a moment", "--uploaded-prior-to takes ISO 8601, as 2026-01-31"
        )
    kept = []
    for link in links:
        if not link.is_file and not link.filename.endswith(VARIANTS_SUFFIX):
            time = _moment(link.upload_time)
            if time is None:
                raise IndexAccessError(
                    f"{redact_url(link.index)} does not tell when {link.filename} was uploaded",
                    "--uploaded-prior-to needs upload times",
                )
            if time >= end:
                continue
        kept.append(link)
    return tuple(kept)


def _folder_links(folder: Path, index: str) -> tuple[Link, ...]:
    """Every distribution file and variants file in a folder, sorted by name."""
    return tuple(
        Link(file_url(path), path.name, size=path.stat().st_size, index=index)
        for path in sorted(folder.iterdir())
        if path.name.endswith(_KEPT) and path.is_file()
    )


def _moment(text: str) -> float | None:
    """Seconds since the epoch; no time zone means UTC."""
    import datetime
    import re

    # Python 3.10 reads neither "Z" nor a fraction of other than three or six digits.
    text = text.strip().upper().replace("Z", "+00:00")
    text = re.sub(r"\.(\d+)", lambda match: f".{match[1][:6]:0<6}", text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return moment.timestamp()
