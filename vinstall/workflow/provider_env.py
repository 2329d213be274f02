"""An isolated environment for a provider package that the user trusts.

It is installed by our own road, with variants off, from wheels alone, into a virtual
environment in the cache; never into the target. The hash of every wheel is written down the
first time, and one that differs later ends the matter before any of it runs.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.distributions.requirement import parse_requirement
from vinstall.errors import ProviderError, VinstallError, words_of
from vinstall.events import Noted, Warned
from vinstall.providers.messages import PluginAnswer, PluginRequest
from vinstall.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.events import Event, Observer
    from vinstall.settings import Settings
    from vinstall.workflow.context import Context

FOLDER = "provider-envs-v1"
_WAIT_SECONDS = 300.0
_VOLATILE = frozenset(
    {"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "TERM", "WINDOWID", "PS1", "PROMPT"}
)


@dataclass(frozen=True, slots=True)
class InstalledWheel:
    """One wheel in a provider's environment.

    Attributes:
        version: As its metadata writes it.
        filename: The file that it came from.
        sha256: Hex digest of that file.
    """

    version: str
    filename: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ProviderEnvironment:
    """What is written down beside the environment of a provider.

    Attributes:
        key: Name of its folder.
        requires: What was asked for.
        plugin_api: ``module:object`` that was asked last.
        wheels: Normalized project → what was installed.
        made: Seconds since the epoch.
    """

    key: str
    requires: tuple[str, ...]
    plugin_api: str = ""
    wheels: Mapping[str, InstalledWheel] = field(default_factory=dict)
    made: float = 0.0

    @property
    def packages(self) -> tuple[str, ...]:
        """Normalized names of the projects that were asked for."""
        return tuple(parse_requirement(line).project for line in self.requires)

    @property
    def identity(self) -> str:
        """A text that changes with every wheel."""
        return " ".join(f"{name}={one.sha256}" for name, one in sorted(self.wheels.items()))


def answer_package(context: Context, requires: Sequence[str], plugin_api: str) -> PluginAnswer:
    """Ask a provider package, installed apart.

    Args:
        context: The run that needs the answer.
        requires: What to install, without markers.
        plugin_api: ``module:object`` of the plugin.

    Returns:
        Its answer; where there is none, the reason.
    """
    from vinstall.providers.answers import AnswerCache
    from vinstall.providers.run import ask_plugins, clean_environment

    settings = context.settings
    trusted = {normalize_name(name) for name in settings.variants.trusted}
    for line in requires:
        requirement = parse_requirement(line)
        if requirement.project not in trusted or requirement.url:
            return PluginAnswer(problem=f"{line} is not trusted")
    try:
        kept, python = prepare_environment(context, requires, plugin_api)
    except VinstallError as error:
        return PluginAnswer(problem=str(error))
    except OSError as error:
        return PluginAnswer(problem=f"its environment can not be made: {words_of(error)}")
    key = package_key(kept, context.environment, settings.variants.gpu)
    cache = AnswerCache(settings.cache_dir)
    answer = cache.find(key)
    if answer is None:
        found = ask_plugins(
            [PluginRequest("package", plugin_api)],
            executable=str(python),
            paths=(),
            environment=clean_environment(context.environment, settings.variants.gpu),
        )
        answer = found["package"]
        cache.keep(key, answer, kept.packages[0])
    return answer


def package_key(kept: ProviderEnvironment, environment: Mapping[str, str], gpu: str) -> str:
    """The key of a package's answer: nobody knows what it reads, so every variable counts."""
    from vinstall.providers.answers import boot_id, make_key
    from vinstall.providers.run import clean_environment

    variables = clean_environment(environment, gpu)
    return make_key(
        [
            "package",
            kept.key,
            kept.identity,
            kept.plugin_api,
            boot_id(),
            _driver_version(),
            *(f"{name}={variables[name]}" for name in sorted(variables) if name not in _VOLATILE),
        ]
    )


