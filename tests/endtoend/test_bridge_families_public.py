"""What the bridge files of the package mention is on the public index, and still has that shape."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from tests.support.environments import ROOT
from vinstall.bridges.model import contains_release, fits_platform
from vinstall.bridges.reader import parse_family
from vinstall.distributions.filename import parse_sdist_filename, parse_wheel_filename
from vinstall.errors import ProjectNotFoundError, WheelFormatError
from vinstall.events import SilentObserver
from vinstall.index.client import HttpClient
from vinstall.index.source import IndexSource
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vinstall.bridges.model import Build, Family
    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link

pytestmark = pytest.mark.network

FOLDER = Path(ROOT) / "vinstall" / "bridges" / "families"
FAMILIES = [
    parse_family(path.read_text(encoding="utf-8"), path.name)
    for path in sorted(FOLDER.glob("*.toml"))
]
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}


def version_of(link: Link, project: str) -> Version | None:
    """The version in a file name; none where it is no wheel or source distribution."""
    try:
        if link.is_wheel:
            return Version(str(parse_wheel_filename(link.filename).version))
        text = parse_sdist_filename(link.filename, project)
        return Version(text) if text else None
    except (WheelFormatError, InvalidVersion):
        return None


class PublicIndex:
    """Pages and metadata of the public index, each read once."""

    def __init__(self, source: IndexSource) -> None:
        self.source = source
        self._pages: dict[str, dict[Version, list[Link]]] = {}

    def releases(self, project: str) -> dict[Version, list[Link]]:
        """Final release → its files; empty where the index does not know the project."""
        if project not in self._pages:
            found: dict[Version, list[Link]] = {}
            try:
                links = self.source.find_links(project)
            except ProjectNotFoundError:
                links = ()
            for link in links:
                version = version_of(link, project)
                if version is not None and not version.is_prerelease and link.yanked is None:
                    found.setdefault(version, []).append(link)
            self._pages[project] = found
        return self._pages[project]

    def newest(self, project: str, specifier: str = "") -> Version:
        """The newest final release that a specifier contains."""
        fitting = [
            version
            for version in self.releases(project)
            if contains_release(specifier, version.public)
        ]
        assert fitting, f"no release of {project} is {specifier or 'there'}"
        return max(fitting)

    def metadata(self, project: str, version: Version) -> CoreMetadata:
        """The metadata of one wheel, that for Linux where there is one."""
        wheels = [link for link in self.releases(project)[version] if link.is_wheel]
        linux = [link for link in wheels if "linux" in link.filename and "x86_64" in link.filename]
        return self.source.read_core_metadata((linux or wheels)[0])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicIndex]:
    settings = IndexSettings(timeout=60.0)
    observer = SilentObserver()
    client = HttpClient(settings, observer, environment=dict(os.environ))
    cache = tmp_path_factory.mktemp("cache")
    source = IndexSource(settings, client, str(cache), observer)
    names = {project for family in FAMILIES for project in family.projects}
    for family in FAMILIES:
        for build in family.builds:
            names.update(build.sister_of(one) for one in build.projects if build.sister)
            names.update(build.helpers)
    source.prefetch_links(sorted(names))
    yield PublicIndex(source)
    source.close()
    client.close()


def is_open(build: Build) -> bool:
    """Whether the releases of a build have no end, so that the newest one is among them."""
    return "<" not in build.releases and "==" not in build.releases


def name_of(family: Family) -> str:
    """How a family is called in the report."""
    return family.name


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_every_plain_project_is_there_or_is_only_in_its_sisters(
    family: Family, index: PublicIndex
) -> None:
    for project in family.projects:
        if not index.releases(project):
            builds = [build for build in family.builds if project in build.projects]
            assert {build.how for build in builds} == {"sister"}, project


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_every_sister_has_wheels_in_the_releases_that_are_said(
    family: Family, index: PublicIndex
) -> None:
    for build in family.builds:
        for project in build.projects if build.how == "sister" else ():
            sister = build.sister_of(project)
            version = index.newest(sister, build.releases)
            files = index.releases(sister)[version]
            assert any(link.is_wheel for link in files), (sister, version)
            if is_open(build):
                assert version == index.newest(sister), (sister, build.releases)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_every_extra_is_one_of_the_newest_release(family: Family, index: PublicIndex) -> None:
    for build in family.builds:
        for project in build.projects if build.how == "extra" else ():
            version = index.newest(project, build.releases)
            if is_open(build):
                assert version == index.newest(project), (project, build.releases)
            extras = index.metadata(project, version).extras
            for extra in build.extra.split(","):
                assert extra in extras, (project, version)


def test_every_helper_is_known(index: PublicIndex) -> None:
    """Names of helpers exist here too, as something else or older: that is why they are named."""
    helpers = {one for family in FAMILIES for build in family.builds for one in build.helpers}
    from_index = {one for one in helpers if one.startswith("pytorch-")}
    assert from_index
    for helper in from_index:
        assert index.releases(helper) or helper == "pytorch-triton-xpu", helper


def test_libraries_that_are_named_in_full_have_the_releases_that_are_said(
    index: PublicIndex,
) -> None:
    for family in FAMILIES:
        for entry in family.libraries:
            for pattern in entry.patterns:
                if "*" not in pattern:
                    major = f">={entry.agree['cuda']},<{int(entry.agree['cuda']) + 1}"
                    assert entry.releases == major
                    assert index.newest(pattern, entry.releases)


def test_the_newest_torch_is_for_the_cuda_that_is_said(index: PublicIndex) -> None:
    """``cuda-toolkit[...]==13.2.2`` in the file's needs: CUDA 13.2."""
    family = next(one for one in FAMILIES if one.name == "pytorch")
    version = index.newest("torch")
    needs = [Requirement(line) for line in index.metadata("torch", version).requires_dist]
    toolkit = next(one for one in needs if one.name == "cuda-toolkit")
    cuda = re.match(r"==(\d+\.\d+)", str(toolkit.specifier))
    assert cuda is not None
    plain = next(
        entry
        for entry in family.plain
        if "torch" in entry.projects
        and contains_release(entry.releases, version.public)
        and fits_platform(entry.platforms, LINUX)
    )
    assert plain.properties["nvidia"]["cuda_version_lower_bound"][0] == cuda[1]
    assert plain.agree == {
        "cuda": cuda[1].partition(".")[0],
        "pytorch": f"cu{cuda[1].replace('.', '')}",
    }


