"""Source distributions, unpacked to be built; checkouts, packed to be kept."""

from __future__ import annotations

import tarfile
import zipfile
from typing import TYPE_CHECKING

from vinstall.errors import BuildError, words_of

if TYPE_CHECKING:
    from pathlib import Path


def unpack_source(path: Path, folder: Path, name: str) -> Path:
    """Unpack a source distribution; give the folder of its project.

    Args:
        path: The archive.
        folder: Where to; made if missing.
        name: Its name, for messages.

    Raises:
        BuildError: It is no archive, or holds a path that leads out of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    _check_inside(entry.filename, name)
                archive.extractall(folder)
        else:
            with tarfile.open(path) as tar:
                _extract(tar, folder, name)
    except (OSError, ValueError, EOFError, RuntimeError, tarfile.TarError) as error:
        raise BuildError(f"{name} can not be unpacked", words_of(error)) from error
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise BuildError(f"{name} can not be unpacked", words_of(error)) from error
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _extract(tar: tarfile.TarFile, folder: Path, name: str) -> None:
    """Extract by PEP 721; a Python that does not know it leaves links out."""
    filters = hasattr(tarfile, "data_filter")
    for member in tar:
        _check_inside(member.name, name)
        if filters:
            tar.extract(member, folder, filter="data")
        elif member.isfile() or member.isdir():
            tar.extract(member, folder)


def _check_inside(path: str, name: str) -> None:
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise BuildError(f"{name} can not be unpacked", f"{path!r} leads out of its folder")


def pack_source(project: Path, folder: Path, name: str) -> Path:
    """Pack the files of a checkout, without those of its version control and of a build.

    Args:
        project: Folder of the project.
        folder: Where the archive goes.
        name: Name and version; the archive is ``name.zip``, and all lies below ``name/``.
    """
    into = folder / f"{name}.zip"
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(project.rglob("*")):
            inside = path.relative_to(project)
            if path.is_file() and not {".git", "__pycache__"} & set(inside.parts):
                archive.write(path, f"{name}/{inside.as_posix()}")
    return into
