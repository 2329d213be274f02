"""What the user asked for, from arguments and files → requirements, constraints, settings."""

from __future__ import annotations

import os
from pathlib import Path

from vinstall.distributions.requirements_file import (
    RequirementsFile,
    Surroundings,
    parse_requested,
    parse_requirements_file,
)
from vinstall.errors import RequirementError, UsageError
from vinstall.settings import Names
from vinstall.values import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vinstall.distributions.requirement import Requirement
    from vinstall.settings import IndexSettings, Settings


@dataclass(frozen=True, slots=True)
class Gathered:
    """Requirements and what came along with them.

    Attributes:
        requirements: What is asked for, in order; direct ones may have no name yet.
        constraints: Limits, in order.
        settings: The settings, with the options of requirements files merged in.
    """

    requirements: tuple[Requirement, ...]
    constraints: tuple[Requirement, ...]
    settings: Settings


def gather_requirements(
    settings: Settings,
    environment: Mapping[str, str],
    fetch: Callable[[str], str],
    python: Callable[[], str] = lambda: "",
) -> Gathered:
    """Read every argument and every file.

    Args:
        settings: What was asked.
        environment: For ``${NAME}`` in files.
        fetch: URL → text, for files that are given by URL.
        python: The version of the target's Python, for what scripts demand.

    Raises:
        UsageError: Nothing was asked for.
        RequirementError: Something can not be read or understood.
    """
    request = settings.request
    around = Surroundings(read=lambda location: _read_text(location, fetch), variables=environment)
    parsed: list[RequirementsFile] = []
    constraints: list[Requirement] = []
    texts = [text for text in request.requirements if text.strip()]
    requirements = [parse_requested(text, around) for text in texts]
    requirements += [parse_requested(text, around, editable=True) for text in request.editables]
    for location in request.constraints:
        found = parse_requirements_file(location, around, constraint=True)
        parsed.append(found)
    for location in request.build_constraints:
        parse_requirements_file(location, around, constraint=True)
    for location in request.files:
        found = parse_requirements_file(location, around)
        parsed.append(found)
        requirements += found.requirements
    for group in request.groups:
        requirements += _read_group(group, around)
    for script in request.scripts:
        requirements += _read_script(script, around, python)
    for found in parsed:
        constraints += found.constraints
    asked = (
        request.requirements,
        request.editables,
        request.files,
        request.groups,
        request.scripts,
    )
    if not any(asked):
        raise UsageError(
            'You must give at least one requirement to install (see "vinstall help install")'
        )
    for found in parsed:
        settings = merge_file_options(settings, found.options)
    return Gathered(tuple(requirements), tuple(constraints), settings)


def merge_file_options(settings: Settings, options: Mapping[str, list[str]]) -> Settings:
    """Settings with the global lines of a requirements file: the last index wins, others add."""
    index: IndexSettings = settings.index
    resolve = settings.resolve
    if options.get("index-url"):
        index = replace(index, index_url=options["index-url"][-1], no_index=False)
    if "no-index" in options:
        index = replace(index, index_url="", extra_index_urls=(), no_index=True)
    index = replace(
        index,
        extra_index_urls=index.extra_index_urls + tuple(options.get("extra-index-url", ())),
        find_links=index.find_links + tuple(options.get("find-links", ())),
        trusted_hosts=index.trusted_hosts + tuple(options.get("trusted-host", ())),
    )
    resolve = replace(
        resolve,
        prefer_binary=resolve.prefer_binary or "prefer-binary" in options,
        pre=Names(everything=True) if "pre" in options else resolve.pre,
    )
    if "require-hashes" in options:
        resolve = replace(resolve, require_hashes=True)
    elif "no-require-hashes" in options and resolve.require_hashes is None:
        resolve = replace(resolve, require_hashes=False)
    for text in options.get("no-binary", ()):
        no_binary, only_binary = change_format(resolve.no_binary, resolve.only_binary, text)
        resolve = replace(resolve, no_binary=no_binary, only_binary=only_binary)
    for text in options.get("only-binary", ()):
        only_binary, no_binary = change_format(resolve.only_binary, resolve.no_binary, text)
        resolve = replace(resolve, no_binary=no_binary, only_binary=only_binary)
    for text in options.get("all-releases", ()):
        pre, only_final = change_format(resolve.pre, resolve.only_final, text)
        resolve = replace(resolve, pre=pre, only_final=only_final)
    for text in options.get("only-final", ()):
        only_final, pre = change_format(resolve.only_final, resolve.pre, text)
        resolve = replace(resolve, pre=pre, only_final=only_final)
    return replace(settings, index=index, resolve=resolve)


def change_format(names: Names, others: Names, text: str) -> tuple[Names, Names]:
    """Apply one value of two opposite options (``--no-binary`` and ``--only-binary``,
    ``--all-releases`` and ``--only-final``); the last word on a name wins.
    """
    from vinstall.distributions.filename import normalize_name

    for word in filter(None, (part.strip() for part in text.split(","))):
        if word == ":all:":
            names, others = Names(everything=True), Names()
        elif word == ":none:":
            names = Names()
        else:
            project = frozenset({normalize_name(word)})
            names = Names(names.everything, names.names | project, names.but - project)
            others = Names(others.everything, others.names - project, others.but | project)
    return names, others


