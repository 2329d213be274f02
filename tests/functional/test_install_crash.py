"""A process that is killed in the middle leaves an environment that the next one repairs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT
from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site
from vinstall.events import Noted
from vinstall.install.transaction import environment_lock, recover

if TYPE_CHECKING:
    from tests.support.wheels import BuiltWheel

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL")

CHILD = """
import os, signal, sys
from pathlib import Path
from tests.functional.test_install_crash import new_wheel
from tests.unit.install.installing import Site
from vinstall.install.transaction import InstallOptions

left = int(sys.argv[2])

def checkpoint(name):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

site = Site(Path(sys.argv[1]))
site.install(new_wheel(), options=InstallOptions(checkpoint=checkpoint))
print("done")
"""


def old_wheel() -> BuiltWheel:
    return make_wheel("demo", "1.0", files={f"demo/m{number}.py": "1" for number in range(5)})


def new_wheel() -> BuiltWheel:
    return make_wheel(
        "demo",
        "2.0",
        files={f"demo/m{number}.py": "2" for number in range(3, 9)},
        entry_points={"console_scripts": ["demo = demo.m3:main"]},
    )


@pytest.mark.parametrize("step", [1, 4, 9, 12, 14, 18, 20, 21])
def test_killed_in_the_middle(tmp_path: Path, step: int) -> None:
    site = Site(tmp_path)
    site.install(old_wheel())
    before = site.tree()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(step)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert recover(site.paths, site.observer)
    assert site.tree() == before
    site.install(new_wheel())
    assert site.get("demo").version_text == "2.0"


HOLDER = """
import sys
from pathlib import Path
from vinstall.events import SilentObserver
from vinstall.install.transaction import environment_lock

with environment_lock(Path(sys.argv[1]), SilentObserver()):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_take_turns(tmp_path: Path) -> None:
    site = Site(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(site.library)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    words: list[str] = []
    told = threading.Event()
    entered = threading.Event()

    class Watcher:
        def receive(self, event: object) -> None:
            if isinstance(event, Noted) and event.verbosity == 0:
                words.append(event.text)
                told.set()

    def wait() -> None:
        with environment_lock(site.library, Watcher()):
            entered.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert told.wait(20)
    assert not entered.is_set()
    (line,) = words
    assert line.endswith(f" that changes {site.library}.")
    if Path("/proc/locks").exists():
        assert line.startswith(f"Waiting for process {holder.pid} (")
    holder.stdin.close()
    holder.wait()
    holder.stdout.close()
    assert entered.wait(20)
    waiting.join()


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(site.library)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with environment_lock(site.library, site.observer):
        pass
