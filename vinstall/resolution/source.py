"""The questions that resolving asks of the world outside. Protocols, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.resolution.candidate import Candidate
    from vinstall.variants.metadata import VariantMetadata
    from vinstall.variants.supported import SupportedProperties


class PackageSource(Protocol):
    """Indexes, folders and files, as one."""

    def find_links(self, project: str) -> Sequence[Link]:
        """All files of a project, every index and folder merged, in the order of the indexes.

        ``*-variants.json`` files are among them. The answer is kept for the run.

        Args:
            project: The normalized name.

        Raises:
            ProjectNotFoundError: Nobody knows the project.
            IndexAccessError: An index that has to be asked can not be.
        """

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of one distribution, by the cheapest way there is.

        Raises:
            IndexAccessError: It can not be read.
            WheelFormatError: It is not valid, or its name or version contradicts the file name.
            BuildError: It is a source distribution that does not build.
        """

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        """The variant metadata of one release on one index.

        Args:
            files: The ``*-variants.json`` links of the release on that index; usually one
                or none.
            wheels: Wheels of the release on that index, one for each label, to be read
                where the file is missing or bad.

        Returns:
            The metadata. Where only some labels could be had, ``refused`` names the others.

        Raises:
            VariantMetadataError: Nothing usable can be had; ``why`` tells every way tried.
        """

    def prefetch_links(self, projects: Iterable[str]) -> None:
        """Begin to fetch the pages of projects that will soon be asked for; never raises."""

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        """Begin to fetch core metadata that will soon be asked for; never raises."""


class SupportedLookup(Protocol):
    """Whoever knows what the target machine supports."""

    def find_supported(self, metadata: VariantMetadata) -> SupportedProperties:
        """What the target machine supports of the namespaces that a release uses.

        A namespace that nobody answers for has a sentence in ``reasons``. Never raises for
        a provider that fails: that is a reason too.
        """


class Agreements(Protocol):
    """Whoever knows what has to be the same in one environment, such as the major of CUDA."""

    def agreements(self, candidate: Candidate) -> Mapping[str, str]:
        """Name → value; only one value of each name may be among what is chosen."""

    def followers(self, candidate: Candidate) -> tuple[str, ...]:
        """Installed projects that have to be chosen anew together with a candidate."""
