"""Kernels of reductions over axes between others: whole lines are added to each other, in the order of memory.

Other reductions are those of loops; see lowering for what is done where elements are not evenly spaced.
"""

from __future__ import annotations

from typing import Any

from ..tape.types import Shape
from .expressions import KINDS, cast
from .memory import Written, loaded, storable
from .special_source import Source, block, is_even, merged, product, rows_per_call

_FEWEST = 8  # elements of a line: shorter ones are as well gone over one after the other
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


def _reduce(node: Any, operands: list[Any]) -> Written | None:
    (a,) = operands
    shape, axes = node.operands[0].type.shape, node.parameters["axes"]
    long = [axis for axis, length in enumerate(shape) if length != 1]
    reduced = [axis for axis in long if axis in axes]
    if not reduced or not product(shape):
        return None
    outer = [axis for axis in long if axis < reduced[0]]
    lines = [axis for axis in long if axis > reduced[-1]]
    if not outer or len(outer) + len(reduced) + len(lines) < len(long):
        return None

    def only(chosen: list[int]) -> tuple[Shape, Shape]:
        return tuple([shape[axis] for axis in chosen]), tuple([a.strides[axis] for axis in chosen])

    (count, step), (columns, column) = only(reduced), only(lines)
    n = product(columns)
    if n < _FEWEST or not is_even(step, count) or not is_even(column, columns):
        return None
    name, kind = node.primitive.name, KINDS[node.type.dtype]
    wide = "f8" if kind in ("f4", "f8") else "i8"
    first = _COMBINED[name][0 if wide == "f8" else 1]
    code = Source()
    lengths, (strides,) = merged(*only(outer))
    rows = product(lengths)
    chunk = rows_per_call(rows, n * product(count))
    code.elements("x", a.slot, a.kind)
    code.elements("y", node.slot, kind)
    for key, value in (("n", n), ("count", product(count)), ("step", step[-1]), ("rows", chunk)):
        code.integer(key, value)
    code.head.append(f"total = pointer_{wide}({code.word('scratch', 8 * n)} + 8 * n * (lo // rows))")
    places = code.places(lengths, {"begin": strides})
    element = f"x[at{code.step('c', column[-1])}]"
    if name in ("reduce_any", "reduce_all"):
        element = f"i8(1) if {element} != 0 else i8(0)"
    else:
        element = cast(loaded(element, a.kind), wide, a.kind)
    body = f"""\
for r in range(lo, hi):
{block(places)}
    for j in range(n):
        total[j] = {first}
    for i in range(count):
        at = begin + i * step
        for j in range(n):
            a = total[j]
            b = {element}
            total[j] = {_COMBINED[name][2]}
    for j in range(n):
        y[r * n + j] = {storable(cast("total[j]", kind), kind)}"""
    return code.written(body, rows, chunk)


KERNELS = dict.fromkeys(_COMBINED, _reduce)
