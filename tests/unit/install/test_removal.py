"""Which files belong to what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site
from vinstall.distributions.core_metadata import CoreMetadata
from vinstall.distributions.installed import InstalledDistribution
from vinstall.errors import InstallError
from vinstall.install.removal import environment_root, files_of, owned_files, recorded_paths


def installed(location: Path, info: Path, kind: str = "dist-info") -> InstalledDistribution:
    return InstalledDistribution(
        "demo", "demo", "1.0", str(location), str(info), CoreMetadata("demo", "1.0"), kind=kind
    )


def with_record(folder: Path, *rows: str) -> InstalledDistribution:
    location = folder / "lib" / "python3.11" / "site-packages"
    info = location / "demo-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))
    return installed(location, info)


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(distribution: InstalledDistribution, root: Path) -> set[str]:
    return {path.relative_to(root.resolve()).as_posix() for path in files_of(distribution)}


def test_recorded_files_bytecode_and_the_whole_dist_info(tmp_path: Path) -> None:
    one = with_record(
        tmp_path, "demo/a.py", "gone.py", "../../../bin/demo", '"demo/b,c.txt"', "demo"
    )
    site = Path(one.location)
    for path in (
        "demo/a.py",
        "demo/b,c.txt",
        "demo/kept.txt",
        "demo/__pycache__/a.cpython-311.pyc",
        "demo/__pycache__/a.cpython-312.opt-2.pyc",
        "demo/__pycache__/ab.cpython-311.pyc",
        "__pycache__/gone.cpython-311.pyc",
        "demo-1.0.dist-info/forgotten.txt",
        "demo-1.0.dist-info/licenses/LICENSE",
    ):
        write(site / path)
    write(tmp_path / "bin" / "demo")
    assert names(one, tmp_path) == {
        "bin/demo",
        *(
            f"lib/python3.11/site-packages/{path}"
            for path in (
                "demo/a.py",
                "demo/b,c.txt",
                "demo/__pycache__/a.cpython-311.pyc",
                "demo/__pycache__/a.cpython-312.opt-2.pyc",
                "__pycache__/gone.cpython-311.pyc",
                "demo-1.0.dist-info/RECORD",
                "demo-1.0.dist-info/forgotten.txt",
                "demo-1.0.dist-info/licenses/LICENSE",
            )
        ),
    }


def test_paths_out_of_the_environment_are_left_alone(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    outside = write(tmp_path / "outside.txt")
    one = with_record(
        environment, "../../../../outside.txt", str(outside), "linked/x.txt", "inside.txt", "link"
    )
    site = Path(one.location)
    write(tmp_path / "elsewhere" / "x.txt")
    write(site / "inside.txt")
    (site / "linked").symlink_to(tmp_path / "elsewhere")
    (site / "link").symlink_to(outside)
    found = owned_files(one)
    assert {Path(path).name for path in found.files} == {"inside.txt", "link", "RECORD"}
    assert set(found.outside) == {str(outside), f"{site.resolve()}/linked/x.txt"}


def test_roots_can_be_given(tmp_path: Path) -> None:
    one = with_record(tmp_path, "a.py", "../../../bin/demo")
    write(Path(one.location) / "a.py")
    write(tmp_path / "bin" / "demo")
    found = files_of(one, [one.location])
    assert {path.name for path in found} == {"a.py", "RECORD"}


def test_a_neighbour_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    one = with_record(tmp_path / "env", "../../../../env2/x")
    write(tmp_path / "env2" / "x")
    assert {path.name for path in files_of(one)} == {"RECORD"}


def test_no_record(tmp_path: Path) -> None:
    one = with_record(tmp_path)
    (Path(one.info) / "RECORD").unlink()
    with pytest.raises(InstallError, match="no RECORD") as caught:
        files_of(one)
    assert "demo 1.0" in caught.value.what
    assert recorded_paths(one) == ()


def test_broken_record(tmp_path: Path) -> None:
    one = with_record(tmp_path)
    (Path(one.info) / "RECORD").write_text("a,b,c,d\n")
    with pytest.raises(InstallError, match="broken"):
        files_of(one)
    assert recorded_paths(one) == ()


def test_recorded_paths_with_hints(tmp_path: Path) -> None:
    one = with_record(tmp_path, "demo/a.py", "../../../bin/demo")
    location = os.path.realpath(one.location)
    expected = (f"{location}/demo/a.py", f"{os.path.realpath(tmp_path)}/bin/demo")
    assert recorded_paths(one) == expected
    assert recorded_paths(one, {"other", "demo"}) == expected
    assert recorded_paths(one, {"other"}) == ()


def test_distutils_is_refused(tmp_path: Path) -> None:
    one = installed(tmp_path, tmp_path / "demo-1.0.egg-info", "distutils")
    with pytest.raises(InstallError, match=r"Cannot uninstall demo 1\.0.*distutils"):
        files_of(one)


def test_egg_info_with_a_list(tmp_path: Path) -> None:
    info = tmp_path / "demo-1.0.egg-info"
    write(info / "PKG-INFO")
    write(tmp_path / "demo.py")
    write(tmp_path / "demo" / "data" / "x.txt")
    write(info / "installed-files.txt", "../demo.py\n../demo\nPKG-INFO\n../none.py\n")
    assert names(installed(tmp_path, info, "egg-info"), tmp_path) == {
        "demo.py",
        "demo/data/x.txt",
        "demo-1.0.egg-info/PKG-INFO",
        "demo-1.0.egg-info/installed-files.txt",
    }


def test_egg_info_with_top_level_names(tmp_path: Path) -> None:
    info = tmp_path / "demo-1.0.egg-info"
    write(info / "top_level.txt", "demo\nsingle\nshared\n../evil\n")
    write(info / "namespace_packages.txt", "shared\n")
    write(tmp_path / "demo" / "__init__.py")
    write(tmp_path / "single.py")
    write(tmp_path / "shared" / "other.py")
    assert names(installed(tmp_path, info, "egg-info"), tmp_path) == {
        "demo/__init__.py",
        "single.py",
        "demo-1.0.egg-info/top_level.txt",
        "demo-1.0.egg-info/namespace_packages.txt",
    }


def test_egg_info_that_says_nothing(tmp_path: Path) -> None:
    info = tmp_path / "demo-1.0.egg-info"
    write(info / "PKG-INFO")
    with pytest.raises(InstallError, match="egg-info says nothing"):
        files_of(installed(tmp_path, info, "egg-info"))


def test_an_unpacked_egg_and_its_line(tmp_path: Path) -> None:
    egg = tmp_path / "demo-1.0-py3.11.egg"
    write(egg / "EGG-INFO" / "PKG-INFO")
    write(egg / "demo.py")
    pth = write(tmp_path / "easy-install.pth", "./other.egg\n./demo-1.0-py3.11.egg\n")
    found = owned_files(installed(tmp_path, egg / "EGG-INFO", "egg-info"))
    assert {Path(path).name for path in found.files} == {"PKG-INFO", "demo.py"}
    assert dict(found.edits) == {os.path.realpath(pth): b"./other.egg\n"}


def test_an_egg_link_and_its_line(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(project / "demo.py")
    site = tmp_path / "lib" / "site-packages"
    link = write(site / "demo.egg-link", f"{project}\n.")
    pth = write(site / "easy-install.pth", f"{project}\n/other\n")
    one = installed(project, link, "egg-link")
    assert files_of(one) == (link.resolve(), pth.resolve())
    assert dict(owned_files(one).edits) == {os.path.realpath(pth): b"/other\n"}


@pytest.mark.parametrize(
    ("location", "root"),
    [
        ("/e/lib/python3.11/site-packages", "/e"),
        ("/e/lib64/python3.11/site-packages", "/e"),
        ("/usr/lib/python3/dist-packages", "/usr"),
        ("/usr/local/lib/python3.11/dist-packages", "/usr/local"),
        ("/e/Lib/site-packages", "/e"),
        ("/home/u/target", "/home/u/target"),
    ],
)
def test_environment_root(location: str, root: str) -> None:
    assert environment_root(location) == root


def test_a_symbolic_link_to_the_environment_changes_nothing(tmp_path: Path) -> None:
    one = with_record(tmp_path / "real", "a.py")
    a = write(Path(one.location) / "a.py")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    location = tmp_path / "link" / "lib" / "python3.11" / "site-packages"
    seen = installed(location, location / "demo-1.0.dist-info")
    assert a.resolve() in files_of(seen)


def test_a_real_installation_owns_what_it_made(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install(make_wheel("demo", entry_points={"console_scripts": ["demo = demo:main"]}))
    assert set(files_of(site.get("demo"))) == {
        path.resolve() for path in site.root.rglob("*") if path.is_file()
    }
