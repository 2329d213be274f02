"""Interpreters are asked for real; pip and packaging are second opinions."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.markers import default_environment
from packaging.tags import sys_tags

from vinstall.environment.interpreter import install_paths, probe_target
from vinstall.errors import InterpreterError
from vinstall.events import SilentObserver
from vinstall.settings import TargetSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.environments import Environment
    from vinstall.distributions.target import Target

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs a shell script")


def probe(python: object, cache: object = "") -> Target:
    return probe_target(str(python), str(cache), SilentObserver())


def run(python: Path | str, *arguments: str) -> str:
    return subprocess.run(
        [str(python), *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_a_virtual_environment(environment: Environment) -> None:
    target = probe(environment.python)
    assert target.executable == str(environment.python)
    assert Path(target.prefix) == environment.path
    assert target.is_virtual
    assert not target.system_site
    assert target.paths["purelib"] == str(environment.site_packages)
    assert target.search_path == (str(environment.site_packages),)
    assert target.user_paths == {}
    assert not target.is_foreign


def test_tags_and_markers_are_those_of_packaging(environment: Environment) -> None:
    target = probe(environment.python)  # same Python as the tests, through the child
    assert list(target.tags) == [str(tag) for tag in sys_tags()]
    assert dict(target.markers) == dict(default_environment())


def test_the_child_says_what_this_process_says() -> None:
    here = probe(sys.executable)
    script = Path("vinstall", "children", "target_probe.py")
    root = Path(__file__).parent.parent.parent
    output = run(sys.executable, "-I", str(root / script), "mark:")
    facts = json.loads(output.partition("\nmark:")[2])
    for name in ("prefix", "base_prefix", "version", "paths", "stdlib", "markers", "facts"):
        assert facts[name] == getattr(here, name), name


_ASK_PIP = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pip._internal.locations import get_scheme
options = json.loads(sys.argv[2])
scheme = get_scheme("", **options)
print(json.dumps({key: getattr(scheme, key) for key in
                  ("purelib", "platlib", "scripts", "data", "headers")}))
"""


def interpreters() -> list[str]:
    """The tests' own interpreter, that below it, and the system's where there is one."""
    base = Path(sys.base_prefix) / ("python.exe" if os.name == "nt" else "bin/python3")
    return list(dict.fromkeys(filter(None, [sys.executable, str(base), shutil.which("python3")])))


@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize("option", ["none", "prefix", "root", "user"])
def test_paths_are_those_of_pip(python: str, option: str, tmp_path: Path) -> None:
    import pip

    if not Path(python).exists():
        pytest.skip("no such interpreter")
    target = probe(python)
    there = str(tmp_path / "there")
    if option == "user" and not target.user_paths:
        pytest.skip("it has no user scheme")
    settings = {
        "none": TargetSettings(user=False),
        "prefix": TargetSettings(prefix=there),
        "root": TargetSettings(root=there),
        "user": TargetSettings(user=True),
    }[option]
    options = {} if option == "none" else {option: True if option == "user" else there}
    folder = str(Path(pip.__file__).parent.parent)
    expected = json.loads(run(python, "-c", _ASK_PIP, folder, json.dumps(options)))
    paths = dict(install_paths(target, settings)[0])
    unnamed = Path(expected["headers"])  # pip adds the project's name, and has none here
    expected["headers"] = str(unnamed.parent if unnamed.name == "UNKNOWN" else unnamed)
    assert {name: os.path.normpath(path) for name, path in paths.items()} == {
        name: os.path.normpath(path) for name, path in expected.items()
    }


