"""``doctor``: everything about this machine that decides, what is wrong, and what to do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vinstall import __version__
from vinstall.errors import VinstallError
from vinstall.values import dataclass, field
from vinstall.workflow.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.distributions.target import Target
    from vinstall.events import Observer
    from vinstall.providers.query import ProviderReport
    from vinstall.settings import Settings

_FIRST_TAGS = 5
_LITTLE_SPACE = 1024 * 1024 * 1024
_PATIENCE = 5.0
_PROBE_PROJECT = "pip"
"""A project that nearly every index has; its page is small, unlike that of the whole index."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or may be.

    Attributes:
        level: ``error`` where installs fail or choose badly, ``warning`` otherwise.
        what: One sentence.
        fix: What the user can do; may be empty.
    """

    level: Literal["error", "warning"]
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that is installed for.

    Attributes:
        executable, version, implementation, prefix: As it says itself.
        is_virtual: Whether it is a virtual environment.
        is_managed: Whether the system manages it (PEP 668).
        site_packages: Where an install writes.
        is_writable: Whether that folder can be written.
        tag_count: How many platform compatibility tags fit.
        first_tags: The best of them.
        is_foreign: Whether another platform was asked for.
    """

    executable: str
    version: str
    implementation: str
    prefix: str
    is_virtual: bool
    is_managed: bool
    site_packages: str
    is_writable: bool
    tag_count: int
    first_tags: tuple[str, ...]
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class IndexState:
    """Whether an index, or a folder of wheels, can be read.

    Attributes:
        url: Without passwords.
        is_reachable: Whether it answers.
        seconds: How long it took.
        text: What it said.
    """

    url: str
    is_reachable: bool
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class CacheState:
    """The cache.

    Attributes:
        path: Its folder; empty where caching is off.
        exists, is_writable: Its state.
        free: Bytes free on its file system; ``None`` where nobody can tell.
        parts: Name of each part → number of entries.
    """

    path: str
    exists: bool = False
    is_writable: bool = False
    free: int | None = None
    parts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that ``doctor`` found.

    Attributes:
        vinstall: Our version and the Python that runs it.
        system: Operating system and machine.
        python: The interpreter that is installed for; ``None`` where it can not be used.
        machine: What providers say, one for each namespace.
        profile: Path of the profile that stands in for the machine; may be empty.
        sources: Configuration files and variables that are in force, the weakest first.
        overrides: (what, where it was said), the strongest first.
        indexes: Every index and ``--find-links`` place.
        cache: The cache.
        leftovers: Files that interrupted commands left.
        findings: What is wrong, the errors first.
    """

    vinstall: str
    system: str
    python: Python | None
    machine: tuple[ProviderReport, ...]
    profile: str
    sources: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...]
    indexes: tuple[IndexState, ...]
    cache: CacheState
    leftovers: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong; warnings do not count."""
        return not any(one.level == "error" for one in self.findings)


def run_doctor(settings: Settings, observer: Observer, sources: Sequence[str] = ()) -> Diagnosis:
    """Look at everything; never fails for what it finds.

    Args:
        settings: What the user wants.
        observer: Receives notes of providers.
        sources: Configuration files and variables in force, as the command line read them.
    """
    import platform

    from vinstall.values import replace

    quick = replace(settings.index, timeout=min(settings.index.timeout, _PATIENCE), retries=0)
    context = Context(replace(settings, index=quick), observer)
    findings: list[Finding] = []
    try:
        python = _look_at_python(context, findings)
        machine = _look_at_machine(context, findings) if python is not None else ()
        leftovers = _find_leftovers(context, findings) if python is not None else ()
        indexes = _look_at_indexes(context, findings)
        cache = _look_at_cache(settings.cache_dir, findings)
    finally:
        context.close()
    running = ".".join(map(str, sys.version_info[:3]))
    return Diagnosis(
        vinstall=f"{__version__} on Python {running} ({sys.executable})",
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=python,
        machine=machine,
        profile=settings.variants.profile,
        sources=tuple(sources),
        overrides=settings.overrides,
        indexes=indexes,
        cache=cache,
        leftovers=leftovers,
        findings=tuple(sorted(findings, key=lambda one: one.level != "error")),
    )


def _failed(error: VinstallError) -> Finding:
    return Finding("error", str(error), error.fix)


