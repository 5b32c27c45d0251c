"""Kernels of losses: the negative log likelihood, elements that a target class picks, and the way back; checks of probabilities."""

from __future__ import annotations

from typing import Any

from ..tape.types import contiguous_strides
from .memory import Input, Number, Written
from .special_source import Source, block, merged, product, rows_and_columns, rows_per_call

_FLOATS = ("f4", "f8")


def _target(code: Source, index: Input, ignore: Number, size: int) -> str:
    """Name what picks classes; return the lines that find the class at a place, and whether it counts."""
    code.elements("index", index.slot, index.kind)
    code.number("ignore", ignore)
    code.integer("size", size)
    return """\
target = index[place]
counted = target != ignore
if counted and (target < 0 or target >= size):
    return 1"""


def _nll_loss(node: Any, operands: list[Any]) -> Written | None:
    a, index, ignore = operands
    types = [operand.type for operand in node.operands]
    if not types[1].numel or a.kind not in _FLOATS or ignore.is_float:
        return None
    axis, reduction = node.parameters["axis"], node.parameters["reduction"]
    kept = (*a.strides[:axis], *a.strides[axis + 1 :])
    lengths, (own, places) = merged(types[1].shape, kept, index.strides)
    code = Source()
    code.elements("x", a.slot, a.kind)
    code.elements("y", node.slot, a.kind)
    code.integer("step", a.strides[axis])
    target = _target(code, index, ignore, types[0].shape[axis])
    rows = code.places(lengths, {"at": own, "place": places})
    count = product(lengths)
    if reduction == "none":
        body = f"""\
for r in range(lo, hi):
{block(rows)}
{block(target)}
    y[r] = -x[at + target * step] if counted else -{a.kind}(0)"""
        return code.written(body, count, rows_per_call(count, 1))
    code.integer("count", count)
    body = f"""\
total = f8(0)
number = 0
for r in range(count):
{block(rows)}
{block(target)}
    if counted:
        total -= f8(x[at + target * step])
        number += 1
y[0] = {a.kind}({"total / f8(number)" if reduction == "mean" else "total"})"""
    return code.written(body)


def _nll_loss_transpose(node: Any, operands: list[Any]) -> Written | None:
    g, index, ignore = operands
    types = [operand.type for operand in node.operands]
    if not types[1].numel or not node.type.numel or g.kind not in _FLOATS or ignore.is_float:
        return None
    axis, size, reduction = node.parameters["axis"], node.parameters["size"], node.parameters["reduction"]
    shape = types[1].shape
    outer, inner = product(shape[:axis]), product(shape[axis:])
    code = Source()
    code.elements("g", g.slot, g.kind)
    code.elements("y", node.slot, g.kind)
    code.integer("inner", inner)
    target = _target(code, index, ignore, size)
    lengths, strides = merged(shape, contiguous_strides(shape), index.strides, g.strides if reduction == "none" else (0,) * len(shape))
    places = code.places(lengths, {"place": strides[1], "at": strides[2]})
    share, chunks = "-g[at]", outer
    if reduction == "mean":
        chunks = max(1, size // 32)  # each call counts the targets: that should not take longer than what it writes
        code.integer("count", product(shape))
        code.head.append(f"""\
number = 0
for r in range(count):
{block(places)}
    number += 1 if index[place] != ignore else 0
share = {g.kind}(-g[0] / {g.kind}(number))""")
        share = "share"
    body = f"""\
for row in range(lo, hi):
    for j in range(row * size * inner, (row + 1) * size * inner):
        y[j] = {g.kind}(0)
    for r in range(row * inner, (row + 1) * inner):
{block(places, 2)}
{block(target, 2)}
        if counted:
            y[row * size * inner + target * inner + r - row * inner] = {share}"""
    return code.written(body, outer, max(rows_per_call(outer, size * inner), -(-outer // chunks)))


def _check_probabilities(node: Any, operands: list[Any]) -> list[Written]:
    """A part that looks at its operands: see lowering."""
    kernels = []
    for given, operand in zip(operands, node.operands, strict=True):
        rows, columns, ((strides, column),) = rows_and_columns(operand.type.shape, given.strides)
        code = Source()
        code.elements("x", given.slot, given.kind)
        code.integer("n", columns)
        places = code.places(rows, {"a": strides})
        body = f"""\
for r in range(lo, hi):
{block(places)}
    wrong = i8(0)
    for j in range(n):
        v = x[a{code.step("c", column)}]
        wrong |= i8(0) if (v >= 0) & (v <= 1) else i8(1)
    if wrong != 0:
        return 1"""
        count = product(rows)
        kernels.append(code.written(body, count, rows_per_call(count, columns)))
    return kernels


KERNELS = {
    "checked probabilities": _check_probabilities,
    "nll_loss": _nll_loss,
    "nll_loss_transpose": _nll_loss_transpose,
}
