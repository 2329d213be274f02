"""The short road of an install with nothing to do tells exactly what the long road tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_variant_wheels, make_wheel
from vinstall.settings import (
    IndexSettings,
    RequestSettings,
    ResolveSettings,
    Settings,
    TargetSettings,
)
from vinstall.workflow.install import run_install
from vinstall.workflow.satisfied import tell_satisfied

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex
    from vinstall.events import Event


class Recorder:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def receive(self, event: Event) -> None:
        self.events.append(event)


WHEELS = (
    make_wheel("top", "2.0", requires_dist=["Middle.One[fast]>=1,<3", "base; os_name != 'no'"]),
    make_wheel(
        "middle-one",
        "1.5",
        requires_dist=["base>=1", "speed>=0.1; extra == 'fast'", "never; python_version < '3'"],
        extras=["fast"],
    ),
    make_wheel("speed", "0.3", requires_dist=["base!=0.9"]),
    make_wheel("base", "1.0", requires_dist=["top"]),
    make_wheel("alone", "1.0"),
)


def settings_for(
    environment: Environment, index: SimpleIndex, cache: Path, *words: str
) -> Settings:
    return Settings(
        index=IndexSettings(index_url=index.simple_url),
        target=TargetSettings(python=str(environment.python)),
        request=RequestSettings(requirements=words),
        cache_dir=str(cache),
    )


@pytest.mark.parametrize(
    "words",
    [
        ("top",),
        ("base", "top"),
        ("top==2.0", "TOP>=1", "speed"),
        ("alone", "middle_one>=1.0,<2"),
        ("speed", "alone"),
    ],
)
def test_both_roads_tell_the_same(
    environment: Environment, index: SimpleIndex, tmp_path: Path, words: tuple[str, ...]
) -> None:
    index.add(*WHEELS)
    first = settings_for(environment, index, tmp_path, "top", "alone")
    run_install(first, Recorder())
    settings = settings_for(environment, index, tmp_path, *words)
    long, short, again = Recorder(), Recorder(), Recorder()
    run_install(settings, long)
    assert tell_satisfied(settings, short)
    assert tell_satisfied(settings, again)  # from what was kept
    assert short.events == long.events
    assert again.events == long.events


@pytest.mark.parametrize(
    "words", [("top>2",), ("missing",), ("top", "alone==2"), ("./top",), ("top[fast]",)]
)
def test_it_gives_up_without_a_word(
    environment: Environment, index: SimpleIndex, tmp_path: Path, words: tuple[str, ...]
) -> None:
    index.add(*WHEELS)
    run_install(settings_for(environment, index, tmp_path, "top", "alone"), Recorder())
    recorder = Recorder()
    assert not tell_satisfied(settings_for(environment, index, tmp_path, *words), recorder)
    assert recorder.events == []


def test_a_change_of_what_is_installed_is_seen(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    index.add(*WHEELS)
    settings = settings_for(environment, index, tmp_path, "top")
    run_install(settings, Recorder())
    assert tell_satisfied(settings, Recorder())
    metadata = environment.dist_info("speed") / "METADATA"
    text = metadata.read_text("utf-8")
    metadata.write_text(text.replace("Requires-Dist: base!=0.9", "Requires-Dist: other"), "utf-8")
    assert not tell_satisfied(settings, Recorder())
    metadata.write_text(text, "utf-8")
    assert tell_satisfied(settings, Recorder())
    metadata.unlink()
    assert not tell_satisfied(settings, Recorder())


def test_variants_take_the_long_road(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", {"null": ""}, plain=False))
    settings = settings_for(environment, index, tmp_path, "sample")
    run_install(settings, Recorder())
    assert not tell_satisfied(settings, Recorder())


def test_other_wishes_take_the_long_road(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    index.add(*WHEELS)
    settings = settings_for(environment, index, tmp_path, "alone")
    run_install(settings, Recorder())
    for resolve in (
        ResolveSettings(upgrade=True),
        ResolveSettings(force_reinstall=True),
        ResolveSettings(no_deps=True),
        ResolveSettings(require_hashes=True),
    ):
        wish = Settings(settings.index, resolve=resolve, target=settings.target)
        assert not tell_satisfied(wish, Recorder())
