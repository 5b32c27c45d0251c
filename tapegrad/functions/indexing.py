"""Indexing with brackets: reading, ``x[1:3, None, mask]``, and writing.

Integers, slices, None and Ellipsis make views, one after the other as in PyTorch; then index tensors and masks, if there
are any, gather from the last view. Where a slice starts and which element is selected are run-time numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..primitives.indexing import check_positions, index_put, result_shape
from ..primitives.indexing import index as gather_at
from ..primitives.masking import masked_fill
from ..primitives.movement import alias, expand, reshape, select, slice_axis
from ..primitives.positions import check_number, fill_value
from ..tape.aliases import in_place, make_view
from ..tape.buffers import is_concrete
from ..tape.checks import check_writable
from ..tape.record import look_at, read
from ..tape.segment import in_grad_mode
from ..tape.types import Shape
from ..tensor import Tensor
from .declare import type_name
from .in_place import check_overlap

# A view: primitive, numbers, static parameters, and the name that grad_fn shows (None for the primitive's own).
Step = tuple[Any, tuple[Any, ...], tuple[Any, ...], str | None]

_SEQUENCE_AS_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which "
    "will result either in an error or a different result"
)
_BYTE_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


class Plan:
    """What an index does to a tensor of a shape: `steps` of views; then `tensors`, each with the axis it indexes.

    `shape` is that after the steps. A tensor of bool is a mask and indexes as many axes as it has dimensions.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.steps: list[Step] = []
        self.tensors: list[tuple[int, Tensor]] = []

    def select(self, axis: int, position: Any, place: int = 0) -> None:
        """Take one position of an axis, which goes; errors name the place in the index, as PyTorch's do."""
        size = self.shape[axis]
        if isinstance(position, int):
            position = _checked(position, place, size)
        self.steps.append((select, (position,), (axis,), None))
        self.shape = (*self.shape[:axis], *self.shape[axis + 1 :])

    def cut(self, axis: int, piece: slice, always: bool = False) -> None:
        """Take a slice of an axis; one that takes everything is no step unless `always`."""
        size = self.shape[axis]
        if piece.step is not None and piece.step.__index__() < 0:
            raise ValueError("step must be greater than zero")
        start, stop, step = piece.indices(size)
        length = len(range(start, stop, step))
        if length == size and step == 1 and not always:
            return
        self.steps.append((slice_axis, (start,), (axis, length, step), None))
        self.shape = (*self.shape[:axis], length, *self.shape[axis + 1 :])

    def insert(self, axis: int) -> None:
        """Insert an axis of length 1."""
        self.shape = (*self.shape[:axis], 1, *self.shape[axis:])
        self.steps.append((reshape, (), (self.shape,), "UnsqueezeBackward0"))

    def index(self, axis: int, tensor: Tensor) -> None:
        """Index axes with a tensor of positions, or with a mask."""
        self.tensors.append((axis, tensor))

    def view(self, tensor: Any) -> Any:
        """Return the tensor after the steps."""
        for primitive, numbers, parameters, name in self.steps:
            tensor = make_view(tensor, primitive, numbers, parameters, name)
        return tensor

    def positions(self) -> tuple[list[Tensor], tuple[str, ...]]:
        """Return index tensors, masks turned into positions (this reads them), and the pattern of the axes they index.

        Positions that are known already are checked here, unless nothing is read; the others when they are read.
        """
        pattern = [":"] * len(self.shape)
        found: list[Tensor] = []
        for axis, tensor in self.tensors:
            parts = self._masked(axis, tensor) if tensor.dtype is dtypes.bool else [tensor]
            pattern[axis : axis + len(parts)] = ["i"] * len(parts)
            found += parts
        if 0 not in result_shape(self.shape, [tensor._node.type for tensor in found], tuple(pattern)):
            sizes = [size for size, kind in zip(self.shape, pattern, strict=True) if kind == "i"]
            check_positions([look_at(tensor) if is_concrete(tensor) else None for tensor in found], sizes)
        return found, tuple(pattern)

    def check_mask(self, axis: int, mask: Tensor) -> None:
        """Raise for a mask that does not have the lengths of the axes it indexes."""
        for at, length in enumerate(mask.shape):
            if length != self.shape[axis + at]:
                raise IndexError(
                    f"The shape of the mask {list(mask.shape)} at index {at} does not match the shape of the indexed tensor "
                    f"{list(self.shape)} at index {axis + at}"
                )

    def _masked(self, axis: int, mask: Tensor) -> list[Tensor]:
        self.check_mask(axis, mask)
        return [Tensor._from_array(places) for places in np.nonzero(read(mask))]


