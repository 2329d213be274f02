"""Answers that are worked out once."""

from __future__ import annotations

import threading

import pytest

from vinstall.index.answers import Answers, WorkPool


def test_work_is_done_once() -> None:
    answers: Answers[int] = Answers(WorkPool(2, "test"))
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        return 7

    answers.begin("a", work)
    assert answers.get("a", work) == 7
    assert answers.get("a", work) == 7
    assert calls == [1]
    assert "a" in answers
    assert "b" not in answers


def test_many_askers_share_one_answer() -> None:
    answers: Answers[object] = Answers(WorkPool(4, "test"))
    gate = threading.Event()
    got: list[object] = []

    def work() -> object:
        gate.wait()
        return object()

    threads = [
        threading.Thread(target=lambda: got.append(answers.get("a", work))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len(set(map(id, got))) == 1


def test_failure_is_told_to_each_who_asks() -> None:
    answers: Answers[int] = Answers(WorkPool(1, "test"))

    def work() -> int:
        raise ValueError("no")

    answers.begin("a", work)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            answers.get("a", work)


def test_queued_work_is_taken_over_by_who_asks() -> None:
    pool = WorkPool(1, "test")
    answers: Answers[str] = Answers(pool)
    gate = threading.Event()
    answers.begin("slow", lambda: str(gate.wait()))
    answers.begin("wanted", lambda: "from the queue")
    here = threading.current_thread().name
    assert answers.get("wanted", lambda: threading.current_thread().name) == here
    gate.set()
    assert answers.get("slow", str) == "True"


def test_closed_pool_starts_nothing() -> None:
    pool = WorkPool(2, "test")
    pool.close()
    answers: Answers[int] = Answers(pool)
    answers.begin("a", lambda: 1)
    assert answers.get("a", lambda: 2) == 2
