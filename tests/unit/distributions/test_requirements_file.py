"""Requirements files: pip's grammar (pip documentation, "Requirements File Format")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vinstall.distributions.requirements_file import (
    Surroundings,
    parse_requested,
    parse_requirements_file,
)
from vinstall.errors import RequirementError

if TYPE_CHECKING:
    from collections.abc import Mapping

SHA = "a" * 64


def around(files: Mapping[str, str], folders: tuple[str, ...] = ()) -> Surroundings:
    def read(location: str) -> str:
        if location not in files:
            raise RequirementError(f"Could not open requirements file: {location}")
        return files[location]

    return Surroundings(
        read=read,
        is_folder=lambda path: path in folders,
        is_file=lambda path: path in files,
        variables={"TOKEN": "secret", "lower": "no"},
        folder="/here",
    )


def names(text: str, **files: str) -> list[str]:
    found = parse_requirements_file("r.txt", around({"r.txt": text, **files}))
    return [str(one) for one in found.requirements]


def test_comments_blanks_and_continuations() -> None:
    text = "# first\n\na==1  # why\nb \\\n  >=2\nc#not-a-comment==1\nd\\\n# a comment ends it\ne\n"
    with pytest.raises(RequirementError, match=r"r\.txt:6"):
        names(text)
    assert names(text.replace("c#not-a-comment==1\n", "")) == ["a==1", "b >=2", "d", "e"]


def test_nested_files_are_relative_to_the_file() -> None:
    files = {
        "sub/r.txt": "-r other.txt\n-c limits.txt\na\n",
        "sub/other.txt": "b\n",
        "sub/limits.txt": "c<2\n-r more.txt\n",
        "sub/more.txt": "d<3\n",
    }
    found = parse_requirements_file("sub/r.txt", around(files))
    assert [str(one) for one in found.requirements] == ["b", "a"]
    assert [str(one) for one in found.constraints] == ["c<2", "d<3"]
    assert found.requirements[0].origin == "sub/other.txt:1"


def test_a_file_that_includes_itself() -> None:
    with pytest.raises(RequirementError, match="includes itself"):
        parse_requirements_file("a", around({"a": "-r b", "b": "-ra"}))


def test_variables_are_upper_case_in_braces() -> None:
    found = parse_requirements_file(
        "r", around({"r": "--index-url https://u:${TOKEN}@h/${lower}/${UNSET}/$TOKEN\n"})
    )
    assert found.options == {"index-url": ["https://u:secret@h/${lower}/${UNSET}/$TOKEN"]}


def test_global_options() -> None:
    text = (
        "-i https://one\n--extra-index-url=https://two\n-fhttps://three\n--pre --prefer-binary\n"
        "--no-binary :all:\n--trusted-host h\n"
    )
    found = parse_requirements_file("r", around({"r": text}))
    assert found.options == {
        "index-url": ["https://one"],
        "extra-index-url": ["https://two"],
        "find-links": ["https://three"],
        "pre": [""],
        "prefer-binary": [""],
        "no-binary": [":all:"],
        "trusted-host": ["h"],
    }


def test_line_options() -> None:
    text = (
        f"a==1 --hash=sha256:{SHA} \\\n --hash sha256:{SHA.upper()} --variant=cu128\n"
        "b --variant null\n"
    )
    found = parse_requirements_file("r", around({"r": text}))
    first, second = found.requirements
    assert first.hashes == {"sha256": frozenset({SHA})}
    assert (first.label, second.label) == ("cu128", "null")
    assert str(first) == "a==1"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("--user", "no such option: --user"),
        ("a --user", "no such option: --user"),
        ("a==1 --nope=1", "no such option: --nope"),
        ("a==1 --hash=sha256:12", "not a hash"),
        ("a==1 --variant=CU", "label"),
        ("-r", "needs a value"),
        ("-e a", "not a valid editable"),
        ('a; "x" in variant_properties', "variant_properties"),
        ("./missing", "no file or folder"),
        ("a 'b", "version specifier"),
    ],
)
def test_bad_lines_name_file_and_line(line: str, part: str) -> None:
    with pytest.raises(RequirementError) as caught:
        parse_requirements_file("r.txt", around({"r.txt": f"ok\n{line}\n"}))
    assert part in str(caught.value)
    assert "r.txt:2" in str(caught.value)


def test_all_bad_lines_are_told() -> None:
    with pytest.raises(RequirementError) as caught:
        names("a=1\nb\nc=2\n")
    assert "r.txt:1" in str(caught.value)
    assert "r.txt:3" in str(caught.value)


@pytest.mark.parametrize("line", ["a[x]<1", "https://h/a-1.tar.gz"])
def test_what_a_constraint_can_not_be(line: str) -> None:
    with pytest.raises(RequirementError, match=r"[Cc]onstraint"):
        parse_requirements_file("c", around({"c": line}), constraint=True)


def test_a_wheel_that_is_a_constraint_has_the_name_of_its_file() -> None:
    line = "https://h/a_b-1-py3-none-any.whl"
    found = parse_requirements_file("c", around({"c": line}), constraint=True)
    assert [(one.project, one.url) for one in found.constraints] == [("a-b", line)]


def test_paths_and_urls() -> None:
    files = {"/here/dist/a-1-py3-none-any.whl": ""}
    place = around(files, folders=("/here", "/here/project"))
    wheel = parse_requested("dist/a-1-py3-none-any.whl", place)
    assert wheel.url == "file:///here/dist/a-1-py3-none-any.whl"
    assert not wheel.name
    project = parse_requested("./project[dev,test]", place)
    assert project.url == "file:///here/project"
    assert project.extras == {"dev", "test"}
    here = parse_requested(".", place, editable=True)
    assert here.url == "file:///here"
    assert here.editable
    vcs = parse_requested("git+https://h/x.git@v1#egg=x[y]&subdirectory=z", place)
    assert vcs.name == "x"
    assert vcs.extras == {"y"}
    assert vcs.url == "git+https://h/x.git@v1#subdirectory=z"
    named = parse_requested("x[y] @ https://h/x-1-py3-none-any.whl", place)
    assert named.name == "x"


def test_a_file_given_as_a_project_is_noticed() -> None:
    with pytest.raises(RequirementError) as caught:
        parse_requested("./reqs.txt", around({}))
    assert "-r ./reqs.txt" in caught.value.fix


def test_a_constraint_file_that_is_missing_is_called_one() -> None:
    with pytest.raises(RequirementError, match=r"open constraint file: no\.txt"):
        parse_requirements_file("r.txt", around({"r.txt": "-c no.txt\na\n"}))


@pytest.mark.parametrize("system", ["git", "hg", "svn", "bzr"])
def test_version_control_systems_of_pip(system: str) -> None:
    url = f"{system}+https://h.test/p"
    assert parse_requested(url, around({})).url == url


def test_a_version_control_system_that_nobody_knows() -> None:
    with pytest.raises(RequirementError, match=r"Invalid requirement: .cvs\+https:"):
        parse_requested("cvs+https://h.test/p", around({}))


def test_a_weak_hash_is_refused() -> None:
    # pip: "Allowed hash algorithms for --hash are sha256, sha384, sha512."
    with pytest.raises(RequirementError, match="sha256, sha384 and sha512"):
        names(f"a==1 --hash=md5:{'0' * 32}\n")
