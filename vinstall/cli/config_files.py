"""Configuration files and variables → options that were given there, weakest first.

pip's files and ``PIP_*`` are read as pip reads them, with its history (``pip-compat.md`` §3);
``vinstall.toml``, ``[tool.vinstall]`` and ``VINSTALL_*`` are ours and mean what they say. A
parser for a kind of file is imported only where such a file exists.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from vinstall.cli.options import COLLECTED, WITHOUT_VALUE, all_options, command_specs
from vinstall.cli.parser import Given, convert
from vinstall.errors import WrongSettingError, words_of
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from configparser import RawConfigParser

    from vinstall.cli.options import Option

Level = tuple[Given, ...]

_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_FALSE = frozenset({"0", "false", "no", "off", "n", "f"})
_SECTIONS = {"explain": "install", "sync": "install"}
_OUR_ALIASES = {
    "--trusted-providers": "--trust-provider",
    "--enabled-providers": "--enable-provider",
    "--bridge-files": "--bridge-file",
}
_NOT_IN_FILES = frozenset({"--help", "--version", "--isolated"})
_NOT_IN_PROJECTS = frozenset(
    {
        "--trust-provider",
        "--enable-provider",
        "--bridge-file",
        "--python",
        "--cache-dir",
        "--log",
    }
)
"""What a checkout must not decide for whoever works in it: which code runs, and where the
files lie that later runs believe."""
_NO_SETTINGS = frozenset({"VINSTALL_VERSION", "VINSTALL_HELP"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the process finds around it; tests hand in their own.

    Attributes:
        environment: Variables.
        folder: Current folder.
        platform: As ``sys.platform``.
        prefix: As ``sys.prefix``.
        base_prefix: As ``sys.base_prefix``.
        system: Where the system's configuration lies.
    """

    environment: Mapping[str, str]
    folder: str
    platform: str
    prefix: str
    base_prefix: str
    system: str = "/etc"

    @classmethod
    def of_process(cls) -> Surroundings:
        """Those of this process."""
        try:
            folder = str(Path.cwd())
        except OSError:  # the folder was removed under our feet
            folder = os.sep
        return cls(os.environ, folder, sys.platform, sys.prefix, sys.base_prefix)

    @property
    def home(self) -> str:
        """The user's home folder."""
        name = "USERPROFILE" if self.platform == "win32" else "HOME"
        return self.environment.get(name) or str(Path("~").expanduser())

    @property
    def config_name(self) -> str:
        """The name of pip's file."""
        return "pip.ini" if self.platform == "win32" else "pip.conf"

    def user_folder(self, program: str) -> str:
        """Where a program's own configuration of the user lies."""
        if self.platform == "win32":
            roaming = self.environment.get("APPDATA") or str(Path(self.home, "AppData", "Roaming"))
            return str(Path(roaming, program))
        if self.platform == "darwin":
            folder = str(Path(self.home, "Library", "Application Support", program))
            if Path(folder).is_dir():
                return folder
            return str(Path(self.home, ".config", program))
        base = self.environment.get("XDG_CONFIG_HOME") or str(Path(self.home, ".config"))
        return str(Path(base, program))

    def global_folders(self) -> list[str]:
        """Where pip's configuration of the whole system lies, weakest first."""
        if self.platform == "win32":
            data = self.environment.get("PROGRAMDATA") or "C:\\ProgramData"
            return [str(Path(data, "pip"))]
        if self.platform == "darwin":
            return ["/Library/Application Support/pip"]
        shared = self.environment.get("XDG_CONFIG_DIRS") or f"{self.system}/xdg"
        return [
            *(str(Path(place, "pip")) for place in shared.split(":") if place),
            self.system,
        ]


def pip_config_files(
    surroundings: Surroundings, prefix: str, *, isolated: bool = False
) -> dict[str, list[str]]:
    """pip's files by level, weakest first, whether they exist or not.

    Args:
        surroundings: Variables and folders.
        prefix: Prefix of the target environment.
        isolated: Whether the user's own files are left out.

    Returns:
        ``global``, ``user``, ``site`` and ``env`` → paths; all empty with ``os.devnull``.
    """
    named = surroundings.environment.get("PIP_CONFIG_FILE", "")
    files: dict[str, list[str]] = {"global": [], "user": [], "site": [], "env": []}
    if named == os.devnull:
        return files
    name = surroundings.config_name
    files["global"] = [str(Path(place, name)) for place in surroundings.global_folders()]
    if not isolated and not (named and Path(named).exists()):
        old = "pip" if surroundings.platform == "win32" else ".pip"
        files["user"] = [
            str(Path(surroundings.home, old, name)),
            str(Path(surroundings.user_folder("pip"), name)),
        ]
    files["site"] = [str(Path(prefix, name))]
    if named:
        files["env"] = [named]
    return files


