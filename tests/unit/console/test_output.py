"""Streams, quiet levels, colour and masked passwords."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from vinstall.console.output import Console, mask_credentials
from vinstall.settings import OutputSettings

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def make(settings: OutputSettings | None = None) -> tuple[Console, io.StringIO, io.StringIO]:
    stdout, stderr = io.StringIO(), io.StringIO()
    return Console(settings or OutputSettings(), stdout, stderr), stdout, stderr


def say_everything(console: Console) -> None:
    console.info("detail", verbosity=1)
    console.info("info")
    console.result("result")
    console.warning("careful", "do this")
    console.hint("look")
    console.error("broken")
    console.critical("over")


@pytest.mark.parametrize(
    ("verbosity", "stdout", "stderr"),
    [
        (1, ["detail", "info", "result"], ["WARNING", "  do this", "hint", "broken", "over"]),
        (0, ["info", "result"], ["WARNING", "  do this", "hint", "broken", "over"]),
        (-1, ["result"], ["WARNING", "  do this", "broken", "over"]),
        (-2, ["result"], ["broken", "over"]),
        (-3, ["result"], ["over"]),
    ],
)
def test_what_is_said_at_which_verbosity(
    verbosity: int, stdout: list[str], stderr: list[str]
) -> None:
    console, out, err = make(OutputSettings(verbosity=verbosity))
    say_everything(console)
    assert out.getvalue().splitlines() == stdout
    said = err.getvalue().splitlines()
    assert len(said) == len(stderr)
    assert all(part in line for part, line in zip(stderr, said, strict=True))


def test_prefixes_are_those_of_pip() -> None:
    console, _, err = make()
    console.warning("careful\nmore")
    console.critical("over")
    assert err.getvalue() == "WARNING: careful\nmore\nERROR: over\n"


@pytest.mark.parametrize(("color", "painted"), [(None, True), (False, False), (True, True)])
def test_colour_on_a_terminal(color: bool | None, painted: bool) -> None:
    stderr = Terminal()
    Console(OutputSettings(color=color), io.StringIO(), stderr).warning("careful")
    assert ("\x1b[" in stderr.getvalue()) is painted


def test_no_colour_elsewhere_unless_it_is_forced() -> None:
    console, _, err = make()
    console.warning("careful")
    assert "\x1b[" not in err.getvalue()
    console, _, err = make(OutputSettings(color=True))
    console.warning("careful")
    assert "\x1b[" in err.getvalue()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("see https://user:secret@host.test/x", "see https://user:****@host.test/x"),
        ("https://token@host.test", "https://****@host.test"),
        ("https://user:@host.test", "https://user:****@host.test"),
        ("https://:secret@host.test", "https://:****@host.test"),
        ("git+ssh://git@host.test/a.git@v1", "git+ssh://****@host.test/a.git@v1"),
        (
            "https://u:p%40w@a.test and http://b:c@d.test",
            "https://u:****@a.test and http://b:****@d.test",
        ),
        ("https://host.test/a@b", "https://host.test/a@b"),
        ("name @ https://host.test/x", "name @ https://host.test/x"),
        ("me@host.test", "me@host.test"),
    ],
)
def test_passwords_are_masked(text: str, masked: str) -> None:
    assert mask_credentials(text) == masked
    console, out, err = make()
    console.info(text)
    console.critical(text)
    assert out.getvalue() == f"{masked}\n"
    assert err.getvalue() == f"ERROR: {masked}\n"


def test_results_are_written_as_they_stand() -> None:
    console, out, _ = make()
    console.result('{"url": "https://${USER}:${PASS}@host.test"}')
    assert "${PASS}" in out.getvalue()


def test_a_stream_that_lacks_a_character() -> None:
    raw = io.BytesIO()
    console = Console(OutputSettings(), io.TextIOWrapper(raw, encoding="ascii"), io.StringIO())
    console.info("naïve")
    console.flush()
    assert raw.getvalue().rstrip() == b"na\\xefve"


class Broken(io.StringIO):
    """A pipe whose reader went away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_broken_stdout_is_told_and_a_broken_stderr_is_not() -> None:
    with pytest.raises(BrokenPipeError):
        Console(OutputSettings(), Broken(), io.StringIO()).info("x")
    Console(OutputSettings(), io.StringIO(), Broken()).warning("x")


def test_the_log_gets_all_lines_and_no_colours(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log.txt"
    console, out, _ = make(OutputSettings(verbosity=-3, color=True, log=str(log)))
    say_everything(console)
    console.close()
    text = log.read_text("utf-8")
    for part in ("detail", "info", "result", "WARNING: careful", "ERROR: over"):
        assert part in text
    assert "\x1b[" not in text
    assert out.getvalue() == "result\n"


def test_a_log_that_can_not_be_written_is_a_warning(tmp_path: Path) -> None:
    console, out, err = make(OutputSettings(log=str(tmp_path)))
    console.info("one")
    console.info("two")
    assert out.getvalue() == "one\ntwo\n"
    assert err.getvalue().count("can not be written") == 1


def test_two_streams_in_one_pipe_are_in_order(tmp_path: Path) -> None:
    place = tmp_path / "both"
    with place.open("a") as out, place.open("a", buffering=1) as err:
        console = Console(OutputSettings(), out, err)
        console.info("one")
        console.warning("two")
        console.info("three")
        console.message("four")
    assert place.read_text().split() == ["one", "WARNING:", "two", "three", "four"]
