"""The files of a project by release, most of them unread.

A page can list thousands of files, of which a resolver looks at a few. A table knows the
versions, in order, and makes the links of a release when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vinstall.distributions.link import Link


class LinkGroup(NamedTuple):
    """The files of one release.

    Attributes:
        version_text: As its first file writes it; empty for files that belong to no release.
        end: Where its part of the table ends.
        is_prerelease: Whether the version is a pre-release or a development release.
        is_yanked: Whether every file of it is yanked (PEP 592).
    """

    version_text: str
    end: int
    is_prerelease: bool
    is_yanked: bool


class LinkTable(Sequence["Link"]):
    """Links of one page; as a sequence, release by release, the newest first.

    Args:
        project: Whose files they are; empty where the page is not that of one project.
        groups: The releases, newest first; those without a version last.
        read: Makes the links between two positions.
    """

    __slots__ = ("_links", "_read", "groups", "project")

    def __init__(
        self,
        project: str,
        groups: Sequence[LinkGroup],
        read: Callable[[int, int], tuple[Link, ...]],
    ) -> None:
        self.project = project
        self.groups = tuple(groups)
        self._read = read
        self._links: dict[int, tuple[Link, ...]] = {}

    def files(self, number: int) -> tuple[Link, ...]:
        """The links of the release with that number."""
        found = self._links.get(number)
        if found is None:
            start = self.groups[number - 1].end if number else 0
            found = self._links[number] = self._read(start, self.groups[number].end)
        return found

    def __iter__(self) -> Iterator[Link]:
        return chain.from_iterable(map(self.files, range(len(self.groups))))

    def __len__(self) -> int:
        return sum(len(self.files(number)) for number in range(len(self.groups)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinkTable):
            return NotImplemented
        return tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.groups)

    @overload
    def __getitem__(self, index: int) -> Link: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]
