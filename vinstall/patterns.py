"""Regular expressions that are compiled when they are first used.

A command imports eighty of them and uses a dozen; each costs about as much as importing a
small module.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any, AnyStr

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class _LazyPattern:
    """Turns into the pattern at the first use of one of its methods."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import re

        compiled = re.compile(*self._source)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """As ``re.compile``; a wrong pattern is told when it is first used."""
    lazy: Any = _LazyPattern(pattern, flags)
    found: Pattern[AnyStr] = lazy
    return found
