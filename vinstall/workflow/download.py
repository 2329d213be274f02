"""``download``: files into a folder, for this platform or another."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.workflow.context import Context
from vinstall.workflow.install import expected_hashes
from vinstall.workflow.resolving import gather, resolve_requests, tell_places

if TYPE_CHECKING:
    from vinstall.events import Observer
    from vinstall.settings import Settings


@dataclass(frozen=True, slots=True)
class DownloadResult:
    """What was saved.

    Attributes:
        saved: Paths of new files, in the order of the resolution.
        kept: Paths of files that were there already.
        names: Project names as metadata writes them, sorted.
    """

    saved: tuple[str, ...]
    kept: tuple[str, ...]
    names: tuple[str, ...]


def run_download(settings: Settings, folder: str, observer: Observer) -> DownloadResult:
    """Fetch the files that an install into an empty environment would take.

    Raises:
        VinstallError: It could not be done.
    """
    from vinstall.index.download import Downloader

    settings = replace(settings, resolve=replace(settings.resolve, ignore_installed=True))
    context = Context(settings, observer)
    try:
        gathered = gather(context)
        tell_places(context)
        resolved = resolve_requests(context, gathered)
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        downloader = Downloader(context.client, context.settings.cache_dir, observer)
        saved, kept = [], []
        for change in resolved.plan.installs:
            link = change.resolved.candidate.link
            assert link is not None, "installed distributions are ignored here"
            into = place / link.filename
            if into.exists():
                kept.append(str(into))
                continue
            expected = expected_hashes(resolved, change)
            downloaded = downloader.fetch(link, expected or None, context.work_folder)
            shutil.copyfile(downloaded.path, into)
            saved.append(str(into))
        names = sorted(
            {change.resolved.metadata.name for change in resolved.plan.installs}, key=str.lower
        )
        return DownloadResult(tuple(saved), tuple(kept), tuple(names))
    finally:
        context.close()
