"""``debug``: what a bug report needs. Nothing here is meant for scripts."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vinstall.console.output import Console
    from vinstall.workflow.context import Context

_SHOWN_TAGS = 10


def run_debug(context: Context, console: Console) -> int:
    """Print facts about vinstall, its Python and the target."""
    from vinstall.cli.config_files import Surroundings, pip_config_files
    from vinstall.cli.main import version_line

    settings, target = context.settings, context.target
    console.warning(
        "This command is only meant for debugging. What it prints may change without notice."
    )
    console.result(version_line())
    for name, value in (
        ("sys.version", sys.version.replace("\n", " ")),
        ("sys.executable", sys.executable),
        ("sys.platform", sys.platform),
        ("sys.getfilesystemencoding", sys.getfilesystemencoding()),
        ("target", target.executable),
        ("target prefix", target.prefix),
        ("cache", settings.cache_dir or "off"),
        ("REQUESTS_CA_BUNDLE", os.environ.get("REQUESTS_CA_BUNDLE")),
        ("CURL_CA_BUNDLE", os.environ.get("CURL_CA_BUNDLE")),
        ("SSL_CERT_FILE", os.environ.get("SSL_CERT_FILE")),
    ):
        console.result(f"{name}: {value}")
    files = pip_config_files(
        Surroundings.of_process(), target.prefix, isolated=settings.target.isolated
    )
    console.result("configuration files:")
    for level, paths in files.items():
        for path in paths:
            there = "" if os.path.exists(path) else " (not there)"  # noqa: PTH110
            console.result(f"  {level}: {path}{there}")
    for what, source in settings.overrides:
        console.result(f"override: {what} ({source})")
    console.result("libraries:")
    for line in _iter_libraries():
        console.result(f"  {line}")
    console.result(f"Compatible tags: {len(target.tags)}")
    shown = target.tags if console.verbosity > 0 else target.tags[:_SHOWN_TAGS]
    for tag in shown:
        console.result(f"  {tag}")
    if len(shown) < len(target.tags):
        console.result(f"  ...\n  [First {len(shown)} tags shown. Pass --verbose to show all.]")
    return 0


def _iter_libraries() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    lines = []
    for name in ("httpx", "packaging", "resolvelib", "rich", "pip"):
        try:
            lines.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name}: not there")
    return lines
