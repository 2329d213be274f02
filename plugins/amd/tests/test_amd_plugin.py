"""Features for machines whose topology is known; the files of a machine are made for each test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_amd.detect import Facts, decode_gfx, detect_facts, read_fingerprint
from vinstall_provider_amd.plugin import Plugin, list_features, list_notes, read_options

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
GFX = "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH"
ROCM = "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION"


def load_machines() -> dict[str, dict[str, Any]]:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(MACHINES.glob("*"))}
    return {name: one for name, one in documents.items() if one["plugin"] == "amd"}


def make_machine(root: Path, document: dict[str, Any]) -> Facts:
    """Write the files of a machine and read them."""
    for node in document["nodes"]:
        write_node(root, **node)
    if document["rocm"]:
        write(root, "opt/rocm/.info/version", document["rocm"] + "\n")
    return detect_facts(str(root), {})


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def write_node(root: Path, node: int, **properties: int) -> None:
    text = "".join(f"{name} {value}\n" for name, value in properties.items())
    write(root, f"sys/class/kfd/kfd/topology/nodes/{node}/properties", text)


CASES = load_machines()


@pytest.mark.parametrize("name", CASES)
def test_machine_supports_what_the_rules_say(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    facts = make_machine(tmp_path, case["facts"])
    options = read_options(case["environment"])
    features = list_features(facts, options)
    assert {one.name: one.values for one in features} == case["expected"]["features"]
    assert facts.is_present == case["expected"]["present"]
    every = {one.name: one for one in Plugin.get_all_configs()}
    for feature in features:
        assert set(feature.values) <= set(every[feature.name].values)
        assert feature.multi_value == every[feature.name].multi_value
    notes = list_notes(facts, options)
    assert len(notes) == len(case["expected"]["notes"]), notes
    for wanted in case["expected"]["notes"]:
        assert any(wanted in note for note in notes), notes


def test_all_contains_what_the_public_provider_knows() -> None:
    architecture, rocm = Plugin.get_all_configs()
    assert (architecture.name, rocm.name) == ("gfx_arch", "rocm_version")
    public = "gfx900 gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1101 gfx1102 gfx1200 gfx1201"
    assert set(public.split()) <= set(architecture.values)
    assert {f"7.{minor}" for minor in range(11)} | {"6.4", "6.3"} <= set(rocm.values)
    assert (architecture.multi_value, rocm.multi_value) == (True, False)


@pytest.mark.parametrize(
    ("number", "name"),
    [(90010, "gfx90a"), (90402, "gfx942"), (110000, "gfx1100"), (120001, "gfx1201"), (0, "")],
)
def test_architectures_are_decoded(number: int, name: str) -> None:
    assert decode_gfx(number) == name


def test_a_gpu_that_a_container_may_not_see_is_empty(tmp_path: Path) -> None:
    write(tmp_path, "sys/class/kfd/kfd/topology/nodes/1/properties", "")
    assert not detect_facts(str(tmp_path), {}).is_present


@pytest.mark.parametrize(
    ("path", "text", "version"),
    [
        ("opt/rocm/.info/version", "6.4.1-83\n", (6, 4)),
        ("opt/rocm-6.3.2/.info/version", "6.3.2-66\n", (6, 3)),
        ("opt/rocm/lib/librocm-core.so.1.0.60401", "", (6, 4)),
        ("usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.31921", "", (5, 7)),
    ],
)
def test_rocm_is_found(tmp_path: Path, path: str, text: str, version: tuple[int, int]) -> None:
    write(tmp_path, path, text)
    facts = detect_facts(str(tmp_path), {})
    assert facts.rocm_version == version
    assert facts.rocm_source.endswith(path)


def test_rocm_path_wins_and_the_newest_of_several_is_taken(tmp_path: Path) -> None:
    for version in ("6.2.4", "6.10.0", "6.3.0"):
        write(tmp_path, f"opt/rocm-{version}/.info/version", version)
    assert detect_facts(str(tmp_path), {}).rocm_version == (6, 10)
    chosen = {"ROCM_PATH": str(tmp_path / "opt/rocm-6.2.4")}
    assert detect_facts(str(tmp_path), chosen).rocm_version == (6, 2)


def test_forced_values_need_no_gpu() -> None:
    options = read_options({GFX: "gfx1100, gfx942;gfx1100", ROCM: "6.4.1"})
    features = list_features(Facts(), options)
    assert [(one.name, one.values) for one in features] == [
        ("gfx_arch", ["gfx1100", "gfx942"]),
        ("rocm_version", ["6.4"]),
    ]


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        (GFX, "1100", "gfx1100"),
        (GFX, "gfx942:xnack+", "gfx1100"),
        (ROCM, "rocm6.4", "6.4"),
        (ROCM, "6", "6.4"),
        ("VINSTALL_GPU", "first", "best"),
    ],
)
def test_a_wrong_value_names_the_variable_and_the_form(name: str, value: str, form: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        read_options({name: value})
    assert value in str(caught.value)
    assert form in str(caught.value)


def test_description_can_be_written_as_json() -> None:
    description = json.loads(json.dumps(Plugin.describe()))
    assert set(description) == {"namespace", "present", "facts", "notes"}
    assert Plugin.fingerprint() == Plugin.fingerprint()


def test_fingerprint_follows_gpus_and_rocm(tmp_path: Path) -> None:
    seen = [read_fingerprint(str(tmp_path), {})]
    write_node(tmp_path, 1, simd_count=192, gfx_target_version=110000)
    seen.append(read_fingerprint(str(tmp_path), {}))
    write(tmp_path, "opt/rocm/.info/version", "6.4.1")
    seen.append(read_fingerprint(str(tmp_path), {}))
    assert len(set(seen)) == 3
