"""Running sums, products, extremes and log-sum-exps along the static parameter ``axis``.

The derivatives of running products and log-sum-exps are linear recurrences: they need no division, so that zeros are no
trouble, and can be differentiated again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import ones
from ..tape.types import Type
from . import batching
from .declare import Primitive, Sample, linear, other
from .selecting import accepting_0d, along, refuse
from .summation import scan_accumulator

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "linear_recurrence", "logcumsumexp"]


def _random(*shape: int) -> Any:
    return np.random.default_rng(3).uniform(-2.0, 2.0, shape)


def _samples() -> list[Sample]:
    return [
        Sample(_random(3, 5), axis=1),
        Sample(_random(5, 2), axis=0),
        Sample(_random(4, 6).T[::2], axis=0),
        Sample(_random(1, 3), axis=0),
        Sample(_random(), axis=0),
        Sample(_random(0, 3), axis=0),
        Sample(_random(0, 3), axis=1),
    ]


def _neighbour(a: Any, axis: int, fill: float, after: bool = False) -> Any:
    """Return, for each element, the one before it along the axis (or after it), and `fill` for that without one."""
    from .movement import pad

    low = tuple([(-1 if after else 1) if place == axis else 0 for place in range(a.ndim)])
    return pad(a, fill, low=low, high=tuple([-shift for shift in low]))


def _reversed(a: Any, axis: int) -> Any:
    from .movement import flip

    return flip(a, axes=(axis,))


def _conj(a: Any) -> Any:
    from .signs import conj

    return conj(a) if a.dtype.is_complex else a


def _is_trivial(a: Any, axis: int) -> bool:
    """Whether there is nothing to accumulate."""
    return a.ndim == 0 or 0 in a.shape


# Sum


def _widened(a: Type, axis: int) -> Any:
    """Integers and bool become int64."""
    return dtypes.int64 if a.dtype.category < dtypes.FLOAT else a.dtype, a.shape


def _cumsum(a: Any, axis: int) -> Any:
    result = np.cumsum(a, axis, scan_accumulator(a.dtype))
    result += 0  # makes a leading negative zero zero, as adding to zero does
    return result if a.dtype.kind in "bui" else result.astype(a.dtype, copy=False)


def _cumsum_transpose(g: Any, axis: int) -> Any:
    return g if _is_trivial(g, axis) else _reversed(cumsum(_reversed(g, axis), axis=axis), axis)


cumsum = linear(
    "cumsum",
    accepting_0d(_cumsum),
    _widened,
    transpose=_cumsum_transpose,
    parameters=("axis",),
    batch=batching.shifted_axis,
    samples=_samples,
    torch=lambda torch, a, axis: torch.cumsum(a, axis),
)


# Linear recurrence


def _recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """Double the reach of each element until it is that of the whole line."""
    dtype = np.result_type(a, b)
    factors = np.moveaxis(np.array(a, scan_accumulator(dtype)), axis, 0)
    terms = np.moveaxis(np.array(b, scan_accumulator(dtype)), axis, 0)
    if reverse:
        factors, terms = factors[::-1], terms[::-1]
    reach = 1
    while reach < len(terms):
        terms[reach:] += factors[reach:] * terms[:-reach]
        factors[reach:] = factors[reach:] * factors[:-reach]
        reach *= 2
    return np.ascontiguousarray(np.moveaxis(terms[::-1] if reverse else terms, 0, axis), dtype)


def _recurrence_type(a: Type, b: Type, axis: int, reverse: bool) -> Any:
    if a.shape != b.shape or a.dtype is not b.dtype:
        raise RuntimeError(f"linear_recurrence: operands must have the same dtype and shape, got {a} and {b}")
    return a.dtype, a.shape


def _recurrence_vjp(g: Any, a: Any, r: Any, axis: int, reverse: bool) -> Any:
    if _is_trivial(a, axis):
        return g, g
    of_terms = linear_recurrence(_conj(_neighbour(a, axis, 0, after=not reverse)), g, axis=axis, reverse=not reverse)
    return of_terms * _conj(_neighbour(r, axis, 0, after=reverse)), of_terms


def _recurrence_jvp(g: Any, a: Any, r: Any, axis: int, reverse: bool) -> Any:
    if _is_trivial(a, axis):
        return g[1]
    return linear_recurrence(a, g[1] + g[0] * _neighbour(r, axis, 0, after=reverse), axis=axis, reverse=reverse)


def _torch_recurrence(torch: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    if 0 in a.shape:
        return a * b
    results: list[Any] = []
    pairs = list(zip(a.unbind(axis), b.unbind(axis), strict=True))
    for factor, term in reversed(pairs) if reverse else pairs:
        results.append(factor * (results[-1] if results else torch.zeros_like(term)) + term)
    return torch.stack(results[::-1] if reverse else results, axis)


# Each element is `a` times the element before (with `reverse`: after) it, plus `b`; the first is just `b`.
linear_recurrence = other(
    "linear_recurrence",
    _recurrence,
    _recurrence_type,
    vjp=_recurrence_vjp,
    jvp=_recurrence_jvp,
    parameters=("axis", "reverse"),
    batch=batching.shifted_axis,
    samples=lambda: [
        Sample(_random(3, 5), _random(5, 3).T, axis=1, reverse=False),
        Sample(_random(3, 5), _random(5, 3).T, axis=1, reverse=True),
        Sample(_random(7, 2), _random(2, 7).T, axis=0, reverse=True),
        Sample(_random(1), _random(1), axis=0, reverse=False),
        Sample(_random(0, 3), _random(0, 3), axis=0, reverse=False),
        Sample(_random(2, 0), _random(2, 0), axis=0, reverse=True),
    ],
    torch=_torch_recurrence,
)


# Product


def _cumprod(a: Any, axis: int) -> Any:
    result = np.cumprod(a, axis, scan_accumulator(a.dtype))
    return result if a.dtype.kind in "bui" else result.astype(a.dtype, copy=False)


def _cumprod_vjp(g: Any, a: Any, r: Any, axis: int) -> Any:
    """Return the product before each element times the sum of the later cotangents times the factors up to theirs."""
    if _is_trivial(a, axis):
        return g
    later = linear_recurrence(_conj(_neighbour(a, axis, 0, after=True)), g, axis=axis, reverse=True)
    return _conj(_neighbour(r, axis, 1)) * later


def _cumprod_jvp(g: Any, a: Any, r: Any, axis: int) -> Any:
    if _is_trivial(a, axis):
        return g[0]
    return linear_recurrence(a, _neighbour(r, axis, 1) * g[0], axis=axis, reverse=False)


cumprod = other(
    "cumprod",
    accepting_0d(_cumprod),
    _widened,
    vjp=_cumprod_vjp,
    jvp=_cumprod_jvp,
    parameters=("axis",),
    batch=batching.shifted_axis,
    samples=lambda: [*_samples(), Sample(np.array([[1.0, 0.0, 3.0, 2.0], [0.0, 2.0, 0.0, 1.0]]), axis=1)],
    torch=lambda torch, a, axis: torch.cumprod(a, axis),
)


def product_of_others(a: Any, axis: int) -> Any:
    """Return, for each element, the product of the others along the axis, without dividing by the element."""
    if _is_trivial(a, axis) or a.shape[axis] == 1:
        return ones(tuple(a.shape), a.dtype)
    before = cumprod(_neighbour(a, axis, 1), axis=axis)
    after = _reversed(cumprod(_reversed(_neighbour(a, axis, 1, after=True), axis), axis=axis), axis)
    return before * after


# Log-sum-exp


def _logcumsumexp(a: Any, axis: int) -> Any:
    wide = a.astype(scan_accumulator(a.dtype), copy=False)
    result = _complex_logcumsumexp(wide, axis) if wide.dtype.kind == "c" else np.logaddexp.accumulate(wide, axis)
    return result.astype(a.dtype, copy=False)


def _complex_logcumsumexp(a: Any, axis: int) -> Any:
    """Accumulate one by one, from the larger real part, so that the imaginary part has PyTorch's branch."""
    result = np.moveaxis(a.copy(), axis, 0)
    for place in range(1, len(result)):
        total, term = result[place - 1], result[place]
        larger = np.where(total.real < term.real, term, total)
        smaller = np.where(total.real < term.real, total, term)
        result[place] = larger + np.log1p(np.exp(smaller - larger))
    return np.ascontiguousarray(np.moveaxis(result, 0, axis))


