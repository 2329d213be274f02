"""Namespaces → supported properties, with real children, caches and warnings."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from vinstall.distributions.target import Target
from vinstall.errors import ConfigurationError
from vinstall.events import Noted, RecordingObserver
from vinstall.profile import parse_profile
from vinstall.providers.answers import KEPT_SECONDS, AnswerCache, answer_key
from vinstall.providers.choose import TrustedPlugin
from vinstall.providers.messages import PluginAnswer
from vinstall.providers.query import ProviderQuery
from vinstall.settings import VariantSettings
from vinstall.variants.metadata import ProviderInfo, VariantMetadata

if TYPE_CHECKING:
    from pathlib import Path

TARGET = Target(
    sys.executable, sys.prefix, sys.base_prefix, "3.11.7", "cpython", {"sys_platform": "linux"},
    (), {},
)  # fmt: skip
SOURCE = """
import os, types
class Plugin:
    environment_variables = ("NV_FORCE",)
    def get_supported_configs(self):
        with open({log!r}, "a") as file:
            file.write("asked\\n")
        {body}
        return [types.SimpleNamespace(name="cuda", values={values!r}, multi_value=False)]
    def describe(self):
        return {{"present": True, "facts": {{"driver": "580"}}, "notes": {notes!r}}}
"""
RELEASE = VariantMetadata(
    ("nvidia", "x86_64"),
    {"cu12": {"nvidia": {"cuda": ("12.8",)}}, "v3": {"x86_64": {"level": ("v3",)}}},
)


class Machine:
    """Plugins in a folder, a cache, and queries that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.environment = {"PATH": "/usr/bin:/bin"}
        self.plugins: dict[str, TrustedPlugin] = {}
        self.observer = RecordingObserver()

    def add(
        self,
        namespace: str,
        values: list[str],
        *,
        body: str = "pass",
        notes: tuple[str, ...] = (),
    ) -> None:
        module = f"{namespace}_plugin"
        source = SOURCE.format(
            log=str(self.folder / namespace), values=values, body=body, notes=list(notes)
        )
        (self.folder / f"{module}.py").write_text(source, "utf-8")
        self.plugins[namespace] = TrustedPlugin(
            namespace, f"vinstall-provider-{namespace}", "1.0", f"{module}:Plugin",
            variables=("NV_FORCE",), fingerprint="driver 580",
        )  # fmt: skip

    def asked(self, namespace: str) -> int:
        path = self.folder / namespace
        return len(path.read_text().splitlines()) if path.exists() else 0

    def query(self, settings: VariantSettings | None = None, **options: object) -> ProviderQuery:
        return ProviderQuery(
            settings or VariantSettings(),
            TARGET,
            cache_dir=str(self.cache),
            observer=self.observer,
            environment=self.environment,
            plugins=lambda: dict(self.plugins),
            paths=[str(self.folder)],
            time_limit=3,
            **options,  # type: ignore[arg-type]
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.add("nvidia", ["12.8", "12.7"])
    made.add("x86_64", ["v3", "v2"])
    return made


def test_answers_with_their_sources(machine: Machine) -> None:
    query = machine.query()
    supported = query.find_supported(RELEASE)
    assert supported.values("nvidia", "cuda") == ("12.8", "12.7")
    assert supported.sources["nvidia"] == "plugin vinstall-provider-nvidia 1.0"
    assert not supported.reasons
    report = query.reports()[0]
    assert (report.namespace, report.present, report.cached) == ("nvidia", True, False)
    assert report.facts == {"driver": "580"}
    assert report.seconds > 0


def test_only_namespaces_that_are_used_are_asked_and_only_once(machine: Machine) -> None:
    query = machine.query()
    release = VariantMetadata(("nvidia", "x86_64"), {"v3": {"x86_64": {"level": ("v3",)}}})
    for _ in range(3):
        query.find_supported(release)
    assert (machine.asked("x86_64"), machine.asked("nvidia")) == (1, 0)
    query.find_supported(RELEASE)
    assert (machine.asked("x86_64"), machine.asked("nvidia")) == (1, 1)


def test_abi_dependency_is_nobody_s_namespace(machine: Machine) -> None:
    release = VariantMetadata((), {"t29": {"abi_dependency": {"torch": ("2.9",)}}})
    supported = machine.query().find_supported(release)
    assert not supported.namespaces
    assert not supported.reasons


def test_answers_are_kept_between_runs(machine: Machine) -> None:
    first = machine.query().find_supported(RELEASE)
    query = machine.query()
    assert query.find_supported(RELEASE) == first
    assert machine.asked("nvidia") == 1
    assert all(report.cached for report in query.reports())


def test_what_makes_an_answer_old(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_again() -> bool:
        before = machine.asked("nvidia")
        machine.query().find_supported(RELEASE)
        return machine.asked("nvidia") > before

    assert asked_again()
    assert not asked_again()
    machine.plugins["nvidia"] = replace(machine.plugins["nvidia"], fingerprint="driver 590")
    assert asked_again()
    machine.plugins["nvidia"] = replace(machine.plugins["nvidia"], version="1.1")
    assert asked_again()
    machine.environment["NV_FORCE"] = "12.4"
    assert asked_again()
    machine.environment["NV_FORCE"] = ""
    assert asked_again()
    machine.environment["UNRELATED"] = "x"
    assert not asked_again()
    monkeypatch.setattr("vinstall.providers.answers.boot_id", lambda: "another boot")
    assert asked_again()
    assert not asked_again()


def test_the_choice_of_gpus_is_a_question_of_its_own(machine: Machine) -> None:
    machine.add("nvidia", ["12.8"], body="assert os.environ.get('VINSTALL_GPU') == 'best'")
    best = machine.query(VariantSettings(gpu="best")).find_supported(RELEASE)
    assert best.values("nvidia", "cuda") == ("12.8",)
    assert "nvidia" in machine.query().find_supported(RELEASE).reasons


def test_bad_answers_are_not_kept(machine: Machine) -> None:
    machine.add("nvidia", ["not a value"])
    machine.query().find_supported(RELEASE)
    machine.query().find_supported(RELEASE)
    assert machine.asked("nvidia") == 2
    assert machine.asked("x86_64") == 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "not json", '{"time": 1e400}', "[" * 100_000, "null", "1" * 5000]
)
def test_a_broken_cache_is_asked_again(machine: Machine, content: str) -> None:
    machine.query().find_supported(RELEASE)
    for path in machine.cache.rglob("*.json"):
        path.write_text(content)
    assert machine.query().find_supported(RELEASE).values("nvidia", "cuda")
    assert machine.asked("nvidia") == 2


