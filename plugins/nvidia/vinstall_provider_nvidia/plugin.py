"""Facts → ordered features of the namespace ``nvidia``.

Implements the plugin API of PEP 850 with the values of ``nvidia-variant-provider``: its
features in its order. ``sm_arch`` holds more values than there, by CUDA's rules: code for
a real architecture runs on its own major number from its minor number on, and PTX for a
virtual one runs on everything newer.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vinstall_provider_nvidia import detect
from vinstall_provider_nvidia.detect import Facts, Gpu

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall_provider_nvidia.detect import Capability, CudaVersion

FORCE_CUDA = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
FORCE_SM = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
SEVERAL_GPUS = "VINSTALL_GPU"
MASKS = ("CUDA_VISIBLE_DEVICES",)

FIRST_CUDA = (11, 0)
LAST_CUDA = (15, 20)
"""The public provider knows CUDA 11.0 to 15.20, with 0 to 20 as minor numbers."""
_MINORS = range(LAST_CUDA[1], -1, -1)
_MAJORS = range(LAST_CUDA[0], FIRST_CUDA[0] - 1, -1)

FIRST_SM = (5, 0)
LAST_SM = (19, 9)
"""Ends of ``sm_arch``; the public provider's catalogue ends at 12.9."""

_DRIVER_NOT_LOADED = 9
_VERSION_MISMATCH = 18


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature, as the plugin API wants it.

    Attributes:
        name: Name of the feature.
        values: Supported values, best first.
        multi_value: Whether one variant may list several values.
    """

    name: str
    values: list[str]
    multi_value: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What the user's variables say.

    Attributes:
        cuda: CUDA version instead of the driver's.
        capability: Compute capability instead of the GPUs'.
        best_only: Only the best GPU counts, not every one.
        masks: Masks that are set; they change nothing.
    """

    cuda: CudaVersion | None = None
    capability: Capability | None = None
    best_only: bool = False
    masks: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the machine need not be asked."""
        return self.cuda is not None and self.capability is not None


class Plugin:
    """Variant provider for ``nvidia``; all of it can be called on the class."""

    namespace = "nvidia"
    is_aot_plugin = False
    stands_in_for = ("nvidia-variant-provider",)
    environment_variables = (FORCE_CUDA, FORCE_SM, SEVERAL_GPUS, *MASKS, "LD_LIBRARY_PATH")

    @staticmethod
    def get_all_configs() -> list[Feature]:
        """Every value that there is; asks no machine."""
        versions = [text for major in _MAJORS for text in _series(major, LAST_CUDA[1])]
        return [
            Feature("cuda_version_lower_bound", versions),
            Feature("cuda_version_upper_bound", list(versions)),
            Feature("sm_arch", [*_reals(FIRST_SM, LAST_SM), *_virtuals(LAST_SM)], True),
        ]

    @staticmethod
    def get_supported_configs() -> list[Feature]:
        """What this machine supports; empty where there is no NVIDIA GPU.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        options = read_options(os.environ)
        return list_features(_facts(options.is_complete), options)

    @staticmethod
    def describe() -> dict[str, object]:
        """Facts, notes and whether a GPU was seen, ready for JSON.

        Raises:
            ValueError: One of the user's variables has a wrong value; the text names it.
        """
        options = read_options(os.environ)
        facts = _facts(options.is_complete)
        return {
            "namespace": Plugin.namespace,
            "present": facts.is_present,
            "facts": format_facts(facts, options),
            "notes": list_notes(facts, options),
        }

    @staticmethod
    def fingerprint() -> str:
        """Changes when the answer could; takes microseconds and wakes no device."""
        return detect.read_fingerprint()


@lru_cache(maxsize=2)
def _facts(is_forced: bool) -> Facts:
    return Facts(source="forced") if is_forced else detect.detect_facts()


def read_options(environment: Mapping[str, str]) -> Options:
    """Read the user's variables; an empty one counts as not set.

    Raises:
        ValueError: A value has a wrong form; the text names the variable and the right form.
    """
    several = environment.get(SEVERAL_GPUS, "").strip().lower()
    if several not in ("", "all", "best"):
        raise ValueError(f"{SEVERAL_GPUS} is {several!r}; it can be 'all' or 'best'")
    return Options(
        cuda=_read_pair(environment, FORCE_CUDA, r"(\d{1,3})(?:\.(\d{1,2}))?(?:\.\d+)?", "12.8"),
        capability=_read_pair(environment, FORCE_SM, r"(\d{1,2})\.(\d)", "9.0"),
        best_only=several == "best",
        masks=tuple(name for name in MASKS if name in environment),
    )


