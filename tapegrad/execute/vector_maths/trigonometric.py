"""Trigonometric functions.

The argument is reduced to r, |r| <= pi/4, by taking away k pi/2 in parts whose products with k are exact (Cody and Waite),
what r's rounding takes away being kept; sines and cosines of r are polynomials (Remez fits of our own; their sums in the
order of FreeBSD's k_sin.c and k_cos.c). Arguments too large for that are reduced by Payne and Hanek's method (Radian
reduction for trigonometric functions, 1983): of the bits of 2/pi, those are multiplied that matter modulo 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from .double_words import add, divide, multiply
from .instructions import F4, F8, Format, bits, by_way_of_float64, exactly, floor, from_bits, instruction, polynomial, select, vectorisable
from .rare import rare

# sin(r) = r + r z p(z), cos(r) = 1 - z/2 + z**2 q(z), z = r**2: to 5e-12 and 1e-10, 4e-18 and 5e-20.
_SIN4 = polynomial(F4, 2.7175686e-06, -0.00019839258, 0.008333329, -0.16666667)
_COS4 = polynomial(F4, 2.4431241e-05, -0.0013887306, 0.041666646)
_SIN8 = polynomial(
    F8,
    1.5893600363833982e-10,
    -2.5050704319931834e-08,
    2.755731335777801e-06,
    -0.00019841269828875123,
    0.00833333333332129,
    -0.16666666666666627,
)
_COS8 = polynomial(
    F8,
    -1.1357459475253404e-11,
    2.0875682084850627e-09,
    -2.755731405805481e-07,
    2.480158728849707e-05,
    -0.0013888888888872607,
    0.04166666666666659,
)
# pi/2 in parts of 12, 12, 12 and 24 bits, and of 37, 37 and 53 bits; the greatest argument they serve.
_PARTS4 = (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.563344e-12)
_PARTS8 = (1.5707963267923333, 0.0, 2.5633441515839558e-12, 1.0562999066987428e-23)
_LIMIT4, _LIMIT8 = 6000.0, 30000.0

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_PI = (2 * _HALF_PI[0], 2 * _HALF_PI[1])
# A word of zeros, then the bits of 2/pi.
_TWO_OVER_PI = np.array(
    [
        0x0,
        0xA2F9836E4E441529,
        0xFC2757D1F534DDC0,
        0xDB6295993C439041,
        0xFE5163ABDEBBC561,
        0xB7246E3A424DD2E0,
        0x06492EEA09D1921C,
        0xFE1DEB1CB129A73E,
        0xE88235F52EBB4484,
        0xE99C7026B45F7E41,
        0x3991D639835339F4,
        0x9C845F8BBDF9283B,
        0x1FF897FFDE05980F,
        0xEF2F118B5A0A6D1F,
        0x6D367ECF27CB09B7,
        0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B,
        0x3D0739F78A5292EA,
        0x6BFB5FB11F8D5D08,
        0x56033046FC7B6BAB,
        0xF0CFBC209AF4361D,
    ],
    np.uint64,
)
_U = np.uint64


@instruction
def _high_product(typing_context: Any, x: Any, y: Any) -> Any:
    """Return the upper word of a product of two unsigned words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, wide(64)), arguments[0].type)

    return x(x, x), generate


@exactly
def _window(offset: Any, word: Any) -> Any:
    """Return 64 bits of the table, from the bit ``offset`` and ``word`` words on."""
    index, shift = np.int64(offset >> 6) + word, _U(offset & 63)
    first = _TWO_OVER_PI[index] << shift
    return first | ((_TWO_OVER_PI[index + 1] >> _U(1)) >> (_U(63) - shift))


@exactly
def _payne_hanek(x: Any) -> Any:
    """Return r in two words and k (modulo 4) for a finite number of at least 1.

    |x| is an integer times 2**exponent: the bits of 2/pi above 2**(2 - exponent) give multiples of 4, those 192 bits below
    are enough. Of their product with the integer, the upper 2 bits are k, and the rest a fraction.
    """
    representation = bits(abs(x))
    integer = _U((representation & ((1 << 52) - 1)) | (1 << 52))
    offset = (representation >> 52) - 1075 - 2 + 64
    upper, middle, lower = _window(offset, 0), _window(offset, 1), _window(offset, 2)
    p0 = lower * integer
    carried = _high_product(lower, integer)
    p1 = middle * integer + carried
    p2 = upper * integer + _high_product(middle, integer) + (_U(1) if p1 < carried else _U(0))
    k = (p2 + (_U(1) << _U(61))) >> _U(62)
    p2 = p2 - (k << _U(62))
    negative = (p2 >> _U(63)) != _U(0)
    if negative:
        p2, p1, p0 = ~p2, ~p1, ~p0
    # The fraction in two words: 51 bits, then 64, or 64 more where all of those are 0.
    high = np.float64(np.int64(p2 & ~_U(0x3FF))) * 2.0**-62
    low = np.float64(((p2 & _U(0x3FF)) << _U(54)) | (p1 >> _U(10))) * 2.0**-116
    high, low = add(high, low)
    r, rest = multiply(high, _HALF_PI[0])
    r, rest = add(r, rest + (high * _HALF_PI[1] + low * _HALF_PI[0]))
    sign = -1.0 if negative != (x < 0.0) else 1.0
    return r * sign, rest * sign, np.int64(-k if x < 0.0 else k)


