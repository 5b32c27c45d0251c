"""In-place methods: each is its out-of-place function, whose result takes the tensor's place on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tape.aliases import check_dtype, in_place
from ..tape.checks import check_writable


def in_place_method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place form of a function whose first argument is the tensor: ``add_`` of ``add``."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        check_writable(self)
        return write(self, function(self, *arguments, **options))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Do what `{name[:-1]}` does, in place, and return the tensor."
    return method


def write(tensor: Any, result: Any) -> Any:
    """Give `tensor` the value of `result`, cast to its dtype; return it. Raises where shape or dtype do not fit."""
    from ..primitives.casting import cast

    if result is tensor:
        return tensor
    if result.shape != tensor.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result.dtype is not tensor.dtype:
        check_dtype(tensor, result.dtype)
        result = cast(result, dtype=tensor.dtype)
    return in_place(tensor, result)
