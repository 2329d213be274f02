"""Git repositories: checked out for ``-e``, and described for ``freeze``.

Only what pip itself can not be asked for; everything else about version control is pip's.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import BuildError
from vinstall.index.address import redact_url
from vinstall.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT_SSH = lazy_pattern(r"(?P<user>\w+@)?(?P<host>[^/:]+):(?P<path>\w[^:]*)")


def check_out(url: str, revision: str, folder: Path, actions: Sequence[str] = ()) -> str:
    """Make a folder hold a revision of a repository; an earlier checkout is moved on.

    Args:
        url: Of the repository, without ``git+``, revision and fragment.
        revision: Branch, tag or commit; empty for the default branch.
        folder: The checkout.
        actions: What may be done with another thing in the folder; the first that fits:
            ``s`` switches a repository over, ``i`` leaves it as it is, ``w`` wipes the
            folder, ``b`` renames it, ``a`` ends the command.

    Returns:
        The commit.

    Raises:
        BuildError: git can not do it, or another thing is in the folder.
    """
    if folder.exists() and _ask_origin(folder) != url:
        action = _choose(url, folder, actions)
        if action == "i":
            return _ask(["rev-parse", "HEAD"], folder)
        if action == "s":
            _git(["config", "remote.origin.url", url], folder, url)
        elif action == "w":
            shutil.rmtree(folder)
        else:
            folder.rename(_free_name(folder))
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _git(["clone", "-q", "--", url, str(folder)], None, url)
    else:
        _git(["fetch", "-q", "--tags", "origin"], folder, url)
    commit = _find_commit(revision or "HEAD", folder)
    if not commit and not revision.startswith("-"):
        # A ref such as refs/pull/1/head, or a commit that no branch holds.
        _run(["fetch", "-q", "origin", revision], folder)
        commit = _ask(["rev-parse", "-q", "--verify", "FETCH_HEAD^{commit}"], folder)
        if re.fullmatch(r"[0-9a-f]{7,64}", revision) and not commit.startswith(revision):
            commit = ""
    if not commit:
        raise BuildError(
            f"{redact_url(url)} has no revision {revision}",
            "there is no branch, tag or commit of that name",
        )
    _git(["checkout", "-q", commit], folder, url)
    if (folder / ".gitmodules").is_file():
        _git(["submodule", "update", "--init", "--recursive", "-q"], folder, url)
    return commit


def _ask_origin(folder: Path) -> str:
    """The URL of the repository whose checkout a folder is; empty for other folders."""
    if not (folder / ".git").exists():
        return ""
    return _ask(["config", "--get", "remote.origin.url"], folder)


def _choose(url: str, folder: Path, actions: Sequence[str]) -> str:
    """What to do with a folder that holds something else.

    Raises:
        BuildError: The user says nothing of it, or that it ends the command.
    """
    for action in actions:
        if action == "a":
            break
        if action != "s" or _ask_origin(folder):
            return action
    raise BuildError(
        f"{redact_url(url)} can not be checked out",
        f"{folder} is there and holds something else",
        "Remove the folder, name another one with --src, or say what to do with it: "
        "--exists-action w wipes it, b renames it, i leaves it, s switches a repository over.",
    )


def _free_name(folder: Path) -> Path:
    """A name beside a folder that is free: ``name.bak``, ``name.bak2`` ..."""
    number = 1
    while True:
        path = folder.with_name(f"{folder.name}.bak{number if number > 1 else ''}")
        if not path.exists():
            return path
        number += 1


def _find_commit(wanted: str, folder: Path) -> str:
    for name in (f"refs/remotes/origin/{wanted}", wanted):
        commit = _ask(["rev-parse", "-q", "--verify", f"{name}^{{commit}}"], folder)
        if commit:
            return commit
    return ""


def describe_editable(folder: str, name: str, version: str) -> str:
    """What ``freeze`` says of an editable project: its repository, or its folder."""
    path = Path(folder)
    if not any((place / ".git").exists() for place in (path, *path.parents)):
        return f"# Editable install with no version control ({name}=={version})\n-e {folder}"
    remote = _ask(["config", "--get", "remote.origin.url"], path)
    commit = _ask(["rev-parse", "HEAD"], path)
    if not remote or not commit:
        return f"# Editable Git install with no remote ({name}=={version})\n-e {folder}"
    inside = _ask(["rev-parse", "--show-prefix"], path).strip("/")
    project = re.sub(r"[^A-Za-z0-9.]+", "_", name)
    part = f"&subdirectory={inside}" if inside else ""
    return f"-e git+{_as_url(remote)}@{commit}#egg={project}{part}"


def _as_url(remote: str) -> str:
    if re.match(r"\w+://", remote):
        return remote
    if os.path.exists(remote):  # noqa: PTH110
        return Path(remote).as_uri()
    short = _SHORT_SSH.fullmatch(remote)
    return f"ssh://{short['user'] or ''}{short['host']}/{short['path']}" if short else remote


def _git(arguments: Sequence[str], folder: Path | None, url: str) -> None:
    status, output = _run(arguments, folder)
    if status != 0:
        raise BuildError(
            f"{redact_url(url)} can not be checked out", f"git said:\n{output.strip()}"
        )


def _ask(arguments: Sequence[str], folder: Path) -> str:
    """One answer of git; empty where it has none."""
    status, output = _run(arguments, folder)
    return output.strip() if status == 0 else ""


def _run(arguments: Sequence[str], folder: Path | None) -> tuple[int, str]:
    import subprocess

    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            check=False,
        )
    except OSError as error:
        return 1, f"git can not be started: {error.strerror}"
    return done.returncode, done.stdout.decode("utf-8", "replace")
