"""The short road of an install that has nothing to do.

Where names are asked for, everything that they need is installed and fits, and no option
asks for more, the long road would find just that: the resolver takes what is installed
before it looks at an index. This road follows the needs of what is installed, and gives up
at the first thing out of the ordinary, before anything was said; then the long road is
taken. What it works out of each distribution (which needs apply, which versions fit) is
kept on disk, and holds until its files change.
"""

from __future__ import annotations

import os
import sys

from vinstall.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from vinstall.distributions.target import Target
    from vinstall.events import Observer
    from vinstall.settings import Settings

_FORMAT = "needs-v1"
_WORD = lazy_pattern(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?P<specifier>(?:[<>=!~]=?=?[A-Za-z0-9.*+!_-]+(?:,(?=.)|$))*)"
)
_ARCHIVES = (".whl", ".zip", ".gz", ".bz2", ".tgz", ".xz", ".tar", ".txt", ".toml", ".lock")
_SEPARATORS = lazy_pattern(r"[-_.]+")


def tell_satisfied(
    settings: Settings,
    observer: Observer,
    environment: Mapping[str, str] | None = None,
    looked_at: list[str] | None = None,
) -> bool:
    """Say that everything is there, if that is so.

    Args:
        settings: What the user wants.
        observer: Receives the very events that the long road would send.
        environment: Variables; those of the process by default.
        looked_at: Receives every file and folder that the answer rests on, there or not.

    Returns:
        Whether it was so. If not, nothing was said and nothing changed.

    Raises:
        VinstallError: The environment may not be changed.
    """
    asked = _read_words(settings)
    if asked is None:
        return False
    from vinstall.environment.interpreter import (
        check_guards,
        find_python,
        install_paths,
        probe_target,
    )

    environment = os.environ if environment is None else environment
    python = find_python(settings.target, environment)
    if not settings.target.python and python != sys.executable:
        return False
    target = probe_target(python, settings.cache_dir, observer)
    paths, note = install_paths(target, settings.target)
    if note or os.path.isdir(_journal_folder(paths["purelib"])):  # noqa: PTH112
        return False
    if not settings.dry_run:
        check_guards(target, settings.target, environment)
    kept = _KeptNeeds(settings.cache_dir, target)
    order = _follow(asked, kept)
    if order is None:
        return False
    kept.save()
    if looked_at is not None:
        folder = os.path.dirname(os.path.abspath(target.executable))  # noqa: PTH100, PTH120
        looked_at += [python, os.path.realpath(python)]
        looked_at += [f"{one}{os.sep}pyvenv.cfg" for one in (folder, os.path.dirname(folder))]  # noqa: PTH120
        looked_at += [f"{target.stdlib}{os.sep}EXTERNALLY-MANAGED", *target.search_path]
        looked_at += kept.looked_at()
    _tell(settings, observer, asked, order, kept)
    return True


def _journal_folder(purelib: str) -> str:
    from vinstall.install.journal import journal_folder

    return journal_folder(purelib)


def _read_words(settings: Settings) -> dict[str, list[tuple[str, str]]] | None:
    """What is asked for, where it is plain: project → [(text, specifier)]."""
    request, resolve, target = settings.request, settings.resolve, settings.target
    variants = settings.variants
    if (
        (request.editables or request.files or request.groups or request.scripts)
        or (request.constraints or request.build_constraints)
        or (resolve.upgrade or resolve.force_reinstall or resolve.ignore_installed)
        or (resolve.no_deps or resolve.only_deps or resolve.require_hashes)
        or (target.target_dir or target.prefix or target.root or target.user)
        or (target.platforms or target.python_version or target.implementation or target.abis)
        or (variants.labels or variants.required or variants.profile or variants.strict)
        or settings.output.report
    ):
        return None
    asked: dict[str, list[tuple[str, str]]] = {}
    for word in request.requirements:
        found = _WORD.fullmatch(word)
        if found is None or word.lower().endswith(_ARCHIVES):
            return None
        asked.setdefault(_project(found["name"]), []).append((word, found["specifier"]))
    return asked


