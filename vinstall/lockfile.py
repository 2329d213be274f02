"""``pylock.toml`` ⇄ values. Reads and writes text that it is handed, nothing else.

Implements the pylock specification (PEP 751) with ``packages.variants-json`` of PEP 825,
"Integration with pylock.toml". What was asked for is kept under ``[tool.vinstall]``, so that
a machine that gets another build needs only what that build needs.
"""

from __future__ import annotations

import re

from vinstall import __version__
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.link import Link
from vinstall.errors import LockFileError, VariantMetadataError
from vinstall.patterns import lazy_pattern
from vinstall.values import dataclass, field
from vinstall.variants.readers import format_index_metadata, read_variant_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from vinstall.variants.metadata import VariantMetadata

LOCK_VERSION = "1.0"
_SAFE_HASHES = ("sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b")
_NAME = lazy_pattern(r"pylock(\.[^.]+)?\.toml")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One entry of a lock file.

    Attributes:
        name: The normalized project name.
        version: Empty for a source tree whose version is not locked.
        marker: When the entry applies; empty for always.
        requires_python: Specifier text, empty for any.
        index: The index that the files came from; may be empty.
        links: Wheels and source distributions, in order; each with hashes.
        variants: The variant metadata of the release; ``None`` where it has none.
        direct: A direct reference that is not an archive (a folder, version control).
    """

    name: str
    version: str = ""
    marker: str = ""
    requires_python: str = ""
    index: str = ""
    links: tuple[Link, ...] = ()
    variants: VariantMetadata | None = None
    direct: str = ""


@dataclass(frozen=True, slots=True)
class LockFile:
    """A lock file.

    Attributes:
        packages: In the order of the file.
        requires_python: Specifier text, empty for any.
        requirements: What was asked for, where vinstall wrote the file; empty otherwise.
        created_by: The tool that wrote it.
        extras: Known extras.
        groups: Known dependency groups.
        default_groups: Groups that apply without being named.
        origin: Where it was read, for messages.
    """

    packages: tuple[LockedPackage, ...]
    requires_python: str = ""
    requirements: tuple[str, ...] = ()
    created_by: str = "vinstall"
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    default_groups: tuple[str, ...] = ()
    origin: str = field(default="", compare=False)


def is_lock_name(location: str) -> bool:
    """Whether a file name is one of a lock file (PEP 751, "File Name")."""
    return _NAME.fullmatch(re.split(r"[/\\]", location)[-1]) is not None


def format_lock(lock: LockFile, base: str = "") -> str:
    """Write a lock file; the same lock gives the same text.

    Args:
        lock: What to write.
        base: ``file:`` URL of the folder that it goes to: files below it get relative paths.
    """
    import json

    import tomli_w

    document: dict[str, Any] = {
        "lock-version": LOCK_VERSION,
        "created-by": lock.created_by,
    }
    if lock.requires_python:
        document["requires-python"] = lock.requires_python
    packages = []
    for package in lock.packages:
        entry: dict[str, Any] = {"name": package.name}
        if package.version:
            entry["version"] = package.version
        if package.marker:
            entry["marker"] = package.marker
        if package.requires_python:
            entry["requires-python"] = package.requires_python
        if package.index:
            entry["index"] = package.index
        wheels = [_format_link(link, base) for link in package.links if link.is_wheel]
        sdists = [_format_link(link, base) for link in package.links if not link.is_wheel]
        if sdists:
            entry["sdist"] = sdists[0]
        if wheels:
            entry["wheels"] = wheels
        if package.variants is not None:
            entry["variants-json"] = json.loads(format_index_metadata(package.variants))
        packages.append(entry)
    document["packages"] = packages
    if lock.requirements:
        document["tool"] = {
            "vinstall": {"version": __version__, "requirements": list(lock.requirements)}
        }
    return tomli_w.dumps(document)


def _format_link(link: Link, base: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": link.filename}
    if link.is_file and base and link.url.startswith(f"{base}/"):
        from urllib.parse import unquote

        entry["path"] = unquote(link.url[len(base) + 1 :])
    else:
        entry["url"] = link.url
    if link.size is not None:
        entry["size"] = link.size
    if link.upload_time:
        import datetime

        try:
            moment = datetime.datetime.fromisoformat(link.upload_time.replace("Z", "+00:00"))
            entry["upload-time"] = moment
        except ValueError:
            pass
    entry["hashes"] = dict(link.hashes)
    return entry


def parse_lock(text: str, origin: str, base: str) -> LockFile:
    """Read a lock file, written by any tool.

    Args:
        text: The file.
        origin: Its path or URL, for messages.
        base: URL of the folder that it lies in, for relative paths.

    Raises:
        LockFileError: It is not valid; every fault is named with its place.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise LockFileError(f"{origin} is not valid TOML", str(error)) from error
    version = document.get("lock-version")
    if not isinstance(version, str) or version.split(".")[0] != "1":
        raise LockFileError(
            f"{origin} can not be used", f"its lock-version is {version!r}, not {LOCK_VERSION}"
        )
    faults: list[str] = []
    packages = []
    entries = document.get("packages", [])
    if not isinstance(entries, list):
        raise LockFileError(f"{origin} can not be used", "packages is not a list of tables")
    for number, entry in enumerate(entries):
        place = f"packages[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            faults.append(f"{place} has no name")
            continue
        packages.append(_read_package(entry, f"{place} ({entry['name']})", base, faults))
    if faults:
        raise LockFileError(f"{origin} is wrong", "; ".join(faults))
    own = document.get("tool", {}).get("vinstall", {}) if _is_table(document.get("tool")) else {}
    requirements = own.get("requirements", []) if _is_table(own) else []
    return LockFile(
        tuple(packages),
        str(document.get("requires-python", "")),
        tuple(str(one) for one in requirements) if isinstance(requirements, list) else (),
        str(document.get("created-by", "")),
        _texts(document.get("extras")),
        _texts(document.get("dependency-groups")),
        _texts(document.get("default-groups")),
        origin,
    )


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()


