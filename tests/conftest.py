"""Fixtures for all tests: an isolated home, an index, environments."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.certificates import CertificateAuthority, make_authority, openssl_is_there
from tests.support.environments import Environment, home_variables
from tests.support.environments import make_environment as _make_environment
from tests.support.index import SimpleIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REMOVED_PREFIXES = ("PIP_", "VINSTALL_", "UV_", "CUDA_", "NVIDIA_", "NV_", "AMD_", "HIP_", "ROCR_")
_REMOVED = {
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "FORCE_COLOR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_COLOR",
    "NO_PROXY",
    "PYTHONHOME",
    "PYTHONPATH",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "VIRTUAL_ENV",
}


# No test fails for being slow on a busy machine.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--network``: tests go to the public index only when they are told to."""
    parser.addoption("--network", action="store_true", help="run tests that use the public index")
    parser.addoption(
        "--comparison", action="store_true", help="run the long comparison with pip, case by case"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what this machine, or the person, does not allow."""
    network, gpu = config.getoption("--network"), _has_nvidia_gpu()
    comparison = config.getoption("--comparison")
    left_out = [
        item
        for item in items
        if (not network and item.get_closest_marker("network"))
        or (not comparison and item.get_closest_marker("comparison"))
        or (not gpu and item.get_closest_marker("gpu"))
    ]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _has_nvidia_gpu() -> bool:
    return any(
        Path(device).exists() for device in ("/dev/nvidia0", "/usr/lib/wsl/lib/libcuda.so.1")
    )


@pytest.fixture(autouse=True)
def isolated_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give each test a home, configuration and cache of its own, and no one's settings."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.upper() in _REMOVED or name.upper().startswith(_REMOVED_PREFIXES):
            monkeypatch.delenv(name)
    for name, value in home_variables(home).items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture
def index() -> Iterator[SimpleIndex]:
    """A running, empty index."""
    with SimpleIndex() as running:
        yield running


@pytest.fixture
def make_index() -> Iterator[Callable[..., SimpleIndex]]:
    """A factory of running indexes; arguments as for ``SimpleIndex``."""
    with contextlib.ExitStack() as stack:

        def make(**options: object) -> SimpleIndex:
            return stack.enter_context(SimpleIndex(**options))  # type: ignore[arg-type]

        yield make


@pytest.fixture
def environment(tmp_path: Path, isolated_home: Path) -> Environment:
    """A fresh virtual environment of the tests' own interpreter."""
    return _make_environment(tmp_path / "environment", isolated_home)


@pytest.fixture
def make_environment(tmp_path: Path, isolated_home: Path) -> Callable[..., Environment]:
    """A factory of virtual environments: ``make_environment("other", python=path)``."""

    def make(
        name: str = "environment", python: Path | None = None, **variables: str
    ) -> Environment:
        return _make_environment(tmp_path / name, isolated_home, python=python, **variables)

    return make


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    """An authority that can sign servers on loopback; skips where there is no openssl."""
    if not openssl_is_there():
        pytest.skip("the openssl command is not there")
    return make_authority(tmp_path_factory.mktemp("authority"))
