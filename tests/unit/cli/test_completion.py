"""Completion scripts know every command and its options."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from vinstall.cli.completion import format_completion
from vinstall.cli.main import main
from vinstall.cli.options import command_specs


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_commands_and_options_are_there(shell: str) -> None:
    script = format_completion(shell)
    for name in command_specs():
        assert name in script
    assert "upgrade-strategy" in script
    assert "no-user" not in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("(vinstall unin)", "uninstall"),
        ("(vinstall uninstall --ye)", "--yes"),
        ("(vinstall --no-var)", "--no-variant"),
        ("(vinstall -q profile sa)", "save"),
    ],
)
def test_bash_completes(words: str, expected: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not there")
    script = (
        f"{format_completion('bash')}\nCOMP_WORDS={words}\n"
        'COMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_vinstall\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    answer = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [expected]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "--bash"]) == 0
    assert capsys.readouterr().out == format_completion("bash") + "\n"
    assert main(["completion"]) == 0
    assert "--bash" in capsys.readouterr().err
