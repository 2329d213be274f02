"""A world in which pip and vinstall run one after the other and leave comparable traces.

Both tools get the very same paths: environment, home and work folder are restored from a
template before each run, so what they write can be compared byte by byte.
"""

from __future__ import annotations

import compileall
import functools
import json
import os
import re
import shlex
import shutil
import sys
import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.support.environments import (
    ROOT,
    Environment,
    Result,
    isolated_variables,
    make_environment,
    run_command,
)
from tests.support.fork_server import ForkServer, can_serve
from tests.support.index import SimpleIndex
from tests.support.sdist import make_sdist, source_tree, write_source_tree
from tests.support.wheels import make_wheel, metadata_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Tool = Literal["pip", "vinstall"]
Output = Literal["lines", "text", "json", "report", "none"]


@dataclass(frozen=True)
class Case:
    """One command line that both tools run.

    Attributes:
        name: Unique, in kebab case; the part before the first ``.`` is a topic.
        line: What follows the program's name; ``{simple}`` and other places are filled in.
        start: Name of the environment to begin with.
        variables: More variables.
        files: Files of the work folder, path to text; ``home:`` and ``env:`` begin paths of
            the other two folders. Places are filled in there, too.
        output: How stdout is compared: the lines that scripts read, as a whole, as JSON, as
            an installation report (in ``report.json``), or not at all.
        stdin: Text for standard input.
    """

    name: str
    line: str
    start: str = "empty"
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    output: Output = "lines"
    stdin: str = ""


@dataclass(frozen=True)
class Difference:
    """A difference between the two that is meant.

    Attributes:
        aspect: Regular expression for ``status``, ``file``, ``record``, ``line``, ``text``,
            ``error`` or ``report``.
        pattern: Regular expression, searched in the text of the difference.
        reason: Why.
        cases: Regular expression that the names of cases have to match in full.
    """

    aspect: str
    pattern: str
    reason: str
    cases: str = r".*"


@dataclass(frozen=True)
class Trace:
    """What one run left behind."""

    result: Result
    files: Mapping[str, bytes]


LINES = re.compile(
    r"""
    \s*(
      Successfully\ (installed|uninstalled|downloaded|built)\b.*
    | Would\ (install|remove)\b.*
    | Requirement\ already\ satisfied:.*
    | Saved\ .*
    | File\ was\ already\ downloaded\ .*
    | Looking\ in\ (indexes|links):.*
    | Found\ existing\ installation:.*
    | Uninstalling\ .*
    | Attempting\ uninstall:.*
    | Not\ uninstalling\ .*
    | Ignoring\ .*
    | Processing\ .*
    | Obtaining\ .*
    | Installing\ collected\ packages:.*
    | Files\ removed:.*
    | No\ broken\ requirements\ found.
    )
    """,
    re.VERBOSE,
)
"""Lines of stdout that scripts and log scanners read."""

ERRORS = re.compile(
    r"""
    ( ERROR:\ No\ matching\ distribution\ found\ for.*
    | ERROR:\ Could\ not\ find\ a\ version\ that\ satisfies\ the\ requirement\ [^(]*
    | ERROR:\ ResolutionImpossible
    | ERROR:\ Could\ not\ open\ requirements\ file
    | ERROR:\ Invalid\ requirement:
    | ERROR:\ unknown\ command.*
    | ERROR:\ .*is\ not\ a\ supported\ wheel\ on\ this\ platform
    | ERROR:\ Can\ not\ perform\ a\ '--user'\ install.*
    | ERROR:\ You\ must\ give\ at\ least\ one\ requirement\ to\ \w+
    | ERROR:\ Hashes\ are\ required\ in\ --require-hashes\ mode
    | ERROR:\ In\ --require-hashes\ mode,\ all\ requirements\ must\ have
    | ERROR:\ THESE\ PACKAGES\ DO\ NOT\ MATCH\ THE\ HASHES
    | ERROR:\ Could\ not\ find\ an\ activated\ virtualenv.*
    | \s*Expected\ sha256.*
    | \s*Got\ +[0-9a-f]{64}
    | ERROR:\ pip's\ dependency\ resolver\ does\ not\ currently.*
    | .*\ requires\ .*,\ but\ you\ have\ .*\ which\ is\ incompatible.
    | .*\ requires\ .*,\ which\ is\ not\ installed.
    | WARNING:\ Skipping\ .*\ as\ it\ is\ not\ installed.
    | WARNING:\ .*does\ not\ provide\ the\ extra.*
    | WARNING:\ The\ candidate\ selected\ for\ download\ or\ install\ is\ a\ yanked\ version
    | WARNING:\ Package\(s\)\ not\ found:.*
    | WARNING:\ Target\ directory\ .*
    | WARNING:\ Requirement\ .*\ looks\ like\ a\ filename.*
    | WARNING:\ Requirements?\ file\ .*
    | error:\ externally-managed-environment
    | (no\ such\ option|ambiguous\ option|.*option\ requires\ 1\ argument).*
    )
    """,
    re.VERBOSE,
)
"""Lines of stderr that say what went wrong in words that people and scripts look for."""


