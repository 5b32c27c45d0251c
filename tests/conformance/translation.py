"""PyTorch's values as tapegrad's, so that one sample can be given to both libraries."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tapegrad
from tapegrad import dtypes
from tapegrad.tape.types import make_type

_DTYPES = {
    getattr(torch, dtype.name): dtype for dtype in vars(dtypes).values() if isinstance(dtype, dtypes.dtype)
}
_FORMATS = {getattr(torch, name): getattr(tapegrad, name) for name in ("contiguous_format", "preserve_format", "channels_last")}
_FORMATS[torch.channels_last_3d] = tapegrad.channels_last_3d


class Untranslatable(Exception):
    """A value that tapegrad has no counterpart of, such as a sparse tensor or a float8 dtype."""


def copy_for_torch(value: Any) -> Any:
    """Return nested values with each tensor in them copied, as a leaf that requires grad if the tensor did."""
    return _translated(value, _copied_leaf, lambda other: other, {})


def copy_for_tapegrad(value: Any) -> Any:
    """Return nested values as tapegrad's, with new leaves."""
    return _translated(value, _leaf, _constant, {})


def _translated(
    value: Any, of_tensor: Callable[[Any], Any], of_other: Callable[[Any], Any], known: dict[int, Any]
) -> Any:
    if isinstance(value, torch.Tensor):
        if id(value) not in known:  # one tensor given twice stays one tensor
            known[id(value)] = of_tensor(value)
        return known[id(value)]
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_translated(part, of_tensor, of_other, known) for part in value])
    if isinstance(value, (list, tuple)):
        return type(value)([_translated(part, of_tensor, of_other, known) for part in value])
    if isinstance(value, dict):
        return {name: _translated(part, of_tensor, of_other, known) for name, part in value.items()}
    return of_other(value)


def _plain(tensor: Any) -> Any:
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.dtype not in _DTYPES:
        raise Untranslatable(f"a tensor of {tensor.layout} and {tensor.dtype}")
    return tensor.detach().resolve_conj().resolve_neg()


def _copied_leaf(tensor: Any) -> Any:
    plain = _plain(tensor)
    storage = plain.untyped_storage().clone()
    copied = torch.empty(0, dtype=plain.dtype).set_(storage, plain.storage_offset(), plain.shape, plain.stride())
    return copied.requires_grad_(tensor.requires_grad)


def _leaf(tensor: Any) -> Any:
    """Return a leaf with the tensor's values and strides, its memory as far as the tensor reaches copied."""
    plain = _plain(tensor)
    dtype = _DTYPES[plain.dtype]
    memory = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage())
    array = as_array(memory).copy()[plain.storage_offset() :]
    strides = [stride * array.itemsize for stride in plain.stride()]
    view = np.lib.stride_tricks.as_strided(array, plain.shape, strides)
    return tapegrad.Tensor._wrap(view, make_type(dtype, tuple(plain.shape), plain.stride(), tensor.requires_grad, False, False))


def as_array(tensor: Any) -> np.ndarray[Any, Any]:
    """Return a tensor of PyTorch's that does not require grad as an array."""
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(dtypes.array_type(tapegrad.bfloat16))
    return tensor.numpy()


def _constant(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        if value not in _DTYPES:
            raise Untranslatable(str(value))
        return _DTYPES[value]
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.memory_format):
        return _FORMATS[value]
    if isinstance(value, torch.layout):
        if value is not torch.strided:
            raise Untranslatable(str(value))
        return tapegrad.strided
    if isinstance(value, slice):
        return slice(*[_constant_or_leaf(part) for part in (value.start, value.stop, value.step)])
    if isinstance(value, types.FunctionType):
        return of_tapegrad(value)
    return value


def _constant_or_leaf(value: Any) -> Any:
    return copy_for_tapegrad(value)


def of_tapegrad(function: Any) -> Any:
    """Return a function of PyTorch's tests that means tapegrad where it says ``torch``."""
    names = {**function.__globals__, "torch": tapegrad}
    if function.__closure__ is not None:
        cells = tuple([types.CellType(_in_tapegrad(cell.cell_contents)) for cell in function.__closure__])
    else:
        cells = None
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)


def _in_tapegrad(value: Any) -> Any:
    return of_tapegrad(value) if isinstance(value, types.FunctionType) else value
