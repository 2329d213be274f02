"""Indexes of the shape of those that hide builds: in paths, in names, in extras.

``HiddenIndex`` serves, on a host of its own, one simple index for each build under
``/whl/<label>/``, with the quirks of the public one: HTML only, ``+`` percent-encoded in
links, no hash for some files, projects of others beside its own, 403 where nothing is.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.support.faults import Status
from tests.support.index import SimpleIndex
from tests.support.profiles import nvidia_machine
from tests.support.sdist import make_sdist
from tests.support.wheels import BuiltWheel, make_wheel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LABELS = ("cpu", "cu126", "cu128", "cu130", "rocm6.4", "xpu")
VISION = {"2.8.0": "0.23.0", "2.9.0": "0.24.0"}
"""Which release of one project goes with which of another."""


class HiddenIndex(SimpleIndex):
    """One index for each build under a path of its own."""

    def __init__(self) -> None:
        super().__init__(json=False)
        self._wheels: dict[tuple[str, str], list[tuple[BuiltWheel, bool]]] = {}
        for label in ("cu132", "cu134"):
            self.fail(f"/whl/{label}/*", Status(403))

    @property
    def template(self) -> str:
        """What ``--bridge-url NAME=`` wants."""
        return f"{self.url}/whl/{{label}}/"

    def hide(self, label: str, *wheels: BuiltWheel, hashes: bool = True) -> None:
        """Put wheels on the index of one build."""
        for wheel in wheels:
            project = wheel.name.lower().replace("_", "-")
            entries = self._wheels.setdefault((label, project), [])
            entries.append((wheel, hashes))
            self.set_page(f"/whl/{label}/{wheel.filename}", wheel.content, "binary/octet-stream")
            links = "".join(
                f'    <a href="/whl/{label}/{quote(one.filename)}'
                f'{f"#sha256={one.sha256}" if hashed else ""}">'
                f"{html.escape(one.filename)}</a><br/>\n"
                for one, hashed in entries
            )
            page = f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {project}</h1>\n{links}"
            self.set_page(f"/whl/{label}/{project}/", page)


def fill_torch(hidden: HiddenIndex, plain: SimpleIndex) -> None:
    """Two releases of torch, torchvision and torchaudio, in every build and as plain files."""
    for torch, vision in VISION.items():
        for label in LABELS:
            if (torch, label) == ("2.8.0", "cu130"):
                continue
            needs = {
                "cu126": ["nvidia-cublas-cu12"],
                "cu128": ["nvidia-cublas-cu12"],
                "cu130": ["nvidia-cublas>=13"],
                "rocm6.4": ["pytorch-triton-rocm==3.4.0"],
                "xpu": ["pytorch-triton-xpu==3.4.0"],
            }.get(label, [])
            hidden.hide(
                label,
                make_wheel("torch", f"{torch}+{label}", requires_dist=needs),
                make_wheel("torchvision", f"{vision}+{label}", requires_dist=[f"torch=={torch}"]),
                hashes=label != "cu126",
            )
            hidden.hide(
                label,
                make_wheel("torchaudio", f"{torch}+{label}", requires_dist=[f"torch=={torch}"]),
            )
        plain.add(
            make_wheel("torch", torch, requires_dist=["nvidia-cublas-cu12"]),
            make_wheel("torchvision", vision, requires_dist=[f"torch=={torch}"]),
            make_wheel("torchaudio", torch, requires_dist=[f"torch=={torch}"]),
        )
    hidden.hide("rocm6.4", make_wheel("pytorch-triton-rocm", "3.4.0"))
    hidden.hide("xpu", make_wheel("pytorch-triton-xpu", "3.4.0"))
    for label in LABELS:
        # others' projects, in builds that nobody should take
        hidden.hide(label, make_wheel("nvidia-cublas-cu12", "99.0"))
    plain.add(make_wheel("pytorch-triton-rocm", "99.0"))
    plain.add(make_wheel("nvidia-cublas-cu12", "12.8.4"), make_wheel("nvidia-cublas", "13.1"))


def fill_others(plain: SimpleIndex) -> None:
    """CuPy as a source with sisters, JAX with extras."""
    plain.add(make_sdist("cupy", "14.0.0"))
    plain.add(
        make_wheel("cupy-cuda12x", "14.0.0", extras=["all"], requires_dist=["numpy"]),
        make_wheel("cupy-cuda13x", "14.0.0", extras=["all"], requires_dist=["numpy"]),
        make_wheel("numpy", "2.3.0"),
    )
    extras = ["cuda12", "cuda13", "cuda12-local", "cuda13-local"]
    plain.add(
        make_wheel(
            "jax",
            "0.8.0",
            extras=extras,
            requires_dist=[
                "jaxlib==0.8.0",
                *(f"jax-{extra}-plugin==0.8.0 ; extra == '{extra}'" for extra in extras[:2]),
            ],
        ),
        make_wheel("jaxlib", "0.8.0"),
        make_wheel("jax-cuda12-plugin", "0.8.0", requires_dist=["nvidia-cublas-cu12"]),
        make_wheel("jax-cuda13-plugin", "0.8.0", requires_dist=["nvidia-cublas>=13"]),
    )


Machine = dict[str, dict[str, list[str]]]


def cuda_machine(driver: str = "12.8", capability: str = "9.0") -> Machine:
    """What a machine with one NVIDIA GPU supports, code for old architectures, too."""
    machine = nvidia_machine(driver, capability)
    first, second = (int(part) for part in capability.split("."))
    machine["nvidia"]["sm_arch"] += [
        f"{a}{b}_virtual" for a, b in ((6, 1), (6, 0), (5, 2), (5, 0)) if (a, b) <= (first, second)
    ]
    return machine


def amd_machine(architecture: str = "gfx942", rocm: Sequence[str] = ("6.4", "6.3")) -> Machine:
    """What a machine with one AMD GPU supports."""
    return {"amd": {"gfx_arch": [architecture], "rocm_version": list(rocm)}}


MACHINES: Mapping[str, tuple[Machine, str]] = {
    "no-gpu": ({"nvidia": {}}, "cpu"),
    "hopper-driver-12.8": (cuda_machine("12.8", "9.0"), "cu128"),
    "hopper-driver-12.6": (cuda_machine("12.6", "9.0"), "cu126"),
    "hopper-driver-12.4": (cuda_machine("12.4", "9.0"), "cu126"),
    "blackwell-driver-13.0": (cuda_machine("13.0", "10.0"), "cu130"),
    "ada-driver-13.1": (cuda_machine("13.1", "8.9"), "cu130"),
    "volta-driver-12.8": (cuda_machine("12.8", "7.0"), "cu128"),
    "volta-driver-13.0": (cuda_machine("13.0", "7.0"), "cu128"),
    "pascal-driver-12.8": (cuda_machine("12.8", "6.0"), "cu126"),
    "old-driver-11.4": (cuda_machine("11.4", "8.0"), "cpu"),
    "amd-mi300x": (amd_machine(), "rocm6.4"),
    "intel-b580": ({"intel": {"device_ip": ["20.1.0"]}}, "xpu"),
}
"""Machine → what it supports, and the build of torch 2.9 that is right for it."""
