"""Flags > VINSTALL_* > PIP_* > files > defaults, with pip's history kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vinstall.cli.config_files import Surroundings
from vinstall.cli.parser import OptionConflictError, parse_command_line
from vinstall.cli.precedence import Merged, merge_settings, target_prefix
from vinstall.errors import ConfigurationError, UsageError
from vinstall.settings import PYPI_URL, Names, Settings
from vinstall.variants.properties import VariantPattern


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file system of its own: home, prefix, system folders and a project."""
    for name in ("home", "prefix", "system", "project"):
        (tmp_path / name).mkdir()
    return tmp_path


def surroundings(place: Path, **environment: str) -> Surroundings:
    variables = {"HOME": str(place / "home"), **environment}
    return Surroundings(
        variables,
        str(place / "project"),
        "linux",
        str(place / "prefix"),
        str(place / "base"),
        str(place / "system"),
    )


def merge(place: Path, line: str, **environment: str) -> Merged:
    return merge_settings(parse_command_line(line.split()), surroundings(place, **environment))


def settings(place: Path, line: str, **environment: str) -> Settings:
    return merge(place, line, **environment).settings


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def user_file(place: Path, text: str) -> Path:
    return write(place / "home/.config/pip/pip.conf", text)


def test_defaults(place: Path) -> None:
    merged = settings(place, "install torch")
    assert merged.request.requirements == ("torch",)
    assert merged.index.index_url == PYPI_URL
    assert merged.index.timeout == 15
    assert merged.index.retries == 5
    assert not merged.compile
    assert merged.warn_script_location
    assert merged.target.user is None
    assert merged.resolve.require_hashes is None
    assert merged.cache_dir == str(place / "home/.cache/vinstall")
    assert merged.overrides == ()


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ("command line", "VINSTALL_TIMEOUT"),
        ("VINSTALL_TIMEOUT", "PIP_TIMEOUT"),
        ("PIP_TIMEOUT", "PIP_CONFIG_FILE"),
        ("PIP_CONFIG_FILE", "site"),
        ("site", "user"),
        ("user", "old user"),
        ("old user", "system"),
        ("system", "shared"),
    ],
)
def test_order_of_sources(place: Path, stronger: str, weaker: str) -> None:
    environment = {}
    line = "install x"
    for source, value in ((weaker, "2"), (stronger, "3")):
        text = f"[global]\ntimeout = {value}\n"
        if source == "command line":
            line = f"install --timeout {value} x"
        elif source == "PIP_CONFIG_FILE":
            environment[source] = str(write(place / "named.conf", text))
        elif source in ("VINSTALL_TIMEOUT", "PIP_TIMEOUT"):
            environment[source] = value
        else:
            where = {
                "site": "prefix/pip.conf",
                "user": "home/.config/pip/pip.conf",
                "old user": "home/.pip/pip.conf",
                "system": "system/pip.conf",
                "shared": "system/xdg/pip/pip.conf",
            }[source]
            write(place / where, text)
    assert settings(place, line, **environment).index.timeout == 3


def test_our_files_beat_those_of_pip(place: Path) -> None:
    write(place / "prefix/pip.conf", "[install]\ntimeout = 2\n")
    write(place / "home/.config/vinstall/vinstall.toml", "timeout = 3\n")
    assert settings(place, "install x").index.timeout == 3
    assert settings(place, "install x", PIP_TIMEOUT="4").index.timeout == 4


def test_the_section_of_the_command_beats_global_of_any_file(place: Path) -> None:
    write(place / "system/pip.conf", "[install]\ntimeout = 2\n[list]\ntimeout = 9\n")
    write(place / "prefix/pip.conf", "[global]\ntimeout = 3\n")
    assert settings(place, "install x").index.timeout == 2
    assert settings(place, "list").index.timeout == 9
    assert settings(place, "freeze").index.timeout == 3


def test_an_empty_value_of_a_stronger_file_takes_the_weaker_away(place: Path) -> None:
    user_file(place, "[global]\ntimeout = 2\n")
    write(place / "prefix/pip.conf", "[global]\ntimeout =\n")
    assert settings(place, "install x").index.timeout == 15


def test_an_empty_variable_is_ignored(place: Path) -> None:
    user_file(place, "[global]\ntimeout = 2\n")
    assert settings(place, "install x", PIP_TIMEOUT="", VINSTALL_TIMEOUT="").index.timeout == 2


