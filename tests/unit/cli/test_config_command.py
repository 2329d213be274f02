"""``config`` on pip's files, and pip reads what was written."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from vinstall.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def named(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that PIP_CONFIG_FILE names; nothing lies near."""
    path = isolated_home / "named.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(path))
    monkeypatch.chdir(isolated_home)
    return path


def test_set_get_unset(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--user", "set", "global.Index_URL", "https://a.test/%20"]) == 0
    assert named.read_text() == "[global]\nindex-url = https://a.test/%20\n\n"
    assert str(named) in capsys.readouterr().out
    assert main(["config", "get", "global.index-url"]) == 0
    assert capsys.readouterr().out == "https://a.test/%20\n"
    assert main(["config", "--user", "unset", "global.index-url"]) == 0
    assert named.read_text() == ""


def test_pip_reads_what_was_written(named: Path) -> None:
    assert main(["config", "--user", "set", "install.timeout", "7"]) == 0
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "--no-input", "config", "get", "install.timeout"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.strip() == "7"


def test_list_of_one_level(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named.write_text("[global]\nretries = 2\n[install]\nfind-links =\n  a\n  b\n")
    assert main(["config", "--user", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "global.retries='2'",
        "install.find-links='\\na\\nb'",
        f":env:.config-file='{named}'",  # variables are listed with every level, as pip does
    ]


def test_list_shows_variables(
    named: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_TIMEOUT", "3")
    assert main(["config", "list"]) == 0
    assert ":env:.timeout='3'" in capsys.readouterr().out.splitlines()


def test_debug_names_every_file(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named.write_text("[global]\nretries = 2\n")
    assert main(["config", "debug"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  {named}, exists: True" in lines
    assert "    global.retries: 2" in lines


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["get", "timeout"], "global.timeout"),
        (["get", "global.nothing"], "No such key - global.nothing"),
        (["--user", "unset", "global.nothing"], "No such key - global.nothing"),
        (["get"], "takes 1 arguments"),
        (["--user", "--site", "list"], "Give one of"),
        (["edit"], "No editor is known"),
        (["edit", "--editor", "no-such-editor-here"], "can not be started"),
    ],
)
def test_refusals(
    named: Path,
    argv: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert main(["config", *argv]) == 1
    assert said in capsys.readouterr().err


def test_nothing_is_written_to_devnull(
    named: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert main(["config", "--user", "set", "global.timeout", "1"]) == 1
    assert os.devnull in capsys.readouterr().err
