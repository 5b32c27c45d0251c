"""Triangular factors: Cholesky, QR and LU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape import constants
from ..tape.types import Type
from . import batching, lapack
from .concatenation import concatenate
from .declare import Sample, other
from .linear_systems import triangular_solve
from .matrices import (
    adjoint,
    check_dtype,
    check_failures,
    check_kernel,
    check_matrices,
    check_square,
    first_columns,
    first_rows,
    hermitian_part,
    imaginary_diagonal,
    last_columns,
    last_rows,
    real_diagonal,
    torch_symmetric,
    total,
    transpose,
    well_conditioned,
)
from .movement import tril, triu


def _solve_lower(a: Any, b: Any, *, left: bool = True, unitriangular: bool = False) -> Any:
    return triangular_solve(a, b, upper=False, left=left, unitriangular=unitriangular)


def _solve_upper(a: Any, b: Any, *, left: bool = True, unitriangular: bool = False) -> Any:
    return triangular_solve(a, b, upper=True, left=left, unitriangular=unitriangular)


# Cholesky. One triangle of A is read; cotangents are symmetric all the same. For `check` see linear_systems.py.

_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is "
    "not positive-definite)."
)


def _cholesky(a: Any, upper: bool, check: str | None) -> Any:
    failures = np.zeros(a.shape[:-2], np.int32)
    try:
        factors = np.linalg.cholesky(a, upper=upper)
        if not np.isnan(factors).any():  # which not every LAPACK stops at
            return factors, failures
    except np.linalg.LinAlgError:
        pass
    failures = lapack.cholesky_failure(a, upper)
    check_failures(failures, check, _NOT_POSITIVE)
    failed = failures[..., None, None] != 0
    factors = np.linalg.cholesky(np.where(failed, np.eye(a.shape[-1], dtype=a.dtype), a), upper=upper)
    return np.where(failed, np.nan, factors).astype(a.dtype, copy=False), failures


def _cholesky_type(a: Type, upper: bool, check: str | None) -> Any:
    check_square("linalg.cholesky", a)
    check_dtype("linalg.cholesky", a, kernel="cholesky_cpu")
    return (a.dtype, a.shape), (dtypes.int32, a.shape[:-2])


def _cholesky_vjp(g: Any, r0: Any, upper: bool) -> Any:
    """Source: Murray, "Differentiation of the Cholesky decomposition" (2016), https://arxiv.org/abs/1602.07527."""
    factor, change = r0, g[0]
    if upper:
        factor, change = adjoint(factor), adjoint(change)
    inner = adjoint(factor) @ change
    strict = tril(inner, k=-1)
    inner = (strict + adjoint(strict) + real_diagonal(inner)) * 0.5
    return _solve_lower(factor, _solve_upper(adjoint(factor), inner), left=False)


def _cholesky_jvp(g: Any, r0: Any, upper: bool) -> Any:
    """Source: as of the VJP."""
    factor = adjoint(r0) if upper else r0
    inner = _solve_upper(adjoint(factor), _solve_lower(factor, hermitian_part(g[0])), left=False)
    change = factor @ (tril(inner, k=-1) + real_diagonal(inner) * 0.5)
    return adjoint(change) if upper else change, None


def _torch_cholesky(torch: Any, a: Any, upper: bool, check: str | None) -> Any:
    return torch.linalg.cholesky_ex(torch_symmetric(a), upper=upper)


def _positive_definite(*shape: int) -> Any:
    half = well_conditioned(*shape)
    return half @ half.swapaxes(-1, -2) + np.eye(shape[-1])