def _floating(a: Type, axis: int) -> Any:
    refuse("logcumsumexp_out_cpu", a, dtypes.BOOL, dtypes.INTEGER)
    return a.dtype, a.shape


def _decay(r: Any, axis: int) -> Any:
    """Return by what factor each running sum of exponentials is smaller than the next; 1 where both are infinite."""
    from .comparison import equal
    from .selection import where
    from .transcendental import exp

    following = _neighbour(r, axis, math.inf, after=True)
    return exp(where(equal(r, following), 0.0, r - following))


def _logcumsumexp_vjp(g: Any, a: Any, r: Any, axis: int) -> Any:
    from .transcendental import exp

    if _is_trivial(a, axis):
        return g
    return _conj(exp(a - r)) * linear_recurrence(_conj(_decay(r, axis)), g, axis=axis, reverse=True)


def _logcumsumexp_jvp(g: Any, a: Any, r: Any, axis: int) -> Any:
    from .transcendental import exp

    if _is_trivial(a, axis):
        return g[0]
    return linear_recurrence(_neighbour(_decay(r, axis), axis, 0), exp(a - r) * g[0], axis=axis, reverse=False)


logcumsumexp = other(
    "logcumsumexp",
    accepting_0d(_logcumsumexp),
    _floating,
    vjp=_logcumsumexp_vjp,
    jvp=_logcumsumexp_jvp,
    parameters=("axis",),
    batch=batching.shifted_axis,
    samples=lambda: [*_samples(), Sample(np.array([-2.0, 3.0, 3.5, -1.0]), axis=0)],
    torch=lambda torch, a, axis: torch.logcumsumexp(a, axis) if a.numel() else a.cumsum(axis),  # its JVP fails on nothing
)


# Extremes. Of elements that tie, the last one is chosen, as PyTorch does.


def _declare_extreme(name: str, ufunc: Any) -> Primitive:
    def accumulate(a: Any, axis: int) -> tuple[Any, Any]:
        values = ufunc.accumulate(a, axis)
        is_extreme = a == values
        if a.dtype.kind not in "bui":
            is_extreme |= np.isnan(a)
        positions = np.arange(a.shape[axis]).reshape([-1 if place == axis else 1 for place in range(a.ndim)])
        return values, np.maximum.accumulate(np.where(is_extreme, positions, 0), axis)

    def type_rule(a: Type, axis: int) -> Any:
        if a.numel and a.ndim:
            refuse(f"{name}_cpu", a, dtypes.COMPLEX)
        return (a.dtype, a.shape), (dtypes.int64, a.shape)

    return along(
        name,
        accumulate,
        type_rule=type_rule,
        samples=_samples,
        torch=lambda torch, a, axis: getattr(torch, name)(a, axis),
    )


cummax = _declare_extreme("cummax", np.maximum)
cummin = _declare_extreme("cummin", np.minimum)
