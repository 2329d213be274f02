"""What was decided → wheels in the store, fetched, verified and unpacked several at once."""

from __future__ import annotations

from pathlib import Path

from vinstall.distributions.requirement import merge_hashes
from vinstall.errors import VariantMetadataError, WheelContradictionError
from vinstall.events import (
    FileChosen,
    Noted,
    StageAdvanced,
    StageFinished,
    StageStarted,
    Warned,
)
from vinstall.values import dataclass, replace
from vinstall.variants.properties import NULL_LABEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vinstall.distributions.link import Link
    from vinstall.distributions.requirement import Requirement
    from vinstall.index.download import Downloader
    from vinstall.plan import Change
    from vinstall.wheel.bytecode import Bytecode
    from vinstall.wheel.store import StoredWheel
    from vinstall.wheel.unpackers import Unpackers
    from vinstall.workflow.context import Context
    from vinstall.workflow.resolving import Resolved

_FETCH_THREADS = 8


@dataclass(frozen=True, slots=True)
class Fetched:
    """One wheel that is ready to be placed.

    Attributes:
        wheel: The unpacked wheel.
        sha256: Digest of the file.
        bytecode: What was compiled of it, or ``None``.
    """

    wheel: StoredWheel
    sha256: str
    bytecode: Bytecode | None = None


def fetch_agreed(
    context: Context, resolved: Resolved, decide: Callable[[], Resolved]
) -> tuple[Resolved, dict[str, Fetched]]:
    """Fetch everything; a wheel that contradicts its index is left out, and decided anew.

    Raises:
        VinstallError: Something can not be had, or a wheel that was given directly
            contradicts itself.
    """
    while True:
        try:
            return resolved, _fetch_and_compile(context, resolved)
        except WheelContradictionError as error:
            if error.filename in context.refused_files:
                raise
            context.refused_files[error.filename] = error.reason
            context.observer.receive(
                Warned("variant-metadata", f"{error.filename} is left out: {error.reason}.")
            )
        resolved = decide()


def _fetch_and_compile(context: Context, resolved: Resolved) -> dict[str, Fetched]:
    from vinstall.workflow.bytecode import make_compiler, take_bytecode

    compiler = make_compiler(context)
    if compiler is None:
        return fetch_changes(context, resolved)
    try:
        fetched = fetch_changes(context, resolved, compiler.submit)
        bytecode = take_bytecode(context, compiler)
    finally:
        compiler.close()
    return {
        project: replace(one, bytecode=bytecode.get(one.wheel.sha256))
        for project, one in fetched.items()
    }


def fetch_changes(
    context: Context,
    resolved: Resolved,
    unpacked: Callable[[StoredWheel], None] | None = None,
) -> dict[str, Fetched]:
    """Fetch, verify and unpack every file of the plan, several at once, the largest first.

    Args:
        context: The run.
        resolved: What to fetch.
        unpacked: Is told of each wheel that is in the store, by several threads.

    Returns:
        Project → wheel in the store.

    Raises:
        VinstallError: One can not be had; the environment is untouched.
    """
    tell = unpacked or _tell_nobody
    changes = sorted(resolved.plan.installs, key=_size_of, reverse=True)
    context.observer.receive(StageStarted("download", len(changes)))
    found: dict[str, Fetched] = {}
    missing = []
    try:
        for change in changes:
            one = _find_stored(context, resolved, change)
            if one is None:
                missing.append(change)
            else:
                found[change.resolved.project] = one
                tell(one.wheel)
        if missing:
            found.update(_fetch_missing(context, resolved, missing, tell))
    finally:
        context.observer.receive(StageFinished("download"))
    return found


