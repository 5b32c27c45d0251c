"""Compiling: the source of a kernel becomes machine code in an object file.

This is the only module that imports numba (and what kernel sources import). The object needs numba no more: a process that has
it on disk loads it with llvmlite alone, in a fraction of a millisecond.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

POINTERS = {
    "f4": types.float32,
    "f8": types.float64,
    "i1": types.int8,
    "i2": types.int16,
    "i4": types.int32,
    "i8": types.int64,
    "u1": types.uint8,
    "b1": types.boolean,
}
_WORD = ir.IntType(64)
_ROW_MAJOR, _PLAIN = 101, 111  # of CBLAS, which has 112 for a transposed matrix
_SIGNATURE = types.intp(types.intp, types.intp, types.intp)
# A loop that joins many records has tens of arrays, of each two of which it looks first whether they overlap. LLVM's limit is 128
# pairs; beyond that it would take the elements one by one.
binding.set_option("tapegrad", "-vectorize-memory-check-threshold=4096")


def compile_kernel(source: str) -> tuple[str, bytes]:
    """Return the symbol and the object file of the function `kernel(args, lo, hi)` that this source defines."""
    names: dict[str, Any] = {}
    exec(compile(source, "<kernel>", "exec"), names)  # noqa: S102 - kernel sources are written by tapegrad
    compiled = cfunc(_SIGNATURE, nopython=True, error_model="numpy", fastmath={"contract"})(names["kernel"])
    code = compiled._library._get_compiled_object()
    if b"numba_gil_ensure" in code:
        raise ValueError("this kernel can raise, for which it needs Python: write its loops with steps as `while`")
    return compiled._wrapper_name, code


# What kernel sources are written with


@intrinsic  # type: ignore[misc]  # numba has no type information
def word(typing_context: Any, address: Any) -> tuple[Signature, Any]:
    """Return the 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.intp(types.intp), generate


@intrinsic  # type: ignore[misc]
def store_word(typing_context: Any, address: Any, value: Any) -> tuple[Signature, Any]:
    """Write a 64-bit integer to an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@intrinsic  # type: ignore[misc]
def half_word(typing_context: Any, address: Any) -> tuple[Signature, Any]:
    """Return the 32-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        narrow = builder.load(builder.inttoptr(arguments[0], ir.IntType(32).as_pointer()))
        return builder.zext(narrow, _WORD)

    return types.intp(types.intp), generate


def _pointer_to(element: Any) -> Any:
    @intrinsic  # type: ignore[misc]
    def pointer(typing_context: Any, address: Any) -> tuple[Signature, Any]:
        """Return the address as a pointer to elements of this type."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.intp), generate

    return pointer


pointer_f4, pointer_f8, pointer_i1, pointer_i2, pointer_i4, pointer_i8, pointer_u1, pointer_b1 = map(_pointer_to, POINTERS.values())


@intrinsic  # type: ignore[misc]
def call(typing_context: Any, function: Any, args: Any, lo: Any, hi: Any) -> tuple[Signature, Any]:
    """Call a kernel at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD, _WORD, _WORD])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.intp(types.intp, types.intp, types.intp, types.intp), generate


# What threads agree with: atomic operations on words, each of them in one order that all threads see


@intrinsic  # type: ignore[misc]
def atomic_word(typing_context: Any, address: Any) -> tuple[Signature, Any]:
    """Return the 64-bit integer at an address that other threads write to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], _WORD.as_pointer()), "seq_cst", 8)

    return types.intp(types.intp), generate


@intrinsic  # type: ignore[misc]
def store_atomic_word(typing_context: Any, address: Any, value: Any) -> tuple[Signature, Any]:
    """Write a 64-bit integer to an address that other threads read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@intrinsic  # type: ignore[misc]
