"""Sliding windows along an axis, and their transpose: adding windows up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Type
from . import batching
from .batching import grid
from .declare import Sample, linear


def _unfold(a: Any, axis: int, size: int, step: int) -> Any:
    windows = (a.shape[axis] - size) // step + 1
    shape = (*a.shape[:axis], windows, *a.shape[axis + 1 :], size)
    strides = (*a.strides[:axis], a.strides[axis] * step, *a.strides[axis + 1 :], a.strides[axis])
    return np.lib.stride_tricks.as_strided(a, shape, strides, writeable=a.flags.writeable)


def _unfold_type(a: Type, axis: int, size: int, step: int) -> Any:
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > a.shape[axis]:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {a.shape[axis]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    windows = (a.shape[axis] - size) // step + 1
    shape = (*a.shape[:axis], windows, *a.shape[axis + 1 :], size)
    return a.dtype, shape, (*a.strides[:axis], a.strides[axis] * step, *a.strides[axis + 1 :], a.strides[axis])


def _add_windows(g: Any, types: Any, axis: int, step: int) -> Any:
    return fold(g, axis=axis, step=step, length=types[0].shape[axis])


unfold = linear(
    "unfold",
    _unfold,
    _unfold_type,
    transpose=_add_windows,
    parameters=("axis", "size", "step"),
    batch=batching.shifted_axis,
    samples=lambda: [
        Sample(grid(3, 5), axis=1, size=3, step=1),
        Sample(grid(3, 7), axis=1, size=2, step=3),
        Sample(grid(4, 6).T, axis=0, size=3, step=2),
        Sample(grid(4), axis=0, size=0, step=1),
        Sample(grid(0, 2), axis=1, size=1, step=1),
    ],
    torch=lambda torch, a, axis, size, step: a.unfold(axis, size, step),
)


def _fold(a: Any, axis: int, step: int, length: int) -> Any:
    """Add the windows, one place in the window after the other, or one window after the other if there are fewer."""
    result = np.zeros((*a.shape[:axis], length, *a.shape[axis + 1 : -1]), a.dtype)
    windows, size = a.shape[axis], a.shape[-1]
    target = np.moveaxis(result, axis, -1)
    source = np.moveaxis(a, axis, -2)
    if windows < size:
        for window in range(windows):
            target[..., window * step : window * step + size] += source[..., window, :]
    else:
        for place in range(size):
            target[..., place : place + windows * step : step] += source[..., place]
    return result


def _fold_type(a: Type, axis: int, step: int, length: int) -> Any:
    return a.dtype, (*a.shape[:axis], length, *a.shape[axis + 1 : -1])


def _take_windows(g: Any, types: Any, axis: int, step: int) -> Any:
    from .movement import slice_axis

    shape = types[0].shape
    windows = unfold(g, axis=axis, size=shape[-1], step=step)
    if tuple(windows.shape) == shape:
        return windows
    return slice_axis(windows, 0, axis=axis, length=shape[axis], step=1)  # fewer windows were added than there is room for


def _torch_fold(torch: Any, a: Any, axis: int, step: int, length: int) -> Any:
    windows, size = a.shape[axis], a.shape[-1]
    positions = (torch.arange(windows)[:, None] * step + torch.arange(size)).reshape(-1)
    moved = a.movedim(axis, -2).reshape(*a.shape[:axis], *a.shape[axis + 1 : -1], windows * size)
    zeros = a.new_zeros((*moved.shape[:-1], length))
    return zeros.index_add(-1, positions, moved).movedim(-1, axis)


fold = linear(
    "fold",
    _fold,
    _fold_type,
    transpose=_take_windows,
    parameters=("axis", "step", "length"),
    batch=batching.shifted_axis,
    samples=lambda: [
        Sample(grid(3, 3, 3), axis=1, step=1, length=5),
        Sample(grid(3, 2, 2), axis=1, step=3, length=7),
        Sample(grid(2, 4, 3), axis=0, step=2, length=6),
        Sample(grid(5, 0), axis=0, step=1, length=4),
    ],
    torch=_torch_fold,
    grad_name="UnfoldBackward0",
)
