"""Movement: primitives that put elements elsewhere, without arithmetic. All are linear; most are views in NumPy.

Type rules return PyTorch's strides for what is a view there. Concatenation, diagonals, sliding windows, complex pairs
and updates through views are in files of their own, and are part of this module's names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..layout import preserved_strides
from ..tape.types import Shape, Type, contiguous_strides
from . import batching
from .batching import grid
from .complex_pairs import view_as_complex, view_as_real
from .concatenation import concatenate
from .declare import Primitive, Sample, linear, other
from .diagonals import diagonal, diagonal_embed, pad_diagonal, tril, triu
from .positions import fill_value
from .sliding import fold, unfold
from .update import apply_chain, apply_chain_to_array, update

__all__ = [
    "alias",
    "apply_chain",
    "apply_chain_to_array",
    "concatenate",
    "contiguous",
    "diagonal",
    "diagonal_embed",
    "expand",
    "flip",
    "fold",
    "pad",
    "pad_diagonal",
    "pad_slice",
    "permute",
    "reshape",
    "roll",
    "select",
    "slice_axis",
    "tril",
    "triu",
    "unfold",
    "update",
    "view_as_complex",
    "view_as_real",
    "view_strides",
]


def _stepped() -> Any:
    """Return a non-contiguous array of shape (3, 4)."""
    return grid(4, 6).T[::2]


# Reshape


def view_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Return the strides of a view with another shape of as many elements, or None if only a copy has that shape.

    >>> view_strides((3, 4), (4, 1), (12,)), view_strides((3, 4), (1, 3), (12,))
    ((1,), None)
    """
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    result = [1] * len(new_shape)
    new_axis = len(new_shape) - 1
    numel = new_numel = 1
    base = strides[-1] if strides else 1
    for axis in range(len(shape) - 1, -1, -1):
        numel *= shape[axis]
        if axis and (shape[axis - 1] == 1 or strides[axis - 1] == numel * base):
            continue  # this axis and the one before it lie in memory as one
        while new_axis >= 0 and (new_numel < numel or new_shape[new_axis] == 1):
            result[new_axis] = new_numel * base
            new_numel *= new_shape[new_axis]
            new_axis -= 1
        if new_numel != numel:
            return None
        if axis:
            base = strides[axis - 1]
            numel = new_numel = 1
    return tuple(result)


def _reshape_type(a: Type, shape: Shape) -> Any:
    numel = 1
    for length in shape:
        numel *= length
    if numel != a.numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {a.numel}")
    return a.dtype, shape, view_strides(a.shape, a.strides, shape)


def _reshape_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], shape: Shape) -> Any:
    return primitive(*operands, shape=(operands[0].shape[0], *shape))


reshape: Primitive = linear(
    "reshape",
    lambda a, shape: a.reshape(shape),
    _reshape_type,
    transpose=lambda g, types: reshape(g, shape=types[0].shape),
    parameters=("shape",),
    batch=_reshape_batch,
    samples=lambda: [
        Sample(grid(3, 4), shape=(2, 6)),
        Sample(grid(3, 4), shape=(12,)),
        Sample(_stepped(), shape=(2, 1, 6)),
        Sample(grid(1), shape=()),
        Sample(grid(), shape=(1, 1)),
        Sample(grid(0, 3), shape=(3, 0, 2)),
    ],
    torch=lambda torch, a, shape: a.reshape(shape),
    grad_name="ViewBackward0",
)


def _alias_type(a: Type) -> Any:
    return a.dtype, a.shape, a.strides


alias = linear(
    "alias",
    lambda a: a,
    _alias_type,
    transpose=lambda g: g,
    batch=batching.leading,
    samples=lambda: [Sample(grid(3, 4)), Sample(_stepped()), Sample(grid())],
    torch=lambda torch, a: a.view_as(a),
)

contiguous = linear(
    "contiguous",
    lambda a: np.asarray(a, order="C"),
    lambda a: (a.dtype, a.shape),
    transpose=lambda g: g,
    batch=batching.leading,
    samples=lambda: [Sample(grid(3, 4)), Sample(_stepped()), Sample(grid(0, 3)), Sample(grid())],
    torch=lambda torch, a: a.contiguous(),
    grad_name="CloneBackward0",
    kernel="a",
    kernel_on="any",
)


# Permute


