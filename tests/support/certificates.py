"""A certificate authority of the moment, for servers on loopback with TLS."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """Files of an authority and of one server certificate for 127.0.0.1 and localhost.

    Attributes:
        certificate: PEM file for ``--cert``: whoever trusts it trusts the server.
        server_certificate: PEM file of the server.
        server_key: Key of the server, without a password.
    """

    certificate: Path
    server_certificate: Path
    server_key: Path

    def server_context(self) -> ssl.SSLContext:
        """Give a context for the server's side."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server_certificate, self.server_key)
        return context


def openssl_is_there() -> bool:
    """Whether certificates can be made on this machine."""
    return shutil.which("openssl") is not None


def make_authority(folder: Path) -> CertificateAuthority:
    """Make an authority and a server certificate, valid for two days.

    Raises:
        subprocess.CalledProcessError: The ``openssl`` command refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority, authority_key = folder / "authority.pem", folder / "authority.key"
    server, server_key, request = folder / "server.pem", folder / "server.key", folder / "csr.pem"
    extensions = folder / "extensions.txt"
    extensions.write_text(
        "subjectAltName=IP:127.0.0.1,DNS:localhost\n"
        "basicConstraints=critical,CA:FALSE\n"
        "keyUsage=critical,digitalSignature\n"
        "extendedKeyUsage=serverAuth\n"
        "subjectKeyIdentifier=hash\n"
        "authorityKeyIdentifier=keyid\n",
        encoding="ascii",
    )
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    settings = folder / "settings.txt"
    settings.write_text("[req]\ndistinguished_name=dn\n[dn]\n", encoding="ascii")
    common = ["-config", str(settings)]
    _openssl(
        "req", "-x509", *curve, *common, "-days", "2", "-subj", "/CN=Sample authority",
        "-addext", "basicConstraints=critical,CA:TRUE",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        "-addext", "subjectKeyIdentifier=hash",
        "-keyout", str(authority_key), "-out", str(authority),
    )  # fmt: skip
    _openssl(
        "req", *curve, *common, "-subj", "/CN=127.0.0.1",
        "-keyout", str(server_key), "-out", str(request),
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey", str(authority_key),
        "-set_serial", "1", "-days", "2", "-extfile", str(extensions), "-out", str(server),
    )  # fmt: skip
    return CertificateAuthority(authority, server, server_key)


def _openssl(*arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )
