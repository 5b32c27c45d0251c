"""Distances between rows, and rows scaled to a norm."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..primitives.contraction import matmul
from ..primitives.linalg import vector_norm
from ..primitives.movement import permute, reshape
from ..primitives.reductions import reduce_sum
from ..primitives.selection import where
from ..primitives.signs import absolute, sign
from ..primitives.type_rules import broadcast_shapes, normalise_axis
from ..tape.record import here
from .declare import accepts_out, require_tensor
from .in_place import in_place_methods
from .reductions import product_of, show

_MOST_DIFFERENCES = 1 << 24  # elements of pairwise differences to keep in memory


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
        result = lengths(first - second, p)
    return show("CdistBackward0", result, start)


def lengths(difference: Any, p: float) -> Any:
    """Return the norms of order `p` along the last dimension; that of order 0 has a gradient: zero."""
    axes = (difference._node.type.ndim - 1,)
    if p == 0:
        return reduce_sum(absolute(sign(difference)), axes=axes, keepdims=False)
    return vector_norm(difference, order=float(p), axes=axes, keepdims=False)


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
    squares1 = reduce_sum(x1 * x1, axes=(last,), keepdims=True)
    squares2 = reduce_sum(x2 * x2, axes=(x2.ndim - 1,), keepdims=True)
    swapped = (*range(x2.ndim - 2), x2.ndim - 1, x2.ndim - 2)
    products = matmul(x1, permute(x2, axes=swapped))
    squares = squares1 + permute(squares2, axes=swapped) - 2 * products
    is_zero = squares <= 0
    return where(is_zero, 0, where(is_zero, 1, squares) ** 0.5)


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
    others = tuple([place for place in range(input.ndim) if place != axis])
    norms = vector_norm(input, order=float(p), axes=others, keepdims=True)
    factors = where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
    return show("RenormBackward0", input * factors, start)


__all__ = [
    "cdist", "renorm",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in ("renorm",)}
METHODS.update(in_place_methods("renorm", METHODS))
