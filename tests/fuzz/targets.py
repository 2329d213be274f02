"""What is fuzzed: for each parser a function of bytes, and some good input to begin with.

A function returns for good input and for input that is refused with a ``VinstallError``;
whatever else it raises is a finding.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.variant_json import variant_document
from tests.support.wheels import make_wheel
from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.filename import parse_sdist_filename, parse_wheel_filename
from vinstall.distributions.publisher import parse_publisher
from vinstall.distributions.record import format_record, parse_record
from vinstall.distributions.requirement import parse_requirement
from vinstall.distributions.requirements_file import Surroundings, parse_requirements_file
from vinstall.errors import RequirementError, VinstallError
from vinstall.index import page_table
from vinstall.index.simple import parse_simple_page
from vinstall.index.wire import Wire, WireError, _Connection
from vinstall.install.scripts import parse_scripts
from vinstall.lockfile import parse_lock
from vinstall.profile import format_profile, parse_profile
from vinstall.variants.readers import format_index_metadata, read_variant_metadata
from vinstall.wheel.archive import WheelArchive
from vinstall.wheel.central_directory import read_central_directory

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

FINDINGS = Path(__file__).resolve().parents[2] / "fixtures" / "fuzz"
"""Input that once raised what it should not: one folder for each target."""
PAGE = "https://index.test/simple/demo/"
_NAME = "demo-1.0-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class Target:
    """A parser.

    Attributes:
        parse: Feeds it; raises only for a finding.
        seeds: Good input.
        max_length: Bytes of the longest input.
    """

    parse: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    max_length: int = 1024
    words: tuple[bytes, ...] = field(default=())


def run(name: str, data: bytes) -> None:
    """Feed one input to a target; raises for a finding."""
    try:
        TARGETS[name].parse(data)
    except VinstallError:
        return


def findings(name: str) -> list[Path]:
    """Give the files that once were findings of a target."""
    return sorted((FINDINGS / name).glob("*"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape" if data[:1] == b"\xff" else "replace")


def _filename(data: bytes) -> None:
    text = _text(data)
    parse_sdist_filename(text, "demo")
    wheel = parse_wheel_filename(text)
    assert wheel.filename == text


def _variants(data: bytes) -> None:
    metadata = read_variant_metadata(data, "a fuzzed file")
    again = read_variant_metadata(format_index_metadata(metadata).encode(), "a written file")
    assert again.variants == metadata.variants


def _simple_json(data: bytes) -> None:
    for link in parse_simple_page(data, "application/vnd.pypi.simple.v1+json", PAGE):
        assert not link.is_file


def _simple_html(data: bytes) -> None:
    for link in parse_simple_page(data, "text/html", PAGE):
        assert not link.is_file


def _page_table(data: bytes) -> None:
    """The road that pages take: the same links as on the plain one, or the same refusal."""
    for seen in (0, 1 << 30):  # with json, and with msgspec
        page_table._seen = seen
        try:
            plain = parse_simple_page(data, "application/json", PAGE, index=PAGE)
        except VinstallError:
            plain = None
        try:
            table = page_table.read_page(
                data, "application/json", PAGE, index=PAGE, project="demo"
            ).links
            links = [*table]
        except VinstallError:
            links = None
        assert (plain is None) == (links is None)
        if plain is not None and links is not None:
            assert Counter(map(repr, links)) == Counter(map(repr, plain))


class _Socket:
    """A server's whole answer, in pieces of two sizes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def sendall(self, data: bytes) -> None:
        """Take a request."""

    def recv(self, size: int) -> bytes:
        """Give the next piece."""
        size = min(size, 7 if len(self.data) % 2 else 300)
        piece, self.data = self.data[:size], self.data[size:]
        return piece


def _http(data: bytes) -> None:
    connection = _Connection(_Socket(data), ("http", "a", 80))  # type: ignore[arg-type]
    try:
        answer = connection.exchange(Wire(1.0, _no_context), "GET", b"")
        body = b"".join(answer.iter_raw())
    except WireError:
        return
    assert 200 <= answer.status_code < 600
    assert len(body) <= len(data)
    assert not any("\r" in text or "\n" in text for text in answer.headers.values())


def _no_context() -> ssl.SSLContext:
    raise AssertionError("nobody asked for TLS")


def _publisher(data: bytes) -> None:
    try:
        publisher = parse_publisher(_text(data))
    except ValueError:
        return
    assert parse_publisher(str(publisher)) == publisher


def _metadata(data: bytes) -> None:
    metadata = parse_core_metadata(data, "a fuzzed file")
    for line in metadata.requires_dist:
        parse_requirement(line, "a fuzzed file")


def _record(data: bytes) -> None:
    entries = parse_record(_text(data), "a fuzzed file")
    format_record(entries)


def _requirements(data: bytes) -> None:
    text = _text(data)

    def read(location: str) -> str:
        if location == "/work/requirements.txt":
            return text
        if location.endswith(("/other.txt", "/limits.txt")):
            return ""
        raise RequirementError(f"{location} is not there")

    around = Surroundings(
        read, lambda path: path == "/work/folder", lambda path: False, {"NAME": "x"}, "/work"
    )
    parse_requirements_file("/work/requirements.txt", around)


def _requirement(data: bytes) -> None:
    requirement = parse_requirement(_text(data))
    assert requirement.project == requirement.project.lower()


