"""Bad input: a clear sentence, status 1 or 2, and an environment that is as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.support.faults import (
    Altered,
    HtmlPage,
    Redirect,
    Replaced,
    Reset,
    Status,
    Truncated,
)
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.faults import Fault
    from tests.support.index import SimpleIndex

QUICK = ("--retries", "0", "--timeout", "5")


def refuse(
    environment: Environment, index: SimpleIndex, *arguments: str | Path, status: int = 1
) -> Result:
    """Run an install that has to fail, and see that nothing was changed."""
    before = environment.snapshot()
    result = environment.vinstall(
        "install", *QUICK, "--index-url", index.simple_url, *arguments
    ).check(status)
    assert environment.snapshot() == before
    assert result.stderr.startswith(("ERROR: ", "WARNING: ", "\nUsage", "Usage"))
    assert "Traceback" not in result.stderr
    return result


def said(result: Result, *parts: str) -> None:
    for part in parts:
        assert part in result.stderr, result.stderr


def test_no_such_project(environment: Environment, index: SimpleIndex) -> None:
    result = refuse(environment, index, "missing")
    said(
        result,
        "Could not find a version that satisfies the requirement missing (from versions: none)",
        "ERROR: No matching distribution found for missing",
    )


def test_no_matching_version(environment: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("a", "1.0"), make_wheel("a", "1.5"))
    result = refuse(environment, index, "a>=2")
    said(result, "(from versions: 1.0, 1.5)", "No matching distribution found for a>=2")


def test_no_wheel_for_this_interpreter(environment: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("a", "1.0", tags="cp27-cp27m-win_amd64"))
    index.add(make_wheel("a", "2.0", requires_python=">=4"))
    result = refuse(environment, index, "a")
    said(result, "cp27-cp27m-win_amd64", "requires Python >=4", "a-2.0-py3-none-any.whl")


def test_a_conflict(environment: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("a", requires_dist=["c<2"]), make_wheel("b", requires_dist=["c>=2"]))
    index.add(make_wheel("c", "1.0"), make_wheel("c", "2.0"))
    result = refuse(environment, index, "a", "b")
    said(result, "a 1.0 needs c<2", "b 1.0 needs c>=2", "ResolutionImpossible")


@pytest.mark.parametrize(
    ("fault", "parts"),
    [
        ("no-record", ("RECORD",)),
        ("record-wrong-hash", ("RECORD",)),
        ("record-missing-entry", ("RECORD",)),
        ("record-extra-entry", ("RECORD",)),
        ("parent-path", ("..",)),
        ("absolute-path", ("absolute",)),
        ("backslash-path", ("\\",)),
        ("data-parent-path", ("..",)),
        ("symlink", ("link",)),
        ("duplicate-entry", ("twice",)),
        ("not-a-zip", ("zip",)),
        ("truncated", ()),
        ("corrupt-entry", ()),
        ("wrong-name", ("metadata",)),
        ("wrong-version", ("metadata",)),
        ("no-metadata", ("METADATA",)),
        ("no-wheel-file", ("WHEEL",)),
        ("two-dist-info", ("dist-info",)),
        ("wheel-version-2", ("2.0",)),
        ("not-utf8-record", ("RECORD",)),
        ("null-in-path", ()),
    ],
)
@pytest.mark.parametrize("metadata", [True, False], ids=["metadata file", "no metadata file"])
def test_bad_wheels(
    fault: str,
    parts: tuple[str, ...],
    metadata: bool,
    environment: Environment,
    index: SimpleIndex,
) -> None:
    index.add(make_wheel("a", fault=fault), metadata=metadata)  # type: ignore[arg-type]
    result = refuse(environment, index, "a")
    said(result, "a-1.0-py3-none-any.whl")
    lowered = result.stderr.lower()
    for part in parts:
        assert part.lower() in lowered


@dataclass(frozen=True)
class Server:
    """A way in which a server answers wrongly.

    Attributes:
        path: What is answered wrongly: the page or the file.
        fault: How.
        parts: What has to be said.
    """

    path: str
    fault: Fault
    parts: tuple[str, ...] = field(default=())


PAGE = "/simple/a/"
FILE = "/files/a-1.0-py3-none-any.whl"
SERVERS = {
    "HTML error page instead of the page": Server(
        PAGE, HtmlPage(), ("not a page of a simple index",)
    ),
    "401": Server(PAGE, Status(401), ("401", "127.0.0.1", "netrc")),
    "403": Server(PAGE, Status(403), ("403",)),
    "404": Server(PAGE, Status(404), ("No matching distribution found for a",)),
    "500": Server(PAGE, Status(500), ("500",)),
    "503": Server(PAGE, Status(503), ("503",)),
    "broken JSON": Server(PAGE, Replaced(b'{"files": ['), ("JSON",)),
    "JSON of another kind": Server(PAGE, Replaced(b"[1, 2]"), ()),
    "an unknown version": Server(
        PAGE, Replaced(b'{"meta": {"api-version": "9.0"}, "files": []}'), ("9.0",)
    ),
    "reset": Server(PAGE, Reset(), ("127.0.0.1",)),
    "redirects without end": Server(PAGE, Redirect(PAGE), ("redirect",)),
    "a redirect to a file": Server(PAGE, Redirect("file:///etc/passwd"), ("file:",)),
    "file 404": Server(FILE, Status(404), ("404", "a-1.0-py3-none-any.whl")),
    "file cut, length known": Server(FILE, Truncated(100), ("a-1.0-py3-none-any.whl", "early")),
    "file cut, length unknown": Server(
        FILE, Truncated(100, with_length=False), ("a-1.0-py3-none-any.whl",)
    ),
    "file changed": Server(FILE, Altered(), ("Expected", "Got", "a-1.0-py3-none-any.whl")),
    "an HTML page instead of the file": Server(FILE, HtmlPage(), ("a-1.0-py3-none-any.whl",)),
}


@pytest.mark.parametrize("name", SERVERS)
def test_bad_servers(name: str, environment: Environment, index: SimpleIndex) -> None:
    server = SERVERS[name]
    index.add(make_wheel("a"))
    index.fail(server.path, server.fault)
    result = refuse(environment, index, "a")
    lowered = result.stderr.lower()
    for part in server.parts:
        assert part.lower() in lowered, result.stderr


def test_the_hash_that_the_user_listed(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    wheel = make_wheel("a")
    index.add(wheel, hashes={})
    listed = "0" * 64
    file = tmp_path / "requirements.txt"
    file.write_text(f"a==1.0 --hash=sha256:{listed}\n")
    result = refuse(environment, index, "-r", file)
    said(result, f"Expected sha256 {listed}", f"Got        {wheel.sha256}")


def test_only_other_hashes_are_listed(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    index.add(make_wheel("a"))
    file = tmp_path / "requirements.txt"
    file.write_text(f"a==1.0 --hash=sha256:{'0' * 64}\n")
    result = refuse(environment, index, "-r", file)
    said(result, "DO NOT MATCH THE HASHES", f"Expected sha256 {'0' * 64}")


@pytest.mark.parametrize(
    ("arguments", "status", "parts"),
    [
        ([], 1, ("at least one requirement",)),
        (["a=1"], 1, ("Invalid requirement: 'a=1'",)),
        (["a>>1"], 1, ("Invalid requirement",)),
        (["./nowhere"], 1, ("./nowhere",)),
        (["nowhere.whl"], 1, ("nowhere.whl",)),
        (["https://127.0.0.1:1/a-1.0-py3-none-any.whl"], 1, ("127.0.0.1",)),
        (["-r", "nowhere.txt"], 1, ("Could not open requirements file", "nowhere.txt")),
        (["-c", "nowhere.txt", "a"], 1, ("Could not open constraint file",)),
        (["a", "--nonsense"], 2, ("no such option: --nonsense",)),
        (["a", "--timeout", "soon"], 2, ("--timeout", "soon")),
        (["a", "--profile", "nowhere.toml"], 1, ("nowhere.toml",)),
        (["a", "--variant", "a"], 2, ("--variant",)),
        (["a", "--prefer-variant", "A B"], 2, ("--prefer-variant",)),
        (["a; python_version >= "], 1, ("Invalid requirement",)),
        (["-f", "nowhere", "--no-index", "a"], 1, ("nowhere",)),
        (["--group", "nowhere"], 1, ("pyproject.toml",)),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    status: int,
    parts: tuple[str, ...],
    environment: Environment,
    index: SimpleIndex,
) -> None:
    index.add(make_wheel("a"))
    result = refuse(environment, index, *arguments, status=status)
    said(result, *parts)


def test_a_wheel_for_another_platform_given_directly(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    path = make_wheel("a", tags="cp27-cp27m-win_amd64").write_to(tmp_path)
    result = refuse(environment, index, path)
    said(result, "is not a supported wheel on this platform", "cp27-cp27m-win_amd64")


def test_a_variant_wheel_given_directly_names_the_unmet_property(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    wheel = make_wheel("a", label="x", properties="nobody :: knows :: this")
    result = refuse(environment, index, wheel.write_to(tmp_path))
    said(result, "nobody :: knows :: this")


@pytest.mark.parametrize("lines", ["a\nb=1\n", "a --nope\n", "-r\n", "a==1 --hash=sha256:x\n"])
def test_bad_lines_are_named_with_their_file(
    lines: str,
    environment: Environment,
    index: SimpleIndex,
    tmp_path: Path,
    make_index: Callable[..., SimpleIndex],
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(lines)
    result = refuse(environment, index, "-r", file)
    number = 2 if "\nb" in lines else 1
    said(result, f"{file}:{number}")
