"""What a child may say, and what not."""

from __future__ import annotations

import json

import pytest

from vinstall.errors import ProviderReplyError
from vinstall.providers.messages import (
    PluginAnswer,
    PluginRequest,
    check_features,
    clean_text,
    format_request,
    parse_answer,
)


def line(**document: object) -> bytes:
    return json.dumps(document).encode() + b"\n"


def features(*pairs: tuple[str, list[str]]) -> list[dict[str, object]]:
    return [{"name": name, "values": values} for name, values in pairs]


def test_a_request() -> None:
    request = json.loads(
        format_request([PluginRequest("nvidia", "pkg.plugin:Plugin")], ["/site"], 15)
    )
    assert request == {
        "format": 1,
        "seconds": 15,
        "paths": ["/site"],
        "plugins": [{"id": "nvidia", "object": "pkg.plugin:Plugin"}],
    }


def test_an_answer_with_everything() -> None:
    name, answer = parse_answer(
        line(
            id="nvidia",
            seconds=0.25,
            features=features(("sm_arch", ["90_real", "90_virtual"])),
            description={"facts": {"driver": "580"}, "notes": ["one"], "present": True},
        )
    )
    assert name == "nvidia"
    assert answer == PluginAnswer(
        {"sm_arch": ("90_real", "90_virtual")}, True, {"driver": "580"}, ("one",), 0.25
    )


@pytest.mark.parametrize(
    ("values", "present"), [(features(("level", ["v1"])), True), (features(), False)]
)
def test_without_a_word_hardware_is_there_where_something_is_supported(
    values: list[object], present: bool
) -> None:
    _, answer = parse_answer(line(id="x", features=values))
    assert answer is not None
    assert answer.present is present


def test_beginning_and_end() -> None:
    assert parse_answer(line(begin="nvidia")) == ("nvidia", None)
    assert parse_answer(line(end=True)) == ("", None)


@pytest.mark.parametrize(("kind", "override"), [("failure", False), ("override", True)])
def test_errors(kind: str, override: bool) -> None:
    _, answer = parse_answer(line(id="x", error=kind, text="NV_FORCE: \x1b[31mno\nway"))
    assert answer is not None
    assert answer.problem == "NV_FORCE: [31mno way"
    assert answer.is_override is override
    assert not answer.features


def test_an_error_without_a_text_is_still_one() -> None:
    _, answer = parse_answer(line(id="x", error="failure"))
    assert answer is not None
    assert answer.problem


@pytest.mark.parametrize(
    "data", [b"", b"noise\n", b"3\n", b"[]\n", b"{}\n", b'{"id": 3}\n', b"[" * 100_000, b"\xff\n"]
)
def test_what_is_no_answer_at_all(data: bytes) -> None:
    with pytest.raises(ProviderReplyError):
        parse_answer(data)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        "level",
        [3],
        [{"values": ["v1"]}],
        [{"name": "Level", "values": ["v1"]}],
        [{"name": "level"}],
        [{"name": "level", "values": "v1"}],
        [{"name": "level", "values": [1]}],
        [{"name": "level", "values": ["V1"]}],
        [{"name": "level", "values": ["v 1"]}],
        [{"name": "level", "values": ["v1"] * 20_001}],
        features(("level", ["v1"]), ("level", ["v2"])),
        features(("level", []), ("level", ["v2"])),
    ],
)
def test_wrong_shapes(value: object) -> None:
    with pytest.raises(ProviderReplyError):
        check_features(value)
    _, answer = parse_answer(line(id="x", features=value))
    assert answer is not None
    assert answer.problem
    assert not answer.features


def test_order_stays_and_doubles_go() -> None:
    found = check_features(features(("b", ["2", "1", "2"]), ("a", ["x"]), ("empty", [])))
    assert list(found.items()) == [("b", ("2", "1")), ("a", ("x",))]


@pytest.mark.parametrize("description", [3, "text", [], {"notes": "x", "facts": 3}])
def test_a_bad_description_leaves_the_answer(description: object) -> None:
    _, answer = parse_answer(
        line(id="x", features=features(("level", ["v1"])), description=description)
    )
    assert answer is not None
    assert answer.features == {"level": ("v1",)}
    assert (answer.notes, answer.facts) == ((), {})


def test_texts_can_do_nothing_to_a_terminal() -> None:
    assert clean_text("a\tb\r\nc\x00\x07\u202e d") == "a b c d"
    assert len(clean_text("x" * 10_000)) == 2000
