"""Requirements from one line (dependency specifiers, PEP 508)."""

from __future__ import annotations

import pytest

from vinstall.distributions.requirement import parse_requirement
from vinstall.errors import RequirementError


def test_all_parts() -> None:
    found = parse_requirement(
        'Foo.Bar [Test, dev_x] >=1.0, <2 ; python_version >= "3.8"', "requirements.txt:3"
    )
    assert found.name == "Foo.Bar"
    assert found.project == "foo-bar"
    assert found.extras == {"test", "dev-x"}
    assert found.specifier == ">=1.0, <2"
    assert found.origin == "requirements.txt:3"
    assert found.applies({"python_version": "3.9"})
    assert not found.applies({"python_version": "3.7"})


def test_direct_reference_with_marker() -> None:
    found = parse_requirement("foo @ https://h/a;b/foo-1-py3-none-any.whl ; sys_platform == 'x'")
    assert found.url == "https://h/a;b/foo-1-py3-none-any.whl"
    assert found.marker == "sys_platform == 'x'"
    assert found.is_pinned


def test_parentheses_of_old_metadata() -> None:
    assert parse_requirement("foo (>=1.0)").specifier == ">=1.0"


@pytest.mark.parametrize(
    ("text", "pinned"),
    [("a==1", True), ("a===1", True), ("a==1.*", False), ("a>=1", False), ("a", False)],
)
def test_pinned(text: str, pinned: bool) -> None:
    assert parse_requirement(text).is_pinned is pinned


def test_prereleases_count_as_any_other() -> None:
    assert parse_requirement("a>=1").allows("2b1")
    assert not parse_requirement("a>=2").allows("2b1")


def test_extra_markers() -> None:
    found = parse_requirement('a; extra == "test"')
    assert not found.applies({})
    assert found.applies({}, frozenset({"other", "test"}))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "begin"),
        ("=1", "begin"),
        ("a=1", "=1"),
        ("a>=x", "version specifier"),
        ("a ; nonsense", "marker"),
        ("a ;", "nothing after"),
        ("a[b c]", "extra"),
        ("a @ nowhere", "URL"),
        ("a b", "version specifier"),
    ],
)
def test_errors_name_line_and_part(text: str, part: str) -> None:
    with pytest.raises(RequirementError) as caught:
        parse_requirement(text, "r.txt:7")
    assert part in str(caught.value)
    assert "r.txt:7" in str(caught.value)
