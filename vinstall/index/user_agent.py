"""What vinstall says of itself to an index.

The form is the one that download statistics read from installers: the name and version of
the installer, then JSON about the interpreter and the platform.
"""

from __future__ import annotations

import json
import platform
import ssl
import sys
from typing import TYPE_CHECKING

from vinstall import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_CI_VARIABLES = ("BUILD_BUILDID", "BUILD_ID", "CI", "PIP_IS_CI")


def make_user_agent(environment: Mapping[str, str]) -> str:
    """The ``User-Agent`` header.

    Args:
        environment: Variables; ``CI`` and its like, and ``PIP_USER_AGENT_USER_DATA``, count.
    """
    data: dict[str, object] = {
        "installer": {"name": "vinstall", "version": __version__},
        "python": platform.python_version(),
        "implementation": {
            "name": platform.python_implementation(),
            "version": platform.python_version(),
        },
        "system": {"name": platform.system(), "release": platform.release()},
        "cpu": platform.machine(),
        "openssl_version": ssl.OPENSSL_VERSION,
        "ci": True if any(name in environment for name in _CI_VARIABLES) else None,
    }
    distro = _describe_distribution()
    if distro:
        data["distro"] = distro
    user_data = environment.get("PIP_USER_AGENT_USER_DATA")
    if user_data:
        data["user_data"] = user_data
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return f"vinstall/{__version__} {text}"


def _describe_distribution() -> dict[str, object]:
    """Name and version of the Linux distribution or of macOS, as far as known."""
    if sys.platform == "darwin":
        return {"name": "macOS", "version": platform.mac_ver()[0]}
    if not sys.platform.startswith("linux"):
        return {}
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    name, version = release.get("NAME"), release.get("VERSION_ID")
    codename = release.get("VERSION_CODENAME")
    library, library_version = platform.libc_ver()
    found: dict[str, object] = {"name": name, "version": version, "id": codename}
    found = {key: value for key, value in found.items() if value}
    if library:
        found["libc"] = {"lib": library, "version": library_version}
    return found
