"""Reductions: sums, means, products, truth, over all or some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import reductions as rows
from ..primitives.arithmetic import share
from ..primitives.casting import cast
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..tape.record import here, mark_composed, record
from .declare import accepts_names, accepts_out, require_tensor

Dim = int | Sequence[int] | None


def product_of(lengths: Sequence[int]) -> int:
    """Return the product of Python ints."""
    total = 1
    for length in lengths:
        total *= length
    return total


def show(name: str, result: Any, start: tuple[int, int]) -> Any:
    """Return the result, shown by ``grad_fn`` as one operation that began at this address."""
    if result._node.type.requires_grad:
        mark_composed(name, result, start)
    return result


@accepts_out
def sum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:  # noqa: A001
    """Return the sum over `dim` (an int, several, or None for all).

    >>> import tapegrad
    >>> tapegrad.sum(tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    require_tensor("sum", input)
    name = None if dim is None else "SumBackward1"
    axes = normalise_axes(dim, input._node.type.ndim)
    if dtype is None:
        return record(rows.reduce_sum, (input,), (axes, keepdim), name)
    return in_dtype(input, dtype, lambda input: record(rows.reduce_sum, (input,), (axes, keepdim)), name or "SumBackward0")


def in_dtype(input: Any, dtype: dtypes.dtype | None, function: Any, shown: str) -> Any:
    """Return what a function of the input gives, computed in the dtype asked for (integers: in int64, then cast)."""
    if dtype is None or dtype is input.dtype:
        result = function(input)
        return result if dtype is None or result.dtype is dtype else cast(result, dtype=dtype)
    if input.requires_grad and dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"Autograd not support dtype: {dtype.title}")
    start = here()
    result = function(cast(input, dtype=dtype))
    return show(shown, result if result.dtype is dtype else cast(result, dtype=dtype), start)


@accepts_out
def nansum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the sum over `dim`, NaN counting as zero."""
    require_tensor("nansum", input)
    if input.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if input.dtype.category < dtypes.FLOAT:
        return sum(input, dim, keepdim, dtype=dtype)
    from ..primitives.comparison import isnan
    from ..primitives.selection import where

    start = here()
    return show("NansumBackward0", sum(where(isnan(input), 0, input), dim, keepdim, dtype=dtype), start)


@accepts_out
def mean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the mean over `dim` (an int, several, or None for all) of a floating point or complex tensor.

    >>> import tapegrad
    >>> tapegrad.mean(tapegrad.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    require_tensor("mean", input)
    type_ = input._node.type
    wanted = type_.dtype if dtype is None else dtype
    if wanted.category < dtypes.FLOAT:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or complex dtype. Got: {wanted.title}"
        )
    axes = normalise_axes(dim, type_.ndim)
    start = here()
    working = dtypes.float32 if wanted.itemsize == 2 else wanted
    summand = input if working is type_.dtype else cast(input, dtype=working)
    result = record(share, (record(rows.reduce_sum, (summand,), (axes, keepdim)), _count(type_.shape, axes)))
    if working is not wanted:
        result = cast(result, dtype=wanted)
    return show("MeanBackward0" if dim is None else "MeanBackward1", result, start)


def _count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return product_of([shape[axis] for axis in axes])


@accepts_out
def nanmean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the mean over `dim` of the elements that are not NaN."""
    require_tensor("nanmean", input)
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.title}"
        )
    from ..primitives.comparison import isnan, logical_not

    count = sum(logical_not(isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@accepts_out
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the product over one dimension, or of all elements.

    >>> import tapegrad
    >>> tapegrad.prod(tapegrad.tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    require_tensor("prod", input)
    axes = normalise_axes(dim, input.ndim)
    name = "ProdBackward0" if dim is None else "ProdBackward1"
    return in_dtype(input, dtype, lambda input: record(rows.reduce_prod, (input,), (axes, keepdim), name), name)


@accepts_out
def all(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return whether all elements are true.

    >>> import tapegrad
    >>> tapegrad.all(tapegrad.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _quantify("all", rows.reduce_all, input, dim, keepdim)


@accepts_out
def any(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:  # noqa: A001 - PyTorch's name for it
    """Return whether any element is true."""
    return _quantify("any", rows.reduce_any, input, dim, keepdim)


def _quantify(name: str, primitive: Any, input: Any, dim: Dim, keepdim: bool) -> Any:
    """Reduce truth; unlike for sums, no dimensions are none."""
    ndim = require_tensor(name, input).ndim
    axes = () if isinstance(dim, (tuple, list)) and not dim else normalise_axes(dim, ndim)
    return record(primitive, (input,), (axes, keepdim))


@accepts_names
def count_nonzero(input: Any, dim: Dim = None) -> Any:
    """Return how many elements are not zero."""
    return sum(require_tensor("count_nonzero", input) != 0, dim)


@accepts_out
def logsumexp(input: Any, dim: Dim, keepdim: bool = False) -> Any:
    """Return ``log(sum(exp(input)))`` over `dim`, without overflow.

    >>> import tapegrad
    >>> tapegrad.logsumexp(tapegrad.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    from ..primitives.rows import logsumexp as primitive

    require_tensor("logsumexp", input)
    if input.dtype.category < dtypes.FLOAT:
        input = cast(input, dtype=dtypes.get_default_dtype())
    return record(primitive, (input,), (normalise_axes(dim, input.ndim), keepdim))


# Functions of rows: softmax and its logarithm


@accepts_out
def softmax(input: Any, dim: int, dtype: dtypes.dtype | None = None) -> Any:
    """Return the exponentials of the elements, divided by their sum over `dim`.

    >>> import tapegrad
    >>> tapegrad.softmax(tapegrad.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    from ..primitives.rows import softmax as primitive

    return _of_rows("softmax", primitive, input, dim, dtype)


@accepts_out
def log_softmax(input: Any, dim: int, dtype: dtypes.dtype | None = None) -> Any:
    """Return the logarithm of `softmax`, computed without overflow."""
    from ..primitives.rows import log_softmax as primitive

    return _of_rows("log_softmax", primitive, input, dim, dtype)


def _of_rows(name: str, primitive: Any, input: Any, dim: int, dtype: dtypes.dtype | None) -> Any:
    type_ = require_tensor(name, input)._node.type
    axes = (normalise_axis(dim, type_.ndim),) if type_.ndim else normalise_axes(dim, 0)
    if dtype is not None and dtype is not type_.dtype:
        input = cast(input, dtype=dtype)
    return record(primitive, (input,), (axes,))


def sum_to_size(input: Any, *size: Any) -> Any:
    """Return the sum over the dimensions that broadcasting a tensor of this size would have stretched."""
    from .shapes import sizes_from, view

    wanted = sizes_from("sum_to_size", size)
    shape = tuple(input.shape)
    added = len(shape) - len(wanted)
    if added < 0 or not _expands(wanted, shape[added:]):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    if not wanted:
        return sum(input)
    stretched = [axis for axis, length in enumerate(wanted, added) if length == 1 != shape[axis]]
    axes = tuple([*range(added), *stretched])
    if not axes:
        return input
    summed = record(rows.reduce_sum, (input,), (axes, True), "SumBackward1")
    return view(summed, wanted) if added else summed


def _expands(shape: Sequence[int], to: Sequence[int]) -> bool:
    for length, target in zip(shape, to, strict=True):
        if length not in (1, target):
            return False
    return True


__all__ = [
    "all", "any", "count_nonzero", "log_softmax", "logsumexp", "mean", "nanmean", "nansum", "prod", "softmax", "sum",
]

METHODS = {name: globals()[name] for name in (*__all__, "sum_to_size")}