def _zip_directory(data: bytes) -> None:
    def read_at(offset: int, size: int) -> bytes:
        assert 0 <= offset <= len(data)
        assert size >= 0
        return data[offset : offset + size]

    read_central_directory(read_at, len(data), "a fuzzed file", max_entries=1000)


def _wheel(data: bytes) -> None:
    import os

    path = _WORK / f"{os.getpid()}.whl"
    path.write_bytes(data)
    with WheelArchive.open(path, _NAME) as archive:
        for entry in archive.entries:
            for _ in archive.iter_chunks(entry):
                pass
        for _ in archive.read_small(archive.entries):
            pass


def _profile(data: bytes) -> None:
    profile = parse_profile(_text(data), "a fuzzed file")
    again = parse_profile(format_profile(profile), "a written file")
    assert again.supported.namespaces == profile.supported.namespaces


def _lock(data: bytes) -> None:
    parse_lock(_text(data), "pylock.toml", "https://lock.test/pylock.toml")


def _entry_points(data: bytes) -> None:
    for script in parse_scripts(_text(data), _NAME):
        assert "\n" not in script.name
        assert "/" not in script.name


def _work() -> Path:
    import tempfile

    shared = Path("/dev/shm")
    return shared if shared.is_dir() else Path(tempfile.gettempdir())


_WORK = _work()
_DIGEST = "a" * 64
_DOCUMENT = variant_document({"v3": "x86_64 :: level :: v3", "null": ""})
_PAGE_JSON = {
    "meta": {"api-version": "1.4"},
    "name": "demo",
    "versions": ["1.0"],
    "files": [
        {
            "filename": _NAME,
            "url": f"../../files/{_NAME}",
            "hashes": {"sha256": _DIGEST},
            "requires-python": ">=3.8",
            "yanked": "why",
            "core-metadata": {"sha256": _DIGEST},
            "size": 12,
            "upload-time": "2026-01-02T03:04:06Z",
        }
    ],
}
_PAGE_HTML = (
    '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0">'
    '<base href="https://other.test/"></head><body>'
    f'<a href="/files/{_NAME}#sha256={_DIGEST}" data-requires-python="&gt;=3.8" data-yanked="" '
    f'data-core-metadata="sha256={_DIGEST}">{_NAME}</a></body></html>'
)
_METADATA = (
    "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: other[x]>=1 ; "
    "python_version > '3.8' and extra == 'y'\nRequires-Python: >=3.8\nProvides-Extra: y\n\ntext\n"
)
_REQUIREMENTS = (
    "# comment\ndemo[a,b] >= 1.0, != 2 ; python_version > '3.8' --hash=sha256:"
    + _DIGEST
    + "\n-r other.txt\n-c limits.txt\n--index-url https://a.test/simple \\\n --pre\n"
    "-e git+https://a.test/b.git@main#egg=c\n./folder[x]\nname @ https://a.test/n-1.0.tar.gz\n"
    "${NAME}==1\n"
)
_LOCK = (
    'lock-version = "1.0"\ncreated-by = "x"\nrequires-python = ">=3.8"\n[[packages]]\n'
    f'name = "demo"\nversion = "1.0"\n[[packages.wheels]]\nname = "{_NAME}"\n'
    f'url = "https://a.test/{_NAME}"\nsize = 5\nhashes = {{sha256 = "{_DIGEST}"}}\n'
)
_PROFILE = (
    'schema = 1\n[target]\ntags = ["py3-none-any"]\n[target.markers]\nos_name = "posix"\n'
    '[supported.x86_64]\nlevel = ["v3", "v2"]\n'
)
_ANSWERS = (
    b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: "x"\r\n\r\nabc',
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
)
_WHEEL_FILE = make_wheel("demo").content

TARGETS = {
    "filename": Target(
        _filename, (_NAME.encode(), b"a_b-1!2.0rc1+x-1a-cp312.cp313-abi3-linux_x86_64-v3.whl"), 200
    ),
    "variants": Target(_variants, (json.dumps(_DOCUMENT).encode(),), 4096),
    "simple-json": Target(_simple_json, (json.dumps(_PAGE_JSON).encode(),), 2048),
    "page-table": Target(_page_table, (json.dumps(_PAGE_JSON).encode(),), 2048),
    "http": Target(_http, _ANSWERS, 1024),
    "publisher": Target(_publisher, (b"github:a/b@c.yml", b"https://gitlab.com/a/b"), 200),
    "simple-html": Target(_simple_html, (_PAGE_HTML.encode(),), 2048),
    "metadata": Target(_metadata, (_METADATA.encode(),)),
    "record": Target(_record, (b'a/b.py,sha256=x_-,12\n"c,d",,\n',)),
    "requirements": Target(_requirements, (_REQUIREMENTS.encode(),)),
    "requirement": Target(
        _requirement, (b"demo[a] >=1.0,<2; os_name == 'nt'", b"a @ https://b"), 200
    ),
    "zip-directory": Target(_zip_directory, (_WHEEL_FILE,), 2048),
    "wheel": Target(_wheel, (_WHEEL_FILE, make_wheel("demo", compress=False).content), 4096),
    "profile": Target(_profile, (_PROFILE.encode(),)),
    "pylock": Target(_lock, (_LOCK.encode(),)),
    "entry-points": Target(
        _entry_points, (b"[console_scripts]\ndemo = demo.main:run [x]\n[gui_scripts]\ng = a:b\n",)
    ),
}
"""Every target, by name."""
