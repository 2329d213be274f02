"""Requirements and constraints files: pip's grammar, with ``--variant`` on a line.

The rules are those of pip's documentation, "Requirements File Format". Files are read by
callables that are handed in: nothing here touches the disk or the network.
"""

from __future__ import annotations

import os
import re
import shlex

from vinstall.distributions.filename import SDIST_SUFFIXES
from vinstall.distributions.requirement import Requirement, parse_requirement, split_url_marker
from vinstall.errors import RequirementError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass, field, replace
from vinstall.variants.markers import find_illegal_variant_marker
from vinstall.variants.properties import is_label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_COMMENT = lazy_pattern(r"(^|\s+)#.*$")
_VARIABLE = lazy_pattern(r"\$\{([A-Z0-9_]+)\}")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:(//|/|\.|\w)")
_HASH = lazy_pattern(r"(sha256|sha384|sha512|md5):([0-9a-fA-F]+)")
_SYSTEMS = ("git", "hg", "svn", "bzr")
_HASH_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128, "md5": 32}
_DIRECT_NAME = lazy_pattern(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?P<extras>\[[^\]]*\])?\s*@\s*(?P<url>\S.*)"
)
_ARCHIVES = (".whl", *SDIST_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a line may be looked up in.

    Attributes:
        read: Location (path or URL) → text; raises RequirementError where it can not be read.
        is_folder: Whether a path is a folder.
        is_file: Whether a path is a file.
        variables: Environment variables for ``${NAME}``.
        folder: The folder that relative paths in requirements start from.
    """

    read: Callable[[str], str]
    is_folder: Callable[[str], bool] = os.path.isdir
    is_file: Callable[[str], bool] = os.path.isfile
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: str = field(default_factory=os.getcwd)


@dataclass(slots=True)
class RequirementsFile:
    """All that a file, and the files it names, say.

    Attributes:
        requirements: In the order of the lines.
        constraints: From ``-c`` lines.
        options: Long option name without dashes → values in order; a flag has ``[""]``.
        locations: Every file that was read, in order.
    """

    requirements: list[Requirement] = field(default_factory=list)
    constraints: list[Requirement] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)
    locations: list[str] = field(default_factory=list)


_VALUES = {
    "-r": "requirement",
    "--requirement": "requirement",
    "-c": "constraint",
    "--constraint": "constraint",
    "-e": "editable",
    "--editable": "editable",
    "-i": "index-url",
    "--index-url": "index-url",
    "--pypi-url": "index-url",
    "--extra-index-url": "extra-index-url",
    "-f": "find-links",
    "--find-links": "find-links",
    "--no-binary": "no-binary",
    "--only-binary": "only-binary",
    "--trusted-host": "trusted-host",
    "--use-feature": "use-feature",
    "--all-releases": "all-releases",
    "--only-final": "only-final",
}
_FLAGS = {
    "--no-index": "no-index",
    "--prefer-binary": "prefer-binary",
    "--pre": "pre",
    "--require-hashes": "require-hashes",
    "--no-require-hashes": "no-require-hashes",
}
_LINE_VALUES = {"--hash", "--config-settings", "--config-setting", "-C", "--variant"}


def parse_requirements_file(
    location: str, around: Surroundings, *, constraint: bool = False
) -> RequirementsFile:
    """Read a file and every file that it names.

    Args:
        location: Path or URL.
        around: How to read, and what paths mean.
        constraint: Whether its lines are constraints.

    Raises:
        RequirementError: A file can not be read, or some lines are wrong; all wrong lines
            of all files are told.
    """
    result = RequirementsFile()
    faults: list[RequirementError] = []
    _read_into(location, around, constraint, result, faults, ())
    if len(faults) == 1:
        raise faults[0]
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise RequirementError(f"{len(faults)} lines are wrong", f"\n{lines}", faults[0].fix)
    return result


def parse_requested(
    text: str, around: Surroundings, origin: str = "", *, editable: bool = False
) -> Requirement:
    """Read one argument: a URL, a folder, a file, or a requirement, in pip's order.

    Raises:
        RequirementError: It is none of these.
    """
    text = text.strip()
    if "\0" in text:
        raise RequirementError(f"Invalid requirement: {text!r}{_where(origin)}", "it holds a NUL")
    name, extras = "", ""
    url, marker = "", ""
    named = _DIRECT_NAME.fullmatch(text)
    if named and _SCHEME.match(named["url"]):
        requirement = parse_requirement(text, origin)
        _refuse_variant_markers(text, requirement.marker, origin)
        return replace(requirement, editable=editable)
    if _SCHEME.match(text) and not _is_windows_path(text):
        system, plus, _ = text.partition(":")[0].partition("+")
        if plus and system.lower() not in _SYSTEMS:
            raise RequirementError(
                f"Invalid requirement: {text!r}{_where(origin)}",
                f"{system} is no version control system that is known here; "
                f"there are {', '.join(_SYSTEMS)}",
            )
        url, marker = split_url_marker(text)
        url, name, extras = _take_egg(url)
    else:
        body, _, marker = text.partition(";")
        path, extras = _split_extras(body.strip())
        if _looks_like_path(path, around):
            if not (
                around.is_folder(_absolute(path, around)) or around.is_file(_absolute(path, around))
            ):
                hint = ""
                if path.endswith((".txt", ".in")):
                    hint = f"Did you mean '-r {path}'?"
                raise RequirementError(
                    f"Invalid requirement: {text!r}{_where(origin)}",
                    f"there is no file or folder {path!r}",
                    hint,
                )
            url = _path_url(_absolute(path, around))
        else:
            if editable:
                raise RequirementError(
                    f"{text} is not a valid editable requirement{_where(origin)}",
                    "it has to be a folder that holds pyproject.toml or setup.py, or a URL "
                    "that begins with git+, hg+, svn+ or bzr+",
                )
            _refuse_variant_markers(text, text.partition(";")[2], origin)
            try:
                return parse_requirement(text, origin)
            except RequirementError as error:
                if around.is_file(_absolute(text, around)):
                    raise RequirementError(
                        error.what, error.why, f"Did you mean '-r {text}'?"
                    ) from error
                raise
    _refuse_variant_markers(text, marker, origin)
    found = parse_requirement(
        f"{name or 'x'}{extras} @ {url}" + (f" ; {marker}" if marker.strip() else ""), origin
    )
    return replace(found, text=text, name=name, editable=editable)


def _read_into(
    location: str,
    around: Surroundings,
    constraint: bool,
    result: RequirementsFile,
    faults: list[RequirementError],
    above: tuple[str, ...],
) -> None:
    if location in above:
        chain = " → ".join((*above, location))
        raise RequirementError(f"{location} includes itself", chain)
    result.locations.append(location)
    try:
        text = around.read(location)
    except RequirementError as error:
        if not constraint:
            raise
        what = error.what.replace("open requirements file", "open constraint file", 1)
        raise RequirementError(what, error.why, error.fix) from error
    for number, line in _iter_lines(text):
        origin = f"{location}:{number}"
        line = _VARIABLE.sub(lambda found: around.variables.get(found[1], "") or found[0], line)
        try:
            _read_line(line, origin, location, around, constraint, result, faults, above)
        except RequirementError as error:
            faults.append(error)


def _read_line(
    line: str,
    origin: str,
    location: str,
    around: Surroundings,
    constraint: bool,
    result: RequirementsFile,
    faults: list[RequirementError],
    above: tuple[str, ...],
) -> None:
    if not line.startswith("-"):
        body, options = _split_options(line, origin)
        requirement = parse_requested(body, around, origin)
        requirement = _apply_line_options(requirement, options, line, origin)
        _add(requirement, constraint, result, origin)
        return
    words = _split_words(line, origin)
    position = 0
    while position < len(words):
        name, value, position = _take_option(words, position, line, origin)
        if name == "editable":
            rest = _pairs(words[position:], line, origin)
            requirement = parse_requested(value, around, origin, editable=True)
            _add(_apply_line_options(requirement, rest, line, origin), constraint, result, origin)
            return
        if name in ("requirement", "constraint"):
            nested = _join_location(location, value)
            inner = constraint or name == "constraint"
            _read_into(nested, around, inner, result, faults, (*above, location))
        else:
            if name == "find-links" and not _SCHEME.match(value):
                beside = _join_location(location, value)
                value = beside if around.is_folder(beside) or around.is_file(beside) else value
            result.options.setdefault(name, []).append(value)


def _add(requirement: Requirement, constraint: bool, result: RequirementsFile, origin: str) -> None:
    if not constraint:
        result.requirements.append(requirement)
        return
    if not requirement.name and requirement.url.partition("#")[0].endswith(".whl"):
        requirement = requirement.with_name(_name_of_wheel(requirement.url))
    check_constraint(requirement, origin)
    result.constraints.append(requirement)


def _name_of_wheel(url: str) -> str:
    """The project name in the file name of a wheel; empty where it has none."""
    from vinstall.distributions.filename import parse_wheel_filename
    from vinstall.distributions.link import parse_link
    from vinstall.errors import WheelFormatError

    try:
        return parse_wheel_filename(parse_link(url).filename).name
    except WheelFormatError:
        return ""


def check_constraint(requirement: Requirement, origin: str) -> None:
    """Refuse what a constraint can not be.

    Raises:
        RequirementError: It has extras, is editable, or has no name.
    """
    why = ""
    if requirement.extras:
        why = "Constraints cannot have extras"
    elif requirement.editable:
        why = "Constraints cannot be editable"
    elif not requirement.name:
        why = "Unnamed requirements are not allowed as constraints"
    if why:
        raise RequirementError(f"{requirement.text} is not a constraint{_where(origin)}", why)


def _iter_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines, cut comments, drop blank lines; numbers are of the first line."""
    joined: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        comment = line.lstrip().startswith("#")
        if not joined:
            start = number
        if line.endswith("\\") and not comment:
            joined.append(line[:-1])
            continue
        joined.append("" if comment and joined else line)
        whole = _COMMENT.sub("", "".join(joined)).strip()
        joined = []
        if whole:
            yield start, whole


def _split_options(line: str, origin: str) -> tuple[str, list[tuple[str, str]]]:
    """A requirement and the options behind it."""
    found = re.search(r"\s(?=(--[a-z]|-C))", line)
    if found is None:
        return line, []
    return line[: found.start()], _pairs(_split_words(line[found.end() :], origin), line, origin)


def _pairs(words: list[str], line: str, origin: str) -> list[tuple[str, str]]:
    pairs = []
    position = 0
    while position < len(words):
        word = words[position]
        name, equals, value = word.partition("=")
        if name not in _LINE_VALUES:
            raise _no_such_option(word, line, origin)
        if not equals:
            position += 1
            if position >= len(words):
                raise RequirementError(
                    f"{name} needs a value{_where(origin)}", f"in the line {line!r}"
                )
            value = words[position]
        pairs.append((name, value))
        position += 1
    return pairs


def _take_option(words: list[str], position: int, line: str, origin: str) -> tuple[str, str, int]:
    word = words[position]
    name, equals, value = word.partition("=")
    if not word.startswith("--") and len(word) > 2 and word[:2] in _VALUES:
        return _VALUES[word[:2]], word[2:].lstrip("="), position + 1
    if name in _FLAGS and not equals:
        return _FLAGS[name], "", position + 1
    if name not in _VALUES:
        raise _no_such_option(word, line, origin)
    if equals:
        return _VALUES[name], value, position + 1
    if position + 1 >= len(words):
        raise RequirementError(f"{name} needs a value{_where(origin)}", f"in the line {line!r}")
    return _VALUES[name], words[position + 1], position + 2


def _apply_line_options(
    requirement: Requirement, options: list[tuple[str, str]], line: str, origin: str
) -> Requirement:
    hashes: dict[str, set[str]] = {}
    label = requirement.label
    config: list[str] = []
    for name, value in options:
        if name == "--hash":
            found = _HASH.fullmatch(value)
            if found is not None and found[1] == "md5":
                raise RequirementError(
                    f"Invalid requirement: {line}{_where(origin)}",
                    "allowed hash algorithms for --hash are sha256, sha384 and sha512",
                )
            if found is None or len(found[2]) != _HASH_LENGTHS[found[1]]:
                raise RequirementError(
                    f"{value!r} is not a hash{_where(origin)}",
                    "it has to look like sha256: and 64 hexadecimal digits",
                )
            hashes.setdefault(found[1], set()).add(found[2].lower())
        elif name == "--variant":
            if not is_label(value):
                raise RequirementError(
                    f"{value!r} is not a variant label{_where(origin)}",
                    "a label holds only 0-9, a-z, '_' and '.'",
                )
            label = value
        else:
            config.append(value)
    return replace(
        requirement,
        hashes={name: frozenset(digests) for name, digests in hashes.items()},
        label=label,
        config_settings=tuple(config),
    )


def _split_words(text: str, origin: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RequirementError(f"{text!r} can not be read{_where(origin)}", str(error)) from error


def _no_such_option(word: str, line: str, origin: str) -> RequirementError:
    return RequirementError(
        f"no such option: {word.partition('=')[0]}{_where(origin)}",
        f"in the line {line!r}",
        "A requirements file takes only pip's options for such files, and --variant.",
    )


def _take_egg(url: str) -> tuple[str, str, str]:
    """A URL, and the name and extras of its ``#egg=`` part."""
    base, hash_sign, fragment = url.partition("#")
    name, extras = "", ""
    kept = []
    for part in fragment.split("&") if hash_sign else ():
        if part.startswith("egg="):
            name, _, rest = part[4:].partition("[")
            extras = f"[{rest}" if rest else ""
        elif part:
            kept.append(part)
    body, bracket, rest = base.rpartition("[")
    if bracket and rest.endswith("]") and not extras and base.startswith("file:"):
        base, extras = body, f"[{rest}"
    return base + ("#" + "&".join(kept) if kept else ""), name, extras


def _split_extras(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.+?)(\[[^\[\]]*\])", text)
    return (found[1], found[2]) if found else (text, "")


def _looks_like_path(text: str, around: Surroundings) -> bool:
    if not text:
        return False
    separators = [os.sep, *([os.altsep] if os.altsep else [])]
    path = _absolute(text, around)
    if around.is_folder(path) and (text.startswith(".") or any(one in text for one in separators)):
        return True
    if text.lower().endswith(_ARCHIVES) and "@" not in text:
        return True
    return text.startswith((".", os.sep))


def _absolute(path: str, around: Surroundings) -> str:
    return os.path.normpath(os.path.join(around.folder, os.path.expanduser(path)))  # noqa: PTH111, PTH118


def _path_url(path: str) -> str:
    from urllib.request import pathname2url

    return "file://" + pathname2url(path)


def _is_windows_path(text: str) -> bool:
    return os.name == "nt" and re.match(r"[A-Za-z]:[\\/]", text) is not None


def _join_location(base: str, other: str) -> str:
    """A location named in a file: relative to that file."""
    if _SCHEME.match(other) and not _is_windows_path(other):
        return other
    if re.match(r"https?:|file:", base):
        from urllib.parse import urljoin

        return urljoin(base, other)
    return os.path.join(os.path.dirname(base), other)  # noqa: PTH118, PTH120


def _refuse_variant_markers(text: str, marker: str, origin: str) -> None:
    name = find_illegal_variant_marker(marker) if "variant_" in marker else None
    if name:
        raise RequirementError(
            f"{name} can not be used here{_where(origin)}: {text!r}",
            "variant markers are legal only in the dependencies of a wheel (PEP 825)",
            "To choose a build, write --variant=LABEL behind the requirement.",
        )


def _where(origin: str) -> str:
    return f" ({origin})" if origin else ""
