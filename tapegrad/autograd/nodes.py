"""The nodes that ``grad_fn`` shows: a view of the tape in the form of a graph, made only when asked for."""

from __future__ import annotations

import weakref
from typing import Any

from ..tape.record import address_of
from ..tape.segment import Segment
from ..tape.trace import IMPORT, SEALED, path_to


class Node:
    """An operation in the graph of a tensor's history."""

    _name = ""

    def __init__(self, segment: Segment | None, slot: int) -> None:
        self._segment = segment
        self._slot = slot
        self.metadata: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    def name(self) -> str:
        """Return the operation's full name."""
        return self._name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The operations that the operands come from, each with the number of its result."""
        return tuple(_edges(self._segment, self._slot))

    def address_of_result(self, number: int) -> tuple[Segment, int]:
        """Return the segment and slot of one of the operation's results."""
        assert self._segment is not None
        if self._segment.composed is not None and self._slot in self._segment.composed:
            return self._segment, self._slot
        return self._segment, _record_at(self._segment, self._slot).outputs[number].slot

    def _output_number(self, tensor: Any) -> int:
        slot = address_of(tensor)[1]
        node = _record_at(self._segment, self._slot)
        return next((i for i, output in enumerate(node.outputs) if output.slot == slot), 0)


class AccumulateGrad(Node):
    """Where a gradient arrives at a leaf."""

    _name = "torch::autograd::AccumulateGrad"

    def __init__(self, variable: Any) -> None:
        super().__init__(None, 0)
        self.variable = variable

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return ()


_classes: dict[str, type[Node]] = {}


def _class_named(name: str) -> type[Node]:
    found = _classes.get(name)
    if found is None:
        found = _classes[name] = type(name.rpartition("::")[2], (Node,), {"_name": name, "__module__": __name__})
    return found


def node_of(tensor: Any) -> Node | None:
    """Return the node of the operation that made a tensor."""
    segment, slot = address_of(tensor)
    return None if segment is None else node_at(segment, slot)


def _trace_of(segment: Segment) -> Any:
    return segment.node if segment.node is not SEALED else segment.trace


def _record_at(segment: Any, slot: int) -> Any:
    """Return the record of a slot, by walking back from the end of the segment."""
    return next(node for node in reversed(path_to(_trace_of(segment))) if any(o.slot == slot for o in node.outputs))


def node_at(segment: Segment, slot: int) -> Node | None:
    """Return the node for a value on the tape: its operation's, its origin's, None without history."""
    if slot in segment.leaves:
        return node_at_leaf(segment.leaves[slot])
    node = _record_at(segment, slot)
    if node.primitive is IMPORT:
        origin = segment.origins.get(slot)
        if isinstance(origin, tuple):
            return node_at(*origin)
        return None if origin is None else node_at_leaf(origin)
    if not node.requires_grad:
        return None
    if node.primitive.transparent:
        return node_at(segment, node.operands[0].slot)
    name = node.name or node.primitive.grad_name
    if segment.composed is not None and slot in segment.composed:
        name = segment.composed[slot][0]
    if segment.grad_functions is None:
        segment.grad_functions = weakref.WeakValueDictionary()
    first_slot = slot if segment.composed is not None and slot in segment.composed else node.slot
    found: Node | None = segment.grad_functions.get(first_slot)
    if found is None:
        found = segment.grad_functions[first_slot] = _class_named(name)(segment, first_slot)
    return found


_accumulators: Any = weakref.WeakValueDictionary()


def node_at_leaf(leaf: Any) -> Node:
    """Return the node at which the gradient of a leaf arrives."""
    found = _accumulators.get(id(leaf))
    if found is None or found.variable is not leaf:
        found = _accumulators[id(leaf)] = AccumulateGrad(leaf)
    return found  # type: ignore[no-any-return]


# Primitives whose Python numbers are operands in PyTorch too.
_SHOW_NUMBERS = frozenset(("add", "sub", "mul", "div", "floor_divide", "trunc_divide", "where"))
_COPY = "torch::autograd::CopyBackwards"
_NO_EDGE: tuple[Node | None, int] = (None, 0)


def _edges(segment: Any, slot: int) -> list[tuple[Node | None, int]]:
    """Return what the operation that made a value leads to: for each of its operands, a node and a result's number."""
    start = composed_at(segment, slot)
    if start is not None:
        name = segment.composed[slot][0]
        edges = list(dict.fromkeys([edge_to(*place) for place in _read_from_outside(segment, slot, start)]))
    else:
        node = _record_at(segment, slot)
        name = node.name
        if node.primitive.name == "update":
            return _edges_of_update(segment, node)
        edges = [edge_to(segment if o.type.requires_grad else None, o.slot) for o in node.operands if is_shown(node, o)]
    return [_NO_EDGE, *edges] if name == _COPY and len(edges) == 1 else edges


def composed_at(segment: Segment, slot: int) -> tuple[int, int] | None:
    """Return where the composed operation begins that has its result at this slot; None for a single record."""
    if segment.composed is None or slot not in segment.composed:
        return None
    serial, first = segment.composed[slot][1]
    return (segment.serial if serial is None else serial, first)


def is_shown(node: Any, operand: Any) -> bool:
    """Whether an operand is one that could have a history."""
    primitive = node.primitive
    if operand.type.is_number:
        return primitive.name in _SHOW_NUMBERS and node.name != "RsubBackward1"
    if primitive.derivatives is None:
        return not operand.type.is_constant
    return primitive.derivatives[node.operands.index(operand)] is not None


def _edges_of_update(segment: Any, node: Any) -> list[tuple[Node | None, int]]:
    """Return the edges of an in-place operation through a view: to the base, and to the operation's other operands."""
    base, part = [edge_to(segment if operand.type.requires_grad else None, operand.slot) for operand in node.operands[:2]]
    return [base, _NO_EDGE] if part[0] is None else [base, *part[0].next_functions[1:]]


def edge_to(segment: Segment | None, slot: int) -> tuple[Node | None, int]:
    """Return what leads to a value on the tape: the node of its operation, and the number of the result."""
    if segment is None:
        return _NO_EDGE
    node = _record_at(segment, slot)
    if node.primitive is IMPORT and isinstance(segment.origins.get(slot), tuple):
        return edge_to(*segment.origins[slot])
    number = next((i for i, output in enumerate(node.outputs) if output.slot == slot), 0)
    return node_at(segment, slot), number


def _read_from_outside(segment: Any, slot: int, start: tuple[int, int]) -> list[tuple[Segment, int]]:
    """Return where the values with a history are that a composed operation reads: those from before it began."""
    places: dict[tuple[Segment, int], None] = {}
    seen = set()
    stack = [(segment, slot)]
    while stack:
        at, number = stack.pop()
        if (at.serial, number) in seen:
            continue
        seen.add((at.serial, number))
        node = _record_at(at, number)
        if node.primitive is IMPORT:
            origin = at.origins.get(number)
            if isinstance(origin, tuple):
                stack.append(origin)
            elif origin is not None:
                places[at, number] = None
        elif (at.serial, number) < start or number in at.leaves:
            places[at, number] = None
        else:
            stack.extend([(at, operand.slot) for operand in reversed(node.operands) if operand.type.requires_grad])
    return list(places)
