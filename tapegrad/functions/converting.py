"""Tensors in other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..device import Device
from ..layout import preserve_format
from ..primitives.casting import cast
from ..primitives.copying import copy
from ..tape.record import here, record
from ..tensor import Tensor
from .arguments import is_integer
from .arranging import clone
from .declare import require_tensor
from .reductions import show

_TYPE_NAMES = {f"torch.{dtype.title}Tensor": dtype for dtype in dtypes.ALL if not dtype.is_complex}


def _converted(self: Any, dtype: dtypes.dtype, always: bool = False, memory_format: Any = None) -> Any:
    """Return the tensor in this dtype: itself where nothing changes, unless `always`."""
    if dtype is not self.dtype:
        result = record(cast, (self,), (dtype,))
    elif always:
        result = record(copy, (self,), (), "ToCopyBackward0")
    else:
        result = self
    if memory_format in (None, preserve_format) or result.is_contiguous(memory_format=memory_format):
        return result
    start = here()
    return show("ToCopyBackward0", clone(result, memory_format=memory_format), start)


def to(self: Any, *arguments: Any, **options: Any) -> Any:
    """Return the tensor in another dtype (or that of another tensor); itself where nothing changes.

    >>> import tapegrad
    >>> tapegrad.tensor([1, 2]).to(tapegrad.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    always = options.pop("copy", False)
    memory_format = options.pop("memory_format", None)
    options.pop("non_blocking", None)
    other = options.pop("other", None)
    if options:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(options))}'")
    flags = []
    for argument in arguments:
        if isinstance(argument, dtypes.dtype):
            dtype = argument
        elif isinstance(argument, Tensor):
            other = argument
        elif isinstance(argument, (str, Device)):
            device = argument
        elif isinstance(argument, bool):
            flags.append(argument)
        elif is_integer(argument):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        elif argument is not None:
            raise TypeError(f"to(): argument of type {type(argument).__name__} is neither a dtype, a device nor a tensor")
    if len(flags) > 1:
        always = flags[1]  # the first is non_blocking
    if other is not None:
        dtype = other.dtype
    if device is not None:
        Device(device)
    return _converted(self, self.dtype if dtype is None else dtype, always, memory_format)


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        if dtype not in _TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = _TYPE_NAMES[dtype]
    elif not isinstance(dtype, (type, dtypes.dtype)):
        raise TypeError("dtype must be a type, str, or dtype object")
    return _converted(self, getattr(dtype, "dtype", dtype))


def type_as(self: Any, other: Any) -> Any:
    """Return the tensor in the dtype of `other`."""
    return _converted(self, require_tensor("type_as", other, "other", 2).dtype)


def _to_dtype(name: str, dtype: dtypes.dtype) -> Callable[..., Any]:
    def method(self: Any, memory_format: Any = None) -> Any:
        return _converted(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return the tensor as {dtype.name}."
    return method


def cpu(self: Any, memory_format: Any = None) -> Any:
    """Return the tensor: it is on the CPU."""
    return self


def cuda(self: Any, *arguments: Any, **options: Any) -> Any:
    """Raise AssertionError: there is no CUDA."""
    raise AssertionError("tapegrad is not compiled with CUDA enabled: tensors are on the CPU")


def itself(self: Any) -> Any:
    """Return the tensor, which is so already."""
    return self


__all__: list[str] = []

METHODS: dict[str, Any] = {
    "bfloat16": _to_dtype("bfloat16", dtypes.bfloat16),
    "bool": _to_dtype("bool", dtypes.bool),
    "byte": _to_dtype("byte", dtypes.uint8),
    "cdouble": _to_dtype("cdouble", dtypes.complex128),
    "cfloat": _to_dtype("cfloat", dtypes.complex64),
    "char": _to_dtype("char", dtypes.int8),
    "cpu": cpu,
    "cuda": cuda,
    "double": _to_dtype("double", dtypes.float64),
    "float": _to_dtype("float", dtypes.float32),
    "half": _to_dtype("half", dtypes.float16),
    "int": _to_dtype("int", dtypes.int32),
    "long": _to_dtype("long", dtypes.int64),
    "pin_memory": itself,
    "share_memory_": itself,
    "short": _to_dtype("short", dtypes.int16),
    "to": to,
    "to_dense": itself,
    "type": type_,
    "type_as": type_as,
}
