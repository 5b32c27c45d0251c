"""Kernels of pooling: loops over planes, over the windows of each, and over the elements of each window.

A window's size is in the text: small windows that all lie inside of the plane are unrolled, so that the windows of a row are
computed in the lanes of vectors.
"""

from __future__ import annotations

import math
from itertools import product
from textwrap import indent
from typing import Any, NamedTuple

from ..primitives.windows import Lengths
from ..tape.types import Shape, contiguous_strides
from .memory import HEAD, SIZES, Input, Memory, Written

_CHUNK = 1 << 16  # elements that one call of a kernel gets, at least
_UNROLLED = 16  # elements of a window
_TAB = "    "

_LOWEST = {"f4": "f4(-np.inf)", "f8": "f8(-np.inf)", "i8": "i8(-9223372036854775808)", "u1": "u1(0)"} | {
    kind: f"{kind}({-(1 << bits)})" for kind, bits in (("i1", 7), ("i2", 15), ("i4", 31))
}


class _Pool(NamedTuple):
    """Windows over planes of these lengths, in so many planes."""

    planes: int
    lengths: Lengths
    counts: Lengths
    kernel: Lengths = ()  # none: adaptive windows
    stride: Lengths = ()
    low: Lengths = ()
    gap: Lengths = ()

    @property
    def ndim(self) -> int:
        """Return the number of dimensions of a plane."""
        return len(self.lengths)

    def is_inside(self, axis: int) -> bool:
        """Whether all windows lie in the plane along an axis."""
        last = (self.counts[axis] - 1) * self.stride[axis] + (self.kernel[axis] - 1) * self.gap[axis]
        return self.low[axis] == 0 and last < self.lengths[axis]

    def is_small(self) -> bool:
        """Whether windows are all of the same few elements."""
        return bool(self.kernel) and math.prod(self.kernel) <= _UNROLLED

    def window(self, axis: int) -> list[str]:
        """Return the code that finds where a window begins (b) and ends (e) along an axis."""
        b, e, o, length = f"b{axis}", f"e{axis}", f"o{axis}", f"l{axis}"
        if not self.kernel:
            return [f"{b} = {o} * {length} // n{axis}", f"{e} = ((o{axis} + 1) * {length} + n{axis} - 1) // n{axis}"]
        size, step, low, gap = self.kernel[axis], self.stride[axis], self.low[axis], self.gap[axis]
        lines = [f"{b} = {o} * {step} - {low}", f"{e} = least({b} + {(size - 1) * gap + 1}, {length})"]
        if low:
            lines.append(f"{b} = where({b} < 0, {b} + (-{b} + {gap - 1}) // {gap} * {gap}, {b})")
        return lines

    def over_windows(self, body: str) -> str:
        """Return the loops over the windows of a plane."""
        text = ""
        for axis in range(self.ndim):
            lines = [f"for o{axis} in range(n{axis}):", *[_TAB + line for line in self.window(axis)]]
            text += indent("\n".join(lines) + "\n", axis * _TAB)
        return text + indent(body, self.ndim * _TAB)

    def over_elements(self, body: str) -> str:
        """Return the loops over the elements of a window; `at` is the index in the plane."""
        at = self._joined("l", [f"t{axis}" for axis in range(self.ndim)])
        text = indent(f"at = {at}\n{body}", self.ndim * _TAB)
        for axis in reversed(range(self.ndim)):
            begin = f"t{axis} = b{axis}\nwhile t{axis} < e{axis}:\n"
            text = indent(begin, axis * _TAB) + text + f"{(axis + 1) * _TAB}t{axis} += {self.gap[axis] if self.kernel else 1}\n"
        return text

    def unrolled(self, first: str, each: str, last: str) -> str:
        """Return the loops over windows with their elements one after the other, each `at` an index in the plane.

        What would lie in the padding is the element nearest to it, which is in the window as well.
        """
        text = ""
        for axis, size in enumerate(self.kernel):
            text += indent(f"for o{axis} in range(n{axis}):\n", axis * _TAB)
            for place in range(size):
                at = f"o{axis} * {self.stride[axis]} + {place * self.gap[axis] - self.low[axis]}"
                if not self.is_inside(axis):
                    at = f"least(where({at} < 0, 0, {at}), l{axis} - 1)"
                text += indent(f"t{axis}_{place} = {at}\n", (axis + 1) * _TAB)
        body = f"window = {self._joined('n', [f'o{axis}' for axis in range(self.ndim)])}\n"
        for number, places in enumerate(product(*map(range, self.kernel))):
            at = self._joined("l", [f"t{axis}_{place}" for axis, place in enumerate(places)])
            body += f"at = {at}\n{each if number else first}"
        return text + indent(body + last, self.ndim * _TAB)

    def first_place(self) -> str:
        """Return the code of the index of a window's first element."""
        return self._joined("l", [f"b{axis}" for axis in range(self.ndim)])

    def _joined(self, lengths: str, places: list[str]) -> str:
        """Return the code of the index that places along all axes are."""
        code = places[0]
        for axis, place in enumerate(places[1:], 1):
            code = f"({code}) * {lengths}{axis} + {place}"
        return code


