"""Sums with something reduced on both sides of what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.primitives.declare import TABLE

from .comparing import calls, run_row

SHAPES: list[tuple[Any, Any]] = [((4, 3, 5, 6), (0, 2, 3)), ((1000, 3, 5, 40), (0, 2, 3)), ((2, 3, 700), (0, 2)), ((4, 3, 5, 6), (0, 2))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_is_what_numpy_gives(shape: Any, axes: Any, dtype: str) -> None:
    x = (100 * np.random.default_rng(0).normal(size=shape)).astype(dtype)
    for keepdims in (False, True):
        assert not calls(run_row(TABLE["reduce_sum"], [x], {"axes": axes, "keepdims": keepdims}))
