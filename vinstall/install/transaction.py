"""Changes an environment: all of it, or nothing.

Everything is decided before the first change (which files go where, which old ones leave,
whether two distributions want one file) and written into a journal. Then old files are
moved aside, new ones are placed, RECORD is written, and the change is committed. Whatever
stops it before that, a full disk, a signal or the end of the process, leaves an environment
that is, or with the next command becomes, what it was before.

Implements the recording installed projects specification (``INSTALLER``, ``REQUESTED``,
``RECORD``) and PEP 610 (``direct_url.json``).
"""

# os.path and not pathlib: a change can touch tens of thousands of files
# ruff: noqa: PTH102, PTH104, PTH106, PTH111, PTH112, PTH114, PTH118, PTH119
# ruff: noqa: PTH120

from __future__ import annotations

import contextlib
import json
import os

from vinstall.distributions.record import format_record, merge_record
from vinstall.errors import (
    CancelledError,
    InstallError,
    StoreAlteredError,
    VinstallError,
    words_of,
)
from vinstall.events import ExistingFound, Noted, StageAdvanced, Uninstalled, Warned
from vinstall.files import current_umask, sync_files
from vinstall.install.interrupts import one_interrupt
from vinstall.install.journal import Intent, Journal, NewTree, journal_folder, remove_trash
from vinstall.install.placement import (
    SCHEMES,
    Layout,
    PlacedFile,
    Placer,
    find_places,
    make_file,
    plan_layout,
    record_prefix,
    write_new,
)
from vinstall.install.removal import (
    OwnedFiles,
    bytecode_files,
    environment_root,
    owned_files,
    recorded_paths,
)
from vinstall.install.trees import find_disturbed, find_trees, place_trees
from vinstall.values import NamedTuple, dataclass
from vinstall.wheel.store import file_matches, is_data, record_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import NoReturn

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.events import Observer
    from vinstall.install.trees import Tree
    from vinstall.wheel.bytecode import Bytecode
    from vinstall.wheel.store import StoredWheel

LOCK_NAME = ".vinstall-lock"


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One distribution to install.

    Attributes:
        wheel: The unpacked wheel.
        replaces: The installed distribution that it takes the place of, or ``None``.
        requested: Whether the user asked for it by name.
        direct_url: Content of ``direct_url.json``, or ``None``.
        reason: Content of ``vinstall.json``: why this build; or ``None``.
        name: The project, as its metadata writes it.
        version: The version, as its metadata writes it.
        bytecode: What was compiled of its modules, to be placed with them; or ``None``.
    """

    wheel: StoredWheel
    replaces: InstalledDistribution | None
    requested: bool
    direct_url: Mapping[str, object] | None
    reason: Mapping[str, object] | None
    name: str
    version: str
    bytecode: Bytecode | None = None


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install.

    Attributes:
        installer: Content of ``INSTALLER``.
        allow_overlap: Whether a file of one distribution may replace one of another.
        warn_script_location: Whether to warn of scripts outside of ``PATH``.
        link: Whether files may be hard-linked from the store.
        durable: Whether all that is placed is on the disk before the change counts; else
            only the journal is, and a loss of power soon after can leave files empty.
        checkpoint: Called with the name of each step before it happens; what it raises
            stops the change there.
    """

    installer: str = "vinstall"
    allow_overlap: bool = False
    warn_script_location: bool = True
    link: bool = True
    durable: bool = False
    checkpoint: Callable[[str], None] | None = None


class _Work(NamedTuple):
    """One step, planned."""

    step: InstallStep
    tree: Tree | None  # what is placed as it is, and is not in what follows
    layout: Layout
    rows: list[PlacedFile]  # all files of the distribution, for RECORD
    place: list[PlacedFile]  # the files to create
    compiled: list[PlacedFile]  # the bytecode to create


class _Plan(NamedTuple):
    work: list[_Work]
    removed: list[InstalledDistribution]
    intent: Intent
    edits: Mapping[str, bytes]


