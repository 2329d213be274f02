"""A machine profile: what a machine supports, written down for use elsewhere.

The file is TOML: ``schema = 1``; optional ``[made]`` and ``[target]``; one table for each
namespace, ``[supported.<namespace>]``, of ``feature = ["value", …]``. Keys and values are in
order of preference, best first. Unknown keys are errors: it is the user's own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import ProfileError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass, field
from vinstall.variants.properties import ABI_DEPENDENCY, is_namespace, is_value
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1
_WIDTH = 100
_FIX = "Correct it, or write a new one on the machine it speaks of: vinstall profile save FILE"
_MARKERS = frozenset(
    {
        "implementation_name",
        "implementation_version",
        "os_name",
        "platform_machine",
        "platform_python_implementation",
        "platform_release",
        "platform_system",
        "platform_version",
        "python_full_version",
        "python_version",
        "sys_platform",
    }
)
_TAG = lazy_pattern(r"[a-z0-9_]+-[a-z0-9_]+-[a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class ProfileTarget:
    """The platform that a profile was made for, where it is another one.

    Attributes:
        markers: Values of the marker environment.
        tags: Platform compatibility tags, most specific first; empty for the host's.
    """

    markers: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineProfile:
    """What a machine supports.

    Attributes:
        supported: The supported properties; a namespace with an empty table supports nothing.
        made: When, where and with what it was made; free texts.
        target: Another platform; ``None`` for the one that runs.
        origin: The file it came from, for messages.
    """

    supported: SupportedProperties
    made: Mapping[str, str] = field(default_factory=dict)
    target: ProfileTarget | None = None
    origin: str = ""


def parse_profile(text: str, origin: str) -> MachineProfile:
    """Read a profile, strictly.

    Raises:
        ProfileError: It is not TOML, or something in it is wrong; every fault is named.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"The profile {origin} is not valid TOML", str(error), _FIX) from error
    faults: list[str] = []
    schema = document.get("schema")
    if schema is None:
        faults.append(f"schema = {SCHEMA} is missing")
    elif not isinstance(schema, int) or isinstance(schema, bool) or schema != SCHEMA:
        faults.append(f"schema has to be {SCHEMA}, not {schema!r}")
    for key in document:
        if key not in ("schema", "made", "target", "supported"):
            faults.append(f"the key {key!r} is not known")
    made = document.get("made", {})
    if not isinstance(made, dict):
        faults.append("[made] is not a table")
        made = {}
    for key, one in made.items():
        if isinstance(one, (dict, list)):
            faults.append(f"made.{key} is not a text")
    target = _read_target(document["target"], faults) if "target" in document else None
    supported = _read_supported(document.get("supported", {}), faults)
    if faults:
        raise ProfileError(f"The profile {origin} is wrong", "; ".join(faults), _FIX)
    source = f"profile {origin}"
    return MachineProfile(
        SupportedProperties(
            supported,
            dict.fromkeys(supported, source),
            {
                namespace: f"the profile {origin} supports nothing of it"
                for namespace, features in supported.items()
                if not any(features.values())
            },
        ),
        {str(key): str(value) for key, value in made.items()},
        target,
        origin,
    )


def _read_target(value: object, faults: list[str]) -> ProfileTarget | None:
    if not isinstance(value, dict):
        faults.append("[target] is not a table")
        return None
    for key in value:
        if key not in ("markers", "tags"):
            faults.append(f"target.{key} is not known")
    markers = value.get("markers", {})
    if not isinstance(markers, dict) or not all(isinstance(one, str) for one in markers.values()):
        faults.append("target.markers is not a table of texts")
        markers = {}
    for name in markers:
        if name not in _MARKERS:
            faults.append(f"target.markers.{name} is not known")
    tags = value.get("tags", [])
    if not isinstance(tags, list):
        faults.append("target.tags is not a list of texts")
        tags = []
    bad = [one for one in tags if not isinstance(one, str) or not _TAG.fullmatch(one)]
    if bad:
        faults.append(f"target.tags: {bad[0]!r} is not a tag")
    return ProfileTarget(dict(markers), tuple(tags))


def _read_supported(value: object, faults: list[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    if not isinstance(value, dict):
        faults.append("[supported] is not a table")
        return found
    for namespace, features in value.items():
        place = f"supported.{namespace}"
        if not is_namespace(namespace) or namespace == ABI_DEPENDENCY:
            faults.append(f"{place}: {namespace!r} can not be a namespace here")
            continue
        if not isinstance(features, dict):
            faults.append(f"{place} is not a table")
            continue
        table: dict[str, tuple[str, ...]] = {}
        for feature, values in features.items():
            if not is_namespace(feature):
                faults.append(f"{place}: {feature!r} is not a feature name")
            elif not isinstance(values, list):
                faults.append(f"{place}.{feature} is not a list")
            elif bad := [one for one in values if not isinstance(one, str) or not is_value(one)]:
                faults.append(f"{place}.{feature}: {bad[0]!r} is not a value")
            elif len(set(values)) != len(values):
                faults.append(f"{place}.{feature} holds a value twice")
            else:
                table[feature] = tuple(values)
        found[namespace] = table
    return found


def format_profile(profile: MachineProfile) -> str:
    """Write a profile; reading it again gives the same one."""
    import tomli_w

    document: dict[str, object] = {"schema": SCHEMA}
    if profile.made:
        document["made"] = dict(profile.made)
    if profile.target is not None:
        document["target"] = {
            "markers": dict(profile.target.markers),
            "tags": list(profile.target.tags),
        }
    document["supported"] = {
        namespace: {feature: list(values) for feature, values in features.items()}
        for namespace, features in profile.supported.namespaces.items()
    }
    return _join_lists(tomli_w.dumps(document))


def _join_lists(text: str) -> str:
    """Put each list on as few lines as fit; the library writes a line for each item."""
    import textwrap

    lines: list[str] = []
    items: list[str] | None = None
    for line in text.removesuffix("\n").split("\n"):
        if items is None:
            lines.append(line)
            if line.endswith(" = ["):
                items = []
        elif line == "]":
            whole = f"{lines[-1]}{' '.join(items).removesuffix(',')}]"
            if len(whole) <= _WIDTH:
                lines[-1] = whole
            else:
                # Tags and values hold no blanks, so a wrapped line never breaks one.
                lines += textwrap.wrap(
                    " ".join(items),
                    _WIDTH,
                    initial_indent="    ",
                    subsequent_indent="    ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                lines.append("]")
            items = None
        else:
            items.append(line.strip())
    return "\n".join(lines) + "\n"
