"""Copying: the same values in memory of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..layout import preserved_strides
from ..tape.constants import zeros_of
from ..tape.types import Type
from . import batching
from .declare import Primitive, Sample, linear


def _type(a: Type) -> Any:
    return a.dtype, a.shape, preserved_strides(a.shape, a.strides)


copy = linear(
    "clone",
    lambda a: np.array(a, copy=True, order="K"),
    _type,
    transpose=lambda g: g,
    batch=batching.leading,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3)), Sample(np.float64(2.0)), Sample(np.arange(24.0).reshape(4, 6).T[::2])],
    torch=lambda torch, a: a.clone(),
    kernel="a",
    kernel_on="any",
)


def _overwrite(a: Any, b: Any) -> Any:
    return np.broadcast_to(np.asarray(b).astype(np.asarray(a).dtype), np.shape(a))


def _overwrite_type(a: Type, b: Type) -> Any:
    return _type(a)


def _overwrite_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool]) -> Any:
    a, b = operands
    size = batching.batch_size(operands, batched)
    if not batched[0]:
        a = batching.expanded(a, (size, *a.shape))
    if batched[1]:
        b = batching.reshaped(b, (size, *[1] * (a.ndim - b.ndim), *b.shape[1:]))
    return primitive(a, b)


def _overwrite_kernel(types: Sequence[Type]) -> str | None:
    """Return none where floats become integers: see `cast`."""
    a, b = types
    return None if a.dtype.category == dtypes.INTEGER and b.dtype.category == dtypes.FLOAT and not b.is_number else "T(b)"


# The value of b, in the shape and dtype of a: an in-place operation that keeps nothing of the tensor, but its place in the graph.
overwrite = Primitive(
    "overwrite",
    _overwrite,
    _overwrite_type,
    derivatives=(lambda g, types: zeros_of(types[0]), lambda g: g),
    batch=_overwrite_batch,
    samples=lambda: [
        Sample(np.arange(6.0).reshape(2, 3), np.ones((2, 3))),
        Sample(np.arange(6.0).reshape(2, 3).T, np.array([7.0, 8.0])),
        Sample(np.arange(3.0), 0.5),
    ],
    torch=lambda torch, a, b: (a * 0 + b).to(a.dtype),
    grad_name="torch::autograd::CopyBackwards",
    kernel=_overwrite_kernel,
    kernel_on="any",
)