def _read_pair(
    environment: Mapping[str, str], name: str, pattern: str, example: str
) -> tuple[int, int] | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    found = re.fullmatch(pattern, text, re.ASCII)
    if found is None:
        raise ValueError(
            f"{name} is {text!r}; it must be a major and a minor number, for example {example}"
        )
    return int(found[1]), int(found[2] or 0)


def list_features(facts: Facts, options: Options) -> list[Feature]:
    """The supported features, most important first; without a usable driver none.

    Args:
        facts: What is known of the machine.
        options: What the user overrules.
    """
    cuda = find_cuda(facts, options)
    if cuda is None or cuda < FIRST_CUDA:
        return []
    features = [
        Feature("cuda_version_lower_bound", _list_lower_bounds(cuda)),
        Feature("cuda_version_upper_bound", _list_upper_bounds(cuda)),
        Feature("sm_arch", _list_architectures(_counting(facts, options)), True),
    ]
    return [feature for feature in features if feature.values]


def find_cuda(facts: Facts, options: Options) -> CudaVersion | None:
    """The CUDA version that decides: the user's, the library's, or the driver's."""
    if options.cuda is not None:
        return options.cuda
    if facts.nvml_code in (_DRIVER_NOT_LOADED, _VERSION_MISMATCH):
        return None
    is_usable = facts.gpus if facts.source == "nvml" else facts.is_present
    if facts.source == "none" or not is_usable:
        return None
    return facts.library_cuda or facts.nvml_cuda


def _counting(facts: Facts, options: Options) -> list[Capability]:
    """Capabilities that the choice must fit."""
    if options.capability is not None:
        return [options.capability]
    known = sorted({gpu.capability for gpu in facts.gpus if gpu.capability is not None})
    return known[-1:] if options.best_only else known


def _series(major: int, minor: int) -> list[str]:
    """``12.8`` … ``12.0``, ``12``."""
    return [*(f"{major}.{number}" for number in range(minor, -1, -1)), str(major)]


def _list_lower_bounds(cuda: CudaVersion) -> list[str]:
    """Bounds at or below the version, newest first; newer than known counts as the newest."""
    values: list[str] = []
    for major in _MAJORS:
        if major < cuda[0]:
            values += _series(major, LAST_CUDA[1])
        elif major == cuda[0]:
            values += _series(major, min(cuda[1], LAST_CUDA[1]))
    return values


def _list_upper_bounds(cuda: CudaVersion) -> list[str]:
    """Exclusive bounds above the version, newest first."""
    values: list[str] = []
    for major in _MAJORS:
        if major > cuda[0]:
            values += _series(major, LAST_CUDA[1])
        elif major == cuda[0]:
            values += [f"{major}.{minor}" for minor in _MINORS if minor > cuda[1]]
    return values


def _list_architectures(capabilities: Sequence[Capability]) -> list[str]:
    """Architectures that run on every one of the capabilities, best first."""
    if not capabilities:
        return []
    lowest = min(capabilities)
    if lowest < FIRST_SM:
        return []
    reals = []
    if len({major for major, _ in capabilities}) == 1:
        reals = _reals((lowest[0], 0), lowest)
    return [*reals, *_virtuals(min(lowest, LAST_SM))]


def _reals(first: Capability, last: Capability) -> list[str]:
    return [f"{one}_real" for one in _names(first, last)]


def _virtuals(last: Capability) -> list[str]:
    return [f"{one}_virtual" for one in _names(FIRST_SM, last)]


def _names(first: Capability, last: Capability) -> list[str]:
    """``90``, ``89`` … between two capabilities, newest first."""
    return [
        f"{major}{minor}"
        for major in range(min(last[0], LAST_SM[0]), first[0] - 1, -1)
        for minor in range(9, -1, -1)
        if first <= (major, minor) <= last
    ]


def list_notes(facts: Facts, options: Options) -> list[str]:
    """Sentences that the user should read; none where all is as it should be."""
    notes = [*_note_driver(facts, options), *_note_gpus(facts, options)]
    if options.masks and facts.is_present:
        notes.append(
            f"{', '.join(options.masks)} is set and ignored: a mask belongs to one process, "
            "what is installed stays"
        )
    return notes


def _note_driver(facts: Facts, options: Options) -> list[str]:
    notes = []
    cuda = find_cuda(facts, options)
    if options.capability is not None and cuda is None:
        notes.append(f"{FORCE_SM} alone decides nothing; set {FORCE_CUDA} too, for example 12.8")
    if options.cuda is None and facts.is_present:
        notes += _note_failure(facts)
        if cuda is not None and facts.source == "nvml":
            if facts.library_cuda is None:
                notes.append(
                    "The driver is here, but its libcuda is not, so no CUDA program runs; "
                    "in a container, NVIDIA_DRIVER_CAPABILITIES must contain 'compute'"
                )
            elif facts.nvml_cuda and facts.library_cuda != facts.nvml_cuda:
                notes.append(
                    f"The libcuda that programs load is for CUDA {_dotted(facts.library_cuda)}, "
                    f"the driver says {_dotted(facts.nvml_cuda)}; the library counts"
                )
    if cuda is not None and cuda < FIRST_CUDA:
        notes.append(f"CUDA {_dotted(cuda)} is older than 11.0, and no build is for it")
    if cuda is not None and (cuda[0] > LAST_CUDA[0] or cuda[1] > LAST_CUDA[1]):
        notes.append(f"CUDA {_dotted(cuda)} is newer than any known; older builds run on it")
    return notes