def test_lists_replace_between_levels_and_the_command_line_adds(place: Path) -> None:
    user_file(
        place,
        "[global]\nextra-index-url = https://a.test\n[install]\n"
        "extra-index-url =\n    https://b.test\n    https://c.test\n",
    )
    assert settings(place, "install x").index.extra_index_urls == (
        "https://b.test",
        "https://c.test",
    )
    assert settings(
        place, "install --extra-index-url https://e.test x", PIP_EXTRA_INDEX_URL="https://d.test"
    ).index.extra_index_urls == ("https://d.test", "https://e.test")


def test_counters_of_the_command_line_add(place: Path) -> None:
    assert settings(place, "install x", PIP_QUIET="2").output.verbosity == -2
    assert settings(place, "install -v x", PIP_VERBOSE="1").output.verbosity == 2
    assert settings(place, "install x", PIP_VERBOSE="true").output.verbosity == 1


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "y", "t", "TRUE"])
def test_true_words(place: Path, word: str) -> None:
    assert settings(place, "install x", PIP_NO_INDEX=word).index.no_index


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "n", "f"])
def test_false_words(place: Path, word: str) -> None:
    assert not settings(place, "install x", PIP_NO_INDEX=word).index.no_index


@pytest.mark.parametrize("word", ["1", "true", "0", "false", "no"])
def test_pips_no_cache_dir_turns_the_cache_off_whatever_it_says(place: Path, word: str) -> None:
    assert settings(place, "install x", PIP_NO_CACHE_DIR=word).cache_dir == ""


def test_pips_no_cache_dir_beats_its_cache_dir_but_not_the_command_line(place: Path) -> None:
    both = {"PIP_NO_CACHE_DIR": "1", "PIP_CACHE_DIR": "/c"}
    assert settings(place, "install x", **both).cache_dir == ""
    user_file(place, "[global]\nno-cache-dir = true\n")
    assert settings(place, "install x", PIP_CACHE_DIR="/c").cache_dir == ""
    assert settings(place, "install --cache-dir /d x", **both).cache_dir == "/d"


def test_an_empty_no_cache_dir_leaves_the_cache_on(place: Path) -> None:
    assert settings(place, "install x", PIP_NO_CACHE_DIR="").cache_dir != ""


def test_our_no_cache_dir_means_what_it_says(place: Path) -> None:
    assert settings(place, "install x", VINSTALL_NO_CACHE_DIR="1").cache_dir == ""
    assert settings(place, "install x", VINSTALL_NO_CACHE_DIR="0").cache_dir != ""


def test_a_cache_named_for_pip_is_shared_in_a_folder_of_our_own(place: Path) -> None:
    assert settings(place, "install x", PIP_CACHE_DIR="/c").cache_dir == str(Path("/c/vinstall"))
    assert settings(place, "install x", VINSTALL_CACHE_DIR="/c").cache_dir == "/c"
    assert settings(place, "install x", XDG_CACHE_HOME="/x").cache_dir == "/x/vinstall"


@pytest.mark.parametrize(
    ("variable", "word", "compiled"),
    [
        ("PIP_NO_COMPILE", "1", True),
        ("PIP_NO_COMPILE", "0", False),
        ("PIP_COMPILE", "1", True),
        ("PIP_COMPILE", "0", False),
        ("VINSTALL_NO_COMPILE", "1", False),
        ("VINSTALL_NO_COMPILE", "0", True),
    ],
)
def test_no_compile_reads_the_other_way_round(
    place: Path, variable: str, word: str, compiled: bool
) -> None:
    assert settings(place, "install x", **{variable: word}).compile is compiled


def test_other_inverted_switches(place: Path) -> None:
    assert not settings(place, "install x", PIP_NO_BUILD_ISOLATION="1").request.no_build_isolation
    assert settings(place, "install x", PIP_NO_BUILD_ISOLATION="0").request.no_build_isolation
    assert settings(place, "install --no-build-isolation x").request.no_build_isolation
    assert settings(place, "install x", PIP_NO_WARN_SCRIPT_LOCATION="1").warn_script_location
    assert not settings(place, "install x", PIP_NO_WARN_SCRIPT_LOCATION="0").warn_script_location


