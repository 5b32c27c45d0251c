"""The executor: one compiled function that walks a table of instructions and calls kernels through their addresses.

An instruction is a row of four words: the kernel's address, that of its arguments, how many rows (or elements) there are,
and how many a call gets. Before them come the arrays of a run: for each one that Python gives, the executor looks whether it
is laid out as the program was made for, and notes where its elements are (NumPy's C API fixes where an array object keeps
its data, dimensions, strides and flags). It returns 0; the number of an array that is laid out otherwise; or -1 if a kernel
met data that it does not take.
"""

# A run is five words: the address and number of its rows of arrays, the address of the instructions, the first and the last.
# A row of arrays: the address of the word with the array object's address, that of its cell, its number of dimensions, the
# address of the strides that it has to have (-1 for a dimension of length 1, whose stride does not matter).
EXECUTE = '''
from tapegrad.execute.compiling import call, half_word, least, store_word, word


def kernel(run, unused, also_unused):
    rows = word(run)
    for place in range(word(run + 8)):
        row = rows + 32 * place
        array = word(word(row))
        ndim = word(row + 16)
        if half_word(array + 24) != ndim or (half_word(array + 64) & 0x100) == 0:
            return place + 1
        found = word(array + 40)
        expected = word(row + 24)
        for axis in range(ndim):
            stride = word(expected + 8 * axis)
            if stride != -1 and word(found + 8 * axis) != stride:
                return place + 1
        store_word(word(row + 8), word(array + 16))
    table = word(run + 16)
    for place in range(word(run + 24), word(run + 32)):
        row = table + 32 * place
        function = word(row)
        args = word(row + 8)
        count = word(row + 16)
        step = word(row + 24)
        lo = 0
        while lo < count:
            if call(function, args, lo, least(lo + step, count)) != 0:
                return -1
            lo += step
    return 0
'''
