"""Replay: walk the records backwards, appending the adjoint records to the same tape (the reverse sweep).

The tape is a topological order already, so there is no graph search and no recursion: segments are taken from the
newest to the oldest, and in each the records from the last to the first. Each record's rule is written in tensor
operations, so what it appends are records again; higher derivatives need nothing more.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from ..primitives.arithmetic import conj, real
from ..primitives.casting import cast
from ..primitives.movement import reshape
from ..primitives.reductions import reduce_sum
from ..tensor import Tensor, new_tensor
from .buffers import is_concrete
from .checks import check_versions
from .constants import full
from .long_sweeps import LONG, LongSweep, long_key, needed_residuals, remember_long
from .materialise import materialise
from .modes import mode
from .record import address_of, history_address
from .remember import Remembered, recall, remember, sweep_key
from .segment import Segment, in_grad_mode, open_segment, state
from .trace import IMPORT, SEALED, Node, path_to, root_for

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)
_NOTHING: frozenset[int] = frozenset()


class Sweep:
    """One reverse sweep: the adjoints gathered so far, by segment and slot, and the gradients that reached a leaf.

    `targets` None: the gradients of all leaves are wanted. Else only the records between the roots and the targets
    (leaf tensors, or addresses of values on the tape) are replayed; with `releases_targets`, the records that made the
    targets are released too.
    """

    def __init__(
        self, targets: list[Any] | None, create_graph: bool, retain_graph: bool, releases_targets: bool = False
    ) -> None:
        self.adjoints: dict[Segment, dict[int, Any]] = {}
        self.queue: list[tuple[int, int, Segment]] = []
        self.leaf_gradients: dict[int, tuple[Any, Any]] = {}
        self.targets = targets
        self.target_addresses = {target for target in targets or () if isinstance(target, tuple)}
        self.target_gradients: dict[Any, Any] = {}
        self.needed: dict[Segment, set[int]] | None = None
        self.create_graph = create_graph
        self.retain_graph = retain_graph
        self.releases_targets = releases_targets
        self.handles: dict[int, Any] = {}  # of the segment being replayed
        self.arrivals: list[tuple[int, Any]] = []  # likewise
        self.replayed: list[tuple[Segment, list[Node]]] = []
        self.repeated: dict[Segment, LongSweep] = {}
        self.remembered: Remembered | None = None
        self.meets_dead_end = False  # a leaf that takes no gradient

    def run(self, roots: Sequence[Any], cotangents: Sequence[Any]) -> None:
        """Replay from these tensors with these cotangents (None: ones), then release what was replayed."""
        key = sweep_key(roots, cotangents, self.targets, (self.create_graph, self.retain_graph, self.releases_targets))
        segment = state.segment
        if key is not None:
            recalled = recall(segment, key)
            if recalled is not None:
                self.leaf_gradients, self.target_gradients = recalled
                self._leave_out()
                return
        begin = segment.node
        self._sweep(roots, cotangents)
        if key is not None and state.segment is segment and not self.meets_dead_end:
            self.remembered = remember(segment, begin, key, self)
        if not self.retain_graph:
            for replayed_segment, nodes in self.replayed:
                if replayed_segment in self.repeated:
                    self.repeated[replayed_segment].release(replayed_segment)
                else:
                    _release(replayed_segment, nodes)
        self._leave_out()

    def _leave_out(self) -> None:
        """Drop the gradients of leaves that do not take one (any more)."""
        without = [
            key
            for key, (leaf, _) in self.leaf_gradients.items()
            if leaf._takes_no_gradient or not (leaf.requires_grad if leaf._is_stale else leaf._node.type.requires_grad)
        ]
        for key in without:
            del self.leaf_gradients[key]

    def _sweep(self, roots: Sequence[Any], cotangents: Sequence[Any]) -> None:
        if self.targets is not None:
            self.needed = _records_between(roots, self.targets)
        for root, cotangent in zip(roots, cotangents, strict=True):
            self._reach(root, full(root._node.type.shape, 1, root.dtype) if cotangent is None else cotangent)
        in_grad_mode(self.create_graph, None, self._replay_all)

    def _replay_all(self) -> None:
        is_long = False
        while self.queue:
            segment = heapq.heappop(self.queue)[2]
            was_long, is_long = is_long, segment is not state.segment and _trace_of(segment).length >= LONG
            if was_long or (is_long and state.capture is None):
                # The segments of a long loop are the same trace: so are their adjoints, where they begin a segment too.
                materialise(state.segment)
            self._replay_segment(segment)
            self.handles, self.arrivals = {}, []  # what is held is computed

    def _reach(self, tensor: Any, cotangent: Any) -> None:
        """Let a cotangent arrive at a tensor: a leaf, or a value with history."""
        segment, slot = address_of(tensor)
        if tensor.is_leaf or segment is None:
            self._reach_leaf(tensor, cotangent)
        elif self.needed is not None and slot not in self.needed.get(segment, _NOTHING):
            self._watch(*history_address(tensor), cotangent)
        else:
            self._add(segment, slot, cotangent)

    def _reach_leaf(self, leaf: Any, cotangent: Any) -> None:
        key = id(leaf)
        seen = self.leaf_gradients.get(key)
        self.leaf_gradients[key] = (leaf, cotangent if seen is None else seen[1] + cotangent)

    def _add(self, segment: Segment, slot: int, cotangent: Any) -> None:
        if self.needed is not None and slot not in self.needed.get(segment, _NOTHING):
            return
        adjoints = self.adjoints.get(segment)
        if adjoints is None:
            adjoints = self.adjoints[segment] = {}
            heapq.heappush(self.queue, (-segment.serial, id(segment), segment))
        seen = adjoints.get(slot)
        adjoints[slot] = cotangent if seen is None else seen + cotangent

    def _replay_segment(self, segment: Segment) -> None:
        """Replay a segment: what it appends for a long one is remembered."""
        adjoints = self.adjoints.pop(segment)
        trace = _trace_of(segment)
        key = None if self.create_graph else long_key(segment, trace, adjoints, self._options(segment))
        known = None if key is None or trace.sweeps is None else trace.sweeps.get(key)
        arrivals = None if known is None else known.repeat(segment, adjoints)
        if known is not None and arrivals is not None:
            replayed = known.nodes
            self.repeated[segment] = known
        else:
            opened = open_segment(root_for(mode.eager, is_long=True)) if key is not None else None
            begin = state.segment.node
            given = {id(adjoint): (True, slot) for slot, adjoint in adjoints.items()}
            kept = list(adjoints.values())  # as long as their identities are looked at
            arrivals, replayed = self._replay_records(segment, trace, adjoints)
            if opened is not None and not self.meets_dead_end:
                given.update({id(handle): (False, slot) for slot, handle in self.handles.items()})
                remember_long(trace, key, opened, begin, given, arrivals, replayed)
            del kept
        self.replayed.append((segment, replayed))
        for slot, cotangent in arrivals:
            if slot in segment.leaves:
                self._reach_leaf(segment.leaves[slot], cotangent)
            else:
                self._follow(segment.origins[slot], cotangent)

    def _options(self, segment: Segment) -> Any:
        """Return what the sweep over a segment depends on besides what is there."""
        if any([address[0] is segment for address in self.target_addresses]):
            return object()  # its adjoints are watched: never met again
        needed = None if self.needed is None else frozenset(self.needed.get(segment, _NOTHING))
        return (needed, self.releases_targets)

    def _replay_records(self, segment: Segment, trace: Node, adjoints: dict[int, Any]) -> tuple[list[tuple[int, Any]], list[Node]]:
        """Replay the records of a segment; return the cotangents that arrive at outside values and leaves, by slot, in order.

        They go on when the segment is done: several are added in the order of the records that they come from, however
        the tape was cut into segments. Also returned are the records that gave residuals.
        """
        self.handles = {}
        self.arrivals = []
        replayed: list[Node] = []
        for node in reversed(path_to(trace)):
            if not adjoints:
                break
            outputs = node.outputs
            if node.primitive.makes_leaf:
                cotangent = adjoints.pop(node.slot, None)
                if cotangent is not None:
                    self.arrivals.append((node.slot, cotangent))
                continue
            if len(outputs) == 1:
                cotangent = adjoints.pop(node.slot, None)
                if cotangent is None:
                    continue
                self._watch(segment, node.slot, cotangent)
            else:
                cotangent = tuple([adjoints.pop(output.slot, None) for output in outputs])
                if not any([part is not None for part in cotangent]):
                    continue
                for output, part in zip(outputs, cotangent, strict=True):
                    if part is not None:
                        self._watch(segment, output.slot, part)
            if node.primitive is IMPORT:
                self.arrivals.append((node.slot, cotangent))
            else:
                wanting = self._wanting(segment, node)
                leads_on = any(wanting)  # else it made a target: what it was made of is not asked for
                if node.releases and (leads_on or (self.releases_targets and self._has_residuals(segment, node))):
                    self._check_residuals(segment, node)
                    replayed.append(node)
                if leads_on:
                    self._replay_record(segment, node, cotangent, adjoints, wanting)
        return self.arrivals, replayed

    def _has_residuals(self, segment: Segment, node: Node) -> bool:
        """Whether a record has kept something, as PyTorch does: not what a single rule reads, for a leaf that takes no gradient."""
        if node.primitive.vjp is not None or len(node.operands) < 2:
            return True
        used: set[int] = set()
        for operand, rule in zip(node.operands, node.primitive.derivatives, strict=True):
            if rule is None:
                continue
            saved = set(rule.saved_operands) | ({-1} if rule.saves_result else set())
            is_kept = operand.type.requires_grad and self._goes_on(segment, operand)
            if rule.saves_all or saved & used or (saved and is_kept):
                return True
            used |= saved
        return False

    def _goes_on(self, segment: Segment, operand: Any) -> bool:
        """Whether a cotangent for this operand of a record can matter: not for a leaf that takes none.

        That is no matter of structure: a sweep that met such a leaf is not remembered.
        """
        made_by = operand.node.primitive
        if made_by is not IMPORT and not made_by.makes_leaf:
            return True
        leaf = (segment.origins if made_by is IMPORT else segment.leaves).get(operand.slot)
        if leaf.__class__ is not Tensor or not leaf._takes_no_gradient:
            return True
        self.meets_dead_end = True
        return False

    def _check_residuals(self, segment: Segment, node: Node) -> None:
        """Raise where the values that a record saved are there no more, or were modified."""
        if node.slot in segment.released:
            raise RuntimeError(FREED)
        check_versions(segment, node)

    def _watch(self, segment: Segment, slot: int, cotangent: Any) -> None:
        """Give the complete adjoint of a slot to those who asked for it: retained gradients, and targets."""
        if segment.retained is not None and slot in segment.retained:
            tensor = segment.retained[slot]()
            if tensor is not None and not tensor._is_stale and history_address(tensor) == (segment, slot):  # it has not moved on
                self.leaf_gradients[id(tensor)] = (tensor, cotangent)
        if (segment, slot) in self.target_addresses:
            self.target_gradients[segment, slot] = cotangent

    def _follow(self, origin: Any, cotangent: Any) -> None:
        """Let a cotangent go on to where an outside value came from."""
        if isinstance(origin, tuple):
            self._add(origin[0], origin[1], cotangent)
        else:
            self._reach_leaf(origin, cotangent)

    def _wanting(self, segment: Segment, node: Node) -> list[bool]:
        """Return which operands of a record a cotangent is wanted for."""
        if self.needed is None:
            return [operand.type.requires_grad and self._goes_on(segment, operand) for operand in node.operands]
        needed = self.needed.get(segment, _NOTHING)
        return [operand.type.requires_grad and operand.slot in needed for operand in node.operands]

    def _replay_record(
        self, segment: Segment, node: Node, cotangent: Any, adjoints: dict[int, Any], wanting: list[bool]
    ) -> None:
        """Append the adjoint records of one record, by its rules."""
        primitive = node.primitive
        if primitive.vjp is not None:
            results = self._apply(primitive.vjp, segment, node, cotangent, tuple(wanting))
            if not isinstance(results, tuple):
                results = (results,)
            for place, (wants, result) in enumerate(zip(wanting, results, strict=False)):
                if wants and result is not None:
                    self._contribute(segment, adjoints, node, place, result)
            return
        is_complex = node.type.dtype.is_complex
        if is_complex:
            cotangent = _conj(cotangent)
        for place, (wants, rule) in enumerate(zip(wanting, primitive.derivatives, strict=True)):
            if wants and rule is not None:
                result = self._apply(rule, segment, node, cotangent, ())
                self._contribute(segment, adjoints, node, place, _conj(result) if is_complex else result)

    def _apply(self, rule: Any, segment: Segment, node: Node, cotangent: Any, needs: tuple[bool, ...]) -> Any:
        """Call a rule with the arguments that it names."""
        arguments = []
        for name in rule.names:
            if name == "g":
                arguments.append(cotangent)
            elif name in _OPERANDS:
                arguments.append(self._handle(segment, node.operands[_OPERANDS[name]]))
            elif name == "r":
                handles = tuple([self._handle(segment, output) for output in node.outputs])
                arguments.append(handles[0] if len(handles) == 1 else handles)
            elif name in _RESULTS:
                arguments.append(self._handle(segment, node.outputs[_RESULTS[name]]))
            elif name == "types":
                arguments.append(tuple([operand.type for operand in node.operands]))
            elif name == "rtype":
                arguments.append(node.type if len(node.outputs) == 1 else tuple([output.type for output in node.outputs]))
            elif name == "needs":
                arguments.append(needs)
            elif name == "operands":
                arguments.append(tuple([self._handle(segment, operand) for operand in node.operands]))
            elif name == "constants":
                arguments.append(tuple([self._handle(segment, operand) for operand in node.operands if operand.type.is_constant]))
            else:
                arguments.append(node.parameters[name])
        return rule.function(*arguments)

    def _handle(self, segment: Segment, output: Any) -> Any:
        """Return a tensor for a value on the tape."""
        handle = self.handles.get(output.slot)
        if handle is None:
            handle = self.handles[output.slot] = handle_for(segment, output, self.create_graph)
        return handle

    def _contribute(self, segment: Segment, adjoints: dict[int, Any], node: Node, place: int, result: Any) -> None:
        """Add a rule's result to the adjoint of the operand at this place, summed and cast to the operand's type.

        For an outside value it is noted as it is, so that several are added in the order of the records that they come from.
        """
        operand = node.operands[place]
        result = fit(result, operand.type)
        if operand.node.primitive is IMPORT:
            self.arrivals.append((operand.slot, result))
            return
        seen = adjoints.get(operand.slot)
        adjoints[operand.slot] = result if seen is None else seen + result


_OPERANDS = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
_RESULTS = {"r0": 0, "r1": 1, "r2": 2}


def _trace_of(segment: Segment) -> Node:
    """Return the trace of a segment; another thread's open one is materialised first."""
    node = segment.node
    if node is not SEALED and segment is state.segment:
        return node
    if node is not SEALED or segment.trace is None:
        materialise(segment)
    assert segment.trace is not None
    return segment.trace


