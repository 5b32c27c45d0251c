"""Kernels of convolution and its two transposes: windows spread into columns, and BLAS.

A kernel goes over samples and groups. It copies the channels of one group of a sample into an image with the padding around
it, spreads a few rows of windows at a time into a matrix (depth, windows) that stays in cache, and multiplies; the transpose
in the input goes the other way. Fewer than three dimensions are three, of which those in the middle have length 1.
"""

from __future__ import annotations

import math
import re
from textwrap import indent
from typing import Any, NamedTuple

from ..primitives.windows import padded_lengths
from ..tape.types import Shape, contiguous_strides
from . import blas
from .memory import HEAD, SIZES, Input, Memory, Written

_COLUMN_BYTES = 1 << 18  # the columns of one product stay in cache
_CHUNKS = 4
_TAB = "    "
_VECTOR = 64  # bytes

# What the kernels consist of, in their order. Names are words of the arguments, and what is set before.

_BEGIN = """
chunk = lo // step
image_at = scratch + chunk * scratch_bytes
columns_at = image_at + image_bytes
image = pointer_{kind}(image_at)
columns = pointer_{kind}(columns_at)
"""
_CLEAR = """
for i in range(image_size):
    image[i] = {kind}(0)
"""
_PLACES = """
for place in range(lo, hi):
    sample = place // groups
    group = place - sample * groups
"""
_COPY_IN = """
x = pointer_{kind}(word(x_cell) + (sample * x_sample + group * channels * x_channel) * {size})
for c in range(channels):
    for i0 in range(begin0, end0):
        for i1 in range(begin1, end1):
            source = c * x_channel + i0 * x_0 + i1 * x_1
            to = ((c * l0 + i0 + low0) * l1 + i1 + low1) * l2 + low2
            for i2 in range(begin2, end2):
                image[to + i2] = x[source + i2{x_2}]
"""
_BLOCKS = """
first = 0
while first < count0:
    stop = least(first + rows, count0)
    width = (stop - first) * count1 * count2
"""
# Over the columns in their order; `at` counts their elements, `source` is where a row of windows begins in the image.
_COLUMNS = """
at = 0
for c in range(channels):
    for k0 in range(kernel0):
        for k1 in range(kernel1):
            for k2 in range(kernel2):
                for o0 in range(first, stop):
                    for o1 in range(count1):
                        source = ((c * l0 + o0 * stride0 + k0 * gap0) * l1 + o1 * stride1 + k1 * gap1) * l2 + k2 * gap2
"""
_SPREAD_VECTORS = """
j = 0
while j < count2:
    copy_vector_{kind}(columns_at + (at + j) * {size}, image_at + (source + j) * {size})
    j += {lanes}
"""
_SPREAD_ELEMENTS = """
for j in range(count2):
    columns[at + j] = image[source + j * stride2]
"""
_ADD_VECTORS = """
j = 0
while j < count2:
    add_vector_{kind}(image_at + (source + j) * {size}, columns_at + (at + j) * {size}, count2 - j)
    j += {lanes}
"""
_ADD_ELEMENTS = """
for j in range(count2):
    image[source + j * stride2] += columns[at + j]
"""
_RESULT = """
r = pointer_{kind}(word(r_cell) + place * (channels * length0 * length1 * length2 * {size}))
"""
_COPY_OUT = """
for c in range(channels):
    for i0 in range(begin0, end0):
        for i1 in range(begin1, end1):
            source = ((c * l0 + i0 + low0) * l1 + i1 + low1) * l2 + low2
            to = ((c * length0 + i0) * length1 + i1) * length2
            for i2 in range(begin2, end2):
                r[to + i2] = image[source + i2]
"""
_CROP = """
for i in range(channels * length0 * length1 * length2):
    r[i] = {kind}(0)
"""
_MULTIPLY = """
weights = word(w_cell) + group * results * depth * {size}
r = word(r_cell) + (place * results * count0 + first) * count1 * count2 * {size}
{product}(gemm, results, width, depth, weights, 0, depth, columns_at, 0, width, 0, r, count0 * count1 * count2)
"""
_MULTIPLY_INPUT = """
weights = word(w_cell) + group * results * depth * {size}
g = word(g_cell) + (sample * g_sample + group * results * g_channel + first * count1 * count2) * {size}
{product}(gemm, depth, width, results, weights, 1, depth, g, 0, g_channel, 0, columns_at, width)
"""
_MULTIPLY_WEIGHT = """
total = total_at + group * results * depth * {size}
g = word(g_cell) + (sample * g_sample + group * results * g_channel + first * count1 * count2) * {size}
{product}(gemm, results, depth, width, g, 0, g_channel, columns_at, 1, width, 1, total, depth)
"""
_CLEAR_TOTAL = """
total_size = groups * results * depth
total_at = totals + chunk * total_size * {size}
t = pointer_{kind}(total_at)
for i in range(total_size):
    t[i] = {kind}(0)
"""


