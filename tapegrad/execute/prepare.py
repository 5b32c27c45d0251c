"""How the interpreter runs one record: its NumPy function, with the casts that its types ask for around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes


def prepare(primitive: Any, types: tuple[Any, ...], results: tuple[Any, ...], parameters: dict[str, Any]) -> Callable[..., Any]:
    """Return a function from the operands' values to the result (a tuple for several), of just the results' dtypes."""
    function = primitive.numpy
    if all(t.is_number for t in results):
        return _numbers_only(function, parameters)
    if primitive.specialise is not None:
        special: Callable[..., Any] | None = primitive.specialise(types, **parameters)
        if special is not None:
            return special
    if primitive.casts is not None:
        return _with_casts(primitive, types, results[0], parameters)
    if len(results) > 1:
        return _several(function, [dtypes.array_type(t.dtype) for t in results], parameters)
    return _single(function, dtypes.array_type(results[0].dtype), parameters)


def _numbers_only(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    """Arithmetic of Python numbers gives a Python number, in Python's precision."""

    def run(*values: Any) -> Any:
        return np.asarray(function(*[np.asarray(value)[()] for value in values], **parameters)).item()

    return run


def _single(function: Callable[..., Any], expected: Any, parameters: dict[str, Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        result = function(*values, **parameters)
        return result if result.dtype == expected else result.astype(expected)

    return run


def _several(function: Callable[..., Any], expected: list[Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        results = function(*values, **parameters)
        return tuple([r if r.dtype == dtype else r.astype(dtype) for r, dtype in zip(results, expected, strict=True)])

    return run


def _with_casts(primitive: Any, types: tuple[Any, ...], result: Any, parameters: dict[str, Any]) -> Callable[..., Any]:
    """Cast the operands to the dtype to compute in; a number stays a Python number where NumPy treats it the same."""
    function = primitive.numpy
    compute = primitive.casts(primitive.name, types)[0]
    compute_type = dtypes.array_type(compute)
    result_type = dtypes.array_type(result.dtype)
    places = [place for place, t in enumerate(types) if _needs_cast(t, compute)]
    if not places and isinstance(function, np.ufunc) and not parameters and compute is result.dtype:
        return function
    inner = _single(function, result_type, parameters)
    if not places:
        return inner

    def run(*values: Any) -> Any:
        cast = list(values)
        for place in places:
            value = cast[place]
            if not hasattr(value, "astype"):
                value = np.asarray(value)
                if compute.category == dtypes.INTEGER and value.dtype.kind == "O":
                    value = np.asarray(int(value) & 0xFFFFFFFFFFFFFFFF, np.uint64)  # wraps, as PyTorch does
            cast[place] = value.astype(compute_type)
        return inner(*cast)

    return run


def _needs_cast(t: Any, compute: dtypes.dtype) -> bool:
    """Whether an operand has to be cast: a Python number needs it where NumPy would raise (integers out of range)."""
    if t.is_number:
        return compute.category < dtypes.FLOAT or t.dtype.category > compute.category or compute is dtypes.bfloat16
    return t.dtype is not compute
