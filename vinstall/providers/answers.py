"""Answers of plugins on disk, kept until something that they depend on changes.

The key holds the plugin and its version, the boot, the plugin's own fingerprint (driver,
devices), the variables that it reads, and the interpreter. Only good answers are kept, and
none for longer than a day.
"""

from __future__ import annotations

import contextlib
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
        found = self.look(key)
        return found[0] if found is not None else None

    def look(self, key: str) -> tuple[PluginAnswer, float] | None:
        """The answer kept for a key and its age in seconds; as ``find``."""
        if self._folder is None:
            return None
        import json

        try:
            document = json.loads((self._folder / f"{key}.json").read_bytes())
            age = self._now - float(document["time"])
            if not 0 <= age <= KEPT_SECONDS:
                return None
            answer = PluginAnswer(
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
        return answer, age

    def keep(self, key: str, answer: PluginAnswer, owner: str = "") -> None:
        """Keep a good answer; a cache that can not be written is no fault.

        Args:
            key: See ``answer_key``.
            answer: What was said.
            owner: The distribution that said it, for ``forget``.
        """
        if self._folder is None or answer.problem:
            return
        import json

        from vinstall.files import write_atomically

        document = {
            "time": self._now,
            "owner": owner,
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

    def forget(self, owner: str) -> int:
        """Remove what one distribution said; how many answers that were."""
        if self._folder is None:
            return 0
        import json

        count = 0
        for path in sorted(self._folder.glob("*.json")):
            try:
                document = json.loads(path.read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(document, dict) and document.get("owner") == owner:
                with contextlib.suppress(OSError):
                    path.unlink()
                    count += 1
        return count


def answer_key(plugin: TrustedPlugin, environment: Mapping[str, str], gpu: str, python: str) -> str:
    """The key of a plugin's answer on this machine, now."""
    parts = [plugin.distribution, plugin.version, plugin.object, plugin.fingerprint, gpu, python]
    parts += [
        f"{name}={environment[name]}" if name in environment else name
        for name in sorted(plugin.variables)
    ]
    return make_key([*parts, boot_id()])


def own_python() -> str:
    """The part of a key that stands for the interpreter which runs our plugins."""
    import sys

    return f"{sys.implementation.cache_tag} {sys.prefix}"


def make_key(parts: list[str]) -> str:
    """A file name that differs where a part differs."""
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def boot_id() -> str:
    """What changes with every start of the machine; empty where the system tells nothing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
