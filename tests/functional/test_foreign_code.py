"""What could bring in foreign code or give away a secret is said, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.faults import Redirect
from tests.support.index import HTML_TYPE
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.environments import Environment
    from tests.support.index import SimpleIndex

SHARED = "On more than one index: demo, needed."


def test_projects_on_two_indexes_are_named_once(
    make_index: Callable[[], SimpleIndex], environment: Environment
) -> None:
    first, second = make_index(), make_index()
    for index in (first, second):
        index.add(make_wheel("demo", requires_dist=["needed"]), make_wheel("needed"))
    first.add(make_wheel("alone"))
    options = ("--index-url", first.simple_url, "--extra-index-url", second.simple_url)
    words = ("install", "--force-reinstall", *options, "demo", "alone")
    result = environment.vinstall(*words).check()
    assert result.stdout.count(SHARED) == 1
    assert "--index-pin" in result.stdout
    pins = [f"--index-pin={name}={first.simple_url}" for name in ("demo", "needed")]
    assert "more than one index" not in environment.vinstall(*words, *pins).check().stdout


def test_files_that_python_runs_at_start_are_named(
    index: SimpleIndex, environment: Environment
) -> None:
    index.add(
        make_wheel("demo", files={"demo.py": "", "demo.pth": "import demo\n", "a/b.pth": "x\n"}),
        make_wheel("other", files={"sitecustomize.py": ""}, data={"purelib/o.pth": "a\n"}),
        make_wheel("plain"),
    )
    result = environment.vinstall(
        "install", "--index-url", index.simple_url, "demo", "other", "plain"
    ).check()
    (line,) = [line for line in result.stdout.splitlines() if "at every start" in line]
    assert "demo.pth of demo" in line
    assert "o.pth, sitecustomize.py of other" in line
    assert "b.pth" not in line
    assert "plain" not in line


@pytest.mark.parametrize("folder", ["..", "/"])
def test_a_file_link_of_a_remote_page_is_no_link(
    index: SimpleIndex, environment: Environment, tmp_path: Path, folder: str
) -> None:
    wheel = make_wheel("demo")
    path = wheel.write_to(tmp_path)
    index.add(wheel)
    href = f"file://{path}" if folder == "/" else f"file:{path}"
    page = f'<!DOCTYPE html><a href="{href}">{wheel.filename}</a>'
    index.set_page("/simple/demo/", page, HTML_TYPE)
    result = environment.vinstall("install", "--index-url", index.simple_url, "demo")
    assert result.returncode == 1, result
    assert environment.installed() == {}


@pytest.mark.parametrize("scheme", ["file", "ftp", "data"])
@pytest.mark.parametrize("what", ["page", "file"])
def test_a_redirect_to_another_scheme_is_refused(
    index: SimpleIndex, environment: Environment, tmp_path: Path, scheme: str, what: str
) -> None:
    wheel = make_wheel("demo")
    path = wheel.write_to(tmp_path)
    index.add(wheel)
    place = "/simple/demo/" if what == "page" else f"/files/{wheel.filename}"
    index.fail(place, Redirect(f"{scheme}://{path}"))
    options = ("--index-url", index.simple_url, "--retries", "0", "--no-cache-dir")
    result = environment.vinstall("install", *options, "demo")
    assert result.returncode == 1, result
    assert "Traceback" not in result.stderr
    assert environment.installed() == {}


def test_secrets_are_masked_everywhere(
    make_index: Callable[..., SimpleIndex], environment: Environment, tmp_path: Path
) -> None:
    secret = "s3cr3t-w0rd"
    index = make_index(credentials=("person", secret))
    index.add(make_wheel("demo", requires_dist=["missing"]), make_wheel("good"))
    url = index.url_with_credentials("person", secret)
    url = url.rstrip("/") + ("" if url.endswith("/simple/") else "/simple/")
    log, report = tmp_path / "log.txt", tmp_path / "report.json"
    options = ("-vvv", "--log", log, "--report", report, "--index-url", url)
    good = environment.vinstall("install", *options, "good").check()
    bad = environment.vinstall("install", *options, "demo")
    assert bad.returncode == 1
    for result in (good, bad):
        assert secret not in result.stdout + result.stderr
    assert report.is_file()
    assert log.is_file()
    for folder in (environment.path, environment.home, tmp_path):
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                assert secret.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    "line",
    [
        "demo\\n = demo:main; rm -rf /",
        "../demo = demo:main",
        "demo = demo:main(); import os",
        "demo = demo:main\\x00",
        "demo = os;system:x",
        "demo = demo:a b",
        "$(touch x) = demo:main;",
    ],
)
def test_entry_points_hold_no_code(index: SimpleIndex, environment: Environment, line: str) -> None:
    text = line.encode().decode("unicode_escape")
    index.add(make_wheel("demo", dist_info={"entry_points.txt": f"[console_scripts]\n{text}\n"}))
    result = environment.vinstall("install", "--index-url", index.simple_url, "demo")
    assert result.returncode == 1, result
    assert "Traceback" not in result.stderr
    assert [path.name for path in environment.site_packages.iterdir()] == [".vinstall-lock"]


@pytest.mark.parametrize("options", [(), ("--compile",)])
def test_installing_wheels_runs_nothing_of_theirs(
    index: SimpleIndex, environment: Environment, tmp_path: Path, options: tuple[str, ...]
) -> None:
    marker = tmp_path / "marker"
    code = f"import pathlib; pathlib.Path({str(marker)!r}).write_text('ran')\n"
    index.add(
        make_wheel(
            "demo",
            files={"demo.py": code, "demo.pth": code, "sitecustomize.py": code, "setup.py": code},
            entry_points={"console_scripts": ["demo = demo:main"], "variant_plugins": ["x = demo"]},
        ),
        make_wheel("other"),
    )
    words = ("install", "--index-url", index.simple_url, *options)
    environment.vinstall(*words, "demo").check()
    environment.vinstall(*words, "other").check()
    environment.vinstall("list").check()
    environment.vinstall("check", "--repair", "--index-url", index.simple_url).check()
    environment.vinstall("uninstall", "--yes", "demo").check()
    assert not marker.exists()