def make_packages() -> dict[str, list[Any]]:
    """Everything on the main index and on the extra one."""
    tool_data = {"scripts/tool-script": "#!python\nprint('script')\n", "data/share/tool.txt": "x\n"}
    main = [
        *(make_wheel("alpha", version) for version in ("1.0", "1.1", "2.0", "2.1a1")),
        make_wheel("beta", "1.0", requires_dist=["alpha>=1.0"]),
        make_wheel("beta", "2.0", requires_dist=["alpha>=2"]),
        make_wheel("gamma", "1.0", requires_dist=["alpha<2", "beta"]),
        make_wheel(
            "delta",
            "1.0",
            requires_dist=["alpha; extra == 'fast'", "beta; extra == 'slow'"],
            extras=["fast", "slow"],
        ),
        make_wheel(
            "tool",
            "1.0",
            entry_points={"console_scripts": ["tool = tool:main", "tool-two = tool:main [x]"]},
            data=tool_data,
        ),
        make_wheel("pulled", "1.0"),
        make_wheel("early", "1.0a1"),
        make_wheel("early", "1.0b2"),
        make_wheel("picky", "1.0"),
        make_wheel("picky", "2.0", requires_python=">=3.99"),
        make_wheel("never", "1.0", requires_python="<3"),
        make_wheel("local", "1.0"),
        make_wheel("local", "1.0+cpu"),
        make_wheel("Mixed.Name_pkg", "1.0"),
        make_wheel("conflict-a", "1.0", requires_dist=["alpha==1.0"]),
        make_wheel("conflict-b", "1.0", requires_dist=["alpha==2.0"]),
        make_wheel("back", "1.0", requires_dist=["alpha>=1"]),
        make_wheel("back", "2.0", requires_dist=["alpha<1.1", "beta>=2"]),
        make_wheel("built", "1.0", build="1", files={"built.py": "BUILD = 1\n"}),
        make_wheel("built", "1.0", build="2", files={"built.py": "BUILD = 2\n"}),
        *(
            make_wheel("native", "1.0", tags=tag, files={"native.py": f"TAG = '{tag}'\n"})
            for tag in (
                "cp311-cp311-manylinux_2_17_x86_64",
                "cp311-cp311-win_amd64",
                "cp310-cp310-macosx_11_0_arm64",
                "py3-none-any",
            )
        ),
        make_wheel("foreign", "1.0", tags="cp311-cp311-win_amd64"),
        make_wheel("lacking", "1.0", requires_dist=["does-not-exist"]),
        make_wheel("marked", "1.0", requires_dist=["alpha; python_version < '3'", "tool"]),
        make_wheel(
            "described",
            "1.0",
            headers=[
                ("Home-page", "https://example.org/described"),
                ("Author", "The Authors"),
                ("Author-email", "authors@example.org"),
                ("License", "MIT"),
                ("Classifier", "Programming Language :: Python"),
                ("Project-URL", "Source, https://example.org/source"),
                ("Keywords", "one,two"),
            ],
        ),
        make_wheel("not-zip", "1.0", fault="not-a-zip"),
        make_wheel("misnamed", "1.0", fault="wrong-name"),
        make_wheel("newer-format", "1.0", fault="wheel-version-2"),
        make_wheel("pip", "99.0"),
        make_wheel("setuptools", "99.0"),
        make_wheel(
            "self-ref",
            "1.0",
            extras=["all", "fast"],
            requires_dist=["self-ref[fast]; extra == 'all'", "alpha; extra == 'fast'"],
        ),
        make_wheel("url-needs", "1.0"),
        make_wheel(
            "layout",
            "1.0",
            entry_points={"gui_scripts": ["layout-window = layout:main"]},
            data={
                "headers/layout.h": "h\n",
                "data/etc/layout/x.cfg": "x\n",
                "purelib/layout_pure.py": "pure\n",
                "platlib/layout_plat.py": "plat\n",
            },
        ),
        make_wheel("clash-a", "1.0", files={"clash.py": "A = 1\n"}),
        make_wheel("clash-b", "1.0", files={"clash.py": "B = 1\n"}),
        make_wheel("circle-a", "1.0", requires_dist=["circle-b"]),
        make_wheel("circle-b", "1.0", requires_dist=["circle-a"]),
        make_sdist("source", "1.0", requires_dist=["alpha"]),
        make_wheel("either", "1.0"),
        make_sdist("either", "1.1"),
        make_sdist("broken-build", "1.0", fault="build-fails"),
    ]
    extra = [make_wheel("alpha", "3.0"), make_wheel("only-extra", "1.0")]
    return {"main": main, "extra": extra}


