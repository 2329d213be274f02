"""An impossible resolution, told in sentences.

The resolver hands over its causes: who needs what. This module finds out why nothing
satisfies them (no such project, no such version, no file for this machine, two needs that
exclude each other) and says so, the newest releases first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import (
    HashMismatchError,
    NoMatchingWheelError,
    ResolutionError,
    VinstallError,
)
from vinstall.resolution.adapter import IMPOSSIBLE, is_agreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from resolvelib.structs import RequirementInformation

    from vinstall.distributions.requirement import Requirement
    from vinstall.resolution.adapter import Adapter, Need, Node, Problem
    from vinstall.resolution.selection import Refusal

_SHOWN_RELEASES = 3
_SHOWN_FILES = 4


def explain_too_deep(rounds: int) -> ResolutionError:
    """The error for a search that was given up."""
    return ResolutionError(
        "The requirements are too tangled",
        f"no set of versions was found within {rounds} steps",
        "Name a version, or a lower limit, for the projects that you know.",
    )


def explain_conflict(
    causes: Sequence[RequirementInformation[Need, Node]], adapter: Adapter, problem: Problem
) -> VinstallError:
    """The error for causes that exclude each other, or one that nothing satisfies."""
    unique = list({(cause.requirement, cause.parent): cause for cause in causes}.values())
    for cause in unique:
        need = cause.requirement
        if need.key == IMPOSSIBLE or need.requirement is None:
            continue
        project = need.key.partition("[")[0]
        others = [one for one in unique if one.requirement.key.partition("[")[0] == project]
        if len(others) == 1 and not need.requirement.url and _is_alone(need, problem):
            return _explain_single(need, cause.parent, adapter)
    unusable = _explain_unusable(unique)
    return unusable or _explain_several(unique, adapter, problem)


def _explain_unusable(
    causes: Sequence[RequirementInformation[Need, Node]],
) -> NoMatchingWheelError | None:
    """The error for one project of which no file can be used."""
    parents = [cause.parent for cause in causes if cause.parent is not None]
    projects = {parent.candidate.project for parent in parents}
    if len(projects) != 1 or any(cause.requirement.key != IMPOSSIBLE for cause in causes):
        return None
    name = parents[0].candidate.name
    return NoMatchingWheelError(
        f"No matching distribution found for {name}",
        requirement=name,
        versions=sorted({parent.candidate.version_text for parent in parents}),
        causes=[
            f"{cause.parent.candidate}: {cause.requirement.reason}"
            for cause in causes
            if cause.parent is not None
        ],
    )


def _is_alone(need: Need, problem: Problem) -> bool:
    return not problem.constraints.get(need.key.partition("[")[0])


def _explain_hashes(
    need: Need, requirement: Requirement, adapter: Adapter
) -> HashMismatchError | NoMatchingWheelError | None:
    """The error for a release whose files would do, were it not for the listed hashes."""
    for release in adapter.releases(requirement.project):
        selection = adapter.best_selection(requirement.project, release.version_text)
        if selection is None or not requirement.allows(release.version_text):
            continue
        refused = [one.filename for one in selection.refusals if one.kind == "hash"]
        if selection.choices or not refused:
            continue
        listed_files = {
            link.filename
            for link in release.files
            for name, digest in link.hashes.items()
            if digest in requirement.hashes.get(name, ())
        }
        reasons = [one for one in selection.refusals if one.filename in listed_files]
        if reasons:
            return NoMatchingWheelError(
                f"No matching distribution found for {need.text}",
                "no file whose hash you listed can be used",
                "List the hash of a build that runs here too.",
                requirement=need.text,
                versions=[release.version_text],
                causes=list(_tell_refusals(str(release.version), reasons)),
            )
        link = next(link for link in release.files if link.filename == refused[0])
        name = next(name for name in requirement.hashes or link.hashes if name in link.hashes)
        listed = " or ".join(sorted(requirement.hashes.get(name, ())))
        return HashMismatchError(
            f"{link.filename} is not one of the files that you listed",
            f"Expected {name} {listed}\n             Got        {link.hashes[name]}",
            "If you have updated the package, update the hashes; otherwise examine the file: "
            "someone may have tampered with it.",
        )
    return None


def _explain_single(need: Need, parent: Node | None, adapter: Adapter) -> VinstallError:
    """Nothing satisfies one need by itself."""
    requirement = need.requirement
    assert requirement is not None
    project = requirement.project
    altered = _explain_hashes(need, requirement, adapter)
    if altered is not None:
        return altered
    releases = adapter.releases(project)
    versions = [str(release.version) for release in reversed(releases)]
    lines = list(_iter_release_reasons(requirement, adapter))
    why, fix = "", ""
    failure = adapter.failures.get(project)
    if failure is not None:
        why, fix = failure.why or failure.what, failure.fix
    elif not any(requirement.allows(text) for text in versions):
        why = "no version of it satisfies the requirement"
    else:
        why = "no file of a version that would do fits"
    needed_by = f" (from {parent.candidate.name})" if parent is not None else ""
    if requirement.origin and parent is None:
        lines.insert(0, f"asked for in {requirement.origin}")
    if not fix and project.endswith((".txt", "-txt")):
        fix = f"Did you mean '-r {requirement.name}'?"
    return NoMatchingWheelError(
        f"No matching distribution found for {need.text}",
        why,
        fix,
        requirement=f"{need.text}{needed_by}",
        versions=versions,
        causes=lines,
    )


def _explain_several(
    causes: Sequence[RequirementInformation[Need, Node]], adapter: Adapter, problem: Problem
) -> ResolutionError:
    """Needs that exclude each other."""
    lines = []
    names = []
    for cause in causes:
        need, parent = cause.requirement, cause.parent
        if is_agreement(need.key):
            if parent is None:
                lines.append(f"{need.reason}, which is installed, is built for {need.text}")
                names.append(need.reason)
            else:
                lines.append(f"{parent.candidate} is built for {need.text}")
                names.append(f"{parent.candidate.name} {parent.candidate.version_text}")
            continue
        if parent is None:
            origin = need.requirement.origin if need.requirement else ""
            where = f" ({origin})" if origin else ""
            lines.append(f"You asked for {need.text}{where}")
            names.append(need.text)
            continue
        who = str(parent.candidate)
        if need.key == IMPOSSIBLE:
            lines.append(f"{who} needs {need.text}: {need.reason}")
        elif parent.candidate.installed is not None:
            lines.append(f"{who}, which is installed, needs {need.text}")
        else:
            lines.append(f"{who} needs {need.text}")
        names.append(f"{parent.candidate.name} {parent.candidate.version_text}")
    projects = dict.fromkeys(
        cause.requirement.key.partition("[")[0]
        for cause in causes
        if cause.requirement.key != IMPOSSIBLE and not is_agreement(cause.requirement.key)
    )
    for project in projects:
        for limit in problem.constraints.get(project, ()):
            where = f" ({limit.origin})" if limit.origin else ""
            lines.append(f"A constraint limits {limit.text}{where}")
        needs = [
            cause.requirement.requirement
            for cause in causes
            if cause.requirement.requirement is not None
            and cause.requirement.requirement.project == project
        ]
        for requirement in needs:
            lines.extend(
                f"{project}: {line}" for line in _iter_release_reasons(requirement, adapter)
            )
    lines = list(dict.fromkeys(lines))
    who = " and ".join(dict.fromkeys(names))
    return ResolutionError(
        f"Cannot install {who} together" if who else "The requirements exclude each other",
        "their requirements exclude each other",
        "Loosen a version that you named, or leave one of them out.",
        causes=lines,
    )


def _iter_release_reasons(requirement: Requirement, adapter: Adapter) -> Iterator[str]:
    """Why the newest releases that the requirement admits have no usable file."""
    shown = 0
    for release in adapter.releases(requirement.project):
        if not requirement.allows(release.version_text):
            continue
        if release.is_yanked:
            reason = next((link.yanked for link in release.files if link.yanked), "")
            yield f"{release.version} was yanked{': ' + reason if reason else ''}"
            shown += 1
        selection = adapter.best_selection(requirement.project, release.version_text)
        if selection is None or selection.choices:
            continue
        if selection.problem:
            yield f"{release.version}: {selection.problem}"
        yield from _tell_refusals(str(release.version), selection.refusals)
        shown += 1
        if shown >= _SHOWN_RELEASES:
            return


def _tell_refusals(version: str, refusals: Sequence[Refusal]) -> Iterator[str]:
    for refusal in refusals[:_SHOWN_FILES]:
        yield f"{version}: {refusal.filename} is left out: {refusal.reason}"
    if len(refusals) > _SHOWN_FILES:
        yield f"{version}: {len(refusals) - _SHOWN_FILES} more files are left out"
