"""Masks: bool tensors that say which elements to fill or to replace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import zeros
from ..tape.types import Shape, Type
from . import batching, type_rules
from .batching import grid
from .declare import Sample, linear, other
from .positions import check_number, fill_value, overflow


def _masked_fill(a: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, fill_value(value, a.dtype), a)


def _masked_fill_type(a: Type, mask: Type, value: Type) -> Any:
    if mask.dtype is not dtypes.bool:
        kind = _MASK_NAMES.get(mask.dtype.name, mask.dtype.name)
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}")
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value.dtype.is_complex and not a.dtype.is_complex:
        raise overflow(a.dtype.name)
    return a.dtype, type_rules.broadcast_shapes("masked_fill", a.shape, mask.shape)


def _masked_fill_kernel(types: Sequence[Type]) -> str | None:
    """Return none where a float tensor becomes an integer: see `cast`."""
    a, _, value = types
    is_cut = a.dtype.category == dtypes.INTEGER and value.dtype.category == dtypes.FLOAT and not value.is_number
    return None if is_cut else "where(b, T(c), a)"


_MASK_NAMES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float32": "float",
    "float64": "double",
}


def _masked_fill_vjp(g: Any, b: Any, types: Any, needs: Any) -> Any:
    old = masked_fill(g, b, 0) if needs[0] else None
    return old, None, masked_fill(g, ~b, 0) if needs[2] else None


def _masked_fill_jvp(g: Any, b: Any, types: Any) -> Any:
    old = zeros(types[0].shape, types[0].dtype) if g[0] is None else g[0]
    return masked_fill(old, b, 0 if g[2] is None else g[2])


def _masked_fill_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool]) -> Any:
    a, mask, value = operands
    if not batched[2]:
        return batching.elementwise(lambda a, mask: primitive(a, mask, value), (a, mask), batched[:2])
    from .casting import cast
    from .selection import where

    return batching.elementwise(where, (mask, cast(value, dtype=a.dtype), a), (batched[1], True, batched[0]))


def _mask(*shape: int) -> Any:
    """Return a mask that is true for every third element."""
    return (np.arange(math.prod(shape)) % 3 == 1).reshape(shape)


masked_fill = other(
    "masked_fill",
    _masked_fill,
    _masked_fill_type,
    vjp=_masked_fill_vjp,
    jvp=_masked_fill_jvp,
    batch=_masked_fill_batch,
    samples=lambda: [
        Sample(grid(3, 4), _mask(3, 4), 0.5),
        Sample(grid(4, 6).T[::2], _mask(4), np.array(0.25)),
        Sample(grid(4), _mask(3, 4), -1),
        Sample(grid(), np.array(True), 2),
        Sample(grid(0, 3), _mask(0, 3), 2),
    ],
    torch=lambda torch, a, mask, value: a.masked_fill(mask, value),
    kernel=_masked_fill_kernel,
    kernel_on="any",
)


def _check_value(types: Sequence[Type], values: Sequence[Any]) -> None:
    if types[2].is_number:
        check_number(values[2], dtypes.array_type(types[0].dtype))


masked_fill.check_numbers = _check_value


# Replacing the masked elements, one after the other


def check_count(mask: Any, shape: Shape, available: int) -> int:
    """Return how many elements the mask, broadcast to a shape, selects; raise if there are not so many available."""
    count = int(np.count_nonzero(np.broadcast_to(mask, shape)))
    if count > available:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return count


def _masked_scatter(a: Any, mask: Any, source: Any) -> Any:
    result = np.array(np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)), order="C")
    mask = np.broadcast_to(mask, result.shape)
    count = check_count(mask, result.shape, source.size)
    result[mask] = source.reshape(-1)[:count]
    return result


def _masked_scatter_type(a: Type, mask: Type, source: Type) -> Any:
    if a.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{a.dtype.title} and {source.dtype.title}"
        )
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.title}")
    return a.dtype, type_rules.broadcast_shapes("masked_scatter", mask.shape, a.shape)


def _masked_scatter_vjp(g: Any, b: Any, types: Any, needs: Any) -> Any:
    old = masked_fill(g, b, 0) if needs[0] else None
    return old, None, masked_gather(g, b, shape=types[2].shape) if needs[2] else None


def _masked_scatter_jvp(g: Any, b: Any, types: Any) -> Any:
    old, new = (zeros(types[i].shape, types[i].dtype) if g[i] is None else g[i] for i in (0, 2))
    return masked_scatter(old, b, new)


masked_scatter = other(
    "masked_scatter",
    _masked_scatter,
    _masked_scatter_type,
    vjp=_masked_scatter_vjp,
    jvp=_masked_scatter_jvp,
    batch=batching.unrolled,
    samples=lambda: [
        Sample(grid(3, 4), _mask(3, 4), -grid(5)),
        Sample(grid(4, 6).T[::2], _mask(4), -grid(2, 3)),
        Sample(grid(4), _mask(3, 4), -grid(4)),
        Sample(grid(3), np.zeros(3, bool), -grid(0)),
    ],
    torch=lambda torch, a, mask, source: a.masked_scatter(mask, source),
)


def _masked_gather(a: Any, mask: Any, shape: Shape) -> Any:
    """Return the masked elements, one after the other, in zeros of this shape."""
    kept = a[np.broadcast_to(mask, a.shape)]
    result = np.zeros(shape, a.dtype)
    result.reshape(-1)[: kept.size] = kept
    return result


def _masked_gather_type(a: Type, mask: Type, shape: Shape) -> Any:
    return a.dtype, shape


def _torch_masked_gather(torch: Any, a: Any, mask: Any, shape: Shape) -> Any:
    kept = a.masked_select(mask)
    return torch.cat([kept, kept.new_zeros(math.prod(shape) - kept.numel())]).reshape(shape)


masked_gather = linear(
    "masked_gather",
    _masked_gather,
    _masked_gather_type,
    transpose=(lambda g, b, types: masked_scatter(zeros(types[0].shape, types[0].dtype), b, g), None),
    parameters=("shape",),
    batch=batching.unrolled,
    samples=lambda: [
        Sample(grid(3, 4), _mask(3, 4), shape=(5,)),
        Sample(grid(4, 6).T[::2], _mask(4), shape=(3, 2)),
        Sample(grid(3), np.zeros(3, bool), shape=(0,)),
    ],
    torch=_torch_masked_gather,
)
