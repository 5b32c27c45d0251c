"""The elements in another arrangement, in memory of their own: copied, repeated, flipped, rolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layout import contiguous_format, format_strides, preserve_format
from ..primitives import movement
from ..primitives.copying import copy
from ..primitives.row_indexing import index_select
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..tape.record import here, read, record
from ..tape.types import contiguous_strides, make_type
from ..tensor import Tensor
from .arguments import checked
from .declare import accepts_names, require_tensor
from .in_place import laid_out
from .reductions import show
from .shapes import Shape, reshape, sizes_from

# Copies


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Return a copy, through which gradients flow.

    >>> import tapegrad
    >>> x = tapegrad.tensor([1.0, 2.0])
    >>> y = x.clone()
    >>> y[0] = 5
    >>> x
    tensor([1., 2.])
    """
    require_tensor("clone", input)
    if memory_format is None or memory_format is preserve_format:
        return copy(input)
    type_ = input._node.type
    strides = contiguous_strides(type_.shape) if memory_format is contiguous_format else format_strides(type_.shape, memory_format)
    start = here()
    if type_.strides == strides:
        return copy(input)
    return show("CloneBackward0", laid_out(input, make_type(type_.dtype, type_.shape, strides)), start)


def contiguous(input: Any, memory_format: Any = None) -> Any:
    """Return the tensor if its elements lie in memory in order, else a copy whose elements do."""
    type_ = input._current_type()
    if memory_format is None or memory_format is contiguous_format:
        return input if type_.is_contiguous else record(movement.contiguous, (input,), (), "CloneBackward0")
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return input if input.is_contiguous(memory_format=memory_format) else clone(input, memory_format=memory_format)


# Flipped and rolled


def flip(input: Any, *axes: Any, dims: Any = None) -> Any:
    """Return a copy with these dimensions reversed.

    >>> import tapegrad
    >>> tapegrad.flip(tapegrad.tensor([[1, 2], [3, 4]]), (0,))
    tensor([[3, 4],
            [1, 2]])
    """
    wanted = sizes_from("flip", axes, dims, "dims")
    return movement.flip(require_tensor("flip", input), axes=normalise_axes(wanted, input.ndim) if wanted else ())


def _reversed(self: Any) -> Any:
    """Return a copy with the first dimension reversed: what ``reversed(tensor)`` gives."""
    return flip(self, 0) if self.ndim else self


def fliplr(input: Any) -> Any:
    """Return a copy with the second dimension reversed."""
    if require_tensor("fliplr", input).ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Any) -> Any:
    """Return a copy with the first dimension reversed."""
    if require_tensor("flipud", input).ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@checked
def rot90(input: Any, k: int = 1, dims: Shape = (0, 1)) -> Any:
    """Return a copy rotated `k` times by 90 degrees, from the first of two dimensions towards the second."""
    ndim = require_tensor("rot90", input).ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = [normalise_axis(dim, ndim) for dim in dims]
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    start = here()
    turns = k % 4
    if turns == 0:
        result = copy(input)
    elif turns == 2:
        result = movement.flip(input, axes=(first, second))
    else:
        order = list(range(ndim))
        order[first], order[second] = second, first
        flipped = movement.flip(input, axes=(second if turns == 1 else first,))
        result = movement.permute(flipped, axes=tuple(order))
    return show("Rot90Backward0", result, start)


def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    """Return a copy whose elements are shifted along dimensions, those past the end coming first.

    >>> import tapegrad
    >>> tapegrad.roll(tapegrad.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    type_ = require_tensor("roll", input)._node.type
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    start = here()
    if not dims and len(shifts) == 1:
        flat = movement.reshape(input, shape=(type_.numel,))
        result = movement.reshape(movement.roll(flat, shifts[0], axis=0), shape=type_.shape)
    elif len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    elif not type_.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    else:
        result = input
        for shift, dim in zip(shifts, dims, strict=True):
            result = record(movement.roll, (result, shift), (normalise_axis(dim, type_.ndim),))
    return show("RollBackward0", result, start)


# Repeated


def repeat(input: Any, *counts: Any, repeats: Any = None) -> Any:
    """Return the tensor repeated this often along each dimension (a copy).

    >>> import tapegrad
    >>> tapegrad.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return _repeated(input, sizes_from("repeat", counts, repeats, "repeats"))