def make_system_environment(folder: Path) -> Path:
    venv.create(folder, system_site_packages=True, with_pip=False, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_an_environment_that_sees_its_base(tmp_path: Path) -> None:
    python = make_system_environment(tmp_path / "environment")
    target = probe(python)
    assert target.system_site
    code = "import json, sys; print(json.dumps([p for p in sys.path if 'site-packages' in p]))"
    seen = json.loads(run(python, "-c", code))
    assert [path for path in target.search_path if path in seen] == seen
    user = target.user_paths["purelib"]
    assert target.search_path.index(target.paths["purelib"]) < target.search_path.index(user)


def test_the_user_scheme_can_be_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = make_system_environment(tmp_path / "environment")
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "mine"))
    target = probe(python, tmp_path / "cache")
    assert target.user_base == str(tmp_path / "mine")
    assert Path(target.user_paths["purelib"]).is_relative_to(tmp_path / "mine")
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    without = probe(python, tmp_path / "cache")
    assert without.user_base == ""
    assert without.user_paths == {}
    assert not [path for path in without.search_path if str(tmp_path / "mine") in path]


def test_what_is_on_the_import_path_counts_as_installed(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    assert str(tmp_path / "more") not in probe(environment.python, cache).search_path
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'more'}{os.pathsep}{os.pathsep}")
    target = probe(environment.python, cache)
    assert target.search_path == (str(tmp_path / "more"), str(environment.site_packages))


class Counted:
    """Counts how often the Python of an environment is started."""

    def __init__(self, environment: Environment, noise: str = "") -> None:
        self.log = environment.path / "starts"
        self.python = environment.python
        code = f"with open({str(self.log)!r}, 'a') as file: file.write('x')\n{noise}\n"
        (environment.site_packages / "sitecustomize.py").write_text(code)

    @property
    def starts(self) -> int:
        return len(self.log.read_text()) if self.log.exists() else 0


def test_an_answer_is_kept_until_the_environment_changes(
    environment: Environment, tmp_path: Path
) -> None:
    counted = Counted(environment)
    cache = tmp_path / "cache"
    first = probe(counted.python, cache)
    assert probe(counted.python, cache) == first
    assert counted.starts == 1
    configuration = environment.path / "pyvenv.cfg"
    text = configuration.read_text().replace("packages = false", "packages = true")
    configuration.write_text(text)
    os.utime(configuration, ns=(1, 1))
    assert probe(counted.python, cache).system_site
    assert counted.starts == 2


def make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="interpreters are copied there")
def test_one_environment_tells_of_another_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_environment(tmp_path / "one"), make_environment(tmp_path / "two")
    cache = tmp_path / "cache"
    probe(first, cache)
    expected = probe(second)
    asked: list[str] = []
    monkeypatch.setattr(
        "vinstall.environment.interpreter._probe_child", lambda python: asked.append(python)
    )
    found = probe(second, cache)
    assert asked == []
    assert found == expected
    assert found.prefix == str(tmp_path / "two")


@pytest.mark.skipif(sys.platform == "win32", reason="interpreters are copied there")
@pytest.mark.parametrize("name", ["start.pth", "sitecustomize.py"])
def test_an_environment_with_code_that_runs_at_the_start_is_asked_itself(
    tmp_path: Path, name: str
) -> None:
    first, second = make_environment(tmp_path / "one"), make_environment(tmp_path / "two")
    cache = tmp_path / "cache"
    packages = probe(first, cache).paths["purelib"]
    hook = Path(packages.replace(f"{os.sep}one{os.sep}", f"{os.sep}two{os.sep}"), name)
    seen = tmp_path / "seen"
    hook.write_text(f"import pathlib; pathlib.Path({str(seen)!r}).touch()\n")
    probe(second, cache)
    assert seen.exists()


def test_without_a_cache_it_is_asked_each_time(environment: Environment) -> None:
    counted = Counted(environment)
    probe(counted.python)
    probe(counted.python)
    assert counted.starts == 2


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"tags": []}', '{"search_path": 3}'])
def test_a_broken_cache_is_asked_again(
    environment: Environment, tmp_path: Path, content: str
) -> None:
    counted = Counted(environment)
    cache = tmp_path / "cache"
    first = probe(counted.python, cache)
    (kept,) = cache.rglob("*.json")
    kept.write_text(content)
    assert probe(counted.python, cache) == first
    assert counted.starts == 2


