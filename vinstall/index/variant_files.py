"""The variant metadata of one release, from the index's file or from its wheels.

Implements PEP 825, "Index-level metadata" and "Metadata consistency". Bad metadata never
stops what has another way: what the index gets wrong is read out of the wheels, and one
warning names the file, the place, the reason, and what was used instead.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vinstall.distributions.filename import parse_wheel_filename
from vinstall.errors import VariantMetadataError, VinstallError
from vinstall.events import Noted
from vinstall.index.address import redact_url
from vinstall.index.answers import Answers
from vinstall.values import replace
from vinstall.variants.metadata import VariantMetadata, combine_metadata
from vinstall.variants.readers import MAX_BYTES, read_variant_metadata, read_wheel_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vinstall.distributions.link import Link
    from vinstall.events import Observer
    from vinstall.index.answers import WorkPool
    from vinstall.index.metadata_files import MetadataFiles

_NUMBER_NAMED = 5


class VariantFiles:
    """Reads variant metadata.

    Args:
        files: Reads single files.
        pool: Where several wheels are read at once.
        observer: Receives notes.
        warn: Takes code and text of a warning, and says each text once.
    """

    def __init__(
        self,
        files: MetadataFiles,
        pool: WorkPool,
        observer: Observer,
        warn: Callable[[str, str], None],
    ) -> None:
        self._files = files
        self._observer = observer
        self._warn = warn
        self._wheels: Answers[VariantMetadata] = Answers(pool)

    def read(self, files: Sequence[Link], wheels: Sequence[Link]) -> VariantMetadata:
        """The metadata of a release (see ``PackageSource.read_variant_metadata``).

        Raises:
            VariantMetadataError: Nothing usable can be had.
        """
        found: list[VariantMetadata] = []
        faults: list[str] = []
        for link in files:
            try:
                part = read_variant_metadata(
                    self._files.read_small(link, MAX_BYTES), redact_url(link.url)
                )
                found = [combine_metadata([*found, part])]
            except VinstallError as error:
                faults.append(f"{redact_url(link.url)}: {_reason(error)}")
        if not found:
            return self._read_from_wheels(wheels, faults)
        if faults:
            self._warn("variant-metadata", f"{'; '.join(faults)}. {found[0].origin} is used.")
        return self._complete(found[0], wheels)

    def _complete(self, found: VariantMetadata, wheels: Sequence[Link]) -> VariantMetadata:
        """Metadata of the index; labels that it gets wrong are read out of their wheels."""
        links = {parse_wheel_filename(link.filename).label: link for link in wheels}
        bad = sorted(label for label in links if label in found.refused)
        if not bad:
            for problem in found.problems[:1]:
                self._warn("variant-metadata", f"{found.origin}: {problem}")
            return found
        # Where the file says nothing good of any wheel, nothing of it is kept: its lists may
        # be what is wrong.
        is_good = any(label in found.variants for label in links)
        combined = replace(found, refused={}, problems=()) if is_good else None
        refused = {label: why for label, why in found.refused.items() if label not in bad}
        read, failed = self._read_labels({label: links[label] for label in bad}, combined)
        for label, why in failed.items():
            refused[label] = f"{found.refused[label]} ({why})"
        saved = [label for label in bad if label not in failed]
        text = f"{found.origin} is wrong: {_join(found.refused[label] for label in bad)}."
        if saved:
            text += f" The wheels' own metadata is used for {', '.join(saved)}."
        if failed:
            text += f" The builds {', '.join(sorted(failed))} are left out."
        self._warn("variant-metadata", text)
        if read is None:
            read = replace(found, problems=())
        return replace(read, refused=refused, origin=found.origin)

    def _read_from_wheels(self, wheels: Sequence[Link], faults: list[str]) -> VariantMetadata:
        """Combine what one wheel for each label says (no index file, or a bad one)."""
        links = {parse_wheel_filename(link.filename).label: link for link in wheels}
        release = "-".join(wheels[0].filename.split("-")[:2]) if wheels else "the release"
        combined, failed = self._read_labels(links, None)
        refused = {
            label: f"its own variant.json can not be used: {why}" for label, why in failed.items()
        }
        reasons = [f"{label}: {why}" for label, why in sorted(refused.items())]
        if combined is None:
            nothing = VariantMetadataError(
                f"The variants of {release} can not be used",
                _join([*faults, *reasons]) or "nothing describes them",
            )
            self._warn(
                "variant-metadata", f"{nothing}. Its null and non-variant wheels are still used."
            )
            raise nothing
        left = f" Some builds are left out: {_join(reasons)}." if reasons else ""
        if faults:
            self._warn(
                "variant-metadata",
                f"{'; '.join(faults)}. The metadata in the wheels of {release} is used "
                f"instead.{left}",
            )
        elif left:
            self._warn("variant-metadata", f"{release}:{left}")
        else:
            self._observer.receive(
                Noted(f"The variants of {release} were read out of its wheels", verbosity=1)
            )
        return replace(combined, refused={**combined.refused, **refused})

    def _read_labels(
        self, links: Mapping[str, Link], combined: VariantMetadata | None
    ) -> tuple[VariantMetadata | None, dict[str, str]]:
        """Read wheels, several at once, and combine what they say.

        Args:
            links: Label → wheel.
            combined: What to begin with.

        Returns:
            The whole (``None`` for nothing), and label → why it could not be had.
        """
        failed: dict[str, str] = {}
        works = {label: partial(self._read_wheel, link, label) for label, link in links.items()}
        if len(links) > 1:
            for label, link in links.items():
                if not link.is_file:
                    self._wheels.begin(link.url, works[label])
        for label, link in sorted(links.items()):
            try:
                part = self._wheels.get(link.url, works[label])
                combined = combine_metadata([part] if combined is None else [combined, part])
            except VinstallError as error:
                failed[label] = _reason(error)
        return combined, failed

    def _read_wheel(self, link: Link, label: str) -> VariantMetadata:
        data = self._files.read_dist_info(link, "variant.json")
        return read_wheel_metadata(data, label, f"variant.json in {link.filename}")


def _reason(error: VinstallError) -> str:
    return " ".join((error.why or error.what).split())


def _join(reasons: Iterable[str]) -> str:
    """Several reasons as one text; a long list is cut."""
    texts = list(reasons)
    more = len(texts) - _NUMBER_NAMED
    if more > 1:
        texts = [*texts[:_NUMBER_NAMED], f"and {more} more"]
    return "; ".join(texts)
