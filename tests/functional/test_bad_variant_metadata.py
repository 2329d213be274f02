"""Nothing broken loses a release (variants.md §2; PEP 825, "Implementation requirements").

Whatever is wrong with variant metadata: the same version is installed from what is left,
with one warning that names file, place and reason; never an older version, never silence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import Altered, HtmlPage, Replaced, Status
from tests.support.profiles import nvidia_machine, write_profile
from tests.support.variant_json import Provider
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.faults import Fault
    from tests.support.index import SimpleIndex
    from tests.support.wheels import BuiltWheel

FILE = "vtorch-2.0-variants.json"
BUILDS = {
    "cu130": "nvidia :: cuda_version_lower_bound :: 13.0",
    "cu126": "nvidia :: cuda_version_lower_bound :: 12.6",
    "null": "",
}
PROVIDER = {"requires": ["nvidia-variant-provider"]}


def good() -> dict[str, Any]:
    """An index-level file of the newest generation, as it should be."""
    return {
        "$schema": "https://variants-schema.wheelnext.dev/v0.2.0.json",
        "default-priorities": {"namespace": ["nvidia"]},
        "providers": {"nvidia": dict(PROVIDER)},
        "variants": {
            "cu130": {"nvidia": {"cuda_version_lower_bound": ["13.0"]}},
            "cu126": {"nvidia": {"cuda_version_lower_bound": ["12.6"]}},
            "null": {},
        },
    }


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = good()
    change(document)
    return json.dumps(document).encode()


def entry(label: str, value: object) -> bytes:
    return changed(lambda document: document["variants"].update({label: value}))


def provider(value: object) -> bytes:
    return changed(lambda document: document["providers"].update(nvidia=value))


@dataclass(frozen=True)
class Case:
    """One way to be wrong.

    Attributes:
        content: What the file holds; ``None`` for a good one.
        fault: How the server answers for it.
        hashes: What the page says of it.
        parts: What the warning says, beside the name of the file.
        label: Which build is taken.
    """

    content: bytes | None = None
    fault: Fault | None = None
    hashes: Mapping[str, str] | None = None
    parts: tuple[str, ...] = field(default=())
    label: str = "cu126"


CASES = {
    "404": Case(fault=Status(404), parts=("404",)),
    "403": Case(fault=Status(403), parts=("403",)),
    "500": Case(fault=Status(500), parts=("500",)),
    "wrong hash": Case(hashes={"sha256": "0" * 64}, parts=("0" * 64,)),
    "changed on the way": Case(fault=Altered(), hashes=None),
    "not JSON": Case(content=b"variants: none", parts=("not JSON",)),
    "an HTML page": Case(fault=HtmlPage(), hashes={}, parts=("not JSON",)),
    "not UTF-8": Case(content=b'{"x": "\xff"}', parts=("not UTF-8", "byte")),
    "a list": Case(content=b"[]", parts=("not a JSON object",)),
    "empty": Case(content=b"", parts=("not JSON",)),
    "byte order mark": Case(
        content=b"\xef\xbb\xbf" + json.dumps(good()).encode(), parts=("byte order mark",)
    ),
    "too large": Case(fault=Replaced(b" " * (16 * 1024 * 1024 + 10) + b"{}"), parts=("16",)),
    "nested 100,000 deep": Case(content=b"[" * 100_000 + b"]" * 100_000, parts=("nested",)),
    "nested deep in an entry": Case(
        content=b'{"variants": {"cu126": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}}",
        parts=("nested",),
    ),
    "unknown major": Case(
        content=changed(lambda document: document.update({"$schema": "https://x/v7.1.0.json"})),
        parts=("7.1.0",),
    ),
    "bad label": Case(content=entry("CU126", {"nvidia": {"a": ["b"]}}), parts=()),
    "bad namespace": Case(
        content=entry("cu126", {"NV": {"a": ["b"]}}), parts=("variants.cu126", "'NV'")
    ),
    "bad feature": Case(
        content=entry("cu126", {"nvidia": {"A-B": ["b"]}}), parts=("variants.cu126", "'A-B'")
    ),
    "bad value": Case(
        content=entry("cu126", {"nvidia": {"a": ["B B"]}}), parts=("variants.cu126", "'B B'")
    ),
    "values of another kind": Case(
        content=entry("cu126", {"nvidia": {"a": "b"}}), parts=("variants.cu126", "not a list")
    ),
    "no values": Case(
        content=entry("cu126", {"nvidia": {"a": []}}), parts=("variants.cu126", "no values")
    ),
    "a value twice": Case(
        content=entry("cu126", {"nvidia": {"a": ["b", "b"]}}), parts=("variants.cu126", "twice")
    ),
    "an empty set of properties": Case(
        content=entry("cu126", {}), parts=("variants.cu126", "no properties")
    ),
    "an entry of another kind": Case(
        content=entry("cu126", 3), parts=("variants.cu126", "not an object")
    ),
    "variants of another kind": Case(
        content=changed(lambda document: document.update(variants=[])), parts=("variants",)
    ),
    "no priorities": Case(
        content=changed(lambda document: document.pop("default-priorities")),
        parts=("default-priorities.namespace",),
    ),
    "namespace missing in the priorities": Case(
        content=changed(lambda document: document["default-priorities"].update(namespace=["x"])),
        parts=("nvidia", "default-priorities.namespace"),
    ),
    "priorities of another kind": Case(
        content=changed(lambda document: document.update({"default-priorities": 1})),
        parts=("default-priorities",),
    ),
    "no providers": Case(
        content=changed(lambda document: document.pop("providers")), parts=("providers",)
    ),
    "provider malformed": Case(content=provider(5), parts=("providers.nvidia",)),
    "provider of two kinds": Case(
        content=provider({**PROVIDER, "builtin": "x"}), parts=("providers.nvidia", "exactly one")
    ),
    "provider with build-requires": Case(
        content=provider({"build-requires": ["x"]}), parts=("providers.nvidia", "build-requires")
    ),
    "plugin-api malformed": Case(
        content=provider({**PROVIDER, "plugin-api": "a b c"}), parts=("plugin-api",)
    ),
}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A machine that runs CUDA 12.8."""
    return write_profile(tmp_path / "machine.toml", nvidia_machine("12.8", "9.0"))


