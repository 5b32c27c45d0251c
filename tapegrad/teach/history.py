"""The history of a tensor, copied from the tape: what the tape table shows, gathered without touching the tape.

A history may run through several segments: in eager mode each operation has its own. Here they become one list of
lines. A value that a segment brings in from an older one is not a line of its own; it is the older one's.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tape.buffers import is_concrete
from ..tape.record import Failure, address_of
from ..tape.segment import Segment, state
from ..tape.trace import GRAD_MODE, IMPORT, LEAF, SEALED, Node, path_to
from ..tape.types import Type
from ..tensor import Tensor


class Stretch:
    """A copy of what one segment knows.

    ``known`` has the values by slot, ``brought`` the tensors that an open segment brought in, ``needed`` the results
    (nodes of the trace, or their outputs) that the history is made of.
    """

    def __init__(self, segment: Segment) -> None:
        with segment.lock:
            node, values = segment.detached or (segment.node, segment.values)
            trace = segment.trace if node is SEALED else node
            self.path = [] if trace is None else path_to(trace)
            self.known = dict(segment.residuals)
            self.known.update((slot, value) for slot, value in enumerate(values) if is_value(value))
            imports = [node for node in self.path if node.primitive is IMPORT]
            self.brought = dict(zip(imports, segment.imports, strict=False))
            self.origins = dict(segment.origins)
            self.leaves = dict(segment.leaves)
            self.released = segment.released
        self.segment = segment
        self.needed: set[Any] = set()

    def result_at(self, slot: int) -> Any:
        """Return the result with this slot."""
        return next(output for node in reversed(self.path) for output in node.outputs if output.slot == slot)

    def shown(self) -> list[Node]:
        """Return the nodes that are part of the history, in order."""
        return [node for node in self.path if node in self.needed or any(output in self.needed for output in node.outputs)]

    def leaf_of(self, node: Node) -> Any:
        """Return the leaf that an import or a mark stands for, or None."""
        leaf = self.leaves.get(node.slot) if node.primitive is LEAF else self.origins.get(node.slot)
        return None if isinstance(leaf, tuple) else leaf

    def _sources(self) -> list[Node]:
        """Return the records that the values shown follow from: more than those shown, where a leaf was updated in place."""
        wanted = set(self.needed)
        records = []
        for node in reversed(self.path):
            if node.primitive is LEAF and node in wanted:
                wanted.add(node.key[1])
            elif node.operands and any(output in wanted for output in node.outputs):
                wanted.update(node.operands)
                records.append(node)
        records.reverse()
        return records

    def recompute(self) -> dict[int, BaseException]:
        """Complete ``known`` with what follows from it, record by record; return the errors that came up, by slot."""
        errors: dict[int, BaseException] = {}
        with np.errstate(all="ignore"):
            for node in self._sources():
                slots = [output.slot for output in node.outputs]
                if all(slot in self.known for slot in slots) or any(o.slot not in self.known for o in node.operands):
                    continue
                try:
                    results = node.run(*[self.known[operand.slot] for operand in node.operands])
                except Exception as error:  # checks that need data are made here; the table shows what they say
                    errors[node.slot] = error
                else:
                    self.known.update(zip(slots, results if len(slots) > 1 else (results,), strict=True))
        return errors


def is_value(value: Any) -> bool:
    """Whether this is an array or a number: neither a pending tensor, nor the error of a computation."""
    return value is not None and not isinstance(value, (Tensor, Failure))


class Line:
    """One value of the history: the result ``output`` of ``node``, at every place where the tape has it."""

    def __init__(self, stretch: Stretch, node: Node, output: Any) -> None:
        self.places = [(stretch, output)]
        self.node = node
        self.output = output
        self.type: Type = output.type
        self.operands: list[Any] = []  # other lines; for numbers, their value or class
        self.value: Any = None
        self.error: BaseException | None = None
        self.kept = ""
        self.leaf = stretch.leaf_of(node) if node.primitive in (IMPORT, LEAF) else None


def _was_never_modified(tensor: Tensor) -> bool:
    """Whether a tensor surely has the value that it began with: nobody else can write to it, and nobody ever did.

    Views are suspicious, `data` more than others: what is done to it, the version does not show.
    """
    is_own = tensor._alias_of is None and tensor._views is None and not tensor._is_shared
    return is_own and is_concrete(tensor) and tensor._version_count == 0


def _same(first: Line, second: Line) -> bool:
    """Whether a leaf or constant and an import are one value: the same array, or a leaf of which nothing else is known."""
    if first.leaf is not second.leaf:
        return False
    if first.value is None or second.value is None:
        return first.leaf is not None
    return first.value is second.value or (first.leaf is not None and np.array_equal(first.value, second.value))


class History:
    """The lines of a tensor's history, the oldest first; without a tensor, those of the thread's open segment."""

    def __init__(self, tensor: Tensor | None) -> None:
        self.stretches = _open_stretch() if tensor is None else _stretches_of(tensor)
        self._by_segment = {stretch.segment: stretch for stretch in self.stretches}
        self.lines: list[Line | Node] = []  # a node is a mark that has no value
        self.line_of: dict[tuple[Segment, Any], Line] = {}
        for stretch in self.stretches:
            self._look_elsewhere(stretch)
            errors = stretch.recompute()
            for node in stretch.shown():
                self._add(stretch, node, errors)
        for stretch in self.stretches:
            self._note_kept(stretch)
        self.root = None if tensor is None or not self.stretches else self.line_of[_place_of(tensor, self.stretches[-1])]

    def values(self) -> Iterator[Line]:
        """Yield the lines that are values."""
        return (line for line in self.lines if isinstance(line, Line))

    def _add(self, stretch: Stretch, node: Node, errors: dict[int, BaseException]) -> None:
        older = self._older(stretch, node)
        if older is not None:
            line = self.line_of[stretch.segment, node] = self.line_of[older[0].segment, older[1]]
            if line.value is None:
                line.value = stretch.known.get(node.slot)
            return
        if node.primitive is GRAD_MODE:
            self.lines.append(node)
            return
        for output in node.outputs or (node,):
            line = Line(stretch, node, output)
            line.value = stretch.known.get(output.slot)
            line.error = errors.get(node.slot)
            line.operands = [self._operand(stretch, operand) for operand in node.operands]
            if node.primitive is LEAF and (stretch.segment, node.key[1]) in self.line_of:
                line.operands = [self.line_of[stretch.segment, node.key[1]]]
            same = self._same_import(line) if node.primitive is IMPORT else None
            if same is None:
                self.lines.append(line)
            else:
                same.places.append((stretch, output))
            self.line_of[stretch.segment, output] = same or line

    def _older(self, stretch: Stretch, node: Node) -> tuple[Stretch, Any] | None:
        """Return the older stretch, and the result there, that an import brings in; None for any other node."""
        origin = stretch.origins.get(node.slot) if node.primitive is IMPORT else None
        if not isinstance(origin, tuple):
            return None
        older = self._by_segment.get(origin[0])
        return None if older is None else (older, older.result_at(origin[1]))

    def _look_elsewhere(self, stretch: Stretch) -> None:
        """Look for values that a segment brought in but did not keep: in older segments, and in the leaves.

        A leaf has the value that it had if it was never modified.
        """
        for node in stretch.shown():
            if node.primitive is not IMPORT or node.slot in stretch.known:
                continue
            older, leaf = self._older(stretch, node), stretch.leaf_of(node)
            if older is not None and older[1].slot in older[0].known:
                stretch.known[node.slot] = older[0].known[older[1].slot]
            elif leaf is not None and _was_never_modified(leaf):
                stretch.known[node.slot] = leaf._array

    def _operand(self, stretch: Stretch, operand: Any) -> Any:
        if operand.node is not None:
            return self.line_of[stretch.segment, operand]
        return stretch.known.get(operand.slot, operand.type)

    def _same_import(self, line: Line) -> Line | None:
        """Return the line of the same outside value: several segments may have brought it in."""
        for other in reversed(list(self.values())):
            if other.node.primitive in (IMPORT, LEAF) and other.type is line.type and _same(other, line):
                if line.value is None:
                    other.value = None  # it may have been modified in between, which nobody noted
                return other
        return None

    def _note_kept(self, stretch: Stretch) -> None:
        for node in stretch.shown():
            for result in (*node.operands, *node.outputs):
                if result.slot in node.saved and result.node is not None:
                    line = self.line_of[stretch.segment, result]
                    if node.slot not in stretch.released:
                        line.kept = "kept"
                    elif not line.kept:
                        line.kept = "released"


def _open_stretch() -> list[Stretch]:
    """Return the whole of the thread's open segment; none if it has not begun."""
    if state.segment.node is SEALED:
        return []
    stretch = Stretch(state.segment)
    for node in stretch.path:
        stretch.needed.update(node.outputs or (node,))
        stretch.needed.update(operand for operand in node.operands if operand.node is not None)
    return [stretch]


