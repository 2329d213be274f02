"""``provider list``, ``trust`` and ``forget`` as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.variant_json import Provider
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

PLUGIN = """
import types
class Plugin:
    @staticmethod
    def get_supported_configs():
        return [types.SimpleNamespace(name="speed", values=["fast", "slow"])]
"""


def named(listed: list[dict[str, object]], name: str) -> dict[str, object]:
    (found,) = [one for one in listed if one["provider"] == name]
    return found


def test_trust_list_and_forget(environment: Environment, index: SimpleIndex) -> None:
    index.add(
        make_wheel("third-party", files={"third_party.py": PLUGIN}),
        *make_variant_wheels(
            "app", "1.0", {"fast": "thing :: speed :: fast"}, generation="0.2.0",
            providers={"thing": Provider(("third-party",), "third_party:Plugin")},
        ),
    )  # fmt: skip
    config = environment.home / ".config" / "vinstall" / "vinstall.toml"

    told = environment.vinstall("provider", "trust", "Third_Party", target=False).check()
    assert f"third-party may run from now on ({config})" in told.stdout
    assert config.read_text() == 'trusted-providers = ["third-party"]\n'
    again = environment.vinstall("provider", "trust", "third-party", target=False).check()
    assert "third-party is trusted already" in again.stdout

    listed = environment.vinstall("provider", "list", "--json", target=False).check().json()
    one = named(listed, "third-party")
    assert one["trust"] == f"{config} trusted-providers"
    assert one["version"] is None
    assert one["answer"] is None

    installed = environment.vinstall("install", "-i", index.simple_url, "app").check()
    assert "Variants: app 1.0 fast" in installed.stdout
    listed = environment.vinstall("provider", "list", "--json", target=False).check().json()
    one = named(listed, "third-party")
    assert one["version"] == "1.0"
    answer = one["answer"]
    assert isinstance(answer, dict)
    assert answer["features"] == {"speed": 2}
    table = environment.vinstall("provider", "list", target=False).check().stdout
    assert table.splitlines()[0].split()[:4] == ["Namespace", "Provider", "Version", "Trusted"]
    assert "third-party" in table

    told = environment.vinstall("provider", "forget", "third-party", target=False).check()
    assert "third-party is not trusted any more" in told.stdout
    assert "Removed 1 environments and 1 kept answers" in told.stdout
    assert config.read_text() == ""
    listed = environment.vinstall("provider", "list", "--json", target=False).check().json()
    assert "third-party" not in [one["provider"] for one in listed]


def test_a_checkout_can_not_trust(environment: Environment) -> None:
    project = environment.home / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.vinstall]\ntrusted-providers = ["evil"]\n')
    for command in (["provider", "list"], ["install", "app"], ["doctor"]):
        refused = environment.vinstall(*command, cwd=project, target=False).check(2)
        assert "can not be set by a project" in refused.stderr


def test_wrong_calls(environment: Environment) -> None:
    for words in ([], ["trust"], ["forget"], ["list", "x"], ["other"]):
        refused = environment.vinstall("provider", *words, target=False)
        assert refused.returncode in (1, 2), str(refused)
        assert "Traceback" not in refused.stderr
    refused = environment.vinstall("provider", "trust", "./evil", target=False).check(2)
    assert "is not the name of a package" in refused.stderr