class _Total(NamedTuple):
    """What the parts of a result, one a chunk, are added up to."""

    slot: int
    kind: str
    reduction: str = "sum"


class _Kernel:
    """The words and the text of a kernel of a convolution with these shapes."""

    def __init__(self, kind: str, x_shape: Shape, w_shape: Shape, counts: Shape, parameters: dict[str, Any]) -> None:
        self.kind = kind
        self.size = SIZES[kind]
        self.names: dict[str, Memory] = {}
        self.x_2 = ""
        self.samples, channels, *lengths = x_shape
        groups = parameters["groups"]
        kernel = w_shape[2:]
        padding = parameters["padding"]
        self.depth = math.prod(w_shape[1:])
        self.stride = parameters["stride"][-1]
        begins = [max(-low, 0) for low, _ in padding]
        ends = [max(length + min(high, 0), begin) for length, (_, high), begin in zip(lengths, padding, begins, strict=True)]
        self.has_crop = any([low < 0 or high < 0 for low, high in padding])
        per_dimension = [
            *[("length", lengths, 1), ("count", counts, 1), ("kernel", kernel, 1), ("stride", parameters["stride"], 1)],
            *[("gap", parameters["dilation"], 1), ("low", [low for low, _ in padding], 0), ("begin", begins, 0), ("end", ends, 1)],
            ("l", padded_lengths(lengths, padding), 1),
        ]
        self.sizes = {name: _three(values, other) for name, values, other in per_dimension}
        self.words(groups=groups, channels=channels // groups, results=w_shape[0] // groups, depth=self.depth)
        for name, values in self.sizes.items():
            self.words(**{f"{name}{axis}": value for axis, value in enumerate(values)})
        count0, count1, count2 = self.sizes["count"]
        row_bytes = self.depth * count1 * count2 * self.size
        rows = max(min(_COLUMN_BYTES // row_bytes, count0), 1)
        image_size = channels // groups * math.prod(self.sizes["l"])
        image_bytes = -(-image_size * self.size // _VECTOR) * _VECTOR + _VECTOR
        scratch_bytes = image_bytes + -(-rows * row_bytes // _VECTOR) * _VECTOR + _VECTOR
        self.count = self.samples * groups
        self.step = -(-self.count // _CHUNKS)
        self.words(rows=rows, image_size=image_size, image_bytes=image_bytes, scratch_bytes=scratch_bytes, step=self.step)
        self.names["scratch"] = Memory("scratch", scratch_bytes)

    def words(self, **values: int) -> None:
        """Give names to integers."""
        self.names.update({name: Memory("word", value) for name, value in values.items()})

    def cell(self, name: str, slot: int) -> None:
        """Give a name to the cell of a slot."""
        self.names[name] = Memory("cell", slot)

    def read_image(self, x: Input) -> None:
        """Let x be what images are copied from."""
        sample, channel, *strides = x.strides
        self.cell("x_cell", x.slot)
        first, middle, last = _three(strides, 0)
        self.words(x_sample=sample, x_channel=channel, x_0=first, x_1=middle, x_last=last)
        self.x_2 = "" if last == 1 else " * x_last"

    def read_weights(self, w: Input, shape: Shape) -> bool:
        """Let w be the weights, if they lie as the matrices that they are multiplied as."""
        self.cell("w_cell", w.slot)
        return w.strides == contiguous_strides(shape)

    def read_result(self, g: Input, counts: Shape) -> bool:
        """Let g be the cotangent of the result, if its planes lie as the rows of the matrices that they are multiplied as."""
        sample, channel, *strides = g.strides
        self.cell("g_cell", g.slot)
        self.words(g_sample=sample, g_channel=channel)
        return tuple(strides) == contiguous_strides(counts) and channel >= math.prod(counts)

    def columns(self, vectors: str, elements: str) -> str:
        """Return the loop over the columns: with vectors where windows are next to each other."""
        return _COLUMNS + indent(vectors if self.stride == 1 else elements, 6 * _TAB) + 6 * _TAB + "at += count2\n"

    def write(self, text: str, product: str, combinations: list[Any]) -> Written:
        """Return the kernel with this text."""
        values = {"kind": self.kind, "size": self.size, "lanes": _VECTOR // self.size, "product": product}
        body = text.format(**values, x_2=self.x_2)
        names = [name for name in self.names if re.search(rf"\b{name}\b", body)]
        head = "".join([f"{name} = word(args + {8 * number})\n" for number, name in enumerate(names)])
        lines = [line for line in f"{head}{body}return 0".splitlines() if line]
        source = f"{HEAD}\n\ndef kernel(args, lo, hi):\n" + "".join([f"{_TAB}{line}\n" for line in lines])
        return Written(source, [self.names[name] for name in names], self.count, self.step, combinations)


def _three(values: Any, other: int) -> tuple[int, int, int]:
    """Return one to three values as three."""
    *rest, last = values
    first, middle = [*rest, other, other][:2] if rest else (other, other)
    return first, middle, last


def _in_blocks(text: str) -> str:
    """Return the loop over rows of windows."""
    return _BLOCKS + indent(text, _TAB) + f"{_TAB}first = stop\n"


def lower_convolution(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of a convolution, or None."""
    x, w = operands
    x_shape, w_shape = [operand.type.shape for operand in node.operands]
    routine = _routine(node, operands)
    if routine is None:
        return None
    kernel = _Kernel(x.kind, x_shape, w_shape, node.type.shape[2:], node.parameters)
    kernel.read_image(x)
    kernel.cell("r_cell", node.slot)
    kernel.words(gemm=routine.address)
    if not kernel.read_weights(w, w_shape):
        return None
    blocks = _in_blocks(kernel.columns(_SPREAD_VECTORS, _SPREAD_ELEMENTS) + _MULTIPLY)
    return kernel.write(_BEGIN + _CLEAR + _PLACES + indent(_COPY_IN + blocks, _TAB), routine.caller, [])


def lower_convolution_input(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of the transpose in the input, or None."""
    g, w = operands
    g_shape, w_shape = [operand.type.shape for operand in node.operands]
    routine = _routine(node, operands)
    if routine is None:
        return None
    kernel = _Kernel(g.kind, node.type.shape, w_shape, g_shape[2:], node.parameters)
    kernel.cell("r_cell", node.slot)
    kernel.words(gemm=routine.address)
    if not kernel.read_weights(w, w_shape) or not kernel.read_result(g, g_shape[2:]):
        return None
    blocks = _in_blocks(_MULTIPLY_INPUT + kernel.columns(_ADD_VECTORS, _ADD_ELEMENTS))
    copy = _RESULT + (_CROP if kernel.has_crop else "") + _COPY_OUT
    return kernel.write(_BEGIN + _PLACES + indent(_CLEAR + blocks + copy, _TAB), routine.caller, [])


def lower_convolution_weight(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of the transpose in the weight, or None: each chunk of samples gives its own sum."""
    x, g = operands
    x_shape, g_shape = [operand.type.shape for operand in node.operands]
    routine = _routine(node, operands)
    if routine is None:
        return None
    kernel = _Kernel(x.kind, x_shape, node.type.shape, g_shape[2:], node.parameters)
    kernel.read_image(x)
    kernel.words(gemm=routine.address)
    if not kernel.read_result(g, g_shape[2:]):
        return None
    length = node.type.numel
    kernel.names["totals"] = Memory("partial", (node.slot, length))
    blocks = _in_blocks(kernel.columns(_SPREAD_VECTORS, _SPREAD_ELEMENTS) + _MULTIPLY_WEIGHT)
    total = _Total(node.slot, x.kind)
    text = _BEGIN + _CLEAR + _CLEAR_TOTAL + _PLACES + indent(_COPY_IN + blocks, _TAB)
    return kernel.write(text, routine.caller, [(total, x.kind, length, -(-kernel.count // kernel.step))])


def _routine(node: Any, operands: list[Any]) -> blas.Routine | None:
    """Return the routine that multiplies these operands, or None if there is nothing that kernels could do."""
    first, second = operands
    if first.__class__ is not Input or second.__class__ is not Input or first.kind != second.kind:
        return None
    if not node.type.numel or not all([operand.type.numel for operand in node.operands]):
        return None
    return blas.gemm(first.kind)
