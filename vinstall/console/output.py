"""The only writer: streams, width, colour, and what is said at which verbosity.

Results and pip's progress lines go to stdout, warnings, errors and hints to stderr. The
quiet levels are pip's: ``-q`` leaves warnings, ``-qq`` errors, ``-qqq`` only what ended the
command. Results are always written.
"""

from __future__ import annotations

import contextlib
import sys
import threading

from vinstall.errors import words_of
from vinstall.patterns import lazy_pattern
from vinstall.settings import OutputSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_CREDENTIALS = lazy_pattern(
    r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<user>[^/@\s:]*)(?P<rest>:[^/\s]*)?@"
)
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
_YELLOW, _RED, _BOLD, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


def clean_text(text: str) -> str:
    """A text without passwords, and without what would move a terminal's cursor or colours.

    Names, reasons and errors come from indexes and wheels, and these can be anybody's.
    """
    if not text.isprintable():
        text = _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
    return mask_credentials(text)


def mask_credentials(text: str) -> str:
    """A text whose URLs show no password: ``https://user:****@host``."""
    if "://" not in text or "@" not in text:
        return text
    return _CREDENTIALS.sub(
        lambda found: (
            f"{found['scheme']}{found['user']}:****@"
            if found["rest"] is not None
            else f"{found['scheme']}****@"
        ),
        text,
    )


class Console:
    """Writes lines; safe to use from several threads.

    Args:
        settings: Verbosity, colour and log.
        stdout: Stream of results; the process's own by default.
        stderr: Stream of messages; the process's own by default.
    """

    def __init__(
        self,
        settings: OutputSettings | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.settings = settings or OutputSettings()
        self.stdout = stdout if stdout is not None else sys.stdout
        self.stderr = stderr if stderr is not None else sys.stderr
        self.above: Callable[[str], None] | None = None
        """Writes a line above moving bars, while there are some."""
        self.keeps_stdout = False
        self.said: list[str] | None = []
        """The lines on stdout so far; ``None`` as soon as something was written elsewhere."""
        self.rests_on: list[str] = []
        """All files and folders that decided what was said, if the command had nothing to do."""
        self._last = self.stdout
        self._lock = threading.RLock()
        self._log: TextIO | None = None
        self._log_failed = False

    @property
    def verbosity(self) -> int:
        """0 is normal, more is louder."""
        return self.settings.verbosity

    @property
    def width(self) -> int:
        """Columns of the terminal; 80 where there is none."""
        import shutil

        return shutil.get_terminal_size((80, 24)).columns

    def is_terminal(self, stream: TextIO) -> bool:
        """Whether a person looks at a stream."""
        try:
            return stream.isatty()
        except (AttributeError, ValueError):
            return False

    def uses_color(self, stream: TextIO) -> bool:
        """Whether a stream gets colours."""
        if self.settings.color is not None:
            return self.settings.color
        return self.is_terminal(stream)

    def result(self, text: str) -> None:
        """Write what was asked for, as it stands (but on a terminal), at every verbosity."""
        if self.is_terminal(self.stdout):
            text = _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
        self._write(self.stdout, text)

    def info(self, text: str, verbosity: int = 0) -> None:
        """Write a line about the work to stdout, from this verbosity on.

        With ``keeps_stdout`` it goes to stderr: stdout then carries a document.
        """
        text = clean_text(text)
        if self.verbosity >= verbosity:
            self._write(self.stderr if self.keeps_stdout else self.stdout, text)
        else:
            self._to_log(text)

    def warning(self, what: str, fix: str = "") -> None:
        """Write a warning, and what to do about it below."""
        self._say("WARNING: ", what, fix, _YELLOW, -1)

    def error(self, what: str, fix: str = "") -> None:
        """Write an error that does not end the command."""
        self._say("ERROR: ", what, fix, _RED, -2)

    def critical(self, what: str) -> None:
        """Write what ends the command, at every verbosity."""
        self._say("ERROR: ", what, "", _RED, None)

    def message(self, text: str, verbosity: int = -2) -> None:
        """Write a line without a prefix to stderr, from this verbosity on."""
        text = clean_text(text)
        if self.verbosity >= verbosity:
            self._write(self.stderr, text)
        else:
            self._to_log(text)

    def usage(self, text: str) -> None:
        """Write how a command is called to stderr, at every verbosity."""
        self._write(self.stderr, text)

    def hint(self, text: str) -> None:
        """Write something worth reading to stderr; ``-q`` hides it."""
        text = clean_text(text)
        if self.verbosity >= 0:
            self._write(self.stderr, self._painted(self.stderr, f"hint: {text}", _BOLD))
        else:
            self._to_log(text)

    def ask(self, question: str) -> str:
        """Ask a person at the terminal; the answer without blanks around it.

        Raises:
            EOFError: Nobody is there to answer.
        """
        with self._lock:
            self._finish_other(self.stderr)
            write_text(self.stderr, question)
            self.stderr.flush()
        answer = sys.stdin.readline() if sys.stdin is not None else ""
        if not answer:
            raise EOFError
        return answer.strip()

    def flush(self) -> None:
        """Write out what is buffered.

        Raises:
            BrokenPipeError: Nobody reads stdout any more.
        """
        with self._lock:
            self.stdout.flush()
            with contextlib.suppress(OSError, ValueError):
                self.stderr.flush()

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _say(self, prefix: str, what: str, fix: str, paint: str, needed: int | None) -> None:
        lines = clean_text(what).splitlines() or [""]
        text = "\n".join([prefix + lines[0], *lines[1:]])
        if fix:
            text = f"{text}\n  {clean_text(fix)}"
        if needed is None or self.verbosity >= needed:
            self._write(self.stderr, self._painted(self.stderr, text, paint), plain=text)
        else:
            self._to_log(text)

    def _painted(self, stream: TextIO, text: str, paint: str) -> str:
        return f"{paint}{text}{_PLAIN}" if self.uses_color(stream) else text

    def _write(self, stream: TextIO, text: str, plain: str = "") -> None:
        with self._lock:
            self._to_log(plain or text)
            if self.said is not None:
                if stream is self.stdout and self.above is None and not plain:
                    self.said.append(text)
                else:
                    self.said = None
            self._finish_other(stream)
            if self.above is not None and self.is_terminal(stream):
                self.above(text)
                return
            try:
                write_text(stream, f"{text}\n")
            except BrokenPipeError:
                if stream is self.stdout:
                    raise

    def _finish_other(self, stream: TextIO) -> None:
        """Write out the other stream first: who reads both in one file sees them in order.

        Raises:
            BrokenPipeError: Nobody reads stdout any more.
        """
        if stream is self._last:
            return
        last, self._last = self._last, stream
        try:
            last.flush()
        except BrokenPipeError:
            if last is self.stdout:
                raise
        except (OSError, ValueError, AttributeError):  # closed, or there is no such stream
            pass

    def _to_log(self, text: str) -> None:
        if not self.settings.log or self._log_failed:
            return
        with self._lock:
            if self._log is None:
                try:
                    from pathlib import Path

                    path = Path(self.settings.log)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._log = path.open("a", encoding="utf-8", errors="backslashreplace")
                except OSError as error:
                    self._log_failed = True
                    self.warning(
                        f"The log {self.settings.log} can not be written: {words_of(error)}"
                    )
                    return
            import time

            stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
            self._log.writelines(f"{stamp} {line}\n" for line in text.splitlines())
            self._log.flush()


def write_text(stream: TextIO, text: str) -> None:
    """Write a text to a stream whose encoding may lack some of its characters."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
