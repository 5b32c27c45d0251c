"""Kernels of reductions over axes between others: whole lines are added to each other, in the order of memory.

Other reductions are those of loops; see lowering for what is done where elements are not evenly spaced.
"""

from __future__ import annotations

import math
from typing import Any

from ..tape.types import Shape
from .expressions import KINDS, cast
from .memory import Input, Written, loaded, storable
from .special_source import Source, block, is_even, merged, product, rows_per_call

_FEWEST = 8  # elements of a line: shorter ones are as well gone over one after the other
_SHORT = 64  # elements of a line: of shorter ones, that follow each other in memory, several are added up at once
_VECTORS = 32  # elements that a loop does at a time, or a part of so many
_MOST_TOTALS = 256  # at once
_LEAST, _MOST = "i8(-9223372036854775808)", "i8(9223372036854775807)"
# What each begins with (of floats, of integers), and how two are combined.
_COMBINED = {
    "reduce_sum": ("f8(0)", "i8(0)", "a + b"),
    "reduce_prod": ("f8(1)", "i8(1)", "a * b"),
    "reduce_max": ("-np.inf", _LEAST, "larger(a, b)"),
    "reduce_min": ("np.inf", _MOST, "smaller(a, b)"),
    "reduce_any": ("", "i8(0)", "a | b"),
    "reduce_all": ("", "i8(1)", "a & b"),
}


class Stacks:
    """An operand as stacks of lines: adjacent axes to go along, the axes before them, and those after, which are lines."""

    def __init__(self, a: Input, outer: tuple[Shape, Shape], along: tuple[Shape, Shape], line: tuple[Shape, Shape]) -> None:
        self.code = code = Source()
        lengths, (strides,) = merged(*outer)
        self.rows, self.count, self.n = product(lengths), product(along[0]), product(line[0])
        self.chunk = rows_per_call(self.rows, self.n * self.count)
        code.elements("x", a.slot, a.kind)
        for name, value in (("n", self.n), ("count", self.count), ("step", along[1][-1]), ("rows", self.chunk)):
            code.integer(name, value)
        self.places = code.places(lengths, {"begin": strides})
        self.element = f"x[at{code.step('c', line[1][-1])}]"
        self.at_once = self._lines_at_once() if (along[1][-1], line[1][-1]) == (self.n, 1) else 1

    def _lines_at_once(self) -> int:
        """Return of how many lines there may be totals of their own."""
        if self.n >= _SHORT:
            return 1
        whole = _VECTORS // math.gcd(self.n, _VECTORS)
        return max(min(whole, _MOST_TOTALS // self.n, self.count // 2), 1)

    def folded(self, wide: str, first: str, each: str, combined: str, last: str) -> Written:
        """Return the kernel of totals that can be `combined`, of an `a` and a `b`: several lines, one after the other, are as one."""
        if self.at_once == 1:
            return self.written(wide, first, each, last)
        length = self.n * self.at_once
        self.code.integer("length", length)
        body = f"""\
{self._begun("length", length, wide, first)}
    at = begin
    for i in range(n * count // length):
        for j in range(length):
{block(each, 3)}
        at += length
    for j in range(n * count % length):
{block(each, 2)}
    for k in range(1, length // n):
        for j in range(n):
            a = total[j]
            b = total[k * n + j]
            total[j] = {combined}
    for j in range(n):
{block(last, 2)}"""
        return self.code.written(body, self.rows, self.chunk)

    def written(self, wide: str, first: str, each: str, last: str = "") -> Written:
        """Return the kernel: totals of a line begin with `first`; `each` is done for an element, `last` for a total."""
        body = f"""\
{self._begun("n", self.n, wide, first)}
    for i in range(count):
        at = begin + i * step
        for j in range(n):
{block(each, 3)}"""
        if last:
            body += f"\n    for j in range(n):\n{block(last, 2)}"
        return self.code.written(body, self.rows, self.chunk)

    def _begun(self, name: str, length: int, wide: str, first: str) -> str:
        """Return the beginning of the loop over stacks: that many totals, which a word of this name counts, begin with `first`."""
        total = self.code.word("scratch", 8 * length)
        self.code.head.append(f"total = pointer_{wide}({total} + 8 * {name} * (lo // rows))")
        return f"""\
for r in range(lo, hi):
{block(self.places)}
    for j in range({name}):
        total[j] = {first}"""


def stacks(a: Input, shape: Shape, axes: list[int]) -> Stacks | None:
    """Return an operand as stacks along axes, or None if these are not adjacent, or lines are short or not evenly spaced."""
    long = [axis for axis, length in enumerate(shape) if length != 1]
    along = [axis for axis in long if axis in axes]
    if not along or not product(shape):
        return None
    outer = [axis for axis in long if axis < along[0]]
    line = [axis for axis in long if axis > along[-1]]
    if len(outer) + len(along) + len(line) < len(long):
        return None

    def of(chosen: list[int]) -> tuple[Shape, Shape]:
        return tuple([shape[axis] for axis in chosen]), tuple([a.strides[axis] for axis in chosen])

    (counts, steps), (lengths, strides) = of(along), of(line)
    if product(lengths) < _FEWEST or not is_even(steps, counts) or not is_even(strides, lengths):
        return None
    return Stacks(a, of(outer), (counts, steps), (lengths, strides))


def _reduce(node: Any, operands: list[Any]) -> Written | None:
    (a,) = operands
    found = stacks(a, node.operands[0].type.shape, node.parameters["axes"])
    if found is None:
        return None
    name, kind = node.primitive.name, KINDS[node.type.dtype]
    wide = "f8" if kind in ("f4", "f8") else "i8"
    if name in ("reduce_any", "reduce_all"):
        element = f"i8(1) if {found.element} != 0 else i8(0)"
    else:
        element = cast(loaded(found.element, a.kind), wide, a.kind)
    found.code.elements("y", node.slot, kind)
    first, combined = _COMBINED[name][0 if wide == "f8" else 1], _COMBINED[name][2]
    each = f"a = total[j]\nb = {element}\ntotal[j] = {combined}"
    last = f"y[r * n + j] = {storable(cast('total[j]', kind), kind)}"
    return found.folded(wide, first, each, combined, last)


KERNELS = dict.fromkeys(_COMBINED, _reduce)
