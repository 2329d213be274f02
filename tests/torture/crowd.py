"""Many processes at once: on one environment, and on one cold cache."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from tests.torture.kills import Tally
from tests.torture.validity import find_faults, find_installed
from tests.torture.world import PROJECTS, VERSIONS, finish

if TYPE_CHECKING:
    import random

    from tests.torture.world import Bench


def run_one_environment(bench: Bench, processes: int, chance: random.Random) -> Tally:
    """Install overlapping sets into one environment at once."""
    tally = Tally(trials=1)
    environment = bench.new_environment()
    asked = [chance.sample(PROJECTS, chance.randint(1, 4)) for _ in range(processes)]
    begun = time.perf_counter()
    running = [bench.start(environment, ["install", *names]) for names in asked]
    outcomes = [finish(process, begun) for process in running]
    faults = [f"failed: {one.output[-200:]!r}" for one in outcomes if one.status != 0]
    tally.failed = len(faults)
    wanted = {name for names in asked for name in names}
    missing = wanted - find_installed(environment).keys()
    faults += [f"missing: {name} is not installed" for name in sorted(missing)]
    tally.note(f"{processes} into one environment", faults + find_faults(environment))
    return tally


def run_one_cache(bench: Bench, processes: int, chance: random.Random) -> Tally:
    """Install into as many environments from one cache that is empty in the beginning."""
    tally = Tally(trials=processes)
    shutil.rmtree(bench.folder / "home" / ".cache", ignore_errors=True)
    environments = [bench.new_environment(f"environment-{one}") for one in range(processes)]
    version = chance.choice(VERSIONS)
    words = ["install", *(f"{name}=={version}" for name in PROJECTS)]
    begun = time.perf_counter()
    running = [bench.start(environment, words) for environment in environments]
    outcomes = [finish(process, begun) for process in running]
    for number, (environment, outcome) in enumerate(zip(environments, outcomes, strict=True)):
        faults = find_faults(environment)
        if outcome.status != 0:
            tally.failed += 1
            faults.append(f"failed: {outcome.output[-200:]!r}")
        if len(find_installed(environment)) != len(PROJECTS):
            faults.append(f"missing: {find_installed(environment)}")
        tally.note(f"environment {number}", faults)
        shutil.rmtree(environment.path, ignore_errors=True)
    if bench.tool == "vinstall":
        kept = bench.folder / "home" / ".cache" / "vinstall"
        left = [path.name for path in kept.glob("store-v2/*/.partial-*")]
        left += [path.name for path in kept.glob("work-*")]
        tally.note("cache", [f"leftover: {name}" for name in left])
    return tally
