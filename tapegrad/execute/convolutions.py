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
_CHUNKS = 16
_SCRATCH_BYTES = 1 << 26  # of all chunks
_TAB = "    "
_VECTOR = 64  # bytes

# What the kernels consist of, in their order. Names are words of the arguments, and what is set before.

_BEGIN = """
chunk = lo // step
image_at = scratch + chunk * scratch_bytes
columns_at = image_at + image_bytes
image = pointer_{kind}(image_at)
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
# Over the columns in their order: `to` is the address of a row of them, `source` that of where its windows begin in the image.
_COLUMNS = """
to = columns_at
for c in range(channels):
    for k0 in range(kernel0):
        for k2 in range(kernel2):
            source = image_at + ((c * l0 + first * stride0 + k0 * gap0) * l2 + k2 * gap2) * {size}
            for o0 in range(first, stop):
                {row}
                to += count2 * {size}
                source += stride0 * l2 * {size}
"""
_COLUMNS_OF_THREE = """
to = columns_at
for c in range(channels):
    for k0 in range(kernel0):
        for k1 in range(kernel1):
            for k2 in range(kernel2):
                plane = image_at + (((c * l0 + first * stride0 + k0 * gap0) * l1 + k1 * gap1) * l2 + k2 * gap2) * {size}
                for o0 in range(first, stop):
                    source = plane
                    for o1 in range(count1):
                        {row}
                        to += count2 * {size}
                        source += stride1 * l2 * {size}
                    plane += stride0 * l1 * l2 * {size}
"""
# What is done with a row: in one vector, in several, or element by element.
_SPREAD = (
    "copy_vector_{kind}(to, source)",
    """
j = 0
while j < count2:
    copy_vector_{kind}(to + j * {size}, source + j * {size})
    j += {lanes}
""",
    """
for j in range(count2):
    pointer_{kind}(to)[j] = pointer_{kind}(source)[j * stride2]
""",
)
_ADD = (
    "add_vector_{kind}(source, to, count2)",
    """
j = 0
while j < count2:
    add_vector_{kind}(source + j * {size}, to + j * {size}, count2 - j)
    j += {lanes}
""",
    """
for j in range(count2):
    pointer_{kind}(source)[j * stride2] += pointer_{kind}(to)[j]
""",
)
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
total = turned_at + group * results * depth * {size}
g = word(g_cell) + (sample * g_sample + group * results * g_channel + first * count1 * count2) * {size}
{product}(gemm, depth, results, width, columns_at, 0, width, g, 1, g_channel, 1, total, results)
"""
# The sum over samples: of turned matrices, since BLAS is faster so, until the end.
_BEGIN_TOTAL = """
total_size = groups * results * depth
turned_at = columns_at + columns_bytes
turned = pointer_{kind}(turned_at)
for i in range(total_size):
    turned[i] = {kind}(0)
"""
_END_TOTAL = """
total = pointer_{kind}(totals + chunk * total_size * {size})
for group in range(groups):
    of_group = group * results * depth
    for o in range(results):
        for d in range(depth):
            total[of_group + o * depth + d] = turned[of_group + d * results + o]
"""


class _Total(NamedTuple):
    """What the parts of a result, one a chunk, are added up to."""

    slot: int
    kind: str
    reduction: str = "sum"


