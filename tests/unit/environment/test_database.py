"""What is installed, read out of folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from vinstall.distributions.target import Target
from vinstall.environment.database import InstalledDatabase

if TYPE_CHECKING:
    from pathlib import Path


def make_target(*folders: Path) -> Target:
    return Target(
        executable="python",
        prefix="",
        base_prefix="",
        version="3.11.7",
        implementation="cpython",
        markers={},
        tags=(),
        paths={},
        search_path=tuple(map(str, folders)),
    )


def put(folder: Path, name: str, version: str, kind: str = "dist-info", **files: str) -> Path:
    """An installed distribution; ``files`` are named with ``_json`` for ``.json``."""
    info = folder / f"{name}-{version}.{kind}"
    info.mkdir(parents=True)
    main = "METADATA" if kind == "dist-info" else "PKG-INFO"
    (info / main).write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: other>=1\n"
    )
    for file, text in files.items():
        (info / file.replace("_json", ".json")).write_text(text)
    return info


def test_a_distribution_with_all_that_can_be_known(tmp_path: Path) -> None:
    variant = {"variants": {"cu128": {"nvidia": {"sm_arch": ["90_real"]}}}}
    info = put(
        tmp_path,
        "My_Torch",
        "2.9",
        INSTALLER="pip\n",
        REQUESTED="",
        direct_url_json='{"url": "https://example.org/t.whl"}',
        variant_json=json.dumps(variant),
        vinstall_json='{"reason": "best"}',
    )
    found = InstalledDatabase(make_target(tmp_path)).get("my-torch")
    assert found is not None
    assert (found.name, found.project, found.version_text) == ("My_Torch", "my-torch", "2.9")
    assert found.location == str(tmp_path)
    assert found.info == str(info)
    assert found.metadata.requires_dist == ("other>=1",)
    assert found.installer == "pip"
    assert found.requested
    assert found.direct_url == {"url": "https://example.org/t.whl"}
    assert found.label == "cu128"
    assert found.variant == variant
    assert found.reason == {"reason": "best"}
    assert found.kind == "dist-info"


def test_a_plain_distribution(tmp_path: Path) -> None:
    put(tmp_path, "plain", "1")
    found = InstalledDatabase(make_target(tmp_path)).get("plain")
    assert found is not None
    assert (found.installer, found.requested, found.label) == ("", False, "")
    assert found.direct_url is found.variant is found.reason is None


def test_what_is_not_there(tmp_path: Path) -> None:
    database = InstalledDatabase(make_target(tmp_path, tmp_path / "missing"))
    assert database.get("plain") is None
    assert "plain" not in database
    assert list(database) == []


def test_the_first_folder_wins(tmp_path: Path) -> None:
    put(tmp_path / "one", "thing", "1")
    put(tmp_path / "two", "thing", "2")
    put(tmp_path / "two", "base", "3")
    database = InstalledDatabase(make_target(tmp_path / "one", tmp_path / "two"))
    assert [(one.project, one.version_text) for one in database] == [("base", "3"), ("thing", "1")]


def test_another_search_path(tmp_path: Path) -> None:
    put(tmp_path / "one", "thing", "1")
    put(tmp_path / "two", "other", "2")
    database = InstalledDatabase(make_target(tmp_path / "one"), [str(tmp_path / "two")])
    assert [one.project for one in database] == ["other"]


def test_sorted_by_project(tmp_path: Path) -> None:
    for name in ("zebra", "Apple", "b.c"):
        put(tmp_path, name, "1")
    names = [one.project for one in InstalledDatabase(make_target(tmp_path))]
    assert names == ["apple", "b-c", "zebra"]


def test_what_pip_left_behind_does_not_count(tmp_path: Path) -> None:
    put(tmp_path, "~umpy", "1")
    put(tmp_path, ".hidden", "1")
    assert list(InstalledDatabase(make_target(tmp_path))) == []


def test_looking_for_one_reads_no_other(tmp_path: Path) -> None:
    put(tmp_path, "numpy", "2.1")
    unreadable = tmp_path / "other-1.dist-info"
    unreadable.mkdir()
    database = InstalledDatabase(make_target(tmp_path))
    assert "other" in database
    (tmp_path / "numpy-2.1.dist-info" / "METADATA").unlink()  # listing had not read it
    put_again = tmp_path / "numpy-2.1.dist-info" / "METADATA"
    put_again.write_text("Name: numpy\nVersion: 2.1.5\n")
    found = database.get("numpy")
    assert found is not None
    assert found.version_text == "2.1.5"


def test_an_answer_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    put(tmp_path, "thing", "1")
    database = InstalledDatabase(make_target(tmp_path))
    assert database.get("thing") is database.get("thing")
    assert database.is_current()
    put(tmp_path, "other", "1")
    assert not database.is_current()
    assert database.get("other") is None
    database.forget()
    assert database.get("other") is not None


@pytest.mark.parametrize("name", ["variant_json", "direct_url_json", "vinstall_json"])
@pytest.mark.parametrize("text", ["{", "[]", "3", "", "[" * 100_000])
def test_broken_side_files_do_not_hide_a_distribution(tmp_path: Path, name: str, text: str) -> None:
    put(tmp_path, "thing", "1", **{name: text})
    found = InstalledDatabase(make_target(tmp_path)).get("thing")
    assert found is not None
    assert found.label == ""
    assert found.variant is found.direct_url is found.reason is None


@pytest.mark.parametrize("variants", [{}, {"a": {}, "b": {}}, [], None])
def test_a_label_needs_exactly_one_variant(tmp_path: Path, variants: object) -> None:
    put(tmp_path, "thing", "1", variant_json=json.dumps({"variants": variants}))
    found = InstalledDatabase(make_target(tmp_path)).get("thing")
    assert found is not None
    assert found.label == ""


def test_lost_metadata_leaves_name_and_version_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "thing-1.5.dist-info").mkdir()
    found = InstalledDatabase(make_target(tmp_path)).get("thing")
    assert found is not None
    assert (found.name, found.version_text) == ("thing", "1.5")


def test_a_folder_that_names_no_version_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "thing.dist-info").mkdir()
    database = InstalledDatabase(make_target(tmp_path))
    assert database.get("thing") is None
    assert list(database) == []


def test_egg_info_folders_and_files(tmp_path: Path) -> None:
    put(tmp_path, "old", "1", "egg-info")
    (tmp_path / "lone-2-py3.11.egg-info").write_text("Name: lone\nVersion: 2\n")
    database = InstalledDatabase(make_target(tmp_path))
    kinds = {one.project: (one.kind, one.version_text) for one in database}
    assert kinds == {"old": ("egg-info", "1"), "lone": ("distutils", "2")}


def test_dist_info_beats_egg_info_in_one_folder(tmp_path: Path) -> None:
    put(tmp_path, "thing", "1", "egg-info")
    put(tmp_path, "thing", "2")
    found = InstalledDatabase(make_target(tmp_path)).get("thing")
    assert found is not None
    assert (found.kind, found.version_text) == ("dist-info", "2")


def test_development_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    info = source / "my_thing.egg-info"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text("Name: my-thing\nVersion: 0.3\n")
    site = tmp_path / "site"
    site.mkdir()
    (site / "my-thing.egg-link").write_text(f"{source}\n.")
    found = InstalledDatabase(make_target(site)).get("my-thing")
    assert found is not None
    assert (found.kind, found.version_text, found.location) == ("egg-link", "0.3", str(source))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"/nowhere/at/all\n."])
def test_broken_development_links(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "thing.egg-link").write_bytes(content)
    assert list(InstalledDatabase(make_target(tmp_path))) == []