class _Kernel:
    """The words and the text of a kernel over planes."""

    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.words: list[Memory] = []
        self.head: list[str] = []
        for axis, (length, count) in enumerate(zip(pool.lengths, pool.counts, strict=True)):
            self.word(f"l{axis}", "word", length)
            self.word(f"n{axis}", "word", count)
        self.head.append(f"plane = {' * '.join([f'l{axis}' for axis in range(pool.ndim)])}")
        self.head.append(f"windows = {' * '.join([f'n{axis}' for axis in range(pool.ndim)])}")

    def word(self, name: str, what: str, value: Any) -> None:
        """Let a name stand for a word of the arguments."""
        self.head.append(f"{name} = word(args + {8 * len(self.words)})")
        self.words.append(Memory(what, value))

    def write(self, arrays: dict[str, tuple[str, int, str]], body: str) -> Written:
        """Return the kernel that does this for each plane, with arrays of a kind, of a slot, and of so many elements a plane."""
        begin = []
        for name, (kind, slot, length) in arrays.items():
            self.word(f"{name}_cell", "cell", slot)
            begin.append(f"{name} = pointer_{kind}(word({name}_cell) + p * {length} * {SIZES[kind]})")
        lines = [*self.head, "for p in range(lo, hi):", *[_TAB + line for line in (*begin, *body.splitlines())], "return 0"]
        source = f"{HEAD}\n\ndef kernel(args, lo, hi):\n" + "".join([f"{_TAB}{line}\n" for line in lines])
        pool = self.pool
        step = -(-_CHUNK // math.prod(pool.lengths))
        return Written(source, self.words, pool.planes, min(step, pool.planes), [])


# Lowering: x (or g) in planes, the parameters of a record; what kernels read lies in contiguous memory.


def _pool_of(shape: Shape, ndim: int, counts: Shape, parameters: dict[str, Any]) -> _Pool:
    """Return the windows, of which there are so many along each dimension, over arrays of this shape."""
    pool = _Pool(math.prod(shape[: len(shape) - ndim]), shape[len(shape) - ndim :], counts)
    if "kernel" not in parameters:
        return pool
    gap = parameters.get("dilation", (1,) * ndim)
    return pool._replace(kernel=parameters["kernel"], stride=parameters["stride"], low=parameters["padding"], gap=gap)


def _can_read(node: Any, operands: list[Any], kinds: Any) -> bool:
    """Whether there is something to do, and the operands are arrays in contiguous memory, the first of such a kind."""
    for given, operand in zip(node.operands, operands, strict=True):
        if operand.__class__ is not Input or operand.strides != contiguous_strides(given.type.shape):
            return False
    return operands[0].kind in kinds and 0 not in (node.operands[0].type.numel, node.outputs[0].type.numel)


def lower_max_pool(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of the largest elements of windows and where they are, or None."""
    if not _can_read(node, operands, _LOWEST):
        return None
    (x,) = operands
    values, indices = node.outputs
    ndim = len(node.parameters.get("kernel") or node.parameters["counts"])
    pool = _pool_of(node.operands[0].type.shape, ndim, values.type.shape[-ndim:], node.parameters)
    if pool.is_small() and all([pool.gap[axis] == 1 or pool.is_inside(axis) for axis in range(ndim)]):
        first = "best = x[at]\nplace = at\n"
        each = "v = x[at]\ntake = (v > best) | (v != v)\nbest = where(take, v, best)\nplace = where(take, at, place)\n"
        body = pool.unrolled(first, each, "r[window] = best\ns[window] = place\n")
    else:
        first = f"best = {_LOWEST[x.kind]}\nplace = {pool.first_place()}\n"
        each = "v = x[at]\nif (v > best) | (v != v):\n    best = v\n    place = at\n"
        body = "w = 0\n" + pool.over_windows(first + pool.over_elements(each) + "r[w] = best\ns[w] = place\nw += 1\n")
    arrays = {"x": (x.kind, x.slot, "plane"), "r": (x.kind, values.slot, "windows"), "s": ("i8", indices.slot, "windows")}
    return _Kernel(pool).write(arrays, body)


def lower_scatter(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel that adds elements where indices into planes of zeros name, or None."""
    if not _can_read(node, operands, ("f4", "f8")):
        return None
    g, s = operands
    ndim = len(node.parameters["lengths"])
    pool = _pool_of(node.type.shape, ndim, node.operands[0].type.shape[-ndim:], {})
    body = f"for i in range(plane):\n    r[i] = {g.kind}(0)\nfor w in range(windows):\n    r[s[w]] += g[w]\n"
    arrays = {"g": (g.kind, g.slot, "windows"), "s": ("i8", s.slot, "windows"), "r": (g.kind, node.slot, "plane")}
    return _Kernel(pool).write(arrays, body)


def lower_mean_pool(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of the means of windows, or None."""
    if not _can_read(node, operands, ("f4", "f8")):
        return None
    (x,) = operands
    ndim = len(node.parameters.get("kernel") or node.parameters["counts"])
    pool = _pool_of(node.operands[0].type.shape, ndim, node.type.shape[-ndim:], node.parameters)
    if pool.is_small() and all(map(pool.is_inside, range(ndim))):
        divisor = node.parameters["divisor_override"] or math.prod(pool.kernel)
        body = pool.unrolled("total = x[at]\n", "total += x[at]\n", f"r[window] = total / {x.kind}({divisor})\n")
    else:
        last = f"r[w] = {x.kind}(total) / {x.kind}({_divisor(pool, node.parameters)})\nw += 1\n"
        body = "w = 0\n" + pool.over_windows("total = f8(0)\n" + pool.over_elements("total += x[at]\n") + last)
    return _Kernel(pool).write({"x": (x.kind, x.slot, "plane"), "r": (x.kind, node.slot, "windows")}, body)


def lower_mean_pool_transpose(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel that adds a share of each mean to all elements of its window, or None."""
    if not _can_read(node, operands, ("f4", "f8")):
        return None
    (g,) = operands
    ndim = len(node.parameters["lengths"])
    pool = _pool_of(node.type.shape, ndim, node.operands[0].type.shape[-ndim:], node.parameters)
    share = f"share = g[w] / {g.kind}({_divisor(pool, node.parameters)})\n"
    body = f"for i in range(plane):\n    r[i] = {g.kind}(0)\nw = 0\n"
    body += pool.over_windows(share + pool.over_elements("r[at] += share\n") + "w += 1\n")
    return _Kernel(pool).write({"g": (g.kind, g.slot, "windows"), "r": (g.kind, node.slot, "plane")}, body)


def _divisor(pool: _Pool, parameters: dict[str, Any]) -> str:
    """Return the code of what a window's sum is divided by: how many elements it has, padding that counts included."""
    if parameters.get("divisor_override") is not None:
        return str(parameters["divisor_override"])
    sizes = [f"(e{axis} - b{axis})" for axis in range(pool.ndim)]
    if parameters.get("count_include_pad"):
        windows = zip(pool.kernel, pool.stride, pool.low, strict=True)
        sizes = [f"least({size}, l{axis} + {2 * low} - o{axis} * {step})" for axis, (size, step, low) in enumerate(windows)]
    return " * ".join(sizes)
