"""Steps 3 to 8 of the main road: what is asked for → a plan. Nothing is changed here."""

from __future__ import annotations

from functools import partial

from vinstall.distributions.filename import normalize_name
from vinstall.distributions.link import parse_link
from vinstall.distributions.requirement import parse_marker
from vinstall.errors import RequirementError
from vinstall.events import Noted, StageFinished, StageStarted, Warned
from vinstall.plan import (
    check_required_variants,
    check_variant_losses,
    find_mixed_runtimes,
    make_plan,
)
from vinstall.values import dataclass, replace
from vinstall.variants.properties import NULL_LABEL
from vinstall.workflow.gather import Gathered, gather_requirements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.distributions.link import Link
    from vinstall.distributions.requirement import Requirement
    from vinstall.distributions.target import Target
    from vinstall.plan import Plan
    from vinstall.resolution.adapter import Need
    from vinstall.resolution.candidate import Candidate
    from vinstall.resolution.resolved import Resolution
    from vinstall.resolution.search import Watcher
    from vinstall.resolution.selection import Rules
    from vinstall.settings import ResolveSettings, VariantSettings
    from vinstall.workflow.bridges import Bridging
    from vinstall.workflow.context import Context


@dataclass(frozen=True, slots=True)
class Resolved:
    """What resolving gave.

    Attributes:
        plan: The changes.
        requirements: What was asked for, with names, markers applied.
        constraints: Project → limits.
        hash_mode: Whether every file must have a listed hash.
    """

    plan: Plan
    resolution: Resolution
    requirements: tuple[Requirement, ...]
    constraints: dict[str, tuple[Requirement, ...]]
    hash_mode: bool


def gather(context: Context) -> Gathered:
    """What was asked for; the context takes over the options of requirements files."""
    gathered = gather_requirements(
        context.settings,
        context.environment,
        context.fetch_text,
        lambda: context.target.version,
    )
    if gathered.settings is not context.settings:
        if "client" in vars(context):
            context.client.close()
            del context.client
        context.settings = gathered.settings
    return gathered


def resolve_requests(
    context: Context,
    gathered: Gathered,
    *,
    every_variant: bool = False,
    everything_asked: bool = False,
    remember: bool = False,
) -> Resolved:
    """Resolve what was asked for and plan the changes.

    Args:
        context: What the run works with.
        gathered: What was asked for.
        every_variant: Whether the needs of every build of a release count, not only of the
            chosen one (for lock files).
        everything_asked: Whether an upgrade may switch the build of any project, not only
            of those that were named.
        remember: Whether the answer of an earlier run to the same question will do.

    Raises:
        VinstallError: It can not be done; nothing was changed.
    """
    settings = context.settings
    target = context.target
    given = (*gathered.requirements, *gathered.constraints)
    if any(one.url or one.hashes or one.config_settings for one in given):
        context.sources.note_requirements(gathered.requirements, gathered.constraints)
    named = tuple(_name_all(context, gathered.requirements))
    requirements = tuple(_apply_markers(context, named))
    constraints = _group_constraints(context, gathered.constraints)
    hash_mode = _check_hash_mode(settings.resolve, requirements, constraints)
    asked = frozenset(requirement.project for requirement in requirements)
    resolve_settings = settings.resolve
    bridging = None
    if settings.bridges.families:
        from vinstall.workflow.bridges import make_bridging

        bridging = make_bridging(
            context, context.package_source, (*requirements, *gathered.constraints)
        )
    find_installed = (
        bridging.members.find_installed if bridging else partial(_find_installed, context)
    )

    def installed(project: str) -> InstalledDistribution | None:
        if resolve_settings.ignore_installed or resolve_settings.force_reinstall:
            return None
        if target.is_foreign or settings.target.target_dir:
            return None
        return find_installed(project)

    def upgraded(project: str) -> bool:
        if not resolve_settings.upgrade:
            return False
        return project in asked or resolve_settings.upgrade_strategy == "eager"

    memory = None
    if remember and not every_variant and not everything_asked and bridging is None:
        from vinstall.workflow.remembered import Memory

        memory = Memory(context, requirements, constraints)
    looked_for: dict[str, bool] = {}

    def look_for(project: str) -> InstalledDistribution | None:
        there = installed(project)
        looked_for[project] = there is not None
        return there

    context.observer.receive(StageStarted("resolve"))
    try:
        resolution = memory.recall(lambda one: installed(one) is not None) if memory else None
        is_new = resolution is None
        if resolution is None:
            resolution = _search(
                context,
                requirements,
                constraints,
                bridging,
                look_for,
                upgraded,
                may_switch=lambda project: everything_asked or project in asked,
                every_variant=every_variant,
                watcher=_make_watcher(context, requirements, constraints) if remember else None,
            )
    finally:
        context.observer.receive(StageFinished("resolve"))
    if is_new and (shared := context.source.take_shared()):
        context.observer.receive(
            Noted(
                f"On more than one index: {', '.join(shared)}. To take a project from one of "
                "them only, add --index-pin NAME=URL.",
                verbosity=0,
            )
        )

    def before(candidate: Candidate) -> InstalledDistribution | None:
        if target.is_foreign or settings.target.target_dir:
            return None
        there = context.installed.get(candidate.project)
        if bridging is None:
            return there
        # What stands for the same plain project has the same files.
        return find_installed(candidate.project if there else candidate.plain_project)

    plan = make_plan(resolution, before, resolve_settings)
    context.check_strict()
    _warn_of_unused_wishes(context, plan)
    check_required_variants(plan, settings.variants)
    explicit = resolve_settings.upgrade or resolve_settings.force_reinstall
    check_variant_losses(plan, settings.variants, asked if explicit else frozenset())
    _check_listed_hashes(hash_mode, plan, requirements, constraints)
    warn_of_fallbacks(context, plan)
    warn_of_yanked(context, plan)
    if any(change.resolved.candidate.variant is not None for change in plan.installs):
        there = () if target.is_foreign or settings.target.target_dir else context.installed
        for sentence in find_mixed_runtimes(plan, there):
            context.observer.receive(
                Warned("mixed-runtimes", f"{sentence}.", "Programs that use both may fail.")
            )
    if memory is not None and is_new and not any(looked_for.values()):
        memory.keep(resolution, looked_for)
    return Resolved(plan, resolution, requirements, constraints, hash_mode)