def tile(input: Any, *counts: Any, dims: Any = None) -> Any:
    """Return the tensor repeated as NumPy's tile does: missing counts, the first ones, are 1."""
    wanted = sizes_from("tile", counts, dims, "dims")
    missing = require_tensor("tile", input).ndim - len(wanted)
    return _repeated(input, (1,) * missing + wanted)


def _repeated(input: Any, counts: tuple[int, ...]) -> Any:
    shape = input._node.type.shape
    missing = len(counts) - len(shape)
    if missing < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * missing + shape
    final = tuple([count * length for count, length in zip(counts, shape, strict=True)])
    for count, length in zip(counts, shape, strict=True):
        if count < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {count * length}: {list(final)}")
    start = here()
    apart = tuple([part for length in shape for part in (1, length)])
    wide = tuple([part for pair in zip(counts, shape, strict=True) for part in pair])
    expanded = movement.expand(movement.reshape(input, shape=apart), shape=wide)
    return show("RepeatBackward0", copied(movement.reshape(expanded, shape=final)), start)


def copied(tensor: Any) -> Any:
    """Return a result that has memory of its own in PyTorch: its strides are those of a new tensor."""
    return tensor if tensor._node.type.is_contiguous else movement.contiguous(tensor)


@accepts_names
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Return the elements (or slices along `dim`) each repeated: all as often, or by a vector of counts.

    A vector of counts alone stands for its indices. Counts in a tensor are read at once.

    >>> import tapegrad
    >>> tapegrad.repeat_interleave(tapegrad.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> tapegrad.repeat_interleave(tapegrad.tensor([5, 6]), tapegrad.tensor([1, 2]))
    tensor([5, 6, 6])
    """
    require_tensor("repeat_interleave", input)
    if repeats is None:
        return _indices_repeated(input, None, output_size)
    if dim is None:
        input, dim = reshape(input, -1), 0
    axis = normalise_axis(dim, input.ndim)
    shape = tuple(input.shape) or (1,)
    if not isinstance(repeats, Tensor):
        return _all_repeated(input, shape, axis, repeats, output_size)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.ndim == 1 and repeats.shape[0] not in (1, shape[axis]):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.shape[0]} and input.size({axis}) = {shape[axis]}"
        )
    places = _indices_repeated(repeats, shape[axis], output_size)
    return index_select(input if input.ndim else reshape(input, 1), places, axis=axis)


def _all_repeated(input: Any, shape: tuple[int, ...], axis: int, count: int, output_size: int | None) -> Any:
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size is not None and output_size != count * shape[axis]:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {count * shape[axis]} but got {output_size}"
        )
    start = here()
    apart = movement.reshape(input, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :]))
    wide = movement.expand(apart, shape=(*shape[: axis + 1], count, *shape[axis + 1 :]))
    result = movement.reshape(wide, shape=(*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))
    return show("ViewBackward0", copied(result), start)


def _indices_repeated(counts: Any, length: int | None, output_size: int | None) -> Any:
    """Return the indices 0, 1, ... each as often as its count says; of one count, so many indices with it."""
    if counts.dtype.name not in ("int32", "int64"):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{counts.dtype.title}'")
    numbers = read(counts)
    if length is None:
        if numbers.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    elif numbers.size == 1:
        numbers = np.broadcast_to(numbers.reshape(-1), (length,))
    if numbers.size and numbers.min() < 0:
        raise RuntimeError("repeats can not be negative")
    places = np.repeat(np.arange(numbers.size), numbers)
    if output_size is not None and output_size != places.size:
        raise RuntimeError("allocated size does not match required size")
    return Tensor._from_array(places)


__all__ = [
    "clone", "flip", "fliplr", "flipud", "repeat_interleave", "roll", "rot90", "tile",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS.update(__reversed__=_reversed, contiguous=contiguous, repeat=repeat)
