"""The front door: exit codes, and what nobody foresaw."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vinstall
from vinstall.cli import commands
from vinstall.cli.main import main, version_line
from vinstall.errors import RequiredVariantError, VinstallError

if TYPE_CHECKING:
    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console
    from vinstall.settings import Settings

ROOT = Path(vinstall.__file__).parents[1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No project file is near."""
    monkeypatch.chdir(tmp_path)


def register(monkeypatch: pytest.MonkeyPatch, command: commands.Command) -> None:
    monkeypatch.setattr(commands, "COMMANDS", {"install": command})


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert out == f"vinstall {vinstall.__version__} from {Path(vinstall.__file__).parent} " + (
        f"(python {sys.version_info.major}.{sys.version_info.minor})\n"
    )
    assert main(["-q", "--version"]) == 0
    assert capsys.readouterr().out == f"{version_line()}\n"


def test_version_imports_nothing_dear() -> None:
    program = (
        "import sys; from vinstall.cli.main import main; before = set(sys.modules); "
        "main(['--version']); print(sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert answer.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        ([], 0, "Commands:"),
        (["help"], 0, "Commands:"),
        (["-h"], 0, "Commands:"),
        (["help", "list"], 0, "list [options]"),
        (["list", "--help"], 0, "--outdated"),
        (["help", "nonsense"], 1, 'unknown command "nonsense"'),
        (["install"], 1, "You must give at least one requirement to install"),
        (["--nope"], 2, "no such option: --nope"),
        (["install", "--pre", "--all-releases", "x", "y"], 1, "--pre cannot be used"),
        (["x", "--no-variant", "--require-variant", "x"], 2, "contradict"),
        (["search", "x"], 1, "search"),
        (["hash"], 1, "at least one file"),
        (["hash", "missing"], 1, "missing can not be read"),
        (["profile"], 1, "needs an action"),
    ],
)
def test_exit_codes(
    argv: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == status
    captured = capsys.readouterr()
    assert said in (captured.err if status else captured.out)
    assert "Traceback" not in captured.err


def test_a_command_that_is_not_there_is_an_error_and_not_a_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "COMMANDS", {})
    assert main(["wheel", "x"]) == 1
    assert "vinstall install wheel" in capsys.readouterr().err


def test_every_registered_command_is_in_the_table() -> None:
    from vinstall.cli.options import command_specs

    assert set(commands.COMMANDS) <= set(command_specs())


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (VinstallError("It failed"), 1, "ERROR: It failed"),
        (RequiredVariantError("No variant"), 4, "ERROR: No variant"),
        (KeyboardInterrupt(), 1, "ERROR: Operation cancelled by user"),
        (MemoryError(), 1, "not enough memory"),
        (OSError(errno.ENOSPC, "No space", "/full"), 1, "no space left on the device (/full)"),
        (ValueError("odd"), 2, "fault in vinstall"),
        (OSError(errno.EIO, "bad disk"), 2, "fault in vinstall"),
    ],
)
def test_what_commands_raise(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(settings: Settings, arguments: Arguments, console: Console) -> int:
        raise error

    register(monkeypatch, fail)
    assert main(["x"]) == status
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err


def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(settings: Settings, arguments: Arguments, console: Console) -> int:
        raise ValueError("odd")

    register(monkeypatch, fail)
    with pytest.raises(ValueError, match="odd"):
        main(["--debug", "x"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_cancel(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []

    def wait(settings: Settings, arguments: Arguments, console: Console) -> int:
        try:
            signal.raise_signal(number)
        finally:
            cleaned.append(True)
        return 0

    # whoever starts the tests in the background of a shell has SIGINT ignored
    usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    outside = signal.signal(number, usual)
    try:
        register(monkeypatch, wait)
        assert main(["x"]) == 1
        assert cleaned
        assert capsys.readouterr().err == "ERROR: Operation cancelled by user\n"
        assert signal.getsignal(number) is usual
    finally:
        signal.signal(number, outside)


def test_nobody_reads_stdout() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "vinstall", "help", "install"],
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
            cwd=ROOT,
        )
    finally:
        os.close(write)
    assert answer.returncode == 120
    assert b"Pipe to stdout was broken" in answer.stderr
    assert b"Traceback" not in answer.stderr


def test_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert main(["hash", "-a", "sha256", "empty"]) == 0
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert capsys.readouterr().out == f"empty:\n--hash=sha256:{digest}\n"


def test_cache_dir(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cache", "dir", "--cache-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}\n"
    assert main(["cache", "dir", "--no-cache-dir"]) == 1


def test_a_broken_file_is_no_traceback(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = isolated_home / "broken.conf"
    path.write_text("[global\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(path))
    assert main(["list"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "ERROR: Configuration file could not be loaded"


@pytest.mark.parametrize("argv", [["-q"], ["--upgrade"], ["--index-url", "https://h.test"]])
def test_options_alone_show_the_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert "uninstall" in capsys.readouterr().out
