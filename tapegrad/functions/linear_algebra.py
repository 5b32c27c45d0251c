"""Linear algebra under PyTorch's older names, outside ``torch.linalg``: functions and methods."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import linalg as rows
from ..primitives.matrices import adjoint, check_square
from ..primitives.selection import where
from ..primitives.transcendental import log
from ..return_types import return_type
from ..tape import constants
from ..tape.record import here, mark_composed
from . import factors, matrix_functions, norms, reductions, systems
from .arguments import checked
from .arranging import flip
from .declare import accepts_out, require_tensor, write_out
from .matrices import diagonal

_slogdet = return_type("slogdet", ("sign", "logabsdet"))
_svd = return_type("svd", ("U", "S", "V"))
_qr = return_type("qr", ("Q", "R"))
_lu_unpack = return_type("lu_unpack", ("P", "L", "U"))
_triangular_solve = return_type("triangular_solve", ("solution", "cloned_coefficient"))


def _shown(name: str, result: Any, start: Any) -> Any:
    """Return a result made since `start`, shown as one operation."""
    if result.requires_grad:
        mark_composed(name, result, start)
    return result


# Determinants and inverses


def det(input: Any) -> Any:
    """Return the determinants of square matrices."""
    return rows.determinant(require_tensor("det", input))


def slogdet(input: Any, *, out: Any = None) -> Any:
    """Return the signs (if complex, phases) of the determinants, and the logarithms of their absolute values."""
    return factors.write_all(_slogdet, rows.slogdet(require_tensor("slogdet", input)), out, input)


def logdet(input: Any) -> Any:
    """Return the logarithms of the determinants: NaN for a negative one, minus infinity for 0.

    >>> import tapegrad
    >>> tapegrad.logdet(tapegrad.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor(0.)
    """
    sign, logarithm = rows.slogdet(require_tensor("logdet", input))
    return logarithm + log(sign) if input.dtype.is_complex else where(sign == -1, math.nan, logarithm)


def inverse(input: Any, *, out: Any = None) -> Any:
    """Return the inverses of square matrices; raises LinAlgError for a singular one."""
    return systems.inv(require_tensor("inverse", input), out=out)


def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """Return the pseudo-inverses of matrices."""
    return systems.pinv(require_tensor("pinverse", input), rcond)


# Factorisations


def cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Any:
    """Return the Cholesky factors of positive-definite matrices."""
    result, _ = rows.cholesky_ex(require_tensor("cholesky", input), upper=upper, check="cholesky")
    return result if out is None else write_out("cholesky", out, result, input)


def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:  # noqa: N803 - PyTorch's names
    """Return X with ``L L^H X = B`` (``L^H L X = B`` if `upper`)."""
    require_tensor("cholesky_solve", B, "B")
    require_tensor("cholesky_solve", L, "L", 2)
    for name, matrix in (("b", B), ("u", L)):
        if matrix.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {matrix.ndim} dimensions instead")
    if L.shape[-1] != L.shape[-2] or L.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-2]} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    start = here()
    lower = adjoint(L) if upper else L
    half = rows.triangular_solve(lower, B, upper=False, left=True, unitriangular=False)
    result = rows.triangular_solve(adjoint(lower), half, upper=True, left=True, unitriangular=False)
    result = _shown("CholeskySolveBackward0", result, start)
    return result if out is None else write_out("cholesky_solve", out, result, B, L)


def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:  # noqa: N803
    """Return the inverse of ``L L^H`` (of ``L^H L`` if `upper`)."""
    check_square("cholesky_inverse", require_tensor("cholesky_inverse", L, "L"))
    start = here()
    lower = adjoint(L) if upper else L
    identity = constants.eye(L.shape[-1], L.dtype)
    half = rows.triangular_solve(lower, identity, upper=False, left=True, unitriangular=False)
    result = _shown("CholeskyInverseBackward0", adjoint(half) @ half, start)
    return result if out is None else write_out("cholesky_inverse", out, result, L)


def qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """Return Q and R with ``input = Q R``, complete unless `some`."""
    results = rows.qr(require_tensor("qr", input), mode="reduced" if some else "complete")
    return factors.write_all(_qr, results, out, input)


def svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """Return U, S and V (not its adjoint) with ``input = U diag(S) V^H``; without `compute_uv`, zeros for U and V."""
    u, s, vh = rows.svd(require_tensor("svd", input), full_matrices=not some and compute_uv)
    if not compute_uv:
        *lead, m, n = input.shape
        u, vh = constants.zeros((*lead, m, m), input.dtype), constants.zeros((*lead, n, n), input.dtype)
    return factors.write_all(_svd, (u, s, adjoint(vh)), out, input)


@accepts_out
def lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: N803
    """Return L and U in one matrix, the pivots and, if asked, where a zero on the diagonal of U was met."""
    return tuple(factors.lu_factor_ex(A, pivot=pivot)) if get_infos else tuple(factors.lu_factor(A, pivot=pivot))


def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return X with ``A X = input``, for the A that ``linalg.lu_factor`` factored."""
    return systems.lu_solve(LU_data, LU_pivots, input, out=out)


@accepts_out
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:  # noqa: N803
    """Return the permutation P, L and U for what ``linalg.lu_factor`` returned; empty tensors for those not asked for."""
    start = here()
    permutation, lower, upper = factors.unpacked(LU_data, LU_pivots, "LuUnpackBackward0", start)
    empty = constants.zeros((0,), LU_data.dtype)
    return _lu_unpack((permutation if unpack_pivots else empty, lower if unpack_data else empty, upper if unpack_data else empty))


def orgqr(input: Any, input2: Any, *, out: Any = None) -> Any:
    """Return the first columns of a product of Householder reflections."""
    return matrix_functions.householder_product(input, input2, out=out)


# Solutions and products


@accepts_out
def triangular_solve(
    b: Any,
    A: Any,  # noqa: N803
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """Return X with ``A X = b`` for triangular A (``A^T X = b`` with `transpose`), and A."""
    coefficient = A.mT if transpose else A
    solution = systems.solve_triangular(coefficient, b, upper=upper != transpose, unitriangular=unitriangular)
    return _triangular_solve((solution, A))


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of matrices, multiplied in the order that takes the fewest operations."""
    if len(matrices) == 1:
        return matrix_functions.matrix_power(matrices[0], 1)
    return matrix_functions.multi_dot(matrices, out=out)


def trace(input: Any) -> Any:
    """Return the sum of the diagonal of a matrix.

    >>> import tapegrad
    >>> tapegrad.trace(tapegrad.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if require_tensor("trace", input).ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    start = here()
    return _shown("TraceBackward0", reductions.sum(diagonal(input)), start)


@checked
def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """Return the cross products of vectors of three elements along `dim`: by default the first of that length."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release.",
            UserWarning,
            stacklevel=2,
        )
        lengths = tuple(require_tensor("cross", input).shape)
        if 3 not in lengths:
            raise RuntimeError("no dimension of size 3 in input")
        dim = lengths.index(3)
    return matrix_functions.cross(input, other, dim=dim, out=out)


@checked
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """Return the matrix whose rows are the powers of an element of the vector `x`, by default from the highest to 0."""
    if require_tensor("vander", x, "x").ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count <= 1:
        dtype = x.dtype if x.dtype.category >= dtypes.FLOAT else dtypes.int64
        return constants.ones((x.shape[0], count), dtype)
    result = matrix_functions.vander(x, N=count)
    return result if increasing else flip(result, (1,))


# Norms


@checked
def norm(
    input: Any,
    p: Any = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
) -> Any:
    """Return the norm of order `p` of all elements, or over `dim`; 'nuc' is the nuclear norm of matrices.

    >>> import tapegrad
    >>> tapegrad.norm(tapegrad.tensor([[3.0, 0.0], [0.0, -4.0]])), tapegrad.norm(tapegrad.tensor([3.0, -4.0]), p=1)
    (tensor(5.), tensor(7.))
    """
    require_tensor("norm", input)
    if isinstance(p, str) and p != "fro":
        axes = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        return norms.matrix_norm(input, p, tuple(axes), keepdim, dtype=dtype, out=out)
    order = 2 if p is None or p == "fro" else p
    return norms.vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """Return the norm of order `p` of the difference.

    >>> import tapegrad
    >>> tapegrad.dist(tapegrad.tensor([3.0, 0.0]), tapegrad.tensor([0.0, 4.0]))
    tensor(5.)
    """
    start = here()
    return _shown("DistBackward0", norms.vector_norm(require_tensor("dist", input) - other, p), start)


matrix_exp = matrix_functions.matrix_exp
matrix_power = matrix_functions.matrix_power

__all__ = [
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cross",
    "det",
    "dist",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "norm",
    "orgqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "trace",
    "triangular_solve",
    "vander",
]

_FUNCTIONS_ONLY = ("chain_matmul", "lu_unpack", "vander")
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in _FUNCTIONS_ONLY}
