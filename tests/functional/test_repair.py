"""``check --repair`` and ``cache check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.profiles import write_profile, x86_machine
from tests.support.wheels import make_variant_wheels, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex


def test_missing_and_altered_files_come_back(index: SimpleIndex, environment: Environment) -> None:
    for version in ("1.0", "2.0"):
        files = {"demo/a.py": f"A = {version}", "demo/b.py": "B = 1", "demo/c.py": "C = 1"}
        index.add(
            make_wheel("demo", version, files=files, requires_dist=["needed"]),
            make_wheel("needed", version),
        )
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo==1.0", "needed==1.0").check()
    whole = environment.snapshot()
    (environment.site_packages / "demo" / "a.py").unlink()
    altered = environment.site_packages / "demo" / "b.py"
    altered.unlink()  # the file may be a link into the cache
    altered.write_text("B = 2")
    result = environment.vinstall("check", "--repair", *options).check()
    assert "demo 1.0: demo/a.py is missing\n" in result.stdout
    assert "demo 1.0: demo/b.py is altered\n" in result.stdout
    assert "demo/c.py" not in result.stdout
    assert environment.snapshot() == whole
    assert "is missing" not in environment.vinstall("check", "--repair", *options).check().stdout


def test_a_needed_project_does_not_become_requested(
    index: SimpleIndex, environment: Environment
) -> None:
    index.add(make_wheel("demo", requires_dist=["needed"]), make_wheel("needed"))
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo").check()
    whole = environment.snapshot()
    (environment.site_packages / "needed.py").unlink()
    environment.vinstall("check", "--repair", *options).check()
    assert environment.snapshot() == whole


def test_the_same_variant_comes_back(
    index: SimpleIndex, environment: Environment, tmp_path: Path
) -> None:
    labels = {"v3": "x86_64 :: level :: v3", "v2": "x86_64 :: level :: v2", "null": ""}
    index.add(*make_variant_wheels("sample", "1.0", labels))
    options = ("--index-url", index.simple_url)
    old = write_profile(tmp_path / "old.toml", x86_machine(2))
    environment.vinstall("install", *options, "--profile", old, "sample").check()
    module = environment.site_packages / "sample.py"
    module.unlink()
    environment.vinstall("check", "--repair", *options).check()
    assert environment.label("sample") == "v2"


def test_what_can_not_be_repaired_is_said(index: SimpleIndex, environment: Environment) -> None:
    index.add(make_wheel("demo"))
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo").check()
    (environment.dist_info("demo") / "RECORD").unlink()
    result = environment.vinstall("check", "--repair", *options).check(1)
    assert "demo 1.0 can not be repaired: its files are unknown" in result.stderr


def test_a_damaged_store_is_found_and_replaced(
    index: SimpleIndex, environment: Environment
) -> None:
    index.add(make_wheel("demo", files={"demo.py": "A = 1\n", "other.py": "B = 1\n"}))
    options = ("--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo").check()
    assert "removed: 0" in environment.vinstall("cache", "check", target=False).check().stdout
    (stored,) = environment.home.rglob("store-v2/*/*/files/demo.py")
    stored.unlink()
    stored.write_text("A = 2\n")
    result = environment.vinstall("cache", "check", target=False).check(1)
    assert "altered: demo.py" in result.stdout
    assert not stored.exists()
    environment.vinstall("install", *options, "--force-reinstall", "demo").check()
    assert (environment.site_packages / "demo.py").read_text() == "A = 1\n"
    assert "removed: 0" in environment.vinstall("cache", "check", target=False).check().stdout
