"""Gather and scatter: an index tensor gives the position along one axis for every element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import zeros
from ..tape.types import Type
from . import batching
from .batching import grid
from .declare import Primitive, Sample, linear, other
from .positions import add_at, check_range, fill_value, mesh


def with_axis(*values: Any) -> tuple[Any, ...]:
    """Return arrays where 0-d ones have an axis of length 1."""
    return tuple([np.asarray(value).reshape(-1) if np.ndim(value) == 0 else value for value in values])


def check_index(name: str, index: Type) -> None:
    """Raise for an index that is neither int32 nor int64."""
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _batch(shape_of: int) -> Any:
    """Return the batching rule; the result has the shape of the operand at this place."""

    def rule(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int, **parameters: Any) -> Any:
        operands, size, _ = batching.with_batch_dimension(operands, batched)
        shape = tuple(operands[shape_of].shape)
        aligned = [
            batching.reshaped(operand, (size, 1)) if batching.is_tensor(operand) and operand.ndim == 1 else operand
            for operand in operands
        ]
        return batching.reshaped(primitive(*aligned, axis=axis + 1, **parameters), shape)

    return rule


batch_like_index = _batch(1)
batch_like_values = _batch(0)


def _gather(a: Any, index: Any, axis: int) -> Any:
    shape = index.shape
    a, index = with_axis(a, index)
    check_range(index, axis, a.shape[axis])
    return a[mesh(index, axis)].reshape(shape)


def _gather_type(a: Type, index: Type, axis: int) -> Any:
    check_index("gather", index)
    if index.numel:
        if max(index.ndim, 1) != max(a.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
        for at, (length, limit) in enumerate(zip(index.shape, a.shape, strict=False)):
            if at != axis and length > limit:
                raise RuntimeError(
                    f"Size does not match at dimension {at} expected index {list(index.shape)} to be no larger than self "
                    f"{list(a.shape)} apart from dimension {axis}"
                )
    return a.dtype, index.shape


def gather_samples() -> list[Sample]:
    """Return values and indices with repeated positions, of equal and of smaller shape."""
    index = np.array([[0, 2, 2, 1], [1, 0, 2, 0]])
    return [
        Sample(grid(3, 4), index, axis=0),
        Sample(grid(3, 4), index.T[:3], axis=1),
        Sample(grid(4, 6).T[::2], np.zeros((1, 2), np.int64), axis=0),
        Sample(grid(3), np.array([2, 0, 2, 2, 1]), axis=0),
        Sample(grid(), np.array(0), axis=0),
        Sample(grid(3), np.zeros(0, np.int64), axis=0),
    ]


gather = linear(
    "gather",
    _gather,
    _gather_type,
    transpose=(lambda g, b, types, axis: scatter_add(zeros(types[0].shape, types[0].dtype), b, g, axis=axis), None),
    parameters=("axis",),
    batch=batch_like_index,
    samples=gather_samples,
    torch=lambda torch, a, index, axis: a.gather(axis, index),
)


def check_scatter(a: Type, index: Type, src: Type, axis: int) -> None:
    """Raise PyTorch's errors for operands that do not belong together."""
    check_index("scatter", index)
    if not src.is_number and src.dtype is not a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if src.is_number and src.dtype.is_complex and not a.dtype.is_complex:
        raise RuntimeError("value cannot be converted to type float without overflow")
    if index.numel == 0:
        return
    if max(index.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if not src.is_number and max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_large = any(at != axis and length > limit for at, (length, limit) in enumerate(zip(index.shape, a.shape, strict=False)))
    if src.is_number:
        if too_large:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(a.shape)} apart from dimension {axis}"
            )
    elif too_large or any(length > limit for length, limit in zip(index.shape, src.shape, strict=False)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(a.shape)} apart from dimension {axis} "
            f"and to be no larger size than src {list(src.shape)}"
        )