def test_user_and_its_opposite(place: Path) -> None:
    assert settings(place, "install x", PIP_USER="1").target.user is True
    assert settings(place, "install x", PIP_USER="no").target.user is False
    assert settings(place, "install --no-user x", PIP_USER="1").target.user is False


def test_devnull_turns_all_files_of_pip_off(place: Path) -> None:
    user_file(place, "[global]\ntimeout = 2\n")
    write(place / "prefix/pip.conf", "[global]\nretries = 2\n")
    merged = settings(place, "install x", PIP_CONFIG_FILE=os.devnull)
    assert (merged.index.timeout, merged.index.retries) == (15, 5)


def test_the_user_file_is_not_read_where_a_named_one_exists(place: Path) -> None:
    user_file(place, "[global]\ntimeout = 2\n")
    named = write(place / "named.conf", "[global]\nretries = 2\n")
    merged = settings(place, "install x", PIP_CONFIG_FILE=str(named))
    assert (merged.index.timeout, merged.index.retries) == (15, 2)
    missing = settings(place, "install x", PIP_CONFIG_FILE=str(place / "missing.conf"))
    assert missing.index.timeout == 2


def test_isolated_ignores_variables_and_the_users_files(place: Path) -> None:
    user_file(place, "[global]\ntimeout = 2\n")
    write(place / "home/.config/vinstall/vinstall.toml", "retries = 2\n")
    write(place / "project/pyproject.toml", "[tool.vinstall]\nno-variant = true\n")
    merged = settings(
        place, "install --isolated x", PIP_INDEX_URL="https://a.test", VINSTALL_GPU="best"
    )
    assert (merged.index.timeout, merged.index.retries) == (15, 5)
    assert merged.index.index_url == PYPI_URL
    assert merged.variants.gpu == "all"
    assert not merged.variants.disabled
    assert merged.target.isolated


def test_isolated_keeps_the_file_of_the_system_as_pip_does(place: Path) -> None:
    write(place / "system/pip.conf", "[global]\ntimeout = 2\n")
    assert settings(place, "--isolated install x").index.timeout == 2


def test_percent_signs_and_odd_spellings_of_keys(place: Path) -> None:
    user_file(place, "[global]\n--index_url = https://u:p%40w@a.test/%(x)s\n")
    assert settings(place, "install x").index.index_url == "https://u:p%40w@a.test/%(x)s"


def test_unknown_keys_of_pip_are_ignored(place: Path) -> None:
    user_file(place, "[global]\nnonsense = 1\nno-variant = true\n[other]\ntimeout = 1\n")
    merged = settings(place, "install x", PIP_NONSENSE="1", PIP_NO_VARIANT="1")
    assert not merged.variants.disabled
    assert merged.index.timeout == 15


@pytest.mark.parametrize("text", ["timeout = 1\n", "[global\n", "[global]\na = 1\na = 2\n"])
def test_a_broken_file_is_told_in_three_parts(place: Path, text: str) -> None:
    path = user_file(place, text)
    with pytest.raises(ConfigurationError) as caught:
        merge(place, "install x")
    error = caught.value
    assert error.exit_code == 2
    assert error.what == "Configuration file could not be loaded"
    assert str(path) in error.why
    assert "\n" not in error.why
    assert error.fix


def test_a_file_that_is_no_text(place: Path) -> None:
    path = user_file(place, "")
    path.write_bytes(b"[global]\nindex-url = \xff\xfe\n")
    with pytest.raises(ConfigurationError) as caught:
        merge(place, "install x")
    assert str(path) in caught.value.why


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("PIP_NO_INDEX", "maybe", "yes and no"),
        ("PIP_TIMEOUT", "soon", "a number"),
        ("PIP_RETRIES", "many", "a whole number"),
        ("PIP_VERBOSE", "-1", "0 or more"),
        ("PIP_PROGRESS_BAR", "fancy", "auto, on, off, raw"),
        ("PIP_NO_CACHE_DIR", "perhaps", "yes and no"),
        ("VINSTALL_NO_PROVIDERS", "maybe", "yes and no"),
        ("VINSTALL_GPU", "one", "all, best"),
        ("VINSTALL_VARIANT", "cu128", "NAME=LABEL"),
        ("VINSTALL_VARIANT", "torch=CU128", "torch=cu128"),
        ("VINSTALL_REQUIRE_VARIANT", "torch=NV", "torch=nvidia"),
        ("VINSTALL_PREFER_VARIANT", "a :: b :: c :: d", "nvidia"),
        ("VINSTALL_EXCLUDE_VARIANT", "No Good", "nvidia"),
        ("VINSTALL_ENABLE_PROVIDER", "NV!", "nvidia"),
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "cu128", "12.8"),
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "12,8", "12.8"),
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "13.", "12.8"),
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "", "12.8"),
        ("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "sm90", "9.0"),
        ("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "942", "gfx942"),
        ("AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION", "rocm6", "6.4"),
    ],
)
def test_a_wrong_override_names_the_variable_and_the_form(
    place: Path, name: str, value: str, accepted: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        merge(place, "install x", **{name: value})
    error = caught.value
    assert name in error.what
    assert accepted in f"{error.why} {error.fix}"


def test_provider_variables_do_not_matter_without_variants(place: Path) -> None:
    wrong = {"NV_VARIANT_PROVIDER_FORCE_SM_ARCH": "nonsense"}
    assert settings(place, "install --no-variant x", **wrong).overrides == (
        ("--no-variant", "command line"),
    )
    assert settings(place, "freeze", **wrong).overrides == ()


def test_an_unknown_variable_of_ours_is_told(place: Path) -> None:
    merged = merge(place, "install x", VINSTALL_NO_VARIENT="1", VINSTALL_YES="1")
    assert [warning.what for warning in merged.warnings] == [
        "VINSTALL_NO_VARIENT is not a setting of vinstall and is ignored"
    ]


def test_every_variant_option_has_a_variable(place: Path) -> None:
    variants = settings(
        place,
        "install x",
        VINSTALL_NO_VARIANT="Foo_Bar, baz",
        VINSTALL_VARIANT="torch=cu128 numpy=null",
        VINSTALL_PREFER_VARIANT="nvidia :: sm_arch :: 90_real, x86_64",
        VINSTALL_EXCLUDE_VARIANT="amd",
        VINSTALL_REQUIRE_VARIANT="torch=nvidia scipy",
        VINSTALL_PROFILE="gpu.toml",
        VINSTALL_TRUST_PROVIDER="Some.Provider other",
        VINSTALL_ENABLE_PROVIDER="nvidia amd",
        VINSTALL_NO_PROVIDERS="yes",
        VINSTALL_GPU="best",
        VINSTALL_ALLOW_VARIANT_CHANGE="1",
        VINSTALL_STRICT_VARIANTS="1",
    ).variants
    assert variants.disabled == Names(names=frozenset({"foo-bar", "baz"}))
    assert variants.labels == {"torch": "cu128", "numpy": "null"}
    assert variants.prefer == (
        VariantPattern("nvidia", "sm_arch", "90_real"),
        VariantPattern("x86_64"),
    )
    assert variants.exclude == (VariantPattern("amd"),)
    assert variants.required == {"torch": "nvidia", "scipy": ""}
    assert variants.profile == "gpu.toml"
    assert variants.trusted == ("some-provider", "other")
    assert variants.enabled == frozenset({"nvidia", "amd"})
    assert variants.no_providers
    assert variants.gpu == "best"
    assert variants.allow_change
    assert variants.strict


def test_variants_off_altogether_and_on_again(place: Path) -> None:
    assert settings(place, "install --no-variant x").variants.disabled.everything
    assert settings(place, "install x", VINSTALL_NO_VARIANT="1").variants.disabled.everything
    write(place / "home/.config/vinstall/vinstall.toml", "no-variant = true\n")
    assert settings(place, "install x").variants.disabled.everything
    assert not settings(place, "install x", VINSTALL_NO_VARIANT="0").variants.disabled


def test_our_files(place: Path) -> None:
    write(
        place / "project/pyproject.toml",
        "[tool.vinstall]\n"
        'extra-index-url = ["https://a.test"]\n'
        'no-variant = ["foo"]\n'
        'no-binary = ["a", "b"]\n'
        "timeout = 2.5\n"
        "[tool.vinstall.variant]\n"
        'torch = "cu128"\n'
        "[tool.vinstall.index-pin]\n"
        'torch = "https://t.test"\n'
        "[tool.vinstall.install]\n"
        "no-compile = false\n"
        "[tool.vinstall.list]\n"
        "retries = 1\n",
    )
    merged = settings(place, "install x")
    assert merged.index.extra_index_urls == ("https://a.test",)
    assert merged.variants.disabled == Names(names=frozenset({"foo"}))
    assert merged.resolve.no_binary == Names(names=frozenset({"a", "b"}))
    assert merged.index.timeout == 2.5
    assert merged.variants.labels == {"torch": "cu128"}
    assert merged.index.pins == {"torch": "https://t.test"}
    assert merged.compile
    assert merged.index.retries == 5
    assert settings(place, "list").index.retries == 1


@pytest.mark.parametrize(
    "line",
    [
        'trusted-providers = ["evil"]',
        'trust-provider = "evil"',
        'Trusted_Providers = ["evil"]',
        'enabled-providers = ["evil"]',
        'python = "./evil"',
        'cache-dir = "evil"',
        'log = "evil"',
        '[tool.vinstall.install]\ntrusted-providers = ["evil"]',
        '[tool.vinstall.list]\ntrusted-providers = ["evil"]',
    ],
)
def test_a_project_can_not_let_code_run(place: Path, line: str) -> None:
    path = write(place / "project/pyproject.toml", f"[tool.vinstall]\n{line}\n")
    with pytest.raises(ConfigurationError) as caught:
        settings(place, "install x")
    assert "can not be set by a project" in caught.value.what
    assert str(path) in caught.value.fix


def test_the_user_can_trust_providers_in_every_other_place(place: Path) -> None:
    for path in (place / "home/.config/vinstall/vinstall.toml", place / "prefix/vinstall.toml"):
        write(path, 'trusted-providers = ["Some_Provider"]\n')
        assert settings(place, "install x").variants.trusted == ("some-provider",)
        path.unlink()
    merged = settings(place, "install x", VINSTALL_TRUSTED_PROVIDERS="Some_Provider other")
    assert merged.variants.trusted == ("some-provider", "other")


def test_the_nearest_project_file_alone_is_read(place: Path) -> None:
    write(place / "pyproject.toml", "[tool.vinstall]\nno-variant = true\n")
    assert settings(place, "install x").variants.disabled.everything
    write(place / "project/pyproject.toml", '[project]\nname = "x"\n')
    assert not settings(place, "install x").variants.disabled


def test_the_order_of_our_files(place: Path) -> None:
    (place / "active").mkdir()
    files = [
        place / "home/.config/vinstall/vinstall.toml",
        place / "prefix/vinstall.toml",
        place / "active/vinstall.toml",
    ]
    for number, path in enumerate(files, start=1):
        write(path, f"timeout = {number}\n")
        active = {"VIRTUAL_ENV": str(place / "active")}
        assert settings(place, "install x", **active).index.timeout == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no-varient = true\n", "no-varient"),
        ("[install]\nnonsense = 1\n", "install.nonsense"),
        ("no-providers = 1\n", "no-providers"),
        ('timeout = "soon"\n', "timeout"),
        ("extra-index-url = 3\n", "extra-index-url"),
        ("isolated = true\n", "isolated"),
    ],
)
def test_a_wrong_key_of_ours_names_file_and_key(place: Path, text: str, said: str) -> None:
    path = write(place / "home/.config/vinstall/vinstall.toml", text)
    with pytest.raises(ConfigurationError) as caught:
        merge(place, "install x")
    assert str(path) in caught.value.what
    assert said in caught.value.what


