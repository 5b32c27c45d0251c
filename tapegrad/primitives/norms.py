"""Norms of vectors, of any order, over any axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .comparison import equal, isnan, logical_or
from .declare import Sample, other
from .movement import reshape
from .reductions import reduce_sum
from .selection import where
from .signs import absolute, conj, real, sgn
from .summation import sum_over
from .type_rules import reduced_shape


def _vector_norm(a: Any, order: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    sizes = np.abs(np.asarray(a))
    dtype = sizes.dtype
    if dtype.itemsize == 2:
        sizes = sizes.astype(np.float32)
    if math.isinf(order):
        return (np.max if order > 0 else np.min)(sizes, axis=axes, keepdims=keepdims).astype(dtype)
    if order == 0:
        return np.asarray(sum_over(sizes != 0, axes, keepdims)).astype(dtype)
    if order == 1:
        return np.asarray(sum_over(sizes, axes, keepdims)).astype(dtype)
    if order == 2:
        return np.sqrt(sum_over(sizes * sizes, axes, keepdims)).astype(dtype)
    return np.power(sum_over(np.power(sizes, order), axes, keepdims), 1 / order).astype(dtype)


def _vector_norm_type(a: Type, order: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    if a.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {a.dtype.title}")
    if a.numel == 0 and (order < 0 or order == math.inf):
        _check_not_empty(a, order, axes)
    return a.dtype.to_real(), reduced_shape(a.shape, axes, keepdims)


def _check_not_empty(a: Type, order: float, axes: tuple[int, ...]) -> None:
    """Raise where there are no elements to take the norm of."""
    empty = next((axis for axis in axes if a.shape[axis] == 0), None)
    if len(axes) == a.ndim:
        what = "an empty tensor because"
    elif empty is not None:
        what = f"the dimension {empty} because this dimension is empty and"
    else:
        return
    raise RuntimeError(
        f"linalg.vector_norm cannot compute the {order:g} norm on {what} the operation does not have an identity"
    )


def _slope(a: Any, norm: Any, order: float, axes: tuple[int, ...]) -> Any:
    """Return the gradient of the norm, of which the dimensions are kept; where it has none, PyTorch's subgradient.

    That of order 1 or less is 0 for elements that are 0, that of higher order 0 where the norm is; an infinite order's
    is shared equally among ties.
    """
    if order == 1:
        return sgn(a)
    if order == 2:
        return where(norm == 0, 0, a / where(norm == 0, 1, norm))
    sizes = absolute(a)
    if math.isinf(order):
        extreme = logical_or(equal(sizes, norm), isnan(sizes))
        return sgn(a) * (extreme / reduce_sum(extreme, axes=axes, keepdims=True))
    if order < 1:
        powers = where(sizes == 0, 0, where(sizes == 0, 1, sizes) ** (order - 1))
        return sgn(a) * powers * norm ** (1 - order)
    powers = sgn(a) * sizes ** (order - 1) if order < 2 else a * sizes ** (order - 2)
    return where(norm == 0, 0, powers / where(norm == 0, 1, norm) ** (order - 1))


def _kept(value: Any, types: Any, axes: tuple[int, ...]) -> Any:
    """Return a reduced value with its reduced dimensions kept."""
    return reshape(value, shape=reduced_shape(types[0].shape, axes, True))


def _vector_norm_vjp(g: Any, a: Any, r: Any, types: Any, order: float, axes: tuple[int, ...]) -> Any:
    return None if order == 0 else _kept(g, types, axes) * _slope(a, _kept(r, types, axes), order, axes)


def _vector_norm_jvp(g: Any, a: Any, r: Any, types: Any, order: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    if order == 0:
        return r * 0
    slope = _slope(a, _kept(r, types, axes), order, axes)
    change = real(conj(slope) * g[0]) if a.dtype.is_complex else slope * g[0]
    return reduce_sum(change, axes=axes, keepdims=keepdims)


def _samples() -> list[Sample]:
    random = np.random.default_rng(3)
    a = random.uniform(0.5, 2.0, (2, 3, 4)) * random.choice([-1.0, 1.0], (2, 3, 4))
    orders = [2.0, 1.0, 0.0, math.inf, -math.inf, 3.0, 1.5, 0.5, -1.0]
    samples = [Sample(a, order=order, axes=(0, 2), keepdims=False) for order in orders]
    samples += [Sample(a, order=2.0, axes=(0, 1, 2), keepdims=True), Sample(a[0].T[::2], order=3.0, axes=(1,), keepdims=True)]
    samples += [Sample(np.float64(-2.0), order=2.0, axes=(), keepdims=False)]
    return [*samples, Sample(np.zeros((0, 3)), order=2.0, axes=(0,), keepdims=False)]


def _torch_vector_norm(torch: Any, a: Any, order: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    norm = torch.linalg.vector_norm(a, order, axes or None, keepdims)
    return norm if a.numel() else a.abs().sum(axes, keepdims)  # PyTorch's second derivative of no elements' norm is NaN


vector_norm = other(
    "vector_norm",
    _vector_norm,
    _vector_norm_type,
    vjp=_vector_norm_vjp,
    jvp=_vector_norm_jvp,
    parameters=("order", "axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=_samples,
    torch=_torch_vector_norm,
    grad_name="LinalgVectorNormBackward0",
)
