"""Diagonals and triangles of matrices, and Kronecker products."""

from __future__ import annotations

from typing import Any

from ..primitives import diagonals, movement
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import make_view
from ..tape.record import here, record
from .arguments import checked
from .arranging import copied
from .declare import accepts_out, require_tensor
from .in_place import in_place_methods
from .reductions import show

# Diagonals


def two_axes(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = normalise_axis(dim1, ndim), normalise_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@checked
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a view of the diagonal of two dimensions, as the last dimension.

    >>> import tapegrad
    >>> tapegrad.diagonal(tapegrad.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    axes = two_axes(require_tensor("diagonal", input).ndim, dim1, dim2)
    return make_view(input, diagonals.diagonal, (), (offset, *axes))


@checked
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices, in two new dimensions, whose diagonals are the last dimension of the input."""
    ndim = require_tensor("diag_embed", input).ndim
    first, second = two_axes(ndim + 1, dim1, dim2)
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


@checked
def diagflat(input: Any, offset: int = 0) -> Any:
    """Return a matrix with the elements on its diagonal."""
    return diag_embed(movement.reshape(require_tensor("diagflat", input), shape=(input.numel(),)), offset)


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


__all__ = [
    "diag", "diag_embed", "diagflat", "diagonal", "kron", "tril", "triu",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
METHODS.update(in_place_methods("tril triu", METHODS))
