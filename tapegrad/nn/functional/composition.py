"""What composed functions have in common: one name in the graph, one rounding in half precision, and in-place forms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...functions.declare import require_tensor
from ...functions.in_place import write
from ...functions.reductions import show
from ...primitives.casting import cast
from ...tape.checks import check_writable
from ...tape.record import here

__all__ = ["apply", "narrow", "of_floats", "show", "widen"]

Function = Callable[..., Any]


def widen(tensor: Any) -> Any:
    """Return a tensor of half precision in float32, another (or None) as it is."""
    if tensor is None or tensor._node.type.dtype.itemsize != 2 or not tensor._node.type.dtype.is_floating_point:
        return tensor
    return cast(tensor, dtype=dtypes.float32)


def narrow(result: Any, dtype: dtypes.dtype) -> Any:
    """Return a result in the dtype that the operand had before it was widened."""
    return result if result._node.type.dtype is dtype else cast(result, dtype=dtype)


def of_floats(shown: str, kernel: str, takes_complex: bool = False) -> Callable[[Function], Function]:
    """Let a function, composed of elementwise operations, be one operation of floating point tensors.

    `shown` is what ``grad_fn`` shows; `kernel` what PyTorch's error for other dtypes calls it.
    """

    def decorate(function: Function) -> Function:
        name = function.__name__.lstrip("_")

        @functools.wraps(function)
        def composed(input: Any, *arguments: Any) -> Any:
            dtype = require_tensor(name, input)._node.type.dtype
            if not dtype.is_floating_point and not (takes_complex and dtype.is_complex):
                raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")
            start = here()
            return show(shown, narrow(function(widen(input), *arguments), dtype), start)

        return composed

    return decorate


def apply(function: Function, inplace: bool, input: Any, *arguments: Any) -> Any:
    """Apply a function of a tensor; with `inplace`, the tensor takes on the result."""
    if not inplace:
        return function(input, *arguments)
    check_writable(input)
    return write(input, function(input, *arguments))
