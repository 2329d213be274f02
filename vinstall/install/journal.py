"""What a change of an environment is going to do, written down before it begins.

The journal is a folder in site-packages. It holds ``journal.json`` (every file that will
be moved aside and every file and folder that will be made), the files that were moved
aside, and in the end an empty file ``committed``. Whoever finds it later can tell what to
do from the files alone: without ``committed`` everything is put back, with it the rest is
cleaned up. Both can be interrupted and begun again any number of times.
"""

# os.path and not pathlib: a change can touch tens of thousands of files
# ruff: noqa: PTH102, PTH103, PTH104, PTH105, PTH106, PTH108, PTH110, PTH112
# ruff: noqa: PTH208, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import json
import os

from vinstall.values import NamedTuple, dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

JOURNAL_NAME = ".vinstall-journal"
TRASH_PREFIX = ".vinstall-trash-"
JOURNAL_VERSION = 2


@dataclass(frozen=True, slots=True)
class Intent:
    """All that a change will do to the files of an environment.

    Attributes:
        moves: Existing files and links that are moved aside, absolute paths.
        targets: Files that will be made; those that exist now are also in ``moves``.
        folders: Folders that will be made, the outer ones first.
        cleared: Empty folders that give way to a file, the outer ones first.
        roots: Folders that stay even when they become empty.
        names: The distributions that are changed, for messages.
        trees: What will be made where nothing is, in whole folders.
    """

    moves: Sequence[str]
    targets: Sequence[str]
    folders: Sequence[str]
    cleared: Sequence[str] = ()
    roots: Sequence[str] = ()
    names: Sequence[str] = ()
    trees: Sequence[NewTree] = ()

    def list_trees(self) -> Iterator[str]:
        """Absolute paths of the files in all trees, folder by folder, the outer ones first."""
        for tree in self.trees:
            for folder, names in tree.list_folders():
                for name in names:
                    yield f"{folder}{os.sep}{name}"


class NewTree(NamedTuple):
    """Files of one wheel that are placed as they are.

    Attributes:
        library: Folder that they are placed in.
        left_out: Names in the root of the wheel that are not placed.
        files: As ``files.json`` of the store: a row for each folder, with its path and the
            names in it first. It is written down as it stands, and read when it is needed.
    """

    library: str
    left_out: Sequence[str]
    files: bytes

    def list_folders(self) -> Iterator[tuple[str, list[str]]]:
        """Absolute path of each folder and the names of its files, the outer folders first."""
        try:
            rows = [(str(row[0]), list(map(str, row[1]))) for row in json.loads(self.files)]
        except (ValueError, TypeError, LookupError):
            return  # then nothing of it could be placed either
        for path, names in rows:
            top = path.partition("/")[0]
            if top in self.left_out or top.endswith(".data"):
                continue
            kept = names if path else [name for name in names if name not in self.left_out]
            place = os.path.normpath(os.path.join(self.library, path.replace("/", os.sep)))
            yield place, kept