def _permute_type(a: Type, axes: Shape) -> Any:
    if len(axes) != a.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {a.ndim} is not equal to len(dims) = {len(axes)}"
        )
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return a.dtype, tuple([a.shape[axis] for axis in axes]), tuple([a.strides[axis] for axis in axes])


def _unpermute(g: Any, axes: Shape) -> Any:
    inverse = [0] * len(axes)
    for place, axis in enumerate(axes):
        inverse[axis] = place
    return permute(g, axes=tuple(inverse))


def _permute_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axes: Shape) -> Any:
    return primitive(*operands, axes=(0, *[axis + 1 for axis in axes]))


permute = linear(
    "permute",
    lambda a, axes: a.transpose(axes),
    _permute_type,
    transpose=_unpermute,
    parameters=("axes",),
    batch=_permute_batch,
    samples=lambda: [
        Sample(grid(2, 3, 4), axes=(2, 0, 1)),
        Sample(_stepped(), axes=(1, 0)),
        Sample(grid(0, 3), axes=(1, 0)),
        Sample(grid(), axes=()),
    ],
    torch=lambda torch, a, axes: a.permute(axes),
)


# Expand


def _expand_type(a: Type, shape: Shape) -> Any:
    added = len(shape) - a.ndim
    if added < 0:
        raise RuntimeError(
            f"expand(torch.{a.dtype.title}Tensor{{{list(a.shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({a.ndim})"
        )
    strides = [0] * len(shape)
    for axis in range(len(shape) - 1, -1, -1):
        if not a.ndim:
            break  # as PyTorch: 0 for every axis
        if axis >= added:
            length, stride = a.shape[axis - added], a.strides[axis - added]
        else:
            length = 1
            stride = shape[axis + 1] * strides[axis + 1] if axis + 1 < len(shape) else 1
        if length == shape[axis]:
            strides[axis] = stride
        elif length != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[axis]}) must match the existing size ({length}) at non-singleton "
                f"dimension {axis}.  Target sizes: {list(shape)}.  Tensor sizes: {list(a.shape)}"
            )
    return a.dtype, shape, tuple(strides)


def _expand_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], shape: Shape) -> Any:
    size, *own = operands[0].shape
    aligned = batching.reshaped(operands[0], (size, *[1] * (len(shape) - len(own)), *own))
    return primitive(aligned, shape=(size, *shape))


expand = linear(
    "expand",
    lambda a, shape: np.broadcast_to(a, shape),
    _expand_type,
    transpose=lambda g: g,  # the replay sums a cotangent to its operand's shape
    parameters=("shape",),
    batch=_expand_batch,
    samples=lambda: [
        Sample(grid(3, 1), shape=(3, 4)),
        Sample(grid(3), shape=(2, 1, 3)),
        Sample(grid(), shape=(2, 3)),
        Sample(grid(1, 3), shape=(0, 3)),
        Sample(grid(1, 4), shape=(1, 1, 4)),
    ],
    torch=lambda torch, a, shape: a.expand(shape),
)


# Slices along one axis


def _along(axis: int, size: int, start: Any, length: int, step: int) -> tuple[Any, ...]:
    """Return the NumPy index of `length` elements along an axis of this size; a negative start counts from the end."""
    start = int(start)
    if start < 0:
        start += size
    return (*[slice(None)] * axis, slice(start, start + length * step, step))


def _slice_axis(a: Any, start: Any, axis: int, length: int, step: int) -> Any:
    return a[_along(axis, a.shape[axis], start, length, step)]


def _slice_axis_type(a: Type, start: Type, axis: int, length: int, step: int) -> Any:
    shape = (*a.shape[:axis], length, *a.shape[axis + 1 :])
    return a.dtype, shape, (*a.strides[:axis], a.strides[axis] * step, *a.strides[axis + 1 :])


def _shifted_first(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int, **parameters: Any) -> Any:
    """The axis moves behind the batch dimension; the position along it is the same for the whole batch."""
    if batched[1]:
        return batching.unrolled(primitive, operands, batched, axis=axis, **parameters)
    return primitive(*operands, axis=axis + 1, **parameters)


def _unslice(g: Any, b: Any, types: Any, axis: int, step: int) -> Any:
    return pad_slice(g, b, axis=axis, size=types[0].shape[axis], step=step)


