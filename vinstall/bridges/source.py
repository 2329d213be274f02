"""A source that shows the builds of bridges as variant wheels of the plain project.

Wraps another source; fits ``resolution.source.PackageSource`` by shape. What it shows is a
copy of the real link with the file name of a variant wheel, the index ``bridge:<family>``
and the real link behind it. Only builds that the machine can use, or that the user named,
are looked for: pages of builds for other hardware are never fetched. A release with real
variant wheels or a ``-variants.json`` on the user's index is left as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vinstall.bridges.model import contains_release, fits_platform, split_local
from vinstall.bridges.reader import fill_template
from vinstall.distributions.link import Bridged
from vinstall.errors import IndexAccessError, ProjectNotFoundError
from vinstall.values import dataclass, field, replace
from vinstall.variants.metadata import VariantMetadata
from vinstall.variants.ordering import rank_variants
from vinstall.variants.properties import ABI_DEPENDENCY, NULL_LABEL, is_label, is_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from vinstall.bridges.model import Build, Family
    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.resolution.source import PackageSource, SupportedLookup
    from vinstall.settings import Names, VariantSettings

INDEX_PREFIX = "bridge:"
_NAMESPACES = ("nvidia", "amd", "intel", "x86_64", "aarch64")
_FEATURES = {"nvidia": ("cuda_version_lower_bound",), "amd": ("rocm_version",)}


@dataclass(frozen=True, slots=True)
class Places:
    """Where the URLs of families lead in this run.

    Attributes:
        urls: (family, name of the URL) → template; what the user replaced is replaced.
        closed: (family, name of the URL) → why it is not contacted.
    """

    urls: Mapping[tuple[str, str], str] = field(default_factory=dict)
    closed: Mapping[tuple[str, str], str] = field(default_factory=dict)


class BridgedSource:
    """Answers of another source, and what bridges show.

    Args:
        inner: The user's own indexes and folders.
        families: Those that are switched on.
        places: Where their URLs lead.
        lookup: Says which builds the machine can use.
        variants: What the user says about variants.
        labels: Labels that requirements name on their own lines.
        local_versions: Local versions that requirements name.
        markers: The marker environment of the target.
        read_pages: Reads (index URL, project) pairs, several at once; an index that does
            not have the project gives nothing.
        begin_pages: Begins to read such pages; never raises.
        tell: Receives a sentence for the user, each once.
        no_binary: Projects that are to be built from their sources.
    """

    def __init__(
        self,
        inner: PackageSource,
        families: Sequence[Family],
        places: Places,
        lookup: SupportedLookup,
        variants: VariantSettings,
        labels: frozenset[str],
        local_versions: frozenset[str],
        markers: Mapping[str, str],
        read_pages: Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[Link]]],
        begin_pages: Callable[[Sequence[tuple[str, str]]], None],
        tell: Callable[[str], None],
        no_binary: Names,
    ) -> None:
        self._inner = inner
        self._places = places
        self._lookup = lookup
        self._variants = variants
        self._labels = labels | frozenset(variants.labels.values())
        self._locals = local_versions
        self._markers = markers
        self._read_pages = read_pages
        self._begin_pages = begin_pages
        self._tell = tell
        self._no_binary = no_binary
        self._family_of: dict[str, Family] = {}
        self._helpers: dict[str, list[tuple[Family, Build]]] = {}
        for family in families:
            for project in family.projects:
                self._family_of[project] = family
            for build in family.builds:
                for helper in build.helpers:
                    self._helpers.setdefault(helper, []).append((family, build))
        self._usable: dict[str, frozenset[str]] = {}
        self._refused: dict[str, tuple[tuple[Build, str], ...]] = {}
        self._links: dict[str, tuple[Link, ...]] = {}
        self._told: set[str] = set()

    # the questions of the resolver

    def find_links(self, project: str) -> Sequence[Link]:
        """All files of a project, those that bridges show among them."""
        found = self._links.get(project)
        if found is None:
            family = self._family_of.get(project)
            if family is not None and project not in self._variants.disabled:
                found = self._find_shown(family, project)
            elif project in self._helpers:
                found = self._find_helper(project)
            else:
                return self._inner.find_links(project)
            self._links[project] = found
        return found

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of the real file."""
        return self._inner.read_core_metadata(link.bridge.real if link.bridge else link)

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        """What the family says of the builds; for all other files what the inner source says."""
        if not any(link.bridge is not None for link in wheels):
            return self._inner.read_variant_metadata(files, wheels)
        variants = {}
        family = project = version = ""
        for link in wheels:
            bridge = link.bridge
            if bridge is not None:
                family, project = bridge.family, bridge.project
                version = split_local(bridge.version_text)[0]
                if bridge.properties:
                    variants[bridge.label] = bridge.properties
        known = self._family_of[project]
        for build in self._iter_builds(known, project):
            if (
                build.how != "local"
                and build.properties
                and contains_release(build.releases, version)
            ):
                variants.setdefault(build.label, build.properties)
        return _make_metadata(variants, f"the bridge {family}")

    def prefetch_links(self, projects: Iterable[str]) -> None:
        """Begin to fetch pages, those of builds that the machine can use among them."""
        wanted = []
        pages: list[tuple[str, str]] = []
        for project in projects:
            wanted.append(project)
            family = self._family_of.get(project)
            if family is None or project in self._links or project in self._variants.disabled:
                continue
            usable = self._find_usable(family)
            builds = [one for one in self._iter_builds(family, project) if one.label in usable]
            wanted += [one.sister_of(project) for one in builds if one.how == "sister"]
            pages += [(url, project) for _, _, url in self._list_places(family, builds)]
        self._inner.prefetch_links(wanted)
        self._begin_pages(pages)

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        """Begin to fetch core metadata of the real files."""
        self._inner.prefetch_metadata(
            link.bridge.real if link.bridge is not None else link for link in links
        )

    def describe_refused(self, project: str) -> tuple[str, ...]:
        """The builds of a project that the machine can not use, each with its reason."""
        family = self._family_of.get(project)
        refused = self._refused.get(family.name, ()) if family is not None else ()
        return tuple(
            f"{build.label}: {reason}" for build, reason in refused if project in build.projects
        )

    # what is shown

    def _iter_builds(self, family: Family, project: str) -> Iterator[Build]:
        for build in family.builds:
            if project in build.projects and fits_platform(build.platforms, self._markers):
                yield build

    def _find_usable(self, family: Family) -> frozenset[str]:
        """Labels of builds that the machine can use, or that the user named."""
        found = self._usable.get(family.name)
        if found is None:
            by_place = {
                str(number): build
                for number, build in enumerate(family.builds)
                if build.how != "local" and fits_platform(build.platforms, self._markers)
            }
            metadata = _make_metadata(
                {place: build.properties for place, build in by_place.items()},
                f"the bridge {family.name}",
            )
            labels = {build.label for build in by_place.values() if not build.properties}
            if metadata.namespaces:
                supported = self._lookup.find_supported(metadata)
                ranking = rank_variants(by_place, metadata, supported, (), self._variants.exclude)
                labels |= {by_place[one.label].label for one in ranking.ranked}
                self._refused[family.name] = tuple(
                    (by_place[one.label], one.reason) for one in ranking.refused
                )
            labels |= {build.label for build in family.builds if build.local in self._locals}
            found = self._usable[family.name] = frozenset(labels) | self._labels
        return found

    def _find_own(self, project: str) -> tuple[tuple[Link, ...], ProjectNotFoundError | None]:
        try:
            return tuple(self._inner.find_links(project)), None
        except ProjectNotFoundError as error:
            return (), error

    def _find_shown(self, family: Family, project: str) -> tuple[Link, ...]:
        own, missing = self._find_own(project)
        taken = _find_real_variants(own)
        usable = self._find_usable(family)
        builds = [
            build
            for build in self._iter_builds(family, project)
            if build.how != "sister" or build.label in usable
        ]
        pages = self._read_indexes(
            family, project, [build for build in builds if build.label in usable]
        )
        shown: list[Link] = []
        behind: dict[str, Bridged] = {}
        others: dict[str, Link] = {}
        null: set[str] = set()
        files = tuple(_iter_files(own))
        by_local: dict[str, list[_File]] = {}
        for file in files:
            by_local.setdefault(file.local, []).append(file)
        for build in builds:
            real_project, found = project, files
            if build.how == "sister":
                real_project = build.sister_of(project)
                found = tuple(_iter_files(self._find_own(real_project)[0]))
            elif build.how == "index":
                page = pages.get(build.url, {}).get(build.label, ())
                # a file without a local segment on the user's own index is the plain one
                own_files = by_local.get(build.local, []) if build.local else []
                found = (*_iter_files(page), *own_files)
            more = list(_show(family, build, project, real_project, found, taken))
            if not build.properties:
                # the first entry that runs anywhere is the null variant of a release
                more = [link for link in more if _version_of(link.filename) not in null]
                null |= {_version_of(link.filename) for link in more}
            for link in more:
                bridge = link.bridge
                if bridge is not None and not bridge.is_sister and "+" in bridge.version_text:
                    behind.setdefault(bridge.real.url, replace(bridge, pinned_only=True))
                    others.setdefault(bridge.real.url, bridge.real)
            shown += more
        for file in files:
            # a segment that no build knows would beat all builds that are known
            if (
                file.local
                and file.link.url not in behind
                and any(build.how == "local" for build in builds)
            ):
                behind[file.link.url] = _stand_for_itself(family, project, file.link, file.parts[1])
        reason = self._refuse_sources(family, project, builds, shown)
        result: list[Link] = []
        for link in own:
            others.pop(link.url, None)
            if link.url in behind:
                link = replace(link, bridge=behind[link.url])
            elif reason and not link.is_wheel and not link.filename.endswith(".json"):
                alone = _stand_for_itself(family, project, link, "")
                link = replace(link, bridge=replace(alone, pinned_only=False, refused=reason))
            result.append(link)
        result += [replace(link, bridge=behind[url]) for url, link in others.items()]
        if not result and not shown and missing is not None:
            raise missing
        return (*result, *shown)

    def _refuse_sources(
        self, family: Family, project: str, builds: Sequence[Build], shown: Sequence[Link]
    ) -> str:
        """Why the project's own sources are no choice; empty where they are one.

        A project whose wheels have other names offers only sources under its own, and they are
        the last thing that is wanted: a compiler's errors, or the CUDA of whoever builds.
        """
        if project in self._no_binary:
            return ""
        known = [one for one in self._iter_builds(family, project) if one.how == "sister"]
        if not known and not (shown and any(build.how == "local" for build in builds)):
            return ""
        reasons = self.describe_refused(project)
        told = "" if shown else f" ({'; '.join(reasons[:4])})" * bool(reasons)
        fits = "but none of them fits" if reasons and not shown else "and they are chosen among"
        return (
            f"it is a source, and the bridge {family.name} knows wheels of the project, {fits}"
            f"{told}; --no-binary {project} builds it"
        )

    def _read_indexes(
        self, family: Family, project: str, builds: Sequence[Build]
    ) -> dict[str, dict[str, Sequence[Link]]]:
        """Name of the URL → label → the links of the project there."""
        for build in builds:
            reason = self._places.closed.get((family.name, build.url))
            if build.how == "index" and reason is not None:
                self._tell_once(
                    f"Builds of {project} that the bridge {family.name} would look for are left "
                    f"out: {reason}"
                )
        places = self._list_places(family, builds)
        pages = self._read_all(family, places, project)
        found: dict[str, dict[str, Sequence[Link]]] = {}
        for (name, label, _), links in zip(places, pages, strict=True):
            found.setdefault(name, {})[label] = links
        return found

    def _list_places(
        self, family: Family, builds: Iterable[Build]
    ) -> tuple[tuple[str, str, str], ...]:
        """(name of the URL, label, URL) for builds on other indexes that may be asked."""
        places: dict[tuple[str, str, str], None] = {}
        for build in builds:
            key = (family.name, build.url)
            if build.how == "index" and key not in self._places.closed:
                url = self._places.urls[key].replace("{label}", build.label)
                places[build.url, build.label, url] = None
        return tuple(places)

    def _find_helper(self, project: str) -> tuple[Link, ...]:
        """The files of a project that only the indexes of bridges have."""
        found: dict[str, Link] = {}
        asked = False
        for family, build in self._helpers[project]:
            key = (family.name, build.url)
            if (
                build.label in self._find_usable(family)
                and fits_platform(build.platforms, self._markers)
                and key not in self._places.closed
            ):
                asked = True
                url = self._places.urls[key].replace("{label}", build.label)
                for page in self._read_all(family, [(build.url, build.label, url)], project):
                    found.update((link.filename, link) for link in page)
        if not asked:
            return tuple(self._inner.find_links(project))
        if not found:
            raise ProjectNotFoundError(
                f"No index knows {project}", "only the indexes of a bridge are asked for it"
            )
        return tuple(found.values())

    def _read_all(
        self, family: Family, places: Sequence[tuple[str, str, str]], project: str
    ) -> Sequence[Sequence[Link]]:
        try:
            return self._read_pages([(url, project) for _, _, url in places])
        except IndexAccessError as error:
            names = " or ".join(dict.fromkeys(f"--bridge-url {name}=URL" for name, _, _ in places))
            raise IndexAccessError(
                f"The bridge {family.name} can not look for builds of {project}",
                str(error),
                f"Name a place that can be reached with {names}, or go without: --no-bridge.",
            ) from error

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)


