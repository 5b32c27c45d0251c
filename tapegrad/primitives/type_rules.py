"""Pieces of type rules: broadcasting, dtypes, axes, and the errors that PyTorch raises for them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .. import dtypes
from ..tape.types import Shape, Type, contiguous_strides

Casts = tuple[dtypes.dtype, dtypes.dtype]


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """Return the shape that these shapes broadcast to, or raise RuntimeError naming the operation and the sizes."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    result = [1] * max(len(shape) for shape in shapes)
    for shape in shapes:
        for axis, length in zip(range(len(result) - 1, -1, -1), reversed(shape), strict=False):
            if length != 1:
                if result[axis] not in (1, length):
                    raise RuntimeError(
                        f"The size of tensor a ({result[axis]}) must match the size of tensor b ({length}) at "
                        f"non-singleton dimension {axis} ({name} of shapes {', '.join(str(list(s)) for s in shapes)})"
                    )
                result[axis] = length
    return tuple(result)


def broadcast(name: str, types: Sequence[Type]) -> tuple[Shape, Shape]:
    """Return the shape and strides of an elementwise result."""
    shape = types[0].shape if len(types) == 1 else broadcast_shapes(name, *[t.shape for t in types])
    return shape, _result_strides(shape, types)


def _result_strides(shape: Shape, types: Sequence[Type]) -> Shape:
    """Return the strides of a new tensor with its axes in the order in memory that the operands have them in."""
    if all([t.shape == shape for t in types]):
        first = types[0].strides
        if all([t.is_contiguous for t in types]):
            return contiguous_strides(shape)
        if all([t.strides == first for t in types]) and is_dense(shape, first):
            return first
    elif all([t.strides == contiguous_strides(t.shape) for t in types]):
        return contiguous_strides(shape)
    return compact_strides(shape, [_broadcast_strides(shape, t) for t in types])


def compact_strides(shape: Shape, operands: Sequence[Shape]) -> Shape:
    """Return the strides of a dense result with its axes in the order in memory of operands with these strides.

    A stride of 0 is that of an axis which an operand does not have.
    """
    strides = [1] * len(shape)
    expected = 1
    for axis in _order_in_memory(shape, operands):
        strides[axis] = expected
        expected *= max(shape[axis], 1)
    return tuple(strides)


def _order_in_memory(shape: Shape, strides: Sequence[Shape]) -> list[int]:
    """Return the axes of a result, innermost first: as PyTorch, by the first operand that tells two axes apart."""
    order = list(range(len(shape)))[::-1]
    for place in range(1, len(order)):
        at = place
        for before in range(place - 1, -1, -1):
            comparison = _compare(order[before], order[at], shape, strides)
            if comparison < 0:
                break
            if comparison > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    return order


def _broadcast_strides(shape: Shape, t: Type) -> Shape:
    """Return an operand's strides as one of the result's shape: 0 where it is broadcast."""
    missing = len(shape) - t.ndim
    own = [0 if length == 1 and shape[missing + axis] != 1 else t.strides[axis] for axis, length in enumerate(t.shape)]
    return (*[0] * missing, *own)


def _compare(first: int, second: int, shape: Shape, operands: Sequence[Shape]) -> int:
    """Return 1 if axis `first` belongs outside of axis `second` in memory, -1 if inside, 0 if no operand tells."""
    for strides in operands:
        one, other = strides[first], strides[second]
        if one == 0 or other == 0:
            continue
        if one != other:
            return 1 if one > other else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether these strides are those of a permuted contiguous array."""
    expected = 1
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if length != 1:
            if stride != expected:
                return False
            expected *= length
    return True


def result_dtype(types: Sequence[Type]) -> dtypes.dtype:
    """Return the promoted dtype of operands: dimensioned tensors, then 0-d tensors, then Python numbers."""
    first = types[0].dtype
    if all(t.dtype is first for t in types):
        return first
    by_priority: list[dtypes.dtype | None] = [None, None, None]
    for t in types:
        priority = 2 if t.is_number else 1 if t.ndim == 0 else 0
        seen = by_priority[priority]
        by_priority[priority] = t.dtype if seen is None else dtypes.promote_types(seen, t.dtype)
    return dtypes.promote(*by_priority)


# What an elementwise primitive computes in, and its result's dtype. Each takes the primitive's name (for errors).


def promoted(name: str, types: Sequence[Type]) -> Casts:
    """Compute in the promoted dtype."""
    dtype = result_dtype(types)
    return dtype, dtype


def promoted_to_float(name: str, types: Sequence[Type]) -> Casts:
    """Compute in the promoted dtype, integers and bool as the default dtype."""
    dtype = result_dtype(types)
    if dtype.category < dtypes.FLOAT:
        dtype = dtypes.get_default_dtype()
    return dtype, dtype


def compared(name: str, types: Sequence[Type]) -> Casts:
    """Compute in the promoted dtype, result bool."""
    return result_dtype(types), dtypes.bool


def to_real(name: str, types: Sequence[Type]) -> Casts:
    """Compute in the promoted dtype, result its real dtype (abs, real, imag, angle)."""
    dtype = result_dtype(types)
    return dtype, dtype.to_real()


def logical(name: str, types: Sequence[Type]) -> Casts:
    """Compute in bool, result bool."""
    return dtypes.bool, dtypes.bool


def integral(name: str, types: Sequence[Type]) -> Casts:
    """Compute in the promoted dtype, which must not be floating point or complex."""
    dtype = result_dtype(types)
    if dtype.category >= dtypes.FLOAT:
        raise NotImplementedError(f'"{name}_cpu" not implemented for \'{dtype.title}\': only for integers and bool')
    return dtype, dtype


# Axes


def normalise_axis(axis: int, ndim: int) -> int:
    """Return the axis counted from the front, or raise PyTorch's IndexError. A 0-d tensor has the axes -1 and 0."""
    if axis.__class__ is not int:
        axis = index(axis)  # NumPy's, or a tensor of one integer
    size = ndim or 1
    if not -size <= axis < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {axis})")
    return axis + size if axis < 0 else axis


_ALL_AXES = tuple([tuple(range(ndim)) for ndim in range(8)])


def normalise_axes(axes: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front, all of them for None or (), or raise for one out of range or met twice."""
    if axes is None:
        return _ALL_AXES[ndim] if ndim < len(_ALL_AXES) else tuple(range(ndim))
    given: Sequence[Any] = axes if isinstance(axes, (tuple, list)) else (axes,)
    if len(given) == 0:
        return tuple(range(ndim))
    result = tuple([normalise_axis(axis, ndim) for axis in given])
    if len(set(result)) != len(result):
        twice = next(axis for axis in result if result.count(axis) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return result if ndim else ()


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Return the shape left after reducing these (normalised) axes."""
    if keepdims:
        return tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    return tuple([length for axis, length in enumerate(shape) if axis not in axes])


def require_floating(name: str, *types: Type) -> Any:
    """Raise for an operand that is neither floating point nor complex."""
    for t in types:
        if t.dtype.category < dtypes.FLOAT:
            raise RuntimeError(f"{name}: expected a floating point or complex tensor as input, got {t.dtype.title}")
