"""The bridge files of the package follow the schema and contradict neither it nor themselves."""

from __future__ import annotations

import itertools
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.support.environments import ROOT
from vinstall.bridges.model import contains_release, fits_platform
from vinstall.bridges.reader import fill_template, parse_family

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vinstall.bridges.model import Family

FOLDER = Path(ROOT) / "vinstall" / "bridges" / "families"
FILES = sorted(FOLDER.glob("*.toml"))
FAMILIES = [parse_family(path.read_text(encoding="utf-8"), path.name) for path in FILES]
FEATURES = {
    "nvidia": {"cuda_version_lower_bound", "sm_arch"},
    "amd": {"gfx_arch", "rocm_version"},
    "intel": {"device_ip"},
}
MACHINES = (
    {"sys_platform": "linux", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "platform_machine": "aarch64"},
    {"sys_platform": "win32", "platform_machine": "AMD64"},
    {"sys_platform": "darwin", "platform_machine": "arm64"},
)
# No GPU before 3.5 or after 12.1 is meant by any build, and no CUDA but 11, 12 and 13.
VALUES = {
    "cuda_version_lower_bound": r"1[123]\.\d",
    "sm_arch": r"(3[57]|[5-9]\d|1[0-2]\d)_(real|virtual)",
    "gfx_arch": r"gfx\d{1,2}[0-9a-f]{2}",
    "rocm_version": r"[5-9]\.\d{1,2}",
    "device_ip": r"\d\d\.\d{1,2}\.\d{1,2}",
}


def name_of(value: object) -> str:
    """How a parameter is called in the report."""
    return value.name if hasattr(value, "name") else str(getattr(value, "label", value))


def releases_near(specifiers: Iterable[str]) -> list[str]:
    """Versions at, just below and just above every bound of some specifiers."""
    found = {"0.1", "99"}
    for specifier in specifiers:
        for bound in SpecifierSet(specifier):
            parts = [int(part) for part in bound.version.split(".")]
            found |= {bound.version, f"{bound.version}.1"}
            if parts[-1]:
                below = [*parts[:-1], parts[-1] - 1]
                found |= {".".join(map(str, below)), ".".join(map(str, [*below, 99]))}
    return sorted(found)


def test_there_are_families_and_each_file_is_called_as_its_family() -> None:
    assert len(FAMILIES) >= 10
    assert [path.stem for path in FILES] == [family.name for family in FAMILIES]


