"""A distribution that is installed in an environment."""

from __future__ import annotations

from vinstall.values import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.version import Version

    from vinstall.distributions.core_metadata import CoreMetadata


@dataclass(frozen=True, slots=True)
class InstalledDistribution:
    """What lies in one ``dist-info`` (or ``egg-info``) of an environment.

    Attributes:
        name: As its metadata writes it.
        project: The normalized name.
        version_text: As its metadata writes it.
        location: The folder that holds it (site-packages).
        info: Path of its dist-info folder, egg-info folder or file.
        metadata: Its core metadata.
        installer: Content of INSTALLER, empty where there is none.
        requested: Whether the user asked for it by name (REQUESTED is there).
        direct_url: Content of ``direct_url.json`` (PEP 610), or ``None``.
        label: Variant label from its ``variant.json``; empty for a non-variant wheel.
        variant: Content of ``variant.json``, or ``None``.
        reason: Content of ``vinstall.json``: why this build was chosen; or ``None``.
        bridge: The bridge that it came through (``docs/bridges.md``); empty for none.
        build: The name of its build there; also where the variant is ``null``.
        agree: Name → value of what has to be the same in one environment.
        stands_for: The plain project that it stands for, where a bridge took a sister.
        kind: ``dist-info``, ``egg-info``, ``egg-link`` or ``distutils`` (a lone
            egg-info file, which nobody can uninstall safely).
    """

    name: str
    project: str
    version_text: str
    location: str
    info: str
    metadata: CoreMetadata
    installer: str = ""
    requested: bool = False
    direct_url: Mapping[str, object] | None = field(default=None, hash=False)
    label: str = ""
    variant: Mapping[str, object] | None = field(default=None, hash=False)
    reason: Mapping[str, object] | None = field(default=None, hash=False)
    kind: str = "dist-info"
    bridge: str = ""
    build: str = ""
    agree: Mapping[str, str] = field(default_factory=dict, hash=False)
    stands_for: str = ""

    @property
    def version(self) -> Version:
        """The version; versions that PEP 440 does not know count as 0."""
        from packaging.version import Version

        from vinstall.distributions.filename import parse_version

        return parse_version(self.version_text) or Version("0")

    @property
    def shown_label(self) -> str:
        """The label as the user sees it: a bridge has a name for the null variant, too."""
        return self.build or self.label

    @property
    def public_version(self) -> Version:
        """The version by which releases are compared: a bridged build's without local segment."""
        if not self.bridge:
            return self.version
        from packaging.version import Version

        return Version(self.version.public)

    @property
    def editable_location(self) -> str:
        """The project folder of an editable install, empty for others."""
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        details = (self.direct_url or {}).get("dir_info")
        url = (self.direct_url or {}).get("url")
        if isinstance(details, dict) and details.get("editable") and isinstance(url, str):
            return url2pathname(urlsplit(url).path)
        return ""
