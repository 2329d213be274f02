"""Files of wheels that Python runs whenever it starts, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vinstall.wheel.store import StoredWheel

_MODULES = frozenset({"sitecustomize", "usercustomize"})
_LIBRARIES = frozenset({"purelib", "platlib"})


def startup_files(wheel: StoredWheel) -> tuple[str, ...]:
    """Names of the files of a wheel that Python runs at each start, sorted.

    These are the path configuration files and the customisation modules that the ``site``
    module of the standard library looks for in site-packages.
    """
    found = set()
    for file in wheel.files:
        top, slash, _ = file.path.partition("/")
        if slash and not top.endswith(".data") and top.partition(".")[0] not in _MODULES:
            continue
        parts = file.path.split("/")
        if len(parts) > 2 and parts[0].endswith(".data") and parts[1] in _LIBRARIES:
            parts = parts[2:]
        name = parts[0]
        is_path_file = len(parts) == 1 and name.lower().endswith((".pth", ".start"))
        if is_path_file or name.partition(".")[0] in _MODULES:
            found.add(name)
    return tuple(sorted(found))


def describe_startup_files(wheels: Iterable[StoredWheel]) -> str:
    """One line that names them all; empty where there are none."""
    parts = []
    for wheel in wheels:
        if names := startup_files(wheel):
            project = wheel.filename.partition("-")[0]
            parts.append(f"{', '.join(names)} of {project}")
    if not parts:
        return ""
    return f"Python will run this at every start: {'; '.join(parts)}."