def test_a_broken_file_of_ours(place: Path) -> None:
    path = write(place / "home/.config/vinstall/vinstall.toml", "timeout = \n")
    with pytest.raises(ConfigurationError, match="is not valid TOML") as caught:
        merge(place, "install x")
    assert str(path) in caught.value.what


@pytest.mark.parametrize(
    ("line", "no_binary", "only_binary"),
    [
        ("--no-binary a,B_c", Names(names=frozenset({"a", "b-c"})), Names()),
        ("--no-binary :all: --no-binary :none:", Names(), Names()),
        ("--no-binary :all:,:none:,a", Names(names=frozenset({"a"})), Names()),
        (
            "--no-binary :all: --only-binary a",
            Names(True, frozenset(), frozenset({"a"})),
            Names(names=frozenset({"a"})),
        ),
        ("--no-binary a --only-binary a", Names(), Names(names=frozenset({"a"}))),
        ("--only-binary a --no-binary :all:", Names(True), Names()),
        ("--only-binary a,:all:,b", Names(), Names(True)),
    ],
)
def test_format_control_is_folded_in_order(
    place: Path, line: str, no_binary: Names, only_binary: Names
) -> None:
    resolve = settings(place, f"install {line} x").resolve
    assert (resolve.no_binary, resolve.only_binary) == (no_binary, only_binary)


