"""Constant tensors for rules and composed functions: cheap to make, and of the same structure each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from .record import wrap
from .types import Type, make_type


def full(shape: tuple[int, ...], number: Any, dtype: dtypes.dtype) -> Any:
    """Return a tensor of one number, which takes up no more memory than that number."""
    value = np.asarray(number, dtypes.array_type(dtype))
    return wrap(np.broadcast_to(value, shape), make_type(dtype, tuple(shape)))


def zeros(shape: tuple[int, ...], dtype: dtypes.dtype) -> Any:
    """Return a tensor of zeros, for rules."""
    return full(shape, 0, dtype)


def ones(shape: tuple[int, ...], dtype: dtypes.dtype) -> Any:
    """Return a tensor of ones, for rules."""
    return full(shape, 1, dtype)


def eye(n: int, dtype: dtypes.dtype) -> Any:
    """Return the identity matrix, for rules."""
    return wrap(np.eye(n, dtype=dtypes.array_type(dtype)), make_type(dtype, (n, n)))


def zeros_of(type_: Type) -> Any:
    """Return zeros of a type's shape and dtype, for rules."""
    return full(type_.shape, 0, type_.dtype)
