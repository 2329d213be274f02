"""The files of one release → what can be installed, best first, and why the rest can not.

Implements the order of PEP 825, "Variant ordering" (variants, null, non-variant wheels),
inside a label the order of platform compatibility tags and build numbers, and source
distributions last. Every file left out is a ``Refusal`` with its reason.
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Literal

from vinstall.distributions.filename import (
    WheelFilename,
    normalize_name,
    parse_sdist_filename,
    parse_version,
    parse_wheel_filename,
)
from vinstall.distributions.link_table import LinkTable
from vinstall.distributions.requirement import fits
from vinstall.errors import RequirementError, VariantMetadataError, WheelFormatError
from vinstall.resolution.candidate import Candidate, ChosenVariant
from vinstall.values import dataclass, field
from vinstall.variants.metadata import VariantMetadata
from vinstall.variants.ordering import (
    RankedVariant,
    Ranking,
    abi_requirements,
    abi_specifier,
    rank_variants,
)
from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    VariantProperty,
    iter_properties,
)
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packaging.version import Version

    from vinstall.distributions.link import Link
    from vinstall.distributions.link_table import LinkGroup
    from vinstall.resolution.source import PackageSource, SupportedLookup
    from vinstall.settings import ResolveSettings, VariantSettings

_VARIANTS_SUFFIX = "-variants.json"
_MOST_COMBINATIONS = 256
"""Alternatives of one wheel that are tried; no honest wheel has as many."""

RefusalKind = Literal[
    "format", "tags", "requires-python", "yanked", "hash", "variant", "label", "binary", "source"
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was left out.

    Attributes:
        filename: Its name.
        kind: What kind of rule it broke.
        reason: The rest of the sentence "left out because …".
        label: Its variant label, empty for others.
    """

    filename: str
    kind: RefusalKind
    reason: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """The files of one version of a project, from every index.

    Attributes:
        project: The normalized name.
        version: The version.
        version_text: As the first file writes it.
        files: Wheels and source distributions, in the order found.
        variant_files: The ``*-variants.json`` links of the version.
    """

    project: str
    version: Version
    version_text: str
    files: tuple[Link, ...]
    variant_files: tuple[Link, ...] = ()

    @property
    def is_pinned_only(self) -> bool:
        """Whether only a requirement that names its local version may take it (bridges)."""
        return "+" in self.version_text and all(
            link.bridge is not None and link.bridge.pinned_only for link in self.files
        )

    @property
    def is_prerelease(self) -> bool:
        """Whether it is a pre-release or a development release."""
        return self.version.is_prerelease

    @property
    def is_yanked(self) -> bool:
        """Whether every file is yanked (PEP 592)."""
        return all(link.yanked is not None for link in self.files)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the target can use and the user allows.

    Attributes:
        tag_ranks: Tag → rank; a smaller rank is more specific.
        python_version: Full version of the target's Python.
        resolve: Formats, Requires-Python.
        variants: Labels, patterns, and so on.
        target_text: How to name the target in a reason ("CPython 3.11 on linux_x86_64").
        refused: File name → why it turned out to be unusable.
    """

    tag_ranks: Mapping[str, int]
    python_version: str
    resolve: ResolveSettings
    variants: VariantSettings
    target_text: str = "this interpreter and platform"
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """A file that can be installed."""

    link: Link
    wheel: WheelFilename | None
    variant: ChosenVariant | None = None


@dataclass(frozen=True, slots=True)
class IndexRanking:
    """How the variants of a release on one index compare."""

    index: str
    metadata: VariantMetadata | None
    supported: SupportedProperties
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class Selection:
    """What one release offers to the target.

    Attributes:
        release: The release.
        choices: What can be installed, best first; one for each label (for each
            combination of ``abi_dependency`` alternatives), then the best non-variant
            wheel, then the best source distribution.
        refusals: The files left out.
        rankings: For each index with variant wheels, in index order.
        problem: Why the variant wheels could not be looked at; empty normally.
    """

    release: Release
    choices: tuple[Choice, ...]
    refusals: tuple[Refusal, ...]
    rankings: tuple[IndexRanking, ...] = ()
    problem: str = ""

    def candidate(self, choice: Choice) -> Candidate:
        """The candidate that a choice stands for."""
        return Candidate(
            project=self.release.project,
            name=choice.wheel.name if choice.wheel else self.release.project,
            version_text=self.release.version_text,
            link=choice.link,
            variant=choice.variant,
            refusals=self.refusals,
        )


class TableRelease(Release):
    """A release in a table of links, whose files become links when they are looked at."""

    __slots__ = ("_group", "_number", "_table")

    def __init__(self, table: LinkTable, number: int) -> None:
        set_slot = object.__setattr__
        set_slot(self, "_table", table)
        set_slot(self, "_number", number)
        set_slot(self, "_group", table.groups[number])

    _table: LinkTable
    _number: int
    _group: LinkGroup

    @property
    def project(self) -> str:
        """The normalized name."""
        return self._table.project

    @property
    def version_text(self) -> str:
        """The version as the first file writes it."""
        return self._group.version_text

    @property
    def version(self) -> Version:
        """The version."""
        version = parse_version(self._group.version_text)
        assert version is not None, "checked when the table was made"
        return version

    @property
    def files(self) -> tuple[Link, ...]:
        """Wheels and source distributions."""
        files = self._table.files(self._number)
        return tuple(link for link in files if not link.filename.endswith(_VARIANTS_SUFFIX))

    @property
    def variant_files(self) -> tuple[Link, ...]:
        """The ``*-variants.json`` links of the version."""
        files = self._table.files(self._number)
        return tuple(link for link in files if link.filename.endswith(_VARIANTS_SUFFIX))

    @property
    def is_pinned_only(self) -> bool:
        """Files of a page come through no bridge."""
        return False

    @property
    def is_prerelease(self) -> bool:
        """Whether it is a pre-release or a development release."""
        return self._group.is_prerelease

    @property
    def is_yanked(self) -> bool:
        """Whether every file is yanked (PEP 592)."""
        return self._group.is_yanked


def group_releases(project: str, links: Iterable[Link]) -> tuple[Release, ...]:
    """Sort the files of a project by version, newest first.

    Names are only split here: a page can hold thousands of files, and most releases are
    never looked at. Files of another project and names without a version are left out.
    """
    if isinstance(links, LinkTable) and links.project == project:
        return tuple(
            TableRelease(links, number)
            for number, group in enumerate(links.groups)
            if group.version_text
        )
    files: dict[str, list[Link]] = {}
    variant_files: dict[str, list[Link]] = {}
    for link in links:
        name = link.filename
        if name.endswith(".whl"):
            parts = name.split("-", 2)
            if len(parts) == 3 and normalize_name(parts[0]) == project:
                files.setdefault(parts[1], []).append(link)
        elif name.endswith("-variants.json"):
            parts = name.split("-")
            if len(parts) == 3 and normalize_name(parts[0]) == project:
                variant_files.setdefault(parts[1], []).append(link)
        else:
            text = parse_sdist_filename(name, project)
            if text is not None:
                files.setdefault(text, []).append(link)
    merged: dict[Version, Release] = {}
    for text, found in files.items():
        version = parse_version(text)
        if version is None:
            continue
        before = merged.get(version)
        merged[version] = Release(
            project,
            version,
            before.version_text if before else text,
            (before.files if before else ()) + tuple(found),
            before.variant_files if before else (),
        )
    for text, found in variant_files.items():
        version = parse_version(text)
        release = merged.get(version) if version is not None else None
        if release is not None:
            merged[release.version] = Release(
                project,
                release.version,
                release.version_text,
                release.files,
                release.variant_files + tuple(found),
            )
    return tuple(merged[version] for version in sorted(merged, reverse=True))


def select_release(
    release: Release,
    rules: Rules,
    source: PackageSource,
    lookup: SupportedLookup,
    *,
    hashes: Mapping[str, frozenset[str]] | None = None,
    allow_yanked: bool = False,
    label: str = "",
    direct: bool = False,
) -> Selection:
    """Order the files of a release.

    Args:
        release: The files.
        rules: What the target can use and the user allows.
        source: Answers for variant metadata; asked only where a label is seen.
        lookup: Answers for supported properties; asked only where a label is seen.
        hashes: Accepted digests by algorithm; empty or ``None`` accepts any file.
        allow_yanked: Whether yanked files count.
        label: The one label to take, from the requirement's own line; empty for the best.
        direct: Whether the file was asked for by path or URL: format rules do not hold then.
    """
    sorter = _Sorter(release, rules, hashes or {}, allow_yanked, direct)
    sorter.sort_files()
    wanted = label or rules.variants.labels.get(release.project, "")
    if release.project in rules.variants.disabled and not label:
        for index, wheels in sorter.labelled.items():
            for wheel, _ in wheels:
                sorter.refuse(wheel.filename, "label", "variants are switched off", wheel.label)
            wheels.clear()
            del index
    rankings: list[IndexRanking] = []
    problems: list[str] = []
    named: list[Choice] = []
    nulls: list[Choice] = []
    for index, wheels in sorter.labelled.items():
        if not wheels:
            continue
        ranking = _rank_index(release, index, wheels, rules, source, lookup, problems)
        rankings.append(ranking)
        reasons = {refused.label: refused.reason for refused in ranking.ranking.refused}
        by_label: dict[str, list[tuple[WheelFilename, Link]]] = {}
        for wheel, link in wheels:
            if wheel.label in reasons:
                sorter.refuse(wheel.filename, "variant", reasons[wheel.label], wheel.label)
            elif wanted and wanted not in (wheel.label, _build_of(link)):
                sorter.refuse(
                    wheel.filename, "label", f"the label {wanted} was asked for", wheel.label
                )
            else:
                by_label.setdefault(wheel.label, []).append((wheel, link))
        for ranked in ranking.ranking.ranked:
            group = by_label.get(ranked.label)
            if not group:
                continue
            best = sorter.best(group)
            into = nulls if ranked.label == NULL_LABEL else named
            into.extend(_iter_choices(best, ranked, ranking.supported))
    plain = [] if wanted else sorter.plain
    if wanted:
        for wheel, _ in sorter.plain:
            sorter.refuse(wheel.filename, "label", f"the label {wanted} was asked for")
    choices = [*named, *nulls]
    if plain:
        wheel, link = sorter.best(plain)
        choices.append(Choice(link, wheel, _pinned_variant(link)))
    if sorter.sdists and not wanted:
        choices.append(Choice(sorter.sdists[0], None))
    return Selection(
        release, tuple(choices), tuple(sorter.refusals), tuple(rankings), " ".join(problems)
    )


def offers_files(release: Release, rules: Rules) -> bool:
    """Whether a release has a file for the target, by names and what the index says.

    Variant metadata is not read: a wheel counts by its tags, whatever its label.
    """
    sorter = _Sorter(release, rules, {}, allow_yanked=False, direct=False)
    sorter.sort_files()
    return bool(sorter.plain or sorter.sdists or any(sorter.labelled.values()))


@dataclass(slots=True)
class _Sorter:
    """Takes the files of a release apart; holds what ``select_release`` builds on."""

    release: Release
    rules: Rules
    hashes: Mapping[str, frozenset[str]]
    allow_yanked: bool
    direct: bool
    refusals: list[Refusal] = field(default_factory=list)
    labelled: dict[str, list[tuple[WheelFilename, Link]]] = field(default_factory=dict)
    plain: list[tuple[WheelFilename, Link]] = field(default_factory=list)
    sdists: list[Link] = field(default_factory=list)

    def refuse(self, filename: str, kind: RefusalKind, reason: str, label: str = "") -> None:
        self.refusals.append(Refusal(filename, kind, reason, label))

    def sort_files(self) -> None:
        resolve = self.rules.resolve
        no_binary = self.release.project in resolve.no_binary and not self.direct
        only_binary = self.release.project in resolve.only_binary and not self.direct
        for link in self.release.files:
            if not link.is_wheel:
                if link.bridge is not None and link.bridge.refused:
                    self.refuse(link.filename, "source", link.bridge.refused)
                elif only_binary:
                    self.refuse(link.filename, "binary", "only wheels are allowed (--only-binary)")
                elif self._passes(link, ""):
                    self.sdists.append(link)
                continue
            if no_binary:
                self.refuse(link.filename, "binary", "wheels are not allowed (--no-binary)")
                continue
            try:
                wheel = parse_wheel_filename(link.filename)
            except WheelFormatError as error:
                self.refuse(link.filename, "format", error.why)
                continue
            if link.filename in self.rules.refused:
                self.refuse(link.filename, "format", self.rules.refused[link.filename], wheel.label)
                continue
            if not self._passes(link, wheel.label):
                continue
            if self.rank(wheel) is None:
                tags = f"{wheel.python}-{wheel.abi}-{wheel.platform}"
                self.refuse(
                    link.filename,
                    "tags",
                    f"its tag {tags} does not fit {self.rules.target_text}",
                    wheel.label,
                )
            elif wheel.label:
                self.labelled.setdefault(link.index, []).append((wheel, link))
            else:
                self.plain.append((wheel, link))

    def _passes(self, link: Link, label: str) -> bool:
        if link.yanked is not None and not self.allow_yanked:
            reason = f": {link.yanked}" if link.yanked else ""
            self.refuse(link.filename, "yanked", f"it was yanked{reason}", label)
            return False
        if link.requires_python and not self.rules.resolve.ignore_requires_python:
            try:
                usable = fits(link.requires_python, self.rules.python_version)
            except RequirementError:
                usable = True
            if not usable:
                self.refuse(
                    link.filename,
                    "requires-python",
                    f"it requires Python {link.requires_python}",
                    label,
                )
                return False
        if self.hashes and link.hashes and not self._is_listed(link):
            self.refuse(link.filename, "hash", "its hash is not among those listed", label)
            return False
        return True

    def _is_listed(self, link: Link) -> bool:
        common = [name for name in self.hashes if name in link.hashes]
        return not common or any(link.hashes[name] in self.hashes[name] for name in common)

    def rank(self, wheel: WheelFilename) -> int | None:
        ranks = self.rules.tag_ranks
        found = [ranks[tag] for tag in wheel.iter_tags() if tag in ranks]
        return min(found) if found else None

    def best(self, group: Sequence[tuple[WheelFilename, Link]]) -> tuple[WheelFilename, Link]:
        """The wheel with the most specific tag, then the highest build, then first found."""

        def specific(entry: tuple[WheelFilename, Link]) -> int:
            rank = self.rank(entry[0])
            assert rank is not None, "wheels without a fitting tag were refused"
            return rank

        first = min(map(specific, group))
        level = [entry for entry in group if specific(entry) == first]
        build = max(entry[0].build for entry in level)
        return next(entry for entry in level if entry[0].build == build)


def _rank_index(
    release: Release,
    index: str,
    wheels: Sequence[tuple[WheelFilename, Link]],
    rules: Rules,
    source: PackageSource,
    lookup: SupportedLookup,
    problems: list[str],
) -> IndexRanking:
    """Rank the labels that one index has of a release."""
    first_of: dict[str, Link] = {}
    for wheel, link in wheels:
        first_of.setdefault(wheel.label, link)
    metadata: VariantMetadata | None = None
    supported = SupportedProperties()
    labels: set[str] = set(first_of)
    bridged = any(link.bridge is not None for link in first_of.values())
    if labels != {NULL_LABEL} or bridged:
        files = [link for link in release.variant_files if link.index == index]
        readable = [link for label, link in first_of.items() if label != NULL_LABEL or bridged]
        try:
            metadata = source.read_variant_metadata(files, readable)
            supported = lookup.find_supported(metadata)
            if bridged:
                # A bridge knows builds whose files it did not look for, and why.
                labels.update(metadata.variants)
        except VariantMetadataError as error:
            problems.append(str(error))
            refused = {
                label: f"its variant metadata can not be used: {error}"
                for label in first_of
                if label != NULL_LABEL
            }
            metadata = VariantMetadata(refused=refused)
    ranking = rank_variants(
        labels, metadata, supported, rules.variants.prefer, rules.variants.exclude
    )
    return IndexRanking(index, metadata, supported, ranking)


def _iter_choices(
    best: tuple[WheelFilename, Link], ranked: RankedVariant, supported: SupportedProperties
) -> Iterator[Choice]:
    """One choice for each combination of ``abi_dependency`` alternatives, best first."""
    wheel, link = best
    allowed: dict[str, tuple[str, ...]] = {}
    for one in ranked.supported:
        if one.namespace == ABI_DEPENDENCY:
            allowed[one.feature] = (*allowed.get(one.feature, ()), one.value)
    needs = abi_requirements({ABI_DEPENDENCY: allowed} if allowed else {})
    sources = {
        namespace: supported.sources[namespace]
        for namespace in ranked.properties
        if namespace in supported.sources
    }
    brought = link.bridge.requirements if link.bridge is not None else ()
    combinations = product(*(alternatives for _, alternatives in needs))
    for combination in islice(combinations, _MOST_COMBINATIONS):
        chosen = {
            VariantProperty(ABI_DEPENDENCY, feature, prefix)
            for feature in allowed
            for (project, _), prefix in zip(needs, combination, strict=True)
            if feature.replace("_", "-") == project
        }
        lines = tuple(
            f"{project}{abi_specifier(prefix)}"
            for (project, _), prefix in zip(needs, combination, strict=True)
        )
        variant = ChosenVariant(
            label=ranked.label,
            properties=ranked.properties,
            supported=tuple(
                one for one in ranked.supported if one.namespace != ABI_DEPENDENCY or one in chosen
            ),
            best_values=ranked.best_values,
            requirements=(*lines, *brought),
            reason=_tell_reason(ranked, lines, link, supported),
            sources=sources,
            bridge=link.bridge,
        )
        yield Choice(link, wheel, variant)


def _build_of(link: Link) -> str:
    """The name that a bridge has for a build; empty for files that are no bridge's."""
    return link.bridge.label if link.bridge is not None else ""


