"""The sample index speaks the simple repository API, and fails only as asked."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import urllib.error
import urllib.request
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.support.faults import (
    Altered,
    BasicAuth,
    ChangingETag,
    Drip,
    EndlessBody,
    GzipBomb,
    HtmlPage,
    IgnoreRange,
    LyingRange,
    Redirect,
    Reset,
    Stall,
    Status,
    Truncated,
)
from tests.support.index import HTML_TYPE, JSON_TYPE, SimpleIndex
from tests.support.sdist import make_sdist
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from tests.support.certificates import CertificateAuthority

WHEEL = make_wheel("Sample.One", "1.0", requires_python=">=3.8")
PATH = f"/files/{WHEEL.filename}"


class Answer:
    """Status, headers and body of an answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


def get(index: SimpleIndex, path: str, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", index.port, timeout=10)
    try:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request("GET", path, headers=named)
        return Answer(connection.getresponse())
    finally:
        connection.close()


@pytest.fixture
def one(index: SimpleIndex) -> SimpleIndex:
    index.add(WHEEL)
    return index


def test_json_page(one: SimpleIndex) -> None:
    answer = get(one, "/simple/sample-one/", Accept=JSON_TYPE)
    assert answer.headers["Content-Type"] == JSON_TYPE
    page = json.loads(answer.body)
    assert page["name"] == "sample-one"
    (file,) = page["files"]
    assert file["filename"] == "sample_one-1.0-py3-none-any.whl"
    assert file["hashes"] == {"sha256": hashlib.sha256(WHEEL.content).hexdigest()}
    assert file["requires-python"] == ">=3.8"
    assert file["size"] == len(WHEEL.content)
    assert WHEEL.metadata is not None
    assert file["core-metadata"] == {"sha256": hashlib.sha256(WHEEL.metadata).hexdigest()}


def test_html_page(one: SimpleIndex) -> None:
    answer = get(one, "/simple/sample-one/", Accept="text/html")
    text = answer.body.decode()
    assert f'href="../../files/{WHEEL.filename}#sha256={WHEEL.sha256}"' in text
    assert 'data-requires-python="&gt;=3.8"' in text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (JSON_TYPE, JSON_TYPE),
        (f"{JSON_TYPE}, {HTML_TYPE};q=0.1, text/html;q=0.01", JSON_TYPE),
        (f"{JSON_TYPE};q=0.1, {HTML_TYPE}", HTML_TYPE),
        ("text/html", "text/html"),
        ("*/*", "text/html"),
    ],
)
def test_negotiation(one: SimpleIndex, accept: str, kind: str) -> None:
    assert get(one, "/simple/sample-one/", Accept=accept).headers["Content-Type"] == kind


def test_a_form_can_be_switched_off(one: SimpleIndex) -> None:
    one.json = False
    both = f"{JSON_TYPE}, text/html;q=0.1"
    assert get(one, "/simple/sample-one/", Accept=both).headers["Content-Type"] == "text/html"
    assert get(one, "/simple/sample-one/", Accept=JSON_TYPE).status == 406


def test_unknown_project_and_missing_slash(one: SimpleIndex) -> None:
    assert get(one, "/simple/other/").status == 404
    answer = get(one, "/simple/sample-one")
    assert (answer.status, answer.headers["Location"]) == (301, "/simple/sample-one/")


def test_files_metadata_and_source_distributions(one: SimpleIndex) -> None:
    one.add(make_sdist("sample-one", "1.0"))
    assert get(one, PATH).body == WHEEL.content
    assert get(one, f"{PATH}.metadata").body == WHEEL.metadata
    assert get(one, "/files/sample_one-1.0.tar.gz").status == 200
    one.metadata_files = False
    assert get(one, f"{PATH}.metadata").status == 404
    assert b"core-metadata" not in get(one, "/simple/sample-one/", Accept=JSON_TYPE).body


