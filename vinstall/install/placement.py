"""Where each file of an unpacked wheel goes, and how it gets there.

Implements the binary distribution format, "Installing a wheel": ``Root-Is-Purelib``, the
folders of ``*.data``, ``#!python``, and RECORD with the paths as installed.

Files are hard-linked from the store where that is safe, else cloned (copy on write), else
copied. A link is not safe where the file is going to differ from the stored one, where the
permissions would differ, and where the store belongs to another user, who could then change
the environment by changing the store.
"""

# os.path and not pathlib: a wheel can hold tens of thousands of files
# ruff: noqa: PTH100, PTH116, PTH118, PTH119, PTH123

from __future__ import annotations

import errno
import os

from vinstall.digests import record_digest
from vinstall.distributions.record import RecordEntry
from vinstall.errors import InstallError
from vinstall.install.scripts import (
    is_python_script,
    is_replaced_by_entry_point,
    parse_scripts,
    rewrite_shebang,
    write_launcher,
)
from vinstall.values import NamedTuple
from vinstall.wheel.store import INSTALLED_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vinstall.wheel.store import StoredWheel

SCHEMES = ("purelib", "platlib", "scripts", "data", "headers")
BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_FICLONE = 0x40049409
_NO_LINK = {
    errno.EXDEV,
    errno.EPERM,
    errno.EACCES,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EINVAL,
}


class PlacedFile(NamedTuple):
    """One file that will exist after an installation.

    Attributes:
        target: Absolute path.
        record_path: Its path in RECORD.
        digest: ``algorithm=value``; empty where RECORD has none.
        size: Bytes; -1 where RECORD has none.
        source: Absolute path in the store; empty for a file with ``content``.
        content: What to write instead of the stored file, or ``None``.
        executable: Whether it gets the executable bits.
        linkable: Whether the stored file has the bytes and bits that it gets.
    """

    target: str
    record_path: str
    digest: str
    size: int
    source: str
    content: bytes | None
    executable: bool
    linkable: bool = False

    def to_row(self) -> RecordEntry:
        """Its row in RECORD."""
        size = self.size
        return RecordEntry(self.record_path, self.digest, size if size >= 0 else None)


class Layout(NamedTuple):
    """What a wheel turns into.

    Attributes:
        library: The folder that will hold the dist-info folder.
        dist_info: Absolute path of the dist-info folder.
        files: Files of the wheel and launchers; no two have one target.
        scripts: File names in the scripts folder.
    """

    library: str
    dist_info: str
    files: tuple[PlacedFile, ...]
    scripts: tuple[str, ...]


class Places(NamedTuple):
    """Where the parts of wheels go in one environment.

    Attributes:
        roots: Scheme → folder; below ``headers``, each project has one of its own.
        prefixes: Library (``purelib``, ``platlib``) → scheme → what RECORD writes before the
            path of a file, seen from there.
    """

    roots: Mapping[str, str]
    prefixes: Mapping[str, Mapping[str, str]]


def find_places(paths: Mapping[str, str]) -> Places:
    """Look at the folders of an environment.

    Args:
        paths: Scheme paths ``purelib``, ``platlib``, ``scripts``, ``data``, ``headers``.
    """
    roots = {scheme: os.path.abspath(paths[scheme]) for scheme in SCHEMES}
    prefixes = {
        library: {scheme: record_prefix(root, roots[library]) for scheme, root in roots.items()}
        for library in ("purelib", "platlib")
    }
    # one file has one path, also where ``lib64`` is a link to ``lib``
    return Places({scheme: os.path.realpath(root) for scheme, root in roots.items()}, prefixes)


def plan_layout(
    wheel: StoredWheel, places: Places, executable: str, name: str, *, only_data: bool = False
) -> Layout:
    """Decide where the files of a wheel go; writes nothing.

    Args:
        wheel: The unpacked wheel.
        places: The folders of the environment.
        executable: The interpreter for the first line of scripts.
        name: The project, as its metadata writes it.
        only_data: Whether the files that go beside the dist-info folder are left out.

    Raises:
        WheelFormatError: Its entry points can not be used.
        InstallError: Two of its files want the same place.
    """
    kind = "purelib" if wheel.root_is_purelib else "platlib"
    library = places.roots[kind]
    roots = {**places.roots, "headers": os.path.join(places.roots["headers"], name)}
    prefixes = places.prefixes[kind]
    prefixes = {**prefixes, "headers": f"{prefixes['headers']}{name}/"}
    scripts = parse_scripts(wheel.entry_points, wheel.filename)
    script_names = frozenset(script.name for script in scripts)
    source_root = f"{wheel.root}{os.sep}"
    library_root = f"{library}{os.sep}"
    own_files = {f"{wheel.dist_info}/{own}" for own in INSTALLED_NAMES}
    is_windows = os.sep != "/"
    files: dict[str, PlacedFile] = {}
    launched: dict[str, None] = {}

    def add(file: PlacedFile, origin: str) -> None:
        other = files.setdefault(file.target, file)
        if other is not file and (other.digest, other.size) != (file.digest, file.size):
            raise InstallError(
                f"{wheel.filename} can not be installed",
                f"two of its files want to be {file.target}; one of them is {origin}",
            )

    for path, digest, size, is_executable, _ in wheel.data_files if only_data else wheel.files:
        top, _, rest = path.partition("/")
        source = source_root + path
        if not top.endswith(".data") or not rest:
            if path in own_files:
                continue
            target = library_root + (path.replace("/", os.sep) if is_windows else path)
            record_size = size if digest else -1
            file = PlacedFile(target, path, digest, record_size, source, None, is_executable, True)
            if files.setdefault(target, file) is not file:
                add(file, path)
            continue
        scheme, _, below = rest.partition("/")
        content = None
        stored_executable = is_executable
        if scheme == "scripts":
            if is_replaced_by_entry_point(below, script_names):
                continue
            is_executable = True
            launched[below] = None
            with open(source, "rb") as opened:
                start = opened.read(256)
                if is_python_script(start):
                    content = rewrite_shebang(start + opened.read(), executable)
                    digest, size = record_digest(content), len(content)
        target = os.path.join(roots[scheme], *below.split("/"))
        record_path = prefixes[scheme] + below
        linkable = content is None and is_executable == stored_executable
        add(
            PlacedFile(target, record_path, digest, size, source, content, is_executable, linkable),
            path,
        )
    for script in scripts:
        for launcher in write_launcher(script, executable):
            target = os.path.join(roots["scripts"], launcher.name)
            record_path = prefixes["scripts"] + launcher.name
            launched[launcher.name] = None
            add(
                PlacedFile(
                    target,
                    record_path,
                    record_digest(launcher.content),
                    len(launcher.content),
                    "",
                    launcher.content,
                    True,
                ),
                f"the script {script.name}",
            )
    dist_info = os.path.join(library, wheel.dist_info)
    return Layout(library, dist_info, tuple(files.values()), tuple(launched))


