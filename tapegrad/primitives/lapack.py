"""What numpy.linalg lacks, on stacks of matrices: triangular factors and solutions with PyTorch's diagnostics.

Large matrices go to LAPACK one by one; stacks of many small ones are worked on together, column by column. SciPy is
imported when it is first needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SMALL = 8  # up to here, a stack of at least so many matrices an order is faster done together

# Padé coefficients of exp, and the norm up to which they are exact in float64.
# Source: Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. 26 (2005).
_PADE = (
    np.array(
        [
            64764752532480000.0,
            32382376266240000.0,
            7771770303897600.0,
            1187353796428800.0,
            129060195264000.0,
            10559470521600.0,
            670442572800.0,
            33522128640.0,
            1323241920.0,
            40840800.0,
            960960.0,
            16380.0,
            182.0,
            1.0,
        ]
    )
    / 64764752532480000.0
)  # so that the exponential of zero is exact
_PADE_NORM = 5.371920351148152

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}  # NumPy's for the dtypes, and LAPACK's


def _routine(name: str, a: Any) -> Any:
    """Return the BLAS or LAPACK routine of that name for the array's dtype."""
    from scipy.linalg import blas, lapack

    full_name = _LETTERS[a.dtype.char] + name
    return getattr(blas if name == "trsm" else lapack, full_name)


def adjoint(a: Any) -> Any:
    """Return the conjugate transposes."""
    transposed = a.swapaxes(-1, -2)
    return transposed.conj() if np.iscomplexobj(a) else transposed


def lu_factor(a: Any) -> tuple[Any, Any, Any]:
    """Return L and U in one matrix, the row that each row was swapped with (from 1), and the first zero pivot (or 0)."""
    *lead, m, n = a.shape
    stack = a.reshape(math.prod(lead), m, n)
    factor = _eliminate if _is_many_and_small(stack) else _factor_each
    compact, pivots = factor(stack)
    zeros = np.diagonal(compact, 0, -2, -1) == 0
    return compact.reshape(a.shape), pivots.reshape(*lead, min(m, n)), _first_true(zeros).reshape(lead)


def _is_many_and_small(stack: Any) -> bool:
    count, *lengths = stack.shape
    return bool(max(lengths) <= SMALL and count >= SMALL * max(lengths))


def _first_true(flags: Any) -> Any:
    """Return the place of the first true flag of each row, from 1; 0 where there is none."""
    if flags.shape[-1] == 0:
        return np.zeros(flags.shape[:-1], np.int32)
    return np.where(flags.any(-1), flags.argmax(-1) + 1, 0).astype(np.int32)


def _factor_each(stack: Any) -> tuple[Any, Any]:
    compact = np.empty(stack.shape, stack.dtype)
    pivots = np.empty((len(stack), min(stack.shape[1:])), np.int32)
    if pivots.size == 0:
        return stack.copy(), pivots
    getrf = _routine("getrf", stack)
    for index, matrix in enumerate(stack):
        compact[index], pivots[index], _ = getrf(matrix)
    return compact, pivots + 1


def _eliminate(stack: Any) -> tuple[Any, Any]:
    """Gaussian elimination with partial pivoting, on all matrices at once."""
    stack = stack.copy()
    count, m, n = stack.shape
    pivots = np.empty((count, min(m, n)), np.int32)
    each = np.arange(count)
    for column in range(min(m, n)):
        below = stack[:, column:, column]
        pivot = column + (np.abs(below.real) + np.abs(below.imag)).argmax(axis=1)  # LAPACK's measure of a complex number
        pivots[:, column] = pivot + 1
        row = stack[each, pivot]
        stack[each, pivot] = stack[:, column]
        stack[:, column] = row
        divisor = row[:, column, None]
        multipliers = stack[:, column + 1 :, column] / np.where(divisor == 0, 1, divisor)
        stack[:, column + 1 :, column] = multipliers
        stack[:, column + 1 :, column + 1 :] -= multipliers[:, :, None] * row[:, None, column + 1 :]
    return stack, pivots


