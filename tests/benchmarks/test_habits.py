"""What commands do not do: import what they do not need, open connections for nothing.

These are facts, not times: they hold on any machine. Times are measured by ``nox -s bench``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT, isolated_variables, run_command
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex

WATCHED = """
import sys, threading
events = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen"):
        events.append(event)
sys.addaudithook(watch)
from vinstall.cli.main import main
status = main(sys.argv[1:])
names = ("httpx", "rich", "resolvelib", "packaging", "subprocess", "ssl", "asyncio", "msgspec")
print("imported:", *[name for name in names if name in sys.modules], file=sys.stderr)
print("events:", *events, file=sys.stderr)
sys.exit(status)
"""


def watched(home: Path, *arguments: str | Path) -> Result:
    """Run vinstall in a process that tells at its end what it imported and opened."""
    variables = {**isolated_variables(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WATCHED, *arguments]
    return run_command(command, variables=variables, cwd=home)


def told(result: Result, key: str) -> list[str]:
    (line,) = [line for line in result.stderr.splitlines() if line.startswith(f"{key}:")]
    return line.split()[1:]


@pytest.mark.parametrize("arguments", [["--version"], ["help"], ["install", "--help"]])
def test_version_and_help_import_nothing_heavy(isolated_home: Path, arguments: list[str]) -> None:
    result = watched(isolated_home, *arguments).check()
    assert told(result, "imported") == []
    assert told(result, "events") == []


def test_nothing_is_drawn_without_a_terminal(
    isolated_home: Path, environment: Environment, index: SimpleIndex
) -> None:
    index.add(make_wheel("a"))
    result = watched(
        isolated_home,
        *("install", "--python", environment.python, "--index-url", index.simple_url, "a"),
    ).check()
    assert "rich" not in told(result, "imported")
    assert environment.installed() == {"a": "1.0"}


def test_a_satisfied_install_opens_no_connection(
    isolated_home: Path, environment: Environment, index: SimpleIndex
) -> None:
    index.add(make_wheel("a", requires_dist=["b>=1"]), make_wheel("b"))
    arguments = ("install", "--python", environment.python, "--index-url", index.simple_url, "a")
    first = watched(isolated_home, *arguments).check()
    assert "socket.connect" in told(first, "events")
    asked = len(index.requests)
    again = watched(isolated_home, *arguments).check()
    assert "Requirement already satisfied: a" in again.stdout
    assert told(again, "events") == []
    assert "httpx" not in told(again, "imported")
    assert len(index.requests) == asked


def test_a_warm_dry_run_needs_no_http_library_where_pages_are_fresh(
    isolated_home: Path, environment: Environment, index: SimpleIndex
) -> None:
    index.add(make_wheel("a"))
    index.page_headers = {"Cache-Control": "max-age=600"}
    arguments = (
        *("install", "--dry-run", "--python", environment.python),
        *("--index-url", index.simple_url, "a"),
    )
    watched(isolated_home, *arguments).check()
    asked = len(index.requests)
    again = watched(isolated_home, *arguments).check()
    assert "Would install a-1.0" in again.stdout
    assert len(index.requests) == asked
    assert "httpx" not in told(again, "imported")
