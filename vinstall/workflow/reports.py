"""What is installed, told in pip's forms: list, freeze, show, check, inspect.

Every function returns values or lines; ``console`` and ``cli`` decide how they are seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.consistency import Conflict, Member, add_stand_in, find_conflicts
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.installed_markers import markers_of
from vinstall.distributions.requirement import Requirement, parse_requirement
from vinstall.errors import RequirementError, VinstallError
from vinstall.values import dataclass
from vinstall.variants.markers import fold_variant_markers, has_variant_markers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.workflow.context import Context

_NOT_FROZEN = frozenset({"pip"})
_NOT_FROZEN_OLD = frozenset({"pip", "setuptools", "wheel", "distribute"})


@dataclass(frozen=True, slots=True)
class Which:
    """Which installed distributions are meant.

    Attributes:
        local: Leave out those of the base environment.
        user_only: Only those of the user scheme.
        paths: Only those in these folders; empty for the environment.
        excludes: Project names to leave out.
        editable: ``True`` for editable ones only, ``False`` for the others, ``None`` for all.
        not_required: Leave out what another one needs.
    """

    local: bool = False
    user_only: bool = False
    paths: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    editable: bool | None = None
    not_required: bool = False


def find_installed(context: Context, which: Which) -> tuple[InstalledDistribution, ...]:
    """The installed distributions that are meant, sorted by normalized name."""
    from vinstall.environment.database import InstalledDatabase

    database = context.installed
    if which.paths:
        database = InstalledDatabase(context.base_target, search_path=which.paths)
    excluded = {normalize_name(name) for name in which.excludes}
    found = [one for one in database if one.project not in excluded]
    if not which.paths:
        target = context.base_target
        if which.user_only:
            found = [one for one in found if _is_within(one.location, target.user_base)]
        if which.local and target.is_virtual:
            found = [one for one in found if _is_within(one.location, target.prefix)]
    if which.editable is not None:
        found = [one for one in found if bool(one.editable_location) is which.editable]
    if which.not_required:
        needed = {need.project for one in found for need in _needs(context, one)}
        found = [one for one in found if one.project not in needed]
    return tuple(found)


def build_of(distribution: InstalledDistribution) -> str:
    """The build number of the wheel that was installed; empty for none."""
    try:
        text = Path(distribution.info, "WHEEL").read_text("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name == "Build"), "")


def freeze_lines(
    context: Context, which: Which, *, everything: bool = False
) -> Iterator[tuple[str, str]]:
    """(project, line) for each distribution; a variant is told in a trailing comment."""
    left_out = _NOT_FROZEN
    if context.base_target.python_version < (3, 12):
        left_out = _NOT_FROZEN_OLD
    found = sorted(find_installed(context, which), key=lambda one: one.name.lower())
    for one in found:
        if one.project in left_out and not everything:
            continue
        yield one.project, format_frozen(one)


def format_frozen(distribution: InstalledDistribution) -> str:
    """One line of ``freeze``: ``name==version``, ``name @ URL``, or ``-e …``."""
    if distribution.editable_location:
        from vinstall.workflow.repositories import describe_editable

        return describe_editable(
            distribution.editable_location, distribution.name, distribution.version_text
        )
    direct = distribution.direct_url
    line = f"{distribution.name}=={distribution.version_text}"
    if direct and isinstance(direct.get("url"), str):
        line = f"{distribution.name} @ {format_direct_url(direct)}"
    if distribution.label:
        line += f"  # variant: {distribution.shown_label}"
    return line


def format_direct_url(direct: Mapping[str, object]) -> str:
    """A direct reference from ``direct_url.json`` (PEP 610)."""
    url = str(direct.get("url", ""))
    vcs = direct.get("vcs_info")
    fragments = []
    if isinstance(vcs, dict):
        url = f"{vcs.get('vcs')}+{url}"
        if vcs.get("commit_id"):
            url += f"@{vcs['commit_id']}"
    archive = direct.get("archive_info")
    if isinstance(archive, dict):
        hashes = archive.get("hashes")
        if isinstance(hashes, dict) and hashes:
            name = "sha256" if "sha256" in hashes else next(iter(hashes))
            fragments.append(f"{name}={hashes[name]}")
        elif isinstance(archive.get("hash"), str):
            fragments.append(str(archive["hash"]))
    if isinstance(direct.get("subdirectory"), str):
        fragments.append(f"subdirectory={direct['subdirectory']}")
    return url + ("#" + "&".join(fragments) if fragments else "")


def show_lines(
    context: Context, names: Sequence[str], *, files: bool = False, verbose: bool = False
) -> tuple[list[str], list[str]]:
    """The lines of ``show`` and the names that are not installed."""
    everything = list(context.installed)
    missing = [name for name in names if context.installed.get(normalize_name(name)) is None]
    lines: list[str] = []
    for name in names:
        one = context.installed.get(normalize_name(name))
        if one is None:
            continue
        if lines:
            lines.append("---")
        lines += list(_show_one(context, one, everything, files=files, verbose=verbose))
    return lines, missing


def _show_one(
    context: Context,
    one: InstalledDistribution,
    everything: Sequence[InstalledDistribution],
    *,
    files: bool,
    verbose: bool,
) -> Iterator[str]:
    import email.parser

    message = email.parser.Parser().parsestr(one.metadata.text)
    homepage = message.get("Home-page", "")
    urls = [url.partition(",") for url in message.get_all("Project-URL", [])]
    if not homepage:
        for label, _, url in urls:
            if label.strip().lower().replace("-", "").replace("_", "") in ("homepage", "home"):
                homepage = url.strip()
    license_text = message.get("License-Expression") or message.get("License", "")
    requires = sorted({parse.name for parse in _needs(context, one)}, key=str.lower)
    required_by = sorted(
        {
            other.name
            for other in everything
            if any(need.project == one.project for need in _needs(context, other))
        },
        key=str.lower,
    )
    yield f"Name: {one.name}"
    yield f"Version: {one.version_text}"
    yield f"Summary: {message.get('Summary', '')}"
    yield f"Home-page: {homepage}"
    yield f"Author: {message.get('Author', '')}"
    yield f"Author-email: {message.get('Author-email', '')}"
    label = "License-Expression" if message.get("License-Expression") else "License"
    yield f"{label}: {license_text}"
    yield f"Location: {one.location}"
    if one.editable_location:
        yield f"Editable project location: {one.editable_location}"
    yield f"Requires: {', '.join(requires)}"
    yield f"Required-by: {', '.join(required_by)}"
    if one.label:
        yield f"Variant: {one.shown_label}"
        if one.bridge:
            yield f"Bridge: {one.bridge}"
        for text in _properties_of(one):
            yield f"Variant-property: {text}"
        reason = (one.reason or {}).get("reason")
        if reason:
            yield f"Variant-reason: {reason}"
    if verbose:
        yield f"Metadata-Version: {message.get('Metadata-Version', '')}"
        yield f"Installer: {one.installer}"
        yield "Classifiers:"
        for classifier in message.get_all("Classifier", []):
            yield f"  {classifier}"
        yield "Entry-points:"
        entry_points = Path(one.info, "entry_points.txt")
        if entry_points.is_file():
            for line in entry_points.read_text("utf-8", "replace").splitlines():
                yield f"  {line}".rstrip()
        yield "Project-URLs:"
        for project_label, _, url in urls:
            yield f"  {project_label.strip()}, {url.strip()}"
    if files:
        yield "Files:"
        paths = _files_of(one)
        if paths is None:
            yield "Cannot locate RECORD or installed-files.txt"
        for path in paths or ():
            yield f"  {path}"


def _needs(context: Context, one: InstalledDistribution) -> Iterator[Requirement]:
    markers = markers_of(one)
    for line in one.metadata.requires_dist:
        try:
            folded: str | None = line
            if has_variant_markers(line):
                folded = fold_variant_markers(line, markers)
            if folded is None:
                continue
            requirement = parse_requirement(folded)
            if requirement.applies(context.base_target.markers):
                yield requirement
        except RequirementError:
            continue


def _properties_of(one: InstalledDistribution) -> list[str]:
    if one.bridge:
        texts = (one.reason or {}).get("properties")
        return sorted(map(str, texts)) if isinstance(texts, list) else []
    variants = (one.variant or {}).get("variants")
    entry = variants.get(one.label) if isinstance(variants, dict) else None
    if not isinstance(entry, dict):
        return []
    return sorted(
        f"{namespace} :: {feature} :: {value}"
        for namespace, features in entry.items()
        if isinstance(features, dict)
        for feature, values in features.items()
        if isinstance(values, list)
        for value in values
    )


def _files_of(one: InstalledDistribution) -> list[str] | None:
    from vinstall.distributions.record import parse_record

    record = Path(one.info, "RECORD")
    try:
        entries = parse_record(record.read_text("utf-8"), one.name)
    except (OSError, VinstallError):
        return None
    return sorted(entry.path for entry in entries)


def check_environment(context: Context) -> tuple[tuple[Conflict, ...], tuple[str, ...]]:
    """Needs that are not met, and wheels that do not fit the platform.

    Returns:
        Conflicts sorted by who needs; sentences about distributions of another platform.
    """
    members = {}
    foreign = []
    tags = set(context.base_target.tags)
    for one in context.installed:
        members[one.project] = Member(one.name, one.version_text, one.metadata, markers_of(one))
        add_stand_in(members, one.stands_for, members[one.project])
        wheel = Path(one.info, "WHEEL")
        try:
            text = wheel.read_text("utf-8", "replace")
        except OSError:
            continue
        own = {line[4:].strip() for line in text.splitlines() if line.startswith("Tag:")}
        if own and not any(_expand(tag) & tags for tag in own):
            foreign.append(f"{one.name} {one.version_text} is not supported on this platform")
    return find_conflicts(members, context.base_target.markers), tuple(foreign)


def _expand(tag: str) -> set[str]:
    parts = tag.split("-")
    if len(parts) != 3:
        return {tag}
    return {
        f"{python}-{abi}-{platform}"
        for python in parts[0].split(".")
        for abi in parts[1].split(".")
        for platform in parts[2].split(".")
    }


def inspect_environment(context: Context, which: Which) -> Mapping[str, object]:
    """The JSON of ``inspect``, pip's format version 1, with our key per distribution."""
    from vinstall.workflow.install_report import PIP_FORMAT, metadata_to_json

    installed = []
    for one in find_installed(context, which):
        item: dict[str, object] = {
            "metadata": metadata_to_json(one.metadata),
            "metadata_location": one.info,
        }
        if one.direct_url is not None:
            item["direct_url"] = dict(one.direct_url)
        if one.installer:
            item["installer"] = one.installer
        item["requested"] = one.requested
        if one.label:
            item["vinstall"] = {
                "label": one.label,
                "properties": _properties_of(one),
                "reason": (one.reason or {}).get("reason"),
                **({"bridge": one.bridge, "build": one.build} if one.bridge else {}),
            }
        installed.append(item)
    return {
        "version": "1",
        "pip_version": PIP_FORMAT,
        "installed": installed,
        "environment": dict(context.base_target.markers),
    }


def _is_within(path: str, folder: str) -> bool:
    if not folder:
        return False
    try:
        return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == (
            os.path.realpath(folder)
        )
    except ValueError:
        return False
