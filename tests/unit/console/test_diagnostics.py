"""Errors → the lines that people and scripts read."""

from __future__ import annotations

import io

import pytest

from vinstall.cli.parser import CommandLineError
from vinstall.console.diagnostics import show_error, show_fault
from vinstall.console.output import Console
from vinstall.errors import (
    ConfigurationError,
    ExternallyManagedError,
    HashMismatchError,
    NoMatchingWheelError,
    ResolutionError,
    VinstallError,
)
from vinstall.settings import OutputSettings


def shown(error: VinstallError, verbosity: int = 0) -> list[str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    show_error(Console(OutputSettings(verbosity=verbosity), stdout, stderr), error)
    assert stdout.getvalue() == ""
    return stderr.getvalue().splitlines()


def test_what_why_and_what_to_do() -> None:
    assert shown(
        ConfigurationError("It failed", "the disk is full", "Make room.\nThen go on.")
    ) == [
        "ERROR: It failed",
        "  the disk is full",
        "hint: Make room.",
        "  Then go on.",
    ]
    assert shown(VinstallError("It failed")) == ["ERROR: It failed"]


def test_words_that_scripts_look_for() -> None:
    managed = ExternallyManagedError("This environment is externally managed", "Use apt.")
    assert shown(managed, verbosity=-3)[0] == "error: externally-managed-environment"
    altered = HashMismatchError("a.whl is another file", "Expected sha256 1\n     Got        2")
    assert shown(altered)[0] == (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES: a.whl is another file"
    )


def test_nothing_matches() -> None:
    error = NoMatchingWheelError(
        "No matching distribution found for x>2",
        "no version of it satisfies the requirement",
        requirement="x>2",
        versions=["1.0", "2.0"],
        causes=["x 2.0: too old"],
    )
    assert shown(error) == [
        "ERROR: Could not find a version that satisfies the requirement x>2 "
        "(from versions: 1.0, 2.0)",
        "ERROR: No matching distribution found for x>2",
        "  x 2.0: too old",
        "  no version of it satisfies the requirement",
    ]
    assert "(from versions: none)" in shown(NoMatchingWheelError("", requirement="y"))[0]


def test_a_conflict() -> None:
    lines = shown(ResolutionError("Cannot install a and b", causes=["a needs c<1", "b needs c>1"]))
    assert lines[0] == "ERROR: Cannot install a and b"
    assert "  a needs c<1" in lines
    assert "  b needs c>1" in lines
    assert lines[-1].startswith("ERROR: ResolutionImpossible: for help")


def test_a_wrong_option_is_shown_with_the_usage_and_without_a_prefix() -> None:
    assert shown(CommandLineError("no such option: --x", ["list [options]"])) == [
        "",
        "Usage:",
        "  vinstall list [options]",
        "",
        "no such option: --x",
    ]


def test_quiet_leaves_what_ended_the_command() -> None:
    assert shown(VinstallError("It failed", "why", "fix"), verbosity=-3) == ["ERROR: It failed"]


def test_no_password_is_shown() -> None:
    lines = shown(VinstallError("No https://u:secret@h.test", "https://u:secret@h.test", "secret?"))
    assert lines[:2] == ["ERROR: No https://u:****@h.test", "  https://u:****@h.test"]


@pytest.mark.parametrize("error", [ValueError("odd\nthing"), KeyError()])
def test_a_fault_of_ours_is_one_sentence_and_a_hint(error: Exception) -> None:
    stderr = io.StringIO()
    show_fault(Console(OutputSettings(), io.StringIO(), stderr), error)
    lines = stderr.getvalue().splitlines()
    assert len(lines) == 2
    assert "fault in vinstall" in lines[0]
    assert type(error).__name__ in lines[0]
    assert "--debug" in lines[1]
