"""An explanation of choices → lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vinstall.workflow.explain import Build, ExplainedProject, Explanation, MachinePart

_SHOWN_VALUES = 8


def iter_explanation(explanation: Explanation, *, everything: bool = False) -> Iterator[str]:
    """Lines that tell what was detected, every build with its reason, and the winner.

    Args:
        explanation: What decided.
        everything: Whether projects without variants and long lists are told in full.
    """
    target = explanation.target
    yield f"Python: {target.get('python', '')} at {target.get('executable', '')}"
    tag = target.get("tag", "")
    if tag:
        yield f"Best tag: {tag}"
    if explanation.machine:
        yield "Machine:"
        for part in explanation.machine:
            yield from _iter_machine(part, everything)
    if explanation.overrides:
        yield "Overrides, the strongest first:"
        for what, source in explanation.overrides:
            yield f"  {what} ({source})"
    for project in explanation.projects:
        yield ""
        yield from _iter_project(project, everything)
    if any(project.builds for project in explanation.projects):
        yield ""
        yield "* chosen   + fits, and ranks after it   - does not fit, or can not be had"


def _iter_machine(part: MachinePart, everything: bool) -> Iterator[str]:
    source = f" (from {part.source})" if part.source else ""
    if not part.features:
        yield f"  {part.namespace}: nothing supported{source}"
    else:
        yield f"  {part.namespace}{source}"
    flags = tuple(name for name, values in part.features.items() if values == ("on",))
    lists = {name: values for name, values in part.features.items() if name not in flags}
    for name, values in {**lists, **({"on": flags} if flags else {})}.items():
        shown = values if everything else values[:_SHOWN_VALUES]
        more = len(values) - len(shown)
        rest = f", and {more} more" if more else ""
        yield f"    {name}: {', '.join(shown)}{rest}"
    if part.reason:
        yield f"    why: {part.reason}"
    for note in part.notes:
        yield f"    note: {note}"


def _iter_project(project: ExplainedProject, everything: bool) -> Iterator[str]:
    label = project.build or project.label
    label = f" {label}" if label else ""
    yield f"{project.name} {project.version}{label}: {project.sentence}"
    if project.problem:
        yield f"  problem: {project.problem}"
    has_variants = any(build.label for build in project.builds)
    if not has_variants and not everything and not project.requested:
        return
    foreign = 0
    for build in project.builds:
        if build.kind == "tags" and not everything:
            foreign += 1
        else:
            yield from _iter_build(build)
    if foreign:
        files = "file is" if foreign == 1 else "files are"
        yield f"  - {foreign} {files} for other Pythons or platforms (-v lists them)"


def _iter_build(build: Build) -> Iterator[str]:
    mark = {"chosen": "*", "fits": "+", "refused": "-", "unmet": "-"}.get(build.status, " ")
    rank = f" {build.rank}." if build.rank else ""
    through = f" (through the bridge {build.bridge})" if build.bridge else ""
    yield f"  {mark}{rank} {build.filename or build.label}{through}"
    if build.reason:
        yield f"      {build.reason}"
