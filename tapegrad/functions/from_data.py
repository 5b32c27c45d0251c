"""Tensors from data: numbers in lists, NumPy arrays, buffers, other tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..layout import preserved_strides
from ..primitives.casting import cast
from ..tape.record import read
from ..tape.types import Type
from ..tensor import Tensor
from .conversion import array_from, cast_array
from .declare import type_name
from .options import argument_error, check_placement, concrete, dtype_from, empty_array, flag_from

__all__ = ["as_tensor", "asarray", "from_numpy", "frombuffer", "tensor"]

_COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_READ_ONLY_ARRAY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this tensor "
    "will result in undefined behavior. You may want to copy the array to protect its data or make it writable before converting "
    "it to a tensor. This type of warning will be suppressed for the rest of this program."
)
_READ_ONLY_BUFFER = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
    "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or make "
    "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
_IMPLICIT_REQUIRES_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)
_warned: set[str] = set()


def _warn_once(message: str) -> None:
    """Warn the first time only, as the message promises."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, UserWarning, stacklevel=4)


# Copies


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a new tensor of these numbers; it has no history.

    Args:
        data: a number, nested sequences of numbers (NumPy's too, tensors of one element, rows that are arrays), a NumPy
            array or scalar, or a tensor.
        dtype: of the elements; by default bool, int64, the default dtype or the complex one for Python numbers, and the
            dtype that arrays have.
        device: the CPU.
        requires_grad: whether gradients flow to the tensor.
        pin_memory: accepted for PyTorch's sake; must be False.

    Raises:
        ValueError: the sequences are no array.
        TypeError, RuntimeError: something is not a number, or the dtype does not hold it.

    >>> import tapegrad
    >>> tapegrad.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    >>> tapegrad.tensor(3, dtype=tapegrad.float64, requires_grad=True)
    tensor(3., dtype=torch.float64, requires_grad=True)
    """
    check_placement("tensor", None, device, pin_memory)
    return _copy("tensor", "torch.tensor", data, dtype_from("tensor", dtype), flag_from("tensor", "requires_grad", requires_grad))


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Return what `tensor` does, by default of this tensor's dtype.

    >>> import tapegrad
    >>> tapegrad.ones(2, dtype=tapegrad.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    check_placement("new_tensor", None, device, pin_memory)
    wanted = dtype_from("new_tensor", dtype) or self.dtype
    return _copy("new_tensor", "tensor.new_tensor", data, wanted, flag_from("new_tensor", "requires_grad", requires_grad))


def _copy(name: str, shown: str, data: Any, dtype: dtypes.dtype | None, requires_grad: bool) -> Tensor:
    if isinstance(data, Tensor):
        warnings.warn(_COPY_WARNING.format(shown), UserWarning, stacklevel=3)
        return _copy_of_tensor(data, dtype or data.dtype, requires_grad)
    array = array_of(data)
    if array is not None:
        return _copy_of_array(array, dtype, requires_grad)
    numbers, found = array_from(data, dtype)
    return concrete(numbers, found, requires_grad)


def _copy_of_tensor(source: Tensor, dtype: dtypes.dtype, requires_grad: bool) -> Tensor:
    return dense_copy(read(source), source._node.type, dtype, requires_grad)


def _copy_of_array(array: np.ndarray[Any, Any], dtype: dtypes.dtype | None, requires_grad: bool) -> Tensor:
    type_ = shared(array)._node.type  # checks what cannot be a tensor even for a moment, as PyTorch does
    return dense_copy(array, type_, dtype or type_.dtype, requires_grad)


def dense_copy(array: np.ndarray[Any, Any], type_: Type, dtype: dtypes.dtype, requires_grad: bool) -> Tensor:
    """Return a tensor of a copy of the array, laid out as its type says but without gaps."""
    if type_.dtype.is_complex and dtype.category < dtypes.COMPLEX and dtype is not dtypes.bool:
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=5)
    strides = preserved_strides(type_.shape, type_.strides)
    values = empty_array(type_.shape, strides, dtype)
    np.copyto(values, cast_array(array, dtype))
    return concrete(values, dtype, requires_grad, strides)


# The same memory


def shared(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the array's memory.

    Raises:
        ValueError: its strides or byte order are none that a tensor can have.
        TypeError: nor is its dtype.
    """
    dtype = _dtype_of(array)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    result = concrete(np.asarray(array), dtype, False, tuple([stride // array.itemsize for stride in array.strides]))
    result._is_shared = True
    return result


def _dtype_of(array: np.ndarray[Any, Any]) -> dtypes.dtype:
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    return dtypes.from_array_type(array.dtype)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array: what is written to one, the other shows.

    Raises:
        TypeError: this is no array, or its dtype is none that a tensor can have.
        ValueError: its strides or byte order are none that a tensor can have.

    >>> import numpy, tapegrad
    >>> array = numpy.zeros(2)
    >>> x = tapegrad.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(array)})")
    result = shared(array)
    if not array.flags.writeable:
        _warn_once(_READ_ONLY_ARRAY)
    return result


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a 1-d tensor of the bytes of an object with the buffer protocol, whose memory it shares.

    Args:
        buffer: the object.
        dtype: what its bytes are.
        count: how many elements to read; negative for all.
        offset: how many bytes to skip at its beginning.
        requires_grad: whether gradients flow to the tensor.

    Raises:
        ValueError: the object has no buffer, or it does not hold so many elements.

    >>> import tapegrad
    >>> tapegrad.frombuffer(bytearray(b"tape"), dtype=tapegrad.uint8)
    tensor([116,  97, 112, 101], dtype=torch.uint8)
    """
    found = dtype_from("frombuffer", dtype)
    if found is None:
        raise argument_error("frombuffer", "dtype", None, "torch.dtype", dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size = _checked_count(view.nbytes, found.itemsize, count, offset)
    if view.readonly:
        _warn_once(_READ_ONLY_BUFFER)
    result = shared(np.frombuffer(buffer, dtypes.array_type(found), size, offset))
    return result.requires_grad_() if flag_from("frombuffer", "requires_grad", requires_grad) else result


def _checked_count(length: int, itemsize: int, count: int, offset: int) -> int:
    """Return how many elements to read from a buffer of this many bytes."""
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % itemsize:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                f"element size ({itemsize})"
            )
        return (length - offset) // itemsize
    if offset + count * itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return count


def array_of(data: Any) -> np.ndarray[Any, Any] | None:
    """Return the array that the data is or offers (NumPy's scalars and protocols, DLPack), or None if it is no array."""
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, np.generic) and not isinstance(data, (str, bytes)):
        return np.asarray(data)
    if hasattr(data, "__array_interface__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    return None


# The same memory where possible


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the data as a tensor: a tensor as it is, an array's memory shared, numbers copied.

    Args:
        data: what `tensor` takes.
        dtype: of the elements; another one than the data has makes a copy (differentiable, of a tensor).
        device: the CPU.

    >>> import tapegrad
    >>> tapegrad.as_tensor([1, 2], dtype=tapegrad.float32)
    tensor([1., 2.])
    """
    check_placement("as_tensor", None, device, None)
    return _as_tensor(data, dtype_from("as_tensor", dtype))


def _as_tensor(data: Any, dtype: dtypes.dtype | None) -> Tensor:
    if isinstance(data, Tensor):
        converted: Tensor = data if dtype is None or dtype is data.dtype else cast(data, dtype=dtype)
        return converted
    array = array_of(data)
    if array is None:
        numbers, found = array_from(data, dtype)
        return concrete(numbers, found)
    if dtype is not None and dtype is not _dtype_of(array):
        return _copy_of_array(array, dtype, False)
    return shared(array) if array is data else _copy_of_array(array, None, False)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """Return an object as a tensor, sharing its memory unless `copy` or `dtype` ask for more.

    Args:
        obj: a tensor, a NumPy array or scalar, an object with a buffer, or what `tensor` takes.
        dtype: of the elements; a buffer's bytes are taken as elements of the default dtype without it.
        device: the CPU.
        copy: True always copies, False never does.
        requires_grad: whether gradients flow to the tensor; None keeps what a tensor says.

    Raises:
        ValueError: `copy` is False but there has to be one.

    >>> import numpy, tapegrad
    >>> tapegrad.asarray(numpy.ones(2), dtype=tapegrad.float32)
    tensor([1., 1.])
    """
    check_placement("asarray", None, device, None)
    found = dtype_from("asarray", dtype)
    if isinstance(obj, Tensor):
        return _tensor_as_array(obj, found, copy, requires_grad)
    array = array_of(obj)
    if array is not None:
        result = _aliased(shared(array), found, copy)
    elif _has_buffer(obj):
        result = frombuffer(obj, dtype=found or dtypes.get_default_dtype())
        result = _copy_of_tensor(result, result.dtype, False) if copy else result
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result = concrete(*array_from(obj, found))
    return _requiring_grad(result) if flag_from("asarray", "requires_grad", requires_grad) else result


def _tensor_as_array(source: Tensor, dtype: dtypes.dtype | None, copy: bool | None, requires_grad: bool | None) -> Tensor:
    keeps_grad = source.requires_grad and requires_grad is not False
    if source.requires_grad and requires_grad is None:
        _warn_once(_IMPLICIT_REQUIRES_GRAD)
    result = _aliased(source if keeps_grad or not source.requires_grad else source.detach(), dtype, copy)
    return _requiring_grad(result) if requires_grad and not result.requires_grad else result


def _aliased(source: Tensor, dtype: dtypes.dtype | None, copy: bool | None) -> Tensor:
    """Return a tensor itself, or in another dtype; a copy if that is asked for."""
    wanted = dtype or source.dtype
    if wanted is not source.dtype:
        if copy is False:
            raise ValueError(f"can't alias tensor with dtype '{source.dtype.title}' into dtype '{wanted.title}'.")
        converted: Tensor = cast(source, dtype=wanted)
        return converted
    if not copy:
        return source
    copied: Tensor = source.clone()
    return copied


def _requiring_grad(result: Tensor) -> Tensor:
    if result.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return result.requires_grad_()


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


METHODS = {"new_tensor": new_tensor}
