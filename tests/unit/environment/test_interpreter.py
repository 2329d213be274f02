"""Which Python, whether it may be changed, and where an install writes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vinstall.distributions.target import Target
from vinstall.environment.interpreter import (
    check_guards,
    find_python,
    foreign_target,
    install_paths,
)
from vinstall.errors import (
    ExternallyManagedError,
    InterpreterError,
    VirtualEnvironmentRequiredError,
)
from vinstall.settings import TargetSettings

POSIX = pytest.mark.skipif(os.name == "nt", reason="paths as POSIX has them")


def make_target(folder: Path, **changes: object) -> Target:
    """A system interpreter of Debian's kind: it installs below ``local``."""
    local = folder / "usr" / "local"
    target = Target(
        executable=str(folder / "usr" / "bin" / "python3"),
        prefix=str(folder / "usr"),
        base_prefix=str(folder / "usr"),
        version="3.11.7",
        implementation="cpython",
        markers={"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"},
        tags=("cp311-cp311-linux_x86_64", "py3-none-any"),
        paths={
            "purelib": str(local / "lib" / "python3.11" / "dist-packages"),
            "platlib": str(local / "lib" / "python3.11" / "dist-packages"),
            "scripts": str(local / "bin"),
            "data": str(local),
            "headers": str(local / "include" / "python3.11"),
        },
        stdlib=str(folder / "usr" / "lib" / "python3.11"),
        user_base=str(folder / "home"),
        user_paths={
            "purelib": str(folder / "home" / "lib"),
            "platlib": str(folder / "home" / "lib"),
            "scripts": str(folder / "home" / "bin"),
            "data": str(folder / "home"),
            "headers": str(folder / "home" / "include"),
        },
        facts={
            "platform": "linux-x86_64",
            "libc": "glibc",
            "libc_version": "2.36",
            "abi_flags": "",
            "prefix_purelib": "lib/python3.11/site-packages",
            "prefix_platlib": "lib64/python3.11/site-packages",
            "prefix_scripts": "bin",
            "prefix_data": ".",
            "prefix_headers": "include/python3.11",
        },
    )
    return replace(target, **changes)  # type: ignore[arg-type]


def make_environment_folder(folder: Path, name: str = "python") -> Path:
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    scripts.mkdir(parents=True)
    python = scripts / (f"{name}.exe" if os.name == "nt" else name)
    python.touch()
    return python


def test_the_running_interpreter_by_default() -> None:
    assert find_python(TargetSettings(), {}) == sys.executable


def test_an_active_environment_does_not_beat_the_one_that_runs(tmp_path: Path) -> None:
    make_environment_folder(tmp_path / "active")
    found = find_python(TargetSettings(), {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert found == sys.executable


@pytest.mark.parametrize("receipt", ["pipx_metadata.json", "uv-receipt.toml"])
def test_a_tool_installs_into_the_active_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receipt: str
) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    (tool / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tool))
    python = make_environment_folder(tmp_path / "active")
    active = {"VIRTUAL_ENV": str(tmp_path / "active")}
    assert find_python(TargetSettings(), active) == str(python)
    assert find_python(TargetSettings(), {}) == sys.executable
    gone = {"VIRTUAL_ENV": str(tmp_path / "gone")}
    assert find_python(TargetSettings(), gone) == sys.executable
    named = make_environment_folder(tmp_path / "named")
    settings = TargetSettings(python=str(tmp_path / "named"))
    assert find_python(settings, active) == str(named)


def test_an_environment_or_an_interpreter_can_be_named(tmp_path: Path) -> None:
    python = make_environment_folder(tmp_path / "one")
    assert find_python(TargetSettings(python=str(tmp_path / "one")), {}) == str(python)
    assert find_python(TargetSettings(python=str(python)), {}) == str(python)


@POSIX
def test_the_name_is_kept_where_it_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    found = find_python(TargetSettings(python=str(tmp_path / "python")), {})
    assert found == str(tmp_path / "python")


