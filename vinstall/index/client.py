"""Requests: retries, silence, redirects, credentials, sizes.

Direct connections go over ``wire``, all others through ``httpx``, which is imported only
then. Every error that leaves this module is an ``IndexAccessError`` (or a
``ConfigurationError`` for the user's own certificates and proxies), and no message holds a
password.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
import zlib
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin, urlsplit

from vinstall.errors import IndexAccessError
from vinstall.events import Noted, Warned
from vinstall.index.address import (
    host_of,
    is_url,
    origin_of,
    redact_url,
    split_credentials,
    strip_credentials,
)
from vinstall.index.credentials import CredentialStore
from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx

    from vinstall.events import Observer
    from vinstall.index.connections import Connections
    from vinstall.index.wire import WireResponse
    from vinstall.settings import IndexSettings

PAGE_LIMIT = 256 * 1024 * 1024
"""Bytes of a page at most, decoded."""
_BLOCK = 64 * 1024
_RETRIED = frozenset({429, 500, 502, 503, 504, 520, 527})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECT_LIMIT = 20
_Answer = TypeVar("_Answer")


class StatusError(IndexAccessError):
    """The server answered with a status that is no success.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, status: int, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what, why, fix)
        self.status = status


class ConnectionLostError(IndexAccessError):
    """The answer began and did not end: it may be worth going on from there."""


class OfflineError(IndexAccessError):
    """A request would be needed and none is allowed."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that arrived whole.

    Attributes:
        status: 2xx, or 304 where a validator was sent.
        headers: Lower-case names.
        body: Decoded from its content encoding.
        url: Where it came from after redirects, without credentials.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Stream:
    """An answer whose body is still to come, as it is sent (no content decoding).

    Attributes:
        status: 2xx or 416.
        headers: Lower-case names.
        url: Where it comes from after redirects, without credentials.
    """

    def __init__(self, response: httpx.Response | WireResponse, url: str) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = _headers_of(response)
        self.url = url

    def __iter__(self) -> Iterator[bytes]:
        """The body in pieces.

        Raises:
            ConnectionLostError: It ended early, or there was silence for too long.
        """
        try:
            yield from self._response.iter_raw()
        except _broken("TransportError", "StreamError") as error:
            raise ConnectionLostError(
                f"the answer from {redact_url(self.url)} did not arrive whole", _reason(error)
            ) from error


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait between tries; tests make it short.

    Attributes:
        first: Seconds before the second try; each further wait is twice as long.
        longest: Seconds of one wait at most, whatever ``Retry-After`` says.
        sleep: Waits for some seconds.
    """

    first: float = 0.25
    longest: float = 30.0
    sleep: Callable[[float], None] = time.sleep

    def before_try(self, number: int, retry_after: float | None) -> float:
        """Seconds to wait before the retry ``number``, counted from 0."""
        if retry_after is not None:
            return min(retry_after, self.longest)
        import random

        wait = self.first * (1 << min(number, 16))
        return min(wait * (0.75 + random.random() / 2), self.longest)


