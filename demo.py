"""See vinstall choose: ``python3 demo.py``.

Makes ``.demo/`` with two virtual environments: one that holds vinstall and its provider
plugins, and an empty one to install into. Starts an index on 127.0.0.1 with a sample project
that has builds for several GPUs and CPUs, installs it, and shows why that build was chosen.
Arguments are passed on to ``vinstall install``: ``python3 demo.py --variant vsample=null``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
FOLDER = ROOT / ".demo"
PROFILE = ROOT / "fixtures" / "samples" / "profiles" / "h100.toml"


BROKEN_PIPE = 120
"""The exit status where nobody reads the output any more, as vinstall's own."""


def main(arguments: list[str]) -> int:
    """Run the demonstration; give the exit status of the first command that fails."""
    if any(word in ("-h", "--help") for word in arguments):
        print((__doc__ or "").strip())
        return 0
    if sys.version_info < (3, 10):  # noqa: UP036 - whoever runs this has not read pyproject.toml
        print("Python 3.10 or newer is needed.", file=sys.stderr)
        return 2
    try:
        tool, target = make_environments()
    except subprocess.CalledProcessError as error:
        print(f"The demonstration could not be set up ({error}).", file=sys.stderr)
        return 1
    sys.path.insert(0, str(ROOT))
    from tests.support.index import SimpleIndex
    from tests.support.samples import build_samples

    with SimpleIndex() as index:
        index.add(*build_samples())
        where = ["--python", str(target), "--index-url", index.simple_url]
        print(f"A sample index is at {index.simple_url}\n")
        steps = [
            ("Install the build that fits this machine",
             [tool, "-m", "vinstall", "install", *where, *arguments, "vsample"]),
            ("Ask the installed project which build it is", [target, "-m", "vsample"]),
            ("Ask why that build was chosen",
             [tool, "-m", "vinstall", "explain", *where, "vsample"]),
            ("What if this were a server with an H100 and a driver for CUDA 12.8?",
             [tool, "-m", "vinstall", "install", *where, "--profile", str(PROFILE),
              "--dry-run", "--ignore-installed", "vsample"]),
        ]  # fmt: skip
        for title, command in steps:
            status = run(title, [str(word) for word in command])
            if status:
                return status
    return 0


def make_environments() -> tuple[Path, Path]:
    """Make both environments anew; give their interpreters."""
    FOLDER.mkdir(exist_ok=True)
    tool, target = FOLDER / "tool", FOLDER / "environment"
    print(
        f"Building vinstall and its plugins in {FOLDER.relative_to(ROOT)}/. The first time takes "
        "a minute or two:",
        flush=True,
    )
    if not interpreter(tool).exists():
        print("  a virtual environment for vinstall", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", str(tool)], check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(tool, ignore_errors=True)  # half an environment is worse than none
            print("On Debian and Ubuntu: apt install python3-venv", file=sys.stderr)
            raise
    sources = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
    pip = [str(interpreter(tool)), "-m", "pip", "--disable-pip-version-check"]
    for number, path in enumerate(sources, 1):
        what = "vinstall and its dependencies" if path == ROOT else f"the plugin {path.name}"
        print(f"  {number} of {len(sources)}: {what}", flush=True)
        subprocess.run([*pip, "install", "--quiet", "--editable", str(path)], check=True)
    print(flush=True)
    shutil.rmtree(target, ignore_errors=True)
    venv.create(target, with_pip=False, symlinks=os.name != "nt")
    return interpreter(tool), interpreter(target)


def interpreter(environment: Path) -> Path:
    """Give the path of an environment's Python."""
    if os.name == "nt":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"


def run(title: str, command: list[str]) -> int:
    """Show a command, run it without the person's own pip settings, give its status."""
    shown = command[1:] if command[1:2] != ["-m"] else command[2:]
    print(f"# {title}\n$ {' '.join(shown)}", flush=True)
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "VINSTALL_")) and name != "VIRTUAL_ENV"
    }
    variables |= {
        "PIP_CONFIG_FILE": os.devnull,
        "XDG_CACHE_HOME": str(FOLDER / "cache"),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": "",
    }
    status = subprocess.run(command, env=variables, cwd=FOLDER, check=False).returncode
    print(flush=True)
    return status


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # demo.py | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    except KeyboardInterrupt:
        status = 1
    sys.exit(status)
