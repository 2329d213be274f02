"""SHA-256 of small things, without the library that serves large ones.

``hashlib`` loads OpenSSL, which takes several milliseconds and is faster only from some
kilobytes on. Python brings an implementation of its own along, under names that differ.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # another implementation of Python
            from hashlib import sha256

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def hex_of(text: str) -> str:
    """The digest of a text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def record_digest(content: bytes) -> str:
    """The digest of some bytes, as RECORD writes it."""
    from binascii import b2a_base64

    found = b2a_base64(sha256(content).digest(), newline=False)
    return "sha256=" + found.translate(_URL_SAFE).rstrip(b"=").decode("ascii")


__all__ = ["hex_of", "record_digest", "sha256"]
