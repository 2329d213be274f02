"""Where files go, and how they get there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel, record_digest
from tests.unit.install.installing import Site
from vinstall.errors import InstallError, WheelFormatError
from vinstall.files import current_umask
from vinstall.install.placement import PlacedFile, Placer, find_places, plan_layout, record_prefix

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.wheels import BuiltWheel
    from vinstall.install.placement import Layout


def plan(site: Site, wheel: BuiltWheel) -> Layout:
    return plan_layout(site.add(wheel), find_places(site.paths), "/opt/python", wheel.name)


def test_schemes_and_record_paths(tmp_path: Path) -> None:
    site = Site(tmp_path)
    wheel = make_wheel(
        "Demo",
        files={"demo/__init__.py": "", "demo/lib.so": "x"},
        data={
            "purelib/pure.py": "1",
            "platlib/plat.py": "2",
            "headers/demo.h": "3",
            "scripts/run": "#!python\nprint()\n",
            "scripts/shell": "#!/bin/sh\n",
            "data/share/demo/x.txt": "4",
        },
        entry_points={"console_scripts": ["tool = demo:main"]},
    )
    layout = plan(site, wheel)
    real = os.path.realpath
    expected = {
        "demo/__init__.py": site.library / "demo" / "__init__.py",
        "demo/lib.so": site.library / "demo" / "lib.so",
        "pure.py": site.library / "pure.py",
        "plat.py": site.library / "plat.py",
        "../../../include/site/python3.11/Demo/demo.h": (
            site.root / "include" / "site" / "python3.11" / "Demo" / "demo.h"
        ),
        "../../../bin/run": site.scripts / "run",
        "../../../bin/shell": site.scripts / "shell",
        "../../../bin/tool": site.scripts / "tool",
        "../../../share/demo/x.txt": site.root / "share" / "demo" / "x.txt",
        "demo-1.0.dist-info/METADATA": site.library / "demo-1.0.dist-info" / "METADATA",
        "demo-1.0.dist-info/WHEEL": site.library / "demo-1.0.dist-info" / "WHEEL",
        "demo-1.0.dist-info/entry_points.txt": (
            site.library / "demo-1.0.dist-info" / "entry_points.txt"
        ),
    }
    assert {file.record_path: file.target for file in layout.files} == {
        path: real(target) for path, target in expected.items()
    }
    assert layout.library == real(site.library)
    assert layout.scripts == ("run", "shell", "tool")
    by_path = {file.record_path: file for file in layout.files}
    run = by_path["../../../bin/run"]
    assert run.content == b"#!/opt/python\nprint()\n"
    assert (run.digest, run.size) == (record_digest(run.content), len(run.content))
    assert run.executable
    shell = by_path["../../../bin/shell"]
    assert shell.content is None
    assert shell.executable
    assert not shell.linkable  # the stored file has no executable bit
    assert by_path["demo/lib.so"].linkable
    assert by_path["demo/lib.so"].digest == record_digest(b"x")


def test_root_is_purelib_chooses_the_library(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.paths["platlib"] = str(site.root / "lib64" / "site-packages")
    pure = plan(site, make_wheel("pure", root_is_purelib=True))
    plat = plan(site, make_wheel("plat", root_is_purelib=False))
    assert pure.library == os.path.realpath(site.paths["purelib"])
    assert plat.library == os.path.realpath(site.paths["platlib"])


def test_one_folder_under_two_names_is_one_folder(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.library.mkdir(parents=True)
    (site.root / "lib64").symlink_to("lib")
    site.paths["platlib"] = str(site.root / "lib64" / "python3.11" / "site-packages")
    plat = plan(site, make_wheel("plat", root_is_purelib=False))
    assert plat.library == os.path.realpath(site.library)


def test_own_files_of_the_installer_are_not_taken_from_the_wheel(tmp_path: Path) -> None:
    names = ["INSTALLER", "REQUESTED", "direct_url.json", "vinstall.json"]
    wheel = make_wheel("demo", dist_info=dict.fromkeys(names, "x"))
    layout = plan(Site(tmp_path), wheel)
    placed = {os.path.basename(file.target) for file in layout.files}  # noqa: PTH119
    assert placed.isdisjoint({*names, "RECORD"})


def test_an_entry_point_wins_over_a_ready_made_launcher(tmp_path: Path) -> None:
    wheel = make_wheel(
        "demo",
        data={"scripts/tool": "old", "scripts/tool-script.py": "old", "scripts/other": "x"},
        entry_points={"console_scripts": ["tool = demo:main"]},
    )
    layout = plan(Site(tmp_path), wheel)
    assert layout.scripts == ("other", "tool")


def test_two_files_in_one_place_are_refused(tmp_path: Path) -> None:
    wheel = make_wheel("demo", files={"demo.py": "1"}, data={"purelib/demo.py": "2"})
    with pytest.raises(InstallError, match="two of its files"):
        plan(Site(tmp_path), wheel)


def test_two_equal_files_in_one_place_are_one(tmp_path: Path) -> None:
    wheel = make_wheel("demo", files={"demo.py": "1"}, data={"purelib/demo.py": "1"})
    layout = plan(Site(tmp_path), wheel)
    assert [file.record_path for file in layout.files].count("demo.py") == 1


def test_bad_entry_points_stop_before_anything_is_written(tmp_path: Path) -> None:
    wheel = make_wheel("demo", entry_points={"console_scripts": ["../x = demo:main"]})
    site = Site(tmp_path)
    with pytest.raises(WheelFormatError):
        site.install(wheel)
    assert not site.root.exists()


@pytest.mark.parametrize(
    ("root", "library", "prefix"),
    [
        ("/e/lib/site", "/e/lib/site", ""),
        ("/e/bin", "/e/lib/python3/site", "../../../bin/"),
        ("/e", "/e/lib", "../"),
        ("/t/bin", "/t", "bin/"),
    ],
)
def test_record_prefix(root: str, library: str, prefix: str) -> None:
    assert record_prefix(root, library) == prefix


def place_one(site: Site, placer: Placer, executable: bool = False) -> tuple[Path, Path]:
    wheel = make_wheel("demo", files={"a.py": "content\n"}, executable=["a.py"] * executable)
    stored = site.add(wheel)
    source, target = stored.root / "a.py", site.root / "a.py"
    site.root.mkdir()
    file = PlacedFile(str(target), "a.py", "", 8, str(source), None, executable, True)
    placer.place(file, link=placer.can_link(stored))
    assert target.read_bytes() == b"content\n"
    assert target.stat().st_mode & 0o777 == (0o777 if executable else 0o666) & ~current_umask()
    return source, target


@pytest.mark.parametrize("executable", [False, True])
def test_files_are_linked_where_it_is_safe(tmp_path: Path, executable: bool) -> None:
    placer = Placer(current_umask())
    source, target = place_one(Site(tmp_path), placer, executable)
    assert source.samefile(target)
    assert (placer.linked, placer.copied) == (1, 0)


@pytest.mark.parametrize("executable", [False, True])
def test_files_are_copied_where_links_are_off(tmp_path: Path, executable: bool) -> None:
    placer = Placer(current_umask(), link=False)
    source, target = place_one(Site(tmp_path), placer, executable)
    assert not source.samefile(target)
    assert (placer.linked, placer.copied) == (0, 1)


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_files_are_copied_where_links_do_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, "no links here")

    monkeypatch.setattr(os, "link", fail)
    source, target = place_one(Site(tmp_path), Placer(current_umask()))
    assert not source.samefile(target)


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_another_umask_copies(tmp_path: Path) -> None:
    site = Site(tmp_path)
    stored = site.add(make_wheel("demo"))
    assert Placer(current_umask()).can_link(stored)
    assert not Placer(0o077).can_link(stored)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners")
def test_a_store_of_somebody_else_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = Site(tmp_path).add(make_wheel("demo"))
    monkeypatch.setattr(os, "geteuid", lambda: stored.root.stat().st_uid + 1)
    assert not Placer(current_umask()).can_link(stored)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    site = Site(tmp_path)
    placer = Placer(current_umask())
    _, target = place_one(site, placer)
    file = PlacedFile(str(target), "a.py", "", 1, "", b"x", False)
    with pytest.raises(FileExistsError):
        placer.place(file, link=True)
