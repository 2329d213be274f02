"""A lock file as a source: the resolver sees only what is locked.

Wraps another source, which reads core metadata and (where the lock has none) variant
metadata of the locked files. Fits ``resolution.source.PackageSource`` by shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import ProjectNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.index.source import IndexSource
    from vinstall.lockfile import LockedPackage
    from vinstall.variants.metadata import VariantMetadata


class LockSource:
    """Answers from the entries of a lock file that apply.

    Args:
        packages: The entries.
        source: Reads the files themselves.
        origin: The lock file, for messages.
    """

    def __init__(self, packages: Iterable[LockedPackage], source: IndexSource, origin: str) -> None:
        self._packages = {package.name: package for package in packages}
        self._source = source
        self._origin = origin

    def find_links(self, project: str) -> Sequence[Link]:
        """The locked files of a project."""
        package = self._packages.get(project)
        if package is None:
            raise ProjectNotFoundError(
                f"{project} is not in {self._origin}", f"{self._origin} does not list it"
            )
        return package.links

    def read_core_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of a locked file."""
        return self._source.read_core_metadata(link)

    def read_variant_metadata(
        self, files: Sequence[Link], wheels: Sequence[Link]
    ) -> VariantMetadata:
        """The variant metadata inside the lock file; else what the wheels say."""
        for wheel in wheels:
            for package in self._packages.values():
                if wheel in package.links and package.variants is not None:
                    return package.variants
        return self._source.read_variant_metadata(files, wheels)

    def prefetch_links(self, projects: Iterable[str]) -> None:
        """Nothing is fetched: every link is in the file."""
        del projects

    def prefetch_metadata(self, links: Iterable[Link]) -> None:
        """Begin to read core metadata that will soon be asked for."""
        self._source.prefetch_metadata(links)
