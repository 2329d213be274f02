"""Sources of one run: fetched and verified once, built once, and where each came from.

A source distribution is fetched and its hashes are verified before any of its code runs.
Metadata that it promises to keep (PEP 643: metadata 2.2, nothing of it dynamic) is read out
of it; only what does not say so is built before it is known to be wanted.
"""

from __future__ import annotations

from pathlib import Path

from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.filename import normalize_name, parse_sdist_filename
from vinstall.errors import BuildError, WheelFormatError
from vinstall.events import FileChosen, Noted
from vinstall.index.address import file_url, path_of, redact_url
from vinstall.values import dataclass, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from vinstall.builder import Built
    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.distributions.requirement import Requirement
    from vinstall.plan import Change
    from vinstall.workflow.context import Context

_MAX_METADATA = 16 * 1024 * 1024
_FIELDS = frozenset({"requires-dist", "requires-python", "provides-extra"})


@dataclass
class Sources:
    """What is known of the sources of a run.

    Attributes:
        context: What the run works with.
        in_place: Whether what is editable gets a wheel that points to it, or an ordinary one.
    """

    context: Context
    in_place: bool = True
    _asked: dict[str, Requirement] = field(default_factory=dict)
    _settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _expected: dict[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    _fetched: dict[str, Path] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _built: dict[str, Built] = field(default_factory=dict)
    _checkouts: dict[str, Path] = field(default_factory=dict)
    _clones: dict[str, Path] = field(default_factory=dict)

    def note_requirements(
        self, requirements: Iterable[Requirement], constraints: Iterable[Requirement]
    ) -> None:
        """Remember what was asked for: hashes, settings of a build, what is editable."""
        from vinstall.distributions.requirement import merge_hashes

        grouped: dict[str, list[Requirement]] = {}
        for one in (*requirements, *constraints):
            if one.name:
                grouped.setdefault(one.project, []).append(one)
            if one.url:
                self._asked[one.url] = one
            if one.config_settings:
                for key in filter(None, (one.url, one.project if one.name else "")):
                    self._settings[key] = one.config_settings
        for project, several in grouped.items():
            self._expected[project] = merge_hashes(several)

    def is_editable(self, link: Link) -> bool:
        """Whether the project of a link is to be installed in place."""
        asked = self._asked.get(link.url)
        return asked is not None and asked.editable

    def commit(self, link: Link) -> str:
        """The commit that a version control URL stood for; empty before it was built."""
        built = self._built.get(link.url)
        return built.commit if built is not None else ""

    def digest(self, link: Link) -> str:
        """SHA-256 of a source that is a file; empty for folders and repositories."""
        if link.url not in self._digests:
            self.fetch(link)
        return self._digests.get(link.url, "")

    def fetch(self, link: Link) -> Path | None:
        """The file of a source, verified; ``None`` for folders and repositories.

        Raises:
            HashMismatchError: It is another file.
            VinstallError: It can not be had.
        """
        if is_versioned(link.url) or is_folder(link.url):
            return None
        found = self._fetched.get(link.url)
        if found is None:
            from vinstall.index.download import Downloader

            context = self.context
            downloader = Downloader(context.client, context.settings.cache_dir, context.observer)
            fetched = downloader.fetch(link, self._hashes(link) or None, context.work_folder)
            self._demand_attestation(link, fetched.sha256)
            found = self._fetched[link.url] = fetched.path
            self._digests[link.url] = fetched.sha256
        return found

    def metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of a source, by reading it where that is enough, else by a build."""
        path = self.fetch(link)
        if path is not None:
            found = read_static_metadata(path, link.filename)
            if found is not None:
                return found
        from vinstall.wheel.archive import WheelArchive

        wheel = self.wheel(link)
        with WheelArchive.open(wheel, wheel.name) as archive:
            return archive.metadata

    def wheel(self, link: Link) -> Path:
        """The wheel of a source, built once.

        Raises:
            BuildError: It does not build.
        """
        built = self._built.get(link.url)
        if built is None:
            built = self._built[link.url] = self._build(link)
        return built.wheel

    def _build(self, link: Link) -> Built:
        context = self.context
        if link.url in context.building:
            chain = " → ".join(map(redact_url, (*context.building, link.url)))
            raise BuildError(
                f"{redact_url(link.url)} can not be built", f"it needs itself: {chain}"
            )
        if is_versioned(link.url) or is_folder(link.url):
            self._demand_attestation(link, "")
        before = context.building
        context.building = (*before, link.url)
        try:
            return self._build_one(link, context.work_folder / f"built-{len(self._built)}")
        finally:
            context.building = before

    def _build_one(self, link: Link, folder: Path) -> Built:
        context, builder = self.context, self.context.builder
        settings = self._settings.get(link.url) or self._settings.get(parse_project(link), ())
        base, _, fragment = link.url.partition("#")
        shown = redact_url(base)
        if self.is_editable(link):
            path = self._check_out(link) if is_versioned(link.url) else path_of(base)
            text = f"Obtaining {file_url(path)}{self._line_of(link)}"
            context.observer.receive(Noted(text, verbosity=0))
            return builder.build_project(
                path, folder, settings, shown=str(path), editable=self.in_place
            )
        inside = _parts_of(fragment).get("subdirectory", "")
        if base.startswith("git+"):
            path = folder / "checkout"
            commit = self._clone(base, path)
            self._clones[link.url] = path / inside
            built = builder.build_project(path / inside, folder, settings, shown=shown)
            return replace(built, commit=commit)
        fetched = self.fetch(link)
        if fetched is None and is_versioned(link.url):
            return builder.build(link.url, folder, settings)
        if fetched is None:
            path = path_of(base)
            context.observer.receive(FileChosen("local", str(path)))
            return builder.build_project(path / inside, folder, settings, shown=str(path))
        from vinstall.workflow.source_tree import unpack_source

        path = unpack_source(fetched, folder / "unpacked", link.filename or fetched.name)
        return builder.build_project(path / inside, folder, settings, shown=shown)

    def _line_of(self, link: Link) -> str:
        """Which line of a file asked for a link, as pip writes it; empty for arguments."""
        asked = self._asked.get(link.url)
        file, colon, line = (asked.origin if asked is not None else "").rpartition(":")
        return f" (from -r {file} (line {line}))" if colon and line.isdecimal() else ""

    def archive(self, link: Link, name: str, version: str, folder: Path) -> Path:
        """The source of a repository as an archive, as ``download`` saves it; pip's names."""
        self.wheel(link)
        checkout = self._clones.get(link.url)
        if checkout is None:
            return self.wheel(link)
        from vinstall.workflow.source_tree import pack_source

        return pack_source(checkout, folder, f"{name}-{version}")

    def _clone(self, base: str, folder: Path) -> str:
        """Check a repository out to build it; the commit."""
        from vinstall.workflow.repositories import check_out

        described = _describe_version(base, "")
        info = described["vcs_info"]
        revision = str(info.get("requested_revision", "")) if isinstance(info, dict) else ""
        self.context.observer.receive(Noted(f"  Cloning {redact_url(base)}", verbosity=0))
        return check_out(str(described["url"]), revision, folder)

    def _demand_attestation(self, link: Link, sha256: str) -> None:
        """Before a source is read or run; what its name does not tell is asked again later."""
        from vinstall.workflow.attestations import demand_attestation

        asked = self._asked.get(link.url)
        names = {parse_project(link), asked.project if asked is not None and asked.name else ""}
        for project in sorted(names - {""}):
            demand_attestation(self.context, project, link, sha256)

    def checkout(self, link: Link) -> Path | None:
        """Where an editable repository was checked out; ``None`` for all others."""
        return self._checkouts.get(link.url)

    def _check_out(self, link: Link) -> Path:
        from vinstall.workflow.repositories import check_out

        base, _, fragment = link.url.partition("#")
        parts = _parts_of(fragment)
        asked = self._asked.get(link.url)
        name = parts.get("egg", "").partition("[")[0] or (asked.name if asked else "")
        described = _describe_version(base, "")
        if not base.startswith("git+"):
            raise BuildError(
                f"{base} can not be installed in place",
                "only folders and git repositories can",
                "Check it out yourself and give its folder to -e.",
            )
        if not name:
            raise BuildError(
                f"{base} does not tell its project",
                "its checkout needs a name",
                f"Write it as {base}#egg=NAME.",
            )
        settings = self.context.settings.request
        target = self.context.base_target
        default = Path(target.prefix, "src") if target.is_virtual else Path("src")
        folder = (Path(settings.src) if settings.src else default).absolute() / name
        info = described["vcs_info"]
        revision = str(info.get("requested_revision", "")) if isinstance(info, dict) else ""
        check_out(str(described["url"]), revision, folder, settings.exists_actions)
        folder = self._checkouts[link.url] = folder / parts.get("subdirectory", "")
        return folder

    def _hashes(self, link: Link) -> Mapping[str, frozenset[str]]:
        """The digests that the user accepts for a source."""
        asked = self._asked.get(link.url)
        if asked is not None and asked.hashes:
            return asked.hashes
        return self._expected.get(parse_project(link), {})


def _parts_of(fragment: str) -> dict[str, str]:
    """``egg=name&subdirectory=path`` as a mapping."""
    return dict(part.partition("=")[::2] for part in fragment.split("&") if part)


def parse_project(link: Link) -> str:
    """The project that a source's file name speaks of; empty where it does not say."""
    name = link.filename
    for place in range(len(name) - 1, 0, -1):
        if name[place] == "-":
            project = normalize_name(name[:place])
            if parse_sdist_filename(name, project) is not None:
                return project
    return ""


def is_versioned(url: str) -> bool:
    """Whether a URL names a repository."""
    return "+" in url.partition(":")[0]


def is_folder(url: str) -> bool:
    """Whether a URL names a folder of this machine."""
    base = url.partition("#")[0]
    if not base.startswith("file:"):
        return False
    try:
        return path_of(base).is_dir()
    except ValueError:
        return False


def read_static_metadata(path: Path, name: str) -> CoreMetadata | None:
    """The metadata that a source distribution promises to keep (PEP 643).

    Args:
        path: The file.
        name: Its name, for messages.

    Returns:
        ``None`` where a build may change what a resolver needs, or where nothing is said.
    """
    import email.parser

    try:
        text = next(_iter_package_infos(path), None)
    except (OSError, ValueError, EOFError, RuntimeError, NotImplementedError):
        return None
    if text is None:
        return None
    message = email.parser.BytesParser().parsebytes(text, headersonly=True)
    major, _, minor = str(message.get("Metadata-Version", "1.0")).strip().partition(".")
    if not (major.isdecimal() and minor.isdecimal() and (int(major), int(minor)) >= (2, 2)):
        return None
    dynamic = {str(value).strip().lower() for value in message.get_all("Dynamic", [])}
    if dynamic & _FIELDS:
        return None
    try:
        return parse_core_metadata(text, name)
    except WheelFormatError:
        return None


def _iter_package_infos(path: Path) -> Iterator[bytes]:
    """The ``PKG-INFO`` at the top of a source distribution."""
    import tarfile
    import zipfile

    if path.name.endswith(".zip"):
        try:
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if _is_package_info(entry.filename) and entry.file_size <= _MAX_METADATA:
                        yield archive.read(entry)
        except zipfile.BadZipFile:
            return
        return
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if not (member.isfile() and _is_package_info(member.name)):
                    continue
                file = archive.extractfile(member)
                if file is not None and member.size <= _MAX_METADATA:
                    yield file.read()
    except tarfile.TarError:
        return


def _is_package_info(name: str) -> bool:
    parts = name.split("/")
    return len(parts) == 2 and parts[1] == "PKG-INFO"


def direct_url(context: Context, change: Change, sha256: str) -> Mapping[str, object] | None:
    """``direct_url.json`` for what was asked for by URL or path (PEP 610).

    Args:
        context: What the run works with.
        change: What is installed.
        sha256: Digest of the wheel, where it is one.

    Returns:
        ``None`` for what came from an index.
    """
    candidate = change.resolved.candidate
    link = candidate.link
    if not candidate.direct or link is None:
        return None
    from vinstall.index.address import strip_credentials

    base, _, fragment = link.url.partition("#")
    url = strip_credentials(base)
    found: dict[str, object] = {"url": url}
    parts = _parts_of(fragment)
    if parts.get("subdirectory"):
        found["subdirectory"] = parts["subdirectory"]
    sources = context.sources
    checkout = sources.checkout(link)
    if checkout is not None:
        return {"url": file_url(checkout), "dir_info": {"editable": True}}
    if is_versioned(link.url):
        found |= _describe_version(url, _commit_of(context, link))
    elif is_folder(link.url):
        found["dir_info"] = {"editable": True} if sources.is_editable(link) else {}
    else:
        digest = sha256 if link.is_wheel else sources.digest(link)
        found["archive_info"] = {"hash": f"sha256={digest}", "hashes": {"sha256": digest}}
    return found


def _commit_of(context: Context, link: Link) -> str:
    if not context.sources.commit(link):
        context.sources.wheel(link)
    return context.sources.commit(link)


def _describe_version(url: str, commit: str) -> dict[str, object]:
    """``url`` and ``vcs_info`` of a repository URL, ``git+https://host/path@revision``."""
    system, _, plain = url.partition("+")
    scheme, _, rest = plain.partition("://")
    host, slash, path = rest.partition("/")
    place, at, revision = path.rpartition("@")
    info = {"vcs": system, "commit_id": commit}
    if at:
        path = place
        info["requested_revision"] = revision
    return {"url": f"{scheme}://{host}{slash}{path}", "vcs_info": info}
