"""Publishers of attestations as the user names them (PEP 740)."""

from __future__ import annotations

import pytest

from vinstall.distributions.publisher import Publisher, parse_publisher


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("github:owner/name", Publisher("GitHub", "owner/name")),
        ("GitHub:owner/name@release.yml", Publisher("GitHub", "owner/name", "release.yml")),
        ("https://github.com/owner/name", Publisher("GitHub", "owner/name")),
        ("https://github.com/owner/name.git", Publisher("GitHub", "owner/name")),
        ("https://github.com/owner/name/", Publisher("GitHub", "owner/name")),
        (" https://GitHub.com/owner/name@a.yml ", Publisher("GitHub", "owner/name", "a.yml")),
        ("gitlab:group/sub/name", Publisher("GitLab", "group/sub/name")),
        ("https://gitlab.com/a/b@ci/x.yml", Publisher("GitLab", "a/b", "ci/x.yml")),
        ("google:robot@x.test", Publisher("Google", "robot@x.test")),
        ("circleci:12-ab/34-cd", Publisher("CircleCI", "12-ab/34-cd")),
    ],
)
def test_forms(text: str, expected: Publisher) -> None:
    assert parse_publisher(text) == expected
    assert parse_publisher(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "owner/name",
        "github:",
        "github:owner",
        "github:owner/name/more",
        "github:/name",
        "github:owner/na me",
        "gitlab:name",
        "google:robot",
        "google:a@b@c",
        "https://example.test/owner/name",
        "https://github.com.evil.test/owner/name",
        "bitbucket:owner/name",
    ],
)
def test_other_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a publisher"):
        parse_publisher(text)


GITHUB = {"kind": "GitHub", "repository": "owner/name", "workflow": "release.yml"}


@pytest.mark.parametrize(
    ("text", "claim", "expected"),
    [
        ("github:owner/name", GITHUB, True),
        ("github:OWNER/Name", GITHUB, True),
        ("github:owner/name@release.yml", GITHUB, True),
        ("github:owner/name@Release.yml", GITHUB, False),
        ("github:owner/names", GITHUB, False),
        ("gitlab:owner/name", GITHUB, False),
        ("github:owner/name", {"kind": "GitHub"}, False),
        ("github:owner/name", {"kind": "GitHub", "repository": ["owner/name"]}, False),
        ("github:owner/name", {"kind": "github", "repository": "owner/name"}, False),
        ("github:owner/name", {}, False),
        (
            "gitlab:a/b@x.yml",
            {"kind": "GitLab", "repository": "a/b", "workflow_filepath": "x.yml"},
            True,
        ),
        ("google:robot@x.test", {"kind": "Google", "email": "robot@x.test"}, True),
        (
            "circleci:1/2",
            {"kind": "CircleCI", "project_id": "1", "pipeline_definition_id": "2"},
            True,
        ),
    ],
)
def test_claims(text: str, claim: dict[str, object], expected: bool) -> None:
    assert parse_publisher(text).accepts(claim) is expected
