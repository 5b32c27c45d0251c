"""Tensors filled with one number, or not at all: of a size, like another tensor, or for another tensor (`new_...`)."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from .. import dtypes
from ..layout import format_strides
from ..primitives.arithmetic import make_complex
from ..primitives.transcendental import cos, sin
from ..tape.record import here, mark_composed
from ..tape.types import Shape, contiguous_strides
from ..tensor import Tensor
from .conversion import number_as
from .declare import write_out
from .options import (
    Creation,
    Options,
    Placement,
    argument_error,
    check_tensor,
    empty_array,
    format_from,
    like_strides,
    number_from,
    size_from,
)

__all__ = [
    "complex",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "polar",
    "scalar_tensor",
    "zeros",
    "zeros_like",
]


def _filled(shape: Shape, number: Any, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    return np.full(shape, number, dtypes.array_type(dtype))


# Of a size


def zeros(*sizes: Any, size: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return a tensor of zeros; the size is given as ``zeros(2, 3)`` or ``zeros((2, 3))``.

    >>> import tapegrad
    >>> tapegrad.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    wanted = Options("zeros", options)
    try:
        shape = size_from("zeros", sizes, size)
    except RuntimeError:
        raise RuntimeError("zeros: Dimension size must be non-negative.") from None
    dtype = wanted.dtype_or()
    return wanted.finish(np.zeros(shape, dtypes.array_type(dtype)), dtype)


def ones(*sizes: Any, size: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return a tensor of ones.

    >>> import tapegrad
    >>> tapegrad.ones(2, dtype=tapegrad.int32)
    tensor([1, 1], dtype=torch.int32)
    """
    wanted = Options("ones", options)
    shape = size_from("ones", sizes, size)
    dtype = wanted.dtype_or()
    return wanted.finish(_filled(shape, 1, dtype), dtype)


def empty(*sizes: Any, size: Any = None, memory_format: Any = None, **options: Unpack[Creation]) -> Tensor:
    """Return a tensor whose elements are not set.

    >>> import tapegrad
    >>> tapegrad.empty(2, 3).shape
    torch.Size([2, 3])
    """
    wanted = Options("empty", options)
    shape = size_from("empty", sizes, size)
    found = format_from("empty", memory_format)
    strides = contiguous_strides(shape) if found is None else format_strides(shape, found)
    dtype = wanted.dtype_or()
    return wanted.finish(empty_array(shape, strides, dtype), dtype, strides)


def _size_from(name: str, size: Any) -> Shape:
    """Return a size that has to be one argument."""
    if isinstance(size, (tuple, list)):
        return size_from(name, (), size)
    raise argument_error(name, "size", 1, "tuple of ints", size)


def full(size: Any, fill_value: Any, **options: Unpack[Creation]) -> Tensor:
    """Return a tensor of one number, by default of the dtype that the number has as a tensor.

    Raises:
        RuntimeError: the dtype does not hold the number.

    >>> import tapegrad
    >>> tapegrad.full((2,), 1), tapegrad.full((2,), 1.5)
    (tensor([1, 1]), tensor([1.5000, 1.5000]))
    """
    wanted = Options("full", options)
    shape = _size_from("full", size)
    number = number_from("full", "fill_value", 2, fill_value)
    dtype = wanted.dtype_or(dtypes.of_number(type(number)))
    return wanted.finish(_filled(shape, number_as(number, dtype), dtype), dtype)


def scalar_tensor(s: Any, **options: Unpack[Placement]) -> Tensor:
    """Return a 0-d tensor of a number, by default of the default dtype.

    >>> import tapegrad
    >>> tapegrad.scalar_tensor(2)
    tensor(2.)
    """
    wanted = Options("scalar_tensor", options, takes_out=False)
    dtype = wanted.dtype_or()
    return wanted.finish(_filled((), number_as(number_from("scalar_tensor", "s", 1, s), dtype), dtype), dtype)


