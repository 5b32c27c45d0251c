"""Loops: which records of a trace join, and the order in which loops and calls of Python run.

Elementwise records over the same elements join in one loop; a reduction joins as its end. A loop goes over rows and columns: a
reduction over the columns gives a value a row, which later steps of the same loop may use (softmax and layer norm are
several passes over one row); a reduction over the rows, or over all, is ready when the loop has ended.
"""

from __future__ import annotations

from typing import Any

from ..tape.types import Shape, contiguous_strides, make_type
from .columns import Columns
from .expressions import KINDS, expression_for
from .forms import Forms
from .lowering import Interleaved, Part, parts_of
from .memory import Input, Number, Written
from .special_kernels import special_kernel
from .windows import window_of

FULL, ROW, COLUMN, TOTAL = "full", "row", "column", "total"  # a value for each element, row, column, or one for all
MOST_STEPS = 512
MOST_OPERANDS = 24
_REACH = 128  # stages: a record joins none that is farther back, so that a plan takes as long as it has records
REDUCTIONS = {f"reduce_{name}": name for name in ("sum", "prod", "max", "min", "any", "all")}
# Of these, a value is that of the operand at this place, in the same memory.
SAME = {"alias": 0, "detach": 0, "assign": 1, "tie": 0, "keep": 0}
VIEWS = frozenset(("reshape", "permute", "expand", "unfold"))


class Step:
    """A record in a loop: its operands are inputs, slots of other steps, or numbers (a slot and the class of number)."""

    __slots__ = ("node", "slot", "type", "kind", "level", "reduction", "operands", "is_stored", "is_shown")

    def __init__(self, node: Any, level: str, reduction: str | None, operands: list[Any]) -> None:
        self.node = node
        self.slot = node.slot
        self.type = node.type
        self.kind = KINDS[node.type.dtype]
        self.level = level
        self.reduction = reduction
        self.operands = operands
        self.is_stored = level in (COLUMN, TOTAL) or node.primitive.__class__ is Interleaved
        self.is_shown = False  # to Python, in an array of its own


class Loop:
    """Steps over the same elements; with a `split`, the dimensions before it are rows, those from it on columns."""

    def __init__(self, place: int, shape: Shape) -> None:
        self.place = place
        self.shape = shape
        self.split: int | None = None
        self.steps: dict[int, Step] = {}
        self.count = 0

    def operands(self) -> list[Any]:
        """Return what the steps read."""
        return [operand for step in self.steps.values() for operand in step.operands]

    def inputs(self) -> list[Input]:
        """Return what the steps read from outside."""
        return [operand for operand in self.operands() if operand.__class__ is Input]

    def refine(self, lengths: Shape, split: int | None) -> bool:
        """Divide dimensions (of those before a split, if one is given) so that elements of this shape are the loop's own, in order.

        What a product makes and what is reshaped of it then join, such as a bias added to a matrix and a norm of its batches.
        """
        rows, rest = (self.shape, ()) if split is None else (self.shape[:split], self.shape[split:])
        finer = common_division(rows, lengths)
        if finer is None:
            return False
        shape = (*finer, *rest)
        if shape != self.shape:
            for step in self.steps.values():
                for operand in step.operands:
                    if operand.__class__ is Input:
                        over = self.shape if len(operand.strides) == len(self.shape) else self.shape[: self.split]
                        operand.strides = divided(operand.strides, over, shape)
            self.split = None if self.split is None else place_in(self.split, self.shape, shape)
            self.shape = shape
        return True

    def allows(self, split: int | None, inputs: list[tuple[str, Input]]) -> bool:
        """Whether the loop can split there, with these further inputs: each row's columns must be evenly spaced."""
        if split is None:
            return True
        if self.split is not None and self.split != split:
            return False
        every = [(step.level, o) for step in self.steps.values() for o in step.operands if o.__class__ is Input]
        columns = self.shape[split:]
        return all([is_even(i.strides[split:], columns) for level, i in [*every, *inputs] if level != ROW])


