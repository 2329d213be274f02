"""Arguments → command → exit code; the only place that catches everything.

Nothing is imported here before it is needed: ``vinstall --version`` costs what Python costs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from vinstall.cli.parser import CommandLine
    from vinstall.console.output import Console

BROKEN_PIPE = 120


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        0 done, 1 could not be done, 2 wrong usage or a fault of ours, 3 a virtual
        environment was required, 4 a required variant is not available, 120 nobody reads
        stdout any more.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments and arguments[0] in ("--version", "-V"):
        return _guard_output(print_version)
    if arguments:
        from vinstall.cli.again import recall

        said = recall(arguments)
        if said is not None:
            return _guard_output(lambda: _say_again(said))
    return _guard_output(lambda: _run(arguments))


def version_line() -> str:
    """What ``--version`` prints, in the form that scripts know from pip."""
    from vinstall import __version__

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    major, minor = sys.version_info[:2]
    return f"vinstall {__version__} from {folder} (python {major}.{minor})"


def print_version() -> int:
    """Print the version."""
    sys.stdout.write(f"{version_line()}\n")
    return 0


def _say_again(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _guard_output(command: _Command) -> int:
    """Run a command and notice when nobody reads its output any more, or it has no room."""
    _open_missing_streams()
    try:
        status = command()
    except BrokenPipeError:
        _leave_broken_stdout(b"Pipe to stdout was broken")
        return BROKEN_PIPE
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_broken_stdout(b"Pipe to stdout was broken")
        return BROKEN_PIPE
    except OSError as error:
        _leave_broken_stdout(f"stdout can not be written: {error.strerror}".encode())
        return status or 1
    return status


def _open_missing_streams() -> None:
    """Write to nowhere what the caller closed (``>&-``): a change is not begun to fail at it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115


def _leave_broken_stdout(reason: bytes) -> None:
    """Point stdout to nowhere, so that Python's own last flush does not complain."""
    try:
        os.write(2, b"ERROR: %s\n" % reason)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no such descriptors: a test, or an embedding program
        pass


def _run(argv: list[str]) -> int:
    import gc

    gc.set_threshold(100_000, 50, 100)  # values by the ten thousand, and hardly a cycle
    from vinstall.console.output import Console
    from vinstall.errors import VinstallError

    console = Console()
    holder = _Holder(console)
    restore = _turn_signals_into_interrupts()
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        restore()
        console.critical("The folder that the command runs in is not there any more.")
        return 1
    try:
        return _dispatch(argv, holder)
    except VinstallError as error:
        from vinstall.cli.help import program_name
        from vinstall.console.diagnostics import show_error

        if holder.console.settings.debug:
            raise
        show_error(holder.console, error, program_name())
        return error.exit_code
    except KeyboardInterrupt:
        holder.console.critical("Operation cancelled by user")
        return 1
    except BrokenPipeError:
        raise
    except Exception as error:
        return _tell_unexpected(error, holder.console)
    finally:
        restore()
        holder.console.close()


class _Holder:
    """The console in use: a plain one until the settings are known."""

    def __init__(self, console: Console) -> None:
        self.console = console


def _dispatch(argv: list[str], holder: _Holder) -> int:
    from vinstall.cli.parser import parse_command_line

    line = parse_command_line(argv)
    if line.version:
        return print_version()
    if line.help or (line.command == "install" and "install" not in argv and _is_bare(line)):
        from vinstall.cli.help import program_name, show_help

        name = line.command if line.help else "help"
        action = line.words[0] if line.help and line.words else ""
        return show_help(holder.console, name, program_name(), action)
    from vinstall.cli.commands import find_command
    from vinstall.cli.config_files import Surroundings
    from vinstall.cli.precedence import merge_settings
    from vinstall.console.output import Console

    command = find_command(line.command)
    merged = merge_settings(line, Surroundings.of_process())
    console = holder.console = Console(merged.settings.output)
    for warning in merged.warnings:
        console.warning(warning.what, warning.fix)
    status = command(merged.settings, merged.arguments, console)
    console.flush()
    output = merged.settings.output
    if (status == 0 and console.rests_on and console.said is not None) and (
        output.verbosity <= 0 and not output.log and not output.debug
    ):
        from vinstall.cli.again import remember

        places = [*merged.rests_on, *console.rests_on]
        remember(argv, merged.settings.cache_dir, places, console.said)
    return status


def _is_bare(line: CommandLine) -> bool:
    """Whether there are only options, so that nobody knows what is wanted."""
    from vinstall.cli.parser import asks_something

    return not asks_something(line)


def _tell_unexpected(error: Exception, console: Console) -> int:
    if isinstance(error, MemoryError):
        console.critical("There is not enough memory to go on.")
        return 1
    if isinstance(error, OSError) and not console.settings.debug:
        import errno

        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" ({error.filename})" if error.filename else ""
            console.critical(f"There is no space left on the device{where}.")
            console.message(
                "hint: Make room, or use --cache-dir and TMPDIR to write elsewhere.", verbosity=-3
            )
            return 1
    if console.settings.debug:
        raise error
    from vinstall.console.diagnostics import show_fault

    show_fault(console, error)
    return 2


def _turn_signals_into_interrupts() -> _Restore:
    """Let the signals that end a program undo what was begun, as Ctrl-C does."""
    import signal

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = []
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            old = signal.getsignal(number)
            if old is signal.SIG_IGN or old is None:
                continue  # nohup: the user wants it ignored
            signal.signal(number, interrupt)
        except ValueError:  # not the main thread
            break
        before.append((number, old))

    def restore() -> None:
        for number, old in before:
            signal.signal(number, old)

    return restore


if TYPE_CHECKING:
    from collections.abc import Callable

    _Command = Callable[[], int]
    _Restore = Callable[[], None]