def test_variant_wheels_bring_their_index_level_file(index: SimpleIndex) -> None:
    index.add(*make_variant_wheels("Sample.Two", "2.0", {"a": "n :: f :: 1", "b": "n :: f :: 2"}))
    page = get(index, "/simple/sample-two/", Accept=JSON_TYPE).body
    assert b'"sample_two-2.0-variants.json"' in page
    document = json.loads(get(index, "/files/sample_two-2.0-variants.json").body)
    assert document["variants"] == {"a": {"n": {"f": ["1"]}}, "b": {"n": {"f": ["2"]}}}


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-3", WHEEL.content[:4]),
        ("bytes=-22", WHEEL.content[-22:]),
        ("bytes=100-", WHEEL.content[100:]),
        ("bytes=10-999999", WHEEL.content[10:]),
    ],
)
def test_ranges(one: SimpleIndex, header: str, part: bytes) -> None:
    answer = get(one, PATH, Range=header)
    assert (answer.status, answer.body) == (206, part)
    assert answer.headers["Content-Range"].endswith(f"/{len(WHEEL.content)}")


def test_range_outside_of_the_file(one: SimpleIndex) -> None:
    answer = get(one, PATH, Range="bytes=999999-")
    assert (answer.status, answer.headers["Content-Range"]) == (
        416,
        f"bytes */{len(WHEEL.content)}",
    )


def test_ranges_switched_off(one: SimpleIndex) -> None:
    one.ranges = False
    answer = get(one, PATH, Range="bytes=0-3")
    assert (answer.status, answer.body) == (200, WHEEL.content)
    assert "Accept-Ranges" not in answer.headers


def test_if_range_with_another_etag_gives_the_whole_file(one: SimpleIndex) -> None:
    assert get(one, PATH, Range="bytes=0-3", If_Range='"other"').status == 200


def test_revalidation(one: SimpleIndex) -> None:
    tag = get(one, PATH).headers["ETag"]
    answer = get(one, PATH, If_None_Match=tag)
    assert (answer.status, answer.body) == (304, b"")
    assert get(one, PATH, If_None_Match='"other"').status == 200


def test_requests_are_counted(one: SimpleIndex) -> None:
    get(one, PATH, X_Sample="yes")
    get(one, PATH, Range="bytes=0-9")
    get(one, "/simple/sample-one/")
    assert one.paths == [PATH, PATH, "/simple/sample-one/"]
    assert one.count(PATH) == 2
    assert one.count("/files/*", status=206) == 1
    assert one.requests[0].headers["x-sample"] == "yes"
    assert one.requests[1].bytes_sent == 10
    assert one.requests[0].bytes_sent == len(WHEEL.content)
    one.clear()
    assert one.count() == 0


def test_a_status_some_times_then_well(one: SimpleIndex) -> None:
    one.fail(PATH, Status(429, {"Retry-After": "1"}), times=2)
    answers = [get(one, PATH) for _ in range(3)]
    assert [answer.status for answer in answers] == [429, 429, 200]
    assert answers[0].headers["Retry-After"] == "1"


def test_the_newest_rule_acts_and_heal_forgets(one: SimpleIndex) -> None:
    one.fail("/files/*.whl", Status(500))
    one.fail(PATH, Status(503), times=1)
    assert [get(one, PATH).status for _ in range(2)] == [503, 500]
    one.heal()
    assert get(one, PATH).status == 200


def test_truncation_with_length_is_seen(one: SimpleIndex) -> None:
    one.fail(PATH, Truncated(10))
    with pytest.raises(http.client.IncompleteRead):
        get(one, PATH)


def test_truncation_without_length_looks_whole(one: SimpleIndex) -> None:
    one.fail(PATH, Truncated(10, with_length=False))
    assert get(one, PATH).body == WHEEL.content[:10]


@pytest.mark.parametrize("after", [-1, 10])
def test_reset(one: SimpleIndex, after: int) -> None:
    one.fail(PATH, Reset(after))
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        get(one, PATH)


def test_slow_answers_arrive_whole(one: SimpleIndex) -> None:
    one.fail(PATH, Drip(size=200, pause=0.001), times=1)
    one.fail(PATH, Stall(after=10, seconds=0.01), times=1)
    assert get(one, PATH).body == WHEEL.content
    assert get(one, PATH).body == WHEEL.content