def apply_steps(
    steps: Sequence[InstallStep],
    removals: Sequence[InstalledDistribution],
    *,
    paths: Mapping[str, str],
    executable: str,
    others: Sequence[InstalledDistribution],
    options: InstallOptions,
    observer: Observer,
) -> None:
    """Install, replace and remove distributions, all or none.

    The caller holds ``environment_lock`` and has called ``recover``.

    Args:
        steps: What to install, in the order in which it is told.
        removals: What to remove without replacement.
        paths: Scheme paths of the environment (or of a ``--target`` folder).
        executable: The interpreter that scripts shall run with.
        others: What is installed, to know files that are shared; distributions that are
            replaced or removed may be among them.
        options: How to install.
        observer: Receives progress and warnings.

    Raises:
        WheelFormatError: A wheel asks for something that can not be made.
        InstallError: It could not be done; ``rolled_back`` says whether the environment
            is as it was.
        CancelledError: It was interrupted; the environment is as it was.
    """
    if not steps and not removals:
        return
    try:
        plan = _make_plan(steps, removals, paths, executable, others, options, observer)
    except BaseException as error:
        _raise(error)
    with one_interrupt():
        _change(plan, paths["purelib"], options, observer)
    for distribution in plan.removed:
        if distribution not in removals:
            observer.receive(Uninstalled(distribution.name, distribution.version_text))
    if options.warn_script_location:
        _warn_of_scripts(plan.work, paths, executable, observer)


def _change(plan: _Plan, purelib: str, options: InstallOptions, observer: Observer) -> None:
    """From the journal to the commit, or back."""
    checkpoint = options.checkpoint or _no_checkpoint
    try:
        checkpoint("journal")
        journal = Journal.begin(purelib, plan.intent)
    except BaseException as error:
        _raise(error)
    try:
        _carry_out(plan, journal, options, observer, checkpoint)
        if options.durable:
            checkpoint("sync")
            sync_files([*plan.intent.targets, *plan.intent.list_trees()])
        checkpoint("commit")
        journal.commit()
    except BaseException as error:
        if not journal.is_committed:
            _undo(journal, error)
        _finish(journal)
        raise
    try:
        _finish(journal)
    except KeyboardInterrupt:
        _finish(journal)  # no other one comes
        raise


def recover(paths: Mapping[str, str], observer: Observer) -> bool:
    """Put an environment in order that an interrupted command left behind.

    Args:
        paths: Scheme paths of the environment.
        observer: Receives a warning that says what was done.

    Returns:
        Whether there was something to do. What is installed must be read again then.

    Raises:
        InstallError: It could not be put in order.
    """
    found = False
    for folder in {os.path.realpath(paths[scheme]) for scheme in ("purelib", "platlib")}:
        remove_trash(folder)
        try:
            journal = Journal.find(folder)
            if journal is None:
                continue
            found = True
            names = ", ".join(journal.intent.names)
            if journal.is_committed:
                journal.finish()
                observer.receive(
                    Noted(f"Removed what an earlier installation of {names} left behind.")
                )
            else:
                journal.roll_back()
                if names:
                    observer.receive(
                        Warned(
                            "interrupted-install",
                            f"An earlier command was interrupted while it changed {names}. "
                            f"Its changes to {folder} were undone.",
                        )
                    )
        except (OSError, ValueError) as error:
            raise InstallError(
                f"{folder} was left half changed by an interrupted command, and can not be "
                "put in order",
                words_of(error),
                f"The files that were moved aside are in {journal_folder(folder)}.",
                rolled_back=False,
            ) from error
    return found


@contextlib.contextmanager
def environment_lock(purelib: Path, observer: Observer, *, wait: bool = True) -> Iterator[None]:
    """Let only one process change an environment at a time.

    Args:
        purelib: Its folder for libraries; made where it is missing.
        observer: Is told when there is somebody to wait for.
        wait: Whether to wait until it is free.

    Raises:
        InstallError: The folder can not be written, or it is not free and ``wait`` is off.
    """
    from vinstall.files import find_lock_holder, lock_between_processes

    path = purelib / LOCK_NAME
    with contextlib.ExitStack() as stack:
        try:
            try:
                stack.enter_context(lock_between_processes(path, timeout=0))
            except InstallError:
                if not wait:
                    raise
                who = find_lock_holder(path) or "another command"
                observer.receive(Noted(f"Waiting for {who} that changes {purelib}.", verbosity=0))
                stack.enter_context(lock_between_processes(path))
        except NotImplementedError:
            observer.receive(
                Warned(
                    "no-lock",
                    f"The file system of {purelib} has no locks: nothing keeps another "
                    "command from changing it at the same time.",
                )
            )
        except OSError as error:
            raise _install_error(error) from error
        yield


