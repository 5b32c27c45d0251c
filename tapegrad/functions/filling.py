"""New values for a whole tensor, in place: another's, one number, or a Python function of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives.casting import cast
from ..primitives.copying import overwrite
from ..primitives.movement import alias, expand
from ..tape.aliases import in_place, set_data
from ..tape.checks import check_writable
from ..tape.constants import full
from ..tape.record import here, mark_composed, read, record
from ..tape.segment import state
from ..tensor import Tensor
from .conversion import number_as
from .declare import c_name, operand, require_tensor
from .in_place import check_overlap, write
from .matrices import diagonal
from .splitting import narrow
from .strided import as_strided

_COPY = "torch::autograd::CopyBackwards"


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy the values of `src`, broadcast and cast to this tensor's type, into this tensor.

    >>> import tapegrad
    >>> tapegrad.zeros(2).copy_(tapegrad.tensor([1, 2]))
    tensor([1., 2.])
    """
    source = operand("copy_", src, "other", 1)
    if not isinstance(source, Tensor):
        source = Tensor._from_array(np.asarray(source))
    check_writable(self)
    check_overlap(self, (source,))
    type_ = self._node.type
    if source._node.type.shape != type_.shape:
        _check_expands(type_.shape, source._node.type.shape)
    if _goes_on(self):
        return write(self, record(overwrite, (self, source), (), _COPY))
    start = here()
    if source.dtype is not type_.dtype:
        source = record(cast, (source,), (type_.dtype,), _COPY)
    if source._node.type.shape != type_.shape:
        source = record(expand, (source,), (type_.shape,), _COPY)
    if source is src:
        source = record(alias, (source,), (), _COPY)
    if source.requires_grad:
        mark_composed(_COPY, source, start)
    return write(self, source)


def _check_expands(shape: tuple[int, ...], source: tuple[int, ...]) -> None:
    ndim = max(len(shape), len(source))
    for back in range(1, min(len(shape), len(source)) + 1):
        here, there = shape[-back], source[-back]
        if here != there and 1 not in (here, there):
            raise RuntimeError(
                f"The size of tensor a ({here}) must match the size of tensor b ({there}) at non-singleton dimension {ndim - back}"
            )
    lengths = zip((1,) * (ndim - len(shape)) + shape, (1,) * (ndim - len(source)) + source, strict=True)
    broadcast = [there if here == 1 else here for here, there in lengths]
    if broadcast != list(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {broadcast}")


def _goes_on(self: Any) -> bool:
    """Whether the tensor is in a graph that goes on to what it was before, which gets a gradient of zeros."""
    return state.grad_enabled and self.requires_grad and self._base is None


def fill_(self: Any, value: Any) -> Any:
    """Set every element to `value`, a number or a 0-d tensor.

    >>> import tapegrad
    >>> tapegrad.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    name = "FillBackward3" if isinstance(value, Tensor) else "FillBackward2"
    return _fill(self, operand("fill_", value, "value", 1), name)


def _fill(self: Any, value: Any, name: str) -> Any:
    if self._node.type.overlaps:
        _fill(_without_repeats(self), value, name)
        return self
    check_writable(self)
    if _goes_on(self):
        _check_number(value)
        return write(self, record(overwrite, (self, value), (), name))
    filled = _filled(self, value, name)
    if state.capture is not None:  # the tape has to say that this tensor is written to
        filled = record(overwrite, (self, filled), (), name)
    return write(self, filled)


def _without_repeats(self: Any) -> Any:
    """Return a view that has each element in memory of an expanded tensor once."""
    for axis, stride in enumerate(self._node.type.strides):
        if stride == 0:
            self = narrow(self, axis, 0, min(1, self.shape[axis]))
    return self


def _check_number(value: Any) -> None:
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")


def _filled(self: Any, value: Any, name: str) -> Any:
    """Return a tensor like this one with one value everywhere."""
    type_ = self._node.type
    value = operand("fill_", value, "value", 1)
    if not isinstance(value, Tensor):
        return full(type_.shape, number_as(value, type_.dtype), type_.dtype)
    _check_number(value)
    if value.dtype is not type_.dtype:
        value = cast(value, dtype=type_.dtype)
    return record(expand, (value,), (type_.shape,), name)


def fill(input: Any, value: Any) -> Any:
    """Return a tensor like the input with every element set to `value`, a number or a 0-d tensor."""
    require_tensor("fill", input)
    name = "FillBackward1" if isinstance(value, Tensor) else "FillBackward0"
    if state.grad_enabled and input.requires_grad:
        _check_number(value)
        return record(overwrite, (input, value), (), name)
    return _filled(input, value, name).clone()


def zero_(self: Any) -> Any:
    """Set every element to zero."""
    return _fill(self, 0, "ZeroBackward0")


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Set the main diagonal to a number; with `wrap`, a new one begins below where a tall matrix's ends."""
    shape = tuple(self.shape)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    check_writable(self)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        places = np.arange(0, shape[0] * shape[1], shape[1] + 1)
        mask = np.zeros(shape, bool)
        mask.reshape(-1)[places] = True
        self.masked_fill_(Tensor._from_array(mask), fill_value)
    elif len(shape) == 2:
        fill_(diagonal(self), fill_value)
    else:
        mask = np.zeros(shape, bool)
        mask[(np.arange(shape[0]),) * len(shape)] = True
        self.masked_fill_(Tensor._from_array(mask), fill_value)
    return self


def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Let the tensor have the storage of `source` (without it: none, and no elements)."""
    if source is None:
        source = full((0,), 0, self.dtype)
    check_writable(self)
    if require_tensor("set_", source, "source", 2).dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {c_name(source.dtype)} to a tensor of type {c_name(self.dtype)}")
    if size is not None:
        source = as_strided(source, size, source.new_empty(size).stride() if stride is None else stride, storage_offset)
    set_data(self, source)
    return self


# Python functions of each element


def _refuse_grad(name: str, self: Any) -> None:
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


def _mapped(self: Any, function: Callable[..., Any], *others: Any) -> Any:
    check_writable(self)
    arrays = [np.broadcast_to(read(other), tuple(self.shape)).reshape(-1).tolist() for other in (self, *others)]
    values = [function(*parts) for parts in zip(*arrays, strict=True)]
    array = np.array(values).astype(dtypes.array_type(self.dtype)).reshape(tuple(self.shape))
    return in_place(self, Tensor._from_array(array))


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it; slow."""
    _refuse_grad("apply_", self)
    return _mapped(self, callable)


def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and that of another tensor; slow."""
    _refuse_grad("map_", self)
    return _mapped(self, callable, tensor)


def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and those of two other tensors; slow."""
    _refuse_grad("map2_", self)
    return _mapped(self, callable, x, y)


__all__ = ["fill"]

METHODS: dict[str, Any] = {
    "apply_": apply_,
    "copy_": copy_,
    "fill_": fill_,
    "fill_diagonal_": fill_diagonal_,
    "map2_": map2_,
    "map_": map_,
    "set_": set_,
    "zero_": zero_,
}
