"""On a machine with an NVIDIA GPU: what the plugin says, against other witnesses."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_variant_wheels

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

pytestmark = pytest.mark.gpu


def smi(*arguments: str) -> str:
    """What ``nvidia-smi`` says."""
    command = shutil.which("nvidia-smi")
    if command is None:
        pytest.skip("nvidia-smi is not there")
    return subprocess.run(
        [command, *arguments], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def capabilities() -> list[str]:
    text = smi("--query-gpu=compute_cap", "--format=csv,noheader")
    return [line.strip() for line in text.splitlines() if line.strip()]


def supported(environment: Environment) -> dict[str, list[str]]:
    """The features that ``profile show`` tells of this machine."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    shown = environment.vinstall("profile", "show").check().stdout
    features: dict[str, list[str]] = tomllib.loads(shown)["supported"]["nvidia"]
    return features


def test_the_driver_and_the_card_agree_with_nvidia_smi(environment: Environment) -> None:
    found = re.search(r"CUDA Version:\s*(\d+)\.(\d+)", smi())
    assert found is not None
    features = supported(environment)
    newest = f"{found[1]}.{found[2]}"
    assert features["cuda_version_lower_bound"][0] == newest
    assert newest not in features["cuda_version_upper_bound"]
    for capability in set(capabilities()):
        assert f"{capability.replace('.', '')}_real" in features["sm_arch"]


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_the_card_agrees_with_torch(environment: Environment) -> None:
    import torch  # type: ignore[import-not-found, unused-ignore]

    major, minor = torch.cuda.get_device_capability(0)
    features = supported(environment)
    assert f"{major}{minor}_real" in features["sm_arch"]
    assert torch.version.cuda in features["cuda_version_lower_bound"]


def test_the_build_for_this_card_is_installed(environment: Environment, index: SimpleIndex) -> None:
    capability = capabilities()[0].replace(".", "")
    index.add(
        *make_variant_wheels(
            "vtorch",
            "1.0",
            {
                "right": f"nvidia :: cuda_version_lower_bound :: 11.8, "
                f"nvidia :: sm_arch :: {capability}_real",
                "wrong": "nvidia :: cuda_version_lower_bound :: 11.8, nvidia :: sm_arch :: 30_real",
                "null": "",
            },
        )
    )
    environment.vinstall("--index-url", index.simple_url, "vtorch").check()
    assert environment.label("vtorch") == "right"
