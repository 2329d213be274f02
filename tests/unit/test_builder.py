"""What a child process is given."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from vinstall.builder import Builder
from vinstall.errors import BuildError
from vinstall.events import RecordingObserver
from vinstall.settings import IndexSettings, RequestSettings

if TYPE_CHECKING:
    from pathlib import Path


def test_passwords_are_no_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody on a machine can list the arguments of its processes."""
    runs: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        runs.append((command, options["env"]))
        return subprocess.CompletedProcess(command, 1, b"it fails", b"")

    monkeypatch.setattr(subprocess, "run", run)
    index = IndexSettings(
        index_url="https://user:secret@a.test/simple",
        extra_index_urls=("https://b.test/simple", "https://user:secret@c.test/simple"),
        find_links=("https://user:secret@d.test/", str(tmp_path / "with blank")),
        proxy="http://user:secret@proxy.test:8080",
    )
    inherited = {"PIP_INDEX_URL": "https://other.test", "HOME": "/home/x"}
    builder = Builder("/usr/bin/python3", index, RequestSettings(), inherited, RecordingObserver())
    with pytest.raises(BuildError):
        builder.build("hg+https://e.test/project", tmp_path / "wheels")
    ((command, variables),) = runs
    assert not [word for word in command if "secret" in word]
    assert variables["PIP_INDEX_URL"] == index.index_url
    assert variables["PIP_EXTRA_INDEX_URL"] == " ".join(index.extra_index_urls)
    folder = (tmp_path / "with blank").as_uri()
    assert variables["PIP_FIND_LINKS"] == f"https://user:secret@d.test/ {folder}"
    assert variables["PIP_PROXY"] == index.proxy
    assert "--isolated" not in command  # with it pip reads no variables
    assert variables["PIP_CONFIG_FILE"]
