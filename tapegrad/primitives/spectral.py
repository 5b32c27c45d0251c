"""Singular values and vectors, eigenvalues and eigenvectors.

The vectors are determined up to a sign (if complex, a phase) each. Rules hold for functions that do not depend on it, and
for distinct values, as PyTorch's do: a derivative through the vectors of a repeated value is infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tape import constants
from ..tape.types import Type
from . import batching
from .arithmetic import reciprocal
from .casting import cast
from .declare import Sample, other
from .linear_systems import solve
from .matrices import (
    LinAlgError,
    adjoint,
    as_columns,
    as_rows,
    check_dtype,
    check_kernel,
    check_square,
    conjugate,
    diagonal_matrices,
    diagonals,
    first_columns,
    first_rows,
    hermitian_part,
    imaginary_diagonal,
    last_columns,
    last_rows,
    real_part,
    torch_symmetric,
    total,
)


def _inverse_gaps(values: Any) -> Any:
    """Return the matrices of ``1 / (v[j] - v[i])``, with zeros on the diagonal."""
    identity = constants.eye(values.shape[-1], values.dtype)
    return (1 - identity) / (as_rows(values) - as_columns(values) + identity)


def _in_gauge(torch: Any, operand: Any, vectors: Sequence[Any], reference: Any) -> Any:
    """Give PyTorch's vectors (matrices of columns) the phases of those that `reference` computes for the operand's array."""
    if torch.func.debug_unwrap(operand) is not operand:
        raise NotImplementedError("vectors have a phase that only values tell")
    others = [torch.from_numpy(np.ascontiguousarray(part)) for part in reference(operand.detach().resolve_conj().numpy())]
    overlap = sum((part.conj() * other).sum(-2, keepdim=True) for part, other in zip(vectors, others, strict=True))
    return [part * overlap.sgn() for part in vectors]


# Singular values


def singular_values_and_vectors(a: Any, full_matrices: bool) -> Any:
    """Return U, S and V^H of an array's matrices."""
    try:
        return tuple(np.linalg.svd(a, full_matrices=full_matrices))
    except np.linalg.LinAlgError as error:
        raise _not_converged(a) from error


def _singular_values(a: Any) -> Any:
    try:
        return np.linalg.svd(a, compute_uv=False)
    except np.linalg.LinAlgError as error:
        raise _not_converged(a) from error


def _not_converged(a: Any) -> LinAlgError:
    if not np.isfinite(a).all():
        return LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.")
    return LinAlgError(
        "linalg.svd: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        "singular values."
    )


def _svd_type(a: Type, full_matrices: bool) -> Any:
    _, values = _svdvals_type(a)
    *lead, m, n = a.shape
    rows, columns = (m, n) if full_matrices else (min(m, n), min(m, n))
    return (a.dtype, (*lead, m, rows)), (a.dtype.to_real(), values), (a.dtype, (*lead, columns, n))


def _svdvals_type(a: Type) -> Any:
    if a.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    check_dtype("linalg.svd", a, kernel="linalg_svd_cpu")
    return a.dtype.to_real(), (*a.shape[:-2], min(a.shape[-2:]))


def _svd_vjp(g: Any, r: Any) -> Any:
    """Source: Townsend, "Differentiating the singular value decomposition" (2016); for complex matrices, PyTorch's notes."""
    (du, ds, dvh), (u, s, vh) = g, r
    count = s.shape[-1]
    if du is not None:
        u, du = _economic(u, du, count)
    if dvh is not None:
        v, dv = _economic(adjoint(vh), adjoint(dvh), count)
        vh, dvh = adjoint(v), adjoint(dv)
    u, vh = first_columns(u, count), first_rows(vh, count)
    inner = total(None if ds is None else diagonal_matrices(ds), _inner_svd_cotangent(du, dvh, u, s, vh))
    result = u @ _typed(inner, u) @ vh
    if du is not None and u.shape[-2] > count:
        outside = du - u @ (adjoint(u) @ du)
        result = result + (outside / as_rows(s)) @ vh
    if dvh is not None and vh.shape[-1] > count:
        outside = dvh - (dvh @ adjoint(vh)) @ vh
        result = result + u @ (outside / as_columns(s))
    return result


