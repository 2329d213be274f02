"""How bridges are switched on, and where their URLs lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.bridges.test_source import FRAME
from tests.unit.cli.test_precedence import merge, place, settings, write
from vinstall.errors import UsageError, VinstallError
from vinstall.settings import BridgeSettings, IndexSettings, Names
from vinstall.workflow.bridges import find_places

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["place"]


@pytest.mark.parametrize(
    ("line", "variables", "names", "refused"),
    [
        ("install x", {}, Names(), False),
        ("install --bridge x", {}, Names(everything=True), False),
        ("install --bridge=a,B_c x", {}, Names(False, frozenset({"a", "b-c"})), False),
        ("install --no-bridge x", {}, Names(), True),
        ("install x", {"VINSTALL_BRIDGE": "1"}, Names(everything=True), False),
        ("install x", {"VINSTALL_BRIDGE": "a,b"}, Names(False, frozenset({"a", "b"})), False),
        ("install x", {"VINSTALL_BRIDGE": "0"}, Names(), True),
        ("install --no-bridge x", {"VINSTALL_BRIDGE": "1"}, Names(), True),
        ("install --bridge x", {"VINSTALL_NO_BRIDGE": "1"}, Names(everything=True), False),
    ],
)
def test_switches(
    place: Path, line: str, variables: dict[str, str], names: Names, refused: bool
) -> None:
    found = settings(place, line, **variables).bridges
    assert (found.families, found.refused) == (names, refused)


def test_files(place: Path) -> None:
    write(
        place / "prefix/vinstall.toml",
        'bridge = ["a"]\nbridge-files = ["mine.toml"]\nbridge-url = { a = "https://m/{label}/" }\n',
    )
    found = settings(place, "install x").bridges
    assert found == BridgeSettings(
        Names(False, frozenset({"a"})), False, ("mine.toml",), {"a": "https://m/{label}/"}
    )


def test_a_project_must_not_name_files(place: Path) -> None:
    write(place / "project/pyproject.toml", '[tool.vinstall]\nbridge-files = ["x.toml"]\n')
    with pytest.raises(VinstallError) as caught:
        settings(place, "install x")
    assert "can not be set by a project" in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "install --bridge --no-bridge x",
        "install --bridge=a,,b x",
        "install --bridge-url=x x",
        "install --bridge-url=a=https://m/{name}/ x",
    ],
)
def test_mistakes(place: Path, line: str) -> None:
    with pytest.raises(UsageError):
        settings(place, line)


def test_switches_are_told_as_overrides(place: Path) -> None:
    said = merge(place, "install --bridge=a x").settings.overrides
    assert ("--bridge=a", "command line") in said


def test_places() -> None:
    key = ("frame", "frame")

    def places(index: IndexSettings, **urls: str) -> tuple[str, str]:
        found = find_places([FRAME], BridgeSettings(urls=urls), index)
        return found.urls[key], found.closed.get(key, "")

    public = "https://host.example/whl/{label}/"
    assert places(IndexSettings()) == (public, "")
    assert places(IndexSettings(index_url="https://pypi.org/simple/")) == (public, "")
    own = IndexSettings(index_url="https://mine.example/simple")
    assert "host.example is not asked" in places(own)[1]
    mirror = "https://mine.example/whl/{label}/"
    assert places(own, frame=mirror) == (mirror, "")
    offline = IndexSettings(no_index=True, index_url="")
    assert "--no-index is set" in places(offline)[1]
    assert "--no-index is set" in places(offline, frame=mirror)[1]
    url, closed = places(offline, frame="/srv/whl/{label}")
    assert (url, closed) == ("file:///srv/whl/{label}", "")
