"""What is said to the child that asks plugins, and what it answers; checked on the way in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import ProviderReplyError
from vinstall.values import dataclass, field
from vinstall.variants.properties import is_namespace, is_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_REPLY = 4 * 1024 * 1024
"""Bytes that one child may answer."""
_MAX_VALUES = 20_000
_MAX_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class PluginRequest:
    """One plugin to ask.

    Attributes:
        id: How the answer names it.
        object: ``module:object``.
    """

    id: str
    object: str


@dataclass(frozen=True, slots=True)
class PluginAnswer:
    """What one plugin said.

    Attributes:
        features: Feature → values, best first.
        present: Whether it has seen its hardware.
        facts: What it knows, for people.
        notes: Sentences worth reading.
        seconds: How long it took.
        problem: Why there is no answer; empty where there is one.
        is_override: Whether the problem is a wrong value in one of the user's variables.
    """

    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    present: bool = False
    facts: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: str = ""
    is_override: bool = False


def format_request(
    plugins: Sequence[PluginRequest], paths: Sequence[str], seconds: float = 0
) -> bytes:
    """The request as the child reads it.

    Args:
        plugins: Whom to ask, in order.
        paths: Folders to add to the child's import path.
        seconds: After which the child ends itself, should nobody be there to end it; 0 for
            never.
    """
    import json

    document = {
        "format": 1,
        "seconds": seconds,
        "paths": list(paths),
        "plugins": [{"id": one.id, "object": one.object} for one in plugins],
    }
    return json.dumps(document).encode()


def parse_answer(line: bytes) -> tuple[str, PluginAnswer | None]:
    """Read one line of the child.

    Returns:
        The plugin's id and its answer; ``None`` for the line that says that it begins; an
        empty id for the end.

    Raises:
        ProviderReplyError: The line is not what a child may say.
    """
    import json

    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProviderReplyError("The answer can not be read", str(error)) from error
    if not isinstance(document, dict):
        raise ProviderReplyError("The answer can not be read", "it is not an object")
    if "begin" in document:
        return str(document["begin"]), None
    if "end" in document:
        return "", None
    name = document.get("id")
    if not isinstance(name, str):
        raise ProviderReplyError("The answer can not be read", "it names no plugin")
    seconds = document.get("seconds")
    took = seconds if isinstance(seconds, float) else 0.0
    if "error" in document:
        return name, PluginAnswer(
            problem=clean_text(document.get("text", "")) or "it failed",
            seconds=took,
            is_override=document["error"] == "override",
        )
    try:
        features = check_features(document.get("features"))
    except ProviderReplyError as error:
        return name, PluginAnswer(problem=clean_text(error), seconds=took)
    description = document.get("description")
    if not isinstance(description, dict):
        description = {}
    notes = description.get("notes")
    facts = description.get("facts")
    return name, PluginAnswer(
        features,
        bool(description.get("present", features)),
        facts if isinstance(facts, dict) else {},
        tuple(clean_text(one) for one in notes) if isinstance(notes, list) else (),
        took,
    )


def clean_text(value: object) -> str:
    """A text on one line that can do nothing to a terminal, and is not endless."""
    line = " ".join(str(value).split())
    return "".join(one for one in line if one.isprintable())[:_MAX_TEXT]


def check_features(value: object) -> dict[str, tuple[str, ...]]:
    """Feature → values out of what a plugin said, in its order; those without values left out.

    Raises:
        ProviderReplyError: It has the wrong shape, or holds what a property can not hold.
    """
    if not isinstance(value, list):
        raise ProviderReplyError("The answer has the wrong shape", "the features are not a list")
    features: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for entry in value:
        name = entry.get("name") if isinstance(entry, dict) else None
        values = entry.get("values") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not is_namespace(name):
            raise ProviderReplyError("The answer has the wrong shape", f"{name!r} is no feature")
        if name in seen:
            raise ProviderReplyError("The answer has the wrong shape", f"{name} is there twice")
        if not isinstance(values, list) or len(values) > _MAX_VALUES:
            raise ProviderReplyError("The answer has the wrong shape", f"values of {name}")
        for one in values:
            if not isinstance(one, str) or not is_value(one):
                raise ProviderReplyError(
                    "The answer has the wrong shape", f"{one!r} is no value of {name}"
                )
        if values:
            features[name] = tuple(dict.fromkeys(values))
        seen.add(name)
    return features
