"""What is fetched while the search goes on: once, without a word too early, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.wheels import make_wheel
from vinstall.distributions.link import Link
from vinstall.events import Noted, RecordingObserver
from vinstall.resolution.candidate import Candidate
from vinstall.settings import Settings
from vinstall.wheel.unpackers import WORTHWHILE
from vinstall.workflow.ahead import FetchAhead, _HeldObserver
from vinstall.workflow.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

COUNT = WORTHWHILE + 4


def fill(index: SimpleIndex) -> list[str]:
    """Wheels that need one another in a chain, so that the search takes some rounds."""
    names = [f"demo{number}" for number in range(COUNT)]
    for name, after in zip(names, [*names[1:], ""], strict=True):
        needs = [after] if after else []
        index.add(make_wheel(name, requires_dist=needs, files={f"{name}.py": f"N = '{name}'\n"}))
    return names


def options(index: SimpleIndex) -> tuple[str, ...]:
    return ("install", "--index-url", index.simple_url)


def test_everything_is_fetched_once(index: SimpleIndex, environment: Environment) -> None:
    names = fill(index)
    result = environment.vinstall(*options(index), "demo0").check()
    for name in names:
        assert (environment.site_packages / f"{name}.py").read_text() == f"N = '{name}'\n"
        assert index.count(f"*/{name}-1.0-py3-none-any.whl", status=200) == 1
    lines = result.stdout.splitlines()
    collecting = [number for number, line in enumerate(lines) if line.startswith("Collecting")]
    fetching = [number for number, line in enumerate(lines) if "Downloading" in line]
    assert len(collecting) == len(fetching) == COUNT
    assert max(collecting) < min(fetching)


def test_a_file_that_is_another_one_is_told(index: SimpleIndex, environment: Environment) -> None:
    fill(index)
    index.change("demo2-1.0-py3-none-any.whl", hashes={"sha256": "0" * 64})
    before = environment.snapshot()
    result = environment.vinstall(*options(index), "demo0").check(1)
    assert "demo2-1.0-py3-none-any.whl" in result.stderr
    assert "0" * 64 in result.stderr
    assert environment.snapshot() == before


def test_what_is_given_up_is_not_installed(index: SimpleIndex, environment: Environment) -> None:
    names = fill(index)
    index.add(make_wheel("top", "2.0", requires_dist=["demo0", "base>=2"]))
    index.add(make_wheel("top", "1.0", requires_dist=["demo0"]))
    index.add(make_wheel("base", "1.0"), make_wheel("base", "2.0"))
    index.add(make_wheel("other", "1.0", requires_dist=["base<2", *names]))
    environment.vinstall(*options(index), "top", "other").check()
    found = environment.installed()
    assert (found["top"], found["base"]) == ("1.0", "1.0")
    environment.vinstall("check").check()


@pytest.mark.parametrize("more", [("--dry-run",), ("--no-cache-dir",), ("--only-deps",)])
def test_where_nothing_is_fetched_ahead(
    index: SimpleIndex, environment: Environment, more: tuple[str, ...]
) -> None:
    fill(index)
    environment.vinstall(*options(index), *more, "demo0").check()
    assert index.count("*/demo0-1.0-py3-none-any.whl") == (more == ("--no-cache-dir",))


def candidate(name: str, **changes: Any) -> Candidate:
    fields: dict[str, Any] = {
        "url": f"https://h.test/{name}-1.0-py3-none-any.whl",
        "filename": f"{name}-1.0-py3-none-any.whl",
        "hashes": {"sha256": name.encode().hex().ljust(64, "0")},
        "size": 1000,
        **changes,
    }
    return Candidate(name, name, "1.0", Link(**fields))


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    made = Context(Settings(cache_dir=str(tmp_path)), RecordingObserver(), environment={})
    yield made
    made.close()


@pytest.mark.parametrize(
    "fault",
    [
        {"hashes": {}},
        {"size": None},
        {"size": 40 * 2**20},
        {"filename": "demo-1.0.tar.gz"},
        {"url": "file:///demo-1.0-py3-none-any.whl"},
    ],
)
def test_what_is_not_certain_enough(context: Context, fault: dict[str, object]) -> None:
    ahead = FetchAhead(context)
    for number in range(COUNT):
        ahead.choose(candidate(f"demo{number}", **fault))
    assert ahead.crew is None


def test_few_wheels_and_what_comes_after_a_conflict_wait(context: Context) -> None:
    ahead = FetchAhead(context)
    for number in range(WORTHWHILE - 1):
        ahead.choose(candidate(f"demo{number}"))
        ahead.choose(candidate(f"demo{number}"))
    ahead.stop_choosing()
    ahead.choose(candidate("last"))
    assert ahead.crew is None
    assert not ahead.has(Link("https://h.test/a.whl", "a.whl"))


def test_events_wait_for_their_stage() -> None:
    told = RecordingObserver()
    held = _HeldObserver(told)
    held.receive(Noted("a"))
    assert told.events == []
    held.release()
    held.receive(Noted("b"))
    held.release()
    assert told.events == [Noted("a"), Noted("b")]
