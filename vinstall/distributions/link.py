"""Where a distribution file is, and what its index says of it.

Implements the fields of the simple repository API: PEP 503, 592 (yanked), 629, 658 and
714 (metadata files), 691 (JSON), 700 (size, upload time).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping


HASH_NAMES = ("sha256", "sha384", "sha512", "md5", "sha1", "sha224")


@dataclass(frozen=True, slots=True)
class Link:
    """One file on an index page, in a folder, or given directly.

    Attributes:
        url: Absolute URL with any credentials that came with it, without fragment.
        filename: The file name, percent-decoded.
        hashes: Algorithm → hex digest in lower case; empty where the index gave none.
        requires_python: The specifier text, empty where there is none.
        yanked: ``None`` where the file is not yanked, else the reason (may be empty).
        metadata_hashes: ``None`` where the index offers no metadata file beside the file
            (at the URL plus ``.metadata``); else its hashes, which may be empty.
        size: Bytes, where the index says so.
        upload_time: ISO 8601 text, empty where the index gave none.
        index: URL of the index or folder that the link was found on, without credentials;
            empty for a file given directly.
    """

    url: str
    filename: str
    hashes: Mapping[str, str] = field(default_factory=dict, hash=False)
    requires_python: str = ""
    yanked: str | None = None
    metadata_hashes: Mapping[str, str] | None = field(default=None, hash=False)
    size: int | None = None
    upload_time: str = ""
    index: str = ""

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel, by its name."""
        return self.filename.endswith(".whl")

    @property
    def is_file(self) -> bool:
        """Whether the file lies on this machine's file system."""
        return self.url.startswith("file:")


def parse_link(url: str) -> Link:
    """The link that a direct URL stands for; hashes come from its fragment.

    Implements direct references, "hash fragments" (``#sha256=…``); other parts of the
    fragment (``egg``, ``subdirectory``) stay in the URL.
    """
    from urllib.parse import unquote, urlsplit

    base, _, fragment = url.partition("#")
    hashes = {}
    kept = []
    for part in fragment.split("&") if fragment else ():
        name, equals, value = part.partition("=")
        if equals and name in HASH_NAMES:
            hashes[name] = value.lower()
        else:
            kept.append(part)
    filename = unquote(urlsplit(base).path.rstrip("/").rpartition("/")[2])
    return Link(base + ("#" + "&".join(kept) if kept else ""), filename, hashes)