def test_a_cache_that_can_not_be_written_is_no_fault(machine: Machine) -> None:
    machine.cache.write_text("a file in the way")
    assert machine.query().find_supported(RELEASE).values("nvidia", "cuda")
    assert machine.observer.warnings() == []


def test_kept_answers_age(tmp_path: Path) -> None:
    answer = PluginAnswer({"cuda": ("12.8",)}, True, {"driver": "580"}, ("note",), 0.5)
    AnswerCache(str(tmp_path), now=1000).keep("key", answer)
    assert AnswerCache(str(tmp_path), now=1000 + KEPT_SECONDS).find("key") == answer
    assert AnswerCache(str(tmp_path), now=1001 + KEPT_SECONDS).find("key") is None
    assert AnswerCache(str(tmp_path), now=999).find("key") is None
    assert AnswerCache("", now=1000).find("key") is None
    AnswerCache("", now=1000).keep("key", answer)


def test_keys_tell_every_part_apart() -> None:
    plugin = TrustedPlugin("a", "b", "1", "c:d", variables=("X", "Y"), fingerprint="f")
    keys = {
        answer_key(plugin, {}, "all", "p"),
        answer_key(plugin, {"X": ""}, "all", "p"),
        answer_key(plugin, {"X": "1"}, "all", "p"),
        answer_key(plugin, {"Y": "1"}, "all", "p"),
        answer_key(plugin, {}, "best", "p"),
        answer_key(plugin, {}, "all", "q"),
        answer_key(replace(plugin, object="c:e"), {}, "all", "p"),
        answer_key(replace(plugin, fingerprint="g"), {}, "all", "p"),
    }
    assert len(keys) == 8
    assert answer_key(plugin, {"Z": "1"}, "all", "p") in keys


def test_a_failure_is_a_reason_and_one_warning(machine: Machine) -> None:
    machine.add("nvidia", [], body="raise OSError('the driver is gone')")
    query = machine.query()
    for _ in range(2):
        supported = query.find_supported(RELEASE)
    assert "nvidia" not in supported.namespaces
    assert "the driver is gone" in supported.reasons["nvidia"]
    assert supported.values("x86_64", "cuda") == ("v3", "v2")
    (warning,) = machine.observer.warnings()
    assert warning.code == "provider-failed"
    assert "vinstall-provider-nvidia" in warning.what
    assert "the driver is gone" in warning.what


def test_one_that_hangs_does_not_take_the_others_along(machine: Machine) -> None:
    machine.add("nvidia", [], body="import time; time.sleep(600)")
    supported = machine.query().find_supported(RELEASE)
    assert "3 seconds" in supported.reasons["nvidia"]
    assert supported.values("x86_64", "cuda") == ("v3", "v2")


def test_no_hardware_is_a_reason_without_a_warning(machine: Machine) -> None:
    machine.add("nvidia", [], notes=("no driver is loaded",))
    supported = machine.query().find_supported(RELEASE)
    assert "no driver is loaded" in supported.reasons["nvidia"]
    assert machine.observer.warnings() == []


def test_a_wrong_override_names_the_variable(machine: Machine) -> None:
    body = "raise ValueError('NV_FORCE has to look like 12.8') if 'NV_FORCE' in os.environ else 0"
    machine.add("nvidia", ["12.8"], body=f"if 'NV_FORCE' in os.environ: {body.split(' if ')[0]}")
    machine.environment["NV_FORCE"] = "cu128"
    with pytest.raises(ConfigurationError) as caught:
        machine.query().find_supported(RELEASE)
    assert "NV_FORCE has to look like 12.8" in str(caught.value)


