"""In place of the library of this name: the same calls, and words instead of signatures.

An attestation here is ``{"name": …, "digest": …, "signed_by": …}``. It holds where all three
are right; the real library proves the third with a certificate. The folder of this file goes
on the import path of a command.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any


class AttestationError(ValueError):
    """What the library raises for all that does not hold."""


class TUFError(Exception):
    """What comes where certificates can not be fetched; of another library, and no ValueError."""


@dataclass
class Distribution:
    """A file."""

    name: str
    digest: str

    def __post_init__(self) -> None:
        if not self.name.endswith((".whl", ".tar.gz")) or self.name.count("-") > 4:
            raise ValueError(f"Invalid wheel filename: {self.name}")


@dataclass
class Publisher:
    """A claim."""

    claim: dict[str, Any]

    def model_dump(self) -> dict[str, Any]:
        """The claim as a mapping."""
        return self.claim


@dataclass
class Attestation:
    """One attestation."""

    content: dict[str, Any]

    def verify(
        self,
        identity: Publisher,
        dist: Distribution,
        *,
        staging: bool = False,
        offline: bool = False,
    ) -> tuple[str, None]:
        """Compare it with the file and with who should have signed it."""
        assert not staging
        if not offline and os.environ.get("FAKE_TUF") == "down":
            raise TUFError("Failed to refresh TUF metadata")
        if self.content.get("crash"):
            raise RuntimeError("unexpected")
        if self.content["signed_by"] != identity.claim["repository"]:
            raise AttestationError("Verification failed: another certificate")
        if (self.content["name"], self.content["digest"]) != (dist.name, dist.digest):
            raise AttestationError("Verification failed: subject does not match")
        return "https://docs.pypi.org/attestations/publish/v1", None


@dataclass
class Bundle:
    """The attestations of one publisher."""

    publisher: Publisher
    attestations: list[Attestation]


@dataclass
class Provenance:
    """A provenance object."""

    attestation_bundles: list[Bundle]

    @classmethod
    def model_validate_json(cls, text: bytes) -> Provenance:
        """Read one."""
        try:
            bundles = json.loads(text)["attestation_bundles"]
            return cls(
                [
                    Bundle(Publisher(one["publisher"]), [*map(Attestation, one["attestations"])])
                    for one in bundles
                ]
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"1 validation error for Provenance: {error}") from error
