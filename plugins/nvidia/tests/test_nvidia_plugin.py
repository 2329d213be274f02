"""Features and notes for machines whose facts are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_nvidia.detect import Facts, Gpu
from vinstall_provider_nvidia.plugin import Plugin, list_features, list_notes, read_options

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
CUDA = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
SM = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"


def load_machines() -> dict[str, dict[str, Any]]:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(MACHINES.glob("*"))}
    return {name: one for name, one in documents.items() if one["plugin"] == "nvidia"}


def read_facts(document: dict[str, Any]) -> Facts:
    """The facts of a machine, with tuples where JSON has lists."""
    values = dict(document)
    gpus = tuple(
        Gpu(**{**gpu, "capability": tuple(gpu["capability"]) if gpu["capability"] else None})
        for gpu in values.pop("gpus", [])
    )
    for name in ("nvml_cuda", "library_cuda"):
        if name in values:
            values[name] = tuple(values[name])
    return Facts(**values, gpus=gpus)


CASES = load_machines()


@pytest.mark.parametrize("name", CASES)
def test_machine_supports_what_the_rules_say(name: str) -> None:
    case = CASES[name]
    expected = case["expected"]["features"]
    options = read_options(case["environment"])
    features = list_features(read_facts(case["facts"]), options)
    assert [feature.name for feature in features] == list(expected)
    for feature in features:
        wanted = expected[feature.name]
        assert feature.values[0] == wanted["best"]
        assert feature.values[-1] == wanted["last"]
        assert len(feature.values) == wanted["count"]
        assert len(set(feature.values)) == wanted["count"]
        starts = wanted.get("starts", [])
        assert feature.values[: len(starts)] == starts
        assert not set(feature.values) & set(wanted.get("lacks", []))


@pytest.mark.parametrize("name", CASES)
def test_machine_is_noted_as_the_rules_say(name: str) -> None:
    case = CASES[name]
    facts = read_facts(case["facts"])
    notes = list_notes(facts, read_options(case["environment"]))
    for wanted in case["expected"]["notes"]:
        assert any(wanted in note for note in notes), notes
    assert len(notes) == len(case["expected"]["notes"]), notes
    assert facts.is_present == case["expected"]["present"]


@pytest.mark.parametrize("name", CASES)
def test_supported_is_a_part_of_all(name: str) -> None:
    case = CASES[name]
    every = {feature.name: feature for feature in Plugin.get_all_configs()}
    for feature in list_features(read_facts(case["facts"]), read_options(case["environment"])):
        assert set(feature.values) <= set(every[feature.name].values)
        assert feature.multi_value == every[feature.name].multi_value


def test_all_has_the_features_and_the_order_of_the_public_provider() -> None:
    lower, upper, architecture = Plugin.get_all_configs()
    assert (lower.name, upper.name) == ("cuda_version_lower_bound", "cuda_version_upper_bound")
    assert lower.values == upper.values
    assert lower.values[:3] == ["15.20", "15.19", "15.18"]
    assert lower.values[20:23] == ["15.0", "15", "14.20"]
    assert lower.values[-2:] == ["11.0", "11"]
    assert len(lower.values) == 5 * 22
    assert architecture.name == "sm_arch"
    assert (lower.multi_value, upper.multi_value, architecture.multi_value) == (False, False, True)
    public = [f"{major}{minor}_real" for major in range(12, 4, -1) for minor in range(9, -1, -1)]
    public += [one.replace("real", "virtual") for one in public]
    assert [one for one in architecture.values if one in set(public)] == public


@pytest.mark.parametrize("capability", [(5, 0), (7, 5), (8, 6), (9, 0), (10, 3), (12, 1)])
def test_one_gpu_supports_all_that_the_public_provider_says(capability: tuple[int, int]) -> None:
    # There: the reals of the GPU's major number, and the first virtual of it.
    major, minor = capability
    public = [f"{major}{one}_real" for one in range(minor, -1, -1)] + [f"{major}0_virtual"]
    facts = Facts("nvml", nvml_cuda=(12, 8), gpus=(Gpu(0, "", capability),), is_present=True)
    values = list_features(facts, read_options({}))[-1].values
    assert [one for one in values if one in set(public)] == public


@pytest.mark.parametrize(
    ("text", "best"), [("12.8", "12.8"), ("12", "12.0"), ("12.8.1", "12.8"), (" 13.0 ", "13.0")]
)
def test_cuda_version_can_be_forced(text: str, best: str) -> None:
    features = list_features(Facts(), read_options({CUDA: text}))
    assert features[0].values[0] == best
    assert [feature.name for feature in features] == [
        "cuda_version_lower_bound",
        "cuda_version_upper_bound",
    ]


def test_forced_values_win_over_the_machine() -> None:
    facts = read_facts(CASES["pascal-driver-11.8"]["facts"])
    features = list_features(facts, read_options({CUDA: "12.4", SM: "8.6"}))
    assert features[0].values[0] == "12.4"
    assert features[2].values[0] == "86_real"


def test_a_forced_architecture_alone_is_told_to_decide_nothing() -> None:
    options = read_options({SM: "9.0"})
    assert list_features(Facts(), options) == []
    assert [CUDA in note for note in list_notes(Facts(), options)] == [True]


def test_empty_variables_count_as_not_set() -> None:
    assert read_options({CUDA: "", SM: " ", "VINSTALL_GPU": ""}) == read_options({})


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        (CUDA, "cu128", "12.8"),
        (CUDA, "12.x", "12.8"),
        (CUDA, "-12.8", "12.8"),
        (SM, "90", "9.0"),
        (SM, "sm_90", "9.0"),
        (SM, "8.9.1", "9.0"),
        ("VINSTALL_GPU", "first", "best"),
    ],
)
def test_a_wrong_value_names_the_variable_and_the_form(name: str, value: str, form: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        read_options({name: value})
    assert value in str(caught.value)
    assert form in str(caught.value)


def test_a_gpu_that_does_not_answer_is_left_out_and_named() -> None:
    gpus = (Gpu(0, "NVIDIA L4", (8, 9)), Gpu(1, "NVIDIA T4", None, problem="GPU is lost"))
    facts = Facts("nvml", nvml_cuda=(12, 8), library_cuda=(12, 8), gpus=gpus, is_present=True)
    assert list_features(facts, read_options({}))[2].values[0] == "89_real"
    notes = list_notes(facts, read_options({}))
    assert len(notes) == 1
    assert "GPU 1 (NVIDIA T4)" in notes[0]
    assert "GPU is lost" in notes[0]


def test_description_can_be_written_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUDA, "12.8")
    monkeypatch.setenv(SM, "9.0")
    description = json.loads(json.dumps(Plugin.describe()))
    assert set(description) == {"namespace", "present", "facts", "notes"}
    assert description["facts"]["cuda_version"] == "12.8"
    assert description["facts"]["forced_capability"] == "9.0"
    assert description["facts"]["source"] == "forced"