def _driver_version() -> str:
    try:
        return Path("/sys/module/nvidia/version").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def prepare_environment(
    context: Context, requires: Sequence[str], plugin_api: str
) -> tuple[ProviderEnvironment, Path]:
    """The environment of a provider, made where it is missing.

    Returns:
        What is written down of it, and its interpreter.

    Raises:
        ProviderError: A wheel is not the one that was installed before.
        VinstallError: It can not be made.
        OSError: The same.
    """
    from vinstall.files import lock_between_processes
    from vinstall.values import replace

    if context.settings.cache_dir:
        base = Path(context.settings.cache_dir, FOLDER)
    else:
        base = context.work_folder / FOLDER
    key = environment_key(requires)
    folder = base / key
    base.mkdir(parents=True, exist_ok=True)
    with lock_between_processes(base / f"{key}.lock", timeout=_WAIT_SECONDS):
        kept = _read_record(base / f"{key}.json")
        python = _python_in(folder)
        if kept is None or not (folder / "complete").is_file() or not python.exists():
            kept = _make_environment(context, requires, folder, kept)
            _write_record(base / f"{key}.json", replace(kept, plugin_api=plugin_api))
            (folder / "complete").touch()
        elif kept.plugin_api != plugin_api:
            _write_record(base / f"{key}.json", replace(kept, plugin_api=plugin_api))
    return replace(kept, plugin_api=plugin_api), python


def environment_key(requires: Sequence[str]) -> str:
    """The name of an environment: what is asked for, and the interpreter that runs it."""
    from vinstall.providers.answers import make_key, own_python

    return make_key([own_python(), sys.version.split()[0], *sorted(requires)])


def _python_in(folder: Path) -> Path:
    if sys.platform == "win32":
        return folder / "Scripts" / "python.exe"
    return folder / "bin" / "python"


def _make_environment(
    context: Context,
    requires: Sequence[str],
    folder: Path,
    before: ProviderEnvironment | None,
) -> ProviderEnvironment:
    import shutil
    import venv

    context.observer.receive(
        Noted(f"Installing the provider {', '.join(requires)} into an environment of its own")
    )
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
        wheels = _install(context, requires, folder, before)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return ProviderEnvironment(folder.name, tuple(requires), "", wheels, time.time())


def _install(
    context: Context,
    requires: Sequence[str],
    folder: Path,
    before: ProviderEnvironment | None,
) -> dict[str, InstalledWheel]:
    """Install, but only after every hash was compared."""
    from vinstall.install.transaction import (
        InstallOptions,
        InstallStep,
        apply_steps,
        environment_lock,
    )
    from vinstall.workflow.context import Context
    from vinstall.workflow.fetch import fetch_changes
    from vinstall.workflow.resolving import gather, resolve_requests

    observer = _WarningsOnly(context.observer)
    settings = _settings_for(context.settings, requires, _python_in(folder))
    inner = Context(settings, observer, context.environment)
    try:
        resolved = resolve_requests(inner, gather(inner))
        fetched = fetch_changes(inner, resolved)
        wheels = {}
        steps = []
        for change in resolved.plan.installs:
            one = change.resolved
            link = one.candidate.link
            assert link is not None, "a new environment has nothing to keep"
            done = fetched[one.project]
            wheels[one.project] = InstalledWheel(
                one.candidate.version_text, link.filename, done.sha256
            )
            steps.append(
                InstallStep(
                    done.wheel,
                    None,
                    bool(one.requirements),
                    None,
                    None,
                    one.metadata.name,
                    one.candidate.version_text,
                )
            )
        _check_hashes(wheels, before, folder.parent)
        target = inner.base_target
        with environment_lock(Path(target.paths["purelib"]), observer):
            apply_steps(
                steps,
                (),
                paths=target.paths,
                executable=target.executable,
                others=(),
                options=InstallOptions(warn_script_location=False),
                observer=observer,
            )
    finally:
        inner.close()
    return wheels