@pytest.mark.parametrize(
    ("family_name", "project", "library"),
    [
        ("xgboost", "xgboost", r"nvidia-nccl-cu(\d\d)"),
        ("cupynumeric", "nvidia-cupynumeric", r"nvidia-nccl-cu(\d\d)"),
        ("torch-extensions", "vllm", r"nvidia-cutlass-dsl\[cu(\d\d)\]"),
    ],
)
def test_the_newest_plain_file_asks_for_the_cuda_that_is_said(
    family_name: str, project: str, library: str, index: PublicIndex
) -> None:
    family = next(one for one in FAMILIES if one.name == family_name)
    version = index.newest(project)
    lines = index.metadata(project, version).requires_dist
    majors = {found[1] for line in lines for found in [re.match(library, line)] if found}
    plain = next(
        entry
        for entry in family.plain
        if project in entry.projects and contains_release(entry.releases, version.public)
    )
    assert majors == {plain.agree["cuda"]}


@pytest.mark.parametrize(
    ("project", "extra", "cuda"),
    [
        ("cuda-core", "cu13", "13"),
        ("cuda-core", "cu12", "12"),
        ("numba-cuda", "cu13", "13"),
        ("numba-cuda", "cu12", "12"),
        ("cuda-tile", "tileiras", "13"),
    ],
)
def test_the_extras_bring_the_cuda_that_is_said(
    project: str, extra: str, cuda: str, index: PublicIndex
) -> None:
    lines = index.metadata(project, index.newest(project)).requires_dist
    needs = [one for one in map(Requirement, lines) if extra in str(one.marker)]
    toolkit = next(one for one in needs if one.name == "cuda-toolkit")
    assert toolkit.specifier.contains(f"{cuda}.3") or toolkit.specifier.contains(f"{cuda}.4")
    assert not toolkit.specifier.contains("12.9" if cuda == "13" else "13.0")
