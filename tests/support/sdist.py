"""Source distributions that build without a network.

The build backend is inside the source tree (``backend-path``, PEP 517 "In-tree build
backends") and is standard library only, so that ``requires`` is empty.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.support.wheels import escape_name, metadata_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SdistFault = Literal["build-fails", "no-pkg-info", "parent-path", "wrong-name"]

_MOMENT = 1767323046


@dataclass(frozen=True, slots=True)
class BuiltSdist:
    """A source distribution as bytes, with what an index says about it.

    Attributes:
        filename: ``{name}-{version}.tar.gz``.
        name: The project.
        version: The version.
        content: The archive.
        metadata: ``PKG-INFO``; None where it lacks.
        requires_python: Same as in the metadata; empty where there is none.
    """

    filename: str
    name: str
    version: str
    content: bytes
    metadata: bytes | None
    requires_python: str = ""

    @property
    def sha256(self) -> str:
        """Digest of the archive, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    def write_to(self, folder: Path) -> Path:
        """Write the archive into a folder, made where missing; give the path of the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.filename
        path.write_bytes(self.content)
        return path


def source_tree(
    name: str,
    version: str = "1.0",
    *,
    requires_dist: Sequence[str] = (),
    requires_python: str = "",
    extras: Sequence[str] = (),
    build_requires: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    fault: SdistFault | None = None,
) -> dict[str, str]:
    """Give a project's files, path to text, with its backend.

    Config settings that the backend gets are written into the wheel, as
    ``{name}_config_settings.json``.
    """
    module = escape_name(name)
    metadata = metadata_text(
        f"other-{name}" if fault == "wrong-name" else name,
        version,
        requires_dist=requires_dist,
        requires_python=requires_python,
        extras=extras,
    )
    if files is None:
        files = {f"src/{module}.py": f"VERSION = {version!r}\nVARIANT = ''\n"}
    quoted = ", ".join(f'"{requirement}"' for requirement in build_requires)
    tree = {
        "pyproject.toml": (
            f'[build-system]\nrequires = [{quoted}]\nbuild-backend = "backend"\n'
            'backend-path = ["_build"]\n\n'
            f'[project]\nname = "{name}"\nversion = "{version}"\n'
            'dynamic = ["dependencies", "optional-dependencies", "requires-python"]\n'
        ),
        "_build/backend.py": _BACKEND,
        "_build/metadata.txt": metadata,
        **files,
    }
    if fault != "no-pkg-info":
        tree["PKG-INFO"] = metadata
    if fault == "build-fails":
        tree["_build/fail"] = "The compiler could not be found: sample failure.\n"
    return tree


def write_source_tree(folder: Path, tree: Mapping[str, str]) -> Path:
    """Write a project's files into a folder, made where missing; give the folder."""
    for path, text in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def make_sdist(
    name: str,
    version: str = "1.0",
    *,
    requires_dist: Sequence[str] = (),
    requires_python: str = "",
    extras: Sequence[str] = (),
    build_requires: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    fault: SdistFault | None = None,
) -> BuiltSdist:
    """Make a ``tar.gz`` source distribution.

    Args:
        name: Project, in any spelling.
        version: Version, in the normal form.
        requires_dist: ``Requires-Dist`` lines.
        requires_python: ``Requires-Python``; empty for none.
        extras: ``Provides-Extra`` names.
        build_requires: ``build-system.requires``; empty needs no network.
        files: Path to text; modules live below ``src/``.
        fault: One way of being broken; ``build-fails`` prints to stderr and exits.
    """
    tree = source_tree(
        name,
        version,
        requires_dist=requires_dist,
        requires_python=requires_python,
        extras=extras,
        build_requires=build_requires,
        files=files,
        fault=fault,
    )
    stem = f"{escape_name(name)}-{version}"
    buffer = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=buffer, mtime=_MOMENT) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, text in tree.items():
            _add(archive, f"{stem}/{path}", text.encode())
        if fault == "parent-path":
            _add(archive, f"{stem}/../../escaped.txt", b"escaped\n")
    metadata = tree.get("PKG-INFO")
    return BuiltSdist(
        f"{stem}.tar.gz",
        name,
        version,
        buffer.getvalue(),
        metadata.encode() if metadata is not None else None,
        requires_python,
    )


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    entry.mtime = _MOMENT
    entry.mode = 0o644
    archive.addfile(entry, io.BytesIO(content))


_BACKEND = '''\
"""A build backend of the standard library alone: what is below src/ becomes the wheel."""

import base64
import hashlib
import json
import pathlib
import re
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
METADATA = (HERE / "metadata.txt").read_text(encoding="utf-8")
HEADERS = dict(line.split(": ", 1) for line in METADATA.splitlines() if ": " in line)
NAME = re.sub(r"[-_.]+", "_", HEADERS["Name"]).lower()
STEM = NAME + "-" + HEADERS["Version"]
WHEEL = "Wheel-Version: 1.0\\nGenerator: in-tree\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"


def _fail_if_asked():
    note = HERE / "fail"
    if note.exists():
        sys.exit(note.read_text(encoding="utf-8"))


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / (STEM + ".dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA, encoding="utf-8")
    (folder / "WHEEL").write_text(WHEEL, encoding="utf-8")
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _write(wheel_directory, files):
    info = STEM + ".dist-info"
    files[info + "/METADATA"] = METADATA.encode()
    files[info + "/WHEEL"] = WHEEL.encode()
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        rows.append("{},sha256={},{}\\n".format(path, digest.decode(), len(content)))
    rows.append(info + "/RECORD,,\\n")
    files[info + "/RECORD"] = "".join(rows).encode()
    name = STEM + "-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 2, 3, 4, 6)), content)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _fail_if_asked()
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    if config_settings:
        files[NAME + "_config_settings.json"] = json.dumps(config_settings).encode()
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _fail_if_asked()
    return _write(wheel_directory, {"_" + NAME + ".pth": str(ROOT / "src").encode() + b"\\n"})


def build_sdist(sdist_directory, config_settings=None):
    _fail_if_asked()
    name = STEM + ".tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz") as archive:
        archive.add(ROOT, STEM)
    return name
'''
