"""Real children ask real plugins, good ones and all kinds of bad ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vinstall.providers.messages import (
    MAX_REPLY,
    PluginAnswer,
    PluginRequest,
    format_request,
)
from vinstall.providers.run import ask_plugins, clean_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[..., dict[str, PluginAnswer]]

HEAD = """
import os, sys, time, types

def config(name, values, **more):
    return types.SimpleNamespace(name=name, values=values, **more)
"""
GOOD = """
class Plugin:
    namespace = "good"
    def get_supported_configs(self):
        return [config("level", ["v2", "v1"], multi_value=False), config("avx", ["on"])]
"""
CLASS_METHOD = GOOD.replace("    def", "    @classmethod\n    def")
STATIC_METHOD = GOOD.replace("    def", "    @staticmethod\n    def").replace("self", "")
GENERATOR = GOOD.replace("return [", "yield from [").replace('["v2", "v1"]', '("v2", "v1")')
LEVELS = {"level": ("v2", "v1"), "avx": ("on",)}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups of POSIX")


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask modules that are given as source: ``ask(first=SOURCE, second=SOURCE)``."""

    def run(
        *, time_limit: float = 10.0, objects: dict[str, str] | None = None, **sources: str
    ) -> dict[str, PluginAnswer]:
        for name, source in sources.items():
            (tmp_path / f"{name}_plugin.py").write_text(HEAD + source, "utf-8")
        named = objects or {}
        return ask_plugins(
            [PluginRequest(name, named.get(name, f"{name}_plugin:Plugin")) for name in sources],
            executable=sys.executable,
            paths=[str(tmp_path)],
            environment=clean_environment(os.environ),
            time_limit=time_limit,
        )

    return run


def method(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"class Plugin:\n    def get_supported_configs(self):\n{lines}\n"


def test_an_answer_keeps_the_order(ask: Ask) -> None:
    answer = ask(good=GOOD)["good"]
    assert answer.problem == ""
    assert list(answer.features.items()) == list(LEVELS.items())
    assert answer.present


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        (GOOD, "one_plugin:Plugin"),
        (GOOD + "\ninstance = Plugin()\n", "one_plugin:instance"),
        (GOOD + "\nclass Outer:\n    inner = Plugin\n", "one_plugin:Outer.inner"),
        (
            "def get_supported_configs():\n"
            "    return [config('level', ['v2', 'v1']), config('avx', ['on'])]\n",
            "one_plugin",
        ),
        (GOOD.replace("(self)", "(self, known_properties)"), "one_plugin:Plugin"),
        (GOOD.replace("(self)", "(self, known_properties=None)"), "one_plugin:Plugin"),
        (GOOD.replace("(self)", "(self, context, /)"), "one_plugin:Plugin"),
        (GOOD.replace("(self)", "(self, *, strict=True)"), "one_plugin:Plugin"),
        (
            GOOD.replace("    def", "    @classmethod\n    def").replace("self", "cls"),
            "one_plugin:Plugin",
        ),
        (
            GOOD.replace("    def", "    @staticmethod\n    def").replace("self", ""),
            "one_plugin:Plugin",
        ),
        (
            GOOD.replace("return [", "yield from [").replace('["v2", "v1"]', '("v2", "v1")'),
            "one_plugin:Plugin",
        ),
    ],
    ids=[
        "class",
        "instance",
        "nested",
        "module",
        "argument",
        "optional-argument",
        "positional-only",
        "keyword-only",
        "classmethod",
        "staticmethod",
        "generator-and-tuples",
    ],
)
def test_old_and_new_shapes(ask: Ask, source: str, reference: str) -> None:
    answer = ask(one=source, objects={"one": reference})["one"]
    assert answer.problem == ""
    assert dict(answer.features) == LEVELS


def test_all_that_a_plugin_may_tell(ask: Ask) -> None:
    source = GOOD + (
        "    def describe(self):\n"
        "        return {'present': True, 'facts': {'driver': '580.1'},\n"
        "                'notes': ['one\\n\\x1b[31mtwo']}\n"
    )
    answer = ask(good=source)["good"]
    assert answer.facts == {"driver": "580.1"}
    assert answer.notes == ("one [31mtwo",)


@pytest.mark.parametrize("body", ["raise RuntimeError('no')", "return {1: object()}", "return 3"])
def test_a_bad_description_does_not_spoil_the_answer(ask: Ask, body: str) -> None:
    answer = ask(good=GOOD + f"    def describe(self):\n        {body}\n")["good"]
    assert answer.problem == ""
    assert dict(answer.features) == LEVELS
    assert answer.facts == {}


