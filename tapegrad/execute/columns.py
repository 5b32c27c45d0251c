"""Narrow values taken apart: what has few columns is computed column by column, so that loops go along the rows.

A loop over rows of three elements has nothing to do at once. So where rows are short, and are reduced, meet a value for each
row, or have elements that change places, all records over them (`chosen`) are taken as records of single columns: slices,
flips and concatenations are then other names for columns, and cost nothing. A column lies in memory of its own; a value that
someone needs as a whole is put together, in the loop that makes its last column (`Interleaved`).

Where a slice begins has to be known: the number is compiled in, and looked at before a program runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..tape.types import make_type
from .expressions import KINDS, expression_for
from .lowering import Column, Interleaved, Part, Parts, parts_of

MOST_COLUMNS = 16
_FEW_COLUMNS = 4  # of so many, records are the reason to take values apart
_FEWEST_ROWS = 32
_MOST_PARTS = 4096
_SAME = {"alias": 0, "detach": 0, "assign": 1, "tie": 0, "keep": 0}
# How two elements of a row are combined. Of these, the first operand has the reduction's dtype, the second perhaps not yet.
_COMBINED = {
    "reduce_sum": "T(a) + T(b)",
    "reduce_max": "where((a > b) | (a != a), a, b)",
    "reduce_min": "where((a < b) | (a != a), a, b)",
}
_LOWERED = frozenset(("log_softmax", "logsumexp", "softmax", "vector_norm"))  # of which the parts are taken apart
_ZERO = object()  # stands for a column of zeros


def is_narrow(type_: Any) -> bool:
    """Whether a value has few columns and many rows."""
    shape = type_.shape
    return len(shape) > 1 and 2 <= shape[-1] <= MOST_COLUMNS and type_.numel >= _FEWEST_ROWS * shape[-1] and type_.dtype in KINDS


def chosen(nodes: list[Any], numbers: dict[int, int]) -> set[int]:
    """Return the slots of the records that are to be taken apart: what is connected to a record that is a reason for it."""
    leader: dict[int, int] = {}

    def find(slot: int) -> int:
        while leader.setdefault(slot, slot) != slot:
            slot = leader[slot]
        return slot

    able, reasons = [], []
    parts = 0
    for node in nodes:
        values = [value for value in (*node.operands, *node.outputs) if is_narrow(value.type)]
        if len(node.outputs) != 1 or not values or not _can_be_taken_apart(node, numbers):
            continue
        able.append(node.slot)
        parts += max([value.type.shape[-1] for value in values])
        if _is_reason(node):
            reasons.append(node.slot)
        for value in values:
            if value.type.shape[:-1] == values[-1].type.shape[:-1]:
                leader[find(value.slot)] = find(node.slot)
    if parts > _MOST_PARTS:
        return set()
    groups = {find(slot) for slot in reasons}
    return {slot for slot in able if find(slot) in groups}


def _can_be_taken_apart(node: Any, numbers: dict[int, int]) -> bool:
    name, parameters, operands = node.primitive.name, node.parameters, node.operands
    if any([value.type.dtype not in KINDS for value in (*operands, *node.outputs)]) or node.type.is_number:
        return False
    last = operands[0].type.ndim - 1 if operands else 0
    if name in _COMBINED:
        axes = parameters["axes"]
        if name != "reduce_sum" and operands[0].type.dtype is dtypes.bool:
            return False
        return is_narrow(operands[0].type) and (axes == (last,) or set(axes) == set(range(last + 1)))
    if name in _LOWERED:
        return is_narrow(operands[0].type) and parameters["axes"] == (last,)
    if name in ("slice_axis", "select", "roll"):
        return is_narrow(operands[0].type) and parameters["axis"] == last and operands[1].slot in numbers
    if name == "pad_slice":
        return is_narrow(node.type) and parameters["axis"] == last and operands[1].slot in numbers
    if name == "flip":
        return is_narrow(node.type) and parameters["axes"] == (last,)
    if name == "cross":
        return is_narrow(node.type) and parameters["axis"] == -1
    if name == "concatenate":
        return is_narrow(node.type) and parameters["axis"] == last and all([o.type.dtype is node.type.dtype for o in operands])
    if name == "expand":
        shape = operands[0].type.shape
        return is_narrow(node.type) and len(shape) == node.type.ndim and shape[:-1] == node.type.shape[:-1]
    if name in _SAME:
        type_ = operands[_SAME[name]].type
        return is_narrow(node.type) and type_.shape == node.type.shape and type_.dtype is node.type.dtype
    return is_narrow(node.type) and expression_for(node) is not None


def _is_reason(node: Any) -> bool:
    """Whether a record of few columns is one that loops over rows are slow for."""
    widest = max([value.type.shape[-1] for value in (*node.operands, *node.outputs) if is_narrow(value.type)])
    if widest > _FEW_COLUMNS:
        return False
    name = node.primitive.name
    if name in _COMBINED:
        return len(node.parameters["axes"]) == 1
    if name in _LOWERED or name in ("cross", "flip", "roll", "concatenate"):
        return True
    return any([o.type.ndim and o.type.shape[-1] == 1 and o.type.numel >= _FEWEST_ROWS for o in node.operands])


class Columns:
    """The columns of a fusion's narrow values."""

    def __init__(self, fusion: Any, nodes: list[Any], numbers: dict[int, int]) -> None:
        self.fusion: Any = weakref.proxy(fusion)  # it ends with the fusion
        self.numbers = numbers
        self.known: dict[int, int] = {}  # the numbers that are compiled in
        self.chosen = chosen(nodes, numbers)
        self.of: dict[int, list[Any]] = {}  # of a slot that was taken apart
        self.read: dict[int, list[Any]] = {}  # of a slot in memory
        self.types: dict[int, Any] = {}
        self.assembled: set[int] = set()

    def take(self, node: Any) -> bool:
        """Take a record apart, if it is chosen; return whether that was done."""
        if node.slot not in self.chosen:
            return False
        self.chosen.remove(node.slot)  # the last of its parts has its slot
        if node.primitive.name in _LOWERED:
            return self._take_parts(node)
        every = [self._columns(operand) for operand in node.operands]
        if any([columns is None for columns in every]):
            return False
        parts = Parts(node, self.fusion.next_slot)
        rule: Callable[..., list[Any] | None] = _RULES.get(node.primitive.name, Columns._elementwise)
        found = rule(self, parts, *every)
        if found is None:
            parts.finish()
        else:
            self.of[node.slot] = found
            self.types[node.slot] = node
        self.fusion.add_parts(parts.list)
        return True

    def _take_parts(self, node: Any) -> bool:
        """Take a record as several, of which those of narrow values are taken apart."""
        parts = parts_of(node, self.fusion.next_slot)
        if parts is None:
            return False
        self.chosen |= {part.slot for part in parts if is_narrow(part.type) or is_narrow(part.operands[0].type)}
        self.fusion.add_parts(parts)
        return True

    def assemble(self, slot: int) -> None:
        """Put a value that was taken apart into memory as a whole."""
        if slot not in self.of or slot in self.assembled:
            return
        self.assembled.add(slot)
        node = self.types[slot]
        parts = Parts(node, self.fusion.next_slot)
        columns = [self._filled(parts, node, column) for column in self.of[slot]]
        parts.append(Interleaved(), tuple(columns), {}, node.type)
        self.fusion.add_parts(parts.finish())

    # Operands

    def _columns(self, operand: Any) -> list[Any] | None:
        """Return the columns of a value (one, if it is a number or has only one), or None if kernels cannot read it."""
        found = self.of.get(operand.slot) or self.read.get(operand.slot)
        if found is not None or operand.type.is_number:
            return found or [operand]
        shape = operand.type.shape
        if self.fusion.layout(operand) is None:
            return None
        if not shape or shape[-1] == 1:
            return [operand]
        type_ = make_type(operand.type.dtype, (*shape[:-1], 1))
        found = [Part(Column(), (operand,), {"place": place}, self.fusion.next_slot + place, type_) for place in range(shape[-1])]
        self.fusion.next_slot += len(found)
        for part in found:
            self.fusion.add_column(part)
        self.read[operand.slot] = found
        return found

    def _number(self, operand: Any, length: int) -> int:
        """Return a number, which the program is then made for; a negative one counts from the end."""
        number = self.known[operand.slot] = self.numbers[operand.slot]
        return number + length if number < 0 else number

    def _filled(self, parts: Parts, node: Any, column: Any) -> Any:
        """Return a column, for zeros one that is filled with them."""
        return parts.formula("T(0)", node.type.dtype, (*node.type.shape[:-1], 1)) if column is _ZERO else column

    # Rules: what returns None has made the record's value, of one column, as the last part

    def _elementwise(self, parts: Parts, *every: list[Any]) -> list[Any]:
        node = parts.node
        type_ = make_type(node.type.dtype, (*node.type.shape[:-1], 1))
        found = []
        for place in range(node.type.shape[-1]):
            operands = [columns[place] if len(columns) > 1 else columns[0] for columns in every]
            zeros = operands.count(_ZERO)
            if zeros and node.primitive.name == "add":
                (other,) = [o for o in operands if o is not _ZERO] if zeros == 1 else [_ZERO]
                found.append(_ZERO if other is _ZERO else parts.formula("a + T(0)", node.type.dtype, type_.shape, other))
                continue
            filled = [self._filled(parts, value, column) for value, column in zip(node.operands, operands, strict=True)]
            found.append(parts.append(node.primitive, tuple(filled), node.parameters, type_))
        return found

    def _reduced(self, parts: Parts, columns: list[Any]) -> None:
        node = parts.node
        dtype, name = node.type.dtype, node.primitive.name
        total, *others = [self._filled(parts, node.operands[0], column) for column in columns]
        for number, column in enumerate(others):
            begins_with_zero = name == "reduce_sum" and not number  # so that no sum is -0
            expression = "T(0) + T(a) + T(b)" if begins_with_zero else _COMBINED[name]
            total = parts.formula(expression, dtype, column.type.shape, total, column)
        if len(node.parameters["axes"]) > 1:
            parts.row(name, total, **node.parameters)
        else:
            self._named(parts, total)

    def _named(self, parts: Parts, column: Any) -> None:
        """Let a column be the record's value."""
        column = self._filled(parts, parts.node, column)
        shape = parts.node.type.shape
        if column.type.shape != shape:
            parts.row("reshape", column, shape=shape)
        elif not parts.list or parts.list[-1] is not column:
            parts.row("alias", column)

    def _slice_axis(self, parts: Parts, columns: list[Any], start: list[Any]) -> list[Any] | None:
        parameters = parts.node.parameters
        step, length = parameters["step"], parameters["length"]
        first = self._number(start[0], len(columns))
        found = [columns[first + place * step] for place in range(length)]
        if length > 1:
            return found
        self._named(parts, found[0])
        return None

    def _select(self, parts: Parts, columns: list[Any], index: list[Any]) -> None:
        self._named(parts, columns[self._number(index[0], len(columns))])

    def _pad_slice(self, parts: Parts, columns: list[Any], start: list[Any]) -> list[Any]:
        size, step = parts.node.parameters["size"], parts.node.parameters["step"]
        found: list[Any] = [_ZERO] * size
        first = self._number(start[0], size)
        for place, column in enumerate(columns):
            found[first + place * step] = column
        return found

    def _flip(self, parts: Parts, columns: list[Any]) -> list[Any]:
        return columns[::-1]

    def _roll(self, parts: Parts, columns: list[Any], shift: list[Any]) -> list[Any]:
        self.known[shift[0].slot] = number = self.numbers[shift[0].slot]
        return [columns[(place - number) % len(columns)] for place in range(len(columns))]

    def _concatenate(self, parts: Parts, *every: list[Any]) -> list[Any]:
        return [column for columns in every for column in columns]

    def _expand(self, parts: Parts, columns: list[Any]) -> list[Any]:
        return columns if len(columns) > 1 else columns * int(parts.node.type.shape[-1])

    def _same(self, parts: Parts, *every: list[Any]) -> list[Any]:
        return every[_SAME[parts.node.primitive.name]]

    def _cross(self, parts: Parts, a: list[Any], b: list[Any]) -> list[Any]:
        node = parts.node
        shape = (*node.type.shape[:-1], 1)
        a, b = ([self._filled(parts, value, c) for c in columns] for value, columns in zip(node.operands, (a, b), strict=True))
        return [
            parts.formula("a * b - c * d", node.type.dtype, shape, a[after], b[before], a[before], b[after])
            for after, before in ((1, 2), (2, 0), (0, 1))
        ]


_RULES: dict[str, Callable[..., list[Any] | None]] = {
    **dict.fromkeys(_COMBINED, Columns._reduced),
    **dict.fromkeys(_SAME, Columns._same),
    "slice_axis": Columns._slice_axis,
    "select": Columns._select,
    "pad_slice": Columns._pad_slice,
    "flip": Columns._flip,
    "roll": Columns._roll,
    "concatenate": Columns._concatenate,
    "expand": Columns._expand,
    "cross": Columns._cross,
}
