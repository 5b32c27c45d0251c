"""Views by sizes and strides alone, of what lies in memory in a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Shape, Type
from . import batching
from .batching import grid
from .declare import Sample, linear
from .positions import add_rows


def _as_strided(a: Any, size: Shape, stride: Shape, offset: int) -> Any:
    a = np.ascontiguousarray(a)
    if 0 in size:
        return np.zeros(size, a.dtype)
    steps = [a.itemsize * step for step in stride]
    return np.lib.stride_tricks.as_strided(a[offset:], size, steps, writeable=a.flags.writeable)


def _as_strided_type(a: Type, size: Shape, stride: Shape, offset: int) -> Any:
    if a.ndim != 1:
        raise RuntimeError(f"as_strided: expected a vector, got {a.ndim} dimensions")
    needed = 0 if 0 in size else 1 + offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if needed > a.numel:
        itemsize = a.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} requiring a "
            f"storage size of {needed * itemsize} are out of bounds for storage of size {a.numel * itemsize}"
        )
    return a.dtype, size, stride


def _positions(size: Shape, stride: Shape, offset: int) -> Any:
    """Return where the elements of the view are in the vector."""
    places = np.full(size, offset)
    for axis, (length, step) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(length) * step).reshape([-1 if at == axis else 1 for at in range(len(size))])
    return places


def _add_strided(g: Any, size: Shape, stride: Shape, offset: int, length: int) -> Any:
    places = _positions(size, stride, offset).reshape(-1)
    return add_rows(np.zeros((length, 1), g.dtype), places, g.reshape(-1, 1)).reshape(length)


def _samples() -> list[Sample]:
    return [
        Sample(grid(12), size=(2, 3), stride=(1, 2), offset=1),
        Sample(grid(12), size=(3, 3), stride=(1, 1), offset=0),
        Sample(grid(12), size=(2, 2), stride=(0, 3), offset=2),
        Sample(grid(3), size=(), stride=(), offset=2),
        Sample(grid(3), size=(0, 2), stride=(1, 1), offset=0),
    ]


as_strided: Any = linear(
    "as_strided",
    _as_strided,
    _as_strided_type,
    transpose=lambda g, types, size, stride, offset: add_strided(
        g, size=size, stride=stride, offset=offset, length=types[0].shape[0]
    ),
    parameters=("size", "stride", "offset"),
    batch=batching.unrolled,
    samples=_samples,
    torch=lambda torch, a, size, stride, offset: a.contiguous().as_strided(size, stride, offset),  # of the vector, not its base
)

# The transpose: a vector of this length with the elements of `g` added where the view has them.
add_strided: Any = linear(
    "add_strided",
    _add_strided,
    lambda g, size, stride, offset, length: (g.dtype, (length,)),
    transpose=lambda g, size, stride, offset: as_strided(g, size=size, stride=stride, offset=offset),
    parameters=("size", "stride", "offset", "length"),
    batch=batching.unrolled,
    samples=lambda: [
        Sample(grid(2, 3), size=(2, 3), stride=(1, 2), offset=1, length=12),
        Sample(grid(3, 3), size=(3, 3), stride=(1, 1), offset=0, length=6),
        Sample(grid(0, 2), size=(0, 2), stride=(1, 1), offset=0, length=3),
    ],
    torch=lambda torch, g, size, stride, offset, length: g.new_zeros(length).index_add(
        0, torch.from_numpy(_positions(size, stride, offset).reshape(-1)), g.reshape(-1)
    ),
    grad_name="AsStridedBackward0",
)