def add_to_word(typing_context: Any, address: Any, value: Any) -> tuple[Signature, Any]:
    """Add to the 64-bit integer at an address, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", builder.inttoptr(arguments[0], _WORD.as_pointer()), arguments[1], "seq_cst")

    return types.intp(types.intp, types.intp), generate


@intrinsic  # type: ignore[misc]
def replace_word(typing_context: Any, address: Any, expected: Any, value: Any) -> tuple[Signature, Any]:
    """Write a 64-bit integer to an address if what is there is as expected, and return whether it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        found = builder.cmpxchg(pointer, arguments[1], arguments[2], "seq_cst", "seq_cst")
        return builder.zext(builder.extract_value(found, 1), _WORD)

    return types.intp(types.intp, types.intp, types.intp), generate


@intrinsic  # type: ignore[misc]
def pause(typing_context: Any) -> tuple[Signature, Any]:
    """Tell the processor that this thread waits for another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        elif machine in ("aarch64", "arm64"):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            builder.call(builder.module.declare_intrinsic("llvm.aarch64.hint", (), kind), [ir.Constant(ir.IntType(32), 1)])
        return context.get_dummy_value()

    return types.void(), generate


def _reassociable(operation: str) -> Any:
    @intrinsic  # type: ignore[misc]
    def accumulate(typing_context: Any, a: Any, b: Any) -> tuple[Signature, Any]:
        """Add or multiply in whichever order is fastest: sums of a short block, in the lanes of a vector."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, operation)(*arguments, flags=("reassoc", "contract"))

        return a(a, a), generate

    return accumulate


add_in_any_order = _reassociable("fadd")
multiply_in_any_order = _reassociable("fmul")


def _bits(float_type: Any, integer_type: Any, width: int) -> Any:
    @intrinsic  # type: ignore[misc]
    def bits(typing_context: Any, x: Any) -> tuple[Signature, Any]:
        """Return the bits of a float as an integer."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.IntType(width))

        return integer_type(float_type), generate

    return bits


def _from_bits(integer_type: Any, float_type: Any) -> Any:
    @intrinsic  # type: ignore[misc]
    def from_bits(typing_context: Any, x: Any) -> tuple[Signature, Any]:
        """Return the float of these bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(float_type))

        return float_type(integer_type), generate

    return from_bits


bits_f4, bits_f8 = _bits(types.float32, types.int32, 32), _bits(types.float64, types.int64, 64)
from_bits_f4, from_bits_f8 = _from_bits(types.int32, types.float32), _from_bits(types.int64, types.float64)


@njit(forceinline=True)  # type: ignore[misc]
def where(condition: Any, x: Any, y: Any) -> Any:
    """Return x or y; both are there, so that nothing branches."""
    return x if condition else y


@njit(forceinline=True)  # type: ignore[misc]
def least(a: Any, b: Any) -> Any:
    """Return the smaller of two integers; Python's `min` can raise."""
    return a if a < b else b


@njit(forceinline=True)  # type: ignore[misc]
def larger(a: Any, b: Any) -> Any:
    """Return the larger of two, or NaN."""
    return a if (a > b) | (a != a) else b


@njit(forceinline=True)  # type: ignore[misc]
def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two, or NaN."""
    return a if (a < b) | (a != a) else b


# Floats as integers in the same order, of which LLVM finds the largest in the lanes of a vector without a thought for NaN.


@njit(forceinline=True)  # type: ignore[misc]
def ordered_f4(x: Any) -> Any:
    """Return an int32 that is ordered as the float is."""
    bits = bits_f4(x)
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@njit(forceinline=True)  # type: ignore[misc]
def ordered_f8(x: Any) -> Any:
    """Return an int64 that is ordered as the float is."""
    bits = bits_f8(x)
    return bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


@njit(forceinline=True)  # type: ignore[misc]
def unordered_f4(key: Any) -> Any:
    """Return the float of an ordered integer."""
    return from_bits_f4(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@njit(forceinline=True)  # type: ignore[misc]
def unordered_f8(key: Any) -> Any:
    """Return the float of an ordered integer."""
    return from_bits_f8(key ^ ((key >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF)))


# Products of matrices, by a BLAS routine at an address. A matrix lies row by row, or, if it is turned (1, else 0), column by
# column; each of its rows (columns) begins so many elements after the one before.


def _product(element: Any, call: Any) -> Any:
    @intrinsic  # type: ignore[misc]
    def product(
        typing_context: Any, gemm: Any, m: Any, n: Any, k: Any, a: Any, turn_a: Any, from_a: Any,
        b: Any, turn_b: Any, from_b: Any, keep: Any, c: Any, from_c: Any,
    ) -> tuple[Signature, Any]:  # fmt: skip
        """Let c (m, n) be a (m, k) times b (k, n), and add what c was if it is to be kept (1, else 0)."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            gemm, *given = arguments
            given = call(builder, context.get_value_type(element), *given)
            kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
            builder.call(builder.inttoptr(gemm, kind.as_pointer()), given)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 13), generate

    return product