def _settings_for(settings: Settings, requires: Sequence[str], python: Path) -> Settings:
    """Same indexes and cache; no variants, no builds (a build runs code of anybody)."""
    from vinstall.settings import (
        Names,
        OutputSettings,
        RequestSettings,
        ResolveSettings,
        Settings,
        TargetSettings,
        VariantSettings,
    )

    everything = Names(everything=True)
    return Settings(
        index=settings.index,
        variants=VariantSettings(disabled=everything, no_providers=True),
        resolve=ResolveSettings(only_binary=everything),
        target=TargetSettings(python=str(python)),
        request=RequestSettings(requirements=tuple(requires)),
        output=OutputSettings(),
        cache_dir=settings.cache_dir,
        warn_script_location=False,
    )


def _check_hashes(
    wheels: Mapping[str, InstalledWheel], before: ProviderEnvironment | None, base: Path
) -> None:
    """See that nothing which was installed once is another file now.

    Raises:
        ProviderError: A wheel has another hash than before.
    """
    by_file = {one.filename: one for record in read_records(base) for one in record.wheels.values()}
    for project, new in wheels.items():
        old = by_file.get(new.filename)
        if before is not None and project in before.wheels:
            same = before.wheels[project]
            old = same if same.version == new.version else old
        if old is not None and old.sha256 != new.sha256:
            raise ProviderError(
                f"{project} {new.version} is not the file that was installed before",
                f"its sha256 was {old.sha256} and is {new.sha256}",
                f"Find out why. 'vinstall provider forget {project}' accepts the new file.",
            )


def read_records(base: Path) -> tuple[ProviderEnvironment, ...]:
    """What is written down of all environments in a folder, sorted by key."""
    found = (_read_record(path) for path in sorted(base.glob("*.json")))
    return tuple(one for one in found if one is not None)


def forget_package(cache_dir: str, package: str) -> int:
    """Remove the environments of a package, and the hashes of its wheels everywhere.

    Returns:
        How many environments were removed.
    """
    import shutil

    from vinstall.values import replace

    base = Path(cache_dir, FOLDER)
    count = 0
    for record in read_records(base):
        if package in record.packages:
            shutil.rmtree(base / record.key, ignore_errors=True)
            with contextlib.suppress(OSError):
                (base / f"{record.key}.json").unlink()
            count += 1
        elif package in record.wheels:
            wheels = {name: one for name, one in record.wheels.items() if name != package}
            shutil.rmtree(base / record.key, ignore_errors=True)
            _write_record(base / f"{record.key}.json", replace(record, wheels=wheels))
    return count


def _read_record(path: Path) -> ProviderEnvironment | None:
    import json

    try:
        document = json.loads(path.read_bytes())
        wheels = {
            str(name): InstalledWheel(str(one["version"]), str(one["file"]), str(one["sha256"]))
            for name, one in document["wheels"].items()
        }
        record = ProviderEnvironment(
            path.stem,
            tuple(str(line) for line in document["requires"]),
            str(document["plugin_api"]),
            wheels,
            float(document["made"]),
        )
        return record if record.packages else None
    except (OSError, ValueError, ArithmeticError, TypeError, LookupError, AttributeError):
        return None
    except VinstallError:
        return None


def _write_record(path: Path, record: ProviderEnvironment) -> None:
    import json

    from vinstall.files import write_atomically

    document = {
        "requires": list(record.requires),
        "plugin_api": record.plugin_api,
        "made": record.made,
        "wheels": {
            name: {"version": one.version, "file": one.filename, "sha256": one.sha256}
            for name, one in record.wheels.items()
        },
    }
    write_atomically(path, json.dumps(document, indent=1).encode())


class _WarningsOnly:
    """Lets through what the user should know of an install that was not asked for."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def receive(self, event: Event) -> None:
        if isinstance(event, Warned):
            self._observer.receive(event)


def iter_environments(cache_dir: str) -> Iterator[ProviderEnvironment]:
    """What is written down of every provider environment in the cache."""
    if cache_dir:
        yield from read_records(Path(cache_dir, FOLDER))
