"""Remembering the sweep over a long sealed segment: the segments of a long loop are one trace, and so are their adjoints.

Where a sealed segment's adjoints begin a segment of their own, what is appended is a function of the trace and of where the
adjoints arrive. It is kept at the trace; met again, the adjoints and residuals are put in their places at once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .modes import mode
from .record import Failure, new_tensor_of
from .segment import Segment, open_segment, state
from .trace import IMPORT, NUMBERS, SEALED, Node, path_to, root_for

LONG = 1024  # records
_SWEEPS_PER_TRACE = 16
_NOTHING: frozenset[int] = frozenset()
Arrival = tuple[Any, Any]  # a leaf, or the segment and slot of a value of an earlier segment; and the cotangent for it


class LongSweep:
    """What a sweep over a sealed trace appended, from `begin` to `end`.

    ``inputs`` are the outside values: the slot there, and the slot of the adjoint or of the residual in the sealed segment.
    ``arrivals`` are the slots of outside values of the sealed segment and the cotangents that arrived there, in order: an
    output, or the slot of an adjoint that was handed on as it was. ``nodes`` are the records to release, ``released`` their slots,
    and ``needed`` the slots of the residuals that are kept all the same (None: not known yet).
    """

    __slots__ = ("begin", "end", "values", "inputs", "arrivals", "nodes", "released", "needed")

    def __init__(self, begin: Node, end: Node, values: list[Any], inputs: list[Any], arrivals: list[Any], nodes: list[Node]) -> None:
        self.begin = begin
        self.end = end
        self.values = values
        self.inputs = inputs
        self.arrivals = arrivals
        self.nodes = nodes
        self.released = frozenset([node.slot for node in nodes])
        self.needed: frozenset[int] | None = None

    def repeat(self, segment: Segment, adjoints: dict[int, Any]) -> list[tuple[int, Any]] | None:
        """Append it all for this segment; return the slots and cotangents that arrive, or None where it cannot be done."""
        opened = open_segment(root_for(mode.eager, is_long=True))
        if opened.node is not self.begin or opened.values:
            return None
        values = list(self.values)
        for slot, is_adjoint, source, is_number in self.inputs:
            value = adjoints[source]._array if is_adjoint else segment.residuals.get(source)
            if value is None:
                return None
            values[slot] = value.item() if is_number and value.__class__ not in NUMBERS else value
        arrived = []
        for place, cotangent in self.arrivals:
            if cotangent.__class__ is int:
                arrived.append((place, adjoints[cotangent]))
                continue
            if values[cotangent.slot] is None:
                values[cotangent.slot] = new_tensor_of(opened, cotangent)
            arrived.append((place, values[cotangent.slot]))
        opened.values = values
        opened.node = self.end
        return arrived

    def release(self, segment: Segment) -> None:
        """Give the residuals of this segment's replayed records back."""
        segment.released |= self.released
        if self.needed is None and segment.trace is not None:
            self.needed = frozenset(needed_residuals(segment.trace, segment.released))
        residuals = segment.residuals
        segment.residuals = {slot: residuals[slot] for slot in self.needed or () if slot in residuals}


def needed_residuals(trace: Node, released: Collection[int]) -> set[int]:
    """Return the slots of the values that records save which have not been released."""
    return {slot for node in path_to(trace) if node.saved and node.slot not in released for slot in node.saved}


def long_key(segment: Segment, trace: Node, adjoints: dict[int, Any], options: Any) -> Any:
    """Return what a sweep over a sealed segment depends on besides its trace; None for one that is not to be remembered."""
    if trace.length < LONG or segment.node is not SEALED or segment.retained or segment.versions:
        return None
    if state.segment.node is not SEALED:
        return None
    for adjoint in adjoints.values():
        if adjoint._segment is not None or adjoint._is_stale or adjoint._is_shared or adjoint._alias_of is not None:
            return None
        if adjoint._array.__class__ is Failure or adjoint._node.type.is_number:
            return None
    arrived = tuple([(slot, adjoints[slot]._node.type) for slot in sorted(adjoints)])
    return ("long", arrived, segment.released, options)


def remember_long(
    trace: Node,
    key: Any,
    opened: Segment,
    begin: Node,
    sources: dict[int, tuple[bool, int]],
    arrivals: list[tuple[int, Any]],
    nodes: list[Node],
) -> None:
    """Keep what a sweep appended to a segment of its own. `sources` are adjoints and residuals, by the identity of their tensor."""
    end = opened.node
    if end is SEALED or state.segment is not opened or begin.root.eager or opened.shared:
        return
    imported = {tensor._node.slot: tensor for tensor in opened.imports if tensor._segment is opened}
    inputs = []
    for node in path_to(end)[begin.length :]:
        if node.primitive is IMPORT and node.slot in imported and id(imported[node.slot]) in sources:
            inputs.append((node.slot, *sources[id(imported[node.slot])], node.type.is_number))
    known = {slot for slot, *_ in inputs}
    values = [None if hasattr(value, "_node") or slot in known else value for slot, value in enumerate(opened.values)]
    found: list[tuple[int, Any]] = []
    for place, cotangent in arrivals:
        if cotangent._segment is opened and cotangent._node.primitive is not IMPORT:
            found.append((place, cotangent._node))
        elif id(cotangent) in sources and sources[id(cotangent)][0]:
            found.append((place, sources[id(cotangent)][1]))
        else:
            return
    if trace.sweeps is None or len(trace.sweeps) >= _SWEEPS_PER_TRACE:
        trace.sweeps = {}
    trace.sweeps[key] = LongSweep(begin, end, values, inputs, found, nodes)