def _note_failure(facts: Facts) -> list[str]:
    override = f"set {FORCE_CUDA} and {FORCE_SM}"
    if facts.nvml_code == _VERSION_MISMATCH:
        loaded = f" (the kernel still runs {facts.module_version})" if facts.module_version else ""
        return [
            f"The NVIDIA driver was updated and is only half in use{loaded}; restart the "
            f"machine, or {override}"
        ]
    if facts.nvml_code == _DRIVER_NOT_LOADED:
        return [f"An NVIDIA GPU is here, but its driver is not loaded; load it, or {override}"]
    if facts.source == "none" and facts.nvml_code == detect.LIBRARY_NOT_FOUND:
        return [
            "An NVIDIA GPU is here, but no driver library; install the driver, start the "
            f"container with access to the GPU, or {override}"
        ]
    if facts.source == "nvml" and not facts.nvml_code and not facts.gpus:
        return [
            "An NVIDIA GPU is in this machine, but the driver shows none here; give the "
            f"container access to it, or {override}"
        ]
    if facts.nvml_code not in (0, detect.LIBRARY_NOT_FOUND):
        return [f"The NVIDIA driver refuses to answer ({facts.problem}); mend it, or {override}"]
    return []


def _note_gpus(facts: Facts, options: Options) -> list[str]:
    if options.capability is not None or find_cuda(facts, options) is None:
        return []
    notes = []
    known = [gpu for gpu in facts.gpus if gpu.capability is not None]
    for gpu in facts.gpus:
        if gpu.capability is None:
            why = f" ({gpu.problem})" if gpu.problem else ""
            notes.append(f"{_name(gpu)} does not tell its compute capability{why}; it is left out")
    if facts.is_present and not known:
        notes.append(
            f"No compute capability is known, so no build for a certain GPU fits; set {FORCE_SM}, "
            "for example 9.0"
        )
    old = [gpu for gpu in known if gpu.capability is not None and gpu.capability < FIRST_SM]
    if old:
        notes.append(f"{_names_of(old)}: older than compute capability 5.0, no build is for it")
    capabilities = sorted({gpu.capability for gpu in known if gpu.capability is not None})
    if len(capabilities) > 1:
        worst = [gpu for gpu in known if gpu.capability == capabilities[0]]
        others = [gpu for gpu in known if gpu.capability != capabilities[-1]]
        if options.best_only:
            notes.append(f"Only the best GPU counts; left out: {_names_of(others)}")
        else:
            notes.append(
                f"What is installed must run on every GPU here; {_names_of(worst)} limits the "
                "choice ('--gpu best' would leave it out)"
            )
    return notes


def _name(gpu: Gpu) -> str:
    capability = f", {_dotted(gpu.capability)}" if gpu.capability else ""
    return f"GPU {gpu.index} ({gpu.name or 'no name'}{capability})"


def _names_of(gpus: Sequence[Gpu]) -> str:
    return ", ".join(_name(gpu) for gpu in gpus)


def _dotted(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"


def format_facts(facts: Facts, options: Options) -> dict[str, object]:
    """The facts as plain values, for ``vinstall doctor``."""
    cuda = find_cuda(facts, options)
    return {
        "source": facts.source,
        "driver_version": facts.driver_version,
        "module_version": facts.module_version,
        "cuda_version": _dotted(cuda) if cuda else None,
        "cuda_version_driver": _dotted(facts.nvml_cuda) if facts.nvml_cuda else None,
        "cuda_version_library": _dotted(facts.library_cuda) if facts.library_cuda else None,
        "gpus": [
            {
                "index": gpu.index,
                "name": gpu.name,
                "capability": _dotted(gpu.capability) if gpu.capability else None,
                "mig": gpu.mig,
                "problem": gpu.problem,
            }
            for gpu in facts.gpus
        ],
        "several_gpus": "best" if options.best_only else "all",
        "forced_cuda_version": _dotted(options.cuda) if options.cuda else None,
        "forced_capability": _dotted(options.capability) if options.capability else None,
        "masks": list(options.masks),
        "wsl": facts.is_wsl,
        "jetson": facts.is_jetson,
        "problem": facts.problem,
    }
