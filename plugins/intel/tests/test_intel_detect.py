"""GPUs by their PCI numbers, and by a Level Zero that is made for the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from vinstall_provider_intel.detect import detect_facts, read_fingerprint

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).with_name("fake_level_zero.c")
QUERY = """
import json, sys
from vinstall_provider_intel.detect import detect_facts
from vinstall_provider_intel.plugin import list_features, read_options
facts = detect_facts(sys.argv[1])
features = {one.name: one.values for one in list_features(facts, read_options({}))}
print(json.dumps([facts.source, features, facts.problem, [gpu.name for gpu in facts.gpus]]))
"""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /sys")
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="session", params=["new", "old"])
def loader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a loader, one that has zeInitDrivers and one from before it."""
    folder: Path = tmp_path_factory.mktemp("loader")
    command = [str(COMPILER), "-shared", "-fPIC", "-Wl,-soname,libze_loader.so.1"]
    command += ["-DOLD"] if request.param == "old" else []
    target = str(folder / "libze_loader.so.1")
    subprocess.run([*command, "-o", target, str(SOURCE)], check=True)
    return folder


def add_gpu(root: Path, device: str, vendor: str = "0x8086", number: int = 128) -> None:
    folder = root / f"sys/class/drm/renderD{number}/device"
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(vendor + "\n")
    (folder / "device").write_text(device + "\n")


def ask(root: Path, loader: Path, **variables: str) -> list[Any]:
    environment = {"LD_LIBRARY_PATH": str(loader), "PATH": os.defpath, **variables}
    command = [sys.executable, "-c", QUERY, str(root)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answer: list[Any] = json.loads(done.stdout)
    return answer


@linux_only
def test_no_gpu_asks_nobody(tmp_path: Path) -> None:
    add_gpu(tmp_path, "0x2204", "0x10de")
    facts = detect_facts(str(tmp_path))
    assert (facts.gpus, facts.source) == ((), "none")


@linux_only
def test_cards_come_before_integrated_chips(tmp_path: Path) -> None:
    add_gpu(tmp_path, "0x4680")
    add_gpu(tmp_path, "0x56a0", number=129)
    gpus = detect_facts(str(tmp_path)).gpus
    assert [(gpu.device, gpu.ip) for gpu in gpus] == [("0x56a0", "12.55.8"), ("0x4680", "12.2.0")]


@needs_compiler
def test_a_known_gpu_needs_no_answer_of_level_zero(tmp_path: Path, loader: Path) -> None:
    add_gpu(tmp_path, "0xe20b")
    answer = ask(tmp_path, loader, FAKE_CODE="1")
    assert answer[:2] == ["pci", {"device_ip": ["20.1.0"]}]


@needs_compiler
def test_level_zero_is_asked_about_a_new_gpu(tmp_path: Path, loader: Path) -> None:
    add_gpu(tmp_path, "0xabcd")
    answer = ask(tmp_path, loader, FAKE_IP=str(30 << 22 | 4 << 14 | 4))
    assert answer == ["level-zero", {"device_ip": ["30.4.4", "30.0.4"]}, "", ["Fake Arc"]]


@needs_compiler
def test_level_zero_is_asked_under_windows(tmp_path: Path, loader: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/dxg").touch()
    answer = ask(tmp_path, loader, FAKE_IP=str(20 << 22 | 1 << 14))
    assert answer[:2] == ["level-zero", {"device_ip": ["20.1.0"]}]


@needs_compiler
def test_other_vendors_of_level_zero_do_not_count(tmp_path: Path, loader: Path) -> None:
    add_gpu(tmp_path, "0xabcd")
    assert ask(tmp_path, loader, FAKE_IP=str(20 << 22 | 1 << 14), FAKE_VENDOR="4318")[1] == {}


@needs_compiler
def test_a_failing_level_zero_keeps_what_is_known(tmp_path: Path, loader: Path) -> None:
    add_gpu(tmp_path, "0xabcd")
    add_gpu(tmp_path, "0xe20b", number=129)
    source, features, problem, _ = ask(tmp_path, loader, FAKE_CODE="2013265921")
    assert (source, features) == ("pci", {"device_ip": ["20.1.0"]})
    assert "0x78000001" in problem


@linux_only
def test_fingerprint_follows_gpus_and_the_loader(tmp_path: Path) -> None:
    seen = [read_fingerprint(str(tmp_path))]
    add_gpu(tmp_path, "0xe20b")
    seen.append(read_fingerprint(str(tmp_path)))
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "usr/lib64/libze_loader.so.1").touch()
    seen.append(read_fingerprint(str(tmp_path)))
    assert len(set(seen)) == 3
