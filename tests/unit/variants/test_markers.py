"""PEP 825, "Environment markers": what is left of a requirement once the wheel is chosen."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from vinstall.errors import RequirementError
from vinstall.variants.markers import (
    VariantMarkers,
    find_illegal_variant_marker,
    fold_variant_markers,
    has_variant_markers,
)
from vinstall.variants.properties import parse_property

FOOBAR = VariantMarkers.for_variant(
    "foobar",
    [parse_property("foo :: bar :: baz"), parse_property("nvidia :: sm_arch :: 120_real")],
)
NULL = VariantMarkers.for_variant("null", [])
PLAIN = VariantMarkers.NON_VARIANT

TRUE, FALSE = 'variant_label == "foobar"', 'variant_label == "other"'


class TestThePepsExamples:
    @pytest.mark.parametrize(
        ("line", "foobar", "null", "plain"),
        [
            ('dep1; variant_label == "foobar"', True, False, False),
            ('dep2; variant_label != "null"', True, False, True),
            ('dep3; variant_label == ""', False, False, True),
            ('dep4; "foo" in variant_namespaces', True, False, False),
            ('dep5; "foo :: bar" in variant_features', True, False, False),
            ('dep6; "foo :: bar :: baz" in variant_properties', True, False, False),
            ('dep7; "foo::bar::baz" in variant_properties', True, False, False),
        ],
    )
    def test_example(self, line: str, foobar: bool, null: bool, plain: bool) -> None:
        name = line.partition(";")[0]
        for markers, holds in ((FOOBAR, foobar), (NULL, null), (PLAIN, plain)):
            assert fold_variant_markers(line, markers) == (name if holds else None)

    def test_only_supported_values_are_seen(self) -> None:
        line = 'd; "nvidia :: sm_arch :: 110_real" in variant_properties'
        assert fold_variant_markers(line, FOOBAR) is None
        assert fold_variant_markers(line.replace("110", "120"), FOOBAR) == "d"


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("variant_label == 'foobar'", True),
        ("'foobar' == variant_label", True),
        ("'foobar' != variant_label", False),
        ("variant_label === 'foobar'", True),
        ("variant_label == 'Foobar'", False),
        ("variant_label in 'foobar quux'", True),
        ("variant_label not in 'foobar quux'", False),
        ("'oob' in variant_label", True),
        ("'oob' not in variant_label", False),
        ("'oob' not   in variant_label", False),
        ("variant_label=='foobar'", True),
        ("  variant_label\t==  'foobar'  ", True),
        ("(variant_label == 'foobar')", True),
        ("((variant_label == 'foobar'))", True),
        ("'nvidia' in variant_namespaces", True),
        ("'nvidia' not in variant_namespaces", False),
        ("'amd' in variant_namespaces", False),
        ("'amd' not in variant_namespaces", True),
        ("'nvid' in variant_namespaces", False),
        ("'' in variant_namespaces", False),
        ("'foo' in variant_features", False),
        ("'foo::bar' in variant_features", True),
        ("'foo  ::  bar' in variant_features", True),
        ("'foo ::bar' not in variant_features", False),
        ("'nvidia :: bar' in variant_features", False),
        ("'foo ::bar:: baz' in variant_properties", True),
        ("'foo\t::\tbar\t::\tbaz' in variant_properties", True),
        ("'foo :: bar' in variant_properties", False),
        ("'foo :: bar :: quux' not in variant_properties", True),
    ],
)
def test_one_comparison(marker: str, expected: bool) -> None:
    for text in (marker, marker.replace("'", '"')):
        assert fold_variant_markers(f"dep>=1 ; {text}", FOOBAR) == ("dep>=1" if expected else None)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (f"{TRUE} and {TRUE}", True),
        (f"{TRUE} and {FALSE}", False),
        (f"{FALSE} or {TRUE}", True),
        (f"{FALSE} or {FALSE}", False),
        (f"{TRUE} or {FALSE} and {FALSE}", True),
        (f"({TRUE} or {FALSE}) and {FALSE}", False),
        (f"{TRUE} and os_name == 'posix'", "os_name == 'posix'"),
        (f"os_name == 'posix' and {TRUE}", "os_name == 'posix'"),
        (f"{FALSE} and os_name == 'posix'", False),
        (f"{TRUE} or os_name == 'posix'", True),
        (f"os_name == 'posix' or {FALSE}", "os_name == 'posix'"),
        (
            f"os_name == 'a' or {TRUE} and os_name == 'b'",
            "os_name == 'a' or os_name == 'b'",
        ),
        (
            f"(os_name == 'a' or {FALSE} or os_name == 'b') and os_name == 'c'",
            "(os_name == 'a' or os_name == 'b') and os_name == 'c'",
        ),
        (f"({TRUE} and (os_name == 'a')) or {FALSE}", "((os_name == 'a'))"),
        (f"extra == 'gpu' and {TRUE}", "extra == 'gpu'"),
        (f"extra == 'gpu' and {FALSE}", False),
        (f"extra == 'gpu' or {TRUE}", True),
        (
            f"python_version not  in '3.8' and {TRUE}",
            "python_version not in '3.8'",
        ),
        (f"'linux' in sys_platform and {TRUE}", "'linux' in sys_platform"),
        (f"extra == 'variant_label' and {TRUE}", "extra == 'variant_label'"),
        (f'platform_release >= "it\'s" and {TRUE}', 'platform_release >= "it\'s"'),
    ],
)
def test_what_is_left(marker: str, expected: bool | str) -> None:
    found = fold_variant_markers(f"dep[x]>=1; {marker}", FOOBAR)
    if expected is False:
        assert found is None
    elif expected is True:
        assert found == "dep[x]>=1"
    else:
        assert found == f"dep[x]>=1 ; {expected}"
        assert Requirement(found).name == "dep"


@pytest.mark.parametrize(
    "line",
    [
        "dep",
        "dep>=1,<2",
        "dep; os_name == 'posix'",
        "dep; extra == 'x' and (python_version>='3.8')",
        "dep @ https://example.org/d.whl;variant_label=='a'",
        "dep @ https://example.org/variant_label ; os_name == 'nt'",
        "variant_label",
        "variant_label[variant_features]>=1; os_name == 'nt'",
    ],
)
def test_what_has_no_variant_marker_is_left_alone(line: str) -> None:
    assert fold_variant_markers(line, FOOBAR) == line


@pytest.mark.parametrize(
    "head",
    [
        "dep",
        "dep[extra1,extra2]",
        "dep (>=1)",
        "dep>=1.0,!=1.5",
        "dep @ https://example.org/d-1.0.tar.gz",
        "dep@https://example.org/d-1.0.tar.gz#sha256=00;x",
        "dep[a] @ https://example.org/a;b=c/d.whl?q=;",
        "dep @ file:///tmp/a%20b.whl",
    ],
)
def test_what_stands_before_the_marker_is_kept(head: str) -> None:
    line = f"{head} ; {TRUE} and os_name == 'posix'"
    assert fold_variant_markers(line, FOOBAR) == f"{head} ; os_name == 'posix'"
    left = Requirement(f"{head} ; os_name == 'posix'")
    assert str(left.marker) == 'os_name == "posix"'
    assert fold_variant_markers(f"{head} ; {TRUE}", FOOBAR) == head
    assert fold_variant_markers(f"{head} ; {FALSE}", FOOBAR) is None


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ("variant_label", "too early"),
        ("variant_label ==", "too early"),
        ("variant_label == 'a' and", "too early"),
        ("variant_label == 'a' or or os_name == 'x'", "or"),
        ("(variant_label == 'a'", "too early"),
        ("(variant_label == 'a' os_name", "parenthesis"),
        ("variant_label == 'a')", "behind"),
        ("variant_label == 'a' 'b'", "behind"),
        ("variant_label == 'a", "'a"),
        ("variant_label == a", "quotes"),
        ("variant_label == variant_label", "quotes"),
        ("variant_label = 'a'", "= 'a'"),
        ("variant_label < 'a'", "<"),
        ("variant_label ~= 'a'", "~="),
        ("variant_features == 'a :: b'", "set"),
        ("variant_namespaces in 'a'", "set"),
        ("variant_properties not in 'a'", "set"),
        ("'a' < variant_namespaces", "set"),
        ("'a' in variant_namespaces or $", "$"),
        ("not variant_label == 'a'", ""),
        ("() or variant_label == 'a'", ""),
        ("(" * 5000 + "variant_label == 'a'" + ")" * 5000, "deep"),
    ],
)
def test_what_can_not_be_read(marker: str, reason: str) -> None:
    line = f"dep; {marker}"
    with pytest.raises(RequirementError) as caught:
        fold_variant_markers(line, FOOBAR)
    assert line in caught.value.what
    assert reason in caught.value.why


def test_some_parentheses_are_no_fault() -> None:
    assert fold_variant_markers("dep; " + "(" * 40 + TRUE + ")" * 40, FOOBAR) == "dep"
    many = " and ".join([f"({TRUE})"] * 200)
    assert fold_variant_markers(f"dep; {many}", FOOBAR) == "dep"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dep; variant_label == 'a'", True),
        ("dep; 'a' in variant_namespaces", True),
        ("dep; os_name == 'a'", False),
        ("dep; variant_labels == 'a'", False),
        ("my_variant_label", False),
    ],
)
def test_looking_for_variant_markers(text: str, expected: bool) -> None:
    assert has_variant_markers(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dep; variant_label == 'a'", "variant_label"),
        ("dep; os_name == 'a' and 'a' in variant_features", "variant_features"),
        ("dep; os_name == 'variant_label'", None),
        ('dep; os_name == "variant_label"', None),
        ("dep", None),
    ],
)
def test_where_variant_markers_are_not_allowed(text: str, expected: str | None) -> None:
    assert find_illegal_variant_marker(text) == expected


def test_members() -> None:
    assert FOOBAR.members("variant_namespaces") == {"foo", "nvidia"}
    assert FOOBAR.members("variant_features") == {"foo::bar", "nvidia::sm_arch"}
    assert FOOBAR.members("variant_properties") == {"foo::bar::baz", "nvidia::sm_arch::120_real"}
    assert PLAIN.members("variant_properties") == frozenset()
