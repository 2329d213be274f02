"""Answers of plugins on disk, kept until something that they depend on changes.

The key holds the plugin and its version, the boot, the plugin's own fingerprint (driver,
devices), the variables that it reads, and the interpreter. Only good answers are kept, and
none for longer than a day.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import ProviderReplyError
from vinstall.providers.messages import PluginAnswer, check_features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.providers.choose import TrustedPlugin

KEPT_SECONDS = 24 * 60 * 60
_FOLDER = "providers-v1"


class AnswerCache:
    """Answers under one folder; an empty folder name keeps nothing."""

    def __init__(self, cache_dir: str, now: float | None = None) -> None:
        self._folder = Path(cache_dir) / _FOLDER if cache_dir else None
        self._now = time.time() if now is None else now

    def find(self, key: str) -> PluginAnswer | None:
        """The answer kept for a key, if it is there, whole, and young enough."""
        if self._folder is None:
            return None
        import json

        try:
            document = json.loads((self._folder / f"{key}.json").read_bytes())
            age = self._now - float(document["time"])
            if not 0 <= age <= KEPT_SECONDS:
                return None
            return PluginAnswer(
                check_features(document["features"]),
                bool(document["present"]),
                dict(document["facts"]),
                tuple(str(one) for one in document["notes"]),
                float(document["seconds"]),
            )
        except (OSError, ValueError, ArithmeticError, TypeError, LookupError, RecursionError):
            return None
        except ProviderReplyError:
            return None

    def keep(self, key: str, answer: PluginAnswer) -> None:
        """Keep a good answer; a cache that can not be written is no fault."""
        if self._folder is None or answer.problem:
            return
        import json

        from vinstall.files import write_atomically

        document = {
            "time": self._now,
            "features": [
                {"name": name, "values": list(values)} for name, values in answer.features.items()
            ],
            "present": answer.present,
            "facts": answer.facts,
            "notes": list(answer.notes),
            "seconds": answer.seconds,
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._folder / f"{key}.json", json.dumps(document).encode())
        except (OSError, TypeError, ValueError):
            return


def answer_key(plugin: TrustedPlugin, environment: Mapping[str, str], gpu: str, python: str) -> str:
    """The key of a plugin's answer on this machine, now."""
    import hashlib

    parts = [plugin.distribution, plugin.version, plugin.object, plugin.fingerprint, gpu, python]
    parts += [
        f"{name}={environment[name]}" if name in environment else name
        for name in sorted(plugin.variables)
    ]
    parts.append(boot_id())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def boot_id() -> str:
    """What changes with every start of the machine; empty where the system tells nothing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
