"""Random programs: the modes agree with each other, and with PyTorch.

The quick profile always runs, that with PyTorch where it is installed. For a long one, say how many seconds:
``TAPEGRAD_FUZZ_SECONDS=3600 pytest tests/fuzz -m slow``, and from which seed on: ``TAPEGRAD_FUZZ_SEED``.
"""

from __future__ import annotations

import importlib.util
import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .comparing import compare_compiled, compare_emulated, compare_modes, compare_version_checks, compare_with_torch
from .reducing import reduced
from .statements import PRODUCTIONS, tolerance_of
from .writing import write_program

Comparison = Callable[[list[str]], str | None]
PEER_PROGRAMS, CHECKED_PROGRAMS = 350, 150
EMULATED_PROGRAMS = 25
COMPILED_PROGRAMS = 8  # each has about ten kernels, and one takes a fifth of a second to compile
SECONDS = float(os.environ.get("TAPEGRAD_FUZZ_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("TAPEGRAD_FUZZ_SEED", "1000000"))


def report(program: list[str], compare: Comparison, seconds: float = 60.0) -> str:
    """Return the difference that a program shows, and the shortest part of it that still shows one."""
    end = time.monotonic() + seconds
    short = reduced(program, lambda part: time.monotonic() < end and compare(part) is not None)
    return "\n".join([str(compare(short)), *short])


def between_modes(program: list[str]) -> str | None:
    return compare_modes(program, tolerance_of(program) / 100)


def compiled(program: list[str]) -> str | None:
    return compare_compiled(program, tolerance_of(program) / 100)


def emulated(seed: int) -> Comparison:
    """Return the comparison with kernels that Python runs, in short segments for some seeds."""
    return lambda program: compare_emulated(program, tolerance_of(program) / 100, seed, limit=7 if seed % 7 == 0 else 4096)


def written(seed: int, length: int, **options: bool) -> list[str]:
    """Return the program of a seed."""
    return write_program(random.Random(seed), length, PRODUCTIONS, singles=seed % 4 == 3, graphs=seed % 3 > 0, **options)


@given(chance=st.randoms(use_true_random=False), singles=st.booleans(), graphs=st.booleans())
@settings(max_examples=60, derandomize=True, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_modes_agree(chance: random.Random, singles: bool, graphs: bool) -> None:
    program = write_program(chance, 60, PRODUCTIONS, singles=singles, graphs=graphs)
    assert between_modes(program) is None, report(program, between_modes)


def test_long_programs_agree_in_the_modes() -> None:
    for seed in range(6):
        program = written(seed, 300)
        assert between_modes(program) is None, report(program, between_modes)


def test_compiled_programs_agree() -> None:
    for seed in range(COMPILED_PROGRAMS):
        program = written(seed, 40)
        assert compiled(program) is None, f"seed {seed}: {report(program, compiled)}"


def test_kernels_that_python_runs_agree() -> None:
    for seed in range(EMULATED_PROGRAMS):
        program = written(seed, 50)
        assert emulated(seed)(program) is None, f"seed {seed}: {report(program, emulated(seed))}"


@pytest.mark.peer
@pytest.mark.parametrize("name", ["eager", "interpret"])
def test_modes_agree_with_torch(torch: Any, name: str) -> None:
    def compare(program: list[str]) -> str | None:
        return compare_with_torch(torch, program, tolerance_of(program), name)

    for seed in range(PEER_PROGRAMS):
        program = written(seed, 60)
        assert compare(program) is None, f"seed {seed}: {report(program, compare)}"


@pytest.mark.peer
def test_version_checks_agree_with_torch(torch: Any) -> None:
    def compare(program: list[str]) -> str | None:
        return compare_version_checks(torch, program)

    for seed in range(CHECKED_PROGRAMS):
        program = written(seed, 40, outside=False, checked=True)
        assert compare(program) is None, f"seed {seed}: {report(program, compare)}"


@pytest.mark.slow
@pytest.mark.skipif(not SECONDS, reason="set TAPEGRAD_FUZZ_SECONDS")
def test_for_a_long_time() -> None:
    comparisons: list[Comparison] = [between_modes]
    if importlib.util.find_spec("torch") is not None:
        import torch

        comparisons.append(lambda program: compare_with_torch(torch, program, tolerance_of(program)))
    end = time.monotonic() + SECONDS
    seed = FIRST_SEED
    while time.monotonic() < end:
        program = written(seed, (20, 60, 200)[seed % 3])
        for compare in (*comparisons, emulated(seed), *[compiled] * (seed % 8 == 0)):
            assert compare(program) is None, f"seed {seed}: {report(program, compare)}"
        seed += 1