def test_closing_ends_a_stall() -> None:
    with SimpleIndex() as index:
        index.add(WHEEL)
        index.fail(PATH, Stall(after=10))
        connection = http.client.HTTPConnection("127.0.0.1", index.port, timeout=10)
        connection.request("GET", PATH)
        response = connection.getresponse()
        assert response.read(10) == WHEEL.content[:10]
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    response.close()
    connection.close()


def test_altered_and_html_bodies(one: SimpleIndex) -> None:
    one.fail(PATH, Altered(), times=1)
    body = get(one, PATH).body
    assert len(body) == len(WHEEL.content)
    assert body != WHEEL.content
    one.fail(PATH, HtmlPage())
    answer = get(one, PATH)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")


def test_redirect(one: SimpleIndex) -> None:
    one.fail("/files/elsewhere", Redirect(f"http://localhost:{one.port}{PATH}", code=307))
    answer = get(one, "/files/elsewhere")
    assert (answer.status, answer.headers["Location"]) == (
        307,
        f"http://localhost:{one.port}{PATH}",
    )


def test_range_faults(one: SimpleIndex) -> None:
    one.fail(PATH, IgnoreRange(), times=1)
    assert get(one, PATH, Range="bytes=0-3").status == 200
    one.fail(PATH, LyingRange(), times=1)
    answer = get(one, PATH, Range="bytes=0-3")
    assert (answer.status, answer.body) == (206, WHEEL.content[1:5])


def test_changing_etag(one: SimpleIndex) -> None:
    one.fail(PATH, ChangingETag())
    first, second = (get(one, PATH).headers["ETag"] for _ in range(2))
    assert first != second
    assert get(one, PATH, If_None_Match=second).status == 200


def test_basic_authentication(one: SimpleIndex) -> None:
    one.fail(PATH, BasicAuth("user", "secret"))
    answer = get(one, PATH)
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (
        401,
        'Basic realm="sample index"',
    )
    assert get(one, PATH, Authorization="Basic dXNlcjpzZWNyZXQ=").status == 200


def test_credentials_for_the_whole_index() -> None:
    with SimpleIndex(credentials=("user", "p@ss")) as index:
        index.add(WHEEL)
        assert get(index, "/simple/sample-one/").status == 401
        assert "user:p%40ss@127.0.0.1" in index.url_with_credentials("user", "p@ss")


def test_a_bomb_is_small_on_the_wire_and_a_true_gzip_stream(one: SimpleIndex) -> None:
    one.fail(PATH, GzipBomb(32 << 20))
    answer = get(one, PATH)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.body) < 1 << 20
    inflater = zlib.decompressobj(31)
    assert len(inflater.decompress(answer.body)) == 32 << 20
    assert inflater.eof


def test_a_client_may_leave_an_endless_body(one: SimpleIndex) -> None:
    one.fail(PATH, EndlessBody())
    connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)
    connection.request("GET", PATH)
    response = connection.getresponse()
    assert response.read(100) == b"a" * 100
    response.close()
    connection.close()


def test_own_pages(one: SimpleIndex) -> None:
    one.set_page("/flat/", "<a href='x.whl'>x.whl</a>")
    assert get(one, "/flat/").body == b"<a href='x.whl'>x.whl</a>"


def test_a_fault_of_the_index_itself_is_told_at_the_end() -> None:
    index = SimpleIndex()
    index.start()
    index.add(WHEEL)
    index._files = None  # type: ignore[assignment]
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        get(index, PATH)
    with pytest.raises(AssertionError, match="the sample index failed"):
        index.close()


def test_tls_with_a_local_authority(authority: CertificateAuthority) -> None:
    with SimpleIndex(authority=authority) as index:
        index.add(WHEEL)
        trusting = ssl.create_default_context(cafile=str(authority.certificate))
        url = index.file_url(WHEEL.filename)
        assert url.startswith("https://127.0.0.1:")
        with urllib.request.urlopen(url, context=trusting, timeout=10) as response:
            assert response.read() == WHEEL.content
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(url, context=ssl.create_default_context(), timeout=10)
