"""Many files in a new place: processes share the placing, and all or nothing still holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import isolated_variables
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel

ROOT = Path(__file__).resolve().parents[2]
COUNT = 1500  # enough for several processes

CHILD = """
import os, signal, sys, time
from vinstall.cli.main import main
from vinstall.install import trees

main_process, place = os.getpid(), trees._place_folder

def slow(part, folder, placer, checkpoint):
    time.sleep(0.05)
    if sys.argv[1] == "helper" and os.getpid() != main_process:
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "parent" and os.getpid() == main_process:
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "full" and os.getpid() != main_process:
        raise OSError(28, "No space left on device", "somewhere")
    return place(part, folder, placer, checkpoint)

trees._place_folder = slow
trees.os.cpu_count = lambda: 3
sys.exit(main(sys.argv[2:]))
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux forks")


def large() -> BuiltWheel:
    files = {f"large/p{number % 30}/m{number}.py": f"X = {number}\n" for number in range(COUNT)}
    return make_wheel("large", files=files)


def is_whole(environment: Environment) -> bool:
    """Whether everything is what RECORD says."""
    return "No broken" in environment.vinstall("check", "--repair", "--no-index").check().stdout


def start(environment: Environment, how: str, *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how, "--python", environment.python, *words],
        env={**isolated_variables(environment.home), "PYTHONPATH": str(ROOT)},
        cwd=environment.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def options(index: SimpleIndex, environment: Environment) -> tuple[str, ...]:
    """Options that find the wheel; something is installed already."""
    index.add(large(), make_wheel("small"))
    found = ("--index-url", index.simple_url)
    environment.vinstall("install", *found, "small").check()
    return found


def test_everything_is_placed_by_several(
    environment: Environment, options: tuple[str, ...]
) -> None:
    child = start(environment, "well", "install", *options, "large")
    _, told = child.communicate(timeout=60)
    assert child.returncode == 0, told
    modules = list((environment.site_packages / "large").rglob("*.py"))
    assert sorted(int(path.stem[1:]) for path in modules) == list(range(COUNT))
    record = (environment.dist_info("large") / "RECORD").read_text().splitlines()
    assert record[:-1] == sorted(record[:-1], key=lambda line: line.partition(",")[0])
    assert sum(line.startswith("large/p") for line in record) == COUNT
    assert is_whole(environment)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("helper", "a process that helped was ended"),
        ("full", "somewhere: No space left on device"),
    ],
)
def test_a_helper_that_fails_undoes_everything(
    environment: Environment, options: tuple[str, ...], how: str, words: str
) -> None:
    before = environment.snapshot()
    child = start(environment, how, "install", *options, "large")
    _, told = child.communicate(timeout=60)
    assert child.returncode == 1, told
    assert words in told
    assert environment.snapshot() == before


def test_the_next_command_after_a_kill(environment: Environment, options: tuple[str, ...]) -> None:
    before = environment.snapshot()
    child = start(environment, "parent", "install", *options, "large")
    child.wait(timeout=60)  # its helpers may be at work still: the next command waits for them
    assert child.returncode == -signal.SIGKILL
    result = environment.vinstall("install", "--no-index", "large")
    assert "An earlier command was interrupted while it changed large" in result.stderr
    assert environment.snapshot() == before
    child.communicate(timeout=10)
    assert environment.snapshot() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("to_all", [True, False])
def test_a_signal_while_several_place(
    environment: Environment, options: tuple[str, ...], number: signal.Signals, to_all: bool
) -> None:
    before = environment.snapshot()
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
            "os.execv(sys.argv[1], sys.argv[1:])",
            sys.executable,
            "-c",
            CHILD,
            "well",
            "--python",
            environment.python,
            "install",
            *options,
            "large",
        ],
        env={**isolated_variables(environment.home), "PYTHONPATH": str(ROOT)},
        cwd=environment.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    place = environment.site_packages / "large"
    end = time.monotonic() + 30
    while not place.exists() and time.monotonic() < end and child.poll() is None:
        time.sleep(0.005)
    if to_all:
        os.killpg(child.pid, number)
    else:
        child.send_signal(number)
    _, told = child.communicate(timeout=30)
    assert child.returncode == 1, told
    assert "the environment is as it was before" in told
    assert environment.snapshot() == before


def test_what_was_altered_in_the_cache_is_fetched_again(
    environment: Environment, options: tuple[str, ...]
) -> None:
    words = ("install", *options, "large")
    environment.vinstall(*words).check()
    environment.vinstall("uninstall", "--yes", "large").check()
    (stored,) = environment.home.rglob("store-v2/*/*/files/large/p7/m37.py")
    stored.write_text("X = 'altered'\n")
    environment.vinstall(*words).check()
    assert (environment.site_packages / "large/p7/m37.py").read_text() == "X = 37\n"
    assert is_whole(environment)
    assert "removed: 0" in environment.vinstall("cache", "check", target=False).check().stdout
