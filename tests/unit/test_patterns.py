"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import vinstall
from vinstall.patterns import lazy_pattern


def test_it_behaves_as_a_pattern() -> None:
    pattern = lazy_pattern(r"(?P<word>[a-z]+)", re.IGNORECASE)
    found = pattern.fullmatch("Word")
    assert found is not None
    assert found["word"] == "Word"
    assert pattern.sub("x", "a b") == "x x"
    assert pattern.groupindex == {"word": 1}
    assert lazy_pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_it_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = lazy_pattern("a+")
    assert pattern.match("aa")
    monkeypatch.setattr(re, "compile", None)
    assert pattern.match("aa")
    assert pattern.search("b") is None


def _modules() -> list[str]:
    found = pkgutil.walk_packages(vinstall.__path__, "vinstall.")
    names = [one.name for one in found if not one.name.startswith("vinstall.children.")]
    return [name for name in names if not name.endswith("__main__")]  # it runs a command


@pytest.mark.parametrize("name", _modules())
def test_every_pattern_of_a_module_is_one(name: str) -> None:
    kind = type(lazy_pattern("a"))
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, kind):
            value.search  # noqa: B018 (compiles it, or raises)
