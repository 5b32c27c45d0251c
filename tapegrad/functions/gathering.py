"""Elements taken from, written to, or added at the places that an index tensor gives.

Indices whose values are known already are checked when the function is called, others when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import gathering as rows
from ..primitives import row_indexing
from ..primitives.batching import expanded
from ..primitives.casting import cast
from ..primitives.indexing import index as index_row
from ..primitives.indexing import index_put as index_put_row
from ..primitives.movement import reshape
from ..primitives.positions import check_range, first_outside
from ..primitives.scatter_reduction import scatter_reduce as scatter_reduce_row
from ..primitives.type_rules import broadcast_shapes, normalise_axis
from ..tape.buffers import is_concrete
from ..tape.checks import check_writable
from ..tape.record import here, look_at, record
from ..tensor import Tensor
from .declare import accepts_names, accepts_out, operand, require_tensor, warn_once
from .in_place import in_place_methods, write
from .reductions import show

_REDUCE_DEPRECATED = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. Use "
    "torch.scatter_reduce instead for more reduction options."
)
_INDEX_REDUCE_BETA = "index_reduce() is in beta and the API may change at any time."


def _is_known(positions: Any) -> bool:
    """Whether an index is an integer tensor whose values are there."""
    return bool(positions.dtype.category == dtypes.INTEGER and not positions._is_stale and is_concrete(positions))


def _check_known(positions: Any, axis: int, size: int, error: type[Exception] = RuntimeError, prefix: str = "") -> None:
    if _is_known(positions):
        check_range(look_at(positions), axis, size, error, prefix)


def _axis_and_size(name: str, input: Any, dim: int, positions: Any) -> tuple[int, int]:
    """Return the normalised axis that is indexed, and its length."""
    shape = require_tensor(name, input)._node.type.shape
    require_tensor(name, positions, "index", 3)
    axis = normalise_axis(dim, len(shape))
    return axis, shape[axis] if shape else 1


def _index_from(positions: Any) -> Any:
    """Return an index; one without elements may be of any dtype."""
    if 0 in positions.shape and positions.dtype not in (dtypes.int32, dtypes.int64):
        return cast(positions, dtype=dtypes.int64)
    return positions


# One index for each element


@accepts_out
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Return the elements at the positions along `dim` that an index tensor gives.

    >>> import tapegrad
    >>> tapegrad.gather(tapegrad.tensor([[1, 2], [3, 4]]), 1, tapegrad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    axis, size = _axis_and_size("gather", input, dim, index)
    if 0 in index.shape:  # then it may have any dtype and number of dimensions
        nothing = record(rows.gather, (reshape(input, shape=(input.numel(),)), reshape(_index_from(index), shape=(0,))), (0,))
        return record(reshape, (nothing,), (tuple(index.shape),), "GatherBackward0")
    result = record(rows.gather, (input, index), (axis,))
    _check_known(index, axis, size)
    return result


@accepts_out
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """Return the elements at positions along `dim`, which broadcast with the input; without `dim`, in the flattened input."""
    require_tensor("take_along_dim", input)
    require_tensor("take_along_dim", indices, "indices", 2)
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.title}")
    if dim is None:
        return gather(reshape(input, shape=(input.numel(),)), 0, reshape(indices, shape=(indices.numel(),)))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = normalise_axis(dim, input.ndim)
    first, second = list(input.shape), list(indices.shape)
    first[axis] = second[axis] = 1
    shape = broadcast_shapes("take_along_dim", tuple(first), tuple(second))
    before, after = shape[:axis], shape[axis + 1 :]
    size = input.shape[axis]
    indices = indices % size  # as PyTorch: no position is out of range
    input = expanded(input, (*before, size, *after))
    return gather(input, axis, expanded(indices, (*before, indices.shape[axis], *after)))


@accepts_out
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """Return a copy with the elements of `src` (a tensor or a number) at the positions along `dim` that an index gives.

    `reduce` "add" or "multiply" combines them with the elements that are there.

    >>> import tapegrad
    >>> tapegrad.scatter(tapegrad.zeros(3), 0, tapegrad.tensor([2, 0]), tapegrad.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    axis, size = _axis_and_size("scatter", input, dim, index)
    index = _index_from(index)
    source = operand("scatter", src if value is None else value, "src", 4)
    if reduce is not None:
        result = _scatter_reducing(input, axis, index, source, reduce)
    else:
        result = record(rows.scatter, (input, index, source), (axis,), None if isinstance(source, Tensor) else "ScatterBackward1")
    _check_known(index, axis, size)
    return result


def _scatter_reducing(input: Any, axis: int, index: Any, source: Any, reduce: str) -> Any:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(source, Tensor):
        warn_once(_REDUCE_DEPRECATED)
    else:
        from ..tape.constants import full

        source = full(tuple(index.shape), source, input.dtype)
    if reduce == "add":
        return record(rows.scatter_add, (input, index, source), (axis,))
    return record(scatter_reduce_row, (input, index, source), (axis, "prod", True))


@accepts_out
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Return a copy with the elements of `src` added at the positions along `dim` that an index gives.

    >>> import tapegrad
    >>> tapegrad.scatter_add(tapegrad.zeros(2), 0, tapegrad.tensor([1, 1]), tapegrad.tensor([1.0, 2.0]))
    tensor([0., 3.])
    """
    axis, size = _axis_and_size("scatter_add", input, dim, index)
    index = _index_from(index)
    result = record(rows.scatter_add, (input, index, require_tensor("scatter_add", src, "src", 4)), (axis,))
    _check_known(index, axis, size)
    return result


@accepts_out
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Return a copy with what is scattered to a position combined by "sum", "prod", "mean", "amax" or "amin"."""
    axis, size = _axis_and_size("scatter_reduce", input, dim, index)
    source = require_tensor("scatter_reduce", src, "src", 4)
    result = record(scatter_reduce_row, (input, index, source), (axis, reduce, include_self))
    _check_known(index, axis, size)
    return result


# A vector of positions, each of which stands for the slice there


@accepts_out
def index_select(input: Any, dim: int, index: Any) -> Any:
    """Return the slices at these positions of a dimension.

    >>> import tapegrad
    >>> tapegrad.index_select(tapegrad.tensor([[1, 2], [3, 4]]), 0, tapegrad.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    axis, _ = _axis_and_size("index_select", input, dim, index)
    result = record(row_indexing.index_select, (input, index), (axis,))
    if _is_known(index):
        row_indexing.check_selected(input.shape or (1,), look_at(index), axis)
    return result


@accepts_out
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Return a copy with ``alpha * source`` added to the slices at these positions of a dimension."""
    axis, size = _axis_and_size("index_add", input, dim, index)
    require_tensor("index_add", source, "source", 4)
    start = here()
    result = record(row_indexing.index_add, (input, index, source if alpha == 1 else source * alpha), (axis,))
    if 0 not in input.shape and _is_known(index):
        row_indexing.check_added(look_at(index), (size, *input.shape[1:]), axis)
    return show("IndexAddBackward0", result, start)


@accepts_out
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """Return a copy with the slices at these positions of a dimension replaced by those of `source`."""
    axis, size = _axis_and_size("index_copy", input, dim, index)
    result = record(row_indexing.index_copy, (input, index, require_tensor("index_copy", source, "source", 4)), (axis,))
    _check_known(index, axis, size, IndexError, "index_copy_(): ")
    return result


@accepts_names
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """Return a copy with the slices at these positions of a dimension filled with a number."""
    axis, size = _axis_and_size("index_fill", input, dim, index)
    name = "IndexFillBackward1" if isinstance(value, Tensor) else "IndexFillBackward0"
    result = record(row_indexing.index_fill, (input, index, operand("index_fill", value, "value", 4)), (axis,), name)
    if _is_known(index):
        row_indexing.check_filled(look_at(index), axis, size)
    return result


@accepts_out
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Return a copy with slices of `source` combined into those at these positions, by "prod", "mean", "amax" or "amin"."""
    axis, size = _axis_and_size("index_reduce", input, dim, index)
    require_tensor("index_reduce", source, "source", 4)
    warn_once(_INDEX_REDUCE_BETA)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if input.dtype is not source.dtype:
        raise RuntimeError("index_reduce(): self and source must have the same scalar type")
    count = index.numel()
    if index.ndim > 1 or count != (source.shape[axis] if source.ndim else 1):
        raise RuntimeError("index_reduce(): Number of indices should be equal to self.size(dim)")
    start = here()
    lines = reshape(index, shape=tuple([count if place == axis else 1 for place in range(source.ndim)]))
    result = record(scatter_reduce_row, (input, expanded(lines, tuple(source.shape)), source), (axis, reduce, include_self))
    _check_known(index, axis, size)
    return show("IndexReduceBackward0", result, start)


# Several index tensors at once


def index_put_(self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """Do ``self[indices] = values`` (with `accumulate`, add), in place, for index tensors or masks."""
    check_writable(self)
    return write(self, _index_put(self, indices, values, accumulate))


def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """Return a copy with the elements at these index tensors (or masks) replaced by `values`, or with these added."""
    return _index_put(input, indices, values, accumulate)


def _index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    from .indexing import parse_index

    require_tensor("index_put", input)
    require_tensor("index_put", values, "values", 3)
    plan = parse_index(tuple(input.shape), tuple([slice(None) if place is None else place for place in indices]))
    positions, pattern = plan.positions()
    return record(index_put_row, (input, values, *positions), (pattern, accumulate))


# Positions in the flattened tensor


def _check_long(name: str, positions: Any, argument: str) -> None:
    require_tensor(name.rstrip("_"), positions, argument, 2)
    if positions.dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {positions.dtype.title}")


def _check_flat(positions: Any, numel: int) -> None:
    if not _is_known(positions):
        return
    outside = first_outside(look_at(positions), -numel, numel)
    if outside is not None:
        raise IndexError(f"out of range: tried to access index {outside} on a tensor of {numel} elements.")


@accepts_out
def take(input: Any, index: Any) -> Any:
    """Return the elements at these positions in the flattened tensor.

    >>> import tapegrad
    >>> tapegrad.take(tapegrad.tensor([[1, 2], [3, 4]]), tapegrad.tensor([0, -1]))
    tensor([1, 4])
    """
    require_tensor("take", input)
    _check_long("take", index, "index")
    if not input.numel() and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    _check_flat(index, input.numel())
    start = here()
    flat = reshape(input, shape=(input.numel(),))
    return show("TakeBackward0", index_row(flat, index, pattern=("i",)), start)


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Return a copy with the elements at these positions in the flattened tensor replaced, or with `source` added."""
    require_tensor("put", input)
    _check_long("put_", index, "index")
    require_tensor("put", source, "source", 3)
    if input.dtype is not source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype.title} and source.dtype = {source.dtype.title}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if not input.numel() and index.numel():
        raise IndexError("put_(): Expected self to be non-empty when index is not")
    _check_flat(index, input.numel())
    start = here()
    flat = reshape(input, shape=(input.numel(),))
    values = reshape(source, shape=tuple(index.shape))
    result = index_put_row(flat, values, index, pattern=("i",), accumulate=accumulate)
    return show("PutBackward0", reshape(result, shape=tuple(input.shape)), start)


__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "put",
    "scatter", "scatter_add", "scatter_reduce", "take", "take_along_dim",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS.update(
    in_place_methods("index_add index_copy index_fill index_reduce put scatter scatter_add scatter_reduce", METHODS),
)
METHODS.update(index_put_=index_put_)
