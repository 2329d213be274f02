"""Flags > ``VINSTALL_*`` > ``PIP_*`` > files > defaults → one ``Settings``.

This module, with ``config_files``, is the only one that reads the environment and the
configuration. Between sources a list replaces the weaker one; the command line adds to what
is left, as in pip (``pip-compat.md`` §3).
"""

from __future__ import annotations

from pathlib import Path

from vinstall.cli.config_files import (
    our_files,
    our_levels,
    our_variables,
    pip_config_files,
    pip_levels,
    pip_variables,
)
from vinstall.cli.options import COLLECTED, command_specs, options_of
from vinstall.cli.parser import COMMAND_LINE, OptionConflictError
from vinstall.distributions.filename import normalize_name
from vinstall.errors import UsageError, VariantMetadataError, WrongSettingError
from vinstall.events import Warned
from vinstall.settings import (
    PYPI_URL,
    BridgeSettings,
    IndexSettings,
    Names,
    OutputSettings,
    RequestSettings,
    ResolveSettings,
    Settings,
    TargetSettings,
    VariantSettings,
)
from vinstall.values import cast, dataclass, field
from vinstall.variants.properties import is_label, is_namespace, parse_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal  # noqa: F401 (in texts)

    from vinstall.cli.config_files import Level, Surroundings
    from vinstall.cli.options import Option
    from vinstall.cli.parser import CommandLine, Given, Value
    from vinstall.distributions.publisher import Publisher
    from vinstall.variants.properties import VariantPattern

_VARIANT_DESTS = (
    "profile",
    "no_variant",
    "variant_labels",
    "required_variants",
    "prefer_variants",
    "exclude_variants",
    "no_providers",
    "trusted_providers",
    "enabled_providers",
    "gpu",
    "allow_variant_change",
    "strict_variants",
)
_OVERRIDING_DESTS = (
    *_VARIANT_DESTS,
    "bridge",
    "no_bridge",
    "bridge_files",
    "bridge_urls",
    "platforms",
    "python_version",
    "implementation",
    "abis",
    "index_pins",
    "index_strategy",
)
_TOOL_RECEIPTS = ("pipx_metadata.json", "uv-receipt.toml")
_ACTIONS_NEEDED = frozenset({"cache", "config", "index", "profile", "provider", "variant"})
_CHOSEN_COMMANDS = frozenset({"install", "download", "wheel", "lock", "explain", "sync"})
_NEW_FEATURES = frozenset(
    {
        "build-constraint",
        "fast-deps",
        "inprocess-build-deps",
        "no-binary-enable-wheel-cache",
        "truststore",
        "venv-isolation",
    }
)

