"""resolvelib's provider interface over our candidates, and only that.

Identifiers are normalized project names, with extras in brackets (``name[a,b]``): a
project with extras is a candidate of its own that needs the very same base candidate.
Candidates are made lazily, newest version and best build first; core metadata is read when
a candidate is pinned, never before. A candidate whose metadata turns out unusable depends on
something that can not be had, so that the next one is tried and the reason is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolvelib.providers import AbstractProvider

from vinstall.distributions.filename import normalize_name
from vinstall.distributions.installed_markers import markers_of
from vinstall.distributions.requirement import (
    KNOWN,
    Requirement,
    fits,
    list_operators,
    merge_hashes,
    names_prerelease,
    parse_requirement,
    parse_specifier,
)
from vinstall.errors import (
    BuildError,
    HashMismatchError,
    IndexAccessError,
    ProjectNotFoundError,
    RequirementError,
    WheelFormatError,
)
from vinstall.events import Warned
from vinstall.patterns import lazy_pattern
from vinstall.resolution.candidate import Candidate
from vinstall.resolution.selection import (
    Release,
    Selection,
    group_releases,
    iter_builds,
    select_release,
)
from vinstall.values import dataclass, field
from vinstall.variants.markers import (
    VariantMarkers,
    fold_variant_markers,
    has_variant_markers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from resolvelib.structs import RequirementInformation

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.resolution.selection import Choice, Rules
    from vinstall.resolution.source import Agreements, PackageSource, SupportedLookup

IMPOSSIBLE = "<impossible>"
_NAMES_LOCAL = lazy_pattern(r"===?\s*[^,]*\+")


@dataclass(frozen=True, slots=True)
class Need:
    """One edge of the graph: something is required.

    Attributes:
        key: The identifier that it is about.
        text: How to show it.
        requirement: Name, specifier, hashes...; ``None`` for an exact or impossible need.
        exact: The very candidate that is needed (the base of a project with extras).
        reason: Why an impossible need is one; who needs an agreement that nobody asked for.
        anew: Whether what is installed does not do: it has to be chosen anew.
        depth: How far from what the user asked for; 0 is asked for.
        order: Position among what the user asked for; the same for what follows from it.
    """

    key: str
    text: str
    requirement: Requirement | None = None
    exact: Candidate | None = None
    reason: str = ""
    anew: bool = False
    depth: int = field(default=0, compare=False)
    order: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A candidate in the graph, with the extras that were asked of it."""

    candidate: Candidate
    extras: frozenset[str] = frozenset()
    depth: int = field(default=0, compare=False)
    order: int = field(default=0, compare=False)

    @property
    def key(self) -> str:
        """The identifier of the node."""
        return make_key(self.candidate.project, self.extras)


def make_key(project: str, extras: frozenset[str]) -> str:
    """The identifier of a project with extras."""
    return f"{project}[{','.join(sorted(extras))}]" if extras else project


def make_agreement(name: str, value: str, who: str = "", depth: int = 0, order: int = 0) -> Need:
    """The need that everything chosen has one and the same value of something.

    Args:
        name: What has to be the same, such as ``cuda``.
        value: The value.
        who: The installed distribution that needs it; empty where a candidate does.
        depth, order: As of any need.
    """
    shown = _SHOWN_NAMES.get(name, f"the build of {name}")
    candidate = Candidate(f"<{name}>", shown, value)
    return Need(
        f"<{name}>", f"{shown} {value}", exact=candidate, reason=who, depth=depth, order=order
    )


def is_agreement(key: str) -> bool:
    """Whether an identifier stands for something to agree on, not for a project."""
    return key.startswith("<") and key != IMPOSSIBLE


_SHOWN_NAMES = {"cuda": "CUDA", "rocm": "ROCm"}

if TYPE_CHECKING:
    _Base = AbstractProvider[Need, Node, str]
    _Information = Mapping[str, Iterator[RequirementInformation[Need, Node]]]