def _search(
    context: Context,
    requirements: tuple[Requirement, ...],
    constraints: dict[str, tuple[Requirement, ...]],
    bridging: Bridging | None,
    installed: Callable[[str], InstalledDistribution | None],
    upgraded: Callable[[str], bool],
    *,
    may_switch: Callable[[str], bool],
    every_variant: bool,
    watcher: Watcher | None,
) -> Resolution:
    """Find the newest set of distributions that fits; with real files in place of shown ones.

    Raises:
        VinstallError: There is none, or something can not be read.
    """
    from vinstall.resolution.adapter import Problem
    from vinstall.resolution.resolve import resolve
    from vinstall.resolution.reveal import reveal_builds
    from vinstall.workflow.known import KnownFile

    settings, target = context.settings, context.target
    known = KnownFile(settings.cache_dir, target.markers)
    links: dict[str, Link] = {}

    def link_for(requirement: Requirement) -> Link:
        link = links.get(requirement.url)
        if link is None:
            link = links[requirement.url] = make_direct_link(requirement)
        return link

    problem = Problem(
        rules=replace(
            make_rules(target, settings.resolve, settings.variants),
            refused=context.refused_files,
        ),
        constraints=constraints,
        markers=target.markers,
        installed=installed,
        link_for=link_for,
        upgraded=upgraded,
        may_switch=may_switch,
        every_variant=every_variant,
        agreements=bridging.members if bridging else None,
        source_hint=bridging.tell_source if bridging else partial(_find_source_hint, context),
        staying=_find_staying(context, bridging, requirements),
    )
    try:
        resolution = resolve(
            requirements,
            problem,
            bridging.source if bridging else context.package_source,
            context.query,
            context.observer,
            watcher=watcher,
        )
    finally:
        known.save()
    return reveal_builds(resolution)


def _make_watcher(
    context: Context,
    requirements: Sequence[Requirement],
    constraints: Mapping[str, Sequence[Requirement]],
) -> Watcher | None:
    """Who fetches what is chosen meanwhile, where nothing else has a say in what is fetched."""
    settings = context.settings
    every = [*requirements, *(one for group in constraints.values() for one in group)]
    if (
        (settings.dry_run or not settings.cache_dir or settings.publishers)
        or (settings.resolve.require_hashes or settings.bridges.families or context.refused_files)
        or settings.resolve.only_deps
        or any(one.hashes for one in every)
    ):
        return None
    from vinstall.workflow.ahead import FetchAhead

    if context.ahead is None:
        context.ahead = FetchAhead(context)
    return context.ahead


