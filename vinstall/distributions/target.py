"""The interpreter that we install for, as values."""

from __future__ import annotations

from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Target:
    """An interpreter and its environment, or another platform that was asked for.

    Attributes:
        executable: Path of the interpreter; scripts point to it.
        prefix: ``sys.prefix``.
        base_prefix: ``sys.base_prefix``.
        version: Full version, such as ``3.11.7``.
        implementation: ``cpython``, ``pypy``...
        markers: The marker environment (dependency specifiers, "Environment markers").
        tags: Platform compatibility tags as ``python-abi-platform``, most specific first.
        paths: Scheme paths: ``purelib``, ``platlib``, ``scripts``, ``data``, ``headers``.
        stdlib: Folder of the standard library (PEP 668 marker lies there).
        is_virtual: Whether it is a virtual environment.
        system_site: Whether a virtual environment sees the packages of its base.
        search_path: ``sys.path`` folders that can hold installed distributions, first wins.
        user_base: Folder of the user scheme; empty where it is off.
        user_paths: Scheme paths of the user scheme.
        is_foreign: Whether it stands for another platform than the one that runs.
        facts: Further facts of the probe: ``cache_tag``, ``magic``, ``platform``, ``libc``.
    """

    executable: str
    prefix: str
    base_prefix: str
    version: str
    implementation: str
    markers: Mapping[str, str]
    tags: tuple[str, ...]
    paths: Mapping[str, str]
    stdlib: str = ""
    is_virtual: bool = False
    system_site: bool = False
    search_path: tuple[str, ...] = ()
    user_base: str = ""
    user_paths: Mapping[str, str] = field(default_factory=dict)
    is_foreign: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def python_version(self) -> tuple[int, int]:
        """Major and minor version."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)
