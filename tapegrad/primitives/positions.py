"""What the indexing primitives share in NumPy: range checks, meshes, sums at repeated positions, and numbers to fill with."""

from __future__ import annotations

from typing import Any

import numpy as np

_WIDE = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "complex64": np.complex128}
_ROW_LENGTH = 8  # rows at least this long are summed row by row


def first_outside(index: Any, low: int, high: int) -> int | None:
    """Return the first position that is not in ``low <= position < high``, or None."""
    if index.size == 0 or (index.min() >= low and index.max() < high):
        return None
    flat = index.reshape(-1)
    return int(flat[(flat < low) | (flat >= high)][0])


def check_range(index: Any, axis: int, size: int, error: type[Exception] = RuntimeError, prefix: str = "") -> None:
    """Raise PyTorch's error for a position outside an axis; negative ones are outside."""
    outside = first_outside(index, 0, size)
    if outside is not None:
        raise error(f"{prefix}index {outside} is out of bounds for dimension {axis} with size {size}")


def mesh(index: Any, axis: int) -> tuple[Any, ...]:
    """Return the NumPy index that takes `index` along one axis, and its own place along every other."""
    return tuple([index if at == axis else place for at, place in enumerate(np.ogrid[tuple(map(slice, index.shape))])])


def wide_type(dtype: np.dtype[Any]) -> Any:
    """Return the NumPy type in which sums of a dtype do not lose accuracy."""
    return _WIDE.get(dtype.name, dtype)


def add_at(a: Any, index: tuple[Any, ...], values: Any) -> Any:
    """Return a copy of `a` with the values added at a NumPy index of full depth; repeated positions add up."""
    index = np.broadcast_arrays(*index)
    positions = np.ravel_multi_index(index, a.shape).reshape(-1)
    return add_rows(a.reshape(-1, 1), positions, values.reshape(-1, 1)).reshape(a.shape)


def add_rows(a: Any, index: Any, rows: Any) -> Any:
    """Return a copy of the matrix `a` with rows added at the rows given by `index`; repeated ones add up."""
    if len(index) == 0 or a.size == 0:
        return np.array(a)
    wide = wide_type(a.dtype)
    length = a.shape[1]
    if length < _ROW_LENGTH:
        result = np.array(a, wide, order="C")
        positions = index if length == 1 else index[:, None] * length + np.arange(length)
        np.add.at(result.reshape(-1), positions.reshape(-1), rows.astype(wide).reshape(-1))
        return result.astype(a.dtype, copy=False)
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sums = np.add.reduceat(rows[order], starts, axis=0, dtype=wide)
    touched = ordered[starts]
    result = np.array(a, order="C")
    result[touched] = result[touched].astype(wide) + sums
    return result


# How PyTorch calls the types in its overflow errors.
_C_NAMES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
}


def overflow(name: str) -> RuntimeError:
    """Return PyTorch's error for a number that the dtype of this name cannot hold."""
    return RuntimeError(f"value cannot be converted to type {_C_NAMES[name]} without overflow")


def check_number(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise PyTorch's error for a Python number that the dtype it is written to cannot hold."""
    if isinstance(value, complex):
        outside = dtype.kind != "c"
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wraps = dtype.kind == "u" and isinstance(value, int)  # a negative integer does
        outside = not (-limits.max if wraps else limits.min) <= value <= limits.max
    else:
        largest = {"float16": 65504.0, "float32": float(np.finfo(np.float32).max)}.get(dtype.name, np.inf)
        outside = largest < abs(value) < np.inf
    if outside:
        raise overflow(dtype.name)


def fill_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number, or an array of one, in a dtype; a Python number too large for it is PyTorch's error."""
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        check_number(value, dtype)
    return np.asarray(value).astype(dtype, copy=False)