def make_file(layout: Layout, name: str, content: bytes, *, in_record: bool = True) -> PlacedFile:
    """A file of our own in the dist-info folder of a layout."""
    folder = os.path.basename(layout.dist_info)
    return PlacedFile(
        os.path.join(layout.dist_info, name),
        f"{folder}/{name}",
        record_digest(content) if in_record else "",
        len(content) if in_record else -1,
        "",
        content,
        False,
    )


def record_prefix(root: str, library: str) -> str:
    """What RECORD writes before the path of a file below ``root``; ends in ``/`` or is empty.

    Relative where there is a relative path (not between drives of Windows).
    """
    try:
        relative = os.path.relpath(root, library)
    except ValueError:
        relative = root
    relative = relative.replace(os.sep, "/")
    return "" if relative == "." else relative.rstrip("/") + "/"


class Placer:
    """Puts files into place, in the cheapest safe way that works.

    Args:
        umask: The file mode mask of the process.
        link: Whether hard links may be tried.
    """

    def __init__(self, umask: int, *, link: bool = True) -> None:
        self._file_mode = 0o666 & ~umask
        self._executable_mode = 0o777 & ~umask
        self._may_link = link and hasattr(os, "link")
        self._may_clone = True
        self.linked = 0
        self.copied = 0

    @property
    def may_link(self) -> bool:
        """Whether a hard link may work, as far as is known now."""
        return self._may_link

    def can_link(self, wheel: StoredWheel) -> bool:
        """Whether the files of a wheel may be hard-linked into an environment."""
        if not self._may_link:
            return False
        if os.name != "posix":
            return True
        modes = (wheel.file_mode, wheel.executable_mode)
        if modes != (self._file_mode, self._executable_mode):
            return False
        return os.stat(wheel.root).st_uid == os.geteuid()

    def place(self, file: PlacedFile, *, link: bool) -> None:
        """Create one file; its folder must exist, the file must not.

        Args:
            file: What to create.
            link: Whether ``can_link`` allows a link.

        Raises:
            OSError: It could not be created; an incomplete file may be left.
        """
        mode = self._executable_mode if file.executable else self._file_mode
        if file.content is not None:
            write_new(file.target, file.content, mode)
            return
        if link and file.linkable and self._may_link:
            try:
                os.link(file.source, file.target)
            except OSError as error:
                if error.errno in _NO_LINK:
                    self._may_link = False
                elif error.errno != errno.EMLINK:
                    raise
            else:
                self.linked += 1
                return
        self._copy(file.source, file.target, mode)
        self.copied += 1

    def link(self, source: str, target: str) -> bool:
        """Link a stored file; ``False`` where ``place`` has to see to it, or tell why not."""
        if not self._may_link:
            return False
        try:
            os.link(source, target)
        except OSError:
            return False
        self.linked += 1
        return True

    def _copy(self, source: str, target: str, mode: int) -> None:
        reader = os.open(source, os.O_RDONLY | BINARY)
        try:
            writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
            try:
                if not (self._may_clone and self._clone(reader, writer)):
                    _copy_bytes(reader, writer)
                # bytecode holds the time of its source
                facts = os.fstat(reader)
                written = writer if os.utime in os.supports_fd else target
                os.utime(written, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            finally:
                os.close(writer)
        finally:
            os.close(reader)

    def _clone(self, reader: int, writer: int) -> bool:
        try:
            from fcntl import ioctl

            ioctl(writer, _FICLONE, reader)
        except (ImportError, OSError):
            self._may_clone = False
            return False
        return True


def write_new(target: str, content: bytes, mode: int) -> None:
    """Write a file that must not exist yet."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _copy_bytes(reader: int, writer: int) -> None:
    copy_range: Callable[[int, int, int], int] | None = getattr(os, "copy_file_range", None)
    while copy_range is not None:
        try:
            if not copy_range(reader, writer, 2**30):
                break
        except OSError:
            break  # another file system, or a kernel without it: the rest by hand
    while chunk := os.read(reader, 2**20):
        view = memoryview(chunk)
        while view:
            view = view[os.write(writer, view) :]
