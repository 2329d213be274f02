"""The environments in which sources are built: filled like the target, with the same variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.distributions.filename import normalize_name
from vinstall.errors import VinstallError
from vinstall.events import Warned
from vinstall.settings import RequestSettings, ResolveSettings, TargetSettings
from vinstall.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.events import Event, Observer
    from vinstall.workflow.context import Context


class _WarningsOnly:
    """Lets warnings through: what is installed for a build is no news."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def receive(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Warned):
            self._observer.receive(event)


def fill_environment(context: Context, python: str, needs: Sequence[str]) -> None:
    """Install what a build needs into its environment.

    Indexes, the wishes about variants, format control and build constraints are those of the
    run. Where the target has a variant of a needed project, the build gets the same one,
    unless that can not be had.

    Args:
        context: Of the run that builds.
        python: The interpreter of the environment.
        needs: Dependency specifiers.

    Raises:
        VinstallError: It could not be done.
    """
    labels = _labels_of_target(context)
    if labels:
        try:
            _fill(context, python, needs, labels)
            return
        except VinstallError:
            pass  # another release of the project may have no such variant
    _fill(context, python, needs, {})


def _labels_of_target(context: Context) -> Mapping[str, str]:
    """Project → the label that is installed, where the user says nothing of it."""
    wishes = context.settings.variants
    return {
        one.project: one.label
        for one in context.installed
        if one.label and one.project not in wishes.labels and one.project not in wishes.disabled
    }


def _fill(context: Context, python: str, needs: Sequence[str], labels: Mapping[str, str]) -> None:
    from vinstall.environment.interpreter import probe_target
    from vinstall.workflow.context import Context as Inner
    from vinstall.workflow.install import install_in

    settings, resolve = context.settings, context.settings.resolve
    wishes = settings.variants
    request = settings.request
    inner = Inner(
        replace(
            settings,
            target=TargetSettings(python=python, isolated=settings.target.isolated),
            request=RequestSettings(
                requirements=tuple(needs),
                constraints=request.build_constraints,
                build_constraints=request.build_constraints,
            ),
            resolve=ResolveSettings(
                pre=resolve.pre,
                only_final=resolve.only_final,
                no_binary=resolve.no_binary,
                only_binary=resolve.only_binary,
                prefer_binary=resolve.prefer_binary,
            ),
            variants=replace(wishes, labels={**labels, **wishes.labels}, required={}),
            output=replace(settings.output, report=""),
            dry_run=False,
            compile=False,
            warn_script_location=False,
        ),
        _WarningsOnly(context.observer),
        context.environment,
        building=context.building,
    )
    # Nobody will ask for this interpreter again: its facts are not kept.
    vars(inner)["base_target"] = probe_target(python, "", inner.observer)
    try:
        install_in(inner)
    finally:
        inner.close()


def find_lacking(context: Context, needs: Sequence[str]) -> list[str]:
    """What of some requirements the target lacks, sorted."""
    from packaging.requirements import InvalidRequirement, Requirement

    lacking = []
    for text in needs:
        try:
            need = Requirement(text)
        except InvalidRequirement:
            lacking.append(text)
            continue
        if need.marker is not None and not need.marker.evaluate(dict(context.target.markers)):
            continue
        there = context.installed.get(normalize_name(need.name))
        if there is None or not need.specifier.contains(there.version_text, prereleases=True):
            lacking.append(text)
    return sorted(lacking)