else:
    _Base = AbstractProvider


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked of the resolver, besides the requirements themselves.

    Attributes:
        rules: What the target can use and the user allows.
        constraints: Project → limits that ask for nothing.
        markers: The marker environment of the target.
        installed: Looks up what is installed; answers ``None`` with ``--ignore-installed``.
        link_for: The link of a direct requirement.
        upgraded: Whether a project may leave its installed version although that fits.
        may_switch: Whether an upgrade may switch the build of an installed project.
        every_variant: Whether the needs of every build of a release count.
        agreements: Knows what has to be the same in one environment; ``None`` for nothing.
        source_hint: What to tell of a source that does not build; empty for nothing.
        staying: What installed distributions that stay agree on, from ``make_agreement``.
    """

    rules: Rules
    constraints: Mapping[str, tuple[Requirement, ...]]
    markers: Mapping[str, str]
    installed: Callable[[str], InstalledDistribution | None]
    link_for: Callable[[Requirement], Link]
    upgraded: Callable[[str], bool]
    may_switch: Callable[[str], bool]
    every_variant: bool = False
    agreements: Agreements | None = None
    source_hint: Callable[[Candidate], str] | None = None
    staying: tuple[Need, ...] = ()


class Adapter(_Base):
    """Answers resolvelib from a source, a lookup and the problem.

    Attributes:
        selections: (project, version text) → what the release offered, as far as looked at.
        failures: Project → why nothing at all is known of it.
        broken: Candidate → why it can not be used.
    """

    def __init__(
        self,
        problem: Problem,
        source: PackageSource,
        lookup: SupportedLookup,
        observer: Observer,
    ) -> None:
        self._problem = problem
        self._source = source
        self._lookup = lookup
        self._observer = observer
        self._releases: dict[str, tuple[Release, ...]] = {}
        self._pages: dict[str, tuple[Release, ...]] = {}
        self._metadata: dict[Candidate, CoreMetadata] = {}
        self._edges: dict[Node, tuple[Need, ...]] = {}
        self._told: set[str] = set()
        self._kept: set[tuple[str, str]] = set()
        self.selections: dict[tuple[str, str], Selection] = {}
        self.failures: dict[str, IndexAccessError] = {}
        self.broken: dict[Candidate, str] = {}

    # resolvelib's questions

    def identify(self, requirement_or_candidate: Need | Node) -> str:
        """The project, with extras."""
        return requirement_or_candidate.key

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, Node],
        candidates: Mapping[str, Iterator[Node]],
        information: _Information,
        backtrack_causes: Sequence[RequirementInformation[Need, Node]],
    ) -> tuple[bool, bool, bool, bool, bool, int, int, str]:
        """What to decide first: what is fixed, then what is tight, then what was asked first."""
        needs = [one.requirement for one in information[identifier]]
        urgency = self.find_urgency(identifier, needs)
        in_conflict = identifier in self.find_conflicting(backtrack_causes)
        return (*urgency[:2], not in_conflict, *urgency[3:])

    def find_urgency(
        self, identifier: str, needs: Sequence[Need]
    ) -> tuple[bool, bool, bool, bool, bool, int, int, str]:
        """The preference of a project that is in no conflict, by what is asked of it."""
        fixed = any(
            need.exact is not None or (need.requirement and need.requirement.url) for need in needs
        )
        specifiers = [need.requirement.specifier for need in needs if need.requirement]
        project = identifier.partition("[")[0]
        specifiers += [limit.specifier for limit in self._problem.constraints.get(project, ())]
        operators = {one for text in specifiers if text for one in list_operators(text)}
        depth = min(need.depth for need in needs)
        return (
            identifier != IMPOSSIBLE,
            not fixed,
            True,
            operators.isdisjoint(("==", "===")),
            operators.isdisjoint(("<", "<=", "~=")),
            depth if depth == 0 else 1,
            min(need.order for need in needs),
            identifier,
        )

    def find_conflicting(
        self, causes: Iterable[RequirementInformation[Need, Node]]
    ) -> frozenset[str]:
        """The projects that a conflict is about."""
        found = {cause.requirement.key for cause in causes}
        found.update(cause.parent.key for cause in causes if cause.parent is not None)
        return frozenset(found)

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Need]],
        incompatibilities: Mapping[str, Iterator[Node]],
    ) -> Callable[[], Iterator[Node]] | Sequence[Node]:
        """Candidates for a project that satisfy everything asked so far, best first."""
        needs = list(requirements[identifier])
        if identifier == IMPOSSIBLE:
            return ()
        bad = {node.candidate for node in incompatibilities[identifier]}
        extras = _extras_of(identifier)
        depth = min(need.depth for need in needs)
        order = min(need.order for need in needs)
        exact = {need.exact for need in needs if need.exact is not None}
        named = [need.requirement for need in needs if need.requirement is not None]
        if len(exact) > 1:
            return ()
        if exact:
            candidate = next(iter(exact))
            if candidate in bad or not all(
                self._satisfies(requirement, candidate) for requirement in named
            ):
                return ()
            return (Node(candidate, extras, depth, order),)
        project = identifier.partition("[")[0]

        anew = any(need.anew for need in needs)

        def iterate() -> Iterator[Node]:
            for candidate in self._iter_candidates(project, named):
                if candidate not in bad and not (anew and candidate.installed is not None):
                    yield Node(candidate, extras, depth, order)

        return iterate

    def is_satisfied_by(self, requirement: Need, candidate: Node) -> bool:
        """Whether a candidate is what a need asks for."""
        if requirement.exact is not None:
            return requirement.exact == candidate.candidate
        if requirement.requirement is None:
            return False
        if requirement.anew and candidate.candidate.installed is not None:
            return False
        return self._satisfies(requirement.requirement, candidate.candidate)

    def get_dependencies(self, candidate: Node) -> tuple[Need, ...]:
        """What a candidate needs, variant markers folded, best guesses prefetched."""
        edges = self._edges.get(candidate)
        if edges is None:
            edges = self._find_edges(candidate)
            self._edges[candidate] = edges
            new = [need.key.partition("[")[0] for need in edges if need.requirement is not None]
            self._source.prefetch_links(
                project
                for project in new
                if project not in self._pages and self._problem.installed(project) is None
            )
        return edges

    # what resolve.py asks afterwards

    def metadata(self, candidate: Candidate) -> CoreMetadata:
        """The core metadata of a candidate, read once.

        Raises:
            VinstallError: It can not be read.
        """
        found = self._metadata.get(candidate)
        if found is None:
            if candidate.installed is not None:
                found = candidate.installed.metadata
            else:
                assert candidate.link is not None, "a candidate is a file or installed"
                found = self._source.read_core_metadata(candidate.link)
            self._metadata[candidate] = found
        return found

    def releases(self, project: str) -> tuple[Release, ...]:
        """The releases of a project, newest first; empty where nobody knows it."""
        found = self._pages.get(project)
        if found is None:
            try:
                found = group_releases(project, self._source.find_links(project))
            except ProjectNotFoundError as error:
                self.failures[project] = error
                found = ()
            self._pages[project] = found
        return found

    def best_selection(self, project: str, version_text: str) -> Selection | None:
        """What the release with that version offered, if it was looked at."""
        return self.selections.get((project, version_text))

    # edges

    def _find_edges(self, node: Node) -> tuple[Need, ...]:
        candidate = node.candidate
        depth, order = node.depth + 1, node.order
        if is_agreement(candidate.project):
            return ()
        if node.extras:
            base = Need(
                candidate.project,
                f"{candidate.name}=={candidate.version_text}",
                exact=candidate,
                depth=node.depth,
                order=order,
            )
            return (base, *self._find_needs(node, depth, order))
        return (
            *self._find_agreements(candidate, depth, order),
            *self._find_needs(node, depth, order),
        )

    def _find_agreements(self, candidate: Candidate, depth: int, order: int) -> Iterator[Need]:
        """What has to be the same for all candidates of an environment."""
        agreements = self._problem.agreements
        if agreements is None:
            return
        for name, value in agreements.agreements(candidate).items():
            yield make_agreement(name, value, depth=depth, order=order)
        if self._problem.rules.resolve.no_deps:
            return
        for project in agreements.followers(candidate):
            text = f"{project} of the same build"
            yield Need(project, text, Requirement(project, project), anew=True, depth=depth)

    def _find_needs(self, node: Node, depth: int, order: int) -> Iterator[Need]:
        candidate, rules = node.candidate, self._problem.rules
        try:
            metadata = self.metadata(candidate)
        except (IndexAccessError, WheelFormatError, BuildError, HashMismatchError) as error:
            if candidate.direct or isinstance(error, (BuildError, HashMismatchError)):
                self._tell_refused_builds(candidate)
                raise
            self.broken[candidate] = str(error)
            self._warn(
                "unusable-distribution",
                f"{candidate.link.filename if candidate.link else candidate} is left out: {error}",
            )
            yield Need(IMPOSSIBLE, "a usable file", reason=str(error))
            return
        if metadata.requires_python and not rules.resolve.ignore_requires_python:
            try:
                usable = fits(metadata.requires_python, rules.python_version)
            except RequirementError:
                usable = True
            if not usable:
                reason = f"Python {metadata.requires_python} (this one is {rules.python_version})"
                yield Need(IMPOSSIBLE, reason, reason=reason)
                return
        real, version_text = _real_release(candidate)
        if real != candidate.project:
            # It only stands for the plain project: the real one has the needs.
            line = f"{make_key(real, node.extras)}=={version_text}"
            yield self._make_need(parse_requirement(line), depth, order)
            return
        if rules.resolve.no_deps:
            return
        if candidate.variant is not None and not node.extras:
            for line in candidate.variant.requirements:
                requirement = parse_requirement(line)
                exact = candidate if requirement.project == candidate.project else None
                yield self._make_need(requirement, depth, order, exact)
        known = {normalize_name(extra) for extra in metadata.extras}
        for extra in sorted(node.extras - known):
            self._warn(
                "unknown-extra",
                f"{candidate.name} {candidate.version_text} does not provide the extra '{extra}'",
            )
        if self._problem.every_variant:
            for other in self._other_builds(candidate):
                yield from self._find_dependencies(node, other, depth, order)
        yield from self._find_dependencies(node, candidate, depth, order)

    def _tell_refused_builds(self, candidate: Candidate) -> None:
        """Say why a source had to be built, where there are builds that do not fit."""
        hint = self._problem.source_hint
        if hint is None or candidate.link is None or candidate.link.is_wheel:
            return
        sentence = hint(candidate)
        if sentence:
            self._warn("source-built", sentence)

    def _other_builds(self, candidate: Candidate) -> Iterator[Candidate]:
        """Every other build of the release that fits the interpreter, whatever the hardware."""
        selection = self.selections.get((candidate.project, candidate.version_text))
        if selection is None or candidate.direct or _is_bridged(candidate):
            return
        for build in iter_builds(selection):
            if build.link != candidate.link:
                yield build

    def _find_dependencies(
        self, node: Node, candidate: Candidate, depth: int, order: int
    ) -> Iterator[Need]:
        try:
            metadata = self.metadata(candidate)
        except (IndexAccessError, WheelFormatError, BuildError, HashMismatchError):
            if candidate == node.candidate:
                raise
            return
        markers = VariantMarkers.NON_VARIANT
        if candidate.variant is not None:
            markers = VariantMarkers.for_variant(candidate.label, candidate.variant.supported)
        elif candidate.installed is not None and candidate.label:
            markers = markers_of(candidate.installed)
        if not node.extras and not any(map(has_variant_markers, metadata.requires_dist)):
            for plain in self._list_plain(metadata.requires_dist, candidate):
                yield self._make_need(plain, depth, order)
            return
        for line in metadata.requires_dist:
            requirement = self._read_dependency(line, markers, candidate)
            if requirement is None:
                continue
            if not node.extras:
                if requirement.applies(self._problem.markers):
                    yield self._make_need(requirement, depth, order)
            elif not requirement.applies(self._problem.markers) and requirement.applies(
                self._problem.markers, node.extras
            ):
                yield self._make_need(requirement, depth, order)

    def _list_plain(self, lines: Sequence[str], candidate: Candidate) -> Iterator[Requirement]:
        """The needs that apply without any extra; which they are is remembered."""
        from hashlib import sha256

        environment = self._problem.markers
        text = "\n".join(lines).encode("utf-8", "surrogatepass")
        digest = sha256(text).hexdigest()[:32] if environment is KNOWN.environment else ""
        applying = KNOWN.needs.get(digest)
        if applying is None or (applying and applying[-1] >= len(lines)):
            applying = []
            for number, line in enumerate(lines):
                need = self._read_dependency(line, VariantMarkers.NON_VARIANT, candidate)
                if need is not None and need.applies(environment):
                    applying.append(number)
            if digest:
                KNOWN.needs[digest] = applying
        for number in applying:
            plain = self._read_dependency(lines[number], VariantMarkers.NON_VARIANT, candidate)
            if plain is not None:
                yield plain

    def _read_dependency(
        self, line: str, markers: VariantMarkers, candidate: Candidate
    ) -> Requirement | None:
        origin = f"{candidate.name} {candidate.version_text}"
        if has_variant_markers(line):
            folded = fold_variant_markers(line, markers)
            if folded is None:
                return None
            line = folded
        key = (line, origin)
        found = _DEPENDENCIES.get(key)
        if found is None:
            found = _DEPENDENCIES[key] = parse_requirement(line, origin)
        return found

    def _make_need(
        self, requirement: Requirement, depth: int, order: int, exact: Candidate | None = None
    ) -> Need:
        return Need(
            make_key(requirement.project, requirement.extras),
            str(requirement).partition(";")[0].strip() if not requirement.url else str(requirement),
            requirement,
            exact,
            depth=depth,
            order=order,
        )

    # candidates

    def _satisfies(self, requirement: Requirement, candidate: Candidate) -> bool:
        if requirement.url:
            if candidate.installed is not None:
                link = self._problem.link_for(requirement)
                return (candidate.project, link.url) in self._kept
            return candidate.direct and candidate.link == self._problem.link_for(requirement)
        return requirement.allows(candidate.version_text)

    def _iter_candidates(
        self, project: str, requirements: Sequence[Requirement]
    ) -> Iterator[Candidate]:
        limits = self._problem.constraints.get(project, ())
        direct = [one for one in (*requirements, *limits) if one.url]
        if direct:
            yield from self._iter_direct(project, requirements, limits, direct)
            return
        every = (*requirements, *limits)
        installed = self._installed_candidate(project, every)
        upgrade = self._problem.upgraded(project)
        if installed is not None and not upgrade:
            yield installed
        yield from self._iter_found(project, every, installed, upgrade)

    def _installed_candidate(
        self, project: str, requirements: Sequence[Requirement]
    ) -> Candidate | None:
        distribution = self._problem.installed(project)
        if distribution is None:
            return None
        wanted = {one.label for one in requirements if one.label}
        wanted |= {self._problem.rules.variants.labels.get(project, "")} - {""}
        if wanted and not wanted & {distribution.label, distribution.build}:
            return None
        if not all(one.allows(distribution.version_text) for one in requirements):
            return None
        return Candidate(
            project, distribution.name, distribution.version_text, installed=distribution
        )

    def _iter_found(
        self,
        project: str,
        requirements: Sequence[Requirement],
        installed: Candidate | None,
        upgrade: bool,
    ) -> Iterator[Candidate]:
        """Candidates of the indexes, with the installed one in its place when upgrading."""
        if installed is None:
            for selection in self._iter_selections(project, requirements):
                yield from self._iter_builds(selection)
            return
        pending = installed if upgrade else None
        there = installed.installed if installed is not None else None
        installed_version = there.public_version if there is not None else None
        for selection in self._iter_selections(project, requirements):
            version = selection.release.version
            if installed is not None and version in (installed_version, installed.version):
                if pending is None:
                    continue
                first = selection.choices[0] if selection.choices else None
                label = first.variant.label if first and first.variant else ""
                if (
                    first is None
                    or label == installed.label
                    or (first.variant is None and there is not None and there.bridge)
                    or not self._problem.may_switch(project)
                ):
                    yield pending
                    pending = None
                    continue
                pending = None
            elif (
                pending is not None
                and installed_version is not None
                and (version < installed_version)
            ):
                yield pending
                pending = None
            yield from self._iter_builds(selection)
        if pending is not None:
            yield pending

    def _iter_builds(self, selection: Selection) -> Iterator[Candidate]:
        """The builds of one release; a later one only if it needs other things."""
        seen: list[frozenset[tuple[str, str]]] = []
        choices = sorted(selection.choices, key=self._leaves_installed)
        for number, choice in enumerate(choices):
            candidate = selection.candidate(choice)
            if number:
                try:
                    needs = self._needs_of(candidate)
                except (IndexAccessError, WheelFormatError, BuildError, HashMismatchError):
                    continue
                if needs in seen:
                    continue
                seen.append(needs)
                yield candidate
            else:
                self._source.prefetch_metadata([choice.link])
                yield candidate
                if len(choices) > 1:
                    seen.append(self._needs_of(candidate))

    def _leaves_installed(self, choice: Choice) -> bool:
        """Whether a build was made for another release of something that is installed.

        Such builds are tried later, so that an extension follows the framework that is there.
        """
        for line in choice.variant.requirements if choice.variant is not None else ():
            need = parse_requirement(line)
            there = self._problem.installed(need.project)
            if (
                there is not None
                and not self._problem.upgraded(need.project)
                and not need.allows(there.version_text)
            ):
                return True
        return False

    def _needs_of(self, candidate: Candidate) -> frozenset[tuple[str, str]]:
        return frozenset((need.key, need.text) for need in self.get_dependencies(Node(candidate)))

    def _iter_selections(
        self, project: str, requirements: Sequence[Requirement]
    ) -> Iterator[Selection]:
        rules = self._problem.rules
        releases = self.releases(project)
        if not releases:
            return
        hashes = merge_hashes(requirements)
        pinned = any(one.is_pinned for one in requirements if one.specifier)
        labels = {one.label for one in requirements if one.label}
        if len(labels) > 1:
            return
        label = next(iter(labels), "")
        chosen: Iterable[Release] = self._iter_allowed(project, requirements, releases)
        if rules.resolve.prefer_binary:
            chosen = sorted(
                chosen, key=lambda release: not any(link.is_wheel for link in release.files)
            )
        for release in chosen:
            key = (project, release.version_text)
            selection = self.selections.get(key)
            if selection is None or hashes or label or pinned:
                selection = select_release(
                    release,
                    rules,
                    self._source,
                    self._lookup,
                    hashes=hashes,
                    allow_yanked=pinned,
                    label=label,
                )
                self.selections[key] = selection
            if selection.choices:
                yield selection

    def _iter_allowed(
        self,
        project: str,
        requirements: Sequence[Requirement],
        releases: Sequence[Release],
    ) -> Iterator[Release]:
        """Releases that fit, newest first; none is compared before it is asked for.

        Pre-releases count where they are asked for, and where nothing final fits.
        """
        resolve = self._problem.rules.resolve
        combined = ",".join(one.specifier for one in requirements if one.specifier)
        every = project in resolve.pre
        if not every and project not in resolve.only_final:
            every = names_prerelease(combined)
        found = skipped = False
        for release in releases:
            if release.is_prerelease and not every:
                skipped = True
            elif self._is_usable(release, combined) and all(
                one.allows(release.version_text) for one in requirements
            ):
                found = True
                yield release
        if skipped and not found and project not in resolve.only_final:
            allowed = self._allowed_versions(project, requirements, releases)
            yield from (release for release in releases if release.version_text in allowed)

    def _allowed_versions(
        self,
        project: str,
        requirements: Sequence[Requirement],
        releases: Sequence[Release],
    ) -> frozenset[str]:
        """Versions that fit: pre-releases only if asked for, or if nothing final fits."""
        resolve = self._problem.rules.resolve
        combined = ",".join(one.specifier for one in requirements if one.specifier)
        choice: bool | None = None
        if project in resolve.pre:
            choice = True
        elif project in resolve.only_final:
            choice = False
        usable = [release for release in releases if self._is_usable(release, combined)]
        if not combined and choice is None:
            final = [one for one in usable if not one.version.is_prerelease]
            return frozenset(one.version_text for one in (final or usable))
        by_version = {str(release.version): release.version_text for release in usable}
        fitting = parse_specifier(combined).filter(by_version, prereleases=choice)
        return frozenset(by_version[text] for text in fitting)

    def _is_usable(self, release: Release, specifier: str) -> bool:
        if release.is_pinned_only and not _NAMES_LOCAL.search(specifier):
            return False
        return not release.is_yanked or "==" in specifier

    def _iter_direct(
        self,
        project: str,
        requirements: Sequence[Requirement],
        limits: Sequence[Requirement],
        direct: Sequence[Requirement],
    ) -> Iterator[Candidate]:
        links = {self._problem.link_for(one).url: self._problem.link_for(one) for one in direct}
        if len(links) > 1:
            return
        link = next(iter(links.values()))
        candidate = self._direct_candidate(project, link, (*requirements, *limits))
        distribution = self._problem.installed(project)
        editable = any(one.editable for one in direct)
        if distribution is not None and not editable and _can_stay(distribution, candidate):
            self._kept.add((project, link.url))
            candidate = Candidate(
                project, distribution.name, distribution.version_text, installed=distribution
            )
        others = [one for one in (*requirements, *limits) if not one.url]
        if all(one.allows(candidate.version_text) for one in others):
            yield candidate

    def _direct_candidate(
        self, project: str, link: Link, requirements: Sequence[Requirement]
    ) -> Candidate:
        metadata = self._source.read_core_metadata(link)
        if normalize_name(metadata.name) != project:
            raise RequirementError(
                f"{link.filename} is {metadata.name}, not {project}",
                "the name in the requirement and the name in the file differ",
            )
        if not link.is_wheel:
            return Candidate(project, metadata.name, metadata.version, link=link, direct=True)
        (release,) = group_releases(project, [link]) or (None,)
        if release is None:
            raise WheelFormatError(
                f"{link.filename} is not a valid wheel file name",
                f"it does not belong to {metadata.name} {metadata.version}",
            )
        selection = select_release(
            release,
            self._problem.rules,
            self._source,
            self._lookup,
            hashes=merge_hashes(requirements),
            allow_yanked=True,
            direct=True,
        )
        self.selections[project, release.version_text] = selection
        if not selection.choices:
            reasons = "; ".join(refusal.reason for refusal in selection.refusals)
            raise WheelFormatError(
                f"{link.filename} is not a supported wheel on this platform", reasons
            )
        made = selection.candidate(selection.choices[0])
        candidate = Candidate(
            made.project,
            metadata.name,
            metadata.version,
            link=link,
            variant=made.variant,
            refusals=made.refusals,
            direct=True,
        )
        self._metadata[candidate] = metadata
        return candidate

    # telling

    def _warn(self, code: str, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._observer.receive(Warned(code, what))


_DEPENDENCIES: dict[tuple[str, str], Requirement] = {}


def _real_release(candidate: Candidate) -> tuple[str, str]:
    """The project and version that a candidate is, or stands for (bridges)."""
    if candidate.installed is not None:
        return candidate.installed.project, candidate.version_text
    bridge = candidate.link.bridge if candidate.link is not None else None
    if bridge is not None:
        return bridge.real_project, bridge.version_text
    return candidate.project, candidate.version_text


def _is_bridged(candidate: Candidate) -> bool:
    return candidate.link is not None and candidate.link.bridge is not None


def _extras_of(identifier: str) -> frozenset[str]:
    _, bracket, rest = identifier.partition("[")
    return frozenset(rest[:-1].split(",")) if bracket else frozenset()


def _can_stay(distribution: InstalledDistribution, candidate: Candidate) -> bool:
    """Whether what is installed counts as what a URL or path names.

    As pip has it: the same version stays, except where sources on this machine are asked
    for, or something editable is there. Another variant is never the same.
    """
    link = candidate.link
    assert link is not None, "a direct candidate has a link"
    if distribution.editable_location or (link.is_file and not link.is_wheel):
        return False
    there = Candidate(
        candidate.project, distribution.name, distribution.version_text, installed=distribution
    )
    return there.version == candidate.version and there.label == candidate.label