def _look_at_python(context: Context, findings: list[Finding]) -> Python | None:
    from vinstall.environment.interpreter import check_guards, install_paths

    try:
        base, target = context.base_target, context.target
        paths, note = install_paths(base, context.settings.target)
    except VinstallError as error:
        findings.append(_failed(error))
        return None
    folder = paths["purelib"]
    is_writable = _is_writable(folder)
    if not is_writable:
        findings.append(
            Finding(
                "error",
                f"{folder} can not be written",
                "Make a virtual environment, or give --user or --target.",
            )
        )
    if note:
        findings.append(Finding("warning", note))
    is_managed = False
    try:
        check_guards(base, context.settings.target, context.environment)
    except VinstallError as error:
        is_managed = _has_marker(base)
        findings.append(Finding("error", error.what, error.fix))
    return Python(
        base.executable,
        base.version,
        base.implementation,
        base.prefix,
        base.is_virtual,
        is_managed,
        folder,
        is_writable,
        len(target.tags),
        target.tags[:_FIRST_TAGS],
        target.is_foreign,
    )


def _has_marker(target: Target) -> bool:
    return Path(target.stdlib, "EXTERNALLY-MANAGED").is_file()


def _is_writable(folder: str) -> bool:
    path = Path(folder)
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK)


def _look_at_machine(context: Context, findings: list[Finding]) -> tuple[ProviderReport, ...]:
    from vinstall.providers.query import ProviderReport

    settings = context.settings.variants
    try:
        if settings.profile:
            profile = context.profile
            assert profile is not None, "it was named"
            return tuple(
                ProviderReport(
                    name, f"profile {settings.profile}", {key: tuple(v) for key, v in table.items()}
                )
                for name, table in profile.supported.namespaces.items()
            )
        if settings.no_providers:
            findings.append(Finding("warning", "No provider may be asked (--no-providers)"))
            return ()
        context.query.ask_all()
    except VinstallError as error:
        findings.append(_failed(error))
    reports = context.query.reports()
    if not context.query.trusted_plugins():
        findings.append(
            Finding(
                "warning",
                "No provider plugin is installed beside vinstall",
                "Install vinstall-provider-nvidia, vinstall-provider-x86-64 or what this "
                "machine needs beside vinstall; a profile works too.",
            )
        )
    for report in reports:
        findings.extend(_judge_provider(report))
    return reports


def _judge_provider(report: ProviderReport) -> Iterator[Finding]:
    if "gave no answer" in report.reason:
        yield Finding(
            "error",
            f"{report.namespace}: {report.reason}",
            "Builds that need it will not be chosen. 'vinstall profile save' on a machine that "
            "answers, and --profile here, do without.",
        )
    elif report.present and report.reason:
        yield Finding("error", f"{report.namespace}: {report.reason}")
    problem = report.facts.get("problem")
    if problem and report.present:
        yield Finding("warning", f"{report.namespace}: {problem}")
    gpus = report.facts.get("gpus")
    for gpu in gpus if isinstance(gpus, list) else ():
        if isinstance(gpu, dict) and gpu.get("problem"):
            yield Finding(
                "warning", f"{report.namespace}: GPU {gpu.get('index')}: {gpu['problem']}"
            )
    for note in report.notes:
        if note != problem:
            yield Finding("warning", f"{report.namespace}: {note}")


def _find_leftovers(context: Context, findings: list[Finding]) -> tuple[str, ...]:
    """Journals, trash and half-removed distributions in the environment."""
    from vinstall.environment.interpreter import install_paths
    from vinstall.install.journal import JOURNAL_NAME, TRASH_PREFIX

    paths, _ = install_paths(context.base_target, context.settings.target)
    found: list[str] = []
    for folder in dict.fromkeys((paths["purelib"], paths["platlib"])):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            continue
        journals = [name for name in names if name == JOURNAL_NAME]
        rubbish = [name for name in names if name.startswith((TRASH_PREFIX, "~"))]
        found += [str(Path(folder, name)) for name in (*journals, *rubbish)]
        if journals:
            findings.append(
                Finding(
                    "error",
                    f"An interrupted command left its journal in {folder}",
                    "The next install or uninstall puts the environment in order.",
                )
            )
        if rubbish:
            findings.append(
                Finding(
                    "warning",
                    f"{folder} holds {len(rubbish)} leftovers of interrupted removals",
                    f"They can be deleted: {', '.join(rubbish[:5])}",
                )
            )
    return tuple(found)


