"""Resolutions of earlier runs, for whoever asks the very same again.

A resolution follows from what was asked for, the settings, the target, what is installed and
the pages of indexes. Where all of that is the same, and every page is still fresh, the
answer is the same; then neither pages nor metadata are read, and nothing is searched. Only
plain answers are kept: wheels with hashes from indexes, without variants, with nothing to
tell the user.
"""

from __future__ import annotations

import json
import os

from vinstall.resolution.resolved import Resolution, Resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from vinstall.distributions.requirement import Requirement
    from vinstall.workflow.context import Context

_FOLDER = "decisions-v1"
_MOST = 100
"""So many are kept; the oldest give way."""
_LINK = (
    *("url", "filename", "hashes", "requires_python", "yanked", "metadata_hashes"),
    *("size", "upload_time", "index", "provenance"),
)
_METADATA = ("name", "version", "requires_dist", "requires_python", "extras")


class Memory:
    """The place of one question.

    Args:
        context: What the run works with.
        requirements: What was asked for, with names, markers applied.
        constraints: Project → limits.
    """

    def __init__(
        self,
        context: Context,
        requirements: Sequence[Requirement],
        constraints: Mapping[str, Sequence[Requirement]],
    ) -> None:
        self._context = context
        self._requirements = requirements
        self._path = ""
        self._told = context.told
        if _is_plain(context, requirements, constraints):
            self._path = _find_path(context, requirements, constraints)

    def recall(self, is_installed: Callable[[str], bool]) -> Resolution | None:
        """The answer of an earlier run; ``None`` where there is none that holds."""
        if not self._path:
            return None
        from vinstall.index.response_cache import stamp_of

        try:
            with open(self._path, "rb") as file:  # noqa: PTH123
                document = json.loads(file.read())
            if any(stamp_of(path) != stamp for path, stamp in document["pages"].items()):
                return None
            if any(map(is_installed, document["absent"])):
                return None
            asked: dict[str, list[Requirement]] = {}
            for requirement in self._requirements:
                asked.setdefault(requirement.project, []).append(requirement)
            found = tuple(_read(row, asked) for row in document["distributions"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        return Resolution(found, {})

    def keep(self, resolution: Resolution, asked: Iterable[str]) -> None:
        """Keep an answer, if it is plain.

        Args:
            resolution: The answer.
            asked: Projects of which it was asked whether they are installed; none may be.
        """
        context = self._context
        if not self._path or context.told != self._told or "source" not in vars(context):
            return
        if not all(map(_is_plain_answer, resolution.distributions)):
            return
        pages = context.source.find_kept_pages()
        if pages is None:
            return
        from pathlib import Path

        from vinstall.files import write_atomically

        document = {
            "pages": pages,
            "absent": sorted(asked),
            "distributions": [_write(one) for one in resolution.distributions],
        }
        path = Path(self._path)
        try:
            write_atomically(path, json.dumps(document, separators=(",", ":")).encode())
            _forget_oldest(path.parent)
        except OSError:
            return


def _is_plain(
    context: Context,
    requirements: Sequence[Requirement],
    constraints: Mapping[str, Sequence[Requirement]],
) -> bool:
    """Whether an answer could rest on nothing but pages of indexes."""
    settings = context.settings
    index = settings.index
    made = vars(context)
    if made.get("package_source") is not made.get("source"):
        return False  # a lock file stands in front of the indexes
    every = [*requirements, *(one for group in constraints.values() for one in group)]
    return bool(
        settings.cache_dir
        and not (settings.output.report or settings.bridges.families or index.refresh)
        and not (settings.variants.required or settings.variants.labels)
        and not (index.find_links or context.refused_files)
        and not any(one.url or one.editable for one in every)
    )


def _find_path(
    context: Context,
    requirements: Sequence[Requirement],
    constraints: Mapping[str, Sequence[Requirement]],
) -> str:
    """Where the answer to a question is kept: everything that decides it is in the name."""
    from vinstall import __version__
    from vinstall.digests import hex_of

    settings, target = context.settings, context.target
    parts = (
        (__version__, requirements, constraints, target.is_foreign),
        (target.markers, target.tags, target.facts, target.version, target.implementation),
        (settings.index, settings.resolve, settings.variants, settings.target.target_dir),
        _stamps_of_credentials(context.environment),
    )
    text = json.dumps(_flatten(parts), sort_keys=True)
    return os.path.join(settings.cache_dir, _FOLDER, f"{hex_of(text)[:40]}.json")  # noqa: PTH118


def _stamps_of_credentials(environment: Mapping[str, str]) -> list[list[int]]:
    """What changes when the user writes down other passwords: then pages can be others."""
    places = [environment.get("NETRC", "")]
    places += [os.path.expanduser(f"~/{name}") for name in (".netrc", "_netrc")]  # noqa: PTH111
    found: list[list[int]] = []
    for place in places:
        try:
            facts = os.stat(place)  # noqa: PTH116
        except OSError:
            found.append([])
        else:
            found.append([facts.st_mtime_ns, facts.st_size])
    return found


def _flatten(value: Any) -> Any:
    """A value as JSON, the same in each run: sets are sorted."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if isinstance(value, (frozenset, set)):
        return sorted(json.dumps(_flatten(one), sort_keys=True) for one in value)
    if isinstance(value, (list, tuple)):
        return [_flatten(one) for one in value]
    fields = getattr(value, "__value_fields__", None)
    if fields is not None:
        return [type(value).__name__, *(_flatten(getattr(value, name)) for name in fields)]
    return {str(key): _flatten(one) for key, one in value.items()}


def _is_plain_answer(one: Resolved) -> bool:
    candidate = one.candidate
    link = candidate.link
    return (
        link is not None
        and link.is_wheel
        and not link.is_file
        and link.bridge is None
        and "sha256" in link.hashes
        and candidate.variant is None
        and not candidate.direct
    )


def _write(one: Resolved) -> dict[str, Any]:
    candidate = one.candidate
    return {
        "project": candidate.project,
        "name": candidate.name,
        "version": candidate.version_text,
        "link": {name: _flatten(getattr(candidate.link, name)) for name in _LINK},
        "metadata": [getattr(one.metadata, name) for name in _METADATA],
        "extras": sorted(one.extras),
        "parents": one.parents,
        "needs": one.needs,
        "text": one.text,
    }


def _read(row: Mapping[str, Any], asked: Mapping[str, list[Requirement]]) -> Resolved:
    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.resolution.candidate import Candidate

    project = row["project"]
    name, version, needs, python, extras = row["metadata"]
    return Resolved(
        Candidate(project, row["name"], row["version"], Link(**row["link"])),
        CoreMetadata(name, version, tuple(needs), python, tuple(extras)),
        frozenset(row["extras"]),
        tuple(asked.get(project, ())),
        tuple(row["parents"]),
        tuple(row["needs"]),
        row["text"],
    )


def _forget_oldest(folder: Any) -> None:
    kept = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_MOST]:
        path.unlink()
