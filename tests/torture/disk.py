"""Disks that fill while something is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.kills import Tally, choose_words
from tests.torture.validity import find_faults
from tests.torture.world import Bench

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from tests.support.environments import Environment
    from tests.torture.world import Outcome


def run_small_files(bench: Bench, count: int, chance: random.Random) -> Tally:
    """Let no file grow over a random size (``RLIMIT_FSIZE``), with a cold cache."""
    import resource

    tally = Tally()
    environment = bench.new_environment()
    bench.run(environment, ["install", "alpha==1.0"])
    for _ in range(count):
        words = choose_words(chance, environment)
        limit = int(2 ** chance.uniform(8, 18))

        def before(size: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        shutil.rmtree(bench.folder / "home" / ".cache", ignore_errors=True)
        environment = _judge(
            bench,
            environment,
            f"{' '.join(words)} with files of {limit} bytes",
            bench.run(environment, words, before=before),
            tally,
        )
    return tally


def run_full_disk(bench: Bench, count: int, chance: random.Random) -> Tally | None:
    """Leave random room on the file system of the environment, of the cache, or of both.

    Returns:
        What came of it; None where no file system can be mounted.
    """
    tally = Tally()
    with _small_file_system(bench.folder, 16) as place:
        if place is None:
            return None
        for trial in range(count):
            environment = bench.new_environment()
            small = Bench(bench.tool, place, bench.index_url)
            where = ("environment", "cache", "both")[trial % 3]
            variables: dict[str, str] = {}
            if where != "cache":
                environment = small.new_environment()
            if where != "environment":
                variables["XDG_CACHE_HOME"] = str(place / "cache")
            bench.run(environment, ["install", "alpha==1.0"], variables=variables)
            words = choose_words(chance, environment)
            room = int(2 ** chance.uniform(10, 21))
            _fill(place, room)
            outcome = bench.run(environment, words, variables=variables)
            (place / "filler").unlink()
            _judge(bench, environment, f"{words} with {room} bytes ({where})", outcome, tally)
            for path in place.iterdir():
                shutil.rmtree(path, ignore_errors=True)
    return tally


def _judge(
    bench: Bench, environment: Environment, trial: str, outcome: Outcome, tally: Tally
) -> Environment:
    tally.trials += 1
    faults = find_faults(environment)
    if outcome.status != 0:
        tally.hit += 1
    if outcome.status not in (0, 1) or "Traceback" in outcome.output:
        tally.failed += 1
        if bench.tool == "vinstall":
            faults.append(f"failed: status {outcome.status}, {outcome.output[-300:]!r}")
    tally.note(trial, faults)
    return bench.new_environment() if faults else environment


def _fill(place: Path, room: int) -> None:
    free = os.statvfs(place)
    size = max(free.f_bavail * free.f_frsize - room, 0)
    with (place / "filler").open("wb") as file:
        for _ in range(size // 65536):
            file.write(bytes(65536))


@contextmanager
def _small_file_system(beside: Path, megabytes: int) -> Iterator[Path | None]:
    place = Path(tempfile.mkdtemp(prefix="small-", dir=beside))
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(place)]
    try:
        done = subprocess.run(["mount", *options], capture_output=True, check=False)
        mounted = done.returncode == 0
    except OSError:
        mounted = False
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)
        place.rmdir()
