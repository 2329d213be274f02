"""Requests against servers that fail, stall, lie, redirect and ask for credentials."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import (
    BasicAuth,
    Drip,
    EndlessBody,
    GzipBomb,
    Redirect,
    Reset,
    Stall,
    Status,
    Truncated,
)
from tests.support.index import SimpleIndex
from vinstall.errors import ConfigurationError, IndexAccessError
from vinstall.events import RecordingObserver
from vinstall.index.client import HttpClient, OfflineError, Patience, StatusError
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.certificates import CertificateAuthority

PAGE = "/page"
BODY = b"0123456789" * 1000


class Waits:
    """A stand-in for sleeping that writes down how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def make_client(waits: Waits) -> Iterator[Callable[..., HttpClient]]:
    """A factory of clients: settings as keywords, variables as ``environment``."""
    with contextlib.ExitStack() as stack:

        def make(
            environment: dict[str, str] | None = None,
            observer: RecordingObserver | None = None,
            offline: bool = False,
            **settings: Any,
        ) -> HttpClient:
            settings.setdefault("timeout", 5.0)
            client = HttpClient(
                IndexSettings(**settings),
                observer or RecordingObserver(),
                environment=environment or {},
                offline=offline,
                patience=Patience(first=0.5, longest=8.0, sleep=waits),
            )
            stack.callback(client.close)
            return client

        yield make


@pytest.fixture
def page(index: SimpleIndex) -> str:
    """The URL of a page of ten thousand bytes."""
    index.set_page(PAGE, BODY, "text/plain")
    return index.url + PAGE


def test_answer_arrives(make_client: Callable[..., HttpClient], page: str) -> None:
    response = make_client().get(page)
    assert (response.status, response.body, response.url) == (200, BODY, page)
    assert response.headers["content-type"] == "text/plain"


