"""Choosing versions: pip's rules (pip documentation, "Dependency Resolution")."""

from __future__ import annotations

import pytest

from tests.support.fakes import FakeSource, installed_distribution, solve
from vinstall.errors import NoMatchingWheelError, ResolutionError
from vinstall.settings import Names, ResolveSettings


def test_newest_version_and_its_dependencies() -> None:
    source = FakeSource()
    source.add("a", "1.0", requires=["b"])
    source.add("a", "2.0", requires=["b<2"])
    source.add("b", "1.5")
    source.add("b", "2.0")
    solved = solve(source, "a")
    assert solved.versions == {"a": "2.0", "b": "1.5"}
    assert [one.project for one in solved.resolution.distributions] == ["b", "a"]


def test_backtracking() -> None:
    source = FakeSource()
    source.add("a", "2", requires=["c==2"])
    source.add("a", "1", requires=["c==1"])
    source.add("b", "1", requires=["c==1"])
    source.add("c", "1")
    source.add("c", "2")
    assert solve(source, "a", "b").versions == {"a": "1", "b": "1", "c": "1"}


def test_extras_need_the_very_same_base() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["b; extra == 'x'", "c"], extras=["x"])
    source.add("a", "2", requires=["c"])
    source.add("b", "1")
    source.add("c", "1")
    solved = solve(source, "a[x]", "a<2")
    assert solved.versions == {"a": "1", "b": "1", "c": "1"}
    (chosen,) = [one for one in solved.resolution.distributions if one.project == "a"]
    assert chosen.extras == {"x"}


def test_extras_that_refer_to_their_own_project() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["a[x]; extra == 'all'", "b; extra == 'x'"], extras=["x", "all"])
    source.add("b", "1")
    assert solve(source, "a[all]").versions == {"a": "1", "b": "1"}


def test_an_unknown_extra_is_a_warning() -> None:
    source = FakeSource()
    source.add("a", "1")
    solved = solve(source, "a[nope]")
    assert [one.code for one in solved.observer.warnings()] == ["unknown-extra"]


def test_markers_of_dependencies() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["b; sys_platform == 'win32'", "c; python_version >= '3.8'"])
    source.add("c", "1")
    assert solve(source, "a").versions == {"a": "1", "c": "1"}


def test_constraints_limit_and_never_add() -> None:
    source = FakeSource()
    source.add("a", "1")
    source.add("a", "2")
    source.add("z", "1")
    assert solve(source, "a", constraints=["a<2", "z==1"]).versions == {"a": "1"}


@pytest.mark.parametrize(
    ("texts", "versions", "expected"),
    [
        (["a"], ["1", "2b1"], "1"),
        (["a"], ["1b1", "2b1"], "2b1"),
        (["a>=2b1"], ["1", "2b1"], "2b1"),
        (["a<2"], ["1", "2b1"], "1"),
        (["a==2b1"], ["1", "2b1"], "2b1"),
    ],
)
def test_prereleases(texts: list[str], versions: list[str], expected: str) -> None:
    source = FakeSource()
    for version in versions:
        source.add("a", version)
    assert solve(source, *texts).versions == {"a": expected}


def test_pre_allows_all() -> None:
    source = FakeSource()
    source.add("a", "1")
    source.add("a", "2b1")
    settings = ResolveSettings(pre=Names(everything=True))
    assert solve(source, "a", resolve_settings=settings).versions == {"a": "2b1"}


def test_yanked_only_when_pinned() -> None:
    source = FakeSource()
    source.add("a", "1")
    source.add("a", "2", yanked="broken")
    assert solve(source, "a").versions == {"a": "1"}
    assert solve(source, "a==2").versions == {"a": "2"}
    with pytest.raises(ResolutionError):
        solve(source, "a>=2")


def test_requires_python_of_links_and_of_metadata() -> None:
    source = FakeSource()
    source.add("a", "1")
    source.add("a", "2", requires_python=">=3.12")
    source.metadata["a-1-py3-none-any.whl"] = source.metadata["a-1-py3-none-any.whl"]
    assert solve(source, "a").versions == {"a": "1"}
    with pytest.raises(NoMatchingWheelError) as caught:
        solve(source, "a==2")
    assert "requires Python >=3.12" in " ".join(caught.value.causes)


