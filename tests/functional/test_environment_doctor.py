"""``doctor``: what decides here, what is wrong, and what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.faults import Status
from vinstall.console.doctor import format_age, iter_diagnosis, iter_providers
from vinstall.events import SilentObserver
from vinstall.providers.query import ProviderReport
from vinstall.settings import (
    IndexSettings,
    Settings,
    TargetSettings,
    VariantSettings,
)
from vinstall.workflow.doctor import Diagnosis, diagnosis_to_json, run_doctor
from vinstall.workflow.providers import KnownProvider

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex


@pytest.fixture
def settings(environment: Environment, index: SimpleIndex, tmp_path: Path) -> Settings:
    return Settings(
        index=IndexSettings(index_url=index.simple_url, retries=3),
        variants=VariantSettings(no_providers=True),
        target=TargetSettings(python=str(environment.python)),
        cache_dir=str(tmp_path / "cache"),
    )


def diagnose(settings: Settings) -> Diagnosis:
    return run_doctor(settings, SilentObserver(), ("/etc/pip.conf", "PIP_INDEX_URL"))


def errors(diagnosis: Diagnosis) -> list[str]:
    return [one.what for one in diagnosis.findings if one.level == "error"]


def test_a_healthy_machine(settings: Settings, environment: Environment) -> None:
    found = diagnose(settings)
    assert found.is_healthy
    assert errors(found) == []
    assert found.python is not None
    assert found.python.executable == str(environment.python)
    assert found.python.is_virtual
    assert found.python.is_writable
    assert found.python.site_packages == str(environment.site_packages)
    assert len(found.python.first_tags) == 5
    assert found.python.tag_count > 50
    (index,) = found.indexes
    assert index.is_reachable
    assert index.seconds > 0
    assert found.sources == ("/etc/pip.conf", "PIP_INDEX_URL")
    assert found.leftovers == ()


def test_a_profile_stands_in_for_the_machine(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "gpu.toml"
    path.write_text('schema = 1\n[supported.nvidia]\nsm_arch = ["90_real"]\n')
    found = diagnose(replace(settings, variants=VariantSettings(profile=str(path))))
    assert dict(found.machine[0].features) == {"sm_arch": ("90_real",)}
    path.write_text("schema = 2\n")
    found = diagnose(replace(settings, variants=VariantSettings(profile=str(path))))
    assert "schema has to be 1" in " ".join(errors(found))


def test_an_index_that_does_not_answer_is_asked_once(
    settings: Settings, index: SimpleIndex
) -> None:
    index.fail("/simple/pip/", Status(500))
    found = diagnose(settings)
    assert not found.indexes[0].is_reachable
    assert index.count("/simple/pip/") == 1
    assert settings.index.index_url in errors(found)[0]


def test_passwords_are_not_told(settings: Settings, index: SimpleIndex) -> None:
    url = index.url_with_credentials("user", "secret")
    found = diagnose(replace(settings, index=replace(settings.index, index_url=url)))
    text = json.dumps(diagnosis_to_json(found)) + "\n".join(iter_diagnosis(found))
    assert "secret" not in text


def test_places_of_wheels(settings: Settings, tmp_path: Path) -> None:
    index = IndexSettings(
        no_index=True,
        find_links=(str(tmp_path), tmp_path.as_uri(), str(tmp_path / "missing")),
    )
    found = diagnose(replace(settings, index=index))
    assert [one.is_reachable for one in found.indexes] == [True, True, False]
    nothing = diagnose(replace(settings, index=IndexSettings(no_index=True)))
    assert "no index" in errors(nothing)[0]


def test_an_interpreter_that_can_not_be_used(settings: Settings, tmp_path: Path) -> None:
    missing = TargetSettings(python=str(tmp_path / "missing"))
    found = diagnose(replace(settings, target=missing))
    assert found.python is None
    assert "missing" in errors(found)[0]
    assert found.indexes[0].is_reachable
    assert list(iter_diagnosis(found))


def test_leftovers(settings: Settings, environment: Environment) -> None:
    site = environment.site_packages
    (site / ".vinstall-journal").mkdir()
    (site / "~umpy").mkdir()
    (site / ".vinstall-trash-1").mkdir()
    found = diagnose(settings)
    assert sorted(Path(path).name for path in found.leftovers) == [
        ".vinstall-journal",
        ".vinstall-trash-1",
        "~umpy",
    ]
    assert "journal" in errors(found)[0]


def test_the_cache(settings: Settings, tmp_path: Path) -> None:
    assert diagnose(replace(settings, cache_dir="")).cache.path == ""
    path = tmp_path / "file"
    path.write_text("")
    found = diagnose(replace(settings, cache_dir=str(path / "cache")))
    assert not found.cache.is_writable
    assert found.is_healthy
    (tmp_path / "cache" / "providers-v1").mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache" / "providers-v1" / "a.json").write_text("{}")
    assert diagnose(settings).cache.parts["providers-v1"] == 1


def test_an_environment_of_the_system(settings: Settings) -> None:
    system = Path("/usr/bin/python3")
    if not list(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")):
        pytest.skip("no Python here is managed by its system")
    found = diagnose(replace(settings, target=TargetSettings(python=str(system))))
    assert found.python is not None
    assert found.python.is_managed
    assert "externally managed" in " ".join(errors(found))


GPU = ProviderReport(
    "nvidia",
    "plugin p 1",
    {"cuda_version_lower_bound": tuple(f"12.{n}" for n in range(9)), "a": ("on",), "b": ("on",)},
    "p",
    "1",
    0.25,
    present=True,
    facts={
        "driver_version": "580.1",
        "cuda_version": "13.0",
        "gpus": [{"index": 0, "name": "H200", "capability": "9.0", "mig": False, "problem": ""}],
        "wsl": False,
        "problem": None,
    },
)


def test_how_it_reads(settings: Settings) -> None:
    found = replace(diagnose(settings), machine=(GPU,), overrides=(("--gpu best", "line"),))
    text = "\n".join(iter_diagnosis(found))
    assert "nvidia (from plugin p 1, 250 ms)" in text
    assert "driver version: 580.1" in text
    assert "CUDA version: 13.0" in text
    assert "gpu 0: H200, capability 9.0" in text
    assert "12.5, and 3 more" in text
    assert "on: a, b" in text
    assert "--gpu best (line)" in text
    everything = "\n".join(iter_diagnosis(found, everything=True))
    assert "12.8" in everything


def test_how_providers_read() -> None:
    one = KnownProvider("nvidia", "p", "1", "bundled", (), 7300.0, 0.02, (("a", 1),))
    header, _, row = iter_providers([one])
    assert header.split()[:2] == ["Namespace", "Provider"]
    assert row.split() == ["nvidia", "p", "1", "bundled", "2", "h", "ago", "20", "ms"]
    assert "none is trusted" in next(iter_providers([]))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (86399, "23 h"), (86400, "1 d")],
)
def test_ages(seconds: float, text: str) -> None:
    assert format_age(seconds) == text


def test_the_command(environment: Environment, index: SimpleIndex) -> None:
    result = environment.vinstall("doctor", "--json", "-i", index.simple_url, "--no-providers")
    document = result.check().json()
    assert document["healthy"] is True
    assert document["python"]["executable"] == str(environment.python)
    assert document["indexes"][0]["is_reachable"] is True
    index.close()
    broken = environment.vinstall("doctor", "-i", index.simple_url, "--no-providers").check(1)
    assert "FAILED" in broken.stdout
    assert "ERROR:" in broken.stdout


def test_sources_are_told(environment: Environment, index: SimpleIndex) -> None:
    config = environment.home / ".config" / "vinstall" / "vinstall.toml"
    config.parent.mkdir(parents=True)
    config.write_text("no-providers = true\n")
    result = environment.vinstall(
        "doctor", "--json", variables={"PIP_INDEX_URL": index.simple_url, "VINSTALL_GPU": "best"}
    ).check()
    sources = result.json()["sources"]
    assert sources[-3:] == [str(config), "PIP_INDEX_URL", "VINSTALL_GPU"]
