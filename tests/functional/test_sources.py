"""Sources on their way into an environment: folders, archives, repositories, in place."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import isolated_variables, run_command
from tests.support.sdist import make_sdist, source_tree, write_source_tree
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")


def read_direct_url(environment: Environment, name: str) -> object:
    return json.loads((environment.dist_info(name) / "direct_url.json").read_text("utf-8"))


def make_repository(folder: Path, home: Path) -> str:
    """A repository with one project; the commit that ``v1`` names."""
    write_source_tree(folder, source_tree("versioned"))
    variables = {**isolated_variables(home), "GIT_CONFIG_GLOBAL": os.devnull}
    git = ["git", "-c", "user.name=Name", "-c", "user.email=name@example.org"]
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-q", "-m", "one"],
        ["tag", "v1"],
    ):
        run_command([*git, *arguments], variables=variables, cwd=folder).check()
    head = run_command(["git", "rev-parse", "HEAD"], variables=variables, cwd=folder).check()
    return head.stdout.strip()


def test_folder(environment: Environment, tmp_path: Path) -> None:
    project = write_source_tree(tmp_path / "project", source_tree("sample"))

    environment.vinstall("install", "--no-index", project).check()

    assert environment.installed() == {"sample": "1.0"}
    assert read_direct_url(environment, "sample") == {"url": project.as_uri(), "dir_info": {}}


def test_editable_follows_changes(environment: Environment, tmp_path: Path) -> None:
    project = write_source_tree(tmp_path / "project", source_tree("sample"))

    environment.vinstall("install", "--no-index", "-e", project).check()
    (project / "src" / "sample.py").write_text("VARIANT = 'changed'\n", "utf-8")

    assert environment.label("sample") == "changed"
    assert read_direct_url(environment, "sample") == {
        "url": project.as_uri(),
        "dir_info": {"editable": True},
    }


def test_editable_needs_are_installed_apart(
    index: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    index.add(make_wheel("build-helper", "1.0", files={"build_helper.py": "NAME = 'helped'\n"}))
    tree = source_tree("sample", build_requires=["build-helper"])
    tree["_build/backend.py"] += "\nimport build_helper\n"
    project = write_source_tree(tmp_path / "project", tree)

    environment.vinstall("install", "-i", index.simple_url, "-e", project).check()

    assert environment.installed() == {"sample": "1.0"}


def test_editable_without_the_hook_is_refused(environment: Environment, tmp_path: Path) -> None:
    tree = source_tree("sample")
    tree["_build/backend.py"] += "\ndel build_editable\n"
    project = write_source_tree(tmp_path / "project", tree)

    result = environment.vinstall("install", "--no-index", "-e", project).check(1)

    assert "PEP 660" in result.stderr
    assert environment.installed() == {}


def test_config_settings_reach_the_backend(environment: Environment, tmp_path: Path) -> None:
    project = write_source_tree(tmp_path / "project", source_tree("sample"))

    environment.vinstall(
        "install", "--no-index", "-C", "key=one", "-C", "key=two", "-C", "other=x", project
    ).check()

    found = json.loads((environment.site_packages / "sample_config_settings.json").read_text())
    assert found == {"key": ["one", "two"], "other": "x"}


@needs_git
@pytest.mark.parametrize("revision", ["", "@v1"])
def test_repository_tells_its_commit(
    environment: Environment, tmp_path: Path, isolated_home: Path, revision: str
) -> None:
    repository = tmp_path / "repository"
    commit = make_repository(repository, isolated_home)

    environment.vinstall("install", "--no-index", f"git+{repository.as_uri()}{revision}").check()

    info = {"vcs": "git", "commit_id": commit}
    if revision:
        info["requested_revision"] = "v1"
    assert read_direct_url(environment, "versioned") == {
        "url": repository.as_uri(),
        "vcs_info": info,
    }


@needs_git
def test_editable_repository_is_checked_out(
    environment: Environment, tmp_path: Path, isolated_home: Path
) -> None:
    repository = tmp_path / "repository"
    commit = make_repository(repository, isolated_home)
    url = f"git+{repository.as_uri()}"

    environment.vinstall("install", "--no-index", "-e", f"{url}@v1#egg=versioned").check()

    checkout = environment.path / "src" / "versioned"
    assert (checkout / "pyproject.toml").is_file()
    assert read_direct_url(environment, "versioned") == {
        "url": checkout.as_uri(),
        "dir_info": {"editable": True},
    }
    frozen = environment.vinstall("freeze").check().stdout
    assert frozen == f"-e {url}@{commit}#egg=versioned\n"


def test_archive_tells_its_hash(environment: Environment, tmp_path: Path) -> None:
    archive = make_sdist("sample").write_to(tmp_path)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()

    environment.vinstall("install", "--no-index", archive).check()

    assert read_direct_url(environment, "sample") == {
        "url": archive.as_uri(),
        "archive_info": {"hash": f"sha256={digest}", "hashes": {"sha256": digest}},
    }


def static_tree(**options: str) -> dict[str, str]:
    """Files of a source distribution whose metadata is promised to stay as it is."""
    tree = source_tree("static", requires_dist=["needed"])
    head, _, rest = tree["PKG-INFO"].partition("\n")
    assert head.startswith("Metadata-Version: ")
    return {**tree, "PKG-INFO": f"Metadata-Version: 2.2\n{rest}", **options}


def write_archive(folder: Path, tree: dict[str, str]) -> Path:
    import io
    import tarfile

    path = folder / "static-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in tree.items():
            entry = tarfile.TarInfo(f"static-1.0/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_promised_metadata_needs_no_build(environment: Environment, tmp_path: Path) -> None:
    write_archive(tmp_path, static_tree(**{"_build/fail": "must not run\n"}))
    make_wheel("needed", "3.0").write_to(tmp_path)

    result = environment.vinstall(
        "install", "--dry-run", "--no-index", "-f", tmp_path, "static"
    ).check()

    assert "Would install needed-3.0 static-1.0" in result.stdout


def test_dynamic_metadata_needs_a_build(environment: Environment, tmp_path: Path) -> None:
    tree = static_tree(**{"_build/fail": "was run\n"})
    tree["PKG-INFO"] = tree["PKG-INFO"].replace("2.2\n", "2.2\nDynamic: Requires-Dist\n", 1)
    write_archive(tmp_path, tree)

    result = environment.vinstall(
        "install", "--dry-run", "--no-index", "-f", tmp_path, "static"
    ).check(1)

    assert "was run" in result.stderr


def test_hash_is_verified_before_anything_runs(environment: Environment, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    tree = source_tree("static")
    tree["_build/backend.py"] += f"\nopen({str(ran)!r}, 'w').close()\n"
    write_archive(tmp_path, tree)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"static==1.0 --hash=sha256:{'0' * 64}\n", "utf-8")

    result = environment.vinstall(
        "install", "--no-index", "-f", tmp_path, "-r", requirements
    ).check(1)

    assert "DO NOT MATCH THE HASHES" in result.stderr
    assert not ran.exists()
