"""Events → pip's lines, warnings, and bars on a terminal.

Bars need rich, which is imported when the first large file arrives and a person looks at
stderr. Everywhere else plain lines are written; ``raw`` writes ``Progress N of M``.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from vinstall.console.tables import format_size
from vinstall.events import (
    AlreadySatisfied,
    Collecting,
    ExistingFound,
    FileChosen,
    FileKept,
    FileSaved,
    InstallingStarted,
    Noted,
    TransferAdvanced,
    TransferFinished,
    TransferStarted,
    Uninstalled,
    Warned,
)
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from vinstall.console.output import Console
    from vinstall.events import Event

_SMALL = 512 * 1024
_BLANKS = lazy_pattern(r"(?<=[\w\]])\s+(?=[<>=!~]=?)")
_RAW_INTERVAL = 0.25


@dataclass(slots=True)
class _Transfer:
    name: str
    total: int | None
    done: int = 0
    told: float = 0.0
    task: TaskID | None = None


class ConsoleObserver:
    """Shows events to a person; safe to use from several threads.

    Use it as a context manager: leaving it takes the bars away.
    """

    def __init__(self, console: Console) -> None:
        settings = console.settings
        how = settings.progress_bar
        self._console = console
        self._lock = threading.RLock()
        self._warned: set[tuple[str, str]] = set()
        self._transfers: dict[str, _Transfer] = {}
        self._installing = False
        self._progress: Progress | None = None
        self._raw = how == "raw" and settings.verbosity >= 0
        self._bars = (
            how in ("auto", "on")
            and settings.verbosity >= 0
            and console.is_terminal(console.stderr)
        )

    def __enter__(self) -> ConsoleObserver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def receive(self, event: Event) -> None:
        """Show one event."""
        with self._lock:
            if isinstance(event, TransferAdvanced):
                self._advance(event)
            elif isinstance(event, TransferStarted):
                self._start(event)
            elif isinstance(event, TransferFinished):
                self._finish(event)
            elif isinstance(event, Warned):
                self._warn(event)
            elif isinstance(event, Noted):
                self._console.info(event.text, event.verbosity)
            else:
                for line in self._lines(event):
                    self._console.info(line)

    def close(self) -> None:
        """Take the bars away."""
        with self._lock:
            if self._progress is not None:
                self._console.above = None
                self._progress.stop()
                self._progress = None
            self._transfers.clear()

    def _warn(self, event: Warned) -> None:
        key = (event.code, event.what)
        if key not in self._warned:
            self._warned.add(key)
            self._console.warning(event.what, event.fix)

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, Collecting):
            return [f"Collecting {_tight(event.requirement)}{_from(event.parent)}"]
        if isinstance(event, AlreadySatisfied):
            return [
                f"Requirement already satisfied: {_tight(event.requirement)} in {event.location}"
                f"{_from(event.parent)} ({event.version})"
            ]
        if isinstance(event, FileChosen):
            return [_file_line(event)]
        if isinstance(event, FileSaved):
            return [f"Saved {_display_path(event.path)}"]
        if isinstance(event, FileKept):
            return [f"  File was already downloaded {event.path}"]
        if isinstance(event, InstallingStarted):
            self._installing = True
            return [f"Installing collected packages: {', '.join(event.names)}"]
        if isinstance(event, ExistingFound):
            found = [
                f"Found existing installation: {event.name} {event.version}",
                f"Uninstalling {event.name}-{event.version}:",
            ]
            if not self._installing:
                return found
            return [
                f"  Attempting uninstall: {event.name}",
                *(f"    {line}" for line in found),
            ]
        if isinstance(event, Uninstalled):
            indent = "      " if self._installing else "  "
            return [f"{indent}Successfully uninstalled {event.name}-{event.version}"]
        return []

    def _start(self, event: TransferStarted) -> None:
        transfer = self._transfers[event.key] = _Transfer(event.name, event.total)
        if self._raw and event.total:
            self._console.info(f"Progress 0 of {event.total}")
        elif self._bars and (event.total is None or event.total >= _SMALL):
            progress = self._open_bars()
            transfer.task = progress.add_task(transfer.name, total=event.total)

    def _advance(self, event: TransferAdvanced) -> None:
        transfer = self._transfers.get(event.key)
        if transfer is None:
            return
        transfer.done += event.amount
        if self._progress is not None and transfer.task is not None:
            self._progress.update(transfer.task, completed=transfer.done)
        elif self._raw and transfer.total:
            now = time.monotonic()
            if now - transfer.told >= _RAW_INTERVAL and transfer.done < transfer.total:
                transfer.told = now
                self._console.info(f"Progress {transfer.done} of {transfer.total}")

    def _finish(self, event: TransferFinished) -> None:
        transfer = self._transfers.pop(event.key, None)
        if transfer is None:
            return
        if self._raw and transfer.total and transfer.done >= transfer.total:
            self._console.info(f"Progress {transfer.done} of {transfer.total}")
        if self._progress is not None and transfer.task is not None:
            self._progress.remove_task(transfer.task)

    def _open_bars(self) -> Progress:
        if self._progress is None:
            from rich.console import Console as RichConsole
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
                TransferSpeedColumn,
            )
            from rich.text import Text

            rich_console = RichConsole(
                file=self._console.stderr,
                no_color=not self._console.uses_color(self._console.stderr),
                highlight=False,
            )
            progress = self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
                TimeRemainingColumn(),
                console=rich_console,
                transient=True,
            )
            progress.start()
            self._console.above = lambda text: rich_console.print(
                Text.from_ansi(text), soft_wrap=True
            )
        return self._progress


def _tight(requirement: str) -> str:
    """A requirement without the blanks that some metadata has before its specifier."""
    return _BLANKS.sub("", requirement).replace(" ;", ";", 1)


def _from(parent: str) -> str:
    return f" (from {parent})" if parent else ""


def _file_line(event: FileChosen) -> str:
    if event.how == "local":
        return f"Processing {_display_path(event.name)}"
    verb = "Using cached" if event.how == "cache" else "Downloading"
    size = f" ({format_size(event.size)})" if event.size is not None else ""
    return f"  {verb} {event.name}{size}"


def _display_path(name: str) -> str:
    """A path below the current folder as ``./path``, any other as it is."""
    try:
        return f"./{Path(name).relative_to(Path.cwd())}"
    except (ValueError, OSError):
        return name