def read_pip_file(path: str) -> dict[str, dict[str, str]]:
    """Read one of pip's files: section → key → text as written; empty where there is none.

    Raises:
        WrongSettingError: The file is broken or not text.
    """
    if not Path(path).exists():
        return {}
    parser = open_pip_file(path)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def open_pip_file(path: str) -> RawConfigParser:
    """A parser that holds one of pip's files; empty where there is none.

    Raises:
        WrongSettingError: The file is broken or not text.
    """
    import configparser
    import locale

    class Parser(configparser.RawConfigParser):
        def optionxform(self, optionstr: str) -> str:
            return normalize_key(optionstr)

    encoding = "utf-8" if sys.flags.utf8_mode else locale.getpreferredencoding(False)
    parser = Parser()
    try:
        parser.read(path, encoding=encoding)
    except UnicodeDecodeError as error:
        raise WrongSettingError(
            "Configuration file could not be loaded",
            f"{path} contains characters that are not {encoding}",
            f"Save it as {encoding}, or point PIP_CONFIG_FILE elsewhere.",
        ) from error
    except (configparser.Error, OSError) as error:
        raise WrongSettingError(
            "Configuration file could not be loaded",
            f"{path}: {words_of(error)}",
            "Correct the file, or point PIP_CONFIG_FILE elsewhere.",
        ) from error
    return parser


def normalize_key(key: str) -> str:
    """A key as pip compares it: lower case, dashes, no dashes in front."""
    return key.lower().replace("_", "-").removeprefix("--")


def pip_levels(
    paths: Iterable[str], command: str, options: Mapping[str, Option]
) -> tuple[Level, Level]:
    """What pip's files say: ``[global]`` of all files together, then ``[COMMAND]``.

    A later file beats an earlier one key by key; an empty value takes a weaker one away.

    Raises:
        WrongSettingError: A file is broken, or holds a value that its option can not have.
    """
    wanted = ("global", _SECTIONS.get(command, command))
    merged: dict[str, dict[str, tuple[str, str]]] = {section: {} for section in wanted}
    for path in paths:
        for section, items in read_pip_file(path).items():
            if section in merged:
                source = f"{path} [{section}]"
                merged[section].update((key, (text, source)) for key, text in items.items())
    first, second = (
        tuple(
            given
            for key, (text, source) in merged[section].items()
            for given in _from_pip(options.get(f"--{key}"), text, source)
        )
        for section in wanted
    )
    return first, second


def pip_variables(environment: Mapping[str, str], options: Mapping[str, Option]) -> Level:
    """What ``PIP_*`` says.

    Raises:
        WrongSettingError: A variable holds a value that its option can not have.
    """
    return tuple(
        given
        for name, text in environment.items()
        if name.startswith("PIP_")
        for given in _from_pip(options.get(f"--{normalize_key(name[4:])}"), text, name)
    )


def _from_pip(option: Option | None, text: str, source: str) -> Iterator[Given]:
    if option is None or option.ours or not text or option.kind in ("help", "version"):
        return
    if option.kind in ("flag", "unflag"):
        yield Given(option, _boolean(option, text, source), source)
    elif option.kind == "cache-off":
        _boolean(option, text, source)
        yield Given(option, True, source)  # false turns the cache off as well, as in pip
    elif option.kind == "count":
        yield Given(option, _count(option, text, source), source)
    elif option.kind in COLLECTED and option.kind not in ("control", "setting"):
        for part in text.split():
            yield _converted(option, part, source)
    else:
        yield _converted(option, text, source)


