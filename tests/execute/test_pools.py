"""Pooling in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.primitives.declare import TABLE

from .comparing import calls, compiled, floats, run_row

NAMES = ["max_pool", "adaptive_max_pool", "pool_scatter", "avg_pool", "avg_pool_transpose"]
NAMES += ["adaptive_avg_pool", "adaptive_avg_pool_transpose"]
ROWS = [TABLE[name] for name in NAMES]
DTYPES = ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_samples(row: Any, dtype: str) -> None:
    for sample in row.samples():
        operands = floats(sample, dtype)
        assert bool(calls(run_row(row, list(operands), sample.parameters))) == (0 in operands[0].shape)


@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 3)])
def test_special_elements(kernel: Any, padding: Any) -> None:
    """Of equal elements the first is taken, of several NaN the last; a window of nothing but minus infinities has its first."""
    parameters = {"kernel": kernel, "stride": (2, 2), "padding": padding, "dilation": (1, 1), "ceil_mode": False}
    random = np.random.default_rng(0)
    x = random.integers(0, 3, (3, 4, 9, 10)).astype(np.float32)
    x[1][random.random(x[1].shape) < 0.3] = np.nan
    x[2] = -np.inf
    with compiled() as programs:
        values, indices = TABLE["max_pool"](tapegrad.tensor(x), **parameters)
        indices.numpy()
        values.numpy()
    assert [calls(program) for program in programs] == [[]]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, (2, 3, 7, 8)).astype(dtype)
    x[0, 0] = np.iinfo(dtype).min
    parameters = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 2), "ceil_mode": True}
    assert not calls(run_row(TABLE["max_pool"], [x], parameters))


@pytest.mark.parametrize("pool", [tapegrad.nn.functional.max_pool2d, tapegrad.nn.functional.avg_pool2d])
def test_reverse_sweep_needs_no_numpy(pool: Any) -> None:
    x = tapegrad.randn(4, 3, 12, 14, requires_grad=True)
    with compiled() as programs:
        pool(x * 2, 2).square().sum().backward()
        assert x.grad is not None
        x.grad.numpy()
    assert [calls(program) for program in programs] == [[]]