def empty_strided(size: Any, stride: Any, **options: Unpack[Placement]) -> Tensor:
    """Return a tensor whose elements are not set, with these strides (in elements); they may overlap.

    >>> import tapegrad
    >>> tapegrad.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return _empty_strided(Options("empty_strided", options, takes_out=False), size, stride, None)


def _empty_strided(wanted: Options, size: Any, stride: Any, default: dtypes.dtype | None) -> Tensor:
    shape = size_from(wanted.name, (), size)
    strides = tuple([int(step) for step in stride])
    if len(shape) != len(strides):
        raise RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})")
    if any(step < 0 for step in strides):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
    dtype = wanted.dtype_or(default)
    extent = 0 if 0 in shape else 1 + sum([(length - 1) * step for length, step in zip(shape, strides, strict=True)])
    buffer = np.empty(extent, dtypes.array_type(dtype))
    array = np.lib.stride_tricks.as_strided(buffer, shape, [step * dtype.itemsize for step in strides])
    return wanted.finish(array, dtype, strides)


def empty_permuted(size: Any, physical_layout: Any, **options: Unpack[Placement]) -> Tensor:
    """Return a tensor whose elements are not set, with its dimensions in this order in memory, the outermost first.

    >>> import tapegrad
    >>> tapegrad.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    wanted = Options("empty_permuted", options, takes_out=False)
    shape = size_from("empty_permuted", (), size)
    order = tuple(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    if any(not 0 <= axis < len(shape) for axis in order):
        raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {list(order)})")
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    inside = contiguous_strides(tuple([shape[axis] for axis in order]))
    strides = tuple([inside[order.index(axis)] for axis in range(len(shape))])
    dtype = wanted.dtype_or()
    return wanted.finish(empty_array(shape, strides, dtype), dtype, strides)


# Like another tensor


def _empty_like(wanted: Options, like: Tensor, memory_format: Any) -> tuple[np.ndarray[Any, Any], dtypes.dtype, Shape]:
    """Return a new array for a tensor like another one, its dtype and strides."""
    check_tensor(wanted.name, "input", 1, like)
    type_ = like._node.type
    strides = like_strides(wanted.name, type_, memory_format)
    dtype = wanted.dtype_or(type_.dtype)
    return empty_array(type_.shape, strides, dtype), dtype, strides


