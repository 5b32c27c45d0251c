"""Pseudo-inverses.

A singular value (of symmetric matrices, the size of an eigenvalue) counts as 0 up to the larger of `atol` and `rtol` times
the largest. These tolerances are numbers, or tensors of one-element matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import lapack
from .declare import Sample, other
from .matrices import LOW_PRECISION, adjoint, aligned, check_square, well_conditioned
from .spectral import singular_values_and_vectors


def _pinv(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if hermitian:
        values, u = np.linalg.eigh(a)
        vh = lapack.adjoint(u)
    else:
        u, values, vh = singular_values_and_vectors(a, full_matrices=False)
    atol, rtol = (each[..., 0] if np.ndim(each) else each for each in (atol, rtol))
    sizes = np.abs(values)
    least = np.maximum(atol, rtol * sizes.max(-1, keepdims=True, initial=0))
    reciprocals = np.where(sizes > least, 1 / values, 0).astype(values.dtype)
    return lapack.adjoint(vh) * reciprocals[..., None, :] @ lapack.adjoint(u)


def _pinv_type(a: Type, atol: Type, rtol: Type, hermitian: bool) -> Any:
    if a.ndim < 2 or a.dtype.category < dtypes.FLOAT or a.dtype in LOW_PRECISION:
        raise RuntimeError(
            f"linalg.pinv({a.dtype.title}{{{list(a.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.pinv", a)
    return a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-2])


def _pinv_vjp(g: Any, a: Any, r: Any) -> Any:
    """Apply the adjoint of the JVP, term by term."""
    h, gh = adjoint(r), adjoint(g)
    through_left = gh @ (r @ h)
    through_right = (h @ r) @ gh
    left = through_left - a @ (r @ through_left)
    right = through_right - (through_right @ r) @ a
    return left + right - h @ g @ h


def _pinv_jvp(g: Any, a: Any, r: Any) -> Any:
    """Differentiate at constant rank.

    Source: Golub & Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate", SIAM J. Numer. Anal. 10 (1973).
    """
    da, h = g[0], adjoint(r)
    dh = adjoint(da)
    left = (dh - r @ (a @ dh)) @ (h @ r)
    right = (r @ h) @ (dh - (dh @ a) @ r)
    return left + right - r @ da @ r


def _full_rank(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).uniform(-2, 2, shape)


pinv = other(
    "pinv",
    _pinv,
    _pinv_type,
    vjp=_pinv_vjp,
    jvp=_pinv_jvp,
    parameters=("hermitian",),
    batch=aligned,
    samples=lambda: [
        Sample(_full_rank(3, 2), 0.0, 1e-12, hermitian=False),
        Sample(_full_rank(2, 2, 3), 1e-12, 0.0, hermitian=False),
        Sample(np.eye(3), 0.0, 0.0, hermitian=False),
        Sample(well_conditioned(3, 3) + well_conditioned(3, 3).T, 0.0, 1e-12, hermitian=True),
    ],
    torch=lambda torch, a, atol, rtol, hermitian: torch.linalg.pinv(a, atol=atol, rtol=rtol, hermitian=hermitian),
    grad_name="LinalgPinvBackward0",
)