class Journal:
    """A change in progress.

    Attributes:
        folder: The journal's own folder.
        intent: What the change will do.
        stash: Path → where it is moved aside.
    """

    def __init__(self, folder: str, intent: Intent, stash: Mapping[str, str]) -> None:
        self.folder = folder
        self.intent = intent
        self.stash = stash

    @classmethod
    def begin(cls, site_packages: str, intent: Intent) -> Journal:
        """Write a journal; it is on the disk when this returns.

        Raises:
            OSError: It can not be written; nothing is left of it.
        """
        folder = journal_folder(site_packages)
        made = make_folders(site_packages)
        try:
            os.mkdir(folder)  # fails where there is a journal already: it is not ours to touch
        except BaseException:
            _remove_folders(made)
            raise
        try:
            stash = _name_stash(folder, intent.moves)
            document: dict[str, Any] = {
                "version": JOURNAL_VERSION,
                "moves": list(intent.moves),
                "stash": [stash[path] for path in intent.moves],
                "targets": list(intent.targets),
                "folders": list(dict.fromkeys([*made, *intent.folders])),
                "cleared": list(intent.cleared),
                "roots": list(intent.roots),
                "names": list(intent.names),
                "trees": [
                    [one.library, list(one.left_out), len(one.files)] for one in intent.trees
                ],
            }
            os.mkdir(os.path.join(folder, "stash"))
            if intent.trees:
                files = b"".join(one.files for one in intent.trees)
                _write_durably(os.path.join(folder, "trees"), files)
            new = os.path.join(folder, "journal.new")
            _write_durably(new, json.dumps(document).encode("ascii"))
            os.rename(new, os.path.join(folder, "journal.json"))
            _sync_folder(folder)
            _sync_folder(os.path.dirname(folder))
        except BaseException:
            _remove_tree(folder)
            _remove_folders(made)
            raise
        return cls(folder, _read_intent(document, intent.trees), stash)

    @classmethod
    def find(cls, site_packages: str) -> Journal | None:
        """The journal that an interrupted change left; ``None`` where there is none.

        Raises:
            OSError: It is there and can not be read.
            ValueError: It does not have the form of one.
        """
        folder = journal_folder(site_packages)
        if not os.path.isdir(folder):
            return None
        try:
            with open(os.path.join(folder, "journal.json"), "rb") as file:
                document = json.loads(file.read())
        except FileNotFoundError:
            return cls(folder, Intent((), (), ()), {})
        if not isinstance(document, dict) or document.get("version") != JOURNAL_VERSION:
            raise ValueError("it is of another version of vinstall")
        try:
            intent = _read_intent(document, _read_trees(folder, document["trees"]))
            stash = dict(zip(intent.moves, document["stash"], strict=True))
        except (KeyError, TypeError) as error:
            raise ValueError(f"it lacks {error}") from error
        return cls(folder, intent, stash)

    @property
    def is_committed(self) -> bool:
        """Whether the change is done and only cleaning up is left."""
        return os.path.exists(os.path.join(self.folder, "committed"))

    def commit(self) -> None:
        """Declare the change done; from here on it is never undone."""
        _write_durably(os.path.join(self.folder, "committed"), b"")
        _sync_folder(self.folder)

    def finish(self) -> None:
        """Remove what was moved aside, the folders that became empty, and the journal.

        What can not be removed now (on Windows a library in use) stays for the next run.
        """
        for path in self.stash.values():
            if not path.startswith(self.folder):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        self._remove_emptied()
        self._close()

    def roll_back(self) -> None:
        """Put everything back as it was.

        Raises:
            OSError: Something could not be put back; what was moved aside is kept.
        """
        self._remove_targets()
        self._remove_trees()
        _remove_folders(self.intent.folders)
        for folder in self.intent.cleared:
            os.makedirs(folder, exist_ok=True)
        for path, aside in self.stash.items():
            try:
                os.replace(aside, path)
            except FileNotFoundError:
                if os.path.lexists(aside):  # its folder is gone
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    os.replace(aside, path)
        self._close()

    def _remove_targets(self) -> None:
        caches: dict[str, dict[str, list[str]]] = {}
        for target in self.intent.targets:
            self._remove_new(target)
            if target.endswith(".py"):
                folder, name = os.path.split(target)
                cache = os.path.join(folder, "__pycache__")
                if cache not in caches:
                    from vinstall.install.removal import bytecode_files

                    caches[cache] = bytecode_files(cache)
                for compiled in caches[cache].get(name[:-3], ()):
                    self._remove_new(os.path.join(cache, compiled))
        for cache in caches:
            with contextlib.suppress(OSError):
                os.rmdir(cache)

    def _remove_trees(self) -> None:
        """Remove what was placed in whole folders; what others put beside it stays."""
        from vinstall.install.removal import bytecode_files

        for tree in self.intent.trees:
            folders = []
            for folder, names in tree.list_folders():
                folders.append(folder)
                if not os.path.isdir(folder):
                    continue
                cache = os.path.join(folder, "__pycache__")
                compiled = bytecode_files(cache)
                for name in names:
                    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                        os.unlink(f"{folder}{os.sep}{name}")
                    for one in compiled.get(name[:-3], ()) if name.endswith(".py") else ():
                        with contextlib.suppress(FileNotFoundError):
                            os.unlink(os.path.join(cache, one))
                folders.append(cache)
            _remove_empty(folders, tree.library)

    def _remove_new(self, path: str) -> None:
        aside = self.stash.get(path)
        if aside is not None and not os.path.lexists(aside):
            return  # what is there is still, or again, the old file
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)

    def _remove_emptied(self) -> None:
        roots = set(self.intent.roots)
        prefixes = tuple(f"{root.rstrip(os.sep)}{os.sep}" for root in roots)
        emptied = {os.path.dirname(path) for path in self.intent.moves}
        for folder in sorted(emptied, key=len, reverse=True):
            current = folder
            while current not in roots and current.startswith(prefixes):
                try:
                    os.rmdir(current)
                except FileNotFoundError:
                    pass
                except OSError:
                    break
                current = os.path.dirname(current)

    def _close(self) -> None:
        # journal.json goes last: without it, nobody would know what the stash is
        stash = os.path.join(self.folder, "stash")
        _remove_tree(stash)
        if os.path.lexists(stash) and not (self.is_committed and self._throw_away(stash)):
            return
        for name in ("journal.new", "journal.json", "trees", "committed"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)

    def _throw_away(self, stash: str) -> bool:
        """Move what Windows does not remove (a library in use) out of the way."""
        import tempfile

        try:
            trash = tempfile.mkdtemp(prefix=TRASH_PREFIX, dir=os.path.dirname(self.folder))
            for name in os.listdir(stash):
                os.rename(os.path.join(stash, name), os.path.join(trash, name))
            os.rmdir(stash)
        except OSError:
            return False
        return True


