"""Determinants, inverses, and solutions of linear systems, as ``torch.linalg`` has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import linalg as rows
from ..primitives.matrices import (
    adjoint,
    as_columns,
    as_matrices,
    check_matrices,
    check_square,
    conjugate,
    real_part,
    transpose,
)
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_all, reduce_sum
from ..primitives.type_rules import normalise_axis
from ..return_types import return_type
from ..tape import constants
from ..tape.record import here, mark_composed
from .arguments import checked
from .declare import accepts_out, require_tensor, write_out
from .factors import write_all
from .norms import matrix_rank, tolerances

_slogdet = return_type("linalg_slogdet", ("sign", "logabsdet"))
_inv_ex = return_type("linalg_inv_ex", ("inverse", "info"))
_solve_ex = return_type("linalg_solve_ex", ("result", "info"))
_lstsq = return_type("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


def det(A: Any, *, out: Any = None) -> Any:  # noqa: N803 - PyTorch's name
    """Return the determinants of square matrices.

    >>> import tapegrad
    >>> tapegrad.linalg.det(tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    result = rows.determinant(require_tensor("linalg_det", A, "A"))
    return result if out is None else write_out("linalg_det", out, result, A)


def slogdet(A: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return the signs (if complex, phases) of the determinants, and the logarithms of their absolute values."""
    return write_all(_slogdet, rows.slogdet(require_tensor("linalg_slogdet", A, "A")), out, A)


def inv(A: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return the inverses of square matrices; raises LinAlgError for a singular one.

    >>> import tapegrad
    >>> tapegrad.linalg.inv(tapegrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    result = rows.inverse(require_tensor("linalg_inv", A, "A"))
    return result if out is None else write_out("linalg_inv", out, result, A)


def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> Any:  # noqa: N803
    """Return what `inv` does, with an integer in place of an error: where a zero on the diagonal was met, or 0."""
    check = "linalg.inv_ex" if check_errors else None
    return write_all(_inv_ex, rows.inverse_ex(require_tensor("linalg_inv_ex", A, "A"), check=check), out, A)


# Linear systems


def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:  # noqa: N803
    """Return X with ``A X = B`` (or ``X A = B`` if not `left`); B may be a vector, or a batch of them.

    Raises LinAlgError for a singular matrix.

    >>> import tapegrad
    >>> tapegrad.linalg.solve(tapegrad.tensor([[2.0, 0.0], [0.0, 4.0]]), tapegrad.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    result, _ = _solve("linalg_solve", A, B, left, "torch.linalg.solve")
    return result if out is None else write_out("linalg_solve", out, result, A, B)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:  # noqa: N803
    """Return what `solve` does, with an integer in place of an error: where a zero on the diagonal was met, or 0."""
    results = _solve("linalg_solve_ex", A, B, left, "torch.linalg.solve_ex" if check_errors else None)
    return write_all(_solve_ex, results, out, A, B)


def _solve(name: str, a: Any, b: Any, left: bool, check: str | None) -> tuple[Any, Any]:
    require_tensor(name, a, "A")
    require_tensor(name, b, "B", 2)
    start = here()
    is_vector = _is_vector(a, b)
    matrix = as_columns(b) if is_vector else b
    if not left and a.ndim >= 2 and matrix.ndim >= 2:
        _check_right("linalg.solve", a, matrix)
        a, matrix = transpose(a), transpose(matrix)
    result, info = rows.solve_ex(a, matrix, check=check)
    if not left:
        result = transpose(result)
    if is_vector:
        result = reshape(result, shape=tuple(result.shape[:-1]))
    if result.requires_grad and (is_vector or not left):
        mark_composed("LinalgSolveExBackward0", result, start)
    return result, info


def _is_vector(a: Any, b: Any) -> bool:
    """Whether the right-hand side is a vector, or a batch of vectors that fits that of matrices."""
    return bool(b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1])))


def _check_right(name: str, a: Any, b: Any) -> None:
    """Raise for shapes that do not fit ``X A = B``."""
    check_square(name, a)
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation XA = B "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


