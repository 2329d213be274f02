"""Bytecode of unpacked wheels: compiled once for each kind of interpreter, kept beside them.

An entry of the store has a folder ``bytecode/<kind>/`` for each kind of interpreter that was
asked for, with one file for each module and ``manifest.json``. The bytecode holds the
modification time of its source (PEP 552), so it is good wherever the source keeps its time.
Like an entry, the folder comes into being by one rename.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vinstall.values import dataclass
from vinstall.wheel.store import discard_folder, remove_abandoned, remove_tree

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

    from vinstall.wheel.store import StoredWheel

FOLDER = "bytecode"
_VERSION = 1
_MOST_FILES = 128
_MOST_BYTES = 256 * 1024
"""Sources that a child gets at once: as many as it compiles in a few hundredths of a second."""
_MOST_CRASHES = 20
_SCRIPT = Path(__file__).parent.parent / "children" / "compile_modules.py"


@dataclass(frozen=True, slots=True)
class CompilerFacts:
    """What decides what bytecode looks like, and who makes it.

    Attributes:
        executable: The interpreter that compiles, and that will load it.
        cache_tag: ``sys.implementation.cache_tag``, part of the names of compiled files.
        magic: ``importlib.util.MAGIC_NUMBER``, in hexadecimal.
        by_hash: Whether it is compared with its source by digest and not by time, as where
            builds shall be reproducible.
        environment: The variables that a child gets.
    """

    executable: str
    cache_tag: str
    magic: str
    by_hash: bool
    environment: Mapping[str, str]

    @property
    def kind(self) -> str:
        """Name of the folder for such bytecode."""
        return f"{self.cache_tag}-{self.magic}{'-hash' if self.by_hash else ''}"


class Bytecode(NamedTuple):
    """What was compiled of a wheel.

    Attributes:
        cache_tag: Part of the names that the files get in ``__pycache__``.
        files: Absolute path of a module in the store → absolute path of its bytecode;
            without the modules that do not compile.
    """

    cache_tag: str
    files: Mapping[str, str]


def find_bytecode(wheel: StoredWheel, facts: CompilerFacts) -> Bytecode | None:
    """What was compiled before and is as it was; ``None`` where it has to be done again."""
    return _load(wheel, wheel.folder / FOLDER / facts.kind, facts)


def find_altered_bytecode(folder: Path) -> list[str]:
    """Read all bytecode of an entry of the store.

    Args:
        folder: The entry.

    Returns:
        Files that are not as they were written, relative to the entry; sorted.
    """
    import hashlib

    altered = []
    for place in sorted(folder.glob(f"{FOLDER}/*/")):
        if place.name.startswith("."):
            continue
        try:
            rows = json.loads((place / "manifest.json").read_bytes())["files"]
            digests = {row[1]: row[4] for row in rows}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            altered.append(f"{FOLDER}/{place.name}/manifest.json")
            continue
        for name, digest in digests.items():
            try:
                found = hashlib.sha256((place / name).read_bytes()).hexdigest()
            except OSError:
                found = ""
            if found != digest:
                altered.append(f"{FOLDER}/{place.name}/{name}")
    return altered


class _Module(NamedTuple):
    path: str  # in the wheel
    source: str
    name: str  # of the compiled file, in the folder of the job


class _Job:
    """One wheel, while it is compiled."""

    def __init__(self, wheel: StoredWheel, work: Path, place: Path | None) -> None:
        self.wheel = wheel
        self.work = work
        self.place = place  # where it is kept; None where it is not
        self.left = 0  # parts that are not compiled yet
        self.is_done = False
        self.rows: list[tuple[str, str, int, int, str]] = []
        self.problem = ""


class Compiler:
    """Compiles modules of wheels in the background, with a child for each processor.

    Used by one thread that submits; nothing that a wheel holds is run.

    Args:
        facts: For which interpreter.
        folder: Where bytecode goes that can not be kept in the store.
    """

    def __init__(self, facts: CompilerFacts, folder: Path) -> None:
        self._facts = facts
        self._folder = folder
        self._lock = threading.Condition()
        self._parts: list[tuple[_Job, list[_Module]]] = []
        self._found: dict[str, Bytecode] = {}
        self._jobs: dict[str, _Job] = {}
        self._threads: list[threading.Thread] = []
        self._children: set[subprocess.Popen[bytes]] = set()
        self._idle = 0
        self._is_closed = False
        self._crashes = 0

    def submit(self, wheel: StoredWheel) -> None:
        """Compile a wheel, unless that was done before."""
        with self._lock:
            if wheel.sha256 in self._found or wheel.sha256 in self._jobs:
                return
        found = find_bytecode(wheel, self._facts)
        if found is not None:
            with self._lock:
                self._found[wheel.sha256] = found
            return
        job = self._make_job(wheel)
        parts = _split(_modules(wheel), {file.path: file.size for file in wheel.files})
        job.left = len(parts)
        with self._lock:
            self._jobs[wheel.sha256] = job
            self._parts += [(job, part) for part in parts]
            wanted = min(len(self._parts) - self._idle, (os.cpu_count() or 1) - len(self._threads))
            for _ in range(wanted):
                thread = threading.Thread(target=self._work, name="compile", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._lock.notify_all()
        if not parts:
            self._end_job(job)

    def finish(self) -> tuple[Mapping[str, Bytecode], str]:
        """Wait until everything is compiled.

        Returns:
            SHA-256 of each wheel → its bytecode; and why some is missing, or an empty text.
        """
        with self._lock:
            while not all(job.is_done for job in self._jobs.values()):
                self._lock.wait()
            problems = [job.problem for job in self._jobs.values() if job.problem]
            return dict(self._found), problems[0] if problems else ""

    def close(self) -> None:
        """End the children, also those that are at work."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
            self._lock.notify_all()
        for child in children:
            child.kill()
        for thread in self._threads:
            thread.join()
        for job in self._jobs.values():
            if job.place is not None:
                remove_tree(job.work)

    def _make_job(self, wheel: StoredWheel) -> _Job:
        import tempfile

        place = wheel.folder / FOLDER / self._facts.kind
        try:
            place.parent.mkdir(exist_ok=True)
            remove_abandoned(place.parent)
            work = Path(tempfile.mkdtemp(prefix=".partial-", dir=place.parent))
        except OSError:  # the store of somebody else, or no room
            return _Job(wheel, Path(tempfile.mkdtemp(dir=self._folder)), None)
        return _Job(wheel, work, place)

    def _work(self) -> None:
        """Compile parts, one after another, until there is no more to come."""
        child: subprocess.Popen[bytes] | None = None
        while True:
            with self._lock:
                while not self._parts and not self._is_closed:
                    self._idle += 1
                    self._lock.wait()
                    self._idle -= 1
                if self._is_closed:
                    break
                job, modules = self._parts.pop(0)
            waiting = modules
            while waiting and not job.problem:
                child = child or self._start(job)
                if child is None:
                    break
                done = self._ask(child, job, waiting)
                waiting = waiting[done:]
                if waiting:  # the child is dead: of the module that it was at, or of us
                    self._end(child)
                    child = None
                    with self._lock:
                        self._crashes += 1
                        if self._is_closed or self._crashes > _MOST_CRASHES:
                            job.problem = job.problem or f"{self._facts.executable} ended early"
                    waiting = waiting[1:]
            with self._lock:
                job.left -= 1
                is_last = not job.left
            if is_last:
                self._end_job(job)
        if child is not None:
            self._end(child)

    def _start(self, job: _Job) -> subprocess.Popen[bytes] | None:
        import subprocess

        facts = self._facts
        # without site: nothing of the environment runs, path configuration files neither
        command = [facts.executable, "-I", "-S", "-W", "ignore", str(_SCRIPT)]
        command += [facts.magic, "hash" if facts.by_hash else "time"]
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(facts.environment),
            )
        except OSError as error:
            job.problem = f"{facts.executable} can not be run: {error.strerror}"
            return None
        with self._lock:
            self._children.add(child)
            if self._is_closed:
                child.kill()
        assert child.stdout is not None, "it was asked for"
        if child.stdout.readline() != b"ready\n":
            job.problem = f"{facts.executable} is not the Python that it was"
            self._end(child)
            return None
        return child

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        child.kill()
        with contextlib.suppress(OSError), child:
            pass
        with self._lock:
            self._children.discard(child)

    def _ask(self, child: subprocess.Popen[bytes], job: _Job, modules: Sequence[_Module]) -> int:
        """Let a child compile modules; how many it answered for."""
        assert child.stdin is not None, "it was asked for"
        assert child.stdout is not None, "it was asked for"
        mode = job.wheel.file_mode
        words = ([one.source, str(job.work / one.name), one.path, mode] for one in modules)
        lines = [json.dumps(one).encode("ascii") + b"\n" for one in words]
        done = 0
        rows = []
        try:
            child.stdin.write(b"".join(lines))
            child.stdin.flush()
            for one in modules:
                answer = json.loads(child.stdout.readline())
                if isinstance(answer, str):
                    job.problem = answer
                elif answer is not None:
                    size, modified, digest = answer
                    rows.append((one.path, one.name, size, modified, digest))
                done += 1
        except (OSError, ValueError, TypeError):
            pass
        with self._lock:
            job.rows += rows
        return done

    def _end_job(self, job: _Job) -> None:
        """Keep what was compiled, and say where it is."""
        found = None
        try:
            if not job.problem:
                document = {"version": _VERSION, "files": sorted(job.rows)}
                (job.work / "manifest.json").write_text(json.dumps(document), encoding="ascii")
                place = job.work if job.place is None else self._publish(job, job.place)
                found = _load(job.wheel, place, self._facts)
        except OSError as error:
            job.problem = error.strerror or str(error)
        with self._lock:
            if found is not None:
                self._found[job.wheel.sha256] = found
            job.is_done = True
            self._lock.notify_all()

    def _publish(self, job: _Job, place: Path) -> Path:
        """Where the bytecode of a job is from now on."""
        job.work.chmod(job.wheel.executable_mode)
        for _ in range(3):
            try:
                job.work.rename(place)
            except OSError:
                if not place.exists():
                    raise
            else:
                break
            if _load(job.wheel, place, self._facts) is not None:
                break  # another process was faster
            discard_folder(place)
        return place


