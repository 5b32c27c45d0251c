"""What special kernels are put together from: names for the words of their arguments, places in strided memory, copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

from ..tape.types import Shape, contiguous_strides
from .expressions import cast
from .memory import HEAD, SIZES, Input, Memory, Number, Written, loaded, storable, stored_kind

_CHUNK = 1 << 14  # elements that one call of a kernel gets, at least
_MOST_CHUNKS = 64
_LARGEST_FLOAT = "3.4028234663852886e38"
# What integers may be, and stay as they are through a float as well, as they may have to.
_BITS = {
    "i1": (-(1 << 7), (1 << 7) - 1),
    "i2": (-(1 << 15), (1 << 15) - 1),
    "i4": (-(1 << 31), (1 << 31) - 1),
    "i8": (-(1 << 53), 1 << 53),
    "u1": (0, (1 << 8) - 1),
}


class Source:
    """A kernel in the making: what its names stand for, and the words of its arguments.

    Lengths, strides and places are words, not text, so that kernels which differ in them alone are one kernel.
    """

    def __init__(self) -> None:
        self.words: list[Memory] = []
        self.head: list[str] = []

    def word(self, what: str, value: Any) -> str:
        """Return the code of a word of the arguments."""
        self.words.append(Memory(what, value))
        return f"word(args + {8 * (len(self.words) - 1)})"

    def integer(self, name: str, value: int) -> None:
        """Give a name to an integer."""
        self.head.append(f"{name} = {self.word('word', value)}")

    def number(self, name: str, number: Number) -> None:
        """Give a name to the value of a Python number."""
        self.head.append(f"{name} = pointer_{'f8' if number.is_float else 'i8'}({self.word('cell', number.slot)})[0]")

    def elements(self, name: str, slot: int, kind: str) -> None:
        """Give a name to the elements of an operand or result; those of bools are bytes."""
        self.head.append(f"{name} = pointer_{stored_kind(kind)}(word({self.word('cell', slot)}))")

    def scratch(self, name: str, kind: str, count: int) -> None:
        """Give a name to memory for so many elements; a kernel with scratch memory is one call."""
        self.head.append(f"{name} = pointer_{kind}({self.word('scratch', SIZES[kind] * count)})")

    def places(self, lengths: Sequence[int], strides: Mapping[str, Sequence[int]]) -> str:
        """Return the lines that set each name to where row `r`, counted over these dimensions, begins."""
        lines = []
        if len(lengths) > 1:
            lines.append("rest = r")
            for axis in range(len(lengths) - 1, 0, -1):
                self.integer(f"l{axis}", lengths[axis])
                lines += [f"r{axis} = rest % l{axis}", f"rest = rest // l{axis}"]
            lines.append("r0 = rest")
        for name, own in strides.items():
            terms = []
            for axis, stride in enumerate(own):
                if stride:
                    self.integer(f"{name}_{axis}", stride)
                    terms.append(f"{'r' if len(lengths) == 1 else f'r{axis}'} * {name}_{axis}")
            lines.append(f"{name} = {' + '.join(terms) or '0'}")
        return "\n".join(lines)

    def step(self, name: str, stride: int, place: str = "j") -> str:
        """Return the code that is to be added for column `j`: nothing of what is known to be 0 or 1 is computed."""
        if stride == 0:
            return ""
        if stride == 1:
            return f" + {place}"
        self.integer(name, stride)
        return f" + {place} * {name}"

    def written(self, body: str, count: int = 1, step: int = 1) -> Written:
        """Return the kernel: the body goes over rows lo to hi, and returns 1 if the interpreter is to raise an error."""
        text = "\n\ndef kernel(args, lo, hi):\n" + indent("\n".join([*self.head, body, "return 0"]), "    ") + "\n"
        return Written(HEAD + text, self.words, count, step, [])


def block(text: str, depth: int = 1) -> str:
    """Return lines deeper in, to be put into others."""
    return indent(text, "    " * depth)


def rows_per_call(rows: int, columns: int) -> int:
    """Return how many rows one call of a kernel gets."""
    return min(max(1, -(-_CHUNK // max(columns, 1)), -(-rows // _MOST_CHUNKS)), max(rows, 1))


def merged(shape: Shape, *every: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Return the shape and strides with dimensions joined that all of the strides go through evenly; none of length 1 is left.

    >>> merged((2, 3, 1, 4), (12, 4, 9, 1), (0, 4, 9, 1))
    ([2, 12], [[12, 1], [0, 1]])
    """
    lengths: list[int] = []
    strides: list[list[int]] = [[] for _ in every]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if lengths and all([own[-1] == given[axis] * length for own, given in zip(strides, every, strict=True)]):
            lengths[-1] *= length
            for own, given in zip(strides, every, strict=True):
                own[-1] = given[axis]
        else:
            lengths.append(length)
            for own, given in zip(strides, every, strict=True):
                own.append(given[axis])
    return lengths, strides


def rows_and_columns(shape: Shape, *every: Sequence[int]) -> tuple[list[int], int, list[tuple[list[int], int]]]:
    """Return the rows' lengths, how many columns there are, and for each value its strides over both."""
    lengths, strides = merged(shape, *every)
    if not lengths:
        return [], 1, [([], 0) for _ in every]
    return lengths[:-1], lengths[-1], [(own[:-1], own[-1]) for own in strides]


