"""Kernels that put elements elsewhere: they fill, and copy to places that the program knows or finds when it runs."""

from __future__ import annotations

from typing import Any

from ..primitives.declare import TABLE
from ..tape.types import Shape, contiguous_strides, make_type
from .expressions import KINDS
from .memory import Number, Written, stored_kind
from .special_source import Source, block, copy, copy_from, fill, is_even, position, product, rows_per_call, without

_Kernels = list[Written] | None


def _filled(node: Any, kind: str, *copies: Written | None, value: Number | None = None) -> _Kernels:
    """Return the kernels that fill the result, and then copy into it; None if there are none for it."""
    if not node.type.numel:
        return None
    kernels = [fill(node.slot, kind, node.type.numel, value), *copies]
    found = [kernel for kernel in kernels if kernel is not None]
    return found if len(found) == len(kernels) else None


def _stepping(strides: Shape, axis: int, step: int) -> Shape:
    """Return strides for every so many-th element along an axis."""
    return tuple([stride * step if place == axis else stride for place, stride in enumerate(strides)])


def _pad_slice(node: Any, operands: list[Any]) -> _Kernels:
    g, start = operands
    axis, size, step = node.parameters["axis"], node.parameters["size"], node.parameters["step"]
    shape = node.operands[0].type.shape
    if not product(shape):
        return _filled(node, g.kind)
    code = Source()
    found = position(code, "start", start, size, (shape[axis] - 1) * step)
    if found is None:
        return None
    strides = contiguous_strides(node.type.shape)
    code.integer("stride", strides[axis])
    code.head += [found, "begin = start * stride"]
    return _filled(node, g.kind, copy_from(code, shape, g, node.slot, g.kind, (g.strides, _stepping(strides, axis, step))))


def _pad(node: Any, operands: list[Any]) -> _Kernels:
    a, value = operands
    low, high = node.parameters["low"], node.parameters["high"]
    if value.__class__ is not Number:
        return None
    lengths = list(zip(node.operands[0].type.shape, low, high, strict=True))
    kept = tuple([length + min(before, 0) + min(after, 0) for length, before, after in lengths])
    strides = contiguous_strides(node.type.shape)
    first = sum([max(-before, 0) * stride for before, stride in zip(low, a.strides, strict=True)])
    begin = sum([max(before, 0) * stride for before, stride in zip(low, strides, strict=True)])
    if any([length <= 0 for length in kept]):
        return _filled(node, a.kind, value=value)
    copied = copy(kept, a, node.slot, a.kind, (a.strides, strides), (first, begin))
    if not any([length > 0 for length in (*low, *high)]):
        return [copied] if node.type.numel else None
    return _filled(node, a.kind, copied, value=value)


def _pad_diagonal(node: Any, operands: list[Any]) -> _Kernels:
    (g,) = operands
    offset, axis1, axis2 = (node.parameters[key] for key in ("offset", "axis1", "axis2"))
    shape, strides = node.operands[0].type.shape, contiguous_strides(node.type.shape)
    if not product(shape):
        return _filled(node, g.kind)
    kept = [stride for axis, stride in enumerate(strides) if axis not in (axis1, axis2)]
    begin = abs(offset) * strides[axis2 if offset > 0 else axis1]
    to_strides = (*kept, strides[axis1] + strides[axis2])
    return _filled(node, g.kind, copy(shape, g, node.slot, g.kind, (g.strides, to_strides), (0, begin)))


def _fold(node: Any, operands: list[Any]) -> _Kernels:
    (a,) = operands
    axis, step = node.parameters["axis"], node.parameters["step"]
    shape, strides = node.operands[0].type.shape, contiguous_strides(node.type.shape)
    if not product(shape):
        return _filled(node, a.kind)
    to_strides = (*_stepping(strides, axis, step), strides[axis])
    return _filled(node, a.kind, copy(shape, a, node.slot, a.kind, (a.strides, to_strides), adds=True))


def _concatenate(node: Any, operands: list[Any]) -> _Kernels:
    axis = node.parameters["axis"]
    strides = contiguous_strides(node.type.shape)
    kind = KINDS[node.type.dtype]
    copies = []
    begin = 0
    for operand, given in zip(operands, node.operands, strict=True):
        if operand.__class__ is Number:
            return None
        shape = given.type.shape
        if product(shape):
            copies.append(copy(shape, operand, node.slot, kind, (operand.strides, strides), (0, begin * strides[axis])))
            begin += shape[axis]
    return copies or None


