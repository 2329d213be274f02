"""What earlier runs worked out of specifiers and markers, kept in the cache.

Nothing of it can change: a version is in a specifier or not, and a marker holds or not in
one environment, which the name of the file stands for. It only saves work; without the file,
or with one that can not be read, everything is worked out again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.requirement import KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = "known-v1"
_LIMIT = 20_000
"""Entries of one kind; beyond it, only what the last run added is kept."""
_KINDS = ("fits", "valid", "markers", "needs")


class KnownFile:
    """The file for one marker environment.

    Args:
        cache_dir: Folder of the cache; empty for none.
        environment: The markers of the target; what is known holds for this very object.
    """

    def __init__(self, cache_dir: str, environment: Mapping[str, str]) -> None:
        self._path: Path | None = None
        self._counts = dict.fromkeys(_KINDS, 0)
        if KNOWN.environment is not environment:
            KNOWN.environment = environment
            KNOWN.markers, KNOWN.needs = {}, {}
        if cache_dir:
            from vinstall import __version__
            from vinstall.digests import hex_of

            facts = json.dumps([__version__, dict(environment)], sort_keys=True)
            self._path = Path(cache_dir, _FOLDER, f"{hex_of(facts)[:32]}.json")
            self._load(self._path)

    def save(self) -> None:
        """Keep what was learned since."""
        if self._path is None:
            return
        document = {}
        changed = False
        for kind in _KINDS:
            values = getattr(KNOWN, kind)
            changed = changed or len(values) > self._counts[kind]
            if len(values) > _LIMIT:
                values = dict(list(values.items())[self._counts[kind] :][-_LIMIT:])
            document[kind] = values
        if not changed:
            return
        from vinstall.files import write_atomically

        try:
            write_atomically(self._path, json.dumps(document, separators=(",", ":")).encode())
        except OSError:
            return

    def _load(self, path: Path) -> None:
        try:
            document = json.loads(path.read_bytes())
            for kind in _KINDS:
                if not _is_sound(kind, document[kind]):
                    return
        except (OSError, ValueError, LookupError, TypeError):
            return
        for kind in _KINDS:
            setattr(KNOWN, kind, {**document[kind], **getattr(KNOWN, kind)})
            self._counts[kind] = len(getattr(KNOWN, kind))


def _is_sound(kind: str, values: object) -> bool:
    if not isinstance(values, dict):
        return False
    if kind != "needs":
        return set(map(type, values.values())) <= {bool}
    return all(
        type(numbers) is list and set(map(type, numbers)) <= {int} and min(numbers, default=0) >= 0
        for numbers in values.values()
    )
