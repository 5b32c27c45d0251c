"""Variances, standard deviations, covariances and correlations."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..primitives.arithmetic import sqrt
from ..primitives.casting import cast
from ..primitives.contraction import matmul
from ..primitives.diagonals import diagonal
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_sum
from ..primitives.selection import where
from ..primitives.type_rules import normalise_axes, reduced_shape
from ..tape.record import here, record
from ..tensor import Tensor
from .arguments import checked, is_integer
from .declare import accepts_out, require_tensor, wrong_type
from .reductions import product_of, show


def _arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    """Return the dimensions and the correction of the many ways to call these functions."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        if not isinstance(unbiased, bool):
            raise wrong_type("var", "unbiased", 3, "bool", unbiased)
        correction = 1 if unbiased else 0
    return dim, 1 if correction is None else correction


def _moments(name: str, input: Any, dim: Any, keepdim: bool, correction: float) -> tuple[Any, Any]:
    """Return the variance and the mean, of 2-byte floats in float32."""
    type_ = require_tensor(name, input)._node.type
    if type_.dtype.category < dtypes.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if dim is not None and not all([is_integer(axis) for axis in (dim if isinstance(dim, (tuple, list)) else (dim,))]):
        raise wrong_type(name, "dim", 2, "tuple of ints", dim)
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


# Covariances


@checked
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Return the covariances of variables, the rows of a matrix, from observations of them, its columns.

    Args:
        input: a matrix, or the observations of one variable.
        correction: what is subtracted from the number of observations.
        fweights: how often each observation was made, integers.
        aweights: how much each observation counts.

    >>> import tapegrad
    >>> tapegrad.cov(tapegrad.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    require_tensor("cov", input)
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is dtypes.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    observed = reshape(input, shape=(1, input.numel())) if input.ndim < 2 else input
    if observed.dtype.category < dtypes.FLOAT:
        observed = cast(observed, dtype=dtypes.get_default_dtype())
    weights = _observation_weights(fweights, aweights, observed.shape[1])
    if weights is None:
        degrees = observed.shape[1] - correction
        average = record(reduce_sum, (observed,), ((1,), True)) / observed.shape[1]
    else:
        total = reduce_sum(weights, axes=(0,), keepdims=False)
        lost = correction
        if aweights is not None and correction:
            lost = correction * reduce_sum(weights * aweights, axes=(0,), keepdims=False) / total
        degrees = total - lost
        average = reduce_sum(observed * weights, axes=(1,), keepdims=True) / total
    deviation = observed - average
    weighted = deviation if weights is None else deviation * weights
    products = matmul(deviation, permute(weighted.conj(), axes=(1, 0)))
    result = products / _positive(degrees)
    shape = tuple([length for length in result.shape if length != 1])
    return record(reshape, (result,), (shape,), "SqueezeBackward0")


def _observation_weights(fweights: Any, aweights: Any, count: int) -> Any:
    """Return the product of both weights, checked, or None."""
    kinds = (("fweights", fweights, "integral"), ("aweights", aweights, "floating point"))
    result = None
    for name, weights, kind in kinds:
        if weights is None:
            continue
        if weights.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
            )
        if weights.dtype.is_floating_point is not (kind == "floating point") or weights.dtype.category > dtypes.FLOAT:
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.title} dtype"
            )
        if weights.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.numel()} "
                f"!= {count}"
            )
        if weights.numel() and (weights.detach() < 0).any().item():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        result = weights if result is None else result * weights
    return result


def _positive(degrees: Any) -> Any:
    """Return the degrees of freedom, or with a warning zero if there are none."""
    if (degrees.detach() if isinstance(degrees, Tensor) else degrees) > 0:
        return degrees
    warnings.warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
        UserWarning,
        stacklevel=3,
    )
    return degrees * 0


def corrcoef(input: Any) -> Any:
    """Return the correlation coefficients of variables, the rows of a matrix, from observations of them, its columns."""
    require_tensor("corrcoef", input)
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    covariances = cov(input)
    if covariances.ndim == 0:
        return covariances / covariances
    variances = diagonal(covariances, offset=0, axis1=0, axis2=1)
    deviations = sqrt(variances.real if variances.dtype.is_complex else variances)
    count = deviations.shape[0]
    result = covariances / reshape(deviations, shape=(count, 1)) / reshape(deviations, shape=(1, count))
    if result.dtype.is_complex:
        from ..primitives.signs import make_complex

        return make_complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


__all__ = [
    "corrcoef", "cov", "std", "std_mean", "var", "var_mean",
]

METHODS = {name: globals()[name] for name in ("corrcoef", "cov", "std", "var")}
