"""Casting: the same elements in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching, type_rules
from .declare import Sample, linear


def _cast(a: Any, dtype: dtypes.dtype) -> Any:
    """Convert as PyTorch does: a complex number to its real part (but to bool whether it is not zero)."""
    array = np.asarray(a)
    if array.dtype.kind == "c" and not dtype.is_complex and dtype is not dtypes.bool:
        array = array.real
    return array.astype(dtypes.array_type(dtype), copy=False)


def _cast_type(a: Type, dtype: dtypes.dtype) -> Any:
    return dtype, *type_rules.broadcast("cast", (a,))


def _cast_kernel(types: Sequence[Type], dtype: dtypes.dtype) -> str | None:
    """Return none from floats to integers: what does not fit is undefined in compiled code."""
    return None if dtype.category == dtypes.INTEGER and types[0].dtype.category == dtypes.FLOAT else "T(a)"


def _cast_samples() -> list[Sample]:
    floats = np.random.default_rng(0).uniform(-3.0, 3.0, (4, 6))
    integers = np.arange(-3, 3)
    return [
        Sample(floats, dtype=dtypes.float64),
        Sample(floats, dtype=dtypes.complex128),
        Sample(floats.T[::2], dtype=dtypes.float64),
        Sample(floats[0, 0], dtype=dtypes.float64),
        Sample(floats[:0], dtype=dtypes.complex128),
        Sample(integers, dtype=dtypes.float64),
        Sample(integers, dtype=dtypes.int32),
        Sample(integers, dtype=dtypes.bool),
    ]


cast = linear(
    "cast",
    _cast,
    _cast_type,
    transpose=lambda g: g,  # the replay casts every cotangent to its operand's dtype
    parameters=("dtype",),
    batch=batching.elementwise,
    samples=_cast_samples,
    torch=lambda torch, a, dtype: a.to(getattr(torch, dtype.name)),
    grad_name="ToCopyBackward0",
    kernel=_cast_kernel,
    kernel_on="any",
)
