"""Tensors of regular numbers: ranges, evenly spaced points, the identity, the places of triangles."""

from __future__ import annotations

import math
import warnings
from typing import Any, Unpack

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from .conversion import number_as
from .options import Creation, Options, Placement, argument_error, integer_from, number_from

__all__ = ["arange", "eye", "linspace", "logspace", "range", "tril_indices", "triu_indices"]

Array = np.ndarray[Any, Any]

_VECTOR_BYTES = 32  # of the vectors of PyTorch's code for AVX2, which it uses here on newer processors too

_RANGE_DEPRECATED = (
    "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
    "builtin. Instead, use torch.arange, which produces values in [start, end)."
)


# Ranges


def arange(*bounds: Any, start: Any = None, end: Any = None, step: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return the numbers from `start` up to `end`, without it, `step` apart: ``arange(end)``, ``arange(start, end, step)``.

    They are int64 if all of the arguments are integers, else of the default dtype.

    Raises:
        RuntimeError: the step is zero, leads away from the end, or the range is not finite.

    >>> import tapegrad
    >>> tapegrad.arange(3), tapegrad.arange(1.0, 2.0, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    wanted = Options("arange", options)
    first, last, apart = _bounds(bounds, start, end, step)
    dtype = wanted.dtype_or(dtypes.int64 if all(isinstance(number, int) for number in (first, last, apart)) else None)
    if dtype.is_complex or dtype is dtypes.bool:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.title}'")
    count = _range_length(first, last, apart, dtype)
    return wanted.finish(_steps(first, apart, count, dtype), dtype)


def _bounds(bounds: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return start, end and step as Python numbers."""
    names = ("end",) if len(bounds) == 1 and end is None else ("start", "end", "step")
    given = {name: value for name, value in (("start", start), ("end", end), ("step", step)) if value is not None}
    if len(bounds) > len(names) or any(name in given for name in names[: len(bounds)]):
        raise TypeError(f"arange() got too many arguments: {len(bounds)} by position and {', '.join(given) or 'none'} by name")
    given.update(zip(names, bounds, strict=False))
    if "end" not in given:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    if "step" in given and "start" not in given:
        raise TypeError("arange() takes a step only together with a start and an end")
    position = {name: place for place, name in enumerate(names, 1)}
    found = {name: _real_from(name, position.get(name, 1), value) for name, value in given.items()}
    return found.get("start", 0), found["end"], found.get("step", 1)


def _real_from(argument: str, position: int, value: Any) -> Any:
    number = number_from("arange", argument, position, value)
    if isinstance(number, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if isinstance(number, float):
        return number
    return int(number_as(number, dtypes.int64))


def _check_bounds(start: Any, end: Any, step: Any) -> None:
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _range_length(start: Any, end: Any, step: Any, dtype: dtypes.dtype) -> int:
    _check_bounds(start, end, step)
    if dtype is dtypes.int64:  # computed in integers, which truncates the arguments first
        if int(step) == 0:
            raise ValueError("step must be nonzero")
        length = -((int(start) - int(end)) // int(step))
    else:
        quotient = (end - start) / step
        length = math.ceil(quotient) if math.isfinite(quotient) else 2**63
    if length >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    return length


def _steps(start: Any, step: Any, count: int, dtype: dtypes.dtype) -> Array:
    """Return ``start + step * i``; an integer dtype keeps the low bits.

    PyTorch's vector code computes so only the first number of each vector, rounds it, and goes on from there; its numbers
    are reproduced here. What is left over at the end it computes one by one.
    """
    array_type = dtypes.array_type(dtype)
    places = np.arange(count)
    if dtype.category == dtypes.INTEGER:
        return (int(start) + int(step) * places).astype(array_type)
    lanes = _VECTOR_BYTES // dtype.itemsize
    inside = places % lanes
    inside[count - count % (2 * lanes) :] = 0
    kind = np.float32 if dtype.itemsize == 2 else np.float64
    first, apart = kind(start), kind(step)
    with np.errstate(all="ignore"):
        vector_starts = _fused(first, apart, places - inside).astype(array_type)
        return _fused(vector_starts.astype(kind), apart, inside).astype(array_type)


def _fused(start: Any, step: Any, places: Array) -> Array:
    """Return ``start + step * places`` rounded once to the dtype of `step`, as a processor's fused instruction does."""
    if step.dtype != np.float64:
        wide = np.complex128 if np.iscomplexobj(step) else np.float64  # which holds the product of float32 numbers
        single: Array = np.asarray(start.astype(wide) + step.astype(wide) * places).astype(step.dtype)
        return single
    product = step * places
    high = step * 134217729.0  # 2**27 + 1 splits the 53 bits into halves (Dekker)
    high = high - (high - step)
    product_error = (high * places - product) + (step - high) * places
    total = start + product
    part = total - start
    total_error = (start - (total - part)) + (product - part)
    result: Array = total + (total_error + product_error)
    return np.where(np.isfinite(result), result, total)


def range(start: Any, end: Any = None, step: Any = 1, **options: Unpack[Creation]) -> Tensor:  # noqa: A001 - PyTorch's name for it
    """Return the numbers from `start` up to `end`, the end included; PyTorch has deprecated it, for `arange`."""
    wanted = Options("range", options)
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warnings.warn(_RANGE_DEPRECATED, UserWarning, stacklevel=2)
    first, last = number_from("range", "start", 1, start), number_from("range", "end", 2, end)
    apart = number_from("range", "step", 3, step)
    dtype = wanted.dtype_or()
    _check_bounds(first, last, apart)
    return wanted.finish(_steps(first, apart, int((last - first) / apart) + 1, dtype), dtype)


# Evenly spaced points


def linspace(start: Any, end: Any, steps: Any, **options: Unpack[Creation]) -> Tensor:
    """Return `steps` numbers evenly spaced from `start` to `end`, both included.

    Raises:
        RuntimeError: `steps` is negative, or a bound is complex and the dtype is not.

    >>> import tapegrad
    >>> tapegrad.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    wanted, first, last, count, dtype = _spacing("linspace", start, end, steps, options)
    return wanted.finish(_spaced(first, last, count, dtype).astype(dtypes.array_type(dtype), copy=False), dtype)


def logspace(start: Any, end: Any, steps: Any, base: Any = 10.0, **options: Unpack[Creation]) -> Tensor:
    """Return `base` to the powers that `linspace` returns.

    >>> import tapegrad
    >>> tapegrad.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    wanted, first, last, count, dtype = _spacing("logspace", start, end, steps, options)
    root = number_from("logspace", "base", 4, base)
    if isinstance(root, complex):
        raise argument_error("logspace", "base", 4, "float", base)
    exponents = _spaced(first, last, count, dtype)
    with np.errstate(all="ignore"):
        powers = np.power(exponents.dtype.type(root), exponents)
        return wanted.finish(powers.astype(dtypes.array_type(dtype), copy=False), dtype)


def _spacing(name: str, start: Any, end: Any, steps: Any, options: Any) -> tuple[Options, Any, Any, int, dtypes.dtype]:
    wanted = Options(name, options)
    first, last = _end_from(name, "start", 1, start), _end_from(name, "end", 2, end)
    count = integer_from(name, "steps", 3, steps)
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    dtype = wanted.dtype_or()
    if (isinstance(first, complex) or isinstance(last, complex)) and not dtype.is_complex:
        inferred = dtype.to_complex()
        if wanted.dtype is not None or wanted.out is not None:
            c_name = "c10::complex<double>" if inferred is dtypes.complex128 else "c10::complex<float>"
            raise RuntimeError(f"torch.{name}(): inferred dtype {c_name} can't be safely cast to passed dtype {dtype.title}")
        dtype = inferred
    if dtype is dtypes.bool:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return wanted, first, last, count, dtype


def _end_from(name: str, argument: str, position: int, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {argument} with {value.ndim} dimension(s)."
            )
        return value.item()
    return number_from(name, argument, position, value)


def _spaced(start: Any, end: Any, count: int, dtype: dtypes.dtype) -> Array:
    """Return evenly spaced numbers, counted from either end to the middle, in the precision that PyTorch computes them in."""
    first, last = number_as(start, dtype), number_as(end, dtype)
    kind = np.float64 if dtype.category == dtypes.INTEGER else dtypes.array_type(dtype).type
    if count == 1:
        return np.full(1, first, kind)
    with np.errstate(all="ignore"):
        step = (kind(last) - kind(first)) / kind(max(count - 1, 1))
        places = np.arange(count)
        half = count // 2
        return np.concatenate([_fused(kind(first), step, places[:half]), _fused(kind(last), -step, places[: count - half][::-1])])


# Matrices


def eye(n: Any, m: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return a matrix of n rows and m columns (default: n) with ones on the diagonal, else zeros.

    >>> import tapegrad
    >>> tapegrad.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    wanted = Options("eye", options)
    rows = integer_from("eye", "n", 1, n)
    columns = rows if m is None else integer_from("eye", "m", 2, m)
    for name, length in (("n", rows), ("m", columns)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    dtype = wanted.dtype_or()
    return wanted.finish(np.eye(rows, columns, dtype=dtypes.array_type(dtype)), dtype)


def tril_indices(row: Any, col: Any, offset: Any = 0, **options: Unpack[Placement]) -> Tensor:
    """Return the places of the lower triangle of a matrix: a row of row numbers and a row of column numbers.

    >>> import tapegrad
    >>> tapegrad.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, options)


def triu_indices(row: Any, col: Any, offset: Any = 0, **options: Unpack[Placement]) -> Tensor:
    """Return the places of the upper triangle of a matrix: a row of row numbers and a row of column numbers.

    >>> import tapegrad
    >>> tapegrad.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, options)


def _triangle(name: str, places: Any, row: Any, col: Any, offset: Any, options: Any) -> Tensor:
    wanted = Options(name, options, takes_out=False)
    rows, columns = integer_from(name, "row", 1, row), integer_from(name, "col", 2, col)
    for argument, length in (("row", rows), ("col", columns)):
        if length < 0:
            raise RuntimeError(f"{argument} must be non-negative, got{length}")
    dtype = wanted.dtype_or(dtypes.int64)
    if dtype.category != dtypes.INTEGER:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.title}'")
    found = places(rows, integer_from(name, "offset", 3, offset), columns)
    return wanted.finish(np.stack(found).astype(dtypes.array_type(dtype)), dtype)
