"""Bridges in a run: which families are on, where they look, and the hint when they are off.

Nothing of ``vinstall.bridges`` is imported while bridges are off, except for the hint, and for
that only where a project of a family is among the changes.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from vinstall.errors import BridgeError
from vinstall.events import Noted, Warned
from vinstall.settings import PYPI_URL
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vinstall.bridges.members import Members
    from vinstall.bridges.model import Build, Family
    from vinstall.bridges.source import Places
    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.distributions.requirement import Requirement
    from vinstall.events import Observer
    from vinstall.plan import Plan
    from vinstall.resolution.adapter import Need
    from vinstall.resolution.candidate import Candidate
    from vinstall.resolution.source import PackageSource
    from vinstall.settings import BridgeSettings, IndexSettings, Names
    from vinstall.variants.properties import Properties
    from vinstall.workflow.context import Context

_FOLDER = Path(__file__).parent.parent / "bridges" / "families"
_NAMES = "names.txt"
_HOST_OF_PYPI = frozenset({PYPI_URL, "https://pypi.python.org/simple"})


@dataclass(frozen=True, slots=True)
class Bridging:
    """The bridges of a run.

    Attributes:
        families: Those that are switched on.
        source: The user's source, with what bridges show.
        members: Who belongs to which family.
    """

    families: tuple[Family, ...]
    source: PackageSource
    members: Members

    def tell_source(self, candidate: Candidate) -> str:
        """What to tell of a source that has to be built; empty for nothing."""
        from vinstall.bridges.source import BridgedSource

        if not isinstance(self.source, BridgedSource):
            return ""
        refused = self.source.describe_refused(candidate.project)
        if not refused:
            return ""
        return (
            f"{candidate.name} {candidate.version_text} has to be built from its source, since "
            f"none of the builds that are known fits. {'; '.join(refused[:4])}"
        )

    def find_staying(
        self, context: Context, requirements: Sequence[Requirement], *, upgraded: bool
    ) -> tuple[Need, ...]:
        """What installed members that stay agree on."""
        from vinstall.resolution.adapter import make_agreement

        asked: dict[str, list[Requirement]] = {}
        for one in requirements:
            asked.setdefault(one.project, []).append(one)
        labels = context.settings.variants.labels

        def stays(project: str, there: InstalledDistribution) -> bool:
            own = [*asked.get(project, ()), *asked.get(there.project, ())]
            wanted = {one.label for one in own} | {labels.get(project, "")}
            if own and (upgraded or not all(one.allows(there.version_text) for one in own)):
                return False
            return not wanted - {"", there.label, there.build}

        return tuple(
            make_agreement(one.name, one.value, one.who) for one in self.members.find_staying(stays)
        )


def load_package_families(wanted: Names | None = None, project: str = "") -> tuple[Family, ...]:
    """The families that vinstall brings along, by file name, which is their own.

    Args:
        wanted: Those to read; ``None`` for all.
        project: Leave out families in whose files this name does not stand; empty for none.
    """
    from vinstall.bridges.reader import parse_family

    texts = (
        (path.name, path.read_text("utf-8"))
        for path in sorted(_FOLDER.glob("*.toml"))
        if wanted is None or path.stem in wanted
    )
    return tuple(
        parse_family(text, name) for name, text in texts if not project or f'"{project}"' in text
    )


def load_families(
    settings: BridgeSettings,
    observer: Observer,
    wanted: Names | None = None,
    project: str = "",
) -> tuple[Family, ...]:
    """Families, those of the user's files in place of those of the same name.

    Args:
        settings: The user's files.
        observer: Receives warnings.
        wanted: Which of the package to read; ``None`` for all.
        project: A name that has to stand in those of the package; empty for any.

    Raises:
        BridgeError: A file can not be read, or is wrong.
    """
    from vinstall.bridges.reader import parse_family

    found = {family.name: family for family in load_package_families(wanted, project)}

    def warn(sentence: str) -> None:
        observer.receive(Warned("bridge", f"{sentence}. It is ignored."))

    for location in settings.files:
        try:
            text = Path(location).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            raise BridgeError(f"The bridge file {location} can not be read", reason) from error
        family = parse_family(text, location, warn)
        found[family.name] = family
    return tuple(found.values())


def _choose_families(settings: BridgeSettings, observer: Observer) -> tuple[Family, ...]:
    families = load_families(settings, observer, settings.families)
    unknown = sorted(settings.families.names - {family.name for family in families})
    if unknown:
        known = {family.name for family in load_families(settings, observer)}
        raise BridgeError(
            f"There is no bridge {unknown[0]!r}",
            f"known are {', '.join(sorted(known)) or 'none'}",
            "Write --bridge for all, or name some after '='.",
        )
    names = {name for family in families for name in family.urls}
    for name in settings.urls if settings.families.everything else ():
        if name not in names:
            observer.receive(
                Warned(
                    "bridge",
                    f"--bridge-url names {name}, which no bridge uses.",
                    f"Known are {', '.join(sorted(names)) or 'none'}.",
                )
            )
    return tuple(family for family in families if family.name in settings.families)


def make_bridging(
    context: Context, source: PackageSource, requirements: Sequence[Requirement]
) -> Bridging | None:
    """The bridges of a run; ``None`` where none is switched on.

    Args:
        context: What the run works with.
        source: The user's own indexes and folders, or a lock file.
        requirements: What was asked for, and constraints.

    Raises:
        BridgeError: A file is wrong, or a family is not known.
    """
    settings = context.settings.bridges
    if not settings.families:
        return None
    from vinstall.bridges.members import Members
    from vinstall.bridges.model import split_local
    from vinstall.bridges.source import BridgedSource
    from vinstall.index.lock_source import LockSource

    families = _choose_families(settings, context.observer)
    lookup = context.installed.get if sees_installed(context) else _find_nothing
    members = Members(families, context.target.markers, lookup)
    if isinstance(source, LockSource):
        return Bridging(families, source, members)
    return Bridging(
        families,
        BridgedSource(
            source,
            families,
            find_places(families, settings, context.settings.index),
            context.query,
            context.settings.variants,
            frozenset(one.label for one in requirements if one.label),
            frozenset(
                split_local(version)[1]
                for one in requirements
                for version in one.specifier.replace(" ", "").split(",")
            )
            - {""},
            context.target.markers,
            context.source.read_pages,
            context.source.begin_pages,
            lambda sentence: context.observer.receive(Noted(sentence, verbosity=0)),
            context.settings.resolve.no_binary,
        ),
        members,
    )


def sees_installed(context: Context) -> bool:
    """Whether what is installed in the environment counts."""
    settings = context.settings
    return not (
        context.target.is_foreign or settings.target.target_dir or settings.resolve.ignore_installed
    )


def _find_nothing(project: str) -> None:
    del project


def find_places(
    families: Sequence[Family], settings: BridgeSettings, index: IndexSettings
) -> Places:
    """Where the URLs of families lead, and which are not contacted."""
    from vinstall.bridges.source import Places
    from vinstall.index.address import host_of

    own_index = index.index_url.rstrip("/") not in _HOST_OF_PYPI
    urls = {}
    closed = {}
    for family in families:
        for name, template in family.urls.items():
            key = (family.name, name)
            replaced = settings.urls.get(name, "")
            if replaced and "://" not in replaced:
                replaced = Path(replaced).expanduser().absolute().as_uri().replace("%7B", "{")
                replaced = replaced.replace("%7D", "}")
            urls[key] = replaced or template
            fix = f"name another place with --bridge-url {name}=URL"
            if index.no_index and not urls[key].startswith("file:"):
                closed[key] = f"--no-index is set; {fix}"
            elif own_index and not replaced:
                closed[key] = f"--index-url is set, so {host_of(template)} is not asked; {fix}"
    return Places(urls, closed)


# The hint


def find_bridge_hints(context: Context, plan: Plan) -> tuple[str, ...]:
    """A sentence for each project of which a bridge knows a build that fits better.

    Only for what is about to be installed, and only where bridges are neither on nor refused.
    """
    candidates = (change.resolved.candidate for change in plan.installs)
    return tuple(filter(None, (find_bridge_hint(context, one) for one in candidates)))


def find_bridge_hint(context: Context, candidate: Candidate) -> str:
    """Why a bridge would know a better build than a candidate; empty where it does not."""
    settings = context.settings.bridges
    if settings.families or settings.refused or candidate.variant is not None:
        return ""
    if not settings.files and candidate.project not in _read_names():
        return ""
    link = candidate.link
    if link is None or candidate.direct or (link.is_wheel and "+" in candidate.version_text):
        return ""  # who names a build has it
    try:
        families = load_families(settings, context.observer, project=candidate.project)
    except BridgeError:
        return ""
    for family in families:
        reason = _find_fault(context, family, candidate)
        if reason:
            return (
                f"{candidate.name} {candidate.version_text} {reason}. '--bridge' (or "
                f"'--bridge={family.name}') also looks at other builds of it that are known."
            )
    return ""


def find_stand_in(context: Context, project: str) -> InstalledDistribution | None:
    """The installed sister that stands for a project, as was written down when it was taken.

    Works without the families: only projects that some family of the package names are
    looked for.
    """
    if project not in _read_names():
        return None
    return next((one for one in context.installed if one.stands_for == project), None)


@lru_cache(maxsize=1)
def _read_names() -> frozenset[str]:
    try:
        return frozenset((_FOLDER / _NAMES).read_text("utf-8").split())
    except OSError:
        return frozenset()


def _find_fault(context: Context, family: Family, candidate: Candidate) -> str:
    """Why what will be installed does not suit this machine; empty where it does."""
    from vinstall.bridges.model import contains_release, fits_platform, split_local

    project, link = candidate.project, candidate.link
    if project not in family.projects or link is None or candidate.direct:
        return ""
    markers = context.target.markers
    public, local = split_local(candidate.version_text)

    def counts(build: Build) -> bool:
        return (
            project in build.projects
            and contains_release(build.releases, public)
            and fits_platform(build.platforms, markers)
        )

    if not link.is_wheel:
        sisters = [
            build.sister_of(project)
            for build in family.builds
            if build.how == "sister" and counts(build) and _supports(context, build.properties)
        ]
        return f"is a source that has to be built; {sisters[0]} has wheels" if sisters else ""
    if local:
        return ""
    for plain in family.plain:
        if project not in plain.projects:
            continue
        if contains_release(plain.releases, public) and fits_platform(plain.platforms, markers):
            if not plain.properties or _supports(context, plain.properties):
                return ""
            if not any(counts(one) and _supports(context, one.properties) for one in family.builds):
                return ""
            return _tell_unsuited(context, plain.properties, plain.megabytes)
    return ""


def _supports(context: Context, properties: Properties) -> bool:
    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.ordering import rank_variants

    if not properties:
        return True
    metadata = VariantMetadata(tuple(properties), {"plain": properties})
    supported = context.query.find_supported(metadata)
    return bool(rank_variants(["plain"], metadata, supported).ranked)


def _tell_unsuited(context: Context, properties: Properties, megabytes: int) -> str:
    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.ordering import rank_variants

    metadata = VariantMetadata(tuple(properties), {"plain": properties})
    supported = context.query.find_supported(metadata)
    namespace = next(iter(properties))
    if not any(supported.namespaces.get(namespace, {}).values()):
        size = f", with about {megabytes / 1000:.1f} GB for it" if megabytes >= 1000 else ""
        return f"is built for {namespace}{size}, and this machine has nothing of that"
    (refused,) = rank_variants(["plain"], metadata, supported).refused
    if refused.feature is not None and refused.feature.feature == "cuda_version_lower_bound":
        wanted, offered = refused.wanted[0], refused.offered[0] if refused.offered else ""
        return f"needs CUDA {wanted}, and the driver here offers {offered}"
    return f"does not run here: {refused.reason}"
