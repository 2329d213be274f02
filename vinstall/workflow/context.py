"""Settings → everything that a road needs: target, what is installed, client, source, caches.

Parts are made when they are first asked for: a command that needs no network never makes
a client, and a satisfied install opens no socket.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path

from vinstall.errors import ProfileError, RequirementError, VariantMetadataError, words_of
from vinstall.events import Noted, Warned
from vinstall.values import dataclass, field
from vinstall.workflow.work_folder import WorkFolder, remove_abandoned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.builder import Builder
    from vinstall.distributions.core_metadata import CoreMetadata
    from vinstall.distributions.link import Link
    from vinstall.distributions.target import Target
    from vinstall.environment.database import InstalledDatabase
    from vinstall.events import Event, Observer
    from vinstall.index.client import HttpClient
    from vinstall.index.source import IndexSource
    from vinstall.profile import MachineProfile
    from vinstall.providers.messages import PluginAnswer
    from vinstall.providers.query import ProviderQuery
    from vinstall.resolution.source import PackageSource
    from vinstall.settings import Settings
    from vinstall.wheel.store import WheelStore
    from vinstall.workflow.ahead import FetchAhead
    from vinstall.workflow.sources import Sources


class WatchingObserver:
    """Hands events on.

    Attributes:
        faults: The warnings about variant metadata (``--strict-variants``).
        told: How many sentences were told that everybody sees.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.faults: list[str] = []
        self.told = 0

    def receive(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Warned):
            self.told += 1
            if event.code == "variant-metadata":
                self.faults.append(event.what)
        elif isinstance(event, Noted) and event.verbosity <= 0:
            self.told += 1
        self._observer.receive(event)


CACHE_PREFIX = "work-"
PLACE_PREFIX = ".vinstall-work-"


