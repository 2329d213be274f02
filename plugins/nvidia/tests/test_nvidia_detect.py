"""The machine is asked through nvidia-ml-py, with a driver that is made for the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_nvidia.detect import decode_cuda, detect_facts, read_fingerprint

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).with_name("fake_nvml.c")
QUERY = """
import json
from vinstall_provider_nvidia.plugin import Plugin
features = {one.name: one.values for one in Plugin.get_supported_configs()}
print(json.dumps({"features": features, **Plugin.describe()}))
"""
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with both libraries of the driver."""
    folder = tmp_path_factory.mktemp("driver")
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        command = [str(COMPILER), "-shared", "-fPIC", f"-Wl,-soname,{name}"]
        subprocess.run([*command, "-o", str(folder / name), str(SOURCE)], check=True)
    return folder


def run_query(driver: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"LD_LIBRARY_PATH": str(driver), "PATH": os.defpath, **variables}
    return subprocess.run(
        [sys.executable, "-c", QUERY], env=environment, capture_output=True, text=True, timeout=60
    )


def ask(driver: Path, **variables: str) -> dict[str, Any]:
    done = run_query(driver, **variables)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@needs_compiler
def test_one_gpu(driver: Path) -> None:
    answer = ask(driver)
    assert answer["present"]
    assert answer["notes"] == []
    assert answer["features"]["cuda_version_lower_bound"][0] == "12.8"
    assert answer["features"]["sm_arch"][:2] == ["90_real", "90_virtual"]
    facts = answer["facts"]
    assert (facts["source"], facts["driver_version"]) == ("nvml", "570.86.15")
    assert (facts["cuda_version_driver"], facts["cuda_version_library"]) == ("12.8", "12.8")
    assert facts["gpus"] == [
        {"index": 0, "name": "Fake GPU 0", "capability": "9.0", "mig": False, "problem": ""}
    ]


@needs_compiler
def test_a_mask_changes_nothing_and_is_told(driver: Path) -> None:
    answer = ask(driver, CUDA_VISIBLE_DEVICES="")
    assert answer["features"] == ask(driver)["features"]
    assert ["CUDA_VISIBLE_DEVICES" in note for note in answer["notes"]] == [True]


@needs_compiler
def test_two_different_gpus(driver: Path) -> None:
    answer = ask(driver, FAKE_COUNT="2", FAKE_CAPABILITY="9.0 7.0")
    assert answer["features"]["sm_arch"][0] == "70_virtual"
    assert "GPU 1 (Fake GPU 1, 7.0)" in answer["notes"][0]
    best = ask(driver, FAKE_COUNT="2", FAKE_CAPABILITY="9.0 7.0", VINSTALL_GPU="best")
    assert best["features"]["sm_arch"][0] == "90_real"


@needs_compiler
def test_mig_is_seen(driver: Path) -> None:
    assert ask(driver, FAKE_MIG="1")["facts"]["gpus"][0]["mig"]


@needs_compiler
def test_the_loaded_library_decides_the_cuda_version(driver: Path) -> None:
    answer = ask(driver, FAKE_CUDA="12020", FAKE_LIBCUDA="13000")
    assert answer["facts"]["cuda_version_driver"] == "12.2"
    assert answer["features"]["cuda_version_lower_bound"][0] == "13.0"


@needs_compiler
def test_a_stub_of_libcuda_does_not_count(driver: Path) -> None:
    answer = ask(driver, FAKE_CUDA="12020", FAKE_LIBCUDA="13000", FAKE_LIBCUDA_CODE="34")
    assert answer["features"]["cuda_version_lower_bound"][0] == "12.2"


@needs_compiler
def test_an_old_nvml_call_stands_in_for_the_new_one(driver: Path) -> None:
    answer = ask(driver, FAKE_CUDA="11040", FAKE_CUDA_CODE="12")
    assert answer["facts"]["cuda_version_driver"] == "11.4"


@needs_compiler
def test_nvml_is_enough_where_libcuda_is_missing(driver: Path, tmp_path: Path) -> None:
    shutil.copy(driver / "libnvidia-ml.so.1", tmp_path)
    answer = ask(tmp_path)
    if answer["facts"]["cuda_version_library"] is not None:
        pytest.skip("this machine has a libcuda of its own")
    assert answer["features"]["cuda_version_lower_bound"][0] == "12.8"
    assert "libcuda is not" in answer["notes"][0]


@needs_compiler
@pytest.mark.parametrize("code", ["3", "4"])
def test_a_refused_capability_leaves_the_cuda_version(driver: Path, code: str) -> None:
    answer = ask(driver, FAKE_CAPABILITY_CODE=code)
    assert list(answer["features"]) == ["cuda_version_lower_bound", "cuda_version_upper_bound"]
    assert answer["present"]
    assert any("does not tell its compute capability" in note for note in answer["notes"])


