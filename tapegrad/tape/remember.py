"""Remembering reverse sweeps: on a trie hit, backward() is one step.

A sweep over the open segment alone is a function of its structure. What it appended is kept at the trie node where it
began; met again, its end node and its numbers are put on the segment at once, and only the gradients become tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import record as recording
from .buffers import is_concrete
from .record import enter
from .segment import Segment, state
from .trace import IMPORT, SEALED, Node, path_to

_SWEEPS_PER_NODE = 16
PLAIN = (False, False, True)  # the options of a sweep by backward() without arguments


class Remembered:
    """What a sweep appended: the node it ended at, and the values (numbers and constants) of the slots up to there.

    ``groups`` has for each leaf the slots at which it was met, and the slot of its gradient; ``targets`` the same for
    values on the tape. ``released`` are the slots of the records that it released.
    """

    __slots__ = ("end", "values", "groups", "targets", "released")

    def __init__(self, end: Node, values: list[Any], groups: list[Any], targets: list[Any], released: frozenset[int]) -> None:
        self.end = end
        self.values = values
        self.groups = groups
        self.targets = targets
        self.released = released


def sweep_key(roots: Sequence[Any], cotangents: Sequence[Any], targets: list[Any] | None, options: tuple[bool, ...]) -> Any:
    """Return what a sweep's result depends on besides the segment's structure; None for a sweep not to be remembered."""
    segment = state.segment
    if segment.node is SEALED or segment.node.root.eager or segment.retained or segment.versions:
        return None
    for root in roots:
        if root._is_stale or root._segment is not segment or is_concrete(root):
            return None
    for cotangent in cotangents:
        if cotangent is not None and cotangent._segment is not segment:
            if cotangent._is_stale:
                return None
            enter(cotangent)
    if state.segment is not segment or segment.node is SEALED or segment.urgent:
        return None  # urgent: a cotangent's buffer can be written by others, and is read at once
    places = None if targets is None else _all_places(segment, targets)
    if places is None and targets is not None:
        return None
    return (
        tuple([root._node for root in roots]),
        tuple([None if cotangent is None else cotangent._node for cotangent in cotangents]),
        places,
        options,
        segment.released,
    )


def _all_places(segment: Segment, targets: list[Any]) -> tuple[Any, ...] | None:
    """Return the slots that stand for each target; None where earlier segments may lead to one of them."""
    if any([origin.__class__ is tuple for origin in segment.origins.values()]):
        return None
    places = _places(segment)
    found = []
    for target in targets:
        if target.__class__ is not tuple:
            found.append(places.get(id(target), ()))
        else:
            found.append(target[1] if target[0] is segment else ())
    return None if () in found else tuple(found)


def _places(segment: Segment) -> dict[int, tuple[int, ...]]:
    """Return the slots that stand for each leaf on this segment, by the leaf's identity."""
    places: dict[int, tuple[int, ...]] = {}
    for leaves in (segment.origins, segment.leaves):
        for slot, leaf in leaves.items():
            key = id(leaf)
            places[key] = (*places[key], slot) if key in places else (slot,)
    return places


def recall(segment: Segment, key: Any) -> tuple[dict[int, tuple[Any, Any]], dict[Any, Any]] | None:
    """Append what the sweep of this key appended before; return the gradients of leaves and targets, or None if unknown."""
    sweeps = segment.node.sweeps
    remembered: Remembered | None = None if sweeps is None else sweeps.get(key)
    if remembered is None:
        return None
    leaves = _leaves_of(segment, remembered.groups)
    if leaves is None:
        return None
    node = segment.node
    start = node.next_slot
    values = list(remembered.values)
    groups = zip(leaves, remembered.groups, strict=True)
    of_leaves = {id(leaf): (leaf, _gradient(segment, values, output, start)) for leaf, (_, output) in groups}
    of_targets = {(segment, slot): _gradient(segment, values, output, start) for slot, output in remembered.targets}
    return (of_leaves, of_targets) if _append(segment, node, remembered, values) else None


def _append(segment: Segment, node: Node, remembered: Remembered, values: list[Any]) -> bool:
    """Put what a sweep appended at this node on the segment, if it is still there; return whether.

    From looking at the node on there is no call: see record.py.
    """
    if segment.node is not node or len(segment.values) != node.next_slot:
        return False
    segment.node = remembered.end
    segment.values += values
    segment.released = segment.released | remembered.released if segment.released else remembered.released
    return True


def _gradient(segment: Segment, values: list[Any], output: Any, start: int) -> Any:
    """Return the tensor for a gradient among the values of the slots from `start` on; it is made once."""
    place = output.slot - start
    found = values[place]
    if found is None:
        found = values[place] = recording.new_tensor()
        found._segment = segment
        found._node = output
    return found


def _leaves_of(segment: Segment, groups: list[Any]) -> list[Any] | None:
    """Return the leaf of each group, or None where they are not the same and different ones as then, or one takes no gradient."""
    leaves = []
    origins, marked = segment.origins, segment.leaves
    for places, _ in groups:
        place = places[0]
        first = origins[place] if place in origins else marked.get(place)
        if first is None or first.__class__ is tuple or first._takes_no_gradient:
            return None
        for place in places[1:]:
            if (origins[place] if place in origins else marked.get(place)) is not first:
                return None
        leaves.append(first)
    return leaves if len(set(map(id, leaves))) == len(leaves) else None


