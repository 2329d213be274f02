"""``index versions``: what an index has of one project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.cli.parser import OptionConflictError

if TYPE_CHECKING:
    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console
    from vinstall.workflow.context import Context


def run_index(context: Context, arguments: Arguments, console: Console) -> int:
    """``vinstall index versions NAME``.

    Raises:
        OptionConflictError: Not exactly one name was given.
        VinstallError: No index offers anything of that name.
    """
    from vinstall.console.tables import format_json
    from vinstall.workflow.releases import find_versions

    if len(arguments.words) != 1:
        raise OptionConflictError("You need to specify exactly one argument")
    found = find_versions(context, arguments.words[0])
    latest = found.versions[0]
    if arguments.flag("json"):
        data: dict[str, object] = {
            "name": found.name,
            "versions": list(found.versions),
            "latest": latest,
        }
        if found.installed:
            data["installed_version"] = found.installed
        console.result(format_json(data))
        return 0
    console.result(f"{found.name} ({latest})")
    console.result(f"Available versions: {', '.join(found.versions)}")
    if found.installed:
        from packaging.version import Version

        note = (
            " (pre-release; install with `vinstall install --pre`)" if Version(latest).pre else ""
        )
        console.result(f"  INSTALLED: {found.installed}")
        console.result(f"  LATEST:    {latest}{note}")
    return 0
