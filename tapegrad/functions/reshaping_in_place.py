"""In-place methods that change what a tensor looks like: its shape, the order of its dimensions, its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives import movement
from ..primitives.declare import Primitive
from ..primitives.type_rules import normalise_axis
from ..tape.aliases import in_place, set_data, take_place
from ..tape.buffers import buffer_is_seen, is_concrete, live_views
from ..tape.checks import check_writable
from ..tape.record import read, record
from ..tape.types import contiguous_strides, make_type
from ..tensor import Tensor
from .arguments import checked
from .reductions import product_of
from .shapes import exchanged, sizes_from, squeezing
from .strided import as_strided


def _become_view(self: Any, primitive: Primitive, parameters: tuple[Any, ...], inverse: tuple[Any, ...], name: str) -> Any:
    """Make the tensor what `primitive` makes of it. Its views stay what they are: they see it through the inverse."""
    check_writable(self)
    root = self._root()
    if root is self and root._is_shared and is_concrete(root) and buffer_is_seen(root):
        return _rearrange(self, primitive, parameters, inverse)
    result = record(primitive, (self,), parameters, name)
    if root is self:
        views = live_views(root)
        in_place(root, result)
        _see_through(views, primitive, inverse)
        return self
    self._chain = (*self._chain, (primitive.name, parameters, 0))
    take_place(self, result)
    root._version_count += 1
    return self


def _see_through(views: list[Any], primitive: Primitive, inverse: tuple[Any, ...]) -> None:
    for view in views:
        view._chain = ((primitive.name, inverse, 0), *view._chain)


def _rearrange(self: Any, primitive: Primitive, parameters: tuple[Any, ...], inverse: tuple[Any, ...]) -> Any:
    """Do it to a tensor whose memory is shared with the outside: the memory stays."""
    named = dict(zip(primitive.parameters, parameters, strict=True))
    type_ = self._node.type
    dtype, shape, strides = primitive.type_rule(type_, **named)
    self._array = primitive.numpy(self._array, **named)
    self._segment = None
    self._node = make_type(dtype, shape, strides, type_.requires_grad, False, type_.is_inference)
    self._version_count += 1
    _see_through(live_views(self), primitive, inverse)
    return self


@checked
def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions, in place."""
    axes = exchanged(self.ndim, dim0, dim1)
    return _become_view(self, movement.permute, (axes,), (axes,), "TransposeBackward1")


def t_(self: Any) -> Any:
    """Transpose a matrix, in place."""
    if self.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    axes = tuple(range(self.ndim))[::-1]
    return _become_view(self, movement.permute, (axes,), (axes,), "TBackward1")


@checked
def squeeze_(self: Any, dim: int | Sequence[int] | None = None) -> Any:
    """Remove dimensions of length 1 (those in `dim`, or all), in place."""
    parameters, name = squeezing(self, dim)
    names = {"SqueezeBackward0": "SqueezeBackward3", "SqueezeBackward1": "SqueezeBackward4", "SqueezeBackward2": "SqueezeBackward5"}
    return _become_view(self, movement.reshape, parameters, (tuple(self.shape),), names[name])


@checked
def unsqueeze_(self: Any, dim: int) -> Any:
    """Insert a dimension of length 1, in place."""
    shape = tuple(self.shape)
    axis = normalise_axis(dim, len(shape) + 1)
    return _become_view(self, movement.reshape, ((*shape[:axis], 1, *shape[axis:]),), (shape,), "UnsqueezeBackward1")


@checked
def as_strided_(self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    """Become the view of the storage with these sizes and strides, in place."""
    check_writable(self)
    view = as_strided(self, size, stride, storage_offset)
    if self._alias_of is not None:
        self._chain, self._chain_numbers = view._chain, view._chain_numbers
        take_place(self, view)
        return self
    for other in live_views(self):
        other._alias_of = None  # they keep the storage that the tensor had
    self._views = None
    return in_place(self, view)


# Other sizes


def resize_(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
    """Give the tensor this size, in place: its elements as they lie in memory, and zeros where there are not enough."""
    wanted = sizes_from("resize_", sizes, size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if any(length < 0 for length in wanted):
        raise RuntimeError(f"requested resize to {list(wanted)} with a negative length")
    if wanted == self.shape:
        return self
    type_ = self._node.type
    values = read(self)
    order = sorted(range(type_.ndim), key=lambda axis: -type_.strides[axis])
    flat = values.transpose(order).reshape(-1)
    array = np.zeros(product_of(wanted), dtypes.array_type(type_.dtype))
    count = min(flat.size, array.size)
    array[:count] = flat[:count]
    shaped = array.reshape(wanted)
    set_data(self, Tensor._wrap(shaped, make_type(type_.dtype, wanted, contiguous_strides(wanted))))
    return self


def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Give the tensor the size of another, in place."""
    return resize_(self, tuple(the_template.shape))


__all__: list[str] = []

METHODS: dict[str, Any] = {
    "as_strided_": as_strided_,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "squeeze_": squeeze_,
    "swapaxes_": transpose_,
    "swapdims_": transpose_,
    "t_": t_,
    "transpose_": transpose_,
    "unsqueeze_": unsqueeze_,
}
