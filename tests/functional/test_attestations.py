"""``--require-attestations`` (PEP 740): proven, or refused and nothing changed.

The library that proves is replaced at its boundary by ``tests/support/attestations``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.environments import ROOT
from tests.support.faults import Status
from tests.support.sdist import make_sdist, source_tree, write_source_tree
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex
    from tests.support.sdist import BuiltSdist
    from tests.support.wheels import BuiltWheel

LIBRARY = str(ROOT / "tests" / "support" / "attestations")
REQUIRED = "--require-attestations=Demo=github:owner/demo"
TYPE = "application/vnd.pypi.integrity.v1+json"


@pytest.fixture
def attested(environment: Environment) -> Environment:
    """An environment whose commands have the library."""
    return replace(environment, variables={"PYTHONPATH": f"{ROOT}:{LIBRARY}"})


def provenance(
    file: BuiltWheel | BuiltSdist, repository: str = "owner/demo", **changes: Any
) -> dict[str, Any]:
    """A provenance object with one attestation that holds."""
    attestation = {"name": file.filename, "digest": file.sha256, "signed_by": repository, **changes}
    publisher = {"kind": "GitHub", "repository": repository, "workflow": "release.yml"}
    return {
        "version": 1,
        "attestation_bundles": [{"publisher": publisher, "attestations": [attestation]}],
    }


def serve(index: SimpleIndex, file: BuiltWheel | BuiltSdist, document: object) -> None:
    """Put a file on an index, with its provenance."""
    index.add(file)
    path = f"/integrity/demo/{file.version}/{file.filename}/provenance"
    index.set_page(path, json.dumps(document), TYPE)
    index.change(file.filename, provenance=f"{index.url.rstrip('/')}{path}")


def install(environment: Environment, index: SimpleIndex, *words: str) -> Result:
    """Install demo where it has to be attested."""
    return environment.vinstall(
        "install", "--index-url", index.simple_url, REQUIRED, *(words or ("demo",))
    )


@pytest.mark.parametrize("form", ["json", "html"])
def test_an_attested_file_is_installed(
    attested: Environment, index: SimpleIndex, form: str
) -> None:
    index.json = form == "json"
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    install(attested, index).check()
    assert attested.installed() == {"demo": "1.0"}
    (request,) = index.matching("/integrity/*")
    assert TYPE in request.headers["accept"]


def test_the_config_file_knows_it(attested: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel, "somebody/else"))
    work = attested.home / "work"
    work.mkdir(parents=True, exist_ok=True)
    (work / "pyproject.toml").write_text(
        '[tool.vinstall.require-attestations]\nDemo = "https://github.com/owner/demo"\n'
    )
    result = attested.vinstall("install", "--index-url", index.simple_url, "demo", cwd=work)
    assert "github:owner/demo is required" in result.check(1).stderr
    assert attested.installed() == {}


def crash(file: BuiltWheel) -> object:
    return provenance(file, crash=True)


REFUSED = {
    "another publisher": (lambda file: provenance(file, "somebody/else"), "somebody/else"),
    "a forged claim": (
        lambda file: provenance(file, signed_by="somebody/else"),
        "another certificate",
    ),
    "another file": (lambda file: provenance(file, digest="0" * 64), "subject does not match"),
    "another name": (
        lambda file: provenance(file, name="demo-2.0-py3-none-any.whl"),
        "subject does not match",
    ),
    "no bundle": (lambda file: {"version": 1, "attestation_bundles": []}, "nobody did"),
    "an empty bundle": (
        lambda file: {
            "attestation_bundles": [
                {
                    "publisher": provenance(file)["attestation_bundles"][0]["publisher"],
                    "attestations": [],
                }
            ]
        },
        "holds no attestation",
    ),
    "another document": (lambda file: {"something": "else"}, "its provenance is not one"),
    "a crash of the library": (crash, "RuntimeError: unexpected"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proven_is_refused(
    attested: Environment, index: SimpleIndex, case: str
) -> None:
    make, words = REFUSED[case]
    wheel = make_wheel("demo")
    serve(index, wheel, make(wheel))  # type: ignore[no-untyped-call]
    before = attested.snapshot()
    result = install(attested, index).check(1)
    assert words in result.stderr
    assert attested.snapshot(ignore=["*.vinstall-lock"]) == before


def test_one_that_does_not_hold_is_enough(attested: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    document = provenance(wheel)
    document["attestation_bundles"] += provenance(wheel, digest="0" * 64)["attestation_bundles"]
    serve(index, wheel, document)
    assert "does not hold" in install(attested, index).check(1).stderr


def test_those_of_others_do_not_count(attested: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    document = provenance(wheel)
    others = provenance(wheel, "somebody/else", digest="0" * 64)["attestation_bundles"]
    document["attestation_bundles"] += others
    serve(index, wheel, document)
    install(attested, index).check()


def test_without_provenance(attested: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("demo"))
    assert "no index tells of an attestation" in install(attested, index).check(1).stderr
    assert attested.installed() == {}


def test_provenance_that_can_not_be_had(attested: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    index.fail("/integrity/*", Status(404))
    assert "404" in install(attested, index).check(1).stderr
    assert attested.installed() == {}


def test_an_altered_file(attested: Environment, index: SimpleIndex) -> None:
    """The index and its hashes are in the hands of somebody else."""
    good, evil = make_wheel("demo"), make_wheel("demo", files={"demo.py": "evil\n"})
    serve(index, good, provenance(good))
    index.change(good.filename, content=evil.content, hashes={"sha256": evil.sha256})
    assert "subject does not match" in install(attested, index).check(1).stderr
    index.change(good.filename, hashes={}, metadata=None)
    assert "subject does not match" in install(attested, index).check(1).stderr
    assert attested.installed() == {}


def test_what_is_unpacked_already_is_asked_for_too(
    attested: Environment, index: SimpleIndex
) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel, "somebody/else"))
    attested.vinstall("install", "--index-url", index.simple_url, "demo").check()
    attested.vinstall("uninstall", "--yes", "demo").check()
    install(attested, index).check(1)
    assert attested.installed() == {}


def test_dependencies_are_asked_for_too(attested: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("demo"), make_wheel("other", requires_dist=["demo"]))
    install(attested, index, "other").check(1)
    assert attested.installed() == {}


def test_other_projects_are_left_alone(attested: Environment, index: SimpleIndex) -> None:
    index.add(make_wheel("other"))
    install(attested, index, "other").check()


def test_a_source_is_refused_before_it_is_run(
    attested: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    sdist = make_sdist("demo", files=marking_files(marker))
    serve(index, sdist, provenance(sdist, "somebody/else"))
    assert "somebody/else" in install(attested, index).check(1).stderr
    url = index.file_url(sdist.filename)
    install(attested, index, f"demo @ {url}").check(1)
    install(attested, index, url).check(1)
    assert not marker.exists()
    attested.vinstall("install", "--index-url", index.simple_url, "demo").check()
    assert marker.exists()


def test_a_folder_can_not_be_attested(
    attested: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    folder = write_source_tree(tmp_path / "demo", source_tree("demo", files=marking_files(marker)))
    words = (f"demo @ {folder.as_uri()}",)
    assert "only a file can be attested" in install(attested, index, *words).check(1).stderr
    assert not marker.exists()
    assert "only a file can be attested" in install(attested, index, str(folder)).check(1).stderr
    assert attested.installed() == {}


def marking_files(marker: Path) -> dict[str, str]:
    """A source whose backend leaves a mark where it runs."""
    backend = source_tree("demo")["_build/backend.py"]
    mark = f"open({str(marker)!r}, 'w').close()\n"
    return {"src/demo.py": "", "_build/backend.py": f"{mark}{backend}"}


def test_a_file_of_this_machine(attested: Environment, index: SimpleIndex, tmp_path: Path) -> None:
    wheel = make_wheel("demo")
    path = wheel.write_to(tmp_path)
    install(attested, index, str(path)).check(1)
    beside = tmp_path / f"{wheel.filename}.provenance"
    beside.write_text(json.dumps(provenance(wheel)))
    install(attested, index, "--no-index", "--find-links", str(tmp_path), "demo").check()
    assert attested.installed() == {"demo": "1.0"}


def test_a_mirror_that_tells_nothing(
    attested: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    """What an index says of a digest counts wherever the file comes from."""
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    path = wheel.write_to(tmp_path)
    install(attested, index, str(path)).check()


def test_a_lock_file(attested: Environment, index: SimpleIndex, tmp_path: Path) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    lock = tmp_path / "pylock.toml"
    options = ("--index-url", index.simple_url, REQUIRED)
    attested.vinstall("lock", *options, "demo", "-o", lock).check()
    attested.vinstall("install", *options, "-r", lock).check()
    attested.vinstall("uninstall", "--yes", "demo").check()
    other = "--require-attestations=demo=github:somebody/else"
    attested.vinstall("install", *options[:2], other, "-r", lock).check(1)
    attested.vinstall("sync", *options[:2], other, lock).check(1)
    attested.vinstall("lock", *options[:2], other, "demo", "-o", tmp_path / "pylock.x.toml").check(
        1
    )
    assert attested.installed() == {}


def test_download(attested: Environment, index: SimpleIndex, tmp_path: Path) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel, "somebody/else"))
    options = ("--index-url", index.simple_url, "--dest", tmp_path / "files", "demo")
    attested.vinstall("download", REQUIRED, *options).check(1)
    assert list((tmp_path / "files").iterdir()) == []
    attested.vinstall("download", *options).check()
    attested.vinstall("download", REQUIRED, *options).check(1)


def test_what_was_proven_needs_no_second_answer(attested: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    install(attested, index).check()
    install(attested, index, "--force-reinstall", "demo").check()
    assert index.count("/integrity/*") == 1


def test_certificates_that_can_not_be_brought_up_to_date(
    attested: Environment, index: SimpleIndex
) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    attested = replace(attested, variables={**attested.variables, "FAKE_TUF": "down"})
    result = install(attested, index).check(1)
    assert "--attestation-trust=kept" in result.stderr
    install(attested, index, "--attestation-trust", "kept", "demo").check()


def test_a_variant_wheel(attested: Environment, index: SimpleIndex) -> None:
    """The library knows no variant labels yet: nothing is proven, nothing is installed."""
    wheel = make_wheel("demo", label="null", properties={})
    serve(index, wheel, provenance(wheel))
    assert "--no-variant" in install(attested, index).check(1).stderr


@pytest.mark.parametrize("publisher", ["owner/demo", "github:demo", "github:", "demo", "x:y/z"])
def test_a_publisher_that_is_none(environment: Environment, publisher: str) -> None:
    result = environment.vinstall("install", f"--require-attestations=demo={publisher}", "demo")
    assert "github:OWNER/REPOSITORY" in result.check(2).stderr


def test_without_the_library(environment: Environment, index: SimpleIndex) -> None:
    wheel = make_wheel("demo")
    serve(index, wheel, provenance(wheel))
    missing = environment.home / "missing"
    missing.mkdir()
    (missing / "pypi_attestations.py").write_text("raise ImportError('not here')\n")
    environment = replace(environment, variables={"PYTHONPATH": f"{ROOT}:{missing}"})
    result = install(environment, index).check(1)
    assert "pip install 'vinstall[attestations]'" in result.stderr
    assert environment.installed() == {}
