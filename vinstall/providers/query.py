"""Namespaces → supported properties and reasons, asked at most once a run."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

from vinstall.errors import ConfigurationError, VinstallError
from vinstall.events import Noted, Warned
from vinstall.providers.answers import AnswerCache, answer_key, own_python
from vinstall.providers.choose import Decision, TrustedPlugin, choose_provider
from vinstall.providers.messages import PluginAnswer, PluginRequest
from vinstall.providers.run import MASKS, ask_plugins, clean_environment
from vinstall.values import dataclass, field, replace
from vinstall.variants.properties import ABI_DEPENDENCY
from vinstall.variants.supported import SupportedProperties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vinstall.distributions.target import Target
    from vinstall.events import Observer
    from vinstall.profile import MachineProfile
    from vinstall.settings import VariantSettings
    from vinstall.variants.metadata import ProviderInfo, VariantMetadata


@dataclass(frozen=True, slots=True)
class ProviderReport:
    """What is known of one namespace, for ``explain``, reports and ``doctor``.

    Attributes:
        namespace: The namespace.
        source: Who answered, or would have: ``plugin nvidia 0.1.0``, ``profile gpu.toml``,
            ``static properties``.
        features: Feature → values, best first.
        plugin: Distribution of the plugin; empty for other sources.
        version: Its version.
        seconds: How long it took to ask.
        cached: Whether the answer was kept from an earlier run.
        present: Whether such hardware was seen.
        notes: Sentences worth reading.
        facts: What the plugin knows, for people.
        reason: Why nothing is supported; empty where something is.
    """

    namespace: str
    source: str = ""
    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plugin: str = ""
    version: str = ""
    seconds: float = 0.0
    cached: bool = False
    present: bool = False
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""


class ProviderQuery:
    """Answers what the target machine supports; keeps every answer for the run.

    Args:
        settings: Trust, opt-ins, profile, several GPUs.
        target: The interpreter and platform that is installed for.
        cache_dir: Where answers are kept between runs; empty for nowhere.
        observer: Receives one warning for each provider that failed.
        profile: The machine profile that stands in for this machine.
        environment: The variables of this process.
        plugins: Finds the trusted plugins beside vinstall; tests give their own.
        package_answer: Asks a provider package that the user trusts, installed apart.
    """

    def __init__(
        self,
        settings: VariantSettings,
        target: Target,
        *,
        cache_dir: str,
        observer: Observer,
        profile: MachineProfile | None = None,
        environment: Mapping[str, str],
        plugins: Callable[[], dict[str, TrustedPlugin]] | None = None,
        package_answer: Callable[[Sequence[str], str], PluginAnswer] | None = None,
        paths: Sequence[str] | None = None,
        time_limit: float | None = None,
    ) -> None:
        self._settings = settings
        self._target = target
        self._cache = AnswerCache(cache_dir)
        self._observer = observer
        self._profile = profile
        self._environment = environment
        self._find_plugins = plugins
        self._package_answer = package_answer
        self._paths = paths
        self._time_limit = time_limit
        self._plugins: dict[str, TrustedPlugin] = {}
        self._looked_for: set[str] | None = set()
        self._answers: dict[str, tuple[PluginAnswer, bool]] = {}
        self._packages: dict[tuple[tuple[str, ...], str], PluginAnswer] = {}
        self._reports: dict[str, ProviderReport] = {}
        self._warned: set[str] = set()
        self._failed: set[str] = set()
        self._lock = threading.RLock()

    def find_supported(self, metadata: VariantMetadata) -> SupportedProperties:
        """What the machine supports of the namespaces that a release uses.

        Raises:
            ConfigurationError: One of the user's own variables holds a wrong value.
        """
        used = {
            namespace
            for properties in metadata.variants.values()
            for namespace in properties
            if namespace != ABI_DEPENDENCY
        }
        with self._lock:
            decisions = {namespace: self._decide(namespace, metadata) for namespace in sorted(used)}
            self._ask([one.plugin for one in decisions.values() if one.plugin is not None])
            namespaces: dict[str, Mapping[str, tuple[str, ...]]] = {}
            sources: dict[str, str] = {}
            reasons: dict[str, str] = {}
            for namespace, decision in decisions.items():
                report = self._answer(namespace, decision, metadata)
                self._reports[namespace] = report
                if report.reason:
                    reasons[namespace] = report.reason
                else:
                    namespaces[namespace] = report.features
                    sources[namespace] = report.source
        return SupportedProperties(namespaces, sources, reasons)

    def start(self, namespaces: Iterable[str]) -> None:
        """Begin to ask, on a thread of its own, about what will soon be needed.

        Never raises: what goes wrong is told by ``find_supported``, which waits for the
        answers. Nothing is begun where no plugin of this machine would answer.

        Args:
            namespaces: Those that a release on an index is seen to use.
        """
        if self._profile or self._settings.no_providers or self._target.is_foreign:
            return
        wanted = sorted(set(namespaces))

        def ask() -> None:
            with self._lock:
                begun.set()
                plugins = [self._trusted(one).get(one) for one in wanted]
                with contextlib.suppress(VinstallError, OSError):
                    self._ask([one for one in plugins if one is not None])

        begun = threading.Event()
        thread = threading.Thread(target=ask, name="vinstall-providers", daemon=True)
        thread.start()
        begun.wait(1)

    def ask_all(self) -> SupportedProperties:
        """What every trusted plugin says of this machine, for profiles and ``doctor``.

        Raises:
            ConfigurationError: One of the user's own variables holds a wrong value.
        """
        with self._lock:
            plugins = self._trusted()
            self._ask(list(plugins.values()))
            namespaces: dict[str, Mapping[str, tuple[str, ...]]] = {}
            sources: dict[str, str] = {}
            reasons: dict[str, str] = {}
            for namespace, plugin in plugins.items():
                report = self._report_plugin(namespace, plugin)
                self._reports[namespace] = report
                if report.reason:
                    reasons[namespace] = report.reason
                else:
                    namespaces[namespace] = report.features
                    sources[namespace] = report.source
        return SupportedProperties(namespaces, sources, reasons)

    def reports(self) -> tuple[ProviderReport, ...]:
        """Everything that was asked about in this run, by namespace."""
        return tuple(self._reports[namespace] for namespace in sorted(self._reports))

    def trusted_plugins(self) -> Mapping[str, TrustedPlugin]:
        """Namespace → plugin beside vinstall."""
        return self._trusted()

    def close(self) -> None:
        """Nothing is held open."""

    def _trusted(self, namespace: str | None = None) -> Mapping[str, TrustedPlugin]:
        """Namespace → plugin, at least for the one namespace; those of others stay unread."""
        with self._lock:
            if self._looked_for is None or namespace in self._looked_for:
                return self._plugins
            if self._find_plugins is not None:
                self._plugins.update(self._find_plugins())
                self._looked_for = None
                return self._plugins
            from vinstall.providers.plugins import find_plugins

            if namespace is None:
                self._plugins = {**find_plugins(), **self._plugins}
                self._looked_for = None
            else:
                self._plugins.update(find_plugins({namespace}))
                self._looked_for.add(namespace)
            return self._plugins

    def _decide(self, namespace: str, metadata: VariantMetadata) -> Decision:
        profiled = frozenset(self._profile.supported.namespaces) if self._profile else frozenset()
        needs_plugin = not (self._profile or self._settings.no_providers or self._target.is_foreign)
        return choose_provider(
            namespace,
            metadata,
            self._trusted(namespace) if needs_plugin else {},
            self._settings,
            profiled=profiled,
            markers=self._target.markers,
            is_foreign=self._target.is_foreign,
        )

    def _answer(
        self, namespace: str, decision: Decision, metadata: VariantMetadata
    ) -> ProviderReport:
        if decision.kind == "static":
            assert metadata.providers is not None, "static properties stand in a provider"
            features = _static_features(namespace, metadata.providers[namespace], metadata)
            return ProviderReport(namespace, "static properties", features)
        if decision.kind == "profile":
            assert self._profile is not None, "it has the namespace"
            features = {
                name: tuple(values)
                for name, values in self._profile.supported.namespaces[namespace].items()
            }
            source = f"profile {self._profile.origin}"
            reason = "" if features else self._profile.supported.reasons.get(namespace, "")
            present = any(features.values())
            return ProviderReport(namespace, source, features, present=present, reason=reason)
        if decision.plugin is not None:
            return self._report_plugin(namespace, decision.plugin)
        if decision.kind == "package":
            return self._report_package(namespace, decision)
        return ProviderReport(namespace, reason=decision.reason)

    def _ask(self, plugins: Iterable[TrustedPlugin]) -> None:
        """Ask those that have not been asked yet, in one child."""
        python = own_python()
        gpu = self._settings.gpu
        keys: dict[str, str] = {}
        waiting: dict[str, TrustedPlugin] = {}
        for plugin in plugins:
            if plugin.namespace in self._answers:
                continue
            key = answer_key(plugin, self._environment, gpu, python)
            kept = self._cache.find(key)
            if kept is not None:
                self._answers[plugin.namespace] = (kept, True)
                continue
            keys[plugin.namespace] = key
            waiting[plugin.namespace] = plugin
        if not waiting:
            return
        from vinstall.providers.plugins import import_paths

        limit = {} if self._time_limit is None else {"time_limit": self._time_limit}
        found = ask_plugins(
            [PluginRequest(one.namespace, one.object) for one in waiting.values()],
            executable=sys.executable,
            paths=import_paths() if self._paths is None else self._paths,
            environment=clean_environment(self._environment, gpu),
            **limit,
        )
        for namespace, answer in found.items():
            if answer.is_override:
                raise ConfigurationError(
                    "A variable that overrules what is detected has a wrong value", answer.problem
                )
            self._answers[namespace] = (answer, False)
            self._cache.keep(keys[namespace], answer, waiting[namespace].distribution)

    def _with_masks(self, namespace: str, answer: PluginAnswer) -> PluginAnswer:
        """Say that a mask is set and does not count; ``all`` hides nothing."""
        masks = [
            name
            for name, owner in MASKS.items()
            if owner == namespace and self._environment.get(name, "all") != "all"
        ]
        known = any(mask in text for mask in masks for text in answer.notes)
        if not masks or not answer.present or known:
            return answer
        note = (
            f"what is installed does not depend on {' and '.join(masks)}: a mask belongs to one "
            "process and an install stays"
        )
        return replace(answer, notes=(*answer.notes, note))

    def _warn(self, plugin: TrustedPlugin, answer: PluginAnswer) -> None:
        """Tell of a plugin without an answer, once, and only where it was needed."""
        if plugin.namespace in self._failed:
            return
        self._failed.add(plugin.namespace)
        self._observer.receive(
            Warned(
                "provider-failed",
                f"The provider plugin {plugin.distribution} gave no answer: {answer.problem}. "
                f"Nothing of {plugin.namespace} counts as supported.",
                "'vinstall doctor' shows more; --profile FILE answers without asking.",
            )
        )

    def _report_plugin(self, namespace: str, plugin: TrustedPlugin) -> ProviderReport:
        answer, cached = self._answers[plugin.namespace]
        answer = self._with_masks(namespace, answer)
        reason = ""
        if answer.problem:
            reason = f"the plugin {plugin.distribution} gave no answer: {answer.problem}"
            self._warn(plugin, answer)
        elif not answer.features:
            notes = f" ({'; '.join(answer.notes)})" if answer.notes else ""
            reason = f"{plugin.distribution} found no hardware that it knows{notes}"
        if answer.notes and namespace not in self._warned:
            self._warned.add(namespace)
            for note in answer.notes:
                self._observer.receive(Noted(f"{namespace}: {note}", verbosity=0))
        return ProviderReport(
            namespace,
            f"plugin {plugin.distribution} {plugin.version}",
            answer.features,
            plugin.distribution,
            plugin.version,
            answer.seconds,
            cached,
            answer.present,
            answer.notes,
            answer.facts,
            reason,
        )

    def _report_package(self, namespace: str, decision: Decision) -> ProviderReport:
        key = (decision.requires, decision.plugin_api)
        name = decision.requires[0] if decision.requires else decision.plugin_api
        if key not in self._packages:
            if self._package_answer is None:
                answer = PluginAnswer(problem="provider packages can not be installed here")
            else:
                answer = self._package_answer(decision.requires, decision.plugin_api)
            self._packages[key] = answer
            if answer.problem:
                self._observer.receive(
                    Warned(
                        "provider-failed",
                        f"The provider {name} gave no answer: {answer.problem}. Nothing of "
                        f"{namespace} counts as supported.",
                    )
                )
        answer = self._packages[key]
        reason = f"the provider {name} gave no answer: {answer.problem}" if answer.problem else ""
        if not reason and not answer.features:
            reason = f"the provider {name} supports nothing here"
        return ProviderReport(
            namespace,
            f"provider {name}",
            answer.features,
            name,
            seconds=answer.seconds,
            present=answer.present,
            notes=answer.notes,
            facts=answer.facts,
            reason=reason,
        )


def _static_features(
    namespace: str, info: ProviderInfo, metadata: VariantMetadata
) -> dict[str, tuple[str, ...]]:
    """Static properties in their order of preference."""
    static = info.static_properties or {}
    order = info.feature_order or metadata.feature_priorities.get(namespace, ())
    names = [*(one for one in order if one in static), *(one for one in static if one not in order)]
    return {name: tuple(static[name]) for name in names}
