"""Tensors joined: along a dimension, along a new one, or as blocks and grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives import movement
from ..primitives.casting import cast
from ..primitives.concatenation import concatenate as concatenate_row
from ..primitives.row_indexing import index_select
from ..primitives.type_rules import normalise_axis
from ..tape.constants import zeros
from ..tape.record import here, record
from ..tensor import Tensor
from .arguments import checked
from .declare import accepts_out, require_tensor, require_tensors, warn_once
from .reductions import show
from .shapes import atleast_1d, atleast_2d, atleast_3d, expand, flatten, reshape

Tensors = Sequence[Any]


@accepts_out
def cat(tensors: Tensors, dim: int = 0) -> Any:
    """Return the tensors joined along a dimension.

    >>> import tapegrad
    >>> tapegrad.cat([tapegrad.zeros(2), tapegrad.ones(1)])
    tensor([0., 0., 1.])
    """
    parts = require_tensors("cat", tensors)
    if not parts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    ndim = 1
    for place, part in enumerate(parts):
        if not part._node.type.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    for part in parts:
        shape = part._node.type.shape
        if len(shape) != 1 or shape[0]:  # an empty vector goes with anything
            ndim = len(shape)
            break
    return record(concatenate_row, parts, (normalise_axis(dim, ndim),), "CatBackward0")


concat = concatenate = cat


@accepts_out
def stack(tensors: Tensors, dim: int = 0) -> Any:
    """Return tensors of one shape joined along a new dimension.

    >>> import tapegrad
    >>> tapegrad.stack([tapegrad.tensor([1, 2]), tapegrad.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    parts = require_tensors("stack", tensors)
    _require_some("stack", parts)
    shape = parts[0]._node.type.shape
    for place, part in enumerate(parts):
        if part._node.type.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(part.shape)} at entry {place}"
            )
    axis = normalise_axis(dim, len(shape) + 1)
    start = here()
    longer = (*shape[:axis], 1, *shape[axis:])
    lifted = tuple([record(movement.reshape, (part,), (longer,)) for part in parts])
    return show("StackBackward0", record(concatenate_row, lifted, (axis,)), start)


def _require_some(name: str, parts: Tensors) -> None:
    if not parts:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


@accepts_out
def hstack(tensors: Tensors) -> Any:
    """Return tensors joined along the second dimension, vectors along the first."""
    parts = _lifted("hstack", tensors, atleast_1d)
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@accepts_out
def vstack(tensors: Tensors) -> Any:
    """Return tensors joined along the first dimension; vectors are rows."""
    return cat(_lifted("vstack", tensors, atleast_2d), 0)


row_stack = vstack


@accepts_out
def dstack(tensors: Tensors) -> Any:
    """Return tensors joined along the third dimension."""
    return cat(_lifted("dstack", tensors, atleast_3d), 2)


@accepts_out
def column_stack(tensors: Tensors) -> Any:
    """Return tensors joined along the second dimension; vectors are columns."""
    parts = require_tensors("column_stack", tensors)
    _require_some("column_stack", parts)
    return hstack([reshape(part, part.numel(), 1) if part.ndim <= 1 else part for part in parts])


def _lifted(name: str, tensors: Tensors, at_least: Any) -> Any:
    parts = require_tensors(name, tensors)
    _require_some(name, parts)
    return at_least(parts)


def block_diag(*tensors: Any) -> Any:
    """Return a matrix with these matrices on its diagonal, zero elsewhere.

    >>> import tapegrad
    >>> tapegrad.block_diag(tapegrad.tensor([[1, 2]]), tapegrad.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    parts = require_tensors("block_diag", tensors)
    if not parts:
        return zeros((1, 0), dtypes.get_default_dtype())
    for place, part in enumerate(parts):
        if part.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {place} has {part.ndim} dimensions"
            )
    start = here()
    dtype = parts[0].dtype
    for part in parts:
        dtype = dtypes.promote_types(dtype, part.dtype)
    blocks = [movement.reshape(part, shape=(1,) * (2 - part.ndim) + tuple(part.shape)) for part in parts]
    width = sum([block.shape[1] for block in blocks])
    before = 0
    rows = []
    for block in blocks:
        after = width - before - block.shape[1]
        block = block if block.dtype is dtype else cast(block, dtype=dtype)
        rows.append(movement.pad(block, 0, low=(0, before), high=(0, after)))
        before += block.shape[1]
    return show("BlockDiagBackward0", concatenate_row(*rows, axis=0), start)


# Grids and choices


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Return the coordinates of the grid of these vectors, one tensor each, indexed "ij" (the default) or "xy".

    >>> import tapegrad
    >>> rows, columns = tapegrad.meshgrid(tapegrad.tensor([1, 2]), tapegrad.tensor([3, 4, 5]), indexing="ij")
    >>> columns
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    parts = require_tensors("meshgrid", tensors)
    _require_some("meshgrid", parts)
    for part in parts:
        if part.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {part.detach()}"
            )
        if part.dtype is not parts[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(parts) >= 2
    if swapped:
        parts = (parts[1], parts[0], *parts[2:])
    shape = [part.numel() for part in parts]
    grids = []
    for axis, part in enumerate(parts):
        line = reshape(part, [-1 if place == axis else 1 for place in range(len(parts))])
        grids.append(expand(line, shape))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _require_vector(tensor: Any) -> None:
    if tensor.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")


def cartesian_prod(*tensors: Any) -> Any:
    """Return all combinations of the elements of vectors, one a row; of one vector, the vector."""
    parts = require_tensors("cartesian_prod", tensors)
    for part in parts:
        _require_vector(part)
    if len(parts) == 1:
        return parts[0]
    return stack([flatten(grid) for grid in meshgrid(*parts, indexing="ij")], 1)


@checked
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all choices of `r` elements of a vector, one a row.

    >>> import tapegrad
    >>> tapegrad.combinations(tapegrad.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    _require_vector(require_tensor("combinations", input))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return zeros((0,), input.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    start = here()
    chosen = index_select(input, Tensor._from_array(places.reshape(-1)), axis=0)
    return show("StackBackward0", movement.reshape(chosen, shape=places.shape), start)


__all__ = [
    "block_diag", "cartesian_prod", "cat", "column_stack", "combinations", "concat", "concatenate", "dstack", "hstack",
    "meshgrid", "row_stack", "stack", "vstack",
]

METHODS: dict[str, Any] = {}