def test_a_mask_is_told_of_also_when_the_answer_was_kept(machine: Machine) -> None:
    machine.query().find_supported(RELEASE)
    machine.environment["CUDA_VISIBLE_DEVICES"] = ""
    query = machine.query()
    query.find_supported(RELEASE)
    assert machine.asked("nvidia") == 1
    assert any("CUDA_VISIBLE_DEVICES" in note for note in query.reports()[0].notes)
    noted = [event.text for event in machine.observer.events if isinstance(event, Noted)]
    assert any("CUDA_VISIBLE_DEVICES" in text for text in noted)
    del machine.environment["CUDA_VISIBLE_DEVICES"]
    query = machine.query()
    query.find_supported(RELEASE)
    assert query.reports()[0].notes == ()


def test_static_properties_and_profiles_ask_nobody(machine: Machine) -> None:
    info = ProviderInfo(static_properties={"b": ("1",), "a": ("2",)}, feature_order=("a",))
    release = VariantMetadata(
        ("nvidia", "x86_64"), RELEASE.variants, {"nvidia": info, "x86_64": ProviderInfo()}
    )
    profile = parse_profile('schema = 1\n[supported.x86_64]\nlevel = ["v4"]\n', "gpu.toml")
    supported = machine.query(profile=profile).find_supported(release)
    assert list(supported.namespaces["nvidia"]) == ["a", "b"]
    assert supported.sources["nvidia"] == "static properties"
    assert supported.values("x86_64", "level") == ("v4",)
    assert supported.sources["x86_64"] == "profile gpu.toml"
    assert (machine.asked("nvidia"), machine.asked("x86_64")) == (0, 0)


def test_an_empty_table_of_a_profile_supports_nothing(machine: Machine) -> None:
    profile = parse_profile("schema = 1\n[supported.nvidia]\n", "cpu.toml")
    supported = machine.query(VariantSettings(profile="cpu.toml"), profile=profile).find_supported(
        RELEASE
    )
    assert "cpu.toml supports nothing of it" in supported.reasons["nvidia"]
    assert "does not have it" in supported.reasons["x86_64"]


def test_a_package_is_asked_once_a_run(machine: Machine) -> None:
    calls = []

    def answer(requires: object, plugin_api: str) -> PluginAnswer:
        calls.append((requires, plugin_api))
        return PluginAnswer({"cuda": ("13.0",)}, True)

    info = ProviderInfo(("third-party",), "third_party:Plugin")
    release = VariantMetadata(("nvidia",), {"a": RELEASE.variants["cu12"]}, {"nvidia": info})
    query = machine.query(VariantSettings(trusted=("third-party",)), package_answer=answer)
    assert query.find_supported(release).values("nvidia", "cuda") == ("13.0",)
    query.find_supported(release)
    assert calls == [(("third-party",), "third_party:Plugin")]
    untrusted = machine.query(package_answer=answer)
    assert "--trust-provider third-party" in untrusted.find_supported(release).reasons["nvidia"]
    assert len(calls) == 1


def test_all_trusted_plugins_for_a_profile(machine: Machine) -> None:
    machine.add("amd", [])
    supported = machine.query().ask_all()
    assert set(supported.namespaces) == {"nvidia", "x86_64"}
    assert set(supported.reasons) == {"amd"}


def test_the_cache_holds_json(machine: Machine) -> None:
    machine.query().find_supported(RELEASE)
    documents = [json.loads(path.read_bytes()) for path in machine.cache.rglob("*.json")]
    assert {tuple(document["features"][0]["values"]) for document in documents} == {
        ("12.8", "12.7"),
        ("v3", "v2"),
    }


def test_asking_can_begin_early(machine: Machine) -> None:
    query = machine.query()
    query.start(["nvidia", "nobody_knows_it"])
    supported = query.find_supported(RELEASE)
    assert supported.values("nvidia", "cuda") == ("12.8", "12.7")
    assert (machine.asked("nvidia"), machine.asked("x86_64")) == (1, 1)


def test_what_fails_early_is_told_where_it_is_needed(machine: Machine) -> None:
    machine.add("nvidia", ["12.8"], body="raise OSError('no driver')")
    query = machine.query()
    query.start(["nvidia"])
    only_x86 = VariantMetadata(("x86_64",), {"v3": {"x86_64": {"level": ("v3",)}}})
    query.find_supported(only_x86)
    assert machine.observer.warnings() == []
    query.find_supported(RELEASE)
    assert [one.code for one in machine.observer.warnings()] == ["provider-failed"]
    assert machine.asked("nvidia") == 1


def test_nothing_begins_where_nobody_may_be_asked(machine: Machine) -> None:
    machine.query(VariantSettings(no_providers=True)).start(["nvidia"])
    query = machine.query(VariantSettings(no_providers=True))
    query.start(["nvidia"])
    assert query.find_supported(RELEASE).namespaces == {}
    assert machine.asked("nvidia") == 0