def _checked(position: int, axis: int, size: int) -> int:
    """Return a position counted from the front, or raise for one out of range."""
    if not -size <= position < size:
        _check_long(position)
        raise IndexError(f"index {position} is out of bounds for dimension {axis} with size {size}")
    return int(position) + size if position < 0 else int(position)


def _check_long(value: Any) -> None:
    """Raise for an integer that has more than 64 bits."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")


# From an index as the user writes it to a plan


def parse_index(shape: Shape, index: Any) -> Plan:
    """Return what an index does to a tensor of this shape.

    Raises IndexError, TypeError or ValueError, as PyTorch does, for an index that does not fit.
    """
    plan = Plan(shape)
    entries = []
    for entry in _as_tuple(index):
        entries.append(_entry(entry))  # no comprehension: warnings count frames, and it may be one
    taken = sum(_axes_taken(entry) for entry in entries)
    if taken > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    axis = 0
    for position, entry in enumerate(entries):
        if entry is None:
            plan.insert(axis)
            axis += 1
        elif entry is Ellipsis:
            axis += len(shape) - taken
        elif isinstance(entry, bool):
            plan.insert(axis)
            plan.index(axis, Tensor._from_array(np.array([entry])))
            axis += 1
        elif isinstance(entry, slice):
            plan.cut(axis, entry)
            axis += 1
        elif isinstance(entry, int):
            plan.select(axis, entry, position)
        elif entry.ndim == 0 and entry.dtype is not dtypes.bool:
            plan.select(axis, _position(entry), position)
        elif entry.ndim == 0:
            plan.insert(axis)
            plan.index(axis, reshape(entry, shape=(1,)))
            axis += 1
        else:
            plan.index(axis, entry)
            axis += _axes_taken(entry)
    return plan


def _as_tuple(index: Any) -> Sequence[Any]:
    """Return the entries of an index; a list that holds more than numbers counts as a tuple, with PyTorch's warning."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list | str) and len(index) < 32 and any(_makes_tuple(entry) for entry in index):
        warnings.warn(_SEQUENCE_AS_TUPLE, UserWarning, stacklevel=5)  # of who wrote the brackets
        return index
    return (index,)


def _makes_tuple(entry: Any) -> bool:
    return entry is None or entry is Ellipsis or isinstance(entry, Tensor | Sequence | slice | np.ndarray)


def _entry(entry: Any) -> Any:
    """Return an entry as None, Ellipsis, a bool, an int, a slice, or a tensor of integers or bool."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool | int | slice):
        return entry
    if isinstance(entry, np.integer):
        return int(entry)
    if isinstance(entry, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(entry, np.ndarray):
        entry = _from_array(entry)
    elif isinstance(entry, Sequence):
        entry = _from_array(_array_of(entry))
    if not isinstance(entry, Tensor):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(entry)})"
        )
    if entry.dtype is dtypes.uint8:
        warnings.warn(_BYTE_MASK, UserWarning, stacklevel=5)
        entry = entry != 0
    if entry.dtype not in (dtypes.int64, dtypes.int32, dtypes.bool):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return entry


def _array_of(sequence: Sequence[Any]) -> Any:
    """Return a (nested) sequence as an array; an empty one has no floating point numbers in it."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(value, Sequence):
            return [plain(part) for part in value]
        return read(value) if isinstance(value, Tensor) else value

    array = np.array(plain(sequence))
    return array if array.size else array.astype(np.int64)


def _from_array(array: Any) -> Tensor:
    """Return a copy of a NumPy index, which the user may write to later, as a tensor; other numbers become integers."""
    kind = array.dtype if array.dtype in (np.dtype(bool), np.dtype(np.uint8)) else np.int64
    return Tensor._from_array(np.array(array, kind, order="C"))