def empty_like(input: Tensor, *, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return a tensor of the shape, dtype and layout of another, its elements not set.

    >>> import tapegrad
    >>> tapegrad.empty_like(tapegrad.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    wanted = Options("empty_like", options, takes_out=False)
    return wanted.finish(*_empty_like(wanted, input, memory_format))


def zeros_like(input: Tensor, *, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return zeros of the shape, dtype and layout of another tensor.

    >>> import tapegrad
    >>> tapegrad.zeros_like(tapegrad.tensor([1, 2]))
    tensor([0, 0])
    """
    return _full_like(Options("zeros_like", options, takes_out=False), input, 0, memory_format)


def ones_like(input: Tensor, *, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return ones of the shape, dtype and layout of another tensor.

    >>> import tapegrad
    >>> tapegrad.ones_like(tapegrad.tensor([1, 2]), dtype=tapegrad.float32)
    tensor([1., 1.])
    """
    return _full_like(Options("ones_like", options, takes_out=False), input, 1, memory_format)


def full_like(input: Tensor, fill_value: Any, *, memory_format: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return a number repeated in the shape, dtype and layout of another tensor.

    >>> import tapegrad
    >>> tapegrad.full_like(tapegrad.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])
    """
    wanted = Options("full_like", options, takes_out=False)
    check_tensor("full_like", "input", 1, input)
    return _full_like(wanted, input, number_from("full_like", "fill_value", 2, fill_value), memory_format)


def _full_like(wanted: Options, like: Tensor, number: Any, memory_format: Any) -> Tensor:
    array, dtype, strides = _empty_like(wanted, like, memory_format)
    array.fill(number_as(number, dtype))
    return wanted.finish(array, dtype, strides)


# For another tensor


def new_empty(self: Tensor, *sizes: Any, size: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return a tensor whose elements are not set, by default of this tensor's dtype.

    >>> import tapegrad
    >>> tapegrad.ones(2).new_empty(3).shape
    torch.Size([3])
    """
    wanted = Options("new_empty", options, takes_out=False)
    shape = size_from("new_empty", sizes, size)
    dtype = wanted.dtype_or(self.dtype)
    return wanted.finish(np.empty(shape, dtypes.array_type(dtype)), dtype)


def new_zeros(self: Tensor, *sizes: Any, size: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return zeros, by default of this tensor's dtype.

    >>> import tapegrad
    >>> tapegrad.tensor([1, 2]).new_zeros(3)
    tensor([0, 0, 0])
    """
    wanted = Options("new_zeros", options, takes_out=False)
    shape = size_from("new_zeros", sizes, size)
    dtype = wanted.dtype_or(self.dtype)
    return wanted.finish(np.zeros(shape, dtypes.array_type(dtype)), dtype)


def new_ones(self: Tensor, *sizes: Any, size: Any = None, **options: Unpack[Placement]) -> Tensor:
    """Return ones, by default of this tensor's dtype.

    >>> import tapegrad
    >>> tapegrad.tensor([1, 2]).new_ones(1, 2)
    tensor([[1, 1]])
    """
    wanted = Options("new_ones", options, takes_out=False)
    shape = size_from("new_ones", sizes, size)
    dtype = wanted.dtype_or(self.dtype)
    return wanted.finish(_filled(shape, 1, dtype), dtype)


def new_full(self: Tensor, size: Any, fill_value: Any, **options: Unpack[Placement]) -> Tensor:
    """Return a number repeated, by default in this tensor's dtype.

    >>> import tapegrad
    >>> tapegrad.ones(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    wanted = Options("new_full", options, takes_out=False)
    shape = _size_from("new_full", size)
    dtype = wanted.dtype_or(self.dtype)
    return wanted.finish(_filled(shape, number_as(number_from("new_full", "fill_value", 2, fill_value), dtype), dtype), dtype)


def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Unpack[Placement]) -> Tensor:
    """Return what `empty_strided` does, by default of this tensor's dtype."""
    return _empty_strided(Options("new_empty_strided", options, takes_out=False), size, stride, self.dtype)


# Complex numbers


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:  # noqa: A001 - PyTorch's name for it
    """Return the complex numbers with these real and imaginary parts, of one floating dtype.

    >>> import tapegrad
    >>> tapegrad.complex(tapegrad.tensor([1.0]), tapegrad.tensor([2.0]))
    tensor([1.+2.j])
    """
    check_tensor("complex", "real", 1, real)
    check_tensor("complex", "imag", 2, imag)
    result: Tensor = make_complex(real, imag)
    return result if out is None else write_out("complex", out, result, real, imag)


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex numbers with these absolute values and angles, of one floating dtype.

    >>> import tapegrad
    >>> tapegrad.polar(tapegrad.tensor([2.0]), tapegrad.tensor([0.0]))
    tensor([2.+0.j])
    """
    check_tensor("polar", "abs", 1, abs)
    check_tensor("polar", "angle", 2, angle)
    for part in (abs, angle):
        if not part.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected both inputs to be Half, Float or Double tensors but got {abs.dtype.title} and {angle.dtype.title}"
            )
    if abs.dtype is not angle.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {abs.dtype.title} but got scalar type {angle.dtype.title} for second argument"
        )
    start = here()
    result: Tensor = make_complex(abs * cos(angle), abs * sin(angle))
    mark_composed("PolarBackward0", result, start)
    return result if out is None else write_out("polar", out, result, abs, angle)


METHODS = {
    "new_empty": new_empty,
    "new_empty_strided": new_empty_strided,
    "new_full": new_full,
    "new_ones": new_ones,
    "new_zeros": new_zeros,
}
