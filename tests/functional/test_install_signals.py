"""A signal in the middle of a change undoes it; more signals do not disturb that."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT, isolated_variables
from tests.support.faults import Drip, Stall
from tests.support.wheels import make_wheel
from vinstall.wheel.unpackers import WORTHWHILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

# Runs the command and sends itself a signal when the fourth file is placed, and again with
# every file that the roll-back removes.
CHILD = """
import os, signal, sys
from vinstall.cli.main import main
from vinstall.install.journal import Journal
from vinstall.install.placement import Placer

first, second = (getattr(signal, name) for name in sys.argv[1:3])
place, link, remove = Placer.place, Placer.link, Journal._remove_new
left = 4

def count():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), first)

def interrupted_place(self, file, *, link):
    count()
    place(self, file, link=link)

def interrupted_link(self, source, target):
    count()
    return link(self, source, target)

def interrupted_remove(self, path):
    os.kill(os.getpid(), second)
    remove(self, path)
    os.kill(os.getpid(), second)

Placer.place, Placer.link = interrupted_place, interrupted_link
Journal._remove_new = interrupted_remove
sys.exit(main(sys.argv[3:]))
"""


# Under nohup SIGHUP is ignored, and in the background of a shell SIGINT, also by children.
HEEDS_ALL = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def start(environment: Environment, *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEEDS_ALL, *(str(word) for word in words)],
        env={**isolated_variables(environment.home), "PYTHONPATH": str(ROOT)},
        cwd=environment.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("second", SIGNALS)
@pytest.mark.parametrize("first", SIGNALS)
def test_signals_while_files_are_placed(
    index: SimpleIndex, environment: Environment, first: str, second: str
) -> None:
    for version in ("1.0", "2.0"):
        files = {f"demo/m{number}.py": f"VERSION = '{version}'\n" for number in range(9)}
        index.add(make_wheel("demo", version, files=files))
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo==1.0").check()
    before = environment.snapshot()
    child = start(
        environment, sys.executable, "-c", CHILD, first, second,
        "--python", environment.python, "install", *options, "demo==2.0",
    )  # fmt: skip
    _, told = child.communicate(timeout=60)
    assert child.returncode == 1, told
    assert "Traceback" not in told
    assert "the environment is as it was before" in told
    assert environment.snapshot() == before
    environment.vinstall("install", *options, "demo==2.0").check()
    assert environment.installed() == {"demo": "2.0"}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_while_a_file_is_fetched(
    index: SimpleIndex, environment: Environment, name: str
) -> None:
    wheel = make_wheel("demo", files={"demo.py": "VERSION = '1.0'\n" * 20_000}, compress=False)
    index.add(wheel)
    index.fail(f"/files/{wheel.filename}", Stall(after=1000, seconds=30))
    before = environment.snapshot()
    child = start(
        environment, sys.executable, "-m", "vinstall", "--python", environment.python,
        "install", "--index-url", index.simple_url, "demo",
    )  # fmt: skip
    while not index.count(f"/files/{wheel.filename}", method="GET") and child.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    child.send_signal(getattr(signal, name))
    _, told = child.communicate(timeout=25)
    assert child.returncode == 1, told
    assert "Traceback" not in told
    assert environment.snapshot() == before
    assert not list(environment.home.rglob("work-*"))


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_while_many_files_come_slowly(
    index: SimpleIndex, environment: Environment, name: str
) -> None:
    wheels = [
        make_wheel(f"demo{number}", files={f"d{number}.py": "X = 1\n" * 20_000}, compress=False)
        for number in range(WORTHWHILE)
    ]
    index.add(*wheels)
    for wheel in wheels:  # each would take minutes
        index.fail(f"/files/{wheel.filename}", Drip(size=200, pause=0.5), times=10)
    child = start(
        environment, sys.executable, "-m", "vinstall", "--python", environment.python,
        "install", "--index-url", index.simple_url, *(wheel.name for wheel in wheels),
    )  # fmt: skip
    while index.count("/files/*.whl", method="GET") < 4 and child.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    child.send_signal(getattr(signal, name))
    _, told = child.communicate(timeout=25)
    assert child.returncode == 1, told
    assert "Operation cancelled" in told
    assert environment.installed() == {}
    assert not list(environment.home.rglob("work-*"))
    assert not list(environment.home.rglob(".partial-*"))
