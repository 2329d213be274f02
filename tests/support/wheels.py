"""Real wheels, made in memory: good ones, variant ones, and broken ones.

Follows the binary distribution format (file name, ``WHEEL``, ``RECORD``, ``*.data``) and
PEP 825 (label in the file name, ``variant.json`` in the ``dist-info`` folder). The bytes
depend on the arguments alone: the same call twice gives the same wheel.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import stat
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tests.support.variant_json import Generation, Provider, variant_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Fault = Literal[
    "no-record",
    "record-wrong-hash",
    "record-missing-entry",
    "record-extra-entry",
    "parent-path",
    "absolute-path",
    "backslash-path",
    "data-parent-path",
    "symlink",
    "duplicate-entry",
    "not-a-zip",
    "truncated",
    "corrupt-entry",
    "wrong-name",
    "wrong-version",
    "no-metadata",
    "no-wheel-file",
    "two-dist-info",
    "wheel-version-2",
    "wheel-version-1.9",
    "not-utf8-record",
    "null-in-path",
]
"""Ways in which a wheel can be wrong; see ``make_wheel``."""

_MOMENT = (2026, 1, 2, 3, 4, 6)


@dataclass(frozen=True, slots=True)
class BuiltWheel:
    """A wheel as bytes, with what an index says about it.

    Attributes:
        filename: The name of the file, label included.
        name: The project as it was given to ``make_wheel``.
        version: The version.
        content: The archive.
        metadata: The bytes of ``METADATA`` (what PEP 658 serves); None where it lacks.
        requires_python: Same as in the metadata; empty where there is none.
        label: Variant label; empty for a non-variant wheel.
        variant_json: The document inside the wheel; None where there is none.
    """

    filename: str
    name: str
    version: str
    content: bytes
    metadata: bytes | None
    requires_python: str = ""
    label: str = ""
    variant_json: dict[str, Any] | None = None

    @property
    def sha256(self) -> str:
        """Digest of the archive, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    def write_to(self, folder: Path) -> Path:
        """Write the wheel into a folder, made where missing; give the path of the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.filename
        path.write_bytes(self.content)
        return path


def escape_name(name: str) -> str:
    """Give a project name as it stands in file names: lower case, runs of ``-_.`` to ``_``."""
    return re.sub(r"[-_.]+", "_", name).lower()


def metadata_text(
    name: str,
    version: str,
    *,
    requires_dist: Sequence[str] = (),
    requires_python: str = "",
    extras: Sequence[str] = (),
    summary: str = "",
    headers: Sequence[tuple[str, str]] = (),
) -> str:
    """Give a ``METADATA`` or ``PKG-INFO`` file (core metadata 2.1)."""
    lines = [("Metadata-Version", "2.1"), ("Name", name), ("Version", version)]
    if summary:
        lines.append(("Summary", summary))
    if requires_python:
        lines.append(("Requires-Python", requires_python))
    lines += [("Provides-Extra", extra) for extra in extras]
    lines += [("Requires-Dist", requirement) for requirement in requires_dist]
    lines += list(headers)
    return "".join(f"{key}: {value}\n" for key, value in lines) + "\n"


def record_digest(content: bytes) -> str:
    """Give a digest as ``RECORD`` has it: ``sha256=`` and unpadded URL-safe base64."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.rstrip(b"=").decode("ascii")


