"""Values behave as frozen dataclasses do: each check runs on both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from vinstall import values


@values.dataclass(frozen=True, slots=True)
class Ours:
    """A value."""

    name: str
    size: int = 3
    tags: dict[str, int] = values.field(default_factory=dict, hash=False)
    note: str = values.field(default="", compare=False)
    KIND: ClassVar[str] = "kind"

    @property
    def shout(self) -> str:
        return self.name.upper()


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """A value."""

    name: str
    size: int = 3
    tags: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    note: str = dataclasses.field(default="", compare=False)
    KIND: ClassVar[str] = "kind"

    @property
    def shout(self) -> str:
        return self.name.upper()


@values.dataclass(frozen=True, slots=True, order=True)
class Ranked:
    major: int
    minor: int = 0


@pytest.fixture(params=[Ours, Theirs])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_fields_and_defaults(kind: Any) -> None:
    one = kind("a")
    assert (one.name, one.size, one.tags, one.note, one.KIND) == ("a", 3, {}, "", "kind")
    assert one.shout == "A"
    assert kind("a", 4, {"x": 1}, note="n").tags == {"x": 1}
    assert kind("a").tags is not kind("b").tags


def test_equality_and_hash(kind: Any) -> None:
    assert kind("a", note="x") == kind("a", note="y")
    assert kind("a") != kind("b")
    assert kind("a") != ("a", 3, {}, "")
    assert kind("a", tags={"x": 1}) != kind("a")
    assert hash(kind("a", tags={"x": 1})) == hash(kind("a"))
    assert hash(kind("a")) != hash(kind("b"))


def test_nothing_can_be_changed(kind: Any) -> None:
    one = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.name
    assert not hasattr(one, "__dict__")


def test_wrong_arguments_are_refused(kind: Any) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    calls = [((), {}), (("a",), {"other": 1}), (("a", 1, {}, "", 5), {})]
    for positional, named in calls:
        with pytest.raises(TypeError):
            kind(*positional, **named)


def test_it_is_shown_with_its_fields(kind: Any) -> None:
    assert repr(kind("a")) == f"{kind.__name__}(name='a', size=3, tags={{}}, note='')"


def test_the_tools_of_dataclasses_work(kind: Any) -> None:
    one = kind("a", note="n")
    assert hasattr(kind, "__dataclass_fields__")
    assert dataclasses.replace(one, size=5) == kind("a", 5)
    assert dataclasses.replace(one, size=5).note == "n"
    assert dataclasses.asdict(one) == {"name": "a", "size": 3, "tags": {}, "note": "n"}
    assert [field.name for field in dataclasses.fields(one)] == ["name", "size", "tags", "note"]


def test_copies_are_equal(kind: Any) -> None:
    one = kind("a", tags={"x": 1}, note="n")
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert other.note == "n"


def test_it_matches_by_position(kind: Any) -> None:
    match kind("a", 7):
        case Ours(name, size) | Theirs(name, size):
            assert (name, size) == ("a", 7)
        case _:
            raise AssertionError("no match")


def test_order_follows_the_fields() -> None:
    assert sorted([Ranked(2), Ranked(1, 5), Ranked(1)]) == [Ranked(1), Ranked(1, 5), Ranked(2)]
    assert Ranked(1) <= Ranked(1) < Ranked(2)
    assert Ranked(2) > Ranked(1) >= Ranked(1)
    with pytest.raises(TypeError):
        assert Ranked(1) < (1, 0)  # type: ignore[operator]


@values.dataclass
class Loose:
    name: str
    rows: list[int] = values.field(default_factory=list)


@values.dataclass(slots=True)
class Slotted:
    name: str
    rows: list[int] = values.field(default_factory=list)


@pytest.mark.parametrize("open_kind", [Loose, Slotted])
def test_values_that_are_not_frozen_can_be_changed(open_kind: Any) -> None:
    one = open_kind("a")
    one.name = "b"
    one.rows.append(1)
    assert one == open_kind("b", [1])
    assert hasattr(one, "__dict__") is (open_kind is Loose)
    with pytest.raises(TypeError):
        hash(one)


def test_replace_keeps_the_other_fields() -> None:
    one = Ours("a", tags={"x": 1}, note="n")
    assert values.replace(one, size=9) == Ours("a", 9, {"x": 1})
    assert values.replace(one, size=9).note == "n"
    with pytest.raises(TypeError):
        values.replace(one, other=1)  # type: ignore[call-arg, unused-ignore]