def _make_plan(
    steps: Sequence[InstallStep],
    removals: Sequence[InstalledDistribution],
    paths: Mapping[str, str],
    executable: str,
    others: Sequence[InstalledDistribution],
    options: InstallOptions,
    observer: Observer,
) -> _Plan:
    roots = _roots(paths)
    leaving = [step.replaces for step in steps if step.replaces is not None]
    leaving += [one for one in removals if one not in leaving]
    gone = {distribution.info for distribution in leaving}
    staying = [distribution for distribution in others if distribution.info not in gone]
    owned = _owned_by_all(leaving, roots, observer)
    moves = dict.fromkeys(path for one in owned for path in one.files)
    if moves and staying:
        for path in _owners(moves, staying, paths):
            del moves[path]
    edits = {path: content for one in owned for path, content in one.edits.items()}
    moves.update(dict.fromkeys(edits))

    work = _plan_steps(steps, paths, executable, options)
    overlaps = _Overlaps(staying, paths, options, observer)
    taken: dict[str, tuple[PlacedFile, _Work]] = {}
    for one in work:
        for file in one.rows:
            before = taken.get(file.target)
            if before is not None:
                overlaps.check_new(file, before[0], one.step.name, before[1].step.name)
            taken[file.target] = (file, one)
    folders: dict[str, bool] = {}  # each folder → whether it exists
    tops = {
        path: is_folder for one in work if one.tree for path, is_folder in one.tree.tops.items()
    }
    for path, is_folder in tops.items():
        _look_at_folder(os.path.dirname(path), folders, moves)
        if is_folder:
            folders[path] = False
    cleared: list[str] = []
    existing: list[tuple[PlacedFile, _Work]] = []
    for target, (file, one) in taken.items():
        parent = target.rpartition(os.sep)[0] or os.path.dirname(target)
        exists = folders.get(parent)
        if exists is None:
            _look_at_folder(parent, folders, moves)
            exists = folders[parent]
        if exists and target not in moves and os.path.lexists(target):
            existing.append((file, one))
        else:
            one.place.append(file)
    for file, one in existing:
        if os.path.isdir(file.target) and not os.path.islink(file.target):
            cleared += _folders_to_clear(file, one.step.name, moves)
        elif not overlaps.check_old(file, one.step.name):
            continue  # the same bytes are there already
        else:
            moves[file.target] = None
        one.place.append(file)
    modules = [path for path, is_folder in tops.items() if not is_folder]
    modules += [file.target for one in work for file in one.place]
    moves.update(dict.fromkeys(_stale_bytecode(modules, folders)))
    libraries = tuple(os.path.realpath(paths[scheme]) + os.sep for scheme in ("purelib", "platlib"))
    for one in work:
        for file in _plan_bytecode(one, libraries):
            folder = os.path.dirname(file.target)
            _look_at_folder(folder, folders, moves)
            if file.target not in taken and not (folders[folder] and os.path.islink(folder)):
                one.compiled.append(file)
                if folders[folder] and os.path.lexists(file.target):
                    moves[file.target] = None
    targets = [file.target for one in work for file in (*one.place, *one.compiled)]
    targets += [os.path.join(one.layout.dist_info, "RECORD") for one in work]
    for one in work:
        record = os.path.join(one.layout.dist_info, "RECORD")
        if record not in moves and os.path.lexists(record):
            moves[record] = None
    names = [*(step.name for step in steps), *(one.name for one in removals)]
    intent = Intent(
        tuple(moves),
        (*targets, *edits),
        tuple(folder for folder, exists in folders.items() if not exists),
        tuple(cleared),
        roots,
        tuple(names),
        tuple(_describe_tree(one) for one in work if one.tree is not None),
    )
    return _Plan(work, leaving, intent, edits)


def _roots(paths: Mapping[str, str]) -> tuple[str, ...]:
    folders = [os.path.realpath(paths[scheme]) for scheme in SCHEMES]
    folders += [environment_root(folder) for folder in folders[:2]]
    return tuple(dict.fromkeys(folders))


def _owned_by_all(
    leaving: Sequence[InstalledDistribution], roots: tuple[str, ...], observer: Observer
) -> list[OwnedFiles]:
    owned = []
    for distribution in leaving:
        one = owned_files(distribution, roots)
        if one.outside:
            observer.receive(
                Warned(
                    "files-outside",
                    f"{distribution.name} {distribution.version_text} names files outside of "
                    f"the environment, which are kept: {_some(one.outside)}.",
                )
            )
        owned.append(one)
    return owned