def is_even(strides: Shape, lengths: Shape) -> bool:
    """Whether elements with these strides are evenly spaced, in order."""
    return all(
        [strides[axis] == strides[axis + 1] * lengths[axis + 1] for axis in range(len(lengths) - 1)]
    )


class Result:
    """A value that an instruction of its own puts into memory."""

    __slots__ = ("slot", "type", "kind", "is_stored", "is_shown")

    def __init__(self, output: Any) -> None:
        self.slot = output.slot
        self.type = output.type
        self.kind = KINDS[output.type.dtype]
        self.is_stored = True
        self.is_shown = False


class Special:
    """A record that is an instruction of its own, with a kernel that is written for its primitive: see special_kernels."""

    def __init__(self, place: int, node: Any, operands: list[Any], written: Any) -> None:
        self.place = place
        self.node = node
        self.given = operands
        self.steps = {output.slot: Result(output) for output in node.outputs}
        self.written = written

    def operands(self) -> list[Any]:
        """Return what the kernel reads: inputs and numbers."""
        return self.given

    def inputs(self) -> list[Input]:
        """Return what the kernel reads from memory."""
        return [operand for operand in self.given if operand.__class__ is Input]


class Window(Special):
    """A view that begins elsewhere than its operand: its kernel finds the address, and its elements are those of the operand."""

    def __init__(self, place: int, ready: int, node: Any, operands: list[Any], strides: Shape, written: Any) -> None:
        super().__init__(place, node, operands, written)
        self.strides = strides
        self.steps = {}
        self.ready = ready  # the last place that it has to wait for


class Call:
    """A record that Python runs."""

    def __init__(self, place: int, node: Any) -> None:
        self.place = place
        self.node = node


class View:
    """A value in the memory of another: with strides (in elements) over its own shape, from its offset on."""

    __slots__ = ("base", "node", "shape", "strides", "offset")

    def __init__(self, base: int, node: Any, shape: Shape, strides: Shape, offset: int) -> None:
        self.base = base
        self.node = node
        self.shape = shape
        self.strides = strides
        self.offset = offset


