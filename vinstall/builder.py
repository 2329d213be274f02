"""Sources → wheels, through pip as a child process.

A source distribution, a local project or a version control URL is handed to ``pip wheel``,
run for the target's interpreter. What comes back is an ordinary wheel, which then takes the
same road as every other. Nothing is built with ``--only-binary``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vinstall.errors import BuildError
from vinstall.events import Noted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vinstall.events import Observer
    from vinstall.settings import IndexSettings, RequestSettings

_SHOWN_LINES = 25


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds wheels for one target.

    Attributes:
        executable: The target's interpreter.
        index: Indexes and network options, for build requirements.
        request: Build constraints, isolation, config settings.
        environment: The variables of this process.
        observer: Receives notes.
    """

    executable: str
    index: IndexSettings
    request: RequestSettings
    environment: Mapping[str, str]
    observer: Observer

    def build(self, source: str, folder: Path, config_settings: Sequence[str] = ()) -> Path:
        """Build one wheel.

        Args:
            source: A path, a ``file:`` or ``https:`` URL, or a version control URL.
            folder: Where the wheel goes; made if missing.
            config_settings: Further ``key=value`` texts for the backend.

        Returns:
            The path of the wheel.

        Raises:
            BuildError: It does not build; ``why`` holds the end of pip's output.
        """
        import subprocess
        import tempfile

        folder.mkdir(parents=True, exist_ok=True)
        self.observer.receive(Noted(f"Building {source}", verbosity=0))
        with tempfile.TemporaryDirectory(prefix="vinstall-build-", dir=folder) as scratch:
            command = [
                sys.executable,
                "-m",
                "pip",
                "--python",
                self.executable,
                "--isolated",
                "--disable-pip-version-check",
                "--no-input",
                "wheel",
                "--no-deps",
                "--wheel-dir",
                scratch,
                *self._options(config_settings),
                source,
            ]
            result = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                check=False,
            )
            wheels = sorted(Path(scratch).glob("*.whl"))
            if result.returncode != 0 or len(wheels) != 1:
                output = result.stdout.decode("utf-8", "replace").splitlines()
                raise BuildError(
                    f"{source} does not build",
                    "\n".join(["pip said:", *output[-_SHOWN_LINES:]]),
                    "Use --only-binary :all: to take wheels only.",
                )
            wheel = folder / wheels[0].name
            wheels[0].replace(wheel)
        return wheel

    def _options(self, config_settings: Sequence[str]) -> list[str]:
        index, request = self.index, self.request
        options = ["--timeout", str(index.timeout), "--retries", str(index.retries)]
        if index.no_index:
            options.append("--no-index")
        else:
            options += ["--index-url", index.index_url]
        for url in index.extra_index_urls:
            options += ["--extra-index-url", url]
        for place in index.find_links:
            options += ["--find-links", place]
        for host in index.trusted_hosts:
            options += ["--trusted-host", host]
        for name, value in (
            ("--cert", index.cert),
            ("--client-cert", index.client_cert),
            ("--proxy", index.proxy),
        ):
            if value:
                options += [name, value]
        for constraint in request.build_constraints:
            options += ["--build-constraint", constraint]
        if request.no_build_isolation:
            options.append("--no-build-isolation")
        for setting in (*request.config_settings, *config_settings):
            options += ["--config-settings", setting]
        return options

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in self.environment.items()
            if not name.startswith(("PIP_", "VINSTALL_"))
        }
        return {**kept, "PYTHONIOENCODING": "utf-8", "PIP_CONFIG_FILE": os.devnull}