def _rows(bits: int) -> Any:
    """Return what makes the arguments of a `cblas_?gemm` with integers of so many bits."""
    flag = ir.IntType(32)

    def arguments(builder: Any, scalar: Any, *given: Any) -> list[Any]:
        m, n, k, a, turn_a, from_a, b, turn_b, from_b, keep, c, from_c = given

        def size(value: Any) -> Any:
            return value if bits == _WORD.width else builder.trunc(value, ir.IntType(bits))

        def order(turn: Any) -> Any:
            return builder.add(builder.trunc(turn, flag), flag(_PLAIN))

        matrices = [scalar(1.0), a, size(from_a), b, size(from_b), builder.sitofp(keep, scalar), c, size(from_c)]
        return [flag(_ROW_MAJOR), order(turn_a), order(turn_b), size(m), size(n), size(k), *matrices]

    return arguments


def _columns(builder: Any, scalar: Any, *given: Any) -> list[Any]:
    """Return the arguments of Fortran's `?gemm`: all by address; of the transposes, since matrices lie column by column there."""
    m, n, k, a, turn_a, from_a, b, turn_b, from_b, keep, c, from_c = given
    letter = ir.IntType(8)

    def at(value: Any) -> Any:
        place = cgutils.alloca_once(builder, value.type)
        builder.store(value, place)
        return place

    def size(value: Any) -> Any:
        return at(builder.trunc(value, ir.IntType(32)))

    def order(turn: Any) -> Any:
        return at(builder.select(builder.trunc(turn, ir.IntType(1)), letter(ord("T")), letter(ord("N"))))

    matrices = [at(scalar(1.0)), b, size(from_b), a, size(from_a), at(builder.sitofp(keep, scalar)), c, size(from_c)]
    return [order(turn_b), order(turn_a), size(n), size(m), size(k), *matrices]


product_rows64_f4, product_rows64_f8 = _product(types.float32, _rows(64)), _product(types.float64, _rows(64))
product_rows32_f4, product_rows32_f8 = _product(types.float32, _rows(32)), _product(types.float64, _rows(32))
product_columns_f4, product_columns_f8 = _product(types.float32, _columns), _product(types.float64, _columns)


# Rows that are copied and added a vector at a time. Whoever uses these has memory for a whole vector behind the row's end.


def _vector(element: Any, builder: Any, context: Any, address: Any, lanes: int) -> Any:
    return builder.inttoptr(address, ir.VectorType(context.get_value_type(element), lanes).as_pointer())


def _copy_vector(element: Any, lanes: int) -> Any:
    @intrinsic  # type: ignore[misc]
    def copy_vector(typing_context: Any, to: Any, source: Any) -> tuple[Signature, Any]:
        """Copy 64 bytes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, source = [_vector(element, builder, context, address, lanes) for address in arguments]
            builder.store(builder.load(source, align=4), to, align=4)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), generate

    return copy_vector


def _add_vector(element: Any, lanes: int) -> Any:
    @intrinsic  # type: ignore[misc]
    def add_vector(typing_context: Any, to: Any, source: Any, count: Any) -> tuple[Signature, Any]:
        """Add the first `count` elements of 64 bytes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, source = [_vector(element, builder, context, address, lanes) for address in arguments[:2]]
            numbers = ir.VectorType(ir.IntType(32), lanes)
            one = builder.insert_element(numbers(ir.Undefined), builder.trunc(arguments[2], ir.IntType(32)), ir.IntType(32)(0))
            count = builder.shuffle_vector(one, numbers(ir.Undefined), numbers([0] * lanes))
            is_meant = builder.icmp_signed("<", numbers(list(range(lanes))), count)
            old = builder.load(to, align=4)
            total = builder.fadd(old, builder.load(source, align=4))
            builder.store(builder.select(is_meant, total, old), to, align=4)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp, types.intp), generate

    return add_vector


