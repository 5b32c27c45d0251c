"""Sinking: a value that a loop would only store for later loops is computed in those loops instead, where that moves less memory.

Records join loops as they come, and what a later loop needs of an earlier one lies in memory between the two. Once all loops are
known, such a value may be better computed where it is used: the factor `1 - y * y` in the derivative of tanh, for one, of a `y`
that has to be in memory anyway.
"""

from __future__ import annotations

from ..tape.types import contiguous_strides
from .expressions import expression_for
from .loops import FULL, MOST_OPERANDS, MOST_STEPS, Fusion, Loop, Step
from .lowering import Interleaved
from .memory import Input
from .vector_maths import FUNCTIONS

_STORING = 2  # what storing an element costs, beside reading one


def sink(fusion: Fusion, shown: set[int]) -> None:
    """Move steps into the loops that read them, the last ones first, so that what they are computed of can follow."""
    sinking = _Sinking(fusion, shown)
    for slot in reversed(fusion.sequence):
        sinking.visit(slot)


class _Sinking:
    def __init__(self, fusion: Fusion, shown: set[int]) -> None:
        self.fusion = fusion
        self.kept = {fusion.resolve(slot) for slot in shown}  # what is in memory in any case
        self.readers: dict[int, set[int]] = {}  # of a slot: the places of the loops that read it from memory
        for stage in fusion.stages:
            if isinstance(stage, Loop):
                for slot in stage.read:
                    self.readers.setdefault(slot, set()).add(stage.place)
            else:
                self.kept |= fusion.read_by(stage)

    def visit(self, slot: int) -> None:
        """Move a step where that is better."""
        readers = self.readers.get(slot)
        if not readers or slot in self.kept:
            return
        loop = self._loop(self.fusion.places[slot])
        step = loop.steps[slot]
        if step.level != FULL or step.reduction is not None or step.node.primitive.__class__ is Interleaved:
            return
        is_used = any([slot in other.operands for other in loop.steps.values()])
        targets = [self._loop(reader) for reader in sorted(readers)]
        if (is_used or len(targets) > 1) and _takes_long(step):
            return
        copies = [self._copy(step, target) for target in targets]
        before = _STORING + len(targets)
        moved = [copy for copy in copies if copy is not None]
        after = self._cost(step, moved, targets)
        if len(moved) < len(copies) or after > before or (after == before and (is_used or len(targets) > 1)):
            return
        if not is_used:
            del loop.steps[slot]
            self._forget(loop, step)
            self.fusion.places[slot] = targets[0].place
        for copy, target in zip(moved, targets, strict=True):
            self._put(copy, target)
        del self.readers[slot]

    def _loop(self, place: int) -> Loop:
        loop = self.fusion.stages[place]
        assert isinstance(loop, Loop)
        return loop

    def _copy(self, step: Step, target: Loop) -> Step | None:
        """Return the step as it would be in another loop that reads it, or None if it cannot be there."""
        if len(target.steps) >= MOST_STEPS or len(target.read) >= MOST_OPERANDS:
            return None
        if not target.refine(tuple([length for length in step.type.shape if length != 1]), None):
            return None
        whole = contiguous_strides(target.shape)
        if any([o.strides != whole or o.offset for o in target.operands() if o.__class__ is Input and o.slot == step.slot]):
            return None
        operands = self.fusion.operands_in(step.node, step.type.shape, target, FULL)
        if operands is None or not target.allows(target.split, [(FULL, o) for o in operands if o.__class__ is Input]):
            return None
        return Step(step.node, FULL, None, operands)

    def _cost(self, step: Step, copies: list[Step], targets: list[Loop]) -> int:
        """Return how often elements are read and stored for the sake of these copies. What is broadcast costs nothing."""
        cost = 0
        stored: set[int] = set()
        for copy, target in zip(copies, targets, strict=False):
            for operand in copy.operands:
                if operand.__class__ is Input and operand.slot not in target.read and all(operand.strides):
                    cost += 1
                    if not self._is_in_memory(operand.slot):
                        stored.add(operand.slot)
        return cost + _STORING * len(stored)

    def _is_in_memory(self, slot: int) -> bool:
        place = self.fusion.places.get(slot)
        return slot in self.kept or place is None or not isinstance(self.fusion.stages[place], Loop) or bool(self.readers.get(slot))

    def _put(self, step: Step, target: Loop) -> None:
        for other in target.steps.values():
            other.operands = [step.slot if o.__class__ is Input and o.slot == step.slot else o for o in other.operands]
        target.steps[step.slot] = step
        target.steps = dict(sorted(target.steps.items(), key=lambda item: self.fusion.sequence[item[0]]))
        target.read.discard(step.slot)
        for operand in step.operands:
            if operand.__class__ is Input:
                target.read.add(operand.slot)
                self.readers.setdefault(operand.slot, set()).add(target.place)

    def _forget(self, loop: Loop, step: Step) -> None:
        """Note what a loop no longer reads, now that a step has left it."""
        still = {operand.slot for operand in loop.inputs()}
        for operand in step.operands:
            if operand.__class__ is Input and operand.slot not in still:
                loop.read.discard(operand.slot)
                self.readers[operand.slot].discard(loop.place)


def _takes_long(step: Step) -> bool:
    """Whether it is better to store a value than to compute it twice."""
    expression = expression_for(step.node) or ""
    return "/" in expression or any([f"{name}(" in expression for name in FUNCTIONS])