def test_format_control_of_variables_is_kept(place: Path) -> None:
    resolve = settings(place, "install --only-binary b x", PIP_NO_BINARY="a").resolve
    assert resolve.no_binary.names == {"a"}
    assert resolve.only_binary.names == {"b"}


def test_release_control(place: Path) -> None:
    assert settings(place, "install --pre x").resolve.pre.everything
    resolve = settings(place, "install --all-releases :all: --only-final a x").resolve
    assert "a" in resolve.only_final
    assert "a" not in resolve.pre
    assert "b" in resolve.pre


@pytest.mark.parametrize(
    "line",
    [
        "install --pre --all-releases x y",
        "install --pre --only-final x y",
        "install --require-hashes --no-require-hashes x",
        "install --only-deps --no-deps x",
        "install --only-deps -r file",
        "install --only-deps --group dev",
        "install --user --target there x",
        "install --user --prefix there x",
        "install --build-constraint c --no-build-isolation x",
        "install --platform linux_x86_64 --target t x",
        "install --platform linux_x86_64 --only-binary :all: x",
        "install --platform linux_x86_64 --only-binary :all: --no-binary a --target t x",
        "download --platform linux_x86_64 x",
        "list --outdated --uptodate",
        "list --outdated --format freeze",
        "list --path there --user",
        "cache",
        "cache nonsense",
        "index",
        "profile",
    ],
)
def test_what_pip_refuses_with_status_1(place: Path, line: str) -> None:
    with pytest.raises(OptionConflictError) as caught:
        merge(place, line)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    "line",
    [
        "install --platform linux_x86_64 --only-binary :all: --target t x",
        "install --platform linux_x86_64 --no-deps --dry-run x",
        "download --python-version 3.12 --only-binary=:all: x",
        "explain --platform linux_x86_64 x",
    ],
)
def test_another_platform_where_it_can_be_had(place: Path, line: str) -> None:
    target = settings(place, line).target
    assert target.platforms or target.python_version


