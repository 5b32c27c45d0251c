"""Diagonals of matrices, and their triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tape.types import Type
from . import batching, type_rules
from .batching import grid
from .declare import Primitive, Sample, linear


def _diagonal_length(rows: int, columns: int, offset: int) -> int:
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    result = np.diagonal(a, offset, axis1, axis2)
    result.flags.writeable = a.flags.writeable  # NumPy's own choice is never
    return result


def _diagonal_type(a: Type, offset: int, axis1: int, axis2: int) -> Any:
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {axis1}, {axis2}")
    kept = [axis for axis in range(a.ndim) if axis not in (axis1, axis2)]
    length = _diagonal_length(a.shape[axis1], a.shape[axis2], offset)
    return (
        a.dtype,
        (*[a.shape[axis] for axis in kept], length),
        (*[a.strides[axis] for axis in kept], a.strides[axis1] + a.strides[axis2]),
    )


def _place_diagonal(g: Any, types: Any, offset: int, axis1: int, axis2: int) -> Any:
    shape = types[0].shape
    return pad_diagonal(g, offset=offset, axis1=axis1, axis2=axis2, rows=shape[axis1], columns=shape[axis2])


def _shifted_pair(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """Both axes move behind the batch dimension."""
    parameters["axis1"] += 1
    parameters["axis2"] += 1
    return primitive(*operands, **parameters)


diagonal = linear(
    "diagonal",
    _diagonal,
    _diagonal_type,
    transpose=_place_diagonal,
    parameters=("offset", "axis1", "axis2"),
    batch=_shifted_pair,
    samples=lambda: [
        Sample(grid(3, 4), offset=1, axis1=0, axis2=1),
        Sample(grid(3, 4), offset=-1, axis1=1, axis2=0),
        Sample(grid(2, 3, 4), offset=0, axis1=2, axis2=0),
        Sample(grid(4, 6).T[::2], offset=9, axis1=0, axis2=1),
        Sample(grid(0, 3), offset=0, axis1=0, axis2=1),
    ],
    torch=lambda torch, a, offset, axis1, axis2: a.diagonal(offset, axis1, axis2),
)


def _pad_diagonal(g: Any, offset: int, axis1: int, axis2: int, rows: int, columns: int) -> Any:
    result = np.zeros((*g.shape[:-1], rows, columns), g.dtype)
    _diagonal(result, offset, -2, -1)[...] = g
    return np.moveaxis(result, (-2, -1), (axis1, axis2))


def _pad_diagonal_type(g: Type, offset: int, axis1: int, axis2: int, rows: int, columns: int) -> Any:
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {axis1}, {axis2}")
    kept = list(g.shape[:-1])
    shape = [rows if axis == axis1 else columns if axis == axis2 else kept.pop(0) for axis in range(g.ndim + 1)]
    return g.dtype, tuple(shape)


def _take_diagonal(g: Any, offset: int, axis1: int, axis2: int) -> Any:
    return diagonal(g, offset=offset, axis1=axis1, axis2=axis2)


def _torch_pad_diagonal(torch: Any, g: Any, offset: int, axis1: int, axis2: int, rows: int, columns: int) -> Any:
    zeros = g.new_zeros((*g.shape[:-1], rows, columns)).movedim((-2, -1), (axis1, axis2))
    return torch.diagonal_scatter(zeros, g, offset, axis1, axis2)


pad_diagonal = linear(
    "pad_diagonal",
    _pad_diagonal,
    _pad_diagonal_type,
    transpose=_take_diagonal,
    parameters=("offset", "axis1", "axis2", "rows", "columns"),
    batch=_shifted_pair,
    samples=lambda: [
        Sample(grid(3), offset=1, axis1=0, axis2=1, rows=3, columns=4),
        Sample(grid(2, 3), offset=0, axis1=2, axis2=0, rows=3, columns=3),
        Sample(grid(3, 2), offset=-1, axis1=0, axis2=1, rows=3, columns=4),
        Sample(grid(0), offset=0, axis1=0, axis2=1, rows=0, columns=2),
    ],
    torch=_torch_pad_diagonal,
    grad_name="DiagonalBackward0",
)


def diagonal_embed(a: Any, *, offset: int, axis1: int, axis2: int, name: str | None = "DiagEmbedBackward0") -> Any:
    """Record square matrices, in two new axes, whose diagonals are the last axis of `a`."""
    size = a.shape[-1] + abs(offset)
    return pad_diagonal(a, offset=offset, axis1=axis1, axis2=axis2, rows=size, columns=size, name=name)


def _triangle_type(name: str) -> Any:
    def type_rule(a: Type, k: int) -> Any:
        if a.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return a.dtype, a.shape, a.strides if type_rules.is_dense(a.shape, a.strides) else None

    return type_rule


def _triangle_samples() -> list[Sample]:
    return [
        Sample(grid(3, 4), k=0),
        Sample(grid(2, 4, 3), k=1),
        Sample(grid(4, 6).T[::2], k=-1),
        Sample(grid(0, 3), k=0),
    ]


def _below(a: Any, k: int) -> Any:
    """Return the mask of the elements on the k-th diagonal and below it."""
    rows, columns = a.shape[-2:]
    return np.tri(rows, columns, k, np.bool_)


def _keep(a: Any, kept: Any) -> Any:
    """Return `a` where kept and zeros elsewhere (not a product: NaN times 0 is NaN)."""
    return np.where(kept, a, np.zeros((), a.dtype))


tril: Primitive = linear(
    "tril",
    lambda a, k: _keep(a, _below(a, k)),
    _triangle_type("tril"),
    transpose=lambda g, k: tril(g, k=k),
    parameters=("k",),
    batch=batching.leading,
    samples=_triangle_samples,
    torch=lambda torch, a, k: a.tril(k),
)

triu: Primitive = linear(
    "triu",
    lambda a, k: _keep(a, ~_below(a, k - 1)),
    _triangle_type("triu"),
    transpose=lambda g, k: triu(g, k=k),
    parameters=("k",),
    batch=batching.leading,
    samples=_triangle_samples,
    torch=lambda torch, a, k: a.triu(k),
)
