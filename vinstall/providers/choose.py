"""Which provider answers for a namespace, and whether it may run. Decides, and runs nothing.

Implements ``variants.md`` §3, steps 1 to 6. What a namespace claims is never enough: a wheel
may name another package for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from vinstall.distributions.filename import normalize_name
from vinstall.distributions.requirement import evaluate_marker, parse_marker, parse_requirement
from vinstall.errors import RequirementError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.distributions.requirement import Requirement
    from vinstall.settings import VariantSettings
    from vinstall.variants.metadata import ProviderInfo, VariantMetadata

BUNDLED = (
    "vinstall-provider-nvidia",
    "vinstall-provider-x86-64",
    "vinstall-provider-aarch64",
    "vinstall-provider-amd",
    "vinstall-provider-intel",
)
"""Distributions whose plugins are trusted without being named by the user."""

_PLUGIN_API = lazy_pattern(r"[A-Za-z_]\w*(\.\w+)*\s*(:\s*\w+(\.\w+)*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TrustedPlugin:
    """A plugin that lies beside vinstall and may run.

    Attributes:
        namespace: The namespace that it answers for.
        distribution: The distribution that it belongs to.
        version: That distribution's version.
        object: ``module:object``.
        stands_in_for: Normalized names of public provider packages whose wheels it serves.
        variables: Environment variables that change its answer.
        fingerprint: Changes whenever its answer could change.
    """

    namespace: str
    distribution: str
    version: str
    object: str
    stands_in_for: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Who answers for a namespace.

    Attributes:
        kind: ``static``, ``profile``, ``plugin`` (trusted, beside us), ``package`` (trusted
            by the user, to be installed apart), or ``nobody``.
        reason: Why nobody does.
        plugin: The plugin, where it is one of ours.
        requires: What to install, where it is a package: requirements that apply here,
            without markers, of projects that the user trusts.
        plugin_api: Its ``module:object``.
    """

    kind: Literal["static", "profile", "plugin", "package", "nobody"]
    reason: str = ""
    plugin: TrustedPlugin | None = None
    requires: tuple[str, ...] = ()
    plugin_api: str = ""


def choose_provider(
    namespace: str,
    metadata: VariantMetadata,
    plugins: Mapping[str, TrustedPlugin],
    settings: VariantSettings,
    *,
    profiled: frozenset[str],
    markers: Mapping[str, str],
    is_foreign: bool,
) -> Decision:
    """Decide who answers.

    Args:
        namespace: The namespace in question.
        metadata: What the release says of providers.
        plugins: Namespace → trusted plugin beside vinstall.
        settings: Trust, opt-ins, the off switch.
        profiled: Namespaces that the user's profile has.
        markers: Marker environment of the target.
        is_foreign: Whether the target is another machine.
    """
    info = metadata.providers.get(namespace) if metadata.providers is not None else None
    if info is not None and info.optional and namespace not in settings.enabled:
        return Decision(
            "nobody",
            f"its provider is optional; --enable-provider {namespace} switches it on",
        )
    if info is not None and info.static_properties is not None:
        return Decision("static")
    if info is None and metadata.providers is not None:
        return Decision("nobody", "the metadata names no provider for it")
    if namespace in profiled:
        return Decision("profile")
    if info is not None and info.enable_if and not _holds(info.enable_if, markers):
        return Decision("nobody", f"its provider is only for machines where {info.enable_if}")
    if settings.profile:
        return Decision("nobody", f"the profile {settings.profile} does not have it")
    if is_foreign:
        return Decision(
            "nobody",
            "the target is another machine; --profile FILE says what that one supports",
        )
    if settings.no_providers:
        return Decision("nobody", "no provider may be asked (--no-providers)")
    return _choose_plugin(namespace, info, plugins, settings, markers)


def _choose_plugin(
    namespace: str,
    info: ProviderInfo | None,
    plugins: Mapping[str, TrustedPlugin],
    settings: VariantSettings,
    markers: Mapping[str, str],
) -> Decision:
    ours = plugins.get(namespace)
    if info is None or info.builtin:
        if ours is not None:
            return Decision("plugin", plugin=ours)
        return Decision("nobody", f"no trusted plugin answers for {namespace}")
    module = info.plugin_api.partition(":")[0].strip()
    try:
        needs = _needs_of(info.requires, markers)
    except RequirementError as error:
        return Decision("nobody", f"its provider can not be asked: {error}")
    packages = [one.project for one in needs] or [normalize_name(module)]
    if ours is not None and (
        packages[0] in ours.stands_in_for or packages[0] == normalize_name(ours.distribution)
    ):
        return Decision("plugin", plugin=ours)
    if not packages[0]:
        return Decision("nobody", "the metadata does not say who its provider is")
    trusted = {normalize_name(name) for name in settings.trusted}
    for package in packages:
        if package not in trusted:
            return Decision(
                "nobody",
                f"its provider {package} is not trusted; --trust-provider {package} "
                "would let it run",
            )
    plugin_api = info.plugin_api.strip() or packages[0].replace("-", "_")
    if not _PLUGIN_API.fullmatch(plugin_api):
        return Decision("nobody", f"its provider can not be asked: {plugin_api!r} is no object")
    requires = tuple(_format(one) for one in needs) or (packages[0],)
    return Decision("package", requires=requires, plugin_api=plugin_api)


def _needs_of(requires: Sequence[str], markers: Mapping[str, str]) -> list[Requirement]:
    """The requirements of a provider that apply here.

    Raises:
        RequirementError: A requirement is wrong, or says where its package lies: then the
            name, which is all that a user trusts, would say nothing of what runs.
    """
    found = []
    for line in requires:
        requirement = parse_requirement(line)
        if requirement.url or not requirement.project:
            raise RequirementError(f"{line!r} is not a package of an index")
        if requirement.applies(markers):
            found.append(requirement)
    return found


def _format(requirement: Requirement) -> str:
    """A requirement without its marker: where it is installed, others may hold."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"


def _holds(marker: str, markers: Mapping[str, str]) -> bool:
    try:
        return evaluate_marker(parse_marker(marker), markers, "")
    except RequirementError:
        return False
