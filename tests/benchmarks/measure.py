"""Runs commands in turn and counts: wall time, CPU time, memory, and what else ran."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.benchmarks.tools import Tool


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    Attributes:
        name: As the command line calls it.
        title: As the table calls it.
        requirements: What is installed; empty only asks for the version.
        index: ``plain`` or ``padded``.
        warm: Whether the cache has everything.
        dry_run: Whether it ends when the decision is made.
        satisfied: Whether everything is installed already.
        bytecode: Whether bytecode is compiled.
        alone: Whether dependencies are left out.
    """

    name: str
    title: str
    requirements: tuple[str, ...] = ()
    index: str = "plain"
    warm: bool = False
    dry_run: bool = False
    satisfied: bool = False
    bytecode: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Run:
    """One run of one tool: seconds, bytes."""

    wall: float
    cpu: float
    memory: int
    others: float


@dataclass
class Result:
    """All runs of one scenario."""

    scenario: Scenario
    runs: dict[str, list[Run]]
    failures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)

    def middle(self, tool: str, what: str = "wall") -> float | None:
        """The median of a figure."""
        runs = self.runs.get(tool)
        return median(float(getattr(run, what)) for run in runs) if runs else None

    def ratio(self, tool: str, what: str = "wall") -> float | None:
        """The median of the ratios to vinstall, pair by pair."""
        own, theirs = self.runs.get("vinstall"), self.runs.get(tool)
        if not own or not theirs:
            return None
        return median(
            float(getattr(a, what)) / max(float(getattr(b, what)), 1e-3)
            for a, b in zip(own, theirs, strict=False)
        )


class Bench:
    """Measures scenarios with some tools.

    Args:
        folder: Where environments and caches are made; on one file system.
        address: Of the index.
        tools: What to measure, in the order of the first round.
        runs: How often.
    """

    def __init__(self, folder: Path, address: str, tools: Sequence[Tool], runs: int) -> None:
        self.folder = folder
        self.address = address
        self.tools = tools
        self.runs = runs
        self._template = folder / "template"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = [sys.executable, "-m", "venv", "--without-pip", str(self._template)]
        subprocess.run(command, check=True)

    def measure(self, scenario: Scenario) -> Result:
        """Run a scenario with every tool in turn; the order is reversed each round."""
        result = Result(scenario, {tool.name: [] for tool in self.tools})
        print(f"{scenario.title}:", end=" ", file=sys.stderr, flush=True)
        for tool in self.tools:
            self._prepare(scenario, tool)
        for number in range(self.runs):
            for tool in self.tools if number % 2 == 0 else self.tools[::-1]:
                run = self._measure_one(scenario, tool, result)
                if run is not None:
                    result.runs[tool.name].append(run)
            print(".", end="", file=sys.stderr, flush=True)
        print(
            " "
            + ", ".join(
                f"{tool.name} {result.middle(tool.name) or 0:.3f} s"
                f" (CPU {result.middle(tool.name, 'cpu') or 0:.3f},"
                f" {(result.middle(tool.name, 'memory') or 0) / 2**20:.0f} MiB)"
                for tool in self.tools
            ),
            file=sys.stderr,
        )
        for failure in result.failures:
            print(failure, file=sys.stderr)
        return result

    def table(self, results: Sequence[Result]) -> str:
        """The medians and ratios, as a Markdown table."""
        names = [tool.name for tool in self.tools]
        others = [name for name in names if name != "vinstall"]
        heads = ["scenario", *(f"{name}, s (CPU)" for name in names)]
        heads += [f"of {name} (CPU)" for name in others] + ["memory, MiB", "other CPU"]
        rows = []
        for result in results:
            row = [result.scenario.title]
            row += [_pair(result.middle(name), result.middle(name, "cpu"), 3) for name in names]
            row += [_pair(result.ratio(name), result.ratio(name, "cpu"), 2) for name in others]
            memory = result.middle("vinstall", "memory")
            busy = [run.others for runs in result.runs.values() for run in runs]
            row.append(f"{memory / 2**20:.0f}" if memory else "")
            row.append(f"{median(busy):.0%}" if busy else "")
            rows.append(row)
        lines = [heads, ["---"] * len(heads), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def run_once(self, command: Sequence[str], tool: Tool, log: Path) -> tuple[Run, int]:
        """Run one command and count."""
        busy, start = _busy_seconds(), time.perf_counter()
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                env=dict(tool.variables),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        others = max(_busy_seconds() - busy - cpu, 0.0) / wall if busy else 0.0
        unit = 1 if sys.platform == "darwin" else 1024
        return Run(wall, cpu, usage.ru_maxrss * unit, others), process.returncode

    def make_environment(self, name: str) -> Path:
        """A fresh environment without anything in it."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._template, folder, symlinks=True)
        return folder

    def _prepare(self, scenario: Scenario, tool: Tool) -> None:
        """Let a tool run once unmeasured: bytecode of its own, its cache, an environment."""
        cache = self.folder / f"{tool.name}-cache"
        shutil.rmtree(cache, ignore_errors=True)
        if not scenario.requirements:
            self.run_once(tool.version(), tool, self.folder / "log.txt")
            return
        environment = self.make_environment(f"{tool.name}-environment")
        command = self._command(scenario, tool, environment, cache)
        self.run_once(command, tool, self.folder / f"{tool.name}-log.txt")
        if scenario.satisfied:
            self.run_once(command, tool, self.folder / f"{tool.name}-log.txt")

    def _command(self, scenario: Scenario, tool: Tool, environment: Path, cache: Path) -> list[str]:
        return tool.install(
            environment,
            cache,
            f"{self.address}/{scenario.index}/",
            scenario.requirements,
            dry_run=scenario.dry_run,
            compile_=scenario.bytecode,
            alone=scenario.alone,
        )

    def _measure_one(self, scenario: Scenario, tool: Tool, result: Result) -> Run | None:
        log = self.folder / f"{tool.name}-log.txt"
        if not scenario.requirements:
            command = tool.version()
        else:
            environment = self.folder / f"{tool.name}-environment"
            cache = self.folder / f"{tool.name}-cache"
            if not scenario.satisfied:
                self.make_environment(environment.name)
            if not scenario.warm and not scenario.satisfied:
                shutil.rmtree(cache, ignore_errors=True)
            command = self._command(scenario, tool, environment, cache)
        os.sync()
        run, status = self.run_once(command, tool, log)
        if status:
            text = log.read_text("utf-8", "replace")[-2000:]
            result.failures.append(f"{scenario.name}: {tool.name} ended with {status}:\n{text}")
            return None
        return run


def describe_machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": os.getloadavg(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _busy_seconds() -> float:
    """CPU time that all processes have used; 0 where the system does not say."""
    try:
        with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
            fields = [int(part) for part in file.readline().split()[1:9]]
    except OSError:
        return 0.0
    user, nice, system, _, _, interrupts, soft, steal = fields
    return (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")


def _pair(wall: float | None, cpu: float | None, digits: int) -> str:
    if wall is None or cpu is None:
        return ""
    return f"{wall:.{digits}f} ({cpu:.{digits}f})"
