"""An error → what, why, what to do, in lines that pip's readers know.

The words of the two errors that scripts look for, ``No matching distribution found for`` and
``ResolutionImpossible``, are pip's (``pip-compat.md`` §6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.errors import (
    ExternallyManagedError,
    HashMismatchError,
    NoMatchingWheelError,
    ResolutionError,
    VinstallError,
)

if TYPE_CHECKING:
    from vinstall.console.output import Console

REPORT_TO = "Please report it with the output of the same command with --debug added."


def show_error(console: Console, error: VinstallError, program: str = "vinstall") -> None:
    """Write an error that ends a command to stderr.

    Args:
        console: The writer.
        error: What went wrong.
        program: How the program was called, for usage lines.
    """
    usage = getattr(error, "usage", None)
    if usage is not None:
        if usage:
            console.usage(format_usage(usage, program) + "\n")
        console.usage(error.what)
        if error.fix:
            console.usage(f"hint: {error.fix}")
        return
    if isinstance(error, NoMatchingWheelError) and error.requirement:
        versions = ", ".join(error.versions) or "none"
        console.critical(
            "Could not find a version that satisfies the requirement "
            f"{error.requirement} (from versions: {versions})"
        )
        console.critical(f"No matching distribution found for {error.requirement}")
        _show_detail(console, error.causes, "")
    elif isinstance(error, ResolutionError):
        console.critical(error.what)
        if error.causes:
            console.message("\nThe conflict is caused by:")
            _show_detail(console, error.causes, "")
            console.message("")
        _show_detail(console, (), error.why)
        console.critical(
            "ResolutionImpossible: for help visit "
            "https://pip.pypa.io/en/latest/topics/dependency-resolution/"
        )
        _show_fix(console, error.fix)
        return
    elif isinstance(error, ExternallyManagedError):
        console.message(f"error: {error.code}\n", verbosity=-3)
        console.critical(error.what)
    elif isinstance(error, HashMismatchError):
        console.critical(f"THESE PACKAGES DO NOT MATCH THE HASHES: {error.what}")
    else:
        console.critical(error.what)
    _show_detail(console, (), error.why)
    _show_fix(console, error.fix)


def _show_detail(console: Console, causes: tuple[str, ...], why: str) -> None:
    for text in (*causes, why):
        for line in text.splitlines():
            console.message(f"  {line}")


def _show_fix(console: Console, fix: str) -> None:
    if fix:
        first, *more = fix.splitlines()
        console.message(f"hint: {first}")
        for line in more:
            console.message(f"  {line}")


def format_usage(usage: tuple[str, ...], program: str) -> str:
    """Usage lines below a heading."""
    return "\n".join(["", "Usage:", *(f"  {program} {line}" for line in usage)])


def show_fault(console: Console, error: BaseException) -> None:
    """Write what to do about an exception that nobody foresaw."""
    name = type(error).__name__
    said = " ".join(str(error).split())
    told = f"{name}: {said}" if said else name
    console.critical(f"This is a fault in vinstall, not in what you did ({told}).")
    console.message(f"hint: {REPORT_TO}", verbosity=-3)
