"""What a tensor says of itself, and conversions to other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..device import Device
from ..primitives.casting import cast
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import export, set_data
from ..tape.checks import check_writable
from ..tape.record import record
from ..tensor import Tensor
from .in_place import write

_TYPE_NAMES = {f"torch.{dtype.title}Tensor": dtype for dtype in dtypes.ALL if not dtype.is_complex}


def size(self: Any, dim: int | None = None) -> Any:
    """Return the shape, or the length of one dimension."""
    return self.shape if dim is None else self._node.type.shape[normalise_axis(dim, self.ndim)]


def stride(self: Any, dim: int | None = None) -> Any:
    """Return how many elements apart neighbours along each dimension (or one) are."""
    strides = self._node.type.strides
    return strides if dim is None else strides[normalise_axis(dim, self.ndim)]


def numel(self: Any) -> int:
    """Return the number of elements."""
    return int(self._node.type.numel)


def dim(self: Any) -> int:
    """Return the number of dimensions."""
    return int(self._node.type.ndim)


def element_size(self: Any) -> int:
    """Return the size of an element in bytes."""
    return int(self.dtype.itemsize)


def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in order."""
    return bool(self._node.type.is_contiguous)


def is_floating_point(self: Any) -> bool:
    """Whether the dtype is a floating point one."""
    return bool(self.dtype.is_floating_point)


def is_complex(self: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(self.dtype.is_complex)


def data_ptr(self: Any) -> int:
    """Return the address of the first element; asking for it gives the tensor a buffer that stays."""
    return int(export(self.detach()).ctypes.data)


def storage_offset(self: Any) -> int:
    """Return how many elements into its storage the tensor begins."""
    root = self._root()
    if root is self:
        return 0
    return int((data_ptr(self) - data_ptr(root)) // self.dtype.itemsize)


def _converted(self: Any, dtype: dtypes.dtype, copy: bool = False) -> Any:
    if dtype is self.dtype:
        return self.clone() if copy else self
    return record(cast, (self,), (dtype,))


def to(self: Any, *arguments: Any, **options: Any) -> Any:
    """Return the tensor in another dtype (or that of another tensor); itself where nothing changes.

    >>> import tapegrad
    >>> tapegrad.tensor([1, 2]).to(tapegrad.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    dtype = options.pop("dtype", None)
    device = options.pop("device", None)
    copy = options.pop("copy", False)
    options.pop("non_blocking", None)
    options.pop("memory_format", None)
    if options:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(options))}'")
    for argument in arguments:
        if isinstance(argument, dtypes.dtype):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, (str, Device)):
            device = argument
        elif not isinstance(argument, bool) and argument is not None:
            raise TypeError(f"to(): argument of type {type(argument).__name__} is neither a dtype, a device nor a tensor")
    if device is not None:
        Device(device)
    return _converted(self, self.dtype if dtype is None else dtype, copy)


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        if dtype not in _TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = _TYPE_NAMES[dtype]
    return _converted(self, getattr(dtype, "dtype", dtype))


def type_as(self: Any, other: Any) -> Any:
    """Return the tensor in the dtype of `other`."""
    return _converted(self, other.dtype)


def _to_dtype(name: str, dtype: dtypes.dtype) -> Callable[[Any], Any]:
    def method(self: Any, memory_format: Any = None) -> Any:
        return _converted(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return the tensor as {dtype.name}."
    return method


def cpu(self: Any, memory_format: Any = None) -> Any:
    """Return the tensor: it is on the CPU."""
    return self


def cuda(self: Any, *arguments: Any, **options: Any) -> Any:
    """Raise AssertionError: there is no CUDA."""
    raise AssertionError("tapegrad is not compiled with CUDA enabled: tensors are on the CPU")


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy the values of `src`, broadcast and cast to this tensor's type, into this tensor."""
    from ..primitives.movement import expand

    check_writable(self)
    source = src
    shape = self._node.type.shape
    if source.dtype is not self.dtype:
        source = record(cast, (source,), (self.dtype,))
    if source._node.type.shape != shape:
        _check_expands(shape, source._node.type.shape)
        source = expand(source, shape=shape)
    if source is src:
        from ..primitives.movement import alias

        source = record(alias, (source,), (), "torch::autograd::CopyBackwards")
    return write(self, source)


def _check_expands(shape: tuple[int, ...], source: tuple[int, ...]) -> None:
    if len(source) > len(shape):
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(source)}"
        )
    for axis, length in enumerate(source, len(shape) - len(source)):
        if length not in (1, shape[axis]):
            raise RuntimeError(
                f"The size of tensor a ({shape[axis]}) must match the size of tensor b ({length}) at non-singleton dimension {axis}"
            )


def fill_(self: Any, value: Any) -> Any:
    """Set every element to `value`, a number or a 0-d tensor."""
    from ..tape.constants import full

    check_writable(self)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return copy_(self, value)
    return write(self, _filled(self, value, full))


def _filled(self: Any, value: Any, full: Callable[..., Any]) -> Any:
    return full(self._node.type.shape, value, self.dtype)


def zero_(self: Any) -> Any:
    """Set every element to zero."""
    return fill_(self, 0)


def set_(self: Any, source: Any) -> Any:
    """Let the tensor have the storage of `source`."""
    set_data(self, source)
    return self


METHODS: dict[str, Any] = {
    "bfloat16": _to_dtype("bfloat16", dtypes.bfloat16),
    "bool": _to_dtype("bool", dtypes.bool),
    "byte": _to_dtype("byte", dtypes.uint8),
    "cdouble": _to_dtype("cdouble", dtypes.complex128),
    "cfloat": _to_dtype("cfloat", dtypes.complex64),
    "char": _to_dtype("char", dtypes.int8),
    "copy_": copy_,
    "cpu": cpu,
    "cuda": cuda,
    "data_ptr": data_ptr,
    "dim": dim,
    "double": _to_dtype("double", dtypes.float64),
    "element_size": element_size,
    "fill_": fill_,
    "float": _to_dtype("float", dtypes.float32),
    "half": _to_dtype("half", dtypes.float16),
    "int": _to_dtype("int", dtypes.int32),
    "is_complex": is_complex,
    "is_contiguous": is_contiguous,
    "is_floating_point": is_floating_point,
    "long": _to_dtype("long", dtypes.int64),
    "ndimension": dim,
    "nelement": numel,
    "numel": numel,
    "set_": set_,
    "short": _to_dtype("short", dtypes.int16),
    "size": size,
    "storage_offset": storage_offset,
    "stride": stride,
    "to": to,
    "type": type_,
    "type_as": type_as,
    "zero_": zero_,
}

__all__ = ["is_complex", "is_floating_point", "numel"]
