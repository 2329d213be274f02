"""Scripts that were installed run, with the interpreter of their environment."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shebang lines")

WHEEL = make_wheel(
    "demo",
    files={
        "demo.py": (
            "import sys\n\n\nclass Main:\n    @staticmethod\n    def run():\n"
            "        print(sys.executable, sys.argv[1:])\n        return 3\n"
        )
    },
    data={
        "scripts/plain": "#!python\nimport sys\nprint(sys.executable, sys.argv[1:])\n",
        "scripts/isolated": "#!python -I\nimport sys\nprint(sys.flags.isolated)\n",
        "scripts/shell": '#!/bin/sh\necho "shell $1"\n',
    },
    entry_points={
        "console_scripts": ["tool = demo:Main.run"],
        "gui_scripts": ["g = demo:Main.run"],
    },
)


def interpreter(folder: Path) -> Path:
    """An interpreter whose folder gives it away."""
    folder.mkdir(parents=True)
    python = folder / "python"
    python.symlink_to(sys.executable)
    return python


def run(site: Site, name: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [site.scripts / name, *arguments],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath, "PYTHONPATH": str(site.library)},
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["plain", "with blank", "l" * 130, "it's", 'a"$b`c'])
def test_scripts_run_with_their_interpreter(tmp_path: Path, name: str) -> None:
    python = interpreter(tmp_path / name)
    site = Site(tmp_path, str(python))
    site.install(WHEEL)
    arguments = ["one", "two words", "$HOME"]
    expected = f"{python} {arguments}\n"
    assert run(site, "tool", *arguments) == (3, expected)
    assert run(site, "g", *arguments) == (3, expected)
    assert run(site, "plain", *arguments) == (0, expected)
    assert run(site, "isolated") == (0, "1\n")
    assert run(site, "shell", "x") == (0, "shell x\n")