def _reduction(form: Format, parts: tuple[float, float, float, float]) -> Any:
    """Return a function from x, not too large, to r, what its rounding took away, and k as an integer."""
    first, second, third, fourth = map(form.number, parts)
    two_over_pi, shift, integer = form.number(2 / np.pi), form.number(form.shift), form.integer

    @vectorisable
    def reduce(x: Any) -> Any:
        shifted = x * two_over_pi + shift
        k = shifted - shift
        exact = (x - k * first) - k * second
        taken = k * third
        near = exact - taken
        rest = k * fourth - ((exact - near) - taken)
        r = near - rest
        return r, (near - r) - rest, integer(bits(shifted) - bits(shift))

    return reduce


def _parts(form: Format, p: Any, q: Any) -> Any:
    """Return a function from r and a small addition to r's sine and cosine, each in two words that are to be added."""
    half, one = form.number(0.5), form.number(1)

    @vectorisable
    def parts(r: Any, small: Any) -> Any:
        z = r * r
        half_square = half * z
        cosine = one - half_square
        sine_low = r * z * p(z) + small * cosine
        cosine_low = ((one - cosine) - half_square) + (z * z * q(z) - r * small)
        return r, sine_low, cosine, cosine_low

    return parts


def _quadrants(form: Format, parts: Any, ahead: int) -> Any:
    """Return a function from r, an addition to it and k to the sine ``ahead`` quadrants ahead (1: the cosine)."""
    integer, sign_shift = form.integer, form.integer(8 * form.number(0).itemsize - 2)
    start, one, two = form.integer(ahead), form.integer(1), form.integer(2)

    @vectorisable
    def value(r: Any, small: Any, k: Any) -> Any:
        sine, sine_low, cosine, cosine_low = parts(r, small)
        quadrant = integer(k + start)
        unsigned = select((quadrant & one) != 0, cosine + cosine_low, sine + sine_low)
        return from_bits(integer(bits(unsigned) ^ integer(integer(quadrant & two) << sign_shift)))

    return value


_parts4, _parts8 = _parts(F4, _SIN4, _COS4), _parts(F8, _SIN8, _COS8)


def _wave(form: Format, name: str, parts: Any, ahead: int, reduction_parts: Any, limit: float) -> Any:
    """Return the sine ``ahead`` quadrants ahead of the argument."""
    number, largest, zero = form.number, form.number(limit), form.number(0)
    reduce, value, value_far = _reduction(form, reduction_parts), _quadrants(form, parts, ahead), _quadrants(F8, _parts8, ahead)
    odd = ahead == 0

    @exactly
    def far(x: Any) -> Any:
        wide = np.float64(x)
        if not abs(wide) < np.inf:
            return number(np.nan)
        r, rest, k = _payne_hanek(wide)
        return number(value_far(r, rest, k))

    far = rare(name, far)

    @vectorisable
    def wave(x: Any) -> Any:
        r, rest, k = reduce(x)
        result = value(r, rest, k)
        if odd:
            result = select(x == zero, x, result)
        if abs(x) > largest:
            result = far(x)
        return result

    return wave


sin_f4, sin_f8 = _wave(F4, "sin", _parts4, 0, _PARTS4, _LIMIT4), _wave(F8, "sin", _parts8, 0, _PARTS8, _LIMIT8)
cos_f4, cos_f8 = _wave(F4, "cos", _parts4, 1, _PARTS4, _LIMIT4), _wave(F8, "cos", _parts8, 1, _PARTS8, _LIMIT8)


@vectorisable
def _tangent(r: Any, rest: Any, k: Any) -> Any:
    """Return the tangent from what the argument is reduced to: the sine's quotient by the cosine, in two words each."""
    sine, sine_low, cosine, cosine_low = _parts8(r, rest)
    sine, sine_low = add(sine, sine_low)
    cosine, cosine_low = add(cosine, cosine_low)
    odd = (k & 1) != 0
    numerator, numerator_low = select(odd, -cosine, sine), select(odd, -cosine_low, sine_low)
    quotient, low = divide(numerator, numerator_low, select(odd, sine, cosine), select(odd, sine_low, cosine_low))
    return quotient + low


@exactly
def _tan_far(x: Any) -> Any:
    """Return the tangent of an argument too large for the reduction in parts."""
    if not abs(x) < np.inf:
        return np.nan
    r, rest, k = _payne_hanek(x)
    return _tangent(r, rest, k)


_reduce8 = _reduction(F8, _PARTS8)
_tan_rarely = rare("tan", _tan_far)


@vectorisable
def tan_f8(x: Any) -> Any:
    """Return the tangent."""
    r, rest, k = _reduce8(x)
    result = select(x == 0.0, x, _tangent(r, rest, k))
    if abs(x) > _LIMIT8:
        result = _tan_rarely(x)
    return result


tan_f4 = by_way_of_float64(tan_f8)


@vectorisable
def sine_and_cosine(x: Any) -> Any:
    """Return both for |x| <= pi/4, in float64."""
    sine, sine_low, cosine, cosine_low = _parts8(x, 0.0)
    return sine + sine_low, cosine + cosine_low


@vectorisable
def half_turns(x: Any) -> Any:
    """Return sin(pi x) and cos(pi x) up to one common sign, each in two words, for 0 <= x < 2**52."""
    quarters = floor(2.0 * x + 0.5)
    r, rest = multiply(x - 0.5 * quarters, _PI[0])
    r, rest = add(r, rest + (x - 0.5 * quarters) * _PI[1])
    sine, sine_low, cosine, cosine_low = _parts8(r, rest)
    sine, sine_low = add(sine, sine_low)
    cosine, cosine_low = add(cosine, cosine_low)
    odd = floor(0.5 * quarters) != 0.5 * quarters
    return select(odd, cosine, sine), select(odd, cosine_low, sine_low), select(odd, -sine, cosine), select(odd, -sine_low, cosine_low)
