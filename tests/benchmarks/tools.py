"""The installers, each as a function from what to install to a command line."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Tool:
    """One installer.

    Attributes:
        name: How the table calls it.
        command: The program and what comes before the arguments.
        variables: The environment variables of its runs; nothing else is set.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)

    def install(
        self,
        environment: Path,
        cache: Path,
        index: str,
        requirements: Sequence[str],
        *,
        dry_run: bool = False,
        compile_: bool = False,
        alone: bool = False,
    ) -> list[str]:
        """The command that installs requirements into an environment."""
        python = str(environment / "bin" / "python")
        dry = ["--dry-run"] if dry_run else []
        dry += ["--no-deps"] if alone else []
        if self.name == "uv":
            command = [*self.command, "pip", "install", "--python", python]
            command += ["--default-index", index, "--cache-dir", str(cache), *dry]
            command += ["--compile-bytecode"] if compile_ else []
        elif self.name == "pip":
            command = [*self.command, "--python", python, "install", "--index-url", index]
            command += ["--cache-dir", str(cache), "--disable-pip-version-check", *dry]
            command += [] if compile_ else ["--no-compile"]
        else:
            command = [*self.command, "install", "--python", python, "--index-url", index]
            command += ["--cache-dir", str(cache), *dry]
            command += ["--compile"] if compile_ else ["--no-compile"]
        return [*command, *requirements]

    def version(self) -> list[str]:
        """The command that tells its version."""
        return [*self.command, "--version"]


def make_tools(
    names: Sequence[str], folder: Path, vinstall: str | None, uv: str | None
) -> list[Tool]:
    """The tools that are there; vinstall first."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    variables = {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_CONFIG_FILE": os.devnull,  # and no settings of this machine
        "UV_NO_CONFIG": "1",
    }
    beside = Path(sys.executable).parent
    tools = []
    for name in names:
        if name == "vinstall":
            command = (vinstall,) if vinstall else (sys.executable, "-m", "vinstall")
            more = {} if vinstall else {"PYTHONPATH": str(ROOT)}
            tools.append(Tool(name, command, {**variables, **more}))
        elif name == "uv":
            found = uv or shutil.which("uv", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
            if found is None:
                print("uv is missing: pip install uv", file=sys.stderr)
                continue
            tools.append(Tool(name, (found,), variables))
        else:
            tools.append(Tool(name, (sys.executable, "-m", "pip"), variables))
    return tools
