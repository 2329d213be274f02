"""Kill, crowd and starve installers, and look at what they leave: ``python -m tests.torture``.

A table tells for vinstall, pip and uv how often an environment was not valid in the end. The
status is 1 where that happened to vinstall even once. Everything is drawn from ``--seed``,
but a kill comes when the clock says, so that two runs are alike and not equal.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.index import SimpleIndex
from tests.torture.crowd import run_one_cache, run_one_environment
from tests.torture.disk import run_full_disk, run_small_files
from tests.torture.kills import run_kills
from tests.torture.world import Bench, make_wheels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.torture.kills import Tally

PARTS = ("kill", "one-environment", "one-cache", "file-size", "full-disk")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the torture; 1 where vinstall left an environment that is not valid."""
    options = _parse(argv)
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    rows: list[tuple[str, str, Tally | None, float]] = []
    try:
        with SimpleIndex() as index:
            index.add(*make_wheels(options.files))
            for tool in options.tools:
                for part in options.parts:
                    bench = Bench(tool, folder / f"{tool}-{part}", index.simple_url)
                    bench.folder.mkdir()
                    begun = time.perf_counter()
                    tally = _road(part, bench, options)(random.Random(options.seed))
                    rows.append((part, tool, tally, time.perf_counter() - begun))
                    print(_row(*rows[-1]), file=sys.stderr, flush=True)
                    shutil.rmtree(bench.folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _tell(rows, options.seed)
    return int(any(tool == "vinstall" and tally and tally.invalid for _, tool, tally, _ in rows))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="commands killed, each tool")
    parser.add_argument("--processes", type=int, default=20, help="processes at once")
    parser.add_argument("--full", type=int, default=60, help="commands on full disks, each kind")
    parser.add_argument("--files", type=int, default=60, help="modules in a wheel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tools", nargs="+", default=["vinstall", "pip", "uv"])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    return parser.parse_args(argv)


def _road(
    part: str, bench: Bench, options: argparse.Namespace
) -> Callable[[random.Random], Tally | None]:
    return {
        "kill": lambda chance: run_kills(bench, options.kills, chance),
        "one-environment": lambda chance: run_one_environment(bench, options.processes, chance),
        "one-cache": lambda chance: run_one_cache(bench, options.processes, chance),
        "file-size": lambda chance: run_small_files(bench, options.full, chance),
        "full-disk": lambda chance: run_full_disk(bench, options.full, chance),
    }[part]


def _row(part: str, tool: str, tally: Tally | None, seconds: float) -> str:
    if tally is None:
        return f"{part:16}{tool:10}  no file system could be mounted"
    numbers = (
        tally.trials,
        tally.hit,
        tally.changing,
        tally.invalid,
        tally.failed,
        tally.mixed,
        round(seconds),
    )
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(tally.kinds.items()))
    return f"{part:16}{tool:10}" + "".join(f"{number:>9}" for number in numbers) + f"  {kinds}"


def _tell(rows: Sequence[tuple[str, str, Tally | None, float]], seed: int) -> None:
    heads = ("trials", "stopped", "changing", "invalid", "failed", "mixed", "seconds")
    print(f"seed {seed}")
    print(f"{'part':16}{'tool':10}" + "".join(f"{head:>9}" for head in heads) + "  faults")
    for row in sorted(rows, key=lambda row: PARTS.index(row[0])):
        print(_row(*row))
    for part, tool, tally, _ in rows:
        for example in tally.examples[: 40 if tool == "vinstall" else 3] if tally else ():
            print(f"{part} {tool}: {example}")


if __name__ == "__main__":
    raise SystemExit(main())
