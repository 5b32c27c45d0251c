"""Random programs: eager, interpret (in long and in short segments) and PyTorch do the same.

TAPEGRAD_FUZZ_PROGRAMS sets how many programs of each kind are tried (default 25); the same ones each time.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .comparing import compare_modes, compare_with_torch
from .statements import PRODUCTIONS, dtype_tolerance
from .writing import write_program

PROGRAMS = int(os.environ.get("TAPEGRAD_FUZZ_PROGRAMS", "25"))
fuzzed = settings(
    max_examples=PROGRAMS, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
seeds = st.integers(0, 2**31)
lengths = st.sampled_from((10, 30, 100, 200))


@given(seeds, lengths)
@fuzzed
def test_the_modes_agree(seed: int, length: int) -> None:
    program = write_program(random.Random(seed), length, PRODUCTIONS, singles=False)
    assert compare_modes(program, dtype_tolerance(program)) is None, "\n".join(program)


@pytest.mark.peer
@pytest.mark.parametrize("name", ["eager", "interpret"])
def test_pytorch_agrees(torch: Any, name: str) -> None:
    @given(seeds, lengths)
    @fuzzed
    def check(seed: int, length: int) -> None:
        program = write_program(random.Random(seed), length, PRODUCTIONS, singles=False)
        assert compare_with_torch(torch, program, dtype_tolerance(program), name) is None, "\n".join(program)

    check()
