"""Reductions: sums, means, variances, extremes and norms over all or some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import reductions as rows
from ..primitives.casting import cast
from ..primitives.movement import reshape
from ..primitives.type_rules import normalise_axes, normalise_axis
from ..return_types import return_type
from ..tape.record import here, mark_composed, record
from .declare import require_tensor, write_out

Dim = int | Sequence[int] | None

_max_type = return_type("max", ("values", "indices"))
_min_type = return_type("min", ("values", "indices"))
_aminmax_type = return_type("aminmax", ("min", "max"))


def sum(  # noqa: A001 - PyTorch's name for it
    input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Any:
    """Return the sum over `dim` (an int, several, or None for all).

    >>> import tapegrad
    >>> tapegrad.sum(tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    require_tensor("sum", input)
    if dtype is not None and dtype is not input.dtype:
        input = cast(input, dtype=dtype)
    axes = normalise_axes(dim, len(input._node.type.shape))
    name = None if dim is None else "SumBackward1"
    result = record(rows.reduce_sum, (input,), (axes, keepdim), name)
    return result if out is None else write_out("sum", out, result, input)


def nansum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the sum over `dim`, NaN counting as zero."""
    from ..primitives.comparison import isnan
    from ..primitives.selection import where

    return sum(where(isnan(input), 0, input), dim, keepdim, dtype=dtype)


def mean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Any:
    """Return the mean over `dim` (an int, several, or None for all) of a floating point or complex tensor.

    >>> import tapegrad
    >>> tapegrad.mean(tapegrad.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    require_tensor("mean", input)
    if dtype is not None and dtype is not input.dtype:
        input = cast(input, dtype=dtype)
    type_ = input._node.type
    if type_.dtype.category < dtypes.FLOAT:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or complex dtype. "
            f"Got: {type_.dtype.title}"
        )
    axes = normalise_axes(dim, type_.ndim)
    start = here()
    total = record(rows.reduce_sum, (input,), (axes, keepdim))
    result = total / _count(type_.shape, axes)
    if result._node.type.requires_grad:
        mark_composed("MeanBackward0" if dim is None else "MeanBackward1", result, start)
    return result if out is None else write_out("mean", out, result, input)


def nanmean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return the mean over `dim` of the elements that are not NaN."""
    from ..primitives.comparison import isnan, logical_not

    count = sum(logical_not(isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _count(shape: Sequence[int], axes: Sequence[int]) -> int:
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count


def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None) -> Any:
    """Return the product over one dimension, or of all elements."""
    require_tensor("prod", input)
    if dtype is not None and dtype is not input.dtype:
        input = cast(input, dtype=dtype)
    axes = normalise_axes(dim, input.ndim)
    name = None if dim is None else "ProdBackward1"
    result = record(rows.reduce_prod, (input,), (axes, keepdim), name)
    return result if out is None else write_out("prod", out, result, input)


def _variance_arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    """Return the dimensions and the correction of the many ways to call var and std."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    return dim, 1 if correction is None else correction


def _moments(name: str, input: Any, dim: Any, keepdim: bool, correction: float) -> tuple[Any, Any]:
    """Return the variance, and the mean with its dimensions kept."""
    require_tensor(name, input)
    type_ = input._node.type
    if type_.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    axes = normalise_axes(dim, type_.ndim)
    count = _count(type_.shape, axes)
    average = record(rows.reduce_sum, (input,), (axes, True)) / count
    deviation = input - average
    squares = deviation * deviation if not type_.dtype.is_complex else (deviation * deviation.conj()).real
    total = record(rows.reduce_sum, (squares,), (axes, keepdim))
    if count - correction <= 0:
        import warnings

        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel).",
            UserWarning,
            stacklevel=4,
        )
        return total / max_number(count - correction, 0), average
    return total / (count - correction), average


def max_number(first: float, second: float) -> float:
    """Return the larger of two Python numbers (`max` is a function of tensors here)."""
    return first if first >= second else second


def var(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None
) -> Any:
    """Return the variance over `dim`; `correction` (default 1) is subtracted from the number of elements."""
    dim, correction = _variance_arguments(dim, unbiased, correction)
    start = here()
    result, _ = _moments("var", input, dim, keepdim, correction)
    _show("VarBackward0", result, start)
    return result if out is None else write_out("var", out, result, input)


def std(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None
) -> Any:
    """Return the standard deviation over `dim`; its gradient where all elements are equal is 0."""
    from ..primitives.arithmetic import sqrt
    from ..primitives.selection import where

    dim, correction = _variance_arguments(dim, unbiased, correction)
    start = here()
    variance, _ = _moments("std", input, dim, keepdim, correction)
    constant = variance == 0
    result = where(constant, variance, sqrt(where(constant, 1, variance)))
    _show("StdBackward0", result, start)
    return result if out is None else write_out("std", out, result, input)


def var_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Any, Any]:
    """Return the variance and the mean over `dim`."""
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, None if isinstance(dim, bool) else dim, keepdim)