@pytest.fixture
def release(index: SimpleIndex) -> list[BuiltWheel]:
    """``vtorch`` 2.0 in all builds, and an older ordinary release."""
    wheels = make_variant_wheels(
        "vtorch",
        "2.0",
        BUILDS,
        generation="0.2.0",
        providers={"nvidia": Provider(requires=("nvidia-variant-provider",))},
    )
    index.add(*wheels)
    index.add(make_wheel("vtorch", "1.0"))
    return wheels


def install(environment: Environment, index: SimpleIndex, profile: Path) -> str:
    """Install, and give what was said on standard error."""
    return (
        environment.vinstall(
            *("install", "--retries", "0", "--index-url", index.simple_url),
            *("--profile", profile, "vtorch"),
        )
        .check()
        .stderr
    )


@pytest.mark.parametrize("name", CASES)
def test_the_same_version_from_what_is_left(
    name: str,
    environment: Environment,
    index: SimpleIndex,
    release: list[BuiltWheel],
    profile: Path,
) -> None:
    case = CASES[name]
    content = json.dumps(good()).encode() if case.content is None else case.content
    index.set_variants_json("vtorch", "2.0", content, hashes=case.hashes)
    if case.fault is not None:
        index.fail(f"/files/{FILE}", case.fault)
    said = install(environment, index, profile)
    assert environment.installed() == {"vtorch": "2.0"}
    assert environment.label("vtorch") == case.label
    if name == "bad label":  # no wheel has that label: nothing is lost
        return
    assert said.count("WARNING") == 1, said
    assert FILE in said
    for part in case.parts:
        assert part in said


