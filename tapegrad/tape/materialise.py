"""Materialising: compute the pending values of a segment that someone can still reach, and seal it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..execute.interpreter import Plan, make_plan, run_plan
from .record import Failure, is_concrete
from .segment import Segment
from .trace import IMPORT, SEALED, Node, path_to, touch

_PLANS_PER_TRACE = 8
# A reference from the segment's list, one from the loop variable and one from the call that counts.
_UNREACHABLE = 3


def materialise(segment: Segment) -> None:
    """Compute the segment's live pending values and seal it; on a sealed segment, do nothing.

    An error of one record spoils only the values that depend on it, and is raised when one of those is read. An
    interrupt leaves everything pending, and the next call starts over.
    """
    with segment.lock:
        if segment.detached is None:
            node, values = segment.node, segment.values
            if node is SEALED:
                return
            segment.node = SEALED
            segment.values = []
            segment.detached = (node, values)
        trace, values = segment.detached
        if len(values) > trace.next_slot:
            del values[trace.next_slot :]
        path: list[Node] = trace.plans["path"] if trace.plans else path_to(trace)
        live = _live_slots(segment, path, values)
        plan = _plan_for(trace, path, live, segment)
        environment = list(values)
        run_plan(plan, environment, Failure)
        _commit(segment, trace, plan, values, environment)
        segment.detached = None
    touch(trace)


def _live_slots(segment: Segment, path: list[Node], values: list[Any]) -> tuple[int, ...]:
    """Return the slots whose tensors somebody outside the segment can reach; give the others up."""
    live = []
    reference_count = sys.getrefcount
    for node in reversed(path):
        for output in node.outputs:
            slot = output.slot
            tensor = values[slot]
            if tensor is None or node.primitive is IMPORT:
                continue
            if reference_count(tensor) > _UNREACHABLE and tensor._node is output and tensor._segment is segment:
                live.append(slot)
            else:
                values[slot] = None
            tensor = None
    return tuple(live)


def _plan_for(trace: Node, path: list[Node], live: tuple[int, ...], segment: Segment) -> Plan:
    """Return the plan for this trace, these live slots and these released records, cached at the trace."""
    key = (live, frozenset(segment.released))
    if trace.plans is None:
        trace.plans = {"path": path}
    plan: Plan | None = trace.plans.get(key)
    if plan is None:
        if len(trace.plans) > _PLANS_PER_TRACE:
            trace.plans = {"path": path}
        plan = trace.plans[key] = make_plan(path, live, segment.released)
    return plan


def _commit(segment: Segment, trace: Node, plan: Plan, values: list[Any], environment: list[Any]) -> None:
    """Hand the results to their tensors, and keep what the reverse sweep may need."""
    for slot in plan.live:
        tensor = values[slot]
        value = environment[slot]
        if value.__class__ is not np.ndarray and value.__class__ is not Failure:
            value = np.asarray(value)
        if segment.shared and tensor._base is None and _overlaps(value, segment.shared):
            value = value.copy()
        tensor._array = value
        type_ = tensor._node.type
        tensor._node = type_
        tensor._segment = None
        if slot in plan.with_history:
            tensor._home = segment
            tensor._home_slot = slot
        else:
            tensor._home = None
    for tensor in segment.imports:
        if tensor._segment is segment and is_concrete(tensor):
            tensor._segment = None
            tensor._node = tensor._node.type
    segment.imports = []
    if plan.with_history:
        segment.trace = trace
        for slot in plan.residuals:
            value = environment[slot]
            if segment.shared and _overlaps(value, segment.shared):
                value = value.copy()
            segment.residuals[slot] = value
        segment.origins = {slot: segment.origins[slot] for slot in plan.origins if slot in segment.origins}
        segment.leaves = {slot: segment.leaves[slot] for slot in plan.origins if slot in segment.leaves}
    else:
        segment.origins = {}
        segment.leaves = {}
    segment.shared = []


def _overlaps(value: Any, shared: list[Any]) -> bool:
    return isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in shared)
