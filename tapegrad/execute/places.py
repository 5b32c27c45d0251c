"""Places in an arena: what lies there is needed for a part of a program, and its place is used again after that."""

from __future__ import annotations

from bisect import bisect_left

ALIGNMENT = 64


class Places:
    """Which parts of an arena are taken; it is as large as the most that ever is.

    >>> places = Places()
    >>> first, second = places.take(100), places.take(10)
    >>> places.give_back(first, 100)
    >>> first, second, places.take(64), places.take(64), places.size
    (0, 128, 0, 64, 192)
    """

    def __init__(self) -> None:
        self.size = 0
        self._begins: list[int] = []  # of what is free between what is taken, in order
        self._lengths: list[int] = []

    def take(self, size: int) -> int:
        """Return the place of memory of this size: in the smallest gap that has room for it, or at the end."""
        size = rounded(size)
        best = -1
        for number, length in enumerate(self._lengths):
            if length >= size and (best < 0 or length < self._lengths[best]):
                best = number
                if length == size:
                    break
        if best < 0:
            begin = self.size
            if self._begins and self._begins[-1] + self._lengths[-1] == self.size:
                begin = self._begins.pop()
                self._lengths.pop()
            self.size = begin + size
            return begin
        begin = self._begins[best]
        if self._lengths[best] == size:
            del self._begins[best], self._lengths[best]
        else:
            self._begins[best] += size
            self._lengths[best] -= size
        return begin

    def give_back(self, begin: int, size: int) -> None:
        """Let memory be used again; gaps that adjoin are one."""
        size = rounded(size)
        number = bisect_left(self._begins, begin)
        self._begins.insert(number, begin)
        self._lengths.insert(number, size)
        for first in (number, number - 1):
            if first >= 0 and first + 1 < len(self._begins) and self._begins[first] + self._lengths[first] == self._begins[first + 1]:
                self._lengths[first] += self._lengths.pop(first + 1)
                del self._begins[first + 1]


def rounded(size: int) -> int:
    """Return a size in whole cache lines.

    >>> rounded(0), rounded(1), rounded(64), rounded(65)
    (0, 64, 64, 128)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT
