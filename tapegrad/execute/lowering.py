"""Records that loops take as several: softmax as maximum, exponential, sum and quotient; reductions as simpler ones.

`LOWERINGS` has for a primitive's name a function that adds the parts of a record; the last one's value is the record's. A
part is like a record of its own: a view, a reduction, or one element's kernel expression. So the parts join in loops with each
other and with their neighbours, and what lies between them is never in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import dtypes
from ..primitives.declare import TABLE
from ..tape.types import Shape, Type, make_type


class Formula:
    """Stands as the primitive of a part: a kernel expression alone. It is computed in the part's own dtype."""

    name = "formula"
    casts = None
    check_numbers = None

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def kernel_for(self, types: Any, parameters: Any) -> str:
        """Return the expression."""
        return self.expression


class Converted:
    """Stands as the primitive of a part: a Python number as a 0-d value of a dtype, which refuses what the dtype cannot hold."""

    name = "converted number"
    casts = None
    check_numbers = None

    def kernel_for(self, types: Any, parameters: Any) -> None:
        """Return nothing: it is an instruction of its own."""


class CheckedProbabilities:
    """Stands as the primitive of a part that refuses what is not from 0 to 1; its value is of no use."""

    name = "checked probabilities"
    casts = None
    check_numbers = None

    def kernel_for(self, types: Any, parameters: Any) -> None:
        """Return nothing: it is an instruction of its own."""


class Column:
    """Stands as the primitive of a column of a value in memory."""

    name = "column"
    casts = None
    check_numbers = None

    @staticmethod
    def numpy(a: Any, place: int) -> Any:
        """Return the column."""
        return a[..., place : place + 1]


class Interleaved:
    """Stands as the primitive of what has the operands as its columns: they are written to one memory."""

    name = "interleaved"
    casts = None
    check_numbers = None

    def kernel_for(self, types: Any, parameters: Any) -> None:
        """Return nothing: its value is in no variable."""


class Part:
    """A part of a record: to the fusion, a record like others."""

    __slots__ = ("node", "primitive", "parameters", "operands", "slot", "type", "outputs")

    def __init__(self, primitive: Any, operands: tuple[Any, ...], parameters: dict[str, Any], slot: int, type_: Type) -> None:
        self.node = self
        self.primitive = primitive
        self.operands = operands
        self.parameters = parameters
        self.slot = slot
        self.type = type_
        self.outputs = (self,)

    @property
    def run(self) -> Callable[..., Any]:
        """What Python does for it: of parts, only views are ever seen there."""
        return partial(self.primitive.numpy, **self.parameters)


class Parts:
    """The parts of one record. Slots of their own begin at `first_slot`; the record's is given to the last part."""

    def __init__(self, node: Any, first_slot: int) -> None:
        self.node = node
        self.first_slot = first_slot
        self.list: list[Part] = []

    def append(self, primitive: Any, operands: tuple[Any, ...], parameters: dict[str, Any], type_: Type) -> Part:
        """Add a part."""
        part = Part(primitive, operands, parameters, self.first_slot + len(self.list), type_)
        self.list.append(part)
        return part

    def row(self, name: str, a: Any, **parameters: Any) -> Part:
        """Add a row of the table: a reduction or a view."""
        primitive = TABLE[name]
        return self.append(primitive, (a,), parameters, make_type(*primitive.type_rule(a.type, **parameters)[:2]))

    def formula(self, expression: str, dtype: dtypes.dtype, shape: Shape, *operands: Any) -> Part:
        """Add an expression of the operands' elements."""
        return self.append(Formula(expression), operands, {}, make_type(dtype, shape))

    def number(self, number: Any, dtype: dtypes.dtype) -> Part:
        """Add a Python number as a value of a dtype."""
        return self.append(Converted(), (number,), {}, make_type(dtype, ()))

    def shaped(self, a: Any, shape: Shape) -> Any:
        """Return a value with another shape, of the same elements in order."""
        return a if a.type.shape == shape else self.row("reshape", a, shape=shape)

    def finish(self) -> list[Part]:
        """Return the parts, the last of which makes the record's value."""
        last = self.list[-1]
        last.slot, last.type = self.node.slot, self.node.type
        return self.list