def test_a_label_that_the_file_does_not_describe(
    environment: Environment, index: SimpleIndex, release: list[BuiltWheel], profile: Path
) -> None:
    document = good()
    del document["variants"]["cu126"]
    index.set_variants_json("vtorch", "2.0", document)
    install(environment, index, profile)
    assert environment.installed() == {"vtorch": "2.0"}
    assert environment.label("vtorch") == "null"
    explained = environment.vinstall(
        *("explain", "--index-url", index.simple_url, "--profile", profile, "vtorch")
    ).check()
    assert "label not described" in explained.stdout


def test_null_with_properties(
    environment: Environment, index: SimpleIndex, release: list[BuiltWheel], tmp_path: Path
) -> None:
    document = good()
    document["variants"]["null"] = {"nvidia": {"a": ["b"]}}
    index.set_variants_json("vtorch", "2.0", document)
    install(environment, index, write_profile(tmp_path / "none.toml", {"nvidia": {}}))
    assert environment.installed() == {"vtorch": "2.0"}
    assert environment.label("vtorch") in ("null", "")


@pytest.mark.parametrize("what", ["missing", "other properties", "other label", "broken"])
def test_a_wheel_that_contradicts_its_index(
    what: str, environment: Environment, index: SimpleIndex, profile: Path
) -> None:
    for label, text in BUILDS.items():
        own: dict[str, Any] = {}
        if label == "cu126":
            document = good()
            document["variants"] = {"cu126": {"nvidia": {"cuda_version_lower_bound": ["12.1"]}}}
            if what == "other label":
                document["variants"] = {"other": document["variants"]["cu126"]}
            own = {"variant_json": document}
            if what == "broken":
                own = {"dist_info": {"variant.json": b"{"}}
        wheel = make_wheel("vtorch", "2.0", label=label, properties=text or None, **own)
        index.add(wheel, variants_json=False)
    if what == "missing":
        import io
        import zipfile

        broken = make_wheel("vtorch", "2.0")
        with zipfile.ZipFile(io.BytesIO(broken.content)) as archive:
            assert "vtorch-2.0.dist-info/variant.json" not in archive.namelist()
        index.change("vtorch-2.0-py3-none-any-cu126.whl", content=broken.content, hashes={})
    index.add(make_wheel("vtorch", "1.0"), make_wheel("vtorch", "2.0"))
    index.set_variants_json("vtorch", "2.0", good())
    said = install(environment, index, profile)
    assert environment.installed() == {"vtorch": "2.0"}
    assert environment.label("vtorch") == "null"
    first, second = (line for line in said.splitlines() if line.startswith("WARNING: "))
    assert "vtorch-2.0-py3-none-any-cu126.whl is left out" in first
    assert "hardware that builds of vtorch 2.0 are made for, but the null variant" in second


def test_two_wheels_that_disagree_without_an_index_file(
    environment: Environment, index: SimpleIndex, release: list[BuiltWheel], profile: Path
) -> None:
    index.remove(FILE)
    document = good()
    document["default-priorities"] = {"namespace": ["amd", "nvidia"]}
    document["providers"] = {"amd": {"requires": ["x"]}, **document["providers"]}
    document["variants"] = {"cu130": document["variants"]["cu130"]}
    wheel = make_wheel("vtorch", "2.0", label="cu130", variant_json=document)
    index.add(wheel, variants_json=False)
    said = install(environment, index, profile)
    assert environment.installed() == {"vtorch": "2.0"}
    assert said.count("WARNING") == 1, said
    assert "cu130" in said or "cu126" in said


def test_only_broken_builds_are_an_error_that_repeats_the_reason(
    environment: Environment, index: SimpleIndex, profile: Path
) -> None:
    index.add(
        make_wheel("vtorch", label="cu126", variant_json={"variants": {"cu126": {"NV": {}}}}),
        variants_json=False,
    )
    before = environment.snapshot()
    result = environment.vinstall(
        *("install", "--index-url", index.simple_url, "--profile", profile, "vtorch")
    ).check(1)
    assert "'NV' is not a namespace" in result.stderr
    assert environment.snapshot() == before