def test_a_broken_wheel_is_left_out_with_a_warning() -> None:
    source = FakeSource()
    source.add("a", "1")
    source.add("a", "2", broken=True)
    solved = solve(source, "a")
    assert solved.versions == {"a": "1"}
    (warning,) = solved.observer.warnings()
    assert "a-2-py3-none-any.whl" in warning.what


def test_installed_stays_when_it_fits() -> None:
    source = FakeSource()
    source.add("a", "2", requires=["b"])
    there = [installed_distribution("a", "1", requires=["b"]), installed_distribution("b", "1")]
    solved = solve(source, "a", installed=there)
    assert solved.versions == {"a": "1", "b": "1"}
    assert source.pages == []


def test_upgrade_only_if_needed_and_eager() -> None:
    source = FakeSource()
    source.add("a", "2", requires=["b"])
    source.add("b", "2")
    there = [installed_distribution("a", "1", requires=["b"]), installed_distribution("b", "1")]
    upgrade = ResolveSettings(upgrade=True)
    assert solve(source, "a", installed=there, resolve_settings=upgrade).versions == {
        "a": "2",
        "b": "1",
    }
    eager = ResolveSettings(upgrade=True, upgrade_strategy="eager")
    assert solve(source, "a", installed=there, resolve_settings=eager).versions == {
        "a": "2",
        "b": "2",
    }


def test_upgrade_keeps_an_installed_version_that_is_the_newest() -> None:
    source = FakeSource()
    source.add("a", "1")
    there = [installed_distribution("a", "1")]
    upgrade = ResolveSettings(upgrade=True)
    solved = solve(source, "a", installed=there, resolve_settings=upgrade)
    (chosen,) = solved.resolution.distributions
    assert chosen.candidate.installed is not None


def test_no_deps() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["b"])
    settings = ResolveSettings(no_deps=True)
    assert solve(source, "a", resolve_settings=settings).versions == {"a": "1"}


def test_no_such_project() -> None:
    with pytest.raises(NoMatchingWheelError) as caught:
        solve(FakeSource(), "a>1")
    assert caught.value.requirement == "a>1"
    assert caught.value.versions == ()


def test_no_matching_version_lists_what_is_there() -> None:
    source = FakeSource()
    source.add("a", "1.10")
    source.add("a", "1.9")
    with pytest.raises(NoMatchingWheelError) as caught:
        solve(source, "a>2")
    assert caught.value.versions == ("1.9", "1.10")
    assert "a>2" in caught.value.what


def test_no_wheel_for_this_platform_names_the_tag() -> None:
    source = FakeSource()
    source.add("a", "1", tags="cp312-cp312-win_amd64")
    with pytest.raises(NoMatchingWheelError) as caught:
        solve(source, "a")
    assert "cp312-cp312-win_amd64" in " ".join(caught.value.causes)


def test_a_conflict_tells_who_needs_what() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["c<2"])
    source.add("b", "1", requires=["c>=2"])
    source.add("c", "1")
    source.add("c", "2")
    with pytest.raises(ResolutionError) as caught:
        solve(source, "a", "b")
    assert {"a 1 needs c<2", "b 1 needs c>=2"} <= set(caught.value.causes)


def test_a_constraint_in_a_conflict_is_named() -> None:
    source = FakeSource()
    source.add("a", "1", requires=["c<2"])
    source.add("c", "1")
    source.add("c", "2")
    with pytest.raises(ResolutionError) as caught:
        solve(source, "a", constraints=["c>=2"])
    assert "A constraint limits c>=2" in caught.value.causes


def test_a_search_without_end_is_given_up() -> None:
    source = FakeSource()
    for version in range(40):
        source.add("a", str(version), requires=[f"c=={version}", "b"])
        source.add("b", str(version), requires=[f"c=={version + 100}"])
        source.add("c", str(version))
        source.add("c", str(version + 100))
    with pytest.raises(ResolutionError):
        solve(source, "a", "b", max_rounds=20)


def test_metadata_is_read_for_pinned_candidates_only() -> None:
    source = FakeSource()
    for version in range(1, 50):
        source.add("a", str(version))
    solve(source, "a")
    assert source.read == ["a-49-py3-none-any.whl"]
