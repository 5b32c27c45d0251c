"""Inverse trigonometric functions: polynomials (Remez fits of our own) after a reduction of the argument, in two words.

The reductions are those of FreeBSD's e_asin.c and of Cephes' atan; float32 goes by way of float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .double_words import add, divide, multiply
from .instructions import F8, by_way_of_float64, copy_sign, polynomial, select, vectorisable

# asin(x) = x + x z p(z), z = x**2 <= 0.25, to 1e-18.
_ASIN = polynomial(
    F8,
    0.03280416771145433,
    -0.021276159699313017,
    0.021900657667605742,
    0.00362809090978296,
    0.010800689402734955,
    0.011395321178444488,
    0.013981252360297413,
    0.017351576622553693,
    0.022372216919946248,
    0.03038194264067646,
    0.044642857175976575,
    0.07499999999969409,
    0.16666666666666766,
)
# atan(x) = x + x z p(z), z = x**2, for |x| <= tan(pi/8), to 1e-18.
_ATAN = polynomial(
    F8,
    -0.01789005970999149,
    0.03804946691891573,
    -0.05038733643554992,
    0.05847767816896483,
    -0.06663088088094875,
    0.07692058876189131,
    -0.09090897686185147,
    0.11111110781103284,
    -0.14285714280152118,
    0.19999999999953175,
    -0.333333333333332,
)
_TAN_EIGHTH = 0.41421356237309503  # tan(pi/8)
_QUARTER_PI, _QUARTER_PI_LOW = 0.7853981633974483, 3.061616997868383e-17


@vectorisable
def _half_angle(size: Any) -> Any:
    """Return asin(s) in two words for s = sqrt((1 - size)/2), and s where ``size`` is between 0.5 and 1."""
    z = 0.5 - 0.5 * size
    s = np.sqrt(z)
    square, square_low = multiply(s, s)
    lost = ((z - square) - square_low) / (s + s)
    return s, s * z * _ASIN(z) + select(s > 0.0, lost, s)


@vectorisable
def asin_f8(x: Any) -> Any:
    """Return the arc sine: pi/2 - 2 asin(sqrt((1 - |x|)/2)) where |x| > 0.5."""
    size, z = abs(x), x * x
    s, low = _half_angle(size)
    far, far_low = add(2.0 * _QUARTER_PI, -2.0 * s)
    far = far + (far_low + (2.0 * _QUARTER_PI_LOW - 2.0 * low))
    return copy_sign(select(size > 0.5, far, size + size * z * _ASIN(z)), x)


@vectorisable
def acos_f8(x: Any) -> Any:
    """Return the arc cosine: 2 asin(sqrt((1 - |x|)/2)) or pi less that where |x| > 0.5."""
    size, z = abs(x), x * x
    s, low = _half_angle(size)
    over, over_low = add(4.0 * _QUARTER_PI, -2.0 * s)
    negative = over + (over_low + (4.0 * _QUARTER_PI_LOW - 2.0 * low))
    middle, middle_low = add(2.0 * _QUARTER_PI, -x)
    near = middle + (middle_low + (2.0 * _QUARTER_PI_LOW - x * z * _ASIN(z)))
    return select(size > 0.5, select(x < 0.0, negative, 2.0 * (s + low)), near)


@vectorisable
def _angle(y: Any, x: Any) -> Any:
    """Return atan(y/x) in two words, for y between 0 and x: pi/4 + atan((y - x)/(y + x)) where y/x > tan(pi/8)."""
    steep = y > _TAN_EIGHTH * x
    less, less_low = add(x, -y)
    more, more_low = add(x, y)
    t, t_low = divide(select(steep, -less, y), select(steep, -less_low, 0.0), select(steep, more, x), select(steep, more_low, 0.0))
    z = t * t
    high, low = add(select(steep, _QUARTER_PI, 0.0), t)
    return add(high, low + (t_low + (t * z * _ATAN(z) + select(steep, _QUARTER_PI_LOW, 0.0))))


@vectorisable
def _turned(turns: Any, sign: Any, high: Any, low: Any) -> Any:
    """Return turns * pi/2 + sign * (high + low); ``turns`` is 0, 1 or 2."""
    total, total_low = add(turns * (2.0 * _QUARTER_PI), sign * high)
    return total + (total_low + (turns * (2.0 * _QUARTER_PI_LOW) + sign * low))


@vectorisable
def atan_f8(x: Any) -> Any:
    """Return the arc tangent."""
    size = min(abs(x), 2.0**60)  # beyond that the result is pi/2, rounded
    over = size > 1.0
    high, low = _angle(select(over, 1.0, size), select(over, size, 1.0))
    result = _turned(select(over, 1.0, 0.0), select(over, -1.0, 1.0), high, low)
    return select(x == x, copy_sign(result, x), x)


@vectorisable
def atan2_f8(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y); signed zeros and infinities as in C (C17, F.10.1.4)."""
    width, height = abs(x), abs(y)
    upright = height > width
    longer, shorter = select(upright, height, width), select(upright, width, height)
    # Infinite sides become 1 and the finite ones 0; a point at the origin is one on an axis.
    infinite = longer == np.inf
    shorter = select(infinite, select(shorter == np.inf, 1.0, 0.0), shorter)
    longer = select(infinite | (longer == 0.0), 1.0, longer)
    # Neither the sum of the sides nor the reciprocal of the longer may overflow.
    factor = select(longer > 2.0**900, 2.0**-200, select(longer < 2.0**-800, 2.0**200, 1.0))
    high, low = _angle(shorter * factor, longer * factor)
    backwards = copy_sign(1.0, x) < 0.0
    turns = select(upright, 1.0, select(backwards, 2.0, 0.0))
    angle = _turned(turns, select(upright != backwards, -1.0, 1.0), high, low)
    return select((x != x) | (y != y), x + y, copy_sign(angle, y))


asin_f4, acos_f4, atan_f4 = by_way_of_float64(asin_f8), by_way_of_float64(acos_f8), by_way_of_float64(atan_f8)


@vectorisable
def atan2_f4(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), by way of float64."""
    return np.float32(atan2_f8(np.float64(y), np.float64(x)))
