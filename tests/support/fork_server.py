"""pip or vinstall, imported once by an interpreter, and forked for each command that it runs.

Most of what a short command costs is imports. ``ForkServer`` starts an interpreter, lets it
import the program, and then runs each command in a fork of it: with its own arguments,
variables, folder and streams, as a new process would have them. The fork is the program itself
and ends as a process ends; nothing is kept from one command to the next.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from tests.support.environments import Result


def can_serve() -> bool:
    """Whether this machine can run commands in forks."""
    return sys.platform == "linux"


class ForkServer:
    """Runs a program with one interpreter.

    Args:
        python: The interpreter; for pip, that of the environment to change.
        package: Folder of the package that runs: one named ``pip`` or ``vinstall``.
        variables: The variables that it may read while it is imported.
    """

    def __init__(self, python: Path | str, package: Path, variables: Mapping[str, str]) -> None:
        import socket
        import subprocess

        self._name = package.name
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [str(python), __file__, str(theirs.fileno()), str(package)],
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )

    def run(
        self,
        arguments: Sequence[str],
        *,
        variables: Mapping[str, str],
        cwd: Path,
        stdin: str = "",
        timeout: float = 120.0,
    ) -> Result:
        """Run one command to its end.

        Args:
            arguments: What follows the name of the program.
            variables: Its whole environment.
            cwd: Where it runs.
            stdin: Text for standard input; less than a pipe holds.
            timeout: Seconds.

        Raises:
            TimeoutError: It took too long.
        """
        import json
        import socket
        import tempfile

        from tests.support.environments import Result

        request = {"arguments": list(arguments), "variables": dict(variables), "cwd": str(cwd)}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            reader, writer = os.pipe()
            try:
                self._socket.settimeout(timeout)
                message = json.dumps(request).encode()
                fds = [reader, out.fileno(), err.fileno()]
                socket.send_fds(self._socket, [len(message).to_bytes(8, "big")], fds)
                self._socket.sendall(message)
                os.write(writer, stdin.encode())
            finally:
                os.close(reader)
                os.close(writer)
            status = int.from_bytes(self._socket.recv(8, socket.MSG_WAITALL), "big", signed=True)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace").replace("\r\n", "\n"))
        return Result((self._name, *arguments), status, *texts)

    def close(self) -> None:
        """End the interpreter."""
        self._socket.close()
        self._process.wait(10)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def serve(number: int, folder: str) -> None:
    """Import a program, then run a fork for each request; returns where nobody asks any more.

    Args:
        number: File descriptor of the socket.
        folder: Folder of the package.
    """
    import gc
    import importlib
    import json
    import socket

    name = os.path.basename(folder)  # noqa: PTH119
    if name == "pip":
        _import_pip(folder)
    else:
        _import_everything(folder)
    gc.freeze()
    requests = socket.socket(fileno=number)
    while True:
        head, fds, _, _ = socket.recv_fds(requests, 8, 3)
        if not head:
            return
        size = int.from_bytes(head, "big")
        request = json.loads(requests.recv(size, socket.MSG_WAITALL))
        child = os.fork()
        if child == 0:
            break
        for fd in fds:
            os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        requests.sendall(status.to_bytes(8, "big", signed=True))
    requests.close()
    for place, fd in enumerate(fds):
        os.dup2(fd, place)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["variables"])
    os.chdir(request["cwd"])
    sys.argv = [os.path.join(folder, "__main__.py"), *request["arguments"]]  # noqa: PTH118
    if name == "pip":
        _read_path_files()
        sys.exit(importlib.import_module("pip._internal.cli.main").main())
    sys.exit(importlib.import_module("vinstall.cli.main").main())


def _import_pip(folder: str) -> None:
    """Import pip, without what else lies beside it, and every command of it."""
    import importlib
    import importlib.util

    start = os.path.join(folder, "__init__.py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location("pip", start, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["pip"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("cli.main", "cli.main_parser", "network.session", "cli.progress_bars"):
        importlib.import_module(f"pip._internal.{name}")
    for command in importlib.import_module("pip._internal.commands").commands_dict.values():
        importlib.import_module(command.module_path)


def _import_everything(folder: str) -> None:
    """Import each module of a package, and what these import only when they need it."""
    import importlib
    import pkgutil

    sys.path.insert(0, os.path.dirname(folder))  # noqa: PTH120
    name = os.path.basename(folder)  # noqa: PTH119
    for module in pkgutil.walk_packages([folder], f"{name}."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
    for late in ("argparse", "configparser", "httpx", "packaging.metadata", "resolvelib"):
        importlib.import_module(late)


def _read_path_files() -> None:
    """Read the ``.pth`` files of the environment as they are now, as a new interpreter does."""
    import site

    for place in site.getsitepackages():
        site.addsitedir(place)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file is no place for imports
    serve(int(sys.argv[1]), sys.argv[2])
