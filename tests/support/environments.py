"""Virtual environments made in a moment, and commands run in isolation.

A command gets a home of its own and an environment built from nothing: no ``PIP_*``, no
``VINSTALL_*``, no proxies, no tokens, no hardware override of the person who runs the tests.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

_PASSED_ON = ("PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TMPDIR", "TEMP", "TMP", "WINDIR")


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended.

    Attributes:
        arguments: The whole command line.
        returncode: Exit status.
        stdout: Text of standard output.
        stderr: Text of standard error.
    """

    arguments: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def check(self, returncode: int = 0) -> Result:
        """Fail with the whole output unless the status is the one expected; give itself."""
        assert self.returncode == returncode, str(self)
        assert "Traceback (most recent call last)" not in self.stderr, str(self)
        return self

    def json(self) -> Any:
        """Give standard output, read as JSON."""
        return json.loads(self.stdout)

    def __str__(self) -> str:
        return (
            f"{' '.join(self.arguments)}\nended with {self.returncode}\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )


def isolated_variables(home: Path) -> dict[str, str]:
    """Give the whole environment of an isolated command.

    Args:
        home: Home folder; configuration, cache, data and state folders lie in it.
    """
    variables = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    variables.update(home_variables(home))
    variables.update(
        {
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        }
    )
    return variables


def home_variables(home: Path) -> dict[str, str]:
    """Give the variables that say where a person's files are; the folders need not exist."""
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "APPDATA": str(home / "appdata"),
        "LOCALAPPDATA": str(home / "localappdata"),
        "PROGRAMDATA": str(home / "programdata"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CONFIG_DIRS": str(home / "xdg"),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "NETRC": str(home / ".netrc"),
    }


def run_command(
    arguments: Sequence[str | Path],
    *,
    variables: Mapping[str, str],
    cwd: Path | None = None,
    stdin: str | None = None,
    timeout: float = 120.0,
) -> Result:
    """Run a command to its end.

    Args:
        arguments: Program and arguments.
        variables: Its whole environment.
        cwd: Where it runs; by default where the tests run.
        stdin: Text for standard input; None is an empty one.
        timeout: Seconds, after which it is killed.

    Raises:
        subprocess.TimeoutExpired: It took too long.
    """
    command = tuple(str(argument) for argument in arguments)
    done = subprocess.run(
        command,
        env=dict(variables),
        cwd=cwd,
        input=stdin or "",
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    return Result(command, done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment to install into, with a home for the commands that do so.

    Attributes:
        path: Folder of the environment.
        home: Home folder of the commands.
        python: Its interpreter.
        scripts: ``bin``, or ``Scripts`` on Windows.
        site_packages: Its ``purelib``.
        variables: More variables for every command.
    """

    path: Path
    home: Path
    python: Path
    scripts: Path
    site_packages: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *arguments: str | Path,
        tool: Literal["vinstall", "pip"] = "vinstall",
        variables: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str | None = None,
        timeout: float = 120.0,
        target: bool = True,
    ) -> Result:
        """Run vinstall, or pip, for this environment, with the tests' own interpreter.

        Args:
            *arguments: What follows the program's name.
            tool: ``vinstall`` from the checkout, or ``pip`` as installed beside the tests.
            variables: More variables for this command.
            cwd: Where it runs; by default an empty folder in the home.
            stdin: Text for standard input.
            timeout: Seconds.
            target: Whether to add ``--python`` with this environment's interpreter.
        """
        command: list[str | Path] = [sys.executable, "-m", tool]
        if target:
            command += ["--python", self.python]
        command += arguments
        whole = {
            **isolated_variables(self.home),
            "PYTHONPATH": str(ROOT),
            **({"PIP_DISABLE_PIP_VERSION_CHECK": "1"} if tool == "pip" else {}),
            **self.variables,
            **(variables or {}),
        }
        folder = cwd or self.home / "work"
        folder.mkdir(parents=True, exist_ok=True)
        return run_command(command, variables=whole, cwd=folder, stdin=stdin, timeout=timeout)

    def vinstall(self, *arguments: str | Path, **options: Any) -> Result:
        """Run vinstall for this environment; options as for ``run``."""
        return self.run(*arguments, tool="vinstall", **options)

    def pip(self, *arguments: str | Path, **options: Any) -> Result:
        """Run pip for this environment; options as for ``run``."""
        return self.run(*arguments, tool="pip", **options)

    def run_python(
        self, *arguments: str | Path, variables: Mapping[str, str] | None = None
    ) -> Result:
        """Run the environment's own interpreter: ``run_python("-c", "import sample")``."""
        whole = {**isolated_variables(self.home), **(variables or {})}
        return run_command([self.python, *arguments], variables=whole, cwd=self.home)

    def snapshot(self, ignore: Sequence[str] = ()) -> dict[str, str]:
        """Give all files of the environment with their digests; see ``snapshot``."""
        return snapshot(self.path, ignore)

    def installed(self) -> dict[str, str]:
        """Give what is installed: name as in its metadata, and version."""
        found = {}
        for path in self.site_packages.glob("*.dist-info/METADATA"):
            lines = path.read_text(encoding="utf-8").splitlines()
            head = dict(line.split(": ", 1) for line in lines if ": " in line)
            found[head["Name"]] = head["Version"]
        return dict(sorted(found.items()))

    def label(self, module: str) -> str:
        """Give ``VARIANT`` of an installed module that ``make_wheel`` made by default."""
        result = self.run_python("-c", f"import {module}; print({module}.VARIANT)")
        return result.check().stdout.strip()

    def dist_info(self, name: str) -> Path:
        """Give the ``dist-info`` folder of a project, named as in file names.

        Raises:
            AssertionError: There is none, or more than one.
        """
        found = sorted(self.site_packages.glob(f"{name}-*.dist-info"))
        assert len(found) == 1, f"{name}: {[path.name for path in found]}"
        return found[0]


def make_environment(
    path: Path, home: Path, *, python: Path | None = None, **variables: str
) -> Environment:
    """Make a virtual environment without pip.

    Args:
        path: Folder to make.
        home: Home for commands; made where missing.
        python: An interpreter other than that of the tests.
        **variables: More variables for every command.
    """
    home.mkdir(parents=True, exist_ok=True)
    if python is None:
        venv.create(path, with_pip=False, symlinks=os.name != "nt")
    else:
        command = [str(python), "-m", "venv", "--without-pip", str(path)]
        run_command(command, variables=isolated_variables(home)).check()
    scripts = path / ("Scripts" if os.name == "nt" else "bin")
    executable = scripts / ("python.exe" if os.name == "nt" else "python")
    if os.name == "nt":
        site_packages = path / "Lib" / "site-packages"
    else:
        (site_packages,) = (path / "lib").glob("python*/site-packages")
    return Environment(path, home, executable, scripts, site_packages, variables)


def snapshot(folder: Path, ignore: Sequence[str] = ()) -> dict[str, str]:
    """Give every file below a folder with its digest, to compare before and after.

    Args:
        folder: Where to look; a folder that is not there gives an empty mapping.
        ignore: Patterns of relative paths to leave out: ``*.pyc``, ``*/__pycache__*``.

    Returns:
        Relative path, with forward slashes, to the SHA-256 of the content. Links
        have ``link: target``, executable files ``executable: `` before the digest, and
        empty folders ``folder``. Sorted by path.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        if any(fnmatch.fnmatchcase(relative, pattern) for pattern in ignore):
            continue
        if path.is_symlink():
            found[relative] = f"link: {path.readlink()}"
        elif path.is_dir():
            if not any(path.iterdir()):
                found[relative] = "folder"
        elif path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            marked = os.name != "nt" and os.access(path, os.X_OK)
            found[relative] = f"executable: {digest}" if marked else digest
    return found
