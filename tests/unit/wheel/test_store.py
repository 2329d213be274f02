"""Unpacked wheels: found again, never half there, never wrong."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel, record_digest
from vinstall.errors import InstallError, WheelFormatError
from vinstall.wheel import unpacking
from vinstall.wheel.store import StoredFile, StoredWheel, WheelStore, file_matches

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.wheels import BuiltWheel

FILES = {"demo/__init__.py": "X = 1\n", "demo/run": "#!/bin/sh\n", "demo/sub/é.txt": "ü"}


def built() -> BuiltWheel:
    return make_wheel(
        "demo",
        "1.0",
        label="null",
        files=FILES,
        executable=["demo/run"],
        entry_points={"console_scripts": ["demo = demo:main"]},
    )


def add(store: WheelStore, folder: Path, wheel: BuiltWheel) -> StoredWheel:
    return store.add(wheel.write_to(folder), wheel.filename, wheel.sha256)


def leftovers(store: WheelStore) -> list[str]:
    return [path.name for path in store.root.rglob(".partial-*")]


def test_a_wheel_is_unpacked_and_found_again(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    assert store.find(wheel.sha256) is None
    added = add(store, tmp_path, wheel)
    found = store.find(wheel.sha256)
    assert found == added
    assert found is not None
    assert found.folder == tmp_path / "store" / "store-v2" / wheel.sha256[:2] / wheel.sha256
    assert found.filename == wheel.filename
    assert found.dist_info == "demo-1.0.dist-info"
    assert found.root_is_purelib
    assert found.metadata.name == "demo"
    assert found.entry_points.startswith("[console_scripts]")
    assert found.variant_json == found.read("demo-1.0.dist-info/variant.json")
    by_path = {file.path: file for file in found.files}
    for path, text in FILES.items():
        content = text.encode()
        assert (found.root / path).read_bytes() == content
        stored = by_path[path]
        assert (stored.digest, stored.size) == (record_digest(content), len(content))
    assert [file.path for file in found.files if file.executable] == ["demo/run"]
    assert by_path["demo-1.0.dist-info/RECORD"].digest == ""
    assert leftovers(store) == []


def test_manifest_loads_without_looking_at_files(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    added = add(store, tmp_path, wheel)
    (added.root / "demo/run").unlink()
    assert store.find(wheel.sha256, check=False) == added
    assert added.changed_files() == ("demo/run",)


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_permissions_follow_the_umask_and_the_wheel(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        added = add(WheelStore(tmp_path / "store"), tmp_path, built())
    finally:
        os.umask(before)
    assert (added.root / "demo/run").stat().st_mode & 0o777 == 0o750
    assert (added.root / "demo/__init__.py").stat().st_mode & 0o777 == 0o640
    assert added.file_mode == 0o640


@pytest.mark.parametrize(
    "damage",
    ["content", "longer", "missing", "mode", "link", "manifest.json", "files.json", "digests.json"],
)
def test_damage_is_noticed_and_repaired(tmp_path: Path, damage: str) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    added = add(store, tmp_path, wheel)
    victim = added.root / "demo/__init__.py"
    if damage == "content":  # same size
        victim.write_bytes(b"X = 2\n")
    elif damage == "longer":
        victim.write_bytes(b"X = 1\n# more\n")
    elif damage == "missing":
        victim.unlink()
    elif damage == "mode":
        if os.name != "posix":
            pytest.skip("permission bits")
        victim.chmod(0o777)
    elif damage == "link":
        victim.rename(tmp_path / "moved")
        victim.symlink_to(tmp_path / "moved")
    else:
        manifest = added.folder / damage
        manifest.write_text(manifest.read_text("ascii")[:-20], "ascii")
    assert store.find(wheel.sha256) is None
    again = add(store, tmp_path, wheel)
    assert not (again.root / "demo/__init__.py").is_symlink()
    assert (again.root / "demo/__init__.py").read_bytes() == b"X = 1\n"
    assert store.find(wheel.sha256) == again
    assert leftovers(store) == []


def test_another_time_alone_is_no_damage(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    added = add(store, tmp_path, wheel)
    os.utime(added.root / "demo/__init__.py", (1, 1))
    assert store.find(wheel.sha256) == added


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"sha256": "0" * 64},
        {"tops": None},
        {"data_files": [["a"]]},
        {"size": "many"},
    ],
)
def test_foreign_manifests_are_ignored(tmp_path: Path, change: dict[str, object]) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    manifest = add(store, tmp_path, wheel).folder / "manifest.json"
    document = json.loads(manifest.read_text("ascii"))
    manifest.write_text(json.dumps({**document, **change}), "ascii")
    assert store.find(wheel.sha256, check=False) is None


def test_a_wrong_wheel_leaves_nothing(tmp_path: Path) -> None:
    store = WheelStore(tmp_path / "store")
    wheel = make_wheel("demo", fault="record-wrong-hash")
    with pytest.raises(WheelFormatError):
        add(store, tmp_path, wheel)
    assert store.find(wheel.sha256) is None
    assert [path for path in store.root.rglob("*") if path.is_file()] == []
    assert leftovers(store) == []


def test_many_at_once_agree(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    path = wheel.write_to(tmp_path)
    results: list[StoredWheel] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        results.append(store.add(path, wheel.filename, wheel.sha256))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert set(map(repr, results)) == {repr(results[0])}
    assert results[0].changed_files() == ()
    assert leftovers(store) == []


def test_several_threads_unpack_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel("demo", files={f"demo/m{number}.py": str(number) for number in range(50)})
    one = add(WheelStore(tmp_path / "one"), tmp_path, wheel)
    monkeypatch.setattr(unpacking, "PARALLEL_WEIGHT", 40_000)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    several = add(WheelStore(tmp_path / "several"), tmp_path, wheel)
    assert several.changed_files() == ()
    assert [file._replace(modified=0) for file in several.files] == [
        file._replace(modified=0) for file in one.files
    ]


def test_abandoned_work_is_removed(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    old = store.folder_of(wheel.sha256).parent / ".partial-old"
    new = store.folder_of(wheel.sha256).parent / ".partial-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    os.utime(old, (1, 1))
    add(store, tmp_path, wheel)
    assert leftovers(store) == [".partial-new"]


def test_remove(tmp_path: Path) -> None:
    store, wheel = WheelStore(tmp_path / "store"), built()
    assert not store.remove(wheel.sha256)
    add(store, tmp_path, wheel)
    assert store.remove(wheel.sha256)
    assert store.find(wheel.sha256) is None
    assert leftovers(store) == []


def test_a_store_that_can_not_be_written_is_an_install_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(InstallError, match="can not be unpacked"):
        add(WheelStore(tmp_path / "store"), tmp_path, built())


@pytest.mark.parametrize("digest", ["", "../../etc", "A" * 64, "0" * 63])
def test_only_digests_name_entries(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match="sha256"):
        WheelStore(tmp_path).folder_of(digest)
    assert WheelStore(tmp_path).find(digest) is None
    assert not WheelStore(tmp_path).has(digest)


def test_file_matches(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    assert file_matches(str(path), record_digest(b"content"))
    assert not file_matches(str(path), record_digest(b"other"))
    assert not file_matches(str(path), "")
    assert not file_matches(str(tmp_path / "none"), record_digest(b"content"))


def test_a_row_is_a_value() -> None:
    assert StoredFile("a", "sha256=x", 1, False) == StoredFile("a", "sha256=x", 1, False, 0)
