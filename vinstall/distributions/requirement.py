"""One requirement or constraint, read from one line of text.

Implements the dependency specifiers specification (PEP 508), with pip's additions: paths,
URLs and VCS references in place of a name. A line is split by hand; ``packaging`` reads the
version specifier and the marker, and is imported only where there is one.
"""

from __future__ import annotations

from functools import lru_cache

from vinstall.distributions.filename import MAX_VERSION_LENGTH, normalize_name
from vinstall.errors import RequirementError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from packaging.markers import Marker
    from packaging.specifiers import SpecifierSet

_HEAD = lazy_pattern(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[(?P<extras>[^\]]*)\])?\s*"
)
_EXTRA = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONG_NUMBER = lazy_pattern(rf"\d{{{MAX_VERSION_LENGTH}}}")
_LETTER = lazy_pattern(r"[A-Za-z]")
_OPERATOR = lazy_pattern(r"===|[~=!<>]=|[<>]")
_URL_MARKER = lazy_pattern(r"\s+;|;\s+")


class Known:
    """What was worked out of specifiers and markers; a run can take over that of another.

    ``packaging`` is exact and slow, and its import costs more than most runs need of it.

    Attributes:
        fits: ``specifier version`` → whether the version is in it.
        valid: Specifiers, and markers after a ``;``, that are valid; specifiers after a
            ``?``: whether they name a pre-release.
        environment: The marker environment that the following holds for.
        markers: ``extra;marker`` → whether it holds.
        needs: Digest of the needs of a distribution → the numbers of those that apply.
    """

    __slots__ = ("environment", "fits", "markers", "needs", "valid")

    def __init__(self) -> None:
        self.fits: dict[str, bool] = {}
        self.valid: dict[str, bool] = {}
        self.environment: Mapping[str, Any] | None = None
        self.markers: dict[str, bool] = {}
        self.needs: dict[str, list[int]] = {}


KNOWN = Known()
"""What this process knows."""


@lru_cache(maxsize=8192)
def parse_specifier(text: str) -> SpecifierSet:
    """A version specifier, kept for the run.

    Raises:
        RequirementError: The text is not one.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    _check_numbers(text)
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise RequirementError(
            f"{text!r} is not a version specifier",
            "it has to look like '>=1.2,<2' or '==1.2.3'",
        ) from error


def _check_numbers(text: str) -> None:
    """Refuse numbers that Python does not read: ``packaging`` reads them later, or never.

    Raises:
        RequirementError: There is one.
    """
    if len(text) > MAX_VERSION_LENGTH and _LONG_NUMBER.search(text):
        raise RequirementError(
            f"{text[:60]!r}... can not be read", "it holds a number of more than a thousand digits"
        )


@lru_cache(maxsize=8192)
def list_operators(text: str) -> frozenset[str]:
    """The operators in a valid version specifier."""
    return frozenset(_OPERATOR.findall(text))


@lru_cache(maxsize=4096)
def parse_marker(text: str) -> Marker:
    """An environment marker, kept for the run.

    Raises:
        RequirementError: The text is not one.
    """
    from packaging.markers import InvalidMarker, Marker

    _check_numbers(text)
    try:
        return Marker(text)
    except InvalidMarker as error:
        raise RequirementError(
            f"{text!r} is not an environment marker", " ".join(str(error).split())
        ) from error


def names_prerelease(specifier: str) -> bool:
    """Whether a valid specifier names a pre-release, so that pre-releases are wanted."""
    if not _LETTER.search(specifier):
        return False
    key = f"?{specifier}"
    found = KNOWN.valid.get(key)
    if found is None:
        found = KNOWN.valid[key] = bool(parse_specifier(specifier).prereleases)
    return found


def fits(specifier: str, version: str) -> bool:
    """Whether a version is in a specifier, pre-releases as any other; asked many times.

    Raises:
        RequirementError: The text is no specifier.
    """
    key = f"{specifier} {version}"
    found = KNOWN.fits.get(key)
    if found is None:
        found = parse_specifier(specifier).contains(version, prereleases=True)
        KNOWN.fits[key] = found
    return found


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is asked for.

    Attributes:
        text: As written, without hashes and options.
        name: The project name as written; empty for a path or URL whose name is not known yet.
        extras: Normalized extras.
        specifier: Version specifier text; empty for any version.
        marker: Environment marker text; empty for always.
        url: A direct reference (``https:``, ``file:``, ``git+https:``...), without marker.
        editable: Whether the project is installed in place.
        hashes: Algorithm → accepted hex digests; empty where none were given.
        label: The variant label to take (``--variant`` on the line); empty for none.
        config_settings: ``key=value`` texts for a build.
        origin: Where it was written: ``requirements.txt:3``; empty for the command line.
    """

    text: str
    name: str = ""
    extras: frozenset[str] = frozenset()
    specifier: str = ""
    marker: str = ""
    url: str = ""
    editable: bool = False
    hashes: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    label: str = ""
    config_settings: tuple[str, ...] = ()
    origin: str = ""

    @property
    def project(self) -> str:
        """The normalized project name; empty while unknown."""
        return normalize_name(self.name)

    @property
    def is_pinned(self) -> bool:
        """Whether exactly one version can match (``==`` without ``*``, ``===``, or a URL)."""
        if self.url:
            return True
        parts = (part.strip() for part in self.specifier.split(","))
        return any(
            part.startswith("===") or (part.startswith("==") and not part.endswith(".*"))
            for part in parts
        )

    def allows(self, version: str) -> bool:
        """Whether a version satisfies the specifier; pre-releases count as any other."""
        if not self.specifier:
            return True
        return fits(self.specifier, version)

    def applies(self, environment: Mapping[str, Any], extras: frozenset[str] = frozenset()) -> bool:
        """Whether the marker holds in an environment, for any of the extras (or none).

        Raises:
            RequirementError: The marker can not be evaluated.
        """
        if not self.marker:
            return True
        return any(
            _evaluate(self.marker, environment, extra) for extra in (extras or frozenset({""}))
        )

    def with_name(self, name: str) -> Requirement:
        """The same requirement with the name that was found in its file."""
        return replace(self, name=name)

    def __str__(self) -> str:
        return self.text


