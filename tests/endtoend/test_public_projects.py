"""Requirements files of well-known shapes resolve as pip resolves them, on the public index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import ROOT

if TYPE_CHECKING:
    from tests.support.environments import Environment

FOLDER = Path(ROOT) / "fixtures" / "projects"
FILES = (
    "flask-site",
    "django-shop",
    "fastapi-service",
    "data-analysis",
    "scraper",
    "docs",
    "test-tools",
    "notebook",
    "cloud-tools",
    "language-models",
)


def versions(environment: Environment, tool: str, name: str, report: Path) -> dict[str, str]:
    """What a dry run would install: name → version."""
    environment.run(
        *("install", "--dry-run", "--quiet", "--ignore-installed", "--report", report),
        *("-r", FOLDER / f"{name}.txt"),
        tool=tool,  # type: ignore[arg-type]
        timeout=600,
    ).check()
    items = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {item["metadata"]["name"]: item["metadata"]["version"] for item in items}


@pytest.mark.network
@pytest.mark.parametrize("name", FILES)
def test_the_same_versions_as_pip(name: str, environment: Environment, tmp_path: Path) -> None:
    ours = versions(environment, "vinstall", name, tmp_path / "ours.json")
    theirs = versions(environment, "pip", name, tmp_path / "theirs.json")
    assert ours == theirs
    assert len(ours) > 3