def _owners(
    files: Mapping[str, object],
    distributions: Sequence[InstalledDistribution],
    paths: Mapping[str, str],
) -> dict[str, str]:
    """Which of some files other distributions name in RECORD: path → project."""
    libraries = {os.path.realpath(paths[scheme]) for scheme in ("purelib", "platlib")}
    hints = set()
    for path in files:
        for library in libraries:
            if path.startswith(library + os.sep):
                hints.add(path[len(library) + 1 :].partition(os.sep)[0])
                break
        else:
            hints.add(os.path.basename(path))
    owners: dict[str, str] = {}
    for distribution in distributions:
        for path in recorded_paths(distribution, hints):
            if path in files:
                owners[path] = distribution.name
    return owners


def _plan_steps(
    steps: Sequence[InstallStep],
    paths: Mapping[str, str],
    executable: str,
    options: InstallOptions,
) -> list[_Work]:
    """Decide for each step what is placed as it is, and where all other files go.

    Raises:
        StoreAlteredError: A wheel that is not placed as it is has other files than it had.
    """
    compiled = any(step.bytecode is not None for step in steps)
    trees = find_trees([step.wheel for step in steps], paths, compiled=compiled)
    places = find_places(paths)
    layouts = {}
    single = [number for number, tree in enumerate(trees) if tree is None]
    while True:
        for number, step in enumerate(steps):
            if number not in layouts:
                whole = trees[number] is None
                layouts[number] = plan_layout(
                    step.wheel, places, executable, step.name, only_data=not whole
                )
        targets = (file.target for layout in layouts.values() for file in layout.files)
        disturbed = find_disturbed(trees, targets)
        if not disturbed:
            break
        single += disturbed
        for number in disturbed:
            trees[number] = None
            del layouts[number]
    for number, step in enumerate(steps):
        wheel = step.wheel
        files = None if number in single else wheel.data_files
        changed = () if wheel.is_verified else wheel.changed_files(files)
        if changed:
            raise StoreAlteredError(wheel.filename, wheel.sha256, changed[0])
    return [
        _plan_step(step, trees[number], layouts[number], options)
        for number, step in enumerate(steps)
    ]


def _describe_tree(one: _Work) -> NewTree:
    assert one.tree is not None, "asked for trees only"
    wheel = one.step.wheel
    return NewTree(one.tree.library, sorted(wheel.left_out), wheel.read_facts("files.json"))


def _plan_step(
    step: InstallStep, tree: Tree | None, layout: Layout, options: InstallOptions
) -> _Work:
    own = [make_file(layout, "INSTALLER", f"{options.installer}\n".encode())]
    if step.requested:
        own.append(make_file(layout, "REQUESTED", b""))
    if step.direct_url is not None:
        own.append(make_file(layout, "direct_url.json", _json(step.direct_url)))
    if step.reason is not None:
        own.append(make_file(layout, "vinstall.json", _json(step.reason)))
    return _Work(step, tree, layout, [*layout.files, *own], [], [])


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, sort_keys=True).encode("utf-8")


def _look_at_folder(folder: str, folders: dict[str, bool], moves: Mapping[str, object]) -> None:
    """Note whether a folder and those around it exist; the outer ones come first."""
    missing = []
    while folder not in folders:
        if os.path.isdir(folder):
            folders[folder] = True
            break
        if folder not in moves and os.path.lexists(folder):
            raise InstallError(
                f"The folder {folder} can not be made", "there is a file of that name"
            )
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        folders[one] = False


def _folders_to_clear(file: PlacedFile, name: str, moves: Mapping[str, object]) -> list[str]:
    cleared = []
    for folder, _, files in os.walk(file.target):
        kept = [one for one in files if os.path.join(folder, one) not in moves]
        if kept or os.path.islink(folder):
            raise InstallError(
                f"{name} can not be installed",
                f"its file {file.target} is a folder there, which holds {_some(kept)}",
            )
        cleared.append(folder)
    return cleared


def _stale_bytecode(files: Sequence[str], folders: Mapping[str, bool]) -> Iterator[str]:
    """Compiled files that lie where those of new modules will lie."""
    caches: dict[str, dict[str, list[str]]] = {}
    for file in files:
        if file.endswith(".py"):
            folder, _, name = file.rpartition(os.sep)
            if folders.get(folder):
                cache = os.path.join(folder, "__pycache__")
                if cache not in caches:
                    caches[cache] = bytecode_files(cache)
                for compiled in caches[cache].get(name[:-3], ()):
                    yield os.path.join(cache, compiled)


