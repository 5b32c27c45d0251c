"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from .double_words import add, multiply
from .exponentials import exp2_rough, exp_two_words_f8
from .instructions import F4, F8, Format, bits, by_way_of_float64, copy_sign, floor, polynomial, power_of_two, scale, select, vectorisable
from .logarithms import decomposition, log_rough

_ONE4 = np.float32(1)


@vectorisable
def sqrt_f4(x: Any) -> Any:
    """Return the square root: the processor's own, rounded correctly."""
    return np.sqrt(x)


@vectorisable
def sqrt_f8(x: Any) -> Any:
    """Return the square root: the processor's own, rounded correctly."""
    return np.sqrt(x)


@vectorisable
def rsqrt_f4(x: Any) -> Any:
    """Return 1/sqrt(x), by a correctly rounded root and a correctly rounded quotient."""
    return _ONE4 / np.sqrt(x)


@vectorisable
def rsqrt_f8(x: Any) -> Any:
    """Return 1/sqrt(x), by a correctly rounded root and a correctly rounded quotient."""
    return 1.0 / np.sqrt(x)


_LOG2_E = 1.4426950408889634
# log((1 + s)/(1 - s)) = 2s + 2/3 s z + s z**2 p(z), to a relative 8e-23.
_LOG8 = polynomial(
    F8,
    0.11979391680079554,
    0.11676135282120664,
    0.13336242727262437,
    0.15384559135509218,
    0.18181818830943672,
    0.22222222217925658,
    0.2857142857144311,
    0.3999999999999998,
)
_THIRDS = (2 / 3, 3.700743415417188e-17)  # 2/3 in two words
_LN2_HIGH, _LN2_LOW = F8.ln2_high, F8.ln2_low
_FAR = 2.0**65  # an exponent that takes any number but 1 to 0 or infinity

_decompose, _scaled = decomposition(F8), scale(F8)


@vectorisable
def _positive_f4(x: Any, y: Any) -> Any:
    """Return x**y for finite x > 0, as 2**(y log2(x)), in float64."""
    bounded = min(max(np.float64(y), -_FAR), _FAR)
    return np.float32(exp2_rough(bounded * (log_rough(np.float64(x)) * _LOG2_E)))


@vectorisable
def logarithm_two_words(x: Any) -> Any:
    """Return log(x) in two words for finite x > 0, to about 65 bits; after SLEEF's logk."""
    m, k = _decompose(x)
    f = m - 1.0
    # s = f/(2 + f)
    denominator, denominator_low = add(2.0, f)
    inverse = 1.0 / denominator
    s = f * inverse
    product, product_low = multiply(s, denominator)
    s_low = (((f - product) - product_low) - s * denominator_low) * inverse
    # s**3
    z, z_low = multiply(s, s)
    cube, cube_low = multiply(s, z)
    cube_low += s * (z_low + 2.0 * (s * s_low)) + s_low * z
    third, third_low = multiply(cube, _THIRDS[0])
    third_low += cube * _THIRDS[1] + cube_low * _THIRDS[0]
    # k log(2) + 2s + 2/3 s**3 + the rest, the greater first
    total, low = add(k * _LN2_HIGH, 2.0 * s)
    total, lower = add(total, third)
    return add(total, low + (lower + (k * _LN2_LOW + (third_low + 2.0 * s_low + cube * (z * _LOG8(z))))))


@vectorisable
def _positive_f8(x: Any, y: Any) -> Any:
    """Return x**y for finite x > 0, as exp(y log(x)), with the logarithm in two words."""
    bounded = min(max(y, -_FAR), _FAR)
    high, low = logarithm_two_words(x)
    exponent, exponent_low = multiply(bounded, high)
    head, tail, binary = exp_two_words_f8(exponent, exponent_low + bounded * low)
    return _scaled(head + tail, binary)


def _pow(form: Format, positive: Any) -> Any:
    """Return x**y from what it is for finite x > 0; the rest is C's table (C17, F.10.4.4)."""
    number = form.number
    zero, half, one, infinity, nan = number(0), number(0.5), number(1), number(np.inf), number(np.nan)
    top = form.integer(0)

    @vectorisable
    def pow(x: Any, y: Any) -> Any:
        size = abs(x)
        to_infinity = (size == zero) == (y < zero)
        edge = (size == zero) | (size == infinity)
        unsigned = select(edge, select(to_infinity, infinity, zero), positive(select(edge, one, size), y))
        whole = floor(y) == y
        odd = whole & (floor(half * y) != half * y)
        signed = select(odd & (bits(x) < top), -unsigned, unsigned)
        undefined = (x != x) | (y != y) | ((x < zero) & (size != infinity) & (not whole))
        return select((x == one) | (y == zero), one, select(undefined, nan, signed))

    return pow


pow_f4, pow_f8 = _pow(F4, _positive_f4), _pow(F8, _positive_f8)

# The cube root of numbers between sqrt(1/2) and sqrt(2), to 2e-7.
_CBRT = polynomial(
    F8,
    -0.020259812058519573,
    0.15505372942951742,
    -0.5132213288195726,
    0.9691028779942275,
    -1.1857051683202404,
    1.1966130148851584,
    0.39841655208227306,
)
_ROOT_2, _ROOT_4 = 1.2599210498948732, 1.5874010519681994  # cube roots
_power, _shift = power_of_two(F8), F8.shift


@vectorisable
def cbrt_f8(x: Any) -> Any:
    """Return the cube root: a polynomial, corrected twice by Newton's method, the second time with an exact remainder."""
    size = abs(x)
    edge = (size == 0.0) | (size == np.inf)
    m, k = _decompose(select(edge, 1.0, size))
    shifted = (k - 1.0) * (1.0 / 3.0) + _shift
    third = shifted - _shift
    remainder = k - 3.0 * third  # 0, 1 or 2
    factor = select(remainder == 0.0, 1.0, select(remainder == 1.0, 2.0, 4.0))
    root = _CBRT(m) * select(remainder == 0.0, 1.0, select(remainder == 1.0, _ROOT_2, _ROOT_4))
    target = m * factor
    slope = (1.0 / 3.0) / (root * root)
    root -= (root * root * root - target) * slope
    square, square_low = multiply(root, root)
    cube, cube_low = multiply(square, root)
    root -= ((cube - target) + (cube_low + square_low * root)) * slope
    result = root * _power(bits(shifted) - bits(_shift))
    return select(edge | (x != x), x, copy_sign(result, x))


cbrt_f4 = by_way_of_float64(cbrt_f8)
