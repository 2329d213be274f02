"""The grammar of the command line: pip's rules, and our bare form."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from vinstall.cli.options import WITHOUT_VALUE, command_specs, groups_of, options_of
from vinstall.cli.parser import CommandLineError, parse_command_line


def spelled(argv: list[str]) -> list[str]:
    return [str(given) for given in parse_command_line(argv).given]


@pytest.mark.parametrize(
    ("argv", "command", "words"),
    [
        (["torch"], "install", ("torch",)),
        (["torch", "numpy>=2"], "install", ("torch", "numpy>=2")),
        (["install", "list"], "install", ("list",)),
        (["list"], "list", ()),
        (["-r", "list"], "install", ()),
        (["--requirement", "list"], "install", ()),
        (["-rlist"], "install", ()),
        (["--requirement=list", "download"], "download", ()),
        (["-q", "--isolated", "install", "x"], "install", ("x",)),
        (["--timeout", "5", "install", "x"], "install", ("x",)),
        (["--timeout=5", "uninstall", "-y", "x"], "uninstall", ("x",)),
        (["--", "list"], "install", ("list",)),
        (["install", "--", "-x", "--pre"], "install", ("-x", "--pre")),
        (["install", "-", "x"], "install", ("-", "x")),
        (["cache", "--format", "human", "dir"], "cache", ("dir",)),
        (["index", "versions", "torch"], "index", ("versions", "torch")),
        (["./list"], "install", ("./list",)),
        ([], "help", ()),
    ],
)
def test_command_and_words(argv: list[str], command: str, words: tuple[str, ...]) -> None:
    line = parse_command_line(argv)
    assert (line.command, line.words) == (command, words)


@pytest.mark.parametrize(
    ("argv", "given"),
    [
        (["-rFILE", "x"], ["--requirement FILE"]),
        (["-r", "FILE"], ["--requirement FILE"]),
        (["-r=FILE"], ["--requirement =FILE"]),
        (["-qq", "x"], ["--quiet", "--quiet"]),
        (["-Uqr", "FILE"], ["--upgrade", "--quiet", "--requirement FILE"]),
        (["-UrFILE"], ["--upgrade", "--requirement FILE"]),
        (["x", "--pre"], ["--pre"]),
        (["--index-url=https://a.test/?b=c", "x"], ["--index-url https://a.test/?b=c"]),
        (["--index-url", "--pre"], ["--index-url --pre"]),
        (["--no-ind", "x"], ["--no-index"]),
        (["--upgrade-s", "eager"], ["--upgrade-strategy eager"]),
        (["--upgrade"], ["--upgrade"]),
        (["--default-timeout", "7"], ["--timeout 7.0"]),
        (["--no-dependencies"], ["--no-deps"]),
        (["--no-dep"], ["--no-deps"]),
        (["--python-version", "37"], ["--python-version 3.7"]),
        (["--python-version", "3.12.1"], ["--python-version 3.12.1"]),
        (["--python-version", "3"], ["--python-version 3"]),
        (["--no-variant", "x"], ["--no-variant"]),
        (["--no-variant=a,b", "x"], ["--no-variant=a,b"]),
        (["--variant", "torch=cu128"], ["--variant torch=cu128"]),
        (["--prefer", "x"], ["--prefer-binary"]),
        (["--prefer-v", "nvidia"], ["--prefer-variant nvidia"]),
        (["--index-u", "https://a.test"], ["--index-url https://a.test"]),
        (
            ["-C", "a=b", "--config-setting", "c="],
            ["--config-settings a=b", "--config-settings c="],
        ),
    ],
)
def test_options(argv: list[str], given: list[str]) -> None:
    assert spelled(argv) == given


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nope", "x"], "no such option: --nope"),
        (["-Z", "x"], "no such option: -Z"),
        (["-qZ", "x"], "no such option: -Z"),
        (["list", "--upgrade"], "no such option: --upgrade"),
        (["install", "--pyth"], "ambiguous option: --pyth (--python, --python-version?)"),
        (["--upgrade=yes", "x"], "--upgrade option does not take a value"),
        (["-r"], "-r option requires 1 argument"),
        (["--index-url"], "--index-url option requires 1 argument"),
        (["--timeout", "abc"], "option --timeout: invalid floating-point value: 'abc'"),
        (["--retries", "1.5"], "option --retries: invalid integer value: '1.5'"),
        (
            ["--progress-bar", "foo"],
            "option --progress-bar: invalid choice: 'foo' (choose from 'auto', 'on', 'off', 'raw')",
        ),
        (["--python-version", "3.x"], "each version part must be an integer"),
        (["--python-version", "3.1.2.3"], "at most three version parts are allowed"),
        (["-C", "nothing"], "it has to look like KEY=VALUE"),
        (["--variant", "torch"], "it has to look like NAME=LABEL"),
        (["--uploaded-prior-to", "soon"], "moment of ISO 8601"),
        (["install", "--version"], "no such option: --version"),
    ],
)
def test_refusals_are_usage_errors(argv: list[str], message: str) -> None:
    with pytest.raises(CommandLineError) as caught:
        parse_command_line(argv)
    assert message in caught.value.what
    assert caught.value.exit_code == 2
    assert caught.value.usage


def test_ambiguous_prefix_names_every_option() -> None:
    with pytest.raises(CommandLineError) as caught:
        parse_command_line(["--no"])
    for name in ("--no-binary", "--no-index", "--no-variant", "--no-cache-dir"):
        assert name in caught.value.what


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["-h"], "help"),
        (["--help"], "help"),
        (["torch", "--help"], "install"),
        (["install", "-h"], "install"),
        (["list", "-qh"], "list"),
    ],
)
def test_help(argv: list[str], command: str) -> None:
    line = parse_command_line(argv)
    assert line.help
    assert line.command == command


@pytest.mark.parametrize("argv", [["--version"], ["-V"], ["-q", "--version"], ["--version", "x"]])
def test_version(argv: list[str]) -> None:
    assert parse_command_line(argv).version


def test_no_command_has_one_spelling_twice() -> None:
    for spec in command_specs().values():
        names = [name for option in options_of(spec) for name in option.names]
        assert len(names) == len(set(names)), spec.name


def test_every_option_is_described() -> None:
    for spec in command_specs().values():
        for group in groups_of(spec):
            for option in group.options:
                assert option.help.endswith("."), option.name
                assert bool(option.value) == (option.kind not in WITHOUT_VALUE), option.name


_PIP_OPTIONS = """
import json
from pip._internal.commands import commands_dict, create_command
print(json.dumps({
    name: [[o._short_opts + o._long_opts, bool(o.takes_value())]
           for o in create_command(name).parser.option_list_all]
    for name in commands_dict
}))
"""


def test_every_option_of_pip_is_known() -> None:
    answer = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-c", _PIP_OPTIONS],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        pytest.skip("this pip does not tell its options")
    specs = command_specs()
    lacking = []
    for command, options in json.loads(answer.stdout).items():
        if command == "search":
            continue
        known = {name: option for option in options_of(specs[command]) for name in option.names}
        for names, takes_value in options:
            for name in names:
                option = known.get(name)
                if option is None or (option.kind in WITHOUT_VALUE) == takes_value:
                    lacking.append((command, name))
    assert lacking == []


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["install", "--upgrdae", "x"], "--upgrade"),
        (["install", "-upgrade", "x"], "--upgrade"),
        (["install", "--requirements-file=x"], "--requirement"),
        (["uninstall", "--yess"], "--yes"),
    ],
)
def test_a_mistyped_option_is_guessed(argv: list[str], meant: str) -> None:
    with pytest.raises(CommandLineError, match="no such option") as caught:
        parse_command_line(argv)
    assert caught.value.fix == f"Did you mean {meant}?"


def test_nothing_is_guessed_where_nothing_is_alike() -> None:
    with pytest.raises(CommandLineError) as caught:
        parse_command_line(["install", "--zzzz"])
    assert caught.value.fix == ""


def test_help_of_an_action() -> None:
    line = parse_command_line(["provider", "trust", "--help"])
    assert (line.command, line.words, line.help) == ("provider", ("trust",), True)
