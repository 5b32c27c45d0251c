"""Remembering reverse sweeps: on a trie hit, backward() is one step.

A sweep over the open segment alone is a function of its structure. What it appended is kept at the trie node where it
began; met again, its end node and its numbers are put on the segment at once, and only the gradients become tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .buffers import is_concrete
from .record import enter, new_tensor_of
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
    if state.segment is not segment or segment.node is SEALED:
        return None
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
    if any([isinstance(origin, tuple) for origin in segment.origins.values()]):
        return None
    places = tuple([_places(segment, target) for target in targets])
    return places if all([slots != () for slots in places]) else None


def _places(segment: Segment, target: Any) -> Any:
    """Return the slots that stand for a target on this segment, () for none."""
    if isinstance(target, tuple):
        return target[1] if target[0] is segment else ()
    return tuple([slot for places in (segment.origins, segment.leaves) for slot, leaf in places.items() if leaf is target])


def recall(segment: Segment, key: Any) -> tuple[dict[int, tuple[Any, Any]], dict[Any, Any]] | None:
    """Append what the sweep of this key appended before; return the gradients of leaves and targets, or None if unknown."""
    sweeps = segment.node.sweeps
    remembered: Remembered | None = None if sweeps is None else sweeps.get(key)
    if remembered is None:
        return None
    leaves = _leaves_of(segment, remembered.groups)
    if leaves is None:
        return None
    start = segment.node.next_slot
    values = list(remembered.values)
    gradients: dict[int, Any] = {}
    for output in [output for _, output in remembered.groups] + [output for _, output in remembered.targets]:
        if output.slot not in gradients:
            gradients[output.slot] = values[output.slot - start] = new_tensor_of(segment, output)
    if segment.node is SEALED or len(segment.values) != start:
        return None
    segment.node = remembered.end
    segment.values += values
    segment.released |= remembered.released
    return (
        {id(leaf): (leaf, gradients[output.slot]) for leaf, (_, output) in zip(leaves, remembered.groups, strict=True)},
        {(segment, slot): gradients[output.slot] for slot, output in remembered.targets},
    )


def _leaves_of(segment: Segment, groups: list[Any]) -> list[Any] | None:
    """Return the leaf of each group, or None where the leaves are not the same and different ones as then."""
    leaves = []
    origins, marked = segment.origins, segment.leaves
    for places, _ in groups:
        place = places[0]
        first = origins[place] if place in origins else marked.get(place)
        if first is None or first.__class__ is tuple:
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
        gradient = new_tensor_of(segment, output)
        values[output.slot - start] = gradient
        found.append((leaf, gradient))
    if segment.node is not node or len(segment.values) != start:
        return None
    segment.node = remembered.end
    segment.values += values
    segment.released |= remembered.released
    return found


def remember(segment: Segment, begin: Node, key: Any, sweep: Any) -> None:
    """Keep what a finished sweep appended to the segment, if it stayed on it."""
    end = segment.node
    if end is SEALED or any(other is not segment for other, _ in sweep.replayed):
        return
    start = begin.next_slot
    values = [None if hasattr(value, "_node") else value for value in segment.values[start:]]
    path = path_to(end)[begin.length :]
    outputs = {output.slot: output for node in path for output in node.outputs if node.primitive is not IMPORT}
    groups = []
    for leaf, gradient in sweep.leaf_gradients.values():
        places = _places(segment, leaf)
        if not places or gradient._segment is not segment or gradient._node.slot not in outputs:
            return
        groups.append((tuple([slot for slot in places if slot < start]), outputs[gradient._node.slot]))
    targets = []
    for (_, slot), gradient in sweep.target_gradients.items():
        if gradient._segment is not segment or gradient._node.slot not in outputs:
            return
        targets.append((slot, outputs[gradient._node.slot]))
    released = frozenset([node.slot for _, nodes in sweep.replayed for node in nodes]) if not sweep.retain_graph else frozenset()
    if begin.sweeps is None or len(begin.sweeps) >= _SWEEPS_PER_NODE:
        begin.sweeps = {}
    found = begin.sweeps[key] = Remembered(end, values, groups, targets, released)
    if key == ((key[0][0],), (None,), None, PLAIN, frozenset()) and len({output.slot for _, output in groups}) == len(groups):
        begin.sweeps[key[0][0]] = found
