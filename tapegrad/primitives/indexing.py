"""Indexing: several index tensors at once, as in ``x[i, :, j]``, and masks.

Gathering along one axis and indexing by whole slices are in files of their own, and are part of this module's names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import zeros
from ..tape.types import Shape, Type
from . import batching, type_rules
from .batching import grid
from .declare import Primitive, Sample, other
from .gathering import gather, scatter, scatter_add
from .masking import masked_fill, masked_gather, masked_scatter
from .positions import add_rows, fill_value, first_outside
from .row_indexing import index_add, index_copy, index_fill, index_select
from .scatter_reduction import scatter_reduce

__all__ = [
    "check_positions",
    "gather",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "masked_fill",
    "masked_gather",
    "masked_scatter",
    "put",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "take",
]

Pattern = tuple[str, ...]  # "i" for an axis that an index tensor indexes, ":" for one that is kept whole


def _indexed_axes(pattern: Pattern) -> list[int]:
    return [axis for axis, kind in enumerate(pattern) if kind == "i"]


def block_start(pattern: Pattern) -> int:
    """Return where in the result the index's dimensions are: in place of adjacent axes, else in front."""
    axes = _indexed_axes(pattern)
    return axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def index_shape(indices: Sequence[Type]) -> Shape:
    """Return the broadcast shape of the index tensors."""
    for index in indices:
        if index.dtype not in (dtypes.int64, dtypes.int32):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    shapes = [index.shape for index in indices]
    try:
        return type_rules.broadcast_shapes("index", *shapes)
    except RuntimeError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}") from None


def result_shape(shape: Shape, indices: Sequence[Type], pattern: Pattern) -> Shape:
    """Return the shape of what these index tensors read of a tensor of this shape."""
    lengths = index_shape(indices)
    if 0 not in lengths and any([length == 0 for length, kind in zip(shape, pattern, strict=True) if kind == "i"]):
        raise IndexError("index is out of bounds for dimension with size 0")
    kept = _kept(shape, pattern)
    start = block_start(pattern)
    return (*kept[:start], *lengths, *kept[start:])


def check_positions(indices: Sequence[Any], sizes: Sequence[int]) -> None:
    """Raise for an array of positions that goes beyond the length of its axis; None stands for one not known yet."""
    for place, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        outside = None if index is None else first_outside(np.asarray(index), -size, size)
        if outside is not None:
            raise IndexError(f"index {outside} is out of bounds for dimension {place} with size {size}")


def _numpy_index(a: Any, indices: Sequence[Any], pattern: Pattern) -> tuple[Any, ...]:
    """Return the NumPy index, after checking the range of each index."""
    axes = _indexed_axes(pattern)
    check_positions(indices, [a.shape[axis] for axis in axes])
    result: list[Any] = [slice(None)] * a.ndim
    for index, axis in zip(indices, axes, strict=True):
        result[axis] = index
    return tuple(result)


def _kept(lengths: Sequence[int], pattern: Pattern) -> list[int]:
    """Return the lengths (or strides) of the axes that are kept whole."""
    return [length for length, kind in zip(lengths, pattern, strict=True) if kind == ":"]


def _array_shape(a: Any, indices: Sequence[Any], pattern: Pattern) -> Shape:
    kept = _kept(a.shape, pattern)
    start = block_start(pattern)
    return (*kept[:start], *np.broadcast_shapes(*[np.shape(index) for index in indices]), *kept[start:])


def _index(a: Any, *indices: Any, pattern: Pattern) -> Any:
    shape = _array_shape(a, indices, pattern)
    if 0 in shape:
        return np.empty(shape, a.dtype)  # PyTorch checks no position then
    return a[_numpy_index(a, indices, pattern)]


def _index_type(a: Type, *indices: Type, pattern: Pattern) -> Any:
    shape = result_shape(a.shape, indices, pattern)
    if a.is_contiguous and all([index.is_contiguous for index in indices]):
        return a.dtype, shape
    return a.dtype, shape, _result_strides(shape, a, indices, pattern)


def _result_strides(shape: Shape, a: Type, indices: Sequence[Type], pattern: Pattern) -> Shape:
    """Return the strides of the elements read: the axes that stay are in the order in memory that they have."""
    count, start = len(index_shape(indices)), block_start(pattern)
    kept = _kept(a.strides, pattern)
    operands: list[Shape] = [(*kept[:start], *[0] * count, *kept[start:])]
    for index in indices:
        own = [0 if length == 1 else stride for length, stride in zip(index.shape, index.strides, strict=True)]
        operands.append((*[0] * (start + count - index.ndim), *own, *[0] * (len(kept) - start)))
    return type_rules.compact_strides(shape, operands)


def _index_vjp(g: Any, constants: Any, types: Any, pattern: Pattern) -> Any:
    old = index_put(zeros(types[0].shape, types[0].dtype), g, *constants, pattern=pattern, accumulate=True)
    return (old, *[None] * len(constants))


