"""The same bytes as elements of another dtype: a view of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from .declare import Sample, other
from .movement import contiguous
from .update import BATCHED_LINKS


def _view_as_dtype(a: Any, dtype: dtypes.dtype) -> Any:
    return np.asarray(a).view(dtypes.array_type(dtype))


def _view_as_dtype_type(a: Type, dtype: dtypes.dtype) -> Any:
    if a.dtype.itemsize == dtype.itemsize:
        return dtype, a.shape, a.strides
    why = f"to view {a.dtype.title} as {dtype.title} (different element sizes)"
    if a.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {why}")
    if a.dtype.itemsize > dtype.itemsize:
        _require_adjacent(a, why)
        ratio = a.dtype.itemsize // dtype.itemsize
        return dtype, (*a.shape[:-1], a.shape[-1] * ratio), (*[ratio * stride for stride in a.strides[:-1]], 1)
    ratio = dtype.itemsize // a.dtype.itemsize
    if a.shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {why}, but got {a.shape[-1]}")
    _require_adjacent(a, why)
    for axis, stride in enumerate(a.strides[:-1]):
        if stride % ratio:
            raise RuntimeError(f"self.stride({axis}) must be divisible by {ratio} {why}, but got {stride}")
    return dtype, (*a.shape[:-1], a.shape[-1] // ratio), (*[stride // ratio for stride in a.strides[:-1]], 1)


def _require_adjacent(a: Type, why: str) -> None:
    """Raise unless the last dimension's elements lie side by side."""
    if a.strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {why}, but got {a.strides[-1]}")


def _batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], dtype: dtypes.dtype) -> Any:
    """Copy first: where the batch dimension was the last, the elements lie apart."""
    return primitive(contiguous(operands[0]), dtype=dtype)


# Not differentiable: the bits of a number are no function of it that has a derivative.
view_as_dtype = other(
    "view_as_dtype",
    _view_as_dtype,
    _view_as_dtype_type,
    vjp=None,
    jvp=None,
    parameters=("dtype",),
    batch=_batch,
    samples=lambda: [
        Sample(np.arange(6.0).reshape(2, 3), dtype=dtypes.int64),
        Sample(np.arange(6.0).reshape(2, 3), dtype=dtypes.int32),
        Sample(np.arange(8).reshape(2, 4), dtype=dtypes.complex128),
        Sample(np.zeros((0, 2)), dtype=dtypes.int64),
    ],
    torch=lambda torch, a, dtype: a.view(getattr(torch, dtype.name)),
)
BATCHED_LINKS["view_as_dtype"] = lambda size, dtype: (dtype,)
