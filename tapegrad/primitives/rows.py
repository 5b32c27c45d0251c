"""Row programs: softmax, its logarithm, and logsumexp, along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Type
from . import batching
from .declare import Sample, other
from .movement import reshape
from .reductions import reduce_sum
from .summation import sum_over
from .transcendental import exp
from .type_rules import promoted_to_float, reduced_shape


def _samples() -> list[Sample]:
    random = np.random.default_rng(5)
    return [
        Sample(random.normal(size=(3, 4)), axes=(1,)),
        Sample(random.normal(size=(3, 4)) * 50, axes=(0,)),
        Sample(random.normal(size=(2, 3, 4)), axes=(1,)),
        Sample(random.normal(size=(4, 6)).T[::2], axes=(1,)),
        Sample(np.float64(2.0), axes=()),
        Sample(np.zeros((0, 3)), axes=(1,)),
    ]


def _wide(a: Any) -> Any:
    """Return half precision operands in float32, others as they are."""
    return a.astype(np.float32) if a.dtype.itemsize == 2 else a


def _shifted(a: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the operand less its largest element along the axes (0 where that is infinite), and that element."""
    if a.ndim and not all([a.shape[axis] for axis in axes]):
        return a, np.zeros((), a.dtype)
    largest = np.maximum.reduce(a.real if a.dtype.kind == "c" else a, axis=axes, keepdims=True)
    if not np.isfinite(np.add.reduce(largest, axis=None)):
        largest = np.where(np.isfinite(largest), largest, np.zeros((), largest.dtype))
    return a - largest, largest


def _softmax(a: Any, axes: tuple[int, ...]) -> Any:
    powers = np.exp(_shifted(_wide(a), axes)[0])
    return (powers / sum_over(powers, axes, True)).astype(a.dtype, copy=False)


def _log_softmax(a: Any, axes: tuple[int, ...]) -> Any:
    shifted, _ = _shifted(_wide(a), axes)
    return (shifted - np.log(sum_over(np.exp(shifted), axes, True))).astype(a.dtype, copy=False)


def _logsumexp(a: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    shifted, largest = _shifted(_wide(a), axes)
    result = np.log(sum_over(np.exp(shifted), axes, True)) + largest
    return result.reshape(reduced_shape(a.shape, axes, keepdims)).astype(a.dtype)


def _row_type(name: str) -> Any:
    def type_rule(a: Type, axes: tuple[int, ...]) -> Any:
        if not a.dtype.is_floating_point:
            raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{a.dtype.title}'")
        return a.dtype, a.shape

    return type_rule


def _softmax_tangent(g: Any, r: Any, axes: tuple[int, ...]) -> Any:
    product = g * r
    return product - r * reduce_sum(product, axes=axes, keepdims=True)


softmax = other(
    "softmax",
    _softmax,
    _row_type("softmax"),
    vjp=_softmax_tangent,
    jvp=lambda g, r, axes: _softmax_tangent(g[0], r, axes),
    parameters=("axes",),
    batch=batching.shifted_axes,
    samples=_samples,
    torch=lambda torch, a, axes: a.softmax(axes[0] if axes else 0),
)


log_softmax = other(
    "log_softmax",
    _log_softmax,
    _row_type("log_softmax"),
    vjp=lambda g, r, axes: g - exp(r) * reduce_sum(g, axes=axes, keepdims=True),
    jvp=lambda g, r, axes: g[0] - reduce_sum(exp(r) * g[0], axes=axes, keepdims=True),
    parameters=("axes",),
    batch=batching.shifted_axes,
    samples=_samples,
    torch=lambda torch, a, axes: a.log_softmax(axes[0] if axes else 0),
)


def _logsumexp_type(a: Type, axes: tuple[int, ...], keepdims: bool) -> Any:
    _, dtype = promoted_to_float("logsumexp", (a,))
    return dtype, reduced_shape(a.shape, axes, keepdims)


def _weights(a: Any, r: Any, types: Any, axes: tuple[int, ...]) -> Any:
    """Return the share of each exponential in its sum."""
    return exp(a - _kept(r, types, axes))


def _logsumexp_vjp(g: Any, a: Any, r: Any, types: Any, axes: tuple[int, ...]) -> Any:
    from .signs import conj

    weights = _weights(a, r, types, axes)
    return _kept(g, types, axes) * (conj(weights) if a.dtype.is_complex else weights)


def _kept(value: Any, types: Any, axes: tuple[int, ...]) -> Any:
    """Return a reduced value with its reduced dimensions kept."""
    return reshape(value, shape=reduced_shape(types[0].shape, axes, True))


logsumexp = other(
    "logsumexp",
    _logsumexp,
    _logsumexp_type,
    vjp=_logsumexp_vjp,
    jvp=lambda g, a, r, types, axes, keepdims: reduce_sum(
        g[0] * _weights(a, r, types, axes), axes=axes, keepdims=keepdims
    ),
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=lambda: [
        Sample(*sample.operands, **sample.parameters, keepdims=keepdims) for sample in _samples() for keepdims in (False, True)
    ],
    torch=lambda torch, a, axes, keepdims: a.logsumexp(axes, keepdims) if axes else a.logsumexp(0),
    casts=promoted_to_float,
)
