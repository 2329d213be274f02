"""The small index, the environments and the three installers of the torture."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.support.environments import ROOT, isolated_variables, make_environment
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.wheels import BuiltWheel

Tool = Literal["vinstall", "pip", "uv"]
PROJECTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
NEEDS = {"alpha": ("beta", "gamma"), "delta": ("gamma",), "zeta": ("epsilon", "beta")}
BYSTANDER = "bystander"
VERSIONS = ("1.0", "2.0")


def make_wheels(files: int) -> list[BuiltWheel]:
    """Make two releases of each project.

    The second one of a project has files that the first has not, lacks some, and has other
    bytes in the rest; all share one namespace folder, and each has a script and data.

    Args:
        files: How many modules a release has.
    """
    made = [make_wheel(BYSTANDER)]
    for project in PROJECTS:
        for number, version in enumerate(VERSIONS):
            start = number * files // 4
            modules = {
                f"{project}/part{index % 7}/m{index}.py": f"VALUE = '{project} {version}'\n" * 20
                for index in range(start, start + files)
            }
            made.append(
                make_wheel(
                    project,
                    version,
                    files={
                        **modules,
                        f"{project}/__init__.py": f"VERSION = '{version}'\n",
                        f"shared/{project}.py": f"VERSION = '{version}'\n",
                        f"{project}/big.bin": version.encode() * (20_000 * (number + 1)),
                    },
                    entry_points={"console_scripts": [f"{project} = {project}:main"]},
                    data={
                        f"scripts/{project}-{version}.sh": "#!/bin/sh\n",
                        f"purelib/{project}_more.py": f"VERSION = '{version}'\n",
                    },
                    requires_dist=[f"{need}=={version}" for need in NEEDS.get(project, ())],
                )
            )
    return made


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        status: Exit status; negative for a signal.
        seconds: How long it ran.
        output: What it said on both streams.
    """

    status: int
    seconds: float
    output: str


@dataclass(frozen=True, slots=True)
class Bench:
    """A tool with a folder of its own.

    Attributes:
        tool: Which installer.
        folder: Everything it writes lies in here.
        index_url: The simple API.
    """

    tool: Tool
    folder: Path
    index_url: str

    def new_environment(self, name: str = "environment") -> Environment:
        """Make an empty environment, in place of one that may be there."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return make_environment(path, self.folder / "home")

    def command(self, environment: Environment, words: Sequence[str]) -> list[str]:
        """Give the command line for ``install`` or ``uninstall`` and what follows it."""
        action, *rest = words
        index = [] if action == "uninstall" else ["--index-url", self.index_url]
        python = str(environment.python)
        if self.tool == "uv":
            uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or "uv"  # noqa: PTH120
            return [uv, "pip", action, "--python", python, *index, *rest]
        yes = ["--yes"] if action == "uninstall" else []
        if self.tool == "pip" and action == "install":
            yes = ["--no-compile"]
        return [sys.executable, "-m", self.tool, "--python", python, action, *yes, *index, *rest]

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        """Give the whole environment of a command."""
        return {
            **isolated_variables(self.folder / "home"),
            "PYTHONPATH": str(ROOT),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            **more,
        }

    def start(
        self,
        environment: Environment,
        words: Sequence[str],
        *,
        before: Callable[[], None] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a command as the leader of a process group of its own.

        Args:
            environment: What to change.
            words: ``install`` or ``uninstall`` and what follows it.
            before: Called in the new process before the command.
            variables: More environment variables.
        """
        work = self.folder / "home" / "work"
        work.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            self.command(environment, words),
            env=self.variables(variables or {}),
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before,
        )

    def run(
        self,
        environment: Environment,
        words: Sequence[str],
        *,
        before: Callable[[], None] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Run a command to its end; see ``start``."""
        begun = time.perf_counter()
        process = self.start(environment, words, before=before, variables=variables)
        return finish(process, begun)


def finish(process: subprocess.Popen[bytes], begun: float) -> Outcome:
    """Wait for a command; it is killed after two minutes."""
    try:
        output, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        kill(process)
        output, _ = process.communicate()
    text = output.decode("utf-8", "replace")
    return Outcome(process.returncode, time.perf_counter() - begun, text)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to a command and to what it started."""
    # the leader is not waited for yet, so that its number can not be that of another group
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
