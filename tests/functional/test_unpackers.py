"""Wheels unpacked by processes of our own: the same entries, the same errors."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from vinstall.errors import InstallError, WheelFormatError
from vinstall.wheel.store import WheelStore
from vinstall.wheel.unpackers import WORTHWHILE, Unpackers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel, Fault


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "store")


@pytest.fixture
def unpackers(store: WheelStore) -> Iterator[Unpackers]:
    made = Unpackers(store, {}, WORTHWHILE)
    yield made
    made.close()


def wheels(count: int) -> list[BuiltWheel]:
    return [
        make_wheel(f"demo{number}", files={f"demo{number}/m{n}.py": f"X = {n}\n" for n in range(9)})
        for number in range(count)
    ]


def test_threads_share_the_children(
    unpackers: Unpackers, store: WheelStore, tmp_path: Path
) -> None:
    built = wheels(30)
    paths = [wheel.write_to(tmp_path / "files") for wheel in built]
    with ThreadPoolExecutor(8) as pool:
        stored = list(
            pool.map(
                unpackers.add,
                paths,
                (wheel.filename for wheel in built),
                (wheel.sha256 for wheel in built),
            )
        )
    assert [one.filename for one in stored] == [wheel.filename for wheel in built]
    assert all(store.find_fault(wheel.sha256) == "" for wheel in built)


def test_a_child_did_it(
    unpackers: Unpackers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (wheel,) = wheels(1)
    monkeypatch.setattr(WheelStore, "add", None)  # here, not in the child
    stored = unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256)
    assert stored.read("demo0/m3.py") == b"X = 3\n"


def test_what_is_wrong_with_a_wheel_is_told(unpackers: Unpackers, tmp_path: Path) -> None:
    broken = make_wheel("demo", fault="record-wrong-hash")
    path = broken.write_to(tmp_path)
    with pytest.raises(WheelFormatError, match="digest in RECORD"):
        unpackers.add(path, broken.filename, broken.sha256)
    (wheel,) = wheels(1)
    unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256)


def test_children_that_are_gone_are_done_without(
    unpackers: Unpackers, store: WheelStore, tmp_path: Path
) -> None:
    for child in unpackers.children:
        child.kill()
        child.wait()
    for wheel in wheels(6):
        unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256)
        assert store.find_fault(wheel.sha256) == ""


def test_nothing_is_unpacked_after_a_stop(
    unpackers: Unpackers, store: WheelStore, tmp_path: Path
) -> None:
    (wheel,) = wheels(1)
    path = wheel.write_to(tmp_path)
    unpackers.stop()
    with pytest.raises(InstallError, match="not wanted any more"):
        unpackers.add(path, wheel.filename, wheel.sha256)
    assert not store.has(wheel.sha256)
    unpackers.close()
    assert all(child.returncode for child in unpackers.children)


def test_an_interpreter_that_can_not_be_started_again(
    store: WheelStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    unpackers = Unpackers(store, {}, WORTHWHILE)
    assert unpackers.children == []
    (wheel,) = wheels(1)
    assert unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256).files
    unpackers.close()


def test_few_wheels_are_unpacked_here(store: WheelStore, tmp_path: Path) -> None:
    unpackers = Unpackers(store, {}, WORTHWHILE - 1)
    assert unpackers.children == []
    (wheel,) = wheels(1)
    assert unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256).files
    unpackers.close()


def test_no_child_is_left(unpackers: Unpackers, tmp_path: Path) -> None:
    (wheel,) = wheels(1)
    unpackers.add(wheel.write_to(tmp_path), wheel.filename, wheel.sha256)
    assert len(unpackers.children) == min(os.cpu_count() or 1, 4)
    unpackers.close()
    assert [child.returncode for child in unpackers.children] == [0] * len(unpackers.children)


LARGE: dict[str, str | bytes] = {
    "large.bin": random.Random(1).randbytes(9_000_000),
    **{f"m{number}.py": f"X = {number}\n" for number in range(600)},
    "larger.bin": random.Random(2).randbytes(12_000_000),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not be forked here")
@pytest.mark.parametrize("fault", [None, "record-wrong-hash"])
def test_a_large_wheel_is_unpacked_by_forked_processes(tmp_path: Path, fault: Fault | None) -> None:
    wheel = make_wheel("demo", files=LARGE, fault=fault)
    path = wheel.write_to(tmp_path)
    # from here, where other threads may be, nothing is forked
    program = (
        "import sys; from pathlib import Path; from vinstall.wheel.store import WheelStore\n"
        "store = WheelStore(Path(sys.argv[1]), workers=3, may_fork=True)\n"
        "store.add(Path(sys.argv[2]), sys.argv[3], sys.argv[4])\n"
    )
    words = [str(tmp_path / "forked"), str(path), wheel.filename, wheel.sha256]
    result = subprocess.run([sys.executable, "-c", program, *words], check=False)
    assert (result.returncode == 0) == (fault is None)
    assert list((tmp_path / "forked").rglob(".partial-*")) == []
    forked = WheelStore(tmp_path / "forked").find(wheel.sha256)
    if fault is not None:
        assert forked is None
        return
    plain = WheelStore(tmp_path / "plain", workers=1).add(path, wheel.filename, wheel.sha256)
    assert forked is not None
    assert [file[:4] for file in forked.files] == [file[:4] for file in plain.files]
    assert all(forked.read(file.path) == plain.read(file.path) for file in plain.files)


def test_an_install_of_many_wheels(index: SimpleIndex, environment: Environment) -> None:
    built = wheels(WORTHWHILE + 2)
    index.add(*built)
    names = [wheel.name for wheel in built]
    environment.vinstall("install", "--index-url", index.simple_url, *names).check()
    assert sorted(environment.installed()) == sorted(names)
    environment.vinstall("check").check()


def test_a_broken_wheel_among_many_stops_the_install(
    index: SimpleIndex, environment: Environment
) -> None:
    broken = make_wheel("broken", fault="record-wrong-hash")
    index.add(*wheels(WORTHWHILE), broken)
    names = [f"demo{number}" for number in range(WORTHWHILE)]
    result = environment.vinstall("install", "--index-url", index.simple_url, *names, "broken")
    assert result.returncode == 1
    assert "digest in RECORD" in result.stderr
    assert environment.installed() == {}
