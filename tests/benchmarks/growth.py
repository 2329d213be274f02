"""How times grow: files on a page, packages, variant labels. Time per unit must not grow."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.benchmarks.index_folder import page_entry, write_page
from tests.support.variant_json import Provider
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.measure import Bench
    from tests.support.wheels import BuiltWheel

GROWTH = {
    "growth-files": (1_000, 10_000, 100_000),
    "growth-packages": (10, 100, 500, 2_000),
    "growth-labels": (1, 10, 100, 500),
}
"""Kind → sizes."""


def measure_growth(bench: Bench, kind: str) -> dict[str, Any]:
    """Measure one kind for each size, cold and warm; prints a line for each."""
    served = bench.folder.parent / "served"
    make = {"growth-files": _files, "growth-packages": _packages, "growth-labels": _labels}[kind]
    rows: list[dict[str, Any]] = []
    for size in GROWTH[kind]:
        name = make(served, size)
        for tool in bench.tools:
            if kind == "growth-labels" and tool.name != "vinstall":
                continue
            if tool.name == "pip" and size > 10_000:
                continue
            cold: list[tuple[float, float]] = []
            warm: list[tuple[float, float]] = []
            for _ in range(max(bench.runs // 2, 1)):
                cache = bench.folder / "growth-cache"
                shutil.rmtree(cache, ignore_errors=True)
                for times in (cold, warm):
                    environment = bench.make_environment("growth-environment")
                    command = tool.install(
                        environment, cache, f"{bench.address}/grown/", [name], dry_run=True
                    )
                    log = bench.folder / "growth-log.txt"
                    run, status = bench.run_once(command, tool, log)
                    if status:
                        text = log.read_text("utf-8", "replace")[-2000:]
                        raise SystemExit(f"{kind} {size}: {tool.name} ended with {status}:\n{text}")
                    times.append((run.wall, run.cpu))
            row = {
                "kind": kind,
                "size": size,
                "tool": tool.name,
                "cold": median(one[0] for one in cold),
                "warm": median(one[0] for one in warm),
                "cold_cpu": median(one[1] for one in cold),
                "warm_cpu": median(one[1] for one in warm),
            }
            rows.append(row)
            print(
                f"{kind} {size:>7} {tool.name:<9} cold {row['cold']:.3f} s"
                f" (CPU {row['cold_cpu']:.3f}), warm {row['warm']:.3f} s"
                f" (CPU {row['warm_cpu']:.3f}),"
                f" {median(one[1] for one in cold) / size * 1e6:.0f} µs CPU a unit cold",
                file=sys.stderr,
            )
    return {"kind": kind, "rows": rows}


def _host(served: Path, *wheels: BuiltWheel) -> list[dict[str, Any]]:
    entries = []
    for wheel in wheels:
        (served / "files" / wheel.filename).write_bytes(wheel.content)
        more: dict[str, Any] = {"hashes": {"sha256": wheel.sha256}, "core-metadata": False}
        more["requires-python"] = None
        if wheel.metadata is not None:
            (served / "files" / f"{wheel.filename}.metadata").write_bytes(wheel.metadata)
            more["core-metadata"] = {"sha256": hashlib.sha256(wheel.metadata).hexdigest()}
        entries.append(page_entry(wheel.filename, **more))
    return entries


def _files(served: Path, size: int) -> str:
    """One project with many files."""
    name = f"grown-files-{size}"
    stem = name.replace("-", "_")
    tags = [
        f"cp3{minor}-cp3{minor}-{platform}" for minor in range(8, 13) for platform in _PLATFORMS
    ]
    entries = [
        page_entry(f"{stem}-0.{number // len(tags)}-{tags[number % len(tags)]}.whl")
        for number in range(size - 1)
    ]
    newest = make_wheel(name, "1.0")
    write_page(served / "grown", name, [*entries, *_host(served, newest)])
    return name


_PLATFORMS = ("manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_11_0_arm64", "win_amd64")


def _packages(served: Path, size: int) -> str:
    """One project that needs many, each of which needs the next two."""
    names = [f"grown-{size}-part-{number}" for number in range(size - 1)]
    for number, name in enumerate(names):
        needs = [f"{other}>=1,<3" for other in names[number + 1 : number + 3]]
        wheels = [make_wheel(name, version, requires_dist=needs) for version in ("1.0", "2.0")]
        write_page(served / "grown", name, _host(served, *wheels))
    whole = f"grown-packages-{size}"
    write_page(served / "grown", whole, _host(served, make_wheel(whole, requires_dist=names)))
    return whole


def _labels(served: Path, size: int) -> str:
    """One release with many variants, of which one fits this machine best."""
    name = f"grown-labels-{size}"
    values = [f"v{number}" for number in range(size)]
    provider = Provider(static_properties={"level": values}, feature_order=("level",))
    wheels = make_variant_wheels(
        name,
        "1.0",
        {f"label{number}": f"grown :: level :: {value}" for number, value in enumerate(values)},
        generation="0.2.0",
        providers={"grown": provider},
    )
    document: dict[str, Any] | None = None
    for wheel in wheels:
        if wheel.variant_json is None:
            continue
        if document is None:
            document = json.loads(json.dumps(wheel.variant_json))
        else:
            document["variants"].update(wheel.variant_json["variants"])
    assert document is not None, "there is at least one variant"
    filename = f"{name.replace('-', '_')}-1.0-variants.json"
    data = json.dumps(document).encode()
    (served / "files" / filename).write_bytes(data)
    described = page_entry(filename, hashes={"sha256": hashlib.sha256(data).hexdigest()})
    write_page(served / "grown", name, [*_host(served, *wheels), described])
    return name
