"""Optimizers give the parameters, and the states, that PyTorch's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from tests.optim import configurations

pytestmark = pytest.mark.peer

# The rounding of 30 steps: a few units in the last place.
TOLERANCE = {"float32": 1e-6, "float64": 2e-15, "complex64": 1e-6, "complex128": 2e-15}


def assert_same(ours: Any, theirs: Any, tolerance: float) -> None:
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (name, mine), (_, expected) in zip(ours, theirs, strict=True):
        assert mine.dtype == expected.dtype and mine.shape == expected.shape, name
        np.testing.assert_allclose(mine, expected, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", configurations.CASES, ids=configurations.name_of)
def test_steps_are_those_of_torch(torch: Any, case: Any, dtype: str) -> None:
    ours = configurations.values(configurations.run(tapegrad, *case, dtype))
    theirs = configurations.values(configurations.run(torch, *case, dtype))
    assert_same(ours, theirs, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", configurations.OPTIONS)
def test_complex_parameters(torch: Any, name: str, dtype: str) -> None:
    options = configurations.OPTIONS[name][-1]
    ours = configurations.values(configurations.run(tapegrad, name, options, dtype))
    theirs = configurations.values(configurations.run(torch, name, options, dtype))
    assert_same(ours, theirs, TOLERANCE[dtype])


@pytest.mark.parametrize("case", configurations.TYPICAL, ids=configurations.name_of)
def test_training_is_that_of_torch(torch: Any, mode: str, case: Any) -> None:
    ours, theirs = [configurations.Training(library, *case, "float64") for library in (tapegrad, torch)]
    losses = [(ours().item(), theirs().item()) for _ in range(configurations.STEPS)]
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=1e-12)
    assert losses[-1] < losses[0]
