"""What was decided → wheels in the store, fetched, verified and unpacked several at once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from vinstall.distributions.requirement import merge_hashes
from vinstall.errors import StoreAlteredError, VariantMetadataError, WheelContradictionError
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
from vinstall.workflow.ahead import make_crew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vinstall.distributions.link import Link
    from vinstall.distributions.requirement import Requirement
    from vinstall.plan import Change
    from vinstall.wheel.bytecode import Bytecode
    from vinstall.wheel.store import StoredWheel
    from vinstall.workflow.ahead import Crew
    from vinstall.workflow.context import Context
    from vinstall.workflow.resolving import Resolved


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
    altered: set[str] = set()
    while True:
        try:
            return resolved, _fetch_and_compile(context, resolved)
        except StoreAlteredError as error:
            if error.sha256 in altered:
                raise
            altered.add(error.sha256)
            with suppress(OSError):  # the cache of somebody else: then it is told
                context.store.remove(error.sha256)
            continue
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
    ahead = context.ahead
    try:
        if ahead is not None:
            ahead.tell()
        for change in changes:
            is_ahead = ahead is not None and ahead.has(link_of(change))
            one = None if is_ahead else _find_stored(context, resolved, change)
            if one is None:
                missing.append(change)
            else:
                found[change.resolved.project] = one
                tell(one.wheel)
        if missing:
            found.update(_fetch_missing(context, resolved, missing, tell))
    except BaseException:
        if ahead is not None:
            ahead.stop()
        raise
    finally:
        if ahead is not None:
            ahead.close()
            context.ahead = None
        context.observer.receive(StageFinished("download"))
    return found


def _fetch_missing(
    context: Context,
    resolved: Resolved,
    changes: Sequence[Change],
    tell: Callable[[StoredWheel], None],
) -> dict[str, Fetched]:
    """Fetch what is not in the store: sources are built, and wheels come meanwhile."""
    found: dict[str, Fetched] = {}
    folder = context.work_folder
    ahead = context.ahead
    begun = [change for change in changes if ahead is not None and ahead.has(link_of(change))]
    rest = [change for change in changes if change not in begun]
    sources = [change for change in rest if not link_of(change).is_wheel]
    wheels = [change for change in rest if link_of(change).is_wheel]
    _check_space(context, rest)
    _build_sources(context, sources, found, tell)
    others = ahead.crew.unpackers if ahead is not None and ahead.crew is not None else None
    crew = make_crew(context, [link_of(change) for change in wheels], unpackers=others)

    def fetch(change: Change) -> Fetched:
        one = _fetch(context, resolved, change, crew, folder)
        tell(one.wheel)
        return one

    try:
        futures = {}
        for change in wheels:
            if crew.pool is None:
                found[change.resolved.project] = fetch(change)
            else:
                futures[change.resolved.project] = crew.pool.submit(fetch, change)
        for change in begun:
            assert ahead is not None, "it has begun them"
            stored, digest = ahead.take(link_of(change))
            one = _finish(context, change, stored, digest)
            found[change.resolved.project] = one
            tell(one.wheel)
        for project, future in futures.items():
            found[project] = future.result()
    except BaseException:
        crew.stop()
        raise
    finally:
        crew.close()
    return found


def _build_sources(
    context: Context,
    changes: Sequence[Change],
    found: dict[str, Fetched],
    tell: Callable[[StoredWheel], None],
) -> None:
    from vinstall.workflow.attestations import demand_attestation

    for change in changes:
        link = link_of(change)
        demand_attestation(context, change.resolved.project, link, context.sources.digest(link))
        wheel = context.build_wheel(link)
        digest = _digest(wheel)
        built = Fetched(context.store.add(wheel, wheel.name, digest), digest)
        found[change.resolved.project] = built
        tell(built.wheel)
        context.observer.receive(StageAdvanced("download", 1, wheel.name))
    tell_built(context, changes)


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
    context: Context, resolved: Resolved, change: Change, crew: Crew, folder: Path
) -> Fetched:
    from vinstall.workflow.attestations import demand_attestation

    link = link_of(change)
    expected = expected_hashes(resolved, change)

    def demand(digest: str) -> None:
        demand_attestation(context, change.resolved.project, link, digest)

    stored, digest = crew.fetch(link, expected or None, folder, demand)
    return _finish(context, change, stored, digest)


def _finish(context: Context, change: Change, stored: StoredWheel, digest: str) -> Fetched:
    context.observer.receive(StageAdvanced("download", 1, link_of(change).filename))
    _check_own_metadata(change, stored)
    return Fetched(stored, digest)


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
        crew = make_crew(context, [])
        found = _fetch(context, resolved, change, crew, context.work_folder)
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