def _pinned_variant(link: Link) -> ChosenVariant | None:
    """What a file is that a requirement names by its local version; ``None`` for others."""
    bridge = link.bridge
    if bridge is None or not bridge.label:
        return None
    return ChosenVariant(
        bridge.label if bridge.properties else NULL_LABEL,
        bridge.properties,
        requirements=bridge.requirements,
        reason="asked for by its local version" + _tell_bridge(link),
        bridge=bridge,
    )


def _tell_bridge(link: Link) -> str:
    return f"; through the bridge {link.bridge.family}" if link.bridge is not None else ""


def _tell_reason(
    ranked: RankedVariant, lines: Sequence[str], link: Link, supported: SupportedProperties
) -> str:
    if ranked.label == NULL_LABEL:
        return "the null variant runs anywhere" + _tell_bridge(link)
    best = [one for one in ranked.best_values if one.namespace != ABI_DEPENDENCY]
    parts = []
    if best:
        who = supported.who(best[0].namespace)
        parts.append(f"{who} supports {', '.join(map(str, best))}")
    if lines:
        parts.append("built for " + ", ".join(lines))
    return "; ".join(parts) + _tell_bridge(link)


def iter_builds(selection: Selection) -> Iterator[Candidate]:
    """One candidate for each described label of a release, whatever the hardware supports.

    For lock files: each build counts with all its properties, since another machine may
    support them.
    """
    refused = {refusal.filename for refusal in selection.refusals if refusal.kind == "variant"}
    seen = set()
    for choice in selection.choices:
        label = choice.variant.label if choice.variant else ""
        if label not in seen:
            seen.add(label)
            yield selection.candidate(choice)
    for ranking in selection.rankings:
        variants = ranking.metadata.variants if ranking.metadata is not None else {}
        for link in selection.release.files:
            if link.filename not in refused or link.index != ranking.index:
                continue
            wheel = parse_wheel_filename(link.filename)
            properties = variants.get(wheel.label)
            if properties is None or wheel.label in seen:
                continue
            seen.add(wheel.label)
            variant = ChosenVariant(wheel.label, properties, supported=iter_properties(properties))
            yield selection.candidate(Choice(link, wheel, variant))
