"""``config``: read and write pip's files, so that pip and vinstall agree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.cli.config_files import (
    Surroundings,
    normalize_key,
    open_pip_file,
    pip_config_files,
    read_pip_file,
)
from vinstall.cli.parser import OptionConflictError
from vinstall.cli.precedence import target_prefix
from vinstall.errors import ConfigurationError, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console
    from vinstall.settings import Settings

_COUNTS = {"list": 0, "get": 1, "set": 2, "unset": 1, "edit": 0, "debug": 0}
_IGNORED = frozenset({"version", "help"})


def run_config(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall config ACTION``."""
    action, words = arguments.action, arguments.words
    if len(words) != _COUNTS[action]:
        raise OptionConflictError(f"config {action} takes {_COUNTS[action]} arguments.")
    levels = [level for level in ("global", "user", "site") if arguments.flag(f"{level}_file")]
    if len(levels) > 1:
        raise OptionConflictError("Give one of --user, --site and --global.")
    surroundings = Surroundings.of_process()
    prefix = target_prefix(settings.target.python, surroundings)
    files = pip_config_files(surroundings, prefix, isolated=settings.target.isolated)
    if action == "debug":
        return _debug(files, surroundings, console)
    if action in ("list", "get"):
        found = _merge(files, levels[0] if levels else "", surroundings, listing=action == "list")
        if action == "list":
            for key in sorted(found, key=lambda name: (name.startswith(":"), name)):
                console.result(f"{key}={found[key]!r}")
            return 0
        key = _check_key(words[0])
        if key not in found:
            raise ConfigurationError(f"No such key - {words[0]}")
        console.result(found[key])
        return 0
    path = _file_to_change(files, levels[0] if levels else "", surroundings, prefix)
    if action == "edit":
        return _edit(path, arguments.text("editor"), surroundings)
    _change(path, words)
    console.info(f"Writing to {path}")
    return 0


def _check_key(text: str) -> str:
    key = normalize_key(text)
    if "." not in key:
        raise ConfigurationError(
            "Key does not contain dot separated section and key",
            fix=f"Perhaps you wanted to use 'global.{text}' instead?",
        )
    return key


def _merge(
    files: Mapping[str, list[str]], level: str, surroundings: Surroundings, *, listing: bool
) -> dict[str, str]:
    """``section.key`` → value of all sources, or of one level; variables are always listed."""
    found: dict[str, str] = {}
    for name, paths in files.items():
        if level and name != level and not (level == "user" and name == "env"):
            continue
        for path in paths:
            for section, items in read_pip_file(path).items():
                found.update((f"{section}.{key}", text) for key, text in items.items())
    if listing or not level:
        found.update((f":env:.{key}", text) for key, text in _variables(surroundings))
    return found


def _variables(surroundings: Surroundings) -> list[tuple[str, str]]:
    return [
        (normalize_key(name[4:]), text)
        for name, text in surroundings.environment.items()
        if name.startswith("PIP_") and name[4:].lower() not in _IGNORED
    ]


def _file_to_change(
    files: Mapping[str, list[str]], level: str, surroundings: Surroundings, prefix: str
) -> str:
    named = surroundings.environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        raise ConfigurationError(f"Nothing can be written: PIP_CONFIG_FILE is {named}")
    if not level:
        site = files["site"]
        level = "site" if site and Path(site[0]).exists() else "user"
    if level == "user" and named:
        return named
    paths = [path for path in files[level] if Path(path).exists()] or files[level]
    return paths[-1]


def _change(path: str, words: tuple[str, ...]) -> None:
    section, _, key = _check_key(words[0]).partition(".")
    parser = open_pip_file(path)
    if len(words) == 2:
        if not parser.has_section(section):
            parser.add_section(section)
        parser.set(section, key, words[1])
    else:
        if not (parser.has_section(section) and parser.remove_option(section, key)):
            raise ConfigurationError(f"No such key - {words[0]}")
        if not parser.items(section):
            parser.remove_section(section)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("w", encoding="utf-8") as file:
            parser.write(file)
    except OSError as error:
        raise ConfigurationError(
            f"The configuration file {path} can not be written", error.strerror or str(error)
        ) from error


def _edit(path: str, editor: str, surroundings: Surroundings) -> int:
    import shlex
    import subprocess

    environment = surroundings.environment
    command = editor or environment.get("VISUAL") or environment.get("EDITOR") or ""
    if not command:
        raise ConfigurationError(
            "No editor is known", fix="Name one with --editor, VISUAL or EDITOR."
        )
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        status = subprocess.run([*shlex.split(command), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The editor {command!r} can not be started", words_of(error)
        ) from error
    if status:
        raise ConfigurationError(f"The editor {command!r} ended with status {status}")
    return 0


def _debug(files: Mapping[str, list[str]], surroundings: Surroundings, console: Console) -> int:
    console.result("env_var:")
    for key, text in sorted(_variables(surroundings)):
        console.result(f"  PIP_{key.upper().replace('-', '_')}={text!r}")
    for level in ("env", "global", "site", "user"):
        console.result(f"{level}:")
        for path in files[level]:
            console.result(f"  {path}, exists: {Path(path).exists()}")
            for section, items in read_pip_file(path).items():
                for key, text in items.items():
                    console.result(f"    {section}.{key}: {text}")
    return 0
