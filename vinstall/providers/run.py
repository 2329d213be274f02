"""Starts the child that asks plugins: isolated, with a time limit, nothing inherited.

The child gets no secret, no mask, and none of our streams; its answer comes over a channel
of its own. A plugin that hangs is killed with its whole process group, and the plugins
behind it are asked by a new child.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import ProviderReplyError
from vinstall.patterns import lazy_pattern
from vinstall.providers.messages import (
    MAX_REPLY,
    PluginAnswer,
    PluginRequest,
    clean_text,
    format_request,
    parse_answer,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

TIME_LIMIT = 10.0
"""Seconds that one plugin may take."""
MASKS = {
    "CUDA_VISIBLE_DEVICES": "nvidia",
    "NVIDIA_VISIBLE_DEVICES": "nvidia",
    "HIP_VISIBLE_DEVICES": "amd",
    "ROCR_VISIBLE_DEVICES": "amd",
    "GPU_DEVICE_ORDINAL": "amd",
    "ZE_AFFINITY_MASK": "intel",
    "ONEAPI_DEVICE_SELECTOR": "intel",
}
"""Variables that hide devices from one process → the namespace of those devices."""
_SECRET = lazy_pattern(
    r"^(PIP|VINSTALL|UV|TWINE|AWS)_|TOKEN|PASSW|PASSPHRASE|SECRET|CREDENTIAL|COOKIE|KEY$"
    r"|(^|_)(AUTH|KEYS?|PASS)(_|$)|_(DSN|PAT|PWD)$|^NETRC$|^KUBECONFIG$"
)
_URL_WITH_PASSWORD = lazy_pattern(r"://[^/\s@:]*:[^/\s@]+@")
_SCRIPT = Path(__file__).parent.parent / "children" / "provider_query.py"


def ask_plugins(
    plugins: Sequence[PluginRequest],
    *,
    executable: str,
    paths: Sequence[str],
    environment: Mapping[str, str],
    time_limit: float = TIME_LIMIT,
) -> dict[str, PluginAnswer]:
    """Ask plugins, each within the time limit.

    Args:
        plugins: Whom to ask; each has an id of its own.
        executable: The interpreter that has them.
        paths: Folders to add to its import path.
        environment: The variables that the child gets (see ``clean_environment``).
        time_limit: Seconds for each plugin.

    Returns:
        Id → answer, for every plugin; never raises for what a plugin does.
    """
    answers: dict[str, PluginAnswer] = {}
    waiting = list(plugins)
    while waiting:
        done, problem = _run_once(waiting, executable, paths, environment, time_limit)
        known = {one.id for one in waiting}
        answers.update((name, answer) for name, answer in done.items() if name in known)
        waiting = [one for one in waiting if one.id not in answers]
        if waiting and (problem or not known.intersection(done)):
            answers[waiting[0].id] = PluginAnswer(problem=problem or "it gave no answer")
            waiting = waiting[1:]
    return answers


def clean_environment(environment: Mapping[str, str], gpu: str = "all") -> dict[str, str]:
    """The variables that a plugin may see: no secrets, no masks, no proxies with users."""
    kept = {}
    for name, value in environment.items():
        upper = name.upper()
        if _SECRET.search(upper) or upper in MASKS:
            continue
        if upper.endswith("_PROXY") and "@" in value:
            continue
        if _URL_WITH_PASSWORD.search(value):
            continue
        if upper in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME"):
            continue
        kept[name] = value
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    if gpu != "all":
        kept["VINSTALL_GPU"] = gpu
    return kept


def _run_once(
    plugins: Sequence[PluginRequest],
    executable: str,
    paths: Sequence[str],
    environment: Mapping[str, str],
    time_limit: float,
) -> tuple[dict[str, PluginAnswer], str]:
    """One child; its answers, and why it ended early."""
    import tempfile

    answers: dict[str, PluginAnswer] = {}
    with tempfile.TemporaryFile() as errors:
        try:
            child, channel = _start(executable, errors.fileno(), environment)
        except OSError as error:
            return answers, f"{executable} can not be run: {error.strerror}"
        reader = _LineReader(channel, child)
        try:
            assert child.stdin is not None, "it was asked for"
            try:
                seconds = time_limit * len(plugins) + _ORPHAN_SECONDS
                child.stdin.write(format_request(plugins, paths, seconds))
                child.stdin.close()
            except OSError:
                pass
            problem = _read_answers(reader, answers, time_limit)
            if problem == _SILENT:
                _wait_for_end(child)
        finally:
            _end(child)
            reader.close()
        if problem == _SILENT:
            errors.seek(0)
            last = errors.read(65536).decode("utf-8", "replace").strip().splitlines()
            problem = _name_status(child.returncode)
            if last:
                problem += f": {clean_text(last[-1])[:200]}"
    return answers, problem


_SILENT = "ended"
_ORPHAN_SECONDS = 5.0
"""Seconds that a child lives on after its time, where nobody is left to end it."""
_PATIENCE = 0.2
"""Seconds between two looks at whether a silent child still lives."""


def _read_answers(reader: _LineReader, answers: dict[str, PluginAnswer], time_limit: float) -> str:
    """Take answers until the end; why there was no proper end, or an empty text."""
    deadline = time.monotonic() + time_limit
    size = 0
    while True:
        line = reader.read_line(deadline)
        if line is None:
            return f"it did not answer within {time_limit:g} seconds"
        if not line:
            return _SILENT
        size += len(line)
        if size > MAX_REPLY:
            return f"it answered more than {MAX_REPLY} bytes"
        try:
            name, answer = parse_answer(line)
        except ProviderReplyError as error:
            return str(error)
        if answer is not None:
            answers[name] = answer
        elif not name:
            return ""
        deadline = time.monotonic() + time_limit


def _start(
    executable: str, errors: int, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int | str]:
    """Start the child; its channel is a file descriptor, or on Windows a path."""
    import subprocess

    command = [executable, "-I", str(_SCRIPT)]
    if sys.platform == "win32":
        import tempfile

        handle, path = tempfile.mkstemp(prefix="vinstall-answer-")
        os.close(handle)
        child = subprocess.Popen(
            [*command, "file", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=dict(environment),
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        return child, path
    ours, theirs = os.pipe()
    try:
        child = subprocess.Popen(
            [*command, "fd", str(theirs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=dict(environment),
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return child, ours


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended; it is not reaped, so that its group keeps its number."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return False
    try:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, child.pid, flags) is not None
    except OSError:
        return True


def _wait_for_end(child: subprocess.Popen[bytes]) -> None:
    """Give a child that has closed its channel a moment, so that its own status is seen."""
    deadline = time.monotonic() + 1
    while not _has_ended(child) and time.monotonic() < deadline:
        time.sleep(0.01)


def _name_status(status: int | None) -> str:
    if status is not None and status < 0:
        import signal

        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(-status).name}"
    return f"it ended with status {status}"


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and everything that it started."""
    import signal
    import subprocess

    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)