class Fusion:
    """The loops and calls of a trace's records.

    `layouts` are the strides (in elements) of the values that come from outside, or from Python, as they were seen; `numbers`
    are the integers that may be compiled in.
    """

    def __init__(self, nodes: list[Any], shown: set[int], layouts: dict[int, Shape], numbers: dict[int, int]) -> None:
        self.nodes = list(nodes)  # and their parts
        self.layouts = layouts
        self.next_slot = 1 + max([output.slot for node in nodes for output in node.outputs], default=0)
        self.forms = Forms()
        self.stages: list[Loop | Special | Call] = []
        self.places: dict[int, int] = {}  # of a slot: the stage that makes it
        self.views: dict[int, View] = {}
        self.columns = Columns(self, nodes, numbers)
        for node in nodes:
            self._add(node)
        for slot in sorted(shown):
            self.columns.assemble(slot)
        self._store(shown)

    def _add(self, node: Any) -> None:
        if self.columns.take(node):
            return
        for operand in node.operands:
            self.columns.assemble(operand.slot)
        if self._as_view(node) or self._as_step(node) or self._as_special(node) or self._as_parts(node):
            return
        call = Call(len(self.stages), node)
        self.stages.append(call)
        for output in node.outputs:
            self.places[output.slot] = call.place

    def add_parts(self, parts: list[Part]) -> None:
        """Add the parts of a record."""
        self.next_slot += len(parts)
        self.nodes += parts
        for part in parts:
            self._add(part)

    def add_column(self, part: Part) -> None:
        """Add a column of a value in memory: a view."""
        (operand,) = part.operands
        strides, place = self.layout(operand), part.parameters["place"]
        assert strides is not None
        self.nodes.append(part)
        base, offset = self.resolve(operand.slot), self.offset(operand.slot) + place * strides[-1]
        self.views[part.slot] = View(base, part, part.type.shape, (*strides[:-1], 1), offset)

    def resolve(self, slot: int) -> int:
        """Return the slot whose memory a value is in."""
        view = self.views.get(slot)
        return slot if view is None else view.base

    def offset(self, slot: int) -> int:
        """Return where a value begins in the memory that it is in, in elements."""
        view = self.views.get(slot)
        return 0 if view is None else view.offset

    def layout(self, output: Any) -> Shape | None:
        """Return the strides of a value; of what a loop makes they are those of a contiguous array."""
        view = self.views.get(output.slot)
        if view is not None:
            return view.strides
        place = self.places.get(output.slot)
        stage = None if place is None else self.stages[place]
        if stage.__class__ is Window:
            return stage.strides
        if stage is not None and stage.__class__ is not Call:
            return contiguous_strides(output.type.shape)
        return self.layouts.get(output.slot)

    def _as_view(self, node: Any) -> bool:
        name = node.primitive.name
        if name in SAME:
            operand = node.operands[SAME[name]]
            strides = self.layout(operand)
            if strides is None or operand.type.is_number or operand.type.dtype is not node.type.dtype:
                return False
            if operand.type.shape != node.type.shape:
                return False
        elif name in VIEWS:
            operand = node.operands[0]
            layout = self.layout(operand)
            if layout is None or operand.type.is_number:
                return False
            ruled = node.primitive.type_rule(make_type(operand.type.dtype, operand.type.shape, layout), **node.parameters)
            if ruled[2] is None:
                return False
            strides = ruled[2]
        else:
            return False
        self.views[node.slot] = View(self.resolve(operand.slot), node, node.type.shape, strides, self.offset(operand.slot))
        return True

    def _as_special(self, node: Any) -> bool:
        """Give a record an instruction of its own, where its primitive has a kernel for it."""
        operands: list[Any] = []
        for operand in node.operands:
            layout = self.layout(operand)
            if operand.type.dtype not in KINDS:
                return False
            if operand.type.is_number:
                operands.append(Number(operand.slot, operand.type.dtype.is_floating_point))
            elif layout is None:
                return False
            else:
                operands.append(Input(self.resolve(operand.slot), KINDS[operand.type.dtype], layout))
        if any([output.type.dtype not in KINDS or output.type.is_number for output in node.outputs]):
            return False
        found = self.forms.of_record(node, operands, lambda: _kernels_of(node, operands))
        if found is None:
            return False
        strides, written = found
        stage: Special
        if strides is not None:
            ready = max([self._ready(operand.slot) for operand in operands])
            stage = Window(len(self.stages), ready, node, operands, strides, written)
        else:
            stage = Special(len(self.stages), node, operands, written)
        self.stages.append(stage)
        for output in node.outputs:
            self.places[output.slot] = stage.place
        return True

    def _as_parts(self, node: Any) -> bool:
        """Take a record as several, where there is a way to."""
        if any([value.type.dtype not in KINDS for value in (*node.operands, *node.outputs)]):
            return False
        if any([self.layout(operand) is None and not operand.type.is_number for operand in node.operands]):
            return False
        parts = parts_of(node, self.next_slot)
        if parts is None:
            return False
        self.add_parts(parts)
        return True

    # Steps

    def _as_step(self, node: Any) -> bool:
        if len(node.outputs) > 1 or node.type.is_number or not node.type.numel:
            return False
        if any([operand.type.dtype not in KINDS for operand in (node, *node.operands)]):
            return False
        reduction = REDUCTIONS.get(node.primitive.name)
        if reduction is not None:
            return self._join_reduction(node, reduction)
        if node.primitive.__class__ is Interleaved:
            (*rows, _) = node.type.shape
            return self._join(node, (*rows, 1), None, None)
        if expression_for(node) is None:
            return False
        return self._join(node, node.type.shape, None, None)

    def _join_reduction(self, node: Any, reduction: str) -> bool:
        (operand,) = node.operands
        shape = operand.type.shape
        axes = node.parameters.get("axes", ())
        long = [axis for axis, length in enumerate(shape) if length != 1]
        reduced = [axis in axes for axis in long]
        if not any(reduced) or not operand.type.numel:
            return False
        if all(reduced):
            return self._join(node, shape, reduction, TOTAL)
        split = reduced.index(not reduced[0])
        if any([flag == reduced[0] for flag in reduced[split:]]):
            return False
        return self._join(node, shape, reduction, COLUMN if reduced[0] else ROW, split)

    def _join(self, node: Any, shape: Shape, reduction: str | None, level: str | None, split: int | None = None) -> bool:
        """Put a record in the loop that makes its operands, or the last one over the same elements, or a new one."""
        lengths = tuple([length for length in shape if length != 1])
        for stage in self._candidates(node):
            if stage.count >= MOST_STEPS or len(stage.inputs()) >= MOST_OPERANDS:
                continue
            if stage.refine(lengths, None):
                operands = self._operands(node, shape, stage, FULL)
                inputs = [(FULL, o) for o in operands or () if o.__class__ is Input]
                place = None if split is None else place_in(split, lengths, stage.shape)
                if operands is not None and stage.allows(stage.split if place is None else place, inputs):
                    return self._put(stage, Step(node, level or FULL, reduction, operands), place)
            if stage.split is not None and level in (None, TOTAL) and stage.refine(lengths, stage.split):
                operands = self._operands(node, shape, stage, ROW)
                if operands is not None and any([o.__class__ is int for o in operands]):
                    return self._put(stage, Step(node, level or ROW, reduction, operands), None)
        stage = Loop(len(self.stages), lengths)
        operands = self._operands(node, shape, stage, FULL)
        if operands is None or not stage.allows(split, [(FULL, o) for o in operands if o.__class__ is Input]):
            return False
        self.stages.append(stage)
        return self._put(stage, Step(node, level or FULL, reduction, operands), split)

    def _candidates(self, node: Any) -> list[Loop]:
        earliest = 0
        for operand in node.operands:
            earliest = max(earliest, self._ready(self.resolve(operand.slot)))
        earliest = max(earliest, len(self.stages) - _REACH)
        return [stage for stage in reversed(self.stages[earliest:]) if stage.__class__ is Loop]

    def _ready(self, slot: int) -> int:
        """Return the last place that a value has to wait for; a window waits for what it is a view of, not for its own turn."""
        place = self.places.get(slot, -1)
        stage = self.stages[place] if place >= 0 else None
        return stage.ready if isinstance(stage, Window) else place

    def _operands(self, node: Any, shape: Shape, loop: Loop, level: str) -> list[Any] | None:
        """Return the operands as a loop has them, or None if it cannot reach one of them."""
        found: list[Any] = []
        lengths = tuple([length for length in shape if length != 1])
        for operand in node.operands:
            if operand.type.is_number:
                if self._ready(operand.slot) >= loop.place:
                    return None
                found.append(Number(operand.slot, operand.type.dtype.is_floating_point))
                continue
            layout = self.layout(operand)
            base = self.resolve(operand.slot)
            if layout is None:
                return None
            strides = _aligned(operand.type.shape, layout, shape)
            strides = divided(strides, lengths, loop.shape if level == FULL else loop.shape[: loop.split])
            step = loop.steps.get(base)
            if step is None:
                if self._ready(base) >= loop.place:
                    return None
                found.append(Input(base, KINDS[operand.type.dtype], strides, self.offset(operand.slot)))
            elif step.node.primitive.__class__ is Interleaved or self.offset(operand.slot):
                return None
            elif strides == _reached(step.level, level, loop):
                found.append(base)
            else:
                return None
        return found

    def _put(self, loop: Loop, step: Step, split: int | None) -> bool:
        loop.steps[step.slot] = step
        loop.count += 1
        if split is not None:
            loop.split = split
        self.places[step.slot] = loop.place
        return True

    # What is in memory

    def _store(self, shown: set[int]) -> None:
        """Mark the steps whose values have to be in memory, and of them those that Python sees."""
        for slot in shown:
            self._show(slot)
        for stage in self.stages:
            if isinstance(stage, Call):
                for operand in stage.node.operands:
                    self._show(operand.slot)
            else:
                for given in stage.inputs():
                    step = self._step_of(given.slot)
                    if step is not None:
                        step.is_stored = True

    def _show(self, slot: int) -> None:
        base = self.resolve(slot)
        window = self.window_of(base)
        if window is not None:  # Python makes the view itself
            for operand in window.node.operands:
                self._show(operand.slot)
        step = self._step_of(base)
        if step is not None:
            step.is_stored = step.is_shown = True

    def _step_of(self, slot: int) -> Any:
        """Return the step or result that a slot's memory belongs to, or None if it comes from elsewhere."""
        place = self.places.get(slot)
        stage = None if place is None else self.stages[place]
        return None if stage is None or stage.__class__ is Call else stage.steps.get(slot)  # type: ignore[union-attr]

    def window_of(self, slot: int) -> Window | None:
        """Return the window that a slot is, or None."""
        place = self.places.get(slot)
        stage = None if place is None else self.stages[place]
        return stage if isinstance(stage, Window) else None


