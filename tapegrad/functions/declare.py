"""How functions of one and of two tensors are made from primitives: checks of the arguments, and ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import operators
from ..tape.aliases import check_dtype, in_place
from ..tape.checks import check_writable
from ..tape.record import record
from ..tensor import Tensor


def unary(name: str, primitive: Any) -> Callable[..., Any]:
    """Return the function of one tensor that records this primitive: ``name(input, *, out=None)``."""
    apply = operators.unary(primitive)

    def function(input: Any, *, out: Any = None) -> Any:
        if out is None and input.__class__ is Tensor:
            return apply(input)
        result = apply(require_tensor(name, input))
        return result if out is None else write_out(name, out, result, input)

    return _named(function, name, f"Return `{name}` of each element of `input`.")


def binary(name: str, primitive: Any) -> Callable[..., Any]:
    """Return the function of two tensors (or a tensor and a number) that records this primitive."""

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        result = record(primitive, (operand(name, input, 1), operand(name, other, 2)))
        return result if out is None else write_out(name, out, result, input, other)

    return _named(function, name, f"Return `{name}` of each pair of elements of `input` and `other`, which broadcast.")


def _named(function: Callable[..., Any], name: str, summary: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


_POSITIONS = {1: "input", 2: "other"}


def operand(name: str, value: Any, position: int) -> Any:
    """Return a value as an operand of function `name`, or raise PyTorch's TypeError."""
    found = operators.operand_from(value)
    if found is None or (position == 1 and not isinstance(found, Tensor)):
        raise TypeError(
            f"{name}(): argument '{_POSITIONS[position]}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return found


def require_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> Any:
    """Return the value if it is a tensor, or raise PyTorch's TypeError."""
    if isinstance(value, Tensor):
        return value
    raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")


def write_out(name: str, out: Any, result: Any, *arguments: Any) -> Any:
    """Put a result into the tensor given as ``out=`` (it takes on the result's shape), and return that tensor."""
    from ..primitives.casting import cast

    if any(isinstance(argument, Tensor) and argument.requires_grad for argument in (out, *arguments)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    check_writable(out)
    if result.dtype is not out.dtype:
        check_dtype(out, result.dtype)
        result = cast(result, dtype=out.dtype)
    return in_place(out, result)
