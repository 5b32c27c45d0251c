"""Picking one element of an axis for each place of the others, as a loss picks the target class; and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Shape, Type
from . import batching
from .declare import Sample, linear


def _places(shape: Shape, index: Any, axis: int) -> tuple[Any, ...]:
    """Return the NumPy index of the picked elements; raise IndexError for one out of range."""
    if index.size and (index.min() < 0 or index.max() >= shape[axis]):
        wrong = index[(index < 0) | (index >= shape[axis])].flat[0]
        raise IndexError(f"Target {wrong} is out of bounds.")
    if len(shape) == 2 and axis == 1:
        return np.arange(shape[0]), index
    grids = np.ix_(*[np.arange(length) for at, length in enumerate(shape) if at != axis])
    return (*grids[:axis], index, *grids[axis:])


def _pick(a: Any, index: Any, axis: int) -> Any:
    return a[_places(a.shape, index, axis)]


def _pick_type(a: Type, index: Type, axis: int) -> Any:
    expected = a.shape[:axis] + a.shape[axis + 1 :]
    if index.shape != expected:
        raise RuntimeError(f"pick: expected an index of shape {list(expected)}, got {list(index.shape)}")
    return a.dtype, expected


def _unpick(g: Any, index: Any, axis: int, size: int) -> Any:
    shape = (*g.shape[:axis], size, *g.shape[axis:])
    result = np.zeros(shape, g.dtype)
    result[_places(shape, index, axis)] = g
    return result


def _unpick_type(g: Type, index: Type, axis: int, size: int) -> Any:
    return g.dtype, (*g.shape[:axis], size, *g.shape[axis:])


def _pick_samples() -> list[Sample]:
    random = np.random.default_rng(3)
    return [
        Sample(random.normal(size=(4, 3)), np.array([0, 2, 1, 2]), axis=1),
        Sample(random.normal(size=(3,)), np.array(1), axis=0),
        Sample(random.normal(size=(2, 3, 4)), np.array([[0, 1, 2, 0], [2, 2, 1, 0]]), axis=1),
        Sample(np.zeros((0, 3)), np.zeros(0, np.int64), axis=1),
    ]


def _batch(primitive: Any, operands: Any, batched: Any, axis: int, **parameters: Any) -> Any:
    size = next(operand.shape[0] for operand, has in zip(operands, batched, strict=True) if has)
    wide = [
        operand if has else batching.expanded(operand, (size, *operand.shape))
        for operand, has in zip(operands, batched, strict=True)
    ]
    return primitive(*wide, axis=axis + 1, **parameters)


pick = linear(
    "pick",
    _pick,
    _pick_type,
    transpose=(lambda g, b, types, axis: unpick(g, b, axis=axis, size=types[0].shape[axis]), None),
    parameters=("axis",),
    batch=_batch,
    samples=_pick_samples,
    torch=lambda torch, a, index, axis: a.gather(axis, index.unsqueeze(axis)).squeeze(axis),
    grad_name="NllLossBackward0",
)

unpick = linear(
    "unpick",
    _unpick,
    _unpick_type,
    transpose=(lambda g, b, axis: pick(g, b, axis=axis), None),
    parameters=("axis", "size"),
    batch=_batch,
    samples=lambda: [
        Sample(_pick(s.operands[0], s.operands[1], s.parameters["axis"]), s.operands[1], axis=s.parameters["axis"], size=3)
        for s in _pick_samples()
    ],
    torch=lambda torch, g, index, axis, size: g.new_zeros(*g.shape[:axis], size, *g.shape[axis:]).scatter(
        axis, index.unsqueeze(axis), g.unsqueeze(axis)
    ),
)
