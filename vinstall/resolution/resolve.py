"""Requirements → the distributions to have, or a failure that tells its causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.resolution.adapter import (
    Adapter,
    Need,
    Node,
    Problem,
    is_agreement,
    make_key,
)
from vinstall.resolution.resolved import Resolution, Resolved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.distributions.requirement import Requirement
    from vinstall.events import Observer
    from vinstall.resolution.search import Watcher
    from vinstall.resolution.source import PackageSource, SupportedLookup

MAX_ROUNDS = 200_000


def resolve(
    requirements: Sequence[Requirement],
    problem: Problem,
    source: PackageSource,
    lookup: SupportedLookup,
    observer: Observer,
    *,
    max_rounds: int = MAX_ROUNDS,
    watcher: Watcher | None = None,
) -> Resolution:
    """Find the newest set of distributions that satisfies all requirements.

    Args:
        requirements: What was asked for, each with a name, markers already applied.
        problem: Limits, the target, what is installed.
        source: Answers about files.
        lookup: Answers about supported properties.
        observer: Receives warnings.
        max_rounds: After how many steps to give up.
        watcher: Is told what is chosen.

    Raises:
        ResolutionError: No such set exists, or it was not found in time.
        VinstallError: Something that has to be read can not be.
    """
    from resolvelib import ResolutionImpossible, ResolutionTooDeep

    from vinstall.resolution.search import search

    adapter = Adapter(problem, source, lookup, observer)
    needs = [
        Need(
            make_key(requirement.project, requirement.extras),
            str(requirement).partition(";")[0].strip() if not requirement.url else requirement.text,
            requirement,
            order=order,
        )
        for order, requirement in enumerate(requirements)
    ]
    needs.extend(problem.staying)
    source.prefetch_links(
        dict.fromkeys(one.project for one in requirements if not one.url)
        if any(problem.installed(one.project) is None for one in requirements)
        else ()
    )
    try:
        mapping = search(adapter, needs, max_rounds, watcher)
    except ResolutionImpossible as error:
        from vinstall.resolution.explain import explain_conflict

        raise explain_conflict(list(error.causes), adapter, problem) from error
    except ResolutionTooDeep as error:
        from vinstall.resolution.explain import explain_too_deep

        raise explain_too_deep(max_rounds) from error
    return _collect(requirements, mapping, adapter)


def _collect(
    requirements: Sequence[Requirement], mapping: Mapping[str, Node], adapter: Adapter
) -> Resolution:
    """Nodes with and without extras → one entry a project, dependencies first."""
    nodes: dict[str, list[Node]] = {}
    for key, node in mapping.items():
        if is_agreement(key):
            continue
        nodes.setdefault(node.candidate.project, []).append(node)
    asked: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        asked.setdefault(requirement.project, []).append(requirement)
    needs: dict[str, set[str]] = {}
    parents: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    for project, group in sorted(nodes.items()):
        needs[project] = set()
        for node in sorted(group, key=lambda node: node.key):
            for need in adapter.get_dependencies(node):
                other = need.key.partition("[")[0]
                if other == project or other not in nodes:
                    continue
                needs[project].add(other)
                parents.setdefault(other, set()).add(project)
                texts.setdefault(other, need.text)
    order: list[str] = []
    seen: set[str] = set()
    for start in (*asked, *nodes):
        stack = [(start, iter(sorted(needs.get(start, ()))))]
        if start in seen or start not in nodes:
            continue
        seen.add(start)
        while stack:
            project, remaining = stack[-1]
            for other in remaining:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(sorted(needs[other]))))
                    break
            else:
                stack.pop()
                order.append(project)
    distributions = []
    selections = {}
    for project in order:
        group = nodes[project]
        candidate = group[0].candidate
        own = tuple(asked.get(project, ()))
        distributions.append(
            Resolved(
                candidate,
                adapter.metadata(candidate),
                frozenset().union(*(node.extras for node in group)),
                own,
                tuple(sorted(parents.get(project, ()))),
                tuple(sorted(needs[project])),
                own[0].text if own else texts.get(project, project),
            )
        )
        selection = adapter.best_selection(project, candidate.version_text)
        if selection is not None:
            selections[project] = selection
    return Resolution(tuple(distributions), selections)