def scattered(a: Any, index: Any, src: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return `a` with an axis, the NumPy index to write at, and the part of `src` to write there."""
    a, index = with_axis(a, index)
    check_range(index, axis, a.shape[axis])
    if np.ndim(src):
        src = src[tuple(map(slice, index.shape))]
    return a, mesh(index, axis), src


def _scatter(a: Any, index: Any, src: Any, axis: int) -> Any:
    if index.size == 0:
        return np.array(a)
    values, places, new = scattered(a, index, src, axis)
    result = np.array(values)
    result[places] = new if np.ndim(new) else fill_value(new, result.dtype)
    return result.reshape(a.shape)


def _scatter_type(a: Type, index: Type, src: Type, axis: int) -> Any:
    check_scatter(a, index, src, axis)
    return a.dtype, a.shape


def resized(value: Any, shape: Any) -> Any:
    """Return a tensor cropped, or padded with zeros, at the ends of its axes: `src` and the part that an index uses."""
    from .movement import pad

    if len(shape) != value.ndim:
        value = batching.reshaped(value, (1,) * len(shape))
    high = tuple([length - old for length, old in zip(shape, value.shape, strict=True)])
    return pad(value, 0, low=(0,) * len(high), high=high) if any(high) else value


def _scatter_vjp(g: Any, b: Any, types: Any, needs: Any, axis: int) -> Any:
    old = scatter(g, b, 0, axis=axis) if needs[0] else None
    new = _src_cotangent(g, b, types[2], axis) if needs[2] else None
    return old, None, new


def _src_cotangent(g: Any, index: Any, src: Type, axis: int) -> Any:
    if 0 in tuple(index.shape):
        return zeros(src.shape, src.dtype)
    return resized(gather(g, index, axis=axis), src.shape)


def _scatter_jvp(g: Any, b: Any, types: Any, axis: int) -> Any:
    old = zeros(types[0].shape, types[0].dtype) if g[0] is None else g[0]
    return scatter(old, b, 0 if g[2] is None else g[2], axis=axis)


def scatter_samples() -> list[Sample]:
    """Return values, indices without repeated positions along the axis, and sources."""
    return [
        Sample(grid(3, 4), np.array([[0, 2, 2, 1], [1, 0, 0, 0]]), -grid(2, 4), axis=0),
        Sample(grid(3, 4), np.array([[3, 0], [1, 2]]), -grid(4, 6).T[::2], axis=1),
        Sample(grid(3), np.array([2, 0]), -grid(5), axis=0),
        Sample(grid(), np.array(0), np.array(9.0), axis=0),
        Sample(grid(3), np.zeros(0, np.int64), -grid(2), axis=0),
    ]


def used_by(index: Any, src: Any) -> Any:
    """Return the part of PyTorch's `src` that has an index, for the tests: PyTorch has no derivative for less than all."""
    return src[tuple(map(slice, index.shape))] if getattr(src, "ndim", 0) else src


scatter = other(
    "scatter",
    _scatter,
    _scatter_type,
    vjp=_scatter_vjp,
    jvp=_scatter_jvp,
    parameters=("axis",),
    batch=batch_like_values,
    samples=lambda: [*scatter_samples(), Sample(grid(3, 4), np.array([[1, 1, 0, 2]]), 0.5, axis=0)],
    torch=lambda torch, a, index, src, axis: a.scatter(axis, index, used_by(index, src)),
)


def _scatter_add(a: Any, index: Any, src: Any, axis: int) -> Any:
    if index.size == 0:
        return np.array(a)
    values, places, new = scattered(a, index, src, axis)
    return add_at(values, places, np.broadcast_to(new, index.shape or (1,))).reshape(a.shape)


def _scatter_add_type(a: Type, index: Type, src: Type, axis: int) -> Any:
    check_scatter(a, index, src, axis)
    return a.dtype, a.shape


def _scatter_add_samples() -> list[Sample]:
    repeated = np.array([[0, 2, 2, 1], [1, 2, 2, 0]])
    return [
        *scatter_samples(),
        Sample(grid(3, 4), repeated, -grid(2, 4), axis=0),
        Sample(grid(3, 4), repeated, -grid(3, 4), axis=1),
        Sample(grid(3), np.array([1, 1, 1, 1]), -grid(4), axis=0),
    ]


scatter_add: Primitive = linear(
    "scatter_add",
    _scatter_add,
    _scatter_add_type,
    transpose=(lambda g: g, None, lambda g, b, types, axis: _src_cotangent(g, b, types[2], axis)),
    jointly=True,
    parameters=("axis",),
    batch=batch_like_values,
    samples=_scatter_add_samples,
    torch=lambda torch, a, index, src, axis: a.scatter_add(axis, index, used_by(index, src)),
)