PROVIDER_VARIABLES = {
    "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": (r"\d+\.\d+", "a version like 12.8"),
    "NV_VARIANT_PROVIDER_FORCE_SM_ARCH": (r"\d+\.\d+", "a compute capability like 9.0"),
    "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION": (
        r"\d+\.\d+(\.\d+)?",
        "a version like 6.4 or 6.4.1",
    ),
    "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH": (
        r"gfx[0-9a-f]+(,gfx[0-9a-f]+)*",
        "an architecture like gfx942",
    ),
}
"""Variables of the public providers that overrule what is detected: form and its name."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a command was given beside its settings.

    Attributes:
        command: Name of the command.
        action: First word of a command that has actions; else empty.
        words: The other words, in the order given.
        values: Every option's values by destination, weakest first.
    """

    command: str
    action: str = ""
    words: tuple[str, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    def flag(self, dest: str, default: bool = False) -> bool:
        """Whether a switch is on."""
        found = self.values.get(dest)
        return bool(found[-1]) if found else default

    def text(self, dest: str, default: str = "") -> str:
        """The text of an option."""
        found = self.values.get(dest)
        return str(found[-1]) if found else default

    def items(self, dest: str) -> tuple[str, ...]:
        """All texts of an option, in the order given."""
        return tuple(str(value) for value in self.values.get(dest, ()))


@dataclass(frozen=True, slots=True)
class Merged:
    """Everything that the sources say together.

    Attributes:
        settings: What all parts of vinstall receive.
        arguments: What only the command receives.
        warnings: What the user should be told.
        rests_on: Files that were read, or would have been if they were there.
    """

    settings: Settings
    arguments: Arguments
    warnings: tuple[Warned, ...] = ()
    rests_on: tuple[str, ...] = ()


def merge_settings(line: CommandLine, surroundings: Surroundings) -> Merged:
    """Merge a command line with variables and files.

    Args:
        line: The parsed command line.
        surroundings: Variables and folders.

    Returns:
        Settings, the command's own arguments, and what the user should be told.

    Raises:
        WrongSettingError: A file or a variable holds something wrong.
        UsageError: Options contradict each other, or have a value that they can not have.
    """
    spec = command_specs()[line.command]
    options = {name: option for option in options_of(spec) for name in option.names}
    isolated = any(given.option.dest == "isolated" for given in line.given)
    rests_on: list[str] = []
    values, unknown = _gather(line, surroundings, options, isolated, rests_on)
    _check_conflicts(line, values)
    warnings = [
        Warned(
            "unknown-variable",
            f"{name} is not a setting of vinstall and is ignored",
            "Settings are the long names of options, like VINSTALL_NO_VARIANT.",
        )
        for name in unknown
    ]
    warnings.extend(_feature_warnings(values))
    return Merged(
        _settings(line, values, surroundings, isolated),
        _arguments(line, values, spec.actions),
        tuple(warnings),
        tuple(rests_on),
    )


class _Values:
    """Given options by destination, weakest first, while sources are merged."""

    def __init__(self) -> None:
        self.given: dict[str, list[Given]] = {}

    def add(self, level: Iterable[Given], *, keep: bool = False, sticky: bool = False) -> None:
        """Let a stronger level speak.

        Args:
            level: What it says.
            keep: Whether lists and counts add to what is there (the command line).
            sticky: Whether a cache that is off stays off (between pip's own sources).
        """
        new: dict[str, list[Given]] = {}
        for given in level:
            new.setdefault(given.option.dest, []).append(given)
        for dest, found in new.items():
            old = self.given.get(dest, [])
            kind = found[0].option.kind
            if kind == "control" or (keep and (kind in COLLECTED or kind in ("count", "projects"))):
                self.given[dest] = [*old, *found]
            elif kind in COLLECTED or kind in ("count", "projects"):
                self.given[dest] = found
            elif dest == "cache_dir" and sticky:
                off = [one for one in (*old, *found) if one.option.kind == "cache-off"]
                self.given[dest] = (off or found)[-1:]
            else:
                self.given[dest] = found[-1:]

    def all(self, dest: str) -> list[Given]:
        return self.given.get(dest, [])

    def last(self, dest: str) -> Given | None:
        found = self.given.get(dest)
        return found[-1] if found else None

    def flag(self, dest: str, default: bool = False) -> bool:
        found = self.last(dest)
        return default if found is None else bool(found.value)

    def text(self, dest: str, default: str = "") -> str:
        found = self.last(dest)
        return default if found is None else str(found.value)

    def items(self, dest: str) -> tuple[str, ...]:
        return tuple(str(given.value) for given in self.all(dest))

    def total(self, dest: str) -> int:
        return sum(int(given.value) for given in self.all(dest))


def _gather(
    line: CommandLine,
    surroundings: Surroundings,
    options: Mapping[str, Option],
    isolated: bool,
    rests_on: list[str],
) -> tuple[_Values, tuple[str, ...]]:
    """All sources, weakest first; tells which files they rest on."""
    variables: Level = ()
    ours: Level = ()
    unknown: tuple[str, ...] = ()
    if not isolated:
        variables = pip_variables(surroundings.environment, options)
        ours, unknown = our_variables(surroundings.environment, options)
    python = next(
        (
            str(given.value)
            for given in reversed((*variables, *ours, *line.given))
            if given.option.dest == "python"
        ),
        "",
    )
    prefix = target_prefix(python, surroundings)
    files = pip_config_files(surroundings, prefix, isolated=isolated)
    paths = [path for level in files.values() for path in level]
    values = _Values()
    for level in pip_levels(paths, line.command, options):
        values.add(level, sticky=True)
    own = our_files(surroundings, prefix, isolated=isolated)
    rests_on += [*paths, *own]
    rests_on += [str(Path(surroundings.prefix, name)) for name in _TOOL_RECEIPTS]
    rests_on += [
        str(folder / "pyproject.toml")
        for folder in (Path(surroundings.folder), *Path(surroundings.folder).parents)
    ]
    for path in own:
        for level in our_levels(path, line.command, options):
            values.add(level)
    values.add(variables, sticky=True)
    values.add(ours)
    values.add(line.given, keep=True)
    return values, unknown


def target_prefix(python: str, surroundings: Surroundings) -> str:
    """The prefix of the target environment, told without starting an interpreter.

    Follows ``pip-compat.md`` §5: ``--python``; else the running environment; else
    ``VIRTUAL_ENV`` where vinstall sits in an environment made for tools.
    """
    if python:
        path = Path(python)
        if path.is_dir():
            return str(path)
        if path.exists():
            return str(path.parent.parent)
    active = surroundings.environment.get("VIRTUAL_ENV", "")
    is_tool = any(Path(surroundings.prefix, name).exists() for name in _TOOL_RECEIPTS)
    if active and is_tool and Path(active).is_dir():
        return active
    return surroundings.prefix


def _check_conflicts(line: CommandLine, values: _Values) -> None:
    """Refuse what pip refuses; its status for that is 1."""
    if values.flag("pre") and values.all("release_control"):
        raise OptionConflictError("--pre cannot be used with --all-releases or --only-final.")
    if values.flag("require_hashes") and values.flag("no_require_hashes"):
        raise OptionConflictError("--require-hashes and --no-require-hashes exclude each other.")
    if values.flag("only_deps"):
        for dest, name in (
            ("no_deps", "--no-deps"),
            ("requirement_files", "--requirement"),
            ("requirement_scripts", "--requirements-from-script"),
            ("groups", "--group"),
        ):
            if any(given.value is not False for given in values.all(dest)):
                raise OptionConflictError(f"--only-deps cannot be used with {name}.")
    if values.items("build_constraint_files") and not values.flag("build_isolation", True):
        raise OptionConflictError("--build-constraint cannot be used with --no-build-isolation.")
    if values.flag("user"):
        for dest in ("target_dir", "prefix"):
            if values.text(dest):
                other = dest.partition("_")[0]
                raise OptionConflictError(f"--user cannot be used with --{other}.")
    if values.text("target_dir") and values.text("prefix"):
        raise OptionConflictError("--target cannot be used with --prefix.")
    if line.command == "list":
        _check_list_conflicts(values)
    if line.command in ("install", "download"):
        _check_platform_conflicts(line.command, values)


def _check_list_conflicts(values: _Values) -> None:
    if values.flag("outdated") and values.flag("uptodate"):
        raise OptionConflictError("--outdated and --uptodate exclude each other.")
    if values.flag("outdated") and values.text("format") == "freeze":
        raise OptionConflictError("--format freeze cannot be used with --outdated.")
    if values.items("paths") and (values.flag("user_only") or values.flag("local")):
        raise OptionConflictError("--path cannot be used with --user or --local.")


def _check_platform_conflicts(command: str, values: _Values) -> None:
    if not any(
        values.items(dest) for dest in ("platforms", "python_version", "implementation", "abis")
    ):
        return
    no_binary, only_binary = _fold_control(values.all("format_control"), "--no-binary")
    only_wheels = only_binary == Names(everything=True) and not no_binary
    if not only_wheels and not values.flag("no_deps"):
        raise OptionConflictError(
            "--platform, --python-version, --implementation and --abi need --no-deps or "
            "--only-binary=:all: (and no --no-binary).",
            "a source distribution would be built for this platform, not for the other one",
        )
    if command == "install" and not values.flag("dry_run") and not values.text("target_dir"):
        raise OptionConflictError(
            "--platform, --python-version, --implementation and --abi need --target or --dry-run."
        )


def _feature_warnings(values: _Values) -> list[Warned]:
    warnings = [
        Warned("unknown-feature", f"--use-feature {name} is not known and is ignored")
        for name in values.items("features")
        if name not in _NEW_FEATURES
    ]
    warnings.extend(
        Warned("deprecated-feature", f"--use-deprecated {name} is not offered and is ignored")
        for name in values.items("deprecated_features")
    )
    return warnings


def _arguments(line: CommandLine, values: _Values, actions: Sequence[str]) -> Arguments:
    words = line.words
    action = ""
    if line.command in _ACTIONS_NEEDED:
        if not words or words[0] not in actions:
            said = f", not {words[0]!r}" if words else ""
            raise OptionConflictError(
                f"{line.command} needs an action ({', '.join(actions)}){said}."
            )
        action, words = words[0], words[1:]
    given = {dest: tuple(one.value for one in found) for dest, found in values.given.items()}
    return Arguments(line.command, action, words, given)


def _fold_control(found: Sequence[Given], first: str) -> tuple[Names, Names]:
    """Two opposite controls, folded in the order given; a name in one leaves the other.

    Args:
        found: What was given, of both options.
        first: Name of the option whose names are returned first.
    """
    chosen: tuple[set[str], set[str]] = (set(), set())
    for given in found:
        mine = 0 if given.option.name == first else 1
        target, other = chosen[mine], chosen[1 - mine]
        words = [word.strip() for word in str(given.value).split(",")]
        if ":all:" in words:
            other.clear()
            target.clear()
            target.add(":all:")
            words = words[len(words) - words[::-1].index(":all:") :]
            if ":none:" not in words:
                continue
        for word in words:
            if word == ":none:":
                target.clear()
            elif word:
                name = normalize_name(word)
                other.discard(name)
                target.add(name)
    return _names(chosen[0], chosen[1]), _names(chosen[1], chosen[0])


def _names(own: set[str], other: set[str]) -> Names:
    names = frozenset(own - {":all:"})
    if ":all:" in own:
        return Names(True, names, frozenset(other - {":all:"}))
    return Names(False, names)


def _settings(
    line: CommandLine, values: _Values, surroundings: Surroundings, isolated: bool
) -> Settings:
    environment = surroundings.environment
    spec_names = {option.dest for option in options_of(command_specs()[line.command])}
    variants = _variant_settings(values)
    provider_overrides: tuple[tuple[str, str], ...] = ()
    if "no_variant" in spec_names and not variants.disabled.everything:
        provider_overrides = _provider_overrides(environment)
    has_actions = line.command in _ACTIONS_NEEDED
    return Settings(
        index=_index_settings(values, surroundings),
        variants=variants,
        bridges=_bridge_settings(values),
        resolve=_resolve_settings(values),
        target=_target_settings(values, isolated),
        request=RequestSettings(
            requirements=() if has_actions else line.words,
            editables=values.items("editables") if line.command in _CHOSEN_COMMANDS else (),
            files=values.items("requirement_files"),
            constraints=values.items("constraint_files"),
            build_constraints=values.items("build_constraint_files"),
            groups=values.items("groups"),
            scripts=values.items("requirement_scripts"),
            config_settings=values.items("config_settings"),
            exists_actions=values.items("exists_actions"),
            src=values.text("src"),
            no_build_isolation=not values.flag("build_isolation", True),
            check_build_dependencies=values.flag("check_build_dependencies"),
        ),
        output=_output_settings(values, surroundings),
        cache_dir=_cache_dir(values, surroundings),
        dry_run=values.flag("dry_run"),
        compile=values.flag("compile"),
        allow_overlap=values.flag("allow_overlap"),
        warn_script_location=values.flag("warn_script_location", True),
        durable=values.flag("durable"),
        max_unpacked=_bytes_of_gib(values.all("max_unpacked")),
        publishers=_publishers(values.all("required_attestations")),
        refresh_trust=values.text("attestation_trust", "fresh") == "fresh",
        overrides=(*_overrides(values), *provider_overrides),
    )


def _index_settings(values: _Values, surroundings: Surroundings) -> IndexSettings:
    environment = surroundings.environment
    no_index = values.flag("no_index")
    cert = (
        values.text("cert")
        or environment.get("REQUESTS_CA_BUNDLE", "")
        or environment.get("CURL_CA_BUNDLE", "")
    )
    keyring = values.text("keyring_provider", "auto")
    return IndexSettings(
        index_url="" if no_index else values.text("index_url", PYPI_URL),
        extra_index_urls=() if no_index else values.items("extra_index_urls"),
        find_links=tuple(_expand(place, surroundings) for place in values.items("find_links")),
        no_index=no_index,
        pins=_pairs(values.all("index_pins")),
        first_index=values.text("index_strategy") == "first-index",
        trusted_hosts=values.items("trusted_hosts"),
        cert=_expand(cert, surroundings),
        client_cert=_expand(values.text("client_cert"), surroundings),
        proxy=values.text("proxy"),
        no_proxy_env=values.flag("no_proxy_env"),
        timeout=float(values.text("timeout", "15")),
        retries=int(values.text("retries", "5")),
        keyring_provider=cast("Literal['auto', 'disabled', 'import', 'subprocess']", keyring),
        no_input=values.flag("no_input"),
        refresh=_fold_control(values.all("refresh_packages"), "--refresh-package")[0],
        uploaded_prior_to=values.text("uploaded_prior_to"),
    )


def _expand(path: str, surroundings: Surroundings) -> str:
    """A path with ``~`` in front replaced by the home folder."""
    if path == "~" or path.startswith(("~/", "~\\")):
        return surroundings.home + path[1:]
    return path


def _resolve_settings(values: _Values) -> ResolveSettings:
    no_binary, only_binary = _fold_control(values.all("format_control"), "--no-binary")
    pre, only_final = _fold_control(values.all("release_control"), "--all-releases")
    require_hashes = True if values.flag("require_hashes") else None
    return ResolveSettings(
        upgrade=values.flag("upgrade"),
        upgrade_strategy=cast(
            "Literal['only-if-needed', 'eager']",
            values.text("upgrade_strategy", "only-if-needed"),
        ),
        force_reinstall=values.flag("force_reinstall"),
        ignore_installed=values.flag("ignore_installed") or bool(values.text("target_dir")),
        no_deps=values.flag("no_deps"),
        only_deps=values.flag("only_deps"),
        pre=Names(everything=True) if values.flag("pre") else pre,
        only_final=only_final,
        no_binary=no_binary,
        only_binary=only_binary,
        prefer_binary=values.flag("prefer_binary"),
        require_hashes=False if values.flag("no_require_hashes") else require_hashes,
        ignore_requires_python=values.flag("ignore_requires_python"),
    )


def _target_settings(values: _Values, isolated: bool) -> TargetSettings:
    return TargetSettings(
        python=values.text("python"),
        target_dir=values.text("target_dir"),
        prefix=values.text("prefix"),
        root=values.text("root"),
        user=values.flag("user") if values.all("user") else None,
        platforms=values.items("platforms"),
        python_version=values.text("python_version"),
        implementation=values.text("implementation"),
        abis=values.items("abis"),
        break_system_packages=values.flag("break_system_packages"),
        require_virtualenv=values.flag("require_virtualenv"),
        isolated=isolated,
    )


def _output_settings(values: _Values, surroundings: Surroundings) -> OutputSettings:
    environment = surroundings.environment
    debug = values.flag("debug")
    color: bool | None = None
    if values.flag("no_color") or environment.get("NO_COLOR"):
        color = False
    elif environment.get("FORCE_COLOR"):
        color = True
    elif environment.get("TERM") == "dumb" or (
        surroundings.platform == "win32" and not environment.get("WT_SESSION")
    ):
        color = False
    progress = values.text("progress_bar", "auto")
    return OutputSettings(
        verbosity=2 if debug else values.total("verbose") - values.total("quiet"),
        color=color,
        progress_bar=cast("Literal['auto', 'on', 'off', 'raw']", progress),
        log=values.text("log"),
        report=values.text("report"),
        debug=debug,
    )


def _cache_dir(values: _Values, surroundings: Surroundings) -> str:
    given = values.last("cache_dir")
    if given is None:
        return _default_cache(surroundings)
    if given.option.kind == "cache-off":
        return ""
    path = str(Path(surroundings.folder, _expand(str(given.value), surroundings)))
    shared = given.source.startswith("PIP_") or "pip." in given.source.partition(" [")[0]
    # A cache that is named for pip holds pip's own files too; ours lie in a folder of their own.
    return str(Path(path, "vinstall")) if shared else path


def _default_cache(surroundings: Surroundings) -> str:
    if surroundings.platform in ("win32", "darwin"):
        from platformdirs import user_cache_dir

        return user_cache_dir("vinstall", appauthor=False)
    base = surroundings.environment.get("XDG_CACHE_HOME") or str(Path(surroundings.home, ".cache"))
    return str(Path(base, "vinstall"))


def _wrong(given: Given, why: str, fix: str) -> UsageError | WrongSettingError:
    """An error of the right class for a value that came from anywhere."""
    if given.source == COMMAND_LINE:
        return UsageError(f"option {given.option.name}: {given.value!r} can not be used", why, fix)
    return WrongSettingError(
        f"{given.source} does not fit the option {given.option.name}",
        f"{given.value!r} can not be used: {why}",
        fix,
    )


def _strength(given: Given) -> int:
    """How strong the source of an option is."""
    if given.source == COMMAND_LINE:
        return 3
    return 2 if given.source.startswith("VINSTALL_") else 1


def _pairs(found: Sequence[Given]) -> dict[str, str]:
    """Project → value; a stronger source wins, one source may not say two things."""
    chosen: dict[str, Given] = {}
    for given in found:
        name, value = _pair(given)
        before = chosen.get(name)
        if before is not None and _strength(before) == _strength(given):
            other = _pair(before)[1]
            if other != value:
                raise UsageError(
                    f"{given.option.name} says two things about {name}: {other} and {value}",
                    f"said by {before.source} and {given.source}",
                    "Keep one of them.",
                )
        chosen[name] = given
    return {name: _pair(given)[1] for name, given in chosen.items()}


def _pair(given: Given) -> tuple[str, str]:
    name, _, value = str(given.value).partition("=")
    return normalize_name(name.strip()), value.strip()


def _variant_settings(values: _Values) -> VariantSettings:
    disabled = _disabled(values.all("no_variant"))
    labels = _labels(values.all("variant_labels"))
    required = _required(values.all("required_variants"))
    clash = [name for name in required if name in disabled]
    if clash:
        raise UsageError(
            f"--require-variant {clash[0]} and --no-variant contradict each other",
            _sources(values, "required_variants", "no_variant"),
            "Keep one of them.",
        )
    for name in [name for name in labels if name in disabled]:
        label = max(map(_strength, values.all("variant_labels")))
        switch = max(map(_strength, values.all("no_variant")))
        if label == switch:
            raise UsageError(
                f"--variant {name}={labels[name]} and --no-variant contradict each other",
                _sources(values, "variant_labels", "no_variant"),
                "Keep one of them.",
            )
        if switch > label:
            del labels[name]
        else:
            disabled = Names(
                disabled.everything,
                disabled.names - {name},
                disabled.but | {name} if disabled.everything else disabled.but,
            )
    return VariantSettings(
        disabled=disabled,
        labels=labels,
        prefer=_patterns(values.all("prefer_variants")),
        exclude=_patterns(values.all("exclude_variants")),
        profile=values.text("profile"),
        no_providers=values.flag("no_providers"),
        trusted=tuple(dict.fromkeys(map(normalize_name, values.items("trusted_providers")))),
        enabled=_namespaces(values.all("enabled_providers")),
        required=required,
        gpu=cast("Literal['all', 'best']", values.text("gpu", "all")),
        allow_change=values.flag("allow_variant_change"),
        strict=values.flag("strict_variants"),
    )


def _bridge_settings(values: _Values) -> BridgeSettings:
    families = _disabled(values.all("bridge"), "Write --bridge or --bridge=a,b.")
    off = values.last("no_bridge")
    refused = off is not None and bool(off.value)
    if off is not None and refused and families:
        switch = max(map(_strength, values.all("bridge")))
        if switch == _strength(off):
            raise UsageError(
                "--bridge and --no-bridge contradict each other",
                _sources(values, "bridge", "no_bridge"),
                "Keep one of them.",
            )
        refused = switch < _strength(off)
    said = values.last("bridge")
    urls = values.all("bridge_urls")
    for given in urls:
        name, url = _pair(given)
        rest = url.replace("{label}", "")
        if not name or not url or "{" in rest or "}" in rest:
            raise _wrong(
                given,
                "a name and a URL are needed, with no braces but {label}",
                "Write it like NAME=https://host/{label}/.",
            )
    return BridgeSettings(
        families=Names() if refused else families,
        refused=refused or (said is not None and not families),
        files=values.items("bridge_files"),
        urls=_pairs(urls),
    )


def _sources(values: _Values, *dests: str) -> str:
    said = (f"{given} ({given.source})" for dest in dests for given in values.all(dest))
    return "said: " + ", ".join(said)


def _disabled(
    found: Sequence[Given], fix: str = "Write --no-variant or --no-variant=a,b."
) -> Names:
    everything = False
    names: set[str] = set()
    for given in found:
        for word in (part.strip() for part in str(given.value).split(",")):
            if word == ":all:":
                everything = True
            elif word == ":none:":
                everything = False
                names.clear()
            elif word:
                names.add(normalize_name(word))
            else:
                raise _wrong(given, "a name is empty", fix)
    return Names(everything, frozenset(names))


def _labels(found: Sequence[Given]) -> dict[str, str]:
    for given in found:
        name, label = _pair(given)
        if not name or not is_label(label):
            raise _wrong(
                given,
                f"{label!r} is not a variant label" if name else "a name is missing",
                "Write it like torch=cu128: lower case letters, digits, '_' and '.'.",
            )
    return _pairs(found)


def _bytes_of_gib(found: Sequence[Given]) -> int:
    if not found:
        return 0
    try:
        size = int(float(str(found[-1].value)) * 2**30)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise _wrong(found[-1], "it has to be more than nothing", "Write it like 100, in GiB.")
    return size


def _publishers(found: Sequence[Given]) -> dict[str, Publisher]:
    if not found:
        return {}
    from vinstall.distributions.publisher import FORMS, parse_publisher

    for given in found:
        name, text = _pair(given)
        try:
            parse_publisher(text)
        except ValueError as error:
            raise _wrong(given, str(error), f"Write it like NAME={FORMS}.") from error
        if not name:
            raise _wrong(given, "a name is missing", f"Write it like NAME={FORMS}.")
    return {name: parse_publisher(text) for name, text in _pairs(found).items()}


def _required(found: Sequence[Given]) -> dict[str, str]:
    required: dict[str, str] = {}
    for given in found:
        name, namespace = _pair(given)
        if not name or (namespace and not is_namespace(namespace)):
            raise _wrong(
                given,
                f"{namespace!r} is not a namespace" if name else "a name is missing",
                "Write it like torch or torch=nvidia.",
            )
        required[name] = namespace
    return required


def _patterns(found: Sequence[Given]) -> tuple[VariantPattern, ...]:
    patterns: dict[VariantPattern, None] = {}
    for given in found:
        try:
            patterns[parse_pattern(str(given.value))] = None
        except VariantMetadataError as error:
            raise _wrong(
                given,
                error.why,
                "Write it like 'nvidia' or 'nvidia :: sm_arch :: 90_real'.",
            ) from error
    return tuple(patterns)


def _namespaces(found: Sequence[Given]) -> frozenset[str]:
    for given in found:
        if not is_namespace(str(given.value)):
            raise _wrong(
                given,
                "it is not a namespace",
                "A namespace has lower case letters, digits and '_', like nvidia.",
            )
    return frozenset(str(given.value) for given in found)


def _provider_overrides(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What the variables of the public providers say, checked.

    Raises:
        WrongSettingError: A variable has a form that no provider understands.
    """
    import re

    found: list[tuple[str, str]] = []
    for name, (form, words) in PROVIDER_VARIABLES.items():
        text = environment.get(name)
        if text is None:
            continue
        if re.fullmatch(form, text) is None:
            raise WrongSettingError(
                f"{name} has the value {text!r}",
                f"it has to be {words}",
                f"Correct or unset {name}.",
            )
        found.append((f"{name}={text}", "environment"))
    return tuple(found)


def _overrides(values: _Values) -> tuple[tuple[str, str], ...]:
    """What was overruled and where, the strongest source first."""
    found = [given for dest in _OVERRIDING_DESTS for given in values.all(dest)]
    found.sort(key=_strength, reverse=True)
    return tuple((str(given), given.source) for given in found)