def test_connection_is_kept(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    client = make_client()
    for _ in range(3):
        client.get(page)
    assert len({request.client_port for request in index.requests}) == 1


def test_user_agent_names_installer_and_interpreter(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    make_client(environment={"CI": "1", "PIP_USER_AGENT_USER_DATA": "mine"}).get(page)
    agent = index.requests[0].headers["user-agent"]
    assert agent.startswith("vinstall/")
    for part in (
        '"installer":{"name":"vinstall"',
        '"python":"3.',
        '"ci":true',
        '"user_data":"mine"',
    ):
        assert part in agent


@pytest.mark.parametrize(
    "fault",
    [
        Status(500),
        Status(502),
        Status(503),
        Status(504),
        Status(429),
        Reset(),
        Reset(after=100),
        Truncated(100),
    ],
    ids=repr,
)
def test_passing_trouble_is_tried_again(
    make_client: Callable[..., HttpClient],
    index: SimpleIndex,
    page: str,
    waits: Waits,
    fault: Any,
) -> None:
    index.fail(PAGE, fault, times=2)
    assert make_client().get(page).body == BODY
    assert index.count(PAGE) == 3
    first, second = waits.seconds
    assert 0.25 <= first <= 0.75
    assert 0.5 <= second <= 1.5


def test_silence_is_tried_again(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail(PAGE, Stall(after=50), times=1)
    assert make_client(timeout=0.2).get(page).body == BODY
    assert index.count(PAGE) == 2


def test_slow_is_not_silent(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail(PAGE, Drip(size=500, pause=0.05))
    assert make_client(timeout=0.4, retries=0).get(page).body == BODY
    assert index.count(PAGE) == 1


@pytest.mark.parametrize(("said", "waited"), [("3", 3.0), ("3600", 8.0)])
def test_retry_after_is_obeyed_within_bounds(
    make_client: Callable[..., HttpClient],
    index: SimpleIndex,
    page: str,
    waits: Waits,
    said: str,
    waited: float,
) -> None:
    index.fail(PAGE, Status(429, {"Retry-After": said}), times=1)
    assert make_client().get(page).body == BODY
    assert waits.seconds == [waited]


def test_trouble_that_stays_is_an_error(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail(PAGE, Status(503))
    with pytest.raises(StatusError) as caught:
        make_client(retries=2).get(page)
    assert index.count(PAGE) == 3
    assert caught.value.status == 503
    assert page in caught.value.what
    assert "503" in caught.value.why


@pytest.mark.parametrize("status", [400, 404, 410, 418, 501])
def test_other_statuses_are_final(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str, status: int
) -> None:
    index.fail(PAGE, Status(status))
    with pytest.raises(StatusError) as caught:
        make_client().get(page)
    assert caught.value.status == status
    assert index.count(PAGE) == 1


def test_silence_that_stays_names_host_and_seconds(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail(PAGE, Stall())
    with pytest.raises(IndexAccessError) as caught:
        make_client(timeout=0.2, retries=0).get(page)
    assert f"127.0.0.1:{index.port}" in caught.value.why
    assert "0.2 seconds" in caught.value.why


def test_nobody_listens(make_client: Callable[..., HttpClient], waits: Waits) -> None:
    with SimpleIndex() as gone:
        url = gone.url
    with pytest.raises(IndexAccessError, match="no connection"):
        make_client(retries=1).get(url)
    assert len(waits.seconds) == 1


def test_offline_asks_nobody(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    with pytest.raises(OfflineError):
        make_client(offline=True).get(page)
    assert index.requests == []


@pytest.mark.parametrize("url", ["http://[::1/", "http://h:port/", "ftp://127.0.0.1/", "nonsense"])
def test_what_is_no_url(make_client: Callable[..., HttpClient], url: str) -> None:
    with pytest.raises(IndexAccessError):
        make_client(retries=0).get(url)


# Sizes


@pytest.mark.parametrize("fault", [GzipBomb(64 * 1024 * 1024), EndlessBody()], ids=repr)
def test_body_is_bounded(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str, fault: Any
) -> None:
    index.fail(PAGE, fault)
    with pytest.raises(IndexAccessError, match="larger than 1 MiB"):
        make_client().get(page, limit=1024 * 1024)


def test_compressed_page(make_client: Callable[..., HttpClient], index: SimpleIndex) -> None:
    index.compress_pages = True
    plain = make_client().get(index.simple_url).body
    assert index.requests[0].headers["accept-encoding"] == "gzip"
    assert plain.lstrip()[:1] in (b"{", b"<")


# Redirects


def test_redirects_are_followed(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail("/old", Redirect("/older", 301))
    index.fail("/older", Redirect(page, 307))
    response = make_client().get(f"{index.url}/old")
    assert (response.body, response.url) == (BODY, page)


def test_endless_redirects_end(make_client: Callable[..., HttpClient], index: SimpleIndex) -> None:
    index.fail("/loop", Redirect("/loop"))
    with pytest.raises(IndexAccessError, match="more than 20 redirects"):
        make_client().get(f"{index.url}/loop")


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirects_stay_on_the_web(
    make_client: Callable[..., HttpClient], index: SimpleIndex, location: str
) -> None:
    index.fail("/old", Redirect(location))
    with pytest.raises(IndexAccessError, match="redirects to"):
        make_client().get(f"{index.url}/old")


def test_credentials_do_not_follow_to_another_server(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    index: SimpleIndex,
    page: str,
) -> None:
    first = make_index()
    first.fail("/old", Redirect(page))
    client = make_client()
    url = first.url.replace("http://", "http://user:secret@")
    assert client.get(f"{url}/old").body == BODY
    assert "authorization" in first.requests[0].headers
    assert "authorization" not in index.requests[0].headers


def test_credentials_follow_on_their_server(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail("/old", Redirect(PAGE))
    index.fail(PAGE, BasicAuth("user", "secret"))
    url = index.url.replace("http://", "http://user:secret@")
    response = make_client().get(f"{url}/old")
    assert response.body == BODY
    assert response.url == page


def test_no_way_back_from_tls_with_credentials(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    authority: CertificateAuthority,
    index: SimpleIndex,
    page: str,
) -> None:
    secure = make_index(authority=authority)
    secure.fail("/old", Redirect(page))
    client = make_client(cert=str(authority.certificate))
    assert client.get(f"{secure.url}/old").body == BODY
    index.clear()
    url = secure.url.replace("https://", "https://user:secret@")
    with pytest.raises(IndexAccessError, match="from https") as caught:
        client.get(f"{url}/old")
    assert "secret" not in str(caught.value)
    assert index.requests == []


# Credentials


@pytest.mark.parametrize("status", [401, 403])
def test_no_credentials_is_an_error_that_names_the_ways(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str, status: int
) -> None:
    index.fail(PAGE, Status(status))
    with pytest.raises(StatusError) as caught:
        make_client(no_input=True).get(page)
    assert f"127.0.0.1:{index.port}" in caught.value.what
    assert "URL" in caught.value.fix
    assert "netrc" in caught.value.fix
    assert "keyring" not in caught.value.fix


def test_wrong_credentials_are_never_shown(
    make_client: Callable[..., HttpClient], index: SimpleIndex
) -> None:
    index.fail(PAGE, BasicAuth("user", "right"))
    url = index.url.replace("http://", "http://user:wrong-secret@") + PAGE
    with pytest.raises(StatusError, match="refuses the credentials") as caught:
        make_client().get(url)
    assert "wrong-secret" not in f"{caught.value} {caught.value.fix}"


def test_netrc_is_used(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str, tmp_path: Path
) -> None:
    index.fail(PAGE, BasicAuth("user", "päss"))
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password päss\n", "utf-8")
    netrc.chmod(0o600)
    assert make_client(environment={"NETRC": str(netrc)}).get(page).body == BODY


def test_index_url_gives_credentials_for_its_files(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    index.fail(PAGE, BasicAuth("user", "secret"))
    url = index.url_with_credentials("user", "secret")
    assert make_client(index_url=url).get(page).body == BODY


def test_keyring_is_asked_after_a_refusal(
    make_client: Callable[..., HttpClient],
    index: SimpleIndex,
    page: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys
    from types import ModuleType, SimpleNamespace

    module = ModuleType("keyring")
    module.get_credential = lambda *_: SimpleNamespace(  # type: ignore[attr-defined]
        username="user", password="sec/ret@"
    )
    monkeypatch.setitem(sys.modules, "keyring", module)
    index.fail(PAGE, BasicAuth("user", "sec/ret@"))
    client = make_client()
    assert client.get(page).body == BODY
    assert client.get(page).body == BODY
    assert [request.status for request in index.requests] == [401, 200, 200]


# TLS and proxies


def test_unknown_certificate_is_refused_at_once(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    authority: CertificateAuthority,
    waits: Waits,
) -> None:
    secure = make_index(authority=authority)
    with pytest.raises(IndexAccessError, match="certificate") as caught:
        make_client().get(secure.simple_url)
    assert "--cert" in caught.value.fix
    assert waits.seconds == []


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_bundle_of_the_environment(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    authority: CertificateAuthority,
    name: str,
) -> None:
    secure = make_index(authority=authority)
    client = make_client(environment={name: str(authority.certificate)})
    assert client.get(secure.simple_url).status == 200


def test_trusted_host_is_not_checked(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    authority: CertificateAuthority,
) -> None:
    secure = make_index(authority=authority)
    assert make_client(trusted_hosts=("127.0.0.1",)).get(secure.simple_url).status == 200


def test_missing_bundle_names_its_source(make_client: Callable[..., HttpClient]) -> None:
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        make_client(environment={"SSL_CERT_FILE": "/nowhere/ca.pem"}).get("https://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("settings", "environment", "proxied"),
    [
        ({}, {}, False),
        ({}, {"http_proxy": "PROXY"}, True),
        ({}, {"HTTP_PROXY": "PROXY"}, True),
        ({}, {"ALL_PROXY": "PROXY"}, True),
        ({}, {"http_proxy": "PROXY", "no_proxy": "localhost,127.0.0.1"}, False),
        ({}, {"http_proxy": "PROXY", "NO_PROXY": "127.0.0.0/8"}, False),
        ({}, {"http_proxy": "PROXY", "no_proxy": "*"}, False),
        ({}, {"http_proxy": "PROXY", "no_proxy": "example.test"}, True),
        ({"no_proxy_env": True}, {"http_proxy": "PROXY"}, False),
        ({"proxy": "PROXY"}, {"no_proxy": "*"}, True),
        ({}, {"https_proxy": "PROXY"}, False),
    ],
)
def test_proxies(
    make_client: Callable[..., HttpClient],
    make_index: Callable[..., SimpleIndex],
    page: str,
    settings: dict[str, Any],
    environment: dict[str, str],
    proxied: bool,
) -> None:
    proxy = make_index()
    proxy.fail("*", Status(404))

    def fill(values: dict[str, Any]) -> dict[str, Any]:
        return {key: proxy.url if value == "PROXY" else value for key, value in values.items()}

    client = make_client(environment=fill(environment), **fill(settings))
    if proxied:
        with pytest.raises(StatusError):
            client.get(page)
        assert len(proxy.requests) == 1
    else:
        assert client.get(page).body == BODY
        assert proxy.requests == []


def test_stream_gives_bytes_as_sent(
    make_client: Callable[..., HttpClient], index: SimpleIndex, page: str
) -> None:
    with make_client().stream(page, {"Range": "bytes=10-19"}) as stream:
        assert stream.status in (200, 206)
        data = b"".join(stream)
    digest = hashlib.sha256(BODY if stream.status == 200 else BODY[10:20]).hexdigest()
    assert hashlib.sha256(data).hexdigest() == digest
    assert index.requests[0].headers["accept-encoding"] == "identity"


def test_closed_client_refuses(make_client: Callable[..., HttpClient], page: str) -> None:
    client = make_client()
    client.get(page)
    client.close()
    with pytest.raises(IndexAccessError):
        client.get(page)