def _kernels_of(node: Any, operands: list[Any]) -> tuple[Shape | None, list[Written]] | None:
    """Return the strides of a window (None for other records) and the kernels of a record; None if there are none for it."""
    window = window_of(node, operands)
    if window is not None:
        strides, written = window
        return strides, [written]
    kernels = special_kernel(node, operands)
    return None if kernels is None else (None, kernels)


def common_division(first: Shape, second: Shape) -> Shape | None:
    """Return the coarsest shape that both can be divided into, in the order of their elements, or None if there is none.

    >>> common_division((10, 24), (2, 5, 24)), common_division((4, 6), (8, 3)), common_division((4, 6), (6, 4))
    ((2, 5, 24), (4, 2, 3), None)
    """
    if first == second:
        return first
    found = []
    left, right = list(first), list(second)
    while left and right:
        small, large = (left, right) if left[0] <= right[0] else (right, left)
        length = small.pop(0)
        if large[0] % length:
            return None
        found.append(length)
        large[0] //= length
        if large[0] == 1:
            large.pop(0)
    return None if left or right else tuple(found)


def place_in(place: int, shape: Shape, finer: Shape) -> int:
    """Return where in a finer shape the dimension begins that is at this place of the shape.

    >>> place_in(1, (10, 24), (2, 5, 24))
    2
    """
    left = 1
    for length in shape[:place]:
        left *= length
    found = 0
    while left > 1:
        left //= finer[found]
        found += 1
    return found


