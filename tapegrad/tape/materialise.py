"""Materialising: compute the pending values of a segment that someone can still reach, and seal it."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ..execute.interpreter import Plan, make_plan, run_plan
from ..execute.references import ALONE, held_places
from ..execute.tiering import run_compiled
from . import checks
from .modes import mode
from .record import Failure
from .segment import NO_SEGMENT, Segment, state
from .trace import IMPORT, SEALED, Node, path_to, touch

_PLANS_PER_TRACE = 8


def materialise(segment: Segment, watch: Callable[..., None] | None = None) -> None:
    """Compute the segment's live pending values and seal it; on a sealed segment, do nothing.

    `watch` is told the trace, the live slots and their tensors before anything is computed.

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
            del values
        trace = segment.detached[0]
        live = _give_up_unreachable(segment, trace)
        plan = _plan_for(trace, live, segment)
        if watch is not None:
            watch(trace, plan, segment.detached[1])
        elif state.capture is not None and segment is state.capture.segment:
            state.capture.end_early()
        values = segment.detached[1]
        environment = list(values)
        _run(plan, environment)
        _commit(segment, trace, plan, values, environment)
        segment.detached = None
    if state.segment is segment:
        state.segment = NO_SEGMENT  # a sealed segment lives only with the tensors that need it
    touch(trace)


def _give_up_unreachable(segment: Segment, trace: Node) -> tuple[int, ...]:
    """Keep of the pending results only those whose tensors somebody outside can reach; return their slots."""
    assert segment.detached is not None
    values = segment.detached[1]
    del values[trace.next_slot :]  # what an interrupt left behind
    cached = _cached(trace)
    held = held_places(values, cached["marks"])
    kept: list[Any] = [None] * len(values)
    for slot in cached["outside"]:
        kept[slot] = values[slot]
    for slot in held:
        kept[slot] = values[slot]
    segment.detached = (trace, kept)
    del values
    live = []
    for slot in reversed(held):  # a tensor may be held only by a view of it that nobody holds
        if kept[slot] is None:
            continue
        if getrefcount(kept[slot]) > ALONE and kept[slot]._segment is segment and kept[slot]._node.slot == slot:
            live.append(slot)
        else:
            kept[slot] = None
    return tuple(live)


def _cached(trace: Node) -> dict[Any, Any]:
    """Return what is remembered of a trace: its path, the slots of its outside values (and marks at them), and plans by live slots."""
    cached: dict[Any, Any] | None = trace.plans
    if cached is None:
        path = path_to(trace)
        outside = {node.slot for node in path if node.primitive is IMPORT}
        outside.update([operand.slot for node in path for operand in node.operands if operand.node is None])
        marks = np.zeros(trace.next_slot, np.bool_)
        marks[list(outside)] = True
        cached = trace.plans = {"path": path, "outside": tuple(outside), "marks": marks}
    return cached


def _plan_for(trace: Node, live: tuple[int, ...], segment: Segment) -> Plan:
    """Return the plan for this trace, these live slots and these released records, cached at the trace."""
    cached = _cached(trace)
    key = (live, segment.released)
    plan: Plan | None = cached.get(key)
    if plan is None:
        if len(cached) >= _PLANS_PER_TRACE + 3:
            trace.plans = None
            cached = _cached(trace)
        plan = cached[key] = make_plan(cached["path"], live, segment.released)
    return plan


def _commit(segment: Segment, trace: Node, plan: Plan, values: list[Any], environment: list[Any]) -> None:
    """Hand the results to their tensors, and keep what the reverse sweep may need."""
    shared, with_history = segment.shared, plan.with_history
    for slot in plan.live:
        tensor = values[slot]
        value = environment[slot]
        if value.__class__ is not np.ndarray and value.__class__ is not Failure:
            value = np.asarray(value)
        if shared and tensor._alias_of is None and _overlaps(value, shared):
            value = value.copy()
        node = tensor._node
        if tensor._segment is not segment or node.slot != slot:
            continue  # another thread has written to it meanwhile
        tensor._array = value
        tensor._node = node.type
        tensor._segment = None
        if slot in with_history:
            tensor._home = segment
            tensor._home_slot = slot
        elif tensor._home is not None:
            tensor._home = None
        if checks.inplace_checks:
            checks.note_version_at(segment, slot, tensor)
    for tensor in segment.imports:
        node = tensor._node
        if tensor._segment is segment and node.__class__ is Node and node.primitive is IMPORT:
            tensor._segment = None
            tensor._node = node.type
    segment.imports = []
    if plan.with_history:
        segment.trace = trace
        for slot in plan.residuals:
            value = environment[slot]
            if value.__class__ is not np.ndarray and isinstance(value, np.generic):
                value = np.asarray(value)  # machine code reads arrays
            if segment.shared and _overlaps(value, segment.shared):
                value = value.copy()
            segment.residuals[slot] = value
        segment.origins = {slot: segment.origins[slot] for slot in plan.origins if slot in segment.origins}
        segment.leaves = {slot: segment.leaves[slot] for slot in plan.origins if slot in segment.leaves}
    else:
        segment.origins = {}
        segment.leaves = {}
    segment.shared = []


def _run(plan: Plan, environment: list[Any], at_once: bool = False) -> None:
    """Run a plan in the way that the mode asks for (`at_once`: compiled now, where the mode compiles)."""
    if mode.compiles:
        run_compiled(plan, environment, Failure, at_once)
    else:
        run_plan(plan, environment, Failure)


def replay_captured(segment: Segment, trace: Node, plan: Plan, values: list[Any]) -> None:
    """Compute a segment that was put together from a captured trace: its live slots and its plan are known."""
    with segment.lock:
        segment.node = SEALED
        segment.detached = (trace, values)
        environment = list(values)
        _run(plan, environment, at_once=True)
        _commit(segment, trace, plan, values, environment)
        segment.detached = None
    touch(trace)


def _overlaps(value: Any, shared: list[Any]) -> bool:
    return isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in shared)
