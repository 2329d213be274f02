"""Lets one signal stop a change, and none disturb how it is undone."""

from __future__ import annotations

import contextlib
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@contextlib.contextmanager
def one_interrupt() -> Iterator[None]:
    """Pass on the first signal that ends a program, and keep the following ones back.

    A signal whose handler is not a function of Python (it is ignored, or ends the process at
    once) is left as it is. Outside of the main thread nothing is changed, because no signal
    arrives there.
    """
    seen = False
    before: dict[int, Callable[[int, FrameType | None], object]] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        if not seen:
            seen = True
            before[number](number, frame)

    try:
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is None:
                continue
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                try:
                    signal.signal(number, handle)
                except ValueError:  # not the main thread
                    del before[number]
                    break
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
