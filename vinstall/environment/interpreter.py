"""Which Python to install for, what it is, and whether it may be changed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from vinstall.digests import hex_of
from vinstall.distributions.target import Target
from vinstall.errors import (
    ExternallyManagedError,
    InterpreterError,
    VirtualEnvironmentRequiredError,
    words_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from vinstall.events import Observer
    from vinstall.settings import TargetSettings

_FORMAT = 4
_PROBE_SECONDS = 30
_OLDEST = (3, 8)
_PYTHON_VARIABLES = ("PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONPATH")
_TOOL_RECEIPTS = ("pipx_metadata.json", "uv-receipt.toml")


def find_python(settings: TargetSettings, environment: Mapping[str, str]) -> str:
    """The interpreter to install for, by the rule of ``pip-compat.md`` §5.

    ``--python``; else the running interpreter, except where vinstall sits in an environment
    made for tools (pipx, uv tool) and ``VIRTUAL_ENV`` names another one.

    Raises:
        InterpreterError: What was named is no interpreter and no environment.
    """
    if settings.python:
        return _python_of(settings.python)
    active = environment.get("VIRTUAL_ENV", "")
    in_tool = any(Path(sys.prefix, name).exists() for name in _TOOL_RECEIPTS)
    if in_tool and active and Path(active).is_dir():
        return _python_of(active)
    return sys.executable


def _python_of(text: str) -> str:
    """The interpreter that a path or a name stands for."""
    path = Path(text).expanduser()
    try:
        path.stat()
    except PermissionError as error:
        raise InterpreterError(
            f"The Python interpreter {text} can not be used",
            words_of(error),
            "Name one that you may read, or run the command as its owner.",
        ) from error
    except (OSError, ValueError):
        pass
    if path.is_dir():
        for name in ("bin/python", "Scripts/python.exe", "bin/python3", "python.exe"):
            if (path / name).exists():
                return str(path / name)
        raise InterpreterError(
            f"{text} is not an environment",
            "there is no Python in it",
            "Name a virtual environment or an interpreter.",
        )
    if path.exists():
        return os.path.abspath(path)  # noqa: PTH100 (links must not be followed)
    if os.sep not in text:
        import shutil

        found = shutil.which(text)
        if found:
            return found
    import shlex

    raise InterpreterError(
        f"Could not locate Python interpreter {text}",
        "there is no such file or command",
        f"To make a virtual environment there: python3 -m venv {shlex.quote(text)}"
        if os.sep in text and not path.name.startswith("python")
        else "Name a virtual environment or an interpreter.",
    )


def probe_target(executable: str, cache_dir: str, observer: Observer) -> Target:
    """The facts of an interpreter.

    The running interpreter answers in this process; another one is asked by a child, whose
    answer is kept on disk until the interpreter or its environment changes.

    Args:
        executable: Path of the interpreter.
        cache_dir: Folder of the cache; empty for none.
        observer: Takes nothing today; kept for notes.

    Raises:
        InterpreterError: It can not run, is no Python, or is too old.
    """
    del observer
    path = _cache_path(executable, cache_dir)
    if path is not None:
        kept = _read_kept(path)
        if kept is not None:
            return kept
    shape = None if _is_running(executable) else Shape.of(executable, cache_dir)
    if shape is not None:
        like = shape.find()
        if like is not None:
            if path is not None:
                _keep(path, like)
            return like
    facts = _probe_here() if _is_running(executable) else _probe_child(executable)
    target = _make_target(facts)
    if shape is not None and _is_same_file(executable, target.executable):
        shape.keep(target)
    if path is not None and _is_same_file(executable, target.executable):
        _keep(path, target)
    return target


def _is_same_file(executable: str, told: str) -> bool:
    """Whether an interpreter is what it was called; a shim, whose answer may change, is not."""
    try:
        return Path(executable).samefile(told)
    except OSError:
        return False


def _is_running(executable: str) -> bool:
    return os.path.abspath(executable) == os.path.abspath(sys.executable)  # noqa: PTH100


def _probe_here() -> dict[str, Any]:
    from vinstall.children import target_probe

    facts: dict[str, Any] = target_probe.probe()
    return facts


def _probe_child(executable: str) -> dict[str, Any]:
    import json
    import subprocess

    script = Path(__file__).parent.parent / "children" / "target_probe.py"
    mark = f"vinstall-target-probe-{os.urandom(8).hex()}:"
    try:
        result = subprocess.run(
            [executable, "-I", str(script), mark],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InterpreterError(f"{executable} can not be run", words_of(error)) from error
    _, found, answer = result.stdout.partition(f"\n{mark}".encode())
    if found:
        try:
            facts: dict[str, Any] = json.loads(answer.splitlines()[0])
            facts["facts"]["cache_tag"], facts["version"]
            return facts
        except (ValueError, LookupError, TypeError):
            pass
    _refuse_old(executable, _ask_version(executable))
    text = result.stderr.decode("utf-8", "replace").strip().splitlines()
    raise InterpreterError(
        f"{executable} is not a Python that can be installed for",
        text[-1] if text else "it did not answer",
    )


def _ask_version(executable: str) -> str:
    """The version of a Python that does not understand the probe; empty for other programs."""
    import subprocess

    try:
        result = subprocess.run(
            [executable, "-c", "import sys; print('Python %d.%d.%d' % sys.version_info[:3])"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(rb"^Python (\d+\.\d+\.\d+)\s*$", result.stdout, re.MULTILINE)
    return found[1].decode("ascii") if found else ""


def _refuse_old(executable: str, version: str) -> None:
    if version and tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        raise InterpreterError(
            f"{executable} is Python {version}", "vinstall installs for Python 3.8 and newer"
        )


def _make_target(facts: dict[str, Any]) -> Target:
    from vinstall.environment.tags import list_tags

    _refuse_old(facts["executable"], facts["version"])
    major, minor = (int(part) for part in facts["version"].split(".")[:2])
    known = {**facts, "search_path": tuple(facts["search_path"])}
    tags = list_tags((major, minor), facts["implementation"], facts["facts"])
    return Target(**known, tags=tags)


def _cache_path(executable: str, cache_dir: str) -> Path | None:
    """Where the facts are kept: a name that changes when the interpreter changes."""
    if not cache_dir:
        return None
    try:
        real = os.stat(executable)  # noqa: PTH116
    except OSError:
        return None
    parts = [str(_FORMAT), os.path.abspath(executable), os.path.realpath(executable)]  # noqa: PTH100
    parts += [str(real.st_mtime_ns), str(real.st_size), os.name, sys.platform]
    home = Path(executable).parent.parent
    for path in (home / "pyvenv.cfg", Path(executable).parent / "pyvenv.cfg"):
        try:
            parts.append(str(path.stat().st_mtime_ns))
        except OSError:
            parts.append("-")
    parts += [os.environ.get(name, "") for name in _PYTHON_VARIABLES]
    parts += [os.path.expanduser("~"), str(int(_is_running(executable))), *_describe_system()]  # noqa: PTH111
    return Path(cache_dir) / "interpreters-v1" / f"{hex_of(chr(0).join(parts))[:32]}.json"


class Shape:
    """What a plain virtual environment has in common with all others of its kind.

    Two environments of one base interpreter differ in nothing but their place, as long as
    nothing in them runs when Python starts: then what is known of one, with another place
    in it, is known of the other, and no child has to be asked.

    Args:
        home: The folder of the environment.
        path: Where the facts of its kind are kept.
    """

    _PLACE = "\0"
    _STARTED = ("sitecustomize", "usercustomize", "_manylinux")

    def __init__(self, home: str, path: Path) -> None:
        self._home = home
        self._path = path

    @classmethod
    def of(cls, executable: str, cache_dir: str) -> Shape | None:
        """The kind of the environment of an interpreter; ``None`` where it is not plain."""
        executable = os.path.abspath(executable)  # noqa: PTH100 (links must not be followed)
        home = Path(executable).parent.parent
        if not cache_dir or sys.platform == "win32":
            return None
        try:
            lines = (home / "pyvenv.cfg").read_text("utf-8").splitlines()
            real = os.stat(executable)  # noqa: PTH116
            folders = [
                folder
                for folder in home.glob("lib*/python*/site-packages")
                if not folder.parent.parent.is_symlink()
            ]
            names = [entry.name for folder in folders for entry in os.scandir(folder)]
        except (OSError, UnicodeDecodeError):
            return None
        if len(folders) != 1 or any(
            name.endswith((".pth", ".start")) or name.startswith(cls._STARTED) for name in names
        ):
            return None
        configured = {}
        for line in lines:
            key, _, value = line.partition("=")
            if key.strip().lower() not in ("command", "prompt"):
                configured[key.strip().lower()] = value.strip()
        if configured.get("include-system-site-packages", "").lower() != "false":
            return None
        place = [os.path.relpath(path, home) for path in (executable, str(folders[0]))]
        parts = [str(_FORMAT), *place, os.path.realpath(executable), str(real.st_mtime_ns)]
        parts += [str(real.st_size), *(f"{key}={value}" for key, value in configured.items())]
        parts += [os.environ.get(name, "") for name in _PYTHON_VARIABLES]
        parts += [os.path.expanduser("~"), *_describe_system()]  # noqa: PTH111
        name = f"{hex_of(chr(0).join(parts))[:32]}.json"
        return cls(str(home), Path(cache_dir) / "environments-v1" / name)

    def find(self) -> Target | None:
        """The facts, if one of the kind was asked before."""
        import json

        try:
            facts = json.loads(self._path.read_bytes())
            facts = _replace_start(facts, self._PLACE, self._home)
            return _read_target(facts)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, target: Target) -> None:
        """Keep the facts of an environment for all of its kind."""
        from dataclasses import asdict

        facts = asdict(target)
        if facts["prefix"] == self._home and facts["is_virtual"]:
            _write_facts(self._path, _replace_start(facts, self._home, self._PLACE))


def _replace_start(value: Any, old: str, new: str) -> Any:
    """The same facts with another folder at the beginning of paths."""
    if isinstance(value, str):
        is_below = value == old or value.startswith(f"{old}{os.sep}")
        return f"{new}{value[len(old) :]}" if is_below else value
    if isinstance(value, dict):
        return {name: _replace_start(one, old, new) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_start(one, old, new) for one in value]
    return value


def _describe_system() -> list[str]:
    """What changes when the system below an interpreter does: kernel and C library."""
    if sys.platform == "win32":
        return []
    system = os.uname()
    parts = [system.release, system.version, system.machine]
    try:
        parts.append(os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (ValueError, OSError):
        parts.append("")
    return parts


def _read_kept(path: Path) -> Target | None:
    import json

    try:
        return _read_target(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read_target(facts: dict[str, Any]) -> Target:
    return Target(
        **{**facts, "search_path": tuple(facts["search_path"]), "tags": tuple(facts["tags"])}
    )


def _keep(path: Path, target: Target) -> None:
    from dataclasses import asdict

    _write_facts(path, asdict(target))


def _write_facts(path: Path, facts: object) -> None:
    import json

    from vinstall.files import write_atomically

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(facts).encode())
    except OSError:
        return


def foreign_target(target: Target, settings: TargetSettings) -> Target:
    """The target for ``--platform``, ``--python-version``, ``--implementation``, ``--abi``.

    What is not named stays as it is, as in pip; markers follow the named Python version only.
    """
    from vinstall.environment.tags import compose_tags, expand_platform, iter_platforms
    from vinstall.values import replace

    version = target.version
    major, minor = target.python_version
    tagged: tuple[int, ...] = (major, minor)
    if settings.python_version:
        version = settings.python_version
        parts = version.split(".")
        if len(parts) == 1 and len(parts[0]) > 1:
            parts = [parts[0][0], parts[0][1:]]
        major, minor = int(parts[0]), int(parts[1]) if len(parts) > 1 else 0
        tagged = (major, minor) if len(parts) > 1 else (major,)
        version = ".".join([str(major), str(minor), *(parts[2:] or ["0"])])
    platforms: list[str] = []
    for platform in settings.platforms:
        platforms += expand_platform(platform)
    if not platforms:
        platforms = list(iter_platforms(target.facts))
    facts = dict(target.facts)
    if settings.python_version or settings.platforms:
        facts["abi_flags"] = ""
    if settings.platforms:
        facts["platform"] = ", ".join(settings.platforms)
    markers = dict(target.markers)
    markers.update(python_version=f"{major}.{minor}", python_full_version=version)
    return replace(
        target,
        version=version,
        markers=markers,
        tags=compose_tags(
            tagged,
            settings.implementation or target.implementation,
            platforms,
            facts,
            settings.abis,
        ),
        facts=facts,
        is_foreign=True,
    )


def check_guards(target: Target, settings: TargetSettings, environment: Mapping[str, str]) -> None:
    """See that the environment may be changed.

    Implements PEP 668, and pip's ``--require-virtualenv``.

    Raises:
        ExternallyManagedError: The system manages it.
        VirtualEnvironmentRequiredError: One is required and this is none.
    """
    del environment
    if settings.require_virtualenv and not target.is_virtual:
        raise VirtualEnvironmentRequiredError("Could not find an activated virtualenv (required).")
    elsewhere = settings.target_dir or settings.prefix or settings.root
    if elsewhere or settings.break_system_packages or target.is_virtual:
        return
    marker = Path(target.stdlib, "EXTERNALLY-MANAGED")
    if not marker.is_file():
        return
    raise ExternallyManagedError(
        "This environment is externally managed",
        read_managed_text(marker),
        "Make a virtual environment (python3 -m venv .venv) and name it (--python .venv). "
        "To change this one all the same, add --break-system-packages.",
    )


def read_managed_text(marker: Path) -> str:
    """The ``Error`` text of an EXTERNALLY-MANAGED file (PEP 668)."""
    import configparser
    import locale

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(marker, encoding="utf-8")
        section = dict(parser["externally-managed"])
    except (configparser.Error, KeyError, UnicodeDecodeError):
        return ""
    language = (locale.getlocale(locale.LC_MESSAGES)[0] if os.name != "nt" else None) or ""
    for key in (f"error-{language}".lower(), f"error-{language.partition('_')[0]}", "error"):
        if section.get(key):
            return section[key]
    return ""


def install_paths(target: Target, settings: TargetSettings) -> tuple[Mapping[str, str], str]:
    """Where an install writes, and a sentence where that is not the plain environment.

    Implements pip's ``--target``, ``--prefix``, ``--root``, ``--user``, and its fall-back to
    the user scheme where the environment can not be written.

    Raises:
        InterpreterError: ``--user`` was given and is not possible here.
    """
    if settings.user and (settings.prefix or settings.target_dir):
        raise InterpreterError(
            f"Can not combine '--user' and '{'--prefix' if settings.prefix else '--target'}'",
            "they imply different installation locations",
        )
    paths = dict(target.paths)
    note = ""
    if settings.target_dir:
        paths = _target_paths(target, os.path.abspath(settings.target_dir))  # noqa: PTH100
    elif settings.prefix:
        paths = _prefix_paths(target, os.path.abspath(settings.prefix))  # noqa: PTH100
    elif settings.user:
        paths = dict(_user_paths(target))
    elif (
        settings.user is None
        and not settings.root
        and not target.is_virtual
        and target.user_paths
        and not _is_writable(paths)
    ):
        paths = dict(target.user_paths)
        note = "Defaulting to user installation because normal site-packages is not writeable"
    if settings.root:
        root = os.path.abspath(settings.root)  # noqa: PTH100
        paths = {name: _below(root, path) for name, path in paths.items()}
    return paths, note


def _target_paths(target: Target, folder: str) -> dict[str, str]:
    """Scheme paths of ``--target``: pip's home scheme, its libraries moved to the top."""
    headers = Path(folder, "include", "python")
    if target.is_virtual:
        major, minor = target.python_version
        headers = Path(folder, "include", "site", f"python{major}.{minor}")
    return {
        "purelib": folder,
        "platlib": folder,
        "scripts": str(Path(folder, "bin")),
        "data": folder,
        "headers": str(headers),
    }


