"""The parts of the probe that decide without asking the interpreter."""

from __future__ import annotations

import json
import struct
import sys
import sysconfig
from typing import TYPE_CHECKING

import pytest

from vinstall.children import target_probe

if TYPE_CHECKING:
    from pathlib import Path

POSIX_NAMES = ("posix_prefix", "posix_home", "posix_user", "nt", "nt_user")


@pytest.mark.parametrize(
    ("names", "implementation", "system", "expected"),
    [
        (POSIX_NAMES, "cpython", "posix", ("posix_prefix", "posix_user")),
        (POSIX_NAMES, "cpython", "nt", ("nt", "nt_user")),
        ((*POSIX_NAMES, "pypy", "pypy_nt"), "pypy", "posix", ("pypy", "posix_user")),
        ((*POSIX_NAMES, "pypy", "pypy_nt"), "pypy", "nt", ("pypy_nt", "nt_user")),
        ((), "cpython", "posix", ("posix_prefix", "posix_user")),
    ],
)
def test_schemes_where_python_does_not_name_them(
    names: tuple[str, ...], implementation: str, system: str, expected: tuple[str, str]
) -> None:
    assert target_probe.choose_schemes(names, implementation, system) == expected


def test_an_old_debian_installs_below_local() -> None:
    folders = ["/usr/local/lib/python3.9/dist-packages", "/usr/lib/python3/dist-packages"]
    paths = target_probe.local_paths("/usr", "python3.9", folders)
    assert paths == {
        "purelib": "/usr/local/lib/python3.9/dist-packages",
        "platlib": "/usr/local/lib/python3.9/dist-packages",
        "scripts": "/usr/local/bin",
        "data": "/usr/local",
        "headers": "/usr/local/include/python3.9",
    }
    assert target_probe.local_paths("/usr", "python3.9", ["/usr/lib/python3.9/site-packages"]) == {}
    assert target_probe.local_paths("/opt/python", "python3.9", folders) == {}


def write_program(path: Path, loader: str, *, wide: bool = True, little: bool = True) -> Path:
    """An ELF file with a program header for its loader (PT_INTERP is 3)."""
    order = "<" if little else ">"
    text = loader.encode() + b"\0"
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if little else 2, 1]) + bytes(9)
    if wide:
        start = 64 + 2 * 56
        head = struct.pack(order + "HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
        load = struct.pack(order + "IIQQQQQQ", 1, 0, 0, 0, 0, 0, 0, 0)
        found = struct.pack(order + "IIQQQQQQ", 3, 4, start, 0, 0, len(text), len(text), 1)
    else:
        start = 52 + 2 * 32
        head = struct.pack(order + "HHIIIIIHHHHHH", 2, 40, 1, 0, 52, 0, 0, 52, 32, 2, 0, 0, 0)
        load = struct.pack(order + "IIIIIIII", 1, 0, 0, 0, 0, 0, 0, 0)
        found = struct.pack(order + "IIIIIIII", 3, start, 0, 0, len(text), len(text), 4, 1)
    path.write_bytes(ident + head + load + found + text)
    return path


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("little", [True, False])
def test_the_loader_of_a_program(tmp_path: Path, wide: bool, little: bool) -> None:
    program = write_program(
        tmp_path / "python", "/lib/ld-musl-x86_64.so.1", wide=wide, little=little
    )
    assert target_probe._program_interpreter(str(program)) == "/lib/ld-musl-x86_64.so.1"


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01" + b"x" * 90]
)
def test_what_has_no_loader(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "python").write_bytes(content)
    assert target_probe._program_interpreter(str(tmp_path / "python")) == ""
    assert target_probe._program_interpreter(str(tmp_path / "missing")) == ""


@pytest.mark.parametrize(
    ("flags", "machine", "expected"),
    [
        (0x05000400, 40, True),
        (0x05000200, 40, False),
        (0x04000400, 40, False),
        (0x05000400, 3, False),
    ],
)
def test_hard_float(tmp_path: Path, flags: int, machine: int, expected: bool) -> None:
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIII", 2, machine, 1, 0, 52, 0, flags)
    (tmp_path / "python").write_bytes(head)
    assert target_probe._is_hard_float(str(tmp_path / "python")) is expected


class Manylinux:
    """The module that PEP 600 lets a distribution put beside its Python."""


@pytest.mark.parametrize(
    ("attributes", "refused"),
    [
        ({}, ""),
        ({"manylinux_compatible": staticmethod(lambda major, minor, arch: None)}, ""),
        ({"manylinux_compatible": staticmethod(lambda major, minor, arch: minor < 7)}, "2.8 2.7"),
        ({"manylinux1_compatible": False}, "2.5"),
        ({"manylinux1_compatible": True}, ""),
        ({"manylinux_compatible": 3}, ""),
    ],
)
def test_what_a_distribution_refuses(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, object], refused: str
) -> None:
    monkeypatch.setitem(sys.modules, "_manylinux", type("Module", (Manylinux,), attributes))
    assert target_probe._refused_glibc("2.8", "x86_64") == refused


def test_the_running_interpreter() -> None:
    facts = json.loads(json.dumps(target_probe.probe()))
    assert facts["executable"] == sys.executable
    assert facts["version"].split(".")[:2] == [str(part) for part in sys.version_info[:2]]
    assert facts["paths"]["purelib"] == sysconfig.get_path("purelib")
    assert facts["search_path"].count(facts["paths"]["purelib"]) == 1
    assert facts["is_virtual"] is (sys.prefix != sys.base_prefix)
    assert facts["facts"]["cache_tag"] == sys.implementation.cache_tag
