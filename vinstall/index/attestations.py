"""Provenance of a file → proven, or an error that says what is wrong with it.

Implements PEP 740, "Attestation verification". Certificates, signatures and the transparency
log are the business of the ``pypi-attestations`` library, an extra that is imported when
somebody asks for attestations. Whatever it raises is a refusal: there is no other way through
here than a proof.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from vinstall.distributions.publisher import read_claim
from vinstall.errors import AttestationError

if TYPE_CHECKING:
    from vinstall.distributions.publisher import Publisher

PROVENANCE_TYPES = "application/vnd.pypi.integrity.v1+json, application/json;q=0.5"
"""What to send as ``Accept`` for a provenance object."""
PROVENANCE_LIMIT = 16 * 1024 * 1024
"""Bytes of a provenance object at most."""
_LOCK = threading.Lock()


def check_provenance(
    body: bytes, filename: str, sha256: str, publisher: Publisher, *, refresh_trust: bool = True
) -> None:
    """See that a publisher attests a file.

    All attestations of the publisher have to hold, and there has to be one. Those of others
    are left alone: anybody may attest anything.

    Args:
        body: The provenance object, as the index gave it.
        filename: Name of the file.
        sha256: Digest of the file as it arrived, in hexadecimal.
        publisher: Who has to attest it.
        refresh_trust: Whether the certificates and keys of Sigstore are brought up to date
            first; else those are taken that the library came with or fetched last.

    Raises:
        AttestationError: It is not proven.
    """
    load_library()
    try:
        with _LOCK:  # the library keeps its trust in files
            _check(body, filename, sha256, publisher, refresh_trust)
    except AttestationError:
        raise
    except Exception as error:
        raise _explain(error, filename) from error


def load_library() -> None:
    """Import the library.

    Raises:
        AttestationError: It is not installed.
    """
    try:
        import pypi_attestations  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError as error:
        raise AttestationError(
            "Attestations can not be verified here",
            str(error),
            "Install what is needed for it: pip install 'vinstall[attestations]'",
        ) from error


def _check(
    body: bytes, filename: str, sha256: str, publisher: Publisher, refresh_trust: bool
) -> None:
    import logging

    library: Any = __import__("pypi_attestations")
    logging.getLogger("sigstore").addHandler(logging.NullHandler())  # else it writes to stderr
    try:
        provenance = library.Provenance.model_validate_json(body)
    except ValueError as error:
        raise _refuse(filename, f"its provenance is not one: {_first_line(error)}") from error
    bundles = [(bundle, bundle.publisher.model_dump()) for bundle in provenance.attestation_bundles]
    wanted = [bundle for bundle, claim in bundles if publisher.accepts(claim)]
    if not wanted:
        others = sorted({str(read_claim(claim) or claim.get("kind")) for _, claim in bundles})
        raise _refuse(
            filename,
            f"{publisher} is required to attest it, and "
            + (f"{' and '.join(others)} did" if others else "nobody did"),
        )
    attestations = [(bundle.publisher, one) for bundle in wanted for one in bundle.attestations]
    if not attestations:
        raise _refuse(filename, f"the bundle of {publisher} holds no attestation")
    try:
        distribution = library.Distribution(name=filename, digest=sha256)
    except ValueError as error:
        raise AttestationError(
            f"{filename} can not be accepted",
            "the attestation library does not know names like this one, and proves nothing "
            f"about it: {_first_line(error)}",
            "For a variant wheel, take the build without variants (--no-variant NAME).",
        ) from error
    for claimed, attestation in attestations:
        try:
            attestation.verify(claimed, distribution, offline=not refresh_trust)
        except library.AttestationError as error:
            raise _refuse(
                filename, f"an attestation of {publisher} does not hold: {_first_line(error)}"
            ) from error


def _refuse(filename: str, why: str) -> AttestationError:
    return AttestationError(
        f"{filename} can not be accepted",
        why,
        "Do not install it unless you know why. --require-attestations says who has to attest "
        "which project.",
    )


def _explain(error: Exception, filename: str) -> AttestationError:
    """What the library did not expect itself."""
    if type(error).__name__ == "TUFError":
        return AttestationError(
            f"{filename} can not be verified",
            f"the certificates of Sigstore can not be brought up to date: {_first_line(error)}",
            "Allow the network, or trust those that are here with --attestation-trust=kept.",
        )
    return AttestationError(
        f"{filename} can not be verified", f"{type(error).__name__}: {_first_line(error)}"
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