def _find_installed(context: Context, project: str) -> InstalledDistribution | None:
    """What is installed under a name, or the sister that a bridge took for it earlier."""
    there = context.installed.get(project)
    if there is None:
        from vinstall.workflow.bridges import find_stand_in

        there = find_stand_in(context, project)
    return there


def _find_source_hint(context: Context, candidate: Candidate) -> str:
    from vinstall.workflow.bridges import find_bridge_hint

    return find_bridge_hint(context, candidate)


def _find_staying(
    context: Context, bridging: Bridging | None, requirements: tuple[Requirement, ...]
) -> tuple[Need, ...]:
    if bridging is None:
        return ()
    resolve = context.settings.resolve
    upgraded = resolve.upgrade or resolve.force_reinstall
    return bridging.find_staying(context, requirements, upgraded=upgraded)


def make_rules(target: Target, resolve: ResolveSettings, variants: VariantSettings) -> Rules:
    """What the target can use and the user allows."""
    from vinstall.resolution.selection import Rules

    implementation = target.markers.get("platform_python_implementation", target.implementation)
    version = ".".join(target.version.split(".")[:2])
    where = target.facts.get("platform") or "this system"
    return Rules(
        tag_ranks={tag: rank for rank, tag in reversed(list(enumerate(target.tags)))},
        python_version=target.version,
        resolve=resolve,
        variants=variants,
        target_text=f"{implementation} {version} on {where}",
    )


def make_direct_link(requirement: Requirement) -> Link:
    """The link of a requirement that is a URL or a path."""
    link = parse_link(requirement.url)
    if requirement.hashes and not link.hashes:
        one = {
            name: next(iter(digests))
            for name, digests in requirement.hashes.items()
            if len(digests) == 1
        }
        return replace(link, hashes=one)
    return link


def _name_all(context: Context, requirements: Iterable[Requirement]) -> Iterable[Requirement]:
    """Give a name to every path and URL, by looking into the file."""
    for requirement in requirements:
        if not requirement.url:
            yield requirement
            continue
        link = make_direct_link(requirement)
        metadata = context.source.read_core_metadata(link)
        if requirement.name and normalize_name(requirement.name) != normalize_name(metadata.name):
            raise RequirementError(
                f"{link.filename} is {metadata.name}, not {requirement.name}",
                "the name in the requirement and the name in the file differ",
                f"Write {metadata.name} in the requirement.",
            )
        yield requirement.with_name(metadata.name)


def _apply_markers(context: Context, requirements: Iterable[Requirement]) -> Iterable[Requirement]:
    for requirement in requirements:
        if requirement.applies(context.target.markers):
            yield requirement
        else:
            context.observer.receive(
                Noted(
                    f"Ignoring {requirement.name}: markers "
                    f"'{parse_marker(requirement.marker)}' don't match "
                    "your environment",
                    verbosity=0,
                )
            )


def _group_constraints(
    context: Context, constraints: Iterable[Requirement]
) -> dict[str, tuple[Requirement, ...]]:
    grouped: dict[str, tuple[Requirement, ...]] = {}
    for limit in constraints:
        if limit.applies(context.target.markers):
            grouped[limit.project] = (*grouped.get(limit.project, ()), limit)
    return grouped


def _check_hash_mode(
    resolve: ResolveSettings,
    requirements: tuple[Requirement, ...],
    constraints: dict[str, tuple[Requirement, ...]],
) -> bool:
    """Whether hashes are required, as pip decides; refuse what can not have one."""
    limits = [limit for group in constraints.values() for limit in group]
    given = any(one.hashes for one in (*requirements, *limits))
    required = resolve.require_hashes if resolve.require_hashes is not None else given
    if not required:
        return False
    faults: list[str] = []
    unpinned: list[str] = []
    for requirement in requirements:
        own = (requirement, *constraints.get(requirement.project, ()))
        where = f" ({requirement.origin})" if requirement.origin else ""
        if requirement.editable or "+" in requirement.url.partition(":")[0]:
            faults.append(
                f"{requirement.text}{where}: an editable or version-controlled project has no hash"
            )
        elif any(one.hashes for one in own) or _url_has_hash(requirement):
            continue
        elif any(one.is_pinned for one in own):
            faults.append(f"{requirement.text}{where}: it has no --hash")
        else:
            unpinned.append(f"{requirement.text}{where}")
    if faults:
        raise RequirementError(
            "Hashes are required in --require-hashes mode, but some requirements have none "
            "(a single --hash turns the mode on for all)",
            "\n".join([*faults, *unpinned]),
            "Give every requirement a --hash; 'vinstall hash FILE' prints one.",
        )
    if unpinned:
        raise _not_pinned(unpinned)
    return True