class _File(NamedTuple):
    """A wheel without a label, its name taken apart."""

    link: Link
    parts: tuple[str, ...]
    public: str
    local: str


def _iter_files(links: Iterable[Link]) -> Iterator[_File]:
    for link in links:
        name = link.filename
        if name.endswith(".whl"):
            parts = name[:-4].split("-")
            if len(parts) == 5 or (len(parts) == 6 and parts[2][:1].isdigit()):
                yield _File(link, tuple(parts), *split_local(parts[1]))


def _show(
    family: Family,
    build: Build,
    project: str,
    real_project: str,
    files: Iterable[_File],
    taken: frozenset[str],
) -> Iterator[Link]:
    """The files of one build as variant wheels."""
    pattern = re.compile(build.local) if build.how == "local" else None
    seen = set()
    for link, parts, public, local in files:
        if public in taken or link.url in seen or not contains_release(build.releases, public):
            continue
        seen.add(link.url)
        groups: dict[str, str] = {}
        if pattern is not None:
            match = pattern.fullmatch(local) if local else None
            if match is None:
                continue
            groups = {name: value or "" for name, value in match.groupdict().items()}
        elif local != (build.local if build.how == "index" else "") and build.how != "sister":
            continue
        bridge = _describe(family, build, project, real_project, link, parts[1], groups)
        if bridge is None:
            continue
        label = bridge.label if bridge.properties else NULL_LABEL
        name = "-".join((project.replace("-", "_"), public, *parts[2:], label))
        yield replace(
            link, filename=f"{name}.whl", index=f"{INDEX_PREFIX}{family.name}", bridge=bridge
        )


