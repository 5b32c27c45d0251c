"""Kernels run by Python, which looks at every address that they read and write: so thousands of programs are tested in no time.

A kernel's source is Python: here it runs on memory that it may only touch where its program's arrays, arena and tables are.
What is not written yet is NaN (or a large number), chunks run in any order, and are small, so that small tensors have many.
How a kernel is compiled is tested elsewhere.
"""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tapegrad.execute import channel_sums, kernel_source, kernels, native, pools, products, program, references, special_source
from tapegrad.execute.tiering import LayoutChanged, Refused
from tapegrad.execute.vector_maths import FUNCTIONS
from tapegrad.primitives import load_all
from tapegrad.primitives.declare import TABLE

load_all()

DTYPES = {"f4": "f4", "f8": "f8", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "i8", "u1": "u1", "b1": "?"}
SMALL = [(kernel_source, "BLOCK", 3), (kernel_source, "_CHUNK", 4), (special_source, "_CHUNK", 4), (channel_sums, "_BLOCK", 3)]
SMALL += [(channel_sums, "_CHUNK", 4), (pools, "_CHUNK", 4), (products, "_CHUNK", 20), (products, "_TURNED_ROWS", 2)]


class OutOfBoundsError(AssertionError):
    """A kernel touches memory that is not its program's."""


class Memory:
    """What a program may touch now: the first and last address of each stretch, and what keeps it alive."""

    def __init__(self) -> None:
        self.stretches: list[tuple[int, int, bool]] = []

    def allow(self, array: Any, is_written: bool = True) -> None:
        low, high = np.lib.array_utils.byte_bounds(array)
        self.stretches.append((low, high, is_written))

    def check(self, address: int, size: int, writes: bool) -> int:
        for low, high, is_written in self.stretches:
            if low <= address and address + size <= high and (is_written or not writes):
                return address
        raise OutOfBoundsError(f"{'writes' if writes else 'reads'} {size} bytes at {address}: {self.stretches}")


memory = Memory()


class Pointer:
    """A pointer to elements of a kind."""

    def __init__(self, kind: str, address: int) -> None:
        self.kind, self.address = kind, int(address)
        self.dtype = np.dtype(DTYPES[kind])

    def _at(self, place: Any, writes: bool) -> Any:
        address = memory.check(self.address + int(place) * self.dtype.itemsize, self.dtype.itemsize, writes)
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.dtype.itemsize).from_address(address)).view(self.dtype)

    def __getitem__(self, place: Any) -> Any:
        value = self._at(place, False)[0]
        return bool(value) if self.kind == "b1" else value if self.kind[0] == "f" else np.int64(value)

    def __setitem__(self, place: Any, value: Any) -> None:
        self._at(place, True)[0] = bool(value) if self.kind == "b1" else cast(self.kind, value)


