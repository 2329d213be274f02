"""``download`` and ``wheel``: files into a folder, for this platform or another."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import UsageError, VinstallError
from vinstall.events import FileKept, FileSaved
from vinstall.values import dataclass, replace
from vinstall.workflow.attestations import demand_attestation
from vinstall.workflow.context import Context
from vinstall.workflow.fetch import expected_hashes, tell_built
from vinstall.workflow.install import check_foreign, tell_collecting
from vinstall.workflow.places import tell_places
from vinstall.workflow.resolving import gather, resolve_requests
from vinstall.workflow.sources import is_folder, is_versioned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.events import Observer
    from vinstall.index.download import Downloader
    from vinstall.plan import Change
    from vinstall.settings import Settings
    from vinstall.workflow.resolving import Resolved


@dataclass(frozen=True, slots=True)
class DownloadResult:
    """What was saved.

    Attributes:
        saved: Paths of new files, in the order of the resolution.
        kept: Paths of files that were there already.
        names: Project names as metadata writes them, those asked for first.
    """

    saved: tuple[str, ...]
    kept: tuple[str, ...]
    names: tuple[str, ...]


def run_download(
    settings: Settings, folder: str, observer: Observer, *, build: bool = False
) -> DownloadResult:
    """Fetch the files that an install into an empty environment would take.

    Args:
        settings: What was asked for.
        folder: Where the files go; made where missing.
        observer: Receives events.
        build: Whether sources become wheels first (``wheel``).

    Raises:
        VinstallError: It could not be done.
    """
    from vinstall.index.download import Downloader

    settings = replace(settings, resolve=replace(settings.resolve, ignore_installed=True))
    context = Context(settings, observer)
    try:
        if not build:
            check_foreign(context, needs_target=False)
        context.sources.in_place = not build
        gathered = gather(context)
        place = _make_folder(folder)
        tell_places(context.settings.index, context.observer)
        resolved = resolve_requests(context, gathered)
        tell_collecting(context, resolved)
        downloader = Downloader(context.client, context.settings.cache_dir, observer)
        saved: list[str] = []
        kept: list[str] = []
        for change in resolved.plan.installs:
            _save(context, resolved, change, place, downloader, saved, kept, build=build)
        ordered = sorted(resolved.plan.installs, key=lambda one: not one.resolved.requirements)
        names = tuple(change.resolved.metadata.name for change in ordered)
        return DownloadResult(tuple(saved), tuple(kept), names)
    finally:
        context.close()


def _make_folder(folder: str) -> Path:
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The folder {folder} can not be made", error.strerror or str(error)
        ) from error
    return place.resolve()


def _save(
    context: Context,
    resolved: Resolved,
    change: Change,
    place: Path,
    downloader: Downloader,
    saved: list[str],
    kept: list[str],
    *,
    build: bool,
) -> None:
    """Put the file of one change into the folder."""
    link = change.resolved.candidate.link
    assert link is not None, "installed distributions are ignored here"
    if not link.is_wheel and not build and is_folder(link.url):
        return  # as pip: what lies there already is no download
    built = not link.is_wheel and (build or is_versioned(link.url))
    if built:
        demand_attestation(context, change.resolved.project, link, context.sources.digest(link))
        metadata = change.resolved.metadata
        source = (
            context.build_wheel(link)
            if build
            else context.sources.archive(
                link, metadata.name, str(metadata.version), context.work_folder
            )
        )
        into = place / source.name
    else:
        into = place / link.filename
        expected = expected_hashes(resolved, change)
        if into.exists() and _is_the_file(into, link.hashes, expected):
            if change.resolved.project in context.settings.publishers:
                demand_attestation(context, change.resolved.project, link, _sha256(into))
            context.observer.receive(FileKept(str(into)))
            kept.append(str(into))
            return
        fetched = downloader.fetch(link, expected or None, context.work_folder)
        demand_attestation(context, change.resolved.project, link, fetched.sha256)
        source = fetched.path
    try:
        if source.resolve() != into:
            shutil.copyfile(source, into)
    except OSError as error:
        raise VinstallError(f"{into} can not be written", error.strerror or str(error)) from error
    if built and source.suffix == ".whl":
        tell_built(context, (change,))
    else:
        context.observer.receive(FileSaved(str(into)))
    saved.append(str(into))


def _is_the_file(
    path: Path, promised: Mapping[str, str], expected: Mapping[str, frozenset[str]]
) -> bool:
    """Whether a file that is there already has the promised content, as far as it is known."""
    import hashlib

    wanted = {name: frozenset({digest}) for name, digest in promised.items()} or dict(expected)
    for name, digests in wanted.items():
        try:
            digest = hashlib.new(name, path.read_bytes()).hexdigest()
        except (OSError, ValueError):
            return False
        return digest in digests
    return True


def _sha256(path: Path) -> str:
    from vinstall.files import hash_file

    with path.open("rb") as file:
        return hash_file(file, ("sha256",))["sha256"]
