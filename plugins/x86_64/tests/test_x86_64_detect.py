"""The flags come from the system; archspec's recorded machines check the levels."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_x86_64.detect import detect_facts, parse_cpuinfo, read_fingerprint
from vinstall_provider_x86_64.plugin import EXTENSIONS, LEVELS, list_levels

CPU: Any = import_module("archspec.cpu")
RECORDED = Path(str(CPU.__file__)).parents[1] / "json" / "tests" / "targets"
CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 7763
cpu MHz\t\t: {clock}
flags\t\t: fpu mmx sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm

processor\t: 1
flags\t\t: fpu
"""


def list_recorded() -> list[str]:
    """Names of the recorded Linux machines that have such a CPU; none if none came along."""
    found = []
    for path in sorted(RECORDED.glob("linux-*")):
        target = CPU.TARGETS.get(path.name.split("-", 2)[2])
        if target is not None and "x86_64" in (target.name, target.family.name):
            found.append(path.name)
    return found


def list_generic(name: str) -> list[str]:
    """Levels that archspec gives to a machine of a recorded model."""
    level = CPU.TARGETS[name.split("-", 2)[2]].generic.name
    return [f"v{number}" for number in range(1, int(level.partition("_v")[2] or 1) + 1)]


@pytest.mark.skipif(not list_recorded(), reason="archspec came without its recorded machines")
@pytest.mark.parametrize("name", list_recorded())
def test_levels_of_recorded_machines(name: str) -> None:
    facts = parse_cpuinfo((RECORDED / name).read_text())
    assert list_levels(facts.flags) == list_generic(name)


@pytest.mark.skipif(not list_recorded(), reason="archspec came without its recorded machines")
@pytest.mark.parametrize("name", list_recorded())
def test_recorded_machines_have_all_that_is_typical_of_their_model(name: str) -> None:
    facts = parse_cpuinfo((RECORDED / name).read_text())
    target = CPU.TARGETS[name.split("-", 2)[2]]
    assert {one for one in EXTENSIONS if one in target} <= facts.flags


@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_levels_need_what_archspec_says(level: str) -> None:
    known = list(LEVELS)
    needed = frozenset[str]().union(*(LEVELS[one] for one in known[: known.index(level) + 1]))
    theirs = CPU.TARGETS[f"x86_64_{level}"].features
    assert needed | {"mmx", "sse", "sse2"} == theirs | {"sse3"}


def test_every_extension_of_archspec_is_known() -> None:
    families = [one for one in CPU.TARGETS.values() if one.family.name == "x86_64"]
    assert {flag for one in families for flag in one.features} <= set(EXTENSIONS)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/cpuinfo")


@linux_only
def test_only_the_first_cpu_is_read(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO.format(clock="2450.000"))
    facts = detect_facts(str(tmp_path), "x86_64")
    assert (facts.vendor, facts.model) == ("AuthenticAMD", "AMD EPYC 7763")
    assert list_levels(facts.flags) == ["v1", "v2"]
    assert facts.source == "/proc/cpuinfo"


@linux_only
def test_without_cpuinfo_only_the_baseline_is_sure(tmp_path: Path) -> None:
    facts = detect_facts(str(tmp_path), "x86_64")
    assert facts.is_x86_64
    assert list_levels(facts.flags) == ["v1"]


@pytest.mark.parametrize("machine", ["aarch64", "i686", "ppc64le", "riscv64", ""])
def test_other_machines_are_not_asked(tmp_path: Path, machine: str) -> None:
    assert not detect_facts(str(tmp_path), machine or "unknown").is_x86_64


@linux_only
def test_fingerprint_follows_the_flags_and_not_the_clock(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    path = tmp_path / "proc/cpuinfo"
    path.write_text(CPUINFO.format(clock="2450.000"))
    before = read_fingerprint(str(tmp_path))
    path.write_text(CPUINFO.format(clock="3200.123"))
    assert read_fingerprint(str(tmp_path)) == before
    path.write_text(CPUINFO.format(clock="3200.123").replace("popcnt", "popcnt avx"))
    assert read_fingerprint(str(tmp_path)) != before