def _url_has_hash(requirement: Requirement) -> bool:
    """Whether a direct URL carries a hash; other fragments, such as ``#egg=``, are none."""
    return bool(requirement.url and parse_link(requirement.url).hashes)


def _not_pinned(lines: Iterable[str]) -> RequirementError:
    return RequirementError(
        "In --require-hashes mode, all requirements must have their versions pinned with ==. "
        "These do not:",
        "\n".join(lines),
        "Pin every requirement with == and give it a --hash, dependencies too.",
    )


def _check_listed_hashes(
    hash_mode: bool,
    plan: Plan,
    requirements: tuple[Requirement, ...],
    constraints: dict[str, tuple[Requirement, ...]],
) -> None:
    """In hash mode every file must be listed, dependencies too."""
    if not hash_mode:
        return
    listed = {one.project for one in requirements if one.hashes or _url_has_hash(one)}
    listed |= {one.project for group in constraints.values() for one in group if one.hashes}
    missing = []
    for change in plan.installs:
        candidate = change.resolved.candidate
        if {candidate.project, candidate.plain_project} & listed or candidate.link is None:
            continue
        digest = candidate.link.hashes.get("sha256", "")
        line = f"{candidate.name}=={candidate.version_text}"
        if digest:
            line += f" --hash=sha256:{digest}"
        parents = ", ".join(change.resolved.parents)
        missing.append(f"{line} (needed by {parents})" if parents else line)
    if missing:
        raise _not_pinned(missing)


def warn_of_yanked(context: Context, plan: Plan) -> None:
    """Say which of the chosen files were yanked (PEP 592), and why."""
    from vinstall.index.address import redact_url

    for change in plan.installs:
        link = change.resolved.candidate.link
        if link is None or link.yanked is None:
            continue
        context.observer.receive(
            Warned(
                "yanked",
                "The candidate selected for download or install is a yanked version: "
                f"{change.resolved.candidate} ({redact_url(link.url)})\n"
                f"Reason for being yanked: {link.yanked or '<none given>'}",
            )
        )


def _warn_of_unused_wishes(context: Context, plan: Plan) -> None:
    """Say where a wish on the command line names a project that is not part of the install."""
    variants = context.settings.variants
    there = {change.resolved.project for change in plan.changes}
    there |= {change.resolved.candidate.plain_project for change in plan.changes}
    for option, projects in (
        ("--variant", variants.labels),
        ("--require-variant", variants.required),
    ):
        said = [what for what, source in context.settings.overrides if source == "command line"]
        for project in projects:
            if project not in there and any(option in what and project in what for what in said):
                context.observer.receive(
                    Warned(
                        "unused-wish",
                        f"{option} names {project}, which is not part of this install.",
                        "Check the spelling.",
                    )
                )


def warn_of_fallbacks(context: Context, plan: Plan) -> None:
    """Say where hardware was seen but the fallback build is taken, and why."""
    if "query" not in vars(context):
        return
    present = {report.namespace: report for report in context.query.reports() if report.present}
    for change in plan.installs:
        candidate = change.resolved.candidate
        selection = plan.selections.get(candidate.project)
        if candidate.label not in ("", NULL_LABEL) or selection is None:
            continue
        if candidate.plain_project in context.settings.variants.labels:
            continue
        reasons = []
        for ranking in selection.rankings:
            for refused in ranking.ranking.refused:
                metadata = ranking.metadata
                spaces = metadata.variants.get(refused.label, {}) if metadata else {}
                if any(namespace in present for namespace in spaces):
                    reasons.append(f"{refused.label}: {refused.reason}")
        if reasons:
            kind = "null variant" if candidate.label else "non-variant wheel"
            context.observer.receive(
                Warned(
                    "accelerator-unused",
                    f"This machine has hardware that builds of {candidate.name} "
                    f"{candidate.version_text} are made for, but the {kind} is taken. "
                    + "; ".join(reasons[:4]),
                    "'vinstall explain' shows every build; --require-variant makes this an error.",
                )
            )