def cast(kind: str, value: Any) -> Any:
    """Return a value as machine code casts it; what is an integer stays one of 64 bits, as numba computes with them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = np.int64((value + (1 << 63)) % (1 << 64) - (1 << 63)) if kind[0] != "f" else np.float64(value)
    narrow = np.asarray(value).astype(DTYPES[kind])[()]
    return narrow if kind[0] == "f" else np.int64(narrow)


def word(address: Any) -> int:
    return int(Pointer("i8", address)[0])


def store_word(address: Any, value: Any) -> None:
    Pointer("i8", address)[0] = value


def _matrix(kind: str, address: int, rows: int, columns: int, turned: int, start: int) -> Any:
    found = np.empty((rows, columns), kind)
    at = Pointer(kind, address)
    for row in range(rows):
        for column in range(columns):
            found[row, column] = at[column * start + row if turned else row * start + column]
    return found


def _product(kind: str) -> Callable[..., None]:
    def product(gemm: Any, m: int, n: int, k: int, *given: int) -> None:
        a, turn_a, from_a, b, turn_b, from_b, keep, c, from_c = given
        with np.errstate(all="ignore"):
            found = _matrix(kind, a, m, k, turn_a, from_a) @ _matrix(kind, b, k, n, turn_b, from_b)
            at = Pointer(kind, c)
            for row in range(m):
                for column in range(n):
                    place = row * from_c + column
                    at[place] = found[row, column] + at[place] if keep else found[row, column]

    return product


def _turn(kind: str) -> Callable[..., None]:
    def turn(source: int, from_source: int, to: int, rows: int, columns: int) -> None:
        elements, turned = Pointer(kind, source), Pointer(kind, to)
        for row in range(rows):
            for column in range(columns):
                turned[column * rows + row] = elements[row * from_source + column]

    return turn


def _vector_function(name: str) -> Callable[..., Any]:
    """Return a function of vector_maths, as the interpreter computes it."""
    function = TABLE[name].numpy if name in TABLE else getattr(np, name)
    return lambda *values: np.asarray(function(*values)).astype(values[0].dtype)[()]


def _copy_vector(kind: str, lanes: int) -> Callable[..., None]:
    def copy(to: int, source: int) -> None:
        first, second = Pointer(kind, to), Pointer(kind, source)
        for lane in range(lanes):
            first[lane] = second[lane]

    return copy


def _add_vector(kind: str, lanes: int) -> Callable[..., None]:
    def add(to: int, source: int, count: int) -> None:
        first, second = Pointer(kind, to), Pointer(kind, source)
        for lane in range(lanes):
            first[lane] = first[lane] + second[lane] if lane < count else first[lane]

    return add


def _ordered(x: Any) -> Any:
    return np.nextafter(np.inf, 0) if x != x else x


NAMES: dict[str, Any] = {
    "np": np,
    "njit": lambda **options: lambda function: function,
    "word": word,
    "store_word": store_word,
    "where": lambda condition, x, y: x if condition else y,
    "least": lambda a, b: a if a < b else b,
    "larger": lambda a, b: a if (a > b) | (a != a) else b,
    "smaller": lambda a, b: a if (a < b) | (a != a) else b,
    "add_in_any_order": lambda a, b: a + b,
    "multiply_in_any_order": lambda a, b: a * b,
    "bits_f4": lambda x: np.int64(np.float32(x).view(np.int32)),
    "bits_f8": lambda x: np.float64(x).view(np.int64),
    "from_bits_f4": lambda x: np.int32(x).view(np.float32),
    "from_bits_f8": lambda x: np.int64(x).view(np.float64),
    "ordered_f4": _ordered,
    "ordered_f8": _ordered,
    "unordered_f4": lambda key: key,
    "unordered_f8": lambda key: key,
    "begin_alone": lambda *given: None,
    "end_alone": lambda *given: None,
}
for _kind in DTYPES:
    NAMES[_kind] = lambda value, kind=_kind: cast(kind, value)
    NAMES[f"pointer_{_kind}"] = lambda address, kind=_kind: Pointer(kind, address)
for _kind, _lanes in (("f4", 16), ("f8", 8)):
    NAMES[f"copy_vector_{_kind}"], NAMES[f"add_vector_{_kind}"] = _copy_vector(_kind, _lanes), _add_vector(_kind, _lanes)
    NAMES[f"turn_{_kind}"] = _turn(_kind)
    for _way in ("rows64", "rows32", "columns"):
        NAMES[f"product_{_way}_{_kind}"] = _product(_kind)
    for _name in FUNCTIONS:
        NAMES[f"{_name}_{_kind}"] = _vector_function(_name)


class Emulation:
    """What stands for loaded machine code: functions by number."""

    def __init__(self, seed: int = 0) -> None:
        self.functions: dict[int, Any] = {}
        self.numbers: dict[str, int] = {}
        self.chance = random.Random(seed)
        self.tables: list[Any] = []
        self.mistakes: list[str] = []  # what the tiers hide: the interpreter takes over

    def address_of(self, source: str) -> Any:
        """Return the number of a source's function."""
        number = self.numbers.get(source)
        if number is None:
            number = self.numbers[source] = 64 * (len(self.numbers) + 1)
            names = dict(NAMES)
            exec(compile(re.sub(r"^(import|from) .*$", "", source, flags=re.M), "<kernel>", "exec"), names)  # noqa: S102
            self.functions[number] = names["kernel"]
        return number

    def function_at(self, address: int, keeps_lock: bool = False) -> Callable[[int, int, int], int]:
        """Return what stands for the executor: it is the only function that Python calls."""
        return self.execute

    def execute(self, run: int, pool: int, arrays: int) -> int:
        """Do as the executor does (see executor.py), with chunks in any order."""
        table, arena = next(kept for kept in self.tables if 0 <= run - kept[0].__array_interface__["data"][0] < kept[0].nbytes)
        memory.allow(table)
        memory.allow(arena)
        rows = word(run)
        for place in range(word(run + 8)):
            row = rows + 24 * place
            array = ctypes.cast(ctypes.c_size_t.from_address(arrays + 8 * place).value, ctypes.py_object).value
            if array.ndim != word(row + 8) or not array.flags.aligned:
                return place + 1
            expected = [word(word(row + 16) + 8 * axis) for axis in range(array.ndim)]
            if any(stride not in (-1, found) for found, stride in zip(array.strides, expected, strict=True)):
                return place + 1
            store_word(word(row), array.__array_interface__["data"][0])
            if array.size:
                memory.allow(array)
        with np.errstate(all="ignore"):
            for place in range(word(run + 24), word(run + 32)):
                row = word(run + 16) + 32 * place
                function, args, count, step = [word(row + 8 * column) for column in range(4)]
                chunks = list(range(0, count, step))
                self.chance.shuffle(chunks)
                for lo in chunks:
                    if self.functions[function](args, lo, min(lo + step, count)) != 0:
                        return -1
        return 0


@contextmanager
def emulated(seed: int = 0, is_small: bool = True) -> Iterator[Emulation]:
    """Let kernels be run by Python; `is_small` makes blocks and chunks small."""
    emulation = Emulation(seed)
    link, run = program._Machine.link, program.Program.__call__

    def linked(machine: Any, addresses: Any) -> Any:
        found = link(machine, addresses)
        found[0].__globals__["empty"] = lambda shape, dtype: poisoned(np.empty(shape, dtype))
        emulation.tables.append(found[-1][:2])
        return found

    def call(self: Any, values: Any, numbers: Any = None) -> None:
        self.link()
        poisoned(self._kept[1])
        outer, memory.stretches = memory.stretches, []
        try:
            run(self, values, numbers)
        except (LayoutChanged, Refused, program.Busy):
            raise
        except Exception as error:
            emulation.mistakes.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            memory.stretches = outer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "address_of", emulation.address_of)
        patch.setattr(kernels, "request", lambda sources: None)
        patch.setattr(native, "function_at", emulation.function_at)
        patch.setattr(program._Machine, "link", linked)
        patch.setattr(references, "load", lambda: None)
        patch.setattr(program.Program, "__call__", call)
        patch.setattr(program, "pool", _NoPool())
        if is_small:
            for module, name, value in SMALL:
                patch.setattr(module, name, value)
        yield emulation


class _NoPool:
    def ready(self) -> int:
        return 0


def poisoned(array: Any) -> Any:
    """Return an array whose elements are NaN, or what is as striking."""
    array.reshape(-1, order="A").view(np.uint8)[...] = 1 if array.dtype == bool else 0xFF if array.dtype.kind in "fu" else 0x81
    return array
