"""Tensors in other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..device import Device
from ..layout import memory_format, preserve_format
from ..primitives.casting import cast
from ..primitives.copying import copy
from ..tape.record import here, record
from ..tensor import Tensor
from .arranging import clone
from .declare import require_tensor, type_name
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
    dtype, always, memory_format = conversion_from(arguments, options)
    return _converted(self, self.dtype if dtype is None else dtype, always, memory_format)


_TO = """ but expected one of:
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""
_NONE = type(None)
_DTYPES: dict[type, dtypes.dtype] = {bool: dtypes.bool, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
_KINDS: dict[str, tuple[type, ...]] = {
    "device": (str, Device, int, _NONE),
    "dtype": (dtypes.dtype, _NONE),
    "tensor": (Tensor, bool, float, complex),
    "non_blocking": (bool,),
    "copy": (bool,),
    "memory_format": (memory_format, _NONE),
}


def conversion_from(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, bool, Any]:
    """Return the dtype, whether to copy, and the memory format that the arguments of `to` ask for."""
    first = arguments[0] if arguments else None
    if isinstance(first, dtypes.dtype) or _is_dtype(first):
        names: tuple[str, ...] = ("dtype", "non_blocking", "copy")
    elif isinstance(first, _KINDS["tensor"]):
        names = ("tensor", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    if not arguments and "tensor" in options:
        names = ("tensor", "non_blocking", "copy")
    allowed = {*names[len(arguments) :], "memory_format"}
    is_wrong = len(arguments) > len(names) or not options.keys() <= allowed
    given = {**dict(zip(names, arguments, strict=False)), **options}
    if is_wrong or not all(isinstance(value, _KINDS[name]) or _is_dtype(value, name) for name, value in given.items()):
        shown = ", ".join([type_name(value) for value in arguments] + [f"{name}={type_name(options[name])}" for name in options])
        raise TypeError(f"to() received an invalid combination of arguments - got ({shown}{'' if arguments else ', '}),{_TO}")
    if given.get("device") is not None:
        Device(given["device"])
    other = given.get("tensor")
    dtype = given.get("dtype") if other is None else getattr(other, "dtype", _DTYPES.get(type(other)))
    if isinstance(dtype, type):
        dtype = _DTYPES[dtype]
    return dtype, given.get("copy", False), given.get("memory_format")


def _is_dtype(value: Any, name: str = "dtype") -> bool:
    """Whether a value is one of Python's types that stand for a dtype."""
    return name == "dtype" and isinstance(value, type) and value in _DTYPES


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        if dtype not in _TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = _TYPE_NAMES[dtype]
    dtype = _DTYPES.get(dtype, dtype) if isinstance(dtype, type) else dtype
    dtype = getattr(dtype, "dtype", dtype)
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return _converted(self, dtype)


def type_as(self: Any, other: Any) -> Any:
    """Return the tensor in the dtype of `other`."""
    return _converted(self, require_tensor("type_as", other, "other").dtype)


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
