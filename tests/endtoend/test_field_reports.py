"""Faults that users of other tools met, each as its kind: vinstall must not have them.

The names in the tests (A3, E1, ...) are those of the collection of field reports; themes A
to C concern detection and are tested with the plugins, too. H to J are tested where the
parts are: providers, index, transaction.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.support.faults import HtmlPage, IgnoreRange, Replaced, Status
from tests.support.profiles import nvidia_machine, write_profile, x86_machine
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex

Machine = dict[str, dict[str, list[str]]]

CUDA = {
    "cu130": "nvidia :: cuda_version_lower_bound :: 13.0, nvidia :: sm_arch :: 90_real, "
    "nvidia :: sm_arch :: 120_real",
    "cu126": "nvidia :: cuda_version_lower_bound :: 12.6, nvidia :: sm_arch :: 60_real, "
    "nvidia :: sm_arch :: 61_real, nvidia :: sm_arch :: 90_real",
    "null": "",
}
H100 = nvidia_machine("12.8", "9.0")
NEW_H100 = nvidia_machine("13.0", "9.0")
PASCAL = nvidia_machine("12.8", "6.1")
NO_GPU: Machine = {"nvidia": {}}


class Bench:
    """An index with ``vtorch`` in several builds, and an environment."""

    def __init__(self, index: SimpleIndex, environment: Environment, folder: Path) -> None:
        self.index = index
        self.environment = environment
        self._folder = folder
        self._profiles = 0

    def publish(
        self,
        builds: Mapping[str, str] = CUDA,
        name: str = "vtorch",
        version: str = "2.0",
        *,
        plain: bool = True,
        requires: Sequence[str] = (),
        extras: Sequence[str] = (),
    ) -> None:
        wheels = make_variant_wheels(
            name, version, builds, plain=plain, requires_dist=requires, extras=extras
        )
        self.index.add(*wheels)

    def profile(self, supported: Machine) -> Path:
        self._profiles += 1
        return write_profile(self._folder / f"machine{self._profiles}.toml", supported)

    def run(
        self,
        *arguments: str | Path,
        machine: Machine | None = None,
        status: int = 0,
        variables: Mapping[str, str] | None = None,
    ) -> Result:
        where: list[str | Path] = ["--index-url", self.index.simple_url]
        if machine is not None:
            where += ["--profile", self.profile(machine)]
        return self.environment.vinstall("install", *where, *arguments, variables=variables).check(
            status
        )

    @property
    def label(self) -> str:
        return self.environment.label("vtorch")


@pytest.fixture
def bench(index: SimpleIndex, environment: Environment, tmp_path: Path) -> Bench:
    return Bench(index, environment, tmp_path)


class TestDetection:
    """A: the build that this machine can run."""

    def test_a3_a_card_too_old_for_the_newest_build_gets_an_older_one(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=nvidia_machine("13.0", "6.1"))
        assert bench.label == "cu126"

    def test_a3_no_build_for_the_card_is_said(self, bench: Bench) -> None:
        bench.publish()
        result = bench.run("vtorch", machine=nvidia_machine("12.8", "12.0"))
        assert bench.label == "null"
        explained = bench.environment.vinstall(
            "explain",
            *("--index-url", bench.index.simple_url, "--no-color"),
            *("--profile", bench.profile(nvidia_machine("12.8", "12.0")), "vtorch"),
        ).check()
        assert "sm_arch" in explained.stdout
        assert "Variants: vtorch 2.0 null" in result.stdout

    def test_a5_a_later_run_does_not_put_another_build_back(self, bench: Bench) -> None:
        bench.publish()
        bench.run("--variant", "vtorch=cu126", "vtorch", machine=NEW_H100)
        assert bench.label == "cu126"
        bench.run("vtorch", machine=NEW_H100)
        assert bench.label == "cu126"

    def test_a12_masks_do_not_decide(self, bench: Bench) -> None:
        bench.publish()
        for mask in ("", "-1", "0,0", "GPU-12345678"):
            bench.run(
                "--force-reinstall",
                "vtorch",
                machine=H100,
                variables={"CUDA_VISIBLE_DEVICES": mask},
            )
            assert bench.label == "cu126"

    def test_a14_another_architecture_takes_its_own_builds(self, bench: Bench) -> None:
        for platform in ("linux_aarch64", "linux_x86_64"):
            bench.index.add(
                *make_variant_wheels(
                    "vtorch", "2.0", CUDA, tags=f"py3-none-{platform}", plain=False
                )
            )
        result = bench.run(
            *("--dry-run", "--platform", "linux_aarch64", "--only-binary", ":all:"),
            *("--report", "-", "-q", "vtorch"),
            machine=H100,
        )
        (item,) = result.json()["install"]
        assert item["download_info"]["url"].endswith("py3-none-linux_aarch64-cu126.whl")

    def test_a19_an_explanation_can_be_compared(self, bench: Bench) -> None:
        bench.publish()
        machine = bench.profile(H100)
        outputs = [
            bench.environment.vinstall(
                "explain",
                *("--json", "--index-url", bench.index.simple_url),
                *("--profile", machine, "vtorch"),
            )
            .check()
            .json()
            for _ in range(2)
        ]
        for output in outputs:
            for part in output["machine"]:
                del part["seconds"]
            assert output["projects"][0]["label"] == "cu126"
        assert outputs[0] == outputs[1]


class TestVendors:
    """B: several vendors in one machine."""

    BUILDS: ClassVar = {
        "cu126": "nvidia :: cuda_version_lower_bound :: 12.6",
        "rocm": "amd :: gfx_arch :: gfx1201",
        "null": "",
    }
    BOTH: ClassVar[Machine] = {**H100, "amd": {"gfx_arch": ["gfx1201", "gfx1036"]}}

    def test_b2_all_devices_count_not_the_first(self, bench: Bench) -> None:
        bench.publish(self.BUILDS)
        bench.run("vtorch", machine={"amd": {"gfx_arch": ["gfx1036", "gfx1201"]}})
        assert bench.label == "rocm"

    def test_b4_one_vendor_can_be_preferred_or_excluded(self, bench: Bench) -> None:
        bench.publish(self.BUILDS)
        bench.run("vtorch", machine=self.BOTH)
        assert bench.label == "cu126"
        bench.run("--force-reinstall", "--prefer-variant", "amd", "vtorch", machine=self.BOTH)
        assert bench.label == "rocm"
        bench.run("--force-reinstall", "--exclude-variant", "nvidia", "vtorch", machine=self.BOTH)
        assert bench.label == "rocm"

    def test_b6_an_unknown_chip_gets_the_fallback_not_everything(self, bench: Bench) -> None:
        bench.publish(self.BUILDS)
        bench.run("vtorch", machine={"amd": {"gfx_arch": ["gfx9ff"]}})
        assert bench.label == "null"

    def test_b8_a_dependency_does_not_revert_the_build(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=H100)
        bench.index.add(make_wheel("addon", requires_dist=["vtorch>=1"]))
        bench.run("addon", machine=NO_GPU)
        assert bench.label == "cu126"


class TestLevels:
    """C: CPU levels."""

    def test_c1_the_level_that_is_whole_decides(self, bench: Bench) -> None:
        bench.publish({f"v{n}": f"x86_64 :: level :: v{n}" for n in (1, 2, 3, 4)})
        bench.run("vtorch", machine=x86_machine(3))
        assert bench.label == "v3"


class TestOverrides:
    """D: overrides, CI, machines without a GPU."""

    def test_d1_an_image_for_other_machines(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_d1_a_required_variant_is_an_error_before_any_download(self, bench: Bench) -> None:
        bench.publish()
        before = bench.environment.snapshot()
        for required in ("vtorch", "vtorch=nvidia"):
            result = bench.run("--require-variant", required, "vtorch", machine=NO_GPU, status=4)
            assert "cuda_version_lower_bound" in result.stderr
        assert bench.environment.snapshot() == before
        assert bench.index.count("/files/*.whl") == 0
        bench.run("--require-variant", "vtorch=nvidia", "vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_d2_no_source_is_run_to_choose_a_build(self, bench: Bench) -> None:
        bench.publish()
        bench.run("--only-binary", ":all:", "vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_d3_a_profile_serves_download_and_lock_too(self, bench: Bench, tmp_path: Path) -> None:
        bench.publish(plain=False)
        bench.environment.vinstall(
            *("download", "-d", tmp_path / "out", "--index-url", bench.index.simple_url),
            *("--profile", bench.profile(H100), "vtorch"),
        ).check()
        assert [path.name for path in (tmp_path / "out").iterdir()] == [
            "vtorch-2.0-py3-none-any-cu126.whl"
        ]

    def test_d5_only_the_cpu_build(self, bench: Bench) -> None:
        bench.publish(requires=["heavy; variant_label != 'null'"])
        bench.run("--variant", "vtorch=null", "vtorch", machine=H100)
        assert bench.label == "null"
        assert set(bench.environment.installed()) == {"vtorch"}

    @pytest.mark.parametrize("how", ["flag", "one project", "variable", "file"])
    def test_d6_one_switch_turns_variants_off(
        self, bench: Bench, how: str, isolated_home: Path
    ) -> None:
        bench.publish()
        arguments = {"flag": ["--no-variant"], "one project": ["--no-variant=vtorch"]}.get(how, [])
        variables = {"VINSTALL_NO_VARIANT": "1"} if how == "variable" else {}
        if how == "file":
            folder = isolated_home / ".config" / "vinstall"
            folder.mkdir(parents=True)
            (folder / "vinstall.toml").write_text("no-variant = true\n")
        bench.run(*arguments, "vtorch", variables=variables)
        assert bench.label == ""
        assert bench.index.count("*-variants.json") == 0

    def test_d7_a_profile_replaces_every_provider(self, bench: Bench) -> None:
        bench.publish()
        machine = nvidia_machine("12.6", "9.0")
        bench.run(
            "vtorch",
            machine=machine,
            variables={"NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": "13.0"},
        )
        assert bench.label == "cu126"

    def test_d7_unknown_keys_in_a_profile_are_errors(self, bench: Bench, tmp_path: Path) -> None:
        path = tmp_path / "bad.toml"
        path.write_text("schema = 1\nsuported = {}\n")
        result = bench.run("--profile", path, "vtorch", status=1)
        assert "suported" in result.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--no-variant", "--require-variant", "vtorch"],
            ["--no-variant=vtorch", "--variant", "vtorch=cu126"],
        ],
    )
    def test_d9_overrides_that_contradict_are_errors(
        self, bench: Bench, arguments: list[str]
    ) -> None:
        result = bench.run(*arguments, "vtorch", status=2)
        assert "vtorch" in result.stderr

    def test_d9_every_override_in_force_is_told(self, bench: Bench) -> None:
        bench.publish()
        explained = bench.environment.vinstall(
            *("explain", "--json", "--index-url", bench.index.simple_url),
            *("--profile", bench.profile(H100), "--variant", "vtorch=null", "vtorch"),
        ).check()
        told = [what for what, _ in explained.json()["overrides"]]
        assert any("vtorch=null" in what for what in told)
        assert any("profile" in what for what in told)


class TestInstalled:
    """E: what is installed, and switching."""

    def test_e1_drift_is_told_and_switched_by_an_upgrade(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=NO_GPU)
        assert bench.label == "null"
        plain = bench.run("vtorch", machine=H100)
        assert bench.label == "null"
        assert "this machine now gets cu126" in plain.stderr
        bench.run("-U", "vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_e2_a_dependency_does_not_swap_the_build_for_a_plain_one(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=H100)
        bench.index.add(make_wheel("vtorch", "3.0"))
        bench.index.add(make_wheel("addon", "1.0", requires_dist=["vtorch>=1"]))
        bench.index.add(make_wheel("greedy", "1.0", requires_dist=["vtorch>=3"]))
        bench.run("addon", machine=H100)
        assert bench.label == "cu126"
        before = bench.environment.snapshot()
        result = bench.run("greedy", machine=H100, status=1)
        assert "vtorch 2.0 cu126" in result.stderr
        assert "--allow-variant-change" in result.stderr
        assert bench.environment.snapshot() == before
        bench.run("--allow-variant-change", "greedy", machine=H100)
        assert bench.environment.installed()["vtorch"] == "3.0"

    def test_e4_two_projects_with_one_file(self, bench: Bench) -> None:
        bench.index.add(
            make_wheel("ort", files={"ort/__init__.py": "cpu"}),
            make_wheel("ort-gpu", files={"ort/__init__.py": "gpu"}),
        )
        bench.run("ort")
        before = bench.environment.snapshot()
        result = bench.run("ort-gpu", status=1)
        assert "ort/__init__.py" in result.stderr.replace("\\", "/")
        assert bench.environment.snapshot() == before

    def test_e5_uninstall_leaves_what_another_one_owns(self, bench: Bench) -> None:
        shared = {"shared/library.txt": "the same"}
        bench.index.add(
            make_wheel("one", files={**shared, "one.py": ""}),
            make_wheel("two", files={**shared, "two.py": ""}),
        )
        bench.run("one", "two")
        bench.environment.vinstall("uninstall", "-y", "one").check()
        assert (bench.environment.site_packages / "shared/library.txt").is_file()
        assert not (bench.environment.site_packages / "one.py").exists()

    def test_e7_the_variant_is_seen_everywhere(self, bench: Bench) -> None:
        bench.publish()
        report = bench.run("vtorch", "--report", "-", "-q", machine=H100).json()
        (item,) = report["install"]
        assert item["vinstall"]["label"] == "cu126"
        assert "nvidia :: cuda_version_lower_bound :: 12.6" in item["vinstall"]["supported"]
        run = bench.environment.vinstall
        assert "cu126" in run("list").check().stdout
        assert "Variant: cu126" in run("show", "vtorch").check().stdout
        assert run("freeze").check().stdout == "vtorch==2.0  # variant: cu126\n"
        again = bench.run("--dry-run", "-U", "vtorch", machine=NEW_H100)
        assert "vtorch 2.0 cu130" in again.stdout

    def test_e8_two_cuda_majors_in_one_environment_are_told(self, bench: Bench) -> None:
        bench.publish({"cu126": CUDA["cu126"]}, plain=False)
        bench.publish({"cu130": "nvidia :: cuda_version_lower_bound :: 13.0"}, "vext", plain=False)
        bench.run("vtorch", machine=NEW_H100)
        result = bench.run("vext", machine=NEW_H100)
        assert "vtorch 2.0 cu126" in result.stderr
        assert "vext 2.0 cu130" in result.stderr


class TestHashes:
    """F: locks and hashes; F1 and F2 stand in ``test_lock``."""

    def test_f3_a_file_without_a_hash_is_not_covered_by_its_siblings(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        wheels = {wheel.label: wheel for wheel in make_variant_wheels("vtorch", "2.0", CUDA)}
        for label, wheel in wheels.items():
            bench.index.add(wheel, hashes={} if label == "cu126" else None)
        listed = tmp_path / "requirements.txt"
        listed.write_text(f"vtorch==2.0 --hash=sha256:{wheels['null'].sha256}\n")
        result = bench.run("-r", listed, machine=H100, status=1)
        assert "vtorch-2.0-py3-none-any-cu126.whl" in result.stderr
        assert bench.environment.installed() == {}

    def test_f5_hash_mode_names_the_lines_and_the_way_out(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "pyproject.toml").write_text("[project]\nname='p'\nversion='1'\n")
        listed = tmp_path / "requirements.txt"
        listed.write_text(f"a==1 --hash=sha256:{'0' * 64}\nb\n")
        result = bench.run("-r", listed, status=1)
        assert f"{listed}:2" in result.stderr
        assert "--hash" in result.stderr

    @pytest.mark.parametrize(("listed", "label"), [("null", "null"), ("cu126", "cu126")])
    def test_f8_listed_hashes_choose_among_the_builds(
        self, bench: Bench, tmp_path: Path, listed: str, label: str
    ) -> None:
        wheels = {wheel.label: wheel for wheel in make_variant_wheels("vtorch", "2.0", CUDA)}
        bench.index.add(*wheels.values())
        file = tmp_path / "requirements.txt"
        file.write_text(f"vtorch==2.0 --hash=sha256:{wheels[listed].sha256}\n")
        bench.run("-r", file, machine=NEW_H100)
        assert bench.label == label

    def test_f8_only_unusable_builds_are_listed(self, bench: Bench, tmp_path: Path) -> None:
        wheels = {wheel.label: wheel for wheel in make_variant_wheels("vtorch", "2.0", CUDA)}
        bench.index.add(*wheels.values())
        file = tmp_path / "requirements.txt"
        file.write_text(f"vtorch==2.0 --hash=sha256:{wheels['cu130'].sha256}\n")
        result = bench.run("-r", file, machine=H100, status=1)
        assert "cu130" in result.stderr


class TestFormat:
    """G: corners of the variant format."""

    JSON = "/files/vtorch-2.0-variants.json"

    @pytest.mark.parametrize(
        "fault",
        [
            Replaced(b'{"variants": {'),
            HtmlPage(),
            Status(404),
            Status(500),
            Replaced(b"[" * 100_000),
            Replaced(b'{"$schema": "https://x/v9.0.0.json"}'),
        ],
        ids=["truncated", "html", "404", "500", "nested", "unknown major"],
    )
    def test_g1_a_broken_file_costs_a_warning(self, bench: Bench, fault: object) -> None:
        bench.publish()
        bench.index.add(make_wheel("vtorch", "1.0"))
        bench.index.fail(self.JSON, fault)  # type: ignore[arg-type]
        result = bench.run("--retries", "0", "vtorch", machine=H100)
        assert bench.label == "cu126"
        assert bench.environment.installed() == {"vtorch": "2.0"}
        assert result.stderr.count("WARNING") == 1
        assert "vtorch-2.0-variants.json" in result.stderr

    def test_g1_strict_makes_the_warning_an_error(self, bench: Bench) -> None:
        bench.publish()
        bench.index.fail(self.JSON, Replaced(b"{"))
        result = bench.run("--strict-variants", "vtorch", machine=H100, status=1)
        assert "vtorch-2.0-variants.json" in result.stderr
        assert bench.environment.installed() == {}

    def test_g2_a_mirror_without_the_file(self, bench: Bench) -> None:
        bench.publish()
        bench.index.remove("vtorch-2.0-variants.json")
        bench.run("vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_g2_a_mirror_without_the_file_and_without_ranges(self, bench: Bench) -> None:
        bench.publish()
        bench.index.remove("vtorch-2.0-variants.json")
        bench.index.fail("/files/*.whl", IgnoreRange())
        bench.run("vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_g4_markers_with_and_without_blanks(self, bench: Bench) -> None:
        bench.publish(
            requires=[
                "one; 'nvidia::sm_arch' in variant_features",
                "two; 'nvidia  ::  sm_arch :: 90_real' in variant_properties",
                "three; 'nvidia :: sm_arch :: 61_real' in variant_properties",
                "four; variant_label not in 'null' and extra == 'more'",
                "five; 'amd' not in variant_namespaces",
            ],
            extras=["more"],
        )
        for name in ("one", "two", "three", "four", "five"):
            bench.index.add(make_wheel(name))
        bench.run("vtorch[more]", machine=H100)
        assert set(bench.environment.installed()) == {"vtorch", "one", "two", "four", "five"}

    def test_g4_markers_where_they_are_not_legal(self, bench: Bench, tmp_path: Path) -> None:
        file = tmp_path / "requirements.txt"
        file.write_text("a; 'nvidia' in variant_namespaces\n")
        result = bench.run("-r", file, status=1)
        assert f"{file}:1" in result.stderr
        assert "variant_namespaces" in result.stderr

    def test_g6_build_tag_and_label(self, bench: Bench) -> None:
        for build in ("1", "2b"):
            bench.index.add(
                make_wheel(
                    "vtorch",
                    build=build,
                    label="cu126",
                    properties=CUDA["cu126"],
                    files={"vtorch.py": f"VARIANT = 'build {build}'"},
                )
            )
        bench.run("vtorch", machine=H100)
        assert bench.label == "build 2b"

    def test_g9_the_next_build_before_an_older_version(self, bench: Bench) -> None:
        bench.publish(requires=["nowhere; variant_label == 'cu126'"])
        bench.index.add(make_wheel("vtorch", "1.0"))
        bench.run("vtorch", machine=H100)
        assert bench.label == "null"
        assert bench.environment.installed() == {"vtorch": "2.0"}

    @pytest.mark.parametrize("installed_first", [True, False])
    def test_g10_an_extension_follows_its_framework(
        self, bench: Bench, installed_first: bool
    ) -> None:
        bench.index.add(make_wheel("vtorch", "1.0.1"), make_wheel("vtorch", "2.0.0"))
        builds = {f"t{n}": f"abi_dependency :: vtorch :: {n}.0" for n in (1, 2)}
        bench.publish(builds, "vext", "5.0", plain=False, requires=["vtorch"])
        if installed_first:
            bench.run("vtorch<2")
            bench.run("vext")
        else:
            bench.run("vext", "vtorch<2")
        assert bench.environment.installed() == {"vext": "5.0", "vtorch": "1.0.1"}
        assert bench.environment.label("vext") == "t1"

    def test_g11_nothing_is_ever_asked(self, bench: Bench) -> None:
        bench.publish()
        bench.run("vtorch", machine=H100)
        assert bench.label == "cu126"

    def test_g12_a_folder_of_variant_wheels(self, bench: Bench, tmp_path: Path) -> None:
        folder = tmp_path / "wheels"
        folder.mkdir()
        for wheel in make_variant_wheels("vtorch", "2.0", CUDA):
            wheel.write_to(folder)
        bench.environment.vinstall(
            *("install", "--no-index", "--find-links", folder),
            *("--profile", bench.profile(H100), "vtorch"),
        ).check()
        assert bench.label == "cu126"

    def test_g12_a_wheel_given_directly_names_what_it_needs(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        wheels = {wheel.label: wheel for wheel in make_variant_wheels("vtorch", "2.0", CUDA)}
        result = bench.run(wheels["cu130"].write_to(tmp_path), machine=H100, status=1)
        assert "13.0" in result.stderr
        bench.run(wheels["cu126"].write_to(tmp_path), machine=H100)
        assert bench.label == "cu126"

    def test_g13_only_unsupported_builds_tell_everything(self, bench: Bench) -> None:
        bench.publish({"cu130": CUDA["cu130"]}, plain=False)
        result = bench.run("vtorch", machine=H100, status=1)
        for part in ("cu130", "cuda_version_lower_bound :: 13.0", "12.8"):
            assert part in result.stderr


class TestForeign:
    """Profiles and platforms of other machines (product.md, decisions)."""

    def test_the_hardware_of_this_machine_never_leaks(self, bench: Bench) -> None:
        bench.publish({"v1": "x86_64 :: level :: v1", "null": ""})
        result = bench.run(
            *("--dry-run", "--platform", "linux_x86_64", "--only-binary", ":all:"),
            *("--report", "-", "-q", "vtorch"),
        )
        (item,) = result.json()["install"]
        assert item["vinstall"]["label"] == "null"
        assert "another machine" in json.dumps(item["vinstall"])

    def test_several_indexes(self, bench: Bench, make_index: Callable[..., SimpleIndex]) -> None:
        second = make_index()
        bench.publish({"cu130": CUDA["cu130"]})
        second.add(*make_variant_wheels("vtorch", "2.0", {"cu126": CUDA["cu126"]}, plain=False))
        extra = ("--extra-index-url", second.simple_url)
        bench.run(*extra, "vtorch", machine=H100)
        assert bench.label == "cu126"
        bench.run(
            *extra,
            "--force-reinstall",
            "--index-pin",
            f"vtorch={bench.index.simple_url}",
            "vtorch",
            machine=H100,
        )
        assert bench.label == ""


def test_an_explanation_as_a_page_and_a_picture(bench: Bench, tmp_path: Path) -> None:
    bench.publish()
    page, picture = tmp_path / "explained.html", tmp_path / "explained.svg"
    bench.environment.vinstall(
        *("explain", "--html", page, "--svg", picture, "--index-url", bench.index.simple_url),
        *("--profile", bench.profile(H100), "vtorch"),
    ).check()
    html = page.read_text()
    assert html.startswith("<!DOCTYPE html>")
    assert "<title>vinstall explain vtorch</title>" in html
    for label in CUDA:
        assert label in html
    assert picture.read_text().startswith("<svg")


class TestSlips:
    """Slips of the finger must not look like success."""

    def test_a_mistyped_command_is_not_a_project(self, bench: Bench) -> None:
        bench.index.add(make_wheel("lst"))
        result = bench.environment.vinstall("lst", "--index-url", bench.index.simple_url).check(1)
        assert 'maybe you meant "list"' in result.stderr
        bench.run("lst")
        assert bench.environment.installed() == {"lst": "1.0"}

    def test_a_label_is_not_satisfied_by_another_build(self, bench: Bench) -> None:
        bench.publish()
        bench.run("--no-variant", "vtorch")
        bench.run("--variant", "vtorch=nowhere", "vtorch", machine=H100, status=1)
        bench.run("--variant", "vtorch=null", "vtorch", machine=H100)
        assert bench.label == "null"

    @pytest.mark.parametrize("wish", [["--variant", "typo=x"], ["--require-variant", "typo"]])
    def test_a_wish_for_something_else_is_told(self, bench: Bench, wish: list[str]) -> None:
        bench.publish()
        result = bench.run(*wish, "vtorch", machine=H100)
        assert "typo, which is not part of this install" in result.stderr