def permutation(pivots: Any, m: int) -> Any:
    """Return where row i of ``P^T A`` comes from, for the swaps that `lu_factor` returned."""
    order = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)).copy()
    for row in range(pivots.shape[-1]):
        other = pivots[..., row, None] - 1
        swapped = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., row, None], -1)
        order[..., row, None] = swapped
    return order


def determinant(a: Any) -> Any:
    """Return the determinants: products of pivots, more exact than numpy.linalg's sums of logarithms, in double precision."""
    compact, pivots, _ = lu_factor(a.astype(_double(a), copy=False))
    swaps = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
    return (np.diagonal(compact, 0, -2, -1).prod(-1) * (1 - 2 * (swaps % 2))).astype(a.dtype)


def _double(a: Any) -> Any:
    return np.complex128 if np.iscomplexobj(a) else np.float64


def cholesky_failure(a: Any, upper: bool) -> Any:
    """Return, for each matrix, the order of the first leading minor that is not positive-definite, or 0."""
    potrf = _routine("potrf", a)
    failures = np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(failures.shape):
        factor, failures[index] = potrf(a[index], lower=not upper)
        if failures[index] == 0:
            failures[index] = _first_true(np.isnan(np.diagonal(factor)))  # not every LAPACK stops at NaN
    return failures


def triangular_solve(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    """Return X with ``A X = B``; only that triangle of A is read, without the diagonal if it is unitriangular."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    count = math.prod(lead)
    if count * n * columns == 0:
        return np.zeros((*lead, n, columns), b.dtype)
    a = np.broadcast_to(a, (*lead, n, n)).reshape(count, n, n)
    b = np.broadcast_to(b, (*lead, n, columns)).reshape(count, n, columns)
    solve = _substitute if _is_many_and_small(a) else _solve_each
    return solve(a, b, upper, unitriangular).reshape(*lead, n, columns)


def _solve_each(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    """Solve one by one with BLAS, as ``X^T A^T = B^T``: a transposed matrix has the layout that BLAS wants."""
    trsm = _routine("trsm", a)
    result = np.empty(b.shape, b.dtype)
    for index in range(len(a)):
        result[index] = trsm(1.0, a[index].T, b[index].T, side=1, lower=upper, diag=unitriangular).T
    return result


def _substitute(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    """Solve all at once, row after row."""
    n = a.shape[-1]
    result = np.zeros(b.shape, b.dtype)
    for row in reversed(range(n)) if upper else range(n):
        solved = slice(row + 1, n) if upper else slice(0, row)
        rest = b[:, row] - np.matmul(a[:, row, None, solved], result[:, solved])[:, 0]
        result[:, row] = rest if unitriangular else rest / a[:, row, row, None]
    return result


def matrix_exponential(a: Any) -> Any:
    """Return the matrix exponentials, by scaling and squaring, in double precision."""
    result = _exponential(a.astype(_double(a))) if a.size else a
    return result.astype(a.dtype, copy=False)


def _exponential(a: Any) -> Any:
    norms = np.abs(a).sum(-2).max(-1)
    halvings = np.ceil(np.log2(np.where(np.isfinite(norms), norms, 0) / _PADE_NORM)).clip(0)[..., None, None]
    a = a * 0.5**halvings
    odd, even = _pade_terms(a)
    result = np.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max())):
        result = np.where(step < halvings, result @ result, result)
    return result


def _pade_terms(a: Any) -> tuple[Any, Any]:
    """Return the odd and the even part of the numerator of exp's Padé approximant; the denominator is even - odd."""
    b = _PADE
    identity = np.eye(a.shape[-1])
    square = a @ a
    fourth = square @ square
    sixth = fourth @ square
    odd = sixth @ (b[13] * sixth + b[11] * fourth + b[9] * square)
    even = sixth @ (b[12] * sixth + b[10] * fourth + b[8] * square)
    odd = a @ (odd + b[7] * sixth + b[5] * fourth + b[3] * square + b[1] * identity)
    return odd, even + b[6] * sixth + b[4] * fourth + b[2] * square + b[0] * identity
