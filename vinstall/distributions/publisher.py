"""Who made a file: the publishers of PEP 740 attestations, as the user names them.

Implements "Trusted Publishers" of the index as far as PEP 740, "Provenance objects", tells of
them: GitHub, GitLab, Google and CircleCI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vinstall.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS = {"github": "GitHub", "gitlab": "GitLab", "google": "Google", "circleci": "CircleCI"}
_HOSTS = {"https://github.com/": "github", "https://gitlab.com/": "gitlab"}
_WORKFLOW_KEYS = {"GitHub": "workflow", "GitLab": "workflow_filepath"}
FORMS = "github:OWNER/REPOSITORY, gitlab:GROUP/PROJECT, google:ADDRESS or circleci:PROJECT/PIPELINE"
"""How a publisher is written, for messages."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Somebody whom a file is accepted from.

    Attributes:
        kind: ``GitHub``, ``GitLab``, ``Google`` or ``CircleCI``, as a provenance object says.
        place: The repository, the address, or the identifiers of project and pipeline.
        workflow: The file of the workflow; empty accepts each of the repository.
    """

    kind: str
    place: str
    workflow: str = ""

    def __str__(self) -> str:
        text = f"{self.kind.lower()}:{self.place}"
        return f"{text}@{self.workflow}" if self.workflow else text

    def accepts(self, claim: Mapping[str, object]) -> bool:
        """Whether a ``publisher`` object of a provenance claims to be this publisher.

        It is a claim: the certificate of the attestation has to prove it.
        """
        claimed = read_claim(claim)
        if claimed is None or claimed.kind != self.kind:
            return False
        if claimed.place.casefold() != self.place.casefold():
            return False
        return not self.workflow or claimed.workflow == self.workflow


def parse_publisher(text: str) -> Publisher:
    """Read a publisher as the user writes it, such as ``github:owner/name@release.yml``.

    The URL of a repository on ``github.com`` or ``gitlab.com`` means the same.

    Raises:
        ValueError: It does not have such a form.
    """
    kind, _, place = text.strip().partition(":")
    for prefix, short in _HOSTS.items():
        if text.strip().lower().startswith(prefix):
            kind, place = short, text.strip()[len(prefix) :]
    known = _KINDS.get(kind.lower())
    if known is None:
        raise ValueError(f"{text!r} is not a publisher")
    workflow = ""
    if known in _WORKFLOW_KEYS:
        place, _, workflow = place.partition("@")
        place = place.rstrip("/").removesuffix(".git")
    parts = place.split("@" if known == "Google" else "/")
    enough = len(parts) >= 2 if known == "GitLab" else len(parts) == 2
    if not enough or not all(parts) or any(c.isspace() or c == ":" for c in place + workflow):
        raise ValueError(f"{text!r} is not a publisher")
    return Publisher(known, place, workflow)


def read_claim(claim: Mapping[str, object]) -> Publisher | None:
    """The publisher that a provenance object names; ``None`` for one of another kind."""

    def value(key: str) -> str:
        found = claim.get(key)
        return found if isinstance(found, str) else ""

    kind = value("kind")
    if kind in _WORKFLOW_KEYS:
        return Publisher(kind, value("repository"), value(_WORKFLOW_KEYS[kind]))
    if kind == "Google":
        return Publisher(kind, value("email"))
    if kind == "CircleCI":
        return Publisher(kind, f"{value('project_id')}/{value('pipeline_definition_id')}")
    return None
