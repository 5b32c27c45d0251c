"""Concatenation, which takes any number of operands and promotes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tape.constants import zeros
from ..tape.types import Type
from . import batching, type_rules
from .batching import grid
from .declare import Sample, other


def _is_legacy_empty(value: Any) -> bool:
    """Whether concatenation skips this operand: PyTorch lets an empty 1-d tensor stand for one of any shape."""
    return tuple(value.shape) == (0,)


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate([array for array in arrays if not _is_legacy_empty(array)] or arrays[:1], axis)


def _concatenate_type(*types: Type, axis: int) -> Any:
    for place, t in enumerate(types):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    dtype = type_rules.result_dtype(types)
    first = next((t for t in types if not _is_legacy_empty(t)), types[0])
    length = 0
    for place, t in enumerate(types):
        if _is_legacy_empty(t):
            continue
        if t.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}")
        for at in range(t.ndim):
            if at != axis and t.shape[at] != first.shape[at]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {first.shape[at]} but got size "
                    f"{t.shape[at]} for tensor number {place} in the list."
                )
        length += t.shape[axis]
    return dtype, (*first.shape[:axis], length, *first.shape[axis + 1 :])


def _split(g: Any, types: Any, needs: Any, axis: int) -> Any:
    """Return each operand's part of the cotangent."""
    from .movement import slice_axis

    parts = []
    start = 0
    for t, needed in zip(types, needs, strict=True):
        if _is_legacy_empty(t):
            parts.append(zeros(t.shape, t.dtype) if needed else None)
            continue
        length = t.shape[axis]
        parts.append(slice_axis(g, start, axis=axis, length=length, step=1) if needed else None)
        start += length
    return tuple(parts)


def _concatenate_tangents(g: Any, types: Any, axis: int) -> Any:
    tangents = [zeros(t.shape, t.dtype) if tangent is None else tangent for tangent, t in zip(g, types, strict=True)]
    return concatenate(*tangents, axis=axis)


def _concatenate_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int) -> Any:
    kept = [
        place
        for place, (operand, has) in enumerate(zip(operands, batched, strict=True))
        if tuple(operand.shape[1:] if has else operand.shape) != (0,)
    ]
    if kept and not any(batched[place] for place in kept):  # only skipped operands have a batch dimension
        result = primitive(*[operands[place] for place in kept], axis=axis)
        return batching.expanded(result, (batching.batch_size(operands, batched), *result.shape))
    kept = kept or list(range(len(operands)))
    return batching.shifted_axis(primitive, [operands[place] for place in kept], [batched[place] for place in kept], axis=axis)


concatenate = other(
    "concatenate",
    _concatenate,
    _concatenate_type,
    vjp=_split,
    jvp=_concatenate_tangents,
    parameters=("axis",),
    casts=type_rules.promoted,
    batch=_concatenate_batch,
    samples=lambda: [
        Sample(grid(3, 4), grid(3, 2), axis=1),
        Sample(grid(2), grid(0), grid(1), axis=0),
        Sample(grid(0), grid(2, 3), grid(3, 4).T, axis=0),
        Sample(grid(0), grid(0), axis=0),
        Sample(grid(3, 4), axis=0),
    ],
    torch=lambda torch, *operands, axis: torch.cat(operands, axis),
    grad_name="CatBackward0",
)
