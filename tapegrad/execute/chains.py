"""Chains: elementwise records over large arrays, which the interpreter runs for one block of elements after the other.

Record by record, each value between is an array of its own, and takes longer to write and read than to compute. Of a chain, what
no other record reads is never there as a whole: neither in the forward sweep nor, joined to it, in the reverse sweep.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape

_LARGE = 1 << 16  # elements: smaller arrays stay in the cache
_BLOCK = 1 << 14  # elements
_SMALL = 16  # so many times smaller is what may be computed before or after a chain, instead of ending it


class Chain:
    """Elementwise records over one shape. It is called with the values of ``operands``, and returns those of ``results``."""

    def __init__(self, nodes: list[Any], read: Collection[int]) -> None:
        """Make a chain of these records; of their results, others read these slots."""
        self.nodes = nodes
        made = {node.slot for node in nodes}
        outside = {operand.slot: operand for node in nodes for operand in node.operands if operand.slot not in made}
        self.operands = tuple(outside)
        self.results = tuple([node.slot for node in nodes if node.slot in read])
        shape = nodes[0].type.shape
        self._shape = shape
        self._axis = _axis_of(shape)
        self._dtypes = [dtypes.array_type(node.type.dtype) for node in nodes if node.slot in read]
        self._axes = [_axis_in(operand.type.shape, shape, self._axis) for operand in outside.values()]
        places = {slot: place for place, slot in enumerate([*outside, *[node.slot for node in nodes]])}
        self._given = [places[slot] for slot in self.results]
        last = {operand.slot: number for number, node in enumerate(nodes) for operand in node.operands if operand.slot in made}
        self._steps = []
        for number, node in enumerate(nodes):
            free = [places[slot] for slot, end in last.items() if end == number and slot not in read]
            self._steps.append((node.run, [places[operand.slot] for operand in node.operands], free))

    def __call__(self, *values: Any) -> Any:
        length = self._shape[self._axis]
        rows = -(-length // _blocks_of(self._shape))
        whole = [np.empty(self._shape, dtype) for dtype in self._dtypes]
        for start in range(0, length, rows):
            block = slice(start, start + rows)
            parts: list[Any] = [
                value if axis is None else value[(slice(None),) * axis + (block,)]
                for value, axis in zip(values, self._axes, strict=True)
            ]
            for run, operands, free in self._steps:
                parts.append(run(*[parts[place] for place in operands]))
                for place in free:
                    parts[place] = None
            index = (slice(None),) * self._axis + (block,)
            for array, place in zip(whole, self._given, strict=True):
                array[index] = parts[place]
        return whole[0] if len(whole) == 1 else tuple(whole)


def arranged(nodes: list[Any], kept: Collection[int]) -> list[Any]:
    """Return records and lists of records, the latter to be chains, in an order that computes the same; `kept` are results."""
    if not any([_is_link(node) for node in nodes]):
        return nodes
    found: list[Any] = []
    relations = _Relations()
    gathered: _Gathered | None = None
    for node in nodes:
        if gathered is not None and not gathered.take(node, found):
            found += gathered.finished()
            gathered = None
        if gathered is None:
            if _is_link(node):
                gathered = _Gathered(node, relations)
            else:
                found.append(node)
    if gathered is not None:
        found += gathered.finished()
    return _recomputed(found, kept)


class _Relations:
    """Which values elementwise records lead from one to another of, directly or not."""

    def __init__(self) -> None:
        self._others: dict[int, int] = {}

    def relate(self, node: Any) -> None:
        """Note that a record's operands and result are related."""
        for slot in _arrays_of(node):
            self._others[self.kin(node.slot)] = self.kin(slot)

    def kin(self, slot: int) -> int:
        """Return what is the same for values that are related."""
        while (other := self._others.get(slot, slot)) != slot:
            slot = other
        return slot


