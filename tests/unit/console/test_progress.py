"""Events → pip's lines."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

import pytest

from vinstall.console.output import Console
from vinstall.console.progress import ConsoleObserver
from vinstall.events import (
    AlreadySatisfied,
    Collecting,
    Event,
    ExistingFound,
    FileChosen,
    InstallingStarted,
    Noted,
    StageAdvanced,
    StageFinished,
    StageStarted,
    TransferAdvanced,
    TransferFinished,
    TransferStarted,
    Uninstalled,
    Warned,
)
from vinstall.settings import OutputSettings

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def show(
    *events: Event,
    bar: Literal["auto", "on", "off", "raw"] = "auto",
    verbosity: int = 0,
    stderr: io.StringIO | None = None,
) -> tuple[list[str], str]:
    stdout, stderr = io.StringIO(), stderr or io.StringIO()
    console = Console(OutputSettings(progress_bar=bar, verbosity=verbosity), stdout, stderr)
    with ConsoleObserver(console) as observer:
        for event in events:
            observer.receive(event)
    return stdout.getvalue().splitlines(), stderr.getvalue()


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (Collecting("torch>=2"), ["Collecting torch>=2"]),
        (Collecting("idna", "requests"), ["Collecting idna (from requests)"]),
        (
            AlreadySatisfied("idna", "/site", "3.4", "requests"),
            ["Requirement already satisfied: idna in /site (from requests) (3.4)"],
        ),
        (
            AlreadySatisfied("idna", "/site", "3.4"),
            ["Requirement already satisfied: idna in /site (3.4)"],
        ),
        (FileChosen("download", "a.whl", 1_234_567), ["  Downloading a.whl (1.2 MB)"]),
        (FileChosen("download", "a.whl"), ["  Downloading a.whl"]),
        (FileChosen("cache", "a.whl", 1500), ["  Using cached a.whl (1.5 kB)"]),
        (FileChosen("local", "/elsewhere/a.whl", 1), ["Processing /elsewhere/a.whl"]),
        (InstallingStarted(("a", "b")), ["Installing collected packages: a, b"]),
        (
            ExistingFound("a", "1"),
            ["Found existing installation: a 1", "Uninstalling a-1:"],
        ),
        (Uninstalled("a", "1"), ["  Successfully uninstalled a-1"]),
        (Noted("shown", 0), ["shown"]),
        (Noted("hidden"), []),
        (StageStarted("resolve"), []),
        (StageAdvanced("resolve"), []),
        (StageFinished("resolve"), []),
    ],
)
def test_lines(event: Event, lines: list[str]) -> None:
    assert show(event) == (lines, "")


def test_a_file_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "wheels" / "a.whl"
    assert show(FileChosen("local", str(path)))[0] == ["Processing ./wheels/a.whl"]


def test_a_removal_within_an_install() -> None:
    lines, _ = show(InstallingStarted(("a",)), ExistingFound("a", "1"), Uninstalled("a", "1"))
    assert lines[1:] == [
        "  Attempting uninstall: a",
        "    Found existing installation: a 1",
        "    Uninstalling a-1:",
        "      Successfully uninstalled a-1",
    ]


def test_quiet_hides_lines_but_not_warnings() -> None:
    assert show(Collecting("a"), Warned("code", "careful"), verbosity=-1) == (
        [],
        "WARNING: careful\n",
    )


def test_a_warning_is_said_once() -> None:
    _, err = show(
        Warned("code", "careful", "do this"),
        Warned("code", "careful", "do this"),
        Warned("code", "other"),
    )
    assert err == "WARNING: careful\n  do this\nWARNING: other\n"


TRANSFER = (
    TransferStarted("k", "a.whl", 3_000_000),
    TransferAdvanced("k", 1_000_000),
    TransferAdvanced("k", 2_000_000),
    TransferFinished("k"),
)


def test_raw_progress() -> None:
    lines, err = show(*TRANSFER, bar="raw")
    assert lines[0] == "Progress 0 of 3000000"
    assert lines[-1] == "Progress 3000000 of 3000000"
    assert err == ""
    assert show(*TRANSFER, bar="raw", verbosity=-1)[0] == []


@pytest.mark.parametrize("bar", ["auto", "on", "off"])
def test_no_bars_without_a_terminal(bar: Literal["auto", "on", "off"]) -> None:
    assert show(*TRANSFER, bar=bar) == ([], "")


def test_bars_on_a_terminal_only_for_large_files() -> None:
    assert "a.whl" in show(*TRANSFER, stderr=Terminal())[1]
    small = (TransferStarted("k", "a.whl", 1000), TransferFinished("k"))
    assert show(*small, stderr=Terminal())[1] == ""
    assert show(*TRANSFER, bar="off", stderr=Terminal())[1] == ""
    assert show(*TRANSFER, verbosity=-1, stderr=Terminal())[1] == ""


def test_lines_stay_on_stdout_while_bars_move() -> None:
    lines, _ = show(TRANSFER[0], Collecting("b"), *TRANSFER[1:], stderr=Terminal())
    assert lines == ["Collecting b"]


def test_a_transfer_that_never_began() -> None:
    assert show(TransferAdvanced("k", 1), TransferFinished("k"), bar="raw") == ([], "")
