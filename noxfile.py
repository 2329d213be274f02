"""The table of contents of what can be run on this project: ``nox -l``.

Every session passes its arguments on: ``nox -s tests-3.12 -- tests/unit -k order``.
Python versions come from ``pyproject.toml``; those that are not on the machine are skipped.
"""

from __future__ import annotations

from pathlib import Path

import nox
from nox.command import CommandFailed
from packaging.requirements import Requirement

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "types", "tests", "lowest"]
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True

PROJECT = nox.project.load_toml("pyproject.toml")
VERSIONS = nox.project.python_versions(PROJECT)
PLUGINS = sorted(str(path.parent) for path in Path("plugins").glob("*/pyproject.toml"))


def group(name: str) -> list[str]:
    """Give the requirements of a dependency group."""
    return list(nox.project.dependency_groups(PROJECT, name))


def install_project(session: nox.Session, *more: str) -> None:
    """Install vinstall and its plugins as they are in the checkout."""
    editable = [word for path in (".", *PLUGINS) for word in ("--editable", path)]
    session.install(*editable, *more)


@nox.session(python=VERSIONS)
def tests(session: nox.Session) -> None:
    """Run the tests of vinstall and of its plugins."""
    install_project(session, *group("test"))
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "2"]))


@nox.session(python=VERSIONS[0])
def lowest(session: nox.Session) -> None:
    """Run the tests with the oldest dependencies that pyproject.toml allows."""
    constraints = Path(session.create_tmp()).resolve() / "lowest.txt"
    constraints.write_text("\n".join(lower_bounds()) + "\n", encoding="utf-8")
    install_project(session, *group("test"), "--constraint", str(constraints))
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "2"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of the code; arguments go to ``ruff check`` (``-- --fix``)."""
    session.install(*group("lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of vinstall, the tests, and each plugin on its own."""
    install_project(session, *group("types"))
    session.run("mypy", *(session.posargs or ["vinstall", "tests", "noxfile.py", "demo.py"]))
    settings = str(Path("pyproject.toml").resolve())
    for path in PLUGINS:
        with session.chdir(path):
            session.run("mypy", "--config-file", settings, ".")


@nox.session
def comparison(session: nox.Session) -> None:
    """Compare vinstall with pip, command line by command line (some minutes)."""
    install_project(session, *group("test"))
    session.run(
        *("python", "-m", "pytest", "tests/endtoend/test_like_pip.py", "--comparison"),
        *session.posargs,
    )


@nox.session
def bench(session: nox.Session) -> None:
    """Measure vinstall beside pip and uv; see ``tests/benchmarks``."""
    install_project(session, *group("bench"))
    session.run("python", "-m", "tests.benchmarks", *session.posargs)


@nox.session
def torture(session: nox.Session) -> None:
    """Kill, crowd and starve vinstall, pip and uv; see ``tests/torture``."""
    install_project(session, *group("test"), *group("bench"))
    session.run("python", "-m", "tests.torture", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Feed each parser with a million inputs; ``-- record --runs 5000`` for one of them."""
    install_project(session, *group("test"))
    try:
        session.install(*group("fuzz"))
    except CommandFailed:
        session.log("atheris is not available for this Python: input is changed at random")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ["all"]))


@nox.session
def demo(session: nox.Session) -> None:
    """Install sample variants from a sample index, and explain the choice."""
    session.run("python", "demo.py", *session.posargs)


def lower_bounds() -> list[str]:
    """Give ``name==version`` for each dependency of the project, at its lower bound."""
    found = []
    for text in PROJECT["project"]["dependencies"]:
        requirement = Requirement(text)
        for specifier in requirement.specifier:
            if specifier.operator in {">=", "=="}:
                marker = f"; {requirement.marker}" if requirement.marker else ""
                found.append(f"{requirement.name}=={specifier.version}{marker}")
    return found
