"""What ``doctor`` found, and who answers for what → lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.console.tables import format_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.providers.query import ProviderReport
    from vinstall.workflow.doctor import Diagnosis, IndexState, Python
    from vinstall.workflow.providers import KnownProvider

_SHOWN_VALUES = 6
_SHOWN_SWITCHES = 12
_GIBIBYTE = 1024 * 1024 * 1024


def iter_diagnosis(diagnosis: Diagnosis, *, everything: bool = False) -> Iterator[str]:
    """Lines that tell what decides here, and at the end what is wrong.

    Args:
        diagnosis: What was found.
        everything: Whether all values and facts are told.
    """
    yield f"vinstall: {diagnosis.vinstall}"
    yield f"System: {diagnosis.system}"
    if diagnosis.python is not None:
        yield from _iter_python(diagnosis.python)
    yield f"Machine: as {diagnosis.profile} says" if diagnosis.profile else "Machine:"
    if not diagnosis.machine:
        yield "  nothing is known"
    for report in diagnosis.machine:
        yield from _iter_report(report, everything)
    if diagnosis.sources:
        yield "Configuration, the weakest first:"
        yield from (f"  {source}" for source in diagnosis.sources)
    else:
        yield "Configuration: none"
    if diagnosis.overrides:
        yield "Overrides, the strongest first:"
        yield from (f"  {what} ({source})" for what, source in diagnosis.overrides)
    yield "Indexes:"
    yield from map(_format_index, diagnosis.indexes)
    yield from _iter_cache(diagnosis)
    yield ""
    yield from _iter_findings(diagnosis)


def _iter_python(python: Python) -> Iterator[str]:
    kind = "a virtual environment" if python.is_virtual else "no virtual environment"
    managed = ", managed by the system" if python.is_managed else ""
    yield (
        f"Python: {python.implementation} {python.version} at {python.executable} ({kind}{managed})"
    )
    writable = "" if python.is_writable else " (can not be written)"
    yield f"  installs into: {python.site_packages}{writable}"
    foreign = " of another platform" if python.is_foreign else ""
    yield f"  tags: {python.tag_count}{foreign}, best first {', '.join(python.first_tags)}, ..."


def _iter_report(report: ProviderReport, everything: bool) -> Iterator[str]:
    took = "kept answer" if report.cached else f"{report.seconds * 1000:.0f} ms"
    source = f" (from {report.source}, {took})" if report.plugin else f" (from {report.source})"
    if report.reason and not report.present and not everything:
        yield f"  {report.namespace}: {report.reason}"
        return
    yield f"  {report.namespace}{source}"
    yield from _iter_facts(report.facts, everything)
    switches = [name for name, values in report.features.items() if tuple(values) == ("on",)]
    for name, values in report.features.items():
        if name in switches:
            continue
        shown = values if everything else values[:_SHOWN_VALUES]
        more = len(values) - len(shown)
        yield f"    {name}: {', '.join(shown)}{f', and {more} more' if more else ''}"
    if switches:
        few = switches if everything else switches[:_SHOWN_SWITCHES]
        more = len(switches) - len(few)
        yield f"    on: {', '.join(few)}{f', and {more} more' if more else ''}"
    if report.reason:
        yield f"    nothing supported: {report.reason}"


def _iter_facts(facts: Mapping[str, object], everything: bool) -> Iterator[str]:
    for name, value in facts.items():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            title = name[:-1] if name.endswith("s") else name
            for place, one in enumerate(value):
                yield f"    {title} {one.get('index', place)}: {_format_table(one)}"
        elif isinstance(value, list):
            if value and everything:
                yield f"    {_title(name)}: {', '.join(map(str, value))}"
        elif isinstance(value, bool):
            if value:
                yield f"    {_title(name)}: yes"
        elif value not in (None, ""):
            yield f"    {_title(name)}: {value}"


def _format_table(table: Mapping[str, object]) -> str:
    name = [str(table["name"])] if table.get("name") else []
    rest = [
        f"{_title(key)} {value}"
        for key, value in table.items()
        if key not in ("index", "name") and value not in (None, "", False, [])
    ]
    return ", ".join([*name, *rest])


def _title(name: str) -> str:
    return name.replace("_", " ").replace("cuda", "CUDA")


def _format_index(index: IndexState) -> str:
    state = "ok" if index.is_reachable else "FAILED"
    return f"  {state}: {index.url} ({index.seconds * 1000:.0f} ms, {index.text})"


def _iter_cache(diagnosis: Diagnosis) -> Iterator[str]:
    cache = diagnosis.cache
    if not cache.path:
        yield "Cache: off"
        return
    state = "can be written" if cache.is_writable else "can not be written"
    made = "" if cache.exists else ", not made yet"
    free = "" if cache.free is None else f", {cache.free / _GIBIBYTE:.1f} GiB free"
    yield f"Cache: {cache.path} ({state}{made}{free})"
    if cache.parts:
        yield f"  {', '.join(f'{name}: {count}' for name, count in cache.parts.items())}"


def _iter_findings(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.findings:
        yield "Nothing is wrong."
        return
    for finding in diagnosis.findings:
        yield f"{'ERROR' if finding.level == 'error' else 'note'}: {finding.what}"
        if finding.fix:
            yield f"  {finding.fix}"


def iter_providers(providers: Sequence[KnownProvider]) -> Iterator[str]:
    """A table of who answers for which namespace."""
    if not providers:
        yield "No provider plugin is installed beside vinstall, and none is trusted."
        return
    rows = [
        (
            one.namespace or "?",
            one.distribution,
            one.version or "-",
            one.trust,
            "-" if one.age is None else f"{format_age(one.age)} ago",
            "-" if one.seconds is None else f"{one.seconds * 1000:.0f} ms",
        )
        for one in providers
    ]
    header = ("Namespace", "Provider", "Version", "Trusted", "Last answer", "Took")
    yield from format_columns(header, rows)


def format_age(seconds: float) -> str:
    """A time in its largest unit: ``12 s``, ``3 min``, ``2 h``, ``4 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
