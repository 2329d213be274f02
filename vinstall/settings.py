"""All that the user wants, as values. Nothing here reads a file or the environment.

``cli.precedence`` merges flags, variables and files into one ``Settings``; every part of
vinstall receives the group that it needs.
"""

from __future__ import annotations

from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from vinstall.distributions.publisher import Publisher
    from vinstall.variants.properties import VariantPattern

PYPI_URL = "https://pypi.org/simple"


@dataclass(frozen=True, slots=True)
class Names:
    """A set of projects as pip writes them: ``:all:``, ``:none:``, or names.

    Attributes:
        everything: Whether ``:all:`` was the last wide word.
        names: Normalized project names.
        but: Names taken out again while ``everything`` holds.
    """

    everything: bool = False
    names: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()

    def __contains__(self, project: object) -> bool:
        if project in self.names:
            return True
        return self.everything and project not in self.but

    def __bool__(self) -> bool:
        return self.everything or bool(self.names)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Where distributions come from and how to reach them.

    Attributes:
        index_url: The main index; empty with ``--no-index``.
        extra_index_urls: Further indexes, in the order given.
        find_links: Folders, ``file:`` URLs or pages, in the order given.
        no_index: Whether only ``find_links`` counts.
        pins: Normalized project → the one index URL it may come from.
        first_index: Whether the first index that has a project wins (pip merges them all).
        trusted_hosts: ``host`` or ``host:port`` without a check of certificates.
        cert: Path of a bundle of certificates; empty for the system's store.
        client_cert: Path of a client certificate; empty for none.
        proxy: Proxy URL; empty to take the environment's.
        no_proxy_env: Whether proxies of the environment are ignored.
        timeout: Seconds of silence before a connection is given up.
        retries: How often a request is tried again.
        keyring_provider: pip's ``--keyring-provider``.
        no_input: Whether nobody may be asked anything.
        refresh: Projects whose pages are asked for again, however fresh they are.
        uploaded_prior_to: ISO 8601 moment; files uploaded later are ignored; empty for none.
    """

    index_url: str = PYPI_URL
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    pins: Mapping[str, str] = field(default_factory=dict)
    first_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    cert: str = ""
    client_cert: str = ""
    proxy: str = ""
    no_proxy_env: bool = False
    timeout: float = 15.0
    retries: int = 5
    keyring_provider: Literal["auto", "disabled", "import", "subprocess"] = "auto"
    no_input: bool = False
    refresh: Names = Names()
    uploaded_prior_to: str = ""


@dataclass(frozen=True, slots=True)
class VariantSettings:
    """What the user says about variants (``variants.md`` §6).

    Attributes:
        disabled: Projects that take only non-variant wheels.
        labels: Normalized project → the one label to take.
        prefer: Patterns; variants with a matching supported property come first.
        exclude: Patterns that count as not supported.
        profile: Path of a machine profile; empty to ask this machine.
        no_providers: Whether nobody is asked: static properties and profiles only.
        trusted: Names of provider packages that may run.
        enabled: Namespaces of optional providers that are switched on.
        required: Normalized project → namespace that its variant must use, empty for any.
        gpu: Whether a variant must run on ``all`` GPUs present, or on the ``best``.
        allow_change: Whether a later install may swap an installed variant.
        strict: Whether bad variant metadata is an error instead of a warning.
    """

    disabled: Names = Names()
    labels: Mapping[str, str] = field(default_factory=dict)
    prefer: tuple[VariantPattern, ...] = ()
    exclude: tuple[VariantPattern, ...] = ()
    profile: str = ""
    no_providers: bool = False
    trusted: tuple[str, ...] = ()
    enabled: frozenset[str] = frozenset()
    required: Mapping[str, str] = field(default_factory=dict)
    gpu: Literal["all", "best"] = "all"
    allow_change: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """What the user says about bridges (``docs/bridges.md``).

    Attributes:
        families: Those that are switched on.
        refused: Whether the user said that none may be used; then no hint is given either.
        files: Paths of further bridge files.
        urls: Name of a URL → the template to use in its place.
    """

    families: Names = Names()
    refused: bool = False
    files: tuple[str, ...] = ()
    urls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolveSettings:
    """How candidates are chosen."""

    upgrade: bool = False
    upgrade_strategy: Literal["only-if-needed", "eager"] = "only-if-needed"
    force_reinstall: bool = False
    ignore_installed: bool = False
    no_deps: bool = False
    only_deps: bool = False
    pre: Names = Names()
    only_final: Names = Names()
    no_binary: Names = Names()
    only_binary: Names = Names()
    prefer_binary: bool = False
    require_hashes: bool | None = None
    ignore_requires_python: bool = False


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """Which environment, and for which platform.

    Attributes:
        python: Path of an interpreter or a virtual environment; empty for the rule of
            ``pip-compat.md`` §5.
        target_dir: ``--target``; empty for none.
        prefix: ``--prefix``; empty for none.
        root: ``--root``; empty for none.
        user: ``--user`` given (true), ``--no-user`` (false), or neither (``None``).
        platforms, python_version, implementation, abis: Another platform.
    """

    python: str = ""
    target_dir: str = ""
    prefix: str = ""
    root: str = ""
    user: bool | None = None
    platforms: tuple[str, ...] = ()
    python_version: str = ""
    implementation: str = ""
    abis: tuple[str, ...] = ()
    break_system_packages: bool = False
    require_virtualenv: bool = False
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """What was asked for on the command line, as written.

    Attributes:
        requirements: Arguments: names, paths, URLs.
        editables: ``-e`` values.
        files: ``-r`` values.
        constraints: ``-c`` values.
        build_constraints: ``--build-constraint`` values.
        groups: ``--group`` values.
        scripts: ``--requirements-from-script`` values.
        config_settings: ``-C`` values.
        exists_actions: What to do with a checkout that is there: the first of ``s i w b a``.
        src: Folder of editable checkouts (``--src``); empty for the environment's.
        no_build_isolation: Whether builds see the target environment.
        check_build_dependencies: Whether they are refused where it lacks what they need.
    """

    requirements: tuple[str, ...] = ()
    editables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    build_constraints: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    config_settings: tuple[str, ...] = ()
    src: str = ""
    exists_actions: tuple[str, ...] = ()
    no_build_isolation: bool = False
    check_build_dependencies: bool = False


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How the command speaks.

    Attributes:
        verbosity: 0 is normal; ``-v`` adds one, ``-q`` takes one away.
        color: ``None`` decides by the terminal.
        progress_bar: pip's ``--progress-bar``.
        log: Path of a debug log; empty for none.
        report: Path of the installation report, ``-`` for stdout, empty for none.
        debug: Whether tracebacks of unexpected errors are shown.
    """

    verbosity: int = 0
    color: bool | None = None
    progress_bar: Literal["auto", "on", "off", "raw"] = "auto"
    log: str = ""
    report: str = ""
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything together.

    Attributes:
        cache_dir: Folder of the cache; empty where caching is off.
        dry_run: Whether nothing may be changed.
        compile: Whether bytecode is compiled.
        allow_overlap: Whether a distribution may replace a file of another one.
        durable: Whether all is on the disk before a change counts.
        max_unpacked: Bytes that a wheel may unpack to; 0 for the usual limits.
        publishers: Normalized project → who has to attest its files (PEP 740).
        refresh_trust: Whether the certificates that attestations rest on are brought up to
            date before they are used.
        overrides: What was overruled and where it was said, for ``explain`` and reports:
            pairs of (what, source), in order of precedence.
    """

    index: IndexSettings = IndexSettings()
    variants: VariantSettings = VariantSettings()
    bridges: BridgeSettings = BridgeSettings()
    resolve: ResolveSettings = ResolveSettings()
    target: TargetSettings = TargetSettings()
    request: RequestSettings = RequestSettings()
    output: OutputSettings = OutputSettings()
    cache_dir: str = ""
    dry_run: bool = False
    compile: bool = False
    allow_overlap: bool = False
    warn_script_location: bool = True
    durable: bool = False
    max_unpacked: int = 0
    publishers: Mapping[str, Publisher] = field(default_factory=dict)
    refresh_trust: bool = True
    overrides: tuple[tuple[str, str], ...] = ()
