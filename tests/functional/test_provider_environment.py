"""Provider packages of other people: only trusted ones, apart, with recorded hashes."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import snapshot
from tests.support.variant_json import Provider
from tests.support.wheels import BuiltWheel, make_variant_wheels, make_wheel
from vinstall.events import RecordingObserver
from vinstall.settings import IndexSettings, Settings, VariantSettings
from vinstall.workflow.context import Context
from vinstall.workflow.provider_env import (
    FOLDER,
    answer_package,
    forget_package,
    iter_environments,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from vinstall.providers.messages import PluginAnswer

API = "third_party.plugin:Plugin"
PLUGIN = """
import os, types
import third_helper
class Plugin:
    namespace = "thing"
    def get_supported_configs(self):
        with open({log!r}, "a") as file:
            file.write("asked\\n")
        return [types.SimpleNamespace(name="speed", values={values!r}, multi_value=False)]
"""


def provider(log: Path, values: tuple[str, ...] = ("fast", "slow"), **more: object) -> BuiltWheel:
    return make_wheel(
        "third-party",
        files={
            "third_party/__init__.py": "",
            "third_party/plugin.py": PLUGIN.format(log=str(log), values=list(values)),
        },
        requires_dist=["third-helper"],
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "asked"


@pytest.fixture
def settings(index: SimpleIndex, tmp_path: Path, log: Path) -> Settings:
    index.add(provider(log), make_wheel("third-helper"), make_wheel("third-helper", "0.9"))
    return Settings(
        index=IndexSettings(index_url=index.simple_url, retries=0),
        variants=VariantSettings(trusted=("third-party",)),
        cache_dir=str(tmp_path / "cache"),
    )


def ask(settings: Settings, *requires: str, **variables: str) -> PluginAnswer:
    environment = {**os.environ, **variables}
    context = Context(settings, RecordingObserver(), environment)
    try:
        return answer_package(context, requires or ("third-party",), API)
    finally:
        context.close()


def asked(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_it_answers_from_an_environment_of_its_own(settings: Settings, log: Path) -> None:
    answer = ask(settings)
    assert answer.problem == ""
    assert dict(answer.features) == {"speed": ("fast", "slow")}
    (kept,) = iter_environments(settings.cache_dir)
    assert kept.requires == ("third-party",)
    assert kept.plugin_api == API
    assert {name: one.version for name, one in kept.wheels.items()} == {
        "third-party": "1.0",
        "third-helper": "1.0",
    }
    assert kept.wheels["third-party"].sha256 == provider(log).sha256


def test_the_environment_and_the_answer_are_kept(
    settings: Settings, index: SimpleIndex, log: Path
) -> None:
    first = ask(settings)
    index.clear()
    assert ask(settings) == first
    assert asked(log) == 1
    assert ask(settings, THING_FORCE="slow").features == first.features
    assert asked(log) == 2
    assert index.requests == []


@pytest.mark.parametrize("trusted", [(), ("third-helper",), ("third-party-plugin",)])
def test_nothing_runs_or_is_fetched_without_trust(
    settings: Settings, index: SimpleIndex, log: Path, trusted: tuple[str, ...]
) -> None:
    settings = replace(settings, variants=VariantSettings(trusted=trusted))
    assert "not trusted" in ask(settings).problem
    assert index.requests == []
    assert asked(log) == 0
    assert not list(iter_environments(settings.cache_dir))


def test_an_untrusted_companion_is_refused(settings: Settings, index: SimpleIndex) -> None:
    assert "third-helper is not trusted" in ask(settings, "third-party", "third-helper").problem
    assert index.requests == []


def rebuild(settings: Settings) -> None:
    for path in (settings_folder(settings)).glob("*/complete"):
        path.unlink()


def settings_folder(settings: Settings) -> Path:
    from pathlib import Path

    return Path(settings.cache_dir, FOLDER)


@pytest.mark.parametrize("hashes", [None, {}], ids=["told", "not-told"])
def test_a_changed_hash_is_an_error_before_anything_runs(
    settings: Settings, index: SimpleIndex, log: Path, hashes: dict[str, str] | None
) -> None:
    ask(settings)
    changed = provider(log, ("stolen",))
    index.add(changed, hashes=hashes)
    rebuild(settings)
    answer = ask(settings)
    assert "third-party 1.0 is not the file that was installed before" in answer.problem
    assert provider(log).sha256 in answer.problem
    assert changed.sha256 in answer.problem
    assert not answer.features
    assert asked(log) == 1
    assert "not the file" in ask(settings).problem
    assert not list(settings_folder(settings).glob("*/bin/python"))


def test_a_changed_dependency_is_an_error_too(
    settings: Settings, index: SimpleIndex, log: Path
) -> None:
    ask(settings)
    index.add(make_wheel("third-helper", files={"third_helper.py": "stolen = True\n"}))
    rebuild(settings)
    assert "third-helper 1.0 is not the file" in ask(settings).problem
    assert asked(log) == 1


def test_another_build_of_the_same_version_is_an_error(
    settings: Settings, index: SimpleIndex, log: Path
) -> None:
    ask(settings)
    index.add(provider(log, ("stolen",), build="2"))
    rebuild(settings)
    assert "third-party 1.0 is not the file" in ask(settings).problem


def test_a_newer_version_is_no_change(settings: Settings, index: SimpleIndex, log: Path) -> None:
    ask(settings)
    index.add(make_wheel("third-helper", "1.1"))
    rebuild(settings)
    assert ask(settings).problem == ""
    (kept,) = iter_environments(settings.cache_dir)
    assert kept.wheels["third-helper"].version == "1.1"


def test_the_same_environment_is_made_again(settings: Settings) -> None:
    first = ask(settings)
    rebuild(settings)
    assert ask(settings).features == first.features


def test_what_is_forgotten_is_accepted_anew(
    settings: Settings, index: SimpleIndex, log: Path
) -> None:
    ask(settings)
    index.add(provider(log, ("new",)))
    assert forget_package(settings.cache_dir, "third-party") == 1
    assert not list(iter_environments(settings.cache_dir))
    assert dict(ask(settings).features) == {"speed": ("new",)}


def test_sources_are_not_built(settings: Settings, index: SimpleIndex) -> None:
    from tests.support.sdist import make_sdist

    index.remove("third_helper-1.0-py3-none-any.whl")
    index.remove("third_helper-0.9-py3-none-any.whl")
    index.add(make_sdist("third-helper", "1.0"))
    assert "third-helper" in ask(settings).problem


def test_no_index_is_a_reason(settings: Settings, index: SimpleIndex) -> None:
    index.remove("third_party-1.0-py3-none-any.whl")
    assert "third-party" in ask(settings).problem
    assert not list(settings_folder(settings).glob("*/bin"))


def test_without_a_cache(settings: Settings, log: Path) -> None:
    assert ask(replace(settings, cache_dir="")).features
    assert asked(log) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"wheels": []}'])
def test_a_broken_record_is_made_again(settings: Settings, content: str) -> None:
    ask(settings)
    (path,) = settings_folder(settings).glob("*.json")
    path.write_text(content)
    assert ask(settings).problem == ""
    assert len(list(iter_environments(settings.cache_dir))) == 1


def test_the_whole_command(
    environment: Environment, index: SimpleIndex, settings: Settings, log: Path
) -> None:
    index.add(
        *make_variant_wheels(
            "app",
            "1.0",
            {"fast": "thing :: speed :: fast", "none": "thing :: speed :: none"},
            generation="0.2.0",
            providers={"thing": Provider(requires=("third-party",), plugin_api=API)},
        )
    )
    plain = environment.vinstall("install", "-i", index.simple_url, "app").check()
    assert asked(log) == 0
    assert "Variants:" not in plain.stdout
    assert index.count("*third*") == 0
    environment.vinstall("uninstall", "-y", "app").check()

    trusting = environment.vinstall(
        "install", "-i", index.simple_url, "--trust-provider", "Third_Party", "app"
    ).check()
    assert "Variants: app 1.0 fast" in trusting.stdout
    assert "Successfully installed app-1.0" in trusting.stdout.splitlines()[-1]
    assert environment.installed() == {"app": "1.0"}
    assert environment.label("app") == "fast"
    assert asked(log) == 1
    assert not [name for name in snapshot(environment.path) if "third" in name]

    report = environment.vinstall(
        "install", "-q", "-i", index.simple_url, "--trust-provider", "third-party",
        "--dry-run", "--ignore-installed", "--report", "-", "app",
    ).check()  # fmt: skip
    (described,) = json.loads(report.stdout)["vinstall"]["providers"]
    assert described["source"] == "provider third-party"
