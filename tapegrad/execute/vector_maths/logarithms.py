"""Logarithms.

A positive number is m * 2**k with m between sqrt(1/2) and sqrt(2): then log(m) has no jump at 1, and is a polynomial in
m - 1 (float32; after Cephes' logf), or an even one in (m - 1)/(m + 1) (float64; after FreeBSD's e_log.c). Taking k from
the bits of x less those of sqrt(1/2) is from Arm's optimized-routines. The polynomials are Remez fits of our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .instructions import F4, F8, Format, bits, from_bits, polynomial, power_of_two, select, vectorisable

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

# log((1 + s)/(1 - s)) = 2s + s z p(z), z = s**2, again, to a relative 5e-12.
_ROUGH = polynomial(F8, 0.23584978355745828, 0.285371685352913, 0.4000033724013484, 0.6666666563716994)


def decomposition(form: Format) -> Any:
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


def _natural(form: Format, tail: Any) -> Any:
    """Return a function from f = m - 1, k and a small addition to log(m * 2**k) + addition.

    ``tail`` is a function from f to log(1 + f) - (f - f**2/2), exact enough to be added to the rest.
    """
    half, ln2_high, ln2_low = form.number(0.5), form.number(form.ln2_high), form.number(form.ln2_low)

    @vectorisable
    def natural(f: Any, k: Any, small: Any) -> Any:
        return k * ln2_high + (f + (((tail(f) + k * ln2_low) - half * f * f) + small))

    return natural


@vectorisable
def _tail4(f: Any) -> Any:
    """Return log(1 + f) - (f - f**2/2)."""
    return f * f * f * _P4(f)


@vectorisable
def _tail8(f: Any) -> Any:
    """Return log(1 + f) - (f - f**2/2), which is s (f**2/2 + z p(z)) for s = f/(2 + f)."""
    s = f / (2.0 + f)
    z = s * s
    return s * (0.5 * f * f + z * _P8(z))


def _log(form: Format, tail: Any) -> Any:
    """Return the natural logarithm."""
    zero, one = form.number(0), form.number(1)
    decompose, natural, at_edges = decomposition(form), _natural(form, tail), _at_edges(form)

    @vectorisable
    def log(x: Any) -> Any:
        m, k = decompose(x)
        return at_edges(x, natural(m - one, k, zero))

    return log


def _log1p(form: Format, tail: Any) -> Any:
    """Return a function from x and a small addition to log(1 + x + addition).

    What the rounding of 1 + x took away is put into m - 1. Where k is 0, m - 1 is x itself, and the addition is multiplied
    by the derivative, about 1 - x. Where k is large, what was taken away is negligible.
    """
    one, zero, integer, number = form.number(1), form.number(0), form.integer, form.number
    decompose, natural, at_edges = decomposition(form), _natural(form, tail), _at_edges(form)
    power, negligible = power_of_two(form), number(64)

    @vectorisable
    def log1p(x: Any, small: Any) -> Any:
        total = one + x
        lost = (x - (total - one)) + small
        m, k = decompose(total)
        down = power(integer(-min(k, negligible)))
        near = k == zero
        f = select(near, x, (m - one) + lost * down)
        return select(x == zero, x, at_edges(total, natural(f, k, select(near, small - small * x, zero))))

    return log1p


def _log1p_alone(form: Format, log1p: Any) -> Any:
    """Return log(1 + x)."""
    zero = form.number(0)

    @vectorisable
    def alone(x: Any) -> Any:
        return log1p(x, zero)

    return alone


def _other_base(form: Format, tail: Any, factor: tuple[float, float], two: tuple[float, float]) -> Any:
    """Return the logarithm of another base; after FreeBSD's e_log2.c and e_log10.c.

    ``factor`` is 1/log(base) in two words, the first so short that its product with the upper half of a number is exact,
    and ``two`` the logarithm of 2.
    """
    number = form.number
    one, half = number(1), number(0.5)
    high_factor, low_factor = number(factor[0]), number(factor[1])
    high_two, low_two = number(two[0]), number(two[1])
    decompose, at_edges = decomposition(form), _at_edges(form)
    integer, upper = form.integer, form.integer(-1 << (form.stored // 2 + 1))

    @vectorisable
    def log(x: Any) -> Any:
        m, k = decompose(x)
        f = m - one
        half_square = half * f * f
        high = from_bits(integer(bits(f - half_square) & upper))
        low = ((f - high) - half_square) + tail(f)
        main, whole = high * high_factor, k * high_two
        total = whole + main
        rest = ((whole - total) + main) + k * low_two + (low + high) * low_factor + low * high_factor
        return at_edges(x, total + rest)

    return log


log_f4, log_f8 = _log(F4, _tail4), _log(F8, _tail8)
log1p_two_words = _log1p(F8, _tail8)
log1p_f4, log1p_f8 = _log1p_alone(F4, _log1p(F4, _tail4)), _log1p_alone(F8, log1p_two_words)
log2_f4 = _other_base(F4, _tail4, (1.4423828125, 0.0003122284), (1.0, 0.0))
log10_f4 = _other_base(F4, _tail4, (0.434326171875, -3.168997e-05), (0.301025390625, 4.605039e-06))
log2_f8 = _other_base(F8, _tail8, (1.4426950216293335, 1.9259629911266175e-08), (1.0, 0.0))
log10_f8 = _other_base(F8, _tail8, (0.4342944920063019, -1.0103050052231683e-08), (0.3010299956640665, -8.532344317057107e-14))

_decompose8, _LN2 = decomposition(F8), 0.6931471805599453


@vectorisable
def log_rough(x: Any) -> Any:
    """Return the natural logarithm in float64 to a relative 5e-12, for results that become a float32; 0 < x < infinity."""
    m, k = _decompose8(x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    return k * _LN2 + (2.0 * s + s * z * _ROUGH(z))
