"""File names of wheels, with the variant label, and of source distributions.

Implements the binary distribution format, "File name convention", as PEP 825 extends it.
Names are split by hand and tags stay text, since an index page holds thousands of them:
``packaging`` reads the one version and nothing else.
"""

from __future__ import annotations

from functools import lru_cache

from vinstall.errors import WheelFormatError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.version import Version

_SEPARATORS = lazy_pattern(r"[-_.]+")
_NAME = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PLAIN_VERSION = lazy_pattern(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")
_BUILD = lazy_pattern(r"(\d+)(.*)")
MAX_VERSION_LENGTH = 1000
"""Longer texts are no version: Python refuses to read numbers of thousands of digits."""
SDIST_SUFFIXES = (".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".tar")


@lru_cache(maxsize=4096)
def normalize_name(name: str) -> str:
    """A project name in the form that indexes compare (PEP 503, "Normalized names")."""
    return _SEPARATORS.sub("-", name).lower()


@lru_cache(maxsize=16384)
def parse_version(text: str) -> Version | None:
    """The version, or ``None`` where the text is not one (PEP 440)."""
    from packaging.version import InvalidVersion, Version

    if len(text) > MAX_VERSION_LENGTH:
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def is_version(text: str) -> bool:
    """Whether a text is a version (PEP 440); plain numbers are told without ``packaging``."""
    if len(text) <= MAX_VERSION_LENGTH and _PLAIN_VERSION.fullmatch(text):
        return True
    return parse_version(text) is not None


@dataclass(frozen=True, slots=True)
class WheelFilename:
    """The parts of a wheel's file name.

    Attributes:
        filename: The whole name.
        name: The project name as written (escaped).
        version_text: The version as written.
        build: The build tag as a sort key: ``()`` where there is none, else
            ``(number, rest)``.
        python: Python tags, joined by dots as written.
        abi: ABI tags, joined by dots.
        platform: Platform tags, joined by dots.
        label: The variant label; empty for a non-variant wheel.
    """

    filename: str
    name: str
    version_text: str
    build: tuple[()] | tuple[int, str]
    python: str
    abi: str
    platform: str
    label: str

    @property
    def project(self) -> str:
        """The normalized project name."""
        return normalize_name(self.name)

    @property
    def version(self) -> Version:
        """The version."""
        version = parse_version(self.version_text)
        assert version is not None, "checked when the name was parsed"
        return version

    def iter_tags(self) -> Iterator[str]:
        """Every ``python-abi-platform`` that the name stands for."""
        for python in self.python.split("."):
            for abi in self.abi.split("."):
                for platform in self.platform.split("."):
                    yield f"{python}-{abi}-{platform}"


def parse_wheel_filename(filename: str) -> WheelFilename:
    """Split the file name of a wheel.

    With six parts the third is a build tag if it begins with a digit, otherwise the sixth
    is the variant label; with seven, both are there.

    Raises:
        WheelFormatError: The name is not one of a wheel; ``why`` names the part.
    """
    if not filename.endswith(".whl"):
        raise WheelFormatError(f"{filename!r} is not a wheel", "its name does not end in .whl")
    parts = filename[:-4].split("-")
    if not 5 <= len(parts) <= 7:
        raise WheelFormatError(
            f"{filename!r} is not a valid wheel file name",
            f"it has {len(parts)} parts between dashes instead of five to seven",
        )
    name, version_text, rest = parts[0], parts[1], parts[2:]
    build: tuple[()] | tuple[int, str] = ()
    label = ""
    if len(rest) == 5 or (len(rest) == 4 and rest[0][:1].isdigit()):
        number = _BUILD.fullmatch(rest[0])
        if number is None:
            raise WheelFormatError(
                f"{filename!r} is not a valid wheel file name",
                f"the build tag {rest[0]!r} does not begin with a digit",
            )
        build = (int(number[1]), number[2])
        rest = rest[1:]
    if len(rest) == 4:
        from vinstall.variants.properties import is_label

        label = rest.pop()
        if not is_label(label):
            raise WheelFormatError(
                f"{filename!r} is not a valid wheel file name",
                f"the variant label {label!r} may hold only 0-9, a-z, '_' and '.'",
            )
    if not _NAME.fullmatch(name):
        raise WheelFormatError(
            f"{filename!r} is not a valid wheel file name", f"{name!r} is not a project name"
        )
    if not is_version(version_text):
        raise WheelFormatError(
            f"{filename!r} is not a valid wheel file name", f"{version_text!r} is not a version"
        )
    python, abi, platform = rest
    if not (python and abi and platform) or python[0].isdigit():
        raise WheelFormatError(
            f"{filename!r} is not a valid wheel file name",
            f"{'-'.join(rest)!r} is not a platform compatibility tag",
        )
    return WheelFilename(
        filename, name, version_text, build, python.lower(), abi.lower(), platform.lower(), label
    )


def parse_sdist_filename(filename: str, project: str) -> str | None:
    """The version text in the name of a source distribution of a project.

    Old names hold dashes in both halves, so the project has to be known.

    Returns:
        The version as written, or ``None`` where the name belongs to something else.
    """
    for suffix in SDIST_SUFFIXES:
        if filename.endswith(suffix):
            stem = filename[: -len(suffix)]
            break
    else:
        return None
    for position, character in enumerate(stem):
        if character == "-" and normalize_name(stem[:position]) == project:
            version = stem[position + 1 :]
            return version if is_version(version) else None
    return None
