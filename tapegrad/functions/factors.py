"""Factorisations of matrices, as ``torch.linalg`` has them."""

from __future__ import annotations

from typing import Any

from ..primitives import linalg as rows
from ..primitives.matrices import first_columns, first_rows
from ..primitives.movement import tril, triu
from ..return_types import return_type
from ..tape import constants
from ..tape.record import here, mark_composed
from .declare import require_tensor, write_out
from .norms import svdvals_of

_cholesky_ex = return_type("linalg_cholesky_ex", ("L", "info"))
_qr = return_type("linalg_qr", ("Q", "R"))
_svd = return_type("linalg_svd", ("U", "S", "Vh"))
_eigh = return_type("linalg_eigh", ("eigenvalues", "eigenvectors"))
_eig = return_type("linalg_eig", ("eigenvalues", "eigenvectors"))
_lu = return_type("linalg_lu", ("P", "L", "U"))
_lu_factor = return_type("linalg_lu_factor", ("LU", "pivots"))
_lu_factor_ex = return_type("linalg_lu_factor_ex", ("LU", "pivots", "info"))


def write_all(fields: Any, results: Any, out: Any, *arguments: Any) -> Any:
    """Return several results under their names, written to the tensors `out` where given."""
    if out is None:
        return fields(results)
    return fields([write_out(fields.name, target, result, *arguments) for target, result in zip(out, results, strict=True)])


def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:  # noqa: N803 - PyTorch's name
    """Return the lower (or upper) triangular L with ``A = L L^H``, of positive-definite matrices.

    Raises LinAlgError for a matrix that is not positive-definite.

    >>> import tapegrad
    >>> tapegrad.linalg.cholesky(tapegrad.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    result = rows.cholesky(require_tensor("linalg_cholesky", A, "A"), upper=upper)
    return result if out is None else write_out("linalg_cholesky", out, result, A)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:  # noqa: N803
    """Return what `cholesky` does, with an integer in place of an error: which leading minor is not positive-definite."""
    check = "linalg.cholesky_ex" if check_errors else None
    results = rows.cholesky_ex(require_tensor("linalg_cholesky_ex", A, "A"), upper=upper, check=check)
    return write_all(_cholesky_ex, results, out, A)


def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:  # noqa: N803
    """Return orthogonal Q and upper triangular R with ``A = Q R``; `mode` is 'reduced', 'complete' or, without Q, 'r'.

    >>> import tapegrad
    >>> tapegrad.linalg.qr(tapegrad.tensor([[3.0, 1.0], [4.0, 3.0]])).R
    tensor([[-5., -3.],
            [ 0.,  1.]])
    """
    q, r = rows.qr(require_tensor("linalg_qr", A, "A"), mode="reduced" if mode == "r" else mode)
    if mode == "r":
        q = constants.zeros((0,), A.dtype)
    return write_all(_qr, (q, r), out, A)


def _check_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:  # noqa: N803
    """Return U, the singular values S in descending order, and V^H with ``A = U diag(S) V^H``.

    Gradients hold for functions that do not depend on the signs (if complex, phases) of the vectors, and are infinite or NaN
    through the vectors of a repeated singular value.

    >>> import tapegrad
    >>> tapegrad.linalg.svd(tapegrad.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    require_tensor("linalg_svd", A, "A")
    _check_driver("svd", driver)
    return write_all(_svd, rows.svd(A, full_matrices=full_matrices), out, A)


def svdvals(A: Any, *, driver: str | None = None, out: Any = None) -> Any:  # noqa: N803
    """Return the singular values in descending order."""
    require_tensor("linalg_svdvals", A, "A")
    _check_driver("svdvals", driver)
    result = svdvals_of(A)
    return result if out is None else write_out("linalg_svdvals", out, result, A)


def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:  # noqa: N803
    """Return the eigenvalues in ascending order, and the eigenvectors, of symmetric (Hermitian) matrices.

    Only the lower (for `UPLO` 'U' the upper) triangle is read. For gradients see `svd`.

    >>> import tapegrad
    >>> tapegrad.linalg.eigh(tapegrad.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 3.])
    """
    results = rows.eigh(require_tensor("linalg_eigh", A, "A"), uplo=UPLO.upper() if UPLO in ("l", "u") else UPLO)
    return write_all(_eigh, results, out, A)


def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:  # noqa: N803
    """Return the eigenvalues of symmetric (Hermitian) matrices in ascending order."""
    require_tensor("linalg_eigvalsh", A, "A")
    uplo = UPLO.upper() if UPLO in ("l", "u") else UPLO
    result = rows.eigh(A, uplo=uplo)[0] if A.requires_grad else rows.eigvalsh(A, uplo=uplo)
    return result if out is None else write_out("linalg_eigvalsh", out, result, A)


def eig(A: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return the eigenvalues and eigenvectors of square matrices, which are complex. For gradients see `svd`."""
    return write_all(_eig, rows.eig(require_tensor("linalg_eig", A, "A")), out, A)


def eigvals(A: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Return the eigenvalues of square matrices, which are complex."""
    require_tensor("linalg_eigvals", A, "A")
    result = rows.eig(A)[0] if A.requires_grad and A.ndim >= 2 else rows.eigvals(A)
    return result if out is None else write_out("linalg_eigvals", out, result, A)


def _check_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def lu(A: Any, *, pivot: bool = True, out: Any = None) -> Any:  # noqa: N803
    """Return a permutation P, lower triangular L and upper triangular U with ``A = P L U``.

    >>> import tapegrad
    >>> tapegrad.linalg.lu(tapegrad.tensor([[1.0, 2.0], [2.0, 6.0]])).U
    tensor([[ 2.,  6.],
            [ 0., -1.]])
    """
    require_tensor("linalg_lu", A, "A")
    _check_pivoting(pivot)
    if A.ndim < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    start = here()
    compact, pivots, _ = rows.lu_factor_ex(A, check=None)
    return write_all(_lu, unpacked(compact, pivots, "LinalgLuBackward0", start), out, A)


def unpacked(compact: Any, pivots: Any, name: str, start: Any) -> tuple[Any, Any, Any]:
    """Return P, L and U from L and U in one matrix, shown as one operation since `start`."""
    m, n = compact.shape[-2:]
    count = min(m, n)
    identity = first_columns(constants.eye(m, compact.dtype), count)
    lower = tril(first_columns(compact, count), k=-1) + identity
    upper = triu(first_rows(compact, count), k=0)
    if compact.requires_grad:
        mark_composed(name, lower, start)
        mark_composed(name, upper, start)
    return rows.permutation_matrix(pivots, m=m, dtype=compact.dtype), lower, upper


def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:  # noqa: N803
    """Return L (without its diagonal of ones) and U in one matrix, and the row that each row was swapped with, from 1."""
    require_tensor("linalg_lu_factor", A, "A")
    _check_pivoting(pivot)
    return write_all(_lu_factor, rows.lu_factor(A), out, A)


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:  # noqa: N803
    """Return what `lu_factor` does, with an integer in place of an error: which diagonal element of U is zero, or 0."""
    require_tensor("linalg_lu_factor_ex", A, "A")
    _check_pivoting(pivot)
    check = "torch.linalg.lu_factor_ex" if check_errors else None
    return write_all(_lu_factor_ex, rows.lu_factor_ex(A, check=check), out, A)