def _fetch_missing(
    context: Context,
    resolved: Resolved,
    changes: Sequence[Change],
    tell: Callable[[StoredWheel], None],
) -> dict[str, Fetched]:
    """Fetch what is not in the store: sources are built first, then wheels come in turn."""
    from vinstall.workflow.attestations import demand_attestation

    downloader = _make_downloader(context)
    _check_space(context, changes)
    found: dict[str, Fetched] = {}
    folder = context.work_folder
    sources = [change for change in changes if not link_of(change).is_wheel]
    wheels = [change for change in changes if link_of(change).is_wheel]
    for change in sources:
        link = link_of(change)
        demand_attestation(context, change.resolved.project, link, context.sources.digest(link))
        wheel = context.build_wheel(link)
        digest = _digest(wheel)
        built = Fetched(context.store.add(wheel, wheel.name, digest), digest)
        found[change.resolved.project] = built
        tell(built.wheel)
        context.observer.receive(StageAdvanced("download", 1, wheel.name))
    tell_built(context, sources)
    unpackers = _make_unpackers(context, wheels)

    def fetch(change: Change) -> Fetched:
        one = _fetch(context, resolved, change, downloader, folder, unpackers)
        tell(one.wheel)
        return one

    try:
        if len(wheels) == 1:
            found[wheels[0].resolved.project] = fetch(wheels[0])
        elif wheels:
            from concurrent.futures import ThreadPoolExecutor

            pool = ThreadPoolExecutor(min(_FETCH_THREADS, len(wheels)), "fetch")
            try:
                futures = {change.resolved.project: pool.submit(fetch, change) for change in wheels}
                for project, future in futures.items():
                    found[project] = future.result()
            except BaseException:
                downloader.stop()
                if unpackers is not None:
                    unpackers.stop()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    finally:
        if unpackers is not None:
            unpackers.close()
    return found


def _make_unpackers(context: Context, wheels: Sequence[Change]) -> Unpackers | None:
    """Processes that unpack, where there is enough to do for them."""
    missing = [link_of(change) for change in wheels]
    from vinstall.wheel.unpackers import WORTHWHILE, Unpackers
    from vinstall.workflow.arriving import is_worthwhile

    if len(missing) < WORTHWHILE and not any(map(is_worthwhile, missing)):
        return None
    from vinstall.providers.run import clean_environment

    return Unpackers(context.store, clean_environment(context.environment), len(missing))


def _tell_nobody(wheel: StoredWheel) -> None:
    """Nobody waits for single wheels."""


def _check_space(context: Context, changes: Sequence[Change]) -> None:
    """See that there is room for what is not in the store yet, before the first byte."""
    from vinstall.environment.interpreter import install_paths
    from vinstall.workflow.space import check_space, needs_of_download

    sizes = []
    for change in changes:
        link = link_of(change)
        digest = link.hashes.get("sha256", "")
        if not link.is_file and not context.store.has(digest):
            sizes.append(link.size or 0)
    if sum(sizes):
        paths, _ = install_paths(context.base_target, context.settings.target)
        target = Path(paths["purelib"])
        check_space(needs_of_download(sizes, context.work_folder, target))


def tell_built(context: Context, changes: Sequence[Change]) -> None:
    """Say which sources became wheels, as pip does."""
    names = " ".join(change.resolved.metadata.name for change in changes)
    if names:
        context.observer.receive(Noted(f"Successfully built {names}", verbosity=0))


def _make_downloader(context: Context) -> Downloader:
    from vinstall.index.download import Downloader

    return Downloader(context.client, context.settings.cache_dir, context.observer)


def _find_stored(context: Context, resolved: Resolved, change: Change) -> Fetched | None:
    """What is unpacked already, by the digest on its index; who places it compares its files."""
    link = link_of(change)
    known = link.hashes.get("sha256", "")
    if not link.is_wheel or not known:
        return None
    expected = expected_hashes(resolved, change)
    if expected and known not in expected.get("sha256", ()):
        return None
    stored = context.store.find(known, check=False)
    if stored is None:
        return None
    if link.is_file:
        chosen = FileChosen("local", _shown_name(link))
    else:
        chosen = FileChosen("cache", link.filename, link.size)
    context.observer.receive(chosen)
    if context.settings.publishers:
        from vinstall.workflow.attestations import demand_attestation

        demand_attestation(context, change.resolved.project, link, known)
    context.observer.receive(StageAdvanced("download", 1, link.filename))
    _check_own_metadata(change, stored)
    return Fetched(stored, known)


