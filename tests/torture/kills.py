"""Commands that are killed at random moments, and what the next command makes of it."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.torture.validity import find_faults, find_installed
from tests.torture.world import BYSTANDER, PROJECTS, VERSIONS, finish, kill

if TYPE_CHECKING:
    import random
    import subprocess

    from tests.support.environments import Environment
    from tests.torture.world import Bench


@dataclass
class Tally:
    """What came of many trials.

    Attributes:
        trials: How many there were.
        hit: In how many the command was stopped before its end.
        changing: In how many of those the environment had begun to change.
        invalid: In how many the environment was not valid in the end.
        failed: In how many the command after the kill failed.
        mixed: In how many the environment was neither as before nor as wanted.
        kinds: Kind of fault → in how many trials it was seen.
        examples: Some of the faults, with the trial.
    """

    trials: int = 0
    hit: int = 0
    changing: int = 0
    invalid: int = 0
    failed: int = 0
    mixed: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def note(self, trial: str, faults: list[str]) -> None:
        """Count the faults of one trial."""
        if not faults:
            return
        self.invalid += 1
        for kind in {fault.partition(":")[0] for fault in faults}:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if len(self.examples) < 40:
            more = f" and {len(faults) - 4} more" if len(faults) > 4 else ""
            self.examples.append(f"{trial}: {'; '.join(faults[:4])}{more}")


def choose_words(chance: random.Random, environment: Environment) -> list[str]:
    """Choose an install, an upgrade, a downgrade or an uninstall that has something to do."""
    installed = [name for name in find_installed(environment) if name != BYSTANDER]
    if installed and chance.random() < 0.35:
        return ["uninstall", *chance.sample(installed, chance.randint(1, min(3, len(installed))))]
    version = chance.choice(VERSIONS)
    names = chance.sample(PROJECTS, chance.randint(1, 3))
    return ["install", *(f"{name}=={version}" for name in names)]


def run_kills(bench: Bench, count: int, chance: random.Random) -> Tally:
    """Kill ``count`` commands; after each run one more, and look at the environment.

    Half of the kills come at any moment of the command, half after the environment began to
    change. The command after it is the same one, or installs something else.
    """
    tally = Tally()
    environment = bench.new_environment()
    whole, changing = _measure(bench, environment)
    while tally.hit < count and tally.trials < 4 * count:
        tally.trials += 1
        if tally.trials % 50 == 0:
            print(f"{tally.hit} of {count} killed", file=sys.stderr, flush=True)
        words = choose_words(chance, environment)
        before = find_installed(environment)
        late = chance.random() < 0.5
        delay = chance.uniform(0, changing if late else whole)
        if not _run_and_kill(bench, environment, words, delay, late, tally):
            if faults := find_faults(environment):
                tally.note(f"{tally.trials} {' '.join(words)} (not killed)", faults)
                environment = bench.new_environment()
            continue
        again = chance.random() < 0.5
        following = words if again else ["install", BYSTANDER]
        result = bench.run(environment, following)
        trial = f"{tally.trials} {' '.join(words)} killed, then {' '.join(following)}"
        faults = find_faults(environment)
        if result.status != 0:
            tally.failed += 1
            faults.append(f"failed: status {result.status}, {result.output[-300:]!r}")
        after = find_installed(environment)
        if not again and not _is_one_of_both(words, before, after):
            tally.mixed += 1
            faults.append(f"mixed: {before} became {after}")
        tally.note(trial, faults)
        if faults:
            environment = bench.new_environment()
    return tally


def _is_one_of_both(words: list[str], before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether everything that the command was to change is changed, or nothing is."""
    before = {name: version for name, version in before.items() if name != BYSTANDER}
    after = {name: version for name, version in after.items() if name != BYSTANDER}
    if before == after:
        return True
    if words[0] == "uninstall":
        return after == {name: one for name, one in before.items() if name not in words}
    return all(after.get(name) == version for name, _, version in _pairs(words[1:]))


def _pairs(words: list[str]) -> list[tuple[str, str, str]]:
    return [word.partition("==") for word in words]


def _measure(bench: Bench, environment: Environment) -> tuple[float, float]:
    """Seconds that a whole command takes, and that it changes the environment for."""
    bench.run(environment, ["install", "alpha==1.0"])
    wholes, parts = [], []
    for version in ("2.0", "1.0", "2.0"):
        mark = _mark(environment)
        begun = time.perf_counter()
        process = bench.start(environment, ["install", f"alpha=={version}"])
        while process.poll() is None and _mark(environment) == mark:
            time.sleep(0.0005)
        changed = time.perf_counter()
        finish(process, begun)
        wholes.append(time.perf_counter() - begun)
        parts.append(time.perf_counter() - changed)
    return min(wholes), min(parts)


def _run_and_kill(
    bench: Bench,
    environment: Environment,
    words: list[str],
    delay: float,
    late: bool,
    tally: Tally,
) -> bool:
    mark = _mark(environment)
    begun = time.perf_counter()
    process = bench.start(environment, words)
    if late:
        _wait_for_change(process, environment, mark)
    time.sleep(delay)
    hit = process.poll() is None
    kill(process)
    finish(process, begun)
    if not hit:
        return False
    tally.hit += 1
    if _mark(environment) != mark:
        tally.changing += 1
    return True


def _wait_for_change(
    process: subprocess.Popen[bytes], environment: Environment, mark: tuple[int, ...]
) -> None:
    end = time.perf_counter() + 60
    while process.poll() is None and _mark(environment) == mark and time.perf_counter() < end:
        time.sleep(0.0005)


def _mark(environment: Environment) -> tuple[int, ...]:
    """Something that changes as soon as a file comes or goes at the top of the environment."""
    folders = (environment.site_packages, environment.scripts)
    try:
        return tuple(os.stat(folder).st_mtime_ns for folder in folders)  # noqa: PTH116
    except FileNotFoundError:
        return ()
