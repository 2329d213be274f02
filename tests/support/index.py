"""A simple repository over HTTP on loopback, with counters and faults.

Serves the simple repository API (PEP 503 HTML, PEP 691 JSON, with PEP 592 yanked files,
PEP 658/714 metadata files, PEP 700 sizes and upload times), ``{name}-{version}-variants.json``
files (PEP 825, "Index-level metadata"), and the distributions with byte ranges,
validators and 304 answers. Every request is written down.

    with SimpleIndex() as index:
        index.add(make_wheel("sample", "1.0"))
        index.fail("/files/sample-1.0-py3-none-any.whl", Status(500), times=2)
        ...  # use index.simple_url
        assert index.count("/simple/sample/") == 1
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import gzip
import hashlib
import html
import json
import re
import socket
import struct
import sys
import threading
import zlib
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from tests.support.faults import (
    Altered,
    BasicAuth,
    ChangingETag,
    Drip,
    EndlessBody,
    Fault,
    GzipBomb,
    HtmlPage,
    IgnoreRange,
    LyingRange,
    Redirect,
    Replaced,
    Reset,
    Stall,
    Status,
    Truncated,
)
from tests.support.variant_json import combine_documents
from tests.support.wheels import BuiltWheel, escape_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from tests.support.certificates import CertificateAuthority
    from tests.support.sdist import BuiltSdist

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
_MODIFIED = 1767323046.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the server saw it, with what it answered.

    Attributes:
        method: ``GET`` or ``HEAD``.
        path: Path, decoded, without the query.
        query: What follows the question mark.
        headers: Lower-case names.
        status: Status of the answer; 0 where none was sent.
        bytes_sent: Length of the body as it went over the wire.
        client_port: Tells connections apart.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    status: int
    bytes_sent: int
    client_port: int


@dataclass(frozen=True, slots=True)
class HostedFile:
    """A file on the index.

    Attributes:
        filename: Its name.
        project: Normalised name of the project whose page links it.
        version: Its version; empty where none is known.
        content: Its bytes.
        metadata: What ``{filename}.metadata`` serves; None for no such file.
        hashes: Digests on the page; may be wrong on purpose.
        metadata_hashes: Digests of the metadata file; None says that the file is there
            without a digest.
        requires_python: On the page; empty for none.
        yanked: True, a reason, or False.
        upload_time: ISO 8601 in UTC; empty leaves it out.
        size: Whether the page tells the size; a number is told in place of the right one.
        url: Where the page says the file is; empty for the usual place.
        provenance: What the page says of it (PEP 740); empty leaves it out.
    """

    filename: str
    project: str
    version: str
    content: bytes
    metadata: bytes | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    metadata_hashes: Mapping[str, str] | None = None
    requires_python: str = ""
    yanked: bool | str = False
    upload_time: str = ""
    size: bool | int = True
    url: str = ""
    provenance: str = ""


@dataclass(slots=True)
class _Rule:
    pattern: str
    fault: Fault
    times: int | None
    method: str


@dataclass(slots=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    pieces: Callable[[], Iterator[bytes]] | None = None


def normalise(name: str) -> str:
    """Give a project name as it stands in URLs (PEP 503, "Normalized Names")."""
    return re.sub(r"[-_.]+", "-", name).lower()


class SimpleIndex:
    """One repository on ``127.0.0.1`` and a free port; a context manager.

    Attributes that may be changed at any time:
        json: Whether the JSON form is offered.
        html: Whether the HTML form is offered.
        ranges: Whether files can be asked for in parts.
        validators: Whether answers carry ``ETag`` and ``Last-Modified``, and 304 exists.
        metadata_files: Whether ``.metadata`` files are announced and served.
        absolute_urls: Whether pages link with whole URLs, or relative ones.
        page_headers: More headers for project pages, for instance ``Cache-Control``.
        file_headers: More headers for files.
        credentials: User and password that every request must have; None for anybody.
        compress_pages: Whether pages are sent with gzip to those who accept it.
    """

    def __init__(
        self,
        *,
        json: bool = True,
        html: bool = True,
        ranges: bool = True,
        validators: bool = True,
        metadata_files: bool = True,
        credentials: tuple[str, str] | None = None,
        authority: CertificateAuthority | None = None,
    ) -> None:
        self.json = json
        self.html = html
        self.ranges = ranges
        self.validators = validators
        self.metadata_files = metadata_files
        self.absolute_urls = False
        self.page_headers: dict[str, str] = {}
        self.file_headers: dict[str, str] = {}
        self.credentials = credentials
        self.compress_pages = False
        self._lock = threading.RLock()
        self._files: dict[str, HostedFile] = {}
        self._documents: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self._pages: dict[str, _Answer] = {}
        self._rules: list[_Rule] = []
        self._requests_by_number: dict[int, Request] = {}
        self._answers_given = 0
        self._authority = authority
        self._server = _Server(self, authority)
        self._thread: threading.Thread | None = None

    # Life

    def __enter__(self) -> SimpleIndex:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin to answer, in a thread."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="index"
        )
        self._thread.start()

    def close(self) -> None:
        """End all connections and wait until every thread is gone.

        Raises:
            AssertionError: The server itself failed on a request.
        """
        self._server.closing.set()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.end_connections()
        self._server.server_close()
        failures = self._server.failures
        assert not failures, f"the sample index failed: {failures}"

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Root of the server, without a slash at its end."""
        scheme = "https" if self._authority else "http"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def simple_url(self) -> str:
        """What ``--index-url`` wants."""
        return f"{self.url}/simple/"

    def url_with_credentials(self, user: str, password: str) -> str:
        """Give ``simple_url`` with a user name and a password in it."""
        scheme, rest = self.simple_url.split("://", 1)
        return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"

    def file_url(self, filename: str) -> str:
        """Give the URL of a file."""
        return f"{self.url}/files/{quote(filename)}"

    # Content

    def add(
        self,
        *distributions: BuiltWheel | BuiltSdist,
        yanked: bool | str = False,
        requires_python: str | None = None,
        hashes: Mapping[str, str] | None = None,
        metadata: bool = True,
        metadata_hashes: Mapping[str, str] | None = None,
        upload_time: str = "2026-01-02T03:04:06Z",
        size: bool = True,
        url: str = "",
        variants_json: bool = True,
    ) -> None:
        """Put distributions on the index.

        Args:
            *distributions: Wheels and source distributions.
            yanked: True or a reason.
            requires_python: What the page says; None takes it from the metadata.
            hashes: What the page says; None takes the right SHA-256, ``{}`` none at all.
            metadata: Whether a wheel's ``.metadata`` file is there.
            metadata_hashes: What the page says of it; None takes the right SHA-256.
            upload_time: What the page says; empty leaves it out.
            size: Whether the page tells the size.
            url: Where the page says that the files are; empty for here.
            variants_json: Whether the wheels' variant metadata goes into the index-level
                file of the release. That file is made anew with each call.
        """
        for item in distributions:
            has_metadata = metadata and isinstance(item, BuiltWheel) and item.metadata is not None
            metadata_content = item.metadata if has_metadata else None
            if metadata_hashes is None and metadata_content is not None:
                digests: Mapping[str, str] | None = {"sha256": _sha256(metadata_content)}
            else:
                digests = metadata_hashes
            self.add_file(
                HostedFile(
                    filename=item.filename,
                    project=normalise(item.name),
                    version=item.version,
                    content=item.content,
                    metadata=metadata_content,
                    hashes={"sha256": item.sha256} if hashes is None else hashes,
                    metadata_hashes=digests,
                    requires_python=(
                        item.requires_python if requires_python is None else requires_python
                    ),
                    yanked=yanked,
                    upload_time=upload_time,
                    size=size,
                    url=url,
                )
            )
            if variants_json and isinstance(item, BuiltWheel) and item.variant_json is not None:
                key = (item.name, item.version)
                with self._lock:
                    parts = self._documents.setdefault(key, {})
                    parts[item.filename] = item.variant_json
                    document = combine_documents(list(parts.values()))
                self.set_variants_json(item.name, item.version, document)

    def add_file(self, file: HostedFile) -> None:
        """Put any file on the page of its project; a file of the same name is replaced."""
        with self._lock:
            self._files[file.filename] = file

    def change(self, filename: str, **changes: Any) -> None:
        """Change fields of a hosted file: ``index.change(name, yanked="broken")``."""
        with self._lock:
            self._files[filename] = replace(self._files[filename], **changes)

    def remove(self, filename: str) -> None:
        """Take a file off the index."""
        with self._lock:
            del self._files[filename]

    def set_variants_json(
        self,
        name: str,
        version: str,
        document: Mapping[str, Any] | bytes,
        *,
        hashes: Mapping[str, str] | None = None,
    ) -> str:
        """Put an index-level metadata file on the index, right or wrong.

        Args:
            name: Project.
            version: Version.
            document: What it holds; bytes are served as they are.
            hashes: What the page says; None takes the right SHA-256, ``{}`` none.

        Returns:
            The file's name. ``remove`` takes it away; ``fail`` on ``/files/NAME`` breaks it.
        """
        filename = f"{escape_name(name)}-{version}-variants.json"
        content = (
            document if isinstance(document, bytes) else json.dumps(document, indent=1).encode()
        )
        self.add_file(
            HostedFile(
                filename,
                normalise(name),
                version,
                content,
                hashes={"sha256": _sha256(content)} if hashes is None else hashes,
                upload_time="2026-01-02T03:04:06Z",
            )
        )
        return filename

    def set_page(
        self, path: str, body: bytes | str, content_type: str = "text/html; charset=utf-8"
    ) -> None:
        """Serve a body of one's own at a path, in place of what would be there."""
        content = body.encode() if isinstance(body, str) else body
        self._pages[path] = _Answer(200, {"Content-Type": content_type}, content)

    # Faults

    def fail(self, path: str, fault: Fault, *, times: int | None = None, method: str = "*") -> None:
        """Misbehave on a path.

        Args:
            path: Path, or a pattern with ``*`` and ``?``: ``/files/*.whl``.
            fault: What to do; where several rules fit, the newest acts.
            times: How often; then all is well again. None is always.
            method: ``GET``, ``HEAD``, or ``*`` for both.
        """
        with self._lock:
            self._rules.insert(0, _Rule(path, fault, times, method))

    def heal(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._rules.clear()

    # What happened

    @property
    def requests(self) -> list[Request]:
        """All requests so far, oldest first."""
        with self._lock:
            return list(self._requests_by_number.values())

    @property
    def paths(self) -> list[str]:
        """The paths of all requests so far, oldest first."""
        return [request.path for request in self.requests]

    @property
    def bytes_sent(self) -> int:
        """Bytes of all bodies so far."""
        return sum(request.bytes_sent for request in self.requests)

    def count(self, pattern: str = "*", *, method: str = "*", status: int | None = None) -> int:
        """Count requests by path pattern, method and status."""
        return len(self.matching(pattern, method=method, status=status))

    def matching(
        self, pattern: str = "*", *, method: str = "*", status: int | None = None
    ) -> list[Request]:
        """Give the requests that fit a path pattern, method and status."""
        return [
            request
            for request in self.requests
            if fnmatch.fnmatchcase(request.path, pattern)
            and method in {"*", request.method}
            and status in {None, request.status}
        ]

    def clear(self) -> None:
        """Forget the requests so far."""
        with self._lock:
            self._requests_by_number.clear()

    # What the handler asks

    def _log(self, number: int, request: Request) -> None:
        """Write a request down, or what is newly known of it."""
        with self._lock:
            if request.status == 0 or number in self._requests_by_number:
                self._requests_by_number[number] = request

    def _take_fault(self, path: str, method: str) -> Fault | None:
        with self._lock:
            for rule in self._rules:
                if rule.method not in {"*", method} or rule.times == 0:
                    continue
                if rule.pattern == path or fnmatch.fnmatchcase(path, rule.pattern):
                    if rule.times is not None:
                        rule.times -= 1
                    return rule.fault
        return None

    def _number(self) -> int:
        with self._lock:
            self._answers_given += 1
            return self._answers_given

    def _answer(self, path: str, headers: Mapping[str, str]) -> _Answer:
        if path in self._pages:
            page = self._pages[path]
            return _Answer(page.status, dict(page.headers), page.body)
        if path in {"/simple", "/simple/"}:
            return self._page(None, headers)
        if path.startswith("/simple/"):
            name = path.removeprefix("/simple/").strip("/")
            if not path.endswith("/"):
                return _Answer(301, {"Location": f"/simple/{quote(name)}/"}, b"")
            return self._page(normalise(name), headers)
        if path.startswith("/files/"):
            return self._file(path.removeprefix("/files/"))
        return _not_found()

    def _file(self, filename: str) -> _Answer:
        with self._lock:
            file = self._files.get(filename)
            owner = self._files.get(filename.removesuffix(".metadata"))
        if file is not None:
            kind = "application/json" if filename.endswith(".json") else "application/octet-stream"
            return _Answer(200, {"Content-Type": kind, **self.file_headers}, file.content)
        if owner is not None and self.metadata_files and owner.metadata is not None:
            return _Answer(200, {"Content-Type": "application/octet-stream"}, owner.metadata)
        return _not_found()

    def _page(self, project: str | None, headers: Mapping[str, str]) -> _Answer:
        with self._lock:
            files = [file for file in self._files.values() if file.project == project]
            names = sorted({file.project for file in self._files.values()})
        if project is not None and not files:
            return _not_found()
        kind = self._negotiate(headers.get("accept", "*/*"))
        if kind is None:
            return _Answer(406, {"Content-Type": "text/plain"}, b"no form of that kind\n")
        if kind == JSON_TYPE:
            data = self._json_root(names) if project is None else self._json_page(project, files)
            body = json.dumps(data).encode()
        else:
            text = self._html_root(names) if project is None else self._html_page(project, files)
            body = text.encode()
        answer = _Answer(200, {"Content-Type": kind, "Vary": "Accept", **self.page_headers}, body)
        if self.compress_pages and "gzip" in headers.get("accept-encoding", ""):
            answer.body = gzip.compress(body, mtime=0)
            answer.headers["Content-Encoding"] = "gzip"
        return answer

    def _negotiate(self, accept: str) -> str | None:
        best: tuple[float, int, str] | None = None
        offered = [(JSON_TYPE, self.json), (HTML_TYPE, self.html), ("text/html", self.html)]
        for position, (kind, available) in enumerate(offered):
            weight = _weight(accept, kind) if available else 0.0
            if weight and (best is None or (weight, -position) > best[:2]):
                best = (weight, -position, kind)
        if best is None:
            return None
        # Who only says "anything" gets what browsers get, as on the public index.
        if best[2] == JSON_TYPE and JSON_TYPE not in accept and self.html:
            return "text/html"
        return best[2]

    def _href(self, file: HostedFile) -> str:
        if file.url:
            return file.url
        return self.file_url(file.filename) if self.absolute_urls else _relative(file.filename)

    def _json_root(self, names: list[str]) -> dict[str, Any]:
        return {"meta": {"api-version": "1.1"}, "projects": [{"name": name} for name in names]}

    def _json_page(self, project: str, files: list[HostedFile]) -> dict[str, Any]:
        entries = []
        for file in files:
            entry: dict[str, Any] = {
                "filename": file.filename,
                "url": self._href(file),
                "hashes": dict(file.hashes),
                "yanked": file.yanked,
            }
            if file.requires_python:
                entry["requires-python"] = file.requires_python
            if file.size:
                entry["size"] = len(file.content) if file.size is True else file.size
            if file.upload_time:
                entry["upload-time"] = file.upload_time
            if self.metadata_files and file.metadata is not None:
                value = dict(file.metadata_hashes) if file.metadata_hashes else True
                entry["core-metadata"] = value
                entry["dist-info-metadata"] = value
            if file.provenance:
                entry["provenance"] = file.provenance
            entries.append(entry)
        return {
            "meta": {"api-version": "1.1"},
            "name": project,
            "versions": sorted({file.version for file in files if file.version}),
            "files": entries,
        }

    def _html_root(self, names: list[str]) -> str:
        links = "".join(f'<a href="/simple/{name}/">{name}</a><br/>\n' for name in names)
        return _document("Simple index", links)

    def _html_page(self, project: str, files: list[HostedFile]) -> str:
        links = []
        for file in files:
            fragment = "".join(f"#{name}={value}" for name, value in list(file.hashes.items())[:1])
            attributes = {"href": self._href(file) + fragment}
            if file.requires_python:
                attributes["data-requires-python"] = file.requires_python
            if file.yanked is not False:
                attributes["data-yanked"] = "" if file.yanked is True else file.yanked
            if self.metadata_files and file.metadata is not None:
                digests = list((file.metadata_hashes or {}).items())[:1]
                value = "".join(f"{name}={digest}" for name, digest in digests) or "true"
                attributes["data-core-metadata"] = value
                attributes["data-dist-info-metadata"] = value
            if file.provenance:
                attributes["data-provenance"] = file.provenance
            text = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
            links.append(f"<a {text}>{html.escape(file.filename)}</a><br/>\n")
        return _document(f"Links for {project}", "".join(links))


def _relative(filename: str) -> str:
    return f"../../files/{quote(filename)}"


def _document(title: str, body: str) -> str:
    return (
        "<!DOCTYPE html>\n<html>\n<head>\n"
        '<meta name="pypi:repository-version" content="1.1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _not_found() -> _Answer:
    return _Answer(404, {"Content-Type": "text/plain"}, b"404 Not Found\n")


def _weight(accept: str, kind: str) -> float:
    """Give the quality that an ``Accept`` header has for a type; 0 where it is not accepted."""
    best = (-1, 0.0)
    for part in accept.split(","):
        pattern, *parameters = (piece.strip() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                quality = float(value)
        exactness = {kind: 2, f"{kind.split('/')[0]}/*": 1, "*/*": 0}.get(pattern, -1)
        if exactness > best[0]:
            best = (exactness, quality)
    return best[1]


def _parse_range(header: str, length: int) -> tuple[int, int] | None:
    """Give first and last position of a single byte range; None where it is none.

    Raises:
        ValueError: The range lies outside of the file.
    """
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header.strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        size = int(last)
        if not size:
            raise ValueError(header)
        return max(0, length - size), length - 1
    begin, end = int(first), min(int(last) if last else length - 1, length - 1)
    if begin >= length or (last and int(last) < begin):
        raise ValueError(header)
    return begin, end


def _bomb(size: int) -> Iterator[bytes]:
    """Give a gzip stream of zeros in pieces, without making them all."""
    block = bytes(1 << 20)
    first = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = first.compress(block) + first.flush(zlib.Z_FULL_FLUSH)
    blocks = -(-size // len(block))
    checksum = 0
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    for _ in range(blocks):
        checksum = zlib.crc32(block, checksum)
        yield piece
    yield zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    yield struct.pack("<II", checksum, (blocks * len(block)) & 0xFFFFFFFF)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, index: SimpleIndex, authority: CertificateAuthority | None) -> None:
        self.index = index
        self.closing = threading.Event()
        self.failures: list[str] = []
        self._context = authority.server_context() if authority else None
        self._open: set[socket.socket] = set()
        self._resets: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._context is not None:
            # The handshake is done by the connection's own thread, at its first read.
            connection = self._context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        with self._guard:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
            reset = request in self._resets
            self._resets.discard(request)
        if reset:
            self.close_request(request)  # without the polite end that comes first otherwise
        else:
            super().shutdown_request(request)

    def reset_connection(self, connection: socket.socket) -> None:
        """Have a connection end with RST in place of FIN."""
        off_at_once = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, off_at_once)
        with self._guard:
            self._resets.add(connection)

    def end_connections(self) -> None:
        with self._guard:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.failures.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.rfile.close()

    def do_HEAD(self) -> None:
        self._serve("HEAD")

    def do_GET(self) -> None:
        self._serve("GET")

    def _serve(self, method: str) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        number = self.server.index._number()

        def note(status: int, sent: int) -> None:
            request = Request(
                method, path, parts.query, headers, status, sent, self.client_address[1]
            )
            self.server.index._log(number, request)

        self._status = 0
        self._sent = 0
        self._note = note
        note(0, 0)
        try:
            self._respond(method, path, headers)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        finally:
            if self._status:
                note(self._status, self._sent)

    def _respond(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        index = self.server.index
        fault = index._take_fault(path, method)
        demanded = fault if isinstance(fault, BasicAuth) else None
        if demanded is None and index.credentials is not None:
            demanded = BasicAuth(*index.credentials)
        if demanded is not None and not _is_allowed(demanded, headers):
            challenge = {"WWW-Authenticate": 'Basic realm="sample index"'}
            self._send(method, _Answer(401, challenge, b"401 Unauthorized\n"), None)
            return
        if isinstance(fault, Reset) and fault.after < 0:
            self._reset()
            return
        if isinstance(fault, Stall) and fault.after < 0:
            self.server.closing.wait(fault.seconds)
            if self.server.closing.is_set():
                self.close_connection = True
                return
        answer = index._answer(path, headers)
        answer = self._altered(answer, fault)
        if answer.status == 200 and answer.pieces is None:
            self._finish(answer, path, headers, fault)
        self._send(method, answer, fault)

    def _altered(self, answer: _Answer, fault: Fault | None) -> _Answer:
        """Give the answer that a fault puts in place of the right one."""
        if isinstance(fault, Status):
            return _Answer(fault.code, dict(fault.headers), fault.body)
        if isinstance(fault, Redirect):
            return _Answer(fault.code, {"Location": fault.location}, b"")
        if isinstance(fault, HtmlPage):
            text = html.escape(fault.text)
            page = f"<!DOCTYPE html><html><body><p>{text}</p></body></html>\n".encode()
            return _Answer(200, {"Content-Type": "text/html; charset=utf-8"}, page)
        if isinstance(fault, Replaced):
            kind = fault.content_type or answer.headers.get("Content-Type", "text/plain")
            return _Answer(200, {**answer.headers, "Content-Type": kind}, fault.body)
        if isinstance(fault, Altered):
            middle = len(answer.body) // 2
            changed = bytes([answer.body[middle] ^ 1])
            answer.body = answer.body[:middle] + changed + answer.body[middle + 1 :]
        if isinstance(fault, GzipBomb):
            size = fault.size
            answer.headers["Content-Encoding"] = "gzip"
            answer.pieces = lambda: _bomb(size)
        if isinstance(fault, EndlessBody):
            blocks = fault.limit // 65536
            answer.pieces = lambda: (b"a" * 65536 for _ in range(blocks))
        return answer

    def _finish(
        self, answer: _Answer, path: str, headers: Mapping[str, str], fault: Fault | None
    ) -> None:
        """Add validators and ranges to a good answer."""
        index = self.server.index
        if index.validators:
            tag = f'"{hashlib.sha256(answer.body).hexdigest()[:20]}"'
            if isinstance(fault, ChangingETag):
                tag = f'"changing-{index._number()}"'
            modified = formatdate(_MODIFIED, usegmt=True)
            answer.headers.setdefault("ETag", tag)
            answer.headers.setdefault("Last-Modified", modified)
            known = headers.get("if-none-match")
            fresh = (
                tag in [item.strip().removeprefix("W/") for item in known.split(",")]
                if known is not None
                else headers.get("if-modified-since") == modified
            )
            if fresh and not isinstance(fault, ChangingETag):
                answer.status, answer.body = 304, b""
                answer.headers.pop("Content-Type", None)
                return
        if not path.startswith("/files/") or not index.ranges or isinstance(fault, IgnoreRange):
            return
        answer.headers["Accept-Ranges"] = "bytes"
        header = headers.get("range")
        condition = headers.get("if-range")
        validators = (answer.headers.get("ETag"), answer.headers.get("Last-Modified"))
        if header is None or (condition is not None and condition not in validators):
            return
        length = len(answer.body)
        try:
            span = _parse_range(header, length)
        except ValueError:
            answer.status, answer.body = 416, b""
            answer.headers["Content-Range"] = f"bytes */{length}"
            return
        if span is None:
            return
        first, last = span
        answer.status = 206
        answer.headers["Content-Range"] = f"bytes {first}-{last}/{length}"
        shift = 1 if isinstance(fault, LyingRange) else 0
        answer.body = answer.body[first + shift : last + 1 + shift]

    def _send(self, method: str, answer: _Answer, fault: Fault | None) -> None:
        self._status = answer.status
        # Written down before the client can have it: what the client has read is counted.
        self._note(answer.status, 0 if method == "HEAD" else _planned(answer, fault))
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            self.send_header(key, value)
        chunked = answer.pieces is not None
        hidden = isinstance(fault, Truncated) and not fault.with_length
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif hidden:
            self.send_header("Connection", "close")
            self.close_connection = True
        elif answer.status != 304:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if method == "HEAD" or answer.status == 304:
            return
        if answer.pieces is not None:
            self._send_pieces(answer.pieces())
        else:
            self._send_body(answer.body, fault)

    def _send_pieces(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            if self.server.closing.is_set():
                break
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self._sent += len(piece)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send_body(self, body: bytes, fault: Fault | None) -> None:
        if isinstance(fault, Drip):
            for start in range(0, len(body), fault.size):
                self._write(body[start : start + fault.size])
                self.wfile.flush()
                if self.server.closing.wait(fault.pause):
                    self.close_connection = True
                    return
        elif isinstance(fault, Truncated):
            self._write(body[: fault.keep])
            self.close_connection = True
        elif isinstance(fault, Stall) and fault.after >= 0:
            self._write(body[: fault.after])
            self.wfile.flush()
            self.server.closing.wait(fault.seconds)
            if self.server.closing.is_set():
                self.close_connection = True
                return
            self._write(body[fault.after :])
        elif isinstance(fault, Reset):
            self._write(body[: fault.after])
            self.wfile.flush()
            self._reset()
        else:
            self._write(body)

    def _write(self, part: bytes) -> None:
        self.wfile.write(part)
        self._sent += len(part)

    def _reset(self) -> None:
        self.close_connection = True
        self.server.reset_connection(self.connection)


def _planned(answer: _Answer, fault: Fault | None) -> int:
    """Give how many bytes of a body will go out."""
    if answer.pieces is not None:
        return 0  # known at the end alone
    if isinstance(fault, Truncated):
        return min(fault.keep, len(answer.body))
    if isinstance(fault, Reset):
        return min(fault.after, len(answer.body))
    return len(answer.body)


def _is_allowed(demanded: BasicAuth, headers: Mapping[str, str]) -> bool:
    wanted = base64.b64encode(f"{demanded.user}:{demanded.password}".encode()).decode()
    return headers.get("authorization") == f"Basic {wanted}"
