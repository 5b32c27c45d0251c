"""Searches whose results' shapes depend on the data: unique, bincount, histc, nonzero.

They are plain functions of NumPy arrays, not rows of the table: the tape needs to know shapes before values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import from_array_type

Uniques = tuple[Any, Any, Any]


def unique(a: Any, axis: int | None = None) -> Uniques:
    """Return the different elements, sorted (or slices along an axis, in the order of their elements).

    Also where each element is in them, and how often each occurs. Every NaN is different.
    """
    _refuse_complex(a)
    if axis is None:
        flat = a.reshape(-1)
        values, inverse, counts = _runs(flat.reshape(-1, 1), np.argsort(_comparable(flat), kind="stable"))
        return flat[values], inverse.reshape(a.shape), counts
    rows = _as_rows(a, axis)
    values, inverse, counts = _runs(rows, np.lexsort(_comparable(rows).T[::-1]) if len(rows) else np.zeros(0, np.int64))
    return np.take(a, values, axis), inverse, counts


def unique_consecutive(a: Any, axis: int | None = None) -> Uniques:
    """Return the elements (or slices along an axis) that differ from the one before them.

    Also where each element is in them, and how often each is repeated.
    """
    _refuse_complex(a)
    if axis is None:
        flat = a.reshape(-1)
        values, inverse, counts = _runs(flat.reshape(-1, 1), np.arange(flat.size))
        return flat[values], inverse.reshape(a.shape), counts
    rows = _as_rows(a, axis)
    values, inverse, counts = _runs(rows, np.arange(len(rows)))
    return np.take(a, values, axis), inverse, counts


def _refuse_complex(a: Any) -> None:
    if a.dtype.kind == "c":
        raise NotImplementedError(f"\"unique\" not implemented for '{from_array_type(a.dtype).title}'")


def _comparable(a: Any) -> Any:
    """Return what NumPy sorts with NaN last, which for bfloat16 it does not."""
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def _as_rows(a: Any, axis: int) -> Any:
    """Return the slices along an axis as the rows of a matrix."""
    if a.size == 0 and any(length == 0 for place, length in enumerate(a.shape) if place != axis):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    if a.ndim == 0:
        return a.reshape(1, 1)
    return np.moveaxis(a, axis, 0).reshape(a.shape[axis], math.prod(a.shape) // max(a.shape[axis], 1))


def _runs(rows: Any, order: Any) -> Uniques:
    """Return the first row of each run of equal rows in this order, the run that each row is in, and the runs' lengths."""
    ranked = rows[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (ranked[1:] != ranked[:-1]).any(1)
    starts = np.flatnonzero(begins)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return order[starts], inverse, np.diff(starts, append=len(rows))


def nonzero(a: Any) -> Any:
    """Return the indices of the elements that are not zero, a row each."""
    if a.ndim == 0:
        return np.zeros((int(a != 0), 0), np.int64)
    return np.stack(np.nonzero(a), 1).astype(np.int64, copy=False)


def bincount(a: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Return how often each integer from 0 on occurs in a vector, or the sums of the weights that go with each."""
    if a.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{from_array_type(a.dtype).title}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if a.ndim == 1 and a.size == 0:
        return np.zeros(minlength, np.int64)
    if a.ndim != 1 or a.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(a, minlength=minlength)
    if weights.shape != a.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = np.bincount(a, weights.astype(np.float64), minlength)
    return sums.astype(np.float32) if weights.dtype == np.float32 else sums


def histc(a: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
    """Return how many elements are in each of equal bins between low and high; where these are equal, of the whole range.

    Elements outside the range, and NaN, are not counted.
    """
    if a.dtype.kind not in "fV":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{from_array_type(a.dtype).title}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    flat = a.reshape(-1)
    if low == high and flat.size:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    number = a.dtype.type
    inside = flat[(flat >= low) & (flat <= high)]
    places = ((inside - number(low)) * number(bins) / number(high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(a.dtype)
