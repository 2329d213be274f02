"""The part of a distribution's METADATA that an installer decides by.

Implements the core metadata specification, as far as resolving and installing need it.
"""

from __future__ import annotations

from vinstall.errors import WheelFormatError
from vinstall.values import dataclass


@dataclass(frozen=True, slots=True)
class CoreMetadata:
    """Name, version and needs of a distribution.

    Attributes:
        name: As written.
        version: As written.
        requires_dist: One text per ``Requires-Dist``, in the order of the file. Variant
            markers are still in them.
        requires_python: The specifier text, empty where there is none.
        extras: ``Provides-Extra`` as written, in the order of the file.
        text: The whole file.
    """

    name: str
    version: str
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    extras: tuple[str, ...] = ()
    text: str = ""


def parse_core_metadata(data: bytes | str, origin: str) -> CoreMetadata:
    """Read METADATA (or PKG-INFO).

    Args:
        data: The file; bytes are UTF-8 with bad bytes replaced.
        origin: What to name in an error.

    Raises:
        WheelFormatError: Name or version is missing.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    values: dict[str, list[str]] = {}
    last: list[str] | None = None
    ends = [end for end in (text.find("\n\n"), text.find("\n\r\n")) if end >= 0]
    head = text[: min(ends)] if ends else text  # the description behind it can be long
    for line in head.replace("\r\n", "\n").split("\n"):
        if not line:
            break
        if line[0] in " \t":
            if last:
                last[-1] += "\n" + line.strip()
            continue
        key, colon, value = line.partition(":")
        if not colon:
            last = None
            continue
        last = values.setdefault(key.strip().lower(), [])
        last.append(value.strip())

    def one(key: str) -> str:
        return values.get(key, [""])[0]

    if not one("name") or not one("version"):
        raise WheelFormatError(
            f"{origin} has no valid METADATA", "the name or the version is missing in it"
        )
    return CoreMetadata(
        name=one("name"),
        version=one("version"),
        requires_dist=tuple(" ".join(text.split("\n")) for text in values.get("requires-dist", ())),
        requires_python=one("requires-python"),
        extras=tuple(values.get("provides-extra", ())),
        text=text,
    )
