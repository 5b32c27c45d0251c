"""Sorting, what is chosen by rank (topk, medians, quantiles), and search in what is sorted."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..primitives import sorting as rows
from ..primitives.casting import cast
from ..primitives.comparison import isnan
from ..primitives.gathering import gather
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_any, reduce_sum
from ..primitives.rounding import ceil, floor
from ..primitives.rounding import round as round_row
from ..primitives.selection import where
from ..primitives.type_rules import normalise_axis
from ..return_types import return_type
from ..tape.constants import full
from ..tape.record import here, read, record
from ..tensor import Tensor
from .declare import accepts_out, operand, require_tensor
from .options import integer_from
from .reductions import show

_sort_type = return_type("sort", ("values", "indices"))
_topk_type = return_type("topk", ("values", "indices"))
_kthvalue_type = return_type("kthvalue", ("values", "indices"))
_median_type = return_type("median", ("values", "indices"))
_nanmedian_type = return_type("nanmedian", ("values", "indices"))
_mode_type = return_type("mode", ("values", "indices"))


def _axis(name: str, input: Any, dim: int) -> int:
    return normalise_axis(dim, require_tensor(name, input)._node.type.ndim)


# Sorting


@accepts_out
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """Return the elements sorted along `dim`, and the indices that sort them.

    >>> import tapegrad
    >>> tapegrad.sort(tapegrad.tensor([3.0, 1.0, 2.0]))
    torch.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))
    """
    axis = _axis("sort", input, dim)
    name = "SortBackward0" if stable is None else "SortBackward1"
    return _sort_type(record(rows.sort, (input,), (axis, descending, bool(stable)), name))


@accepts_out
def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """Return the indices that sort the elements along `dim`.

    >>> import tapegrad
    >>> tapegrad.argsort(tapegrad.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    axis = _axis("argsort", input, dim)
    return record(rows.sort, (input,), (axis, descending, stable))[1]


@accepts_out
def msort(input: Any) -> Any:
    """Return the elements sorted along the first dimension."""
    return sort(require_tensor("msort", input), 0).values


# Chosen by rank


@accepts_out
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the `k` largest (or smallest) elements along `dim`, in order, and their indices.

    >>> import tapegrad
    >>> tapegrad.topk(tapegrad.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    axis = _axis("topk", input, dim)
    return _topk_type(record(rows.topk, (input,), (integer_from("topk", "k", 2, k), axis, largest, sorted)))


@accepts_out
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the `k`-th smallest element along `dim`, counted from 1, and its index."""
    axis = _axis("kthvalue", input, dim)
    return _kthvalue_type(record(rows.kthvalue, (input,), (int(k), axis, keepdim)))


@accepts_out
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent element along `dim`, the least of several, and the index of its last occurrence."""
    axis = _axis("mode", input, dim)
    return _mode_type(record(rows.mode, (input,), (axis, keepdim)))


@accepts_out
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median, the lower of two; with `dim`, along it, and with its index.

    >>> import tapegrad
    >>> tapegrad.median(tapegrad.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(2.)
    """
    return _median("median", rows.median, rows.median_value, _median_type, input, dim, keepdim)


@accepts_out
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of the elements that are not NaN; with `dim`, along it, and with its index."""
    return _median("nanmedian", rows.nanmedian, rows.nanmedian_value, _nanmedian_type, input, dim, keepdim)


def _median(name: str, along: Any, whole: Any, fields: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    require_tensor(name, input)
    if dim is not None:
        return fields(record(along, (input,), (_axis(name, input, dim), keepdim)))
    start = here()
    flat = reshape(input, shape=(input.numel(),))
    return show(whole.grad_name, whole(flat, axis=0, keepdims=False), start)


# Quantiles: elements by fractional rank

_ROUNDINGS: dict[str, Any] = {"lower": floor, "higher": ceil, "nearest": lambda ranks: round_row(ranks, decimals=0)}


@accepts_out
def quantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """Return the elements below which a share `q` (a number or a vector) of all lies, interpolated between neighbours.

    `interpolation` is "linear", "lower", "higher", "midpoint" or "nearest". A NaN among the elements gives NaN.

    >>> import tapegrad
    >>> tapegrad.quantile(tapegrad.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, ignores_nan=False)


@accepts_out
def nanquantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """Return what `quantile` does of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, ignores_nan=True)


def _quantile(name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignores_nan: bool) -> Any:
    _check_quantile(name, require_tensor(name, input), q, interpolation)
    start = here()
    shape = tuple(input.shape)
    if dim is None:
        lines, kept = reshape(input, shape=(input.numel(),)), (1,) * len(shape)
    else:
        axis = normalise_axis(dim, len(shape))
        lines = _axis_last(input, axis) if shape else reshape(input, shape=(1,))
        kept = (*shape[:axis], 1, *shape[axis + 1 :]) if shape else ()
    shares = q if isinstance(q, Tensor) else full((), float(q), input.dtype)
    result = _interpolated(lines, reshape(shares, shape=(shares.numel(),)), interpolation, ignores_nan)
    last = result.ndim - 1
    result = permute(result, axes=(last, *range(last)))
    own = kept if keepdim else tuple(result.shape[1:])
    result = reshape(result, shape=(result.shape[0], *own) if shares.ndim else own)
    return show("SqueezeBackward4", result, start)


def _check_quantile(name: str, input: Any, q: Any, interpolation: str) -> None:
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "midpoint", *_ROUNDINGS):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    values = read(q)
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")


def _axis_last(tensor: Any, axis: int) -> Any:
    last = tensor.ndim - 1
    if axis == last:
        return tensor
    return permute(tensor, axes=(*range(axis), *range(axis + 1, last + 1), axis))


def _interpolated(lines: Any, shares: Any, interpolation: str, ignores_nan: bool) -> Any:
    """Return the quantiles of lines, along the last axis."""
    last = lines.ndim - 1
    ordered, _ = rows.sort(lines, axis=last, descending=False, stable=False)
    missing = isnan(ordered)
    highest = lines.shape[last] - 1
    if ignores_nan:
        present = reduce_sum(~missing, axes=(last,), keepdims=True)
        ranks = shares * cast(present - 1, dtype=lines.dtype)
        ranks = where(ranks < 0, 0.0, ranks)
    else:
        ranks = where(reduce_any(missing, axes=(last,), keepdims=True), float(highest), shares * highest)
    if interpolation in _ROUNDINGS:
        return gather(ordered, cast(_ROUNDINGS[interpolation](ranks), dtype=dtypes.int64), axis=last)
    below = cast(floor(ranks), dtype=dtypes.int64)
    above = cast(ceil(ranks), dtype=dtypes.int64)
    weight = full(tuple(ranks.shape), 0.5, lines.dtype) if interpolation == "midpoint" else ranks - cast(below, dtype=lines.dtype)
    lower, upper = gather(ordered, below, axis=last), gather(ordered, above, axis=last)
    difference = upper - lower
    return where(weight < 0.5, lower + weight * difference, upper - difference * (1 - weight))


# Search in what is sorted


@accepts_out
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Return where the elements of `input` would go in a sorted sequence, before equal ones (or after them, if `right`).

    >>> import tapegrad
    >>> tapegrad.searchsorted(tapegrad.tensor([1, 3, 5]), tapegrad.tensor([3, 6]))
    tensor([1, 3])
    """
    require_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorter is not None:
        sorted_sequence = _by_sorter(sorted_sequence, sorter)
    result = rows.searchsorted(sorted_sequence, operand("searchsorted", input, "input", 2), right=right or side == "right")
    return cast(result, dtype=dtypes.int32) if out_int32 else result


def _by_sorter(sequence: Any, sorter: Any) -> Any:
    if sorter.shape != sequence.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(sequence.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.title}"
        )
    return gather(sequence, sorter, axis=sequence.ndim - 1)


@accepts_out
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """Return for each element the index of the bucket it is in, between the sorted `boundaries`.

    >>> import tapegrad
    >>> tapegrad.bucketize(tapegrad.tensor([0.5, 2.0, 9.0]), tapegrad.tensor([1.0, 3.0]))
    tensor([0, 1, 2])
    """
    if require_tensor("bucketize", boundaries, "boundaries", 2).ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


__all__ = [
    "argsort", "bucketize", "kthvalue", "median", "mode", "msort", "nanmedian", "nanquantile", "quantile", "searchsorted",
    "sort", "topk",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in ("bucketize", "searchsorted")}
