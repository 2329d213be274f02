"""Installing, replacing and removing: what is there afterwards, and what is refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel, record_digest
from tests.unit.install.installing import Site, Stop
from vinstall.errors import CancelledError, InstallError
from vinstall.events import ExistingFound, Noted, StageAdvanced, Uninstalled, Warned
from vinstall.install import transaction
from vinstall.install.journal import JOURNAL_NAME, Intent, Journal
from vinstall.install.transaction import InstallOptions, environment_lock, recover

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.wheels import BuiltWheel


def built(version: str = "1.0", **files: str) -> BuiltWheel:
    return make_wheel(
        "demo",
        version,
        files={f"demo/{name}.py": text for name, text in (files or {"__init__": version}).items()},
        entry_points={"console_scripts": ["demo = demo:main"]},
    )


def test_a_fresh_installation(tmp_path: Path) -> None:
    site = Site(tmp_path)
    wheel = make_wheel(
        "Demo",
        files={"demo/__init__.py": "X = 1\n"},
        data={"scripts/run": "#!python\n"},
        entry_points={"console_scripts": ["demo = demo:main"]},
    )
    step = site.step(
        wheel,
        requested=True,
        direct_url={"url": "file:///x", "dir_info": {}},
        reason={"label": "cu128"},
    )
    site.apply([step])
    files = {path for path, (kind, _, _) in site.tree().items() if kind == "file"}
    info = "lib/python3.11/site-packages/demo-1.0.dist-info"
    assert files == {
        "bin/demo",
        "bin/run",
        "lib/python3.11/site-packages/demo/__init__.py",
        *(
            f"{info}/{name}"
            for name in (
                "METADATA",
                "WHEEL",
                "RECORD",
                "INSTALLER",
                "REQUESTED",
                "direct_url.json",
                "vinstall.json",
                "entry_points.txt",
            )
        ),
    }
    assert (site.info("demo") / "INSTALLER").read_bytes() == b"vinstall\n"
    assert (site.info("demo") / "REQUESTED").read_bytes() == b""
    assert site.read_json("demo", "direct_url.json") == {"url": "file:///x", "dir_info": {}}
    assert site.read_json("demo", "vinstall.json") == {"label": "cu128"}
    record = site.record("demo")
    assert record.pop("demo-1.0.dist-info/RECORD") == ("", "")
    assert {os.path.normpath(site.library / path) for path in record} == {
        str(site.root / path) for path in files if not path.endswith("RECORD")
    }
    for path, (digest, size) in record.items():
        content = (site.library / path).read_bytes()
        assert (digest, size) == (record_digest(content), str(len(content)))
    assert os.access(site.scripts / "demo", os.X_OK)
    assert os.access(site.scripts / "run", os.X_OK)
    assert StageAdvanced("install", 1, "Demo") in site.observer.events


def test_what_was_not_asked_for_is_not_requested(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built())
    found = {path.name for path in site.info("demo").iterdir()}
    assert found.isdisjoint({"REQUESTED", "direct_url.json", "vinstall.json"})


def test_replacing_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    site, fresh = Site(tmp_path / "one"), Site(tmp_path / "two")
    site.install(built("1.0", __init__="1", old="x", same="s"))
    (site.library / "demo" / "__pycache__").mkdir()
    (site.library / "demo" / "__pycache__" / "old.cpython-311.pyc").write_bytes(b"x")
    new = built("2.0", __init__="2", new="y", same="s")
    site.install(new)
    fresh.install(new)
    assert site.tree() == fresh.tree()
    told = [one for one in site.observer.events if isinstance(one, ExistingFound | Uninstalled)]
    assert told == [ExistingFound("demo", "1.0"), Uninstalled("demo", "1.0")]


def test_installing_the_same_version_again(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built())
    before = site.tree()
    (site.library / "demo" / "__init__.py").unlink()
    site.install(built())
    assert site.tree() == before


def test_removing_leaves_only_what_was_there(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.scripts.mkdir(parents=True)
    site.library.mkdir(parents=True)
    (site.library / "other.py").write_text("x")
    before = site.tree()
    site.install(built())
    site.remove("demo")
    assert site.tree() == before


def test_files_that_nobody_recorded_stay(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built())
    (site.library / "demo" / "mine.txt").write_text("mine")
    site.remove("demo")
    assert (site.library / "demo" / "mine.txt").read_text() == "mine"
    assert not (site.library / "demo" / "__init__.py").exists()


def test_nothing_to_do_touches_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply([])
    assert not site.root.exists()


@pytest.mark.parametrize("link", [True, False])
def test_linked_or_copied_the_tree_is_the_same(tmp_path: Path, link: bool) -> None:
    site = Site(tmp_path)
    wheel = built()
    site.install(wheel, options=InstallOptions(link=link, warn_script_location=False))
    stored = site.store.find(wheel.sha256)
    assert stored is not None
    placed = site.library / "demo" / "__init__.py"
    assert placed.samefile(stored.root / "demo" / "__init__.py") is link
    assert placed.read_text() == "1.0"
    assert not (site.info("demo") / "RECORD").samefile(
        stored.root / "demo-1.0.dist-info" / "RECORD"
    )
    assert stored.changed_files() == ()


def two_with_one_file(first: str, second: str) -> tuple[BuiltWheel, BuiltWheel]:
    return (
        make_wheel("one", files={"shared/__init__.py": first, "shared/one.py": ""}),
        make_wheel("two", files={"shared/__init__.py": second, "shared/two.py": ""}),
    )


@pytest.mark.parametrize("together", [True, False])
def test_equal_shared_files_are_fine_and_survive_their_first_owner(
    tmp_path: Path, together: bool
) -> None:
    site = Site(tmp_path)
    one, two = two_with_one_file("", "")
    if together:
        site.install(one, two)
    else:
        site.install(one)
        site.install(two)
    assert "shared/__init__.py" in site.record("one")
    assert "shared/__init__.py" in site.record("two")
    site.remove("one")
    assert not (site.library / "shared" / "one.py").exists()
    assert (site.library / "shared" / "__init__.py").exists()
    site.remove("two")
    assert not (site.library / "shared").exists()


@pytest.mark.parametrize("together", [True, False])
def test_different_shared_files_are_refused_before_anything_is_written(
    tmp_path: Path, together: bool
) -> None:
    site = Site(tmp_path)
    one, two = two_with_one_file("1", "2")
    if not together:
        site.install(one)
    before = site.tree()
    with pytest.raises(InstallError, match="can not be installed together") as caught:
        site.install(*((one, two) if together else (two,)))
    assert caught.value.rolled_back
    assert "shared/__init__.py" in caught.value.why
    assert {"one", "two"} <= set(caught.value.what.split())
    assert site.tree() == before


@pytest.mark.parametrize("together", [True, False])
def test_overlap_can_be_allowed(tmp_path: Path, together: bool) -> None:
    site = Site(tmp_path)
    one, two = two_with_one_file("1", "2")
    options = InstallOptions(allow_overlap=True, warn_script_location=False)
    if together:
        site.install(one, two, options=options)
    else:
        site.install(one, options=options)
        site.install(two, options=options)
    assert (site.library / "shared" / "__init__.py").read_text() == "2"
    (warning,) = site.observer.warnings()
    assert warning.code == "overlap"
    assert "shared/__init__.py" in warning.what


def test_a_stray_file_is_replaced(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.library / "demo").mkdir(parents=True)
    (site.library / "demo" / "__init__.py").write_text("stray")
    site.install(built())
    assert (site.library / "demo" / "__init__.py").read_text() == "1.0"


def test_a_symbolic_link_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.library / "demo").mkdir(parents=True)
    (tmp_path / "target.py").write_text("mine")
    (site.library / "demo" / "__init__.py").symlink_to(tmp_path / "target.py")
    site.install(built())
    assert not (site.library / "demo" / "__init__.py").is_symlink()
    assert (tmp_path / "target.py").read_text() == "mine"


def test_a_package_becomes_a_module_and_back(tmp_path: Path) -> None:
    package = make_wheel("demo", "1.0", files={"demo/__init__.py": "1", "demo/sub/a.py": "2"})
    module = make_wheel("demo", "2.0", files={"demo": "a file", "demo.py": "2"})
    site = Site(tmp_path / "site")
    site.install(package)
    first = site.tree()
    site.install(module)
    assert (site.library / "demo").read_text() == "a file"
    site.install(package)
    assert site.tree() == first


def test_a_folder_that_must_stay_stops_a_file(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.library / "demo").mkdir(parents=True)
    (site.library / "demo" / "mine.txt").write_text("mine")
    before = site.tree()
    with pytest.raises(InstallError, match=r"is a folder there.*mine\.txt"):
        site.install(make_wheel("demo", files={"demo": "a file"}))
    assert site.tree() == before


def test_a_file_that_must_stay_stops_a_folder(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.library.mkdir(parents=True)
    (site.library / "demo").write_text("mine")
    before = site.tree()
    with pytest.raises(InstallError, match="there is a file of that name"):
        site.install(built())
    assert site.tree() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop, OSError, SystemExit])
def test_what_stops_a_change_undoes_it(tmp_path: Path, error: type[BaseException]) -> None:
    def checkpoint(name: str) -> None:
        if name == "commit":
            raise error("stopped")

    site = Site(tmp_path)
    site.install(built("1.0"))
    before = site.tree()
    expected = {KeyboardInterrupt: CancelledError, SystemExit: SystemExit}.get(error, InstallError)
    with pytest.raises(expected) as caught:
        site.install(built("2.0"), options=InstallOptions(checkpoint=checkpoint))
    if isinstance(caught.value, InstallError):
        assert caught.value.rolled_back
    assert site.tree() == before


def test_a_durable_change_is_on_the_disk_before_it_counts(tmp_path: Path) -> None:
    steps: list[str] = []
    site = Site(tmp_path)
    site.install(built("1.0"))
    site.install(built("2.0"), options=InstallOptions(checkpoint=steps.append, durable=True))
    assert steps[-2:] == ["sync", "commit"]
    site.remove("demo", options=InstallOptions(durable=True))


def test_a_disk_that_does_not_take_it_undoes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(paths: object) -> None:
        raise OSError(5, "Input/output error")

    site = Site(tmp_path)
    site.install(built("1.0"))
    before = site.tree()
    monkeypatch.setattr(transaction, "sync_files", fail)
    with pytest.raises(InstallError, match="Input/output error"):
        site.install(built("2.0"), options=InstallOptions(durable=True))
    assert site.tree() == before
    site.install(built("2.0"))


def test_a_read_only_environment_is_an_install_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, *_: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    site = Site(tmp_path)
    wheel = built()
    site.add(wheel)
    step = site.step(wheel)
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", refuse)
        with pytest.raises(InstallError, match="Permission denied") as caught:
            site.apply([step])
    assert "virtual environment" in caught.value.fix
    assert caught.value.rolled_back


def test_recover_finds_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert not recover(site.paths, site.observer)
    site.install(built())
    assert not recover(site.paths, site.observer)
    assert site.observer.warnings() == []


def half_done(site: Site) -> Journal:
    """A journal of a change that stopped after its first move and its first new file."""
    old, new = site.library / "demo" / "__init__.py", site.library / "new" / "file.py"
    intent = Intent(
        (str(old), str(site.library / "demo" / "other.py")),
        (str(old), str(new)),
        (str(new.parent),),
        (),
        (str(site.library),),
        ("demo",),
    )
    journal = Journal.begin(str(site.library), intent)
    old.rename(journal.stash[str(old)])
    new.parent.mkdir()
    new.write_text("new")
    old.write_text("replaced")
    return journal


def test_recover_undoes_what_was_not_committed(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built("1.0", __init__="1", other="2"))
    before = site.tree()
    half_done(site)
    assert site.tree() != before
    assert recover(site.paths, site.observer)
    assert site.tree() == before
    (warning,) = site.observer.warnings()
    assert warning.code == "interrupted-install"
    assert "demo" in warning.what
    assert not recover(site.paths, site.observer)


def test_recover_finishes_what_was_committed(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built("1.0", __init__="1", other="2"))
    half_done(site).commit()
    assert recover(site.paths, site.observer)
    assert not (site.library / JOURNAL_NAME).exists()
    assert (site.library / "demo" / "__init__.py").read_text() == "replaced"
    assert (site.library / "new" / "file.py").read_text() == "new"
    assert site.observer.warnings() == []
    assert isinstance(site.observer.events[-1], Noted)


def test_recover_removes_a_journal_that_was_not_finished_writing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built())
    before = site.tree()
    (site.library / JOURNAL_NAME / "stash").mkdir(parents=True)
    (site.library / JOURNAL_NAME / "journal.new").write_text('{"vers')
    assert recover(site.paths, site.observer)
    assert site.tree() == before


@pytest.mark.parametrize("text", ["{}", "[]", "not json", '{"version": 99}', '{"version": 1}'])
def test_a_journal_of_something_else_is_not_touched(tmp_path: Path, text: str) -> None:
    site = Site(tmp_path)
    folder = site.library / JOURNAL_NAME
    folder.mkdir(parents=True)
    (folder / "journal.json").write_text(text)
    with pytest.raises(InstallError) as caught:
        recover(site.paths, site.observer)
    assert not caught.value.rolled_back
    assert (folder / "journal.json").read_text() == text


def test_the_lock_makes_the_folder_and_lets_go(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for _ in range(2):
        with environment_lock(site.library, site.observer):
            assert site.library.is_dir()
    assert site.observer.events == []


def test_a_folder_that_can_not_be_made_is_an_install_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    observer = Site(tmp_path).observer
    with (
        pytest.raises(InstallError, match="could not be changed"),
        environment_lock(tmp_path / "file" / "site-packages", observer),
    ):
        pass


@pytest.mark.parametrize("is_on_path", [True, False])
def test_scripts_outside_of_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_path: bool
) -> None:
    site = Site(tmp_path)
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}{site.scripts}/" if is_on_path else "/usr/bin")
    site.install(built(), options=InstallOptions())
    warnings = [one for one in site.observer.events if isinstance(one, Warned)]
    assert [one.code for one in warnings] == ([] if is_on_path else ["script-location"])
    if warnings:
        assert "demo" in warnings[0].what
        assert str(site.scripts) in warnings[0].what


def test_files_outside_of_the_environment_are_kept_and_told(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(built())
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    with (site.info("demo") / "RECORD").open("a") as record:
        record.write("../../../../outside.txt,,\n")
    site.remove("demo")
    assert outside.read_text() == "mine"
    (warning,) = site.observer.warnings()
    assert warning.code == "files-outside"