def _evaluate(text: str, environment: Mapping[str, Any], extra: str) -> bool:
    """Evaluate a marker, from what is known of the environment where that is possible."""
    if environment is not KNOWN.environment:
        return evaluate_marker(parse_marker(text), environment, extra)
    key = f"{extra};{text}"
    found = KNOWN.markers.get(key)
    if found is None:
        found = evaluate_marker(parse_marker(text), environment, extra)
        KNOWN.markers[key] = found
    return found


def evaluate_marker(marker: Marker, environment: Mapping[str, Any], extra: str) -> bool:
    """Evaluate a marker in the environment of the target, not of this process.

    Raises:
        RequirementError: The marker compares what can not be compared.
    """
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.version import InvalidVersion

    try:
        return marker.evaluate({**environment, "extra": extra})
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion, KeyError) as error:
        raise RequirementError(
            f"the environment marker {str(marker)!r} can not be evaluated", str(error)
        ) from error


def parse_requirement(line: str, origin: str = "") -> Requirement:
    """Read ``name[extra]>=1 ; marker`` or ``name[extra] @ url ; marker``.

    Args:
        line: The text, without comment and options.
        origin: Where it was written, for messages.

    Raises:
        RequirementError: The line has another form; ``why`` says which part is wrong.
    """
    head = _HEAD.match(line)
    if head is None:
        raise _invalid(line, origin, "it does not begin with a project name")
    name = head["name"]
    extras = _parse_extras(head["extras"] or "", line, origin)
    rest = line[head.end() :].strip()
    text = " ".join(line.split())
    if rest.startswith("@"):
        url, marker = split_url_marker(rest[1:].strip())
        if "://" not in url and not url.startswith("file:"):
            raise _invalid(line, origin, f"{url!r} is not a URL")
        if marker:
            _check_marker(marker, line, origin)
        return Requirement(text, name, extras, "", marker, url, origin=origin)
    specifier, semicolon, marker = rest.partition(";")
    specifier, marker = specifier.strip(), marker.strip()
    if semicolon and not marker:
        raise _invalid(line, origin, "there is nothing after the ';'")
    if specifier.startswith("(") and specifier.endswith(")"):
        specifier = specifier[1:-1].strip()
    if specifier and specifier not in KNOWN.valid:
        try:
            parse_specifier(specifier)
            KNOWN.valid[specifier] = True
        except RequirementError as error:
            raise _invalid(line, origin, str(error)) from error
    if marker:
        _check_marker(marker, line, origin)
    return Requirement(text, name, extras, specifier, marker, origin=origin)


def split_url_marker(text: str) -> tuple[str, str]:
    """A URL and the marker behind it; ``;`` counts only beside white space."""
    found = _URL_MARKER.search(text)
    if found is None:
        return text, ""
    return text[: found.start()].strip(), text[found.end() :].strip()


def _check_marker(marker: str, line: str, origin: str) -> None:
    if f";{marker}" in KNOWN.valid:
        return
    try:
        parse_marker(marker)
        KNOWN.valid[f";{marker}"] = True
    except RequirementError as error:
        raise _invalid(line, origin, str(error)) from error


def _parse_extras(text: str, line: str, origin: str) -> frozenset[str]:
    extras = [part.strip() for part in text.split(",")] if text.strip() else []
    for extra in extras:
        if not _EXTRA.fullmatch(extra):
            raise _invalid(line, origin, f"{extra!r} is not the name of an extra")
    return frozenset(normalize_name(extra) for extra in extras)


def _invalid(line: str, origin: str, why: str) -> RequirementError:
    where = f" ({origin})" if origin else ""
    return RequirementError(
        f"Invalid requirement: {line.strip()!r}{where}",
        why,
        "Write it as 'name', 'name>=1.2', 'name[extra]==1.2; python_version >= \"3.10\"' "
        "or 'name @ https://…'.",
    )


def merge_hashes(requirements: Iterable[Requirement]) -> dict[str, frozenset[str]]:
    """The digests that every requirement with hashes accepts, by algorithm."""
    merged: dict[str, frozenset[str]] = {}
    for requirement in requirements:
        if not requirement.hashes:
            continue
        if not merged:
            merged = dict(requirement.hashes)
        else:
            merged = {
                name: merged[name] & digests
                for name, digests in requirement.hashes.items()
                if name in merged
            } or {"sha256": frozenset()}
    return merged
