"""Work that forked processes share, where threads would wait for the interpreter's one lock.

A fork has everything that its parent has read, and starts in a few milliseconds. That is
safe only while a process has no other threads, and not with the system libraries of macOS.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any

MOST_PARTS = 4000
"""More parts are not worth their while."""
_AT_ONCE = 128
"""Numbers of four bytes that are written to a pipe whole or not at all (POSIX, PIPE_BUF)."""


class HelperFailedError(Exception):
    """A process that helped ended without an answer; why is not known."""


def can_fork() -> bool:
    """Whether this process can share work with forks of itself now."""
    if not sys.platform.startswith("linux"):
        return False
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def share_work(
    work: Callable[[int], Any],
    parts: list[int],
    workers: int,
    meanwhile: Callable[[], None] | None = None,
) -> dict[int, Any]:
    """Do all parts of some work, each by whichever process is free.

    There must be no other threads. A process whose parent is gone ends after the part that
    it is at; locks of files that it has from its parent stay until then.

    Args:
        work: Does one part; what it returns has to be JSON.
        parts: Numbers of the parts, at most ``MOST_PARTS``, the first ones first.
        workers: How many processes, this one included.
        meanwhile: What only this process can do; done when the others have begun.

    Returns:
        Number → what was returned.

    Raises:
        OSError: A part failed with it, in this process or another one.
        HelperFailedError: Another process failed with something else.
    """
    import signal

    numbers, left = _open_numbers(parts)
    parent = os.getpid()

    def do_parts() -> dict[int, Any]:
        done = {}
        while number := os.read(numbers, 4):
            if os.getpid() != parent != os.getppid():
                break
            at = int.from_bytes(number, "big")
            done[at] = work(at)
        return done

    helpers: dict[int, int] = {}
    try:
        for _ in range(min(workers, len(parts)) - 1):
            answer, give = os.pipe()
            process = -1
            # what a signal raises while modules prepare for a fork would be lost
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                process = os.fork()
                if not process:
                    _answer(do_parts, give, [answer, *helpers.values()], before)
                helpers[process] = answer
            except OSError:
                os.close(answer)  # too many processes: those that there are do it
            finally:
                os.close(give)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            if process < 0:
                break
        if meanwhile is not None:
            meanwhile()
        done = do_parts()
        done.update((number, work(number)) for number in left)
        for process, answer in list(helpers.items()):
            with open(answer, encoding="ascii", closefd=False) as file:
                content = file.read()
            _wait(process)
            os.close(helpers.pop(process))
            done |= _read_answer(content)
        return done
    finally:
        os.close(numbers)
        for process, answer in helpers.items():
            os.close(answer)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            _wait(process)


def _open_numbers(parts: list[int]) -> tuple[int, list[int]]:
    """A pipe that gives each number once to whoever reads, and the numbers that did not fit."""
    numbers, give = os.pipe()
    os.set_blocking(give, False)
    left = list(parts)
    with contextlib.suppress(BlockingIOError):
        while left:
            # so much is written whole or not at all
            os.write(give, b"".join(number.to_bytes(4, "big") for number in left[:_AT_ONCE]))
            del left[:_AT_ONCE]
    os.close(give)
    return numbers, left


def _wait(process: int) -> None:
    # who ignores SIGCHLD has no children to wait for
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, 0)


def _answer(
    do_parts: Callable[[], dict[int, Any]],
    give: int,
    others: list[int],
    mask: set[signal.Signals | int],
) -> None:
    """What a fork does; never comes back."""
    import signal

    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for descriptor in others:
            os.close(descriptor)
        try:
            document: dict[str, Any] = {"done": list(do_parts().items())}
        except OSError as error:
            document = {"error": [error.errno, error.strerror, error.filename, error.filename2]}
        with open(give, "w", encoding="ascii") as told:
            told.write(json.dumps(document))
        status = 0
    finally:
        os._exit(status)


def _read_answer(content: str) -> dict[int, Any]:
    if not content:
        raise HelperFailedError
    document = json.loads(content)
    if "error" in document:
        number, text, name, other = document["error"]
        raise OSError(number, text, name, None, other)
    return dict(document["done"])
