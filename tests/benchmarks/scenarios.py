"""What is measured: the rows of the table, the dear ones last."""

from __future__ import annotations

from tests.benchmarks.measure import Scenario

MEDIUM = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "matplotlib",
    "transformers",
    "tokenizers",
    "cupy-cuda12x",
    "nvidia-ml-py",
    "numba",
    "jupyterlab",
)
LARGE_WHEEL = "torch"

_ALL = (
    Scenario("version", "--version"),
    Scenario("satisfied-one", "satisfied, numpy alone", ("numpy",), satisfied=True),
    Scenario("satisfied", "satisfied, medium stack", MEDIUM, satisfied=True),
    Scenario(
        "resolve-cold", "resolve only, 600 files a page, cold", MEDIUM, "padded", dry_run=True
    ),
    Scenario("resolve-warm", "the same, warm", MEDIUM, "padded", warm=True, dry_run=True),
    Scenario("medium-cold", "medium stack, cold", MEDIUM),
    Scenario("medium-warm", "the same, warm", MEDIUM, warm=True),
    Scenario("large-cold", "torch wheel, cold", (LARGE_WHEEL,), alone=True),
    Scenario("large-warm", "the same, warm", (LARGE_WHEEL,), warm=True, alone=True),
    Scenario(
        "bytecode-cold",
        "torch and dependencies with bytecode, cold",
        (LARGE_WHEEL,),
        bytecode=True,
    ),
    Scenario("bytecode-warm", "the same, warm", (LARGE_WHEEL,), warm=True, bytecode=True),
)
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
