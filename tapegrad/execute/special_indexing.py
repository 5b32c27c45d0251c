"""Kernels of indexing: elements are read, written or added at positions that index tensors give.

A position out of range makes a kernel return 1. Where positions repeat, the last value written stays, and floats add up in
float64; such kernels go over all elements in one call.
"""

from __future__ import annotations

from typing import Any

from ..primitives.indexing import block_start, result_shape
from ..tape.types import Shape, contiguous_strides
from .memory import Input, Number, Written
from .special_source import Source, block, broadcast_to, checked_number, copy, product, rows_and_columns, rows_per_call, without

_MOST_WIDE = 1 << 22  # elements of float32 that are added to in float64: what is more would take much memory


class _Position:
    """Where an index tensor leads: its strides over the elements, and the stride and length of the axis that it indexes."""

    def __init__(self, index: Input, strides: Shape, stride: int, size: int, wraps: bool) -> None:
        self.index = index
        self.strides = strides
        self.stride = stride
        self.size = size
        self.wraps = wraps  # negative positions count from the end


class _Elements:
    """The code that goes over elements, some of which are found through positions."""

    def __init__(self, shape: Shape, indexed: Shape, plain: Shape, positions: list[_Position]) -> None:
        self.code = code = Source()
        self.positions = positions
        every = [indexed, plain, *[position.strides for position in positions]]
        self.rows, self.columns, strides = rows_and_columns(shape, *every)
        self.count = product(self.rows)
        (indexed_rows, self.indexed_column), (plain_rows, self.plain_column), *own = strides
        places = {"a": indexed_rows, "b": plain_rows} | {f"i{number}": rows for number, (rows, _) in enumerate(own)}
        self.places = code.places(self.rows, places)
        self.once, self.each = [], []
        for number, (position, (_, column)) in enumerate(zip(positions, own, strict=True)):
            code.elements(f"index{number}", position.index.slot, position.index.kind)
            code.integer(f"size{number}", position.size)
            code.integer(f"stride{number}", position.stride)
            lines = self._found(number, f"i{number}{code.step(f'd{number}', column)}", position.wraps)
            if column:
                self.each += [*lines, f"at += p{number} * stride{number}"]
            else:
                self.once += [*lines, f"a += p{number} * stride{number}"]

    def _found(self, number: int, place: str, wraps: bool) -> list[str]:
        lines = [f"p{number} = i8(index{number}[{place}])"]
        if wraps:
            lines += [f"if p{number} < 0:", f"    p{number} += size{number}"]
        return [*lines, f"if p{number} < 0 or p{number} >= size{number}:", "    return 1"]

    def loop(self, statement: str, first: str = "lo", last: str = "hi") -> str:
        """Return the loop over the elements: in the statement, `at` is the place through positions, `own` the other."""
        code = self.code
        code.integer("n", self.columns)
        each = "\n".join([f"at = a{code.step('ca', self.indexed_column)}", *self.each, f"own = b{code.step('cb', self.plain_column)}"])
        once = "\n".join(self.once)
        return f"""\
for r in range({first}, {last}):
{block(self.places)}
{block(once)}
    for j in range(n):
{block(each, 2)}
        {statement}"""


# Positions, of each kind of index


def _along(axis: int, index: Input, own: Shape, strides: Shape, lengths: Shape, wraps: bool = False) -> tuple[Shape, _Position]:
    """Return the strides of indexed memory over elements, and the position along one axis: of a vector or an element's own.

    `strides` and `lengths` are those of the memory; `own` are the index's strides over the elements.
    """
    stride, size = (strides[axis], lengths[axis]) if lengths else (0, 1)
    indexed = without(strides, axis) if len(strides) == len(own) else (0,) * len(own)
    return indexed, _Position(index, own, stride, size, wraps)


def _of_vector(index: Input, axis: int, ndim: int) -> Shape:
    """Return the strides of a vector of positions over elements that it indexes the slices of."""
    return tuple([index.strides[0] if place == axis and index.strides else 0 for place in range(ndim)])


def _patterned(
    pattern: tuple[str, ...], indices: list[Input], types: list[Any], strides: Shape, lengths: Shape
) -> tuple[Shape, list[_Position]]:
    """Return the strides of indexed memory over the elements, and the positions, where several axes may be indexed at once."""
    axes = [axis for axis, kind in enumerate(pattern) if kind == "i"]
    start = block_start(pattern)
    depth = max([t.ndim for t in types])
    kept = [strides[axis] for axis, kind in enumerate(pattern) if kind == ":"]
    positions = []
    for index, t, axis in zip(indices, types, axes, strict=True):
        own = broadcast_to(index, (1,) * depth, t.shape)
        over = (*[0] * start, *own, *[0] * (len(kept) - start))
        positions.append(_Position(index, over, strides[axis], lengths[axis], True))
    return (*kept[:start], *[0] * depth, *kept[start:]), positions


# Reading


