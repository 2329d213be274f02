"""Trust in the user's own file: added and taken out, the rest untouched."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from vinstall.errors import ConfigurationError, UsageError
from vinstall.settings import Settings
from vinstall.workflow.providers import forget_providers, trust_providers

if TYPE_CHECKING:
    from pathlib import Path


def forget(path: Path, *names: str) -> tuple[str, ...]:
    return forget_providers(str(path), names, Settings()).changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'trusted-providers = ["some-one"]\n'),
        ("timeout = 3 # slow\n", 'trusted-providers = ["some-one"]\ntimeout = 3 # slow\n'),
        (
            '# mine\ntrusted-providers = ["other"] # two\ngpu = "best"\n',
            '# mine\ntrusted-providers = ["other", "some-one"] # two\ngpu = "best"\n',
        ),
        (
            "trusted-providers = [\n  'other', # why\n]\n[install]\npre = true\n",
            'trusted-providers = ["other", "some-one"]\n[install]\npre = true\n',
        ),
        ('trust_provider = "other"\n', 'trusted-providers = ["other", "some-one"]\n'),
        (
            "[install]\npre = true\n",
            'trusted-providers = ["some-one"]\n[install]\npre = true\n',
        ),
        (
            '[install]\ntrusted-providers = ["x"]\n',
            'trusted-providers = ["some-one"]\n[install]\ntrusted-providers = ["x"]\n',
        ),
    ],
)
def test_trust_is_written(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "vinstall.toml"
    path.write_text(before, "utf-8")
    change = trust_providers(str(path), ["Some_One"])
    assert change.changed == ("some-one",)
    assert path.read_text("utf-8") == after


def test_the_file_and_its_folder_are_made(tmp_path: Path) -> None:
    path = tmp_path / "config" / "vinstall" / "vinstall.toml"
    trust_providers(str(path), ["a", "b", "A"])
    assert path.read_text("utf-8") == 'trusted-providers = ["a", "b"]\n'
    if path.stat().st_mode & stat.S_IWOTH:
        pytest.fail("everybody can write the file")


def test_trusting_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vinstall.toml"
    trust_providers(str(path), ["a"])
    before = path.read_bytes()
    change = trust_providers(str(path), ["A"])
    assert (change.changed, change.unchanged) == ((), ("a",))
    assert path.read_bytes() == before


def test_forgetting_takes_out_that_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "vinstall.toml"
    path.write_text('# mine\ntrusted-providers = ["A_b", "c"]\ntimeout = 3\n', "utf-8")
    assert forget(path, "a.b", "nobody") == ("a-b",)
    assert path.read_text("utf-8") == '# mine\ntrusted-providers = ["c"]\ntimeout = 3\n'
    assert forget(path, "c") == ("c",)
    assert path.read_text("utf-8") == "# mine\ntimeout = 3\n"
    assert forget(path, "c") == ()


def test_forgetting_without_a_file(tmp_path: Path) -> None:
    assert forget(tmp_path / "vinstall.toml", "a") == ()
    assert not (tmp_path / "vinstall.toml").exists()


@pytest.mark.parametrize("name", ["a b", "./a", "https://a.test/a.whl", "a>=1", "a[b]", ""])
def test_only_bare_names_are_trusted(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        trust_providers(str(tmp_path / "vinstall.toml"), [name])


@pytest.mark.parametrize("text", ["not toml", "trusted-providers = 3\n", "\xff"])
def test_a_wrong_file_is_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vinstall.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError):
        trust_providers(str(path), ["a"])
    assert path.read_bytes() == text.encode("latin-1")