class HttpClient:
    """Speaks with indexes; may be used by several threads.

    Args:
        settings: How to reach indexes.
        observer: Receives notes on retries.
        user_agent: The header; empty for the usual one.
        environment: Variables of proxies, certificates, netrc.
        offline: Whether every request is refused.
        patience: How long to wait between tries.
    """

    def __init__(
        self,
        settings: IndexSettings,
        observer: Observer,
        *,
        user_agent: str = "",
        environment: Mapping[str, str],
        offline: bool = False,
        patience: Patience | None = None,
    ) -> None:
        self._settings = settings
        self._observer = observer
        self._user_agent = user_agent
        self._environment = environment
        self.offline = offline
        self._patience = patience or Patience()
        self._lock = threading.Lock()
        self._connections: Connections | None = None
        self._closed = False
        self._credentials = CredentialStore(
            settings, environment, lambda text: observer.receive(Noted(text, 0))
        )

    def close(self) -> None:
        """Close all connections; requests that are under way end with an error."""
        with self._lock:
            self._closed = True
            connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

    @property
    def retries(self) -> int:
        """How often a request is tried again."""
        return 0 if self._closed else self._settings.retries

    def wait_before(self, number: int) -> None:
        """Wait as before the retry ``number``, counted from 0."""
        self._patience.sleep(self._patience.before_try(number, None))

    def has_credentials(self, url: str) -> bool:
        """Whether requests for a URL carry credentials."""
        return self._credentials.find(url) is not None

    def credential_key(self, url: str) -> str:
        """A short text that differs between credentials and does not tell them."""
        found = self._credentials.find(url)
        if found is None:
            return ""
        import hashlib

        return hashlib.sha256(f"{found[0]}\0{found[1]}".encode()).hexdigest()[:16]

    def get(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        accept: str = "*/*",
        limit: int = PAGE_LIMIT,
    ) -> Response:
        """Fetch a whole answer into memory.

        Args:
            url: What to fetch; may carry credentials.
            headers: More headers, for instance ``If-None-Match`` or ``Range``.
            accept: The ``Accept`` header.
            limit: Bytes of the decoded body at most.

        Returns:
            The answer, with a status of 2xx or 304.

        Raises:
            StatusError: Any other status, after the retries.
            IndexAccessError: Everything else that went wrong.
        """
        wanted = {"Accept": accept, "Accept-Encoding": "gzip", **(headers or {})}
        return self._request("GET", url, wanted, lambda stream: _read_whole(stream, limit))

    def head(self, url: str, headers: Mapping[str, str] | None = None) -> Response:
        """Fetch the headers of an answer; errors as for ``get``."""
        wanted = {"Accept-Encoding": "identity", **(headers or {})}
        return self._request(
            "HEAD",
            url,
            wanted,
            lambda stream: Response(stream.status, stream.headers, b"", stream.url),
        )

    @contextlib.contextmanager
    def stream(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[Stream]:
        """Open an answer and read it in pieces.

        Opening is tried again as for ``get``; once the body has begun, the caller decides.
        Leaving the block ends the transfer wherever it is.

        Raises:
            StatusError: A status that is neither 2xx nor 416.
            ConnectionLostError: While reading, see ``Stream``.
            IndexAccessError: It can not be opened.
        """
        wanted = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
        stack = contextlib.ExitStack()

        def keep(stream: Stream) -> Stream:
            return stream

        with stack:
            yield self._request("GET", url, wanted, keep, stack)

    # One request with its retries

    def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        read: Callable[[Stream], _Answer],
        stack: contextlib.ExitStack | None = None,
    ) -> _Answer:
        tries = 0
        while True:
            retry_after: float | None = None
            problem: IndexAccessError
            try:
                return self._follow(method, url, headers, read, stack)
            except StatusError as error:
                if error.status not in _RETRIED or tries >= self._settings.retries:
                    raise
                retry_after = error.retry_after if isinstance(error, _BusyError) else None
                problem = error
            except ConnectionLostError as error:
                if tries >= self._settings.retries:
                    raise
                problem = error
            except _bad_address() as error:
                raise IndexAccessError(f"{redact_url(url)} is not a URL", str(error)) from error
            except _from_httpx("UnsupportedProtocol") as error:
                raise IndexAccessError(
                    f"{redact_url(url)} can not be fetched", "only http and https are supported"
                ) from error
            except _broken("HTTPError") as error:
                problem = self._explain(url, error)
                if _is_final(error) or tries >= self._settings.retries or self._closed:
                    raise problem from error
            except RuntimeError as error:
                if not self._closed:
                    raise
                raise IndexAccessError(
                    f"{redact_url(url)} was given up", "the work ended"
                ) from error
            wait = self._patience.before_try(tries, retry_after)
            tries += 1
            self._observer.receive(
                Warned(
                    "retry",
                    f"Trying again in {wait:.1f} s (retry {tries} of {self._settings.retries}): "
                    f"{problem}",
                )
            )
            self._patience.sleep(wait)

    def _follow(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        read: Callable[[Stream], _Answer],
        stack: contextlib.ExitStack | None,
    ) -> _Answer:
        """Send, and go where redirects point, until there is an answer."""
        secret_sent = False
        asked_keyring = False
        current = url
        redirects = 0
        if not is_url(url):
            raise IndexAccessError(f"{redact_url(url)} is not a URL", "it names no host")
        while True:
            credentials = self._credentials.find(current)
            secret_sent = secret_sent or credentials is not None
            response = self._send(method, current, headers, credentials)
            handed_over = False
            try:
                status = response.status_code
                if status in _REDIRECTS and "location" in response.headers:
                    redirects += 1
                    current = self._redirect(
                        current, response.headers["location"], redirects, secret_sent
                    )
                    continue
                if status == 401 and not asked_keyring:
                    asked_keyring = True
                    found = self._credentials.ask_keyring(current)
                    if found is not None and found != credentials:
                        bare = split_credentials(current)[0]
                        current = _with_user(bare, found)
                        continue
                shown = strip_credentials(current)
                if not (200 <= status < 300 or status == 304 or (status == 416 and stack)):
                    raise self._status_error(response, current, credentials is not None)
                stream = Stream(response, shown)
                if stack is not None:
                    stack.callback(response.close)
                    handed_over = True
                return read(stream)
            finally:
                if not handed_over:
                    response.close()

    def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        credentials: tuple[str, str] | None,
    ) -> httpx.Response | WireResponse:
        bare = split_credentials(url)[0]
        if self.offline:
            raise OfflineError(
                f"{redact_url(bare)} can not be fetched",
                "no request is allowed, and the cache does not have it",
                "allow the network, or fill the cache first",
            )
        connections = self._open()
        wire = connections.wire_for(bare)
        if wire is not None:
            wanted = {"User-Agent": self._user_agent, **headers}
            if credentials:
                import base64

                pair = ":".join(credentials).encode()
                wanted["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
            return wire.send(method, bare, wanted)
        client = connections.client_for(bare)
        import httpx

        auth = httpx.BasicAuth(*(part.encode() for part in credentials)) if credentials else None
        request = client.build_request(
            method, bare, headers={"User-Agent": self._user_agent, **headers}
        )
        return client.send(request, auth=auth, stream=True)

    def _open(self) -> Connections:
        with self._lock:
            if self._closed:
                raise IndexAccessError("the connections are closed", "the work ended")
            if self._connections is None:
                from vinstall.index.connections import Connections

                if not self._user_agent:
                    from vinstall.index.user_agent import make_user_agent

                    self._user_agent = make_user_agent(self._environment)
                self._connections = Connections(self._settings, self._environment)
            return self._connections

    def _redirect(self, current: str, location: str, count: int, secret_sent: bool) -> str:
        shown = redact_url(current)
        if count > _REDIRECT_LIMIT:
            raise IndexAccessError(
                f"{shown} can not be fetched", f"there are more than {_REDIRECT_LIMIT} redirects"
            )
        bare, given = split_credentials(current)
        try:
            target = urljoin(bare, location)
            keep = _may_keep_credentials(origin_of(bare), origin_of(target))
            scheme = urlsplit(target).scheme
        except ValueError as error:
            raise IndexAccessError(
                f"{shown} can not be fetched", f"it redirects to a bad URL: {error}"
            ) from error
        if scheme not in ("http", "https"):
            raise IndexAccessError(
                f"{shown} can not be fetched", f"it redirects to {redact_url(target)}"
            )
        if (
            scheme == "http"
            and urlsplit(bare).scheme == "https"
            and (secret_sent or self._credentials.find(target) is not None)
        ):
            raise IndexAccessError(
                f"{shown} can not be fetched",
                f"it redirects from https to {redact_url(target)}, and credentials are in use",
            )
        if keep and given is not None and split_credentials(target)[1] is None:
            return _with_user(target, given)
        return target

    # Errors in words

    def _status_error(
        self, response: httpx.Response | WireResponse, url: str, had_credentials: bool
    ) -> StatusError:
        status = response.status_code
        shown = redact_url(url)
        phrase = f"HTTP status {status} {response.reason_phrase}".rstrip()
        host = host_of(url)
        if status in (401, 403):
            if had_credentials:
                return StatusError(
                    status,
                    f"{host} refuses the credentials for {shown}",
                    phrase,
                    f"correct them; they come from {self._credentials.sources()}",
                )
            return StatusError(
                status,
                f"{host} asks for credentials for {shown}",
                f"{phrase}, and there are none for it",
                f"give them through {self._credentials.sources()}",
            )
        if status == 407:
            return StatusError(
                status,
                f"the proxy refuses {shown}",
                phrase,
                "put user name and password into the URL of the proxy",
            )
        if status in _RETRIED:
            return _BusyError(status, f"{shown} can not be fetched", phrase, _retry_after(response))
        return StatusError(status, f"{shown} can not be fetched", phrase)

    def _explain(self, url: str, error: Exception) -> IndexAccessError:
        what = f"{redact_url(url)} can not be fetched"
        host = host_of(url)
        certificate = _certificate_problem(error)
        if certificate:
            return IndexAccessError(
                what,
                f"the certificate of {host} is not accepted: {certificate}",
                "--cert names a bundle that holds its authority; --trusted-host switches the "
                "check off for one host",
            )
        if isinstance(error, _from_httpx("ProxyError")):
            return IndexAccessError(
                what,
                f"the proxy does not let it through: {redact_url(str(error))}",
                "check --proxy and the variables HTTP_PROXY, HTTPS_PROXY, NO_PROXY",
            )
        if _is_kind(error, "connect-timeout", "ConnectTimeout"):
            return IndexAccessError(
                what,
                f"{host} did not answer for {self._settings.timeout:g} seconds",
                "check the network, or wait longer with --timeout",
            )
        if _is_kind(error, "timeout", "TimeoutException"):
            return IndexAccessError(
                what,
                f"{host} was silent for {self._settings.timeout:g} seconds",
                "wait longer with --timeout",
            )
        if _is_kind(error, "connect", "ConnectError"):
            return IndexAccessError(
                what,
                f"there is no connection to {host}: {_reason(error)}",
                "check the network, the address, and the proxy settings",
            )
        return IndexAccessError(what, _reason(error))


class _BusyError(StatusError):
    """A status that may go away; ``retry_after`` is in seconds."""

    def __init__(self, status: int, what: str, why: str, retry_after: float | None) -> None:
        super().__init__(status, what, why)
        self.retry_after = retry_after


def _read_whole(stream: Stream, limit: int) -> Response:
    """Read and decode a body up to a limit.

    A small body that inflates without end is stopped at the limit, since the decoder is
    never given room for more.
    """
    encoding = stream.headers.get("content-encoding", "identity").strip().lower()
    pieces = iter(stream)
    if encoding in ("gzip", "x-gzip", "deflate"):
        pieces = _inflate(pieces, encoding, stream.url)
    elif encoding not in ("", "identity"):
        raise IndexAccessError(
            f"{redact_url(stream.url)} can not be read",
            f"its content encoding {encoding!r} was not asked for",
        )
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > limit:
            raise IndexAccessError(
                f"{redact_url(stream.url)} can not be read",
                f"it is larger than {limit // (1024 * 1024)} MiB",
            )
    return Response(stream.status, stream.headers, bytes(body), stream.url)


def _inflate(pieces: Iterator[bytes], encoding: str, url: str) -> Iterator[bytes]:
    bits = zlib.MAX_WBITS if encoding == "deflate" else zlib.MAX_WBITS | 16
    decoder = zlib.decompressobj(bits)
    empty = True
    try:
        for piece in pieces:
            empty = empty and not piece
            rest = piece
            while rest and not decoder.eof:
                yield decoder.decompress(rest, _BLOCK * 16)
                rest = decoder.unconsumed_tail
        yield decoder.flush()
    except zlib.error as error:
        raise IndexAccessError(
            f"{redact_url(url)} can not be read", f"its content encoding is broken: {error}"
        ) from error
    if not decoder.eof and not empty:
        raise ConnectionLostError(f"{redact_url(url)} did not arrive whole", "it ended early")


def _may_keep_credentials(old: tuple[str, str, int], new: tuple[str, str, int]) -> bool:
    """Whether a redirect stays on its server, or only moves it to TLS."""
    return old == new or (old == ("http", new[1], 80) and new == ("https", old[1], 443))


def _from_httpx(*names: str) -> tuple[type[Exception], ...]:
    """Errors of ``httpx``; none where it was never imported."""
    loaded = sys.modules.get("httpx")
    return tuple(getattr(loaded, name) for name in names) if loaded is not None else ()


def _broken(*names: str) -> tuple[type[Exception], ...]:
    """Errors of an exchange, on whatever way."""
    from vinstall.index.wire import WireError

    return (WireError, *_from_httpx(*names))


def _bad_address() -> tuple[type[Exception], ...]:
    return (UnicodeError, *_from_httpx("InvalidURL"))


def _is_kind(error: Exception, kind: str, name: str) -> bool:
    from vinstall.index.wire import WireError

    if isinstance(error, WireError):
        return error.kind == kind
    return bool(name) and isinstance(error, _from_httpx(name))


def _headers_of(response: httpx.Response | WireResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _with_user(bare: str, credentials: tuple[str, str | None]) -> str:
    from urllib.parse import quote

    user, password = credentials
    userinfo = quote(user, safe="")
    if password is not None:
        userinfo += ":" + quote(password, safe="")
    scheme, separator, rest = bare.partition("://")
    return f"{scheme}{separator}{userinfo}@{rest}"


def _retry_after(response: httpx.Response | WireResponse) -> float | None:
    """Seconds that the server asks to wait (RFC 9110, "Retry-After")."""
    value = response.headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdigit():
        return float(value)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, moment - time.time())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _certificate_problem(error: BaseException) -> str:
    import ssl

    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message or str(cause)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return str(error)
    return ""


def _is_final(error: Exception) -> bool:
    """Whether trying again is of no use."""
    return bool(_certificate_problem(error)) or isinstance(
        error, _from_httpx("UnsupportedProtocol", "LocalProtocolError", "DecodingError")
    )


def _reason(error: Exception) -> str:
    if _is_kind(error, "timeout", "TimeoutException"):
        return "there was silence for too long"
    if _is_kind(error, "lost", ""):
        return "the connection ended early"
    text = redact_url(str(error))
    if isinstance(error, _from_httpx("RemoteProtocolError")) and (
        "closed" in text or "disconnected" in text
    ):
        return "the connection ended early"
    return re.sub(r"\[Errno -?\d+\] ", "", text) or "the connection broke"