@pytest.mark.parametrize("text", ["no-such-python-anywhere", "missing/python"])
def test_nothing_of_that_name(text: str) -> None:
    with pytest.raises(InterpreterError, match="Could not locate Python interpreter"):
        find_python(TargetSettings(python=text), {})


@POSIX
def test_how_to_make_the_environment_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError) as caught:
        find_python(TargetSettings(python=str(tmp_path / "my env")), {})
    assert f"python3 -m venv '{tmp_path / 'my env'}'" in caught.value.fix


def test_a_folder_without_a_python(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError, match="is not an environment"):
        find_python(TargetSettings(python=str(tmp_path)), {})


def write_marker(target: Target, text: str) -> None:
    Path(target.stdlib).mkdir(parents=True)
    Path(target.stdlib, "EXTERNALLY-MANAGED").write_text(text, encoding="utf-8")


MANAGED = "[externally-managed]\nError=Use apt.\n 100% of it.\nError-xx=Nimm apt.\n"


def test_a_managed_environment_is_refused_in_its_own_words(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    write_marker(target, MANAGED)
    with pytest.raises(ExternallyManagedError) as caught:
        check_guards(target, TargetSettings(), {})
    assert caught.value.why == "Use apt.\n100% of it."
    assert "--break-system-packages" in caught.value.fix
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("text", ["", "not an ini file", "[other]\na=b\n", "\x00"])
def test_a_marker_without_a_text_still_refuses(tmp_path: Path, text: str) -> None:
    target = make_target(tmp_path)
    write_marker(target, text)
    with pytest.raises(ExternallyManagedError):
        check_guards(target, TargetSettings(), {})


def test_a_marker_in_another_encoding_still_refuses(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    write_marker(target, "")
    Path(target.stdlib, "EXTERNALLY-MANAGED").write_bytes(b"[externally-managed]\nError=\xff\n")
    with pytest.raises(ExternallyManagedError):
        check_guards(target, TargetSettings(), {})


@pytest.mark.parametrize(
    "settings",
    [
        TargetSettings(break_system_packages=True),
        TargetSettings(target_dir="there"),
        TargetSettings(prefix="there"),
        TargetSettings(root="there"),
    ],
)
def test_what_lifts_the_guard(tmp_path: Path, settings: TargetSettings) -> None:
    target = make_target(tmp_path)
    write_marker(target, MANAGED)
    check_guards(target, settings, {})


def test_user_installs_are_guarded_too(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    write_marker(target, MANAGED)
    with pytest.raises(ExternallyManagedError):
        check_guards(target, TargetSettings(user=True), {})


def test_virtual_environments_are_not_guarded(tmp_path: Path) -> None:
    target = make_target(tmp_path, is_virtual=True)
    write_marker(target, MANAGED)
    check_guards(target, TargetSettings(require_virtualenv=True), {})


def test_a_virtual_environment_can_be_required(tmp_path: Path) -> None:
    with pytest.raises(VirtualEnvironmentRequiredError) as caught:
        check_guards(make_target(tmp_path), TargetSettings(require_virtualenv=True), {})
    assert caught.value.exit_code == 3


def test_the_plain_environment(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    assert install_paths(target, TargetSettings()) == (target.paths, "")


def test_target(tmp_path: Path) -> None:
    paths, note = install_paths(
        make_target(tmp_path), TargetSettings(target_dir=str(tmp_path / "there"))
    )
    there = tmp_path / "there"
    assert paths["purelib"] == paths["platlib"] == paths["data"] == str(there)
    assert paths["scripts"] == str(there / "bin")
    assert paths["headers"] == str(there / "include" / "python")
    assert note == ""


@POSIX
def test_prefix_leaves_the_local_scheme_of_debian(tmp_path: Path) -> None:
    paths, _ = install_paths(make_target(tmp_path), TargetSettings(prefix="/opt/it"))
    assert paths == {
        "purelib": "/opt/it/lib/python3.11/site-packages",
        "platlib": "/opt/it/lib64/python3.11/site-packages",
        "scripts": "/opt/it/bin",
        "data": "/opt/it",
        "headers": "/opt/it/include/python3.11",
    }


@POSIX
def test_root_goes_before_every_path(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    paths, _ = install_paths(target, TargetSettings(root="/image"))
    assert paths == {name: f"/image{path}" for name, path in target.paths.items()}
    both, _ = install_paths(target, TargetSettings(root="/image", prefix="/usr"))
    assert both["purelib"] == "/image/usr/lib/python3.11/site-packages"


def test_user(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    assert install_paths(target, TargetSettings(user=True)) == (target.user_paths, "")


@pytest.mark.parametrize(
    ("is_virtual", "why"), [(True, "not visible in this virtualenv"), (False, "disabled")]
)
def test_user_where_it_is_off(tmp_path: Path, is_virtual: bool, why: str) -> None:
    target = make_target(tmp_path, user_paths={}, user_base="", is_virtual=is_virtual)
    with pytest.raises(InterpreterError, match="Can not perform a '--user' install") as caught:
        install_paths(target, TargetSettings(user=True))
    assert why in str(caught.value)


@pytest.mark.parametrize("option", ["prefix", "target_dir"])
def test_user_does_not_go_with_another_place(tmp_path: Path, option: str) -> None:
    settings = TargetSettings(user=True, **{option: "there"})  # type: ignore[arg-type]
    with pytest.raises(InterpreterError, match="Can not combine '--user'"):
        install_paths(make_target(tmp_path), settings)


class Unwritable:
    """Stands in for ``os.access``: root may write everywhere, so a real folder tells nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, path: str | os.PathLike[str], mode: int) -> bool:
        return mode != os.W_OK or self.folder not in (Path(path), *Path(path).parents)


@POSIX
@pytest.mark.parametrize(
    ("settings", "is_virtual", "falls_back"),
    [
        (TargetSettings(), False, True),
        (TargetSettings(), True, False),
        (TargetSettings(user=False), False, False),
        (TargetSettings(root="/image"), False, False),
    ],
)
def test_the_user_scheme_where_the_environment_can_not_be_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: TargetSettings,
    is_virtual: bool,
    falls_back: bool,
) -> None:
    target = make_target(tmp_path, is_virtual=is_virtual)
    (tmp_path / "usr").mkdir()
    monkeypatch.setattr(os, "access", Unwritable(tmp_path / "usr"))
    paths, note = install_paths(target, settings)
    assert (paths == target.user_paths) is falls_back
    assert ("Defaulting to user installation" in note) is falls_back


def test_another_platform(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    found = foreign_target(target, TargetSettings(platforms=("manylinux2014_aarch64",)))
    assert found.is_foreign
    assert found.tags[0] == "cp311-cp311-manylinux2014_aarch64"
    assert not [tag for tag in found.tags if "x86_64" in tag]
    assert found.version == "3.11.7"


@pytest.mark.parametrize(
    ("text", "version", "minor"),
    [("3.12", "3.12.0", "3.12"), ("312", "3.12.0", "3.12"), ("3.9.4", "3.9.4", "3.9")],
)
def test_another_python(tmp_path: Path, text: str, version: str, minor: str) -> None:
    found = foreign_target(make_target(tmp_path), TargetSettings(python_version=text))
    assert found.version == version
    assert found.markers["python_version"] == minor
    assert found.markers["python_full_version"] == version
    digits = minor.replace(".", "")
    assert found.tags[0] == f"cp{digits}-cp{digits}-linux_x86_64"
    assert "cp311-cp311-linux_x86_64" not in found.tags


def test_another_implementation_and_abi(tmp_path: Path) -> None:
    settings = TargetSettings(implementation="pp", abis=("pypy310_pp73",), python_version="3.10")
    found = foreign_target(make_target(tmp_path), settings)
    assert found.tags[0] == "pp310-pypy310_pp73-linux_x86_64"


def test_an_interpreter_that_may_not_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, **_: object) -> object:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(InterpreterError, match="can not be used") as caught:
        find_python(TargetSettings(python=str(tmp_path / "python")), {})
    assert caught.value.why == "Permission denied"