def _aligned_indices(indices: Sequence[Any], batched: Sequence[bool], size: int) -> list[Any]:
    """Return the indices with a batch dimension in front, all of as many dimensions."""
    deepest = max(index.ndim - has for index, has in zip(indices, batched, strict=True))
    aligned = []
    for index, has in zip(indices, batched, strict=True):
        own = tuple(index.shape[1:] if has else index.shape)
        aligned.append(batching.reshaped(index, (size if has else 1, *[1] * (deepest - len(own)), *own)))
    return aligned


def _moved(value: Any, start: int, count: int, target: int) -> Any:
    """Move `count` adjacent axes that begin at `start` so that they begin at `target`."""
    from .movement import permute

    axes = list(range(value.ndim))
    block = axes[start : start + count]
    del axes[start : start + count]
    axes[target:target] = block
    return value if axes == sorted(axes) else permute(value, axes=tuple(axes))


def index_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], pattern: Pattern) -> Any:
    a, *indices = operands
    start = block_start(pattern)
    if not any(batched[1:]):
        depth = max(index.ndim for index in indices)
        result = primitive(a, *indices, pattern=(":", *pattern))
        in_front = block_start((":", *pattern)) == 0
        return _moved(result, 0, depth, start + 1) if in_front else result
    size = batching.batch_size(operands, batched)
    aligned = _aligned_indices(indices, batched[1:], size)
    depth = aligned[0].ndim - 1
    if not batched[0]:
        return _moved(primitive(a, *aligned, pattern=pattern), start, 1, 0)
    places = batching.batch_positions(size, depth + 1)
    result = primitive(a, places, *aligned, pattern=("i", *pattern))
    return _moved(result, 1, depth, start + 1)


def _index_samples() -> list[Sample]:
    first, second = np.array([2, 0, -1, 0]), np.array([[1], [0]])
    return [
        Sample(grid(3, 4), first, pattern=("i", ":")),
        Sample(grid(3, 4), first, pattern=(":", "i")),
        Sample(grid(3, 4), first, second, pattern=("i", "i")),
        Sample(grid(3, 2, 4), first, second, pattern=("i", ":", "i")),
        Sample(grid(5, 3, 2), first, second, pattern=(":", "i", "i")),
        Sample(grid(4, 6).T[::2], np.array(1), pattern=("i", ":")),
        Sample(grid(3), np.zeros((2, 0), np.int64), pattern=("i",)),
        Sample(grid(3, 9), first, pattern=("i", ":")),
    ]


def _torch_index(pattern: Pattern, indices: Sequence[Any]) -> tuple[Any, ...]:
    remaining = list(indices)
    return tuple([remaining.pop(0) if kind == "i" else slice(None) for kind in pattern])


index: Primitive = other(
    "index",
    _index,
    _index_type,
    vjp=_index_vjp,
    jvp=lambda g, constants, pattern: index(g[0], *constants, pattern=pattern),
    parameters=("pattern",),
    batch=index_batch,
    samples=_index_samples,
    torch=lambda torch, a, *indices, pattern: a[_torch_index(pattern, indices)],
)


def _index_put(a: Any, value: Any, *indices: Any, pattern: Pattern, accumulate: bool) -> Any:
    shape = _array_shape(a, indices, pattern)
    if 0 in shape:
        return a
    places = _numpy_index(a, indices, pattern)
    if not accumulate:
        result = np.array(a, order="K")
        result[places] = fill_value(value, a.dtype)
        return result
    indices = np.broadcast_arrays(*indices)
    axes = _indexed_axes(pattern)
    front = range(len(axes))
    values = np.moveaxis(a, axes, front)
    sizes = values.shape[: len(axes)]
    positions = np.ravel_multi_index([np.where(i < 0, i + n, i) for i, n in zip(indices, sizes, strict=True)], sizes)
    kept = values.shape[len(axes) :]
    depth, start = positions.ndim, block_start(pattern)
    value = np.broadcast_to(value, shape)
    value = np.moveaxis(value, range(start, start + depth), range(depth))
    row = math.prod(kept)
    summed = add_rows(values.reshape(math.prod(sizes), row), positions.reshape(-1), value.reshape(positions.size, row))
    return np.moveaxis(summed.reshape(values.shape), front, axes)


