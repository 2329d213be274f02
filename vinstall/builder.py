"""Sources → wheels, through build backends and pip as child processes.

A project in a folder is built by its backend (PEP 517, PEP 660), which a child process asks, in
an environment of its own. What the build needs is installed into it by whoever made the
builder, so that a build gets the same variants as the target. What has no folder yet, such as
a URL of a version control system that pip alone knows, and builds without isolation are
handed to ``pip wheel``. What comes back is an ordinary wheel, which then takes the same road
as every other.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import BuildError, words_of
from vinstall.events import Noted
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from vinstall.events import Observer
    from vinstall.settings import IndexSettings, RequestSettings

_SHOWN_LINES = 25
_RESOLVED = lazy_pattern(
    r"^\s*Resolved .* to commit (?P<commit>[0-9a-fA-F]{7,64})\s*$", re.MULTILINE
)
_NO_DECLARATION = ("setuptools>=40.8.0",)
_LEGACY_BACKEND = "setuptools.build_meta:__legacy__"


@dataclass(frozen=True, slots=True)
class Built:
    """A wheel that was built.

    Attributes:
        wheel: Where it lies.
        commit: The commit that a version control URL stood for; empty for other sources.
    """

    wheel: Path
    commit: str = ""


@dataclass(frozen=True, slots=True)
class BuildSystem:
    """What ``[build-system]`` of a ``pyproject.toml`` says (PEP 518, PEP 517)."""

    requires: tuple[str, ...] = _NO_DECLARATION
    backend: str = _LEGACY_BACKEND
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds wheels for one target.

    Attributes:
        executable: The target's interpreter.
        index: Indexes and network options, for build requirements.
        request: Build constraints, isolation, config settings.
        environment: The variables of this process.
        observer: Receives notes.
        fill: Installs requirements into the environment of an interpreter.
        check: Tells what of some requirements the target lacks, as sentences.
    """

    executable: str
    index: IndexSettings
    request: RequestSettings
    environment: Mapping[str, str]
    observer: Observer
    fill: Callable[[str, Sequence[str]], None] | None = None
    check: Callable[[Sequence[str]], Sequence[str]] | None = None

    def build(self, source: str, folder: Path, config_settings: Sequence[str] = ()) -> Built:
        """Build one wheel through pip.

        Args:
            source: A path, a ``file:`` or ``https:`` URL, or a version control URL.
            folder: Where the wheel goes; made if missing.
            config_settings: Further ``key=value`` texts for the backend.

        Raises:
            BuildError: It does not build; ``why`` holds the end of pip's output.
        """
        import tempfile

        folder.mkdir(parents=True, exist_ok=True)
        self.observer.receive(Noted(f"Building {source}", verbosity=1))
        with tempfile.TemporaryDirectory(prefix="vinstall-build-", dir=folder) as scratch:
            status, output = self._run(
                [
                    *self._pip(self.executable),
                    "wheel",
                    "--no-deps",
                    "--wheel-dir",
                    scratch,
                    *self._options(),
                    *self._config_options(config_settings),
                    source,
                ],
                more=self._index_variables(),
            )
            wheels = sorted(Path(scratch).glob("*.whl"))
            if status != 0 or len(wheels) != 1:
                raise _failure(
                    f"{source} does not build",
                    "pip said:",
                    output,
                    "Use --only-binary :all: to take wheels only.",
                )
            wheel = folder / wheels[0].name
            wheels[0].replace(wheel)
        resolved = _RESOLVED.search(output)
        return Built(wheel, resolved["commit"] if resolved else "")

    def build_project(
        self,
        project: Path,
        folder: Path,
        config_settings: Sequence[str] = (),
        *,
        shown: str = "",
        editable: bool = False,
    ) -> Built:
        """Build the wheel of a project in a folder (PEP 517), or an editable one (PEP 660).

        Args:
            project: Folder of the project.
            folder: Where the wheel goes; made if missing.
            config_settings: Further ``key=value`` texts for the backend.
            shown: What messages call the project; its folder by default.
            editable: Whether the wheel only points to the folder.

        Raises:
            BuildError: The project is none, its backend can not do it, or fails.
        """
        import tempfile

        shown = shown or str(project)
        system = read_build_system(project)
        settings = _merge_config((*self.request.config_settings, *config_settings))
        kind = "editable" if editable else "wheel"
        folder.mkdir(parents=True, exist_ok=True)
        how = " in place" if editable else ""
        self.observer.receive(Noted(f"Building {shown}{how}", verbosity=1))
        with tempfile.TemporaryDirectory(prefix="vinstall-build-", dir=folder) as scratch:
            python = self.executable
            hook = f"get_requires_for_build_{kind}"
            if self.request.no_build_isolation:
                if self.request.check_build_dependencies:
                    needs = self._call(python, project, system, hook, [settings], shown)
                    self._check_needs(system.requires, needs, shown)
            else:
                python = self._make_environment(Path(scratch, "environment"), shown)
                self._install_needs(python, system.requires, shown)
                needs = self._call(python, project, system, hook, [settings], shown)
                if isinstance(needs, list) and needs:
                    self._install_needs(python, [str(need) for need in needs], shown)
            made = Path(scratch, "made")
            made.mkdir()
            name = self._call(
                python, project, system, f"build_{kind}", [str(made), settings, None], shown
            )
            if not isinstance(name, str) or not (made / name).is_file():
                raise BuildError(
                    f"{shown} can not be installed in place" if editable else f"{shown} failed",
                    f"its build backend {system.backend} "
                    f"{'has no editable installs (PEP 660)' if editable else 'made no wheel'}",
                    "Install it without -e, or use a newer backend." if editable else "",
                )
            wheel = folder / name
            (made / name).replace(wheel)
        return Built(wheel)

    def _check_needs(self, requires: Sequence[str], more: object, shown: str) -> None:
        """See that the target has what a build without isolation needs.

        Raises:
            BuildError: It has not; pip's words.
        """
        needs = [*requires, *(str(need) for need in (more if isinstance(more, list) else ()))]
        lacking = self.check(needs) if self.check is not None else ()
        if lacking:
            raise BuildError(
                f"Some build dependencies for {shown} are missing: {', '.join(lacking)}.",
                fix="Install them first, or leave --no-build-isolation out.",
            )

    def _make_environment(self, place: Path, shown: str) -> str:
        """An empty virtual environment of the target's Python; its interpreter."""
        command = [self.executable, "-m", "venv", "--without-pip", str(place)]
        status, output = self._run(command)
        folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        if status != 0:
            raise _failure(
                f"{shown} can not be built",
                "no environment could be made for the build:",
                output,
                "Use --no-build-isolation to build with what is installed.",
            )
        return str(place / folder / name)

    def _install_needs(self, python: str, needs: Sequence[str], shown: str) -> None:
        if not needs or self.fill is None:
            return
        from vinstall.errors import VinstallError

        try:
            self.fill(python, needs)
        except BuildError:
            raise
        except VinstallError as error:
            raise BuildError(
                f"What the build of {shown} needs can not be installed ({', '.join(needs)})",
                "\n".join(filter(None, (error.what, *getattr(error, "causes", ()), error.why))),
                error.fix,
            ) from error

    def _call(
        self,
        python: str,
        project: Path,
        system: BuildSystem,
        hook: str,
        arguments: Sequence[object],
        shown: str,
    ) -> object:
        """The answer of a hook; ``None`` where the backend has none of that name."""
        import json
        import tempfile

        script = Path(__file__).parent / "children" / "build_hook.py"
        request = {
            "backend": system.backend,
            "path": [str(project / place) for place in system.path],
            "hook": hook,
            "arguments": list(arguments),
        }
        with tempfile.TemporaryDirectory(prefix="vinstall-hook-") as scratch:
            answer = Path(scratch, "answer.json")
            status, output = self._run(
                [python, str(script), str(answer)],
                cwd=project,
                text=json.dumps(request),
                path=str(Path(python).parent),
            )
            if status != 0 or not answer.is_file():
                raise _failure(f"{shown} does not build", f"{system.backend} said:", output)
            found = json.loads(answer.read_text("utf-8"))
        return found.get("value")

    def _run(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        text: str | None = None,
        path: str = "",
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run a child to its end; its status and all that it printed."""
        import subprocess

        variables = {**self._environment(), **(more or {})}
        if path:
            variables["PATH"] = os.pathsep.join(filter(None, (path, variables.get("PATH", ""))))
        try:
            done = subprocess.run(
                command,
                input=text.encode() if text is not None else None,
                stdin=None if text is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=variables,
                cwd=cwd,
                check=False,
            )
        except OSError as error:
            raise BuildError(
                f"{command[0]} can not be started", error.strerror or str(error)
            ) from error
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def _pip(self, python: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "--disable-pip-version-check",
            "--no-input",
        ]

    def _options(self) -> list[str]:
        index, request = self.index, self.request
        options = ["--timeout", str(index.timeout), "--retries", str(index.retries)]
        if index.no_index:
            options.append("--no-index")
        for host in index.trusted_hosts:
            options += ["--trusted-host", host]
        for name, value in (
            ("--cert", index.cert),
            ("--client-cert", index.client_cert),
        ):
            if value:
                options += [name, value]
        for constraint in request.build_constraints:
            options += ["--build-constraint", constraint]
        if request.no_build_isolation:
            options.append("--no-build-isolation")
        if request.check_build_dependencies:
            options.append("--check-build-dependencies")
        return options

    def _index_variables(self) -> dict[str, str]:
        """What may hold passwords: everybody can see the arguments of a process."""
        index = self.index
        variables = {
            "PIP_INDEX_URL": "" if index.no_index else index.index_url,
            "PIP_EXTRA_INDEX_URL": _join(index.extra_index_urls),
            "PIP_FIND_LINKS": _join(index.find_links),
            "PIP_PROXY": index.proxy,
        }
        return {name: value for name, value in variables.items() if value}

    def _config_options(self, more: Sequence[str]) -> Iterator[str]:
        for setting in (*self.request.config_settings, *more):
            yield "--config-settings"
            yield setting

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in self.environment.items()
            if not name.startswith(("PIP_", "VINSTALL_"))
        }
        return {**kept, "PYTHONIOENCODING": "utf-8", "PIP_CONFIG_FILE": os.devnull}


def _join(places: Sequence[str]) -> str:
    """Places as pip reads them from a variable: apart by blanks, which they may not hold."""
    return " ".join(
        place
        if not any(character.isspace() for character in place)
        else Path(place).absolute().as_uri()
        for place in places
    )


def read_build_system(project: Path) -> BuildSystem:
    """What a project says about how it is built.

    Raises:
        BuildError: The folder is no Python project, or its ``pyproject.toml`` is wrong.
    """
    path = project / "pyproject.toml"
    if not path.is_file():
        if (project / "setup.py").is_file():
            return BuildSystem()
        raise BuildError(
            f"{project} is no Python project", "it has neither 'setup.py' nor 'pyproject.toml'"
        )
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table = tomllib.loads(path.read_text("utf-8")).get("build-system")
    except (OSError, ValueError) as error:
        raise BuildError(f"{path} can not be read", words_of(error)) from error
    if table is None:
        return BuildSystem()
    requires = table.get("requires") if isinstance(table, dict) else None
    needs = _read_texts(requires)
    if needs is None:
        raise BuildError(f"{path} is wrong", "build-system.requires has to be a list of texts")
    backend = table.get("build-backend", _LEGACY_BACKEND)
    places = _read_texts(table.get("backend-path", []))
    if not isinstance(backend, str) or places is None:
        raise BuildError(f"{path} is wrong", "build-backend or backend-path has another type")
    return BuildSystem(needs, backend, places)


def _read_texts(value: object) -> tuple[str, ...] | None:
    """A list of texts; ``None`` for anything else."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _merge_config(settings: Iterable[str]) -> dict[str, str | list[str]]:
    """``key=value`` texts as backends get them: a repeated key makes a list."""
    merged: dict[str, str | list[str]] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        before = merged.get(key)
        if before is None:
            merged[key] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            merged[key] = [before, value]
    return merged


def _failure(what: str, who: str, output: str, fix: str = "") -> BuildError:
    lines = output.splitlines()[-_SHOWN_LINES:]
    return BuildError(what, "\n".join([who, *lines]), fix)
