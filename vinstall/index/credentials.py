"""Where user names and passwords come from: the URL, an index URL, netrc, keyring.

Nobody is ever asked. A password stays in memory; only ``client`` uses it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.index.address import host_of, is_url, origin_of, split_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vinstall.settings import IndexSettings

Credentials = tuple[str, str]
"""User name and password; the password may be empty (a token as user name)."""

_KEYRING_SECONDS = 30.0


class CredentialStore:
    """Finds credentials for a URL, and remembers what keyring said.

    Args:
        settings: Index URLs and the kind of keyring.
        environment: Variables; ``NETRC``, ``HOME``, ``USERPROFILE`` count.
        note: Takes a sentence about a source that failed.
    """

    def __init__(
        self,
        settings: IndexSettings,
        environment: Mapping[str, str],
        note: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._note = note
        self._settings = settings
        self._lock = threading.Lock()
        self._netrc: object = None
        self._netrc_read = False
        self._kept: dict[tuple[str, str, int], Credentials | None] = {}
        known = [settings.index_url, *settings.extra_index_urls, *settings.find_links]
        known += settings.pins.values()
        self._indexes = [
            (bare, found)
            for bare, found in map(split_credentials, known)
            if found is not None and "://" in bare and is_url(bare)
        ]

    def find(self, url: str) -> Credentials | None:
        """Credentials known before anything is sent: from the URL, an index URL, netrc.

        Also what keyring answered for the same host before.
        """
        bare, given = split_credentials(url)
        if given is not None and given[1] is not None:
            return given[0], given[1]
        user = given[0] if given is not None else None
        found = self._from_indexes(bare, user)
        if found is None:
            kept = self._kept.get(origin_of(bare))
            if kept is not None and user in (None, kept[0]):
                return kept
            found = self._from_netrc(bare, user)
        if found is None and user is not None:
            return user, ""
        return found

    def ask_keyring(self, url: str) -> Credentials | None:
        """Credentials after the server refused: from keyring, asked once for each host."""
        bare, given = split_credentials(url)
        user = given[0] if given is not None else ""
        origin = origin_of(bare)
        with self._lock:
            if origin not in self._kept:
                self._kept[origin] = self._from_keyring(bare, user)
            return self._kept[origin]

    def sources(self) -> str:
        """The accepted sources, for a message."""
        words = ["the URL (https://user:password@host)", "a netrc file"]
        if self._uses_keyring():
            words.append("keyring")
        return ", ".join(words[:-1]) + " or " + words[-1]

    def _from_indexes(self, bare: str, user: str | None) -> Credentials | None:
        """The index on the same scheme, host and port that shares most of the path."""
        best: tuple[int, Credentials] | None = None
        for index, (name, password) in self._indexes:
            if user not in (None, name) or origin_of(index) != origin_of(bare):
                continue
            if password is None:
                from_netrc = self._from_netrc(index, name)
                password = from_netrc[1] if from_netrc is not None else ""
            shared = _count_shared(index, bare)
            if best is None or shared > best[0]:
                best = (shared, (name, password))
        return best[1] if best is not None else None

    def _from_netrc(self, bare: str, user: str | None) -> Credentials | None:
        with self._lock:
            if not self._netrc_read:
                self._netrc_read = True
                self._netrc = self._read_netrc()
        if self._netrc is None:
            return None
        import netrc

        assert isinstance(self._netrc, netrc.netrc)
        entry = self._netrc.authenticators(origin_of(bare)[1])
        if entry is None or not (entry[0] or entry[2]) or user not in (None, entry[0]):
            return None
        return entry[0] or entry[1] or "", entry[2] or ""

    def _read_netrc(self) -> object:
        path = self._environment.get("NETRC")
        if path:
            paths = [Path(path)]
        else:
            home = self._environment.get("HOME") or self._environment.get("USERPROFILE")
            if not home:
                return None
            paths = [Path(home, ".netrc"), Path(home, "_netrc")]
        for candidate in paths:
            if not candidate.is_file():
                continue
            import netrc

            try:
                return netrc.netrc(str(candidate))
            except (netrc.NetrcParseError, OSError, UnicodeDecodeError) as error:
                reason = error.msg if isinstance(error, netrc.NetrcParseError) else str(error)
                self._note(f"{candidate} is ignored: {reason}")
                return None
        return None

    def _uses_keyring(self) -> bool:
        kind = self._settings.keyring_provider
        return kind in ("import", "subprocess") or (kind == "auto" and not self._settings.no_input)

    def _from_keyring(self, bare: str, user: str) -> Credentials | None:
        if not self._uses_keyring():
            return None
        kind = self._settings.keyring_provider
        if kind in ("auto", "import"):
            import importlib

            try:
                keyring = importlib.import_module("keyring")
            except ImportError:
                if kind == "import":
                    self._note("keyring is not installed beside vinstall")
            except Exception as error:
                self._note(f"keyring can not be imported: {error}")
            else:
                return self._ask_module(keyring, bare, user)
            if kind == "import":
                return None
        return self._ask_command(bare, user)

    def _ask_module(self, keyring: object, bare: str, user: str) -> Credentials | None:
        for service in self._services(bare):
            try:
                if hasattr(keyring, "get_credential"):
                    found = keyring.get_credential(service, user or None)
                    if found is not None:
                        return str(found.username or user), str(found.password or "")
                elif user and hasattr(keyring, "get_password"):
                    password = keyring.get_password(service, user)
                    if password:
                        return user, str(password)
            except Exception as error:
                self._note(f"keyring failed: {error}")
                return None
        return None

    def _ask_command(self, bare: str, user: str) -> Credentials | None:
        import shutil

        command = shutil.which("keyring", path=self._environment.get("PATH"))
        if command is None:
            return None
        import json
        import subprocess

        environment = {**self._environment, "PYTHONIOENCODING": "utf-8"}
        for service in self._services(bare):
            call = [command, "--mode=creds", "--output=json", "get", service]
            try:
                answer = subprocess.run(
                    [*call, user] if user else call,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    env=environment,
                    timeout=_KEYRING_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.SubprocessError) as error:
                self._note(f"keyring failed: {type(error).__name__}")
                return None
            if answer.returncode == 2 and b"--mode=creds" in answer.stderr:
                self._note("keyring is too old: 25.2.1 is the first that can be asked")
                return None
            if answer.returncode != 0:
                continue
            try:
                found = json.loads(answer.stdout.decode("utf-8"))
                return str(found["username"]), str(found["password"])
            except (ValueError, LookupError, TypeError):
                self._note("keyring failed: its answer is no JSON with username and password")
                return None
        return None

    def _services(self, bare: str) -> list[str]:
        """What keyring is asked for: the index that a URL belongs to, then its host, as pip."""
        known = (self._settings.index_url, *self._settings.extra_index_urls)
        indexes = [
            split_credentials(index)[0].rstrip("/") + "/" for index in known if is_url(index)
        ]
        same = [index for index in indexes if host_of(index) == host_of(bare)]
        same.sort(key=lambda index: _count_shared(index, bare), reverse=True)
        return [*same[:1], host_of(bare)]


def _count_shared(first: str, second: str) -> int:
    """How many parts of the path, from its beginning, two URLs share."""
    count = 0
    for one, other in zip(first.split("/"), second.split("/"), strict=False):
        if one != other:
            break
        count += 1
    return count