def handle_for(segment: Segment, output: Any, connected: bool) -> Any:
    """Return a tensor for the value of a record's operand or result; connected, it carries the value's history."""
    values = segment.values
    if segment.node is not SEALED and output.slot < len(values):
        value = values[output.slot]
        if isinstance(value, Tensor) and value._node is output and value._segment is segment:
            return value
        handle = new_tensor()
        handle._segment = segment
        handle._node = output
        if output.node is output and output.primitive is IMPORT:  # it is there, also when the segment ends during the sweep
            handle._array = value
            if output.type.requires_grad:
                handle._home, handle._home_slot = segment, output.slot
        return handle
    value = segment.residuals.get(output.slot)
    if value is None:  # another thread computes it, or has released it, just now
        materialise(segment)
        value = segment.residuals.get(output.slot)
        if value is None:
            raise RuntimeError(FREED)
    handle = Tensor._wrap(value, output.type.replace(requires_grad=connected and output.type.requires_grad))
    if connected and output.type.requires_grad:
        handle._home = segment
        handle._home_slot = output.slot
    return handle


def fit(result: Any, type_: Any) -> Any:
    """Return a cotangent in its operand's dtype and shape: un-promoted, then summed over what was broadcast."""
    if not isinstance(result, Tensor):
        return full(type_.shape, result, type_.dtype)
    dtype = result._node.type.dtype
    if dtype is not type_.dtype:
        if dtype.is_complex and not type_.dtype.is_complex:
            result = real(result)
        if result._node.type.dtype is not type_.dtype:
            result = cast(result, dtype=type_.dtype)
    shape = result._node.type.shape
    if shape == type_.shape:
        return result
    extra = len(shape) - type_.ndim
    axes = tuple([axis for axis in range(len(shape)) if axis < extra or (type_.shape[axis - extra] == 1 and shape[axis] != 1)])
    if axes:
        result = reduce_sum(result, axes=axes, keepdims=False)
    return result if result._node.type.shape == type_.shape else reshape(result, shape=type_.shape)


