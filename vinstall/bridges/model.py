"""What a bridge file says, as values. The schema is described in ``docs/bridges.md``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from vinstall.distributions.requirement import parse_specifier
from vinstall.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.variants.properties import Properties

How = Literal["index", "sister", "extra", "local"]


@dataclass(frozen=True, slots=True)
class Build:
    """One entry of ``[[builds]]``.

    Attributes:
        label: The variant label that is shown; a template for ``local``.
        how: Where the files are.
        projects: The plain projects that it counts for; never empty.
        releases: A specifier over public versions; empty for any.
        properties: What it was built for; empty where it runs anywhere.
        agree: Name → value of what has to be the same in one environment.
        platforms: ``sys_platform``, or that and ``platform_machine``; empty for any.
        url: Key of the family's URLs (``index``).
        local: The local version segment (``index``) or a pattern of it (``local``).
        helpers: Projects that only its index has (``index``).
        sister: The project that holds the files (``sister``); a template.
        extra: Extras of the plain project (``extra``).
    """

    label: str
    how: How
    projects: tuple[str, ...]
    releases: str = ""
    properties: Properties = field(default_factory=dict, hash=False)
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)
    platforms: tuple[str, ...] = ()
    url: str = ""
    local: str = ""
    helpers: tuple[str, ...] = ()
    sister: str = ""
    extra: str = ""

    def sister_of(self, project: str) -> str:
        """The normalized name of the project that holds the files."""
        return self.sister.replace("{project}", project)


@dataclass(frozen=True, slots=True)
class Plain:
    """One entry of ``[[plain]]``: what the file of the plain name stands for.

    Attributes:
        projects: The projects that it counts for; never empty.
        releases: A specifier over public versions; empty for any.
        platforms: As of a build.
        properties: What it was built for.
        agree: As of a build.
        megabytes: Roughly what is downloaded, with all that it needs; 0 where it says nothing.
    """

    projects: tuple[str, ...]
    releases: str = ""
    platforms: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict, hash=False)
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)
    megabytes: int = 0


@dataclass(frozen=True, slots=True)
class Libraries:
    """One entry of ``[[libraries]]``: projects that carry a value of ``agree``."""

    patterns: tuple[str, ...]
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)
    releases: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """A bridge file.

    Attributes:
        name: The family.
        summary: One sentence.
        projects: Plain, normalized names.
        same_build: Whether all projects in one environment take builds of one label.
        urls: Name → template of a simple index with ``{label}``.
        builds: In order of the file.
        plain: In order of the file.
        libraries: In order of the file.
        origin: Where it was read, for messages.
    """

    name: str
    summary: str
    projects: tuple[str, ...]
    same_build: bool = False
    urls: Mapping[str, str] = field(default_factory=dict, hash=False)
    builds: tuple[Build, ...] = ()
    plain: tuple[Plain, ...] = ()
    libraries: tuple[Libraries, ...] = ()
    origin: str = ""

    def agreement_of(self, agree: Mapping[str, str], label: str) -> dict[str, str]:
        """What a build of the family has to agree on, with its label where that counts."""
        return {**agree, self.name: label} if self.same_build else dict(agree)


@lru_cache(maxsize=16384)
def contains_release(specifier: str, version_text: str) -> bool:
    """Whether a public version is one that an entry stands for."""
    if not specifier:
        return True
    return parse_specifier(specifier).contains(version_text, prereleases=True)


def fits_platform(platforms: tuple[str, ...], markers: Mapping[str, str]) -> bool:
    """Whether an entry counts on the platform of a marker environment."""
    if not platforms:
        return True
    system = markers.get("sys_platform", "")
    return system in platforms or f"{system}-{markers.get('platform_machine', '').lower()}" in (
        platforms
    )


def split_local(version_text: str) -> tuple[str, str]:
    """The public version as written and the local segment in normal form (PEP 440)."""
    public, _, local = version_text.partition("+")
    return public, re.sub("[-_]", ".", local).lower()
