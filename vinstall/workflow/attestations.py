"""``--require-attestations``: where the provenance of a file is, and whether it proves enough.

A provenance object is looked for beside a local file (``FILE.provenance``), where the page of
the file's index says, and, for files that come from elsewhere (a lock file, a mirror of files,
a direct URL), on the indexes: it speaks of a digest, so that it does not matter where the file
came from. Whatever is not proven is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import AttestationError, IndexAccessError

if TYPE_CHECKING:
    from pathlib import Path

    from vinstall.distributions.link import Link
    from vinstall.distributions.publisher import Publisher
    from vinstall.workflow.context import Context


def demand_attestation(context: Context, project: str, link: Link, sha256: str) -> None:
    """See that a file is attested, if its project has to be.

    Args:
        context: What the run works with.
        project: Normalized name.
        link: The file.
        sha256: Its digest as it arrived, in hexadecimal; empty for what is not a file.

    Raises:
        AttestationError: It is not.
    """
    names = [project]
    if link.bridge is not None:  # what a bridge shows is a file of another name, or project
        names += [link.bridge.project, link.bridge.real_project]
        link = link.bridge.real
    for name in dict.fromkeys(names):
        publisher = context.settings.publishers.get(name)
        if publisher is not None:
            _demand(context, name, link, sha256, publisher)


def _demand(context: Context, project: str, link: Link, sha256: str, publisher: Publisher) -> None:
    from vinstall.index.attestations import check_provenance, load_library

    load_library()
    if not sha256:
        raise _refuse(link, f"{publisher} has to attest it, and only a file can be attested")
    refresh = context.settings.refresh_trust
    beside = _read_beside(link)
    if beside is not None:
        check_provenance(beside, link.filename, sha256, publisher, refresh_trust=refresh)
        return
    url = link.provenance or _find_on_indexes(context, project, link)
    if not url:
        raise _refuse(link, f"{publisher} has to attest it, and no index tells of an attestation")
    from vinstall.index.response_cache import ResponseCache

    cache = ResponseCache(context.settings.cache_dir, context.observer)
    key = f"provenance {url} of {link.filename} sha256={sha256}"
    kept = cache.find_file(key)
    if kept is not None:
        try:
            check_provenance(kept, link.filename, sha256, publisher, refresh_trust=refresh)
        except AttestationError:
            pass  # there may be another one by now
        else:
            return
    body = _fetch(context, link, url)
    check_provenance(body, link.filename, sha256, publisher, refresh_trust=refresh)
    cache.keep_file(key, body)


def _fetch(context: Context, link: Link, url: str) -> bytes:
    from vinstall.index.attestations import PROVENANCE_LIMIT, PROVENANCE_TYPES

    try:
        return context.client.get(url, accept=PROVENANCE_TYPES, limit=PROVENANCE_LIMIT).body
    except IndexAccessError as error:
        raise AttestationError(
            f"{link.filename} can not be verified", f"its provenance is not there: {error}"
        ) from error


def _read_beside(link: Link) -> bytes | None:
    """``FILE.provenance`` beside a local file."""
    if not link.is_file:
        return None
    from vinstall.index.address import path_of
    from vinstall.index.attestations import PROVENANCE_LIMIT

    try:
        path: Path = path_of(link.url)
        with path.with_name(f"{path.name}.provenance").open("rb") as file:
            return file.read(PROVENANCE_LIMIT)
    except (OSError, ValueError):
        return None


def _find_on_indexes(context: Context, project: str, link: Link) -> str:
    """Where an index says that the provenance of such a file is."""
    try:
        found = context.source.find_links(project)
    except IndexAccessError:
        return ""
    return next(
        (one.provenance for one in found if one.filename == link.filename and one.provenance), ""
    )


def _refuse(link: Link, why: str) -> AttestationError:
    return AttestationError(
        f"{link.filename or link.url} can not be accepted",
        why,
        "Take it from an index that hosts attestations, or require none of it.",
    )
