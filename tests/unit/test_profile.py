"""Machine profiles: strict reading, and writing that reading gives back."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vinstall.errors import ProfileError
from vinstall.profile import MachineProfile, ProfileTarget, format_profile, parse_profile
from vinstall.variants.properties import ABI_DEPENDENCY, VariantProperty
from vinstall.variants.supported import SupportedProperties

EXAMPLE = """\
schema = 1
[supported.nvidia]
cuda_version_lower_bound = ["12.8", "12.7", "12.6"]
sm_arch = ["90_real", "90_virtual"]
"""


def test_the_example_of_the_format() -> None:
    profile = parse_profile(EXAMPLE, "gpu.toml")
    features = profile.supported.namespaces["nvidia"]
    assert list(features) == ["cuda_version_lower_bound", "sm_arch"]
    assert features["cuda_version_lower_bound"] == ("12.8", "12.7", "12.6")
    assert profile.supported.supports(VariantProperty("nvidia", "sm_arch", "90_real"))
    assert profile.supported.sources == {"nvidia": "profile gpu.toml"}
    assert profile.supported.reasons == {}
    assert profile.target is None
    assert profile.origin == "gpu.toml"


@pytest.mark.parametrize("table", ["[supported.amd]\n", "[supported.amd]\ngfx_arch = []\n"])
def test_an_empty_table_supports_nothing_and_says_so(table: str) -> None:
    profile = parse_profile(f"schema = 1\n{table}", "cpu.toml")
    assert "amd" in profile.supported.namespaces
    assert profile.supported.values("amd", "gfx_arch") == ()
    assert "cpu.toml" in profile.supported.reasons["amd"]


def test_made_and_target() -> None:
    text = (
        "schema = 1\n"
        "[made]\nwhen = 2026-11-05T10:00:00Z\nvinstall = '0.1.0'\ngpus = 8\n"
        "[target]\ntags = ['cp311-cp311-manylinux_2_28_aarch64', 'py3-none-any']\n"
        "[target.markers]\nplatform_machine = 'aarch64'\n"
    )
    profile = parse_profile(text, "arm.toml")
    assert profile.made == {"when": "2026-11-05 10:00:00+00:00", "vinstall": "0.1.0", "gpus": "8"}
    assert profile.target == ProfileTarget(
        {"platform_machine": "aarch64"}, ("cp311-cp311-manylinux_2_28_aarch64", "py3-none-any")
    )


def test_a_byte_order_mark_does_no_harm() -> None:
    assert parse_profile("\ufeff" + EXAMPLE, "gpu.toml") == parse_profile(EXAMPLE, "gpu.toml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "schema = 1 is missing"),
        ("schema = 2", "schema"),
        ("schema = true", "schema"),
        ("schema = 1.0", "schema"),
        ("schema = '1'", "schema"),
        ("schema = 1\nsuported = {}", "suported"),
        ("schema = 1\nmade = 3", "[made]"),
        ("schema = 1\n[made.host]\na = 1", "made.host"),
        ("schema = 1\ntarget = 3", "[target]"),
        ("schema = 1\n[target]\nplatform = 'x'", "target.platform"),
        ("schema = 1\n[target]\ntags = 'x'", "target.tags"),
        ("schema = 1\n[target]\ntags = ['py3-none']", "py3-none"),
        ("schema = 1\n[target.markers]\nsys_plattform = 'linux'", "target.markers.sys_plattform"),
        ("schema = 1\n[target.markers]\nos_name = 3", "target.markers"),
        ("schema = 1\nsupported = []", "[supported]"),
        ("schema = 1\n[supported]\nnvidia = 3", "supported.nvidia"),
        ("schema = 1\n[supported.NVIDIA]\n", "supported.NVIDIA"),
        (f"schema = 1\n[supported.{ABI_DEPENDENCY}]\n", ABI_DEPENDENCY),
        ("schema = 1\n[supported.nvidia]\n'sm-arch' = ['90_real']", "sm-arch"),
        ("schema = 1\n[supported.nvidia]\nsm_arch = '90_real'", "supported.nvidia.sm_arch"),
        ("schema = 1\n[supported.nvidia]\nsm_arch = ['90 real']", "'90 real'"),
        ("schema = 1\n[supported.nvidia]\ncuda = [12.8]", "12.8"),
        ("schema = 1\n[supported.nvidia]\nsm_arch = ['9', '9']", "twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, place: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, "gpu.toml")
    assert "gpu.toml" in caught.value.what
    assert place in caught.value.why


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile("schema = 3\nwhat = 1\n[supported.nvidia]\nsm_arch = 3\n", "gpu.toml")
    for fault in ("schema", "what", "supported.nvidia.sm_arch"):
        assert fault in caught.value.why


def test_what_is_not_toml() -> None:
    with pytest.raises(ProfileError, match=r"gpu\.toml is not valid TOML"):
        parse_profile("schema = ", "gpu.toml")


_KEYS = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=8)
_VALUES = st.text(string.ascii_lowercase + string.digits + "_.", min_size=1, max_size=8)
_SUPPORTED = st.dictionaries(
    _KEYS.filter(lambda key: key != ABI_DEPENDENCY),
    st.dictionaries(
        _KEYS,
        st.lists(_VALUES, min_size=1, max_size=4, unique=True).map(tuple),
        min_size=1,
        max_size=4,
    ),
    max_size=4,
)
_TARGETS = st.none() | st.builds(
    ProfileTarget,
    st.dictionaries(st.sampled_from(["sys_platform", "platform_machine"]), st.text(max_size=8)),
    st.lists(st.just("py3-none-any"), max_size=1).map(tuple),
)
_MADE = st.dictionaries(_KEYS, st.text(max_size=12), max_size=3)


@given(_SUPPORTED, _MADE, _TARGETS)
def test_reading_gives_back_what_was_written(
    supported: dict[str, dict[str, tuple[str, ...]]],
    made: dict[str, str],
    target: ProfileTarget | None,
) -> None:
    profile = MachineProfile(
        SupportedProperties(supported, dict.fromkeys(supported, "profile p.toml")),
        made,
        target,
        "p.toml",
    )
    again = parse_profile(format_profile(profile), "p.toml")
    assert again == profile
    # equality of mappings does not see their order, which is the preference
    for namespace, features in supported.items():
        assert list(again.supported.namespaces[namespace]) == list(features)
    assert list(again.supported.namespaces) == list(supported)


def test_lists_are_written_on_few_lines() -> None:
    values = tuple(f"{number}_real" for number in range(100, 140))
    supported = SupportedProperties({"nvidia": {"cuda": ("12.8", "12.6"), "sm_arch": values}})
    text = format_profile(MachineProfile(supported))
    assert 'cuda = ["12.8", "12.6"]\n' in text
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 15
    assert parse_profile(text, "p.toml").supported.namespaces == supported.namespaces


@pytest.mark.parametrize("text", ["x =", "schema = 2"])
def test_a_bad_profile_says_how_to_make_a_good_one(text: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, "p.toml")
    assert "vinstall profile save" in caught.value.fix