def _prefix_paths(target: Target, prefix: str) -> dict[str, str]:
    """Scheme paths below ``--prefix``."""
    return {
        name: os.path.normpath(os.path.join(prefix, target.facts[f"prefix_{name}"]))  # noqa: PTH118
        for name in target.paths
    }


def _user_paths(target: Target) -> Mapping[str, str]:
    if target.user_paths:
        return target.user_paths
    why = (
        "User site-packages are not visible in this virtualenv."
        if target.is_virtual
        else "User site-packages are disabled for this Python."
    )
    raise InterpreterError(f"Can not perform a '--user' install. {why}")


def _below(root: str, path: str) -> str:
    """A path put below ``--root``."""
    return os.path.join(root, os.path.splitdrive(path)[1].lstrip("/\\"))  # noqa: PTH118


def _is_writable(paths: Mapping[str, str]) -> bool:
    """Whether the folders of packages, or what they will be made in, can be written."""
    for name in ("purelib", "platlib"):
        path = Path(paths[name])
        while not path.is_dir() and path != path.parent:
            path = path.parent
        if not _can_write(path):
            return False
    return True


def _can_write(folder: Path) -> bool:
    """Whether files can be made in a folder; Windows tells only when it is tried."""
    if sys.platform == "win32":
        import tempfile

        try:
            with tempfile.TemporaryFile(dir=folder):
                return True
        except OSError:
            return False
    return os.access(folder, os.W_OK)
