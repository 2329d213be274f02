"""Where a distribution file is, and what its index says of it.

Implements the fields of the simple repository API: PEP 503, 592 (yanked), 629, 658 and
714 (metadata files), 691 (JSON), 700 (size, upload time), 740 (provenance).
"""

from __future__ import annotations

from vinstall.errors import RequirementError
from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Bridged:
    """What stands behind a file that a bridge shows (``docs/bridges.md``).

    Attributes:
        family: The bridge.
        label: The build's name, as the user sees it; also where the variant is ``null``.
        project: The plain project that it is shown for.
        real: The file as its index has it.
        real_project: The project that the file belongs to: the plain one, or a sister.
        version_text: The real version, with any local segment.
        properties: What the build is for; empty where it runs anywhere.
        requirements: What it brings besides its own needs, as requirement lines.
        agree: Name → value of what has to be the same in one environment.
        pinned_only: Whether it is the real file under its own version, for requirements that
            name a local version.
        refused: Why the plain project's own file is no choice while the bridge is on; empty
            for all others.
    """

    family: str
    label: str
    project: str
    real: Link
    real_project: str
    version_text: str
    properties: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict, hash=False
    )
    requirements: tuple[str, ...] = ()
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)
    pinned_only: bool = False
    refused: str = ""

    @property
    def is_sister(self) -> bool:
        """Whether another project is installed in place of the plain one."""
        return self.real_project != self.project


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
        provenance: URL of the provenance object (PEP 740), empty for none.
        bridge: What stands behind a file that a bridge shows; ``None`` for all others.
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
    provenance: str = ""
    bridge: Bridged | None = field(default=None, hash=False)

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

    Raises:
        RequirementError: It is not a URL.
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
    try:
        path = urlsplit(base).path
    except ValueError as error:
        raise RequirementError(f"{base} is not a URL", str(error)) from error
    filename = unquote(path.rstrip("/").rpartition("/")[2])
    return Link(base + ("#" + "&".join(kept) if kept else ""), filename, hashes)
