"""``variant show``, ``make``, ``unmake`` and ``index``: the publisher's side.

Implements PEP 825, "Variant wheel" (the label in the file name, ``variant.json`` in the
dist-info folder) and "Index-level metadata".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.filename import WheelFilename, parse_wheel_filename
from vinstall.errors import UsageError, VariantMetadataError, VinstallError, WheelFormatError
from vinstall.values import dataclass, replace
from vinstall.variants.metadata import VariantMetadata, combine_metadata
from vinstall.variants.properties import (
    ABI_DEPENDENCY,
    NULL_LABEL,
    Properties,
    VariantProperty,
    is_label,
    iter_properties,
)
from vinstall.variants.readers import (
    format_index_metadata,
    read_variant_metadata,
    read_wheel_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from zipfile import ZipFile, ZipInfo


@dataclass(frozen=True, slots=True)
class WheelVariant:
    """What a wheel says of itself.

    Attributes:
        filename: Its name.
        label: Its label; empty for a non-variant wheel.
        metadata: Its variant metadata; ``None`` for a non-variant wheel.
    """

    filename: str
    label: str
    metadata: VariantMetadata | None

    @property
    def properties(self) -> tuple[str, ...]:
        """Its properties as text, sorted."""
        if self.metadata is None:
            return ()
        return tuple(map(str, iter_properties(self.metadata.variants.get(self.label, {}))))


def read_wheel_variant(path: Path) -> WheelVariant:
    """Read the variant metadata of a wheel on disk.

    Raises:
        WheelFormatError: It is not a wheel.
        VariantMetadataError: It has a label, and its metadata is wrong or missing.
    """
    from vinstall.wheel.archive import WheelArchive

    with WheelArchive.open(path, path.name) as archive:
        label = archive.filename.label
        data = archive.variant_json
    if not label:
        return WheelVariant(path.name, "", None)
    if data is None:
        raise VariantMetadataError(
            f"{path.name} is not a whole variant wheel", "it has a label, but no variant.json"
        )
    origin = f"variant.json in {path.name}"
    return WheelVariant(path.name, label, read_wheel_metadata(data, label, origin))


def make_variant_wheel(
    path: Path,
    label: str,
    properties: Sequence[VariantProperty],
    folder: Path,
    metadata_file: str = "",
) -> Path:
    """Make a variant wheel out of an ordinary one.

    Args:
        path: The ordinary wheel.
        label: The new label.
        properties: The new properties; none for ``null`` and for no other label.
        folder: Where the new wheel goes.
        metadata_file: A pyproject.toml with a ``[variant]`` table, or a metadata file, that
            names providers and the order of namespaces; empty for PEP 825 metadata with the
            namespaces in the order of the properties.

    Returns:
        The new wheel.

    Raises:
        UsageError: Label and properties do not fit together.
        VinstallError: A file can not be read or written, or is wrong.
    """
    if not is_label(label):
        raise UsageError(
            f"{label!r} is not a variant label", "it may hold only 0-9, a-z, '_' and '.'"
        )
    if (label == NULL_LABEL) != (not properties):
        raise UsageError(
            f"The label {label} does not fit its properties",
            "the label null, and no other, has none",
        )
    name = parse_wheel_filename(path.name)
    if name.label:
        raise UsageError(f"{path.name} is a variant wheel already", fix="Unmake it first.")
    base = _read_base(metadata_file, properties)
    entry = _to_mapping(properties)
    metadata = replace(base, variants={label: entry}, refused={}, problems=())
    text = format_index_metadata(metadata)
    made = read_variant_metadata(text.encode(), f"the metadata of {label}")
    if label in made.refused:
        raise VariantMetadataError(f"The variant {label} can not be made", made.refused[label])
    new = folder / f"{path.name[: -len('.whl')]}-{label}.whl"
    _rewrite(path, new, {"variant.json": text.encode()}, name)
    return new


def unmake_variant_wheel(path: Path, folder: Path) -> Path:
    """Make an ordinary wheel out of a variant wheel.

    Raises:
        UsageError: It is none.
        VinstallError: A file can not be read or written, or is wrong.
    """
    name = parse_wheel_filename(path.name)
    if not name.label:
        raise UsageError(f"{path.name} is not a variant wheel", "its name has no label")
    new = folder / f"{path.name[: -len(name.label) - len('-.whl')]}.whl"
    _rewrite(path, new, {}, name)
    return new


def write_index_files(folder: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write ``{name}-{version}-variants.json`` for every release with variant wheels.

    Args:
        folder: Holds the wheels; the files go there, too.

    Returns:
        The files written, sorted; sentences about wheels that were left out.

    Raises:
        VariantMetadataError: The wheels of one release contradict each other.
        VinstallError: A file can not be written.
    """
    parts: dict[str, list[VariantMetadata]] = {}
    problems = []
    for path in sorted(folder.glob("*.whl")):
        try:
            found = read_wheel_variant(path)
        except VinstallError as error:
            problems.append(f"{path.name} is left out: {error}")
            continue
        if found.metadata is not None:
            release = "-".join(path.name.split("-")[:2])
            parts.setdefault(release, []).append(found.metadata)
    written = []
    for release, metadata in sorted(parts.items()):
        path = folder / f"{release}-variants.json"
        _write(path, format_index_metadata(combine_metadata(metadata)).encode())
        written.append(path)
    return tuple(written), tuple(problems)


