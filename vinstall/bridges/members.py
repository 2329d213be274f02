"""What candidates and installed distributions are to the bridges that are switched on.

Fits ``resolution.source.Agreements`` by shape. Touches nothing: whoever knows what is
installed is handed in.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from vinstall.bridges.model import contains_release, fits_platform, split_local
from vinstall.bridges.reader import fill_template
from vinstall.distributions.filename import parse_version
from vinstall.values import dataclass, field, replace
from vinstall.variants.properties import NULL_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from vinstall.bridges.model import Build, Family, Plain
    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.resolution.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Member:
    """What a distribution is to a family.

    Attributes:
        family: The family.
        project: The plain project that it stands for.
        build: Its build; empty for the plain file.
        label: Its variant label; empty for the plain file.
        agree: Name → value of what has to be the same in one environment.
    """

    family: str
    project: str
    build: str = ""
    label: str = ""
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Staying:
    """What an installed distribution that stays agrees on.

    Attributes:
        name, value: What has to be the same.
        who: The distribution, for messages.
    """

    name: str
    value: str
    who: str


class Members:
    """Tells members of families apart.

    Args:
        families: Those that are switched on.
        markers: The marker environment of the target.
        installed: Looks up what is installed by its own normalized name.
    """

    def __init__(
        self,
        families: Sequence[Family],
        markers: Mapping[str, str],
        installed: Callable[[str], InstalledDistribution | None],
    ) -> None:
        self._families = tuple(families)
        self._markers = markers
        self._installed = installed
        self._family_of = {project: family for family in families for project in family.projects}
        # many files name the same libraries
        self._libraries = tuple(
            {
                (entry.patterns, entry.releases, tuple(entry.agree.items())): entry
                for family in families
                for entry in family.libraries
            }.values()
        )
        self._known: dict[tuple[str, str], Mapping[str, str]] = {}
        self._sisters: dict[str, list[tuple[Family, Build, str]]] = {}
        for family in families:
            for build in family.builds:
                if build.how == "sister":
                    for project in build.projects:
                        self._sisters.setdefault(build.sister_of(project), []).append(
                            (family, build, project)
                        )

    # what a distribution is

    def find_member(self, project: str, version_text: str) -> Member | None:
        """What a distribution is, by its name and version."""
        public, local = split_local(version_text)
        for family, build, plain_project in self._sisters.get(project, ()):
            if self._counts(build, public):
                return _make_member(family, build, plain_project, {})
        own = self._family_of.get(project)
        if own is None:
            return None
        for build in own.builds if local else ():
            if project not in build.projects or not self._counts(build, public):
                continue
            if build.how == "index" and build.local == local:
                return _make_member(own, build, project, {})
            if build.how == "local":
                match = re.fullmatch(build.local, local)
                if match is not None:
                    groups = {name: value or "" for name, value in match.groupdict().items()}
                    return _make_member(own, build, project, groups)
        for plain in own.plain:
            if project in plain.projects and self._counts(plain, public):
                return Member(own.name, project, agree=plain.agree)
        return Member(own.name, project)

    def _counts(self, entry: Build | Plain, public: str) -> bool:
        return contains_release(entry.releases, public) and fits_platform(
            entry.platforms, self._markers
        )

    def describe(self, distribution: InstalledDistribution) -> InstalledDistribution:
        """An installed distribution with the build that it is, where nothing was written down."""
        if distribution.bridge or distribution.label:
            return distribution
        member = self.find_member(distribution.project, distribution.version_text)
        if member is None or not member.build:
            return distribution
        return replace(
            distribution,
            label=member.label,
            bridge=member.family,
            build=member.build,
            agree=member.agree,
            stands_for="" if member.project == distribution.project else member.project,
        )

    def find_installed(self, project: str) -> InstalledDistribution | None:
        """What is installed under a name, or what stands for it."""
        found = self._installed(project)
        if found is not None:
            return self.describe(found)
        family = self._family_of.get(project)
        for build in family.builds if family is not None else ():
            if build.how == "sister" and project in build.projects:
                found = self._installed(build.sister_of(project))
                if found is not None:
                    described = self.describe(found)
                    if described.stands_for == project:
                        return described
        return None

    # what has to agree

    def agreements(self, candidate: Candidate) -> Mapping[str, str]:
        """What a candidate has to agree on with all others (see ``Agreements``)."""
        if candidate.link is not None and candidate.link.bridge is not None:
            return candidate.link.bridge.agree
        project = candidate.project
        if candidate.installed is not None:
            if candidate.installed.bridge:
                return candidate.installed.agree
            project = candidate.installed.project
        key = (project, candidate.version_text)
        found = self._known.get(key)
        if found is None:
            member = self.find_member(*key)
            found = self._library_agreements(*key) if member is None else member.agree
            self._known[key] = found
        return found

    def _library_agreements(self, project: str, version_text: str) -> Mapping[str, str]:
        public, _ = split_local(version_text)
        found: dict[str, str] = {}
        for entry in self._libraries:
            if any(fnmatchcase(project, pattern) for pattern in entry.patterns) and (
                not entry.releases
                or (parse_version(public) and contains_release(entry.releases, public))
            ):
                for name, value in entry.agree.items():
                    found.setdefault(name, value)
        return found

    def followers(self, candidate: Candidate) -> tuple[str, ...]:
        """Installed projects of the family whose build is another one (see ``Agreements``)."""
        link = candidate.link
        bridge = link.bridge if link is not None else None
        family = self._family_of.get(bridge.project) if bridge is not None else None
        if bridge is None or family is None or not family.same_build:
            return ()
        found = []
        for project in family.projects:
            there = self.find_installed(project) if project != bridge.project else None
            if there is None:
                continue
            agree = there.agree
            if not there.bridge:
                member = self.find_member(there.project, there.version_text)
                agree = member.agree if member is not None else {}
            value = agree.get(family.name)
            if value is not None and value != bridge.agree.get(family.name):
                found.append(project)
        return tuple(found)

    def find_staying(
        self, stays: Callable[[str, InstalledDistribution], bool]
    ) -> tuple[Staying, ...]:
        """What the installed members that stay agree on, one for each name.

        What the environment already holds in two ways is nobody's agreement. The label of a
        family is not among them: its members follow each other.

        Args:
            stays: Whether an installed distribution, by its plain project, stays.
        """
        values: dict[str, dict[str, str]] = {}
        families = {family.name for family in self._families}
        for project, there in self._iter_installed():
            if not stays(project, there):
                continue
            agree = there.agree
            if not there.bridge:
                member = self.find_member(there.project, there.version_text)
                agree = member.agree if member is not None else {}
            for name, value in agree.items():
                if name not in families:
                    who = f"{there.name} {there.version_text}"
                    values.setdefault(name, {}).setdefault(value, who)
        return tuple(
            Staying(name, value, who)
            for name, found in values.items()
            if len(found) == 1
            for value, who in found.items()
        )

    def _iter_installed(self) -> Iterator[tuple[str, InstalledDistribution]]:
        for project in self._family_of:
            there = self.find_installed(project)
            if there is not None:
                yield project, there


def _make_member(family: Family, build: Build, project: str, groups: dict[str, str]) -> Member:
    label = fill_template(build.label, groups)
    agree = {name: fill_template(value, groups) for name, value in build.agree.items()}
    return Member(
        family.name,
        project,
        label,
        label if build.properties else NULL_LABEL,
        family.agreement_of({name: value for name, value in agree.items() if value}, label),
    )
