"""The main road: what is asked for → files in the environment.

Gather, resolve and plan (``resolving``), fetch and unpack, then change the environment at
once. Until the last step the environment is untouched.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from vinstall.errors import StoreAlteredError, UsageError, VinstallError
from vinstall.events import (
    AlreadySatisfied,
    Collecting,
    InstallingStarted,
    Noted,
    StageFinished,
    StageStarted,
    Warned,
)
from vinstall.values import dataclass, replace
from vinstall.workflow.context import Context, finish_earlier
from vinstall.workflow.fetch import fetch_agreed
from vinstall.workflow.places import tell_places
from vinstall.workflow.resolving import Resolved, gather, resolve_requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.events import Observer
    from vinstall.install.transaction import InstallStep
    from vinstall.plan import Change
    from vinstall.settings import Settings
    from vinstall.wheel.store import StoredWheel
    from vinstall.workflow.fetch import Fetched
    from vinstall.workflow.gather import Gathered


@dataclass(frozen=True, slots=True)
class InstallResult:
    """What an install did, or would do.

    Attributes:
        installed: (name, version) as metadata writes them, sorted by name.
        variants: ``name version label`` for every variant among them, sorted by name.
        dry_run: Whether nothing was changed.
        report: The installation report, where one was asked for.
        conflicts: Needs of the environment that are not met now.
        hints: Sentences worth reading, such as drift of installed variants.
    """

    installed: tuple[tuple[str, str], ...] = ()
    variants: tuple[str, ...] = ()
    dry_run: bool = False
    report: Mapping[str, object] | None = None
    conflicts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def run_install(settings: Settings, observer: Observer) -> InstallResult:
    """Install what the settings ask for.

    Raises:
        VinstallError: It could not be done; the environment is as it was.
    """
    context = Context(settings, observer)
    try:
        return install_in(context)
    finally:
        context.close()


def install_in(context: Context) -> InstallResult:
    """Install what the settings of a context ask for; who made it closes it."""
    from vinstall.environment.interpreter import check_guards, install_paths

    check_foreign(context)
    settings = context.settings
    paths, note = install_paths(context.base_target, settings.target)
    if not settings.dry_run:
        check_guards(context.base_target, settings.target, context.environment)
        if note:
            context.observer.receive(Noted(note, verbosity=0))
        finish_earlier(context.observer, paths)
    gathered = _gather_or_lock(context)
    tell_places(context.settings.index, context.observer)

    def decide() -> Resolved:
        return resolve_requests(context, gathered, remember=True)

    return finish_install(context, decide(), decide)


def _gather_or_lock(context: Context) -> Gathered:
    """What was asked for: requirements, or a lock file named by ``-r``."""
    from vinstall.lockfile import is_lock_name

    request = context.settings.request
    locks = [location for location in request.files if is_lock_name(location)]
    if not locks:
        return gather(context)
    others = (request.requirements, request.editables, request.groups, request.scripts)
    if len(request.files) > 1 or any(others):
        raise UsageError(
            f"{locks[0]} is a lock file and can not be mixed with other requirements",
            fix="Install the lock file by itself.",
        )
    from vinstall.workflow.lock import read_lock, use_lock

    return use_lock(context, read_lock(context, locks[0]))


def finish_install(
    context: Context,
    resolved: Resolved,
    decide: Callable[[], Resolved],
    removals: Sequence[InstalledDistribution] = (),
) -> InstallResult:
    """Steps 8 to 10: report or dry run, else fetch and apply.

    Args:
        context: What the run works with.
        resolved: The plan.
        decide: Makes a plan anew, where another process interferes or a wheel turns out to
            be another one than its index says.
        removals: Installed distributions to remove in the same transaction.

    Raises:
        VinstallError: It could not be done; the environment is as it was.
    """
    from vinstall.environment.interpreter import install_paths
    from vinstall.install.transaction import environment_lock, recover
    from vinstall.workflow.drift import find_drift
    from vinstall.workflow.space import check_space, needs_of_install
    from vinstall.workflow.startup_files import describe_startup_files

    _tell_kept(context, resolved)
    hints = (*find_drift(context, resolved.plan), *_find_bridge_hints(context, resolved))
    if context.settings.dry_run or not (resolved.plan.installs or removals):
        return _make_result(context, resolved, hints)
    tell_collecting(context, resolved)
    paths, _ = install_paths(context.base_target, context.settings.target)
    resolved, fetched = fetch_agreed(context, resolved, decide)
    wheels = [one.wheel for one in fetched.values()]
    check_space(needs_of_install(wheels, Path(paths["purelib"])))
    if line := describe_startup_files(wheels):
        context.observer.receive(Noted(line, verbosity=0))
    with environment_lock(Path(paths["purelib"]), context.observer):
        changed = recover(paths, context.observer)
        if changed or not context.installed.is_current():
            # Another process has changed the environment since it was read: decide again,
            # and let nobody change it meanwhile.
            context.installed.forget()
            resolved, fetched = fetch_agreed(context, decide(), decide)
            removals = _still_installed(context, removals)
        resolved = _apply_unaltered(context, resolved, fetched, decide, paths, removals)
    return _make_result(context, resolved, hints, _find_conflicts(context, resolved))


def _find_bridge_hints(context: Context, resolved: Resolved) -> tuple[str, ...]:
    bridges = context.settings.bridges
    if bridges.families or bridges.refused or not resolved.plan.installs:
        return ()
    from vinstall.workflow.bridges import find_bridge_hints

    return find_bridge_hints(context, resolved.plan)


def _make_result(
    context: Context, resolved: Resolved, hints: tuple[str, ...], conflicts: tuple[str, ...] = ()
) -> InstallResult:
    report = None
    if context.settings.output.report:
        from vinstall.workflow.install_report import make_report

        report = make_report(context, resolved)
    changes = resolved.plan.installs
    return InstallResult(
        _summary(changes),
        _variant_lines(changes),
        context.settings.dry_run,
        report,
        conflicts,
        hints,
    )


def check_foreign(context: Context, *, needs_target: bool = True) -> None:
    """See that the options of another platform come with what they need.

    Raises:
        UsageError: They do not.
    """
    wanted = context.settings.target
    foreign = wanted.platforms or wanted.python_version or wanted.implementation or wanted.abis
    if not foreign:
        return
    if needs_target and not (wanted.target_dir or context.settings.dry_run):
        raise UsageError(
            "Can not use any platform or abi specific options unless installing via '--target' "
            "or using '--dry-run'"
        )
    resolve = context.settings.resolve
    if not (resolve.no_deps or resolve.only_binary.everything):
        raise UsageError(
            "When restricting platform and interpreter constraints using --python-version, "
            "--platform, --abi, or --implementation, either --no-deps must be set, or "
            "--only-binary=:all: must be set and --no-binary must not be set (or must be set "
            "to :none:)."
        )


def _tell_kept(context: Context, resolved: Resolved) -> None:
    kept = sorted(resolved.plan.kept, key=lambda change: not change.resolved.requirements)
    for change in kept:
        assert change.before is not None
        context.observer.receive(
            AlreadySatisfied(
                change.resolved.text,
                change.before.location,
                change.before.version_text,
                _comes_from(change),
            )
        )


def tell_collecting(context: Context, resolved: Resolved) -> None:
    """Say what will be taken, as pip does."""
    for change in sorted(
        resolved.plan.installs, key=lambda change: not change.resolved.requirements
    ):
        link = change.resolved.candidate.link if change.resolved.candidate.direct else None
        if link is not None and (link.is_file or context.sources.is_editable(link)):
            continue  # told as Processing or Obtaining
        context.observer.receive(Collecting(change.resolved.text, _comes_from(change)))


def _comes_from(change: Change) -> str:
    """Who asked for a project: a line of a file, another project; empty for an argument."""
    own = change.resolved.requirements
    if not own:
        return change.resolved.parents[0] if change.resolved.parents else ""
    file, colon, line = own[0].origin.rpartition(":")
    return f"-r {file} (line {line})" if colon and line.isdecimal() else ""


def _still_installed(
    context: Context, distributions: Sequence[InstalledDistribution]
) -> tuple[InstalledDistribution, ...]:
    """What is installed now of some projects that were."""
    found = (context.installed.get(one.project) for one in distributions)
    return tuple(one for one in found if one is not None)


def _apply_unaltered(
    context: Context,
    resolved: Resolved,
    fetched: Mapping[str, Fetched],
    decide: Callable[[], Resolved],
    paths: Mapping[str, str],
    removals: Sequence[InstalledDistribution],
) -> Resolved:
    """Change the environment; what was altered in the cache is fetched anew, once.

    Returns:
        What was installed.
    """
    altered: set[str] = set()
    while True:
        try:
            _apply(context, resolved, fetched, paths, removals)
        except StoreAlteredError as error:
            if error.sha256 in altered:
                raise
            altered.add(error.sha256)
            with suppress(OSError):  # the cache of somebody else: then it is told
                context.store.remove(error.sha256)
            resolved, fetched = fetch_agreed(context, resolved, decide)
        else:
            return resolved


def _apply(
    context: Context,
    resolved: Resolved,
    fetched: Mapping[str, Fetched],
    paths: Mapping[str, str],
    removals: Sequence[InstalledDistribution] = (),
) -> None:
    """Change the environment: all of it, or nothing; the caller holds its lock."""
    from vinstall.install.transaction import InstallOptions, apply_steps

    settings = context.settings
    made = (
        _make_step(context, resolved, change, fetched[change.resolved.project])
        for change in resolved.plan.installs
    )
    steps = tuple(step for step in made if step is not None)
    context.observer.receive(StageStarted("install", len(steps)))
    if steps:
        context.observer.receive(InstallingStarted(tuple(step.name for step in steps)))
    replaced = {change.resolved.project for change in resolved.plan.installs}
    replaced |= {change.before.project for change in resolved.plan.installs if change.before}
    replaced |= {one.project for one in removals}
    others = [one for one in context.installed if one.project not in replaced]
    context.rest()
    try:
        apply_steps(
            steps,
            tuple(removals),
            paths=paths,
            executable=context.base_target.executable,
            others=others,
            options=InstallOptions(
                allow_overlap=settings.allow_overlap,
                durable=settings.durable,
                warn_script_location=settings.warn_script_location,
            ),
            observer=context.observer,
        )
    finally:
        context.observer.receive(StageFinished("install"))


def _make_step(
    context: Context, resolved: Resolved, change: Change, fetched: Fetched
) -> InstallStep | None:
    from vinstall.install.transaction import InstallStep
    from vinstall.workflow.reason import make_reason
    from vinstall.workflow.sources import direct_url

    candidate = change.resolved.candidate
    before = change.before
    wheel = _keep_existing(context, fetched.wheel)
    if wheel is None:
        return None
    return InstallStep(
        wheel=wheel,
        replaces=before,
        requested=bool(before and before.requested)
        or (bool(change.resolved.requirements) and not (before and context.keeps_requested)),
        direct_url=direct_url(context, change, fetched.sha256),
        reason=make_reason(context, resolved.plan, change),
        name=change.resolved.metadata.name,
        version=candidate.version_text,
        bytecode=fetched.bytecode,
    )


def _keep_existing(context: Context, wheel: StoredWheel) -> StoredWheel | None:
    """A wheel without what ``--target`` has already, unless an upgrade is asked for.

    Returns:
        ``None`` where this very version is there.
    """
    folder = context.settings.target.target_dir
    if not folder or context.settings.resolve.upgrade:
        return wheel
    place = Path(folder).resolve()
    there = [name for name in wheel.tops if not name.endswith(".data") and (place / name).exists()]
    for name in there:
        context.observer.receive(
            Warned(
                "target-exists",
                f"Target directory {place / name} already exists. "
                "Specify --upgrade to force replacement.",
            )
        )
    if wheel.dist_info in there:
        return None
    tops = {name: is_folder for name, is_folder in wheel.tops.items() if name not in there}
    return replace(wheel, tops=tops, left_out=frozenset(there))


def _find_conflicts(context: Context, resolved: Resolved) -> tuple[str, ...]:
    """What the environment lacks now; pip tells this and still ends with status 0."""
    if context.settings.target.target_dir or context.settings.resolve.no_deps:
        return ()
    # what was resolved has what it needs; only what stays beside it can lack something
    members_of_plan = {one.project for one in resolved.resolution.distributions}
    if all(one.project in members_of_plan for one in context.installed):
        return ()
    from vinstall.distributions.consistency import Member, add_stand_in, find_conflicts
    from vinstall.distributions.installed_markers import markers_of

    members = {}
    for distribution in context.installed:
        try:
            members[distribution.project] = Member(
                distribution.name,
                distribution.version_text,
                distribution.metadata,
                markers_of(distribution),
            )
            add_stand_in(members, distribution.stands_for, members[distribution.project])
        except VinstallError:
            continue
    for change in resolved.plan.installs:
        metadata = change.resolved.metadata
        candidate = change.resolved.candidate
        from vinstall.variants.markers import VariantMarkers

        markers = VariantMarkers.NON_VARIANT
        if candidate.variant is not None:
            markers = VariantMarkers.for_variant(candidate.label, candidate.variant.supported)
        member = Member(metadata.name, metadata.version, metadata, markers)
        if change.before is not None and change.before.project != candidate.project:
            members.pop(change.before.project, None)
        members[candidate.project] = member
        if candidate.plain_project != candidate.project:
            members.pop(candidate.plain_project, None)
            add_stand_in(members, candidate.plain_project, member)
    changed = {change.resolved.project for change in resolved.plan.installs}
    from vinstall.distributions.filename import normalize_name

    return tuple(
        conflict.after_install
        for conflict in find_conflicts(
            members, context.target.markers, members.keys() - members_of_plan
        )
        if normalize_name(conflict.name) in changed
        or normalize_name(conflict.found_name) in changed
    )


def _summary(changes: Sequence[Change]) -> tuple[tuple[str, str], ...]:
    pairs = {
        (change.resolved.metadata.name, change.resolved.candidate.version_text)
        for change in changes
    }
    return tuple(sorted(pairs, key=lambda pair: pair[0].lower()))


def _variant_lines(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(sorted(filter(None, map(_variant_line, changes)), key=str.lower))


def _variant_line(change: Change) -> str:
    candidate = change.resolved.candidate
    if not candidate.label:
        return ""
    line = f"{change.resolved.metadata.name} {candidate.version_text} {candidate.build}"
    variant = candidate.variant
    if variant is not None and variant.bridge is not None:
        line += f" (through the bridge {variant.bridge.family})"
    return line