def _read_package(
    entry: Mapping[str, Any], place: str, base: str, faults: list[str]
) -> LockedPackage:
    links = []
    wheels = entry.get("wheels", [])
    for number, item in enumerate(wheels if isinstance(wheels, list) else ()):
        link = _read_link(item, f"{place}.wheels[{number}]", base, faults)
        if link is not None:
            links.append(link)
    for key in ("sdist", "archive"):
        if key in entry:
            link = _read_link(entry[key], f"{place}.{key}", base, faults)
            if link is not None:
                links.append(link)
    variants = None
    if "variants-json" in entry:
        variants = _read_variants(entry["variants-json"], f"{place}.variants-json", faults)
    index = str(entry.get("index", ""))
    return LockedPackage(
        normalize_name(entry["name"]),
        str(entry.get("version", "")),
        str(entry.get("marker", "")),
        str(entry.get("requires-python", "")),
        index,
        tuple(_with_index(link, index) for link in links),
        variants,
        _read_direct(entry, place, base, faults),
    )


def _with_index(link: Link, index: str) -> Link:
    from vinstall.values import replace

    return replace(link, index=index)


def _read_link(value: object, place: str, base: str, faults: list[str]) -> Link | None:
    from urllib.parse import quote, unquote, urljoin, urlsplit

    if not isinstance(value, dict):
        faults.append(f"{place} is not a table")
        return None
    url, path = value.get("url"), value.get("path")
    if isinstance(path, str):
        url = urljoin(f"{base}/", quote(path))
    if not isinstance(url, str):
        faults.append(f"{place} has neither url nor path")
        return None
    try:
        last = unquote(urlsplit(url).path.rpartition("/")[2])
    except ValueError as error:
        faults.append(f"{place} has no valid url: {error}")
        return None
    hashes = value.get("hashes")
    if not isinstance(hashes, dict) or not hashes:
        faults.append(f"{place} has no hashes")
        return None
    if not any(isinstance(hashes.get(name), str) and hashes[name] for name in _SAFE_HASHES):
        faults.append(f"{place} has no hash that is safe, such as sha256")
        return None
    name = value.get("name")
    filename = name if isinstance(name, str) else last
    size = value.get("size")
    return Link(
        url,
        filename,
        {str(key): str(digest).lower() for key, digest in hashes.items()},
        size=size if isinstance(size, int) else None,
        upload_time=str(value.get("upload-time", "")),
    )


def _read_variants(value: object, place: str, faults: list[str]) -> VariantMetadata | None:
    import json

    try:
        return read_variant_metadata(json.dumps(value).encode(), place)
    except (VariantMetadataError, TypeError, ValueError) as error:
        faults.append(str(error))
        return None


def _read_direct(entry: Mapping[str, Any], place: str, base: str, faults: list[str]) -> str:
    """The direct reference of a folder or a version control entry."""
    from urllib.parse import quote, urljoin

    if "vcs" in entry:
        vcs = entry["vcs"]
        if not isinstance(vcs, dict) or not vcs.get("commit-id") or not vcs.get("type"):
            faults.append(f"{place}.vcs has no type or no commit-id")
            return ""
        where = vcs.get("url") or urljoin(f"{base}/", quote(str(vcs.get("path", ""))))
        tail = f"#subdirectory={vcs['subdirectory']}" if vcs.get("subdirectory") else ""
        return f"{vcs['type']}+{where}@{vcs['commit-id']}{tail}"
    if "directory" in entry:
        folder = entry["directory"]
        if not isinstance(folder, dict) or not isinstance(folder.get("path"), str):
            faults.append(f"{place}.directory has no path")
            return ""
        return urljoin(f"{base}/", quote(folder["path"]))
    return ""


def select_packages(
    lock: LockFile, markers: Mapping[str, Any], extras: Sequence[str], groups: Sequence[str]
) -> tuple[LockedPackage, ...]:
    """The entries that apply to an environment, in the order of the file.

    Args:
        lock: The file.
        markers: Marker environment of the target.
        extras: Extras that were asked for.
        groups: Dependency groups that were asked for; the default ones where empty.

    Raises:
        LockFileError: A marker can not be evaluated, or two entries of one project apply.
    """
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison

    environment: dict[str, Any] = {
        **markers,
        "extras": set(map(normalize_name, extras)),
        "dependency_groups": set(map(normalize_name, groups or lock.default_groups)),
    }
    chosen: dict[str, LockedPackage] = {}
    for package in lock.packages:
        if package.marker:
            try:
                marker = Marker(package.marker)
                applies = marker.evaluate(environment, context="lock_file")
            except (InvalidMarker, UndefinedComparison, KeyError) as error:
                raise LockFileError(
                    f"{lock.origin}: the marker of {package.name} can not be evaluated", str(error)
                ) from error
            if not applies:
                continue
        if package.name in chosen:
            raise LockFileError(
                f"{lock.origin} is ambiguous",
                f"two entries of {package.name} apply to this environment",
            )
        chosen[package.name] = package
    return tuple(chosen.values())