def _stretches_of(tensor: Tensor) -> list[Stretch]:
    """Return the segments through which a tensor came about, the oldest first, with what it needs of them."""
    segment, slot = address_of(tensor)
    if segment is None:
        return []
    stretches: dict[Segment, Stretch] = {}
    queue: list[tuple[int, int, Segment]] = []

    def stretch_of(segment: Segment) -> Stretch:
        if segment not in stretches:
            stretches[segment] = Stretch(segment)
            heapq.heappush(queue, (-segment.serial, id(segment), segment))
        return stretches[segment]

    newest = stretch_of(segment)
    newest.needed.add(_place_of(tensor, newest)[1])
    if is_concrete(tensor) and is_value(tensor._array):
        newest.known[slot] = tensor._array
    order = []
    while queue:
        stretch = stretches[heapq.heappop(queue)[2]]
        order.append(stretch)
        for node in reversed(stretch.path):
            if not any(output in stretch.needed for output in node.outputs):
                continue
            stretch.needed.update(operand for operand in node.operands if operand.node is not None)
            origin = stretch.origins.get(node.slot) if node.primitive is IMPORT else None
            if isinstance(origin, tuple):
                older = stretch_of(origin[0])
                older.needed.add(older.result_at(origin[1]))
    order.reverse()
    return order


def _place_of(tensor: Tensor, stretch: Stretch) -> tuple[Segment, Any]:
    """Return where on this stretch a tensor is."""
    return stretch.segment, stretch.result_at(tensor._home_slot) if is_concrete(tensor) else tensor._node
