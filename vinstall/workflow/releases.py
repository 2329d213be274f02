"""Which releases of a project an index offers to the target: ``index versions``, ``list -o``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.errors import ProjectNotFoundError, VinstallError
from vinstall.resolution.selection import group_releases, offers_files
from vinstall.values import dataclass
from vinstall.workflow.resolving import make_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.resolution.selection import Release
    from vinstall.workflow.context import Context


@dataclass(frozen=True, slots=True)
class Versions:
    """What ``index versions`` tells.

    Attributes:
        name: The project as asked for.
        versions: Newest first.
        installed: The installed version; empty for none.
    """

    name: str
    versions: tuple[str, ...]
    installed: str = ""


@dataclass(frozen=True, slots=True)
class Newest:
    """An installed distribution and the newest release that it could have.

    Attributes:
        distribution: What is installed.
        version: The newest version, in its normal form.
        kind: ``wheel`` or ``sdist``: what would be taken of it.
    """

    distribution: InstalledDistribution
    version: str
    kind: str

    @property
    def is_newer(self) -> bool:
        """Whether the release is newer than what is installed."""
        from packaging.version import Version

        return Version(self.version) > Version(self.distribution.version_text)


def find_versions(context: Context, name: str) -> Versions:
    """The versions of a project that have a file for the target.

    Raises:
        VinstallError: There is none.
    """
    project = normalize_name(name)
    versions = tuple(str(release.version) for release in _iter_releases(context, project))
    if not versions:
        raise VinstallError(f"No matching distribution found for {name}")
    there = context.installed.get(project)
    return Versions(name, versions, there.version_text if there is not None else "")


def _iter_releases(context: Context, project: str) -> Iterator[Release]:
    """Usable releases, newest first; pre-releases only where they are wanted."""
    settings = context.settings
    rules = make_rules(context.target, settings.resolve, settings.variants)
    try:
        releases = group_releases(project, context.source.find_links(project))
    except ProjectNotFoundError:
        return
    wanted = settings.resolve.pre
    for release in releases:
        if release.version.is_prerelease and project not in wanted:
            continue
        if offers_files(release, rules):
            yield release


def find_newest(
    context: Context, distributions: Iterable[InstalledDistribution]
) -> tuple[Newest, ...]:
    """The newest release of each distribution; those that no index offers are left out."""
    found = []
    several = list(distributions)
    context.source.prefetch_links(one.project for one in several)
    for one in several:
        release = next(_iter_releases(context, one.project), None)
        if release is None:
            continue
        is_wheel = any(link.is_wheel for link in release.files)
        found.append(Newest(one, str(release.version), "wheel" if is_wheel else "sdist"))
    return tuple(found)
