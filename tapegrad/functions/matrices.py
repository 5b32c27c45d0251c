"""Diagonals and triangles of matrices, and Kronecker and cross products."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..primitives import diagonals, movement
from ..primitives.reductions import reduce_sum
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import make_view
from ..tape.record import here, record
from .arranging import copied
from .declare import accepts_out, require_tensor, warn_once
from .in_place import in_place_methods
from .reductions import show

_CROSS_WITHOUT_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a future release."
)


# Diagonals


def _two_axes(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = normalise_axis(dim1, ndim), normalise_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a view of the diagonal of two dimensions, as the last dimension.

    >>> import tapegrad
    >>> tapegrad.diagonal(tapegrad.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    axes = _two_axes(require_tensor("diagonal", input).ndim, dim1, dim2)
    return make_view(input, diagonals.diagonal, (), (offset, *axes))


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices, in two new dimensions, whose diagonals are the last dimension of the input."""
    ndim = require_tensor("diag_embed", input).ndim
    first, second = _two_axes(ndim + 1, dim1, dim2)
    return diagonals.diagonal_embed(input, offset=offset, axis1=first, axis2=second)


@accepts_out
def diag(input: Any, diagonal: int = 0) -> Any:
    """Return a matrix with this vector on its diagonal, or the diagonal of a matrix (a copy).

    >>> import tapegrad
    >>> tapegrad.diag(tapegrad.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = require_tensor("diag", input).ndim
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    start = here()
    view = diagonals.diagonal(input, offset=diagonal, axis1=0, axis2=1)
    return show("DiagonalBackward0_copy", movement.contiguous(view), start)


def diagflat(input: Any, offset: int = 0) -> Any:
    """Return a matrix with the elements on its diagonal."""
    return diag_embed(movement.reshape(require_tensor("diagflat", input), shape=(input.numel(),)), offset)


def trace(input: Any) -> Any:
    """Return the sum of the diagonal of a matrix.

    >>> import tapegrad
    >>> tapegrad.trace(tapegrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if require_tensor("trace", input).ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype is dtypes.bool:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    start = here()
    view = diagonals.diagonal(input, offset=0, axis1=0, axis2=1)
    return show("TraceBackward0", reduce_sum(view, axes=(0,), keepdims=False), start)


# Triangles


@accepts_out
def tril(input: Any, diagonal: int = 0) -> Any:
    """Return the lower triangle of matrices, zero elsewhere.

    >>> import tapegrad
    >>> tapegrad.tril(tapegrad.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _triangle("tril", diagonals.tril, input, diagonal)


@accepts_out
def triu(input: Any, diagonal: int = 0) -> Any:
    """Return the upper triangle of matrices, zero elsewhere."""
    return _triangle("triu", diagonals.triu, input, diagonal)


def _triangle(name: str, primitive: Any, input: Any, k: int) -> Any:
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    start = here()
    return show(f"{name.capitalize()}Backward0", copied(record(primitive, (input,), (k,))), start)


# Products


@accepts_out
def kron(input: Any, other: Any) -> Any:
    """Return the Kronecker product: every element of `input` times all of `other`, as blocks.

    >>> import tapegrad
    >>> tapegrad.kron(tapegrad.tensor([1, 10]), tapegrad.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    first, second = tuple(require_tensor("kron", input).shape), tuple(require_tensor("kron", other, "other", 2).shape)
    ndim = max(len(first), len(second))
    first, second = (1,) * (ndim - len(first)) + first, (1,) * (ndim - len(second)) + second
    left = movement.reshape(input, shape=tuple([part for length in first for part in (length, 1)]))
    right = movement.reshape(other, shape=tuple([part for length in second for part in (1, length)]))
    shape = tuple([m * n for m, n in zip(first, second, strict=True)])
    start = here()
    return show("UnsafeViewBackward0", copied(movement.reshape(left * right, shape=shape)), start)


@accepts_out
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """Return the cross product of vectors of three elements along `dim` (the first dimension of length 3 without it)."""
    require_tensor("cross", input)
    require_tensor("cross", other, "other", 2)
    if dim is None:
        warn_once(_CROSS_WITHOUT_DIM)
        dim = next((axis for axis, length in enumerate(input.shape) if length == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross_product(input, other, dim)


def cross_product(input: Any, other: Any, dim: int) -> Any:
    """Return the cross product along a dimension, as ``linalg.cross`` does."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = normalise_axis(dim, input.ndim)
    lengths = input._node.type.shape[axis], other._node.type.shape[axis]
    if lengths != (3, 3):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {other.dtype.title}")
    start = here()
    ahead, behind = [[movement.roll(t, shift, axis=axis) for t in (input, other)] for shift in (-1, -2)]
    return show("LinalgCrossBackward0", ahead[0] * behind[1] - behind[0] * ahead[1], start)


# not public: cross_product
__all__ = [
    "cross", "diag", "diag_embed", "diagflat", "diagonal", "kron", "trace", "tril", "triu",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS.update(in_place_methods("tril triu", METHODS))
