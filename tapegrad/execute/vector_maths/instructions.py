"""What the vector maths is written in: instructions that numba lacks, or that it widens (int32 sums become int64).

Each becomes one or a few LLVM instructions without a branch, so that a loop over them is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _inlined(function: Callable[..., Any], fastmath: set[str] | bool) -> Any:
    """Let numba compile a function for inlining; without wrappers for C and Python, which would take time."""
    wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return numba.njit(forceinline=True, error_model="numpy", fastmath=fastmath, **wrappers)(function)


def vectorisable(function: Callable[..., Any]) -> Any:
    """Compile a function for inlining into a loop that LLVM vectorises.

    A product and the sum it goes into may be fused (``contract``), which is faster and no less exact. Nothing else may be
    rearranged: the functions depend on the order of their operations, and on infinities and NaN.
    """
    return _inlined(function, {"contract"})


def exactly(function: Callable[..., Any]) -> Any:
    """Compile like :func:`vectorisable`, every operation rounded by itself: for sums and products in two words."""
    return _inlined(function, False)


def by_way_of_float64(function: Any) -> Any:
    """Return the float32 version of a float64 function of one number."""

    @vectorisable
    def narrow(x: Any) -> Any:
        return np.float32(function(np.float64(x)))

    return narrow


@dataclass(frozen=True)
class Format:
    """A floating point format: how its numbers are stored, and constants in it."""

    number: Any  # makes a number of this format
    integer: Any  # makes an integer of the same width
    stored: int  # stored bits of the significand
    bias: int  # of the exponent
    shift: float  # added and subtracted it rounds to an integer, whose bits are then the lowest of the sum
    ln2_high: float  # ln(2) rounded so that its product with any exponent is exact,
    ln2_low: float  # and the rest


F4 = Format(np.float32, np.int32, 23, 127, 1.5 * 2.0**23, 0.693359375, -2.12194440e-4)
F8 = Format(np.float64, np.int64, 52, 1023, 1.5 * 2.0**52, 6.93147180369123816490e-01, 1.90821492927058770002e-10)


def instruction(implementation: Callable[..., Any]) -> Any:
    """Return numba's intrinsic of a function from types to a signature and a writer of LLVM code."""
    return intrinsic(implementation)


_INTEGERS: dict[Any, Any] = {types.float32: types.int32, types.float64: types.int64}
_FLOATS = {integer: number for number, integer in _INTEGERS.items()}


@instruction
def bits(typing_context: Any, x: Any) -> Any:
    """Return the bits of a number as an integer of its width."""
    result = _INTEGERS[x]
    return result(x), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], context.get_value_type(result))


@instruction
def from_bits(typing_context: Any, integer: Any) -> Any:
    """Return the number with these bits."""
    result = _FLOATS[integer]
    return result(integer), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], context.get_value_type(result))


@instruction
def select(typing_context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` or ``no``, both of which are computed."""
    if yes != no:
        raise TypeError(f"select: {yes} and {no} must be of one type")
    return yes(types.boolean, yes, yes), lambda context, builder, signature, arguments: builder.select(*arguments)


@instruction
def copy_sign(typing_context: Any, magnitude: Any, sign: Any) -> Any:
    """Return ``magnitude`` with the sign of ``sign``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.copysign", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(function, arguments)

    return magnitude(magnitude, magnitude), generate


@instruction
def floor(typing_context: Any, x: Any) -> Any:
    """Return the greatest whole number not above ``x``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.floor", [arguments[0].type]), arguments)

    return x(x), generate


def polynomial(form: Format, *coefficients: float) -> Any:
    """Return a function that evaluates a polynomial by Horner's rule; the coefficient of the highest power comes first."""

    @instruction
    def evaluate(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (value,) = arguments
            first, *others = (ir.Constant(value.type, float(form.number(c))) for c in coefficients)
            result = first
            for coefficient in others:
                result = builder.fadd(builder.fmul(result, value, flags=("contract",)), coefficient, flags=("contract",))
            return result

        return x(x), generate

    return evaluate


def power_of_two(form: Format) -> Any:
    """Return a function that gives 2**n for an integer n between the least and greatest exponents of normal numbers."""
    integer, bias, stored = form.integer, form.integer(form.bias), form.integer(form.stored)

    @vectorisable
    def power(n: Any) -> Any:
        return from_bits(integer((n + bias) << stored))

    return power


def scale(form: Format) -> Any:
    """Return a function that gives x * 2**n, rounded once, for n up to twice what a normal number's exponent can be."""
    integer, power = form.integer, power_of_two(form)

    @vectorisable
    def scaled(x: Any, n: Any) -> Any:
        half = integer(n >> integer(1))
        return x * power(half) * power(integer(n - half))

    return scaled