copy_vector_f4, copy_vector_f8 = _copy_vector(types.float32, 16), _copy_vector(types.float64, 8)
add_vector_f4, add_vector_f8 = _add_vector(types.float32, 16), _add_vector(types.float64, 8)


# A matrix is turned in squares of 8 by 8 elements, which stay in registers.

_SQUARE = 8


def _turn_square(element: Any) -> Any:
    @intrinsic  # type: ignore[misc]
    def turn_square(typing_context: Any, source: Any, from_source: Any, to: Any, from_to: Any) -> tuple[Signature, Any]:
        """Copy 8 rows of 8 elements as columns; rows begin so many bytes after each other."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, from_source, to, from_to = arguments
            undefined = ir.VectorType(ir.IntType(32), _SQUARE)
            halves = [[half + number // 2 + _SQUARE * (number % 2) for number in range(_SQUARE)] for half in (0, _SQUARE // 2)]

            def row(begin: Any, distance: Any, number: int) -> Any:
                return _vector(element, builder, context, builder.add(begin, builder.mul(distance, _WORD(number))), _SQUARE)

            rows = [builder.load(row(source, from_source, number), align=4) for number in range(_SQUARE)]
            for _ in range(3):  # each time, rows that are half of them apart are dealt out in turn
                pairs = zip(rows[: _SQUARE // 2], rows[_SQUARE // 2 :], strict=True)
                rows = [builder.shuffle_vector(a, b, undefined(half)) for a, b in pairs for half in halves]
            for number, values in enumerate(rows):
                builder.store(values, row(to, from_to, number), align=4)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp, types.intp, types.intp), generate

    return turn_square


def _turn(size: int, pointer: Any, turn_square: Any) -> Any:
    @njit(forceinline=True)  # type: ignore[untyped-decorator]
    def turn(source: Any, from_source: Any, to: Any, rows: Any, columns: Any) -> None:
        """Copy a matrix, whose rows begin so many elements after each other, as its transpose."""
        high, wide = rows >> 3, columns >> 3
        for i in range(high):
            for j in range(wide):
                at, of = to + 8 * (j * rows + i) * size, source + 8 * (i * from_source + j) * size
                turn_square(of, from_source * size, at, rows * size)
        elements, turned = pointer(source), pointer(to)
        for row in range(rows):
            for column in range(8 * wide if row < 8 * high else 0, columns):
                turned[column * rows + row] = elements[row * from_source + column]

    return turn


turn_f4 = _turn(4, pointer_f4, _turn_square(types.float32))
turn_f8 = _turn(8, pointer_f8, _turn_square(types.float64))


# BLAS in one thread, while helpers multiply one matrix each. It has one number of threads for all: the first to come sets it,
# the last to go sets it back. At `guard` are a lock, how many are there, the number as it was, and the routines for it.


@njit(forceinline=True)  # type: ignore[untyped-decorator]
def begin_alone(guard: Any) -> None:
    """Let BLAS take one thread."""
    while replace_word(guard, 0, 1) == 0:
        pause()
    if word(guard + 8) == 0:
        store_word(guard + 16, call(word(guard + 24), 0, 0, 0) & 0xFFFFFFFF)
        call(word(guard + 32), 1, 0, 0)
    store_word(guard + 8, word(guard + 8) + 1)
    store_atomic_word(guard, 0)


@njit(forceinline=True)  # type: ignore[untyped-decorator]
def end_alone(guard: Any) -> None:
    """Let BLAS take as many threads as before, if nobody else wants it to have one."""
    while replace_word(guard, 0, 1) == 0:
        pause()
    store_word(guard + 8, word(guard + 8) - 1)
    if word(guard + 8) == 0:
        call(word(guard + 32), word(guard + 16), 0, 0)
    store_atomic_word(guard, 0)