def _read(node: Any, a: Input, indexed: Shape, positions: list[_Position]) -> Written | None:
    shape = node.type.shape
    if not node.type.numel:
        return None
    elements = _Elements(shape, indexed, contiguous_strides(shape), positions)
    elements.code.elements("x", a.slot, a.kind)
    elements.code.elements("y", node.slot, a.kind)
    return elements.code.written(elements.loop("y[own] = x[at]"), elements.count, rows_per_call(elements.count, elements.columns))


def _index_select(node: Any, operands: list[Any]) -> Written | None:
    a, index = operands
    axis = node.parameters["axis"]
    own = _of_vector(index, axis, node.type.ndim)
    indexed, position = _along(axis, index, own, a.strides, node.operands[0].type.shape)
    return _read(node, a, indexed, [position])


def _gather(node: Any, operands: list[Any]) -> Written | None:
    a, index = operands
    indexed, position = _along(node.parameters["axis"], index, index.strides, a.strides, node.operands[0].type.shape)
    return _read(node, a, indexed, [position])


def _index(node: Any, operands: list[Any]) -> Written | None:
    a, *indices = operands
    types = [operand.type for operand in node.operands]
    return _read(node, a, *_patterned(node.parameters["pattern"], indices, types[1:], a.strides, types[0].shape))


# Writing: a copy of the operand, in which elements are replaced or added to


def _write(
    node: Any, a: Input, source: Any, shape: Shape, strides: Shape, target: tuple[Shape, list[_Position]], adds: bool
) -> list[Written] | None:
    """Return the kernels: `shape` is that of what is written, `strides` those of the source over it."""
    numel, kind = node.type.numel, a.kind
    is_number = source.__class__ is Number
    if not numel or not product(shape) or (adds and (kind == "b1" or (kind == "f4" and numel > _MOST_WIDE))):
        return None
    if not is_number and source.kind != kind:
        return None
    indexed, positions = target
    elements = _Elements(shape, indexed, strides, positions)
    code = elements.code
    code.elements("y", node.slot, kind)
    code.integer("count", elements.count)
    begin = end = ""
    value: str | None
    if is_number:
        value = checked_number(code, "v", source, kind)
        if value is None:
            return None
    else:
        code.elements("x", source.slot, kind)
        value = "x[own]"
    statement = f"y[at] = {'y[at] + ' if adds else ''}{value}"
    if adds and kind == "f4":
        code.integer("numel", numel)
        code.scratch("total", "f8", numel)
        begin = "for j in range(numel):\n    total[j] = f8(y[j])\n"
        end = "\nfor j in range(numel):\n    y[j] = f4(total[j])"
        statement = f"total[at] += f8({value})"
    body = begin + elements.loop(statement, "0", "count") + end
    return [copy(node.type.shape, a, node.slot, kind), code.written(body)]


def _along_result(node: Any, index: Input, own: Shape, wraps: bool = False) -> tuple[Shape, list[_Position]]:
    shape = node.type.shape
    indexed, position = _along(node.parameters["axis"], index, own, contiguous_strides(shape), shape, wraps)
    return indexed, [position]


def _slices(adds: bool) -> Any:
    """Return the function for index_add and index_copy."""

    def lower(node: Any, operands: list[Any]) -> list[Written] | None:
        a, index, source = operands
        shape = node.operands[2].type.shape
        if len(shape) != node.type.ndim:
            return None
        own = _of_vector(index, node.parameters["axis"], len(shape))
        return _write(node, a, source, shape, source.strides, _along_result(node, index, own), adds)

    return lower


def _index_fill(node: Any, operands: list[Any]) -> list[Written] | None:
    a, index, value = operands
    axis, given = node.parameters["axis"], node.operands[1].type
    shape = tuple([given.numel if place == axis else length for place, length in enumerate(node.type.shape)])
    own = _of_vector(index, axis, len(shape))
    return _write(node, a, value, shape, (0,) * len(shape), _along_result(node, index, own, True), False)


def _scatter(adds: bool) -> Any:
    """Return the function for scatter_add and scatter."""

    def lower(node: Any, operands: list[Any]) -> list[Written] | None:
        a, index, source = operands
        types = [operand.type for operand in node.operands]
        if not types[2].is_number and types[2].ndim != types[1].ndim:
            return None
        strides = (0,) * types[1].ndim if types[2].is_number else source.strides
        return _write(node, a, source, types[1].shape, strides, _along_result(node, index, index.strides), adds)

    return lower


def _index_put(node: Any, operands: list[Any]) -> list[Written] | None:
    a, value, *indices = operands
    types = [operand.type for operand in node.operands]
    pattern, lengths = node.parameters["pattern"], node.type.shape
    target = _patterned(pattern, indices, types[2:], contiguous_strides(lengths), lengths)
    shape = result_shape(lengths, types[2:], pattern)
    return _write(node, a, value, shape, broadcast_to(value, shape, types[1].shape), target, node.parameters["accumulate"])


KERNELS = {
    "index_select": _index_select,
    "gather": _gather,
    "index": _index,
    "index_add": _slices(True),
    "index_copy": _slices(False),
    "index_fill": _index_fill,
    "scatter": _scatter(False),
    "scatter_add": _scatter(True),
    "index_put": _index_put,
}
