"""What tests of the installer share: an environment's folders, steps, and pictures of them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.distributions.core_metadata import parse_core_metadata
from vinstall.distributions.filename import normalize_name
from vinstall.distributions.installed import InstalledDistribution
from vinstall.events import RecordingObserver
from vinstall.install.transaction import InstallOptions, InstallStep, apply_steps
from vinstall.wheel.store import WheelStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.support.wheels import BuiltWheel
    from vinstall.wheel.store import StoredWheel


class Site:
    """The folders of an environment, a store beside them, and what is installed.

    Attributes:
        root: The environment.
        paths: Its scheme paths.
        library: Its site-packages folder.
        scripts: Its scripts folder.
        store: The store.
        observer: What was told so far.
    """

    def __init__(self, folder: Path, executable: str = "/usr/bin/python3") -> None:
        self.root = folder / "environment"
        self.library = self.root / "lib" / "python3.11" / "site-packages"
        self.scripts = self.root / "bin"
        self.paths = {
            "purelib": str(self.library),
            "platlib": str(self.library),
            "scripts": str(self.scripts),
            "data": str(self.root),
            "headers": str(self.root / "include" / "site" / "python3.11"),
        }
        self.executable = executable
        self.store = WheelStore(folder / "store")
        self.downloads = folder / "downloads"
        self.observer = RecordingObserver()

    def add(self, wheel: BuiltWheel) -> StoredWheel:
        """Put a wheel into the store."""
        return self.store.add(wheel.write_to(self.downloads), wheel.filename, wheel.sha256)

    def step(
        self,
        wheel: BuiltWheel,
        *,
        replace: bool = True,
        requested: bool = False,
        direct_url: Mapping[str, object] | None = None,
        reason: Mapping[str, object] | None = None,
    ) -> InstallStep:
        """The step that installs a wheel, in the place of what is installed."""
        before = self.find(wheel.name) if replace else None
        return InstallStep(
            self.add(wheel), before, requested, direct_url, reason, wheel.name, wheel.version
        )

    def install(self, *wheels: BuiltWheel, options: InstallOptions | None = None) -> None:
        """Install wheels."""
        self.apply([self.step(wheel) for wheel in wheels], options=options)

    def remove(self, *names: str, options: InstallOptions | None = None) -> None:
        """Remove distributions."""
        self.apply([], [self.get(name) for name in names], options=options)

    def apply(
        self,
        steps: Sequence[InstallStep],
        removals: Sequence[InstalledDistribution] = (),
        options: InstallOptions | None = None,
    ) -> None:
        """Carry out steps."""
        apply_steps(
            steps,
            removals,
            paths=self.paths,
            executable=self.executable,
            others=self.installed(),
            options=options or InstallOptions(warn_script_location=False),
            observer=self.observer,
        )

    def installed(self) -> list[InstalledDistribution]:
        """Every distribution with a dist-info or egg-info folder."""
        found = []
        infos = [*self.library.glob("*.dist-info"), *self.library.glob("*.egg-info")]
        for info in sorted(infos):
            kind = info.suffix[1:]
            metadata = info / ("METADATA" if kind == "dist-info" else "PKG-INFO")
            if not metadata.is_file():
                continue
            core = parse_core_metadata(metadata.read_bytes(), info.name)
            installer = info / "INSTALLER"
            found.append(
                InstalledDistribution(
                    core.name,
                    normalize_name(core.name),
                    core.version,
                    str(self.library),
                    str(info),
                    core,
                    installer.read_text("utf-8").strip() if installer.is_file() else "",
                    (info / "REQUESTED").is_file(),
                    kind=kind,
                )
            )
        return found

    def find(self, name: str) -> InstalledDistribution | None:
        """One installed distribution."""
        found = [one for one in self.installed() if one.project == normalize_name(name)]
        return found[0] if found else None

    def get(self, name: str) -> InstalledDistribution:
        """One installed distribution that is there."""
        found = self.find(name)
        assert found is not None, f"{name} is not installed"
        return found

    def info(self, name: str) -> Path:
        """The dist-info folder of a distribution."""
        return Path(self.get(name).info)

    def record(self, name: str) -> dict[str, tuple[str, str]]:
        """RECORD of a distribution: path → digest, size."""
        import csv

        with (self.info(name) / "RECORD").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert len({row[0] for row in rows}) == len(rows), "a path is there twice"
        return {row[0]: (row[1], row[2]) for row in rows}

    def read_json(self, name: str, file: str) -> object:
        """A JSON file of a dist-info folder."""
        return json.loads((self.info(name) / file).read_text("utf-8"))

    def tree(self) -> dict[str, tuple[str, int, bytes]]:
        """Everything in the environment: path → kind, permissions, content."""
        return picture(self.root)


def picture(root: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below a folder, empty folders too: path → kind, permissions, content."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(folder, name)
            status = path.lstat()
            mode = stat.S_IMODE(status.st_mode)
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[key] = ("link", 0, os.fsencode(path.readlink()))
            elif path.is_dir():
                found[key] = ("folder", mode, b"")
            else:
                found[key] = ("file", mode, path.read_bytes())
    return found


class Stop(Exception):
    """What a checkpoint raises to stop a change."""
