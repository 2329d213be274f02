"""resolvelib's search, with what does not change between its rounds remembered.

Each round resolvelib asks of every project whether its pin still holds, and of every open
one how urgent it is. Both depend on a criterion (everything that is asked of the project),
which resolvelib replaces and never changes: an answer holds as long as the criterion is the
same object. That makes a round cheap, however many projects there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from resolvelib import BaseReporter, Resolver

try:
    from resolvelib.resolvers.resolution import Resolution, _build_result
except ImportError:  # another form of the library: its own, slower search gives the same
    Resolution = None  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from resolvelib.resolvers.criterion import Criterion
    from resolvelib.structs import RequirementInformation

    from vinstall.resolution.adapter import Adapter, Need, Node
    from vinstall.resolution.candidate import Candidate

    _Criterion = Criterion[Need, Node]
    _Causes = Sequence[RequirementInformation[Need, Node]]
    _Base = Resolution[Need, Node, str]
    _BaseReporter = BaseReporter[Need, Node, str]
else:
    _Base = Resolution or object
    _BaseReporter = BaseReporter

_HOOKS = ("_is_current_pin_satisfying", "_get_preference", "state")


class Watcher(Protocol):
    """Is told how a search goes."""

    def choose(self, candidate: Candidate, /) -> None:
        """A candidate was chosen."""

    def stop_choosing(self) -> None:
        """Something that was chosen is given up."""


class _Reporter(_BaseReporter):
    def __init__(self, watcher: Watcher | None) -> None:
        self._watcher = watcher

    def pinning(self, candidate: Node) -> None:
        if self._watcher is not None:
            self._watcher.choose(candidate.candidate)

    def resolving_conflicts(self, causes: Collection[RequirementInformation[Need, Node]]) -> None:
        if self._watcher is not None:
            self._watcher.stop_choosing()


def search(
    adapter: Adapter, needs: Sequence[Need], max_rounds: int, watcher: Watcher | None = None
) -> Mapping[str, Node]:
    """Find a set of nodes that satisfies all needs.

    Args:
        adapter: Answers the questions.
        needs: What was asked for.
        max_rounds: After how many steps to give up.
        watcher: Is told what is chosen.

    Raises:
        ResolutionImpossible: There is none.
        ResolutionTooDeep: It was not found in time.
    """
    reporter: BaseReporter[Need, Node, str] = _Reporter(watcher)
    if Resolution is None or not all(hasattr(Resolution, name) for name in _HOOKS):
        resolver: Resolver[Need, Node, str] = Resolver(adapter, reporter)
        return resolver.resolve(needs, max_rounds=max_rounds).mapping
    state = Search(adapter, reporter).resolve(needs, max_rounds=max_rounds)
    return _build_result(state).mapping


class Search(_Base):
    """One search."""

    def __init__(self, adapter: Adapter, reporter: BaseReporter[Need, Node, str]) -> None:
        super().__init__(adapter, reporter)
        self._adapter = adapter
        self._holding: dict[str, tuple[_Criterion, Node, bool]] = {}
        self._urgency: dict[str, tuple[_Criterion, tuple[Any, ...]]] = {}
        self._causes: _Causes = ()
        self._in_conflict: frozenset[str] = frozenset()

    def _is_current_pin_satisfying(self, name: str, criterion: _Criterion) -> bool:
        pin = self._states[-1].mapping.get(name)
        if pin is None:
            return False
        known = self._holding.get(name)
        if known is not None and known[0] is criterion and known[1] is pin:
            return known[2]
        holds = super()._is_current_pin_satisfying(name, criterion)
        self._holding[name] = (criterion, pin, holds)
        return holds

    def _get_preference(self, name: str) -> tuple[Any, ...]:
        state = self._states[-1]
        criterion = state.criteria[name]
        known = self._urgency.get(name)
        if known is not None and known[0] is criterion:
            urgency = known[1]
        else:
            needs = [one.requirement for one in criterion.information]
            urgency = self._adapter.find_urgency(name, needs)
            self._urgency[name] = (criterion, urgency)
        causes = state.backtrack_causes
        if not causes:
            return urgency
        if len(causes) != len(self._causes) or any(
            one is not other for one, other in zip(causes, self._causes, strict=True)
        ):
            self._causes = tuple(causes)
            self._in_conflict = self._adapter.find_conflicting(causes)
        if name not in self._in_conflict:
            return urgency
        return (*urgency[:2], False, *urgency[3:])
