"""A folder of wheels → a folder that a web server can serve as an index.

``/plain`` has the real files only; ``/padded`` has older releases besides, 600 files a
page, as popular projects have.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

from packaging.metadata import parse_email
from packaging.utils import canonicalize_name, parse_wheel_filename

from vinstall.files import hash_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PADDED_FILES = 600
_OLD_TAGS = (
    "cp39-cp39-manylinux_2_17_x86_64",
    "cp310-cp310-manylinux_2_17_x86_64",
    "cp311-cp311-manylinux_2_17_x86_64",
    "cp312-cp312-manylinux_2_17_x86_64",
    "cp313-cp313-manylinux_2_17_x86_64",
    "cp311-cp311-macosx_11_0_arm64",
    "cp312-cp312-macosx_11_0_arm64",
    "cp311-cp311-win_amd64",
    "cp312-cp312-win_amd64",
    "cp313-cp313-musllinux_1_2_x86_64",
)


def fetch_wheels(folder: Path, requirements: Sequence[str]) -> None:
    """Download the wheels that requirements need, once, with their dependencies."""
    done = folder / "complete.txt"
    wanted = "\n".join(requirements)
    if done.is_file() and done.read_text("utf-8") == wanted:
        return
    print(f"Downloading wheels to {folder} (once) …", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), *requirements], check=True)
    done.write_text(wanted, "utf-8")


def make_index(folder: Path, wheels: Path) -> None:
    """Write pages and metadata files for all wheels; files are linked, not copied."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "files").mkdir(parents=True)
    projects: dict[str, list[dict[str, Any]]] = {}
    for wheel in sorted(wheels.glob("*.whl")):
        target = folder / "files" / wheel.name
        try:
            target.hardlink_to(wheel)
        except OSError:
            shutil.copyfile(wheel, target)
        name = str(parse_wheel_filename(wheel.name)[0])
        projects.setdefault(name, []).append(_describe(target))
    for name, files in projects.items():
        write_page(folder / "plain", name, files)
        write_page(folder / "padded", name, [*_padding(name, PADDED_FILES - len(files)), *files])


def write_page(root: Path, name: str, files: Iterable[dict[str, Any]]) -> None:
    """Write the JSON page of one project (PEP 691, 700)."""
    page = root / canonicalize_name(name)
    page.mkdir(parents=True, exist_ok=True)
    entries = list(files)
    versions = list(dict.fromkeys(one["filename"].split("-")[1] for one in entries))
    document = {
        "meta": {"api-version": "1.1"},
        "name": canonicalize_name(name),
        "versions": versions,
        "files": entries,
    }
    (page / "index.json").write_text(json.dumps(document), encoding="utf-8")


def page_entry(filename: str, **more: Any) -> dict[str, Any]:
    """What a page says of a file; the digests are made up unless given."""
    digest = hashlib.sha256(filename.encode()).hexdigest()
    return {
        "filename": filename,
        "url": f"/files/{filename}",
        "hashes": {"sha256": digest},
        "requires-python": ">=3.9",
        "size": 123456,
        "upload-time": "2024-01-01T00:00:00.000000Z",
        "yanked": False,
        "core-metadata": {"sha256": digest},
        **more,
    }


def _describe(wheel: Path) -> dict[str, Any]:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        name = next(
            one for one in names if one.endswith(".dist-info/METADATA") and one.count("/") == 1
        )
        metadata = archive.read(name)
    wheel.with_name(f"{wheel.name}.metadata").write_bytes(metadata)
    with wheel.open("rb") as file:
        digest = hash_file(file, ["sha256"])["sha256"]
    raw, _ = parse_email(metadata)
    return page_entry(
        wheel.name,
        hashes={"sha256": digest},
        size=wheel.stat().st_size,
        **{
            "requires-python": raw.get("requires_python"),
            "core-metadata": {"sha256": hashlib.sha256(metadata).hexdigest()},
        },
    )


def _padding(name: str, count: int) -> list[dict[str, Any]]:
    """Files of older releases, as many as wanted."""
    stem = name.replace("-", "_")
    return [
        page_entry(
            f"{stem}-0.0.0.{number // len(_OLD_TAGS)}-{_OLD_TAGS[number % len(_OLD_TAGS)]}.whl"
        )
        for number in range(max(count, 0))
    ]
