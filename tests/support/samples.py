"""The sample projects of ``fixtures/samples``, built into wheels.

Each folder holds ``sample.json`` (name, releases, variants) and the module. Every wheel gets
a generated ``built.py`` with its version, label and properties, so that the installed
project can say which build it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.wheels import BuiltWheel, make_variant_wheels, make_wheel

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "samples"


def build_samples(folder: Path = SAMPLES) -> list[BuiltWheel]:
    """Build every wheel of every sample project, in order of project and version."""
    wheels: list[BuiltWheel] = []
    for description in sorted(folder.glob("*/sample.json")):
        sample = json.loads(description.read_text(encoding="utf-8"))
        for release in sample["releases"]:
            wheels += _build_release(description.parent, sample, release)
    return wheels


def _build_release(
    folder: Path, sample: dict[str, Any], release: dict[str, Any]
) -> list[BuiltWheel]:
    variants: dict[str, list[str]] = release["variants"]
    version = release["version"]
    documents: dict[str, Any] = {}
    if variants:
        made = make_variant_wheels(
            sample["name"],
            version,
            {label: ", ".join(properties) for label, properties in variants.items()},
            namespaces=release["namespaces"],
            plain=False,
        )
        documents = {wheel.label: wheel.variant_json for wheel in made}
    return [
        make_wheel(
            sample["name"],
            version,
            label=label,
            variant_json=documents.get(label),
            requires_dist=release["requires_dist"],
            requires_python=">=3.8",
            files=_files(folder, sample["module"], version, label, variants.get(label, [])),
        )
        for label in [*variants, ""]
    ]


def _files(
    folder: Path, module: str, version: str, label: str, properties: list[str]
) -> dict[str, str | bytes]:
    sources: dict[str, str | bytes] = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((folder / module).rglob("*.py"))
    }
    sources[f"{module}/built.py"] = (
        '"""Written when the wheel was built."""\n\n'
        f"VERSION = {version!r}\nLABEL = {label!r}\nPROPERTIES = {properties!r}\n"
    )
    return sources
