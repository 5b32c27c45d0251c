"""What kernels are given: operands, and the words of their arguments."""

from __future__ import annotations

from bisect import bisect, insort
from typing import Any

from ..tape.types import Shape

SIZES = {"f4": 4, "f8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "b1": 1}
HEAD = """import numpy as np
from numpy import float32 as f4, float64 as f8, int8 as i1, int16 as i2, int32 as i4, int64 as i8, uint8 as u1
from tapegrad.execute.compiling import *
"""


class Input:
    """What a step reads from outside its loop: a slot in memory, with strides (in elements) over the step's dimensions."""

    __slots__ = ("slot", "kind", "strides", "offset")

    def __init__(self, slot: int, kind: str, strides: Shape, offset: int = 0) -> None:
        self.slot = slot
        self.kind = kind
        self.strides = strides
        self.offset = offset  # of the first element, in elements; only columns have one


class Number:
    """A Python number on the tape, as an operand."""

    __slots__ = ("slot", "is_float")

    def __init__(self, slot: int, is_float: bool) -> None:
        self.slot = slot
        self.is_float = is_float


class Memory:
    """Where a kernel finds its operands: a word of its arguments holds the address of the cell of a slot, or of scratch."""

    __slots__ = ("what", "value")

    def __init__(self, what: str, value: Any) -> None:
        self.what = what  # "cell" of a slot, "scratch" of so many bytes a chunk, or "word": a plain integer
        self.value = value


class Written:
    """A kernel's source, the words of its arguments, and how its rows are split over calls."""

    is_alone = False  # whether BLAS has to take one thread meanwhile

    def __init__(self, source: str, words: list[Memory], count: int, step: int, combinations: list[Any]) -> None:
        self.source = source
        self.words = words
        self.count = count
        self.step = step
        self.combinations = combinations


class Room:
    """Places in memory that is used again: the smallest free part that is large enough is taken, else there is more memory."""

    ALIGNMENT = 64

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # from here to there, in order; none adjoins another

    def take(self, size: int) -> tuple[int, int]:
        """Return where a part of this size (in bytes) begins and ends."""
        size = -(-size // self.ALIGNMENT) * self.ALIGNMENT
        enough = [(end - begin, begin) for begin, end in self._free if end - begin >= size]
        if enough:
            length, begin = min(enough)
            self._free.remove((begin, begin + length))
            if length > size:
                insort(self._free, (begin + size, begin + length))
        else:
            begin = self._free.pop()[0] if self._free and self._free[-1][1] == self.size else self.size
            self.size = begin + size
        return begin, begin + size

    def give_back(self, part: tuple[int, int]) -> None:
        """Let a part be taken again."""
        begin, end = part
        if begin == end:
            return
        place = bisect(self._free, part)
        if place < len(self._free) and self._free[place][0] == end:
            end = self._free.pop(place)[1]
        if place and self._free[place - 1][1] == begin:
            begin = self._free.pop(place - 1)[0]
        insort(self._free, (begin, end))


def stored_kind(kind: str) -> str:
    """Return the kind in which elements are in memory: a bool is a byte."""
    return "u1" if kind == "b1" else kind


def loaded(code: str, kind: str) -> str:
    """Return the code of an element read from memory."""
    return f"{code} != 0" if kind == "b1" else code


def storable(code: str, kind: str) -> str:
    """Return the code of a value as it is written to memory."""
    return f"(u1(1) if {code} else u1(0))" if kind == "b1" else code
