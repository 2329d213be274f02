"""``provider list``, ``trust`` and ``forget``: who answers, and who may."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.errors import ConfigurationError, UsageError, words_of
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vinstall.events import Observer
    from vinstall.providers.choose import TrustedPlugin
    from vinstall.settings import Settings
    from vinstall.workflow.context import Context

TRUST_KEY = "trusted-providers"
_SPELLINGS = frozenset({"trusted-providers", "trust-provider"})
_ARRAY = lazy_pattern(
    r"""^[ \t]*(?P<quote>["']?)(?P<key>[A-Za-z_-]+)(?P=quote)[ \t]*=[ \t]*"""
    r"""(?:\[[^\[\]"']*(?:(?:"[^"\n]*"|'[^'\n]*')[^\[\]"']*)*\]|"[^"\n]*"|'[^'\n]*')""",
    re.MULTILINE,
)
_NAME = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """One who answers, or may.

    Attributes:
        namespace: What it answers for; empty for a package that was not asked yet.
        distribution: Whose code runs.
        version: Its version; empty while it is not installed.
        trust: ``bundled``, or where the user trusted it.
        stands_in_for: Public provider packages whose wheels it serves.
        age: Seconds since its last good answer; ``None`` where none is kept.
        seconds: How long that answer took.
        features: Feature → number of values in that answer.
    """

    namespace: str
    distribution: str
    version: str
    trust: str
    stands_in_for: tuple[str, ...] = ()
    age: float | None = None
    seconds: float | None = None
    features: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TrustChange:
    """What ``trust`` or ``forget`` did.

    Attributes:
        path: The file that holds the trust.
        changed: Names that were added to it, or taken out.
        unchanged: Names that were there already, or were not there.
        environments: How many environments were removed.
        answers: How many kept answers were removed.
    """

    path: str
    changed: tuple[str, ...]
    unchanged: tuple[str, ...] = ()
    environments: int = 0
    answers: int = 0


def list_providers(settings: Settings, observer: Observer) -> tuple[KnownProvider, ...]:
    """Who answers for which namespace, the bundled plugins first; asks nobody."""
    from vinstall.workflow.context import Context

    context = Context(settings, observer)
    try:
        plugins = context.query.trusted_plugins()
        bundled = [_describe_plugin(context, plugins[name]) for name in sorted(plugins)]
        return (*bundled, *_list_packages(context))
    finally:
        context.close()


def _describe_plugin(context: Context, plugin: TrustedPlugin) -> KnownProvider:
    from vinstall.providers.answers import AnswerCache, answer_key, own_python

    settings = context.settings
    key = answer_key(plugin, context.environment, settings.variants.gpu, own_python())
    kept = AnswerCache(settings.cache_dir).look(key)
    return KnownProvider(
        plugin.namespace,
        plugin.distribution,
        plugin.version,
        "bundled",
        plugin.stands_in_for,
        kept[1] if kept else None,
        kept[0].seconds if kept else None,
        tuple((name, len(values)) for name, values in kept[0].features.items()) if kept else (),
    )


def _list_packages(context: Context) -> list[KnownProvider]:
    """Packages that the user trusts, with what is known of their environments."""
    from vinstall.providers.answers import AnswerCache
    from vinstall.workflow.provider_env import iter_environments, package_key

    settings = context.settings
    cache = AnswerCache(settings.cache_dir)
    records = list(iter_environments(settings.cache_dir))
    found = []
    for name in sorted(settings.variants.trusted):
        mine = [record for record in records if name in record.packages]
        record = max(mine, key=lambda one: one.made, default=None)
        version, kept = "", None
        if record is not None:
            version = record.wheels[name].version if name in record.wheels else ""
            key = package_key(record, context.environment, settings.variants.gpu)
            kept = cache.look(key)
        found.append(
            KnownProvider(
                "",
                name,
                version,
                _trusted_where(settings, name),
                (),
                kept[1] if kept else None,
                kept[0].seconds if kept else None,
                tuple((one, len(values)) for one, values in kept[0].features.items())
                if kept
                else (),
            )
        )
    return found


def _trusted_where(settings: Settings, name: str) -> str:
    for what, source in settings.overrides:
        words = re.split(r"[\s=,]+", what)
        if words[0] == "--trust-provider" and name in map(normalize_name, words[1:]):
            return source
    return "configuration"


def providers_to_json(providers: Sequence[KnownProvider]) -> list[dict[str, object]]:
    """The list as JSON values."""
    return [
        {
            "namespace": one.namespace or None,
            "provider": one.distribution,
            "version": one.version or None,
            "trust": one.trust,
            "stands_in_for": list(one.stands_in_for),
            "answer": None
            if one.age is None
            else {
                "age_seconds": round(one.age, 1),
                "took_seconds": round(one.seconds or 0.0, 4),
                "features": dict(one.features),
            },
        }
        for one in providers
    ]


def trust_providers(path: str, names: Sequence[str]) -> TrustChange:
    """Write into the user's file that packages may run.

    Args:
        path: The user's ``vinstall.toml``; made where it is missing.
        names: Names of provider packages.

    Raises:
        UsageError: A name can not be a project.
        ConfigurationError: The file is wrong or can not be written.
    """
    wanted = _check_names(names)
    text, trusted = _read_file(path)
    there = {normalize_name(name) for name in trusted}
    added = tuple(name for name in wanted if name not in there)
    if added:
        _write_file(path, text, [*trusted, *added])
    return TrustChange(path, added, tuple(name for name in wanted if name in there))


def forget_providers(path: str, names: Sequence[str], settings: Settings) -> TrustChange:
    """Take trust back, and remove environments and kept answers.

    Args:
        path: The user's ``vinstall.toml``.
        names: Names of provider packages, or of bundled plugins.
        settings: Where the cache is.

    Raises:
        UsageError: A name can not be a project.
        ConfigurationError: The file is wrong or can not be written.
    """
    from vinstall.providers.answers import AnswerCache
    from vinstall.workflow.provider_env import forget_package

    wanted = _check_names(names)
    text, trusted = _read_file(path)
    there = {normalize_name(name) for name in trusted}
    removed = tuple(name for name in wanted if name in there)
    if removed:
        _write_file(path, text, [one for one in trusted if normalize_name(one) not in removed])
    environments = answers = 0
    if settings.cache_dir:
        cache = AnswerCache(settings.cache_dir)
        for name in wanted:
            environments += forget_package(settings.cache_dir, name)
            answers += cache.forget(name)
    rest = tuple(name for name in wanted if name not in there)
    return TrustChange(path, removed, rest, environments, answers)


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} is not the name of a package",
                "trust is given to a project of an index, by its bare name",
            )
    return tuple(dict.fromkeys(map(normalize_name, names)))


