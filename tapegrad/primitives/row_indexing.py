"""Indexing by whole slices: a vector of positions along one axis, each of which stands for the slice there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import ones, zeros
from ..tape.types import Shape, Type
from . import batching
from .batching import grid
from .declare import Primitive, Sample, linear, other
from .gathering import gather, scatter, scatter_add, with_axis
from .positions import add_rows, check_range, fill_value, first_outside
from .type_rules import broadcast


def _check_vector(message: str, index: Type, error: type[Exception] = IndexError) -> None:
    if index.ndim > 1:
        raise error(message)


def _rows_first(a: Any, axis: int) -> Any:
    """Return a view with the axis in front; a 0-d array has one of length 1."""
    return np.moveaxis(with_axis(a)[0], axis, 0)


def _back(a: Any, axis: int, shape: Any) -> Any:
    return np.moveaxis(a, 0, axis).reshape(shape)


def _check_rows(index: Any, size: int) -> Any:
    """Return the index as a vector, checked."""
    index = index.reshape(-1)
    if first_outside(index, 0, size) is not None:
        raise IndexError("index out of range in self")
    return index


def _index_select(a: Any, index: Any, axis: int) -> Any:
    values = with_axis(a)[0]
    check_selected(values.shape, index, axis)
    result = np.take(values, index.reshape(-1), axis)
    return result if a.ndim else result.reshape(())


def check_selected(shape: Shape, index: Any, axis: int) -> None:
    """Raise for positions outside an axis; PyTorch has errors of their own for the second axis, and for what is empty."""
    size = shape[axis]
    outside = first_outside(index, 0, size)
    if outside is None:
        return
    is_empty = len(shape) > 1 and 0 in shape
    if is_empty and not size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if is_empty or axis == 1:
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={outside} axis_dim={size}")
    raise IndexError("index out of range in self")


def _index_select_type(a: Type, index: Type, axis: int) -> Any:
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    _check_vector("index_select(): Index is supposed to be a vector", index)
    if a.ndim == 0:
        if index.numel != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)")
        return a.dtype, ()
    return a.dtype, (*a.shape[:axis], index.numel, *a.shape[axis + 1 :])


def _by_element(index: Any, like: Any, axis: int) -> Any:
    """Return a batch of vectors as an index for gather and scatter on tensors of the shape of `like`."""
    size = index.shape[0]
    length = index.shape[1] if index.ndim == 2 else 1
    shape = [1] * like.ndim
    shape[0], shape[axis] = size, length
    full = list(like.shape)
    full[axis] = length
    return batching.expanded(batching.reshaped(index, tuple(shape)), tuple(full))


def _rows_batch(elementwise: Any) -> Any:
    """Return a batching rule: an index that is the same for the whole batch stays; else `elementwise` does it."""

    def rule(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int) -> Any:
        if not batched[1]:
            index = operands[1]
            others, size, ndim = batching.with_batch_dimension([operands[0], *operands[2:]], [batched[0], *batched[2:]])
            others = [
                batching.reshaped(value, (size, 1)) if batching.is_tensor(value) and value.ndim == 1 and ndim == 0 else value
                for value in others
            ]
            result = primitive(others[0], index, *others[1:], axis=axis + 1)
        else:
            aligned, size, ndim = batching.with_batch_dimension(operands, batched)
            if ndim == 0:
                aligned = [batching.reshaped(v, (size, 1)) if batching.is_tensor(v) and v.ndim == 1 else v for v in aligned]
            aligned[1] = _by_element(aligned[1], aligned[0], axis + 1)
            result = elementwise(aligned, axis + 1)
        return result if ndim else batching.reshaped(result, (size,))

    return rule


def _select_samples() -> list[Sample]:
    return [
        Sample(grid(3, 4), np.array([2, 0, 2]), axis=0),
        Sample(grid(4, 6).T[::2], np.array([3, 3]), axis=1),
        Sample(grid(2, 3, 2), np.array(1), axis=1),
        Sample(grid(), np.array([0]), axis=0),
        Sample(grid(3), np.zeros(0, np.int64), axis=0),
    ]


index_select = linear(
    "index_select",
    _index_select,
    _index_select_type,
    transpose=(lambda g, b, types, axis: index_add(zeros(types[0].shape, types[0].dtype), b, g, axis=axis), None),
    parameters=("axis",),
    batch=_rows_batch(lambda operands, axis: gather(*operands, axis=axis)),
    samples=_select_samples,
    torch=lambda torch, a, index, axis: a.index_select(axis, index),
)


def check_added(index: Any, rows_shape: Shape, axis: int) -> None:
    """Raise for positions outside an axis, which is the first one in this shape; a vector has an error of its own."""
    if len(rows_shape) > 1:
        check_range(index, axis, rows_shape[0])
    elif first_outside(index, 0, rows_shape[0]) is not None:
        raise IndexError("index out of range in self")


def _index_add(a: Any, index: Any, source: Any, axis: int) -> Any:
    rows = _rows_first(a, axis)
    index = index.reshape(-1)
    if a.size == 0:
        return a  # PyTorch checks no position then
    check_added(index, rows.shape, axis)
    source = _rows_first(source, axis)
    length = math.prod(rows.shape[1:])
    result = add_rows(rows.reshape(len(rows), length), index, source.reshape(len(source), length))
    return _back(result.reshape(rows.shape), axis, a.shape)


def _index_add_type(a: Type, index: Type, source: Type, axis: int) -> Any:
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.title}")
    _check_vector(
        f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {index.dtype.title} "
        f"and size: {list(index.shape)}",
        index,
    )
    if a.dtype is not source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({a.dtype.title}) and source ({source.dtype.title}) must have the same scalar type"
        )
    count = source.shape[axis] if axis < source.ndim else 1
    if index.numel != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): ({count}), for dim: {axis}"
        )
    if (*a.shape[:axis], *a.shape[axis + 1 :]) != (*source.shape[:axis], *source.shape[axis + 1 :]) or a.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(a.shape)} source.shape = {list(source.shape)}"
        )
    return a.dtype, a.shape


def _row_samples() -> list[Sample]:
    return [
        Sample(grid(3, 4), np.array([2, 0]), -grid(2, 4), axis=0),
        Sample(grid(4, 6).T[::2], np.array([3, 1]), -grid(3, 2), axis=1),
        Sample(grid(3), np.array([1]), -grid(1), axis=0),
        Sample(grid(), np.array(0), np.array(5.0), axis=0),
        Sample(grid(3, 2), np.zeros(0, np.int64), grid(0, 2), axis=0),
    ]


def _torch_index_add(torch: Any, a: Any, index: Any, source: Any, axis: int) -> Any:
    if a.numel() == 0 and index.numel():
        raise IndexError("PyTorch checks no position in an empty tensor, and then has no derivative")
    return a.index_add(axis, index, source)


index_add: Primitive = linear(
    "index_add",
    _index_add,
    _index_add_type,
    transpose=(lambda g: g, None, lambda g, b, types, axis: _selected_like(g, b, types[2], axis)),
    jointly=True,
    parameters=("axis",),
    batch=_rows_batch(lambda operands, axis: scatter_add(*operands, axis=axis)),
    samples=lambda: [
        *_row_samples(),
        Sample(grid(3, 4), np.array([1, 1, 0]), -grid(3, 4), axis=0),
        Sample(grid(3, 9), np.array([2, 2, 0, 2]), -grid(4, 9), axis=0),
    ],
    torch=_torch_index_add,
)


def _selected_like(g: Any, index: Any, source: Type, axis: int) -> Any:
    """Return the slices at the index, in the shape of the source (0-d stands for a vector of one element)."""
    selected = index_select(g, index, axis=axis)
    return batching.reshaped(selected, source.shape)


def _index_copy(a: Any, index: Any, source: Any, axis: int) -> Any:
    result = np.array(with_axis(a)[0])
    rows = np.moveaxis(result, axis, 0)
    index = index.reshape(-1)
    check_range(index, axis, len(rows), IndexError, "index_copy_(): ")
    rows[index] = _rows_first(source, axis)
    return result.reshape(a.shape)


def _index_copy_type(a: Type, index: Type, source: Type, axis: int) -> Any:
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.title}")
    _check_vector(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})", index)
    if a.dtype is not source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{a.dtype.title} and (source) {source.dtype.title}"
        )
    if a.ndim != source.ndim and a.ndim and source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({source.ndim}), destination dimensionality ({a.ndim})"
        )
    count = source.shape[axis] if source.ndim else 1
    if index.numel != count:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel}) should be equal to source.size(dim) ({count})")
    kept, given = ((*t.shape[:axis], *t.shape[axis + 1 :]) for t in (a, source))
    if kept != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, kept))} at dimension {axis} and source slice shape: {' '.join(map(str, given))} at dimension 0."
        )
    return a.dtype, a.shape


def _index_copy_vjp(g: Any, b: Any, types: Any, needs: Any, axis: int) -> Any:
    old = index_fill(g, b, 0, axis=axis) if needs[0] else None
    return old, None, _selected_like(g, b, types[2], axis) if needs[2] else None


def _index_copy_jvp(g: Any, b: Any, types: Any, axis: int) -> Any:
    old, new = (zeros(types[i].shape, types[i].dtype) if g[i] is None else g[i] for i in (0, 2))
    return index_copy(old, b, new, axis=axis)


index_copy = other(
    "index_copy",
    _index_copy,
    _index_copy_type,
    vjp=_index_copy_vjp,
    jvp=_index_copy_jvp,
    parameters=("axis",),
    batch=_rows_batch(lambda operands, axis: scatter(*operands, axis=axis)),
    samples=_row_samples,
    torch=lambda torch, a, index, source, axis: a.index_copy(axis, index, source),
)


def check_filled(index: Any, axis: int, size: int) -> None:
    """Raise for positions outside an axis of this size; negative ones count from its end."""
    outside = first_outside(index, -size, size)
    if outside is not None:
        raise IndexError(f"index {outside} is out of bounds for dimension {axis} with size {size}")


def _index_fill(a: Any, index: Any, value: Any, axis: int) -> Any:
    result = np.array(a, order="K").reshape(a.shape or (1,))
    check_filled(index, axis, result.shape[axis])
    np.moveaxis(result, axis, 0)[index.reshape(-1)] = fill_value(value, result.dtype)
    return result.reshape(a.shape)


def _index_fill_type(a: Type, index: Type, value: Type, axis: int) -> Any:
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value.dtype.is_complex and not a.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return a.dtype, *broadcast("index_fill", (a,))


def _index_fill_vjp(g: Any, b: Any, types: Any, needs: Any, axis: int) -> Any:
    from .indexing import masked_fill

    old = index_fill(g, b, 0, axis=axis) if needs[0] else None
    if not needs[2]:
        return old, None, None
    kept = index_fill(ones(types[0].shape, dtypes.bool), b, False, axis=axis)
    return old, None, masked_fill(g, kept, 0)


def _index_fill_jvp(g: Any, b: Any, types: Any, axis: int) -> Any:
    old = zeros(types[0].shape, types[0].dtype) if g[0] is None else g[0]
    return index_fill(old, b, 0 if g[2] is None else g[2], axis=axis)


def _index_fill_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int) -> Any:
    a, index, value = operands
    if batched[1] or batched[2] or a.ndim == 1:
        return batching.unrolled(primitive, operands, batched, axis=axis)
    return primitive(a, index, value, axis=axis + 1)


index_fill = other(
    "index_fill",
    _index_fill,
    _index_fill_type,
    vjp=_index_fill_vjp,
    jvp=_index_fill_jvp,
    parameters=("axis",),
    batch=_index_fill_batch,
    samples=lambda: [
        Sample(grid(3, 4), np.array([2, 0, -1]), 0.5, axis=0),
        Sample(grid(4, 6).T[::2], np.array([1, 1]), np.array(0.25), axis=1),
        Sample(grid(), np.array(0), 2.0, axis=0),
        Sample(grid(3), np.zeros(0, np.int64), 2.0, axis=0),
    ],
    torch=lambda torch, a, index, value, axis: a.index_fill(axis, index, value),
)