def _roll(node: Any, operands: list[Any]) -> _Kernels:
    a, shift = operands
    axis, shape = node.parameters["axis"], node.type.shape
    columns = product(shape[axis + 1 :])
    if not node.type.numel or shift.__class__ is not Number or shift.is_float or not is_even(a.strides[axis + 1 :], shape[axis + 1 :]):
        return None
    code = Source()
    code.elements("x", a.slot, a.kind)
    code.elements("y", node.slot, a.kind)
    code.number("shift", shift)
    code.integer("size", shape[axis])
    code.integer("n", columns)
    code.integer("stride", a.strides[axis])
    places = code.places(shape[: axis + 1], {"a": without(a.strides, axis)[: axis + 1]})
    column = code.step("c", ([0] + [s for s, length in zip(a.strides, shape, strict=True) if length != 1])[-1] if columns > 1 else 0)
    rows = product(shape[: axis + 1])
    body = f"""\
for r in range(lo, hi):
{block(places)}
    a += (r % size - shift) % size * stride
    for j in range(n):
        y[r * n + j] = x[a{column}]"""
    return [code.written(body, rows, rows_per_call(rows, columns))]


def _triangle(is_kept: str) -> Any:
    def lower(node: Any, operands: list[Any]) -> _Kernels:
        (a,) = operands
        shape = node.type.shape
        if not node.type.numel:
            return None
        code = Source()
        code.elements("x", a.slot, a.kind)
        code.elements("y", node.slot, a.kind)
        code.integer("k", node.parameters["k"])
        code.integer("rows", shape[-2])
        code.integer("n", shape[-1])
        places = code.places(shape[:-1], {"a": a.strides[:-1]})
        rows = product(shape[:-1])
        body = f"""\
for r in range(lo, hi):
{block(places)}
    last = r % rows + k
    for j in range(n):
        y[r * n + j] = where(j {is_kept} last, x[a{code.step("c", a.strides[-1])}], {stored_kind(a.kind)}(0))"""
        return [code.written(body, rows, rows_per_call(rows, shape[-1]))]

    return lower


def _update(node: Any, operands: list[Any]) -> _Kernels:
    """A copy, into which the new view is written: its strides are known, where it begins perhaps not yet."""
    x, new, *numbers = operands
    types = [operand.type for operand in node.operands]
    if new.__class__ is Number or new.kind != x.kind or not node.type.numel:
        return None
    copied = copy(node.type.shape, x, node.slot, x.kind)
    code = Source()
    begin = ["0"]
    view = make_type(types[0].dtype, types[0].shape)
    given = list(zip(numbers, types[2:], strict=True))
    for link, (name, parameters, count) in enumerate(node.parameters["chain"]):
        primitive = TABLE[name]
        named = dict(zip(primitive.parameters, parameters, strict=True))
        own = [given.pop(0) for _ in range(count)]
        _, shape, *strides = primitive.type_rule(view, *[type_ for _, type_ in own], **named)
        if name not in _LINKS or not strides or strides[0] is None:
            return None
        if name in ("select", "slice_axis"):
            axis, last = named["axis"], (named["length"] - 1) * named["step"] if name == "slice_axis" else 0
            found = position(code, f"start{link}", own[0][0], view.shape[axis], last) if product(shape) else ""
            if found is None:
                return None
            if found:
                code.head.append(found)
                code.integer(f"stride{link}", view.strides[axis])
                begin.append(f"start{link} * stride{link}")
        elif name == "diagonal":
            offset = named["offset"]
            code.integer(f"place{link}", abs(offset) * view.strides[named["axis2" if offset > 0 else "axis1"]])
            begin.append(f"place{link}")
        view = make_type(view.dtype, shape, strides[0])
    if not view.numel:
        return [copied]
    code.head.append(f"begin = {' + '.join(begin)}")
    return [copied, copy_from(code, view.shape, new, node.slot, x.kind, (new.strides, view.strides))]


_LINKS = frozenset(("alias", "detach", "diagonal", "permute", "reshape", "select", "slice_axis", "unfold"))


def _converted(node: Any, operands: list[Any]) -> _Kernels:
    """A part's Python number: see lowering."""
    return _filled(node, KINDS[node.type.dtype], value=operands[0])


KERNELS = {
    "converted number": _converted,
    "pad_slice": _pad_slice,
    "pad": _pad,
    "pad_diagonal": _pad_diagonal,
    "fold": _fold,
    "concatenate": _concatenate,
    "roll": _roll,
    "update": _update,
    "tril": _triangle("<="),
    "triu": _triangle(">="),
}
