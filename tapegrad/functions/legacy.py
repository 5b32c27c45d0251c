"""PyTorch's older constructors: ``Tensor(2, 3)`` is a size, ``Tensor([2, 3])`` is data; ``FloatTensor`` and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..primitives.movement import alias
from ..size import Size
from ..tape.aliases import make_view
from ..tensor import Tensor
from .conversion import array_from, cast_array
from .declare import type_name
from .options import check_placement, concrete, integer_from, size_from

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "set_default_tensor_type",
]


def legacy_tensor(*arguments: Any, data: Any = None, device: Any = None) -> Tensor:
    """Return what ``torch.Tensor(...)`` does: see `_construct`, with the default dtype."""
    if data is not None:
        arguments = (*arguments, data)
    if len(arguments) == 1 and isinstance(arguments[0], Tensor):
        return _view(arguments[0])
    return _construct(dtypes.get_default_dtype(), arguments, device)


def new(self: Tensor, *arguments: Any, device: Any = None) -> Tensor:
    """Return a tensor of this one's dtype: of these sizes (its elements not set), or of this data."""
    return _construct(self.dtype, arguments, device)


def _view(source: Tensor) -> Tensor:
    view: Tensor = make_view(source, alias)
    return view


def _construct(dtype: dtypes.dtype, arguments: tuple[Any, ...], device: Any) -> Tensor:
    """Return an empty tensor for no arguments; of a size for ints; of the data of a sequence or array; a tensor's view."""
    check_placement("new", None, device, None)
    if not arguments:
        return _empty((0,), dtype)
    first = arguments[0]
    if len(arguments) > 1 or _is_integer(first):
        if not all(map(_is_integer, arguments)):
            given = ", ".join(map(type_name, arguments))
            raise TypeError(f"new() received an invalid combination of arguments - got ({given})")
        return _empty(size_from("new", arguments), dtype)
    if isinstance(first, Size):
        return _empty(size_from("new", (), tuple(first)), dtype)
    if isinstance(first, Tensor):
        if first.dtype is not dtype:
            raise TypeError(f"expected a tensor of dtype {dtype} (got {first.dtype})")
        return _view(first)
    if isinstance(first, np.ndarray):
        return concrete(np.array(cast_array(first, dtype), order="C"), dtype)
    if not isinstance(first, (str, bytes)) and not (hasattr(first, "__getitem__") and hasattr(first, "__len__")):
        raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
    return concrete(*array_from(first, dtype))


def _empty(shape: tuple[int, ...], dtype: dtypes.dtype) -> Tensor:
    return concrete(np.empty(shape, dtypes.array_type(dtype)), dtype)


def _is_integer(value: Any) -> bool:
    try:
        integer_from("new", "size", 1, value)
    except TypeError:
        return False
    return not isinstance(value, Tensor)


class LegacyType:
    """A constructor of tensors of one dtype, and what ``isinstance`` asks whether a tensor has it.

    >>> LongTensor([1, 2])
    tensor([1, 2])
    >>> isinstance(LongTensor([1, 2]), FloatTensor)
    False
    """

    def __init__(self, name: str, dtype: dtypes.dtype) -> None:
        self.__name__ = name
        self.dtype = dtype

    def __call__(self, *arguments: Any, device: Any = None) -> Tensor:
        return _construct(self.dtype, arguments, device)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


BFloat16Tensor = LegacyType("BFloat16Tensor", dtypes.bfloat16)
BoolTensor = LegacyType("BoolTensor", dtypes.bool)
ByteTensor = LegacyType("ByteTensor", dtypes.uint8)
CharTensor = LegacyType("CharTensor", dtypes.int8)
DoubleTensor = LegacyType("DoubleTensor", dtypes.float64)
FloatTensor = LegacyType("FloatTensor", dtypes.float32)
HalfTensor = LegacyType("HalfTensor", dtypes.float16)
IntTensor = LegacyType("IntTensor", dtypes.int32)
LongTensor = LegacyType("LongTensor", dtypes.int64)
ShortTensor = LegacyType("ShortTensor", dtypes.int16)

_FLOATING = {f"torch.{kind.__name__}": kind for kind in (HalfTensor, FloatTensor, DoubleTensor, BFloat16Tensor)}


def set_default_tensor_type(kind: LegacyType | str) -> None:
    """Set the default dtype to that of a constructor, given itself or by name.

    >>> set_default_tensor_type("torch.FloatTensor")
    """
    found = _FLOATING.get(kind, kind) if isinstance(kind, str) else kind
    if not isinstance(found, LegacyType) or not found.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {kind}")
    dtypes.set_default_dtype(found.dtype)


METHODS = {"new": new}
