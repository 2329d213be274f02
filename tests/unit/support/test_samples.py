"""The sample projects build, and say which build they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.samples import build_samples

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex


def test_labels_and_namespaces() -> None:
    wheels = [
        wheel for wheel in build_samples() if (wheel.name, wheel.version) == ("vsample", "2.0")
    ]
    assert [wheel.label for wheel in wheels] == [
        "cu13", "cu12", "x86_64_v4", "x86_64_v3", "x86_64_v2", "x86_64_v1", "armv8", "null", "",
    ]  # fmt: skip
    for wheel in wheels[:-1]:
        assert wheel.variant_json is not None
        assert wheel.variant_json["default-priorities"]["namespace"] == [
            "nvidia",
            "x86_64",
            "aarch64",
        ]


def test_pip_takes_the_non_variant_wheel(environment: Environment, index: SimpleIndex) -> None:
    index.add(*build_samples())
    environment.pip("install", "--index-url", index.simple_url, "vsample<2").check()
    result = environment.run_python("-m", "vsample").check()
    assert result.stdout.splitlines()[0] == "vsample 1.0: the non-variant build"
