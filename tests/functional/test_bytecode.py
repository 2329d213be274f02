"""Bytecode: compiled by the interpreter it is for, kept in the store, placed and recorded."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import struct
import sys
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site, Stop
from vinstall.errors import InstallError
from vinstall.install.transaction import InstallOptions
from vinstall.wheel.bytecode import Compiler, CompilerFacts, find_bytecode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel
    from vinstall.wheel.bytecode import Bytecode
    from vinstall.wheel.store import StoredWheel

WHEEL = make_wheel(
    "demo",
    files={
        "demo/__init__.py": "X = 1\n",
        "demo/sub/mod.py": "Y = 2\n",
        "demo/template.py": "this is {not} python\n",
        "single.py": "",
    },
    data={"scripts/run.py": "#!python\n"},
)
MODULES = ("demo/__init__.py", "demo/sub/mod.py", "single.py")
TAG = sys.implementation.cache_tag
FACTS = CompilerFacts(
    sys.executable, TAG, importlib.util.MAGIC_NUMBER.hex(), by_hash=False, environment={}
)


def compile_wheel(
    wheel: StoredWheel, folder: Path, facts: CompilerFacts = FACTS
) -> tuple[Bytecode | None, str]:
    compiler = Compiler(facts, folder)
    try:
        compiler.submit(wheel)
        found, problem = compiler.finish()
    finally:
        compiler.close()
    return found.get(wheel.sha256), problem


def install(
    site: Site, wheel: BuiltWheel, folder: Path, options: InstallOptions | None = None
) -> None:
    step = site.step(wheel)
    bytecode, problem = compile_wheel(step.wheel, folder)
    assert not problem
    site.apply([replace(step, bytecode=bytecode)], options=options)


def read_head(path: Path) -> tuple[bytes, int, int, int]:
    """Magic number, flags, seconds of the source, size of the source (PEP 552)."""
    data = path.read_bytes()
    return data[:4], *struct.unpack("<III", data[4:16])


def test_modules_are_compiled_placed_and_recorded(tmp_path: Path) -> None:
    site = Site(tmp_path, sys.executable)
    install(site, WHEEL, tmp_path)
    compiled = {path.relative_to(site.library).as_posix() for path in site.root.rglob("*.pyc")}
    expected = {
        os.path.relpath(cache_from_source(str(site.library / module)), site.library)
        for module in MODULES
    }
    assert compiled == expected
    record = site.record("demo")
    assert {path for path in record if path.endswith(".pyc")} == compiled
    assert {record[path] for path in compiled} == {("", "")}
    site.remove("demo")
    assert list(site.library.iterdir()) == []


@pytest.mark.parametrize("link", [True, False])
def test_python_takes_the_bytecode_for_current(tmp_path: Path, link: bool) -> None:
    site = Site(tmp_path, sys.executable)
    options = InstallOptions(link=link, warn_script_location=False)
    install(site, WHEEL, tmp_path, options)
    for module in MODULES:
        source = site.library / module
        facts = source.stat()
        head = read_head(Path(cache_from_source(str(source))))
        assert head == (importlib.util.MAGIC_NUMBER, 0, int(facts.st_mtime), facts.st_size)


def test_it_is_the_code_that_python_would_make(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    found, _ = compile_wheel(wheel, tmp_path)
    assert found is not None
    for module in MODULES:
        source = wheel.root / module
        code = marshal.loads(Path(found.files[str(source)]).read_bytes()[16:])
        assert code == compile(source.read_bytes(), "other name", "exec", dont_inherit=True)


def test_python_knows_where_the_module_lies(index: SimpleIndex, environment: Environment) -> None:
    index.add(WHEEL)
    environment.vinstall("install", "--index-url", index.simple_url, "--compile", "demo").check()
    program = "import demo.sub.mod as m; print(m.__loader__.get_code(m.__name__).co_filename)"
    told = environment.run_python("-B", "-c", program).check().stdout.strip()
    assert Path(told) == environment.site_packages / "demo" / "sub" / "mod.py"


def test_what_was_compiled_once_is_not_compiled_again(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    first, _ = compile_wheel(wheel, tmp_path)
    nobody = replace(FACTS, executable=str(tmp_path / "no-python"))
    second, problem = compile_wheel(wheel, tmp_path, nobody)
    assert first is not None
    assert (second, problem) == (first, "")
    assert list(wheel.folder.rglob(".partial-*")) == []


@pytest.mark.parametrize("change", ["content", "removed", "manifest"])
def test_altered_bytecode_is_made_again(tmp_path: Path, change: str) -> None:
    site = Site(tmp_path, sys.executable)
    wheel = site.add(WHEEL)
    first, _ = compile_wheel(wheel, tmp_path)
    assert first is not None
    path = Path(first.files[str(wheel.root / "single.py")])
    good = path.read_bytes()
    if change == "content":
        path.unlink()
        path.write_bytes(good + b"more")
    elif change == "removed":
        path.unlink()
    else:
        (path.parent / "manifest.json").write_text("{}")
    assert find_bytecode(wheel, FACTS) is None
    assert site.store.find_fault(wheel.sha256)
    again, problem = compile_wheel(wheel, tmp_path)
    assert (again, problem) == (first, "")
    assert path.read_bytes() == good
    assert site.store.find_fault(wheel.sha256) == ""


def test_a_byte_that_changed_in_silence_is_found_by_a_full_check(tmp_path: Path) -> None:
    site = Site(tmp_path, sys.executable)
    wheel = site.add(WHEEL)
    first, _ = compile_wheel(wheel, tmp_path)
    assert first is not None
    path = Path(first.files[str(wheel.root / "demo" / "__init__.py")])
    facts = path.stat()
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert path.name in site.store.find_fault(wheel.sha256)


def test_another_kind_of_interpreter_has_a_folder_of_its_own(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    by_time, _ = compile_wheel(wheel, tmp_path)
    by_hash, _ = compile_wheel(wheel, tmp_path, replace(FACTS, by_hash=True))
    assert by_time is not None
    assert by_hash is not None
    source = str(wheel.root / "single.py")
    assert by_hash.files[source] != by_time.files[source]
    data = Path(by_hash.files[source]).read_bytes()
    assert struct.unpack("<I", data[4:8]) == (3,)
    assert data[8:16] == importlib.util.source_hash(b"")


def test_bytecode_that_can_not_be_kept_lies_in_the_work_folder(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    (wheel.folder / "bytecode").write_text("not a folder")
    work = tmp_path / "work"
    work.mkdir()
    found, problem = compile_wheel(wheel, work)
    assert not problem
    assert found is not None
    assert len(found.files) == len(MODULES)
    assert all(path.startswith(str(work)) for path in found.files.values())


def test_nothing_of_a_module_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    code = f"open({str(marker)!r}, 'w')\n"
    wheel = Site(tmp_path, sys.executable).add(make_wheel("demo", files={"demo.py": code}))
    found, _ = compile_wheel(wheel, tmp_path)
    assert found is not None
    assert len(found.files) == 1
    assert not marker.exists()


def test_a_failure_after_placing_leaves_no_bytecode(tmp_path: Path) -> None:
    def checkpoint(name: str) -> None:
        if name.startswith("record"):
            assert list(site.root.rglob("*.pyc"))
            raise Stop

    site = Site(tmp_path, sys.executable)
    site.library.mkdir(parents=True)
    before = site.tree()
    with pytest.raises(InstallError):
        install(site, WHEEL, tmp_path, InstallOptions(checkpoint=checkpoint))
    assert site.tree() == before


def test_an_interpreter_that_does_not_start_only_costs_the_bytecode(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    nobody = replace(FACTS, executable=str(tmp_path / "no-python"))
    found, problem = compile_wheel(wheel, tmp_path, nobody)
    assert found is None
    assert "no-python can not be run" in problem


def test_an_interpreter_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    wheel = Site(tmp_path, sys.executable).add(WHEEL)
    found, problem = compile_wheel(wheel, tmp_path, replace(FACTS, magic="00000000"))
    assert found is None
    assert problem.endswith("is not the Python that it was")


@pytest.mark.skipif(os.name == "nt", reason="a script of the shell stands for the interpreter")
def test_a_module_that_kills_the_interpreter_costs_itself_only(tmp_path: Path) -> None:
    script = tmp_path / "python"
    # answers for every module but those named "bad", at which it dies
    script.write_text(
        f"#!{sys.executable} -IS\n"
        "import json, os, sys\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    source, target, shown, _ = json.loads(line)\n"
        "    if 'bad' in shown:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    open(target, 'wb').close()\n"
        "    facts = os.stat(target)\n"
        "    print(json.dumps([0, facts.st_mtime_ns, '']), flush=True)\n"
    )
    script.chmod(0o755)
    files = dict.fromkeys(("a.py", "bad.py", "c.py", "d/bad.py", "d/e.py"), "")
    wheel = Site(tmp_path, sys.executable).add(make_wheel("demo", files=files))
    found, problem = compile_wheel(wheel, tmp_path, replace(FACTS, executable=str(script)))
    assert not problem
    assert found is not None
    root = f"{wheel.root}{os.sep}"
    assert sorted(path[len(root) :] for path in found.files) == ["a.py", "c.py", "d/e.py"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_bytecode_has_the_permissions_of_its_wheel(tmp_path: Path) -> None:
    site = Site(tmp_path, sys.executable)
    compiler = Compiler(FACTS, tmp_path)
    wheels = []
    before = os.umask(0o022)
    try:
        for umask in (0o022, 0o077, 0o002):
            os.umask(umask)
            name = f"demo{umask}"
            wheels.append(site.add(make_wheel(name, files={f"{name}.py": "X = 1\n" * 40_000})))
            compiler.submit(wheels[-1])
        found, problem = compiler.finish()
    finally:
        compiler.close()
        os.umask(before)
    assert not problem
    modes = [
        {Path(path).stat().st_mode & 0o777 for path in found[wheel.sha256].files.values()}
        for wheel in wheels
    ]
    assert modes == [{0o644}, {0o600}, {0o664}]


def test_more_modules_than_a_child_gets_at_once(tmp_path: Path) -> None:
    files = {f"many/m{number}.py": f"X = {number}\n" for number in range(700)}
    wheel = Site(tmp_path, sys.executable).add(make_wheel("many", files=files))
    found, problem = compile_wheel(wheel, tmp_path)
    assert not problem
    assert found is not None
    assert len(found.files) == 700
    manifest = json.loads((wheel.folder / "bytecode" / FACTS.kind / "manifest.json").read_bytes())
    assert [row[0] for row in manifest["files"]] == sorted(files)


def test_compile_option_links_from_the_store(index: SimpleIndex, environment: Environment) -> None:
    index.add(WHEEL)
    words = ("install", "--index-url", index.simple_url, "--compile", "demo")
    environment.vinstall(*words).check()
    compiled = environment.site_packages / "__pycache__" / f"single.{TAG}.pyc"
    number = compiled.stat().st_nlink
    environment.vinstall("install", "--force-reinstall", *words[1:]).check()
    assert compiled.stat().st_nlink == number
    environment.vinstall("uninstall", "--yes", "demo").check()
    assert not compiled.exists()


VARIABLES: tuple[Mapping[str, str], ...] = ({}, {"SOURCE_DATE_EPOCH": "1700000000"})


@pytest.mark.parametrize("variables", VARIABLES)
def test_reproducible_builds_get_bytecode_without_a_time(
    index: SimpleIndex, environment: Environment, variables: Mapping[str, str]
) -> None:
    index.add(WHEEL)
    environment.vinstall(
        "install", "--index-url", index.simple_url, "--compile", "demo", variables=variables
    ).check()
    path = environment.site_packages / "__pycache__" / f"single.{TAG}.pyc"
    assert read_head(path)[1] == (3 if variables else 0)
