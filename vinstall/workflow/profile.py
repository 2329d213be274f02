"""``profile save``, ``show`` and ``check``: what this machine supports, written down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall import __version__
from vinstall.errors import ProfileError
from vinstall.values import dataclass
from vinstall.workflow.context import Context, read_profile

if TYPE_CHECKING:
    from vinstall.events import Observer
    from vinstall.profile import MachineProfile
    from vinstall.settings import Settings
    from vinstall.variants.supported import SupportedProperties


@dataclass(frozen=True, slots=True)
class ProfileCheck:
    """How a profile compares with this machine.

    Attributes:
        only_profile: Properties that the profile claims and this machine does not support.
        only_machine: Properties that this machine supports and the profile does not claim.
    """

    only_profile: tuple[str, ...]
    only_machine: tuple[str, ...]


def run_make_profile(settings: Settings, observer: Observer) -> MachineProfile:
    """The profile of this machine: the answers of every trusted plugin."""
    import datetime
    import platform

    from vinstall.profile import MachineProfile

    context = Context(settings, observer)
    try:
        supported = context.query.ask_all()
        target = context.base_target
    finally:
        context.close()
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    made = {
        "when": now.isoformat().replace("+00:00", "Z"),
        "vinstall": __version__,
        "host": platform.node(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python": target.version,
    }
    return MachineProfile(supported, made)


def save_profile(path: str, settings: Settings, observer: Observer) -> MachineProfile:
    """Write the profile of this machine to a file.

    Raises:
        ProfileError: The file can not be written.
    """
    from vinstall.profile import format_profile

    profile = run_make_profile(settings, observer)
    try:
        Path(path).write_text(format_profile(profile), "utf-8")
    except OSError as error:
        raise ProfileError(
            f"The profile {path} can not be written", error.strerror or str(error)
        ) from error
    return profile


def check_profile(path: str, settings: Settings, observer: Observer) -> ProfileCheck:
    """Read a profile strictly and compare it with this machine.

    Raises:
        ProfileError: The profile can not be read, or is wrong.
    """
    from vinstall.values import replace

    profile = read_profile(path)
    without = replace(settings, variants=replace(settings.variants, profile=""))
    machine = run_make_profile(without, observer)
    claimed, real = _flatten(profile.supported), _flatten(machine.supported)
    return ProfileCheck(
        tuple(text for text in claimed if text not in real),
        tuple(text for text in real if text not in claimed),
    )


def _flatten(supported: SupportedProperties) -> dict[str, None]:
    return dict.fromkeys(
        f"{namespace} :: {feature} :: {value}"
        for namespace, features in supported.namespaces.items()
        for feature, values in features.items()
        for value in values
    )
