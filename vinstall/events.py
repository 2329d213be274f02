"""What happens while a command runs, told to whoever watches.

Inner code never prints. It hands events to an ``Observer``; only ``console`` knows how a
person sees them. Events are values: small, frozen, without references to live objects.
"""

from __future__ import annotations

from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Protocol

    Stage = Literal["resolve", "download", "unpack", "install", "providers"]
else:
    Protocol = object


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that the user should know, which does not stop the command.

    Attributes:
        code: A stable name in kebab case.
        what: One or two sentences.
        fix: What the user can do; may be empty.
    """

    code: str
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for people who asked for detail (``verbosity`` 0 is always shown)."""

    text: str
    verbosity: int = 1


@dataclass(frozen=True, slots=True)
class Collecting:
    """A requirement is being looked up; ``parent`` names who needs it, or is empty."""

    requirement: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class AlreadySatisfied:
    """A requirement needs nothing: pip's "Requirement already satisfied" line."""

    requirement: str
    location: str
    version: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class FileChosen:
    """A file will be used: fetched from its index, taken from the cache, or local."""

    how: Literal["download", "cache", "local"]
    name: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class FileSaved:
    """A file was put where the user wants it."""

    path: str


@dataclass(frozen=True, slots=True)
class FileKept:
    """A file is already where the user wants it."""

    path: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins; ``total`` counts its units (files, bytes) where known."""

    stage: Stage
    total: int | None = None


@dataclass(frozen=True, slots=True)
class StageAdvanced:
    """A stage moved on by ``amount`` units; ``detail`` names what is in hand."""

    stage: Stage
    amount: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage is over."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class TransferStarted:
    """Bytes of one file begin to arrive; ``key`` is unique in the run."""

    key: str
    name: str
    total: int | None = None


@dataclass(frozen=True, slots=True)
class TransferAdvanced:
    """``amount`` more bytes of the file ``key`` arrived."""

    key: str
    amount: int


@dataclass(frozen=True, slots=True)
class TransferFinished:
    """The file ``key`` arrived whole, or was given up."""

    key: str


@dataclass(frozen=True, slots=True)
class InstallingStarted:
    """The environment is about to change: pip's "Installing collected packages" line."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExistingFound:
    """An installed distribution will be replaced or removed."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """An installed distribution was removed."""

    name: str
    version: str


Event = (
    Warned
    | Noted
    | Collecting
    | AlreadySatisfied
    | FileChosen
    | FileSaved
    | FileKept
    | StageStarted
    | StageAdvanced
    | StageFinished
    | TransferStarted
    | TransferAdvanced
    | TransferFinished
    | InstallingStarted
    | ExistingFound
    | Uninstalled
)


class Observer(Protocol):
    """Receives events, possibly from several threads at once."""

    def receive(self, event: Event) -> None:
        """Take one event; must not raise and must not block for long."""


class SilentObserver:
    """An observer that ignores everything."""

    def receive(self, event: Event) -> None:
        """Ignore the event."""


class RecordingObserver:
    """An observer that keeps what it received, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def receive(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def warnings(self) -> list[Warned]:
        """The warnings received so far, in order."""
        return [event for event in self.events if isinstance(event, Warned)]
