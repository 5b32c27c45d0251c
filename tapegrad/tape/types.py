"""The type of a value: what is known of it without computing it."""

from __future__ import annotations

from typing import Any

from .. import dtypes

Shape = tuple[int, ...]

_interned: dict[tuple[Any, ...], Type] = {}
_INTERNED_LIMIT = 100_000


class Type:
    """The dtype, shape, strides (in elements) and flags of a value; equal types are mostly one object.

    A number is a Python number on the tape: 0-d, and last in promotion. An inference type belongs to a tensor made in
    inference mode. ``outside`` is the type itself: it stands where a pending tensor has its trie node.
    """

    __slots__ = ("dtype", "shape", "strides", "ndim", "numel", "requires_grad", "is_number", "is_inference", "overlaps", "type")

    def __init__(self, dtype: dtypes.dtype, shape: Shape, strides: Shape, flags: tuple[bool, bool, bool]) -> None:
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.ndim = len(shape)
        numel = 1
        for length in shape:
            numel *= length
        self.numel = numel
        self.requires_grad, self.is_number, self.is_inference = flags
        self.overlaps = numel > 0 and any([length > 1 and stride == 0 for length, stride in zip(shape, strides, strict=True)])
        self.type = self  # a type stands where a pending tensor has its trie node

    def __repr__(self) -> str:
        grad = ", requires_grad" if self.requires_grad else ""
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]{grad}"

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize

    @property
    def is_constant(self) -> bool:
        """Whether an operand of this type never has a cotangent."""
        return self.is_number or self.dtype.category < dtypes.FLOAT

    @property
    def is_contiguous(self) -> bool:
        return are_contiguous(self.shape, self.strides)

    def replace(self, *, requires_grad: bool | None = None, is_inference: bool | None = None) -> Type:
        """Return the type with other flags."""
        return make_type(
            self.dtype,
            self.shape,
            self.strides,
            self.requires_grad if requires_grad is None else requires_grad,
            self.is_number,
            self.is_inference if is_inference is None else is_inference,
        )


def make_type(
    dtype: dtypes.dtype,
    shape: Shape,
    strides: Shape | None = None,
    requires_grad: bool = False,
    is_number: bool = False,
    is_inference: bool = False,
) -> Type:
    """Return the interned type with these fields; strides default to those of a contiguous array."""
    if strides is None:
        strides = contiguous_strides(shape)
    key = (dtype, shape, strides, requires_grad, is_number, is_inference)
    found = _interned.get(key)
    if found is None:
        if len(_interned) >= _INTERNED_LIMIT:
            _interned.clear()  # a type met again is made again; the trie misses once
        found = _interned.setdefault(key, Type(dtype, shape, strides, (requires_grad, is_number, is_inference)))
    return found


def are_contiguous(shape: Shape, strides: Shape) -> bool:
    """Return whether these are the strides of a contiguous array; those of axes of length 1 do not matter.

    >>> are_contiguous((2, 3), (3, 1)), are_contiguous((2, 3), (1, 2))
    (True, False)
    """
    return 0 in shape or all(
        length == 1 or stride == expected
        for length, stride, expected in zip(shape, strides, contiguous_strides(shape), strict=True)
    )


def contiguous_strides(shape: Shape) -> Shape:
    """Return the strides, in elements, of a contiguous array of this shape.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def number_type(kind: type) -> Type:
    """Return the type that a Python number of this class has on the tape."""
    return make_type(dtypes.of_number(kind), (), (), is_number=True)