def _project(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


class _Needs:
    """What one distribution is and needs: rows of (project, extras, specifier, text)."""

    __slots__ = ("extras", "name", "rows", "version")

    def __init__(
        self, name: str, version: str, extras: list[str], rows: dict[str, list[list[str]]]
    ) -> None:
        self.name = name
        self.version = version
        self.extras = extras
        self.rows = rows  # by extras joined with commas; those of no extra under ""


class _KeptNeeds:
    """Needs of installed distributions, kept on disk for one interpreter."""

    def __init__(self, cache_dir: str, target: Target) -> None:
        import json

        from vinstall.digests import hex_of

        self._target = target
        self._path = ""
        self._changed = False
        self._stamps: dict[str, Any] = {}
        self._fits: dict[str, bool] = {}
        self._read: dict[str, _Needs | None] = {}
        self.places: dict[str, tuple[str, str]] = _list_places(target.search_path)
        if not cache_dir:
            return
        facts = json.dumps([dict(target.markers), list(target.search_path)], sort_keys=True)
        self._path = os.path.join(cache_dir, _FORMAT, f"{hex_of(facts)[:32]}.json")  # noqa: PTH118
        try:
            with open(self._path, "rb") as file:  # noqa: PTH123
                document = json.loads(file.read())
            stamps, fits = document["distributions"], document["fits"]
            if isinstance(stamps, dict) and isinstance(fits, dict):
                self._stamps, self._fits = stamps, fits
        except (OSError, ValueError, LookupError, TypeError):
            pass

    def needs(self, project: str, extras: str) -> _Needs | None:
        """What a project needs with some extras; ``None`` where it is out of the ordinary."""
        if project not in self._read:
            self._read[project] = self._find(project)
        found = self._read[project]
        if found is not None and extras not in found.rows:
            self._work_out(project, found, extras)
        return found

    def fits(self, specifier: str, version: str) -> bool:
        """Whether an installed version satisfies a specifier."""
        if not specifier:
            return True
        key = f"{specifier} {version}"
        known = self._fits.get(key)
        if known is None:
            from vinstall.distributions.requirement import parse_specifier

            self._changed = True
            known = parse_specifier(specifier).contains(version, prereleases=True)
            self._fits[key] = known
        return known

    def looked_at(self) -> Iterable[str]:
        """The files of distributions that were read, and their folders."""
        for project in self._read:
            folder, name = self.places[project]
            yield f"{folder}{os.sep}{name}"
            yield f"{folder}{os.sep}{name}{os.sep}METADATA"

    def save(self) -> None:
        """Keep what was learned."""
        if not self._path or not self._changed:
            return
        import json
        from pathlib import Path

        from vinstall.files import write_atomically

        document = {"distributions": self._stamps, "fits": self._fits}
        try:
            write_atomically(Path(self._path), json.dumps(document).encode())
        except OSError:
            return

    def _find(self, project: str) -> _Needs | None:
        place = self.places.get(project)
        if place is None or not place[1].endswith(".dist-info"):
            return None
        info = f"{place[0]}{os.sep}{place[1]}"
        try:
            folder, file = os.stat(info), os.stat(f"{info}{os.sep}METADATA")  # noqa: PTH116
        except OSError:
            return None
        stamp = [folder.st_mtime_ns, file.st_mtime_ns, file.st_size]
        kept = self._stamps.get(info)
        try:
            if kept is not None and kept[0] == stamp:
                return _Needs(*kept[1:])
        except (TypeError, LookupError):
            pass
        for name in ("variant.json", "vinstall.json"):
            if os.path.lexists(f"{info}{os.sep}{name}"):
                return None
        found = self._read_metadata(info)
        if found is not None and _project(found.name) == project:
            self._changed = True
            self._stamps[info] = [stamp, found.name, found.version, found.extras, found.rows]
            return found
        return None

    def _read_metadata(self, info: str) -> _Needs | None:
        metadata = self._parse(info)
        if metadata is None:
            return None
        python = metadata.requires_python
        if python and not self.fits(python, self._target.version):
            return None
        extras = [_project(extra) for extra in metadata.extras]
        return _Needs(metadata.name, metadata.version, extras, {})

    def _parse(self, info: str) -> Any:
        from vinstall.distributions.core_metadata import parse_core_metadata
        from vinstall.errors import WheelFormatError

        try:
            with open(f"{info}{os.sep}METADATA", "rb") as file:  # noqa: PTH123
                return parse_core_metadata(file.read(), info)
        except (OSError, WheelFormatError):
            return None

    def _work_out(self, project: str, found: _Needs, extras: str) -> None:
        """Which of its needs apply; one that can not be understood ends the road later."""
        from vinstall.distributions.requirement import parse_requirement
        from vinstall.variants.markers import has_variant_markers

        folder, name = self.places[project]
        metadata = self._parse(f"{folder}{os.sep}{name}")
        markers = self._target.markers
        wanted = frozenset(filter(None, extras.split(",")))
        rows: list[list[str]] = []
        for line in metadata.requires_dist if metadata is not None else ():
            if has_variant_markers(line):
                rows.append(["", "", "", line])
                continue
            need = parse_requirement(line)
            applies = need.applies(markers)
            if wanted:
                applies = not applies and need.applies(markers, wanted)
            if applies:
                text = need.text.partition(";")[0].strip()
                project_ = "" if need.url else need.project
                rows.append([project_, ",".join(sorted(need.extras)), need.specifier, text])
        self._changed = True
        found.rows[extras] = rows


def _list_places(folders: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Project → (folder, entry), the first that is found, as the database of installed ones."""
    from vinstall.environment.database import list_folder

    found: dict[str, tuple[str, str]] = {}
    for folder in folders:
        for project, name in list_folder(folder):
            found.setdefault(project, (folder, name))
    return found


def _follow(asked: dict[str, list[tuple[str, str]]], kept: _KeptNeeds) -> dict[str, str] | None:
    """Everything that is needed → what needs it; ``None`` where something is missing.

    Returns:
        Project → the name of its first parent, a blank and how that wrote it, in the order
        in which the long road tells of them.
    """
    from vinstall.errors import RequirementError

    needs: dict[str, set[str]] = {}
    parents: dict[str, dict[str, str]] = {}
    pending = [(project, "") for project in asked]
    seen = set(pending)
    try:
        for project, words in asked.items():
            found = kept.needs(project, "")
            if found is None or not all(kept.fits(one, found.version) for _, one in words):
                return None
        while pending:
            project, extras = pending.pop()
            found = kept.needs(project, extras)
            if found is None or not set(filter(None, extras.split(","))) <= set(found.extras):
                return None
            others = needs.setdefault(project, set())
            for other, wanted, specifier, _ in found.rows[extras]:
                there = kept.needs(other, "") if other else None
                if there is None or not kept.fits(specifier, there.version):
                    return None
                if other != project:
                    others.add(other)
                for key in {(other, ""), (other, wanted)} - seen:
                    seen.add(key)
                    pending.append(key)
    except (RequirementError, ValueError):
        return None
    for project, extras in sorted(seen):
        rows = kept.needs(project, extras)
        for other, _, _, text in rows.rows[extras] if rows is not None else ():
            if other != project:
                parents.setdefault(other, {}).setdefault(project, text)
    return {
        project: " ".join(min(parents[project].items())) if project in parents else ""
        for project in _order(asked, needs)
    }


def _order(asked: Iterable[str], needs: Mapping[str, set[str]]) -> list[str]:
    """Dependencies before what needs them."""
    order: list[str] = []
    seen: set[str] = set()
    for start in asked:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(sorted(needs[start])))]
        while stack:
            project, remaining = stack[-1]
            for other in remaining:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(sorted(needs[other]))))
                    break
            else:
                stack.pop()
                order.append(project)
    return order


def _tell(
    settings: Settings,
    observer: Observer,
    asked: Mapping[str, list[tuple[str, str]]],
    order: Mapping[str, str],
    kept: _KeptNeeds,
) -> None:
    from vinstall.events import AlreadySatisfied, StageFinished, StageStarted
    from vinstall.workflow.places import tell_places

    tell_places(settings.index, observer)
    observer.receive(StageStarted("resolve"))
    observer.receive(StageFinished("resolve"))
    for project in sorted(order, key=lambda project: project not in asked):
        found = kept.needs(project, "")
        assert found is not None, "everything that is in order was read"
        parent, _, text = order[project].partition(" ")
        if project in asked:
            parent, text = "", asked[project][0][0]
        folder = kept.places[project][0]
        observer.receive(AlreadySatisfied(text, folder, found.version, parent))
