"""A package source and a supported lookup in memory, for tests of the resolver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vinstall.distributions.core_metadata import CoreMetadata
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.installed import InstalledDistribution
from vinstall.distributions.link import Link
from vinstall.distributions.requirement import parse_requirement
from vinstall.errors import ProjectNotFoundError, VariantMetadataError, WheelFormatError
from vinstall.events import RecordingObserver
from vinstall.resolution.adapter import Problem
from vinstall.resolution.resolve import resolve
from vinstall.resolution.selection import Rules
from vinstall.settings import ResolveSettings, VariantSettings
from vinstall.variants.metadata import VariantMetadata
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vinstall.distributions.requirement import Requirement
    from vinstall.resolution.resolved import Resolution

INDEX = "https://index.test/simple"
MARKERS = {
    "python_version": "3.11",
    "python_full_version": "3.11.7",
    "sys_platform": "linux",
    "platform_machine": "x86_64",
    "platform_system": "Linux",
    "implementation_name": "cpython",
    "os_name": "posix",
}
Properties = dict[str, dict[str, tuple[str, ...]]]


@dataclass
class FakeSource:
    """Files and metadata in dictionaries; remembers what was asked.

    Attributes:
        links: Project → links.
        metadata: File name → core metadata; a missing one is a broken wheel.
        variants: (project, version, index) → variant metadata.
        pages: Projects whose page was asked for, in order.
        read: File names whose metadata was asked for, in order.
    """

    links: dict[str, list[Link]] = field(default_factory=dict)
    metadata: dict[str, CoreMetadata] = field(default_factory=dict)
    variants: dict[tuple[str, str, str], VariantMetadata] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        version: str,
        *,
        requires: Sequence[str] = (),
        extras: Sequence[str] = (),
        label: str = "",
        properties: Properties | None = None,
        tags: str = "py3-none-any",
        requires_python: str = "",
        yanked: str | None = None,
        broken: bool = False,
        index: str = INDEX,
        hashes: Mapping[str, str] | None = None,
    ) -> str:
        """Add one wheel; with a label, its properties join the release's metadata."""
        project = normalize_name(name)
        stem = f"{name}-{version}-{tags}" + (f"-{label}" if label else "")
        filename = f"{stem}.whl"
        link = Link(
            f"{index}/{filename}",
            filename,
            hashes or {},
            requires_python=requires_python,
            yanked=yanked,
            index=index,
        )
        self.links.setdefault(project, []).append(link)
        if not broken:
            self.metadata[filename] = CoreMetadata(
                name, version, tuple(requires), requires_python, tuple(extras)
            )
        if label:
            key = (project, version, index)
            before = self.variants.get(key)
            spaces = list(before.namespaces) if before else []
            spaces += [one for one in properties or {} if one not in spaces]
            known = dict(before.variants) if before else {}
            known[label] = properties or {}
            self.variants[key] = VariantMetadata(tuple(spaces), known, origin=f"{stem}.json")
        return filename

    def find_links(self, project: str) -> Sequence[Link]:
        self.pages.append(project)
        if project not in self.links:
            raise ProjectNotFoundError(f"No index knows {project}")
        return self.links[project]

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        self.read.append(link.filename)
        if link.filename not in self.metadata:
            raise WheelFormatError(f"{link.filename} has no valid METADATA")
        return self.metadata[link.filename]

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        name, version = wheels[0].filename.split("-")[:2]
        key = (normalize_name(name), version, wheels[0].index)
        if key not in self.variants:
            raise VariantMetadataError(f"{name}-{version}-variants.json is broken")
        return self.variants[key]

    def prefetch_links(self, projects: Iterable[str]) -> None:
        list(projects)

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        list(links)


@dataclass
class FakeLookup:
    """Answers the same supported properties for every release."""

    supported: SupportedProperties = field(default_factory=SupportedProperties)
    asked: int = 0

    def find_supported(self, metadata: VariantMetadata) -> SupportedProperties:
        self.asked += 1
        return self.supported


def supports(**namespaces: dict[str, Sequence[str]]) -> FakeLookup:
    """A lookup from keyword arguments: ``supports(nvidia={"cuda": ["12.8", "12"]})``."""
    return FakeLookup(
        SupportedProperties(
            {
                namespace: {feature: tuple(values) for feature, values in features.items()}
                for namespace, features in namespaces.items()
            },
            dict.fromkeys(namespaces, "a test"),
        )
    )


def installed_distribution(
    name: str, version: str, *, requires: Sequence[str] = (), label: str = ""
) -> InstalledDistribution:
    """An installed distribution with a location that does not exist."""
    return InstalledDistribution(
        name,
        normalize_name(name),
        version,
        "/env/site-packages",
        f"/env/site-packages/{name}-{version}.dist-info",
        CoreMetadata(name, version, tuple(requires)),
        label=label,
    )


def make_rules(
    resolve_settings: ResolveSettings | None = None,
    variants: VariantSettings | None = None,
    tags: Sequence[str] = ("cp311-cp311-linux_x86_64", "py3-none-any"),
) -> Rules:
    """Rules of CPython 3.11 on Linux."""
    return Rules(
        {tag: rank for rank, tag in enumerate(tags)},
        "3.11.7",
        resolve_settings or ResolveSettings(),
        variants or VariantSettings(),
    )


@dataclass(frozen=True)
class Solved:
    """A resolution and what was told on the way."""

    resolution: Resolution
    observer: RecordingObserver

    @property
    def versions(self) -> dict[str, str]:
        """Project → version."""
        return {one.project: one.candidate.version_text for one in self.resolution.distributions}

    @property
    def labels(self) -> dict[str, str]:
        """Project → label, for those that have one."""
        return {
            one.project: one.candidate.label
            for one in self.resolution.distributions
            if one.candidate.label
        }


def solve(
    source: FakeSource,
    *texts: str,
    constraints: Sequence[str] = (),
    installed: Sequence[InstalledDistribution] = (),
    lookup: FakeLookup | None = None,
    resolve_settings: ResolveSettings | None = None,
    variants: VariantSettings | None = None,
    max_rounds: int = 2000,
) -> Solved:
    """Resolve requirement texts against a fake source."""
    from dataclasses import replace

    settings = resolve_settings or ResolveSettings()
    there = {one.project: one for one in installed}
    requirements: list[Requirement] = []
    for text in texts:
        line, _, label = text.partition(" --variant=")
        requirements.append(replace(parse_requirement(line), label=label))
    limits: dict[str, tuple[Requirement, ...]] = {}
    for text in constraints:
        limit = parse_requirement(text)
        limits[limit.project] = (*limits.get(limit.project, ()), limit)
    asked = frozenset(one.project for one in requirements)

    def no_direct(requirement: Requirement) -> Link:
        raise AssertionError(f"{requirement} is not direct")

    def find_installed(project: str) -> InstalledDistribution | None:
        return None if settings.force_reinstall else there.get(project)

    problem = Problem(
        rules=make_rules(settings, variants),
        constraints=limits,
        markers=MARKERS,
        installed=find_installed,
        link_for=no_direct,
        upgraded=lambda project: (
            settings.upgrade and (project in asked or settings.upgrade_strategy == "eager")
        ),
        may_switch=lambda project: project in asked,
    )
    observer = RecordingObserver()
    resolution = resolve(
        requirements, problem, source, lookup or FakeLookup(), observer, max_rounds=max_rounds
    )
    return Solved(resolution, observer)