def _plan_bytecode(one: _Work, libraries: tuple[str, ...]) -> Iterator[PlacedFile]:
    """The compiled files of those modules of a distribution that are placed (PEP 3147)."""
    if one.step.bytecode is None:
        return
    cache_tag, compiled = one.step.bytecode
    prefixes: dict[str, str] = {}
    modules = [(file.target, file.source) for file in one.place if file.linkable]
    if one.tree is not None:
        start, end = f"{one.step.wheel.root}{os.sep}", f"{one.tree.library}{os.sep}"
        left_out = one.step.wheel.left_out
        modules += [
            (end + module[len(start) :], module)
            for module in compiled
            if not is_data(path := module[len(start) :].replace(os.sep, "/"))
            and path.partition("/")[0] not in left_out
        ]
    for target, module in modules:
        source = compiled.get(module)
        if source is None or not target.startswith(libraries):
            continue
        folder, _, name = target.rpartition(os.sep)
        folder += f"{os.sep}__pycache__"
        if folder not in prefixes:
            prefixes[folder] = record_prefix(folder, one.layout.library)
        name = f"{name[: -len('.py')]}.{cache_tag}.pyc"
        path = prefixes[folder] + name
        yield PlacedFile(f"{folder}{os.sep}{name}", path, "", -1, source, None, False, True)


class _Overlaps:
    """Decides what happens where two distributions want one file."""

    def __init__(
        self,
        staying: Sequence[InstalledDistribution],
        paths: Mapping[str, str],
        options: InstallOptions,
        observer: Observer,
    ) -> None:
        self._staying = staying
        self._paths = paths
        self._options = options
        self._observer = observer

    def check_new(self, file: PlacedFile, before: PlacedFile, name: str, other: str) -> None:
        """Two new distributions hold the file."""
        if (file.digest, file.size) != (before.digest, before.size) and name != other:
            self._refuse(file.target, name, other)

    def check_old(self, file: PlacedFile, name: str) -> bool:
        """The file exists; whether to replace it."""
        owner = _owners({file.target: None}, self._staying, self._paths).get(file.target)
        if owner is None:
            return True
        if (
            file.digest
            and not os.path.islink(file.target)
            and file_matches(file.target, file.digest)
        ):
            return False
        self._refuse(file.target, name, owner)
        return True

    def _refuse(self, path: str, name: str, other: str) -> None:
        if self._options.allow_overlap:
            self._observer.receive(
                Warned("overlap", f"{name} replaces {path}, which belongs to {other} too.")
            )
            return
        raise InstallError(
            f"{name} and {other} can not be installed together",
            f"both hold the file {path}, with different content",
            f"Uninstall {other} first, choose one of the two, or let one replace files of the "
            "other with --allow-overlap.",
        )


def _carry_out(
    plan: _Plan,
    journal: Journal,
    options: InstallOptions,
    observer: Observer,
    checkpoint: Callable[[str], None],
) -> None:
    for step in (one.step for one in plan.work):
        if step.replaces is not None:
            observer.receive(ExistingFound(step.replaces.name, step.replaces.version_text))
    for path, aside in journal.stash.items():
        checkpoint(f"move {path}")
        os.rename(path, aside)
    for folder in reversed(plan.intent.cleared):
        checkpoint(f"clear {folder}")
        os.rmdir(folder)
    tops = {top for one in plan.work if one.tree is not None for top in one.tree.tops}
    for folder in plan.intent.folders:
        checkpoint(f"folder {folder}")
        if folder in tops and os.path.lexists(folder):
            raise InstallError(
                "The environment could not be changed",
                f"{folder} appeared while it was changed",
                "If another program changes the environment too, wait until it is done.",
            )
        if not os.path.isdir(folder):  # the journal made the way to its own place
            os.mkdir(folder)
    umask = current_umask()
    placer = Placer(umask, link=options.link)
    is_watched = options.checkpoint is not None

    def place_singles() -> None:
        for one in plan.work:
            _place(one.step, (*one.place, *one.compiled), placer, checkpoint)
        for path, content in plan.edits.items():
            checkpoint(f"edit {path}")
            write_new(path, content, 0o666 & ~umask)
        for one in plan.work:
            checkpoint(f"record {one.step.name}")
            _write_record(one, umask)

    trees = [one.tree for one in plan.work if one.tree is not None]
    place_trees(trees, placer, checkpoint if is_watched else None, place_singles)
    for one in plan.work:
        observer.receive(StageAdvanced("install", 1, one.step.name))


