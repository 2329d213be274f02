"""Unpacks many wheels in processes of our own, where threads would wait for one another.

Unpacking thousands of small files is as much work for the interpreter as for the libraries
below it, and one process interprets with one processor. A child does what
``WheelStore.add`` does, in the same store; where it can not, or is not there any more, the
wheel is unpacked here, which also tells what is wrong with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.wheel.store import WheelStore

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from vinstall.wheel.store import StoredWheel

WORTHWHILE = 8
"""So many wheels pay for starting children."""
_MOST_CHILDREN = 4
_PATIENCE = 10.0
"""Seconds that a child has to end after its last wheel."""
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from vinstall.wheel.unpackers import serve; serve()"
)


class Unpackers:
    """Children that unpack wheels into a store; may be used by several threads.

    Args:
        store: Where the entries go.
        environment: The variables that the children get.

    Attributes:
        children: Those that could be started.
    """

    def __init__(self, store: WheelStore, environment: Mapping[str, str]) -> None:
        self._store = store
        self.children: list[subprocess.Popen[bytes]] = []
        self._free: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        for _ in range(min(os.cpu_count() or 1, _MOST_CHILDREN)):
            child = _start(environment)
            if child is not None:
                self.children.append(child)
            self._free.put(child)

    def add(self, wheel: Path, filename: str, sha256: str) -> StoredWheel:
        """As ``WheelStore.add``, with the same errors."""
        child = self._free.get()
        try:
            if child is not None:
                answer = _ask(child, self._store, wheel, filename, sha256)
                if answer:
                    stored = self._store.find(sha256, check=False)
                    if stored is not None:
                        return stored
                elif answer is None:
                    child = None
        finally:
            self._free.put(child)
        return self._store.add(wheel, filename, sha256)

    def close(self) -> None:
        """End the children, each after the wheel that it is at."""
        for child in self.children:
            assert child.stdin is not None, "it was asked for"
            with contextlib.suppress(OSError):
                child.stdin.close()
        for child in self.children:
            _end(child)


def serve() -> None:
    """What a child does: read a wheel's facts, unpack it, say whether that went well."""
    import gc

    gc.disable()
    try:
        for line in sys.stdin.buffer:
            job = json.loads(line)
            store = WheelStore(Path(job["store"]), max_unpacked=job["max_unpacked"])
            answer = b"yes\n"
            try:
                store.add(Path(job["wheel"]), job["filename"], job["sha256"])
            except Exception:  # the parent does it again, and tells
                answer = b"no\n"
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)


def _start(environment: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    import subprocess

    # without site: the places to import from are ours, and what runs at a start ran already
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
        )
    except OSError:
        return None
    assert child.stdin is not None, "it was asked for"
    with contextlib.suppress(OSError):
        child.stdin.write(json.dumps(sys.path).encode("ascii") + b"\n")
        child.stdin.flush()
    return child


def _ask(
    child: subprocess.Popen[bytes], store: WheelStore, wheel: Path, filename: str, sha256: str
) -> bool | None:
    """Whether a child unpacked a wheel; ``None`` where it is no more."""
    assert child.stdin is not None, "it was asked for"
    assert child.stdout is not None, "it was asked for"
    job = {
        "store": str(store.root),
        "max_unpacked": store.max_unpacked,
        "wheel": str(wheel),
        "filename": filename,
        "sha256": sha256,
    }
    try:
        child.stdin.write(json.dumps(job).encode("ascii") + b"\n")
        child.stdin.flush()
        answer = child.stdout.readline()
    except (OSError, ValueError):
        return None
    return answer == b"yes\n" if answer else None


def _end(child: subprocess.Popen[bytes]) -> None:
    import subprocess

    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()
