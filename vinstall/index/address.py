"""URLs as they are kept, compared, shown and turned into paths.

Credentials may stand in a URL that is used for a request. What is shown, logged or written
to disk goes through ``redact_url`` or ``strip_credentials`` first.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from vinstall.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_UNSAFE = lazy_pattern(r"[^\x21-\x7e]|[\"<>\\^`{|}]")
_STRANGE_IN_NAME = lazy_pattern(r"[\x00-\x1f\x7f/\\]")
_USERINFO = lazy_pattern(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)([^/?#\s]*)@")
DEFAULT_PORTS = {"http": 80, "https": 443}


def redact_url(url: str) -> str:
    """A URL, or a text with URLs, that can be shown.

    The password becomes ``****``; so does a lone user name, since it may be a token.
    """

    def hide(match: re.Match[str]) -> str:
        user, colon, _ = match[2].partition(":")
        return f"{match[1]}{user}:****@" if colon else f"{match[1]}****@"

    return _USERINFO.sub(hide, url) if "@" in url else url


def strip_credentials(url: str) -> str:
    """The URL without user name and password."""
    return _USERINFO.sub(r"\1", url, count=1) if "@" in url else url


def split_credentials(url: str) -> tuple[str, tuple[str, str | None] | None]:
    """The URL without credentials, and the credentials.

    Returns:
        URL and (user, password), percent-decoded. The password is ``None`` where there is
        no colon; the pair is ``None`` where the URL carries neither.
    """
    match = _USERINFO.match(url) if "@" in url else None
    if match is None:
        return url, None
    user, colon, password = match[2].partition(":")
    bare = url[: match.start(2)] + url[match.end(0) :]
    if not user and not colon:
        return bare, None
    return bare, (unquote(user), unquote(password) if colon else None)


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host (lower case) and port of a URL: what credentials are tied to.

    Raises:
        ValueError: The port is not a number.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS.get(scheme, 0)


def is_url(url: str) -> bool:
    """Whether host and port of a URL can be read."""
    try:
        return bool(origin_of(url)[1]) or url.startswith("file:")
    except ValueError:
        return False


def host_of(url: str) -> str:
    """Host, with the port where it is given, for messages."""
    rest = url.partition("://")[2]
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return rest[:end].rpartition("@")[2]


def quote_url(url: str) -> str:
    """The URL with what may not stand in one percent-encoded; escapes are left alone."""
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), url)


def filename_of(url: str) -> str:
    """The file name at the end of a URL, percent-decoded.

    Empty where there is none, or where it holds a separator or a control character.
    """
    path = url.partition("#")[0].partition("?")[0]
    name = path.rpartition("/")[2]
    if "%" in name:
        name = unquote(name)
    return name if is_plain_name(name) else ""


def is_plain_name(name: str) -> bool:
    """Whether a text can be the name of one file and nothing else."""
    return name not in ("", ".", "..") and not _STRANGE_IN_NAME.search(name)


def path_of(url: str) -> Path:
    """The path that a ``file:`` URL stands for.

    Raises:
        ValueError: The URL names another machine.
    """
    from urllib.request import url2pathname

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") and os.name != "nt":
        raise ValueError(f"{url} names another machine")
    host = f"//{parts.netloc}" if parts.netloc not in ("", "localhost") else ""
    return Path(url2pathname(host + parts.path))


def file_url(path: Path) -> str:
    """The ``file:`` URL of an absolute path."""
    return path.as_uri()


def project_url(index: str, project: str) -> str:
    """The URL of a project's page on an index (PEP 503); credentials stay in it."""
    try:
        parts = urlsplit(index)
    except ValueError:  # it is no URL, and neither is this: who asks for it says so
        return f"{index.rstrip('/')}/{quote(project, safe='')}/"
    path = f"{parts.path.rstrip('/')}/{quote(project, safe='')}/"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def is_secure(url: str) -> bool:
    """Whether a URL is safe to fetch pages from: TLS, this machine, or a file."""
    import ipaddress

    scheme, host, _ = origin_of(url)
    if scheme in ("https", "file"):
        return True
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_trusted_host(url: str, trusted_hosts: tuple[str, ...]) -> bool:
    """Whether the user switched the checks off for the host of a URL (``--trusted-host``)."""
    _, host, port = origin_of(url)
    for entry in trusted_hosts:
        parts = urlsplit(f"//{entry}")
        if (parts.hostname or "").lower() == host and parts.port in (None, port):
            return True
    return False
