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
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vinstall.errors import InstallError
from vinstall.values import replace
from vinstall.wheel.arriving import ArrivingFile, ArrivingUnpack
from vinstall.wheel.store import WheelStore

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

    from vinstall.wheel.store import StoredWheel

WORTHWHILE = 8
"""So many wheels pay for starting children."""
_MOST_CHILDREN = 4
_MOST_ARRIVING = 2
_FORKS = 2
"""Processes that unpack one large wheel."""
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
        count: How many wheels there will be.

    Attributes:
        children: Those that could be started.
    """

    def __init__(self, store: WheelStore, environment: Mapping[str, str], count: int) -> None:
        self._store = store
        self._environment = environment
        self.children: list[subprocess.Popen[bytes]] = []
        self._free: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        self._processors = os.cpu_count() or 1
        self._is_shared = count >= WORTHWHILE and self._processors > 1
        if self._is_shared:
            for _ in range(min(self._processors, _MOST_CHILDREN)):
                self._free.put(self._start())
        self._is_stopped = False
        self._arriving = threading.BoundedSemaphore(_MOST_ARRIVING)
        self._idle: list[subprocess.Popen[bytes]] = []

    def add(self, wheel: Path, filename: str, sha256: str) -> StoredWheel:
        """As ``WheelStore.add``, with the same errors."""
        if not self._is_shared:
            return self._store.add(wheel, filename, sha256)
        child = self._free.get()
        try:
            if self._is_stopped:
                raise InstallError(f"{filename} is not wanted any more")
            if child is not None:
                answer = _ask(child, self._store, wheel, filename, sha256)
                if answer:
                    stored = self._store.find(sha256, check=False)
                    if stored is not None:
                        return replace(stored, is_verified=True)
                elif answer is None:
                    child = None
        finally:
            self._free.put(child)
        if self._is_stopped:
            raise InstallError(f"{filename} is not wanted any more")
        return self._store.add(wheel, filename, sha256)

    def stop(self) -> None:
        """Interrupt the children; nothing is unpacked any more."""
        import signal

        self._is_stopped = True
        for child in self.children:
            if os.name == "nt":
                child.kill()
            else:
                # it clears away what it had begun; SIGINT is ignored in the background of a shell
                child.send_signal(signal.SIGTERM)

    @contextlib.contextmanager
    def unpack_arriving(
        self, filename: str, sha256: str, length: int
    ) -> Iterator[ArrivingUnpack | None]:
        """Unpack a wheel while it arrives; ``None`` where no child is free to do it."""
        if self._processors < 2 or not self._arriving.acquire(blocking=False):
            yield None
            return
        try:
            child = self._idle.pop() if self._idle else self._start()
            if child is None:
                yield None
                return
            arriving = ArrivingUnpack(child, self._store, filename, sha256, length)
            try:
                yield arriving
            finally:
                arriving.finish()
                if child.poll() is None:
                    self._idle.append(child)
        finally:
            self._arriving.release()

    def _start(self) -> subprocess.Popen[bytes] | None:
        child = _start(self._environment)
        if child is not None:
            self.children.append(child)
        return child

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
    import signal

    gc.disable()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = sys.stdin.buffer
    try:
        while line := lines.readline():
            if not line.startswith(b"{"):
                continue
            try:
                _unpack(json.loads(line), lines)
                answer = b"yes\n"
            except Exception:  # the parent does it again, and tells
                answer = b"no\n"
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)


def _unpack(job: dict[str, Any], lines: IO[bytes]) -> None:
    store = WheelStore(
        Path(job["store"]),
        max_unpacked=job["max_unpacked"],
        workers=_FORKS if "length" in job else 1,
        may_fork=True,
    )
    if "length" not in job:
        store.add(Path(job["wheel"]), job["filename"], job["sha256"])
        return
    arriving = ArrivingFile(job, lines)
    try:
        store.add_arriving(arriving, job["filename"], job["sha256"])
    finally:
        arriving.close()


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
