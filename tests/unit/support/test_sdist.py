"""Source distributions of the tests build with pip and no network."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

from tests.support.sdist import make_sdist, source_tree, write_source_tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment


def test_archive_has_one_folder_with_pkg_info() -> None:
    sdist = make_sdist("Sample.One", "1.0", requires_dist=["other"])
    assert sdist.filename == "sample_one-1.0.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(sdist.content)) as archive:
        names = archive.getnames()
        assert {name.split("/")[0] for name in names} == {"sample_one-1.0"}
        assert "sample_one-1.0/pyproject.toml" in names
        file = archive.extractfile("sample_one-1.0/PKG-INFO")
        assert file is not None
        assert file.read() == sdist.metadata
    assert sdist.content == make_sdist("Sample.One", "1.0", requires_dist=["other"]).content


def test_pip_builds_and_installs_it_offline(environment: Environment, tmp_path: Path) -> None:
    path = make_sdist("sample-one", "1.5").write_to(tmp_path)
    environment.pip("install", "--no-index", path).check()
    assert environment.installed() == {"sample-one": "1.5"}


def test_pip_installs_the_tree_editable(environment: Environment, tmp_path: Path) -> None:
    tree = write_source_tree(tmp_path / "tree", source_tree("sample-one", "1.5"))
    environment.pip("install", "--no-index", "-e", tree).check()
    result = environment.run_python("-c", "import sample_one; print(sample_one.__file__)").check()
    assert result.stdout.strip() == str(tree / "src" / "sample_one.py")


def test_a_build_that_fails_says_so(environment: Environment, tmp_path: Path) -> None:
    path = make_sdist("sample-one", fault="build-fails").write_to(tmp_path)
    result = environment.pip("install", "--no-index", path).check(1)
    assert "The compiler could not be found" in result.stdout + result.stderr
