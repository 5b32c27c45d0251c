"""Norms of vectors and matrices, and what is told by singular values: condition and rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives import linalg as rows
from ..primitives.casting import cast
from ..primitives.comparison import greater
from ..primitives.matrices import LOW_PRECISION, as_columns, as_rows, check_dtype, check_matrices, first_columns, last_columns
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_max, reduce_min, reduce_sum
from ..primitives.selection import maximum, nan_to_num
from ..primitives.type_rules import normalise_axes, normalise_axis, reduced_shape
from ..tape import constants
from .arguments import checked
from .declare import require_tensor, type_name, write_out

Dim = int | Sequence[int] | None


@checked
def vector_norm(
    x: Any, ord: Any = 2, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None, out: Any = None
) -> Any:
    """Return the norm of order `ord` (a number, also infinite) of `x` as a vector, or of its vectors along `dim`.

    >>> import tapegrad
    >>> tapegrad.linalg.vector_norm(tapegrad.tensor([3.0, -4.0])), tapegrad.linalg.vector_norm(tapegrad.tensor([3.0, -4.0]), 1)
    (tensor(5.), tensor(7.))
    """
    require_tensor("linalg_vector_norm", x, "x")
    if isinstance(ord, (str, bool)) or not hasattr(ord, "__float__"):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type_name(ord)}")
    x = _in_dtype("linalg.vector_norm", x, dtype)
    result = rows.vector_norm(x, order=float(ord), axes=normalise_axes(dim, x.ndim), keepdims=keepdim)
    return result if out is None else write_out("linalg_vector_norm", out, result, x)


def _in_dtype(name: str, x: Any, dtype: dtypes.dtype | None) -> Any:
    """Cast to the dtype that a norm is asked for in, or raise for one that would lose digits."""
    if dtype is None or dtype is x.dtype:
        return x
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.title}")
    if dtype.is_complex != x.dtype.is_complex:
        kind = "complex" if x.dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.title}")
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype.title}) should be convertible without narrowing to the specified dtype "
            f"({dtype.title})"
        )
    return cast(x, dtype=dtype)


@checked
def matrix_norm(
    A: Any,  # noqa: N803 - PyTorch's name
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Any = None,
) -> Any:
    """Return the norm of matrices: 'fro', 'nuc' (of the singular values: 1), 2 and -2 (largest and smallest singular value),
    1 and -1 (of the sums over columns), infinite (of those over rows).

    >>> import tapegrad
    >>> tapegrad.linalg.matrix_norm(tapegrad.tensor([[3.0, 0.0], [0.0, -4.0]]), 1)
    tensor(4.)
    """
    require_tensor("linalg_matrix_norm", A, "A")
    check_matrices("linalg.matrix_norm", A)
    check_dtype("linalg.matrix_norm", A, low_precision=True)
    first, second = _two_axes(tuple(dim), A.ndim)
    if ord not in ("fro", "nuc") and (isinstance(ord, str) or abs(ord) not in (1, 2, math.inf)):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    A = _in_dtype("linalg.matrix_norm", A, dtype)  # noqa: N806
    if ord == "fro":
        result = rows.vector_norm(A, order=2.0, axes=(first, second), keepdims=keepdim)
    elif ord == "nuc" or abs(ord) == 2:
        result = _spectral_norm(A, ord, (first, second), keepdim)
    else:
        summed, compared = (first, second) if abs(ord) == 1 else (second, first)
        sums = rows.vector_norm(A, order=1.0, axes=(summed,), keepdims=True)
        result = _extreme(sums, ord, compared, keepdims=True)
        if not keepdim:
            shown = "AmaxBackward0" if ord > 0 else "AminBackward0"
            result = reshape(result, shape=reduced_shape(A.shape, (first, second), False), name=shown)
    return result if out is None else write_out("linalg_matrix_norm", out, result, A)


def _two_axes(dim: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    axes = tuple([normalise_axis(axis, ndim) for axis in dim])
    if axes[0] == axes[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return axes


def _extreme(values: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    """Return the largest (for a positive order) or smallest values along an axis; the largest of none is 0."""
    if values.shape[axis] == 0 and ord > 0:
        return constants.zeros(reduced_shape(values.shape, (axis,), keepdims), values.dtype)
    return (reduce_max if ord > 0 else reduce_min)(values, axes=(axis,), keepdims=keepdims)


def _spectral_norm(a: Any, ord: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """Return a norm that is told by the singular values."""
    others = tuple([axis for axis in range(a.ndim) if axis not in axes])
    values = svdvals_of(permute(a, axes=(*others, *axes)))
    last = values.ndim - 1
    if ord == "nuc":
        result = reduce_sum(values, axes=(last,), keepdims=False, name="SumBackward1")
    else:
        result = _extreme(values, ord, last, keepdims=False)
    return reshape(result, shape=reduced_shape(a.shape, axes, True), name="PermuteBackward0") if keepdim else result


def svdvals_of(a: Any) -> Any:
    """Return the singular values; where a derivative will be wanted, with the vectors that it takes."""
    return rows.svd(a, full_matrices=False)[1] if a.requires_grad else rows.svdvals(a)


@checked
def norm(
    A: Any,  # noqa: N803 - PyTorch's name
    ord: Any = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
) -> Any:
    """Return a vector norm (one `dim`, or a vector) or a matrix norm (two, or a matrix); without `ord` that of order 2 of all.

    >>> import tapegrad
    >>> tapegrad.linalg.norm(tapegrad.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor(5.)
    """
    require_tensor("linalg_norm", A)
    dims = (dim,) if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
    count = A.ndim if dims is None else len(dims)
    if isinstance(ord, str) or (ord is not None and count == 2):
        return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def cond(A: Any, p: Any = None, *, out: Any = None) -> Any:  # noqa: N803 - PyTorch's name
    """Return the condition numbers of matrices in the norm `p` (see `matrix_norm`); without it, of order 2.

    >>> import tapegrad
    >>> tapegrad.linalg.cond(tapegrad.tensor([[1.0, 0.0], [0.0, 4.0]]))
    tensor(4.)
    """
    require_tensor("linalg_cond", A, "A")
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    result = _spectral_condition(A, p) if p in (None, 2, -2) else _condition(A, p)
    return result if out is None else write_out("linalg_cond", out, result, A)


def _spectral_condition(a: Any, p: Any) -> Any:
    values = svdvals_of(a)
    if values.shape[-1] == 0:
        return constants.zeros(tuple(a.shape[:-2]), values.dtype)
    largest, smallest = first_columns(as_rows(values), 1), last_columns(as_rows(values), 1)
    ratio = smallest / largest if p == -2 else largest / smallest
    return reshape(ratio, shape=tuple(a.shape[:-2]), name="SqueezeBackward1")


def _condition(a: Any, p: Any) -> Any:
    """Multiply the norms of a matrix and its inverse, infinite where there is none."""
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if p == "nuc":
        return matrix_norm(a, p) * matrix_norm(rows.inverse(a), p)
    product = matrix_norm(a, p) * matrix_norm(rows.inverse_ex(a, check=None)[0], p)
    return nan_to_num(product, math.inf, math.inf, -math.inf)


def matrix_rank(
    A: Any,  # noqa: N803 - PyTorch's name
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Any:
    """Return how many singular values exceed the larger of `atol` and `rtol` times the largest one (or `tol`).

    >>> import tapegrad
    >>> tapegrad.linalg.matrix_rank(tapegrad.tensor([[1.0, 1.0], [1.0, 1.0]]))
    tensor(1)
    """
    require_tensor("linalg_matrix_rank", A, "A")
    check_matrices("torch.linalg.matrix_rank", A, "input")
    a = A.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = tolerances(a, atol, rtol)
    values = abs(rows.eigvalsh(a, uplo="L")) if hermitian else rows.svdvals(a)
    atol, rtol = (as_columns(each) if hasattr(each, "ndim") else each for each in (atol, rtol))
    last = values.ndim - 1
    least = maximum(_extreme(values, 1, last, keepdims=True) * rtol, atol)
    above = greater(values, least)
    result = reduce_sum(above, axes=(above.ndim - 1,), keepdims=False)
    return result if out is None else write_out("linalg_matrix_rank", out, result)


def tolerances(a: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Return the absolute and relative tolerance for what counts as zero; that one given means that the other is 0."""
    if a.dtype.category < dtypes.FLOAT or a.dtype in LOW_PRECISION:
        raise RuntimeError("This function doesn't handle types other than float and double")
    rounding = max(a.shape[-2:]) * float(np.finfo(dtypes.array_type(a.dtype)).eps)
    if rtol is None:
        if hasattr(atol, "ndim"):
            rtol = cast(atol <= 0, dtype=atol.dtype) * rounding
        else:
            rtol = rounding if atol is None or atol <= 0 else 0.0
    return 0.0 if atol is None else atol, rtol
