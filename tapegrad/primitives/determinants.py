"""Determinants, their logarithms, and matrices of cofactors.

Derivatives: Giles, "An extended collection of matrix derivative results for forward and reverse mode automatic
differentiation" (2008), https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf. A determinant is a polynomial, so it has
derivatives at singular matrices too: its gradient is the matrix of cofactors, which is a row of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape import constants
from ..tape.types import Type
from . import batching, lapack
from .arithmetic import imag
from .comparison import less_equal
from .cumulative import cumsum, product_of_others
from .declare import Sample, other
from .linear_systems import inverse_ex, invert
from .matrices import (
    adjoint,
    as_matrices,
    as_rows,
    check_dtype,
    check_square,
    conjugate,
    diagonal_matrices,
    diagonals,
    first_columns,
    last_columns,
    real_part,
    total,
    trace,
    transpose,
    well_conditioned,
    without_singular,
)
from .reductions import reduce_sum
from .selection import where
from .spectral import svd, svdvals

# Determinants


def _determinant_type(a: Type) -> Any:
    check_square("linalg.det", a)
    check_dtype("linalg.det", a, kernel="lu_cpu")
    return a.dtype, a.shape[:-2]


def _determinant_vjp(g: Any, a: Any) -> Any:
    return as_matrices(g) * conjugate(cofactor(a))


def _determinant_jvp(g: Any, a: Any) -> Any:
    return reduce_sum(cofactor(a) * g[0], axes=(a.ndim - 2, a.ndim - 1), keepdims=False)


determinant = other(
    "determinant",
    lapack.determinant,
    _determinant_type,
    vjp=_determinant_vjp,
    jvp=_determinant_jvp,
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3)),
        Sample(well_conditioned(2, 4, 4)),
        Sample(np.array([[[2.0]], [[-0.5]]])),
        Sample(np.zeros((0, 0))),
    ],
    torch=lambda torch, a: torch.linalg.det(a),
    grad_name="LinalgDetBackward0",
)


def _cofactor(a: Any) -> Any:
    determinants = np.asarray(lapack.determinant(a))
    singular = (determinants == 0) | ~np.isfinite(determinants)
    inverses, _ = invert(without_singular(a, singular), check=None)
    result = np.asarray(determinants[..., None, None] * inverses.swapaxes(-1, -2))
    if singular.any():
        result[singular] = _cofactor_of_singular(a[singular])
    return result


def _cofactor_of_singular(a: Any) -> Any:
    """Return the cofactor matrices through the SVD, which needs no division; NaN where there is no SVD."""
    usable = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(usable, a, 0))
    n = a.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
    result = lapack.determinant(u @ vh)[..., None, None] * ((u * others[..., None, :]) @ vh).conj()
    return np.where(usable, result, np.nan)


def _cofactor_type(a: Type) -> Any:
    check_square("linalg.det", a)
    check_dtype("linalg.det", a, kernel="lu_cpu")
    return a.dtype, a.shape


def _cofactor_tangent(g: Any, a: Any) -> Any:
    """Return the second derivative of the determinant applied to `g`, which is symmetric, and finite for all matrices."""
    n = a.shape[-1]
    if n == 0:
        return g
    singular = _is_singular(a)
    regular = where(singular, constants.eye(n, a.dtype), a)
    inverses, _ = inverse_ex(regular, check=None)
    cofactors = as_matrices(determinant(regular)) * transpose(inverses)
    change = inverses @ g
    tangent = as_matrices(trace(change)) * cofactors - cofactors @ transpose(change)
    return where(singular, _cofactor_tangent_of_singular(g, a, singular), tangent)


def _is_singular(a: Any) -> Any:
    """Whether the least singular value is no more than rounding error, as matrices of one element."""
    n = a.shape[-1]
    values = as_rows(svdvals(a))
    rounding = n * float(np.finfo(dtypes.array_type(a.dtype)).eps)
    return less_equal(last_columns(values, 1), first_columns(values, 1) * rounding)


def _cofactor_tangent_of_singular(g: Any, a: Any, singular: Any) -> Any:
    """Return the tangent of the matrix of cofactors in the basis of singular vectors: products of all but two values.

    Source: Higham, "What is the adjugate of a matrix?", https://nhigham.com/2020/06/16/what-is-the-adjugate-of-a-matrix/.
    """
    n = a.shape[-1]
    distinct = diagonal_matrices(cumsum(constants.ones((n,), a.dtype), axis=0))  # with which no singular value is met twice
    u, s, vh = svd(where(singular, a, distinct), full_matrices=False)
    change = adjoint(u) @ g @ adjoint(vh)
    identity = constants.eye(n, s.dtype)
    all_but_two = product_of_others(as_rows(s) * (1 - identity) + identity, a.ndim - 1) * (1 - identity)
    on_diagonal = all_but_two * as_rows(diagonals(change))
    inner = diagonal_matrices(reduce_sum(on_diagonal, axes=(a.ndim - 1,), keepdims=False)) - all_but_two * transpose(change)
    return as_matrices(determinant(u @ vh)) * (conjugate(u) @ inner @ conjugate(vh))


def _torch_cofactor(torch: Any, a: Any) -> Any:
    """Return the cofactors of 3 by 3 matrices."""
    torch.linalg.det(a)  # refuses what has no determinant
    first, second, third = a.unbind(-2)
    rows = torch.linalg.cross(second, third), torch.linalg.cross(third, first), torch.linalg.cross(first, second)
    return torch.stack(rows, -2)


cofactor = other(
    "cofactor",
    _cofactor,
    _cofactor_type,
    vjp=lambda g, a: conjugate(_cofactor_tangent(conjugate(g), a)),
    jvp=lambda g, a: _cofactor_tangent(g[0], a),
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3)),
        Sample(np.stack([np.diag([0.0, 2.0, 3.0]), np.eye(3)])),
        Sample(well_conditioned(2, 1, 3, 3)),
    ],
    torch=_torch_cofactor,
    grad_name="LinalgDetBackward0",
)


# The logarithm of a determinant


def _slogdet(a: Any) -> Any:
    """Return signs and logarithms; in PyTorch, the sign of a real NaN is 0."""
    sign, logarithm = np.linalg.slogdet(a)
    return sign if np.iscomplexobj(sign) else np.where(np.isnan(logarithm), np.zeros((), sign.dtype), sign), logarithm


def _slogdet_type(a: Type) -> Any:
    check_square("linalg.slogdet", a)
    check_dtype("linalg.slogdet", a)
    return (a.dtype, a.shape[:-2]), (a.dtype.to_real(), a.shape[:-2])


def _slogdet_vjp(g: Any, a: Any, r0: Any) -> Any:
    for_sign, for_logarithm = g
    if a.dtype.is_complex and for_sign is not None:
        for_logarithm = total(imag(conjugate(for_sign) * r0) * -1j, for_logarithm)
    return None if for_logarithm is None else as_matrices(for_logarithm) * adjoint(inverse_ex(a, check=None)[0])


def _slogdet_jvp(g: Any, a: Any, r0: Any) -> Any:
    change = trace(inverse_ex(a, check=None)[0] @ g[0])
    if not a.dtype.is_complex:
        return constants.zeros(r0.shape, a.dtype), change
    return r0 * (imag(change) * 1j), real_part(change)


def _torch_slogdet(torch: Any, a: Any) -> Any:
    sign, logarithm = torch.linalg.slogdet(a)
    return sign + 0 * logarithm, logarithm  # else a real sign's tangent is one of PyTorch's tensors without memory


slogdet = other(
    "slogdet",
    _slogdet,
    _slogdet_type,
    vjp=_slogdet_vjp,
    jvp=_slogdet_jvp,
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3)),
        Sample(-well_conditioned(2, 3, 3)),
        Sample(np.zeros((0, 0))),
    ],
    torch=_torch_slogdet,
    grad_name="LinalgSlogdetBackward0",
)
