"""Searches with results of data-dependent shapes, against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tapegrad.primitives.uniques import bincount, histc, nonzero, unique, unique_consecutive

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

NAN, INF = math.nan, math.inf
ARRAYS = [
    np.array([3, 1, 2, 1, 1]),
    np.array([[3.0, 1.0, 3.0], [2.0, 1.0, 2.0], [3.0, 1.0, 3.0]]),
    np.array([NAN, 1.0, NAN, -INF]),
    np.array([-0.0, 0.0, 1.0]),
    np.array([True, False, True]),
    np.array([[[1, 2], [1, 2]], [[0, 2], [1, 2]]], np.uint8),
    np.array([1.0, 0.5, 1.0], np.float16),
    np.zeros(0),
    np.zeros((0, 3), np.int32),
    np.array(3.0),
    np.random.default_rng(0).integers(0, 3, (20, 4, 2)),
]


def check(actual: Any, expected: Any) -> None:
    """Compare values, shapes and dtypes."""
    expected = expected.numpy()
    np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize(("function", "name"), [(unique, "unique"), (unique_consecutive, "unique_consecutive")])
def test_unique(array: Any, function: Any, name: str) -> None:
    for axis in (None, *range(array.ndim)):
        if (array.size == 0 and axis == 1) or (axis is not None and function is unique and np.isnan(array).any()):
            continue  # PyTorch raises for the one, and does not sort the other
        expected = getattr(torch, name)(torch.from_numpy(array), return_inverse=True, return_counts=True, dim=axis)
        for part, whole in zip(function(array, axis), expected, strict=True):
            check(part, whole)


def test_unique_rows_with_nan_differ_and_come_last() -> None:
    values, inverse, counts = unique(np.array([[NAN, 1.0], [0.0, 2.0], [NAN, 1.0], [0.0, 2.0]]), 0)
    np.testing.assert_array_equal(values, [[0, 2], [NAN, 1], [NAN, 1]])
    assert inverse.tolist() == [1, 0, 2, 0]
    assert counts.tolist() == [2, 1, 1]


def test_unique_of_bfloat16_puts_nan_last() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values, inverse, counts = unique(np.array([2.0, NAN, 1.0, 2.0]).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(values.astype(np.float32), [1, 2, NAN])
    assert inverse.tolist() == [1, 2, 0, 1]
    assert counts.tolist() == [1, 2, 1]


def test_unique_refuses_what_torch_refuses() -> None:
    with pytest.raises(NotImplementedError, match="^\"unique\" not implemented for 'ComplexDouble'$"):
        unique(np.array([1j]))
    with pytest.raises(RuntimeError, match="^There are 0 sized dimensions, and they aren't selected, so unique cannot be"):
        unique(np.zeros((3, 0)), 0)


@pytest.mark.parametrize("array", [*ARRAYS, np.array(0), np.array([0.0, NAN, 1j])])
def test_nonzero(array: Any) -> None:
    check(nonzero(array), torch.from_numpy(array).nonzero())


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("minlength", [0, 2, 7])
def test_bincount(dtype: Any, minlength: int) -> None:
    for values in ([1, 2, 2], []):
        array = np.array(values, dtype)
        check(bincount(array, None, minlength), torch.from_numpy(array).bincount(minlength=minlength))
        for weight in (np.float64, np.float32, np.float16, np.int64):
            weights = np.arange(1, len(values) + 1).astype(weight)
            expected = torch.from_numpy(array).bincount(torch.from_numpy(weights), minlength)
            check(bincount(array, weights, minlength), expected)


@pytest.mark.parametrize(
    ("array", "weights", "minlength"),
    [
        (np.ones(2, np.float32), None, 0),
        (np.array([True]), None, 0),
        (np.array([1, -2]), None, 0),
        (np.array([[1, 2]]), None, 0),
        (np.array([1]), None, -7),
        (np.array([1, 2]), np.ones(1), 0),
    ],
)
def test_bincount_refuses_what_torch_refuses(array: Any, weights: Any, minlength: int) -> None:
    with pytest.raises(RuntimeError) as expected:
        torch.bincount(torch.from_numpy(array), None if weights is None else torch.from_numpy(weights), minlength)
    with pytest.raises(expected.type) as caught:
        bincount(array, weights, minlength)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("values", "arguments"),
    [
        ([1.0, 2.0, 1.0, 3.0], (4, 0, 3)),
        ([1.0, 2.0, 1.0, NAN], (4, 0, 3)),
        ([5.0, -1.0, 1.0, 2.0], (3, 0, 2)),
        ([1.0, 1.0, 1.0], (4, 0, 0)),
        ([0.3, 0.1, 0.7, 0.2], (10, 0, 0)),
        ([], (3, 0, 0)),
        ([[1.0, 2.0], [3.0, 4.0]], (2, 1, 4)),
        (np.random.default_rng(0).uniform(-1, 1, 1000), (7, -0.9, 0.9)),
    ],
)
def test_histc(values: Any, arguments: tuple[int, float, float], dtype: Any) -> None:
    array = np.array(values, dtype)
    check(histc(array, *arguments), torch.histc(torch.from_numpy(array), *arguments))


@pytest.mark.parametrize(
    ("values", "arguments", "error", "message"),
    [
        ([1], (4, 0, 3), NotImplementedError, "\"histogram_cpu\" not implemented for 'Long'"),
        ([1.0], (0, 0, 3), RuntimeError, "torch.histogram(): bins must be > 0, but got 0 for dimension 0"),
        ([1.0], (4, 3, 0), RuntimeError, "torch.histc: max must be larger than min"),
        ([1.0], (4, 0, INF), RuntimeError, "torch.histc: range of [0, inf] is not finite"),
        ([1.0, NAN], (4, 0, 0), RuntimeError, "torch.histc: range of [nan, nan] is not finite"),
    ],
)
def test_histc_refuses_what_torch_refuses(values: Any, arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        histc(np.array(values), *arguments)
    assert str(caught.value) == message