def our_variables(
    environment: Mapping[str, str], options: Mapping[str, Option]
) -> tuple[Level, tuple[str, ...]]:
    """What ``VINSTALL_*`` says, and the names of variables that no option knows.

    Raises:
        WrongSettingError: A variable holds a value that its option can not have.
    """
    given: list[Given] = []
    unknown: list[str] = []
    known: frozenset[str] | None = None
    for name, text in environment.items():
        if not name.startswith("VINSTALL_") or name in _NO_SETTINGS:
            continue
        spelling = f"--{normalize_key(name[9:])}"
        option = options.get(_OUR_ALIASES.get(spelling, spelling))
        if option is None:
            known = _known_spellings() if known is None else known
            if spelling not in known:
                unknown.append(name)
        elif text.strip() and option.name not in _NOT_IN_FILES:
            given.extend(_from_text(option, text.strip(), name))
    return tuple(given), tuple(unknown)


def _from_text(option: Option, text: str, source: str) -> Iterator[Given]:
    """One of our variables: switches mean what they say, lists split at blanks."""
    if option.kind in WITHOUT_VALUE and option.kind != "count":
        yield from _switched(option, _boolean(option, text, source), source)
    elif option.kind == "count":
        yield Given(option, _count(option, text, source), source)
    elif option.kind == "projects":
        word = text.lower()
        names = ":all:" if word in _TRUE else ":none:" if word in _FALSE else text
        yield Given(option, ",".join(re.split(r"[\s,]+", names)), source)
    elif option.kind == "patterns":
        for part in re.split(r"[,\n]", text):
            if part.strip():
                yield Given(option, part.strip(), source)
    elif option.kind in COLLECTED:
        for part in text.split():
            yield _converted(option, part, source)
    else:
        yield _converted(option, text, source)


def _switched(option: Option, on: bool, source: str) -> Iterator[Given]:
    if option.kind == "cache-off":
        if on:
            yield Given(option, True, source)
    else:
        yield Given(option, on if option.kind == "flag" else not on, source)


