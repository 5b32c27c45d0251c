"""The kernel of cross products, along whichever axis the three elements of a vector lie."""

from __future__ import annotations

from typing import Any

from ..tape.types import contiguous_strides
from .memory import Written
from .special_source import Source, block, broadcast_to, product, rows_and_columns, rows_per_call, without


def _cross(node: Any, operands: list[Any]) -> Written | None:
    if not node.type.numel or node.type.dtype.is_complex or any([given.kind != operands[0].kind for given in operands]):
        return None
    shape = node.type.shape
    axis = len(shape) + node.parameters["axis"]
    own = [broadcast_to(given, shape, operand.type.shape) for given, operand in zip(operands, node.operands, strict=True)]
    every = [*own, contiguous_strides(shape)]
    vectors = tuple([1 if place == axis else length for place, length in enumerate(shape)])
    rows, columns, strides = rows_and_columns(vectors, *[without(given, axis) for given in every])
    code = Source()
    steps = []
    for name, slot, given, (_, column) in zip("xyz", (*[o.slot for o in operands], node.slot), every, strides, strict=True):
        code.elements(name, slot, operands[0].kind)
        code.integer(f"{name}_next", given[axis])
        steps.append(code.step(f"{name}_step", column))
    code.integer("n", columns)
    places = code.places(rows, {name: given for name, (given, _) in zip("abc", strides, strict=True)})
    kind = operands[0].kind
    body = f"""\
for r in range(lo, hi):
{block(places)}
    for j in range(n):
        at = a{steps[0]}
        x0, x1, x2 = x[at], x[at + x_next], x[at + 2 * x_next]
        at = b{steps[1]}
        y0, y1, y2 = y[at], y[at + y_next], y[at + 2 * y_next]
        at = c{steps[2]}
        z[at] = {kind}(x1 * y2 - x2 * y1)
        z[at + z_next] = {kind}(x2 * y0 - x0 * y2)
        z[at + 2 * z_next] = {kind}(x0 * y1 - x1 * y0)"""
    count = product(rows)
    return code.written(body, count, rows_per_call(count, 3 * columns))


KERNELS = {"cross": _cross}
