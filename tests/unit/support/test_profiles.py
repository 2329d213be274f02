"""Profiles of sample machines follow the rules of the public providers."""

from __future__ import annotations

from tests.support.profiles import nvidia_machine, profile_text, x86_machine


def test_text() -> None:
    assert profile_text({"n": {"f": ["2", "1"]}, "empty": {}}) == (
        'schema = 1\n\n[supported.n]\nf = ["2", "1"]\n\n[supported.empty]\n'
    )


def test_nvidia_values() -> None:
    features = nvidia_machine("12.1", "8.6")["nvidia"]
    assert features["cuda_version_lower_bound"][:4] == ["12.1", "12.0", "12", "11.20"]
    assert features["cuda_version_lower_bound"][-2:] == ["11.0", "11"]
    assert features["cuda_version_upper_bound"][0] == "12.2"
    assert features["cuda_version_upper_bound"][-1] == "15.20"
    assert features["sm_arch"][:2] == ["86_real", "85_real"]


def test_x86_levels_best_first() -> None:
    assert x86_machine(3) == {"x86_64": {"level": ["v3", "v2", "v1"]}}
