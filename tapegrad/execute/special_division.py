"""Kernels of the division of integers. Where a divisor is zero they return 1: the interpreter raises the error."""

from __future__ import annotations

from typing import Any

from ..tape.types import contiguous_strides
from .expressions import KINDS
from .memory import Number, Written
from .special_source import Source, block, broadcast_to, checked_number, product, rows_and_columns, rows_per_call

# Of the quotient's floor `q` and the remainder `rest`, which has the divisor's sign.
_CROSSES = "(rest != 0) & ((a < 0) != (b < 0))"
_RESULTS = {
    "floor_divide": "q",
    "div_floor": "q",
    "trunc_divide": f"q + (i8(1) if {_CROSSES} else i8(0))",
    "remainder": "rest",
    "fmod": f"rest - (b if {_CROSSES} else i8(0))",
}


def _divide(node: Any, operands: list[Any]) -> Written | None:
    kind = KINDS[node.type.dtype]
    kinds = [KINDS[operand.type.dtype] for operand in node.operands if not operand.type.is_number]
    if not node.type.numel or any([given not in ("i1", "i2", "i4", "i8", "u1") for given in (kind, *kinds)]):
        return None
    shape = node.type.shape
    own = [broadcast_to(given, shape, operand.type.shape) for given, operand in zip(operands, node.operands, strict=True)]
    rows, columns, strides = rows_and_columns(shape, *own, contiguous_strides(shape))
    code = Source()
    loads = []
    for name, given, (_, column) in zip("ab", operands, strides, strict=False):
        if given.__class__ is Number:
            value = checked_number(code, f"{name}_number", given, kind)
        else:
            code.elements(f"{name}_elements", given.slot, given.kind)
            value = f"{name}_elements[{name}_place{code.step(f'{name}_step', column)}]"
        if value is None:
            return None
        loads.append(f"{name} = i8({value})")
    code.elements("y", node.slot, kind)
    code.integer("n", columns)
    places = code.places(rows, {name: given for name, (given, _) in zip(("a_place", "b_place", "y_place"), strides, strict=True)})
    body = f"""\
for r in range(lo, hi):
{block(places)}
    for j in range(n):
{block(chr(10).join(loads), 2)}
        if b == 0:
            return 1
        q = -a
        rest = i8(0)
        if b != -1:
            q = a // b
            rest = a - q * b
        y[y_place + j] = {kind}({_RESULTS[node.primitive.name]})"""
    count = product(rows)
    return code.written(body, count, rows_per_call(count, columns))


KERNELS = dict.fromkeys(_RESULTS, _divide)
