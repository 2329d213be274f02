"""Whether a set of installed distributions has all that its members need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.distributions.requirement import parse_requirement
from vinstall.errors import RequirementError
from vinstall.values import dataclass
from vinstall.variants.markers import VariantMarkers, fold_variant_markers, has_variant_markers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vinstall.distributions.core_metadata import CoreMetadata


@dataclass(frozen=True, slots=True)
class Member:
    """One distribution of the set.

    Attributes:
        name: As its metadata writes it.
        version: As its metadata writes it.
        metadata: Its core metadata.
        markers: What its variant markers see.
    """

    name: str
    version: str
    metadata: CoreMetadata
    markers: VariantMarkers = VariantMarkers.NON_VARIANT


@dataclass(frozen=True, slots=True)
class Conflict:
    """A need that the set does not meet.

    Attributes:
        name, version: Who needs it.
        need: The requirement, without marker.
        found: The version that is there; empty where nothing is.
    """

    name: str
    version: str
    need: str
    found: str = ""
    found_name: str = ""

    @property
    def after_install(self) -> str:
        """The sentence that follows an install, in which pip writes it."""
        if not self.found:
            return f"{self.name} {self.version} requires {self.need}, which is not installed."
        return (
            f"{self.name} {self.version} requires {self.need}, but you have {self.found_name} "
            f"{self.found} which is incompatible."
        )

    def __str__(self) -> str:
        if not self.found:
            return f"{self.name} {self.version} requires {self.found_name}, which is not installed."
        return (
            f"{self.name} {self.version} has requirement {self.need}, "
            f"but you have {self.found_name} {self.found}."
        )


def add_stand_in(members: dict[str, Member], project: str, member: Member) -> None:
    """Let a sister that a bridge took count as the plain project, too.

    Args:
        members: Normalized project → distribution.
        project: The plain project; nothing happens where it is there itself, or is empty.
        member: The sister.
    """
    from vinstall.distributions.core_metadata import CoreMetadata

    if project and project not in members:
        stub = CoreMetadata(member.name, member.version)
        members[project] = Member(member.name, member.version, stub)


def find_conflicts(
    members: Mapping[str, Member],
    environment: Mapping[str, str],
    needy: Iterable[str] | None = None,
) -> tuple[Conflict, ...]:
    """Every need that is not met, sorted by who needs it, then in the order of its metadata.

    Args:
        members: Normalized project → distribution.
        environment: The marker environment of the target.
        needy: Those whose needs are looked at; all by default.
    """
    conflicts = []
    for project in sorted(members if needy is None else needy):
        member = members[project]
        for line in member.metadata.requires_dist:
            try:
                folded: str | None = line
                if has_variant_markers(line):
                    folded = fold_variant_markers(line, member.markers)
                if folded is None:
                    continue
                requirement = parse_requirement(folded, member.name)
                if not requirement.applies(environment):
                    continue
            except RequirementError:
                continue
            other = members.get(normalize_name(requirement.name))
            text = f"{requirement.name}{requirement.specifier}"
            if other is None:
                conflicts.append(Conflict(member.name, member.version, text, "", requirement.name))
            elif not requirement.url and not requirement.allows(other.version):
                conflicts.append(
                    Conflict(member.name, member.version, text, other.version, other.name)
                )
    return tuple(conflicts)