def _describe(
    family: Family,
    build: Build,
    project: str,
    real_project: str,
    link: Link,
    version_text: str,
    groups: dict[str, str],
) -> Bridged | None:
    """What stands behind a shown file; ``None`` where its local segment gives no valid label."""
    label, properties, agree = build.label, build.properties, build.agree
    if groups:
        label = fill_template(label, groups)
        properties = {
            namespace: {
                feature: tuple(fill_template(value, groups) for value in values)
                for feature, values in features.items()
            }
            for namespace, features in properties.items()
        }
        agree = {name: fill_template(value, groups) for name, value in agree.items()}
        agree = {name: value for name, value in agree.items() if value}
        values = [
            value
            for features in properties.values()
            for texts in features.values()
            for value in texts
        ]
        if not is_label(label) or label == NULL_LABEL or not all(map(is_value, values)):
            return None
    public, _ = split_local(version_text)
    return Bridged(
        family=family.name,
        label=label,
        project=project,
        real=link,
        real_project=real_project,
        version_text=version_text,
        properties=properties,
        requirements=(f"{project}[{build.extra}]=={public}",) if build.extra else (),
        agree=family.agreement_of(agree, label),
    )


def _stand_for_itself(family: Family, project: str, link: Link, version_text: str) -> Bridged:
    """The description of a file that no build of the family stands for."""
    return Bridged(family.name, "", project, link, project, version_text, pinned_only=True)


def _find_real_variants(links: Iterable[Link]) -> frozenset[str]:
    """Public versions of which there are real variant wheels, or real variant metadata."""
    found = set()
    for link in links:
        name = link.filename
        if name.endswith("-variants.json"):
            parts = name.split("-")
            if len(parts) == 3:
                found.add(split_local(parts[1])[0])
        elif name.endswith(".whl"):
            parts = name.split("-")
            if len(parts) == 7 or (len(parts) == 6 and not parts[2][:1].isdigit()):
                found.add(split_local(parts[1])[0])
    return frozenset(found)


def _version_of(filename: str) -> str:
    return filename.split("-", 2)[1]


def _make_metadata(
    variants: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]], origin: str
) -> VariantMetadata:
    """Variant metadata for what a family says: known namespaces first, in a fixed order."""
    used = {namespace for properties in variants.values() for namespace in properties}
    used.discard(ABI_DEPENDENCY)
    known = [namespace for namespace in _NAMESPACES if namespace in used]
    return VariantMetadata(
        namespaces=(*known, *sorted(used - set(known))),
        variants=variants,
        feature_priorities={
            namespace: features for namespace, features in _FEATURES.items() if namespace in used
        },
        origin=origin,
    )
