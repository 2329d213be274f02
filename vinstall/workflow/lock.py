"""``lock`` and ``sync``: an environment written down, and made again anywhere.

A lock keeps every build of each release that fits the target's interpreter and platform,
whatever its hardware: which one is taken is decided where the lock is used. The dependencies
of all these builds are in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall import __version__
from vinstall.distributions.filename import parse_wheel_filename
from vinstall.distributions.requirement import Requirement, parse_requirement
from vinstall.errors import LockFileError, UsageError, WheelFormatError, words_of
from vinstall.events import Noted
from vinstall.lockfile import (
    LockedPackage,
    LockFile,
    format_lock,
    parse_lock,
    select_packages,
)
from vinstall.values import dataclass, replace
from vinstall.workflow.attestations import demand_attestation
from vinstall.workflow.context import Context, finish_earlier
from vinstall.workflow.gather import Gathered
from vinstall.workflow.resolving import gather, make_rules, resolve_requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.distributions.link import Bridged, Link
    from vinstall.events import Observer
    from vinstall.plan import Change
    from vinstall.resolution.selection import Rules, Selection
    from vinstall.settings import Settings
    from vinstall.variants.metadata import VariantMetadata
    from vinstall.workflow.install import InstallResult
    from vinstall.workflow.resolving import Resolved

_OTHER_KINDS = frozenset({"tags", "requires-python", "yanked", "format", "binary", "hash"})


def run_lock(settings: Settings, output: str, observer: Observer) -> str:
    """Resolve what was asked for, for every build, and write it down.

    Args:
        settings: What to lock.
        output: Where the file will go, so that paths can be relative; ``-`` for nowhere.
        observer: Receives events.

    Returns:
        The text of the lock file.

    Raises:
        VinstallError: It can not be resolved.
    """
    from vinstall.index.address import file_url

    settings = replace(
        settings,
        resolve=replace(settings.resolve, ignore_installed=True),
        variants=replace(settings.variants, required={}),
    )
    context = Context(settings, observer)
    try:
        gathered = gather(context)
        resolved = resolve_requests(context, gathered, every_variant=True)
        rules = make_rules(context.target, context.settings.resolve, context.settings.variants)
        packages = [
            _lock_change(
                context, change, resolved.plan.selections.get(change.resolved.project), rules
            )
            for change in resolved.plan.installs
        ]
        packages.sort(key=lambda package: package.name)
        asked = tuple(one.text for one in resolved.requirements)
        lock = LockFile(
            tuple(packages),
            requirements=() if _tell_bridged(context, resolved) else asked,
            created_by=f"vinstall {__version__}",
        )
        base = "" if output == "-" else file_url(Path(output).absolute().parent)
        return format_lock(lock, base)
    finally:
        context.close()


def _tell_bridged(context: Context, resolved: Resolved) -> bool:
    """Say which builds are locked as they are; whether what was asked for names other things.

    A lock holds real files, and the builds of a bridge are no variants of one release there:
    it can hold only the build that this machine gets. Where that has another name, or came
    with an extra, the words that were asked for would not find it again.
    """
    bridged = []
    renamed = False
    for change in resolved.plan.installs:
        variant = change.resolved.candidate.variant
        bridge = variant.bridge if variant is not None else None
        if bridge is not None:
            bridged.append(f"{bridge.project} {bridge.label}")
            renamed = renamed or bridge.is_sister or bool(bridge.requirements)
    if bridged:
        context.observer.receive(
            Noted(
                f"Through a bridge: {', '.join(sorted(bridged))}. The lock has this build alone; "
                "for other machines, lock once for each with --profile.",
                verbosity=0,
            )
        )
    return renamed


def _lock_bridged(
    context: Context, change: Change, bridge: Bridged, rules: Rules, selection: Selection | None
) -> LockedPackage:
    candidate = change.resolved.candidate
    assert candidate.link is not None, "installed distributions are ignored here"
    left = set()
    files: tuple[Link, ...] = ()
    if selection is not None:
        left = {one.filename for one in selection.refusals if one.kind in _OTHER_KINDS}
        files = selection.release.files
    links = {candidate.link.filename: candidate.link}
    for link in files:
        other = link.bridge
        if (
            other is not None
            and link.filename not in left
            and (other.label, other.real_project) == (bridge.label, bridge.real_project)
            and (other.version_text, other.real.index) == (bridge.version_text, bridge.real.index)
            and _fits(other.real, rules)
        ):
            links.setdefault(other.real.filename, other.real)
    return LockedPackage(
        candidate.project,
        candidate.version_text,
        requires_python=change.resolved.metadata.requires_python,
        index=candidate.link.index if not candidate.link.is_file else "",
        links=tuple(
            _with_hash(context, candidate.project, link) for _, link in sorted(links.items())
        ),
    )


def _lock_change(
    context: Context, change: Change, selection: Selection | None, rules: Rules
) -> LockedPackage:
    candidate = change.resolved.candidate
    assert candidate.link is not None, "installed distributions are ignored here"
    bridge = candidate.variant.bridge if candidate.variant is not None else None
    if bridge is not None:
        return _lock_bridged(context, change, bridge, rules, selection)
    links: list[Link] = [candidate.link]
    variants: VariantMetadata | None = None
    if selection is not None and not candidate.direct:
        home = candidate.link.index
        left = {one.filename for one in selection.refusals if one.kind in _OTHER_KINDS}
        links = [
            link
            for link in selection.release.files
            if link.filename not in left
            and link.bridge is None
            and (link.index == home or not _label_of(link))
            and _fits(link, rules)
        ]
        for ranking in selection.rankings:
            if ranking.index == home and ranking.metadata is not None:
                variants = ranking.metadata
        if variants is not None and not variants.variants:
            variants = None
    unique = {link.filename: link for link in reversed(links)}
    ordered = sorted(unique.values(), key=lambda link: link.filename)
    return LockedPackage(
        candidate.project,
        candidate.version_text,
        requires_python=change.resolved.metadata.requires_python,
        index=candidate.link.index if not candidate.link.is_file else "",
        links=tuple(_with_hash(context, candidate.project, link) for link in ordered),
        variants=variants,
    )


def _label_of(link: Link) -> str:
    if not link.is_wheel:
        return ""
    try:
        return parse_wheel_filename(link.filename).label
    except WheelFormatError:
        return ""


def _fits(link: Link, rules: Rules) -> bool:
    if not link.is_wheel:
        return True
    try:
        wheel = parse_wheel_filename(link.filename)
    except WheelFormatError:
        return False
    return any(tag in rules.tag_ranks for tag in wheel.iter_tags())


def _with_hash(context: Context, project: str, link: Link) -> Link:
    """A lock needs a hash for every file; one that the index does not give is worked out.

    Raises:
        AttestationError: The file has to be attested and is not.
    """
    attested = project in context.settings.publishers
    if "sha256" in link.hashes:
        demand_attestation(context, project, link, link.hashes["sha256"])
        return link
    if not attested and any(name in link.hashes for name in ("sha384", "sha512")):
        return link
    from vinstall.index.download import Downloader

    downloader = Downloader(context.client, context.settings.cache_dir, context.observer)
    fetched = downloader.fetch(link, None, context.work_folder)
    demand_attestation(context, project, link, fetched.sha256)
    return replace(link, hashes={**link.hashes, "sha256": fetched.sha256}, size=fetched.size)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a sync did, or would do.

    Attributes:
        install: What was installed.
        removed: (name, version) of what the lock does not have.
    """

    install: InstallResult
    removed: tuple[tuple[str, str], ...] = ()


