"""Files of wheels that Python runs whenever it starts, in one line."""

from __future__ import annotations

TYPE_CHECKING = False
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
    places = [(name, is_folder) for name, is_folder in wheel.tops.items()]
    for file in wheel.data_files:
        parts = file.path.split("/")
        if len(parts) > 2 and parts[1] in _LIBRARIES:
            places.append((parts[2], len(parts) > 3))
    found = set()
    for name, is_folder in places:
        is_path_file = not is_folder and name.lower().endswith((".pth", ".start"))
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
