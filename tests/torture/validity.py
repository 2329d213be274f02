"""Says what is wrong with an environment, whoever wrote it.

Follows the recording installed projects specification: every file that RECORD names is
there with the size and digest that it says, and every file that is there is named by one.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.environments import Environment

LOCKS = frozenset({".vinstall-lock", ".lock"})
"""Empty files that stay, because removing the file of a lock races with who takes it."""
_OF_VENV = ("python", "activate", "Activate", "pydoc")


def find_faults(environment: Environment) -> list[str]:
    """Give every fault of an environment, as ``kind: what``; sorted.

    Kinds: ``missing`` and ``altered`` (a row of RECORD is not true), ``half`` (a
    distribution without RECORD, METADATA or INSTALLER), ``twice`` (two of one project),
    ``leftover`` (a file or an empty folder that no RECORD names).
    """
    return sorted(_iter_faults(environment))


def find_installed(environment: Environment) -> dict[str, str]:
    """Give the names of the dist-info folders: project and version, whatever is in them."""
    names = (
        path.name[: -len(".dist-info")] for path in environment.site_packages.glob("*.dist-info")
    )
    return dict(sorted((name.partition("-")[0], name.partition("-")[2]) for name in names))


def _iter_faults(environment: Environment) -> Iterator[str]:
    library = environment.site_packages
    owned: set[Path] = set()
    projects: set[str] = set()
    for info in sorted(library.glob("*.dist-info")):
        project = info.name.partition("-")[0]
        if project.startswith("~"):
            continue
        if project in projects:
            yield f"twice: {project}"
        projects.add(project)
        for name in ("METADATA", "RECORD", "INSTALLER", "WHEEL"):
            if not (info / name).is_file():
                yield f"half: {info.name} has no {name}"
        yield from _check_record(library, info, owned)
    for folder in (library, environment.scripts):
        yield from _leftovers(folder, folder, owned)
    for path in environment.path.iterdir():
        if path.name.startswith((".vinstall", "~")):
            yield f"leftover: {path.name}"


def _check_record(library: Path, info: Path, owned: set[Path]) -> Iterator[str]:
    try:
        text = (info / "RECORD").read_text("utf-8")
    except OSError:
        return
    for row in csv.reader(text.splitlines()):
        if len(row) != 3 or (row[2] and not row[2].isdecimal()):
            yield f"half: {info.name} has a RECORD with the row {row}"
            continue
        path, digest, size = row
        whole = Path(str((library / path).absolute()))
        whole = whole.parent.resolve() / whole.name
        owned.add(whole)
        if not whole.is_file():
            yield f"missing: {path}"
            continue
        content = whole.read_bytes()
        if size and len(content) != int(size):
            yield f"altered: {path} has {len(content)} bytes, not {size}"
        elif digest:
            algorithm, _, value = digest.partition("=")
            found = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest())
            if found.decode().rstrip("=") != value:
                yield f"altered: {path}"


def _leftovers(top: Path, folder: Path, owned: set[Path]) -> Iterator[str]:
    if not folder.is_dir():
        return  # pip removes it with the last distribution
    children = list(folder.iterdir())
    if not children and folder != top:
        yield f"leftover: empty {folder.relative_to(top)}"
    for path in children:
        if path.is_dir() and not path.is_symlink():
            yield from _leftovers(top, path, owned)
        elif path.resolve().parent / path.name in owned or path in owned:
            continue
        elif path.name in LOCKS:
            if path.stat().st_size:
                yield f"leftover: {path.name} is not empty"
        elif not (path.parent.name in ("bin", "Scripts") and path.name.startswith(_OF_VENV)):
            yield f"leftover: {path.relative_to(top)}"
