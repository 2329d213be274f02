"""No input makes a parser raise anything but an error of ours.

Good input with random changes, and random text made of the words of each format. What once
was a finding lies in ``fixtures/fuzz`` and is fed here again.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import change
from tests.fuzz.targets import TARGETS, findings, run

NAMES = sorted(TARGETS)
FINDINGS = [(name, path.name) for name in NAMES for path in findings(name)]


@pytest.mark.parametrize("name", NAMES)
def test_good_input_is_taken(name: str) -> None:
    for good in TARGETS[name].seeds:
        TARGETS[name].parse(good)


@pytest.mark.parametrize(("name", "file"), FINDINGS)
def test_old_findings(name: str, file: str) -> None:
    (path,) = [path for path in findings(name) if path.name == file]
    run(name, path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**64))
def test_changed_input(name: str, seed: int) -> None:
    chance = random.Random(seed)
    pool = TARGETS[name].seeds
    run(name, change(chance, chance.choice(pool), pool)[: TARGETS[name].max_length])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes(name: str, data: bytes) -> None:
    run(name, data)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text(name: str, text: str) -> None:
    run(name, text.encode("utf-8", "surrogatepass"))
