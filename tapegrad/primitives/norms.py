"""The Euclidean norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Shape, Type
from . import batching
from .declare import Sample, other
from .reductions import reduce_sum
from .selecting import with_reduced_axes
from .selection import where
from .summation import sum_over
from .type_rules import reduced_shape, require_floating


def _norm(a: Any, axes: Shape, keepdims: bool) -> Any:
    a = np.asarray(a)
    wide = a.astype(np.float32) if a.dtype.itemsize == 2 else a
    squares = wide.real * wide.real + wide.imag * wide.imag if wide.dtype.kind == "c" else wide * wide
    return np.asarray(np.sqrt(sum_over(squares, axes, keepdims))).astype(a.real.dtype, copy=False)


def _norm_type(a: Type, axes: Shape, keepdims: bool) -> Any:
    require_floating("norm", a)
    return a.dtype.to_real(), reduced_shape(a.shape, axes, keepdims)


def _over_norm(value: Any, norm: Any) -> Any:
    """Return the value divided by the norm; 0 where the norm is."""
    is_zero = norm == 0
    return where(is_zero, 0, value / where(is_zero, 1, norm))


def _vjp(g: Any, a: Any, r: Any, axes: Shape) -> Any:
    shape = tuple(a.shape)
    return a * with_reduced_axes(_over_norm(g, r), shape, axes)


def _jvp(g: Any, a: Any, r: Any, axes: Shape, keepdims: bool) -> Any:
    from .signs import conj, real

    products = real(conj(a) * g[0]) if a.dtype.is_complex else a * g[0]
    return _over_norm(reduce_sum(products, axes=axes, keepdims=keepdims), r)


euclidean_norm = other(
    "euclidean_norm",
    _norm,
    _norm_type,
    vjp=_vjp,
    jvp=_jvp,
    parameters=("axes", "keepdims"),
    batch=batching.shifted_axes,
    samples=lambda: [
        Sample(np.linspace(-2.0, 3.0, 12).reshape(3, 4), axes=(1,), keepdims=False),
        Sample(np.linspace(-2.0, 3.0, 12).reshape(3, 4), axes=(0, 1), keepdims=True),
        Sample(np.linspace(-2.0, 3.0, 24).reshape(4, 6).T[::2], axes=(0,), keepdims=False),
        Sample(np.float64(-2.0), axes=(), keepdims=False),
        Sample(np.zeros((0, 3)), axes=(1,), keepdims=False),
        Sample(np.zeros((0, 3)), axes=(0,), keepdims=False),
    ],
    torch=lambda torch, a, axes, keepdims: torch.linalg.vector_norm(a, 2, axes, keepdim=keepdims),
    grad_name="LinalgVectorNormBackward0",
)
