"""Python numbers, one or many in nested sequences, as arrays of a dtype."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from .. import dtypes
from ..tape.trace import NUMBERS
from ..tape.types import Shape
from ..tensor import Tensor
from .declare import type_name

Array = np.ndarray[Any, Any]

_MAX_DIMENSIONS = 64  # NumPy's limit

# What PyTorch's errors call the types behind a dtype when a number does not fit.
_C_NAMES = {
    dtypes.float16: "double",
    dtypes.bfloat16: "double",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
    dtypes.uint8: "uint8_t",
    dtypes.int8: "int8_t",
    dtypes.int16: "int16_t",
    dtypes.int32: "int",
    dtypes.int64: "int64_t",
}
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


# One number


def number_as(value: Any, dtype: dtypes.dtype) -> Any:
    """Return a Python number as a NumPy scalar of the dtype.

    Raises:
        RuntimeError: the dtype does not hold it.
        OverflowError: an int of more than 64 bits.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
    if not _fits(value, dtype):
        raise RuntimeError(f"value cannot be converted to type {_C_NAMES[dtype]} without overflow")
    if isinstance(value, complex) and not dtype.is_complex and dtype is not dtypes.bool:
        value = value.real
    if dtype.category == dtypes.INTEGER:
        return np.asarray(_wrapped(int(value), dtype), dtypes.array_type(dtype))[()]
    return _convert({type(value)}, [value], dtype)[0]


def _fits(value: Any, dtype: dtypes.dtype) -> bool:
    if dtype is dtypes.bool:
        return True
    if isinstance(value, complex) and not dtype.is_complex:
        return value.imag == 0 and _fits(value.real, dtype)
    if dtype.category == dtypes.INTEGER:
        low, high = _limits(dtype, isinstance(value, float))
        return bool(low <= value <= high)
    if dtype in (dtypes.float32, dtypes.complex64):
        return all(not math.isfinite(part) or abs(part) <= _LARGEST_SINGLE for part in (value.real, value.imag))
    return True


def _limits(dtype: dtypes.dtype, of_floats: bool) -> tuple[Any, Any]:
    """Return the least and greatest number that an integer dtype takes; negative ints wrap around in an unsigned one."""
    limits = np.iinfo(dtypes.array_type(dtype))
    low, high = int(limits.min), int(limits.max)
    if of_floats:
        return float(low), float(high)
    return (-high, high) if dtype is dtypes.uint8 else (low, high)


def _wrapped(value: int, dtype: dtypes.dtype) -> int:
    """Return the int that the dtype's bits of another one are."""
    bits = 8 * dtype.itemsize
    value %= 1 << bits
    return value - (1 << bits) if dtype.is_signed and value >> (bits - 1) else value


# Many numbers


def array_from(data: Any, dtype: dtypes.dtype | None) -> tuple[Array, dtypes.dtype]:
    """Return a number, or the numbers in nested sequences, as a new array and its dtype.

    Args:
        data: Python or NumPy numbers, tensors of one element, and sequences of them; rows may be arrays.
        dtype: of the result; None for the one that holds all the numbers.

    Raises:
        ValueError: sequences side by side differ in length, or an int has more than 64 bits.
        TypeError: something is not a number.
        RuntimeError: something is not a number, or the dtype does not hold one.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    shape = () if data.__class__ in NUMBERS else _shape_along_first(data)
    if 0 in shape:
        found = dtype or _infer(data)
        return np.empty(shape, dtypes.array_type(found)), found
    level = [data]
    for axis, length in enumerate(shape):
        kinds = set(map(type, level))
        if kinds == {np.ndarray} and all([row.shape == shape[axis:] for row in level]):
            return _stack(level, shape, dtype)
        try:
            rows = level if kinds <= {list, tuple} else list(map(list, level))
        except TypeError:  # a number beside a sequence
            _raise_irregular(data, shape, dtype)
        if set(map(len, rows)) != {length}:
            _raise_irregular(data, shape, dtype)
        level = list(chain.from_iterable(rows))
    kinds = set(map(type, level))
    found = dtype or _infer_flat(kinds, level)
    return _convert(kinds, level, found).reshape(shape), found


def _shape_along_first(data: Any) -> Shape:
    """Return the lengths of a sequence, of its first item, of the first item of that, ..."""
    shape: list[int] = []
    while _is_sequence(data):
        if len(shape) == _MAX_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type_name(data)}'")
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, str)):
        return True
    if value.__class__ in NUMBERS or isinstance(value, (dict, Tensor, np.generic)):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _raise_irregular(data: Any, shape: Shape, dtype: dtypes.dtype | None) -> NoReturn:
    """Raise PyTorch's error for sequences that are no array: it looks for what is no number first."""
    if dtype is None:
        _infer(data)
    _check_lengths(data, shape, 0)
    raise AssertionError("the sequences are regular")


def _check_lengths(data: Any, shape: Shape, axis: int) -> None:
    """Raise for the first sequence whose length differs from that of the first one beside it."""
    if axis == len(shape):
        return
    try:
        row = list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(row) != shape[axis]:
        raise ValueError(f"expected sequence of length {shape[axis]} at dim {axis} (got {len(row)})")
    for item in row:
        _check_lengths(item, shape, axis + 1)


def _stack(rows: list[Array], shape: Shape, dtype: dtypes.dtype | None) -> tuple[Array, dtypes.dtype]:
    found = dtype or reduce(dtypes.promote_types, {dtypes.from_array_type(row.dtype) for row in rows})
    stacked = np.empty((len(rows), *rows[0].shape), dtypes.array_type(found))
    for place, row in zip(stacked, rows, strict=True):
        place[...] = cast_array(row, found)
    return stacked.reshape(shape), found


