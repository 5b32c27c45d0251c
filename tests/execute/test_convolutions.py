"""Convolution and its two transposes in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad.execute import convolutions
from tapegrad.primitives.declare import TABLE

from .comparing import calls, compiled, floats, layouts_of, run_row

ROWS = [TABLE[name] for name in ("convolution", "convolution_input", "convolution_weight")]
DTYPES = ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_samples(row: Any, dtype: str) -> None:
    """In contiguous memory none is left to Python; images are read in any layout."""
    for sample in row.samples():
        contiguous, *others = layouts_of(floats(sample, dtype))
        is_empty = 0 in (*contiguous[0].shape, *contiguous[1].shape)
        assert bool(calls(run_row(row, contiguous, sample.parameters))) == is_empty
        for operands in others:
            run_row(row, operands, sample.parameters)
            if row.name == "convolution":
                assert bool(calls(run_row(row, [operands[0], contiguous[1]], sample.parameters))) == is_empty


# x, w, stride, padding, dilation, groups
CASES: list[tuple[Any, ...]] = [
    ((5, 4, 40), (6, 2, 5), (1,), ((2, 3),), (1,), 2),
    ((3, 3, 30, 37), (4, 3, 5, 3), (1, 1), ((2, 2), (1, 1)), (1, 1), 1),
    ((9, 3, 30, 37), (4, 3, 3, 5), (2, 3), ((0, 1), (2, 2)), (2, 1), 1),
    ((2, 6, 20, 21), (6, 1, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 6),
    ((2, 2, 20, 21), (4, 2, 3, 3), (1, 1), ((-1, 2), (3, -4)), (1, 2), 1),
    ((2, 3, 9, 8, 19), (4, 3, 2, 3, 3), (1, 1, 1), ((1, 1), (0, 2), (1, 1)), (1, 1, 1), 1),
    ((9, 16, 20, 20), (16, 16, 3, 3), (1, 1), ((0, 0), (1, 1)), (1, 1), 1),  # large products, for helpers of one thread each
    ((2, 3, 9, 8, 19), (4, 3, 2, 3, 3), (2, 1, 2), ((1, 1), (0, 2), (1, 1)), (2, 1, 1), 1),
]


@pytest.mark.parametrize("column_bytes", [1 << 18, 4000])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_all_three(case: tuple[Any, ...], dtype: str, column_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the columns are a few rows of windows at a time."""
    monkeypatch.setattr(convolutions, "_COLUMN_BYTES", column_bytes)
    x_shape, w_shape, *rest = case
    parameters = dict(zip(("stride", "padding", "dilation", "groups"), rest, strict=True))
    random = np.random.default_rng(0)
    x, w = random.normal(size=x_shape).astype(dtype), random.normal(size=w_shape).astype(dtype)
    r = TABLE["convolution"](tapegrad.tensor(x), tapegrad.tensor(w), **parameters)
    g = random.normal(size=r.shape).astype(dtype)
    for row, operands, more in zip(ROWS, ((x, w), (g, w), (x, g)), ({}, {"input_shape": x_shape}, {"weight_shape": w_shape}), strict=True):
        assert not calls(run_row(row, list(operands), parameters | more))


def test_a_layer_and_its_reverse_sweep_need_no_numpy() -> None:
    x = tapegrad.randn(6, 3, 12, 12, requires_grad=True)
    weight, bias = tapegrad.randn(4, 3, 3, 3, requires_grad=True), tapegrad.randn(4, requires_grad=True)
    with compiled() as programs:
        (tapegrad.nn.functional.conv2d(x, weight, bias, padding=1).relu() ** 2).sum().backward()
        assert weight.grad is not None
        weight.grad.numpy()
    assert [calls(program) for program in programs] == [[]]