def parts_of(node: Any, first_slot: int) -> list[Part] | None:
    """Return the parts of a record, or None if it has none."""
    lower = LOWERINGS.get(node.primitive.name)
    if lower is None or not all([operand.type.numel for operand in (*node.operands, *node.outputs)]):
        return None
    parts = Parts(node, first_slot)
    return parts.finish() if lower(parts, *node.operands, **node.parameters) else None


# Rows: the largest element is subtracted before exponentials are taken (but 0 where it is not finite)


def _exponentials(parts: Parts, a: Any, axes: Shape) -> tuple[Any, Any, Any]:
    """Add the largest elements, the exponentials of what they are subtracted from, and their sums."""
    dtype, shape = parts.node.type.dtype, a.type.shape
    largest = parts.row("reduce_max", a, axes=axes, keepdims=True)
    shift = parts.formula("where(isfinite(a), a, T(0))", dtype, largest.type.shape, largest)
    powers = parts.formula("exp(a - b)", dtype, shape, a, shift)
    return shift, powers, parts.row("reduce_sum", powers, axes=axes, keepdims=True)


def _softmax(parts: Parts, a: Any, axes: Shape) -> bool:
    _, powers, total = _exponentials(parts, a, axes)
    parts.formula("a / b", a.type.dtype, a.type.shape, powers, total)
    return True


def _log_softmax(parts: Parts, a: Any, axes: Shape) -> bool:
    shift, _, total = _exponentials(parts, a, axes)
    logarithm = parts.formula("log(a)", a.type.dtype, total.type.shape, total)
    parts.formula("(a - b) - c", a.type.dtype, a.type.shape, a, shift, logarithm)
    return True


def _logsumexp(parts: Parts, a: Any, axes: Shape, keepdims: bool) -> bool:
    dtype, shape = parts.node.type.dtype, parts.node.type.shape
    if a.type.dtype is not dtype:
        a = parts.formula("T(a)", dtype, a.type.shape, a)
    shift, _, total = _exponentials(parts, a, axes)
    parts.formula("log(a) + b", dtype, shape, parts.shaped(total, shape), parts.shaped(shift, shape))
    return True


def _vector_norm(parts: Parts, a: Any, order: float, axes: Shape, keepdims: bool) -> bool:
    """Orders for which no power is to be computed."""
    found = _NORMS.get(order)
    dtype = a.type.dtype
    if found is None or dtype is not parts.node.type.dtype:
        return False
    expression, name, root = found
    reduced = parts.row(name, parts.formula(expression, dtype, a.type.shape, a), axes=axes, keepdims=keepdims)
    parts.formula(root, dtype, parts.node.type.shape, reduced)
    return True


_NORMS = {
    math.inf: ("abs(a)", "reduce_max", "a"),
    -math.inf: ("abs(a)", "reduce_min", "a"),
    0: ("where(a != T(0), T(1), T(0))", "reduce_sum", "a"),
    1: ("abs(a)", "reduce_sum", "a"),
    2: ("a * a", "reduce_sum", "sqrt(a)"),
}


# Reductions over any axes: the last adjacent ones first, which are the columns of a loop or of its rows