@needs_compiler
def test_a_refused_handle_leaves_the_gpu_in_the_list(driver: Path) -> None:
    answer = ask(driver, FAKE_HANDLE_CODE="4")
    gpu = answer["facts"]["gpus"][0]
    assert (gpu["capability"], gpu["problem"]) == (None, "Insufficient Permissions")


@needs_compiler
def test_zero_devices_support_nothing(driver: Path) -> None:
    assert ask(driver, FAKE_COUNT="0")["features"] == {}


@needs_compiler
@pytest.mark.parametrize("code", ["9", "18"])
def test_a_driver_that_can_not_work_supports_nothing(driver: Path, code: str) -> None:
    answer = ask(driver, FAKE_INIT=code)
    assert answer["features"] == {}
    assert answer["facts"]["problem"]


@needs_compiler
def test_forced_values_do_not_ask_the_driver(driver: Path) -> None:
    answer = ask(
        driver,
        FAKE_ABORT="1",
        NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION="12.6",
        NV_VARIANT_PROVIDER_FORCE_SM_ARCH="8.6",
    )
    assert answer["features"]["sm_arch"][0] == "86_real"


@needs_compiler
def test_a_driver_that_aborts_ends_only_the_child(driver: Path) -> None:
    assert run_query(driver, FAKE_ABORT="1").returncode < 0


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_gpu_is_seen_on_the_bus_without_any_driver(tmp_path: Path) -> None:
    write(tmp_path, "sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")
    write(tmp_path, "sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n")
    assert detect_facts(str(tmp_path)).is_present


@pytest.mark.parametrize(("vendor", "kind"), [("0x10de", "0x040300"), ("0x8086", "0x030000")])
def test_sound_cards_and_other_vendors_are_no_gpu(tmp_path: Path, vendor: str, kind: str) -> None:
    write(tmp_path, "sys/bus/pci/devices/0000:01:00.1/vendor", vendor)
    write(tmp_path, "sys/bus/pci/devices/0000:01:00.1/class", kind)
    facts = detect_facts(str(tmp_path))
    assert facts.is_present == bool(facts.gpus)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sys/module/nvidia/version", "570.86.15\n"),
        (
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
            "GCC version:  gcc version 12.2.0\n",
        ),
    ],
)
def test_version_of_the_kernel_module(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path, path, text)
    assert detect_facts(str(tmp_path)).module_version == "570.86.15"


def test_a_jetson_is_known_by_its_chip(tmp_path: Path) -> None:
    write(tmp_path, "proc/device-tree/compatible", "nvidia,p3737\0nvidia,tegra234\0")
    facts = detect_facts(str(tmp_path))
    assert facts.is_jetson
    if facts.source != "nvml":
        assert facts.gpus[0].capability == (8, 7)


def test_fingerprint_follows_module_devices_and_libraries(tmp_path: Path) -> None:
    seen = [read_fingerprint(str(tmp_path), {})]
    write(tmp_path, "sys/module/nvidia/version", "570.86.15")
    seen.append(read_fingerprint(str(tmp_path), {}))
    (tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    seen.append(read_fingerprint(str(tmp_path), {}))
    write(tmp_path, "usr/lib64/libcuda.so.1", "library")
    seen.append(read_fingerprint(str(tmp_path), {}))
    write(tmp_path, "compat/libcuda.so.1", "newer library")
    seen.append(read_fingerprint(str(tmp_path), {"LD_LIBRARY_PATH": str(tmp_path / "compat")}))
    assert len(set(seen)) == len(seen)
    assert read_fingerprint(str(tmp_path), {}) == seen[3]


@pytest.mark.parametrize(
    ("number", "version"), [(12080, (12, 8)), (11000, (11, 0)), (13010, (13, 1)), (12100, (12, 10))]
)
def test_cuda_numbers(number: int, version: tuple[int, int]) -> None:
    assert decode_cuda(number) == version


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs an NVIDIA GPU")
def test_a_real_gpu_is_what_nvidia_smi_says() -> None:
    command = ["nvidia-smi", "--query-gpu=compute_cap,driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        pytest.skip("the driver does not answer")
    rows = [line.split(", ") for line in done.stdout.splitlines()]
    facts = detect_facts()
    known = [f"{gpu.capability[0]}.{gpu.capability[1]}" for gpu in facts.gpus if gpu.capability]
    assert known == [row[0] for row in rows]
    assert {facts.driver_version} == {row[1] for row in rows}