def solve_triangular(
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Any:
    """Return X with ``A X = B`` (or ``X A = B``) for triangular A, of which only that triangle is read.

    `unitriangular` says that its diagonal is one and is not read. A zero on the diagonal gives infinity or NaN.
    """
    require_tensor("linalg_solve_triangular", A, "A")
    require_tensor("linalg_solve_triangular", B, "B", 2)
    result = rows.triangular_solve(A, B, upper=upper, left=left, unitriangular=unitriangular)
    return result if out is None else write_out("linalg_solve_triangular", out, result, A, B)


def lu_solve(
    LU: Any,  # noqa: N803
    pivots: Any,
    B: Any,  # noqa: N803
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Any = None,
) -> Any:
    """Return X with ``A X = B`` (or ``X A = B``) for the A that `lu_factor` factored, or for its adjoint."""
    _check_lu(LU, pivots, B, left)
    start = here()
    result = _lu_solve(LU, pivots, B, adjoint) if left else _adjoint(_lu_solve(LU, pivots, _adjoint(B), not adjoint))
    if result.requires_grad:
        mark_composed("LinalgLuSolveBackward0", result, start)
    return result if out is None else write_out("linalg_lu_solve", out, result, LU, B)


_adjoint = adjoint


def _check_lu(compact: Any, pivots: Any, b: Any, left: bool) -> None:
    check_square("linalg.lu_solve", compact)
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if pivots.shape[-1] != compact.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if compact.dtype is not b.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {compact.dtype.title} and B of "
            f"type {b.dtype.title} instead"
        )
    check_matrices("linalg.lu_solve", b, "B")
    if compact.shape[-1] != b.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({compact.shape[-2]}x{compact.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


def _lu_solve(compact: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    """Solve with ``A = P L U``, or its adjoint, from the left."""
    permutation = rows.permutation_matrix(pivots, m=compact.shape[-1], dtype=compact.dtype)
    if adjoint:
        above = rows.triangular_solve(_adjoint(compact), b, upper=False, left=True, unitriangular=False)
        return permutation @ rows.triangular_solve(_adjoint(compact), above, upper=True, left=True, unitriangular=True)
    below = rows.triangular_solve(compact, transpose(permutation) @ b, upper=False, left=True, unitriangular=True)
    return rows.triangular_solve(compact, below, upper=True, left=True, unitriangular=False)


# Least squares


def pinv(
    A: Any,  # noqa: N803
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Any:
    """Return the pseudo-inverses of matrices; singular values up to max(`atol`, `rtol` times the largest) count as 0.

    >>> import tapegrad
    >>> tapegrad.linalg.pinv(tapegrad.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    require_tensor("linalg_pinv", A, "A")
    if A.ndim < 2 or A.dtype.category < dtypes.FLOAT:
        return rows.pinv(A, 0.0, 0.0, hermitian=hermitian)  # raises
    atol, rtol = tolerances(A, atol, rcond if rtol is None else rtol)
    atol, rtol = (as_matrices(each) if hasattr(each, "ndim") else each for each in (atol, rtol))
    result = rows.pinv(A, atol, rtol, hermitian=hermitian)
    return result if out is None else write_out("linalg_pinv", out, result, A)


@accepts_out
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """Return the X of least norm that minimise the norms of ``A X - B``; B may be a vector, or a batch of them.

    `driver` is one of LAPACK's, for the other parts of the result: residuals (all but 'gelsy', where A has full rank and more
    rows than columns), rank (all but 'gels'), singular_values ('gelsd' and 'gelss').

    >>> import tapegrad
    >>> tapegrad.linalg.lstsq(tapegrad.tensor([[2.0], [0.0]]), tapegrad.tensor([[4.0], [1.0]])).solution
    tensor([[2.]])
    """
    driver = "gelsy" if driver is None else driver
    _check_least_squares(A, B, driver)
    start = here()
    is_vector = _is_vector(A, B)
    b = as_columns(B) if is_vector else B
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    solution = pinv(A, rtol=rcond) @ b
    empty = constants.zeros((0,), A.dtype.to_real())
    rank = constants.zeros((0,), dtypes.int64) if driver == "gels" else matrix_rank(A, rtol=rcond)
    values = rows.svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty
    residuals = _residuals(A, b, solution, rank) if driver != "gelsy" else empty
    if not residuals.requires_grad and solution.requires_grad:
        residuals = residuals * real_part(reduce_sum(solution, axes=tuple(range(solution.ndim)), keepdims=False))  # still empty
    if is_vector:
        solution = reshape(solution, shape=tuple(solution.shape[:-1]))
    if solution.requires_grad:
        mark_composed("LinalgLstsqBackward0", solution, start)
    return _lstsq((solution, residuals, rank, values))


def _check_least_squares(a: Any, b: Any, driver: str) -> None:
    require_tensor("linalg_lstsq", a, "A")
    require_tensor("linalg_lstsq", b, "B", 2)
    if a.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{a.dtype.title} and other's dtype {b.dtype.title}"
        )
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    tolerances(a, None, None)  # raises for integers


def _residuals(a: Any, b: Any, solution: Any, rank: Any) -> Any:
    """Return the squares of the distances that are left, where there are any and A has full rank."""
    m, n = a.shape[-2:]
    if m <= n or (rank.ndim + 1 == a.ndim - 1 and not bool(reduce_all(rank == n, axes=tuple(range(rank.ndim)), keepdims=False))):
        return constants.zeros((0,), a.dtype.to_real())
    distance = a @ solution - b
    squares = real_part(distance * conjugate(distance))
    return reduce_sum(squares, axes=(squares.ndim - 2,), keepdims=False)


# Tensors as matrices


@checked
def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Any:  # noqa: N803
    """Return the inverse of a tensor as a map from its dimensions after the first `ind` to those."""
    require_tensor("linalg_tensorinv", A, "A")
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    before, after = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size = math.prod(before)
    if size != math.prod(after):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(after)} != {size}"
        )
    inverse, _ = rows.inverse_ex(reshape(A, shape=(size, size)), check="inv")
    result = reshape(inverse, shape=(*after, *before))
    return result if out is None else write_out("linalg_tensorinv", out, result, A)


def tensorsolve(A: Any, B: Any, dims: Sequence[int] | None = None, *, out: Any = None) -> Any:  # noqa: N803
    """Return X with ``tensordot(A, X, X.ndim) = B``; the dimensions `dims` of A are moved to the end first."""
    require_tensor("linalg_tensorsolve", A, "A")
    require_tensor("linalg_tensorsolve", B, "B", 2)
    a = A
    if dims is not None:
        moved = [normalise_axis(axis, A.ndim) for axis in dims]
        a = permute(A, axes=(*[axis for axis in range(A.ndim) if axis not in moved], *moved))
    shape = tuple(a.shape[B.ndim :])
    size = math.prod(shape)
    matrix = reshape(a, shape=(math.prod(B.shape), size))
    solution = rows.solve(matrix, reshape(B, shape=(math.prod(B.shape), 1)))
    result = reshape(solution, shape=shape)
    return result if out is None else write_out("linalg_tensorsolve", out, result, A, B)