def remove_trash(site_packages: str) -> None:
    """Remove what could not be removed when it was replaced, as far as that works now."""
    folder = os.path.realpath(site_packages)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(TRASH_PREFIX):
                _remove_tree(os.path.join(folder, name))


def journal_folder(site_packages: str) -> str:
    """Where the journal of an environment is."""
    return os.path.join(os.path.realpath(site_packages), JOURNAL_NAME)


def make_folders(path: str) -> list[str]:
    """Make a folder and the missing ones around it; the made ones, the outer ones first."""
    missing: list[str] = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    made: list[str] = []
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                _remove_folders(made)
                raise
        except OSError:
            _remove_folders(made)
            raise
        else:
            made.append(folder)
    return made


def _read_trees(folder: str, rows: Sequence[Sequence[Any]]) -> tuple[NewTree, ...]:
    """What stands in the file of the trees.

    Raises:
        ValueError: It is not whole.
    """
    if not rows:
        return ()
    with open(os.path.join(folder, "trees"), "rb") as file:
        content = file.read()
    if len(content) != sum(length for _, _, length in rows):
        raise ValueError("its list of files is not whole")
    trees = []
    start = 0
    for library, left_out, length in rows:
        trees.append(NewTree(library, left_out, content[start : start + length]))
        start += length
    return tuple(trees)


def _remove_empty(folders: Sequence[str], library: str) -> None:
    """Remove folders, and those around them below a library, as far as they are empty."""
    every = set(folders)
    for folder in folders:
        above = os.path.dirname(folder)
        while above.startswith(library + os.sep) and above not in every:
            every.add(above)
            above = os.path.dirname(above)
    for folder in sorted(every - {library}, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _read_intent(document: Mapping[str, Any], trees: Sequence[NewTree]) -> Intent:
    return Intent(
        document["moves"],
        document["targets"],
        document["folders"],
        document["cleared"],
        document["roots"],
        document["names"],
        trees,
    )


def _name_stash(folder: str, moves: Iterable[str]) -> dict[str, str]:
    """Where each file is moved aside: in the journal, or beside it on other file systems."""
    stash = os.path.join(folder, "stash") + os.sep
    device = os.stat(folder).st_dev
    devices: dict[str, bool] = {}
    named = {}
    for number, path in enumerate(moves):
        parent = os.path.dirname(path)
        if parent not in devices:
            devices[parent] = os.stat(parent).st_dev == device
        if devices[parent]:
            named[path] = f"{stash}{number}"
        else:
            named[path] = os.path.join(parent, f".vinstall-{number}.old")
    return named


def _write_durably(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems have no such call for folders
    finally:
        os.close(descriptor)


def _remove_folders(folders: Sequence[str]) -> None:
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _remove_tree(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass  # there is something in it, or it is not there
    else:
        return
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