slice_axis = linear(
    "slice_axis",
    _slice_axis,
    _slice_axis_type,
    transpose=(_unslice, None),
    parameters=("axis", "length", "step"),
    batch=_shifted_first,
    samples=lambda: [
        Sample(grid(3, 4), 1, axis=1, length=2, step=1),
        Sample(grid(3, 7), 1, axis=1, length=3, step=2),
        Sample(_stepped(), 2, axis=0, length=1, step=5),
        Sample(grid(3), 3, axis=0, length=0, step=1),
        Sample(grid(3, 4), np.array(-3), axis=1, length=2, step=2),
    ],
    torch=lambda torch, a, start, axis, length, step: a.narrow(axis, start, (length - 1) * step + 1 if length else 0)[
        (slice(None),) * axis + (slice(None, None, step),)
    ],
    grad_name="SliceBackward0",
)


def _slice_first(types: Sequence[Type], axis: int, length: int, step: int) -> Any:
    """Slices along the first axis from a Python number on, as in loops over time and of what gates share."""
    if axis or not types[1].is_number:
        return None
    size, extent = types[0].shape[0], length * step

    def run(a: Any, start: int) -> Any:
        if start < 0:
            start += size
        return a[start : start + extent : step]

    return run


slice_axis.specialise = _slice_first


def _pad_slice(g: Any, start: Any, axis: int, size: int, step: int) -> Any:
    result = np.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
    result[_along(axis, size, start, g.shape[axis], step)] = g
    return result


def _pad_slice_type(g: Type, start: Type, axis: int, size: int, step: int) -> Any:
    return g.dtype, (*g.shape[:axis], size, *g.shape[axis + 1 :])


def _sliced(g: Any, b: Any, types: Any, axis: int, step: int) -> Any:
    return slice_axis(g, b, axis=axis, length=types[0].shape[axis], step=step)


pad_slice = linear(
    "pad_slice",
    _pad_slice,
    _pad_slice_type,
    transpose=(_sliced, None),
    parameters=("axis", "size", "step"),
    batch=_shifted_first,
    samples=lambda: [
        Sample(grid(3, 2), 1, axis=1, size=4, step=1),
        Sample(grid(3, 3), 1, axis=1, size=7, step=2),
        Sample(grid(0), 3, axis=0, size=3, step=1),
        Sample(grid(3, 2), np.array(-3), axis=1, size=4, step=2),
    ],
    torch=lambda torch, g, start, axis, size, step: g.new_zeros((*g.shape[:axis], size, *g.shape[axis + 1 :])).index_add(
        axis, start % size + step * torch.arange(g.shape[axis]), g
    ),
    grad_name="SliceBackward0",
)


def _select(a: Any, index: Any, axis: int) -> Any:
    size = a.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {int(index)} is out of bounds for dimension {axis} with size {size}")
    return a[(slice(None),) * axis + (int(index), ...)]


def _select_first(types: Sequence[Type], axis: int) -> Any:
    """The same of the first axis and a Python integer."""
    if axis or not types[1].is_number or types[1].dtype is dtypes.bool:
        return None
    size = types[0].shape[0]

    def run(a: Any, index: int) -> Any:
        return a[index, ...] if -size <= index < size else _select(a, index, axis)

    return run


def _select_type(a: Type, index: Type, axis: int) -> Any:
    return a.dtype, (*a.shape[:axis], *a.shape[axis + 1 :]), (*a.strides[:axis], *a.strides[axis + 1 :])


def _unselect(g: Any, b: Any, types: Any, axis: int) -> Any:
    shape = types[0].shape
    return pad_slice(reshape(g, shape=(*shape[:axis], 1, *shape[axis + 1 :])), b, axis=axis, size=shape[axis], step=1)


def _select_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int) -> Any:
    """The same index for the whole batch stays one; an index of its own for each element is an index tensor."""
    a, position = operands
    if not batched[1]:
        return primitive(a, position, axis=axis + 1)
    from .indexing import index, index_batch

    pattern = tuple(["i" if at == axis else ":" for at in range(a.ndim - batched[0])])
    return index_batch(index, operands, batched, pattern=pattern)


