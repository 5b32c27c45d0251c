"""PyTorch's values and functions as tapegrad's, so that one sample can be given to both libraries."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import torch

import tapegrad
from tapegrad import dtypes
from tapegrad.tape.types import make_type

_DTYPES = {
    getattr(torch, dtype.name): dtype for dtype in vars(dtypes).values() if isinstance(dtype, dtypes.dtype)
}
_FORMATS = {
    getattr(torch, name): getattr(tapegrad, name)
    for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
}
MOST_DIMENSIONS = 64  # NumPy's limit; PyTorch has none


class Untranslatable(Exception):  # noqa: N818 - it is a verdict, not an error
    """A value that tapegrad has no counterpart of, such as a sparse tensor or one of float8."""


# Values


class _Copies:
    """New leaves for the tensors of one sample: what shares memory or is given twice stays so."""

    def __init__(self, sample: Any) -> None:
        self.known: dict[int, Any] = {}
        self.memory: dict[int, Any] = {}
        self.users: dict[int, int] = {}
        for tensor in _tensors_in(sample):
            if tensor.layout is torch.strided:
                self.users[_place(tensor)] = self.users.get(_place(tensor), 0) + 1

    def leaf(self, tensor: Any) -> Any:
        """Return the copy of a tensor, as a leaf that requires grad if the tensor does."""
        if id(tensor) not in self.known:
            self.known[id(tensor)] = self.new_leaf(_plain(tensor), tensor.requires_grad)
        return self.known[id(tensor)]

    def new_leaf(self, plain: Any, requires_grad: bool) -> Any:
        memory = self.memory.setdefault(_place(plain), plain.untyped_storage().clone())
        copied = torch.empty(0, dtype=plain.dtype).set_(memory, plain.storage_offset(), plain.shape, plain.stride())
        return copied.requires_grad_(requires_grad)

    def constant(self, value: Any) -> Any:
        """Return what stands for a value that is no tensor."""
        return value


class _TapegradCopies(_Copies):
    def new_leaf(self, plain: Any, requires_grad: bool) -> Any:
        offset, shape, steps = plain.storage_offset(), tuple(plain.shape), tuple(plain.stride())
        memory = as_array(torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage())).copy()
        if self.users.get(_place(plain), 1) > 1:
            memory = self.memory.setdefault(_place(plain), tapegrad.Tensor._from_array(memory))
            return memory.as_strided(shape, steps, offset).requires_grad_(requires_grad)
        array = np.lib.stride_tricks.as_strided(memory[offset:], shape, [step * memory.itemsize for step in steps])
        return tapegrad.Tensor._wrap(array, make_type(_DTYPES[plain.dtype], shape, steps, requires_grad, False, False))

    def constant(self, value: Any) -> Any:
        return _tapegrad_constant(value)


def for_torch(sample: Any) -> Any:
    """Return nested values with new leaves for the tensors in them."""
    return _translated(sample, _Copies(sample))


def for_tapegrad(sample: Any) -> Any:
    """Return nested values of PyTorch's as tapegrad's, or raise Untranslatable."""
    return _translated(sample, _TapegradCopies(sample))


def _translated(value: Any, copies: _Copies) -> Any:
    if isinstance(value, torch.Tensor):
        return copies.leaf(value)
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        parts = [_translated(part, copies) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: _translated(part, copies) for name, part in value.items()}
    if isinstance(value, slice):
        return slice(*[_translated(part, copies) for part in (value.start, value.stop, value.step)])
    return copies.constant(value)


def _tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, slice):
        return _tensors_in([value.start, value.stop, value.step])
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return list({id(tensor): tensor for part in parts for tensor in _tensors_in(part)}.values())


def _place(tensor: Any) -> int:
    """Return what is the same for tensors that share memory, and for no others."""
    storage = tensor.untyped_storage()
    return storage.data_ptr() or -id(tensor)


def _plain(tensor: Any) -> Any:
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.dtype not in _DTYPES or not tensor.is_cpu:
        raise Untranslatable(f"a tensor of layout {tensor.layout} and dtype {tensor.dtype} on {tensor.device}")
    if tensor.ndim > MOST_DIMENSIONS:
        raise Untranslatable(f"a tensor of {tensor.ndim} dimensions")
    return tensor.detach().resolve_conj().resolve_neg()


def as_array(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the values of a tensor of either library, without history, as an array."""
    detached = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        array: np.ndarray[Any, Any] = detached.view(torch.int16).numpy().view(dtypes.array_type(tapegrad.bfloat16))
    else:
        array = detached.numpy(force=True)
    return array


def _tapegrad_constant(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        if value not in _DTYPES:
            raise Untranslatable(str(value))
        return _DTYPES[value]
    if isinstance(value, torch.layout):
        if value is not torch.strided:
            raise Untranslatable(str(value))
        return tapegrad.strided
    if isinstance(value, torch.memory_format):
        return _FORMATS[value]
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, types.FunctionType):
        return with_tapegrad(value)
    if isinstance(value, torch.nn.Module):
        raise Untranslatable(f"a module {type(value).__name__}")
    return find(value) if callable(value) else value


# Functions


def find(function: Any) -> Any:
    """Return tapegrad's function for one of PyTorch's or of its tests, or raise AttributeError."""
    if isinstance(function, functools.partial):
        return functools.partial(find(function.func), *function.args, **function.keywords)
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing"):
        return with_tapegrad(function)
    for prefix, place in _PLACES:
        if getattr(place, function.__name__, None) is function:
            return attribute(f"{prefix}{function.__name__}")
    raise AttributeError(f"nothing stands for {function}")


_PLACES = (
    ("", torch),
    ("Tensor.", torch.Tensor),
    ("nn.functional.", torch.nn.functional),
    ("linalg.", torch.linalg),
    ("special.", torch.special),
    ("fft.", torch.fft),
)


def attribute(path: str) -> Any:
    """Return what tapegrad has under a dotted name, or raise AttributeError."""
    found: Any = tapegrad
    for name in path.split("."):
        found = getattr(found, name)
    return found


def with_tapegrad(function: Any) -> Any:
    """Return a function of PyTorch's tests that means tapegrad where it says ``torch``."""
    if function.__name__ == "wrapper_set_seed":
        return _from_seed
    names = {**function.__globals__, "torch": tapegrad}
    for name in function.__code__.co_names:
        if isinstance(names.get(name), types.FunctionType):
            names[name] = with_tapegrad(names[name])
    cells = None
    if function.__closure__ is not None:
        contents = [cell.cell_contents for cell in function.__closure__]
        cells = tuple([types.CellType(with_tapegrad(it) if isinstance(it, types.FunctionType) else it) for it in contents])
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _from_seed(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function with the generator in the state that PyTorch's tests put theirs in."""
    state = tapegrad.get_rng_state()
    tapegrad.manual_seed(42)
    try:
        return function(*arguments, **options)
    finally:
        tapegrad.set_rng_state(state)