def is_even(strides: Shape, lengths: Shape) -> bool:
    """Whether elements with these strides are evenly spaced, in order."""
    long = [axis for axis, length in enumerate(lengths) if length != 1]
    return all([strides[axis] == strides[after] * lengths[after] for axis, after in zip(long, long[1:], strict=False)])


def product(lengths: Sequence[int]) -> int:
    """Return the product of lengths."""
    total = 1
    for length in lengths:
        total *= length
    return total


def without(strides: Shape, axis: int) -> Shape:
    """Return strides with 0 along an axis: something else says where to go along it."""
    return tuple([0 if place == axis else stride for place, stride in enumerate(strides)])


def broadcast_to(given: Input | Number, shape: Shape, own: Shape) -> Shape:
    """Return the strides over a shape of a value that is broadcast to it, from its own shape; of a number 0."""
    if isinstance(given, Number):
        return (0,) * len(shape)
    strides = [0 if length == 1 else stride for length, stride in zip(own, given.strides, strict=True)]
    return (*[0] * (len(shape) - len(own)), *strides)


def checked_number(code: Source, name: str, number: Number, kind: str) -> str | None:
    """Name a number that is to be stored as this kind; return its code, after lines that return 1 if it is too large.

    None stands for a number that no kernel converts: a float as an integer.
    """
    code.number(name, number)
    if kind == "f4":
        code.head.append(f"if {_LARGEST_FLOAT} < abs(f8({name})) < np.inf:\n    return 1")
    elif kind in _BITS:
        if number.is_float:
            return None
        low, high = _BITS[kind]
        code.head.append(f"if {name} < {low} or {name} > {high}:\n    return 1")
    return storable(cast(name, kind), kind)


def position(code: Source, name: str, place: Input | Number, size: int, last: int) -> str | None:
    """Return the lines that find a position along an axis of this size, with `last` more after it; None if it is no integer.

    A negative one counts from the end; out of range they return 1.
    """
    if isinstance(place, Number):
        if place.is_float:
            return None
        code.number(name, place)
    else:
        if place.kind not in ("i4", "i8"):
            return None
        code.elements(f"{name}s", place.slot, place.kind)
        code.head.append(f"{name} = i8({name}s[0])")
    code.integer(f"{name}_size", size)
    code.integer(f"{name}_last", last)
    return f"""\
if {name} < 0:
    {name} += {name}_size
if {name} < 0 or {name} + {name}_last >= {name}_size:
    return 1"""


# Copies


def copy(
    shape: Shape,
    source: Input,
    target: int,
    kind: str,
    strides: tuple[Shape, Shape] | None = None,
    offsets: tuple[int, int] = (0, 0),
    adds: bool = False,
) -> Written:
    """Return a kernel that copies elements into the memory of a result, of another kind perhaps, or adds them to what is there.

    `strides` and `offsets` are those in the source and in the result; if not given, the result's are of a contiguous array.
    """
    code = Source()
    code.integer("begin", offsets[1])
    return copy_from(code, shape, source, target, kind, strides, offsets[0], adds)


def copy_from(
    code: Source,
    shape: Shape,
    source: Input,
    target: int,
    kind: str,
    strides: tuple[Shape, Shape] | None,
    first: int = 0,
    adds: bool = False,
) -> Written:
    """Return a kernel that copies elements to `begin`, which the code has found already."""
    from_strides, to_strides = strides or (source.strides, contiguous_strides(shape))
    rows, columns, ((from_rows, from_column), (to_rows, to_column)) = rows_and_columns(shape, from_strides, to_strides)
    code.elements("x", source.slot, source.kind)
    code.elements("y", target, kind)
    code.integer("n", columns)
    code.integer("first", first)
    places = code.places(rows, {"a": from_rows, "b": to_rows})
    value = f"x[a{code.step('c', from_column)}]"
    if source.kind != kind:
        value = storable(cast(loaded(value, source.kind), kind, source.kind), kind)
    count = product(rows)
    code.integer("count", count)
    first_row, last_row = ("0", "count") if adds else ("lo", "hi")  # what is added may be added to one element
    sign = ("|=" if kind == "b1" else "+=") if adds else "="
    body = f"""\
for r in range({first_row}, {last_row}):
{block(places)}
    a += first
    b += begin
    for j in range(n):
        y[b{code.step('d', to_column)}] {sign} {value}"""
    return code.written(body) if adds else code.written(body, count, rows_per_call(count, columns))


def fill(target: int, kind: str, numel: int, value: Number | None = None) -> Written | None:
    """Return a kernel that sets all elements of a result to a number, or to zero; None if it does not convert the number."""
    code = Source()
    code.elements("y", target, kind)
    number: str | None = f"{stored_kind(kind)}(0)"
    if value is not None:
        number = checked_number(code, "v", value, kind)
    if number is None:
        return None
    body = f"""\
x = {number}
for j in range(lo, hi):
    y[j] = x"""
    return code.written(body, numel, rows_per_call(numel, 1))
