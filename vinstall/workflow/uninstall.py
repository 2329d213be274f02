"""``uninstall``: RECORD-driven, all at once or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.errors import UsageError
from vinstall.events import ExistingFound, Noted, Uninstalled, Warned
from vinstall.values import dataclass
from vinstall.workflow.context import Context
from vinstall.workflow.gather import gather_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.events import Observer
    from vinstall.settings import Settings


@dataclass(frozen=True, slots=True)
class UninstallResult:
    """What was removed: (name, version), in the order asked."""

    removed: tuple[tuple[str, str], ...] = ()


def run_uninstall(
    settings: Settings,
    observer: Observer,
    confirm: Callable[[InstalledDistribution, Sequence[str]], bool] | None,
) -> UninstallResult:
    """Remove what the settings name.

    Args:
        settings: Names and files.
        observer: Receives events.
        confirm: Asks the user about one distribution and its files; ``None`` asks nobody.

    Raises:
        VinstallError: It could not be done; the environment is as it was.
    """
    context = Context(settings, observer)
    try:
        return _uninstall(context, confirm)
    finally:
        context.close()


def _uninstall(
    context: Context, confirm: Callable[[InstalledDistribution, Sequence[str]], bool] | None
) -> UninstallResult:
    from vinstall.environment.interpreter import check_guards
    from vinstall.install.removal import files_of
    from vinstall.install.transaction import (
        InstallOptions,
        apply_steps,
        environment_lock,
        recover,
    )

    check_guards(context.base_target, context.settings.target, context.environment)
    gathered = gather_requirements(context.settings, context.environment, context.fetch_text)
    projects: dict[str, str] = {}
    for requirement in gathered.requirements:
        if not requirement.name:
            raise UsageError(
                f"{requirement.text} does not name a project",
                fix="Name what to uninstall, as 'vinstall list' shows it.",
            )
        projects.setdefault(requirement.project, requirement.name)
    paths = context.base_target.paths
    with environment_lock(Path(paths["purelib"]), context.observer):
        recover(paths, context.observer)
        removals: list[InstalledDistribution] = []
        for project, name in projects.items():
            found = context.installed.get(normalize_name(project))
            if found is None:
                context.observer.receive(
                    Warned("not-installed", f"Skipping {name} as it is not installed.")
                )
                continue
            if not _is_inside(context, found):
                context.observer.receive(
                    Noted(
                        f"Not uninstalling {found.name} at {found.location}, outside environment "
                        f"{context.base_target.prefix}",
                        verbosity=0,
                    )
                )
                continue
            if confirm is not None:
                context.observer.receive(ExistingFound(found.name, found.version_text))
                if not confirm(found, [str(one) for one in files_of(found)]):
                    continue
            removals.append(found)
        if removals:
            gone = {one.project for one in removals}
            apply_steps(
                (),
                tuple(removals),
                paths=paths,
                executable=context.base_target.executable,
                others=[one for one in context.installed if one.project not in gone],
                options=InstallOptions(),
                observer=context.observer,
            )
            for one in removals:
                if confirm is None:
                    context.observer.receive(ExistingFound(one.name, one.version_text))
                context.observer.receive(Uninstalled(one.name, one.version_text))
    return UninstallResult(tuple((one.name, one.version_text) for one in removals))


def _is_inside(context: Context, distribution: InstalledDistribution) -> bool:
    """Whether the distribution belongs to the environment (or the user scheme) itself."""
    target = context.base_target
    if not target.is_virtual:
        return True
    location = Path(distribution.location).resolve()
    return Path(target.prefix).resolve() in (location, *location.parents)


def summarize_removal(location: str, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """What a removal takes, and what it leaves of folders that it empties, in few lines.

    A folder of ``site-packages`` that belongs to the distribution is told as ``folder/*``, as
    pip does it.

    Args:
        location: The folder of the distribution.
        files: Absolute paths of its files.

    Returns:
        Lines for what is removed, and files that stay in the same folders; both sorted.
    """
    top = Path(location)
    gone = {Path(path) for path in files}
    removed: set[str] = set()
    folders: set[Path] = set()
    for path in gone:
        try:
            first = path.relative_to(top).parts[0]
        except ValueError:
            removed.add(str(path))
            continue
        if path == top / first:
            if path.suffix != ".pyc":
                removed.add(str(path))
        elif first not in ("..", "__pycache__"):
            folders.add(top / first)
    removed.update(str(folder / "*") for folder in folders)
    left = {
        str(path)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path not in gone and path.suffix != ".pyc"
    }
    return sorted(removed), sorted(left)