class World:
    """Indexes and folders that all cases share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        compileall.compile_dir(ROOT / "vinstall", quiet=2)
        packages = make_packages()
        self.index, self.extra = SimpleIndex(), SimpleIndex()
        self.index.add(*packages["main"])
        self.index.add(make_wheel("pulled", "1.1"), yanked="it was bad")
        self.extra.add(*packages["extra"])
        self.private = SimpleIndex(credentials=("user", "p@ss"))
        self.private.add(make_wheel("alpha", "5.0"))
        self.flat = folder / "flat"
        self.flat.mkdir()
        self.files: dict[str, Any] = {one.filename: one for one in packages["main"]}
        for one in (
            make_wheel("alpha", "4.0"),
            make_wheel("flat-only", "1.0"),
            make_sdist("flat-source", "1.0"),
        ):
            one.write_to(self.flat)
        for name in (
            "alpha-1.0-py3-none-any.whl",
            "beta-2.0-py3-none-any.whl",
            "source-1.0.tar.gz",
            "foreign-1.0-cp311-cp311-win_amd64.whl",
            "not_zip-1.0-py3-none-any.whl",
            "tool-1.0-py3-none-any.whl",
        ):
            wheels = folder / "files"
            wheels.mkdir(exist_ok=True)
            self.files[name].write_to(wheels)
        self._local = threading.local()
        self._count = 0
        self._benches: list[Bench] = []
        self._lock = threading.Lock()

    def __enter__(self) -> World:
        self.index.start()
        self.extra.start()
        self.private.start()
        return self

    def __exit__(self, *_: object) -> None:
        for bench in self._benches:
            bench.close()
        self.index.close()
        self.extra.close()
        self.private.close()

    def places(self, bench: Bench) -> dict[str, str]:
        """What ``{…}`` in a case stands for."""
        found = {
            "simple": self.index.simple_url,
            "extra": self.extra.simple_url,
            "host": f"127.0.0.1:{self.index.port}",
            "private": self.private.simple_url,
            "private_with_password": self.private.url_with_credentials("user", "p@ss"),
            "private_with_user": self.private.simple_url.replace("://", "://user@"),
            "files_url": self.index.file_url("alpha-1.0-py3-none-any.whl").rpartition("/")[0],
            "flat": str(self.flat),
            "files": str(self.folder / "files"),
            "env": str(bench.environment.path),
            "python": str(bench.environment.python),
            "work": str(bench.work),
            "home": str(bench.home),
            "site": str(bench.environment.site_packages),
        }
        for name, one in self.files.items():
            found["sha256_" + re.sub(r"\W", "_", name)] = one.sha256
        return found

    def run(self, case: Case) -> dict[Tool, Trace]:
        """Run a case with both tools, on this thread's own bench."""
        bench: Bench | None = getattr(self._local, "bench", None)
        if bench is None:
            with self._lock:
                self._count += 1
                folder = self.folder / f"bench{self._count}"
            bench = self._local.bench = Bench(self, folder)
            self._benches.append(bench)
        return {"pip": bench.run("pip", case), "vinstall": bench.run("vinstall", case)}


