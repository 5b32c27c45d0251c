"""Comparisons of whole tensors, and comparisons with a tolerance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives.casting import cast
from ..primitives.comparison import equal as equal_elements
from ..primitives.comparison import isfinite, isnan, logical_not
from ..primitives.gathering import gather
from ..primitives.movement import reshape
from ..primitives.reductions import reduce_any
from ..primitives.sorting import searchsorted, sort
from ..tape.constants import full
from ..tape.record import read
from ..tensor import Tensor
from .declare import accepts_out, require_tensor

_FEW = 16  # test elements to compare with one by one rather than to search


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return where ``|input - other| <= atol + rtol * |other|``; equal infinities are close, and NaN with `equal_nan`.

    >>> import tapegrad
    >>> tapegrad.isclose(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([1.0 + 1e-6, 2.1]))
    tensor([ True, False])
    """
    require_tensor("isclose", input)
    require_tensor("isclose", other, "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = equal_elements(input, other)
    if equal_nan and input.dtype.category >= dtypes.FLOAT:
        close = close | (isnan(input) & isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.category < dtypes.FLOAT:
        default = dtypes.get_default_dtype()
        input, other = cast(input, dtype=default), cast(other, dtype=default)
    allowed = (other * float(rtol)).abs() + float(atol)
    distance = (input - other).abs()
    return close | (isfinite(distance) & (distance <= allowed))


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close, as `isclose` has it.

    >>> import tapegrad
    >>> tapegrad.allclose(tapegrad.tensor([1.0]), tapegrad.tensor([1.0 + 1e-6]))
    True
    """
    return bool(np.all(read(isclose(input, other, rtol, atol, equal_nan))))


def equal(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape and elements.

    >>> import tapegrad
    >>> tapegrad.equal(tapegrad.tensor([1, 2]), tapegrad.tensor([1, 2]))
    True
    """
    require_tensor("equal", input)
    require_tensor("equal", other, "other", 2)
    return bool(input.shape == other.shape and np.array_equal(read(input), read(other)))


def is_same_size(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape."""
    return bool(require_tensor("is_same_size", input).shape == require_tensor("is_same_size", other, "other", 2).shape)


def isreal(input: Any) -> Any:
    """Return which elements have no imaginary part."""
    if require_tensor("isreal", input).dtype.is_complex:
        return input.imag == 0
    return full(tuple(input.shape), True, dtypes.bool)


@accepts_out
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return which of the elements are among `test_elements`; either may be a number.

    >>> import tapegrad
    >>> tapegrad.isin(tapegrad.tensor([1, 2, 3]), tapegrad.tensor([2, 5]))
    tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): elements or test_elements must be a Tensor")
    for value in (elements, test_elements):
        if isinstance(value, Tensor) and value.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {value.dtype.title}")
    found = _found(elements, test_elements)
    return logical_not(found) if invert else found


def _found(elements: Any, tests: Any) -> Any:
    if not isinstance(tests, Tensor):
        return equal_elements(elements, tests)
    count = tests.numel()
    line = reshape(tests, shape=(count,))
    if not isinstance(elements, Tensor):
        return reduce_any(equal_elements(line, elements), axes=(0,), keepdims=False)
    shape = tuple(elements.shape)
    if count <= _FEW:
        pairs = equal_elements(reshape(elements, shape=(*shape, 1)), line)
        return reduce_any(pairs, axes=(len(shape),), keepdims=False)
    dtype = dtypes.promote_types(elements.dtype, tests.dtype)
    elements, line = cast(elements, dtype=dtype), cast(line, dtype=dtype)
    ordered, _ = sort(line, axis=0, descending=False, stable=False)
    flat = reshape(elements, shape=(math.prod(shape),))
    places = searchsorted(ordered, flat, right=False).clamp(max=count - 1)
    return reshape(equal_elements(gather(ordered, places, axis=0), flat), shape=shape)


__all__ = [
    "allclose", "equal", "is_same_size", "isclose", "isin", "isreal",
]

METHODS: dict[str, Any] = {name: globals()[name] for name in ("allclose", "equal", "is_same_size", "isclose", "isreal")}
