"""Features for CPUs whose flags are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_x86_64.detect import Facts, normalize_flags
from vinstall_provider_x86_64.plugin import EXTENSIONS, Plugin, list_features, list_notes

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"


def load_machines() -> dict[str, dict[str, Any]]:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(MACHINES.glob("*"))}
    return {name: one for name, one in documents.items() if one["plugin"] == "x86_64"}


def read_facts(document: dict[str, Any]) -> Facts:
    return Facts(
        document["machine"],
        document.get("vendor", ""),
        flags=normalize_flags(document.get("flags", [])),
    )


CASES = load_machines()


@pytest.mark.parametrize("name", CASES)
def test_machine_supports_what_the_rules_say(name: str) -> None:
    case = CASES[name]
    expected = case["expected"]
    features = {one.name: one.values for one in list_features(read_facts(case["facts"]))}
    assert {name: features.pop(name) for name in ["level"] if features} == expected["features"]
    assert all(values == ["on"] for values in features.values())
    assert set(expected["has"]) <= set(features)
    assert not set(expected["lacks"]) & set(features)


@pytest.mark.parametrize("name", CASES)
def test_machine_is_noted_as_the_rules_say(name: str) -> None:
    case = CASES[name]
    facts = read_facts(case["facts"])
    notes = list_notes(facts)
    assert len(notes) == len(case["expected"]["notes"]), notes
    assert all(
        wanted in note for wanted, note in zip(case["expected"]["notes"], notes, strict=True)
    )
    assert facts.is_x86_64 == case["expected"]["present"]


@pytest.mark.parametrize("name", CASES)
def test_supported_is_a_part_of_all_in_the_same_order(name: str) -> None:
    every = [one.name for one in Plugin.get_all_configs()]
    features = list_features(read_facts(CASES[name]["facts"]))
    assert [one for one in every if one in {two.name for two in features}] == [
        one.name for one in features
    ]


def test_all_begins_with_the_four_levels() -> None:
    level, *extensions = Plugin.get_all_configs()
    assert (level.name, level.values) == ("level", ["v4", "v3", "v2", "v1"])
    assert [one.name for one in extensions] == list(EXTENSIONS)
    assert len(set(EXTENSIONS)) == len(EXTENSIONS)
    assert not any(one.multi_value for one in [level, *extensions])


def test_the_order_of_the_public_provider_is_kept() -> None:
    # A sample from both ends and the middle of its list.
    sample = "avx_vnni movdir64b avx512_bf16 sha_ni clwb avx512bw avx512vl clflushopt adx avx2 avx"
    sample += " movbe xsave rdrand aes sse4a sse4_2 sse3 popcnt sse2 sse mmx"
    assert [one for one in EXTENSIONS if one in sample.split()] == sample.split()


@pytest.mark.parametrize("flags", [["pni"], ["ssse3"]])
def test_sse3_has_other_names_in_linux(flags: list[str]) -> None:
    assert "sse3" in normalize_flags(flags)
    assert "sse3" not in normalize_flags(["sse2"])


def test_description_can_be_written_as_json() -> None:
    description = json.loads(json.dumps(Plugin.describe()))
    assert set(description) == {"namespace", "present", "facts", "notes"}
    assert description["present"] == bool(Plugin.get_supported_configs())