def _reduction(name: str) -> Callable[..., bool]:
    def lower(parts: Parts, a: Any, axes: Shape, keepdims: bool) -> bool:
        dtype, shape = parts.node.type.dtype, parts.node.type.shape
        groups = _groups(a.type.shape, axes)
        kept = [axis for axis, length in enumerate(a.type.shape) if length != 1 and axis not in axes]
        if not groups:  # of one element each
            expression = "T(a)"
            if name in ("reduce_any", "reduce_all") and dtype is dtypes.uint8:
                expression = "a != T(0)"
            elif name == "reduce_sum" and dtype.is_floating_point:
                expression = "T(a) + T(0)"  # a sum begins with 0, so that none is -0
            parts.formula(expression, dtype, shape, parts.shaped(a, shape))
        elif len(groups) > 1:
            first = parts.row(name, a, axes=groups[-1], keepdims=True)
            parts.row(name, first, axes=axes, keepdims=keepdims)
        elif kept[0] < groups[0][0] and groups[0][-1] < kept[-1]:
            moved = parts.row("permute", a, axes=(*[axis for axis in range(a.type.ndim) if axis not in groups[0]], *groups[0]))
            parts.row(name, moved, axes=tuple(range(a.type.ndim - len(groups[0]), a.type.ndim)), keepdims=False)
        else:  # a loop would have taken it, were its columns evenly spaced
            parts.row(name, parts.formula("a", a.type.dtype, a.type.shape, a), axes=axes, keepdims=keepdims)
        return True

    return lower


def _groups(shape: Shape, axes: Shape) -> list[Shape]:
    """Return the reduced axes, those that adjoin each other together; axes of length 1 do not count."""
    groups: list[list[int]] = []
    adjoins = False
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if axis not in axes:
            adjoins = False
        elif adjoins:
            groups[-1].append(axis)
        else:
            groups.append([axis])
            adjoins = True
    return [tuple(group) for group in groups]


# What a row checks: once, before loops read it


def _masked_fill(parts: Parts, a: Any, mask: Any, value: Any) -> bool:
    dtype = a.type.dtype
    if not value.type.is_number or (value.type.dtype.is_floating_point and not dtype.is_floating_point):
        return False
    number = parts.number(value, dtype)
    parts.formula("where(b, c, a)", dtype, parts.node.type.shape, a, mask, number)
    return True


def _binary_cross_entropy(parts: Parts, a: Any, b: Any) -> bool:
    dtype = parts.node.type.dtype
    if a.type.is_number or b.type.is_number:
        return False
    parts.append(CheckedProbabilities(), (a, b), {}, make_type(dtypes.bool, ()))
    logarithms = [parts.formula(expression, dtype, a.type.shape, a) for expression in ("log1p(-a)", "log(a)")]
    if_zero, if_one = [parts.formula("where(a < T(-100), T(-100), a)", dtype, a.type.shape, value) for value in logarithms]
    parts.formula("(a - T(1)) * b - a * c", dtype, parts.node.type.shape, b, if_zero, if_one)
    return True


def _cast(parts: Parts, a: Any, dtype: dtypes.dtype) -> bool:
    """A float as an integer; one that is too large as processors have it, as the smallest there is.

    Smaller integers are what is left of one of 32 bits, as NumPy and PyTorch have them.
    """
    if a.type.is_number or a.type.dtype not in (dtypes.float32, dtypes.float64) or dtype.category != dtypes.INTEGER:
        return False
    whole = dtypes.int64 if dtype is dtypes.int64 else dtypes.int32
    most = 2.0 ** (8 * whole.itemsize - 1)
    found = parts.formula(f"T(where(abs(a) < {most}, a, {-most}))", whole, a.type.shape, a)
    if dtype is not whole:
        parts.formula("T(a)", dtype, a.type.shape, found)
    return True


def _reshape(parts: Parts, a: Any, shape: Shape) -> bool:
    """What is no view of its operand's memory is one of a copy."""
    parts.row("reshape", parts.formula("a", a.type.dtype, a.type.shape, a), shape=shape)
    return True


LOWERINGS: dict[str, Callable[..., bool]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "binary_cross_entropy": _binary_cross_entropy,
    "cast": _cast,
    "masked_fill": _masked_fill,
    "reshape": _reshape,
    "vector_norm": _vector_norm,
    **{name: _reduction(name) for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all")},
}