def read_lock(context: Context, location: str) -> LockFile:
    """Read a lock file from a path or a URL.

    Raises:
        LockFileError: It can not be read, or is wrong.
    """
    from vinstall.index.address import file_url

    if location.startswith(("http:", "https:")):
        return parse_lock(context.fetch_text(location), location, location.rpartition("/")[0])
    path = Path(location)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LockFileError(f"Could not open the lock file {location}", words_of(error)) from error
    return parse_lock(text, location, file_url(path.absolute().parent))


def use_lock(
    context: Context, lock: LockFile, extras: Sequence[str] = (), groups: Sequence[str] = ()
) -> Gathered:
    """Let the context see only what is locked; what has to be there.

    Raises:
        LockFileError: The lock does not fit the target.
    """
    from vinstall.distributions.requirement import parse_specifier
    from vinstall.index.lock_source import LockSource

    version = context.target.version
    if lock.requires_python and not parse_specifier(lock.requires_python).contains(
        version, prereleases=True
    ):
        raise LockFileError(
            f"{lock.origin} is not for Python {version}", f"it requires {lock.requires_python}"
        )
    packages = select_packages(lock, context.target.markers, extras, groups)
    source = context.source
    if not isinstance(source, LockSource):
        context.package_source = LockSource(packages, source, lock.origin)
    settings = context.settings
    if lock.requirements:
        requirements = tuple(parse_requirement(text, lock.origin) for text in lock.requirements)
    else:
        settings = replace(settings, resolve=replace(settings.resolve, no_deps=True))
        requirements = tuple(_requirement_of(package, lock.origin) for package in packages)
    context.settings = settings
    return Gathered(requirements, (), settings)


