"""Norms of vectors, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..primitives import reductions
from ..primitives.casting import cast
from ..primitives.contraction import matmul
from ..primitives.movement import permute, reshape
from ..primitives.norms import euclidean_norm
from ..primitives.selection import where
from ..primitives.type_rules import broadcast_shapes, normalise_axes, normalise_axis
from ..tape.record import here, record
from .declare import accepts_out, require_tensor
from .in_place import in_place_methods
from .reductions import product_of, show

_MOST_DIFFERENCES = 1 << 24  # elements of pairwise differences to keep in memory

Dim = int | Sequence[int] | None


def vector_norm(
    input: Any, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Any:
    """Return the norm of order `ord` over `dim`, the elements taken as one vector; its gradient at 0 is 0."""
    _check_norm(input, dtype)
    start = here()
    if dtype is not None and dtype is not input.dtype:
        input = cast(input, dtype=dtype)
    type_ = input._node.type
    axes = normalise_axes(dim, type_.ndim)
    if ord < 0 or ord == math.inf:
        _require_elements(type_, axes, ord, dim)
    result = _norm(input, float(ord), axes, keepdim)
    wanted = type_.dtype.to_real()
    return show("LinalgVectorNormBackward0", result if result.dtype is wanted else cast(result, dtype=wanted), start)


def _check_norm(input: Any, dtype: dtypes.dtype | None) -> None:
    require_tensor("linalg_vector_norm", input)
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}"
        )
    if dtype is None:
        return
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex. Got {dtype.title}")
    if input.dtype.is_complex is not dtype.is_complex:
        kind = "complex" if input.dtype.is_complex else "real"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {dtype.title}")
    if dtypes.promote_types(input.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({input.dtype.title}) should be convertible without narrowing to the "
            f"specified dtype ({dtype.title})"
        )


def _require_elements(type_: Any, axes: Sequence[int], ord: float, dim: Dim) -> None:
    """Raise for a norm that nothing does not have."""
    if type_.numel:
        return
    why = f"linalg.vector_norm cannot compute the {'inf' if ord == math.inf else f'{ord:g}'} norm on"
    if dim is None or not isinstance(dim, int) and not dim:
        raise RuntimeError(f"{why} an empty tensor because the operation does not have an identity")
    if any(type_.shape[axis] == 0 for axis in axes):
        raise RuntimeError(f"{why} the dimension {axes[0]} because this dimension is empty and the operation does not have an identity")


def _norm(input: Any, ord: float, axes: tuple[int, ...], keepdim: bool) -> Any:
    if ord == 2:
        return record(euclidean_norm, (input,), (axes, keepdim))
    if input.dtype.itemsize == 2:
        input = cast(input, dtype=dtypes.float32)
    sizes = input.abs()
    if ord == 1:
        return reductions.reduce_sum(sizes, axes=axes, keepdims=keepdim)
    if ord == math.inf:
        return reductions.reduce_max(sizes, axes=axes, keepdims=keepdim)
    if ord == -math.inf:
        return reductions.reduce_min(sizes, axes=axes, keepdims=keepdim)
    if ord == 0:
        return reductions.reduce_sum(sizes.sign(), axes=axes, keepdims=keepdim)
    if ord < 0:
        return reductions.reduce_sum(sizes**ord, axes=axes, keepdims=keepdim) ** (1 / ord)
    total = reductions.reduce_sum(_positive_power(sizes, ord), axes=axes, keepdims=keepdim)
    return _positive_power(total, 1 / ord)


def _positive_power(value: Any, exponent: float) -> Any:
    """Return the power of what is not negative; its derivative at 0 is 0."""
    is_zero = value == 0
    return where(is_zero, 0, where(is_zero, 1, value) ** exponent)


@accepts_out
def norm(
    input: Any, p: float | str | None = "fro", dim: Dim = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Any:
    """Return the norm of order `p` over `dim`: "fro" or 2 is the Euclidean one, "nuc" the sum of the singular values.

    >>> import tapegrad
    >>> tapegrad.norm(tapegrad.tensor([3.0, 4.0]))
    tensor(5.)
    """
    require_tensor("norm", input)
    if p == "fro" or p is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if p == "nuc":
        return _nuclear_norm(input, dim, keepdim, dtype)
    if isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


def _nuclear_norm(input: Any, dim: Dim, keepdim: bool, dtype: dtypes.dtype | None) -> Any:
    from ..primitives.spectral import svdvals

    axes = normalise_axes(dim, input.ndim)
    if len(axes) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, axes))}")
    if dtype is not None:
        input = cast(input, dtype=dtype)
    kept = [axis for axis in range(input.ndim) if axis not in axes]
    values = svdvals(permute(input, axes=(*kept, *axes)))
    total = record(reductions.reduce_sum, (values,), ((values.ndim - 1,), False), "SumBackward1")
    if not keepdim:
        return total
    return reshape(total, shape=tuple([1 if axis in axes else length for axis, length in enumerate(input.shape)]))


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """Return the norm of order `p` of the difference of two tensors."""
    require_tensor("dist", input)
    require_tensor("dist", other, "other", 2)
    start = here()
    return show("DistBackward0", vector_norm(input - other, p), start)


def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """Return the distances between all rows of one matrix and all rows of another, or of batches of matrices.

    >>> import tapegrad
    >>> tapegrad.cdist(tapegrad.tensor([[0.0, 0.0]]), tapegrad.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    _check_cdist(require_tensor("cdist", x1, "x1"), require_tensor("cdist", x2, "x2", 2), p, compute_mode)
    start = here()
    rows1, rows2 = tuple(x1.shape), tuple(x2.shape)
    batch = broadcast_shapes("cdist", rows1[:-2], rows2[:-2])
    if p == 2 and product_of(batch) * rows1[-2] * rows2[-2] * rows1[-1] > _MOST_DIFFERENCES:
        result = _by_products(x1, x2)
    else:
        first = reshape(x1, shape=(*rows1[:-1], 1, rows1[-1]))
        second = reshape(x2, shape=(*rows2[:-2], 1, *rows2[-2:]))
        difference = first - second
        result = _norm(difference, float(p), (difference.ndim - 1,), False)
    return show("CdistBackward0", result, start)


def _check_cdist(x1: Any, x2: Any, p: float, compute_mode: str | None) -> None:
    modes = (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
        None,
    )
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, tensor in (("X1", x1), ("X2", x2)):
        if tensor.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {tensor.ndim}D")
    for name, tensor in (("X1", x1), ("X2", x2)):
        if tensor.dtype.category < dtypes.FLOAT:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {tensor.dtype.title}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.title} but found {x2.dtype.title}")


def _by_products(x1: Any, x2: Any) -> Any:
    """Return Euclidean distances by matrix products, for what is too large to subtract pairwise."""
    last = x1.ndim - 1
    squares1 = reductions.reduce_sum(x1 * x1, axes=(last,), keepdims=True)
    squares2 = reductions.reduce_sum(x2 * x2, axes=(x2.ndim - 1,), keepdims=True)
    swapped = (*range(x2.ndim - 2), x2.ndim - 1, x2.ndim - 2)
    products = matmul(x1, permute(x2, axes=swapped))
    return _positive_power((squares1 + permute(squares2, axes=swapped) - 2 * products).clamp(min=0), 0.5)


@accepts_out
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Return the tensor with its slices along `dim` scaled down to a norm of at most `maxnorm`."""
    require_tensor("renorm", input)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    axis = normalise_axis(dim, input.ndim)
    start = here()
    norms = vector_norm(input, p, [place for place in range(input.ndim) if place != axis], True)
    factors = where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
    return show("RenormBackward0", input * factors, start)


# not public: vector_norm
__all__ = [
    "cdist", "dist", "norm", "renorm",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in ("dist", "norm", "renorm")}
METHODS.update(in_place_methods("renorm", METHODS))
