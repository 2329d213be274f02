"""Features for CPUs whose extensions are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_aarch64.detect import Facts
from vinstall_provider_aarch64.plugin import EXTENSIONS, Plugin, list_features

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"


def load_machines() -> dict[str, dict[str, Any]]:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(MACHINES.glob("*"))}
    return {name: one for name, one in documents.items() if one["plugin"] == "aarch64"}


def read_facts(document: dict[str, Any]) -> Facts:
    return Facts(document["machine"], flags=frozenset(document.get("flags", [])))


CASES = load_machines()


@pytest.mark.parametrize("name", CASES)
def test_machine_supports_what_the_rules_say(name: str) -> None:
    case = CASES[name]
    expected = case["expected"]
    facts = read_facts(case["facts"])
    features = {one.name: one.values for one in list_features(facts)}
    assert {name: features.pop(name) for name in ["version"] if features} == expected["features"]
    assert all(values == ["on"] for values in features.values())
    assert set(expected["has"]) <= set(features)
    assert not set(expected["lacks"]) & set(features)
    assert facts.is_aarch64 == expected["present"]


@pytest.mark.parametrize("name", CASES)
def test_supported_is_a_part_of_all_in_the_same_order(name: str) -> None:
    every = [one.name for one in Plugin.get_all_configs()]
    features = list_features(read_facts(CASES[name]["facts"]))
    assert [one for one in every if one in {two.name for two in features}] == [
        one.name for one in features
    ]


def test_all_has_the_versions_of_the_public_provider_in_its_order() -> None:
    version, *extensions = Plugin.get_all_configs()
    public = ["9.0a", "8.5a", "8.4a", "8.3a", "8.2a", "8.1a", "8a"]
    assert version.name == "version"
    assert [one for one in version.values if one in public] == public
    assert [one.name for one in extensions] == list(EXTENSIONS)
    assert len(set(EXTENSIONS)) == len(EXTENSIONS)


def test_description_can_be_written_as_json() -> None:
    description = json.loads(json.dumps(Plugin.describe()))
    assert set(description) == {"namespace", "present", "facts", "notes"}
    assert description["present"] == bool(Plugin.get_supported_configs())