def test_a_plugin_without_hardware(ask: Ask) -> None:
    answer = ask(one=method("return []"))["one"]
    assert answer == PluginAnswer(seconds=answer.seconds)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (method("raise RuntimeError('the driver\\nis gone')"), "RuntimeError: the driver is gone"),
        ("raise ImportError('no libnvidia')\n", "ImportError: no libnvidia"),
        ("class Plugin:\n    def __init__(self): raise OSError(5, 'bad card')\n", "bad card"),
        ("class Plugin:\n    pass\n", "get_supported_configs"),
        ("value = 3\n", "Plugin"),
        (method("return None"), "not iterable"),
        (method("return ['level']"), "has no attribute"),
        (method("return [config('level', 'v1')]"), "is a text, not a list"),
        (method("return [config('level', None)]"), "not iterable"),
        (method("return [config('level', [1])]"), "1 is no value of level"),
        (method("return [config('Level', ['v1'])]"), "'Level' is no feature"),
        (method("return [config(None, ['v1'])]"), "None is no feature"),
        (method("return [config('level', ['a b'])]"), "'a b' is no value of level"),
        (method("return [config('a', ['1']), config('a', ['2'])]"), "a is there twice"),
        (method("return [config('a', [object()])]"), "no answer"),
        (method("return [config('a', [b'1'])]"), "no answer"),
        (
            "import itertools\n" + method("return [config('a', map(str, itertools.count()))]"),
            "values of a",
        ),
        (method("sys.exit(3)"), "status 3"),
        (method("os._exit(3)"), "status 3"),
        (
            method("sys.stderr.write('last words\\n'); sys.stderr.flush(); os._exit(4)"),
            "last words",
        ),
        (method("os.abort()"), "SIGABRT"),
        (method("os.kill(os.getpid(), 11)"), "SIGSEGV"),
        (method("raise KeyboardInterrupt"), "SIGINT"),
    ],
)
def test_what_a_plugin_does_wrong_is_its_own_affair(ask: Ask, source: str, expected: str) -> None:
    answers = ask(before=GOOD, one=source, after=GOOD)
    assert expected in answers["one"].problem
    assert answers["one"].problem
    assert not answers["one"].features
    assert dict(answers["before"].features) == LEVELS
    assert dict(answers["after"].features) == LEVELS


def test_an_answer_that_is_too_large(ask: Ask) -> None:
    body = f"return [config('f%d' % i, ['1' * 900]) for i in range({MAX_REPLY // 900 + 99})]"
    answers = ask(one=method(body), after=GOOD)
    assert answers["one"].problem == f"it answered more than {MAX_REPLY} bytes"
    assert dict(answers["after"].features) == LEVELS


def test_noise_is_not_an_answer(ask: Ask) -> None:
    body = (
        'print(\'{"id": "one", "features": []}\', flush=True)\n'
        "os.write(1, b'raw noise\\n' * 1000)\n"
        "sys.stderr.write('complaint\\n' * 1000)\n"
        "os.system('echo from a shell')\n"
        "return [config('level', ['v1'])]"
    )
    answer = ask(one="print('at import')\n" + method(body))["one"]
    assert answer.problem == ""
    assert dict(answer.features) == {"level": ("v1",)}


def test_endless_noise_fills_no_disk(ask: Ask) -> None:
    body = "while True:\n    os.write(2, b'x' * 1000000)"
    answers = ask(one=method(body), after=GOOD)
    assert "File too large" in answers["one"].problem
    assert dict(answers["after"].features) == LEVELS


def test_one_that_hangs_costs_only_itself(ask: Ask) -> None:
    answers = ask(before=GOOD, one=method("time.sleep(600)"), after=GOOD, time_limit=1.5)
    assert answers["one"].problem == "it did not answer within 1.5 seconds"
    assert dict(answers["before"].features) == LEVELS
    assert dict(answers["after"].features) == LEVELS


def test_one_that_hangs_while_it_is_imported(ask: Ask) -> None:
    answers = ask(one="time.sleep(600)\n", after=GOOD, time_limit=1.5)
    assert "1.5 seconds" in answers["one"].problem
    assert dict(answers["after"].features) == LEVELS


def test_one_that_ignores_signals_is_ended(ask: Ask, tmp_path: Path) -> None:
    body = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(600)"
    )
    assert ask(one=method(body), time_limit=1.5)["one"].problem
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("ending", ["return [config('level', ['v1'])]", "time.sleep(600)"])
def test_a_grandchild_is_ended_with_the_group(ask: Ask, tmp_path: Path, ending: str) -> None:
    path = tmp_path / "pid"
    body = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(path)!r}, 'w').write(str(child.pid))\n"
        f"{ending}"
    )
    ask(one=method(body), time_limit=3)
    assert is_gone(int(path.read_text()))


