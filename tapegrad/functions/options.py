"""What the functions that make tensors have in common: sizes, keywords, and where the result goes."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from .. import dtypes
from ..device import Device
from ..layout import format_strides, layout, memory_format, preserve_format, preserved_strides, strided
from ..random import Generator
from ..tape import aliases, checks
from ..tape.segment import state
from ..tape.trace import NUMBERS
from ..tape.types import Shape, Type, make_type
from ..tensor import Tensor
from .declare import type_name

_NUMBER_CLASSES: tuple[Any, ...] = (int, float, complex)
_PYTHON_DTYPES = {bool: dtypes.bool, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


class Placement(TypedDict, total=False):
    """The keywords of every function that makes a tensor.

    ``dtype`` of the elements, ``requires_grad`` whether gradients flow to the tensor; ``layout``, ``device`` and
    ``pin_memory`` are accepted for PyTorch's sake: tensors are strided and on the CPU.
    """

    dtype: dtypes.dtype | type | None
    layout: layout | None
    device: Device | str | None
    pin_memory: bool | None
    requires_grad: bool | None


class Creation(Placement, total=False):
    """The keywords of a function that can also write its result into a tensor, ``out``."""

    out: Tensor | None


class Options:
    """The keywords that a function called `name` was given, checked."""

    __slots__ = ("name", "dtype", "requires_grad", "out")

    dtype: dtypes.dtype | None
    out: Tensor | None

    def __init__(self, name: str, given: Any, *, takes_out: bool = True) -> None:
        self.name = name
        self.dtype = self.out = None
        self.requires_grad = False
        if given:
            self._read(given, takes_out)

    def _read(self, given: dict[str, Any], takes_out: bool) -> None:
        for keyword in given:
            if keyword not in Placement.__annotations__ and not (takes_out and keyword == "out"):
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{keyword}'")
        self.dtype = dtype_from(self.name, given.get("dtype"))
        self.requires_grad = flag_from(self.name, "requires_grad", given.get("requires_grad"))
        self.out = given.get("out")
        check_placement(self.name, given.get("layout"), given.get("device"), given.get("pin_memory"))
        if self.out is not None:
            self._check_out(self.out)

    def _check_out(self, out: Any) -> None:
        check_tensor(self.name, "out", None, out)
        if self.dtype is not None and self.dtype is not out.dtype:
            raise RuntimeError(f"dtype {self.dtype.title} does not match dtype of out parameter ({out.dtype.title})")
        if out.requires_grad and state.grad_enabled:
            raise RuntimeError(
                f"aten::{self.name}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )

    def dtype_or(self, default: dtypes.dtype | None = None) -> dtypes.dtype:
        """Return the dtype asked for, that of `out`, or else the default (which defaults to the default dtype)."""
        if self.dtype is not None:
            return self.dtype
        if self.out is not None:
            return self.out.dtype
        return default or dtypes.get_default_dtype()

    def finish(self, array: np.ndarray[Any, Any], dtype: dtypes.dtype, strides: Shape | None = None) -> Tensor:
        """Return the tensor around a new array, or `out` with its value."""
        if self.out is None:
            return concrete(array, dtype, self.requires_grad, strides)
        _write(self.out, concrete(array, dtype, False, strides))
        return self.out.requires_grad_() if self.requires_grad else self.out


def concrete(
    array: np.ndarray[Any, Any], dtype: dtypes.dtype, requires_grad: bool = False, strides: Shape | None = None
) -> Tensor:
    """Return a tensor around an array that nobody else writes to; its strides default to the contiguous ones."""
    if requires_grad and dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor._wrap(array, make_type(dtype, array.shape, strides, requires_grad, False, state.inference))


def empty_array(shape: Shape, strides: Shape, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Return a new array, its elements not set, with the dimensions in the order in memory that these dense strides have."""
    array_type = dtypes.array_type(dtype)
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    if order == list(range(len(shape))):
        return np.empty(shape, array_type)
    if order == list(range(len(shape)))[::-1]:
        return np.empty(shape, array_type, order="F")
    return np.empty([shape[axis] for axis in order], array_type).transpose(np.argsort(order))


def _write(out: Tensor, result: Tensor) -> None:
    """Write a concrete result of the right dtype into `out`, which takes on its shape."""
    if out.shape == result.shape:
        checks.check_writable(out)
        aliases.in_place(out, result)
    else:
        out.data = result


# Arguments. Each function returns one as it is used, or raises the TypeError that PyTorch raises.


def argument_error(name: str, argument: str, position: int | None, expected: str, value: Any) -> TypeError:
    """Return the error for an argument of the wrong type; `position` counts from 1, None is a keyword."""
    where = "" if position is None else f" (position {position})"
    return TypeError(f"{name}(): argument '{argument}'{where} must be {expected}, not {type_name(value)}")


