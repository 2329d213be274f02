"""Platform compatibility tags of any interpreter, from the facts of its probe.

``packaging.tags`` knows the rules but asks the running interpreter; here the facts of the
target are handed to its functions. Implements the platform compatibility tags specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OLD_NAMES = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
_OLD_NAME_MACHINES = {
    "manylinux2014": {"x86_64", "i686", "aarch64", "armv7l", "ppc64", "ppc64le", "s390x"},
    "manylinux2010": {"x86_64", "i686"},
    "manylinux1": {"x86_64", "i686"},
}
_GLIBC_MACHINES = frozenset(
    {"x86_64", "i686", "aarch64", "ppc64", "ppc64le", "s390x", "loongarch64", "riscv64"}
)


def list_tags(
    version: tuple[int, int], implementation: str, facts: Mapping[str, str]
) -> tuple[str, ...]:
    """All tags of an interpreter as ``python-abi-platform``, most specific first."""
    return compose_tags(version, implementation, list(iter_platforms(facts)), facts)


def compose_tags(
    version: tuple[int, ...],
    implementation: str,
    platforms: Sequence[str],
    facts: Mapping[str, str],
    abis: Sequence[str] = (),
) -> tuple[str, ...]:
    """The tags for given platforms and, where given, ABIs.

    Args:
        version: Major and minor version of Python, or the major version alone: then no ABI
            of an interpreter fits.
        implementation: ``cpython``, ``pypy``, or the two letters of one.
        platforms: Platform tags, most specific first.
        facts: Facts of the probe; those that matter are ``abi_flags`` and ``soabi``.
        abis: ABI tags; empty for the interpreter's own.
    """
    from packaging import tags

    digits = "".join(map(str, version))
    found: list[tags.Tag] = []
    if implementation in ("cpython", "cp"):
        own = [f"cp{digits}{facts.get('abi_flags', '')}"] if len(version) > 1 else []
        if own and "d" in facts.get("abi_flags", ""):
            own.append(f"cp{digits}{facts['abi_flags'].replace('d', '')}")
        found += tags.cpython_tags(version, list(abis) or own, list(platforms))
        interpreter = f"cp{digits}"
    elif implementation == "py":
        interpreter = f"py{digits}"
    else:
        letters = {"pypy": "pp", "graalpy": "graalpy"}.get(implementation, implementation)
        interpreter = f"{letters}{digits}"
        own = list(abis) or [_abi_of_soabi(facts.get("soabi", ""))]
        found += tags.generic_tags(interpreter, own, list(platforms))
    generic = "pp3" if implementation in ("pypy", "pp") and version[0] == 3 else interpreter
    found += tags.compatible_tags(version, generic, list(platforms))
    return tuple(dict.fromkeys(str(tag) for tag in found))


def _abi_of_soabi(soabi: str) -> str:
    """The ABI tag inside ``SOABI``: ``pypy310-pp73-x86_64-linux-gnu`` → ``pypy310_pp73``."""
    parts = soabi.split("-")
    if parts[0].startswith("pypy") and len(parts) > 1:
        return f"{parts[0]}_{parts[1]}"
    return parts[0].replace(".", "_") if parts[0] else "none"


def iter_platforms(facts: Mapping[str, str]) -> Iterator[str]:
    """The platform tags of an interpreter, most specific first."""
    system = facts["platform"].replace("-", "_").replace(".", "_")
    if system.startswith("macosx"):
        from packaging import tags

        version = facts.get("mac_version", "11.0").split(".")
        machine = facts.get("mac_machine", "x86_64")
        major, minor = int(version[0]), int(version[1]) if len(version) > 1 else 0
        yield from tags.mac_platforms((major, minor), machine)
        return
    if not system.startswith("linux"):
        yield system
        return
    machine = system[len("linux_") :]
    if facts.get("pointer_bits") == "32":
        machine = {"x86_64": "i686", "aarch64": "armv8l"}.get(machine, machine)
    machines = ("armv8l", "armv7l") if machine == "armv8l" else (machine,)
    yield from (f"linux_{name}" for name in machines)
    for name in machines:
        if facts.get("libc") == "glibc":
            if name in _GLIBC_MACHINES or facts.get("hard_float"):
                refused = facts.get("libc_refused", "").split()
                yield from iter_manylinux(facts.get("libc_version", ""), name, refused)
        elif facts.get("libc") == "musl":
            yield from iter_musllinux(facts.get("libc_version", ""), name)


def iter_manylinux(version: str, machine: str, refused: Sequence[str] = ()) -> Iterator[str]:
    """``manylinux`` tags for a glibc version and all before it (PEP 600).

    Args:
        version: ``major.minor`` of glibc.
        machine: The architecture.
        refused: Versions that the interpreter's ``_manylinux`` module does not want.
    """
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return
    major, newest = int(parts[0]), int(parts[1])
    oldest = 5 if machine in ("x86_64", "i686") else 17
    for minor in range(newest, oldest - 1, -1):
        if f"{major}.{minor}" in refused:
            continue
        yield f"manylinux_{major}_{minor}_{machine}"
        old = _OLD_NAMES.get((major, minor))
        if old and machine in _OLD_NAME_MACHINES[old]:
            yield f"{old}_{machine}"


def iter_musllinux(version: str, machine: str) -> Iterator[str]:
    """``musllinux`` tags for a musl version and all before it (PEP 656)."""
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return
    for minor in range(int(parts[1]), -1, -1):
        yield f"musllinux_{parts[0]}_{minor}_{machine}"


def expand_platform(platform: str) -> list[str]:
    """What a platform named by the user accepts, as pip expands ``--platform``."""
    name = platform.replace("-", "_").replace(".", "_")
    prefix, _, machine = name.partition("_")
    if prefix in ("manylinux2014", "manylinux2010", "manylinux1"):
        order = ["manylinux2014", "manylinux2010", "manylinux1"]
        later = order[order.index(prefix) :]
        return [f"{one}_{machine}" for one in later if machine in _OLD_NAME_MACHINES[one]] or [name]
    if name.startswith("macosx_"):
        from packaging import tags

        parts = name.split("_", 3)
        if len(parts) == 4 and parts[1].isdigit() and parts[2].isdigit():
            return list(tags.mac_platforms((int(parts[1]), int(parts[2])), parts[3]))
    return [name]
