"""Hyperbolic functions and their inverses.

The inverses go back to log(1 + y) with y in two words, from the same formulas as in FreeBSD's s_asinh.c, e_acosh.c and
e_atanh.c; in float32 the plain formulas are used, in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .double_words import add, divide, multiply
from .exponentials import exp_moderate_f4, exp_moderate_f8, exp_two_words_f4, exp_two_words_f8
from .instructions import (
    F4,
    F8,
    Format,
    copy_sign,
    polynomial,
    power_of_two,
    scale,
    select,
    vectorisable,
)
from .logarithms import log1p_two_words, log_f8, log_rough

# tanh(x) = x + x z p(z), z = x**2, for |x| <= 0.625, to a relative 4e-9 and 4e-19; Remez fits of our own.
_TANH4 = polynomial(F4, -0.0057026176, 0.02063705, -0.05373912, 0.13331436, -0.3333328)
_TANH8 = polynomial(
    F8,
    6.036921599271727e-06,
    -3.01748008210453e-05,
    9.154627923087384e-05,
    -0.00023700494397910452,
    0.0005894494013432652,
    -0.0014557253913082644,
    0.0035921139141756,
    -0.008863234303969438,
    0.02186948846817404,
    -0.053968253966039235,
    0.13333333333329708,
    -0.33333333333333315,
)
# sinh(x) = x + x z p(z), z = x**2, for |x| <= 0.7, to 1e-9 and 3e-22.
_SINH4 = polynomial(F4, 0.00020102799, 0.008332588, 0.16666673)
_SINH8 = polynomial(
    F8,
    7.702030770752393e-13,
    1.605861114819725e-10,
    2.5052110152807546e-08,
    2.75573192200196e-06,
    0.000198412698412746,
    0.008333333333333331,
    0.16666666666666666,
)


def _tanh(form: Format, p: Any, exp: Any, saturated: float) -> Any:
    """Return tanh: the polynomial near 0, else 1 - 2/(exp(2|x|) + 1); after Cephes' tanh.

    Above ``saturated`` the result is 1.
    """
    number = form.number
    one, two, border, high = number(1), number(2), number(0.625), number(saturated)

    @vectorisable
    def tanh(x: Any) -> Any:
        size, z = abs(x), x * x
        near = x + x * (z * p(z))
        far = one - two / (exp(two * min(size, high)) + one)
        # A comparison with NaN is false: it comes back through `near`.
        return copy_sign(select(size > border, far, near), x)

    return tanh


def _halves(form: Format, exp_two_words: Any, sign: float) -> Any:
    """Return a function from x >= 0 to (exp(x) + sign * exp(-x))/2, whose greater term is in two words.

    Where exp(-x) is negligible, its power of two is kept from vanishing.
    """
    number, integer = form.number, form.integer
    zero, factor, negligible = number(0), number(sign), integer(30)
    power, scaled, downwards = power_of_two(form), scale(form), integer(1)

    @vectorisable
    def halves(x: Any) -> Any:
        head, tail, k = exp_two_words(x, zero)
        smaller = factor * power(integer(-2 * min(k, negligible))) / head
        total, rest = add(head, smaller)
        return scaled(total + (rest + tail), integer(k - downwards))

    return halves


def _sinh(form: Format, p: Any, exp_two_words: Any) -> Any:
    """Return sinh: the polynomial near 0, else from exp."""
    border, halves = form.number(0.7), _halves(form, exp_two_words, -1.0)

    @vectorisable
    def sinh(x: Any) -> Any:
        size, z = abs(x), x * x
        return copy_sign(select(size > border, halves(size), size + size * (z * p(z))), x)

    return sinh


def _cosh(form: Format, exp_two_words: Any) -> Any:
    """Return cosh."""
    halves = _halves(form, exp_two_words, 1.0)

    @vectorisable
    def cosh(x: Any) -> Any:
        return select(x == x, halves(abs(x)), x)

    return cosh


_LARGE = 2.0**28  # above it x**2 + 1 is x**2, and sqrt(x**2 +- 1) + x is 2x


@vectorisable
def asinh_f8(x: Any) -> Any:
    """Return the inverse of sinh: log(1 + y) for y = |x| + x**2/(1 + sqrt(1 + x**2)), or log(2|x|)."""
    size = abs(x)
    bounded = min(size, _LARGE)
    square = bounded * bounded
    y, y_low = add(bounded, square / (1.0 + np.sqrt(1.0 + square)))
    result = select(size > _LARGE, log_f8(size) + _LN2, log1p_two_words(y, y_low))
    return select(x == x, copy_sign(result, x), x)


@vectorisable
def acosh_f8(x: Any) -> Any:
    """Return the inverse of cosh: log(1 + y) for y = t + sqrt(t (t + 2)), t = x - 1, or log(2x)."""
    t = min(x, _LARGE) - 1.0
    more, more_low = add(select(t > 2.0, t, 2.0), select(t > 2.0, 2.0, t))
    square, square_low = multiply(t, more)
    root = np.sqrt(square)
    again, again_low = multiply(root, root)
    root_low = (((square - again) - again_low) + (square_low + t * more_low)) / (root + root)
    y, y_low = add(root, t)
    result = select(x > _LARGE, log_f8(x) + _LN2, log1p_two_words(y, y_low + select(root > 0.0, root_low, root)))
    return select(x >= 1.0, result, np.nan)


@vectorisable
def atanh_f8(x: Any) -> Any:
    """Return the inverse of tanh: log(1 + y)/2 for y = 2|x|/(1 - |x|)."""
    size = abs(x)
    denominator, denominator_low = add(1.0, -size)
    y, y_low = divide(size + size, 0.0, denominator, denominator_low)
    inside = copy_sign(0.5 * log1p_two_words(y, y_low), x)
    return select(size < 1.0, inside, select(size == 1.0, x * np.inf, np.nan))


_LN2 = 0.6931471805599453
_HUGE = 1e39  # more than any float32
_ONE4, _INFINITY4 = np.float32(1), np.float32(np.inf)
sinh_f4, sinh_f8 = _sinh(F4, _SINH4, exp_two_words_f4), _sinh(F8, _SINH8, exp_two_words_f8)
cosh_f4, cosh_f8 = _cosh(F4, exp_two_words_f4), _cosh(F8, exp_two_words_f8)
tanh_f4, tanh_f8 = _tanh(F4, _TANH4, exp_moderate_f4, 10.0), _tanh(F8, _TANH8, exp_moderate_f8, 20.0)

_SMALL = 1e-4  # below it x + c x**3 is exact enough for float32, and the logarithms below are not


@vectorisable
def asinh_f4(x: Any) -> Any:
    """Return the inverse of sinh, log(|x| + sqrt(x**2 + 1)), in float64."""
    wide = np.float64(x)
    size, square = min(abs(wide), _HUGE), wide * wide
    far = log_rough(size + np.sqrt(size * size + 1.0))
    finite = select(size < _SMALL, size - size * square * (1.0 / 6.0), far)
    return np.float32(copy_sign(select(abs(wide) < np.inf, finite, abs(wide)), wide))


@vectorisable
def acosh_f4(x: Any) -> Any:
    """Return the inverse of cosh, log(x + sqrt(x**2 - 1)), in float64, where x**2 is exact."""
    wide = min(max(np.float64(x), 1.0), _HUGE)
    result = log_rough(wide + np.sqrt(wide * wide - 1.0))
    return np.float32(select(x >= _ONE4, select(x < _INFINITY4, result, np.inf), np.nan))


@vectorisable
def atanh_f4(x: Any) -> Any:
    """Return the inverse of tanh, log((1 + |x|)/(1 - |x|))/2, in float64."""
    wide = np.float64(x)
    size = abs(wide)
    inside = select(size < 1.0, size, 0.5)
    far = 0.5 * log_rough((1.0 + inside) / (1.0 - inside))
    result = select(inside < _SMALL, inside + inside * inside * inside * (1.0 / 3.0), far)
    return np.float32(copy_sign(select(size < 1.0, result, select(size == 1.0, np.inf, np.nan)), wide))