class _Kernel:
    """The words and the text of a kernel of a convolution with these shapes."""

    def __init__(self, kind: str, x_shape: Shape, w_shape: Shape, counts: Shape, parameters: dict[str, Any], gap: int = 0) -> None:
        self.kind = kind
        self.size = SIZES[kind]
        self.names: dict[str, Memory] = {}
        self.x_2 = ""
        self.samples, channels, *lengths = x_shape
        groups = parameters["groups"]
        kernel = w_shape[2:]
        padding = parameters["padding"]
        self.ndim = len(kernel)
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
        l0, l1, l2 = self.sizes["l"]
        self.sizes["l"] = (l0, l1, l2 + gap)
        self.words(groups=groups, channels=channels // groups, results=w_shape[0] // groups, depth=self.depth)
        for name, values in self.sizes.items():
            self.words(**{f"{name}{axis}": value for axis, value in enumerate(values)})
        count0, count1, count2 = self.sizes["count"]
        row_bytes = self.depth * count1 * count2 * self.size
        rows = max(min(_COLUMN_BYTES // row_bytes, count0), 1)
        image_size = channels // groups * math.prod(self.sizes["l"])
        image_bytes, columns_bytes = _bytes_of_vectors(image_size * self.size), _bytes_of_vectors(rows * row_bytes)
        self.count = self.samples * groups
        self.words(rows=rows, image_size=image_size, image_bytes=image_bytes, columns_bytes=columns_bytes)
        self.scratch(image_bytes + columns_bytes)
        self.is_alone = blas.is_large(w_shape[0] // groups * self.depth * rows * count1 * count2)

    def scratch(self, size: int) -> None:
        """Ask for memory of so many bytes a chunk; the more they are, the fewer chunks."""
        chunks = max(min(_SCRATCH_BYTES // size, _CHUNKS), 1)
        self.step = -(-self.count // chunks)
        self.names["scratch"] = Memory("scratch", size)
        self.words(scratch_bytes=size, step=self.step)

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

    def columns(self, ways: tuple[str, str, str]) -> str:
        """Return the loop over the columns, with what is done with a row: vectors are for windows that are next to each other."""
        way = 2 if self.stride != 1 else 0 if self.sizes["count"][-1] * self.size <= _VECTOR else 1
        loop = _COLUMNS_OF_THREE if self.ndim == 3 else _COLUMNS
        (begin,) = re.findall(r"^( *)\{row\}$", loop, re.MULTILINE)
        return loop.replace(f"{begin}{{row}}\n", indent(f"{ways[way]}\n", begin))

    def write(self, text: str, product: str, combinations: list[Any]) -> Written:
        """Return the kernel with this text."""
        values = {"kind": self.kind, "size": self.size, "lanes": _VECTOR // self.size, "product": product}
        body = text.format(**values, x_2=self.x_2)
        names = [name for name in self.names if re.search(rf"\b{name}\b", body)]
        head = "".join([f"{name} = word(args + {8 * number})\n" for number, name in enumerate(names)])
        lines = [line for line in f"{head}{body}return 0".splitlines() if line]
        source = f"{HEAD}\n\ndef kernel(args, lo, hi):\n" + "".join([f"{_TAB}{line}\n" for line in lines])
        written = Written(source, [self.names[name] for name in names], self.count, self.step, combinations)
        written.is_alone = self.is_alone
        return written


def _bytes_of_vectors(size: int) -> int:
    """Return the bytes of so many, in whole vectors and with one more behind the end."""
    return (-(-size // _VECTOR) + 1) * _VECTOR


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
    blocks = _in_blocks(kernel.columns(_SPREAD) + _MULTIPLY)
    return kernel.write(_BEGIN + _CLEAR + _PLACES + indent(_COPY_IN + blocks, _TAB), routine.caller, [])


def lower_convolution_input(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of the transpose in the input, or None."""
    g, w = operands
    g_shape, w_shape = [operand.type.shape for operand in node.operands]
    routine = _routine(node, operands)
    if routine is None:
        return None
    apart = _VECTOR // SIZES[g.kind]  # a processor waits long for what it reads to be written, if that began elsewhere
    kernel = _Kernel(g.kind, node.type.shape, w_shape, g_shape[2:], node.parameters, apart)
    kernel.cell("r_cell", node.slot)
    kernel.words(gemm=routine.address)
    if not kernel.read_weights(w, w_shape) or not kernel.read_result(g, g_shape[2:]):
        return None
    blocks = _in_blocks(_MULTIPLY_INPUT + kernel.columns(_ADD))
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
    kernel.scratch(kernel.names["scratch"].value + _bytes_of_vectors(length * kernel.size))
    kernel.names["totals"] = Memory("partial", (node.slot, length))
    blocks = _in_blocks(kernel.columns(_SPREAD) + _MULTIPLY_WEIGHT)
    total = _Total(node.slot, x.kind)
    text = _BEGIN + _CLEAR + _BEGIN_TOTAL + _PLACES + indent(_COPY_IN + blocks, _TAB) + _END_TOTAL
    return kernel.write(text, routine.caller, [(total, x.kind, length, -(-kernel.count // kernel.step))])


def _routine(node: Any, operands: list[Any]) -> blas.Routine | None:
    """Return the routine that multiplies these operands, or None if there is nothing that kernels could do."""
    first, second = operands
    if first.__class__ is not Input or second.__class__ is not Input or first.kind != second.kind:
        return None
    if not node.type.numel or not all([operand.type.numel for operand in node.operands]):
        return None
    return blas.gemm(first.kind)
