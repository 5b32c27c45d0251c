"""Parts of a tensor along a dimension: one element, a range, or all of equal or given lengths. They are views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..primitives import movement
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import make_view
from ..tape.record import record
from ..tensor import Tensor
from .arguments import checked, is_integer
from .declare import accepts_names, require_tensor, wrong_type


@accepts_names
def select(input: Any, dim: int, index: Any) -> Any:
    """Return a view of one element of a dimension, which is gone.

    >>> import tapegrad
    >>> tapegrad.select(tapegrad.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = require_tensor("select", input)._node.type.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = normalise_axis(dim, len(shape))
    if not is_integer(index):
        raise wrong_type("select", "index", 3, "int", index)
    index = int(index)
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return make_view(input, movement.select, (index + shape[axis] if index < 0 else index,), (axis,))


@accepts_names
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """Return a view of `length` elements of a dimension, from `start` on.

    >>> import tapegrad
    >>> tapegrad.narrow(tapegrad.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = require_tensor("narrow", input)._node.type.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = normalise_axis(dim, len(shape))
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[axis]
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if not is_integer(start):
        raise wrong_type("narrow", "start", 3, "int", start)
    first = int(start)
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {first})")
    if first < 0:
        first += size
    if first > size - length:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return _slice(input, axis, first, length)


def _slice(input: Any, axis: int, start: int, length: int, name: str | None = None) -> Any:
    return make_view(input, movement.slice_axis, (start,), (axis, length, 1), name)


@accepts_names
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of all elements of a dimension.

    >>> import tapegrad
    >>> tapegrad.unbind(tapegrad.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    shape = require_tensor("unbind", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    views = [make_view(input, movement.select, (place,), (axis,), "UnbindBackward0") for place in range(shape[axis])]
    return _multiple(views, "Unbind")


def _multiple(views: list[Any], name: str) -> tuple[Any, ...]:
    """Mark the views that one operation returned: they cannot be modified in place."""
    for place, part in enumerate(views):
        part._is_multiple_view = (place, name)
    return tuple(views)


# Parts of given lengths


@checked
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension: of one size, or of these sizes.

    >>> import tapegrad
    >>> tapegrad.split(tapegrad.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    sizes, axis = _equal_sizes(tensor, split_size_or_sections, dim)
    return _multiple(_pieces(tensor, axis, sizes, "SplitBackward0"), "Split")


def _split_method(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension: of one size, or of these sizes."""
    return split(self, split_size, dim)


def _equal_sizes(tensor: Any, size: int, dim: int) -> tuple[list[int], int]:
    """Return the sizes of parts of this size, the last one smaller, and the normalised axis."""
    shape = require_tensor("split", tensor, "tensor")._node.type.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = normalise_axis(dim, len(shape))
    length = shape[axis]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    count = max(-(-length // size), 1) if size else 1
    return [size] * (count - 1) + [length - size * (count - 1)], axis


@accepts_names
def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension, of these sizes."""
    sizes, axis = _checked_sizes(input, split_sizes, dim)
    return _multiple(_pieces(input, axis, sizes, "SplitWithSizesBackward0"), "SplitWithSizes")


def _checked_sizes(input: Any, split_sizes: Sequence[int], dim: int) -> tuple[list[int], int]:
    shape = require_tensor("split_with_sizes", input)._node.type.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = normalise_axis(dim, len(shape))
    sizes = list(split_sizes)
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    if sum(sizes) != shape[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[axis]} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={sizes}"
        )
    return sizes, axis


def _pieces(tensor: Any, axis: int, sizes: Sequence[int], name: str | None) -> list[Any]:
    views = []
    start = 0
    for size in sizes:
        views.append(_slice(tensor, axis, start, size, name))
        start += size
    return views


@accepts_names
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Return at most `chunks` views of consecutive parts of a dimension, of equal size but the last.

    >>> import tapegrad
    >>> tapegrad.chunk(tapegrad.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    size, axis = _chunk_size(input, chunks, dim)
    if size == 0:
        return split_with_sizes(input, [0] * chunks, axis)
    return split(input, size, axis)


def _chunk_size(input: Any, chunks: int, dim: int) -> tuple[int, int]:
    shape = require_tensor("chunk", input)._node.type.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = normalise_axis(dim, len(shape))
    return -(-shape[axis] // chunks), axis


# The same as tensors of their own, which may be modified in place


@accepts_names
def unsafe_split(tensor: Any, split_size: int, dim: int = 0) -> tuple[Any, ...]:
    """Return consecutive parts of a dimension, of one size, which are no views."""
    sizes, axis = _equal_sizes(tensor, split_size, dim)
    return tuple(_copies(tensor, axis, sizes, "UnsafeSplitBackward0"))


@accepts_names
def unsafe_split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Return consecutive parts of a dimension, of these sizes, which are no views."""
    sizes, axis = _checked_sizes(input, split_sizes, dim)
    return tuple(_copies(input, axis, sizes, "UnsafeSplitWithSizesBackward0"))


@accepts_names
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Return at most `chunks` consecutive parts of a dimension, which are no views."""
    size, axis = _chunk_size(input, chunks, dim)
    if size == 0:
        return unsafe_split_with_sizes(input, [0] * chunks, axis)
    return unsafe_split(input, size, axis)


def _copies(tensor: Any, axis: int, sizes: Sequence[int], name: str) -> list[Any]:
    parts = []
    start = 0
    for size in sizes:
        parts.append(record(movement.slice_axis, (tensor, start), (axis, size, 1), name))
        start += size
    return parts


# As NumPy splits


@accepts_names
def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Any, ...]:
    """Return views of consecutive parts of a dimension: so many, as equal as can be, or cut at these places.

    >>> import tapegrad
    >>> tapegrad.tensor_split(tapegrad.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    shape = require_tensor("tensor_split", input)._node.type.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = normalise_axis(dim, len(shape))
    length = shape[axis]
    wanted: Any = next((given for given in (indices_or_sections, indices, sections) if given is not None), ())
    if isinstance(wanted, Tensor):
        wanted = _places_in(wanted)
    if isinstance(wanted, int):
        if wanted <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {wanted}")
        least, more = divmod(length, wanted)
        return tuple(_pieces(input, axis, [least + 1] * more + [least] * (wanted - more), None))
    cuts = [min(max(cut + length if cut < 0 else cut, 0), length) for cut in wanted]
    bounds = zip([0, *cuts], [*cuts, length], strict=True)
    return tuple([_slice(input, axis, start, max(end - start, 0)) for start, end in bounds])


def _places_in(tensor: Any) -> Any:
    """Return the number of sections, or the places to cut at, that are in a tensor."""
    if tensor.dtype.name != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {tensor.dtype.title}"
        )
    if tensor.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
            f"tensor with {tensor.ndim} dims"
        )
    return tensor.tolist()


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Return views of parts of the second dimension, of the first for a vector."""
    ndim = _require_dimensions("hsplit", input, 1)
    return _split_evenly("hsplit", input, indices_or_sections, 0 if ndim == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Return views of parts of the first dimension."""
    _require_dimensions("vsplit", input, 2)
    return _split_evenly("vsplit", input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Return views of parts of the third dimension."""
    _require_dimensions("dsplit", input, 3)
    return _split_evenly("dsplit", input, indices_or_sections, 2)


def _require_dimensions(name: str, input: Any, least: int) -> int:
    ndim: int = require_tensor(name, input).ndim
    if ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
        )
    return ndim


def _split_evenly(name: str, input: Any, wanted: Any, axis: int) -> tuple[Any, ...]:
    length = input.shape[axis]
    if isinstance(wanted, int) and (wanted <= 0 or length % wanted):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension {length} is not divisible by the "
            f"split_size {wanted}!"
        )
    return tensor_split(input, wanted, axis)


__all__ = [
    "chunk", "dsplit", "hsplit", "narrow", "select", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS["split"] = _split_method
