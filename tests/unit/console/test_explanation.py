"""An explanation names the machine, the overrides, every build and the winner."""

from __future__ import annotations

from vinstall.console.explanation import iter_explanation
from vinstall.workflow.explain import Build, ExplainedProject, Explanation, MachinePart

VALUES = tuple(f"12.{minor}" for minor in range(20, 0, -1))

EXPLANATION = Explanation(
    {"executable": "/env/bin/python", "python": "cpython 3.12.1", "tag": "cp312-cp312-linux"},
    (
        MachinePart("nvidia", "profile gpu.toml", {"cuda": VALUES}, notes=("one GPU",)),
        MachinePart("amd", reason="no provider is trusted"),
    ),
    (("--gpu best", "VINSTALL_GPU"),),
    (
        ExplainedProject(
            "torch",
            "2.9",
            "cu128",
            "torch-2.9-cu128.whl",
            True,
            "nvidia :: cuda :: 12.8 is supported",
            (
                Build("torch-2.9-cu128.whl", "cu128", "chosen", 1, "it fits best"),
                Build("torch-2.9.whl", "", "fits", 2, "a non-variant wheel"),
                Build("torch-2.9-cu130.whl", "cu130", "refused", 0, "the driver is too old"),
            ),
        ),
        ExplainedProject(
            "idna",
            "3.4",
            "",
            "idna.whl",
            False,
            "it has no variants",
            (Build("idna.whl", "", "chosen", 1, ""),),
        ),
    ),
)


def test_everything_that_decided_is_told() -> None:
    lines = list(iter_explanation(EXPLANATION))
    text = "\n".join(lines)
    for part in (
        "cpython 3.12.1 at /env/bin/python",
        "nvidia (from profile gpu.toml)",
        "note: one GPU",
        "amd: nothing supported",
        "why: no provider is trusted",
        "--gpu best (VINSTALL_GPU)",
        "torch 2.9 cu128: nvidia :: cuda :: 12.8 is supported",
        "* 1. torch-2.9-cu128.whl",
        "+ 2. torch-2.9.whl",
        "- torch-2.9-cu130.whl",
        "the driver is too old",
        "idna 3.4: it has no variants",
    ):
        assert part in text


def test_long_lists_and_plain_dependencies_are_short_unless_asked() -> None:
    short = "\n".join(iter_explanation(EXPLANATION))
    assert "and 12 more" in short
    assert "12.1," not in short
    assert "* 1. idna.whl" not in short
    full = "\n".join(iter_explanation(EXPLANATION, everything=True))
    assert "more" not in full
    assert "* 1. idna.whl" in full


def test_features_that_are_on_share_a_line() -> None:
    features = {"level": ("v3",), **{f"flag{number}": ("on",) for number in range(10)}}
    machine = (MachinePart("x86_64", "plugin x", features),)
    lines = list(iter_explanation(Explanation({}, machine, (), ())))
    assert [line.strip() for line in lines if line.startswith("    ")] == [
        "level: v3",
        f"on: {', '.join(f'flag{number}' for number in range(8))}, and 2 more",
    ]
