"""The executor: one compiled function that walks a table of instructions and calls kernels through their addresses.

An instruction is a row of four words: the kernel's address, that of its arguments, how many rows (or elements) there are,
and how many a call gets. Before them come the arrays of a run: for each one that Python gives, the executor looks whether it
is laid out as the program was made for, and notes where its elements are (NumPy's C API fixes where an array object keeps
its data, dimensions, strides and flags). It returns 0; the number of an array that is laid out otherwise; or -1 if a kernel
met data that it does not take. While helpers share products, BLAS is kept to one thread.
"""

from __future__ import annotations

import re

SMALL = 3  # chunks: an instruction with more is shared with helpers
PATIENCE = 4000  # pauses, of about 20 ns, before a helper goes to sleep
# Where the words of the pool are: its lock at 0; the task, as far as it has been handed out, in one word (its number, how many
# chunks it has, and how many of them are taken), so that a chunk can only be taken of the task that it belongs to.
PLACES = {
    "TICKET": 64,
    "DONE": 128,
    "FUNCTION": 192,
    "ARGS": 200,
    "COUNT": 208,
    "STEP": 216,
    "FAILED": 224,
    "ASLEEP": 256,
    "STOP": 320,
    "READ": 384,
    "WRITE": 392,
    "YIELD": 400,
    "READ_END": 408,
    "WRITE_END": 416,
    "BYTES": 448,
    "SMALL": SMALL,
    "MOST": 4095,
    "PATIENCE": PATIENCE,
}

# A run is six words: the address and number of its rows of arrays, the address of the instructions, the first and the last, and
# where it keeps BLAS to one thread (see `begin_alone` in compiling), or 0.
# It is given the address of the addresses of its array objects, which is where a tuple of them has its elements. A row of
# arrays: the address of the array's cell, its number of dimensions, the address of the strides that it has to have (-1 for a
# dimension of length 1, whose stride does not matter).
EXECUTE = '''
from tapegrad.execute.compiling import *


@njit(forceinline=True)
def arrange(run, arrays):
    rows = word(run)
    for place in range(word(run + 8)):
        row = rows + 24 * place
        array = word(arrays + 8 * place)
        ndim = word(row + 8)
        if half_word(array + 24) != ndim or (half_word(array + 64) & 0x100) == 0:
            return place + 1
        found = word(array + 40)
        expected = word(row + 16)
        for axis in range(ndim):
            stride = word(expected + 8 * axis)
            if stride != -1 and word(found + 8 * axis) != stride:
                return place + 1
        store_word(word(row), word(array + 16))
    return 0


@njit(forceinline=True)
def walk(run, pool):
    table = word(run + 16)
    for place in range(word(run + 24), word(run + 32)):
        row = table + 32 * place
        function = word(row)
        args = word(row + 8)
        count = word(row + 16)
        step = word(row + 24)
        if pool != 0 and count > SMALL * step and count <= MOST * step:
            if replace_word(pool, 0, 1) != 0:
                chunks = (count + step - 1) // step
                store_word(pool + FUNCTION, function)
                store_word(pool + ARGS, args)
                store_word(pool + COUNT, count)
                store_word(pool + STEP, step)
                store_word(pool + FAILED, 0)
                store_word(pool + DONE, 0)
                task = ((atomic_word(pool + TICKET) >> 24) + 1) << 24
                ticket = task + (chunks << 12)
                store_atomic_word(pool + TICKET, ticket)
                asleep = atomic_word(pool + ASLEEP)
                if asleep > 0 and replace_word(pool + ASLEEP, asleep, 0) != 0:
                    call(word(pool + WRITE), word(pool + WRITE_END), pool + BYTES, least(asleep, 64))
                while (ticket & 0xFFF) < chunks:
                    if replace_word(pool + TICKET, ticket, ticket + 1) != 0:
                        lo = (ticket & 0xFFF) * step
                        if call(function, args, lo, least(lo + step, count)) != 0:
                            store_word(pool + FAILED, 1)
                        add_to_word(pool + DONE, 1)
                    ticket = atomic_word(pool + TICKET)
                waited = 0
                while atomic_word(pool + DONE) < chunks:
                    pause()
                    waited += 1
                    if waited % 128 == 0:
                        call(word(pool + YIELD), 0, 0, 0)
                failed = word(pool + FAILED)
                store_atomic_word(pool, 0)
                if failed != 0:
                    return -1
                continue
        lo = 0
        while lo < count:
            if call(function, args, lo, least(lo + step, count)) != 0:
                return -1
            lo += step
    return 0


def kernel(run, pool, arrays):
    status = arrange(run, arrays)
    if status != 0:
        return status
    guard = word(run + 40)
    if guard == 0:
        return walk(run, pool)
    begin_alone(guard)
    status = walk(run, pool)
    end_alone(guard)
    return status
'''

# What a helper does: it takes chunks of the task that there is, and sleeps if there has been none for long, until a byte comes.
HELP = '''
from tapegrad.execute.compiling import *


def kernel(pool, unused, also_unused):
    waited = 0
    while atomic_word(pool + STOP) == 0:
        ticket = atomic_word(pool + TICKET)
        if (ticket & 0xFFF) < ((ticket >> 12) & 0xFFF):
            function = word(pool + FUNCTION)
            args = word(pool + ARGS)
            count = word(pool + COUNT)
            step = word(pool + STEP)
            if replace_word(pool + TICKET, ticket, ticket + 1) != 0:
                lo = (ticket & 0xFFF) * step
                if call(function, args, lo, least(lo + step, count)) != 0:
                    store_word(pool + FAILED, 1)
                add_to_word(pool + DONE, 1)
            waited = 0
        elif waited < PATIENCE:
            pause()
            waited += 1
        else:
            add_to_word(pool + ASLEEP, 1)
            if atomic_word(pool + STOP) == 0:
                if call(word(pool + READ), word(pool + READ_END), pool + BYTES, 1) < 1:
                    add_to_word(pool + ASLEEP, -1)
            waited = 0
    return 0
'''
for _name, _value in PLACES.items():
    EXECUTE = re.sub(rf"\b{_name}\b", str(_value), EXECUTE)
    HELP = re.sub(rf"\b{_name}\b", str(_value), HELP)