def make_wheel(
    name: str,
    version: str = "1.0",
    *,
    tags: str | Sequence[str] = "py3-none-any",
    build: str = "",
    label: str = "",
    properties: Mapping[str, Mapping[str, Sequence[str]]] | str | None = None,
    generation: Generation = "0.1.1",
    namespaces: Sequence[str] | None = None,
    providers: Mapping[str, Provider] | None = None,
    variant_json: Mapping[str, Any] | None = None,
    requires_dist: Sequence[str] = (),
    requires_python: str = "",
    extras: Sequence[str] = (),
    headers: Sequence[tuple[str, str]] = (),
    files: Mapping[str, str | bytes] | None = None,
    entry_points: Mapping[str, Sequence[str]] | None = None,
    data: Mapping[str, str | bytes] | None = None,
    executable: Sequence[str] = (),
    dist_info: Mapping[str, str | bytes] | None = None,
    root_is_purelib: bool = True,
    compress: bool = True,
    fault: Fault | None = None,
) -> BuiltWheel:
    """Make a wheel.

    Args:
        name: Project, in any spelling; the file name gets the escaped form.
        version: Version, in the normal form.
        tags: ``python-abi-platform``; more than one gives more ``Tag`` lines, and each
            part of the file name joins the different values with dots.
        build: Build tag; begins with a digit. Empty for none.
        label: Variant label. Without ``properties`` and ``variant_json`` the label
            ``null`` gets no properties and any other label gets no ``variant.json``.
        properties: The properties of ``label``, nested or as one string of
            ``ns :: feature :: value`` separated by commas.
        generation: Format of ``variant.json``.
        namespaces: ``default-priorities.namespace``; see ``variant_document``.
        providers: Providers of the namespaces; see ``variant_document``.
        variant_json: The whole document, in place of the four arguments above.
        requires_dist: ``Requires-Dist`` lines.
        requires_python: ``Requires-Python``; empty for none.
        extras: ``Provides-Extra`` names.
        headers: More ``METADATA`` headers, as pairs.
        files: Path to content. By default a module named like the project, which holds
            ``VERSION`` and ``VARIANT``.
        entry_points: Group to lines, ``{"console_scripts": ["tool = package:main"]}``.
        data: Files of the ``*.data`` folder: ``{"scripts/tool": "#!python\\n..."}``,
            ``{"data/share/x": ""}``, ``{"purelib/y.py": ""}``.
        executable: Paths (as in ``files`` or ``data``) that get the executable bit.
        dist_info: More files of the ``*.dist-info`` folder.
        root_is_purelib: ``Root-Is-Purelib``.
        compress: Deflate the entries, or store them.
        fault: One way of being broken. ``record-*`` and ``*-path`` are in the archive,
            ``wrong-name`` and ``wrong-version`` in ``METADATA``, ``truncated`` cuts the
            archive in half, ``corrupt-entry`` changes one byte of a stored module (the
            zip checksum then fails), ``wheel-version-1.9`` is a warning only.
    """
    tag_list = [tags] if isinstance(tags, str) else list(tags)
    stem = f"{escape_name(name)}-{version.replace('-', '_')}"
    parts = [stem, build, _compressed_tags(tag_list), label]
    filename = "-".join(part for part in parts if part) + ".whl"
    info = f"{stem}.dist-info"

    document = _document(label, properties, generation, namespaces, providers, variant_json)
    module = escape_name(name)
    if files is None:
        files = {f"{module}.py": f"VERSION = {version!r}\nVARIANT = {label!r}\n"}
    entries: dict[str, bytes] = {path: _bytes(content) for path, content in files.items()}
    for path, content in (data or {}).items():
        entries[f"{stem}.data/{path}"] = _bytes(content)
    modes = {f"{stem}.data/{path}" if path in (data or {}) else path: 0o755 for path in executable}

    metadata: bytes | None = metadata_text(
        f"other-{name}" if fault == "wrong-name" else name,
        "999.0" if fault == "wrong-version" else version,
        requires_dist=requires_dist,
        requires_python=requires_python,
        extras=extras,
        headers=headers,
    ).encode()
    if fault == "no-metadata":
        metadata = None
    else:
        entries[f"{info}/METADATA"] = metadata or b""
    if fault != "no-wheel-file":
        wheel_version = {"wheel-version-2": "2.0", "wheel-version-1.9": "1.9"}.get(
            fault or "", "1.0"
        )
        entries[f"{info}/WHEEL"] = _wheel_file(wheel_version, tag_list, build, root_is_purelib)
    if entry_points:
        sections = (f"[{group}]\n" + "\n".join(lines) for group, lines in entry_points.items())
        entries[f"{info}/entry_points.txt"] = ("\n\n".join(sections) + "\n").encode()
    if document is not None:
        entries[f"{info}/variant.json"] = json.dumps(document, indent=2).encode()
    for path, content in (dist_info or {}).items():
        entries[f"{info}/{path}"] = _bytes(content)

    _add_bad_paths(entries, fault, stem)
    content = _archive(entries, modes, info, compress and fault != "corrupt-entry", fault, module)
    return BuiltWheel(filename, name, version, content, metadata, requires_python, label, document)