def test_a_fork_that_keeps_the_channel_open_delays_nothing(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    body = (
        "child = os.fork()\n"
        "if not child:\n"
        "    time.sleep(600)\n"
        f"open({str(path)!r}, 'w').write(str(child))\n"
        "os._exit(5)"
    )
    answers = ask(one=method(body), after=GOOD, time_limit=60)
    assert "status 5" in answers["one"].problem
    assert dict(answers["after"].features) == LEVELS
    assert is_gone(int(path.read_text()))


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    answers = ask_plugins(
        [PluginRequest("one", "one:Plugin"), PluginRequest("two", "two:Plugin")],
        executable=str(tmp_path / "python"),
        paths=[],
        environment={},
    )
    assert "can not be run" in answers["one"].problem
    assert "can not be run" in answers["two"].problem


def test_what_is_inherited_and_what_not(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "PIP_INDEX_URL": "https://index.test",
        "VINSTALL_TRUSTED_PROVIDERS": "x",
        "GITHUB_TOKEN": "x",
        "API_TOKEN_FOR_CI": "x",
        "DB_PASSWORD": "x",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "DATABASE_URL": "postgres://user:word@host/db",
        "HTTPS_PROXY": "http://user:word@proxy.test",
        "https_proxy": "http://user@proxy.test",
        "CUDA_VISIBLE_DEVICES": "0",
        "ROCR_VISIBLE_DEVICES": "0",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "PYTHONPATH": "/somewhere",
    }
    kept = {
        "HTTP_PROXY": "http://proxy.test:3128",
        "NV_VARIANT_PROVIDER_FORCE_SM_ARCH": "9.0",
        "LD_LIBRARY_PATH": "/opt/lib",
    }
    for name, value in {**secrets, **kept}.items():
        monkeypatch.setenv(name, value)
    body = "return [config(n.lower(), ['on']) for n in os.environ if n.lower().isidentifier()]"
    found = ask(one=method(body))["one"].features
    assert not {name.lower() for name in secrets} & set(found) - {"http_proxy"}
    assert {name.lower() for name in kept} <= set(found)


def test_the_streams_are_not_inherited(ask: Ask, capfd: pytest.CaptureFixture[str]) -> None:
    body = "sys.stdin.read()\nprint('out')\nos.system('echo err >&2')\nreturn []"
    assert ask(one=method(body))["one"].problem == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("where", ["call", "instantiation"])
def test_a_wrong_value_of_the_user_is_told_apart(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    name = "__init__" if where == "instantiation" else "get_supported_configs"
    source = (
        "class Plugin:\n"
        "    environment_variables = ('NV_FORCE',)\n"
        f"    def {name}(self):\n"
        "        if 'NV_FORCE' in os.environ:\n"
        "            raise ValueError('NV_FORCE has to look like 12.8')\n"
    )
    if where == "instantiation":
        source += "    def get_supported_configs(self):\n        return []\n"
    monkeypatch.setenv("NV_FORCE", "cu128")
    answer = ask(one=source)["one"]
    assert answer.is_override
    assert answer.problem == "NV_FORCE has to look like 12.8"


def test_another_value_error_is_an_ordinary_failure(ask: Ask) -> None:
    source = (
        "class Plugin:\n    environment_variables = ('NV_FORCE',)\n"
        + method("raise ValueError('NV_FORCE is fine, the card is not')").partition("\n")[2]
    )
    answer = ask(one=source)["one"]
    assert not answer.is_override
    assert answer.problem.startswith("ValueError: ")


def is_gone(pid: int) -> bool:
    """Whether a process has ended; it may be a zombie until its new parent looks."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def test_a_child_without_a_parent_ends_itself(tmp_path: Path) -> None:
    """Whoever started it may have been killed; it must not stay for ever."""
    (tmp_path / "hanging.py").write_text(
        "import time\nclass Plugin:\n    def get_supported_configs(self):\n"
        "        while True:\n            time.sleep(60)\n"
    )
    script = Path(__file__).parent.parent.parent / "vinstall" / "children" / "provider_query.py"
    answer = tmp_path / "answer"
    request = format_request([PluginRequest("x", "hanging:Plugin")], [str(tmp_path)], 0.5)
    done = subprocess.run(
        [sys.executable, "-I", str(script), "file", str(answer)],
        input=request,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGALRM
    assert answer.read_text().splitlines() == ['{"begin": "x"}']