def std_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Any, Any]:
    """Return the standard deviation and the mean over `dim`."""
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, None if isinstance(dim, bool) else dim, keepdim)


def _show(name: str, result: Any, start: Any) -> None:
    if result._node.type.requires_grad:
        mark_composed(name, result, start)


def amax(input: Any, dim: Dim = (), keepdim: bool = False, *, out: Any = None) -> Any:
    """Return the largest elements over `dim`; the gradient is shared equally among ties."""
    return _extreme("amax", rows.reduce_max, input, dim, keepdim, out)


def amin(input: Any, dim: Dim = (), keepdim: bool = False, *, out: Any = None) -> Any:
    """Return the smallest elements over `dim`; the gradient is shared equally among ties."""
    return _extreme("amin", rows.reduce_min, input, dim, keepdim, out)


def _extreme(name: str, primitive: Any, input: Any, dim: Dim, keepdim: bool, out: Any) -> Any:
    axes = normalise_axes(dim, require_tensor(name, input).ndim)
    result = record(primitive, (input,), (axes, keepdim))
    return result if out is None else write_out(name, out, result, input)


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the smallest and largest elements."""
    return _aminmax_type((amin(input, dim, keepdim), amax(input, dim, keepdim)))


def max(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return the largest element, or with `dim` the largest along it and where they are; of two tensors, the larger.

    >>> import tapegrad
    >>> tapegrad.max(tapegrad.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1).indices
    tensor([1, 0])
    """
    from .elementwise import maximum

    return _max_or_min("max", rows.reduce_max, rows.max_with_index, maximum, _max_type, input, dim, keepdim, out)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return the smallest element, or with `dim` the smallest along it and where they are; of two tensors, the smaller."""
    from .elementwise import minimum

    return _max_or_min("min", rows.reduce_min, rows.min_with_index, minimum, _min_type, input, dim, keepdim, out)


def _max_or_min(
    name: str, whole: Any, along: Any, pairwise: Any, fields: Any, input: Any, dim: Any, keepdim: bool, out: Any
) -> Any:
    require_tensor(name, input)
    if hasattr(dim, "_node"):
        return pairwise(input, dim, out=out)
    type_ = input._node.type
    if dim is None:
        if type_.numel == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
                "argument."
            )
        axes = tuple(range(type_.ndim))
        return record(whole, (input,), (axes, False), f"{name.capitalize()}Backward1")
    axis = normalise_axis(dim, type_.ndim)
    values, indices = record(along, (input,), (axis, keepdim), f"{name.capitalize()}Backward0")
    if out is not None:
        return fields((write_out(name, out[0], values, input), write_out(name, out[1], indices)))
    return fields((values, indices))


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the largest element: along `dim`, or in the flattened tensor."""
    return _position("argmax", rows.argmax, input, dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the smallest element: along `dim`, or in the flattened tensor."""
    return _position("argmin", rows.argmin, input, dim, keepdim)


def _position(name: str, primitive: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    type_ = require_tensor(name, input)._node.type
    if dim is not None:
        return primitive(input, axis=normalise_axis(dim, type_.ndim), keepdims=keepdim)
    if type_.numel == 0:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    result = primitive(reshape(input, shape=(type_.numel,)), axis=0, keepdims=False)
    return reshape(result, shape=(1,) * type_.ndim) if keepdim else result


def all(input: Any, dim: Dim = None, keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return whether all elements are true."""
    return _quantify("all", rows.reduce_all, input, dim, keepdim, out)


def any(input: Any, dim: Dim = None, keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A001 - PyTorch's name
    """Return whether any element is true."""
    return _quantify("any", rows.reduce_any, input, dim, keepdim, out)


def _quantify(name: str, primitive: Any, input: Any, dim: Dim, keepdim: bool, out: Any) -> Any:
    axes = normalise_axes(dim, require_tensor(name, input).ndim)
    result = record(primitive, (input,), (axes, keepdim))
    return result if out is None else write_out(name, out, result)


def count_nonzero(input: Any, dim: Dim = None) -> Any:
    """Return how many elements are not zero."""
    return sum(input != 0, dim)


def logsumexp(input: Any, dim: Dim, keepdim: bool = False, *, out: Any = None) -> Any:
    """Return ``log(sum(exp(input)))`` over `dim`, without overflow.

    >>> import tapegrad
    >>> tapegrad.logsumexp(tapegrad.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6931)
    """
    from ..primitives.rows import logsumexp as primitive

    require_tensor("logsumexp", input)
    if input.dtype.category < dtypes.FLOAT:
        input = cast(input, dtype=dtypes.get_default_dtype())
    axes = normalise_axes(dim, input.ndim)
    result = record(primitive, (input,), (axes, keepdim))
    return result if out is None else write_out("logsumexp", out, result, input)


__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "max",
    "mean",
    "min",
    "nanmean",
    "nansum",
    "prod",
    "std",
    "std_mean",
    "sum",
    "var",
    "var_mean",
]

METHODS = {name: globals()[name] for name in __all__}
