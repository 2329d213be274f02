"""Wheel and source distribution names (binary distribution format; PEP 825)."""

from __future__ import annotations

import pytest

from vinstall.distributions.filename import (
    normalize_name,
    parse_sdist_filename,
    parse_version,
    parse_wheel_filename,
)
from vinstall.errors import WheelFormatError


@pytest.mark.parametrize(
    ("filename", "build", "label"),
    [
        ("numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64.whl", (), ""),
        ("numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-x86_64_v3.whl", (), "x86_64_v3"),
        ("numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-null.whl", (), "null"),
        ("numpy-2.3.2-1-cp313-cp313t-musllinux_1_2_x86_64.whl", (1, ""), ""),
        ("numpy-2.3.2-1b-cp313-cp313t-musllinux_1_2_x86_64-cu12.8.whl", (1, "b"), "cu12.8"),
        ("a-1-py3-none-any-12.whl", (), "12"),
    ],
)
def test_build_tag_and_label_are_told_apart(
    filename: str, build: tuple[object, ...], label: str
) -> None:
    wheel = parse_wheel_filename(filename)
    assert (wheel.build, wheel.label) == (build, label)


def test_compressed_tags_are_expanded_in_order() -> None:
    wheel = parse_wheel_filename("a-1-py2.py3-none-any.linux_x86_64-null.whl")
    assert list(wheel.iter_tags()) == [
        "py2-none-any",
        "py2-none-linux_x86_64",
        "py3-none-any",
        "py3-none-linux_x86_64",
    ]
    assert str(wheel.version) == "1"


@pytest.mark.parametrize(
    ("filename", "part"),
    [
        ("a-1.tar.gz", "does not end in .whl"),
        ("a-1-py3-none.whl", "4 parts"),
        ("a-1-1-py3-none-any-null-extra.whl", "8 parts"),
        ("a-1-b1-py3-none-any-null.whl", "build tag"),
        ("a-1-py3-none-any-CU12.whl", "label"),
        ("a-1-py3-none-any-.whl", "label"),
        ("a-x-py3-none-any.whl", "not a version"),
        ("-1-py3-none-any.whl", "project name"),
        ("a-1-3py-none-any.whl", "tag"),
        ("a-1-py3--any.whl", "tag"),
    ],
)
def test_bad_names_say_which_part_is_wrong(filename: str, part: str) -> None:
    with pytest.raises(WheelFormatError) as caught:
        parse_wheel_filename(filename)
    assert part in str(caught.value)
    assert filename in str(caught.value)


@pytest.mark.parametrize(
    ("filename", "project", "version"),
    [
        ("foo-1.0.tar.gz", "foo", "1.0"),
        ("foo-bar-1.0.zip", "foo-bar", "1.0"),
        ("Foo.Bar-1.0b1.tar.bz2", "foo-bar", "1.0b1"),
        ("foo-bar-1.0.tar.gz", "foo", None),
        ("foo-1.0.exe", "foo", None),
        ("foo.tar.gz", "foo", None),
    ],
)
def test_sdist_names_need_their_project(filename: str, project: str, version: str | None) -> None:
    assert parse_sdist_filename(filename, project) == version


def test_names_and_versions() -> None:
    assert normalize_name("Foo__.Bar") == "foo-bar"
    assert parse_version("1.0-foo") is None
