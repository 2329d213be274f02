"""Which plugins lie beside vinstall, and which of them count."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from vinstall.providers.plugins import find_plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = """
class Plugin:
    namespace = {namespace!r}
    stands_in_for = ("Some_Public.Provider",)
    environment_variables = ("FORCE_IT",)

    @staticmethod
    def fingerprint():
        {fingerprint}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("thing_"):
            del sys.modules[name]


def put(
    site: Path,
    namespace: str,
    *,
    name: str = "",
    points: str = "",
    fingerprint: str = "return 'driver 580'",
    version: str = "1.2",
) -> None:
    site.mkdir(exist_ok=True)
    (site / f"thing_{namespace}.py").write_text(
        SOURCE.format(namespace=namespace, fingerprint=fingerprint)
    )
    info = site / f"{name or f'vinstall_provider_{namespace}'}-{version}.dist-info"
    info.mkdir(parents=True)
    text = points or (
        f"[console_scripts]\nnvidia = elsewhere:main\n\n[variant_plugins]\n"
        f"# a comment\n{namespace} = thing_{namespace}:Plugin [extra]\n"
    )
    (info / "entry_points.txt").write_text(text)


NAMES = ("vinstall-provider-nvidia", "vinstall-provider-amd")


def test_a_plugin_with_its_light_parts(site: Path) -> None:
    put(site, "nvidia")
    (plugin,) = find_plugins(names=NAMES, folders=[str(site)]).values()
    assert plugin.namespace == "nvidia"
    assert plugin.distribution == "vinstall-provider-nvidia"
    assert plugin.version == "1.2"
    assert plugin.object == "thing_nvidia:Plugin"
    assert plugin.stands_in_for == ("some-public-provider",)
    assert plugin.variables == ("FORCE_IT",)
    assert plugin.fingerprint == "driver 580"


def test_only_distributions_on_the_list_count(site: Path) -> None:
    put(site, "nvidia", name="nvidia_provider_of_somebody")
    assert find_plugins(names=NAMES, folders=[str(site)]) == {}
    assert "thing_nvidia" not in sys.modules


def test_plugins_of_other_namespaces_are_not_loaded(site: Path) -> None:
    put(site, "nvidia")
    put(site, "amd")
    assert set(find_plugins({"amd"}, NAMES, [str(site)])) == {"amd"}
    assert "thing_nvidia" not in sys.modules
    assert set(find_plugins(None, NAMES, [str(site)])) == {"nvidia", "amd"}


def test_the_first_folder_wins(site: Path) -> None:
    put(site, "nvidia", version="2")
    put(site / "later", "nvidia", version="1")
    folders = [str(site / "missing"), str(site), str(site / "later")]
    assert find_plugins(names=NAMES, folders=folders)["nvidia"].version == "2"


def test_one_that_can_not_be_loaded_is_told_of(site: Path) -> None:
    put(site, "nvidia", points="[variant_plugins]\nnvidia = thing_missing:Plugin\n")
    plugin = find_plugins(names=NAMES, folders=[str(site)])["nvidia"]
    assert plugin.object == "thing_missing:Plugin"
    assert plugin.stands_in_for == ("vinstall-provider-nvidia",)


@pytest.mark.parametrize("body", ["raise OSError('no')", "return undefined"])
def test_a_fingerprint_that_fails_is_none(site: Path, body: str) -> None:
    put(site, "nvidia", fingerprint=body)
    assert find_plugins(names=NAMES, folders=[str(site)])["nvidia"].fingerprint == ""


@pytest.mark.parametrize("points", ["[other]\nnvidia = a:b\n", "[variant_plugins]\n", "\n"])
def test_no_entry_point_of_the_group(site: Path, points: str) -> None:
    put(site, "nvidia", points=points)
    assert find_plugins(names=NAMES, folders=[str(site)]) == {}


def test_entry_points_that_are_missing_or_not_text(site: Path) -> None:
    put(site, "nvidia")
    place = site / "vinstall_provider_nvidia-1.2.dist-info" / "entry_points.txt"
    place.write_bytes(b"\xff\xfe")
    assert find_plugins(names=NAMES, folders=[str(site)]) == {}
    place.unlink()
    assert find_plugins(names=NAMES, folders=[str(site)]) == {}
