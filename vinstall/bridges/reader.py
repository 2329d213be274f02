"""The text of a bridge file → ``Family``. Reads nothing itself; see ``docs/bridges.md``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from vinstall.bridges.model import Build, Family, How, Libraries, Plain
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.requirement import parse_specifier
from vinstall.errors import BridgeError, RequirementError
from vinstall.patterns import lazy_pattern
from vinstall.variants.properties import (
    NULL_LABEL,
    is_label,
    is_namespace,
    is_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SCHEMA = 1
_FAMILY = lazy_pattern(r"[a-z0-9]+(-[a-z0-9]+)*")
_PLATFORM = lazy_pattern(r"(linux|win32|darwin)(-[a-z0-9_]+)?")
_EXTRAS = lazy_pattern(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?(,[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*")
_GROUP = lazy_pattern(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")
_COMMON = frozenset({"label", "how", "projects", "releases", "properties", "agree", "platforms"})
_OWN: dict[str, frozenset[str]] = {
    "index": frozenset({"url", "local", "helpers"}),
    "sister": frozenset({"sister"}),
    "extra": frozenset({"extra"}),
    "local": frozenset({"local"}),
}


def parse_family(text: str, origin: str, warn: Callable[[str], None] | None = None) -> Family:
    """Read one bridge file.

    Args:
        text: The file.
        origin: Its path, for messages.
        warn: Receives a sentence for each unknown key; ``None`` makes them errors.

    Raises:
        BridgeError: It is not TOML, or something in it is wrong; every fault is named.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise BridgeError(f"The bridge file {origin} is not valid TOML", str(error)) from error
    reader = _Reader(origin)
    family = reader.read(document)
    if warn is None:
        reader.faults += reader.unknown
    if reader.faults:
        raise BridgeError(f"The bridge file {origin} is wrong", "; ".join(reader.faults))
    if warn is not None and reader.unknown:
        warn(f"The bridge file {origin}: {'; '.join(reader.unknown)}")
    return family


