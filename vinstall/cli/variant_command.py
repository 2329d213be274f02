"""``vinstall variant show``, ``make``, ``unmake`` and ``index``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.cli.parser import OptionConflictError
from vinstall.errors import UsageError
from vinstall.variants.properties import parse_property

if TYPE_CHECKING:
    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console


def run_variant(arguments: Arguments, console: Console) -> int:
    """Do what the action says.

    Raises:
        VinstallError: It could not be done.
    """
    words = [Path(word) for word in arguments.words]
    if not words:
        raise OptionConflictError(f"variant {arguments.action} needs a path.")
    if arguments.action == "show":
        return _show(words, arguments, console)
    if len(words) > 1:
        raise OptionConflictError(f"variant {arguments.action} takes one path.")
    from vinstall.workflow.publishing import (
        make_variant_wheel,
        unmake_variant_wheel,
        write_index_files,
    )

    (path,) = words
    folder = Path(arguments.text("output_file", str(path.parent)))
    if arguments.action == "make":
        label = arguments.text("label")
        if not label:
            raise UsageError("variant make needs --label")
        properties = [parse_property(text) for text in arguments.items("properties")]
        made = make_variant_wheel(path, label, properties, folder, arguments.text("metadata_file"))
        console.result(f"Saved {made}")
        return 0
    if arguments.action == "unmake":
        console.result(f"Saved {unmake_variant_wheel(path, folder)}")
        return 0
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder")
    written, problems = write_index_files(path)
    for problem in problems:
        console.warning(problem)
    for one in written:
        console.result(f"Saved {one}")
    if not written:
        console.warning(f"There is no variant wheel in {path}")
    return 1 if problems else 0


def _show(paths: list[Path], arguments: Arguments, console: Console) -> int:
    from vinstall.console.tables import format_json
    from vinstall.workflow.publishing import read_wheel_variant

    found = [read_wheel_variant(path) for path in paths]
    if arguments.flag("json"):
        rows = [
            {
                "filename": one.filename,
                "label": one.label or None,
                "properties": list(one.properties),
                "namespaces": list(one.metadata.namespaces) if one.metadata else [],
            }
            for one in found
        ]
        console.result(format_json(rows))
        return 0
    for one in found:
        console.result(f"{one.filename}: {one.label or 'not a variant wheel'}")
        for text in one.properties:
            console.result(f"  {text}")
    return 0