def _conj(value: Any) -> Any:

    return conj(value) if isinstance(value, Tensor) and value.dtype.is_complex else value


def _records_between(roots: Sequence[Any], targets: list[Any]) -> dict[Segment, set[int]]:
    """Return the slots, by segment, through which a root depends on a target."""
    leaves = {id(target) for target in targets if not isinstance(target, tuple) and not target._takes_no_gradient}
    addresses = {target for target in targets if isinstance(target, tuple)}
    reached: dict[Segment, set[int]] = {}
    queue: list[tuple[int, int, Segment]] = []

    def reach(segment: Segment, slot: int) -> None:
        if segment not in reached:
            reached[segment] = set()
            heapq.heappush(queue, (-segment.serial, id(segment), segment))
        reached[segment].add(slot)

    for root in roots:
        segment, slot = address_of(root)
        if segment is not None and not root.is_leaf:
            reach(segment, slot)
    order = []
    while queue:
        segment = heapq.heappop(queue)[2]
        path = path_to(_trace_of(segment))
        order.append((segment, path))
        slots = reached[segment]
        for node in reversed(path):
            if any([output.slot in slots and output.type.requires_grad for output in node.outputs]):
                if node.primitive is IMPORT:
                    origin = segment.origins.get(node.slot)
                    if isinstance(origin, tuple):
                        reach(*origin)
                else:
                    slots.update([operand.slot for operand in node.operands if operand.type.requires_grad])
    needed: dict[Segment, set[int]] = {}
    for segment, path in reversed(order):
        wanted = needed[segment] = set()
        slots = reached[segment]
        for node in path:
            if node.primitive.makes_leaf and node.slot in slots and id(segment.leaves.get(node.slot)) in leaves:
                wanted.add(node.slot)
            for output in node.outputs:
                if output.slot not in slots or not output.type.requires_grad:
                    continue
                if (segment, output.slot) in addresses or _leads_to_target(segment, node, leaves, needed):
                    wanted.add(output.slot)
    return needed


def _leads_to_target(segment: Segment, node: Node, leaves: set[int], needed: dict[Segment, set[int]]) -> bool:
    if node.primitive is IMPORT:
        origin = segment.origins.get(node.slot)
        if isinstance(origin, tuple):
            return origin[1] in needed.get(origin[0], _NOTHING)
        return id(origin) in leaves
    wanted = needed[segment]
    return any([operand.slot in wanted and operand.type.requires_grad for operand in node.operands])


def _release(segment: Segment, nodes: list[Node]) -> None:
    """Give the residuals of replayed records back; what other records still need stays."""
    segment.released |= frozenset([node.slot for node in nodes])
    if segment.node is SEALED and segment.residuals and segment.trace is not None:
        still = needed_residuals(segment.trace, segment.released)
        segment.residuals = {slot: value for slot, value in segment.residuals.items() if slot in still}


def leaf_or_address(tensor: Any) -> Any:
    """Return what stands for a tensor as a target of a sweep."""
    if (tensor._home is None and is_concrete(tensor)) or tensor.is_leaf:
        return tensor
    return history_address(tensor)
