"""Folders that are placed as they are: which may be, and what is compared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site
from vinstall.errors import InstallError, StoreAlteredError
from vinstall.files import current_umask
from vinstall.install import trees
from vinstall.install.placement import Placer
from vinstall.install.transaction import InstallOptions
from vinstall.install.trees import find_disturbed, find_trees, place_trees
from vinstall.values import replace
from vinstall.wheel import store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.wheels import BuiltWheel
    from vinstall.install.transaction import InstallStep
    from vinstall.wheel.store import StoredWheel

FILES = {
    "demo/__init__.py": "X = 1\n",
    "demo/deep/er/mod.py": "",
    "demo/run": "#!/bin/sh\n",
    "six.py": "",
}


def demo(name: str = "demo", **files: str) -> BuiltWheel:
    return make_wheel(name, files=files or FILES, executable=() if files else ("demo/run",))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.library.mkdir(parents=True)
    return made


def are_trees(site: Site, *wheels: BuiltWheel, compiled: bool = False) -> list[bool]:
    found = find_trees([site.add(wheel) for wheel in wheels], site.paths, compiled=compiled)
    return [tree is not None for tree in found]


def test_what_goes_where_nothing_is(site: Site) -> None:
    (tree,) = find_trees([site.add(demo())], site.paths)
    assert tree is not None
    library = os.path.realpath(site.library)
    assert tree.library == library
    assert dict(tree.tops) == {
        f"{library}/demo": True,
        f"{library}/six.py": False,
        f"{library}/demo-1.0.dist-info": True,
    }


@pytest.mark.parametrize("name", ["demo", "six.py", "demo-1.0.dist-info"])
@pytest.mark.parametrize("kind", ["file", "folder", "broken link"])
def test_what_is_there_already_is_looked_at(site: Site, name: str, kind: str) -> None:
    place = site.library / name
    if kind == "file":
        place.write_text("")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    assert are_trees(site, demo()) == [False]


def test_wheels_that_share_a_folder_are_looked_at(site: Site) -> None:
    wheels = [demo("a", **{"space/a.py": ""}), demo("b", **{"space/b.py": ""}), demo("c")]
    assert are_trees(site, *wheels) == [False, False, True]
    wheels = [demo("a", **{"Space/a.py": ""}), demo("b", **{"space/b.py": ""})]
    assert are_trees(site, *wheels) == [False, False]


def test_data_for_the_library_is_looked_at(site: Site) -> None:
    assert are_trees(site, demo(**{"demo-1.0.data/purelib/x.py": ""})) == [False]
    assert are_trees(site, demo(**{"demo-1.0.data/scripts/x": "", "y.py": ""})) == [True]


def test_bytecode_of_a_wheel_stands_in_the_way_of_bytecode(site: Site) -> None:
    wheel = demo(**{"a/__pycache__/b.cpython-311.pyc": "", "a/b.py": ""})
    assert are_trees(site, wheel) == [True]
    assert are_trees(site, wheel, compiled=True) == [False]


def test_a_file_in_the_place_of_a_tree(site: Site) -> None:
    found = find_trees([site.add(demo()), site.add(demo("a", **{"a.py": ""}))], site.paths)
    library = os.path.realpath(site.library)
    assert find_disturbed(found, [f"{library}/other/x", "/bin/demo"]) == set()
    assert find_disturbed(found, [f"{library}/Demo/x", f"{library}/x"]) == {0}
    assert find_disturbed(found, [f"{library}/demo/x", f"{library}/a.py"]) == {0, 1}
    assert find_disturbed([None], [f"{library}/demo/x"]) == set()


def test_data_that_lands_in_a_folder_of_another_wheel(tmp_path: Path) -> None:
    """As with --target, where scripts and data lie beside modules."""
    site = Site(tmp_path)
    site.paths.update(dict.fromkeys(("scripts", "data"), str(site.library)))
    other = demo("other", **{"other-1.0.data/data/demo/more.txt": "more"})
    site.install(demo(), other)
    assert (site.library / "demo" / "more.txt").read_text() == "more"
    assert (site.library / "demo" / "__init__.py").read_text() == "X = 1\n"
    clash = demo("clash", **{"clash-1.0.data/data/demo2/__init__.py": "Y"})
    with pytest.raises(InstallError, match="can not be installed together"):
        site.install(clash, demo("demo2", **{"demo2/__init__.py": "X"}))
    assert not (site.library / "demo2").exists()


def unverified(site: Site, wheel: BuiltWheel) -> tuple[InstallStep, StoredWheel]:
    """A step with a wheel that was unpacked by an earlier command."""
    step = site.step(wheel)
    stored = replace(step.wheel, is_verified=False)
    return replace(step, wheel=stored), stored


def placed(site: Site) -> list[str]:
    return sorted(
        str(path.relative_to(site.library))
        for path in site.library.rglob("*")
        if path.is_file() and path.parent.suffix != ".dist-info"
    )


@pytest.mark.parametrize("link", [True, False])
@pytest.mark.parametrize("has_dir_fd", [True, False])
@pytest.mark.parametrize("pieces", [True, False])
def test_files_arrive_as_they_are(
    site: Site, monkeypatch: pytest.MonkeyPatch, link: bool, has_dir_fd: bool, pieces: bool
) -> None:
    monkeypatch.setattr(trees, "_HAS_DIR_FD", has_dir_fd and trees._HAS_DIR_FD)
    if pieces:
        monkeypatch.setattr(store, "SHARE", 1)
    many = {f"demo/sub/m{number}.py": str(number) for number in range(7)}
    built = make_wheel("demo", files={**FILES, **many}, executable=["demo/run", "demo/sub/m5.py"])
    step, stored = unverified(site, built)
    site.apply([step], options=InstallOptions(link=link))
    assert placed(site) == sorted([*FILES, *many])
    for path in (*FILES, *many):
        target = site.library / path
        assert target.read_bytes() == (stored.root / path).read_bytes()
        assert target.samefile(stored.root / path) == link
        assert bool(target.stat().st_mode & 0o111) == (path in ("demo/run", "demo/sub/m5.py"))
    assert site.get("demo").version_text == "1.0"


@pytest.mark.parametrize("damage", ["content", "missing", "mode", "link", "folder", "files.json"])
def test_what_was_altered_in_the_store_is_not_placed(site: Site, damage: str) -> None:
    step, stored = unverified(site, demo())
    victim = stored.root / "demo/deep/er/mod.py"
    if damage == "content":
        victim.write_text("evil = 1\n")
    elif damage == "missing":
        victim.unlink()
    elif damage == "mode":
        victim.chmod(0o777)
    elif damage == "link":
        victim.unlink()
        victim.symlink_to(stored.root / "six.py")
    elif damage == "folder":
        victim.unlink()
        victim.parent.rmdir()
    else:
        (stored.folder / damage).unlink()
    with pytest.raises(StoreAlteredError) as caught:
        site.apply([step])
    assert caught.value.sha256 == stored.sha256
    assert list(site.library.iterdir()) == []


def test_another_time_alone_is_no_damage(site: Site) -> None:
    step, stored = unverified(site, demo())
    os.utime(stored.root / "six.py", (1, 1))
    site.apply([step])
    assert placed(site) == sorted(FILES)


def test_what_is_looked_at_is_compared_too(site: Site) -> None:
    (site.library / "demo").mkdir()
    step, stored = unverified(site, demo())
    (stored.root / "six.py").write_text("evil = 1\n")
    with pytest.raises(StoreAlteredError, match=r"six\.py"):
        site.apply([step])


def test_a_file_that_appears_meanwhile(site: Site) -> None:
    stored = site.add(demo())
    (tree,) = find_trees([stored], site.paths)
    assert tree is not None
    (site.library / "demo").mkdir()
    (site.library / "demo" / "run").write_text("of another program")
    with pytest.raises(InstallError, match="appeared while it was installed"):
        place_trees([tree], Placer(current_umask()))
    assert (site.library / "demo" / "run").read_text() == "of another program"


def test_what_is_left_out_is_not_placed(site: Site) -> None:
    built = demo()
    stored = site.add(built)
    tops = {name: kind for name, kind in stored.tops.items() if name not in ("demo", "six.py")}
    stored = replace(stored, tops=tops, left_out=frozenset({"demo", "six.py"}))
    site.apply([replace(site.step(built), wheel=stored)])
    assert placed(site) == []
    record = (site.library / "demo-1.0.dist-info" / "RECORD").read_text()
    assert "demo/__init__.py" not in record
    assert "demo-1.0.dist-info/METADATA" in record


@pytest.mark.parametrize("name", ["scripts/tool.sh", "data/share/demo.txt", "headers/demo.h"])
def test_what_was_altered_beside_the_library_is_not_placed(site: Site, name: str) -> None:
    step, stored = unverified(site, demo(**{f"demo-1.0.data/{name}": "1", "demo.py": ""}))
    (stored.root / "demo-1.0.data" / name).write_text("evil\n")
    with pytest.raises(StoreAlteredError):
        site.apply([step])
    assert placed(site) == []


@pytest.mark.parametrize("name", ["files.json", "digests.json", "record.csv"])
@pytest.mark.parametrize("content", [None, b"", b"[]"])
def test_damaged_facts_are_not_believed(site: Site, name: str, content: bytes | None) -> None:
    step, stored = unverified(site, demo())
    if name == "digests.json":  # read where each file is looked at
        (site.library / "demo").mkdir()
    if content is None:
        (stored.folder / name).unlink()
    else:
        (stored.folder / name).write_bytes(content)
    with pytest.raises(StoreAlteredError) as caught:
        site.apply([step])
    assert caught.value.path == name
    assert placed(site) == []


def test_a_folder_of_the_store_that_became_a_file(site: Site) -> None:
    step, stored = unverified(site, demo())
    (stored.root / "demo/deep/er/mod.py").unlink()
    (stored.root / "demo/deep/er").rmdir()
    (stored.root / "demo/deep/er").write_text("")
    with pytest.raises(StoreAlteredError):
        site.apply([step])


class Stopped(Exception):
    """Ends a change."""


@pytest.mark.parametrize("when", ["place", "record", "commit"])
def test_what_others_put_into_a_new_folder_stays(site: Site, when: str) -> None:
    def stop(name: str) -> None:
        other = site.library / "demo" / "other.py"
        if name.startswith("place") and (site.library / "demo").exists():
            other.parent.mkdir(exist_ok=True)
            other.write_text("of somebody else")
        if name.startswith(when) and other.exists():
            raise Stopped

    with pytest.raises(InstallError, match="undone"):
        site.install(demo(), options=InstallOptions(checkpoint=stop))
    assert placed(site) == ["demo/other.py"]
    assert not (site.library / "demo" / "deep").exists()


def test_a_folder_that_appears_before_the_first_file(site: Site) -> None:
    def interfere(name: str) -> None:
        if name == "journal":
            (site.library / "demo").mkdir()
            (site.library / "demo" / "other.py").write_text("")

    with pytest.raises(InstallError, match="appeared while"):
        site.install(demo(), options=InstallOptions(checkpoint=interfere))
    assert placed(site) == ["demo/other.py"]


def test_stale_bytecode_of_a_new_module_leaves(site: Site) -> None:
    cache = site.library / "__pycache__"
    cache.mkdir()
    (cache / "six.cpython-311.pyc").write_text("old")
    (cache / "other.cpython-311.pyc").write_text("old")
    site.install(demo())
    assert [path.name for path in cache.iterdir()] == ["other.cpython-311.pyc"]
