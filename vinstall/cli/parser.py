"""Command line → command, words and given options; nothing is merged or checked here.

The rules are those that pip's users know: options stand before, between and after words and
before the command; ``--option=value``, ``-rFILE``, ``-qq`` and ``--`` work; a long option may be
shortened while it stays unambiguous. Where a shortened name fits one option of pip's and some
of ours, pip's is meant. A first word that names no command belongs to ``install``.
"""

from __future__ import annotations

import re

from vinstall.cli.options import (
    WITHOUT_VALUE,
    command_specs,
    options_of,
    version_options,
)
from vinstall.errors import UsageError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vinstall.cli.options import CommandSpec, Option

Value = str | int | float | bool

COMMAND_LINE = "command line"

_SETTING = lazy_pattern(r"[^=]+=.*", re.DOTALL)
_DAYS = lazy_pattern(r"P(\d{1,6})D", re.ASCII)


_NEARLY = 0.85
"""How alike a word and a command have to be to be taken for a slip of the finger."""

_NEARLY_OPTION = 0.7
"""The same for options, where a wrong guess does no harm."""


class CommandLineError(UsageError):
    """The command line breaks the grammar; shown with the usage of its command.

    Attributes:
        usage: Usage lines without the program's name.
    """

    def __init__(self, what: str, usage: Sequence[str] = (), fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.usage = tuple(usage)


class OptionConflictError(UsageError):
    """Options that exclude each other, or arguments that are missing: status 1, as pip."""

    code = "option-conflict"
    exit_code = 1


@dataclass(frozen=True, slots=True)
class Given:
    """One option with its value and where it was said.

    Attributes:
        option: What was given.
        value: Converted value: true or false for switches, text, or a number.
        source: ``command line``, the name of a variable, or a file with its section.
    """

    option: Option
    value: Value
    source: str = COMMAND_LINE

    def __str__(self) -> str:
        bare = self.value is True or (self.option.kind == "projects" and self.value == ":all:")
        if bare or self.option.kind in WITHOUT_VALUE:
            return self.option.name
        joint = "=" if self.option.kind == "projects" else " "
        return f"{self.option.name}{joint}{self.value}"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line.

    Attributes:
        command: Name of a command of the table.
        words: Arguments that are no options, in the order given, without the command.
        given: Options in the order given.
        help: Whether the help page was asked for; the words before say of which action.
        version: Whether the version was asked for.
    """

    command: str
    words: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    help: bool = False
    version: bool = False


class _Table:
    """The options of one command, found by any of their spellings."""

    def __init__(self, options: Iterable[Option], usage: Sequence[str]) -> None:
        self.usage = usage
        self.by_name = {name: option for option in options for name in option.names}

    def find(self, name: str, written: str = "") -> Option:
        """The option of a spelling, which may be the beginning of a long one.

        Args:
            name: The spelling.
            written: The whole argument that it stood in, to guess what was meant.

        Raises:
            CommandLineError: No option is meant, or more than one may be.
        """
        found = self.by_name.get(name)
        if found is not None:
            return found
        names = [
            known
            for known in self.by_name
            if name.startswith("--") and known.startswith(name) and known != name
        ]
        of_pip = [known for known in names if not self.by_name[known].ours]
        for some in (names, of_pip):
            options = {self.by_name[known] for known in some}
            if len(options) == 1:
                return options.pop()
        if names:
            listed = ", ".join(sorted(names))
            raise CommandLineError(f"ambiguous option: {name} ({listed}?)", self.usage)
        raise CommandLineError(f"no such option: {name}", self.usage, self._guess(written or name))

    def _guess(self, name: str) -> str:
        """What may have been meant, as a question; empty where nothing is alike."""
        if len(name) < 4:
            return ""
        import difflib

        known = [one for one, option in self.by_name.items() if len(one) > 2 and not option.hidden]
        spelled = name if name.startswith("--") else f"-{name}"
        close = difflib.get_close_matches(spelled, known, n=1, cutoff=_NEARLY_OPTION)
        return f"Did you mean {close[0]}?" if close else ""


def convert(option: Option, text: str) -> Value:
    """The value of an option out of its text.

    Raises:
        ValueError: The text is not acceptable; the message says why, without the option.
    """
    kind = option.kind
    if kind == "integer":
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"invalid integer value: {text!r}") from None
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"invalid floating-point value: {text!r}") from None
    if option.choices and text not in option.choices:
        listed = ", ".join(map(repr, option.choices))
        raise ValueError(f"invalid choice: {text!r} (choose from {listed})")
    if kind == "python-version":
        return _python_version(text)
    if kind == "moment":
        return _moment(text)
    if kind == "setting" and not _SETTING.fullmatch(text):
        raise ValueError(f"invalid value: {text!r}; it has to look like KEY=VALUE")
    if kind == "pair" and not _SETTING.fullmatch(text):
        raise ValueError(f"invalid value: {text!r}; it has to look like {option.value.upper()}")
    if kind == "control" and text.startswith("-"):
        raise ValueError(f"invalid value: {text!r}; it has to be :all:, :none: or names")
    return text


def _python_version(text: str) -> str:
    parts = text.split(".")
    if len(parts) == 1 and len(text) > 1:
        parts = [text[0], text[1:]]
    if len(parts) > 3:
        raise ValueError(f"invalid value: {text!r}: at most three version parts are allowed")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"invalid value: {text!r}: each version part must be an integer")
    return ".".join(str(int(part)) for part in parts)


def _moment(text: str) -> str:
    from datetime import datetime, timedelta, timezone

    days = _DAYS.fullmatch(text)
    if days is not None:
        return (datetime.now(timezone.utc) - timedelta(days=int(days[1]))).isoformat()
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        raise ValueError(
            f"invalid value: {text!r}; it has to be a moment of ISO 8601 like "
            "'2026-01-31' or '2026-01-31T12:00:00Z', or a number of days like 'P3D'"
        ) from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat()


def parse_command_line(argv: Sequence[str]) -> CommandLine:
    """Read a command line.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The command in hand; ``help`` where nothing is given.

    Raises:
        CommandLineError: An option is unknown, ambiguous, lacks its value or has a bad one.
    """
    specs = command_specs()
    if not argv:
        return CommandLine("help")
    position, version = _find_first_word(argv, specs["install"])
    if version:
        return CommandLine("help", version=True)
    name = argv[position] if position is not None else ""
    spec = specs.get(name)
    if spec is not None and position is not None:
        return _parse(spec, [*argv[:position], *argv[position + 1 :]])
    _check_first_word(name, specs)
    line = _parse(specs["install"], argv)
    return CommandLine("help", help=True) if line.help and position is None else line


def _check_first_word(word: str, names: Iterable[str]) -> None:
    """Refuse a first word that looks like a mistyped command rather than a project.

    Raises:
        OptionConflictError: It nearly is a command; status 1, as pip has it.
    """
    if not word.isidentifier() or len(word) < 3:
        return
    import difflib

    close = difflib.get_close_matches(word, names, n=1, cutoff=_NEARLY)
    if close:
        raise OptionConflictError(
            f'unknown command "{word}" - maybe you meant "{close[0]}"',
            fix=f"To install a project of that name: vinstall install {word}",
        )


def asks_something(line: CommandLine) -> bool:
    """Whether anything is said beside options of how: a word, a file, a project, a group."""
    asking = ("requirement_files", "editables", "groups", "requirement_scripts")
    return bool(line.words) or any(given.option.dest in asking for given in line.given)


def _find_first_word(argv: Sequence[str], install: CommandSpec) -> tuple[int | None, bool]:
    """Where the first word stands, and whether the version is asked for before it."""
    if not argv[0].startswith("-"):
        return 0, False
    table = _Table((*options_of(install), *version_options().options), install.usage)
    position = 0
    while position < len(argv):
        token = argv[position]
        if token == "--":
            return None, False
        if not token.startswith("-") or token == "-":
            return position, False
        position += 1
        for option, attached in _iter_known(table, token):
            if option.kind == "version":
                return None, True
            if option.kind not in WITHOUT_VALUE and not attached and option.kind != "projects":
                position += 1
    return None, False


def _iter_known(table: _Table, token: str) -> list[tuple[Option, bool]]:
    """The options in one token, each with whether its value is attached; unknown ones left out."""
    found: list[tuple[Option, bool]] = []
    try:
        if token.startswith("--"):
            name, equals, _ = token.partition("=")
            return [(table.find(name), bool(equals))]
        for place, letter in enumerate(token[1:], start=2):
            option = table.find(f"-{letter}")
            attached = place < len(token)
            found.append((option, attached))
            if option.kind not in WITHOUT_VALUE:
                break
    except CommandLineError:
        pass  # the parse with the command's own table reports it
    return found


def _parse(spec: CommandSpec, argv: Sequence[str]) -> CommandLine:
    table = _Table(options_of(spec), spec.usage)
    words: list[str] = []
    given: list[Given] = []
    rest = list(reversed(argv))
    while rest:
        token = rest.pop()
        if token == "--":
            words.extend(reversed(rest))
            break
        if token.startswith("--"):
            name, equals, text = token.partition("=")
            option = table.find(name)
            given.append(_take(table, option, option.name, text if equals else None, rest))
        elif token.startswith("-") and token != "-":
            given.extend(_take_short(table, token, rest))
        else:
            words.append(token)
            continue
        if given[-1].option.kind == "help":
            return CommandLine(spec.name, tuple(words), help=True)
    return CommandLine(spec.name, tuple(words), tuple(given))


def _take_short(table: _Table, token: str, rest: list[str]) -> list[Given]:
    found: list[Given] = []
    for place, letter in enumerate(token[1:], start=2):
        option = table.find(f"-{letter}", token)
        if option.kind in WITHOUT_VALUE:
            found.append(_take(table, option, f"-{letter}", None, rest))
            continue
        found.append(_take(table, option, f"-{letter}", token[place:] or None, rest))
        break
    return found


def _take(table: _Table, option: Option, name: str, text: str | None, rest: list[str]) -> Given:
    """One option with its value, which may be the next argument."""
    if option.kind in WITHOUT_VALUE:
        if text is not None:
            raise CommandLineError(f"{name} option does not take a value", table.usage)
        return Given(option, option.kind != "unflag")
    if text is None and option.kind == "projects":
        return Given(option, ":all:")
    if text is None:
        if not rest:
            raise CommandLineError(f"{name} option requires 1 argument", table.usage)
        text = rest.pop()
    try:
        return Given(option, convert(option, text))
    except ValueError as error:
        raise CommandLineError(f"option {name}: {error}", table.usage) from error
