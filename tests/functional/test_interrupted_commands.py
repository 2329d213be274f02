"""Any command puts in order what a killed one left, and says so."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT, isolated_variables
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL")

CHILD = """
import os, signal, sys
from vinstall.cli.main import main
from vinstall.install.placement import Placer

place, link, left = Placer.place, Placer.link, 4

def count():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def killed_place(self, file, *, link):
    count()
    place(self, file, link=link)

def killed_link(self, source, target):
    count()
    return link(self, source, target)

Placer.place, Placer.link = killed_place, killed_link
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("freeze",),
        ("check",),
        ("show", "demo"),
        ("inspect",),
        ("uninstall", "--yes", "not-there"),
        ("install", "--no-index", "demo"),
    ],
)
@pytest.mark.parametrize("cache", [True, False])
def test_the_next_command(
    index: SimpleIndex, environment: Environment, words: tuple[str, ...], cache: bool
) -> None:
    for version in ("1.0", "2.0"):
        files = {f"demo/m{number}.py": f"VERSION = '{version}'\n" for number in range(9)}
        index.add(make_wheel("demo", version, files=files))
    options = ("--index-url", index.simple_url, *(() if cache else ("--no-cache-dir",)))
    environment.vinstall("install", *options, "demo==1.0").check()
    before = environment.snapshot()
    python = ("--python", str(environment.python))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *python, "install", *options, "demo==2.0"],
        env={**isolated_variables(environment.home), "PYTHONPATH": str(ROOT)},
        cwd=environment.home,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert environment.snapshot() != before
    result = environment.vinstall(*words)
    assert "An earlier command was interrupted while it changed demo" in result.stderr
    assert environment.snapshot() == before