def _index_put_type(a: Type, value: Type, *indices: Type, pattern: Pattern, accumulate: bool) -> Any:
    shape = result_shape(a.shape, indices, pattern)
    if not value.is_number and value.dtype is not a.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {a.dtype.title} for the destination and "
            f"{value.dtype.title} for the source."
        )
    added = len(shape) - value.ndim
    if added < 0 or any(length not in (1, shape[added + at]) for at, length in enumerate(value.shape)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    return a.dtype, a.shape, a.strides if type_rules.is_dense(a.shape, a.strides) else None


def _put_indices(constants: Any, pattern: Pattern) -> Any:
    return constants[len(constants) - pattern.count("i") :]  # before them comes a value that is a number


def _index_put_vjp(g: Any, constants: Any, types: Any, needs: Any, pattern: Pattern, accumulate: bool) -> Any:
    indices = _put_indices(constants, pattern)
    old = None
    if needs[0]:
        old = g if accumulate else index_put(g, 0, *indices, pattern=pattern, accumulate=False)
    new = index(g, *indices, pattern=pattern) if needs[1] else None
    return (old, new, *[None] * len(indices))


def _index_put_jvp(g: Any, constants: Any, types: Any, pattern: Pattern, accumulate: bool) -> Any:
    old = zeros(types[0].shape, types[0].dtype) if g[0] is None else g[0]
    new = 0 if g[1] is None else g[1]
    return index_put(old, new, *_put_indices(constants, pattern), pattern=pattern, accumulate=accumulate)


def _index_put_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], pattern: Pattern, accumulate: bool) -> Any:
    """Index the batch dimension too; the value is laid out as the result of that index, whose dimensions are in front."""
    a, value, *indices = operands
    size = batching.batch_size(operands, batched)
    if not batched[0]:
        a = batching.expanded(a, (size, *a.shape))
    aligned = _aligned_indices(indices, batched[2:], size)
    depth, start = aligned[0].ndim - 1, block_start(pattern)
    full = type_rules.broadcast_shapes("index_put", *[tuple(index.shape[1:]) for index in aligned])
    if batching.is_tensor(value):
        own = tuple(value.shape[1:] if batched[1] else value.shape)
        kept = _kept(a.shape[1:], pattern)
        shape = (*kept[:start], *full, *kept[start:])
        value = batching.reshaped(value, (size if batched[1] else 1, *[1] * (len(shape) - len(own)), *own))
        value = _moved(batching.expanded(value, (size, *shape)), start + 1, depth, 1)
    places = batching.batch_positions(size, depth + 1)
    return primitive(a, value, places, *aligned, pattern=("i", *pattern), accumulate=accumulate)


def _index_put_samples() -> list[Sample]:
    once, again = np.array([2, 0]), np.array([2, 0, -1, 0])
    return [
        Sample(grid(3, 4), -grid(2, 4), once, pattern=("i", ":"), accumulate=False),
        Sample(grid(3, 4), -grid(3, 2), once, pattern=(":", "i"), accumulate=False),
        Sample(grid(3, 4), np.array(0.5), once, np.array([[1], [-1]]), pattern=("i", "i"), accumulate=False),
        Sample(grid(3, 2, 4), -grid(2, 2), once, np.array([1, 1]), pattern=("i", ":", "i"), accumulate=False),
        Sample(grid(4, 6).T[::2], -grid(1), once, pattern=("i", ":"), accumulate=False),
        Sample(grid(3), 0.5, np.zeros((2, 0), np.int64), pattern=("i",), accumulate=False),
        Sample(grid(3, 4), -grid(4, 4), again, pattern=("i", ":"), accumulate=True),
        Sample(grid(3, 9), -grid(4, 9), again, pattern=("i", ":"), accumulate=True),
        Sample(grid(5, 3, 4), -grid(5, 4, 4), again, pattern=(":", "i", ":"), accumulate=True),
        Sample(grid(3, 2, 4), -grid(2, 4, 2), again, np.array([[1], [1]]), pattern=("i", ":", "i"), accumulate=True),
    ]


def _torch_index_put(torch: Any, a: Any, value: Any, *indices: Any, pattern: Pattern, accumulate: bool) -> Any:
    value = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=a.dtype)
    axes = _indexed_axes(pattern)
    if axes == list(range(len(axes))):
        return a.index_put(indices, value, accumulate)
    result = a.clone()
    places = _torch_index(pattern, indices)
    if not accumulate:
        result[places] = value
        return result
    positions = torch.arange(a.numel()).reshape(a.shape)[places]
    return a.put(positions, value.expand(positions.shape), accumulate=True)


index_put = other(
    "index_put",
    _index_put,
    _index_put_type,
    vjp=_index_put_vjp,
    jvp=_index_put_jvp,
    parameters=("pattern", "accumulate"),
    batch=_index_put_batch,
    samples=_index_put_samples,
    torch=_torch_index_put,
)


# By position in the flattened tensor


def take(a: Any, positions: Any) -> Any:
    """Record the elements at positions in the flattened tensor."""
    from .movement import reshape

    return index(reshape(a, shape=(a.numel(),)), positions, pattern=("i",), name="TakeBackward0")


def put(a: Any, positions: Any, source: Any, accumulate: bool) -> Any:
    """Record `a` with the elements at positions in the flattened tensor replaced, or added to."""
    from .movement import reshape

    source = batching.reshaped(source, tuple(positions.shape))
    result = index_put(reshape(a, shape=(a.numel(),)), source, positions, pattern=("i",), accumulate=accumulate)
    return reshape(result, shape=tuple(a.shape), name="PutBackward0")