def _typed(inner: Any, u: Any) -> Any:
    return inner if inner.dtype is u.dtype else cast(inner, dtype=u.dtype)


def _economic(vectors: Any, cotangent: Any, count: int) -> tuple[Any, Any]:
    """Carry the cotangent of the vectors that belong to no singular value over to those that do.

    As the former complete the latter to a unitary matrix, their tangent follows: ``-U (dU^H U_rest)``.
    """
    rest = vectors.shape[-1] - count
    kept, change = first_columns(vectors, count), first_columns(cotangent, count)
    if rest:
        change = change - last_columns(vectors, rest) @ (adjoint(last_columns(cotangent, rest)) @ kept)
    return kept, change


def _inner_svd_cotangent(du: Any, dvh: Any, u: Any, s: Any, vh: Any) -> Any:
    """Return the cotangent of ``U^H A V`` that comes from the singular vectors, or None."""
    gaps = _inverse_gaps(s * s)
    rotation_u = None if du is None else adjoint(u) @ du
    rotation_v = None if dvh is None else vh @ adjoint(dvh)
    left = None if rotation_u is None else (rotation_u - adjoint(rotation_u)) * gaps * as_rows(s)
    right = None if rotation_v is None else as_columns(s) * ((rotation_v - adjoint(rotation_v)) * gaps)
    phase = None
    if u.dtype.is_complex:
        difference = total(rotation_u, None if rotation_v is None else -rotation_v)
        phase = None if difference is None else imaginary_diagonal(difference) * as_rows(reciprocal(s) * 0.5)
    return total(left, right, phase)


def _svd_jvp(g: Any, r: Any) -> Any:
    """Source: as of the VJP."""
    da, (u, s, vh) = g[0], r
    count, rest_of_u, rest_of_v = s.shape[-1], u.shape[-1] - s.shape[-1], vh.shape[-2] - s.shape[-1]
    u1, v1 = first_columns(u, count), adjoint(first_rows(vh, count))
    change = adjoint(u1) @ da @ v1
    gaps = _inverse_gaps(s * s)
    left, right = change * as_rows(s), as_columns(s) * change
    rotation_u = (left + adjoint(left)) * gaps
    rotation_v = (right + adjoint(right)) * gaps
    if u.dtype.is_complex:
        phase = imaginary_diagonal(change) * as_rows(reciprocal(s) * 0.5)
        rotation_u, rotation_v = rotation_u + phase, rotation_v - phase
    du, dv = u1 @ rotation_u, v1 @ rotation_v
    if u.shape[-2] > count:
        outside = da @ v1
        du = du + (outside - u1 @ (adjoint(u1) @ outside)) / as_rows(s)
    if vh.shape[-1] > count:
        outside = adjoint(da) @ u1
        dv = dv + (outside - v1 @ (adjoint(v1) @ outside)) / as_rows(s)
    du = _completed(du, u1, last_columns(u, rest_of_u)) if rest_of_u else du
    dv = _completed(dv, v1, adjoint(last_rows(vh, rest_of_v))) if rest_of_v else dv
    return du, real_part(diagonals(change)), adjoint(dv)


def _completed(tangent: Any, vectors: Any, rest: Any) -> Any:
    """Append the tangent of the vectors that belong to no singular value."""
    from .movement import concatenate

    return concatenate(tangent, -(vectors @ (adjoint(tangent) @ rest)), axis=tangent.ndim - 1)


def _torch_svd(torch: Any, a: Any, full_matrices: bool) -> Any:
    def reference(array: Any) -> Any:
        u, _, vh = np.linalg.svd(array, full_matrices=False)
        return u, vh.swapaxes(-1, -2).conj()

    u, s, vh = torch.linalg.svd(a, full_matrices=full_matrices)
    u, v = _in_gauge(torch, a, (u, vh.mH), reference)
    return u, s, v.mH


def _spread_values(*shape: int) -> Any:
    """Return matrices whose singular values are well apart."""
    random = np.random.default_rng(sum(shape))
    u, _, vh = np.linalg.svd(random.standard_normal(shape), full_matrices=False)
    return u * np.arange(1.0, min(shape[-2:]) + 1) @ vh


