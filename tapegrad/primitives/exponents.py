"""Binary exponents: floating point numbers taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .declare import Sample, other
from .type_rules import is_dense


def _frexp(a: Any) -> tuple[Any, Any]:
    a = np.asarray(a)
    wide = a.astype(np.float32) if a.dtype.itemsize == 2 else a
    mantissa, exponent = np.frexp(wide)
    return np.asarray(mantissa).astype(a.dtype, copy=False), np.asarray(exponent, np.int32)


def _frexp_type(a: Type) -> Any:
    if not a.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    strides = a.strides if is_dense(a.shape, a.strides) else None
    return (a.dtype, a.shape, strides), (dtypes.int32, a.shape, strides)


def _scale(tangent: Any, exponent: Any) -> Any:
    from .arithmetic import ldexp, neg

    return ldexp(tangent, neg(exponent))


# Mantissas in [0.5, 1), and exponents; the mantissa's derivative is one over the power of two that was taken out.
frexp = other(
    "frexp",
    _frexp,
    _frexp_type,
    vjp=lambda g, r: (_scale(g[0], r[1]),),
    jvp=lambda g, r: (_scale(g[0], r[1]), None),
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(np.array([[0.3, 1.7, -5.0], [100.0, -0.01, 3.0]])),
        Sample(np.float64(6.0)),
        Sample(np.zeros((0, 3))),
        Sample(np.linspace(0.3, 9.7, 24).reshape(4, 6).T[::2]),
    ],
    torch=lambda torch, a: torch.frexp(a),
)