def check_tensor(name: str, argument: str, position: int | None, value: Any) -> None:
    """Raise TypeError unless the argument is a tensor."""
    if not isinstance(value, Tensor):
        raise argument_error(name, argument, position, "Tensor", value)


def dtype_from(name: str, value: Any) -> dtypes.dtype | None:
    """Return a dtype; a Python number class stands for the dtype of its precision."""
    if value is None or isinstance(value, dtypes.dtype):
        return value
    found = _PYTHON_DTYPES.get(value) if isinstance(value, type) else None
    if found is None:
        raise argument_error(name, "dtype", None, "torch.dtype", value)
    return found


def flag_from(name: str, argument: str, value: Any) -> bool:
    """Return a bool; None is False."""
    if value is None or isinstance(value, bool):
        return bool(value)
    raise argument_error(name, argument, None, "bool", value)


def check_placement(name: str, given_layout: Any, device: Any, pin_memory: Any) -> None:
    """Raise for a layout or device that there is not."""
    if given_layout is not None and given_layout is not strided and given_layout != "torch.strided":
        raise argument_error(name, "layout", None, "torch.layout", given_layout)
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if isinstance(device, str):
        Device(device)
    elif device is not None and not isinstance(device, Device):
        raise argument_error(name, "device", None, "torch.device", device)
    if flag_from(name, "pin_memory", pin_memory):
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; "
            "no pinned memory allocator is available on this system."
        )


def check_generator(name: str, generator: Any) -> None:
    """Raise TypeError unless the argument is a generator or None."""
    if generator is not None and not isinstance(generator, Generator):
        raise argument_error(name, "generator", None, "torch.Generator", generator)


def integer_from(name: str, argument: str, position: int, value: Any) -> int:
    """Return an int: Python's, NumPy's or that of a tensor of one integer."""
    if value.__class__ is int:
        return value
    if not isinstance(value, (bool, np.bool_)):
        try:
            return int(value.__index__())
        except (AttributeError, TypeError):
            pass
    raise argument_error(name, argument, position, "int", value)


def number_from(name: str, argument: str, position: int, value: Any) -> Any:
    """Return a Python number: one already, NumPy's, or that of a 0-d tensor which does not require grad."""
    if value.__class__ in NUMBERS:
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item()
    if isinstance(value, (int, float, complex)):
        return next(base(value) for base in _NUMBER_CLASSES if isinstance(value, base))
    if isinstance(value, Tensor) and value.ndim == 0 and not value.requires_grad:
        return value.item()
    raise argument_error(name, argument, position, "Number", value)


def float_from(name: str, argument: str, position: int, value: Any) -> float:
    """Return a real number as a float."""
    try:
        return float(number_from(name, argument, position, value))
    except TypeError:
        raise argument_error(name, argument, position, "float", value) from None


def size_from(name: str, sizes: tuple[Any, ...], size: Any = None, *, position: int = 1) -> Shape:
    """Return the shape given as ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    if size is not None:
        if sizes:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        if not isinstance(size, (tuple, list)):
            raise argument_error(name, "size", None, "tuple of ints", size)
        sizes = tuple(size)
    elif not sizes:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    elif len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        size = sizes[0]
        sizes = tuple(size)
    shape = tuple([length if length.__class__ is int else _length_from(name, sizes, size, position, length) for length in sizes])
    for length in shape:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")
    return shape


def _length_from(name: str, sizes: tuple[Any, ...], given: Any, position: int, length: Any) -> int:
    try:
        return integer_from(name, "size", position, length)
    except TypeError:
        place = next(place for place, other in enumerate(sizes) if other is length)
        if place:
            raise TypeError(
                f"{name}(): argument 'size' failed to unpack the object at pos {place + 1} with error "
                f'"type must be tuple of ints,but got {type_name(length)}"'
            ) from None
        if given is None:
            raise argument_error(name, "size", position, "tuple of ints", length) from None
        raise TypeError(
            f"{name}(): argument 'size' (position {position}) must be tuple of ints, "
            f"but found element of type {type_name(length)} at pos 0"
        ) from None


def format_from(name: str, value: Any) -> memory_format | None:
    """Return a memory format, or None."""
    if value is None or isinstance(value, memory_format):
        return value
    raise argument_error(name, "memory_format", None, "torch.memory_format", value)


def like_strides(name: str, type_: Type, wanted: Any) -> Shape:
    """Return the strides of a new tensor like one of this type."""
    found = format_from(name, wanted)
    if found is None or found is preserve_format:
        return preserved_strides(type_.shape, type_.strides)
    return format_strides(type_.shape, found)