class Bench:
    """One set of folders; used by one thread."""

    def __init__(self, world: World, folder: Path) -> None:
        folder.mkdir()
        self.world = world
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "work"
        self.environment: Environment = make_environment(folder / "environment", self.home)
        self._servers: dict[Tool, ForkServer] = {}
        self._templates: dict[str, Path] = {}
        self._keep("empty")

    def _keep(self, start: str) -> None:
        template = self.folder / "templates" / start
        shutil.copytree(self.environment.path, template, symlinks=True)
        self._templates[start] = template

    def restore(self, start: str) -> None:
        """Put all folders into the state in which a case begins."""
        if start not in self._templates:
            self.restore("empty")
            for line in STARTS[start]:
                self._prepare_files(START_FILES.get(start, {}))
                self.command("pip", shlex.split(self.fill(line)), {}).check()
            if start in EXTRA_STARTS:
                EXTRA_STARTS[start](self)
            self._keep(start)
        for folder in (self.environment.path, self.home, self.work):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._templates[start], self.environment.path, symlinks=True)
        self.home.mkdir()
        self.work.mkdir()

    def fill(self, text: str) -> str:
        """A text with the places filled in."""
        for name, value in self.world.places(self).items():
            text = text.replace("{" + name + "}", value)
        return text

    def _prepare_files(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            base, colon, rest = name.partition(":")
            folders = {"home": self.home, "env": self.environment.path}
            path = folders[base] / rest if colon else self.work / name
            special = MAKERS.get(text)
            if special is not None:
                special(path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            encoding, text = _split_encoding(text)
            path.write_bytes(self.fill(text).encode(encoding))
            if text.startswith("#!"):
                path.chmod(0o755)

    def command(
        self, tool: Tool, arguments: Sequence[str], variables: Mapping[str, str], stdin: str = ""
    ) -> Result:
        """Run one of the tools for the environment."""
        usual = {
            **isolated_variables(self.home),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_INDEX_URL": self.world.index.simple_url,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PATH": _plain_path(),
        }
        whole = {**usual, **variables}
        whole = {name: text for name, text in whole.items() if text != "<unset>"}
        self.work.mkdir(parents=True, exist_ok=True)
        if tool == "vinstall":
            package, python = ROOT / "vinstall", Path(sys.executable)
            command: list[str | Path] = [python, "-m", "vinstall"]
            arguments = ["--python", str(self.environment.python), *arguments]
            whole["PYTHONPATH"] = str(ROOT)
        else:
            package, python = _pip_folder(), self.environment.python
            command = [python, package / "__pip-runner__.py"]
        if can_serve() and all(name.startswith("PIP_") for name in variables):
            if tool not in self._servers:
                self._servers[tool] = ForkServer(python, package, usual)
            return self._servers[tool].run(arguments, variables=whole, cwd=self.work, stdin=stdin)
        return run_command([*command, *arguments], variables=whole, cwd=self.work, stdin=stdin)

    def close(self) -> None:
        """End what runs."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def run(self, tool: Tool, case: Case) -> Trace:
        """Restore, run, look."""
        self.restore(case.start)
        if tool == "vinstall" and not case.name.startswith("cache."):
            self._restore_facts()
        self._prepare_files(case.files)
        variables = {name: self.fill(text) for name, text in case.variables.items()}
        result = self.command(
            tool, shlex.split(self.fill(case.line)), variables, self.fill(case.stdin)
        )
        return Trace(
            result,
            {
                **self._look("env", self.environment.path),
                **self._look("work", self.work),
                **self._look("home", self.home),
            },
        )

    def _restore_facts(self) -> None:
        """Put back what vinstall knows of the interpreter: to ask it anew takes a while."""
        facts = self.home / ".cache" / "vinstall" / "interpreters-v1"
        kept = self.folder / "facts"
        if not kept.is_dir():
            self.command("vinstall", ["freeze"], {}).check()
            shutil.copytree(facts, kept)
        elif not facts.is_dir():
            shutil.copytree(kept, facts)

    def _look(self, name: str, folder: Path) -> dict[str, bytes]:
        found = {}
        for path in sorted(folder.rglob("*")):
            relative = f"{name}/{path.relative_to(folder).as_posix()}"
            if relative.startswith("home/.cache/") or "/.git/" in relative:
                continue
            if path.is_symlink():
                found[relative] = b"link"
            elif path.is_file():
                mode = b"x" if os.access(path, os.X_OK) else b"-"
                content = path.read_bytes()
                if path.suffix == ".pyc":
                    # the source's modification time, the same only within one second
                    content = content[:8] + content[12:]
                found[relative] = mode + content
        return found


def _split_encoding(text: str) -> tuple[str, str]:
    """``<utf-16>text`` → encoding and text; UTF-8 where none is named."""
    for encoding in ("utf-16", "latin-1"):
        if text.startswith(f"<{encoding}>"):
            return encoding, text.removeprefix(f"<{encoding}>")
    return "utf-8", text


def _pip_folder() -> Path:
    spec = find_spec("pip")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@functools.lru_cache
def _plain_path() -> str:
    """A search path with git and little else: pip runs every compiler that it finds."""
    folders = {os.path.dirname(shutil.which(name) or "") for name in ("git", "sh")}  # noqa: PTH120
    return os.pathsep.join(sorted(folder for folder in folders if folder))


def _make_project(path: Path, name: str = "project", **options: Any) -> None:
    write_source_tree(path, source_tree(name, "1.0", **options))


def _make_repository(path: Path) -> None:
    _make_project(path, "versioned", requires_dist=["alpha"])
    moment = {
        "GIT_AUTHOR_DATE": "2026-01-02T03:04:06Z",
        "GIT_COMMITTER_DATE": "2026-01-02T03:04:06Z",
    }
    variables = {**isolated_variables(path.parent), **moment, "GIT_CONFIG_GLOBAL": os.devnull}
    git = ["git", "-c", "user.name=Name", "-c", "user.email=name@example.org"]
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-q", "-m", "one"],
        ["tag", "v1"],
    ):
        run_command([*git, *arguments], variables=variables, cwd=path).check()


def _make_static_project(path: Path) -> None:
    _make_project(path, "project", requires_dist=["alpha"], extras=["more"])


MAKERS: dict[str, Callable[[Path], None]] = {
    "<project>": _make_project,
    "<project with needs>": _make_static_project,
    "<project that builds with alpha>": functools.partial(_make_project, build_requires=["alpha"]),
    "<project that builds with none>": functools.partial(
        _make_project, build_requires=["does-not-exist"]
    ),
    "<project that fails>": functools.partial(_make_project, fault="build-fails"),
    "<repository>": _make_repository,
    "<folder>": lambda path: path.mkdir(parents=True),
}
"""Texts in ``Case.files`` that stand for something larger than a file."""

STARTS: dict[str, list[str]] = {
    "basic": ["install --no-deps alpha==1.0 tool", "install beta==1.0"],
    "latest": ["install beta tool described"],
    "broken": ["install --no-deps beta==2.0 alpha==1.0 lacking"],
    "direct": ["install {files}/alpha-1.0-py3-none-any.whl"],
    "editable": ["install -e ./project"],
    "with-pip": ["install pip setuptools alpha==1.0"],
    "mixed": ["install Mixed.Name_pkg local early --pre"],
    "extras": ["install delta[fast,slow]"],
    "old-style": [],
    "layout": ["install layout clash-a"],
    "compiled": ["install --no-deps --no-compile alpha==1.0"],
}
"""Starting environments: what pip runs to make them."""

START_FILES: dict[str, dict[str, str]] = {"editable": {"project": "<project>"}}


def _add_egg_info(bench: Bench) -> None:
    folder = bench.environment.site_packages / "oldstyle-1.0.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text(metadata_text("oldstyle", "1.0"))
    (folder / "top_level.txt").write_text("oldstyle\n")
    (folder.parent / "oldstyle.py").write_text("VERSION = '1.0'\n")


EXTRA_STARTS: dict[str, Callable[[Bench], None]] = {"old-style": _add_egg_info}


# comparison


def find_differences(case: Case, traces: Mapping[Tool, Trace]) -> list[tuple[str, str]]:
    """What differs, as pairs of aspect and text."""
    pip, ours = traces["pip"], traces["vinstall"]
    found: list[tuple[str, str]] = []
    if pip.result.returncode != ours.result.returncode:
        found.append(("status", f"pip {pip.result.returncode}, vinstall {ours.result.returncode}"))
    found += _compare_files(pip.files, ours.files)
    found += _compare_lines("error", ERRORS, pip.result.stderr, ours.result.stderr)
    if case.output == "lines":
        found += _compare_lines("line", LINES, pip.result.stdout, ours.result.stdout)
    elif case.output == "text":
        found += _compare_text(pip.result.stdout, ours.result.stdout)
    elif case.output == "json":
        found += _compare_json("text", pip.result.stdout, ours.result.stdout)
    elif case.output == "report":
        found += _compare_json(
            "report",
            pip.files.get("work/report.json", b"-").decode()[1:] or pip.result.stdout,
            ours.files.get("work/report.json", b"-").decode()[1:] or ours.result.stdout,
        )
    return found


def _compare_lines(
    aspect: str, wanted: re.Pattern[str], pip: str, ours: str
) -> list[tuple[str, str]]:
    def pick(text: str) -> list[str]:
        return sorted(
            _in_one_order(found[1].strip())
            for line in text.splitlines()
            if (found := wanted.match(line))
        )

    return _compare_lists(aspect, pick(pip), pick(ours))


def _in_one_order(line: str) -> str:
    """A line whose names may stand in any order that puts dependencies first."""
    head, colon, names = line.partition("packages: ")
    return f"{head}{colon}{', '.join(sorted(names.split(', ')))}" if colon else line


def _compare_text(pip: str, ours: str) -> list[tuple[str, str]]:
    one, two = pip.splitlines(), ours.splitlines()
    found = _compare_lists("text", one, two)
    if not found and one != two:
        found.append(("text", f"the order differs: {one} against {two}"))
    return found


def _compare_lists(aspect: str, pip: list[str], ours: list[str]) -> list[tuple[str, str]]:
    left, found = list(ours), []
    for line in pip:
        if line in left:
            left.remove(line)
        else:
            found.append((aspect, f"only pip: {line}"))
    return found + [(aspect, f"only vinstall: {line}") for line in left]


def _compare_files(pip: Mapping[str, bytes], ours: Mapping[str, bytes]) -> list[tuple[str, str]]:
    found = [("file", f"only pip: {name}") for name in pip if name not in ours]
    found += [("file", f"only vinstall: {name}") for name in ours if name not in pip]
    for name in pip:
        if name not in ours or pip[name] == ours[name] or name == "work/report.json":
            continue
        if name.endswith(".dist-info/RECORD"):
            found += _compare_lists("record", _rows(pip[name]), _rows(ours[name]))
        elif name.endswith(".json"):
            found += [
                ("file", f"{name}: {text}")
                for _, text in _compare_json("", pip[name][1:].decode(), ours[name][1:].decode())
            ]
            if pip[name][:1] != ours[name][:1]:
                found.append(("file", f"mode of {name} differs"))
        else:
            found.append(
                ("file", f"{name} differs: {pip[name][:400]!r} against {ours[name][:400]!r}")
            )
    return found


def _rows(data: bytes) -> list[str]:
    return sorted(data[1:].decode().splitlines())


def _compare_json(aspect: str, pip: str, ours: str) -> list[tuple[str, str]]:
    try:
        one, two = json.loads(pip or "null"), json.loads(ours or "null")
    except ValueError:
        return _compare_lists(aspect, pip.splitlines(), ours.splitlines())
    return [(aspect, text) for text in _compare_values("$", one, two)]


def _compare_values(path: str, pip: Any, ours: Any) -> list[str]:
    if isinstance(pip, dict) and isinstance(ours, dict):
        found = [f"only pip: {path}.{key} = {pip[key]!r:.200}" for key in pip if key not in ours]
        found += [
            f"only vinstall: {path}.{key} = {ours[key]!r:.200}" for key in ours if key not in pip
        ]
        for key in pip:
            if key in ours:
                found += _compare_values(f"{path}.{key}", pip[key], ours[key])
        return found
    if isinstance(pip, list) and isinstance(ours, list) and len(pip) == len(ours):
        return [
            text
            for number, (one, two) in enumerate(zip(_ordered(pip), _ordered(ours), strict=True))
            for text in _compare_values(f"{path}[{number}]", one, two)
        ]
    return [] if pip == ours else [f"{path}: pip {pip!r:.300}, vinstall {ours!r:.300}"]


def _ordered(items: list[Any]) -> list[Any]:
    """Items in an order of their own: by the name in their metadata, where they have one."""

    def key(item: Any) -> str:
        return (
            str(item["metadata"]["name"]) if isinstance(item, dict) and "metadata" in item else ""
        )

    return sorted(items, key=key)