@POSIX
def test_the_answer_of_a_shim_is_not_kept(
    make_environment: Callable[..., Environment], tmp_path: Path
) -> None:
    """The Python behind a shim depends on a variable or a file that nobody told us of."""
    one, two = make_environment("one"), make_environment("two")
    shim = tmp_path / "python"
    for chosen in (one, two):
        shim.write_text(f'#!/bin/sh\nexec {chosen.python} "$@"\n')
        shim.chmod(0o755)
        os.utime(shim, ns=(1, 1))
        assert Path(probe(shim, tmp_path / "cache").prefix) == chosen.path


def test_a_cache_that_can_not_be_made_is_no_fault(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    assert probe(environment.python, tmp_path / "cache").is_virtual


def test_a_kept_answer_is_read_without_packaging(environment: Environment, tmp_path: Path) -> None:
    probe(environment.python, tmp_path / "cache")
    code = (
        "import sys\n"
        "sys.path.append(sys.argv[3])\n"
        "from vinstall.environment.interpreter import probe_target\n"
        "from vinstall.events import SilentObserver\n"
        "target = probe_target(sys.argv[1], sys.argv[2], SilentObserver())\n"
        "assert target.tags and target.is_virtual\n"
        "print([name for name in ('packaging', 'subprocess') if name in sys.modules])\n"
    )
    root = str(Path(__file__).parent.parent.parent)
    output = run(sys.executable, "-c", code, str(environment.python), str(tmp_path / "cache"), root)
    assert output == "[]\n"


@pytest.mark.parametrize(
    "noise",
    [
        "print('noise', end='')",
        "print('vinstall-target-probe-00:{}')",
        r"print('\nvinstall-target-probe-00:{}')",
        r"import atexit; atexit.register(print, 'vinstall-target-probe-00:{}')",
        "import sys; print('noise', file=sys.stderr)",
    ],
)
def test_noise_is_not_taken_for_the_answer(environment: Environment, noise: str) -> None:
    counted = Counted(environment, noise)
    assert Path(probe(counted.python).prefix) == environment.path
    assert counted.starts == 1


@POSIX
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 0", "it did not answer"),
        ("echo 'no such thing' >&2; exit 3", "no such thing"),
        ("echo; echo $3", "is not a Python"),
        ('echo; echo "$3{"', "is not a Python"),
        ('echo; echo "$3[]"', "is not a Python"),
        ('echo; echo "$3{}"', "is not a Python"),
        ("case $1 in -c) echo 'Python 2.7.18';; *) exit 2;; esac", "is Python 2.7.18"),
    ],
)
def test_what_is_no_python_or_too_old(tmp_path: Path, script: str, says: str) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    with pytest.raises(InterpreterError) as caught:
        probe(fake, tmp_path / "cache")
    assert says in str(caught.value)
    assert str(fake) in str(caught.value)
    assert not list(tmp_path.rglob("*.json"))


def test_what_can_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("no program")
    with pytest.raises(InterpreterError, match="can not be run"):
        probe(tmp_path / "python")


def test_another_version_of_python() -> None:
    """Any other Python that the machine has answers through the same script."""
    found = ((minor, shutil.which(f"python3.{minor}")) for minor in (14, 13, 12, 10, 9, 8))
    others = [(minor, path) for minor, path in found if path and minor != sys.version_info[1]]
    works = [
        one for one in others if subprocess.run([one[1], "-V"], capture_output=True).returncode == 0
    ]
    if not works:
        pytest.skip("there is only one Python here")
    minor, path = works[0]
    target = probe(path)
    assert target.python_version == (3, minor)
    assert f"cp3{minor}-none-any" in target.tags


def test_user_site_of_this_process() -> None:
    assert bool(probe(sys.executable).user_paths) is (
        bool(site.ENABLE_USER_SITE) and sys.prefix == sys.base_prefix
    )
