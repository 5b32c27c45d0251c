"""Sums whose rounding error does not grow with their length, along any axes of an array laid out in any way.

NumPy adds pairwise only along the innermost axis in memory; along the others it adds element by element, so that ten
million float32 ones may sum to less. Here every axis is added pairwise, in blocks, or in higher precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCKS = 16
SHORT = 32  # so many elements are added one by one
FEW = 128  # so many that adding them one by one is as good as NumPy's own pairwise blocks
SMALL = 256  # arrays for which NumPy's own sum is as good


def accumulator(dtype: Any) -> Any:
    """Return the NumPy dtype to add or multiply in: int64 for integers and bool, float32 for 16-bit floats."""
    if dtype.kind in "bui":
        return np.dtype(np.int64)
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def scan_accumulator(dtype: Any) -> Any:
    """Return the NumPy dtype for a running sum or product, which is added one by one: the next wider one."""
    wider = {"float32": np.float64, "complex64": np.complex128}.get(dtype.name)
    return np.dtype(wider) if wider else accumulator(dtype)


def sum_over(a: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """Return the sum over these (normalised) axes: of integers and bool in int64, else in the array's dtype."""
    a = np.asarray(a)
    if a.dtype.kind == "f" and a.dtype.itemsize > 2 and _count(a.shape, axes) <= FEW:
        return np.add.reduce(a, axis=axes, keepdims=keepdims)  # type: ignore[call-overload]  # NumPy takes several axes
    working = accumulator(a.dtype)
    if a.dtype.kind in "bui":
        return np.sum(a, axis=axes, dtype=working, keepdims=keepdims)
    total = _sum_floats(a.astype(working, copy=False), axes)
    if keepdims:
        total = total.reshape([1 if axis in axes else length for axis, length in enumerate(a.shape)])
    return total.astype(a.dtype, copy=False)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return how many elements are added to one."""
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count


def _sum_floats(a: Any, axes: tuple[int, ...]) -> Any:
    """Add one axis at a time, from the innermost in memory to the outermost."""
    if a.size <= SMALL or (len(axes) == a.ndim and a.flags.c_contiguous):
        return np.add.reduce(a, axis=axes)
    a, repeats = _without_repeats(a, axes)
    order = sorted([axis for axis in range(a.ndim) if a.shape[axis] != 1], key=lambda axis: -abs(a.strides[axis]))
    length_one = [axis for axis in range(a.ndim) if axis not in order]
    squeezed = a.transpose(*order, *length_one).reshape([a.shape[axis] for axis in order])
    x, reduced = _merge(squeezed, [axis in axes for axis in order])
    for axis in reversed(range(len(reduced))):
        if reduced[axis]:
            x = _sum_innermost(x) if axis == x.ndim - 1 else _sum_outer(x, axis)
    kept = [axis for axis in order if axis not in axes]
    x = x.transpose(np.argsort(kept)).reshape([length for axis, length in enumerate(a.shape) if axis not in axes])
    return (x if repeats == 1 else x * repeats) + 0  # zero is what negative zeros add up to


def _without_repeats(a: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Return the array with one element of each expanded axis to add over, and the product of their lengths."""
    repeats = 1
    index: list[Any] = [slice(None)] * a.ndim
    for axis in axes:
        if a.strides[axis] == 0 and a.shape[axis] > 1:
            repeats *= a.shape[axis]
            index[axis] = slice(0, 1)
    return a[tuple(index)], repeats


def _merge(a: Any, reduced: list[bool]) -> tuple[Any, list[bool]]:
    """Join neighbouring axes to add over, where they lie in memory as one."""
    lengths: list[int] = []
    merged: list[bool] = []
    for axis in range(a.ndim):
        adjoins = axis > 0 and a.strides[axis - 1] == a.shape[axis] * a.strides[axis]
        if adjoins and reduced[axis] and reduced[axis - 1]:
            lengths[-1] *= a.shape[axis]
        else:
            lengths.append(a.shape[axis])
            merged.append(reduced[axis])
    return a.reshape(lengths), merged


def _sum_innermost(x: Any) -> Any:
    """Add along the last axis, which is innermost in memory: pairwise, and for a few columns column by column."""
    if x.shape[-1] >= 8:
        return np.add.reduce(x, axis=-1)
    total = x[..., 0] + x[..., 1]
    for column in range(2, x.shape[-1]):
        total += x[..., column]
    return total


def _sum_outer(x: Any, axis: int) -> Any:
    """Add along an axis that is not innermost: sixteen blocks onto each other, until few elements are left."""
    x = np.moveaxis(x, axis, 0)
    while len(x) > SHORT:
        length = len(x) // BLOCKS
        blocks = x[: BLOCKS * length].reshape(BLOCKS, length, *x.shape[1:])
        total = np.add.reduce(blocks, axis=0)
        total[0] += np.add.reduce(x[BLOCKS * length :], axis=0)
        x = total
    return np.add.reduce(x, axis=0)