def _axes_taken(entry: Any) -> int:
    """Return how many of the tensor's axes an entry stands for."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    if isinstance(entry, Tensor) and entry.dtype is dtypes.bool:
        return entry.ndim
    return 1


def _position(tensor: Tensor) -> Any:
    """Return the number in a 0-d tensor, or, if that is not computed yet, the tensor as it is now."""
    return int(tensor.item()) if is_concrete(tensor) else alias(tensor)


# Reading


def getitem(tensor: Any, index: Any) -> Any:
    """Return ``tensor[index]``.

    A view where the index has only integers, slices, None and Ellipsis; else a copy of the elements. A mask is read at
    once, since the shape of the result depends on it.
    """
    plan = _plan(tensor, index)
    view = plan.view(tensor)
    if plan.tensors:
        positions, pattern = plan.positions()
        return gather_at(view, *positions, pattern=pattern)
    return make_view(tensor, alias) if view is tensor else view


def _plan(tensor: Any, index: Any) -> Plan:
    """Return the plan of an index; a lone integer or slice is the most frequent one, and quick."""
    shape = tuple(tensor.shape)
    kind = index.__class__
    if kind is int:
        if not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
        plan = Plan(shape)
        plan.select(0, index)
        return plan
    if kind is slice:
        if not shape:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        plan = Plan(shape)
        plan.cut(0, index, always=True)
        return plan
    return parse_index(shape, index)


def masked_select(tensor: Any, mask: Any) -> Any:
    """Return the elements where the mask, broadcast with the tensor, is true, as a vector. The mask is read at once."""
    from ..primitives.type_rules import broadcast_shapes

    if mask.dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes("masked_select", tuple(mask.shape), tuple(tensor.shape))
    if not shape:
        tensor, mask, shape = reshape(tensor, shape=(1,)), reshape(mask, shape=(1,)), (1,)
    if tuple(tensor.shape) != shape:
        tensor = expand(tensor, shape=shape)
    places = np.nonzero(np.broadcast_to(read(mask), shape))
    positions = [Tensor._from_array(part) for part in places]
    return gather_at(tensor, *positions, pattern=("i",) * len(shape), name="MaskedSelectBackward0")


# Writing


def setitem(tensor: Any, index: Any, value: Any) -> None:
    """Do ``tensor[index] = value``, in place: `value` is a number or a tensor that broadcasts to the elements."""
    plan = _plan(tensor, index)
    if _is_everything(index, tuple(tensor.shape)):
        plan.steps.clear()
    target = plan.view(tensor)
    given = value
    value = _value(tensor, value)
    if not plan.tensors:
        source = value if isinstance(value, Tensor) else _number_tensor(value, tensor.dtype)
        shape = tuple(target.shape)
        if isinstance(given, Tensor) and given._root() is tensor._root():
            _check_source(target, given)
        target.copy_(source if tuple(source.shape) == shape else expand(source, shape=shape))
        return
    check_writable(target)
    if len(plan.tensors) == 1 and plan.tensors[0][1].dtype is dtypes.bool and _is_one(value):
        in_place(target, _fill_masked(target, *plan.tensors[0], value, plan))
        return
    check_overlap(target, (given,), fully=True)
    positions, pattern = plan.positions()
    in_place(target, index_put(target, value, *positions, pattern=pattern, accumulate=False))


def _check_source(target: Any, given: Any) -> None:
    """Raise for a value that shares part of the memory it is written to, in the layout that it is written in."""
    if given.shape == target.shape:
        check_overlap(target, (given,))
    elif given.ndim:
        shape = tuple(given.shape)
        while shape and shape[0] == 1:
            shape = shape[1:]
        in_grad_mode(False, None, lambda: check_overlap(target, (given.view(shape).expand(target.shape),)))


def _is_everything(index: Any, shape: Shape) -> bool:
    """Whether the index is ``[:]``, or another slice of all, which writes to the tensor itself."""
    return index.__class__ is slice and index.indices(shape[0]) == (0, shape[0], 1)


def _value(tensor: Any, value: Any) -> Any:
    """Return a value to assign: a Python number, or a tensor without leading axes of length 1."""
    if isinstance(value, Tensor):
        shape = tuple(value.shape)
        kept = shape
        while kept and kept[0] == 1:
            kept = kept[1:]
        return value if kept == shape else reshape(value, shape=kept)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | complex):
        raise TypeError(f"can't assign a {type_name(value)} to a torch.{tensor.dtype.title}Tensor")
    _check_long(value)
    check_number(value, dtypes.array_type(tensor.dtype))
    return value


def _number_tensor(value: Any, dtype: dtypes.dtype) -> Tensor:
    return Tensor._from_array(fill_value(value, dtypes.array_type(dtype)))


def _is_one(value: Any) -> bool:
    return not isinstance(value, Tensor) or value.ndim == 0


def _fill_masked(target: Any, axis: int, mask: Tensor, value: Any, plan: Plan) -> Any:
    """Return the target with one value where the mask is true; the mask need not be read for this."""
    plan.check_mask(axis, mask)
    behind = target.ndim - axis - mask.ndim
    if behind:
        mask = reshape(mask, shape=(*mask.shape, *[1] * behind))
    return masked_fill(target, mask, value, name="IndexPutBackward0")


__all__ = ["masked_select"]

METHODS: dict[str, Any] = {"__getitem__": getitem, "__setitem__": setitem, "masked_select": masked_select}
