"""A question that was answered before: the answer holds only while nothing has changed."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.sdist import make_sdist
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

Words = tuple[str, ...]


@pytest.fixture
def words(index: SimpleIndex) -> Words:
    index.page_headers["Cache-Control"] = "max-age=600"
    for version in ("1.0", "2.0"):
        index.add(make_wheel("demo", version, requires_dist=["base>=1"], extras=["x"]))
    index.add(make_wheel("base"), make_wheel("other"))
    return ("install", "--dry-run", "--index-url", index.simple_url)


def kept(environment: Environment) -> list[Path]:
    return sorted(environment.home.rglob("decisions-v1/*.json"))


def mark(environment: Environment) -> None:
    """Make what is kept differ from what would be resolved."""
    for path in kept(environment):
        document = json.loads(path.read_text("utf-8"))
        for row in document["distributions"]:
            row["version"] = "9.9"
        path.write_text(json.dumps(document), "utf-8")


def installed(environment: Environment, *words: str) -> str:
    """What would be installed."""
    lines = environment.vinstall(*words).check().stdout.splitlines()
    return next((line for line in lines if line.startswith("Would install ")), "")


def test_an_answer_is_kept(index: SimpleIndex, environment: Environment, words: Words) -> None:
    first = environment.vinstall(*words, "demo").check()
    assert "Would install base-1.0 demo-2.0" in first.stdout
    assert len(kept(environment)) == 1
    index.clear()
    again = environment.vinstall(*words, "demo").check()
    assert again.stdout == first.stdout
    assert again.stderr == first.stderr
    assert index.paths == []
    mark(environment)
    assert installed(environment, *words, "demo") == "Would install base-9.9 demo-9.9"


def test_what_it_installs_is_the_same(environment: Environment, words: Words) -> None:
    words = tuple(word for word in words if word != "--dry-run")
    environment.vinstall(*words, "demo").check()
    before = environment.snapshot()
    environment.vinstall("uninstall", "--yes", "demo", "base").check()
    result = environment.vinstall(*words, "demo").check()
    assert "Collecting base>=1 (from demo)" in result.stdout
    assert environment.snapshot() == before


@pytest.mark.parametrize(
    "more",
    [
        ("demo==1.0",),
        ("demo[x]",),
        ("demo", "other"),
        ("--no-deps", "demo"),
        ("--pre", "demo"),
        ("--upgrade", "demo"),
        ("--no-variant", "demo"),
        ("--only-binary=:all:", "demo"),
        ("--require-virtualenv", "--ignore-requires-python", "demo"),
        ("--refresh-package", "demo", "demo"),
        ("--no-cache-dir", "demo"),
        ("--find-links", ".", "demo"),
    ],
)
def test_another_question_is_asked_anew(
    environment: Environment, words: Words, more: Words
) -> None:
    environment.vinstall(*words, "demo").check()
    mark(environment)
    result = environment.vinstall(*words, *more)
    assert "9.9" not in result.stdout
    assert "Would install" in result.check().stdout


def test_a_constraint_is_part_of_the_question(environment: Environment, words: Words) -> None:
    limits = environment.home / "limits.txt"
    more = ("-c", str(limits), "demo")
    limits.write_text("demo<3\n")
    assert "demo-2.0" in installed(environment, *words, *more)
    limits.write_text("demo<2\n")
    assert "demo-1.0" in installed(environment, *words, *more)


def _new_release(index: SimpleIndex, environment: Environment) -> None:
    """A page that is asked for again is another page."""
    index.add(make_wheel("demo", "3.0", requires_dist=["base>=1"]))
    environment.vinstall(
        "download", "--no-deps", "--index-url", index.simple_url, "--refresh-package", "demo",
        "--dest", str(environment.home / "got"), "demo",
    ).check()  # fmt: skip


def _expired(index: SimpleIndex, environment: Environment) -> None:
    del index
    for path in environment.home.rglob("pages-v*/*/*"):
        os.utime(path, (time.time() - 1, time.time() - 1))


def _lost_page(index: SimpleIndex, environment: Environment) -> None:
    del index
    next(iter(environment.home.rglob("pages-v*/*/*"))).unlink()


def _installed_base(index: SimpleIndex, environment: Environment) -> None:
    environment.vinstall("install", "--index-url", index.simple_url, "base").check()


def _garbage(index: SimpleIndex, environment: Environment) -> None:
    del index
    for path in kept(environment):
        path.write_text('{"pages": {}, "absent": [], "distributions": [{}]}')


def _passwords(index: SimpleIndex, environment: Environment) -> None:
    del index
    netrc = environment.home / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)


@pytest.mark.parametrize(
    "change", [_new_release, _expired, _lost_page, _installed_base, _garbage, _passwords]
)
def test_a_change_is_noticed(
    index: SimpleIndex,
    environment: Environment,
    words: Words,
    change: Callable[[SimpleIndex, Environment], None],
) -> None:
    environment.vinstall(*words, "demo").check()
    mark(environment)
    change(index, environment)
    found = installed(environment, *words, "demo")
    assert "9.9" not in found
    assert f"demo-{'3.0' if change is _new_release else '2.0'}" in found


def test_variants_are_not_kept(index: SimpleIndex, environment: Environment, words: Words) -> None:
    index.add(*make_variant_wheels("sample", "1.0", {"null": ""}, plain=False))
    environment.vinstall(*words, "sample").check()
    assert kept(environment) == []


def test_sources_are_not_kept(index: SimpleIndex, environment: Environment, words: Words) -> None:
    index.add(make_sdist("built", "1.0"))
    environment.vinstall(*words, "--no-build-isolation", "built")
    assert kept(environment) == []


def test_what_has_something_to_tell_is_not_kept(
    index: SimpleIndex, environment: Environment, words: Words
) -> None:
    index.add(make_wheel("old", "1.0"), yanked="broken")
    result = environment.vinstall(*words, "old==1.0").check()
    assert "yanked" in result.stderr
    assert kept(environment) == []


def test_pages_that_are_never_fresh_are_not_kept(
    index: SimpleIndex, environment: Environment, words: Words
) -> None:
    index.page_headers["Cache-Control"] = "no-cache"
    environment.vinstall(*words, "demo").check()
    assert kept(environment) == []


def test_an_index_that_lacks_a_project_is_asked_again(
    index: SimpleIndex, environment: Environment, words: Words
) -> None:
    more = ("--extra-index-url", f"{index.url}elsewhere/", "demo")
    environment.vinstall(*words, *more).check()
    assert kept(environment) == []


def test_files_without_hashes_are_not_kept(
    index: SimpleIndex, environment: Environment, words: Words
) -> None:
    index.add(make_wheel("bare"), hashes={})
    environment.vinstall(*words, "bare").check()
    assert kept(environment) == []


def test_lock_files_do_not_take_part(
    index: SimpleIndex, environment: Environment, words: Words
) -> None:
    lock = environment.home / "pylock.toml"
    environment.vinstall(
        "lock", "--index-url", index.simple_url, "--output", str(lock), "demo==1.0"
    ).check()
    assert "demo-1.0" in installed(environment, *words, "-r", str(lock))
    assert kept(environment) == []
    assert "demo-2.0" in installed(environment, *words, "demo")
    mark(environment)
    assert "demo-1.0" in installed(environment, *words, "-r", str(lock))


def test_a_page_that_another_process_replaced_meanwhile(
    index: SimpleIndex, environment: Environment, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vinstall.events import RecordingObserver
    from vinstall.settings import IndexSettings, RequestSettings, Settings, TargetSettings
    from vinstall.workflow.install import run_install
    from vinstall.workflow.remembered import Memory

    cache = environment.home / ".cache" / "vinstall"
    settings = Settings(
        index=IndexSettings(index_url=index.simple_url),
        target=TargetSettings(python=str(environment.python)),
        request=RequestSettings(requirements=("demo",)),
        cache_dir=str(cache),
        dry_run=True,
    )
    run_install(settings, RecordingObserver())
    for path in kept(environment):
        path.unlink()
    keep = Memory.keep

    def keep_late(self: Memory, *arguments: object) -> None:
        _new_release(index, environment)
        keep(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "keep", keep_late)
    found = run_install(settings, RecordingObserver()).installed
    assert ("demo", "2.0") in found  # it had read the page before
    monkeypatch.undo()
    found = run_install(settings, RecordingObserver()).installed
    assert ("demo", "3.0") in found
