"""The same command lines, run with pip and with vinstall, have the same effect.

Compared are the exit status, every file of the environment, of the work folder and of the
home, the lines that scripts read, and reports. What is meant to differ stands in one table,
``MEANT`` in ``like_pip_cases``.
"""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from tests.endtoend.like_pip_cases import CASES, MEANT
from tests.endtoend.like_pip_world import Case, World, find_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.endtoend.like_pip_world import Tool, Trace

pytestmark = [
    pytest.mark.comparison,
    pytest.mark.skipif(os.name == "nt", reason="the command lines name devices of POSIX"),
    pytest.mark.skipif(
        int(version("pip").partition(".")[0]) < 26, reason="an older pip behaves in other ways"
    ),
]

Pending = dict[str, "Future[Mapping[Tool, Trace]]"]

_ran: set[str] = set()
_used: set[int] = set()


@pytest.fixture(scope="module")
def pending(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pending]:
    """All cases of this run, under way on two threads."""
    cases = [
        item.callspec.params["case"]
        for item in request.session.items
        if item.fspath == request.node.fspath and hasattr(item, "callspec")
    ]
    with World(tmp_path_factory.mktemp("like-pip")) as world, ThreadPoolExecutor(2) as pool:
        yield {case.name: pool.submit(world.run, case) for case in cases}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_pip(case: Case, pending: Pending) -> None:
    if "<repository>" in case.files.values() and shutil.which("git") is None:
        pytest.skip("git is not there")
    traces = pending[case.name].result()
    _ran.add(case.name)
    left = []
    for aspect, text in find_differences(case, traces):
        meant = [
            number
            for number, one in enumerate(MEANT)
            if re.fullmatch(one.aspect, aspect)
            and re.fullmatch(one.cases, case.name)
            and re.search(one.pattern, text, re.DOTALL)
        ]
        _used.update(meant)
        if not meant:
            left.append(f"{aspect}: {text}")
    ours = traces["vinstall"].result
    assert "Traceback (most recent call last)" not in ours.stderr, str(ours)
    assert not left, "\n".join([*left, *(str(trace.result) for trace in traces.values())])


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert len(names) >= 150


def test_every_difference_has_a_reason_and_happens() -> None:
    if _ran != {case.name for case in CASES}:
        pytest.skip("only some of the cases ran in this process")
    unused = [one for number, one in enumerate(MEANT) if number not in _used]
    assert not unused
    assert all(one.reason.endswith(".") for one in MEANT)
