"""Which values of a list somebody else holds: their references are counted, in machine code once there is some.

A segment that is materialised asks for it: a result that nobody outside holds is not computed. CPython fixes where a list keeps
its elements, and an object its reference count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import compress
from sys import getrefcount
from typing import Any

import numpy as np

from . import kernels, native

# What counts the references of a value that only the list holds: the list, and the call that counts.
ALONE = 2

# The places of the values that have more references than the list's, but for the places that are marked and the values that are
# the object whose address is the first word of `found`; its other words are for the places. Returned is how many there are.
COUNT = """
from tapegrad.execute.compiling import *


def kernel(values, marks, found):
    first = word(values + 24)
    marked = pointer_u1(word(marks + 16))
    places = word(found + 16)
    nothing = word(places)
    count = 0
    for place in range(word(values + 16)):
        value = word(first + 8 * place)
        if value != nothing and half_word(value) > 1 and marked[place] == 0:
            count += 1
            store_word(places + 8 * count, place)
    return count
"""

_IS_KNOWN = sys.maxsize > 1 << 32 and sys.byteorder == "little" and "t" not in getattr(sys, "abiflags", "")
_count: Callable[[int, int, int], int] | None = None
_address: native.Address | None = None  # as long as it is here, so is the machine code


def load() -> None:
    """From now on, count in machine code. Raises NoKernel."""
    global _count, _address
    if _count is None and _IS_KNOWN:
        kernels.note_records(COUNT, ["the count of references"])
        _address = kernels.address_of(COUNT)
        _count = native.function_at(_address, keeps_lock=True)


def held_places(values: list[Any], marks: np.ndarray[Any, Any]) -> list[int]:
    """Return the places of the values that others hold too, except the places marked (an array of bools), and except None."""
    if _count is None:
        held = compress(range(len(values)), map(ALONE.__lt__, map(getrefcount, values)))
        return [place for place in held if values[place] is not None and not marks[place]]
    found = np.empty(len(values) + 1, np.int64)
    found[0] = id(None)
    count = _count(id(values), id(marks), id(found))
    return found[1 : count + 1].tolist()  # type: ignore[no-any-return]
