"""Shells and machines that are not as they should be: it works, or a sentence tells why not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT, isolated_variables
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


def install(
    environment: Environment, index: SimpleIndex, script: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a shell script in which ``"$@"`` installs ``demo``, which needs ``other``."""
    index.add(make_wheel("demo", requires_dist=["other"]), make_wheel("other"))
    words = ["-m", "vinstall", "--python", str(environment.python), "install"]
    words += ["--index-url", index.simple_url, "--retries", "0", "demo"]
    variables = {**isolated_variables(environment.home), "PYTHONPATH": str(ROOT), **more}
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", sys.executable, *words],
        env=variables,
        cwd=environment.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "fault in vinstall" not in done.stderr
    return done


@pytest.mark.parametrize("umask", ["077", "000", "777"])
def test_umask(environment: Environment, index: SimpleIndex, umask: str) -> None:
    done = install(environment, index, f'umask {umask}; "$@"')
    if os.geteuid() == 0 or umask != "777":
        assert done.returncode == 0, done
        mode = (environment.site_packages / "demo.py").stat().st_mode & 0o777
        assert mode == 0o666 & ~int(umask, 8)
    assert len(environment.installed()) in (0, 2)


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(environment: Environment, index: SimpleIndex, streams: str) -> None:
    done = install(environment, index, f'"$@" {streams}')
    assert done.returncode == 0, done
    assert set(environment.installed()) == {"demo", "other"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full")  # noqa: PTH110
def test_a_full_stdout(environment: Environment, index: SimpleIndex) -> None:
    done = install(environment, index, '"$@" >/dev/full')
    assert done.returncode == 1
    assert "stdout can not be written: No space left on device" in done.stderr
    assert len(environment.installed()) in (0, 2)
    assert install(environment, index, '"$@" 2>/dev/full').returncode == 0


def test_a_folder_that_is_gone(environment: Environment, index: SimpleIndex) -> None:
    done = install(environment, index, 'mkdir gone; cd gone; rmdir ../gone; "$@"')
    assert done.returncode == 1
    assert "The folder that the command runs in is not there any more." in done.stderr
    assert environment.installed() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONWARNINGS", "error"),
        ("PYTHONOPTIMIZE", "2"),
        ("PYTHONDEVMODE", "1"),
        ("PYTHONIOENCODING", "ascii"),
        ("LC_ALL", "C"),
        ("COLUMNS", "-1"),
        ("TERM", "\x1b"),
        ("NO_PROXY", "["),
        ("SSL_CERT_FILE", "/nowhere"),
        ("XDG_CACHE_HOME", "relative"),
        ("VINSTALL_CACHE_DIR", "/dev/null"),
        ("TMPDIR", "/nowhere"),
        ("PYTHONPYCACHEPREFIX", "/dev/null"),
        ("VIRTUAL_ENV", "/nowhere"),
        ("GIT_DIR", "/nowhere"),
    ],
)
def test_variables_that_do_no_harm(
    environment: Environment, index: SimpleIndex, name: str, value: str
) -> None:
    done = install(environment, index, '"$@"', **{name: value})
    assert done.returncode == 0, done
    assert set(environment.installed()) == {"demo", "other"}


@pytest.mark.parametrize(
    ("name", "value", "status", "words"),
    [
        ("http_proxy", "nonsense://x", 1, "the proxy nonsense://x can not be used"),
        ("http_proxy", "http://[", 1, "ERROR"),
        ("PIP_PREFIX", "/dev/null/x", 1, "Not a directory"),
        ("PIP_CONSTRAINT", "/nowhere", 1, "/nowhere"),
        ("PIP_REQUIRE_HASHES", "maybe", 2, "PIP_REQUIRE_HASHES"),
        ("VINSTALL_RETRIES", "x", 2, "VINSTALL_RETRIES"),
    ],
)
def test_variables_that_say_nonsense(
    environment: Environment, index: SimpleIndex, name: str, value: str, status: int, words: str
) -> None:
    script = 'exec "$@"' if name.startswith("http") else 'exec "$@" --retries 1'
    done = install(environment, index, script, **{name: value})
    assert done.returncode == status, done
    assert words in done.stderr
    assert environment.installed() == {}


@pytest.mark.parametrize("limit", ["-n 20", "-f 0", "-s 256", "-c 0"])
def test_limits(environment: Environment, index: SimpleIndex, limit: str) -> None:
    done = install(environment, index, f'ulimit {limit}; "$@"')
    assert done.returncode in (0, 1), done
    assert len(environment.installed()) == (0 if done.returncode else 2)
