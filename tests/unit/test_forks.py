"""Work that forks share. Each case has a process of its own: tests run beside threads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from vinstall.forks import can_fork

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux forks")


def run(body: str) -> object:
    code = (
        f"import json, os, signal, time\nfrom vinstall.forks import *\nmain = os.getpid()\n{body}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_part_is_done_once_by_several() -> None:
    done = run(
        "def work(number):\n"
        "    time.sleep(0.01)\n"
        "    return [number * number, os.getpid()]\n"
        "told = []\n"
        "found = share_work(work, list(range(40)), 3, lambda: told.append(os.getpid() == main))\n"
        "print(json.dumps([sorted((n, r[0]) for n, r in found.items()),\n"
        "                  len({r[1] for r in found.values()}), told]))"
    )
    assert done == [[[number, number * number] for number in range(40)], 3, [True]]


def test_one_process_is_enough_for_one_part() -> None:
    body = "print(json.dumps(share_work(lambda n: os.getpid() == main, [7], 4)[7]))"
    assert run(body) is True


@pytest.mark.parametrize("where", ["==", "!="])
def test_an_error_of_the_system_keeps_its_words(where: str) -> None:
    done = run(
        "def work(number):\n"
        "    time.sleep(0.01)\n"
        f"    if os.getpid() {where} main:\n"
        "        os.stat('/there/is/none')\n"
        "try:\n"
        "    share_work(work, list(range(20)), 2)\n"
        "except FileNotFoundError as error:\n"
        "    print(json.dumps([error.filename, error.strerror]))"
    )
    assert done == ["/there/is/none", "No such file or directory"]


@pytest.mark.parametrize("fault", ["raise ValueError", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_helper_that_fails_otherwise_is_told(fault: str) -> None:
    done = run(
        "def work(number):\n"
        "    time.sleep(0.01)\n"
        f"    if os.getpid() != main: {fault}\n"
        "try:\n"
        "    share_work(work, list(range(20)), 2)\n"
        "except HelperFailedError:\n"
        "    print(json.dumps('told'))"
    )
    assert done == "told"


def test_helpers_do_not_outlive_an_error_here() -> None:
    done = run(
        "def work(number):\n"
        "    if os.getpid() == main: raise KeyboardInterrupt\n"
        "    time.sleep(20)\n"
        "start = time.monotonic()\n"
        "try:\n"
        "    share_work(work, [1, 2, 3], 3, lambda: time.sleep(0.3))\n"
        "except KeyboardInterrupt:\n"
        "    try:\n"
        "        os.waitpid(-1, os.WNOHANG)\n"
        "    except ChildProcessError:\n"
        "        print(json.dumps(time.monotonic() - start < 10))"
    )
    # the two helpers have two of the parts, so that the third one is ours
    assert done is True


def test_helpers_end_when_their_parent_is_gone() -> None:
    code = (
        "import os, signal, sys, time\n"
        "from vinstall.forks import share_work\n"
        "main = os.getpid()\n"
        "def work(number):\n"
        "    os.write(1, b'x')\n"
        "    if os.getpid() == main: os.kill(main, signal.SIGKILL)\n"
        "    time.sleep(0.2)\n"
        "share_work(work, list(range(100)), 2, lambda: time.sleep(0.05))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=15)
    # communicate() comes back when the helper has closed stdout, too
    assert 1 <= len(done.stdout) <= 4


def test_who_can_not_fork_does_it_alone() -> None:
    done = run(
        "def refuse():\n"
        "    raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "os.fork = refuse\n"
        "before = len(os.listdir('/proc/self/fd'))\n"
        "found = share_work(lambda number: number, [1, 2, 3], 3)\n"
        "after = len(os.listdir('/proc/self/fd'))\n"
        "print(json.dumps([sorted(found), after - before]))"
    )
    assert done == [[1, 2, 3], 0]


def test_nobody_has_to_be_waited_for() -> None:
    done = run(
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "found = share_work(lambda number: number, list(range(50)), 3)\n"
        "print(json.dumps(sorted(found)))"
    )
    assert done == list(range(50))


def test_very_many_parts() -> None:
    done = run("print(json.dumps(len(share_work(lambda number: [], list(range(60000)), 3))))")
    assert done == 60000


def test_nothing_is_forked_beside_threads() -> None:
    assert run("print(json.dumps(can_fork()))") is True
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        stop.set()
        thread.join()