cholesky_ex = other(
    "cholesky_ex",
    _cholesky,
    _cholesky_type,
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    parameters=("upper", "check"),
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(_positive_definite(3, 3), upper=False, check=None),
        Sample(_positive_definite(2, 3, 3), upper=True, check="linalg.cholesky"),
        Sample(np.zeros((0, 0)), upper=False, check=None),
    ],
    torch=_torch_cholesky,
    grad_name="LinalgCholeskyExBackward0",
)


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Record the Cholesky factors of matrices."""
    return cholesky_ex(a, upper=upper, check="linalg.cholesky")[0]


# QR


def _qr_type(a: Type, mode: str) -> Any:
    check_matrices("linalg.qr", a)
    check_dtype("linalg.qr", a, kernel="geqrf_cpu")
    if mode not in ("reduced", "complete"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    *lead, m, n = a.shape
    count = m if mode == "complete" else min(m, n)
    return (a.dtype, (*lead, m, count)), (a.dtype, (*lead, count, n))


def _check_qr_is_differentiable(shape: Any, mode: str) -> None:
    if mode == "complete" and shape[-2] > shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")


def _qr_vjp(g: Any, r: Any, types: Any, mode: str) -> Any:
    """Source: Walter & Lehmann, "Algorithmic differentiation of linear algebra functions" (2012), and, for more columns than
    rows, Roberts & Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020), arXiv:2009.10071.
    """
    *_, m, n = types[0].shape
    _check_qr_is_differentiable(types[0].shape, mode)
    (dq, dr), (q, upper) = g, r
    inner = total(None if dr is None else dr @ adjoint(upper), None if dq is None else -(adjoint(q) @ dq))
    if m >= n:
        strict = triu(inner, k=1)
        result = q @ (strict + adjoint(strict) + real_diagonal(inner))
        return _solve_lower(adjoint(upper), total(result, dq), left=False)
    result = q @ _skew(adjoint(inner) - inner)
    result = _solve_lower(adjoint(first_columns(upper, m)), result, left=False)
    rest = constants.zeros((*result.shape[:-1], n - m), result.dtype)
    result = concatenate(result, rest, axis=result.ndim - 1)
    return total(result, None if dr is None else q @ dr)


def _skew(a: Any) -> Any:
    """Return the lower triangle of skew-Hermitian matrices, with half the diagonal."""
    strict = tril(a, k=-1)
    return strict + imaginary_diagonal(a) * 0.5 if a.dtype.is_complex else strict


def _qr_jvp(g: Any, r: Any, types: Any, mode: str) -> Any:
    """Source: as of the VJP."""
    *_, m, n = types[0].shape
    _check_qr_is_differentiable(types[0].shape, mode)
    da, (q, upper) = g[0], r
    if m >= n:
        scaled = _solve_upper(upper, da, left=False)
        inner = adjoint(q) @ scaled
        inner = triu(inner + adjoint(inner), k=1) + real_diagonal(inner)
        return scaled - q @ inner, inner @ upper
    change = adjoint(q) @ da
    inner = _solve_upper(first_columns(upper, m), first_columns(change, m), left=False)
    strict = tril(inner, k=-1)
    rotation = strict - adjoint(strict)
    if inner.dtype.is_complex:
        rotation = rotation + imaginary_diagonal(inner)
    return q @ rotation, change - rotation @ upper


qr = other(
    "qr",
    lambda a, mode: tuple(np.linalg.qr(a, mode)),
    _qr_type,
    vjp=_qr_vjp,
    jvp=_qr_jvp,
    parameters=("mode",),
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3), mode="reduced"),
        Sample(well_conditioned(2, 4, 4)[..., :2], mode="reduced"),
        Sample(well_conditioned(3, 3), mode="complete"),
        Sample(well_conditioned(2, 4, 4)[:, :3], mode="reduced"),
    ],
    torch=lambda torch, a, mode: torch.linalg.qr(a, mode=mode),
    grad_name="LinalgQrBackward0",
)


# LU: L (without its diagonal, which is 1) and U share a matrix


def _lu_factor(a: Any, check: str | None) -> Any:
    compact, pivots, failures = lapack.lu_factor(a)
    if check is not None and np.any(failures):
        place = int(np.flatnonzero(failures)[0])
        at = np.ravel(failures)[place]
        element = f"(Batch element {place}): " if failures.ndim else ""
        raise RuntimeError(
            f"{check}: {element}U[{at},{at}] is zero and using it on lu_solve would result in a division by zero. If you still "
            "want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return compact, pivots, failures


def _lu_factor_type(a: Type, check: str | None) -> Any:
    if a.ndim < 2:
        raise RuntimeError(f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead")
    check_kernel("lu_cpu", a)
    pivots = (*a.shape[:-2], min(a.shape[-2:]))
    return (a.dtype, a.shape), (dtypes.int32, pivots), (dtypes.int32, a.shape[:-2])


def _lu_vjp(g: Any, r0: Any, r1: Any) -> Any:
    """Differentiate ``P^T A = L U``: ``L^-1 dL`` and ``dU U^-1`` are the triangles of ``L^-1 P^T dA U^-1``.

    Source: as for QR (Walter & Lehmann). Where A is wide or tall, its square part decides what the rest becomes.
    """
    compact, pivots = r0, r1
    *_, m, n = compact.shape
    count = min(m, n)
    square = first_rows(first_columns(compact, count), count)
    change = first_rows(first_columns(g[0], count), count)
    lower, upper = _lower(square), triu(square, k=0)
    from_lower, from_upper = adjoint(lower) @ tril(change, k=-1), triu(change, k=0) @ adjoint(upper)
    right = below = None
    if n > m:
        rest, g_rest = last_columns(compact, n - m), last_columns(g[0], n - m)
        from_lower = from_lower - g_rest @ adjoint(rest)
        right = _solve_upper(adjoint(square), g_rest, unitriangular=True)
    if m > n:
        rest, g_rest = last_rows(compact, m - n), last_rows(g[0], m - n)
        from_upper = from_upper - adjoint(rest) @ g_rest
        below = _solve_lower(adjoint(square), g_rest, left=False)
    inner = tril(from_lower, k=-1) + triu(from_upper, k=0)
    result = _solve_upper(adjoint(square), inner, unitriangular=True)
    result = _solve_lower(adjoint(square), result, left=False)
    return permutation_matrix(pivots, m=m, dtype=compact.dtype) @ _with_rest(result, right, below)


def _lower(square: Any) -> Any:
    return tril(square, k=-1) + constants.eye(square.shape[-1], square.dtype)


def _with_rest(square: Any, right: Any, below: Any) -> Any:
    """Append the part that a wide or tall matrix has besides its square part."""
    if right is not None:
        return concatenate(square, right, axis=square.ndim - 1)
    return square if below is None else concatenate(square, below, axis=square.ndim - 2)


def _lu_jvp(g: Any, r0: Any, r1: Any) -> Any:
    """Source: as of the VJP."""
    compact, pivots = r0, r1
    *_, m, n = compact.shape
    count = min(m, n)
    square = first_rows(first_columns(compact, count), count)
    change = transpose(permutation_matrix(pivots, m=m, dtype=compact.dtype)) @ g[0]
    inner = _solve_lower(square, first_rows(first_columns(change, count), count), unitriangular=True)
    inner = _solve_upper(square, inner, left=False)
    of_lower, of_upper = tril(inner, k=-1), triu(inner, k=0)
    tangent = _lower(square) @ of_lower + of_upper @ triu(square, k=0)
    right = below = None
    if n > m:
        scaled = _solve_lower(square, last_columns(change, n - m), unitriangular=True)
        right = scaled - of_lower @ last_columns(compact, n - m)
    if m > n:
        scaled = _solve_upper(square, last_rows(change, m - n), left=False)
        below = scaled - last_rows(compact, m - n) @ of_upper
    return _with_rest(tangent, right, below), None, None


lu_factor_ex = other(
    "lu_factor_ex",
    _lu_factor,
    _lu_factor_type,
    vjp=_lu_vjp,
    jvp=_lu_jvp,
    parameters=("check",),
    results=3,
    batch=batching.leading,
    samples=lambda: [
        Sample(well_conditioned(3, 3)[::-1], check=None),
        Sample(well_conditioned(2, 4, 4)[..., :2], check="torch.linalg.lu_factor"),
        Sample(well_conditioned(2, 4, 4)[:, 1:], check=None),
        Sample(well_conditioned(40, 3, 3)[:, ::-1], check=None),
    ],
    torch=lambda torch, a, check: torch.linalg.lu_factor_ex(a),
    grad_name="LinalgLuFactorExBackward0",
)


def lu_factor(a: Any) -> Any:
    """Record L and U in one matrix, and the pivots."""
    return lu_factor_ex(a, check="torch.linalg.lu_factor")[:2]


def _permutation_matrix(pivots: Any, m: int, dtype: dtypes.dtype) -> Any:
    order = lapack.permutation(pivots, m)
    return (order[..., None, :] == np.arange(m)[:, None]).astype(dtypes.array_type(dtype))


permutation_matrix = other(
    "permutation_matrix",
    _permutation_matrix,
    lambda a, m, dtype: (dtype, (*a.shape[:-1], m, m)),
    vjp=None,
    jvp=None,
    parameters=("m", "dtype"),
    batch=batching.leading,
    samples=lambda: [
        Sample(np.array([3, 2, 3], np.int32), m=3, dtype=dtypes.float64),
        Sample(np.array([[2, 2], [4, 3]], np.int32), m=4, dtype=dtypes.float32),
    ],
    torch=lambda torch, a, m, dtype: torch.lu_unpack(
        torch.zeros(*a.shape[:-1], m, a.shape[-1], dtype=getattr(torch, dtype.name)), a, unpack_data=False
    )[0],
)
