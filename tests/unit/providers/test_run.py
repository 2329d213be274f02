"""What a plugin may see of the user's variables."""

from __future__ import annotations

import pytest

from vinstall.providers.run import MASKS, clean_environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PIP_INDEX_URL", "https://example.org"),
        ("PIP_PASSWORD_FILE", "x"),
        ("VINSTALL_INDEX_URL", "https://example.org"),
        ("GITHUB_TOKEN", "x"),
        ("CI_JOB_TOKEN", "x"),
        ("HF_TOKEN", "x"),
        ("DB_PASSWORD", "x"),
        ("PGPASSWORD", "x"),
        ("MY_SECRET", "x"),
        ("CLIENT_SECRET_ID", "x"),
        ("API_KEY", "x"),
        ("OPENAI_APIKEY", "x"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_PROFILE", "x"),
        ("GH_PAT", "x"),
        ("MYSQL_PWD", "x"),
        ("BASIC_AUTH", "x"),
        ("DOCKER_AUTH_CONFIG", "{}"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("SIGNING_KEY_FILE", "x"),
        ("GPG_PASSPHRASE", "x"),
        ("SESSION_COOKIE", "x"),
        ("github_token", "x"),
        ("HTTPS_PROXY", "http://user:word@proxy.example:3128"),
        ("http_proxy", "http://user@proxy.example:3128"),
        ("SOME_URL", "postgres://user:word@example.org/db"),
        ("PYTHONPATH", "/elsewhere"),
        ("PYTHONHOME", "/elsewhere"),
        ("PYTHONSTARTUP", "/elsewhere/start.py"),
        *((mask, "0") for mask in MASKS),
    ],
)
def test_what_does_not_get_through(name: str, value: str) -> None:
    assert name not in clean_environment({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin"),
        ("HOME", "/home/x"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64"),
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "12.8"),
        ("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "9.0"),
        ("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "gfx942"),
        ("HTTPS_PROXY", "http://proxy.example:3128"),
        ("SystemRoot", "C:\\Windows"),
        ("KEYBOARD", "de"),
        ("PWD", "/home/x"),
        ("OLDPWD", "/"),
        ("XAUTHORITY", "/run/x"),
        ("COMPASS", "n"),
    ],
)
def test_what_gets_through(name: str, value: str) -> None:
    assert clean_environment({name: value})[name] == value


def test_the_masks_of_every_vendor_are_known() -> None:
    assert {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} <= set(MASKS)


def test_the_wish_about_several_gpus_is_told_only_where_it_is_another_one() -> None:
    assert "VINSTALL_GPU" not in clean_environment({"VINSTALL_GPU": "best"})
    assert clean_environment({}, "best")["VINSTALL_GPU"] == "best"