class _LineReader:
    """Lines from the child's channel, with a deadline.

    A pipe is waited for with ``select``; the file that stands in for it on Windows is looked
    at again and again, until the child has ended.
    """

    def __init__(self, channel: int | str, child: subprocess.Popen[bytes]) -> None:
        self._channel = channel
        self._child = child
        self._rest = b""
        self._offset = 0
        self._over = False

    def read_line(self, deadline: float) -> bytes | None:
        """The next line; empty at the end, ``None`` when the time is over."""
        while b"\n" not in self._rest:
            if self._over or len(self._rest) > MAX_REPLY:
                line, self._rest = self._rest, b""
                return line
            block = self._read(deadline)
            if block is None:
                return None
            if not block:
                self._over = True
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"

    def _read(self, deadline: float) -> bytes | None:
        if isinstance(self._channel, str):
            return self._poll(self._channel, deadline)
        import select

        while True:
            ended = _has_ended(self._child)  # somebody whom it started may hold the pipe open
            left = 0 if ended else min(deadline - time.monotonic(), _PATIENCE)
            ready, _, _ = select.select([self._channel], [], [], max(left, 0))
            if ready:
                return os.read(self._channel, 65536)
            if ended:
                return b""
            if time.monotonic() >= deadline:
                return None

    def _poll(self, path: str, deadline: float) -> bytes | None:
        while time.monotonic() < deadline:
            over = self._child.poll() is not None
            with Path(path).open("rb") as file:
                file.seek(self._offset)
                block = file.read(65536)
            self._offset += len(block)
            if block or over:
                return block
            time.sleep(0.02)
        return None

    def close(self) -> None:
        """Give back the channel."""
        if isinstance(self._channel, str):
            Path(self._channel).unlink(missing_ok=True)
        else:
            os.close(self._channel)
