"""The extensions come from the system; archspec's recorded machines check the versions."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_aarch64.detect import detect_facts, parse_cpuinfo, read_fingerprint
from vinstall_provider_aarch64.plugin import EXTENSIONS, list_versions

CPU: Any = import_module("archspec.cpu")
RECORDED = Path(str(CPU.__file__)).parents[1] / "json" / "tests" / "targets"
CPUINFO = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd crc32 atomics asimdrdm
CPU implementer\t: 0x41
CPU part\t: 0xd0c

processor\t: 1
Features\t: fp
"""


def list_recorded() -> list[str]:
    """Names of the recorded Linux machines that have such a CPU; none if none came along."""
    found = []
    for path in sorted(RECORDED.glob("linux-*")):
        target = CPU.TARGETS.get(path.name.split("-", 2)[2])
        if target is not None and target.family.name == "aarch64":
            found.append(path.name)
    return found


@pytest.mark.skipif(not list_recorded(), reason="archspec came without its recorded machines")
@pytest.mark.parametrize("name", list_recorded())
def test_recorded_machines_support_at_least_the_version_of_their_model(name: str) -> None:
    facts = parse_cpuinfo((RECORDED / name).read_text())
    target = CPU.TARGETS[name.split("-", 2)[2]]
    theirs = {one.name for one in [target.generic, *target.generic.ancestors]}
    theirs = {one.removeprefix("armv") if one != "aarch64" else "8a" for one in theirs}
    assert theirs <= set(list_versions(facts.flags))


@pytest.mark.skipif(not list_recorded(), reason="archspec came without its recorded machines")
@pytest.mark.parametrize("name", list_recorded())
def test_recorded_machines_have_all_that_is_typical_of_their_model(name: str) -> None:
    facts = parse_cpuinfo((RECORDED / name).read_text())
    target = CPU.TARGETS[name.split("-", 2)[2]]
    assert {one for one in EXTENSIONS if one in target} <= facts.flags


def test_every_extension_of_archspec_is_known() -> None:
    families = [one for one in CPU.TARGETS.values() if one.family.name == "aarch64"]
    assert {flag for one in families for flag in one.features} <= set(EXTENSIONS)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/cpuinfo")


@linux_only
def test_only_the_first_cpu_is_read(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO)
    facts = detect_facts(str(tmp_path), "aarch64")
    assert (facts.vendor, facts.model) == ("0x41", "0xd0c")
    assert list_versions(facts.flags) == ["8a", "8.1a"]


@linux_only
def test_without_cpuinfo_only_the_baseline_is_sure(tmp_path: Path) -> None:
    facts = detect_facts(str(tmp_path), "aarch64")
    assert list_versions(facts.flags) == ["8a"]


@pytest.mark.parametrize("machine", ["x86_64", "armv7l", "ppc64le", "riscv64"])
def test_other_machines_are_not_asked(tmp_path: Path, machine: str) -> None:
    assert not detect_facts(str(tmp_path), machine).is_aarch64


@linux_only
def test_fingerprint_follows_the_extensions(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    path = tmp_path / "proc/cpuinfo"
    path.write_text(CPUINFO)
    before = read_fingerprint(str(tmp_path))
    path.write_text(CPUINFO.replace("243.75", "50.00"))
    assert read_fingerprint(str(tmp_path)) == before
    path.write_text(CPUINFO.replace("atomics", "atomics sve"))
    assert read_fingerprint(str(tmp_path)) != before