class _Reader:
    """Reads tables and collects what is wrong."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.faults: list[str] = []
        self.unknown: list[str] = []
        self.projects: tuple[str, ...] = ()
        self.urls: dict[str, str] = {}

    def read(self, document: dict[str, Any]) -> Family:
        known = {
            "schema",
            "family",
            "summary",
            "projects",
            "same-build",
            "urls",
            "builds",
            "plain",
            "libraries",
        }
        self.check_keys(document, known, "")
        schema = document.get("schema")
        if isinstance(schema, bool) or schema != SCHEMA:
            self.faults.append(
                f"schema has to be {SCHEMA}" + ("" if schema is None else f", not {schema!r}")
            )
        name = self.text(document, "family", "")
        if name and not _FAMILY.fullmatch(name):
            self.faults.append(f"family: {name!r} may hold only a-z, 0-9 and '-'")
        summary = self.text(document, "summary", "")
        self.projects = self.names(document, "projects", "")
        same = document.get("same-build", False)
        if not isinstance(same, bool):
            self.faults.append("same-build has to be true or false")
        self.urls = self.read_urls(document.get("urls", {}))
        tables = self.tables(document, "builds")
        if not tables and "builds" not in document:
            self.faults.append("[[builds]] is missing")
        return Family(
            name,
            summary,
            self.projects,
            same is True,
            self.urls,
            tuple(self.read_build(table, place) for place, table in tables),
            tuple(self.read_plain(table, place) for place, table in self.tables(document, "plain")),
            tuple(
                self.read_libraries(table, place)
                for place, table in self.tables(document, "libraries")
            ),
            self.origin,
        )

    # the parts of a file

    def read_urls(self, value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            self.faults.append("[urls] is not a table")
            return {}
        found = {}
        for name, url in value.items():
            if not _FAMILY.fullmatch(name):
                self.faults.append(f"urls.{name}: the name may hold only a-z, 0-9 and '-'")
            elif not isinstance(url, str) or not re.match(r"(https?|file)://", url):
                self.faults.append(f"urls.{name} is not a URL")
            elif fault := find_url_fault(url):
                self.faults.append(f"urls.{name}: {fault}")
            else:
                found[name] = url
        return found

    def read_build(self, table: dict[str, Any], place: str) -> Build:
        how = self.text(table, "how", place)
        if how and how not in _OWN:
            self.faults.append(f"{place}.how: {how!r} is none of {', '.join(_OWN)}")
        own = _OWN.get(how, frozenset().union(*_OWN.values()))
        self.check_keys(table, _COMMON | own, place)
        label = self.text(table, "label", place)
        groups = frozenset[str]()
        local = ""
        if "local" in own and how in ("index", "local"):
            local = self.text(table, "local", place, may_be_empty=how == "index")
            if how == "local" and local:
                groups = self.read_pattern(local, f"{place}.local")
            elif local and not re.fullmatch(r"[a-z0-9]+(\.[a-z0-9]+)*", local):
                self.faults.append(
                    f"{place}.local: {local!r} is not a local version in normal form"
                )
        self.check_template(label, groups, f"{place}.label")
        if label and not is_label(_GROUP.sub("x", label)):
            self.faults.append(f"{place}.label: {label!r} may hold only 0-9, a-z, '_' and '.'")
        if label == NULL_LABEL:
            self.faults.append(f"{place}.label: 'null' is not a name for a build")
        url = self.text(table, "url", place) if how == "index" else ""
        if url and url not in self.urls:
            self.faults.append(f"{place}.url: [urls] has no {url!r}")
        sister = self.text(table, "sister", place) if how == "sister" else ""
        if sister and not _FAMILY.fullmatch(sister.replace("{project}", "x")):
            self.faults.append(f"{place}.sister: {sister!r} is not a normalized project name")
        extra = self.text(table, "extra", place) if how == "extra" else ""
        if extra and not _EXTRAS.fullmatch(extra):
            self.faults.append(f"{place}.extra: {extra!r} is not the name of an extra")
        if "properties" not in table:
            self.faults.append(f"{place}.properties is missing")
        return Build(
            label=label,
            how=cast("How", how),
            projects=self.members(table, place),
            releases=self.specifier(table, place),
            properties=self.properties(table, place, groups),
            agree=self.agree(table, place, groups),
            platforms=self.platforms(table, place),
            url=url,
            local=local,
            helpers=self.names(table, "helpers", place) if "helpers" in table else (),
            sister=sister,
            extra=extra,
        )

    def read_plain(self, table: dict[str, Any], place: str) -> Plain:
        known = {"projects", "releases", "platforms", "properties", "agree", "megabytes"}
        self.check_keys(table, known, place)
        megabytes = table.get("megabytes", 0)
        if not isinstance(megabytes, int) or isinstance(megabytes, bool) or megabytes < 0:
            self.faults.append(f"{place}.megabytes is not a number")
            megabytes = 0
        return Plain(
            self.members(table, place),
            self.specifier(table, place),
            self.platforms(table, place),
            self.properties(table, place, frozenset()),
            self.agree(table, place, frozenset()),
            megabytes,
        )

    def read_libraries(self, table: dict[str, Any], place: str) -> Libraries:
        self.check_keys(table, {"pattern", "releases", "agree"}, place)
        value = table.get("pattern")
        patterns = [value] if isinstance(value, str) else value
        if not isinstance(patterns, list) or not patterns:
            self.faults.append(f"{place}.pattern has to be a name with '*', or a list of such")
            patterns = []
        for one in patterns:
            if not isinstance(one, str) or not _FAMILY.fullmatch(one.replace("*", "x")):
                self.faults.append(f"{place}.pattern: {one!r} is not a normalized name with '*'")
        agree = self.agree(table, place, frozenset())
        if not agree:
            self.faults.append(f"{place}.agree is missing")
        return Libraries(tuple(str(one) for one in patterns), agree, self.specifier(table, place))

    # the shapes of values

    def check_keys(self, table: Iterable[str], known: Iterable[str], place: str) -> None:
        for key in table:
            if key not in known:
                where = f"{place}.{key}" if place else f"the key {key!r}"
                self.unknown.append(f"{where} is not known")

    def tables(self, document: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.faults.append(f"{key} has to be a list of tables ([[{key}]])")
            return []
        return [(f"{key}[{number}]", table) for number, table in enumerate(value)]

    def text(
        self, table: dict[str, Any], key: str, place: str, *, may_be_empty: bool = False
    ) -> str:
        where = f"{place}.{key}" if place else key
        value = table.get(key)
        if value is None:
            self.faults.append(f"{where} is missing")
            return ""
        if not isinstance(value, str) or not (value.strip() or may_be_empty):
            self.faults.append(f"{where} is not a text")
            return ""
        return value

    def names(self, table: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
        where = f"{place}.{key}" if place else key
        value = table.get(key)
        if not isinstance(value, list) or not value:
            self.faults.append(f"{where} has to be a list of project names")
            return ()
        for one in value:
            if not isinstance(one, str) or not _FAMILY.fullmatch(one) or normalize_name(one) != one:
                self.faults.append(f"{where}: {one!r} is not a normalized project name")
        return tuple(str(one) for one in value)

    def members(self, table: dict[str, Any], place: str) -> tuple[str, ...]:
        if "projects" not in table:
            return self.projects
        found = self.names(table, "projects", place)
        for one in found:
            if one not in self.projects:
                self.faults.append(f"{place}.projects: {one!r} is not in the family's projects")
        return found

    def specifier(self, table: dict[str, Any], place: str) -> str:
        value = table.get("releases", "")
        try:
            if not isinstance(value, str):
                raise RequirementError("")
            parse_specifier(value)
        except RequirementError:
            self.faults.append(f"{place}.releases: {value!r} is not a version specifier")
            return ""
        return value

    def platforms(self, table: dict[str, Any], place: str) -> tuple[str, ...]:
        value = table.get("platforms", [])
        if not isinstance(value, list):
            self.faults.append(f"{place}.platforms is not a list")
            return ()
        for one in value:
            if not isinstance(one, str) or not _PLATFORM.fullmatch(one):
                self.faults.append(
                    f"{place}.platforms: {one!r} does not look like 'linux' or 'linux-x86_64'"
                )
        return tuple(str(one) for one in value)

    def agree(self, table: dict[str, Any], place: str, groups: frozenset[str]) -> dict[str, str]:
        value = table.get("agree", {})
        if not isinstance(value, dict):
            self.faults.append(f"{place}.agree is not a table")
            return {}
        for name, one in value.items():
            where = f"{place}.agree.{name}"
            if not _FAMILY.fullmatch(name):
                self.faults.append(f"{where}: the name may hold only a-z, 0-9 and '-'")
            if not isinstance(one, str) or not one:
                self.faults.append(f"{where} is not a text")
            else:
                self.check_template(one, groups, where)
        return {str(name): str(one) for name, one in value.items()}

    def properties(
        self, table: dict[str, Any], place: str, groups: frozenset[str]
    ) -> dict[str, dict[str, tuple[str, ...]]]:
        value = table.get("properties", {})
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        where = f"{place}.properties"
        if not isinstance(value, dict):
            self.faults.append(f"{where} is not a table")
            return found
        for namespace, features in value.items():
            if not is_namespace(namespace) or not isinstance(features, dict) or not features:
                self.faults.append(f"{where}.{namespace} is not a table of features")
                continue
            for feature, values in features.items():
                here = f"{where}.{namespace}.{feature}"
                if not is_namespace(feature):
                    self.faults.append(f"{here}: {feature!r} is not a feature name")
                if not isinstance(values, list) or not values:
                    self.faults.append(f"{here} has to be a list of values")
                    continue
                for one in values:
                    if not isinstance(one, str) or not is_value(_GROUP.sub("x", one)):
                        self.faults.append(f"{here}: {one!r} is not a value")
                    else:
                        self.check_template(one, groups, here)
                found.setdefault(namespace, {})[feature] = tuple(map(str, values))
        return found

    def read_pattern(self, pattern: str, place: str) -> frozenset[str]:
        try:
            return frozenset(re.compile(pattern).groupindex)
        except re.error as error:
            self.faults.append(f"{place}: {pattern!r} is not a regular expression: {error}")
            return frozenset()

    def check_template(self, text: str, groups: frozenset[str], place: str) -> None:
        for name in _GROUP.findall(text):
            if name not in groups:
                self.faults.append(f"{place}: there is no group {{{name}}}")


def find_url_fault(url: str) -> str:
    """What is wrong with the braces in a URL template; empty where nothing is."""
    rest = url.replace("{label}", "")
    return f"{url!r} may hold no braces but {{label}}" if "{" in rest or "}" in rest else ""


def fill_template(text: str, groups: dict[str, str]) -> str:
    """A template with its groups filled in; a group that took part in no match is empty."""
    return _GROUP.sub(lambda match: groups.get(match[1]) or "", text)