def _read_text(location: str, fetch: Callable[[str], str]) -> str:
    if location.startswith(("http:", "https:")):
        return fetch(location)
    path = location
    if location.startswith("file:"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(location).path)
    try:
        data = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise RequirementError(
            f"Could not open requirements file: {location}", error.strerror or str(error)
        ) from error
    return decode_text(data, location)


def decode_text(data: bytes, location: str) -> str:
    """The text of a requirements file: byte order mark, ``coding:`` line, UTF-8, locale."""
    import codecs
    import locale
    import re

    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    for line in data.split(b"\n")[:2]:
        found = re.match(rb"\s*#.*coding[:=]\s*([-\w.]+)", line)
        if found:
            try:
                return data.decode(found[1].decode("ascii"))
            except (LookupError, UnicodeDecodeError) as error:
                raise RequirementError(f"{location} can not be decoded", str(error)) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(locale.getpreferredencoding(False), "replace")


_SCRIPT_BLOCK = r"(?m)^# /// (?P<kind>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$"
"""The regular expression that "Inline script metadata" (PEP 723) gives."""


def _read_script(
    location: str, around: Surroundings, python: Callable[[], str]
) -> list[Requirement]:
    """What the inline metadata of a script asks for (PEP 723).

    Raises:
        RequirementError: There is none, it is wrong, or wants another Python.
    """
    import re

    text = around.read(location)
    blocks = [one for one in re.finditer(_SCRIPT_BLOCK, text) if one["kind"] == "script"]
    if len(blocks) != 1:
        found = "more than one" if blocks else "no"
        raise RequirementError(f"{location} has {found} block of script metadata (PEP 723)")
    document = load_toml(
        "".join(
            line[2:] if line.startswith("# ") else line[1:]
            for line in blocks[0]["content"].splitlines(keepends=True)
        ),
        location,
    )
    wanted, needs = document.get("requires-python", ""), document.get("dependencies", [])
    if not isinstance(wanted, str) or not isinstance(needs, list):
        raise RequirementError(f"The script metadata of {location} has values of another type")
    from vinstall.distributions.requirement import parse_specifier

    here = python()
    if wanted and here and not parse_specifier(wanted).contains(here, prereleases=True):
        raise RequirementError(
            f"The script {location} requires a different Python: {here} not in {wanted!r}"
        )
    return [parse_requested(str(line), around, location) for line in needs]


def _read_group(text: str, around: Surroundings) -> list[Requirement]:
    """The requirements of one dependency group (PEP 735)."""
    path, colon, name = text.rpartition(":")
    location = path if colon else "pyproject.toml"
    if os.path.basename(location) != "pyproject.toml":  # noqa: PTH119
        raise UsageError(
            f"--group {text}: the file has to be named pyproject.toml",
            fix="Write it as GROUP or PATH/pyproject.toml:GROUP.",
        )
    groups = _load_groups(location)
    return [
        parse_requested(line, around, f"{location}:{name}")
        for line in _expand_group(name, groups, location, ())
    ]


def _load_groups(location: str) -> Mapping[str, object]:
    from vinstall.distributions.filename import normalize_name

    try:
        text = Path(location).read_text("utf-8")
    except OSError as error:
        raise RequirementError(
            f"{location} can not be read", error.strerror or str(error)
        ) from error
    document = load_toml(text, location)
    groups = document.get("dependency-groups", {})
    if not isinstance(groups, dict):
        raise RequirementError(f"{location} has no usable [dependency-groups]", "it is not a table")
    return {normalize_name(str(name)): value for name, value in groups.items()}


def load_toml(text: str, location: str) -> dict[str, object]:
    """Read TOML.

    Raises:
        RequirementError: It is not valid; ``why`` names line and column.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequirementError(f"{location} is not valid TOML", str(error)) from error


def _expand_group(
    name: str, groups: Mapping[str, object], location: str, above: tuple[str, ...]
) -> list[str]:
    from vinstall.distributions.filename import normalize_name

    project = normalize_name(name)
    if project in above:
        raise RequirementError(
            f"The dependency group {name!r} in {location} includes itself",
            " → ".join((*above, project)),
        )
    entries = groups.get(project)
    if not isinstance(entries, list):
        known = ", ".join(sorted(groups)) or "none"
        raise RequirementError(
            f"There is no dependency group {name!r} in {location}", f"it has: {known}"
        )
    lines: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            lines.append(entry)
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            lines += _expand_group(entry["include-group"], groups, location, (*above, project))
        else:
            raise RequirementError(
                f"The dependency group {name!r} in {location} is wrong",
                f"{entry!r} is neither a requirement nor an include-group",
            )
    return lines
