"""Logarithms.

A positive number is m * 2**k with m between sqrt(1/2) and sqrt(2): then log(m) has no jump at 1, and is a polynomial in
m - 1 (float32; after Cephes' logf), or an even one in (m - 1)/(m + 1) (float64; after FreeBSD's e_log.c). Taking k from
the bits of x less those of sqrt(1/2) is from Arm's optimized-routines. The polynomials are Remez fits of our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .instructions import F4, F8, Format, bits, from_bits, polynomial, select, vectorisable

# log(1 + f) = f - f**2/2 + f**3 p(f) for 1 + f between sqrt(1/2) and sqrt(2), to a relative 8e-10.
_P4 = polynomial(F4, 0.06746509, -0.11683602, 0.11892484, -0.12404692, 0.14218897, -0.16668017, 0.20002149, -0.2500001, 0.33333313)
# log((1 + s)/(1 - s)) = 2s + s z p(z), z = s**2, for the same, to a relative 1e-18.
_P8 = polynomial(
    F8,
    0.14799060078557055,
    0.1531375637787431,
    0.18183575139989241,
    0.22222198379013006,
    0.28571428744135463,
    0.3999999999940752,
    0.6666666666666735,
)


def _decomposition(form: Format) -> Any:
    """Return a function from x > 0 to m and k, with x = m * 2**k and m between sqrt(1/2) and sqrt(2); k is a number."""
    integer, number, stored = form.integer, form.number, form.integer(form.stored)
    smallest_normal, up = number(2.0 ** (1 - form.bias)), number(2.0 ** (form.stored + 1))
    raised, zero = number(form.stored + 1), number(0)
    half_root, shift = number(np.sqrt(0.5)), number(form.shift)

    @vectorisable
    def decompose(x: Any) -> Any:
        subnormal = x < smallest_normal
        normal = bits(select(subnormal, x * up, x))
        k = integer(integer(normal - bits(half_root)) >> stored)
        # The bits of shift + k are those of shift and k, added: a conversion that AVX2 has for 64 bits too.
        exponent = from_bits(integer(k + bits(shift))) - shift
        return from_bits(integer(normal - integer(k << stored))), exponent - select(subnormal, raised, zero)

    return decompose


def _at_edges(form: Format) -> Any:
    """Return a function that puts in what a logarithm is at 0 and infinity, below 0, and at NaN."""
    number = form.number
    zero, infinity, nan = number(0), number(np.inf), number(np.nan)

    @vectorisable
    def at_edges(x: Any, logarithm: Any) -> Any:
        upper = select(x == infinity, x, logarithm)
        lower = select(x == zero, -infinity, nan)
        return select(x > zero, upper, lower)

    return at_edges


_decompose4, _decompose8 = _decomposition(F4), _decomposition(F8)
_at_edges4, _at_edges8 = _at_edges(F4), _at_edges(F8)
_ONE4, _HALF4, _LN2_HIGH4, _LN2_LOW4 = np.float32(1), np.float32(0.5), np.float32(F4.ln2_high), np.float32(F4.ln2_low)
_LN2_HIGH8, _LN2_LOW8 = F8.ln2_high, F8.ln2_low


@vectorisable
def log_f4(x: Any) -> Any:
    """Return the natural logarithm."""
    m, k = _decompose4(x)
    f = m - _ONE4
    z = f * f
    rest = (z * f * _P4(f) + k * _LN2_LOW4) - _HALF4 * z
    return _at_edges4(x, k * _LN2_HIGH4 + (f + rest))


@vectorisable
def log_f8(x: Any) -> Any:
    """Return the natural logarithm."""
    m, k = _decompose8(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    rest = half_square - (s * (half_square + z * _P8(z)) + k * _LN2_LOW8)
    return _at_edges8(x, k * _LN2_HIGH8 - (rest - f))