def _modules(wheel: StoredWheel) -> list[_Module]:
    """What may be imported from a wheel one day."""
    root = f"{wheel.root}{os.sep}"
    found = []
    for number, file in enumerate(wheel.files):
        if file.path.endswith(".py"):
            top, _, rest = file.path.partition("/")
            if not (top.endswith(".data") and rest.startswith(("scripts/", "headers/"))):
                found.append(_Module(file.path, root + file.path, f"{number}.pyc"))
    return found


def _split(modules: Sequence[_Module], sizes: Mapping[str, int]) -> list[list[_Module]]:
    parts: list[list[_Module]] = []
    weight = _MOST_BYTES
    for module in modules:
        if weight >= _MOST_BYTES or len(parts[-1]) >= _MOST_FILES:
            parts.append([])
            weight = 0
        parts[-1].append(module)
        weight += sizes[module.path]
    return parts


def _load(wheel: StoredWheel, place: Path, facts: CompilerFacts) -> Bytecode | None:
    try:
        document = json.loads((place / "manifest.json").read_bytes())
        if document["version"] != _VERSION:
            return None
        root, start = f"{wheel.root}{os.sep}", f"{place}{os.sep}"
        files = {}
        for path, name, size, modified, _ in document["files"]:
            compiled = start + name
            found = os.lstat(compiled)
            if (found.st_size, found.st_mtime_ns) != (size, modified):
                return None
            files[root + path] = compiled
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return Bytecode(facts.cache_tag, files)
