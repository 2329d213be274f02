"""The same command again: what was said is said again only while nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from vinstall.digests import hex_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

MARK = "from the notes\n"


@pytest.fixture
def words(index: SimpleIndex, environment: Environment) -> tuple[str, ...]:
    """A command that has nothing to do."""
    index.add(make_wheel("demo", requires_dist=["base>=1"]), make_wheel("base"), make_wheel("new"))
    found = ("install", "--index-url", index.simple_url, "demo")
    environment.vinstall(*found).check()
    return found


def notes(environment: Environment) -> list[Path]:
    return sorted(environment.home.rglob("again-v1/*"))


def mark(environment: Environment) -> None:
    """Make what was written down differ from what the usual road says."""
    for path in notes(environment):
        _, _, content = path.read_text("utf-8").partition("\n")
        head, _, _ = content.partition("\n\n")
        content = f"{head}\n\n{MARK}"
        path.write_text(f"{hex_of(content)}\n{content}", "utf-8")


def test_it_is_said_again(environment: Environment, words: tuple[str, ...]) -> None:
    first = environment.vinstall(*words).check()
    assert "Requirement already satisfied: demo in" in first.stdout
    assert len(notes(environment)) == 1
    assert environment.vinstall(*words).check().stdout == first.stdout
    mark(environment)
    assert environment.vinstall(*words).check().stdout == MARK


def with_variable(environment: Environment, name: str) -> Environment:
    return replace(environment, variables={**environment.variables, name: "1"})


def _touch_metadata(environment: Environment) -> None:
    metadata = environment.dist_info("base") / "METADATA"
    metadata.write_text(metadata.read_text("utf-8") + "\n", "utf-8")


def _remove(environment: Environment) -> None:
    (environment.dist_info("base") / "RECORD").unlink()


def _add(environment: Environment) -> None:
    (environment.site_packages / "other-1.0.dist-info").mkdir()


def _pip_file(environment: Environment) -> None:
    (environment.path / "pip.conf").write_text("[global]\nno-index = true\n")


def _own_file(environment: Environment) -> None:
    (environment.path / "vinstall.toml").write_text("")


def _user_file(environment: Environment) -> None:
    place = environment.home / ".config" / "vinstall"
    place.mkdir(parents=True, exist_ok=True)
    (place / "vinstall.toml").write_text("")


def _project_file(environment: Environment) -> None:
    (environment.home / "pyproject.toml").write_text("")


def _environment_file(environment: Environment) -> None:
    file = environment.path / "pyvenv.cfg"
    file.write_text(file.read_text("utf-8") + "\n", "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        _touch_metadata,
        _remove,
        _add,
        _pip_file,
        _own_file,
        _user_file,
        _project_file,
        _environment_file,
    ],
)
def test_a_change_takes_the_usual_road(
    environment: Environment, words: tuple[str, ...], change: Callable[[Environment], None]
) -> None:
    environment.vinstall(*words).check()
    mark(environment)
    change(environment)
    assert MARK not in environment.vinstall(*words).check().stdout


@pytest.mark.parametrize(
    "more", [("base",), ("--pre",), ("--dry-run",), ("-q",), ("--no-cache-dir",), ("-v",)]
)
def test_another_command_takes_the_usual_road(
    environment: Environment, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    environment.vinstall(*words).check()
    mark(environment)
    assert MARK not in environment.vinstall(*words, *more).check().stdout


def test_other_variables_take_the_usual_road(
    environment: Environment, words: tuple[str, ...]
) -> None:
    environment.vinstall(*words).check()
    mark(environment)
    other = with_variable(environment, "PIP_PRE")
    assert MARK not in other.vinstall(*words).check().stdout
    assert environment.vinstall(*words).check().stdout == MARK


@pytest.mark.parametrize("more", [("--no-cache-dir",), ("-v",), ("--log", "log.txt"), ("new",)])
def test_what_is_not_written_down(
    environment: Environment, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    environment.vinstall(*words, *more).check()
    assert notes(environment) == []


def test_warnings_are_not_written_down(environment: Environment, words: tuple[str, ...]) -> None:
    other = with_variable(environment, "VINSTALL_NO_SUCH_THING")
    assert "VINSTALL_NO_SUCH_THING" in other.vinstall(*words).check().stderr
    assert notes(environment) == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"garbage", b"\xff\xfe", b"- \n\nx"])
def test_broken_notes_are_passed_over(
    environment: Environment, words: tuple[str, ...], content: bytes
) -> None:
    first = environment.vinstall(*words).check()
    (path,) = notes(environment)
    path.write_bytes(content)
    assert environment.vinstall(*words).check().stdout == first.stdout


def test_old_notes_give_way(environment: Environment, words: tuple[str, ...]) -> None:
    environment.vinstall(*words).check()
    (first,) = notes(environment)
    for copy in range(60):
        first.with_name(f"copy{copy}").write_bytes(first.read_bytes())
    with_variable(environment, "SOMETHING").vinstall(*words).check()
    assert len(notes(environment)) == 50