def recall_plain(segment: Segment, root: Any) -> list[tuple[Any, Any]] | None:
    """Append what ``root.backward()``, with no argument, appended before; return the leaves and their gradients, or None.

    It is `recall` for the sweep that each step of a training loop makes, and asks no more than has to be asked then.
    """
    node = segment.node
    if node.sweeps is None or root._segment is not segment or segment.released or segment.retained or segment.versions:
        return None
    remembered: Remembered | None = node.sweeps.get(root._node)
    if remembered is None:
        return None
    leaves = _leaves_of(segment, remembered.groups)
    if leaves is None:
        return None
    start = node.next_slot
    values = list(remembered.values)
    found = []
    for leaf, (_, output) in zip(leaves, remembered.groups, strict=True):
        if leaf._is_stale or leaf._takes_no_gradient or not leaf._node.type.requires_grad:
            return None
        found.append((leaf, _gradient(segment, values, output, start)))
    return found if _append(segment, node, remembered, values) else None


def gradients_key(segment: Segment, root: Any, wanted: Sequence[Any], options: tuple[bool, ...]) -> Any:
    """Return what `recall_gradients` knows a sweep from one root to some leaves by; None for one that it is not for."""
    try:
        if root._segment is not segment or segment.retained or segment.versions or root._takes_no_gradient:
            return None
        nodes = [leaf._node for leaf in wanted if leaf._segment is segment and not (leaf._takes_no_gradient or leaf._retains_grad)]
    except AttributeError:  # no tensors
        return None
    return (root._node, *nodes, options, segment.released) if len(nodes) == len(wanted) else None


def recall_gradients(segment: Segment, key: Any, wanted: Sequence[Any]) -> tuple[Any, ...] | None:
    """Append what the sweep of this key appended before, and return the gradients of the leaves wanted, or None.

    It is `recall` for the sweep that ``grad(loss, parameters)`` makes.
    """
    node = segment.node
    found = None if node.sweeps is None else node.sweeps.get(key)
    if found is None or any([origin.__class__ is tuple for origin in segment.origins.values()]):
        return None
    remembered, expected, outputs = found
    places = _places(segment)
    if expected != [places.get(id(leaf)) for leaf in wanted]:
        return None
    start = node.next_slot
    values = list(remembered.values)
    gradients = tuple([_gradient(segment, values, output, start) for output in outputs])
    return gradients if _append(segment, node, remembered, values) else None


def remember_gradients(begin: Node, key: Any, wanted: Sequence[Any], sweep: Any) -> None:
    """Keep a sweep for `recall_gradients`, if it is remembered, and it found a gradient of each leaf on its segment alone."""
    remembered: Remembered | None = sweep.remembered
    if remembered is None or remembered.targets or not len(remembered.groups) == len(sweep.leaf_gradients) == len(wanted):
        return
    by_leaf = dict(zip(sweep.leaf_gradients, remembered.groups, strict=True))
    groups = [by_leaf[id(leaf)] for leaf in wanted if id(leaf) in by_leaf]
    if len(groups) == len(wanted) and begin.sweeps is not None:
        begin.sweeps[key] = (remembered, [places for places, _ in groups], [output for _, output in groups])


def remember(segment: Segment, begin: Node, key: Any, sweep: Any) -> Remembered | None:
    """Keep, and return, what a finished sweep appended to the segment, if it stayed on it."""
    end = segment.node
    if end is SEALED or any(other is not segment for other, _ in sweep.replayed):
        return None
    start = begin.next_slot
    values = [None if hasattr(value, "_node") else value for value in segment.values[start:]]
    path = path_to(end)[begin.length :]
    outputs = {output.slot: output for node in path for output in node.outputs if node.primitive is not IMPORT}
    groups = []
    all_places = _places(segment)
    for leaf, gradient in sweep.leaf_gradients.values():
        places = all_places.get(id(leaf))
        if not places or gradient._segment is not segment or gradient._node.slot not in outputs:
            return None
        groups.append((tuple([slot for slot in places if slot < start]), outputs[gradient._node.slot]))
    targets = []
    for (_, slot), gradient in sweep.target_gradients.items():
        if gradient._segment is not segment or gradient._node.slot not in outputs:
            return None
        targets.append((slot, outputs[gradient._node.slot]))
    released = frozenset([node.slot for _, nodes in sweep.replayed for node in nodes]) if not sweep.retain_graph else frozenset()
    if begin.sweeps is None or len(begin.sweeps) >= _SWEEPS_PER_NODE:
        begin.sweeps = {}
    found = begin.sweeps[key] = Remembered(end, values, groups, targets, released)
    if key == ((key[0][0],), (None,), None, PLAIN, frozenset()) and len({output.slot for _, output in groups}) == len(groups):
        begin.sweeps[key[0][0]] = found
    return found
