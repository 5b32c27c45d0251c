"""Sums with something reduced on both sides of what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.primitives.declare import TABLE

from .comparing import calls, run_row


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (1000, 3, 5, 40), (2, 3, 700)])
@pytest.mark.parametrize("axes", [(0, 2), (0, 2, 3)])
def test_is_what_numpy_gives(shape: Any, axes: Any, dtype: str) -> None:
    if axes[-1] < len(shape):
        x = np.random.default_rng(0).normal(size=shape).astype(dtype)
        is_lowered = axes == tuple([axis for axis in range(len(shape)) if axis != 1])
        assert bool(calls(run_row(TABLE["reduce_sum"], [x], {"axes": axes, "keepdims": False}))) != is_lowered


def test_integers_are_left_to_python() -> None:
    assert calls(run_row(TABLE["reduce_sum"], [np.ones((2, 3, 4), np.int32)], {"axes": (0, 2), "keepdims": False})) == ["reduce_sum"]
