"""``python -m tests.benchmarks``: vinstall beside uv and pip, on one index, in turn.

Wheels come once from PyPI into a cache folder; from there nginx serves them on loopback,
so that a run needs no network. What a tool finds when its clock starts (an environment, a
cache) is made before. See ``docs/performance.md`` for how to read the table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from tests.benchmarks.growth import GROWTH, measure_growth
from tests.benchmarks.index_folder import fetch_wheels, make_index
from tests.benchmarks.measure import Bench, describe_machine
from tests.benchmarks.nginx import find_nginx, serve
from tests.benchmarks.scenarios import LARGE_WHEEL, MEDIUM, SCENARIOS
from tests.benchmarks.tools import make_tools


def main() -> int:
    """Measure what the arguments name; 0 when every command ended well."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("only", nargs="*", help="scenarios or growth kinds; all by default")
    parser.add_argument("--runs", type=int, default=7, help="interleaved runs of each")
    parser.add_argument("--folder", type=Path, default=_default_folder(), help="wheels and work")
    parser.add_argument("--wheels", type=Path, help="a folder with wheels; nothing is fetched")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--vinstall", help="the command; this checkout by default")
    parser.add_argument("--uv", help="the command; found beside this Python or on PATH")
    parser.add_argument("--tools", default="vinstall,uv,pip", help="which to measure")
    parser.add_argument("--list", action="store_true", help="name what can be measured")
    options = parser.parse_args()
    names = [*SCENARIOS, *GROWTH]
    if options.list:
        print("\n".join(names))
        return 0
    wrong = [name for name in options.only if name not in names]
    if wrong:
        parser.error(f"unknown: {', '.join(wrong)}; there are {', '.join(names)}")
    wanted = options.only or names
    nginx = find_nginx()
    if nginx is None:
        print(
            "nginx is missing; no other server is fast enough to compare installers. Install\n"
            "it from the packages of the system (apt-get install nginx-light).",
            file=sys.stderr,
        )
        return 1
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and nginx ends, too
    folder = options.folder.absolute()
    wheels = options.wheels or folder / "files"
    if options.wheels is None:
        fetch_wheels(wheels, (*MEDIUM, LARGE_WHEEL))
    make_index(folder / "served", wheels)
    tools = make_tools(options.tools.split(","), folder, options.vinstall, options.uv)
    document: dict[str, object] = {"machine": describe_machine(), "runs": options.runs}
    with serve(nginx, folder / "served") as address:
        bench = Bench(folder / "work", address, tools, options.runs)
        results = [bench.measure(SCENARIOS[name]) for name in wanted if name in SCENARIOS]
        grown = [measure_growth(bench, name) for name in wanted if name in GROWTH]
    document["scenarios"] = [result.to_json() for result in results]
    document["growth"] = grown
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print()
    print(bench.table(results))
    return 1 if any(result.failures for result in results) else 0


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "vinstall-benchmarks")


if __name__ == "__main__":
    sys.exit(main())