def _read_file(path: str) -> tuple[str, list[str]]:
    """The text of a file and the names that it trusts."""
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        return "", []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} can not be read", words_of(error)) from error
    return text, _trusted_in(_parse(path, text), path)


def _parse(path: str, text: str) -> dict[str, object]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, object] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid TOML", str(error)) from error
    return document


def _is_trust(key: str) -> bool:
    return key.lower().replace("_", "-").removeprefix("--") in _SPELLINGS


def _trusted_in(document: dict[str, object], path: str) -> list[str]:
    found: list[str] = []
    for key, value in document.items():
        if not _is_trust(key):
            continue
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise ConfigurationError(f"{path} {key} is not a list of names")
        found += values
    return found


def _write_file(path: str, text: str, names: Sequence[str]) -> None:
    """Change the one key and leave the rest, comments too, as it stands."""
    import json

    from vinstall.files import write_atomically

    wanted = {key: value for key, value in _parse(path, text).items() if not _is_trust(key)}
    if names:
        wanted[TRUST_KEY] = list(names)
    line = f"{TRUST_KEY} = {json.dumps(list(names))}" if names else ""
    for changed in _iter_edits(text, line):
        if _parses_as(path, changed, wanted):
            content = changed.encode()
            break
    else:
        import tomli_w

        content = tomli_w.dumps(wanted).encode()
    try:
        write_atomically(Path(path), content)
    except OSError as error:
        raise ConfigurationError(
            f"{path} can not be written", error.strerror or str(error)
        ) from error


def _parses_as(path: str, text: str, wanted: dict[str, object]) -> bool:
    try:
        return _parse(path, text) == wanted
    except ConfigurationError:
        return False


def _iter_edits(text: str, line: str) -> Iterator[str]:
    """Texts with the key's own line replaced, added at the top, or taken out.

    Not every one is right: the key may also stand in a table further down.
    """
    for found in _ARRAY.finditer(text):
        if _is_trust(found["key"]):
            end = found.end()
            if not line and text[end : end + 1] == "\n":
                end += 1
            yield text[: found.start()] + line + text[end:]
    if line:
        yield f"{line}\n{text}"
