"""What a resolution is: distributions that fit together, as values."""

from __future__ import annotations

from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.requirement import Requirement
    from vinstall.resolution.candidate import Candidate
    from vinstall.resolution.selection import Selection


@dataclass(frozen=True, slots=True)
class Resolved:
    """One distribution of a resolution.

    Attributes:
        candidate: The version and its file.
        metadata: Its core metadata.
        extras: Every extra that was asked of it.
        requirements: What the user asked for by this name; empty for a dependency.
        parents: Projects that need it, sorted.
        needs: Projects that it needs, sorted.
        text: The requirement as the user or its first parent wrote it.
    """

    candidate: Candidate
    metadata: CoreMetadata
    extras: frozenset[str]
    requirements: tuple[Requirement, ...]
    parents: tuple[str, ...]
    needs: tuple[str, ...]
    text: str

    @property
    def project(self) -> str:
        """The normalized name."""
        return self.candidate.project


@dataclass(frozen=True, slots=True)
class Resolution:
    """A set of distributions that fits together.

    Attributes:
        distributions: Dependencies before what needs them; else in the order asked for.
        selections: Project → what the chosen release offered; missing for installed ones.
    """

    distributions: tuple[Resolved, ...]
    selections: Mapping[str, Selection]
