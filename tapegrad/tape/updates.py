"""An optimiser's step, again: a tensor plus a multiple of another, in place, put on the trace in one go.

It is three records: the tensor's old value is brought onto the segment, the sum is recorded, and what is a leaf is marked as one.
Where they follow here as the last time, there is nothing to decide; all else is left to `record` and `in_place`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..primitives.arithmetic import add_multiple
from . import checks
from .aliases import count_version
from .segment import open_segment, state
from .trace import IMPORT, LEAF, SEALED


def step_again(tensor: Any, other: Any, factor: float, name: str | None = None) -> bool:
    """Add ``factor * other`` to a tensor, if that is what was recorded here the last time; return whether it was done.

    `name` is what the record is called. There is no call from reading the segment's node on: see record.py.
    """
    if state.grad_enabled or state.inference or state.capture is not None or checks.inplace_checks:
        return False
    segment = state.segment
    if segment.node is SEALED:
        segment = open_segment()
    type_, place = tensor._node, other._node
    brought: Any
    made: Any
    if other is tensor or tensor._segment is not None or segment.urgent or tensor._retains_grad or tensor._home is not None:
        return False
    if tensor._views or tensor._is_stale or tensor._is_shared or tensor._alias_of is not None:
        return False
    try:
        array = tensor._array
        brought = segment.node.next
        made = brought.next
        operand = None
        if other._segment is not segment:
            if other._segment is not None or other._is_stale or other._is_shared or other._alias_of is not None or place.requires_grad:
                return False
            operand, place = place, made
            other_array = other._array
            made = place.next
            if place.first is not operand or place.primitive is not IMPORT or other_array.__class__ is not np.ndarray:
                return False
        end = made.next if type_.requires_grad else made
        if brought.first is not type_ or brought.primitive is not IMPORT or end.type is not type_ or array.__class__ is not np.ndarray:
            return False
        if made.key != (add_multiple, brought, place, float, (), name) or (end is not made and end.primitive is not LEAF):
            return False
    except AttributeError:  # nothing followed here yet, or another thread computes one of them
        return False
    segment.node = tensor._node = end
    if operand is None:
        segment.imports += (tensor,)
        segment.values += (array, factor, tensor)
    else:
        segment.imports += (tensor, other)
        segment.values += (array, other_array, factor, tensor)
        other._node = place
        other._segment = segment
    tensor._segment = segment
    del tensor._array
    if end is not made:
        segment.origins[brought.slot] = segment.leaves[end.slot] = tensor
    count_version(tensor)
    return True
