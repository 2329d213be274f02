"""Environments are fresh, commands are isolated, snapshots see every change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import isolated_variables, snapshot
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex


def test_commands_see_no_settings_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_INDEX_URL", "VINSTALL_NO_VARIANT", "HTTPS_PROXY", "SECRET_TOKEN"):
        monkeypatch.setenv(name, "x")
    variables = isolated_variables(tmp_path)
    assert not {name for name in variables if name.startswith(("PIP_", "VINSTALL_"))}
    assert "HTTPS_PROXY" not in variables
    assert "SECRET_TOKEN" not in variables
    assert variables["HOME"] == str(tmp_path)


def test_each_test_has_its_own_home(isolated_home: Path) -> None:
    assert os.environ["HOME"] == str(isolated_home)
    assert list(isolated_home.iterdir()) == []


def test_a_fresh_environment_is_empty(environment: Environment) -> None:
    assert environment.installed() == {}
    result = environment.run_python("-c", "import sys; print(sys.prefix)").check()
    assert result.stdout.strip() == str(environment.path)


def test_pip_installs_from_the_sample_index(environment: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("sample", "1.0", requires_dist=["other"]), make_wheel("other", "2.0"))
    before = environment.snapshot()
    environment.pip("install", "--index-url", index.simple_url, "sample").check()
    assert environment.installed() == {"other": "2.0", "sample": "1.0"}
    assert environment.label("sample") == ""
    new = {path.split("/")[-1] for path in set(environment.snapshot()) - set(before)}
    assert {"sample.py", "other.py", "METADATA", "RECORD"} <= new
    assert index.count("/simple/sample/") == 1


def test_a_failure_shows_the_output(environment: Environment) -> None:
    result = environment.run_python("-c", "import sys; print('seen'); sys.exit(7)")
    assert result.check(7) is result
    with pytest.raises(AssertionError, match="seen"):
        result.check()


def test_snapshot(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("one")
    (tmp_path / "empty").mkdir()
    before = snapshot(tmp_path)
    assert before["empty"] == "folder"
    assert list(before) == ["a/one.txt", "empty"]
    (tmp_path / "a" / "one.txt").write_text("two")
    assert snapshot(tmp_path) != before
    assert snapshot(tmp_path, ["a/*"]) == {"empty": "folder"}
    assert snapshot(tmp_path / "missing") == {}


def test_two_environments_do_not_share(make_environment: Callable[..., Environment]) -> None:
    first, second = make_environment("first"), make_environment("second")
    assert first.path != second.path
    assert first.snapshot(["pyvenv.cfg", "bin/*", "Scripts/*"]) == second.snapshot(
        ["pyvenv.cfg", "bin/*", "Scripts/*"]
    )