select = linear(
    "select",
    _select,
    _select_type,
    transpose=(_unselect, None),
    parameters=("axis",),
    batch=_select_batch,
    samples=lambda: [
        Sample(grid(3, 4), 1, axis=1),
        Sample(_stepped(), 2, axis=0),
        Sample(grid(3), 0, axis=0),
        Sample(grid(2, 0, 3), 1, axis=2),
        Sample(grid(3, 4), np.array(-1), axis=0),
    ],
    torch=lambda torch, a, index, axis: a.select(axis, int(index)),
)
select.specialise = _select_first


# Pad


def _pad(a: Any, value: Any, low: Shape, high: Shape) -> Any:
    """Pad each axis before and after; negative padding crops."""
    shape = [length + before + after for length, before, after in zip(a.shape, low, high, strict=True)]
    kept = tuple(slice(max(-before, 0), n - max(-after, 0)) for n, before, after in zip(a.shape, low, high, strict=True))
    if not any(length > 0 for length in (*low, *high)):
        return a[kept]
    if isinstance(value, int):
        value = float(value)  # as PyTorch takes it, with its limits
    result = np.full(shape, fill_value(value, a.dtype))
    inside = tuple(slice(max(before, 0), length - max(after, 0)) for length, before, after in zip(shape, low, high, strict=True))
    result[inside] = a[kept]
    return result


def _pad_type(a: Type, value: Type, low: Shape, high: Shape) -> Any:
    shape = tuple([length + before + after for length, before, after in zip(a.shape, low, high, strict=True)])
    for axis, length in enumerate(shape):
        if length < 0:
            raise RuntimeError(
                f"The input size {a.shape[axis]}, plus negative padding {low[axis]} and {high[axis]} resulted in a negative "
                f"output size, which is invalid. Check dimension {axis} of your input."
            )
    return a.dtype, shape


def _negated(lengths: Shape) -> Shape:
    return tuple([-length for length in lengths])


def _pad_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], low: Shape, high: Shape) -> Any:
    return primitive(*operands, low=(0, *low), high=(0, *high))


pad: Primitive = other(
    "pad",
    _pad,
    _pad_type,
    vjp=lambda g, low, high: (pad(g, 0, low=_negated(low), high=_negated(high)), None),
    jvp=lambda g, low, high: pad(g[0], 0, low=low, high=high),
    parameters=("low", "high"),
    batch=_pad_batch,
    samples=lambda: [
        Sample(grid(3, 4), 0.5, low=(0, 1), high=(2, 0)),
        Sample(grid(3, 4), 0, low=(-1, 1), high=(2, -2)),
        Sample(grid(0, 2), 1.5, low=(1, 0), high=(0, 1)),
        Sample(grid(), 1.5, low=(), high=()),
        Sample(_stepped(), -1, low=(0, 0), high=(0, 0)),
    ],
    torch=lambda torch, a, value, low, high: torch.nn.functional.pad(
        a, [n for pair in zip(low[::-1], high[::-1], strict=True) for n in pair], value=value
    ),
    grad_name="ConstantPadNdBackward0",
)


# Flip and roll


def _same_layout(a: Type, axes: Shape) -> Any:
    """The order of the operand's axes in memory is kept."""
    return a.dtype, a.shape, preserved_strides(a.shape, a.strides)


flip: Primitive = linear(
    "flip",
    lambda a, axes: np.flip(a, axes),
    _same_layout,
    transpose=lambda g, axes: flip(g, axes=axes),
    parameters=("axes",),
    batch=batching.shifted_axes,
    samples=lambda: [
        Sample(grid(3, 4), axes=(1,)),
        Sample(_stepped(), axes=(0, 1)),
        Sample(grid(0, 3), axes=(0,)),
        Sample(grid(), axes=()),
    ],
    torch=lambda torch, a, axes: a.flip(axes),
)


def _roll_type(a: Type, shift: Type, axis: int) -> Any:
    return a.dtype, a.shape


roll: Primitive = linear(
    "roll",
    lambda a, shift, axis: np.roll(a, int(shift), axis),
    _roll_type,
    transpose=(lambda g, b, axis: roll(g, -b, axis=axis), None),
    parameters=("axis",),
    batch=_shifted_first,
    samples=lambda: [
        Sample(grid(3, 4), 1, axis=1),
        Sample(_stepped(), -7, axis=0),
        Sample(grid(0, 3), 2, axis=0),
    ],
    torch=lambda torch, a, shift, axis: a.roll(shift, axis),
)