# The dtype that holds them all


def _infer(data: Any) -> dtypes.dtype:
    """Return the dtype of nested sequences that may be ragged; an empty one has the default dtype."""
    if isinstance(data, np.ndarray):
        return dtypes.from_array_type(data.dtype)
    if not _is_sequence(data) or isinstance(data, (str, bytes)):
        return _infer_flat({type(data)}, [data])
    found = [_infer(item) for item in data]
    return reduce(dtypes.promote_types, found) if found else dtypes.get_default_dtype()


def _infer_flat(kinds: set[type], numbers: list[Any]) -> dtypes.dtype:
    found: set[dtypes.dtype] = set()
    for kind in kinds:
        if kind in NUMBERS:
            found.add(dtypes.of_number(kind))
        elif issubclass(kind, Tensor):
            found.update([number.dtype for number in numbers if isinstance(number, kind)])
        elif issubclass(kind, np.generic) and not issubclass(kind, (str, bytes)):
            found.add(dtypes.from_array_type(np.dtype(kind)))
        else:
            example = next(number for number in numbers if type(number) is kind)
            found.add(_infer_other(example))
    return reduce(dtypes.promote_types, found)


def _infer_other(value: Any) -> dtypes.dtype:
    """Return the dtype of a subclass of a number class, or of a sequence where numbers are expected."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(value)}'")
    if _is_sequence(value):
        return _infer(value)
    for base in (int, float, complex):
        if isinstance(value, base):
            return dtypes.of_number(base)
    raise RuntimeError(f"Could not infer dtype of {type_name(value)}")


# Conversion


def _convert(kinds: set[type], numbers: list[Any], dtype: dtypes.dtype) -> Array:
    """Return a list of numbers as an array of the dtype."""
    if not kinds <= NUMBERS:
        numbers = [_plain(number) for number in numbers]
        kinds = set(map(type, numbers))
    convert = (_to_bool, _to_integers, _to_floats, _to_complex)[dtype.category]
    return convert(kinds, numbers, dtype)


def _plain(value: Any) -> Any:
    """Return a tensor's or NumPy's number as Python's."""
    if isinstance(value, Tensor):
        kind = complex if value.dtype.is_complex else float if value.dtype.is_floating_point else operator.index
        return kind(value)
    return value.item() if isinstance(value, np.generic) else value


def _to_bool(kinds: set[type], numbers: list[Any], dtype: dtypes.dtype) -> Array:
    if kinds <= NUMBERS:
        return np.fromiter(map(bool, numbers), np.bool_, len(numbers))
    return np.fromiter([bool(operator.index(number)) for number in numbers], np.bool_, len(numbers))


def _to_integers(kinds: set[type], numbers: list[Any], dtype: dtypes.dtype) -> Array:
    """Convert to an integer dtype: floats are truncated, what does not fit raises."""
    if kinds == {float}:
        values = np.array(numbers)
        low, high = _limits(dtype, True)
        _require(bool(np.all((values >= low) & (values <= high))), dtype)
        if high == 2.0**63:
            values[values == high] = -high  # as a processor has it
        return values.astype(dtypes.array_type(dtype))
    if float in kinds:
        floats, ints = _split(numbers, float)
        result = np.empty(len(numbers), dtypes.array_type(dtype))
        result[floats] = _to_integers({float}, [numbers[place] for place in floats], dtype)
        result[ints] = _to_integers(kinds - {float}, [numbers[place] for place in ints], dtype)
        return result
    if not kinds <= {int, bool}:
        numbers = _each(operator.index, numbers)
    try:
        values = np.array(numbers, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if dtype is dtypes.int64:
        return values
    low, high = _limits(dtype, False)
    _require(bool(np.all((values >= low) & (values <= high))), dtype)
    return values.astype(dtypes.array_type(dtype))


def _split(numbers: list[Any], kind: type) -> tuple[list[int], list[int]]:
    """Return where the numbers of this class are, and where the others are."""
    inside = [place for place, number in enumerate(numbers) if type(number) is kind]
    return inside, [place for place, number in enumerate(numbers) if type(number) is not kind]


def _require(holds: bool, dtype: dtypes.dtype) -> None:
    if not holds:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _to_floats(kinds: set[type], numbers: list[Any], dtype: dtypes.dtype) -> Array:
    if not kinds <= {float, int, bool}:
        numbers = _each(_real, numbers)
    wide = np.float64 if dtype is dtypes.float64 else np.float32  # halves are rounded from float32, as in PyTorch
    with np.errstate(over="ignore"):
        return np.array(numbers, wide).astype(dtypes.array_type(dtype), copy=False)


def _to_complex(kinds: set[type], numbers: list[Any], dtype: dtypes.dtype) -> Array:
    if not kinds <= NUMBERS:
        numbers = _each(lambda value: value if isinstance(value, complex) else _real(value), numbers)
    with np.errstate(over="ignore"):
        return np.array(numbers, np.complex128).astype(dtypes.array_type(dtype), copy=False)


def _real(value: Any) -> float:
    """Return a float, or raise the TypeError that Python's C functions raise."""
    if isinstance(value, complex) or not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"must be real number, not {type_name(value)}")
    return float(value)


def _each(function: Callable[[Any], Any], numbers: Iterable[Any]) -> list[Any]:
    return [function(number) for number in numbers]


def cast_array(array: Array, dtype: dtypes.dtype) -> Array:
    """Return an array cast as a tensor is cast, without checks; the same array if it has the dtype already."""
    from ..primitives.casting import cast

    with np.errstate(all="ignore"):
        result: Array = cast.numpy(array, dtype=dtype)
    return result
