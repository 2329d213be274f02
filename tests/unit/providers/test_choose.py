"""Who answers for a namespace: every step, in its order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from vinstall.providers.choose import Decision, TrustedPlugin, choose_provider
from vinstall.settings import VariantSettings
from vinstall.variants.metadata import ProviderInfo, VariantMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

OURS = TrustedPlugin(
    "nvidia",
    "vinstall-provider-nvidia",
    "0.1",
    "vinstall_provider_nvidia.plugin:Plugin",
    ("nvidia-variant-provider",),
)
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11"}
STATIC = {"sm_arch": ("90_real",)}
PUBLIC = ProviderInfo(("nvidia-variant-provider>=0.1",), "nvidia_variant_provider.plugin:P")
FOREIGN = ProviderInfo(("Evil_Provider",), "evil_provider:Plugin")


def choose(
    info: ProviderInfo | None,
    settings: VariantSettings | None = None,
    *,
    providers: Mapping[str, ProviderInfo] | None = None,
    plugins: Mapping[str, TrustedPlugin] | None = None,
    profiled: frozenset[str] = frozenset(),
    is_foreign: bool = False,
) -> Decision:
    named = providers if info is None else {"nvidia": info}
    return choose_provider(
        "nvidia",
        VariantMetadata(("nvidia",), providers=named),
        {"nvidia": OURS} if plugins is None else plugins,
        settings or VariantSettings(),
        profiled=profiled,
        markers=LINUX,
        is_foreign=is_foreign,
    )


TRUSTING = VariantSettings(trusted=("evil-provider",))
ENABLED = VariantSettings(enabled=frozenset({"nvidia"}))
PROFILED = frozenset({"nvidia"})


@pytest.mark.parametrize(
    ("info", "settings", "profiled", "kind"),
    [
        # 1: optional and not enabled comes before everything
        (replace(PUBLIC, optional=True), VariantSettings(), PROFILED, "nobody"),
        (ProviderInfo(static_properties=STATIC, optional=True), None, frozenset(), "nobody"),
        (replace(PUBLIC, optional=True), ENABLED, frozenset(), "plugin"),
        (replace(PUBLIC, optional=True), ENABLED, PROFILED, "profile"),
        # 2: static properties come before the profile, the marker and every plugin
        (ProviderInfo(static_properties=STATIC), None, PROFILED, "static"),
        (ProviderInfo(static_properties=STATIC), VariantSettings(no_providers=True), frozenset(),
         "static"),
        (replace(PUBLIC, static_properties=STATIC, enable_if="sys_platform == 'win32'"), None,
         frozenset(), "static"),
        (ProviderInfo(static_properties={}), None, PROFILED, "static"),
        # 3: a profile that has the namespace comes before the marker and every plugin
        (PUBLIC, VariantSettings(profile="gpu.toml"), PROFILED, "profile"),
        (replace(PUBLIC, enable_if="sys_platform == 'win32'"), None, PROFILED, "profile"),
        (FOREIGN, TRUSTING, PROFILED, "profile"),
        (None, None, PROFILED, "profile"),
        # 4: the marker
        (replace(PUBLIC, enable_if="sys_platform == 'win32'"), None, frozenset(), "nobody"),
        (replace(PUBLIC, enable_if="sys_platform == 'linux'"), None, frozenset(), "plugin"),
        (replace(PUBLIC, enable_if="not a marker"), None, frozenset(), "nobody"),
        # 5: a trusted plugin
        (PUBLIC, None, frozenset(), "plugin"),
        (None, None, frozenset(), "plugin"),
        (ProviderInfo(builtin="nvidia"), None, frozenset(), "plugin"),
        (ProviderInfo(("vinstall.provider_nvidia",)), None, frozenset(), "plugin"),
        (FOREIGN, TRUSTING, frozenset(), "package"),
        # 6: nobody
        (FOREIGN, None, frozenset(), "nobody"),
        (PUBLIC, VariantSettings(no_providers=True), frozenset(), "nobody"),
        (PUBLIC, VariantSettings(profile="gpu.toml"), frozenset(), "nobody"),
        (FOREIGN, replace(TRUSTING, no_providers=True), frozenset(), "nobody"),
        (FOREIGN, replace(TRUSTING, profile="gpu.toml"), frozenset(), "nobody"),
    ],
)  # fmt: skip
def test_each_step_comes_before_the_next(
    info: ProviderInfo | None,
    settings: VariantSettings | None,
    profiled: frozenset[str],
    kind: str,
) -> None:
    decision = choose(info, settings, profiled=profiled)
    assert decision.kind == kind
    assert bool(decision.reason) == (kind == "nobody")
    assert (decision.plugin == OURS) == (kind == "plugin")


def test_the_claim_of_a_namespace_is_not_enough() -> None:
    decision = choose(FOREIGN)
    assert decision.kind == "nobody"
    assert "evil-provider is not trusted" in decision.reason
    assert "--trust-provider evil-provider" in decision.reason


def test_without_a_plugin_the_reason_names_the_option() -> None:
    decision = choose(PUBLIC, plugins={})
    assert "--trust-provider nvidia-variant-provider" in decision.reason
    assert choose(None, plugins={}).reason == "no trusted plugin answers for nvidia"


def test_a_generation_that_names_providers_has_to_name_this_one() -> None:
    assert choose(None, providers={}).kind == "nobody"
    assert choose(None, providers={"other": PUBLIC}, profiled=PROFILED).kind == "nobody"
    assert choose(None, providers=None).kind == "plugin"


def test_this_machine_does_not_leak_into_another_target() -> None:
    for info in (PUBLIC, None, FOREIGN):
        assert choose(info, TRUSTING, is_foreign=True).kind == "nobody"
    assert choose(PUBLIC, profiled=PROFILED, is_foreign=True).kind == "profile"
    static = ProviderInfo(static_properties=STATIC)
    assert choose(static, is_foreign=True).kind == "static"


def test_a_package_that_the_user_trusts() -> None:
    decision = choose(FOREIGN, VariantSettings(trusted=("evil_Provider",)))
    assert decision.requires == ("Evil_Provider",)
    assert decision.plugin_api == "evil_provider:Plugin"
    implied = choose(ProviderInfo(("Evil-Provider==1",)), TRUSTING)
    assert implied.plugin_api == "evil_provider"
    unnamed = choose(ProviderInfo(plugin_api="evil_provider:Plugin"), TRUSTING)
    assert unnamed.requires == ("evil-provider",)


def test_a_trusted_name_brings_no_other_package_along() -> None:
    both = ProviderInfo(("evil-provider", "another"), "another:Plugin")
    decision = choose(both, TRUSTING)
    assert decision.kind == "nobody"
    assert "another is not trusted" in decision.reason
    trusting = VariantSettings(trusted=("evil-provider", "another"))
    assert choose(both, trusting).kind == "package"


def test_requirements_for_other_targets_do_not_count() -> None:
    info = ProviderInfo(
        ("other; sys_platform == 'win32'", "evil-provider; sys_platform == 'linux'"), "evil:P"
    )
    assert choose(info, TRUSTING).kind == "package"


@pytest.mark.parametrize(
    "line",
    [
        "evil-provider @ https://elsewhere.test/evil_provider-1-py3-none-any.whl",
        "evil-provider @ file:///tmp/evil_provider-1-py3-none-any.whl",
        "./evil-provider",
        "https://elsewhere.test/evil_provider-1-py3-none-any.whl",
        "evil-provider >=>= 1",
        "--index-url https://elsewhere.test evil-provider",
    ],
)
def test_metadata_does_not_say_where_a_trusted_name_lies(line: str) -> None:
    assert choose(ProviderInfo((line,), "evil_provider:Plugin"), TRUSTING).kind == "nobody"


@pytest.mark.parametrize("api", ["a b:c", "a:b()", "__import__('os')", "a:b:c", "../a:b", "a:"])
def test_an_object_has_to_be_one(api: str) -> None:
    decision = choose(ProviderInfo(("evil-provider",), api), TRUSTING)
    assert decision.kind == "nobody"
    assert "is no object" in decision.reason


def test_a_provider_without_any_name() -> None:
    assert choose(ProviderInfo(), TRUSTING).kind == "nobody"
