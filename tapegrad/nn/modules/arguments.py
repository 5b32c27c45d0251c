"""Arguments that several modules have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...device import Device
from ...tensor import Tensor


def _repeated(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def as_tuple(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count

    return as_tuple


# One value as many times, a sequence as it is.
single, pair, triple = _repeated(1), _repeated(2), _repeated(3)


def conversion_from(*arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Return the dtype and the memory format that the arguments of ``Module.to`` ask for."""
    dtype, memory_format = options.pop("dtype", None), options.pop("memory_format", None)
    device = options.pop("device", None)
    options.pop("non_blocking", None)
    if options:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(options))}'")
    for argument in arguments:
        if isinstance(argument, dtypes.dtype):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, (str, Device)):
            device = argument
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(f"to(): argument of type {type(argument).__name__} is neither a dtype, a device nor a tensor")
    if device is not None:
        Device(device)
    return dtype, memory_format
