"""Opens the connections: TLS, proxies, time limits. The only module that configures httpx.

Imported at the first request, since httpx and TLS cost more than everything before them.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vinstall.errors import ConfigurationError, words_of
from vinstall.index.address import is_trusted_host, origin_of, redact_url
from vinstall.index.wire import Wire, is_plain

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    import httpx

    from vinstall.settings import IndexSettings

_BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_CONNECTIONS = 32
_PLATFORM: str = sys.platform


class Connections:
    """One ``httpx.Client`` for each way out: proxy or none, TLS checked or not.

    Args:
        settings: Certificates, proxy, trusted hosts, timeout.
        environment: Variables of proxies and certificates.
    """

    def __init__(self, settings: IndexSettings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, bool], httpx.Client] = {}
        self._wires: dict[bool, Wire] = {}
        self._direct: dict[tuple[str, str, int], bool] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}
        if settings.client_cert:  # wrong is wrong, even where nobody asks for it
            self._add_client_certificate(_unchecked_context())

    def client_for(self, url: str) -> httpx.Client:
        """The client that reaches a URL; made once and shared by all threads."""
        scheme = urlsplit(url).scheme
        proxy = self.proxy_for(url)
        trusted = is_trusted_host(url, self._settings.trusted_hosts)
        key = (scheme, proxy, trusted)
        with self._lock:
            client = self._clients.get(key)
            if client is None:
                client = self._clients[key] = self._make(scheme, proxy, trusted)
        return client

    def wire_for(self, url: str) -> Wire | None:
        """The connections that reach a URL without a proxy; ``None`` if it takes ``httpx``."""
        if not is_plain(url):
            return None
        origin = origin_of(url)
        direct = self._direct.get(origin)
        if direct is None:
            direct = self._direct[origin] = not self.proxy_for(url)
        if not direct:
            return None
        trusted = is_trusted_host(url, self._settings.trusted_hosts)
        with self._lock:
            wire = self._wires.get(trusted)
            if wire is None:
                wire = self._wires[trusted] = Wire(
                    self._settings.timeout, lambda: self._context(trusted)
                )
        return wire

    def _context(self, trusted: bool) -> ssl.SSLContext:
        """What checks certificates on direct connections; made once."""
        with self._lock:
            context = self._contexts.get(trusted)
            if context is None:
                if trusted:
                    context = _unchecked_context()
                    self._add_client_certificate(context)
                else:
                    context = self._make_context()
                context.set_alpn_protocols(["http/1.1"])
                self._contexts[trusted] = context
        return context

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for wire in self._wires.values():
                wire.close()
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def proxy_for(self, url: str) -> str:
        """The proxy for a URL, empty for none: the user's, else the environment's."""
        if self._settings.proxy:
            return _with_scheme(self._settings.proxy)
        if self._settings.no_proxy_env:
            return ""
        parts = urlsplit(url)
        proxies = self._environment_proxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
        if not proxy:
            return ""
        if _bypasses(proxies.get("no", ""), *origin_of(url)[1:]):
            return ""
        return _with_scheme(proxy)

    def _environment_proxies(self) -> dict[str, str]:
        """Proxy for each scheme; lower-case names count before upper-case ones."""
        found = {
            name.lower()[:-6]: value
            for name, value in self._environment.items()
            if name.lower().endswith("_proxy") and value
        }
        for name, value in self._environment.items():
            if name.endswith("_proxy"):
                if value:
                    found[name[:-6]] = value
                else:
                    found.pop(name[:-6], None)
        if "REQUEST_METHOD" in self._environment and "http_proxy" not in self._environment:
            found.pop("http", None)  # a header of a CGI request could have set it
        if not found and _PLATFORM in ("darwin", "win32"):
            from urllib.request import getproxies

            return getproxies()
        return found

    def _make(self, scheme: str, proxy: str, trusted: bool) -> httpx.Client:
        import httpx

        verify: ssl.SSLContext | bool = False
        if scheme == "https" and not trusted:
            verify = self._make_context()
        elif self._settings.client_cert:
            verify = self._add_client_certificate(_unchecked_context())
        try:
            proxy_value: httpx.Proxy | None = None
            if proxy:
                proxy_value = httpx.Proxy(
                    proxy,
                    ssl_context=self._make_context() if proxy.startswith("https:") else None,
                )
            return httpx.Client(
                verify=verify,
                proxy=proxy_value,
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(self._settings.timeout, pool=None),
                limits=httpx.Limits(
                    max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS
                ),
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ConfigurationError(
                f"the proxy {redact_url(proxy)} can not be used",
                str(error),
                "give a URL as http://host:port",
            ) from error

    def _make_context(self) -> ssl.SSLContext:
        """The checks of certificates: a bundle that was named, else the system's store."""
        import ssl

        bundle, source = self._settings.cert, "--cert"
        if not bundle:
            for name in _BUNDLE_VARIABLES:
                if self._environment.get(name):
                    bundle, source = self._environment[name], name
                    break
        if bundle:
            path = Path(bundle)
            try:
                context = ssl.create_default_context(
                    cafile=None if path.is_dir() else bundle,
                    capath=bundle if path.is_dir() else None,
                )
            except (OSError, ssl.SSLError) as error:
                raise ConfigurationError(
                    f"the certificates in {bundle} can not be used",
                    f"{source} names them: {words_of(error)}",
                    "name a PEM file that exists, or nothing for the store of the system",
                ) from error
            return self._add_client_certificate(context)
        import truststore

        system: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if _PLATFORM.startswith("linux"):
            paths = ssl.get_default_verify_paths()
            if not (paths.cafile or paths.capath):
                import certifi

                system.load_verify_locations(certifi.where())
        return self._add_client_certificate(system)

    def _add_client_certificate(self, context: ssl.SSLContext) -> ssl.SSLContext:
        import ssl

        if self._settings.client_cert:
            try:
                context.load_cert_chain(self._settings.client_cert)
            except (OSError, ssl.SSLError) as error:
                raise ConfigurationError(
                    f"the client certificate {self._settings.client_cert} can not be used",
                    words_of(error),
                    "--client-cert takes a PEM file with the certificate and its private key",
                ) from error
        return context


def _unchecked_context() -> ssl.SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypasses(no_proxy: str, host: str, port: int) -> bool:
    """Whether a list as in ``NO_PROXY`` names a host: itself, a parent domain, a network."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    for word in no_proxy.split(","):
        entry = word.strip().lower().strip("[]")
        if entry == "*":
            return True
        if not entry:
            continue
        if address is not None:
            try:
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
            except (ValueError, TypeError):
                pass
        name, colon, number = entry.rpartition(":")
        if colon and number.isdigit() and name.count(":") == 0:
            if int(number) != port:
                continue
            entry = name
        entry = entry.removeprefix("*").lstrip(".")
        if host == entry or host.endswith(f".{entry}"):
            return True
    return False
