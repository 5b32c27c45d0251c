"""Windows: views that begin elsewhere than what they are views of. No element is copied; a kernel computes the address.

Where a slice begins may be known only when the program runs (a Python number on the tape, or a tensor): its strides are
known before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tape.types import Shape, make_type
from .memory import SIZES, Input, Written
from .special_source import Source, position

_Found = tuple[Shape, Written]


def window_of(node: Any, operands: list[Any]) -> _Found | None:
    """Return a window's strides in the memory of its operand, and the kernel that finds its address; None for other records."""
    lower = _WINDOWS.get(node.primitive.name)
    if lower is None or not node.type.numel or operands[0].__class__ is not Input:
        return None
    return lower(node, *operands)


def _strides(node: Any, a: Input) -> Shape:
    """Return the strides that the row's type rule gives for an operand with the strides of this one."""
    types = [operand.type for operand in node.operands]
    own = make_type(types[0].dtype, types[0].shape, a.strides)
    strides: Shape = node.primitive.type_rule(own, *types[1:], **node.parameters)[2]
    return strides


def _written(code: Source, node: Any, a: Input, body: str) -> Written:
    """Return the kernel whose body computes the `place` of the first element, in elements."""
    code.head.append(f"base = word({code.word('cell', a.slot)})")
    code.integer("bytes", SIZES[a.kind])
    return code.written(f"{body}\nstore_word({code.word('cell', node.slot)}, base + place * bytes)")


def _along(node: Any, a: Input, start: Any, last: int) -> Written | None:
    """Return the kernel of a window that begins at a position along an axis and goes on to `last` positions after it."""
    code = Source()
    axis = node.parameters["axis"]
    found = position(code, "start", start, node.operands[0].type.shape[axis], last)
    if found is None:
        return None
    code.integer("stride", a.strides[axis])
    return _written(code, node, a, f"{found}\nplace = start * stride")


def _slice_axis(node: Any, a: Input, start: Any) -> _Found | None:
    parameters = node.parameters
    written = _along(node, a, start, (parameters["length"] - 1) * parameters["step"])
    return None if written is None else (_strides(node, a), written)


def _select(node: Any, a: Input, index: Any) -> _Found | None:
    written = _along(node, a, index, 0)
    return None if written is None else (_strides(node, a), written)


def _at(node: Any, a: Input, place: int, strides: Shape) -> _Found:
    """Return a window that begins at a place known now."""
    code = Source()
    code.integer("place", place)
    return strides, _written(code, node, a, "")


def _flip(node: Any, a: Input) -> _Found:
    axes, shape = node.parameters["axes"], node.type.shape
    strides = tuple([-stride if axis in axes else stride for axis, stride in enumerate(a.strides)])
    return _at(node, a, sum([(shape[axis] - 1) * a.strides[axis] for axis in axes]), strides)


def _diagonal(node: Any, a: Input) -> _Found:
    offset = node.parameters["offset"]
    axis = node.parameters["axis2" if offset > 0 else "axis1"]
    return _at(node, a, abs(offset) * a.strides[axis], _strides(node, a))


_WINDOWS: dict[str, Callable[..., _Found | None]] = {
    "slice_axis": _slice_axis,
    "select": _select,
    "flip": _flip,
    "diagonal": _diagonal,
}