def divided(strides: Shape, shape: Shape, finer: Shape) -> Shape:
    """Return the strides over a finer shape; it may go on after the dimensions that there are strides for.

    >>> divided((24, 1), (10, 24), (2, 5, 24)), divided((1,), (10,), (2, 5, 24))
    ((120, 24, 1), (5, 1))
    """
    found: list[int] = []
    for axis, stride in enumerate(strides):
        begin, end = place_in(axis, shape, finer), place_in(axis + 1, shape, finer)
        own = []
        for length in reversed(finer[begin:end]):
            own.append(stride)
            stride *= length
        found += reversed(own)
    return tuple(found)


def _reached(level: str, wanted: str, loop: Loop) -> Shape | None:
    """Return the strides with which a step of this level is reached in its own loop by one of the wanted level."""
    if level == FULL and wanted == FULL:
        return contiguous_strides(loop.shape)
    if level == ROW:
        rows = loop.shape[: loop.split]
        return contiguous_strides(rows) + (0,) * (len(loop.shape) - len(rows) if wanted == FULL else 0)
    return None


def _aligned(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides over the dimensions of the target that are not of length 1, of a value that is broadcast to it."""
    added = len(target) - len(shape)
    found = []
    for axis, length in enumerate(target):
        if length != 1:
            found.append(strides[axis - added] if axis >= added and shape[axis - added] != 1 else 0)
    return tuple(found)