def _requirement_of(package: LockedPackage, origin: str) -> Requirement:
    if package.direct:
        line = f"{package.name} @ {package.direct}"
    elif package.version:
        line = f"{package.name}=={package.version}"
    else:
        line = package.name
    return parse_requirement(line, origin)


def run_sync(settings: Settings, location: str, observer: Observer) -> SyncResult:
    """Make the environment equal to a lock file.

    What the lock does not have is removed, except pip and vinstall with what it needs, where
    they live in that environment. An installed build is switched where another one is best.

    Raises:
        VinstallError: It could not be done; the environment is as it was.
    """
    from vinstall.workflow.install import finish_install

    resolve = replace(
        settings.resolve, upgrade=True, upgrade_strategy="eager", require_hashes=False
    )
    settings = replace(
        settings, resolve=resolve, variants=replace(settings.variants, allow_change=True)
    )
    context = Context(settings, observer)
    try:
        if settings.target.target_dir:
            raise UsageError("sync can not be used with --target")
        lock = read_lock(context, location)
        finish_earlier(observer, context.base_target.paths)
        gathered = use_lock(context, lock)

        def decide() -> Resolved:
            return resolve_requests(context, gathered, everything_asked=True)

        resolved = decide()
        wanted = {change.resolved.project for change in resolved.plan.changes}
        extra = tuple(one for one in _removable(context) if one.project not in wanted)
        result = finish_install(context, resolved, decide, extra)
        return SyncResult(result, tuple((one.name, one.version_text) for one in extra))
    finally:
        context.close()


def _removable(context: Context) -> Sequence[InstalledDistribution]:
    """What sync may remove: all of the environment but pip and ourselves."""
    import os
    import sys

    kept = {"pip"}
    target = context.base_target
    if os.path.realpath(target.prefix) == os.path.realpath(sys.prefix):
        waiting = ["vinstall"]
        while waiting:
            project = waiting.pop()
            found = context.installed.get(project)
            if found is None:
                continue
            kept.add(project)
            for line in found.metadata.requires_dist:
                need = parse_requirement(line)
                if need.project not in kept and need.applies(target.markers):
                    waiting.append(need.project)
    prefix = Path(target.prefix).resolve()
    return [
        one
        for one in context.installed
        if one.project not in kept
        and not one.project.startswith("vinstall-provider-")
        and prefix in Path(one.location).resolve().parents
        and one.kind != "distutils"
    ]
