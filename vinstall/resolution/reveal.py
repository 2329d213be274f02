"""A resolution with shown builds → one with the files that stand behind them.

Bridges show builds as variant wheels of the plain project (``docs/bridges.md``). Once all is
decided, each shown file gives way to the real one, and a plain project that only needed a
sister gives way to that sister. After this nothing but a note in ``ChosenVariant`` and in the
selections remembers what was shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.resolution.resolved import Resolution
from vinstall.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vinstall.resolution.candidate import Candidate
    from vinstall.resolution.resolved import Resolved


def reveal_builds(resolution: Resolution) -> Resolution:
    """Put the real files in place of what bridges show."""
    stand_ins = {
        one.project: _real_project(one.candidate)
        for one in resolution.distributions
        if _real_project(one.candidate) != one.project
    }
    if not stand_ins and not any(
        one.candidate.link is not None and one.candidate.link.bridge is not None
        for one in resolution.distributions
    ):
        return resolution
    before: dict[str, list[Resolved]] = {}
    for one in resolution.distributions:
        if one.project in stand_ins:
            before.setdefault(stand_ins[one.project], []).append(one)
    selections = dict(resolution.selections)
    found = []
    for one in resolution.distributions:
        if one.project in stand_ins:
            continue
        shown = before.get(one.project, [])
        candidate = _reveal(one.candidate)
        for stand_in in shown:
            if candidate.link is not None and stand_in.candidate.variant is not None:
                candidate = replace(candidate, variant=stand_in.candidate.variant)
            if stand_in.project in selections:
                selections[one.project] = selections.pop(stand_in.project)
        requirements = one.requirements + tuple(
            requirement for stand_in in shown for requirement in stand_in.requirements
        )
        parents = [*one.parents, *(parent for stand_in in shown for parent in stand_in.parents)]
        needs = [*one.needs, *(need for stand_in in shown for need in stand_in.needs)]
        found.append(
            replace(
                one,
                candidate=candidate,
                requirements=requirements,
                parents=_rename(parents, stand_ins, one.project),
                needs=_rename(needs, stand_ins, one.project),
                text=one.text if one.requirements or not shown else shown[0].text,
            )
        )
    return Resolution(tuple(found), selections)


def _real_project(candidate: Candidate) -> str:
    if candidate.installed is not None:
        return candidate.installed.project
    if candidate.link is not None and candidate.link.bridge is not None:
        return candidate.link.bridge.real_project
    return candidate.project


def _reveal(candidate: Candidate) -> Candidate:
    bridge = candidate.link.bridge if candidate.link is not None else None
    if bridge is None:
        return candidate
    name = bridge.real.filename.partition("-")[0]
    return replace(candidate, name=name, version_text=bridge.version_text, link=bridge.real)


def _rename(projects: Iterable[str], stand_ins: dict[str, str], own: str) -> tuple[str, ...]:
    """Sorted names, sisters in place of plain ones, without one's own."""
    return tuple(sorted({stand_ins.get(project, project) for project in projects} - {own}))