def test_the_list_of_names_is_that_of_the_families() -> None:
    lines = (FOLDER / "names.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted({project for family in FAMILIES for project in family.projects})


def test_no_project_is_in_two_families() -> None:
    for one, other in itertools.combinations(FAMILIES, 2):
        assert not set(one.projects) & set(other.projects), (one.name, other.name)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_a_family_says_what_it_is_in_one_sentence(family: Family) -> None:
    assert family.summary.endswith(".")
    assert len(family.summary) < 120
    assert list(family.projects) == sorted(set(family.projects)) or family.name == "pytorch"


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_every_project_has_a_build_and_every_url_a_user(family: Family) -> None:
    shown = {project for build in family.builds for project in build.projects}
    assert shown == set(family.projects)
    assert set(family.urls) == {build.url for build in family.builds if build.url}
    for url in family.urls.values():
        assert url.startswith("https://")
        assert url.endswith("/")
        assert "{label}" in url


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_a_label_stands_for_one_build_of_a_release_on_a_machine(family: Family) -> None:
    for project in family.projects:
        builds = [build for build in family.builds if project in build.projects]
        for version in releases_near(build.releases for build in builds):
            for machine in MACHINES:
                here = [
                    build
                    for build in builds
                    if build.how != "local"
                    and contains_release(build.releases, version)
                    and fits_platform(build.platforms, machine)
                ]
                labels = [build.label for build in here]
                assert len(labels) == len(set(labels)), (project, version, machine, labels)
                anywhere = [build.label for build in here if not build.properties]
                assert len(anywhere) <= 1, (project, version, machine, anywhere)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_properties_are_of_public_providers_and_of_their_form(family: Family) -> None:
    for build in family.builds:
        for namespace, features in build.properties.items():
            if namespace == "abi_dependency":
                assert build.how == "local"
                continue
            assert set(features) <= FEATURES[namespace], namespace
            for feature, values in features.items():
                assert len(values) == len(set(values)), (build.label, feature, values)
                for value in values:
                    text = value.replace("{major}", "12").replace("{minor}", "8")
                    assert re.fullmatch(VALUES[feature], text), (build.label, feature, value)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_a_build_for_cuda_says_with_which_cuda_it_has_to_agree(family: Family) -> None:
    for build in family.builds:
        if "nvidia" in build.properties:
            bounds = build.properties["nvidia"]["cuda_version_lower_bound"]
            assert {bound.partition(".")[0] for bound in bounds} == {build.agree["cuda"]}
        else:
            assert "cuda" not in build.agree


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_cuda_13_asks_for_no_gpu_that_it_can_not_make_code_for(family: Family) -> None:
    """CUDA 13 begins at compute capability 7.5 (Turing)."""
    for build in family.builds:
        values = build.properties.get("nvidia", {}).get("sm_arch", ())
        if build.agree.get("cuda") == "13" and values:
            assert min(int(value.partition("_")[0]) for value in values) >= 75


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_sisters_and_helpers_are_normalized_names(family: Family) -> None:
    for build in family.builds:
        names = {build.sister_of(project) for project in build.projects if build.sister}
        names.update(build.helpers)
        assert names == {canonicalize_name(name) for name in names}
        assert not set(build.helpers) & set(family.projects)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_sisters_carry_the_cuda_that_their_build_says(family: Family) -> None:
    """A sister that something else asks for by its own name agrees on the same CUDA."""
    for build in family.builds:
        if build.how != "sister" or "cuda" not in build.agree:
            continue
        for project in build.projects:
            sister = build.sister_of(project)
            values = {
                entry.agree["cuda"]
                for entry in family.libraries
                if not entry.releases
                and any(fnmatchcase(sister, pattern) for pattern in entry.patterns)
            }
            assert values <= {build.agree["cuda"]}, (sister, values)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_what_a_plain_file_stands_for_agrees_with_itself(family: Family) -> None:
    for entry in family.plain:
        bounds = entry.properties.get("nvidia", {}).get("cuda_version_lower_bound", ())
        majors = {bound.partition(".")[0] for bound in bounds}
        if "cuda" in entry.agree and majors:
            assert majors == {entry.agree["cuda"]}
        for other, label in entry.agree.items():
            if other == "cuda":
                continue
            known = next(one for one in FAMILIES if one.name == other)
            assert label in {build.label for build in known.builds}, (family.name, label)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_libraries_say_the_cuda_of_their_name(family: Family) -> None:
    for entry in family.libraries:
        for pattern in entry.patterns:
            found = re.search(r"cu(?:da)?(\d\d)", pattern)
            if found is not None:
                assert entry.agree == {"cuda": found[1]}
            elif "cuda" in entry.agree:
                major = entry.agree["cuda"]
                assert contains_release(entry.releases, f"{major}.2")
                assert not contains_release(entry.releases, f"{int(major) + 1}.0")


def test_the_torch_families_split_the_releases_alike() -> None:
    """torchvision 0.N goes with torch 2.(N-15): each range of one has its twin."""
    family = next(one for one in FAMILIES if one.name == "pytorch")

    def shifted(specifier: str) -> str:
        return re.sub(r"0\.(\d+)", lambda match: f"2.{int(match[1]) - 15}", specifier)

    def entries(project: str) -> set[tuple[str, str, tuple[str, ...]]]:
        return {
            (
                build.label,
                shifted(build.releases) if project == "torchvision" else build.releases,
                build.platforms,
            )
            for build in family.builds
            if project in build.projects
        }

    assert entries("torch") == entries("torchvision") == entries("torchaudio")


@pytest.mark.parametrize(
    ("local", "project", "label", "torch"),
    [
        ("cu12torch2.8cxx11abitrue", "flash-attn", "cu12_torch2.8", "2.8"),
        ("cu12torch2.10cxx11abitrue", "flash-attn", "cu12_torch2.10", "2.10"),
        ("cu12torch2.6cxx11abifalse", "flash-attn", "cu12_torch2.6", "2.6"),
        ("cu122torch2.3cxx11abifalse", "flash-attn", "cu12_torch2.3", "2.3"),
        ("cu12torch2.8cxx11abifalse", "flash-attn", "cu12_torch2.8_old_abi", "2.8"),
        ("cu12torch2.6cxx11abitrue", "flash-attn", "cu12_torch2.6_new_abi", "2.6"),
        ("pt28cu128", "torch-scatter", "torch2.8_cu128", "2.8"),
        ("pt210cu130", "torch-scatter", "torch2.10_cu130", "2.10"),
        ("pt28cpu", "torch-scatter", "torch2.8_cpu", "2.8"),
        ("cu129", "vllm", "cu129", ""),
        ("cpu", "vllm", "cpu", ""),
        ("cu12", "vllm", "", ""),
    ],
)
def test_the_local_versions_of_extensions(local: str, project: str, label: str, torch: str) -> None:
    family = next(one for one in FAMILIES if one.name == "torch-extensions")
    found = [
        (build, match.groupdict())
        for build in family.builds
        if build.how == "local" and project in build.projects
        for match in [re.fullmatch(build.local, local)]
        if match is not None
    ]
    assert len(found) == (1 if label else 0)
    for build, groups in found:
        assert fill_template(build.label, groups) == label
        values = build.properties.get("abi_dependency", {}).get("torch", ())
        assert [fill_template(value, groups) for value in values] == ([torch] if torch else [])
