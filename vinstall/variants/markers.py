"""Variant markers turned into constants before ``packaging`` parses a requirement.

Implements PEP 825, "Environment markers". ``packaging`` refuses the names ``variant_label``,
``variant_properties``, ``variant_features`` and ``variant_namespaces`` while it parses, so
each comparison with one of them is replaced, and what becomes certain is folded away.
"""

from __future__ import annotations

import re

from vinstall.errors import RequirementError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    _Value = bool | str
    from collections.abc import Iterable

    from vinstall.variants.properties import VariantProperty

_NAMES = ("variant_label", "variant_properties", "variant_features", "variant_namespaces")
_NAME = lazy_pattern(r"\bvariant_(?:label|properties|features|namespaces)\b")
_TOKEN = lazy_pattern(
    r"""\s*(?:
        (?P<paren>[()])
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<operator>===|==|~=|!=|<=|>=|<|>|not\s+in\b|in\b)
      | (?P<logic>and\b|or\b)
      | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
    )""",
    re.VERBOSE,
)
_WIDE = lazy_pattern(r"\s*::\s*")
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class VariantMarkers:
    """What the variant markers of one wheel see.

    Attributes:
        label: The variant label, empty for a non-variant wheel.
        properties: Its properties, filtered to the supported ones.
    """

    label: str = ""
    properties: frozenset[VariantProperty] = frozenset()

    NON_VARIANT: ClassVar[VariantMarkers]

    @classmethod
    def for_variant(cls, label: str, properties: Iterable[VariantProperty]) -> VariantMarkers:
        """The markers of a wheel with a label and its supported properties."""
        return cls(label, frozenset(properties))

    def members(self, name: str) -> frozenset[str]:
        """The members of one of the three set-valued markers, as compact text."""
        if name == "variant_namespaces":
            return frozenset(one.namespace for one in self.properties)
        if name == "variant_features":
            return frozenset(f"{one.namespace}::{one.feature}" for one in self.properties)
        return frozenset(f"{one.namespace}::{one.feature}::{one.value}" for one in self.properties)


VariantMarkers.NON_VARIANT = VariantMarkers()


def has_variant_markers(line: str) -> bool:
    """Whether a text can hold a variant marker; cheap, and never wrong with ``False``."""
    return "variant_" in line and _NAME.search(line) is not None


def find_illegal_variant_marker(line: str) -> str | None:
    """The first variant marker name in a text, outside of quotes; ``None`` without one."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", line)
    found = _NAME.search(bare)
    return found[0] if found else None


def fold_variant_markers(line: str, markers: VariantMarkers) -> str | None:
    """Replace the variant comparisons of one ``Requires-Dist`` by what they are.

    Args:
        line: The requirement with its marker.
        markers: What the selected wheel's markers see.

    Returns:
        The requirement with what is left of its marker; without one where it certainly
        holds; ``None`` where it certainly does not.

    Raises:
        RequirementError: The marker can not be read.
    """
    head, separator, marker = _split_marker(line)
    if not separator or not has_variant_markers(marker):
        return line
    folded = _Folder(line, marker, markers).fold()
    if folded is False:
        return None
    if folded is True:
        return head.rstrip()
    return f"{head.rstrip()} ; {folded}"


def _split_marker(line: str) -> tuple[str, str, str]:
    """The requirement and its marker; in a URL, ``;`` counts only beside white space."""
    if "@" in line.partition(";")[0]:
        found = re.search(r"\s;", line) or re.search(r";\s", line)
    else:
        found = re.search(";", line)
    if found is None:
        return line, "", ""
    return line[: found.start()], ";", line[found.end() :]


class _Folder:
    """A reader of markers that evaluates what concerns variants as it goes."""

    def __init__(self, line: str, marker: str, markers: VariantMarkers) -> None:
        self._line = line
        self._markers = markers
        self._tokens = list(self._split(marker))
        self._place = 0
        self._depth = 0

    def fold(self) -> _Value:
        value = self._read_or()
        if self._place != len(self._tokens):
            raise self._fault(f"there is something behind its end: {self._tokens[self._place][1]}")
        return value

    def _split(self, marker: str) -> Iterable[tuple[str, str]]:
        place = 0
        text = marker.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise self._fault(f"{text[place:].strip()!r} can not be read")
            yield found.lastgroup, found[found.lastgroup]
            place = found.end()

    def _peek(self, kind: str, text: str = "") -> bool:
        if self._place >= len(self._tokens):
            return False
        token = self._tokens[self._place]
        return token[0] == kind and text in ("", token[1])

    def _take(self) -> tuple[str, str]:
        if self._place >= len(self._tokens):
            raise self._fault("it ends too early")
        self._place += 1
        return self._tokens[self._place - 1]

    def _read_or(self) -> _Value:
        values = [self._read_and()]
        while self._peek("logic", "or"):
            self._take()
            values.append(self._read_and())
        if True in values:
            return True
        left = [value for value in values if isinstance(value, str)]
        return " or ".join(left) if left else False

    def _read_and(self) -> _Value:
        values = [self._read_atom()]
        while self._peek("logic", "and"):
            self._take()
            values.append(self._read_atom())
        if False in values:
            return False
        left = [value for value in values if isinstance(value, str)]
        if not left:
            return True
        return " and ".join(left)

    def _read_atom(self) -> _Value:
        if self._peek("paren", "("):
            self._take()
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise self._fault("its parentheses are nested too deeply")
            value = self._read_or()
            if self._take() != ("paren", ")"):
                raise self._fault("a parenthesis is not closed")
            self._depth -= 1
            return f"({value})" if isinstance(value, str) else value
        left, operator, right = self._take(), self._take(), self._take()
        if operator[0] != "operator" or left[0] not in ("name", "text"):
            raise self._fault(f"{left[1]!r} is not compared with anything")
        if right[0] not in ("name", "text"):
            raise self._fault(f"{right[1]!r} can not be compared")
        relation = " ".join(operator[1].split())
        if left[1] in _NAMES or right[1] in _NAMES:
            return self._evaluate(left, relation, right)
        return f"{left[1]} {relation} {right[1]}"

    def _evaluate(self, left: tuple[str, str], relation: str, right: tuple[str, str]) -> bool:
        if left[0] == right[0]:
            raise self._fault("a variant marker has to be compared with a text in quotes")
        name = left[1] if left[0] == "name" else right[1]
        text = (right[1] if left[0] == "name" else left[1])[1:-1]
        if name == "variant_label":
            if relation in ("==", "==="):
                return self._markers.label == text
            if relation == "!=":
                return self._markers.label != text
            if relation in ("in", "not in"):
                inside = (
                    self._markers.label in text
                    if left[0] == "name"
                    else text in self._markers.label
                )
                return inside is (relation == "in")
            raise self._fault(f"variant_label can not be compared by {relation}")
        if relation not in ("in", "not in") or left[0] != "text":
            raise self._fault(f"{name} is a set: write 'text' in {name}, or not in")
        member = _WIDE.sub("::", text.strip())
        return (member in self._markers.members(name)) is (relation == "in")

    def _fault(self, why: str) -> RequirementError:
        return RequirementError(f"The marker of {self._line.strip()!r} can not be read", why)