@dataclass
class Context:
    """What one run works with.

    Attributes:
        settings: What the user wants.
        observer: Receives events.
        environment: The variables of this process, as they were at the start.
        keeps_requested: Whether what is installed again stays requested, or not, as it was.
        building: URLs of the sources that are being built, the outermost first: this run
            installs what the last of them needs.
    """

    settings: Settings
    observer: Observer
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    keeps_requested: bool = False
    building: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.observer, WatchingObserver):
            self.observer = WatchingObserver(self.observer)

    def check_strict(self) -> None:
        """With ``--strict-variants``, refuse what else is a warning.

        Raises:
            VariantMetadataError: Some variant metadata was bad.
        """
        faults = self.observer.faults if isinstance(self.observer, WatchingObserver) else []
        if faults and self.settings.variants.strict:
            raise VariantMetadataError(
                "Variant metadata is bad, and --strict-variants is in force",
                " ".join(dict.fromkeys(faults)),
            )

    @cached_property
    def base_target(self) -> Target:
        """The interpreter that runs, or that ``--python`` names; never a foreign platform."""
        from vinstall.environment.interpreter import find_python, probe_target

        python = find_python(self.settings.target, self.environment)
        if not self.settings.target.python and python != sys.executable:
            self.observer.receive(Noted(f"Using the environment of {python}", verbosity=0))
        return probe_target(python, self.settings.cache_dir, self.observer)

    @cached_property
    def target(self) -> Target:
        """What to choose files for."""
        wanted = self.settings.target
        foreign = wanted.platforms or wanted.python_version or wanted.implementation or wanted.abis
        if foreign:
            from vinstall.environment.interpreter import foreign_target

            return foreign_target(self.base_target, wanted)
        profile = self.profile
        if profile is not None and profile.target is not None:
            from vinstall.values import replace

            made_for = profile.target
            return replace(
                self.base_target,
                markers={**self.base_target.markers, **made_for.markers},
                tags=made_for.tags or self.base_target.tags,
                is_foreign=True,
            )
        return self.base_target

    @cached_property
    def installed(self) -> InstalledDatabase:
        """What is installed in the target environment."""
        from vinstall.environment.database import InstalledDatabase

        finish_earlier(self.observer, self.base_target.paths, wait=False)
        folder = self.settings.target.target_dir
        if folder:
            return InstalledDatabase(self.base_target, search_path=(str(Path(folder).resolve()),))
        return InstalledDatabase(self.base_target)

    @cached_property
    def profile(self) -> MachineProfile | None:
        """The machine profile that the user named."""
        path = self.settings.variants.profile
        return read_profile(path) if path else None

    @cached_property
    def query(self) -> ProviderQuery:
        """Whoever answers what the machine supports."""
        from vinstall.providers.query import ProviderQuery

        def answer_package(requires: Sequence[str], plugin_api: str) -> PluginAnswer:
            from vinstall.workflow.provider_env import answer_package

            return answer_package(self, requires, plugin_api)

        return ProviderQuery(
            self.settings.variants,
            self.target,
            cache_dir=self.settings.cache_dir,
            observer=self.observer,
            profile=self.profile,
            environment=self.environment,
            package_answer=answer_package,
        )

    @cached_property
    def client(self) -> HttpClient:
        """The HTTP client; opens nothing until it is used."""
        from vinstall.index.client import HttpClient

        return HttpClient(
            self.settings.index,
            self.observer,
            environment=self.environment,
        )

    @cached_property
    def source(self) -> IndexSource:
        """Indexes, folders and files."""
        from vinstall.index.source import IndexSource

        return IndexSource(
            self.settings.index,
            self.client,
            self.settings.cache_dir,
            self.observer,
            build_metadata=self.build_metadata,
        )

    @cached_property
    def package_source(self) -> PackageSource:
        """What the resolver asks: the source, or a lock file in front of it."""
        return self.source

    @cached_property
    def builder(self) -> Builder:
        """Builds sources for the target."""
        from vinstall.builder import Builder

        return Builder(
            self.base_target.executable,
            self.settings.index,
            self.settings.request,
            self.environment,
            self.observer,
            self._fill_environment,
            self._find_lacking,
        )

    def _fill_environment(self, python: str, needs: Sequence[str]) -> None:
        from vinstall.workflow.build_environment import fill_environment

        fill_environment(self, python, needs)

    def _find_lacking(self, needs: Sequence[str]) -> list[str]:
        from vinstall.workflow.build_environment import find_lacking

        return find_lacking(self, needs)

    @cached_property
    def work_folder(self) -> Path:
        """A folder of this run, beside the store; removed by ``close``."""
        base = self.settings.cache_dir or None
        if base is not None:
            try:
                Path(base).mkdir(parents=True, exist_ok=True)
                remove_abandoned(Path(base), CACHE_PREFIX)
                return self._make_work_folder(base, CACHE_PREFIX)
            except OSError as error:
                self.observer.receive(
                    Warned("cache-unusable", f"The cache {base} can not be used: {error.strerror}")
                )
        self._temporary_store = True
        place = self.base_target.prefix
        try:
            return self._make_work_folder(place, PLACE_PREFIX)
        except OSError:
            return self._make_work_folder(None, "vinstall-work-")

    def _make_work_folder(self, base: str | None, prefix: str) -> Path:
        self._work = WorkFolder(base, prefix)
        return self._work.path

    ahead: FetchAhead | None = None
    """Who fetches what is chosen while the search goes on, if anybody."""

    _work: WorkFolder | None = None

    _temporary_store: bool = False

    @cached_property
    def refused_files(self) -> dict[str, str]:
        """File name → why it turned out to be unusable when it was opened."""
        return {}

    @cached_property
    def store(self) -> WheelStore:
        """Unpacked wheels by content."""
        from vinstall.wheel.store import WheelStore

        folder = self.work_folder
        if self._temporary_store or not self.settings.cache_dir:
            return WheelStore(folder / "store", max_unpacked=self.settings.max_unpacked)
        return WheelStore(Path(self.settings.cache_dir), max_unpacked=self.settings.max_unpacked)

    def build_metadata(self, link: Link) -> CoreMetadata:
        """The core metadata of a source; the wheel, if it was built, is kept for the install."""
        return self.sources.metadata(link)

    def build_wheel(self, link: Link) -> Path:
        """The wheel of a source, built once a run."""
        return self.sources.wheel(link)

    @cached_property
    def sources(self) -> Sources:
        """Sources of this run: fetched, built, and where they came from."""
        from vinstall.workflow.sources import Sources

        return Sources(self)

    def fetch_text(self, url: str) -> str:
        """The text behind a URL, for requirements files."""
        from vinstall.workflow.gather import decode_text

        response = self.client.get(url)
        if response.status >= 400:
            raise RequirementError(
                f"Could not open requirements file: {url}", f"the server answered {response.status}"
            )
        return decode_text(response.body, url)

    @property
    def told(self) -> int:
        """How many sentences were told so far that everybody sees."""
        return self.observer.told if isinstance(self.observer, WatchingObserver) else 0

    def rest(self) -> None:
        """End the threads of the index: only a process without threads can share work."""
        if "source" in vars(self):
            self.source.rest()

    def close(self) -> None:
        """Give back connections and temporary folders."""
        if self.ahead is not None:
            self.ahead.stop()
            self.ahead.close()
        made = vars(self)
        for name in ("source", "client", "query"):
            part = made.get(name)
            close = getattr(part, "close", None)
            if close is not None:
                close()
        if self._work is not None:
            self._work.close()


def finish_earlier(observer: Observer, paths: Mapping[str, str], *, wait: bool = True) -> None:
    """Finish or undo what an earlier command left half done, before anything is read.

    Args:
        observer: Is told what was done.
        paths: Scheme paths of the environment.
        wait: Whether to wait for a command that changes the environment now. Who only reads
            does not wait, and reads on where nothing can be put in order.

    Raises:
        InstallError: It could not be put in order, and ``wait`` is set.
    """
    from vinstall.install.journal import journal_folder

    remove_abandoned(Path(paths["data"]), PLACE_PREFIX)
    if not Path(journal_folder(paths["purelib"])).is_dir():
        return
    from vinstall.errors import InstallError
    from vinstall.install.transaction import environment_lock, recover

    try:
        with environment_lock(Path(paths["purelib"]), observer, wait=wait):
            recover(paths, observer)
    except InstallError as error:
        if wait:
            raise
        observer.receive(
            Warned(
                "unfinished-change",
                f"The environment is being changed, or was left half changed: {error}",
            )
        )


def read_profile(path: str) -> MachineProfile:
    """Read a machine profile.

    Raises:
        ProfileError: It can not be read, or is wrong.
    """
    from vinstall.profile import parse_profile

    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(
            f"The profile {path} can not be read",
            words_of(error),
            "A profile is written by 'vinstall profile save FILE' on the machine it speaks of.",
        ) from error
    return parse_profile(text, path)
