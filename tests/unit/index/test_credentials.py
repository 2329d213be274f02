"""Where credentials come from, and in which order."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from vinstall.index.credentials import CredentialStore
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from pathlib import Path

NETRC = "machine h.test login netrc-user password netrc-secret\n"


def store(
    settings: IndexSettings | None = None, notes: list[str] | None = None, **environment: str
) -> CredentialStore:
    return CredentialStore(
        settings or IndexSettings(), environment, (notes if notes is not None else []).append
    )


@pytest.fixture
def netrc(tmp_path: Path) -> str:
    path = tmp_path / "my-netrc"
    path.write_text(NETRC)
    path.chmod(0o600)
    return str(path)


def test_nothing_known() -> None:
    assert store().find("https://h.test/simple") is None


def test_url_first(netrc: str) -> None:
    settings = IndexSettings(index_url="https://i:index@h.test/simple")
    assert store(settings, NETRC=netrc).find("https://u:p%40@h.test/simple/a") == ("u", "p@")


def test_index_before_netrc(netrc: str) -> None:
    settings = IndexSettings(index_url="https://i:index@h.test/simple")
    found = store(settings, NETRC=netrc).find("https://h.test/files/a.whl")
    assert found == ("i", "index")


def test_closest_path_wins() -> None:
    settings = IndexSettings(
        index_url="https://a:1@h.test/team-a/simple",
        extra_index_urls=("https://b:2@h.test/team-b/simple",),
    )
    assert store(settings).find("https://h.test/team-b/files/x.whl") == ("b", "2")
    assert store(settings).find("https://h.test/team-a/files/x.whl") == ("a", "1")


@pytest.mark.parametrize(
    "url", ["http://h.test/simple/a", "https://h.test:8443/simple/a", "https://x.h.test/simple/a"]
)
def test_index_credentials_stay_with_their_origin(url: str) -> None:
    settings = IndexSettings(index_url="https://i:index@h.test/simple")
    assert store(settings).find(url) is None


def test_netrc(netrc: str) -> None:
    assert store(NETRC=netrc).find("https://h.test/simple") == ("netrc-user", "netrc-secret")
    assert store(NETRC=netrc).find("https://other.test/simple") is None


def test_netrc_at_home(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text(NETRC)
    (tmp_path / ".netrc").chmod(0o600)
    found = store(HOME=str(tmp_path)).find("https://h.test/simple")
    assert found == ("netrc-user", "netrc-secret")


def test_netrc_gives_the_password_of_a_user_in_the_url(netrc: str) -> None:
    known = store(NETRC=netrc)
    assert known.find("https://netrc-user@h.test/simple") == ("netrc-user", "netrc-secret")
    assert known.find("https://token@h.test/simple") == ("token", "")


def test_broken_netrc_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text("machine h.test login\nnonsense secret-word")
    notes: list[str] = []
    assert store(notes=notes, NETRC=str(path)).find("https://h.test/") is None
    assert len(notes) == 1
    assert str(path) in notes[0]


def test_keyring_module(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def get_credential(service: str, user: str | None) -> object:
        asked.append((service, user))
        found = SimpleNamespace(username="ring", password="gold")
        return found if service == "h.test" else None

    module = ModuleType("keyring")
    module.get_credential = get_credential  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    settings = IndexSettings("https://h.test/simple", keyring_provider="import")
    known = store(settings)
    assert known.find("https://h.test/simple") is None
    assert known.ask_keyring("https://h.test/simple") == ("ring", "gold")
    assert known.ask_keyring("https://h.test/other") == ("ring", "gold")
    assert asked == [("https://h.test/simple/", None), ("h.test", None)]
    assert known.find("https://h.test/files/a") == ("ring", "gold")


def test_keyring_that_fails_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_credential(service: str, user: str | None) -> object:
        raise RuntimeError("locked")

    module = ModuleType("keyring")
    module.get_credential = get_credential  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    notes: list[str] = []
    known = store(IndexSettings(keyring_provider="import"), notes)
    assert known.ask_keyring("https://h.test/") is None
    assert notes == ["keyring failed: locked"]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize(
    ("url", "service", "found"),
    [
        ("https://me@h.test/simple/", "h.test me", ("me", "gold")),
        ("https://h.test/simple/a/", "https://h.test/simple/", ("ring", "gold")),
        ("https://h.test:8443/simple/a/", "h.test:8443", ("ring", "gold")),
        ("https://h.test/simple/", "other.test", None),
    ],
)
def test_keyring_command(
    tmp_path: Path, url: str, service: str, found: tuple[str, str] | None
) -> None:
    # As pip 26.3 calls it: keyring --mode=creds --output=json get SERVICE [USER]
    user = "me" if "me@" in url else "ring"
    command = tmp_path / "keyring"
    command.write_text(
        f'#!/bin/sh\n[ "$*" = "--mode=creds --output=json get {service}" ] || exit 1\n'
        f'echo \'{{"username": "{user}", "password": "gold"}}\'\n'
    )
    command.chmod(0o755)
    settings = IndexSettings("https://h.test/simple", keyring_provider="subprocess")
    known = store(settings, PATH=f"{tmp_path}:/bin:/usr/bin")
    assert known.ask_keyring(url) == found


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_an_old_keyring_command_is_named(tmp_path: Path) -> None:
    command = tmp_path / "keyring"
    command.write_text("#!/bin/sh\necho 'unrecognized arguments: --mode=creds' >&2\nexit 2\n")
    command.chmod(0o755)
    notes: list[str] = []
    settings = IndexSettings(keyring_provider="subprocess")
    known = store(settings, notes, PATH=f"{tmp_path}:/bin:/usr/bin")
    assert known.ask_keyring("https://h.test/") is None
    assert "too old" in notes[0]


@pytest.mark.parametrize(
    ("settings", "used"),
    [
        (IndexSettings(keyring_provider="disabled"), False),
        (IndexSettings(keyring_provider="auto", no_input=True), False),
        (IndexSettings(keyring_provider="auto"), True),
        (IndexSettings(keyring_provider="import", no_input=True), True),
    ],
)
def test_when_keyring_is_asked(
    settings: IndexSettings, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("keyring")
    module.get_credential = lambda *_: SimpleNamespace(  # type: ignore[attr-defined]
        username="ring", password="gold"
    )
    monkeypatch.setitem(sys.modules, "keyring", module)
    found = store(settings).ask_keyring("https://h.test/")
    assert found == (("ring", "gold") if used else None)
    assert ("keyring" in store(settings).sources()) is used
