"""Kernels that go along an axis: running sums and products, and where the extremes are."""

from __future__ import annotations

from typing import Any

from ..tape.types import Shape, contiguous_strides
from .expressions import KINDS, cast
from .memory import Input, Written, loaded
from .special_reductions import stacks
from .special_source import Source, block, is_even, merged, product, rows_per_call, without


class _Lines:
    """The lines of an operand along one axis, and the code that finds where each begins."""

    def __init__(self, node: Any, a: Input, result_strides: Shape) -> None:
        """`result_strides` are those of the result over the operand's dimensions."""
        axis, shape, strides = node.parameters["axis"], node.operands[0].type.shape, a.strides
        if axis is None or not shape:
            every = [stride for stride, length in zip(strides, shape, strict=True) if length != 1] or [1]
            axis, shape, strides, result_strides = 0, (product(shape),), (every[-1],), (0,) if axis is None else (1,)
        self.code = code = Source()
        lengths = tuple([1 if place == axis else length for place, length in enumerate(shape)])
        self.lengths, (own, of_result) = merged(lengths, strides, result_strides)
        code.elements("x", a.slot, a.kind)
        code.integer("n", shape[axis])
        self.length = shape[axis]
        self.places = code.places(self.lengths, {"a": own, "b": of_result})
        self.column = code.step("c", strides[axis])
        self.result_column = code.step("d", result_strides[axis])
        self.value = f"x[a{self.column}]"

    def written(self, lines: str) -> Written:
        """Return the kernel that runs these for each line."""
        rows = product(self.lengths)
        body = f"for r in range(lo, hi):\n{block(self.places)}\n{block(lines)}"
        return self.code.written(body, rows, rows_per_call(rows, self.length))


def _running(identity: int, sign: str) -> Any:
    def lower(node: Any, operands: list[Any]) -> Written | None:
        (a,) = operands
        kind = KINDS[node.type.dtype]
        if not node.type.numel or kind == "b1":
            return None
        wide = "f8" if kind in ("f4", "f8") else "i8"
        found = stacks(a, node.operands[0].type.shape, [node.parameters["axis"]])
        if found is not None:
            found.code.elements("y", node.slot, kind)
            value = cast(loaded(found.element, a.kind), wide, a.kind)
            each = f"a = total[j] {sign} {value}\ntotal[j] = a\ny[(r * count + i) * n + j] = {kind}(a)"
            return found.written(wide, f"{wide}({identity})", each)
        lines = _Lines(node, a, contiguous_strides(node.type.shape))
        lines.code.elements("y", node.slot, kind)
        return lines.written(f"""\
total = {wide}({identity})
for j in range(n):
    total = total {sign} {cast(loaded(lines.value, a.kind), wide, a.kind)}
    y[b{lines.result_column}] = {kind}(total)""")

    return lower


def _extreme(sign: str) -> Any:
    """Return the function for positions, or values and positions, of the first of the extremes; NaN is the most extreme."""

    def lower(node: Any, operands: list[Any]) -> Written | None:
        (a,) = operands
        shape, axis = node.operands[0].type.shape, node.parameters["axis"]
        if not product(shape) or (axis is None and not is_even(a.strides, shape)):
            return None
        over = contiguous_strides(shape if axis is None or not shape else (*shape[:axis], 1, *shape[axis + 1 :]))
        lines = _Lines(node, a, over if axis is None or not shape else without(over, axis))
        outputs = [output.slot for output in node.outputs]
        lines.code.elements("y", outputs[-1], "i8")
        is_better = f"v {sign} best"
        if a.kind in ("f4", "f8"):
            is_better += " or (v != v and best == best)"
        end = "y[b] = at"
        if len(outputs) > 1:
            lines.code.elements("z", outputs[0], a.kind)
            end += "\nz[b] = best"
        return lines.written(f"""\
best = x[a]
at = 0
for j in range(1, n):
    v = {lines.value}
    if {is_better}:
        best = v
        at = j
{end}""")

    return lower


KERNELS = {
    "cumsum": _running(0, "+"),
    "cumprod": _running(1, "*"),
    "argmax": _extreme(">"),
    "argmin": _extreme("<"),
    "max_with_index": _extreme(">"),
    "min_with_index": _extreme("<"),
}