@pytest.mark.parametrize(
    "line",
    [
        "install --no-variant --require-variant torch",
        "install --no-variant=torch --require-variant torch",
        "install --no-variant=torch --variant torch=cu128",
        "install --no-variant --variant torch=cu128",
        "install --variant torch=cu128 --variant Torch=cu126",
        "install --index-pin a=https://a.test --index-pin a=https://b.test",
        "install --no-variant=a,,b",
    ],
)
def test_contradictions_about_variants(place: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        merge(place, f"{line} x")
    assert caught.value.exit_code == 2


def test_a_stronger_source_ends_a_contradiction(place: Path) -> None:
    labels = settings(
        place, "install --variant torch=cu128 x", VINSTALL_VARIANT="torch=cu126 scipy=null"
    ).variants.labels
    assert labels == {"torch": "cu128", "scipy": "null"}
    off = settings(place, "install --no-variant=torch x", VINSTALL_VARIANT="torch=cu126").variants
    assert off.labels == {}
    assert "torch" in off.disabled
    on = settings(place, "install --variant torch=cu128 x", VINSTALL_NO_VARIANT="1").variants
    assert "torch" not in on.disabled
    assert "scipy" in on.disabled


def test_a_required_variant_is_never_dropped_in_silence(place: Path) -> None:
    with pytest.raises(UsageError, match="--require-variant torch"):
        merge(place, "install --no-variant x", VINSTALL_REQUIRE_VARIANT="torch")


def test_overrides_are_recorded_strongest_first(place: Path) -> None:
    path = write(place / "project/pyproject.toml", '[tool.vinstall]\nexclude-variant = "amd"\n')
    merged = settings(
        place,
        "install --variant torch=cu128 --platform any --no-deps --dry-run x",
        VINSTALL_GPU="best",
        NV_VARIANT_PROVIDER_FORCE_SM_ARCH="9.0",
    )
    assert merged.overrides == (
        ("--variant torch=cu128", "command line"),
        ("--platform any", "command line"),
        ("--gpu best", "VINSTALL_GPU"),
        ("--exclude-variant amd", f"{path} [tool.vinstall] exclude-variant"),
        ("NV_VARIANT_PROVIDER_FORCE_SM_ARCH=9.0", "environment"),
    )


def test_no_index_leaves_only_find_links(place: Path) -> None:
    index = settings(
        place, "install --no-index -f ~/wheels -f https://l.test --extra-index-url https://e.test x"
    ).index
    assert index.index_url == ""
    assert index.extra_index_urls == ()
    assert index.find_links == (f"{place / 'home'}/wheels", "https://l.test")


def test_certificates(place: Path) -> None:
    bundles = {"REQUESTS_CA_BUNDLE": "/r.pem", "CURL_CA_BUNDLE": "/c.pem"}
    assert settings(place, "install x", **bundles).index.cert == "/r.pem"
    assert settings(place, "install x", CURL_CA_BUNDLE="/c.pem").index.cert == "/c.pem"
    assert settings(place, "install x", PIP_CERT="/p.pem", **bundles).index.cert == "/p.pem"
    assert settings(place, "install --cert ~/f.pem x").index.cert == f"{place / 'home'}/f.pem"


@pytest.mark.parametrize(
    ("line", "environment", "color"),
    [
        ("install x", {}, None),
        ("install --no-color x", {"FORCE_COLOR": "1"}, False),
        ("install x", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("install x", {"NO_COLOR": ""}, None),
        ("install x", {"FORCE_COLOR": "1"}, True),
        ("install x", {"PIP_NO_COLOR": "1"}, False),
        ("install x", {"TERM": "dumb"}, False),
    ],
)
def test_colour(place: Path, line: str, environment: dict[str, str], color: bool | None) -> None:
    assert settings(place, line, **environment).output.color is color


def test_a_flat_target_ignores_what_is_installed(place: Path) -> None:
    assert settings(place, "install -t there x").resolve.ignore_installed


def test_uploaded_prior_to_is_a_moment_with_a_zone(place: Path) -> None:
    merged = settings(place, "install --uploaded-prior-to 2026-01-31T12:00:00Z x")
    assert merged.index.uploaded_prior_to == "2026-01-31T12:00:00+00:00"
    assert settings(place, "install --uploaded-prior-to P3D x").index.uploaded_prior_to.endswith(
        "+00:00"
    )


def test_features_that_nobody_knows(place: Path) -> None:
    merged = merge(place, "install --use-feature truststore --use-feature magic x")
    assert [warning.what for warning in merged.warnings] == [
        "--use-feature magic is not known and is ignored"
    ]


def test_arguments_of_a_command(place: Path) -> None:
    arguments = merge(place, "list --format json --exclude a --exclude b --exclude-editable")
    assert arguments.arguments.text("format") == "json"
    assert arguments.arguments.items("excludes") == ("a", "b")
    assert not arguments.arguments.flag("include_editable", True)
    action = merge(place, "index versions --json torch").arguments
    assert (action.action, action.words) == ("versions", ("torch",))


def test_the_prefix_of_the_target(place: Path) -> None:
    plain = surroundings(place, VIRTUAL_ENV=str(place / "project"))
    assert target_prefix("", plain) == str(place / "prefix")
    write(place / "prefix/pipx_metadata.json", "{}")
    assert target_prefix("", plain) == str(place / "project")
    assert target_prefix(str(place / "home"), plain) == str(place / "home")
    python = write(place / "base/bin/python", "")
    assert target_prefix(str(python), plain) == str(place / "base")


def test_the_site_file_is_that_of_the_target(place: Path) -> None:
    write(place / "prefix/pip.conf", "[global]\ntimeout = 2\n")
    write(place / "other/pip.conf", "[global]\ntimeout = 3\n")
    assert settings(place, f"install --python {place / 'other'} x").index.timeout == 3
    assert settings(place, "install x", PIP_PYTHON=str(place / "other")).index.timeout == 3