svd = other(
    "svd",
    singular_values_and_vectors,
    _svd_type,
    vjp=_svd_vjp,
    jvp=_svd_jvp,
    parameters=("full_matrices",),
    results=3,
    batch=batching.leading,
    samples=lambda: [
        Sample(_spread_values(3, 3), full_matrices=True),
        Sample(_spread_values(2, 4, 3), full_matrices=False),
        Sample(_spread_values(2, 4), full_matrices=False),
        Sample(np.zeros((0, 3)), full_matrices=False),
    ],
    torch=_torch_svd,
    grad_name="LinalgSvdBackward0",
)


def _svdvals_vjp(g: Any, a: Any) -> Any:
    u, _, vh = svd(a, full_matrices=False)
    return (u * as_rows(g)) @ vh


def _svdvals_jvp(g: Any, a: Any) -> Any:
    u, _, vh = svd(a, full_matrices=False)
    return real_part(diagonals(adjoint(u) @ g[0] @ adjoint(vh)))


svdvals = other(
    "svdvals",
    _singular_values,
    _svdvals_type,
    vjp=_svdvals_vjp,
    jvp=_svdvals_jvp,
    batch=batching.leading,
    samples=lambda: [
        Sample(_spread_values(3, 3)),
        Sample(_spread_values(2, 4, 3)),
        Sample(_spread_values(2, 4)),
        Sample(np.zeros((0, 3))),
    ],
    torch=lambda torch, a: torch.linalg.svdvals(a),
    grad_name="LinalgSvdBackward0",
)


# Eigenvalues of symmetric (Hermitian) matrices, of which one triangle is read. Cotangents are symmetric all the same.


def _eigh_type(a: Type, uplo: str) -> Any:
    check_square("linalg.eigh", a)
    check_kernel("linalg_eigh_cpu", a)
    if uplo not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return (a.dtype.to_real(), a.shape[:-1]), (a.dtype, a.shape)


def _eigh(a: Any, uplo: Any) -> Any:
    return tuple(np.linalg.eigh(a, uplo))


def _eigh_vjp(g: Any, r: Any) -> Any:
    (dw, dv), (w, v) = g, r
    inner = None if dw is None else diagonal_matrices(dw)
    if dv is not None:
        rotation = adjoint(v) @ dv
        inner = total((rotation - adjoint(rotation)) * 0.5 * _inverse_gaps(w), inner)
    return v @ _typed(inner, v) @ adjoint(v)


def _eigh_jvp(g: Any, r: Any) -> Any:
    w, v = r
    change = adjoint(v) @ hermitian_part(g[0]) @ v
    return real_part(diagonals(change)), v @ (change * _inverse_gaps(w))


def _torch_eigh(torch: Any, a: Any, uplo: str) -> Any:
    values, vectors = torch.linalg.eigh(torch_symmetric(a), UPLO=uplo)
    return values, *_in_gauge(torch, a, (vectors,), lambda array: (_eigh(array, uplo)[1],))


def _symmetric(*shape: int) -> Any:
    """Return symmetric matrices whose eigenvalues are well apart."""
    q = np.linalg.qr(np.random.default_rng(sum(shape)).standard_normal(shape))[0]
    product = q * (np.arange(shape[-1]) - 1.5) @ q.swapaxes(-1, -2)
    return (product + product.swapaxes(-1, -2)) / 2


eigh = other(
    "eigh",
    _eigh,
    _eigh_type,
    vjp=_eigh_vjp,
    jvp=_eigh_jvp,
    parameters=("uplo",),
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(_symmetric(3, 3), uplo="L"),
        Sample(_symmetric(2, 4, 4), uplo="U"),
        Sample(np.zeros((0, 0)), uplo="L"),
    ],
    torch=_torch_eigh,
    grad_name="LinalgEighBackward0",
)


def _eigvalsh_vjp(g: Any, a: Any, uplo: str) -> Any:
    _, v = eigh(a, uplo=uplo)
    return (v * as_rows(g)) @ adjoint(v)


def _eigvalsh_jvp(g: Any, a: Any, uplo: str) -> Any:
    _, v = eigh(a, uplo=uplo)
    return real_part(diagonals(adjoint(v) @ hermitian_part(g[0]) @ v))


