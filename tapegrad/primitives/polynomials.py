"""Orthogonal polynomials of degree n, by their three-term recurrences. They are part of the names of special.

PyTorch has no derivatives of them. A degree that is not whole loses its fraction; one below zero gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .declare import Primitive, Sample, elementwise
from .precision import real_to_float

First = Callable[[Any], Any]
Step = Callable[[Any, int, Any, Any], Any]


def _evaluate(x: Any, n: Any, first: First, step: Step) -> Any:
    """Return the polynomials of degree n at x, where the one of degree 0 is 1 and `first` gives that of degree 1.

    ``step(x, k, now, before)`` gives degree k + 1 from those of degrees k and k - 1. It runs in float64.
    """
    dtype = np.result_type(x, n)
    points, degrees = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(n).astype(np.int64))
    before, now = np.ones(points.shape), first(points)
    result = np.where(degrees == 0, before, np.where(degrees == 1, now, 0.0))
    for k in range(1, int(degrees.max(initial=0))):
        before, now = now, step(points, k, now, before)
        result = np.where(degrees == k + 1, now, result)
    return result.astype(dtype)


def _samples() -> list[Sample]:
    random = np.random.default_rng(0)
    x = random.uniform(-2.0, -1.1, (4, 6))  # away from most zeros, next to which PyTorch is not accurate
    n = random.integers(-1, 12, (4, 6)).astype(float)
    pairs = [(x, n), (x.T[::2], n.T[::2]), (x[:, :1], n[0]), (x[0, 0], n[0, 0]), (x[:0], n[:0])]
    return [Sample(*pair) for pair in pairs]


def _polynomial(name: str, first: First, step: Step) -> Primitive:
    return elementwise(
        name,
        lambda a, b: _evaluate(a, b, first, step),
        None,
        casts=real_to_float,
        samples=_samples,
        torch=lambda torch, a, b: getattr(torch.special, name)(a, b),
    )


def _chebyshev(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _shifted_chebyshev(x: Any, k: int, now: Any, before: Any) -> Any:
    return _chebyshev(2 * x - 1, k, now, before)


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", lambda x: x, _chebyshev)
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev)
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev)
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev)

shifted_chebyshev_polynomial_t = _polynomial("shifted_chebyshev_polynomial_t", lambda x: 2 * x - 1, _shifted_chebyshev)
shifted_chebyshev_polynomial_u = _polynomial("shifted_chebyshev_polynomial_u", lambda x: 4 * x - 2, _shifted_chebyshev)
shifted_chebyshev_polynomial_v = _polynomial("shifted_chebyshev_polynomial_v", lambda x: 4 * x - 3, _shifted_chebyshev)
shifted_chebyshev_polynomial_w = _polynomial("shifted_chebyshev_polynomial_w", lambda x: 4 * x - 1, _shifted_chebyshev)

hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", lambda x: 2 * x, lambda x, k, now, before: 2 * x * now - 2 * k * before
)
hermite_polynomial_he = _polynomial("hermite_polynomial_he", lambda x: x, lambda x, k, now, before: x * now - k * before)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", lambda x: x, lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
)