def _look_at_indexes(context: Context, findings: list[Finding]) -> tuple[IndexState, ...]:
    settings = context.settings.index
    urls = [] if settings.no_index else [settings.index_url, *settings.extra_index_urls]
    urls += [url for url in settings.pins.values() if url not in urls]
    places = [_ask_index(context, url) for url in urls if url]
    places += [_look_at_links(context, place) for place in settings.find_links]
    if not places:
        findings.append(
            Finding("error", "There is no index and no --find-links place to install from")
        )
    for place in places:
        if not place.is_reachable:
            findings.append(
                Finding(
                    "error",
                    f"{place.url} can not be read: {place.text}",
                    "Check the address, the proxy (HTTPS_PROXY) and the certificates (--cert).",
                )
            )
    return tuple(places)


def _ask_index(context: Context, url: str) -> IndexState:
    from vinstall.index.address import project_url, redact_url
    from vinstall.index.client import StatusError

    shown = redact_url(url)
    if url.startswith("file:"):
        return _look_at_links(context, url)
    start = time.monotonic()
    try:
        response = context.client.head(project_url(url, _PROBE_PROJECT))
        reachable, text = True, f"status {response.status}"
    except StatusError as error:
        # who does not have the project, or no HEAD, is there all the same
        reachable = error.status in (404, 405, 501)
        text = f"status {error.status}" if reachable else str(error)
    except VinstallError as error:
        reachable, text = False, str(error)
    return IndexState(shown, reachable, time.monotonic() - start, text)


def _look_at_links(context: Context, place: str) -> IndexState:
    from vinstall.index.address import path_of, redact_url

    shown = redact_url(place)
    start = time.monotonic()
    if place.startswith(("http:", "https:")):
        try:
            response = context.client.head(place)
            return IndexState(shown, True, time.monotonic() - start, f"status {response.status}")
        except VinstallError as error:
            return IndexState(shown, False, time.monotonic() - start, str(error))
    path = path_of(place) if place.startswith("file:") else Path(place).expanduser()
    exists = path.exists()
    text = "it is there" if exists else "there is no such file or folder"
    return IndexState(shown, exists, time.monotonic() - start, text)


def _look_at_cache(folder: str, findings: list[Finding]) -> CacheState:
    import shutil

    if not folder:
        findings.append(
            Finding("warning", "The cache is switched off", "Every install fetches all anew.")
        )
        return CacheState("")
    path = Path(folder)
    free: int | None = None
    nearest = path
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        free = shutil.disk_usage(nearest).free
    except OSError:
        free = None
    is_writable = nearest.is_dir() and os.access(nearest, os.W_OK)
    if not is_writable:
        findings.append(
            Finding(
                "warning",
                f"The cache {folder} can not be written",
                "Give --cache-dir a folder of your own; until then every install fetches all anew.",
            )
        )
    elif free is not None and free < _LITTLE_SPACE:
        findings.append(
            Finding(
                "warning",
                f"Only {free // (1024 * 1024)} MiB are free where the cache lies ({folder})",
                "Make room, or use --cache-dir.",
            )
        )
    return CacheState(folder, path.is_dir(), is_writable, free, _count_parts(path))


def _count_parts(folder: Path) -> dict[str, int]:
    parts: dict[str, int] = {}
    try:
        for part in sorted(folder.iterdir()):
            if part.is_dir() and not part.name.startswith("."):
                depth = "*/*" if part.name.startswith("store-") else "*"
                parts[part.name] = sum(1 for one in part.glob(depth) if one.name[0] != ".")
    except OSError:
        return parts
    return parts


def diagnosis_to_json(diagnosis: Diagnosis) -> dict[str, object]:
    """Everything as JSON values."""
    from dataclasses import asdict

    python = diagnosis.python
    return {
        "vinstall": diagnosis.vinstall,
        "system": diagnosis.system,
        "healthy": diagnosis.is_healthy,
        "python": None if python is None else asdict(python),
        "machine": [asdict(report) for report in diagnosis.machine],
        "profile": diagnosis.profile or None,
        "sources": list(diagnosis.sources),
        "overrides": [list(pair) for pair in diagnosis.overrides],
        "indexes": [asdict(one) for one in diagnosis.indexes],
        "cache": asdict(diagnosis.cache),
        "leftovers": list(diagnosis.leftovers),
        "findings": [asdict(one) for one in diagnosis.findings],
    }
