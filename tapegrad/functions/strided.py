"""Views by sizes and strides, sliding windows, and copies with a view replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..primitives import diagonals, movement, sliding
from ..primitives.declare import TABLE
from ..primitives.striding import as_strided as as_strided_row
from ..primitives.type_rules import is_dense, normalise_axis
from ..primitives.update import Chain, chain_type, update
from ..tape.aliases import make_view
from ..tape.record import record
from ..tape.types import Type
from .arguments import checked
from .declare import accepts_names, accepts_out, require_tensor
from .matrices import two_axes

# Where a view begins


def storage_offset(tensor: Any) -> int:
    """Return how many elements into its storage the tensor begins."""
    offset = 0
    type_: Type = tensor._root()._node.type
    numbers = list(tensor._chain_numbers)
    for link in tensor._chain:
        name, parameters, count = link
        own, numbers = [int(number) for number in numbers[:count]], numbers[count:]
        offset = _moved(offset, type_, name, parameters, own)
        if name != "detach":
            type_ = chain_type(type_, (link,), [type_] * count)
    return offset


def _moved(offset: int, type_: Type, name: str, parameters: tuple[Any, ...], numbers: list[int]) -> int:
    """Return the offset of the view that a link makes of one at this offset, in elements of the view's dtype."""
    if name in ("select", "slice_axis"):
        axis, start = parameters[0], numbers[0]
        return offset + int(type_.strides[axis]) * (start + int(type_.shape[axis]) if start < 0 else start)
    if name == "diagonal":
        shift, axis1, axis2 = parameters
        if min(type_.shape[axis1] + min(shift, 0), type_.shape[axis2] - max(shift, 0)) <= 0:
            return offset
        return offset + int(shift * type_.strides[axis2] if shift >= 0 else -shift * type_.strides[axis1])
    if name == "as_strided":
        return int(parameters[2])
    if name in ("real", "view_as_real"):
        return 2 * offset
    if name == "imag":
        return 2 * offset + 1
    if name == "view_as_complex":
        return offset // 2
    if name == "view_as_dtype":
        return offset * type_.dtype.itemsize // int(parameters[0].itemsize)
    return offset


# By sizes and strides


@checked
def as_strided(input: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    """Return a view of the tensor's storage with these sizes and strides, in elements, that begins at an offset.

    >>> import tapegrad
    >>> tapegrad.as_strided(tapegrad.arange(4), (3, 2), (1, 1))
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    require_tensor("as_strided", input)
    sizes, strides, offset = _geometry(input, size, stride, storage_offset)
    return make_view(_storage(input), as_strided_row, (), (sizes, strides, offset), "AsStridedBackward0")


def _geometry(
    input: Any, size: Sequence[int], stride: Sequence[int], offset: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset is None:
        offset = storage_offset(input)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return tuple(size), tuple(stride), offset


def _storage_links(type_: Type) -> Chain:
    """Return the links from a tensor of this type to a vector of its elements as they lie in memory."""
    if type_.ndim == 1 and type_.is_contiguous:
        return ()
    if type_.is_contiguous:
        return (("reshape", ((type_.numel,),), 0),)
    if not is_dense(type_.shape, type_.strides):
        raise RuntimeError("as_strided: the storage of a tensor whose elements overlap, or are apart, is not available")
    order = tuple(sorted(range(type_.ndim), key=lambda axis: -type_.strides[axis]))
    return (("permute", (order,), 0), ("reshape", ((type_.numel,),), 0))


def _storage(input: Any) -> Any:
    """Return a view of all elements of a tensor's storage, in a row."""
    view = root = input._root()
    if input._is_detached:
        view = root.detach()
        view._own_version = input._own_version
    for name, parameters, _ in _storage_links(root._current_type()):
        view = make_view(view, TABLE[name], (), parameters)
    return view


# Windows


@checked
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Return a view of all windows of a size along a dimension, as a last dimension.

    >>> import tapegrad
    >>> tapegrad.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    ndim = require_tensor("unfold", input).ndim
    axis = normalise_axis(dimension, ndim)
    if ndim:
        return make_view(input, sliding.unfold, (), (axis, size, step))
    vector = make_view(input, movement.reshape, (), ((1,),))
    return make_view(make_view(vector, sliding.unfold, (), (0, size, step)), movement.reshape, (), ((size,),), "UnfoldBackward0")


# Copies with a view replaced


def _replaced(name: str, input: Any, src: Any, chain: Chain, numbers: tuple[Any, ...], shown: str) -> Any:
    require_tensor(name, input)
    require_tensor(name, src, "src", 2)
    wanted = chain_type(input._node.type, chain, [input._node.type] * len(numbers)).shape
    if tuple(src.shape) != wanted:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(wanted)}"
        )
    source = src if src.dtype is input.dtype else src.to(input.dtype)
    return record(update, (input, source, *numbers), (chain,), shown)


@accepts_names
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """Return a copy with one element of a dimension replaced."""
    shape = require_tensor("select_scatter", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return _replaced("select_scatter", input, src, (("select", (axis,), 1),), (index % shape[axis],), "SelectScatterBackward0")


@accepts_out
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Return a copy with a slice of a dimension replaced."""
    shape = require_tensor("slice_scatter", input)._node.type.shape
    axis = normalise_axis(dim, len(shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, _ = slice(start, end).indices(shape[axis])
    length = len(range(first, last, step))
    chain = (("slice_axis", (axis, length, step), 1),)
    return _replaced("slice_scatter", input, src, chain, (first,), "SliceScatterBackward0")


@checked
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a copy with a diagonal of two dimensions replaced."""
    axes = two_axes(require_tensor("diagonal_scatter", input).ndim, dim1, dim2)
    chain = ((diagonals.diagonal.name, (offset, *axes), 0),)
    return _replaced("diagonal_scatter", input, src, chain, (), "DiagonalScatterBackward0")


@checked
def as_strided_scatter(
    input: Any, src: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Return a copy with a view of these sizes and strides replaced."""
    require_tensor("as_strided_scatter", input)
    geometry = _geometry(input, size, stride, storage_offset)
    chain = (*_storage_links(input._current_type()), ("as_strided", geometry, 0))
    return _replaced("as_strided_scatter", input, src, chain, (), "AsStridedScatterBackward0")


__all__ = [
    "as_strided", "as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in (*__all__, "storage_offset", "unfold")}
