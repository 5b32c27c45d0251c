"""Variances, standard deviations and covariances."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..primitives.arithmetic import sqrt
from ..primitives.casting import cast
from ..primitives.movement import reshape
from ..primitives.reductions import reduce_sum
from ..primitives.selection import where
from ..primitives.type_rules import normalise_axes, reduced_shape
from ..tape.record import here, record
from .declare import accepts_out, require_tensor
from .reductions import product_of, show


def _arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    """Return the dimensions and the correction of the many ways to call these functions."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    return dim, 1 if correction is None else correction


def _moments(name: str, input: Any, dim: Any, keepdim: bool, correction: float) -> tuple[Any, Any]:
    """Return the variance and the mean, of 2-byte floats in float32."""
    type_ = require_tensor(name, input)._node.type
    if type_.dtype.category < dtypes.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    axes = normalise_axes(dim, type_.ndim)
    count = product_of([type_.shape[axis] for axis in axes])
    if type_.dtype.itemsize == 2:
        input = cast(input, dtype=dtypes.float32)
    average = record(reduce_sum, (input,), (axes, True)) / count
    deviation = input - average
    squares = (deviation * deviation.conj()).real if type_.dtype.is_complex else deviation * deviation
    total = record(reduce_sum, (squares,), (axes, keepdim))
    degrees = count - correction
    if degrees <= 0 and type_.numel:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel).",
            UserWarning,
            stacklevel=5,
        )
    variance = total / (degrees if degrees > 0 else 0)
    if not keepdim:
        average = reshape(average, shape=reduced_shape(type_.shape, axes, False))
    return variance, average


def _root(variance: Any) -> Any:
    """Return the square root, whose gradient is 0 at 0."""
    constant = variance == 0
    return where(constant, variance, sqrt(where(constant, 1, variance)))


def _finish(name: str, result: Any, input: Any, start: tuple[int, int]) -> Any:
    """Return a result in the input's precision, shown as one operation."""
    dtype = input.dtype.to_real() if result.dtype.category == dtypes.FLOAT else input.dtype
    return show(name, result if result.dtype is dtype else cast(result, dtype=dtype), start)


@accepts_out
def var(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """Return the variance over `dim`; `correction` (default 1) is subtracted from the number of elements.

    >>> import tapegrad
    >>> tapegrad.var(tapegrad.tensor([1.0, 3.0])), tapegrad.var(tapegrad.tensor([1.0, 3.0]), correction=0)
    (tensor(2.), tensor(1.))
    """
    dim, correction = _arguments(dim, unbiased, correction)
    start = here()
    variance, _ = _moments("var", input, dim, keepdim, correction)
    return _finish("VarBackward0", variance, input, start)


@accepts_out
def std(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """Return the standard deviation over `dim`; its gradient where all elements are equal is 0.

    >>> import tapegrad
    >>> tapegrad.std(tapegrad.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    dim, correction = _arguments(dim, unbiased, correction)
    start = here()
    variance, _ = _moments("std", input, dim, keepdim, correction)
    return _finish("StdBackward0", _root(variance), input, start)


@accepts_out
def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Any, Any]:
    """Return the variance and the mean over `dim`."""
    dim, correction = _arguments(dim, unbiased, correction)
    start = here()
    variance, average = _moments("var_mean", input, dim, keepdim, correction)
    return _finish("VarMeanBackward0", variance, input, start), _finish("VarMeanBackward0", average, input, start)


@accepts_out
def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Any, Any]:
    """Return the standard deviation and the mean over `dim`."""
    dim, correction = _arguments(dim, unbiased, correction)
    start = here()
    variance, average = _moments("std_mean", input, dim, keepdim, correction)
    return _finish("StdMeanBackward0", _root(variance), input, start), _finish("StdMeanBackward0", average, input, start)


__all__ = [
    "std", "std_mean", "var", "var_mean",
]

METHODS = {name: globals()[name] for name in ("std", "var")}