class _Gathered:
    """The records of a chain so far, and those that come after it because they read its results."""

    def __init__(self, node: Any, relations: _Relations) -> None:
        self.nodes: list[Any] = []
        self.type = node.type
        self.relations = relations
        self.made: set[int] = set()
        self.after: list[Any] = []
        self.made_after: set[int] = set()
        self._append(node)

    def _append(self, node: Any) -> None:
        self.nodes.append(node)
        self.made.add(node.slot)
        self.relations.relate(node)

    def take(self, node: Any, before: list[Any]) -> bool:
        """Put a record into the chain, after it or before it; return False if the chain ends here.

        What has nothing to do with the chain is no part of it: all that it reads would have to be there at once.
        """
        waits = any([operand.slot in self.made_after for operand in node.operands])
        if not waits and _is_link(node) and node.type.shape == self.type.shape and self._is_related(node):
            self._append(node)
        elif node.primitive.name != "expand" and any([_SMALL * output.type.numel > self.type.numel for output in node.outputs]):
            return False
        elif waits or any([operand.slot in self.made for operand in node.operands]):
            self.after.append(node)
            self.made_after.update([output.slot for output in node.outputs])
        else:
            before.append(node)
        return True

    def _is_related(self, node: Any) -> bool:
        kin = self.relations.kin(self.nodes[0].slot)
        return any([self.relations.kin(slot) == kin for slot in _arrays_of(node)])

    def finished(self) -> list[Any]:
        return [self.nodes if len(self.nodes) > 1 else self.nodes[0], *self.after]


def _recomputed(units: list[Any], kept: Collection[int]) -> list[Any]:
    """Let a later chain, the reverse sweep, compute again what only it reads of an earlier one, where that is much."""
    makers = {node.slot: place for place, unit in enumerate(units) if isinstance(unit, list) for node in unit}
    readers: dict[int, set[int]] = {}
    for place, unit in enumerate(units):
        for node in unit if isinstance(unit, list) else [unit]:
            for operand in node.operands:
                readers.setdefault(operand.slot, set()).add(place)
    found = list(units)
    for place, unit in enumerate(units):
        if not isinstance(unit, list):
            continue
        for maker in sorted({makers[slot] for node in unit for slot in _arrays_of(node) if makers.get(slot, place) != place}):
            if units[maker][0].type.shape != unit[0].type.shape:
                continue
            wanted = {slot for node in unit for slot in _arrays_of(node) if makers.get(slot) == maker}
            spared = {slot for slot in wanted if slot not in kept and readers[slot] <= {maker, place}}
            again = leading_to(units[maker], spared)
            outside = {slot for node in again for slot in _arrays_of(node) if makers.get(slot) != maker}
            if len(spared) > 2 * len(outside):
                found[place] = [*again, *found[place]]
    return found


def leading_to(nodes: list[Any], slots: Collection[int]) -> list[Any]:
    """Return the records that these slots are computed by."""
    wanted = set(slots)
    found = []
    for node in reversed(nodes):
        if node.slot in wanted:
            found.append(node)
            wanted.update([operand.slot for operand in node.operands])
    return found[::-1]


def _is_link(node: Any) -> bool:
    """Whether a record may be part of a chain: a row with a kernel is a function of one element."""
    if node.type.numel < _LARGE or node.primitive.kernel is None or len(node.outputs) > 1 or not node.type.is_contiguous:
        return False
    if not all([operand.type.is_contiguous or operand.type.overlaps for operand in node.operands]):
        return False  # the result would be laid out as they are
    return _axis_of(node.type.shape) is not None


def _arrays_of(node: Any) -> list[int]:
    return [operand.slot for operand in node.operands if not operand.type.is_number]


def _axis_of(shape: Shape) -> Any:
    """Return the first axis that is long enough to be divided into blocks, None if there is none."""
    blocks = _blocks_of(shape)
    return next((axis for axis, length in enumerate(shape) if length >= blocks), None)


def _axis_in(shape: Shape, whole: Shape, axis: int) -> int | None:
    """Return the axis of an operand that goes along with an axis of the whole, None if it is broadcast along that."""
    own = axis - (len(whole) - len(shape))
    return own if own >= 0 and shape[own] == whole[axis] else None


def _blocks_of(shape: Shape) -> int:
    return max(1, math.prod(shape) // _BLOCK)
