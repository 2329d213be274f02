"""Answers that are worked out once, whoever asks and however many ask at once.

Work can be begun ahead in threads. Whoever asks for an answer that is still waiting in
the queue works it out on the spot; a failure is told only to those who ask. The threads
never keep the process alive.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_POLL = 1.0


class WorkPool:
    """A few threads that start when there is something to do.

    Args:
        threads: How many at most.
        name: What the threads are called.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._limit = threads
        self._name = name
        self._wake = threading.Condition()
        self._jobs: deque[Callable[[], None]] = deque()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_resting = False
        self._closed = False

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job that never raises in some thread, some time; never after ``close``."""
        with self._wake:
            if self._closed:
                return
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._wake.notify()
                return
            if len(self._threads) >= self._limit:
                return
            self._is_resting = False
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._threads.append(thread)
        thread.start()

    def rest(self, patience: float = 0.05) -> None:
        """Forget what waits, and end the threads; they start again when there is a new job.

        Args:
            patience: Seconds to wait for those that are at work.
        """
        with self._wake:
            self._jobs.clear()
            self._is_resting = True
            self._wake.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join(patience)
            if thread.is_alive():
                return

    def close(self) -> None:
        """Forget what waits; jobs under way are not waited for."""
        with self._wake:
            self._closed = True
            self._jobs.clear()
            self._wake.notify_all()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._jobs:
                    if self._closed or self._is_resting:
                        self._threads.remove(threading.current_thread())
                        return
                    self._idle += 1
                    self._wake.wait()
                    self._idle -= 1
                job = self._jobs.popleft()
            job()


class _Answer(Generic[_T]):
    """One answer: nobody's yet, somebody's work, or done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claimed = False
        self._done = threading.Event()
        self._value: _T | None = None
        self._error: BaseException | None = None

    def work_out(self, work: Callable[[], _T]) -> None:
        """Do the work, unless somebody does it already."""
        with self._lock:
            if self._claimed:
                return
            self._claimed = True
        try:
            self._value = work()
        except Exception as error:
            self._error = error
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._done.set()

    def wait(self) -> _T:
        """The answer.

        Raises:
            BaseException: What the work raised.
        """
        while not self._done.wait(_POLL):
            pass
        if self._error is not None:
            raise self._error
        return cast("_T", self._value)


class Answers(Generic[_T]):
    """Answers of one kind by key.

    Args:
        pool: Where work is done that was begun ahead.
    """

    def __init__(self, pool: WorkPool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._kept: dict[str, _Answer[_T]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def get(self, key: str, work: Callable[[], _T]) -> _T:
        """The answer for a key, worked out here if nobody has begun."""
        answer = self._answer(key)
        answer.work_out(work)
        return answer.wait()

    def begin(self, key: str, work: Callable[[], _T]) -> None:
        """Begin to work out an answer that will be asked for; never raises."""
        if key not in self._kept:
            answer = self._answer(key)
            self._pool.submit(lambda: answer.work_out(work))

    def _answer(self, key: str) -> _Answer[_T]:
        with self._lock:
            answer = self._kept.get(key)
            if answer is None:
                answer = self._kept[key] = _Answer()
            return answer