def _read_base(metadata_file: str, properties: Iterable[VariantProperty]) -> VariantMetadata:
    """Namespaces and providers for a new wheel."""
    if not metadata_file:
        spaces = dict.fromkeys(one.namespace for one in properties)
        spaces.pop(ABI_DEPENDENCY, None)
        return VariantMetadata(tuple(spaces))
    path = Path(metadata_file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise VariantMetadataError(
            f"{metadata_file} can not be read", error.strerror or str(error)
        ) from error
    if path.suffix == ".toml":
        from vinstall.workflow.gather import load_toml

        table = load_toml(data.decode("utf-8", "replace"), metadata_file).get("variant")
        if not isinstance(table, dict):
            raise VariantMetadataError(f"{metadata_file} has no [variant] table")
        table.setdefault("$schema", "/v0.2.0.json")
        data = json.dumps(table).encode()
    return read_variant_metadata(data, metadata_file)


def _to_mapping(properties: Iterable[VariantProperty]) -> Properties:
    entry: dict[str, dict[str, tuple[str, ...]]] = {}
    for one in properties:
        features = entry.setdefault(one.namespace, {})
        features[one.feature] = (*features.get(one.feature, ()), one.value)
    return entry


def _rewrite(path: Path, new: Path, added: Mapping[str, bytes], name: WheelFilename) -> None:
    """Copy a wheel with other files in its dist-info, and RECORD to fit."""
    import os
    import tempfile
    import zipfile

    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=new.parent, prefix=".making-")
        os.close(handle)
    except OSError as error:
        raise VinstallError(f"{new} can not be written", error.strerror or str(error)) from error
    try:
        with (
            zipfile.ZipFile(path) as source,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            _copy_entries(source, target, added, name)
        Path(temporary).replace(new)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise WheelFormatError(f"{path.name} is not a valid wheel", str(error)) from error
    except OSError as error:
        raise VinstallError(f"{new} can not be written", error.strerror or str(error)) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _copy_entries(
    source: ZipFile, target: ZipFile, added: Mapping[str, bytes], name: WheelFilename
) -> None:
    from vinstall.distributions.record import RecordEntry, format_record, parse_record

    infos = source.infolist()
    records = [one for one in infos if one.filename.endswith(".dist-info/RECORD")]
    if len(records) != 1:
        raise WheelFormatError(f"{name.filename} is not a valid wheel", "it has not one RECORD")
    record = records[0]
    folder = record.filename[: -len("RECORD")]
    dropped = {f"{folder}variant.json", *(f"{folder}{one}" for one in added)}
    rows = [
        row
        for row in parse_record(source.read(record).decode("utf-8"), name.filename)
        if row.path not in dropped and row.path != record.filename
    ]
    for info in infos:
        if info.filename in dropped or info is record:
            continue
        with source.open(info) as reader, target.open(_copy_info(info), "w") as writer:
            while block := reader.read(1 << 20):
                writer.write(block)
    for one, data in added.items():
        target.writestr(_copy_info(record, f"{folder}{one}"), data)
        rows.append(RecordEntry(f"{folder}{one}", _digest(data), len(data)))
    rows.append(RecordEntry(record.filename))
    target.writestr(_copy_info(record), format_record(rows))


def _copy_info(info: ZipInfo, filename: str = "") -> ZipInfo:
    import zipfile

    copy = zipfile.ZipInfo(filename or info.filename, info.date_time)
    copy.external_attr = info.external_attr
    copy.compress_type = info.compress_type
    return copy


def _digest(data: bytes) -> str:
    import base64
    import hashlib

    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + digest.rstrip(b"=").decode("ascii")


def _write(path: Path, data: bytes) -> None:
    from vinstall.files import write_atomically

    try:
        write_atomically(path, data)
    except OSError as error:
        raise VinstallError(f"{path} can not be written", error.strerror or str(error)) from error