def _boolean(option: Option, text: str, source: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE and word not in _FALSE:
        raise _wrong(option, text, source)
    return word in _TRUE


def _count(option: Option, text: str, source: str) -> int:
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return int(word in _TRUE)
    if not (word.isascii() and word.isdigit()):
        raise _wrong(option, text, source)
    return int(word)


def _converted(option: Option, text: str, source: str) -> Given:
    try:
        return Given(option, convert(option, text), source)
    except ValueError as error:
        raise WrongSettingError(
            f"{source} does not fit the option {option.name}", str(error), _accepted(option)
        ) from error


def _wrong(option: Option, value: object, source: str) -> WrongSettingError:
    return WrongSettingError(
        f"{source} does not fit the option {option.name}",
        f"{value!r} is not a valid value",
        _accepted(option),
    )


def _accepted(option: Option) -> str:
    if option.kind in ("flag", "unflag", "cache-off"):
        return "Accepted are yes and no, true and false, 1 and 0."
    if option.kind == "count":
        return "Accepted is a whole number, 0 or more."
    if option.choices:
        return f"Accepted are {', '.join(option.choices)}."
    if option.kind == "projects":
        return "Accepted are yes, no, or project names with commas between them."
    kinds = {
        "integer": "a whole number",
        "number": "a number",
        "pair": f"{option.value.upper()}, with blanks between many",
        "setting": "KEY=VALUE",
        "moment": "a moment of ISO 8601, or P3D for three days ago",
        "python-version": "a version like 3.12",
        "patterns": "'namespace', 'namespace :: feature' or 'namespace :: feature :: value'",
    }
    return f"Accepted is {kinds.get(option.kind, 'text')}."


def sources_in_force(
    surroundings: Surroundings, prefix: str, *, isolated: bool = False
) -> tuple[str, ...]:
    """Files that exist and variables that are set, the weakest first, for ``doctor``."""
    levels = pip_config_files(surroundings, prefix, isolated=isolated).values()
    files = [path for level in levels for path in level]
    files += our_files(surroundings, prefix, isolated=isolated)
    names = [] if isolated else sorted(surroundings.environment)
    return (
        *(path for path in files if Path(path).is_file()),
        *(name for name in names if name.startswith("PIP_")),
        *(name for name in names if name.startswith("VINSTALL_")),
    )


def our_files(surroundings: Surroundings, prefix: str, *, isolated: bool) -> list[str]:
    """Our files, weakest first, whether they exist or not; ``pyproject.toml`` only if it does."""
    site = str(Path(prefix, "vinstall.toml"))
    if isolated:
        return [site]
    paths = [str(Path(surroundings.user_folder("vinstall"), "vinstall.toml")), site]
    active = surroundings.environment.get("VIRTUAL_ENV", "")
    if active and Path(active) != Path(prefix):
        paths.append(str(Path(active, "vinstall.toml")))
    for folder in (Path(surroundings.folder), *Path(surroundings.folder).parents):
        project = folder / "pyproject.toml"
        if project.is_file():
            paths.append(str(project))
            break
    return paths


def our_levels(path: str, command: str, options: Mapping[str, Option]) -> tuple[Level, ...]:
    """What one of our files says: its keys for all commands, then the table of the command.

    Raises:
        WrongSettingError: The file is broken, has an unknown key, or a value of a wrong type;
            or a project's ``pyproject.toml`` has a key that only the user may set.
    """
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise WrongSettingError(f"{path} can not be read", words_of(error)) from error
    if path.endswith("pyproject.toml") and b"vinstall" not in content:
        return ()
    table = _parse_toml(path, content)
    where = path
    if path.endswith("pyproject.toml"):
        tool = table.get("tool")
        table = tool.get("vinstall", {}) if isinstance(tool, dict) else {}
        where = f"{path} [tool.vinstall]"
        if not isinstance(table, dict):
            raise WrongSettingError(f"{where} has to be a table")
    known = _known_spellings()
    commands = command_specs()
    section = _SECTIONS.get(command, command)
    levels: list[list[Given]] = [[], []]
    for key, value in table.items():
        items: Iterable[tuple[str, object]] = ((key, value),)
        inside = isinstance(value, dict) and key in commands and key != "variant"
        if isinstance(value, dict) and inside:
            items = value.items()
        for name, item in items:
            spelling = f"--{normalize_key(name)}"
            spelling = _OUR_ALIASES.get(spelling, spelling)
            source = f"{where} {key}.{name}" if inside else f"{where} {name}"
            if spelling not in known or spelling in _NOT_IN_FILES:
                raise WrongSettingError(
                    f"{source} is not a setting of vinstall",
                    f"the file has an unknown key {name!r}",
                    "Keys are the long names of options, like 'index-url' or 'no-variant'.",
                )
            if where != path and spelling in _NOT_IN_PROJECTS:
                raise WrongSettingError(
                    f"{source} can not be set by a project",
                    "it would let whoever wrote the project decide what runs on this machine",
                    f"Take it out of {path}; set it in your own vinstall.toml, as VINSTALL_"
                    f"{spelling[2:].upper().replace('-', '_')}, or on the command line.",
                )
            option = options.get(spelling)
            if option is not None and (not inside or key == section):
                levels[inside].extend(_from_toml(option, item, source))
    return tuple(tuple(level) for level in levels if level)


def _parse_toml(path: str, content: bytes) -> dict[str, object]:
    from importlib import import_module

    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        table: dict[str, object] = toml.loads(content.decode("utf-8"))
    except ValueError as error:  # both kinds: not UTF-8, not TOML
        raise WrongSettingError(f"{path} is not valid TOML", str(error)) from error
    return table


def _from_toml(option: Option, value: object, source: str) -> Iterator[Given]:
    """One value of ours: switches are true or false, lists are arrays of text."""
    kind = option.kind
    if kind == "projects" and isinstance(value, bool):
        yield Given(option, ":all:" if value else ":none:", source)
    elif kind in ("control", "projects") and _texts(value) is not None:
        yield Given(option, ",".join(_texts(value) or ()), source)
    elif kind in WITHOUT_VALUE and kind != "count":
        if not isinstance(value, bool):
            raise _wrong(option, value, source)
        yield from _switched(option, value, source)
    elif kind in COLLECTED or kind == "list":
        texts = _texts(value)
        if texts is None:
            raise _wrong(option, value, source)
        for text in texts:
            yield _converted(option, text, source)
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _wrong(option, value, source)
    elif kind == "count":
        yield Given(option, _count(option, str(value), source), source)
    else:
        yield _converted(option, str(value), source)


def _texts(value: object) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return [f"{name}={item}" for name, item in value.items()]
    return None


def _known_spellings() -> frozenset[str]:
    return frozenset(name for option in all_options() for name in option.names)