eigvalsh = other(
    "eigvalsh",
    lambda a, uplo: np.linalg.eigvalsh(a, uplo),
    lambda a, uplo: _eigh_type(a, uplo)[0],
    vjp=_eigvalsh_vjp,
    jvp=_eigvalsh_jvp,
    parameters=("uplo",),
    batch=batching.leading,
    samples=lambda: [
        Sample(_symmetric(3, 3), uplo="L"),
        Sample(_symmetric(2, 4, 4), uplo="U"),
        Sample(np.zeros((0, 0)), uplo="L"),
    ],
    torch=lambda torch, a, uplo: torch.linalg.eigvalsh(torch_symmetric(a), UPLO=uplo),
    grad_name="LinalgEighBackward0",
)


# Eigenvalues of any square matrices, which are complex


def _eig(a: Any) -> Any:
    _require_finite(a)
    values, vectors = np.linalg.eig(a)
    dtype = np.result_type(a.dtype, np.complex64)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _eigvals(a: Any) -> Any:
    _require_finite(a)
    return np.linalg.eigvals(a).astype(np.result_type(a.dtype, np.complex64), copy=False)


def _require_finite(a: Any) -> None:
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _eig_type(a: Type, name: str = "linalg.eig") -> Any:
    check_square(name, a)
    check_dtype(name, a, kernel="linalg_eig_out_cpu")
    dtype = a.dtype.to_complex() if a.dtype.is_floating_point else a.dtype
    return (dtype, a.shape[:-1]), (dtype, a.shape)


def _eig_vjp(g: Any, r: Any) -> Any:
    """Source: Boeddeker et al., "On the computation of complex-valued gradients" (2017), https://arxiv.org/abs/1701.00392.

    Unlike there, the eigenvectors have norm 1; of their tangents, what turns their phase is left out.
    """
    (dw, dv), (w, v) = g, r
    h = adjoint(v)
    inner = None if dw is None else diagonal_matrices(dw)
    if dv is not None:
        rotation = h @ dv
        rotation = rotation - h @ (v * as_rows(diagonals(rotation)))
        inner = total(rotation * _inverse_gaps(conjugate(w)), inner)
    return solve(h, inner @ h)


def _eig_jvp(g: Any, r: Any) -> Any:
    w, v = r
    change = solve(v, _typed(g[0], v) @ v)
    dv = v @ (change * _inverse_gaps(w))
    return diagonals(change), dv - v * as_rows(diagonals(adjoint(v) @ dv))


def _torch_eig(torch: Any, a: Any) -> Any:
    values, vectors = torch.linalg.eig(a)
    return values, *_in_gauge(torch, a, (vectors,), lambda array: (_eig(array)[1],))


def _with_real_eigenvalues(*shape: int) -> Any:
    """Return matrices with real eigenvalues, well apart, that every LAPACK finds in the same order."""
    return np.random.default_rng(sum(shape)).uniform(-0.1, 0.1, shape) + np.diag(np.arange(1.0, shape[-1] + 1))


eig = other(
    "eig",
    _eig,
    _eig_type,
    vjp=_eig_vjp,
    jvp=_eig_jvp,
    results=2,
    batch=batching.leading,
    samples=lambda: [
        Sample(_with_real_eigenvalues(3, 3)),
        Sample(_with_real_eigenvalues(2, 3, 3)),
        Sample(np.zeros((0, 0))),
    ],
    torch=_torch_eig,
    grad_name="LinalgEigBackward0",
)


def _eigvals_vjp(g: Any, a: Any) -> Any:
    _, v = eig(a)
    h = adjoint(v)
    return solve(h, as_columns(g) * h)


def _eigvals_jvp(g: Any, a: Any) -> Any:
    _, v = eig(a)
    return diagonals(solve(v, _typed(g[0], v) @ v))


eigvals = other(
    "eigvals",
    _eigvals,
    lambda a: _eig_type(a, "linalg.eigvals")[0],
    vjp=_eigvals_vjp,
    jvp=_eigvals_jvp,
    batch=batching.leading,
    samples=lambda: [
        Sample(_with_real_eigenvalues(3, 3)),
        Sample(_with_real_eigenvalues(2, 3, 3)),
        Sample(np.zeros((0, 0))),
    ],
    torch=lambda torch, a: torch.linalg.eigvals(a),
    grad_name="LinalgEigBackward0",
)
