"""The installation report: pip's format, version 1, with one key of our own.

Implements pip's "Installation Report" specification. ``vinstall`` at the top holds the
profile or the provider answers and the overrides used; ``vinstall`` in an item holds the
variant label, its properties, the supported ones among them, and the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.plan import Change
    from vinstall.workflow.context import Context
    from vinstall.workflow.resolving import Resolved

PIP_FORMAT = "26.3"
"""The pip release whose report format is followed."""

_LISTS = {
    "classifier",
    "dynamic",
    "license-file",
    "obsoletes",
    "obsoletes-dist",
    "platform",
    "project-url",
    "provides",
    "provides-dist",
    "provides-extra",
    "requires",
    "requires-dist",
    "requires-external",
    "supported-platform",
    "import-name",
    "import-namespace",
}


def make_report(context: Context, resolved: Resolved) -> Mapping[str, object]:
    """The report on a plan, ready for JSON."""
    changes = resolved.plan.installs
    return {
        "version": "1",
        "pip_version": PIP_FORMAT,
        "install": [_make_item(context, resolved, change) for change in changes],
        "environment": dict(context.target.markers),
        "vinstall": describe_run(context),
    }


def describe_run(context: Context) -> dict[str, object]:
    """What decided: profile or provider answers, and every override in force."""
    described: dict[str, object] = {"version": __version__}
    if context.settings.variants.profile:
        described["profile"] = context.settings.variants.profile
    if "query" in vars(context):
        described["providers"] = [
            {
                "namespace": report.namespace,
                "source": report.source,
                "plugin": report.plugin,
                "version": report.version,
                "seconds": round(report.seconds, 4),
                "cached": report.cached,
                "features": {name: list(values) for name, values in report.features.items()},
                "notes": list(report.notes),
            }
            for report in context.query.reports()
        ]
    described["overrides"] = [list(pair) for pair in context.settings.overrides]
    return described


def _make_item(context: Context, resolved: Resolved, change: Change) -> dict[str, object]:
    from vinstall.workflow.reason import describe_choice
    from vinstall.workflow.sources import direct_url

    candidate = change.resolved.candidate
    link = candidate.link
    assert link is not None, "only files are installed"
    direct = direct_url(context, change, _digest_of(context, resolved, change))
    if direct is None:
        from vinstall.index.address import redact_url

        info: dict[str, object] = {}
        if link.hashes:
            name = "sha256" if "sha256" in link.hashes else next(iter(link.hashes))
            info = {"hash": f"{name}={link.hashes[name]}", "hashes": dict(link.hashes)}
        direct = {"url": redact_url(link.url), "archive_info": info}
    item: dict[str, object] = {
        "download_info": direct,
        "is_direct": candidate.direct,
        "is_yanked": link.yanked is not None,
        "requested": bool(change.resolved.requirements),
    }
    extras = sorted(change.resolved.extras)
    if extras and change.resolved.requirements:
        item["requested_extras"] = extras
    item["metadata"] = metadata_to_json(change.resolved.metadata)
    selection = resolved.plan.selections.get(candidate.project)
    if candidate.variant is not None or (selection is not None and selection.rankings):
        item["vinstall"] = describe_choice(context, resolved.plan, change)
    return item


def _digest_of(context: Context, resolved: Resolved, change: Change) -> str:
    """SHA-256 of a wheel; one given by path or URL without a hash is read for it."""
    from vinstall.workflow.fetch import fetch_for_digest

    link = change.resolved.candidate.link
    assert link is not None, "only files are installed"
    known = link.hashes.get("sha256", "")
    if known or not link.is_wheel or not change.resolved.candidate.direct:
        return known
    return fetch_for_digest(context, resolved, change)


def metadata_to_json(metadata: CoreMetadata) -> dict[str, object]:
    """Core metadata as JSON (PEP 566, "JSON-compatible Metadata")."""
    import email.parser

    message = email.parser.Parser().parsestr(metadata.text)
    result: dict[str, object] = {}
    for key in dict.fromkeys(name.lower() for name in message):
        values = [str(value) for value in message.get_all(key, [])]
        name = key.replace("-", "_")
        if key == "keywords":
            text = values[0]
            result[name] = [
                part.strip() for part in (text.split(",") if "," in text else text.split())
            ]
        elif key in _LISTS:
            result[name] = values
        else:
            result[name] = values[0]
    body = message.get_payload()
    if isinstance(body, str) and body.strip() and "description" not in result:
        result["description"] = body
    return result
