"""A version with its file already chosen."""

from __future__ import annotations

from vinstall.distributions.filename import parse_version
from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.version import Version

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.distributions.link import Bridged, Link
    from vinstall.resolution.selection import Refusal
    from vinstall.variants.properties import Properties, VariantProperty


@dataclass(frozen=True, slots=True)
class ChosenVariant:
    """Why a wheel of one label is the one.

    Attributes:
        label: The variant label; ``null`` for the null variant.
        properties: What the wheel was built for.
        supported: Those of its properties that the target supports, sorted.
        best_values: The property that counted for each feature, most important first.
        requirements: ``abi_dependency`` needs as requirement lines (``torch==2.9.*``).
        reason: One sentence.
        sources: Namespace → who said that it is supported.
        bridge: What stands behind it, where a bridge shows it; ``None`` for real variants.
    """

    label: str
    properties: Properties = field(default_factory=dict, hash=False)
    supported: tuple[VariantProperty, ...] = ()
    best_values: tuple[VariantProperty, ...] = ()
    requirements: tuple[str, ...] = ()
    reason: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    bridge: Bridged | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One version of a project, as one file or as installed.

    Attributes:
        project: The normalized name.
        name: As its file or metadata writes it.
        version_text: The version as written there.
        link: The file; ``None`` where it is installed already.
        installed: The installed distribution; ``None`` where a file is taken.
        variant: The variant of the wheel; ``None`` for a non-variant wheel.
        refusals: The files of the same version that were not taken, with reasons.
        direct: Whether it came from a path or URL that was asked for.
    """

    project: str
    name: str
    version_text: str
    link: Link | None = None
    installed: InstalledDistribution | None = None
    variant: ChosenVariant | None = None
    refusals: tuple[Refusal, ...] = field(default=(), hash=False, compare=False)
    direct: bool = False

    @property
    def version(self) -> Version:
        """The version; one that PEP 440 does not know counts as 0."""
        version = parse_version(self.version_text)
        if version is None:
            from packaging.version import Version

            return Version("0")
        return version

    @property
    def label(self) -> str:
        """The variant label; empty for a non-variant wheel."""
        if self.variant is not None:
            return self.variant.label
        return self.installed.label if self.installed is not None else ""

    @property
    def plain_project(self) -> str:
        """The name by which the user knows it: that of the plain project, for a sister."""
        if self.variant is not None and self.variant.bridge is not None:
            return self.variant.bridge.project
        if self.installed is not None and self.installed.stands_for:
            return self.installed.stands_for
        return self.project

    @property
    def build(self) -> str:
        """The label as the user sees it: a bridge has a name for the null variant, too."""
        if self.variant is not None and self.variant.bridge is not None:
            return self.variant.bridge.label
        if self.installed is not None and self.installed.build:
            return self.installed.build
        return self.label

    def __str__(self) -> str:
        return " ".join(part for part in (self.name, self.version_text, self.build) if part)
