"""Features for machines whose GPUs are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_intel.detect import Facts, Gpu
from vinstall_provider_intel.devices import CARDS, PLATFORMS, decode_ip, find_platform
from vinstall_provider_intel.plugin import Plugin, list_features, list_notes, read_options

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
FORCE = "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP"


def load_machines() -> dict[str, dict[str, Any]]:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(MACHINES.glob("*"))}
    return {name: one for name, one in documents.items() if one["plugin"] == "intel"}


CASES = load_machines()


@pytest.mark.parametrize("name", CASES)
def test_machine_supports_what_the_rules_say(name: str) -> None:
    case = CASES[name]
    gpus = tuple(Gpu(**gpu) for gpu in case["facts"]["gpus"])
    facts = Facts(gpus, case["facts"]["has_level_zero"])
    options = read_options(case["environment"])
    features = list_features(facts, options)
    assert {one.name: one.values for one in features} == case["expected"]["features"]
    assert all(set(one.values) <= set(PLATFORMS) and one.multi_value for one in features)
    notes = list_notes(facts, options)
    assert len(notes) == len(case["expected"]["notes"]), notes
    for wanted in case["expected"]["notes"]:
        assert any(wanted in note for note in notes), notes


def test_masks_are_ignored_and_told() -> None:
    facts = Facts((Gpu("20.1.0", "0xe20b"),), True, "pci")
    options = read_options({"ZE_AFFINITY_MASK": "1"})
    assert list_features(facts, options) == list_features(facts, read_options({}))
    assert ["ZE_AFFINITY_MASK" in note for note in list_notes(facts, options)] == [True]


def test_base_platforms_are_their_own_base() -> None:
    assert all(base in PLATFORMS and not PLATFORMS[base] for base in PLATFORMS.values() if base)
    assert set(PLATFORMS) >= CARDS


def test_all_is_newest_first() -> None:
    (feature,) = Plugin.get_all_configs()
    assert feature.name == "device_ip"
    versions = [tuple(int(part) for part in value.split(".")) for value in feature.values]
    assert versions == sorted(versions, reverse=True)


@pytest.mark.parametrize(
    ("device", "ip"),
    [("0x56a0", "12.55.8"), ("0xE20B", "20.1.0"), ("0x0bd5", "12.60.7"), ("0x3e92", ""), ("", "")],
)
def test_platforms_of_pci_numbers(device: str, ip: str) -> None:
    assert find_platform(device) == ip


@pytest.mark.parametrize("ip", ["20.1.0", "12.55.8", "30.0.4"])
def test_packed_versions(ip: str) -> None:
    architecture, release, revision = (int(part) for part in ip.split("."))
    # hw_ip_version: 10 bits, 8 bits, 8 bits reserved, 6 bits
    assert decode_ip(architecture << 22 | release << 14 | revision) == ip


@pytest.mark.parametrize(
    ("name", "value"), [(FORCE, "12.99.99"), (FORCE, "bmg"), ("VINSTALL_GPU", "first")]
)
def test_a_wrong_value_names_the_variable_and_the_form(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        read_options({name: value})
    assert value in str(caught.value)
    assert "12.60.7" in str(caught.value) or "best" in str(caught.value)


def test_description_can_be_written_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "12.60.7")
    description = json.loads(json.dumps(Plugin.describe()))
    assert set(description) == {"namespace", "present", "facts", "notes"}
    assert description["facts"]["forced_device_ip"] == "12.60.7"