def _place(
    step: InstallStep,
    files: Sequence[PlacedFile],
    placer: Placer,
    checkpoint: Callable[[str], None],
) -> None:
    link = placer.can_link(step.wheel)
    place = placer.place
    fast_link = placer.link if link else None
    is_watched = checkpoint is not _no_checkpoint
    for file in files:
        if is_watched:
            checkpoint(f"place {file.target}")
        if fast_link is not None and file.linkable and fast_link(file.source, file.target):
            continue
        try:
            place(file, link=link)
        except FileExistsError as error:
            raise InstallError(
                f"{step.name} can not be installed",
                f"{file.target} appeared while it was installed",
                "If another program changes the environment too, wait until it is done.",
            ) from error


def _write_record(one: _Work, umask: int) -> None:
    rows = [file.to_row() for file in (*one.rows, *one.compiled)]
    wheel = one.step.wheel
    text = wheel.read_record() if one.tree is not None and not wheel.left_out else ""
    if text and '"' not in text:
        content = merge_record(text, rows)
    else:
        rows += record_rows(wheel.files, wheel.dist_info) if one.tree is not None else []
        content = format_record(sorted(rows, key=lambda row: row.path))
    record = make_file(one.layout, "RECORD", b"", in_record=False)
    content += format_record([record.to_row()])
    write_new(record.target, content.encode("utf-8", "surrogateescape"), 0o666 & ~umask)


def _undo(journal: Journal, error: BaseException) -> NoReturn:
    """Roll back and raise what the caller shall see."""
    while True:
        try:
            journal.roll_back()
        except KeyboardInterrupt:
            continue  # half rolled back is the worst of all: begin again, it goes on
        except OSError as second:
            raise InstallError(
                "The installation failed, and what it had changed could not be undone",
                f"{error}; then {second}",
                f"The files that were moved aside are in {journal.folder}; the next "
                "command will try to put them back.",
                rolled_back=False,
            ) from error
        _raise(error)


def _raise(error: BaseException) -> NoReturn:
    """Raise an error in our words; the environment is as it was."""
    if isinstance(error, OSError):
        raise _install_error(error) from error
    if isinstance(error, KeyboardInterrupt):
        raise CancelledError(
            "The installation was interrupted", "the environment is as it was before"
        ) from error
    if isinstance(error, VinstallError) or not isinstance(error, Exception):
        raise error
    raise InstallError(
        "The installation failed and was undone", f"{type(error).__name__}: {words_of(error)}"
    ) from error


def _finish(journal: Journal) -> None:
    # the change is done: what can not be cleaned up now, the next command cleans up
    with contextlib.suppress(OSError):
        journal.finish()


def _install_error(error: OSError) -> InstallError:
    import errno

    path = error.filename2 or error.filename or ""
    why = error.strerror or str(error)
    fix = ""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        fix = "Use a virtual environment, or check who may write there."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "Make room on that file system and try again."
    return InstallError(
        "The environment could not be changed",
        f"{path}: {why}" if path else why,
        fix,
    )


def _warn_of_scripts(
    work: Sequence[_Work], paths: Mapping[str, str], executable: str, observer: Observer
) -> None:
    names = sorted(name for one in work for name in one.layout.scripts)
    if not names:
        return
    folder = os.path.normcase(os.path.realpath(paths["scripts"]))
    on_path = (
        os.path.normcase(os.path.realpath(os.path.expanduser(part)))
        for part in os.environ.get("PATH", "").split(os.pathsep)
        if part
    )
    beside = os.path.normcase(os.path.realpath(os.path.dirname(executable)))
    if folder == beside or folder in on_path:
        return
    several = len(names) > 1
    observer.receive(
        Warned(
            "script-location",
            f"The script{'s' if several else ''} {', '.join(names)} "
            f"{'are' if several else 'is'} installed in '{paths['scripts']}' which is not on "
            "PATH.",
            "Add this folder to PATH, or pass --no-warn-script-location.",
        )
    )


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"


def _no_checkpoint(name: str) -> None:
    """Let every step happen."""
