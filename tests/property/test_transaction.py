"""Laws of a change: whatever stops it, and wherever, nothing is lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.wheels import make_wheel
from tests.unit.install.installing import Site, Stop
from vinstall.errors import InstallError
from vinstall.install.transaction import InstallOptions, recover

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.wheels import BuiltWheel

_NAMES = st.sampled_from(["a.py", "b.py", "c.txt", "sub/a.py", "sub/d.so", "sub/deep/e.py"])
_FILES = st.dictionaries(_NAMES, st.sampled_from(["", "1", "22"]), min_size=1, max_size=6)
_DATA = st.dictionaries(
    st.sampled_from(["scripts/run", "data/share/demo/x", "headers/h.h", "purelib/demo/pure.py"]),
    st.sampled_from(["#!python\n", "x"]),
    max_size=3,
)
_LAWS = settings(max_examples=15, deadline=None)


def built(
    name: str, version: str, files: dict[str, str], data: dict[str, str], own: str = ""
) -> BuiltWheel:
    return make_wheel(
        name,
        version,
        files={f"{own or name}/{path}": text for path, text in files.items()},
        data={f"{path}": text for path, text in data.items()},
        entry_points={"console_scripts": [f"{name} = {name}:main"]},
    )


class Scene:
    """An environment with two distributions; one gets another version, a third arrives."""

    def __init__(
        self,
        folder: Path,
        old: tuple[dict[str, str], dict[str, str]],
        new: tuple[dict[str, str], dict[str, str]],
        stray: dict[str, str],
    ) -> None:
        self.site = Site(folder)
        self.site.install(built("demo", "1.0", *old), built("leaving", "1.0", {"a.py": "x"}, {}))
        cache = self.site.library / "demo" / "__pycache__"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "a.cpython-311.pyc").write_bytes(b"compiled")
        for path, text in stray.items():
            target = self.site.library / "third" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.before = self.site.tree()
        self._wheels = built("demo", "2.0", *new), built("third", "1.0", {"a.py": "t"}, {})

    def change(self, checkpoint: Callable[[str], None] | None = None) -> None:
        options = InstallOptions(checkpoint=checkpoint, warn_script_location=False)
        steps = [self.site.step(wheel, requested=True) for wheel in self._wheels]
        self.site.apply(steps, [self.site.get("leaving")], options)


def step_names(folder: Path, *arguments: dict[str, str] | tuple[dict[str, str], ...]) -> list[str]:
    names: list[str] = []
    Scene(folder / "count", *arguments).change(names.append)  # type: ignore[arg-type]
    return names


@_LAWS
@given(st.tuples(_FILES, _DATA), st.tuples(_FILES, _DATA), _FILES, st.data())
def test_a_failure_at_any_step_changes_nothing(
    old: tuple[dict[str, str], dict[str, str]],
    new: tuple[dict[str, str], dict[str, str]],
    stray: dict[str, str],
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = len(step_names(folder, old, new, stray))
        scene = Scene(folder / "scene", old, new, stray)
        for _ in range(4):  # the same environment again and again: each time it is as before
            left = data.draw(st.integers(0, count - 1))

            def checkpoint(name: str) -> None:
                nonlocal left
                if left == 0:
                    raise Stop(name)
                left -= 1

            with pytest.raises(InstallError) as caught:
                scene.change(checkpoint)
            assert caught.value.rolled_back
            assert scene.site.tree() == scene.before
        scene.change()
        assert {one.name: one.version_text for one in scene.site.installed()} == {
            "demo": "2.0",
            "third": "1.0",
        }


@_LAWS
@given(st.tuples(_FILES, _DATA), st.tuples(_FILES, _DATA), _FILES, st.data())
def test_a_crash_at_any_step_is_undone_by_the_next_command(
    old: tuple[dict[str, str], dict[str, str]],
    new: tuple[dict[str, str], dict[str, str]],
    stray: dict[str, str],
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = step_names(folder, old, new, stray)
        stop = data.draw(st.integers(1, len(names) - 1))  # before 0 nothing has happened
        scene = Scene(folder / "scene", old, new, stray)
        seen = 0

        def checkpoint(_: str) -> None:
            nonlocal seen
            if seen == stop:  # what a process that ends here leaves behind
                shutil.copytree(scene.site.root, folder / "crashed", symlinks=True)
            seen += 1

        scene.change(checkpoint)
        shutil.rmtree(scene.site.root)
        (folder / "crashed").rename(scene.site.root)
        assert recover(scene.site.paths, scene.site.observer)
        assert scene.site.tree() == scene.before


@_LAWS
@given(st.tuples(_FILES, _DATA), st.tuples(_FILES, _DATA))
def test_replacing_is_the_same_as_a_fresh_installation(
    old: tuple[dict[str, str], dict[str, str]], new: tuple[dict[str, str], dict[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        replaced, fresh = Site(Path(name, "replaced")), Site(Path(name, "fresh"))
        for site in (replaced, fresh):  # these stay, even when they become empty
            for folder in site.paths.values():
                Path(folder).mkdir(parents=True, exist_ok=True)
        replaced.install(built("demo", "1.0", *old))
        replaced.install(built("demo", "2.0", *new))
        fresh.install(built("demo", "2.0", *new))
        assert replaced.tree() == fresh.tree()


@_LAWS
@given(st.tuples(_FILES, _DATA), _FILES)
def test_removing_what_was_installed_gives_back_what_was_there(
    wheel: tuple[dict[str, str], dict[str, str]], other: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        site = Site(Path(name))
        site.install(built("other", "1.0", other, {}))
        for scheme in ("scripts", "data", "headers"):
            Path(site.paths[scheme]).mkdir(parents=True, exist_ok=True)
        before = site.tree()
        site.install(built("demo", "1.0", *wheel))
        site.remove("demo")
        assert site.tree() == before