def _fetch(
    context: Context,
    resolved: Resolved,
    change: Change,
    downloader: Downloader,
    folder: Path,
    unpackers: Unpackers | None = None,
) -> Fetched:
    from vinstall.workflow.arriving import fetch_and_unpack, is_worthwhile
    from vinstall.workflow.attestations import demand_attestation

    link = link_of(change)
    expected = expected_hashes(resolved, change)
    is_stored = False
    if unpackers is not None and is_worthwhile(link):
        downloaded, is_stored = fetch_and_unpack(
            context.client, downloader, unpackers, link, expected or None, folder
        )
    else:
        downloaded = downloader.fetch(link, expected or None, folder)
    demand_attestation(context, change.resolved.project, link, downloaded.sha256)
    stored = context.store.find(downloaded.sha256, check=False) if is_stored else None
    if stored is not None:
        stored = replace(stored, is_verified=True)
    else:
        unpack = unpackers.add if unpackers else context.store.add
        stored = unpack(downloaded.path, link.filename, downloaded.sha256)
    if not link.is_file and downloaded.path.parent == folder:
        downloaded.path.unlink(missing_ok=True)
    context.observer.receive(StageAdvanced("download", 1, link.filename))
    _check_own_metadata(change, stored)
    return Fetched(stored, downloaded.sha256)


def _check_own_metadata(change: Change, stored: StoredWheel) -> None:
    """See that a variant wheel is what its index says (PEP 825, "Metadata consistency").

    Raises:
        WheelContradictionError: It is not.
    """
    variant = change.resolved.candidate.variant
    if variant is None or variant.label == NULL_LABEL or variant.bridge is not None:
        return
    from vinstall.variants.metadata import VariantMetadata, check_wheel_metadata
    from vinstall.variants.readers import read_wheel_metadata

    filename = link_of(change).filename
    data = stored.variant_json
    if data is None:
        raise WheelContradictionError(filename, "it has a label, but no variant.json")
    try:
        own = read_wheel_metadata(data, variant.label, "its variant.json")
    except VariantMetadataError as error:
        raise WheelContradictionError(filename, str(error)) from error
    index = VariantMetadata(variants={variant.label: variant.properties}, origin="the index")
    fault = check_wheel_metadata(own, variant.label, index)
    if fault is not None:
        raise WheelContradictionError(filename, fault)


def fetch_for_digest(context: Context, resolved: Resolved, change: Change) -> str:
    """The SHA-256 of a wheel, which is fetched for it."""
    found = _find_stored(context, resolved, change)
    if found is None:
        downloader = _make_downloader(context)
        found = _fetch(context, resolved, change, downloader, context.work_folder)
    return found.sha256


def _shown_name(link: Link) -> str:
    if not link.is_file:
        return link.filename
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(link.url).path)


def expected_hashes(resolved: Resolved, change: Change) -> dict[str, frozenset[str]]:
    """The digests that the user accepts for a project; empty accepts any."""
    own: Iterable[Requirement] = change.resolved.requirements
    candidate = change.resolved.candidate
    names = dict.fromkeys((candidate.project, candidate.plain_project))
    limits = (limit for name in names for limit in resolved.constraints.get(name, ()))
    return merge_hashes((*own, *limits))


def link_of(change: Change) -> Link:
    link = change.resolved.candidate.link
    assert link is not None, "what is installed stays in place"
    return link


def _size_of(change: Change) -> int:
    return link_of(change).size or 0


def _digest(path: Path) -> str:
    import hashlib

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
