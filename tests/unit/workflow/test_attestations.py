"""Which names and which file count where a bridge shows a build."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from vinstall.distributions.link import Bridged, Link
from vinstall.distributions.publisher import parse_publisher
from vinstall.errors import AttestationError
from vinstall.index import attestations as library
from vinstall.settings import Settings
from vinstall.workflow.attestations import demand_attestation

if TYPE_CHECKING:
    from pathlib import Path

SHA256 = "a" * 64


@pytest.mark.parametrize("required", ["plain", "sister", "other"])
def test_a_bridged_file_is_asked_for_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: str
) -> None:
    asked: list[str] = []

    def check(body: bytes, filename: str, *_: Any, **__: Any) -> None:
        asked.append(filename)

    monkeypatch.setattr(library, "load_library", lambda: None)
    monkeypatch.setattr(library, "check_provenance", check)
    path = tmp_path / "sister_cuda12-1.0-py3-none-any.whl"
    path.with_name(f"{path.name}.provenance").write_text("{}")
    real = Link(path.as_uri(), path.name)
    bridged = Bridged("family", "cuda12", "plain", real, "sister", "1.0")
    shown = Link(real.url, "plain-1.0-py3-none-any-cuda12.whl", bridge=bridged)
    publishers = {required: parse_publisher("github:a/b")}
    context: Any = SimpleNamespace(settings=Settings(publishers=publishers))
    demand_attestation(context, "plain", shown, SHA256)
    assert asked == ([] if required == "other" else [path.name])
    if required != "other":
        with pytest.raises(AttestationError, match=r"sister_cuda12-1\.0"):
            demand_attestation(context, "plain", shown, "")
