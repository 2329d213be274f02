"""Who belongs to which family, and what has to agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.fakes import MARKERS, installed_distribution
from tests.unit.bridges.test_source import FRAME
from vinstall.bridges.members import Members, Staying
from vinstall.distributions.link import Bridged, Link
from vinstall.resolution.candidate import Candidate
from vinstall.values import replace

if TYPE_CHECKING:
    from vinstall.distributions.installed import InstalledDistribution


def members(*installed: InstalledDistribution) -> Members:
    there = {one.project: one for one in installed}
    return Members([FRAME], MARKERS, there.get)


def test_builds_are_told_by_local_version_and_name() -> None:
    found = members().find_member("frame", "2.9.0+CU128")
    assert found is not None
    assert (found.build, found.label) == ("cu128", "cu128")
    assert found.agree == {"cuda": "12", "frame": "cu128"}
    cpu = members().find_member("frame", "2.9.0+cpu")
    assert cpu is not None
    assert (cpu.build, cpu.label) == ("cpu", "null")
    sister = members().find_member("frame-cu12", "2.9.0")
    assert sister is not None
    assert (sister.project, sister.build) == ("frame", "sister")
    pattern = members().find_member("frame-audio", "2.9.0+cu13")
    assert pattern is not None
    assert pattern.build == "cu13"
    plain = members().find_member("frame", "2.9.0")
    assert plain is not None
    assert plain.build == ""
    assert members().find_member("other", "1.0") is None


def test_an_installed_sister_stands_for_the_plain_project() -> None:
    there = installed_distribution("frame-cu12", "2.9.0")
    found = members(there).find_installed("frame")
    assert found is not None
    assert (found.project, found.stands_for, found.label) == ("frame-cu12", "frame", "sister")
    plain = installed_distribution("frame", "2.8.0")
    assert members(there, plain).find_installed("frame") is plain
    assert members().find_installed("frame") is None


def test_what_was_written_down_counts_first() -> None:
    there = replace(
        installed_distribution("frame", "2.9.0+cu128"), bridge="old", label="x", build="x"
    )
    assert members().describe(there) is there


def test_libraries_carry_values_in_their_names() -> None:
    def agreements(name: str) -> dict[str, str]:
        return dict(members().agreements(Candidate(name, name, "1.0")))

    assert agreements("vendor-math-cu12") == {"cuda": "12"}
    assert agreements("vendor-math-cu13") == {}


def test_what_stays_is_one_value_or_nobodys() -> None:
    torch = installed_distribution("frame", "2.9.0+cu128")
    assert members(torch).find_staying(lambda project, there: True) == (
        Staying("cuda", "12", "frame 2.9.0+cu128"),
    )
    assert members(torch).find_staying(lambda project, there: project != "frame") == ()
    audio = replace(
        installed_distribution("frame-audio", "2.9.0"), bridge="frame", agree={"cuda": "13"}
    )
    assert members(torch, audio).find_staying(lambda project, there: True) == ()


def test_members_of_another_build_follow() -> None:
    real = Link("https://host.example/x", "frame-2.9.0+cu128-py3-none-any.whl")
    bridge = Bridged(
        "frame", "cu128", "frame", real, "frame", "2.9.0+cu128", agree={"frame": "cu128"}
    )
    link = Link(real.url, "frame-2.9.0-py3-none-any-cu128.whl", bridge=bridge)
    candidate = Candidate("frame", "frame", "2.9.0", link=link)
    other = installed_distribution("frame-audio", "2.8.0+cpu")
    same = installed_distribution("frame-audio", "2.8.0+cu128")
    assert members(other).followers(candidate) == ("frame-audio",)
    assert members(same).followers(candidate) == ()
    assert members(other).followers(Candidate("frame", "frame", "2.9.0")) == ()
