"""Builds in other indexes, names and extras, chosen like variants."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.bridges import (
    MACHINES,
    HiddenIndex,
    cuda_machine,
    fill_others,
    fill_torch,
)
from tests.support.environments import ROOT, isolated_variables, run_command
from tests.support.faults import Status
from tests.support.profiles import write_profile
from tests.support.sdist import make_sdist
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex

PROJECTS = ("torch", "torchvision", "torchaudio")


@pytest.fixture
def hidden() -> Iterator[HiddenIndex]:
    running = HiddenIndex()
    with running:
        yield running


class World:
    """An environment, an index of the user, and one that hides builds."""

    def __init__(
        self, environment: Environment, index: SimpleIndex, hidden: HiddenIndex, folder: Path
    ) -> None:
        self.environment = environment
        self.index = index
        self.hidden = hidden
        self.folder = folder
        self.machines = 0

    def machine(self, supported: dict[str, dict[str, list[str]]]) -> str:
        self.machines += 1
        path = write_profile(self.folder / f"machine-{self.machines}.toml", supported)
        return f"--profile={path}"

    def run(self, command: str, *arguments: str, bridge: str = "--bridge") -> Result:
        bridges = [bridge, f"--bridge-url=pytorch={self.hidden.template}"] if bridge else []
        return self.environment.vinstall(
            command, "--index-url", self.index.simple_url, *bridges, *arguments
        )

    def choose(self, *arguments: str, bridge: str = "--bridge") -> dict[str, dict[str, Any]]:
        """What would be installed: name → item of the report."""
        result = self.run(
            "install", "--dry-run", "-q", "--report", "-", *arguments, bridge=bridge
        ).check()
        return {item["metadata"]["name"]: item for item in result.json()["install"]}


@pytest.fixture
def world(
    environment: Environment, index: SimpleIndex, hidden: HiddenIndex, tmp_path: Path
) -> World:
    fill_torch(hidden, index)
    fill_others(index)
    return World(environment, index, hidden, tmp_path)


def versions(chosen: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: item["metadata"]["version"] for name, item in chosen.items()}


@pytest.mark.parametrize("name", MACHINES)
def test_the_right_build_for_each_machine(world: World, name: str) -> None:
    supported, label = MACHINES[name]
    chosen = world.choose(world.machine(supported), *PROJECTS)
    assert {project: versions(chosen)[project] for project in PROJECTS} == {
        "torch": f"2.9.0+{label}",
        "torchvision": f"0.24.0+{label}",
        "torchaudio": f"2.9.0+{label}",
    }
    for project in PROJECTS:
        told = chosen[project]["vinstall"]
        assert (told["bridge"], told["build"]) == ("pytorch", label)
        assert f"/whl/{label}/" in chosen[project]["download_info"]["url"]
    # what others have there is left alone; what only the build's index has comes from there
    assert versions(chosen).get("nvidia-cublas-cu12", "12.8.4") == "12.8.4"
    helpers = {"rocm6.4": "pytorch-triton-rocm", "xpu": "pytorch-triton-xpu"}
    for built, helper in helpers.items():
        assert versions(chosen).get(helper) == ("3.4.0" if built == label else None)


@pytest.mark.parametrize(
    ("machine", "cupy", "jax"),
    [
        (cuda_machine("12.8"), "cupy-cuda12x", "cuda12"),
        (cuda_machine("13.0"), "cupy-cuda13x", "cuda13"),
        ({"nvidia": {}}, None, None),
    ],
    ids=["cuda-12", "cuda-13", "no-gpu"],
)
def test_sisters_and_extras(
    world: World, machine: dict[str, dict[str, list[str]]], cupy: str | None, jax: str | None
) -> None:
    chosen = world.choose(world.machine(machine), "jax", *(["cupy"] if cupy else []))
    assert chosen["jax"]["metadata"]["version"] == "0.8.0"
    plugins = {name for name in chosen if name.startswith("jax-")}
    assert plugins == ({f"jax-{jax}-plugin"} if jax else set())
    assert "cupy" not in chosen
    if cupy:
        told = chosen[cupy]["vinstall"]
        assert (told["bridge"], told["build"]) == ("cupy", cupy.removeprefix("cupy-"))
        assert chosen[cupy]["requested"] is True
        assert chosen["jax"]["vinstall"]["build"] == jax
        assert chosen["jax"]["download_info"]["url"].endswith("/jax-0.8.0-py3-none-any.whl")
        assert "numpy" in chosen


def test_what_was_installed_satisfies_the_next_install(world: World) -> None:
    machine = world.machine(cuda_machine("12.8"))
    words = [machine, *PROJECTS, "cupy", "jax"]
    first = world.run("install", *words).check()
    assert "torch 2.9.0+cu128 cu128 (through the bridge pytorch)" in first.stdout
    assert world.environment.installed() == {
        "torch": "2.9.0+cu128",
        "torchvision": "0.24.0+cu128",
        "torchaudio": "2.9.0+cu128",
        "cupy-cuda12x": "14.0.0",
        "numpy": "2.3.0",
        "jax": "0.8.0",
        "jaxlib": "0.8.0",
        "jax-cuda12-plugin": "0.8.0",
        "nvidia-cublas-cu12": "12.8.4",
    }
    asked = len(world.index.requests), len(world.hidden.requests)
    again = world.run("install", *words).check()
    assert "Requirement already satisfied: torch" in again.stdout
    assert "Requirement already satisfied: cupy" in again.stdout
    assert "Successfully installed" not in again.stdout
    assert (len(world.index.requests), len(world.hidden.requests)) == asked
    upgraded = world.run("install", "-U", *words).check()
    assert "Successfully installed" not in upgraded.stdout
    assert "No broken requirements found" in world.environment.vinstall("check").check().stdout


def test_a_sister_stands_for_the_project_without_bridges_too(world: World) -> None:
    machine = world.machine(cuda_machine("12.8"))
    world.run("install", machine, "cupy", "torch").check()
    again = world.run("install", machine, "cupy>=13", "torch", bridge="").check()
    assert "Requirement already satisfied: cupy>=13" in again.stdout
    assert "Successfully installed" not in again.stdout
    upgraded = world.run("install", machine, "-U", "torch", bridge="").check()
    assert "Successfully installed" not in upgraded.stdout
    lost = world.run("install", machine, "torch<2.9", bridge="")
    assert lost.returncode == 1
    assert "torch 2.9.0+cu128 cu128 → torch 2.8.0 (no variant)" in lost.stderr
    assert "Add --bridge to stay with such builds." in lost.stderr


def test_an_extra_that_is_asked_for_decides(world: World) -> None:
    chosen = world.choose(world.machine(cuda_machine("13.0")), "jax[cuda12]")
    assert "jax-cuda12-plugin" in chosen
    assert "jax-cuda13-plugin" not in chosen
    assert chosen["jax"]["vinstall"]["build"] == "cuda12"


def test_what_is_told_of_installed_builds(world: World) -> None:
    world.run("install", world.machine(cuda_machine("12.8")), "torch", "cupy").check()
    listed = {
        one["name"]: (one.get("variant"), one.get("bridge"))
        for one in world.environment.vinstall("list", "--format=json").check().json()
    }
    assert listed["torch"] == ("cu128", "pytorch")
    assert listed["cupy-cuda12x"] == ("cuda12x", "cupy")
    assert listed["numpy"] == (None, None)
    frozen = world.environment.vinstall("freeze").check().stdout
    assert "torch==2.9.0+cu128  # variant: cu128" in frozen
    shown = world.environment.vinstall("show", "torch").check().stdout
    assert "Variant: cu128\nBridge: pytorch\n" in shown
    assert "Variant-property: nvidia :: cuda_version_lower_bound :: 12.8" in shown
    inspected = world.environment.vinstall("inspect").check().json()["installed"]
    told = {one["metadata"]["name"]: one.get("vinstall") for one in inspected}
    assert told["torch"]["bridge"] == "pytorch"
    assert told["torch"]["label"] == "cu128"


def test_the_build_that_runs_anywhere_has_its_name(world: World) -> None:
    machine = world.machine({"nvidia": {}})
    world.run("install", machine, "torch").check()
    listed = world.environment.vinstall("list", "--format=json").check().json()
    assert {one["name"]: one.get("variant") for one in listed}["torch"] == "cpu"
    again = world.run("install", machine, "--variant", "torch=cpu", "torch").check()
    assert "Requirement already satisfied: torch" in again.stdout
    chosen = world.choose(world.machine(cuda_machine()), "--variant", "torch=cpu", "-U", "torch")
    assert chosen == {}


def test_overrides(world: World) -> None:
    machine = world.machine(cuda_machine("13.0"))
    by_label = world.choose(machine, "--variant", "torch=cu126", "torch", "torchvision")
    assert versions(by_label)["torch"] == "2.9.0+cu126"
    assert versions(by_label)["torchvision"] == "0.24.0+cu126"
    null = world.choose(machine, "--variant", "torch=null", "torch")
    assert versions(null)["torch"] == "2.9.0+cpu"
    plain = world.choose(machine, "--no-variant", "torch")
    assert versions(plain)["torch"] == "2.9.0"
    excluded = world.choose(
        machine, "--exclude-variant", "nvidia :: cuda_version_lower_bound :: 13.0", "torch"
    )
    assert versions(excluded)["torch"] == "2.9.0+cu128"
    unsupported = world.run("install", "--dry-run", machine, "--variant", "torch=xpu", "torch")
    assert unsupported.returncode == 1
    assert "xpu" in unsupported.stderr


def test_required_variants(world: World) -> None:
    machine = world.machine(cuda_machine("12.8"))
    world.choose(machine, "--require-variant", "torch=nvidia", "torch")
    world.choose(machine, "--require-variant", "cupy=nvidia", "cupy")
    none = world.machine({"nvidia": {}})
    failed = world.run("install", "--dry-run", none, "--require-variant", "torch", "torch")
    assert failed.returncode == 4
    assert "torch 2.9.0+cpu" in failed.stderr
    world.run("install", world.machine(cuda_machine("12.8")), "torch").check()
    kept = world.run("install", machine, "--require-variant", "torch=nvidia", "torch").check()
    assert "already satisfied" in kept.stdout


def test_a_local_version_is_taken_as_asked(world: World) -> None:
    machine = world.machine(cuda_machine("13.0"))
    chosen = world.choose(machine, "torch==2.8.0+cu126", "torchvision")
    assert versions(chosen)["torch"] == "2.8.0+cu126"
    assert versions(chosen)["torchvision"] == "0.23.0+cu126"
    none = world.choose(world.machine({"nvidia": {}}), "torch==2.9.0+cu128")
    assert versions(none)["torch"] == "2.9.0+cu128"
    older = world.choose(machine, "torch==2.8.0")
    assert versions(older)["torch"] == "2.8.0+cu128"
    newest = world.choose(machine, "torch>=2.8")
    assert versions(newest)["torch"] == "2.9.0+cu130"


def test_explain_tells_every_build(world: World) -> None:
    told = world.run("explain", world.machine(cuda_machine("12.8")), "torch").check().stdout
    assert "torch 2.9.0+cu128 cu128: " in told
    assert "supports nvidia :: cuda_version_lower_bound :: 12.8" in told
    assert "through the bridge pytorch" in told
    assert "* 1. torch-2.9.0+cu128-py3-none-any.whl (through the bridge pytorch)" in told
    assert "- cu130 (through the bridge pytorch)" in told
    assert "it needs nvidia :: cuda_version_lower_bound :: 13.0" in told
    document = (
        world.run("explain", "--json", world.machine(cuda_machine("12.8")), "torch").check().json()
    )
    (project,) = [one for one in document["projects"] if one["name"] == "torch"]
    assert (project["bridge"], project["build"], project["label"]) == ("pytorch", "cu128", "cu128")


def test_pages_of_builds_for_other_hardware_are_not_fetched(world: World) -> None:
    world.choose(world.machine(cuda_machine("12.6")), "torch")
    asked = {path.split("/")[2] for path in world.hidden.paths if path.endswith("/torch/")}
    assert {"cpu", "cu126"} <= asked
    assert not asked & {"cu130", "xpu", "rocm6.4"}


# Consent


def test_no_host_is_asked_but_the_users_own(world: World) -> None:
    mirror = world.environment.vinstall(
        *("install", "--dry-run", "--index-url", world.index.simple_url, "--bridge"),
        *(world.machine(cuda_machine("12.8")), "torch"),
    ).check()
    assert world.hidden.requests == []
    assert "download.pytorch.org is not asked" in mirror.stderr + mirror.stdout
    assert "--bridge-url pytorch=URL" in mirror.stderr + mirror.stdout
    assert "torch-2.9.0" in mirror.stdout
    assert all(path.startswith(("/simple/", "/files/")) for path in world.index.paths)


def test_a_mirror_takes_the_place_of_the_host(world: World) -> None:
    config = world.environment.path / "vinstall.toml"
    config.write_text(
        f'bridge = ["pytorch"]\nindex-url = "{world.index.simple_url}"\n'
        f'bridge-url = {{ pytorch = "{world.hidden.template}" }}\n'
    )
    result = world.environment.vinstall(
        *("install", "--dry-run", "-q", "--report", "-"),
        *(world.machine(cuda_machine("12.8")), "torch"),
    ).check()
    chosen = {item["metadata"]["name"]: item for item in result.json()["install"]}
    assert versions(chosen)["torch"] == "2.9.0+cu128"


def test_one_index_with_all_builds_needs_no_other(
    environment: Environment, index: SimpleIndex, tmp_path: Path
) -> None:
    for label in ("cpu", "cu126", "cu128", "cu130"):
        index.add(make_wheel("torch", f"2.9.0+{label}"))
    for supported, version in (
        (cuda_machine("12.8"), "2.9.0+cu128"),
        ({"nvidia": dict[str, list[str]]()}, "2.9.0+cpu"),
    ):
        profile = write_profile(tmp_path / "machine.toml", supported)
        result = environment.vinstall(
            *("install", "--dry-run", "-q", "--report", "-", "--bridge", "--profile", profile),
            *("--index-url", index.simple_url, "torch"),
        ).check()
        (item,) = result.json()["install"]
        assert item["metadata"]["version"] == version


def test_a_release_with_real_variants_wins(world: World) -> None:
    world.index.add(
        make_wheel("torch", "2.9.0", label="real", properties="nvidia :: sm_arch :: 90_real")
    )
    chosen = world.choose(world.machine(cuda_machine("12.8")), "torch")
    assert chosen["torch"]["vinstall"]["label"] == "real"
    assert "bridge" not in chosen["torch"]["vinstall"]
    older = world.choose(world.machine(cuda_machine("12.8")), "torch<2.9")
    assert older["torch"]["vinstall"]["bridge"] == "pytorch"


@pytest.mark.parametrize(
    ("machine", "project", "words"),
    [
        (cuda_machine("11.8"), "torch", "needs CUDA 12.8, and the driver here offers 11.8"),
        ({"nvidia": {}}, "torch", " GB for it, and this machine has nothing of that"),
        (cuda_machine("12.8"), "torch", ""),
    ],
    ids=["old-driver", "no-gpu", "fits"],
)
def test_the_hint_while_bridges_are_off(
    world: World, machine: dict[str, dict[str, list[str]]], project: str, words: str
) -> None:
    off = world.run("install", "--dry-run", world.machine(machine), project, bridge="").check()
    assert ("--bridge" in off.stderr) == bool(words)
    assert words in off.stderr
    assert world.hidden.requests == []
    refused = world.environment.vinstall(
        *("install", "--dry-run", "--no-bridge", "--index-url", world.index.simple_url),
        *(world.machine(machine), project),
    ).check()
    assert "--bridge" not in refused.stderr


def test_no_hint_for_other_projects(world: World) -> None:
    off = world.run("install", "--dry-run", world.machine({}), "numpy", bridge="").check()
    assert "bridge" not in off.stderr + off.stdout


def test_the_hint_for_a_source_with_sisters(world: World) -> None:
    words = "is a source that has to be built; cupy-cuda12x has wheels"
    machine = world.machine(cuda_machine("12.8"))
    off = world.run("install", "--dry-run", machine, "cupy", bridge="").check()
    assert words in off.stderr
    world.index.add(make_sdist("cupy", "15.0.0", fault="build-fails"))
    failed = world.run("install", "--dry-run", machine, "cupy", bridge="")
    assert failed.returncode == 1
    assert words in failed.stderr


def test_a_source_that_does_not_build_names_the_builds(world: World) -> None:
    world.index.add(make_sdist("cupy", "15.0.0", fault="build-fails"))
    world.index.add(make_wheel("cupy-cuda12x", "15.0.0"))
    failed = world.run("install", "--dry-run", world.machine({"nvidia": {}}), "cupy")
    assert failed.returncode == 1
    assert "cuda12x: it needs nvidia ::" in failed.stderr


def test_a_source_is_no_choice_where_wheels_have_other_names(world: World) -> None:
    refused = world.run("install", "--dry-run", world.machine({"nvidia": {}}), "cupy")
    assert refused.returncode == 1
    assert "--no-binary cupy builds it" in refused.stderr
    assert "cuda12x: it needs nvidia ::" in refused.stderr
    # nor where an older wheel has to do
    world.index.add(make_sdist("cupy", "15.0.0", fault="build-fails"))
    chosen = world.choose(world.machine(cuda_machine("12.8")), "cupy")
    assert versions(chosen)["cupy-cuda12x"] == "14.0.0"
    built = world.choose(world.machine({"nvidia": {}}), "--no-binary=cupy", "cupy==14.0.0")
    assert versions(built)["cupy"] == "14.0.0"


def test_a_gpu_that_no_build_is_for_is_said(world: World) -> None:
    world.hidden.hide("cpu", make_wheel("torch", "2.15.0+cpu"))
    machine = world.machine(cuda_machine("12.8"))
    result = world.run("install", "--dry-run", machine, "torch").check()
    assert "torch-2.15.0+cpu" in result.stdout
    assert "This machine has hardware that builds of torch 2.15.0+cpu are made for" in result.stderr
    assert "cu130: it needs nvidia :: cuda_version_lower_bound" in result.stderr


def test_nothing_of_bridges_is_imported_while_they_are_off(
    world: World, isolated_home: Path
) -> None:
    code = (
        "import sys; from vinstall.cli.main import main; status = main(sys.argv[1:]); "
        "print([name for name in sys.modules if 'bridges' in name]); sys.exit(status)"
    )
    result = run_command(
        [
            *(sys.executable, "-c", code, "install", "--python", world.environment.python),
            *("--index-url", world.index.simple_url, "numpy"),
        ],
        variables={**isolated_variables(isolated_home), "PYTHONPATH": str(ROOT)},
        cwd=isolated_home,
    ).check()
    assert result.stdout.splitlines()[-1] == "['vinstall.workflow.bridges']"


# Other commands


def test_download_takes_the_real_file(world: World) -> None:
    folder = world.folder / "files"
    world.run(
        "download",
        "--no-deps",
        "-d",
        str(folder),
        world.machine(cuda_machine("12.8")),
        "torch",
        "cupy",
    ).check()
    assert sorted(path.name for path in folder.iterdir()) == [
        "cupy_cuda12x-14.0.0-py3-none-any.whl",
        "torch-2.9.0+cu128-py3-none-any.whl",
    ]


def test_repair_takes_the_same_builds(world: World) -> None:
    machine = world.machine({"nvidia": {}})
    world.run("install", machine, "--variant", "torch=cpu", "torch").check()
    world.run("install", world.machine(cuda_machine("12.8")), "cupy").check()
    library = world.environment.site_packages
    for name in ("torch.py", "cupy_cuda12x.py"):
        (library / name).write_text("broken\n")
    world.run("check", "--repair", world.machine(cuda_machine("13.0"))).check()
    assert "2.9.0+cpu" in (library / "torch.py").read_text()
    assert "14.0.0" in (library / "cupy_cuda12x.py").read_text()
    assert world.environment.installed()["torch"] == "2.9.0+cpu"
    listed = world.environment.vinstall("list", "--format=json").check().json()
    assert {one["name"]: one.get("variant") for one in listed}["torch"] == "cpu"


def test_requirements_files(world: World) -> None:
    lines = world.folder / "requirements.txt"
    limits = world.folder / "constraints.txt"
    lines.write_text("torch --variant=cu126\ntorchvision\n")
    machine = world.machine(cuda_machine("13.0"))
    chosen = world.choose(machine, "-r", str(lines))
    assert versions(chosen)["torch"] == "2.9.0+cu126"
    assert versions(chosen)["torchvision"] == "0.24.0+cu126"
    lines.write_text("torch\n")
    limits.write_text("torch==2.8.0+cu128\n")
    limited = world.choose(machine, "-r", str(lines), "-c", str(limits))
    assert versions(limited)["torch"] == "2.8.0+cu128"


def test_hashes_choose_among_builds(world: World) -> None:
    digest = make_wheel("torch", "2.9.0+cu128", requires_dist=["nvidia-cublas-cu12"]).sha256
    lines = world.folder / "requirements.txt"
    lines.write_text(f"torch==2.9.0 --hash=sha256:{digest}\n")
    machine = world.machine(cuda_machine("13.0"))
    chosen = world.choose(machine, "--no-deps", "-r", str(lines))
    assert versions(chosen) == {"torch": "2.9.0+cu128"}
    sister = make_wheel("cupy-cuda12x", "14.0.0", extras=["all"], requires_dist=["numpy"]).sha256
    lines.write_text(f"cupy==14.0.0 --hash=sha256:{sister}\n")
    world.run("install", "--no-deps", machine, "-r", str(lines)).check()
    assert world.environment.installed() == {"cupy-cuda12x": "14.0.0"}


# One CUDA in one environment


def test_all_projects_agree_on_one_cuda(world: World) -> None:
    chosen = world.choose(
        world.machine(cuda_machine("13.0")), "torch==2.8.0", "cupy", "jax", "torchvision"
    )
    assert versions(chosen)["torch"] == "2.8.0+cu128"
    assert "cupy-cuda12x" in chosen
    assert "jax-cuda12-plugin" in chosen
    assert "cupy-cuda13x" not in chosen


def test_what_is_installed_already_counts(world: World) -> None:
    machine = world.machine(cuda_machine("13.0"))
    world.run("install", machine, "--variant", "cupy=cuda12x", "cupy").check()
    chosen = world.choose(machine, "torch", "jax")
    assert versions(chosen)["torch"] == "2.9.0+cu128"
    assert "jax-cuda12-plugin" in chosen
    switched = world.choose(machine, "torch", "cupy", "-U")
    assert versions(switched)["torch"] == "2.9.0+cu130"
    assert "cupy-cuda13x" in switched


def test_what_pip_installed_counts_as_well(world: World) -> None:
    world.environment.pip(
        *("install", "--no-deps", "--index-url", world.index.simple_url, "cupy-cuda12x")
    ).check()
    machine = world.machine(cuda_machine("13.0"))
    satisfied = world.run("install", "--no-deps", machine, "cupy").check()
    assert "Requirement already satisfied: cupy" in satisfied.stdout
    assert versions(world.choose(machine, "torch"))["torch"] == "2.9.0+cu128"


def test_a_conflict_names_both(world: World) -> None:
    machine = world.machine(cuda_machine("13.0"))
    asked = world.run(
        *("install", "--dry-run", machine, "--variant", "torch=cu130"),
        *("--variant", "jax=cuda12", "torch", "jax"),
    )
    assert asked.returncode == 1
    assert "torch 2.9.0 cu130 is built for CUDA 13" in asked.stderr
    assert "jax 0.8.0 cuda12 is built for CUDA 12" in asked.stderr
    world.run("install", machine, "--variant", "cupy=cuda12x", "cupy").check()
    failed = world.run("install", "--dry-run", machine, "--variant", "torch=cu130", "torch")
    assert failed.returncode == 1
    assert "cupy-cuda12x 14.0.0, which is installed, is built for CUDA 12" in failed.stderr
    assert "torch 2.9.0 cu130 is built for CUDA 13" in failed.stderr


def test_an_upgrade_takes_the_family_along(world: World) -> None:
    machine = world.machine(cuda_machine("12.6"))
    world.run("install", machine, "torch==2.8.0", "torchvision").check()
    assert world.environment.installed()["torchvision"] == "0.23.0+cu126"
    newer = world.machine(cuda_machine("12.8"))
    chosen = world.choose(newer, "-U", "torch")
    assert versions(chosen)["torch"] == "2.9.0+cu128"
    assert versions(chosen)["torchvision"] == "0.24.0+cu128"


def test_another_sister_takes_the_place_of_the_first(world: World) -> None:
    world.run("install", world.machine(cuda_machine("12.8")), "cupy").check()
    result = world.run("install", world.machine(cuda_machine("13.0")), "-U", "cupy").check()
    assert "cupy-cuda13x" in result.stdout
    installed = world.environment.installed()
    assert "cupy-cuda13x" in installed
    assert "cupy-cuda12x" not in installed


def test_dependents_of_the_plain_name_are_content(world: World) -> None:
    world.index.add(make_wheel("user", requires_dist=["cupy[all]>=13"]))
    result = world.run("install", world.machine(cuda_machine("12.8")), "user").check()
    assert "which is not installed" not in result.stdout + result.stderr
    assert world.environment.installed()["cupy-cuda12x"] == "14.0.0"
    assert "No broken requirements found" in world.environment.vinstall("check").check().stdout


def test_an_extension_follows_the_framework(world: World) -> None:
    folder = world.folder / "wheels"
    for torch, cuda in (("28", "cu126"), ("28", "cu128"), ("29", "cu128"), ("29", "cpu")):
        make_wheel("torch-scatter", f"2.1.2+pt{torch}{cuda}").write_to(folder)
    places = ("--find-links", str(folder))
    machine = world.machine(cuda_machine("12.8"))
    chosen = world.choose(machine, *places, "torch", "torch-scatter")
    assert versions(chosen)["torch-scatter"] == "2.1.2+pt29cu128"
    assert versions(chosen)["torch"] == "2.9.0+cu128"
    older = world.choose(machine, *places, "torch==2.8.0", "torch-scatter")
    assert versions(older)["torch-scatter"] == "2.1.2+pt28cu128"
    none = world.choose(world.machine({"nvidia": {}}), *places, "torch", "torch-scatter")
    assert versions(none)["torch-scatter"] == "2.1.2+pt29cpu"
    world.run("install", machine, "--variant", "torch=cu126", "torch==2.8.0").check()
    there = world.choose(machine, *places, "torch-scatter")
    assert versions(there) == {"torch-scatter": "2.1.2+pt28cu126"}


def test_a_source_comes_after_another_build_of_the_framework(world: World) -> None:
    folder = world.folder / "wheels"
    make_wheel("torch-scatter", "2.1.2+pt29cu128").write_to(folder)
    world.index.add(make_sdist("torch-scatter", "2.1.2", fault="build-fails"))
    machine = world.machine(cuda_machine("13.0"))
    chosen = world.choose(machine, "--find-links", str(folder), "torch", "torch-scatter")
    assert versions(chosen)["torch"] == "2.9.0+cu128"
    assert versions(chosen)["torch-scatter"] == "2.1.2+pt29cu128"


def test_a_local_version_that_no_build_knows_is_taken_only_when_named(world: World) -> None:
    folder = world.folder / "wheels"
    for local in ("pt29cu128", "zebra"):
        make_wheel("torch-scatter", f"2.1.2+{local}").write_to(folder)
    machine = (world.machine(cuda_machine("12.8")), "--find-links", str(folder), "torch")
    chosen = world.choose(*machine, "torch-scatter")
    assert versions(chosen)["torch-scatter"] == "2.1.2+pt29cu128"
    named = world.choose(*machine, "torch-scatter==2.1.2+zebra")
    assert versions(named)["torch-scatter"] == "2.1.2+zebra"


# Locks


def test_a_lock_has_the_real_files(world: World) -> None:
    lock = world.folder / "pylock.toml"
    machine = world.machine(cuda_machine("12.8"))
    told = world.run("lock", machine, "-o", str(lock), "torch", "cupy", "jax").check()
    assert "Through a bridge: cupy cuda12x, jax cuda12, torch cu128" in told.stdout + told.stderr
    text = lock.read_text()
    assert 'name = "cupy-cuda12x"' in text
    assert "torch-2.9.0%2Bcu128-py3-none-any.whl" in text
    assert "cu126" not in text
    assert "bridge:" not in text
    world.environment.vinstall("install", "-r", str(lock)).check()
    installed = world.environment.installed()
    assert installed["torch"] == "2.9.0+cu128"
    assert installed["cupy-cuda12x"] == "14.0.0"
    assert installed["jax-cuda12-plugin"] == "0.8.0"
    again = world.environment.vinstall("sync", str(lock)).check()
    assert "Successfully installed" not in again.stdout


# Mistakes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema = 1\nfamily = [", "is not valid TOML"),
        ("schema = 2\n", "schema has to be 1"),
        (None, "can not be read"),
    ],
    ids=["toml", "schema", "missing"],
)
def test_broken_files_are_sentences(world: World, text: str | None, words: str) -> None:
    path = world.folder / "mine.toml"
    if text is not None:
        path.write_text(text)
    failed = world.run("install", "--dry-run", "--bridge-file", str(path), "torch")
    assert failed.returncode == 1
    assert words in failed.stderr
    assert "Traceback" not in failed.stderr
    assert str(path) in failed.stderr


def test_unknown_families_and_urls(world: World) -> None:
    failed = world.run("install", "--dry-run", "torch", bridge="--bridge=nothing")
    assert failed.returncode == 1
    assert "There is no bridge 'nothing'" in failed.stderr
    warned = world.run(
        *("install", "--dry-run", world.machine({"nvidia": {}})),
        *("--bridge-url", "nothing=https://host.example/", "torch"),
    ).check()
    assert "--bridge-url names nothing" in warned.stderr
    both = world.run("install", "--dry-run", "--no-bridge", "torch")
    assert both.returncode == 2
    assert "contradict" in both.stderr


def test_an_index_that_fails_is_no_silent_fallback(world: World) -> None:
    world.hidden.fail("/whl/cu128/*", Status(500))
    failed = world.run(
        *("install", "--dry-run", "--retries=0", world.machine(cuda_machine("12.8")), "torch")
    )
    assert failed.returncode == 1
    assert "The bridge pytorch can not look for builds of torch" in failed.stderr
    assert "/whl/cu128/torch/" in failed.stderr
    assert "--bridge-url pytorch=URL" in failed.stderr
