"""``check --repair``: finds files that are not as RECORD says, and puts them back.

A distribution with such a file is installed again, as it is: the same version, the same build,
from where it came; all of them in one change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.distributions.record import parse_record
from vinstall.errors import WheelFormatError, words_of
from vinstall.settings import Names, RequestSettings
from vinstall.values import dataclass, replace
from vinstall.workflow.context import Context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.events import Observer
    from vinstall.settings import Settings


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with the files of one distribution.

    Attributes:
        distribution: The distribution.
        missing: Paths that RECORD names and that are not there, as RECORD writes them.
        altered: Paths whose size or digest is another one.
        hopeless: Why it can not be repaired; empty where it can.
    """

    distribution: InstalledDistribution
    missing: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    hopeless: str = ""


def find_damage(distributions: Sequence[InstalledDistribution]) -> tuple[Damage, ...]:
    """Compare what is installed with RECORD; compiled files are left out.

    Implements the recording installed projects specification, "The RECORD file".
    """
    found = (_look_at(one) for one in distributions if one.kind == "dist-info")
    return tuple(damage for damage in found if damage.missing or damage.altered or damage.hopeless)


def _look_at(distribution: InstalledDistribution) -> Damage:
    from pathlib import Path

    from vinstall.wheel.store import file_matches

    try:
        text = Path(distribution.info, "RECORD").read_text("utf-8", "surrogateescape")
        rows = parse_record(text, distribution.name)
    except (OSError, WheelFormatError) as error:
        return Damage(distribution, hopeless=f"its files are unknown: {words_of(error)}")
    missing, altered = [], []
    for row in rows:
        path = Path(distribution.location, row.path)
        if row.path.endswith(".pyc"):
            continue
        try:
            size = path.stat().st_size
        except (OSError, ValueError):
            missing.append(row.path)
            continue
        wrong_size = row.size is not None and size != row.size
        try:
            if wrong_size or (row.digest and not file_matches(str(path), row.digest)):
                altered.append(row.path)
        except ValueError:  # a kind of digest that this Python does not have
            continue
    hopeless = ""
    if (missing or altered) and distribution.editable_location:
        hopeless = f"it is an editable install of {distribution.editable_location}"
    return Damage(distribution, tuple(missing), tuple(altered), hopeless)


def run_repair(
    settings: Settings, damages: Sequence[Damage], observer: Observer
) -> tuple[tuple[str, str], ...]:
    """Install again what is damaged and can be repaired.

    Returns:
        (name, version) of what was installed.

    Raises:
        VinstallError: It could not be done; the environment is as it was.
    """
    from vinstall.workflow.install import install_in

    distributions = [one.distribution for one in damages if not one.hopeless]
    if not distributions:
        return ()
    context = Context(_settings_for(settings, distributions), observer)
    context.keeps_requested = True
    try:
        return install_in(context).installed
    finally:
        context.close()


def _settings_for(settings: Settings, distributions: Sequence[InstalledDistribution]) -> Settings:
    from vinstall.workflow.reports import format_direct_url

    requirements = []
    labels = {}
    plain = set()
    bridges = set(settings.bridges.families.names)
    for one in distributions:
        direct = one.direct_url
        if direct and isinstance(direct.get("url"), str):
            requirements.append(f"{one.name} @ {format_direct_url(direct)}")
            continue
        if one.bridge:
            # The very build that it was, by the name that the bridge has for it.
            project = one.stands_for or one.project
            requirements.append(f"{project}=={one.public_version}")
            labels[project] = one.shown_label
            bridges.add(one.bridge)
            continue
        requirements.append(f"{one.name}=={one.version_text}")
        if one.label:
            labels[one.project] = one.label
        else:
            plain.add(one.project)
    return replace(
        settings,
        request=RequestSettings(requirements=tuple(requirements)),
        bridges=replace(
            settings.bridges,
            families=replace(settings.bridges.families, names=frozenset(bridges)),
        ),
        resolve=replace(
            settings.resolve,
            force_reinstall=True,
            no_deps=True,
            upgrade=False,
            require_hashes=False,
            pre=Names(everything=True),
        ),
        variants=replace(
            settings.variants, labels=labels, disabled=Names(names=frozenset(plain)), required={}
        ),
    )
