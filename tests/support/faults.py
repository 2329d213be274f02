"""Ways in which a server can misbehave, as values.

``SimpleIndex.fail`` takes one of them for a path. Each is applied to the answer that the
server would have given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with a status code: 401, 403, 404, 410, 429, 500, 503 …

    Attributes:
        code: HTTP status.
        headers: For instance ``{"Retry-After": "1"}`` or ``{"WWW-Authenticate": "Basic"}``.
        body: Text of the answer.
    """

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"sample failure\n"


@dataclass(frozen=True, slots=True)
class Truncated:
    """Close the connection after some bytes of the body.

    Attributes:
        keep: How many bytes arrive.
        with_length: Announce the whole length, so that the loss can be seen; without, the
            answer ends with the connection and looks complete.
    """

    keep: int
    with_length: bool = True


@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing more after some bytes of the body, until the server closes.

    Attributes:
        after: Bytes sent before; -1 stalls before the status line.
        seconds: How long at most; then the rest follows.
    """

    after: int = -1
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Drip:
    """Send the body slowly: ``size`` bytes, then a pause of ``pause`` seconds, and again."""

    size: int = 64
    pause: float = 0.01


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (RST) after some bytes of the body; -1 is before the status line."""

    after: int = -1


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """Answer 200 with an HTML page that says that something is wrong, as captive portals do."""

    text: str = "Please log in to the network."


@dataclass(frozen=True, slots=True)
class Altered:
    """Change one byte in the middle of the body; length and headers stay right."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """Send another body; the content type stays unless it is given."""

    body: bytes
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """Send elsewhere. ``location`` is a URL or a path; it may name another host or scheme."""

    location: str
    code: int = 302


@dataclass(frozen=True, slots=True)
class IgnoreRange:
    """Answer a range request with 200 and the whole file, and do not offer ranges."""


@dataclass(frozen=True, slots=True)
class LyingRange:
    """Answer a range request with 206 and bytes that begin one later than asked."""


@dataclass(frozen=True, slots=True)
class ChangingETag:
    """Give another ETag with each answer, and never 304."""


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """Demand a user name and a password: 401 with ``WWW-Authenticate`` without them."""

    user: str
    password: str


@dataclass(frozen=True, slots=True)
class GzipBomb:
    """Answer 200 with ``Content-Encoding: gzip`` that inflates to ``size`` zero bytes."""

    size: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class EndlessBody:
    """Answer 200 with a chunked body that does not end before ``limit`` bytes were sent."""

    limit: int = 1024 * 1024 * 1024


Fault = (
    Status
    | Truncated
    | Stall
    | Drip
    | Reset
    | HtmlPage
    | Altered
    | Replaced
    | Redirect
    | IgnoreRange
    | LyingRange
    | ChangingETag
    | BasicAuth
    | GzipBomb
    | EndlessBody
)