def make_variant_wheels(
    name: str,
    version: str,
    variants: Mapping[str, str],
    *,
    generation: Generation = "0.1.1",
    namespaces: Sequence[str] | None = None,
    providers: Mapping[str, Provider] | None = None,
    plain: bool = True,
    **wheel_arguments: Any,
) -> list[BuiltWheel]:
    """Make one wheel for each label, all with the same namespaces and providers.

    Args:
        name: Project.
        version: Version.
        variants: Label to properties, ``"ns :: feature :: value, …"``; empty for ``null``.
        generation: Format of the metadata.
        namespaces: Namespaces, best first; by default in order of appearance in all variants.
        providers: Namespace to provider.
        plain: Also make the non-variant wheel.
        **wheel_arguments: Passed on to ``make_wheel`` for each.
    """
    whole = variant_document(
        variants, generation=generation, namespaces=namespaces, providers=providers
    )
    wheels = []
    for label in variants:
        document = {**whole, "variants": {label: whole["variants"][label]}}
        wheels.append(
            make_wheel(name, version, label=label, variant_json=document, **wheel_arguments)
        )
    if plain:
        wheels.append(make_wheel(name, version, **wheel_arguments))
    return wheels


def _document(
    label: str,
    properties: Mapping[str, Mapping[str, Sequence[str]]] | str | None,
    generation: Generation,
    namespaces: Sequence[str] | None,
    providers: Mapping[str, Provider] | None,
    variant_json: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    if variant_json is not None:
        return dict(variant_json)
    if label == "null" and properties is None:
        properties = ""
    if not label or properties is None:
        return None
    return variant_document(
        {label: properties}, generation=generation, namespaces=namespaces, providers=providers
    )


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _compressed_tags(tags: Sequence[str]) -> str:
    columns = zip(*(tag.split("-") for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(column)) for column in columns)


def _wheel_file(version: str, tags: Sequence[str], build: str, purelib: bool) -> bytes:
    lines = [
        f"Wheel-Version: {version}",
        "Generator: vinstall-tests",
        f"Root-Is-Purelib: {'true' if purelib else 'false'}",
    ]
    for tag in tags:
        columns = [part.split(".") for part in tag.split("-")]
        lines += [f"Tag: {a}-{b}-{c}" for a in columns[0] for b in columns[1] for c in columns[2]]
    if build:
        lines.append(f"Build: {build}")
    return ("\n".join(lines) + "\n").encode()


def _add_bad_paths(entries: dict[str, bytes], fault: Fault | None, stem: str) -> None:
    paths = {
        "parent-path": "../escaped.txt",
        "absolute-path": "/tmp/escaped.txt",
        "backslash-path": "..\\escaped.txt",
        "data-parent-path": f"{stem}.data/scripts/../../../../escaped.txt",
        "null-in-path": "sub/bad\0name.py",
    }
    if fault in paths:
        entries[paths[fault]] = b"escaped\n"
    if fault == "two-dist-info":
        entries["second-2.0.dist-info/METADATA"] = metadata_text("second", "2.0").encode()


def _record(entries: Mapping[str, bytes], info: str, fault: Fault | None) -> bytes:
    rows = []
    for number, (path, content) in enumerate(entries.items()):
        if fault == "record-missing-entry" and number == 0:
            continue
        wrong = fault == "record-wrong-hash" and number == 0
        digest = record_digest(content + b"changed" if wrong else content)
        quoted = f'"{path}"' if "," in path else path
        rows.append(f"{quoted},{digest},{len(content)}\n")
    if fault == "record-extra-entry":
        rows.append(f"not_there.py,{record_digest(b'')},0\n")
    rows.append(f"{info}/RECORD,,\n")
    return "".join(rows).encode() + (b"\xff\xfe,,\n" if fault == "not-utf8-record" else b"")


def _archive(
    entries: Mapping[str, bytes],
    modes: Mapping[str, int],
    info: str,
    compress: bool,
    fault: Fault | None,
    module: str,
) -> bytes:
    if fault == "not-a-zip":
        return b"<html><body>This is not a wheel.</body></html>\n" * 20
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        items = list(entries.items())
        if fault != "no-record":
            items.append((f"{info}/RECORD", _record(entries, info, fault)))
        if fault == "duplicate-entry":
            items.append((_Repeated(items[0][0]), b"second\n"))
        for path, content in items:
            entry = zipfile.ZipInfo("placeholder", _MOMENT)
            entry.filename = path  # the constructor would clean bad names
            entry.compress_type = method
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | modes.get(path, 0o644)) << 16
            archive.writestr(entry, content)
        if fault == "symlink":
            entry = zipfile.ZipInfo(f"{module}_link", _MOMENT)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, b"/etc/passwd")
    content = buffer.getvalue()
    if fault == "truncated":
        return content[: len(content) // 2]
    if fault == "corrupt-entry":
        first = next(iter(entries.values()))
        position = content.index(first)
        changed = bytes([content[position] ^ 1])
        return content[:position] + changed + content[position + 1 :]
    return content


class _Repeated(str):
    """A path that is equal to none, so that zipfile does not warn of the double name."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other
