"""Error functions, and the normal distribution.

Near 0, erf(x) is a polynomial. Elsewhere erfc(x) is exp(-x**2)/(1 + 2x) times a polynomial in (x - 2)/(x + 2), as Shepherd
and Laframboise write it (Chebyshev approximation of (1 + 2x) exp(x**2) erfc(x), 1981). The polynomials are Remez fits of our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .double_words import add, divide, multiply
from .exponentials import exp2_rough, exp_f8, exp_moderate_f4, exp_two_words_f8
from .instructions import F4, F8, copy_sign, polynomial, scale, select, vectorisable
from .logarithms import log_rough

# erf(x) = x + x p(x**2) for |x| <= 0.93, and <= 0.5 in float64, to 5e-10, 3e-20 and (for float32 results) 2e-11.
_NEAR4 = polynomial(F4, 8.316774e-05, -0.00081300124, 0.0051999064, -0.02685894, 0.112836875, -0.37612632, 0.12837917)
_NEAR8 = polynomial(
    F8,
    -1.455202504565806e-07,
    1.6363741651847081e-06,
    -1.4922664782062674e-05,
    0.00012055277978114504,
    -0.0008548326394737513,
    0.00522397762106005,
    -0.02686617064495559,
    0.11283791670954768,
    -0.3761263890318375,
    0.1283791670955126,
)
_NEAR_ROUGH = polynomial(
    F8, -0.0007660260253646317, 0.005198431137521292, -0.026862745757587785, 0.11283770805225155, -0.37612638436449225, 0.12837916707852445
)
# erf(x) = 1 - exp(x q(x)) for 0.92 <= x <= 4, to 2e-9.
_FAR4 = polynomial(F4, -1.6208118e-05, 0.00037064418, -0.00382842, 0.024136765, -0.10665026, -0.6349142, -1.1287038)
# (1 + 2x) exp(x**2) erfc(x), a polynomial in (x - 2)/(x + 2) for x >= 0.49: its value at 2
# in two words and the polynomial for the difference divided by the variable, to 1e-18; for float32 results at once, to 6e-10.
_TAIL8 = polynomial(
    F8,
    -1.0040017250117579e-07,
    1.8134626251330748e-07,
    3.4033714929429003e-07,
    -3.754476283534412e-07,
    -9.759343296226482e-07,
    -5.75942853458816e-07,
    1.5537276402728462e-06,
    5.159695959565755e-06,
    3.70333430138633e-06,
    -1.3472186697639893e-05,
    -3.64240084777093e-05,
    -1.514094876610596e-06,
    0.00015103963956260318,
    0.00020636777277781242,
    -0.00045434091113671286,
    -0.00145681399355813,
    0.001271338972714892,
    0.008722653877972051,
    -0.008034015082708937,
    -0.054220000992092704,
    0.16405128003344716,
    -0.1660303976152889,
    -0.09276382658574603,
)
_TAIL_AT_2 = (1.2769783815525286, 8.964219101168592e-17)
_TAIL_ROUGH = polynomial(
    F8,
    0.0002323656108073761,
    -0.00031836453317953336,
    -0.001484204484015215,
    0.0012213319316996425,
    0.008731784263963527,
    -0.008025639687039439,
    -0.05422119298155683,
    0.16405069382436627,
    -0.16603034479532766,
    -0.09276381489211236,
    1.2769783811899251,
)
# erfinv(x)/x, a polynomial in w = -log(1 - x**2) for w <= 6.25, and in sqrt(w) above, to 9e-11 and 1e-8; after Giles
# (Approximating the erfinv function, 2012).
_CENTRE = polynomial(
    F8,
    1.162914697928371e-12,
    -5.967733846002412e-11,
    1.3207322344194745e-09,
    -1.605365360089968e-08,
    1.0936988270036592e-07,
    -3.293961717608091e-07,
    -3.3860940861585056e-07,
    9.520108926401192e-07,
    4.77505436454069e-05,
    -0.00012882543978742853,
    -0.0023347819570902744,
    0.0115492743616612,
    0.23201367212465546,
    0.8862269253770967,
)
_SIDE = polynomial(
    F8,
    -2.6527090047815976e-07,
    1.3884872278801853e-05,
    -0.0003298816451428201,
    0.004698981699612174,
    -0.044631895598567096,
    0.2972127551010624,
    -1.4189051405755275,
    4.872899537693196,
    -11.86999491995679,
    19.777490449058572,
    -20.93358241004091,
    13.018288745493871,
    -2.5790331023075397,
)
_BORDER4, _SATURATED4, _ONE4 = np.float32(0.925), np.float32(4.0), np.float32(1)
_BORDER8, _FAR = 0.5, 30.0  # erfc(30) is less than the smallest number
_LOG2_E, _ROOT_HALF, _ROOT_HALF_LOW = 1.4426950408889634, 0.7071067811865476, -4.833646656726457e-17
_TWO_OVER_ROOT_PI = 1.1283791670955126
_scaled8 = scale(F8)


@vectorisable
def erf_f4(x: Any) -> Any:
    """Return the error function."""
    size, z = abs(x), x * x
    near = x + x * _NEAR4(z)
    bounded = min(size, _SATURATED4)
    far = _ONE4 - exp_moderate_f4(bounded * _FAR4(bounded))
    return copy_sign(select(size > _BORDER4, far, near), x)


@vectorisable
def _near8(x: Any) -> Any:
    """Return erf(x) for |x| <= 0.5."""
    return x + x * _NEAR8(x * x)


@vectorisable
def _tail8(x: Any, x_low: Any, square: Any, square_low: Any) -> Any:
    """Return erfc(x) for 0.5 <= x <= 30, from x and its square in two words each, as a quotient of two words each."""
    t = (x - 2.0) / (x + 2.0)
    factor, factor_low = add(_TAIL_AT_2[0], t * _TAIL8(t))
    head, tail, k = exp_two_words_f8(-square, -square_low)
    numerator, numerator_low = multiply(head, factor)
    numerator_low += tail * factor + head * (factor_low + _TAIL_AT_2[1])
    denominator, denominator_low = add(2.0 * x, 1.0)
    quotient, quotient_low = divide(numerator, numerator_low, denominator, denominator_low + 2.0 * x_low)
    return _scaled8(quotient + quotient_low, k)


@vectorisable
def erf_f8(x: Any) -> Any:
    """Return the error function."""
    size = abs(x)
    bounded = min(size, _FAR)
    square, square_low = multiply(bounded, bounded)
    return copy_sign(select(size > _BORDER8, 1.0 - _tail8(bounded, 0.0, square, square_low), _near8(x)), x)


@vectorisable
def erfc_f8(x: Any) -> Any:
    """Return 1 - erf(x)."""
    size = abs(x)
    bounded = min(size, _FAR)
    square, square_low = multiply(bounded, bounded)
    tail = _tail8(bounded, 0.0, square, square_low)
    return select(size > _BORDER8, select(x < 0.0, 2.0 - tail, tail), 1.0 - _near8(x))


@vectorisable
def ndtr_f8(x: Any) -> Any:
    """Return the normal distribution function, erfc(-x/sqrt(2))/2; the square of x/sqrt(2) is made from that of x."""
    bounded = min(abs(x), _FAR / _ROOT_HALF)
    square, square_low = multiply(bounded, bounded)
    size, size_low = multiply(bounded, _ROOT_HALF)
    tail = 0.5 * _tail8(size, size_low + bounded * _ROOT_HALF_LOW, 0.5 * square, 0.5 * square_low)
    return select(size > _BORDER8, select(x < 0.0, tail, 1.0 - tail), 0.5 + 0.5 * _near8(x * _ROOT_HALF))


@vectorisable
def _complement_rough(x: Any) -> Any:
    """Return erfc(x) in float64, for results that become a float32."""
    size = min(abs(x), _FAR)
    tail = exp2_rough(size * size * -_LOG2_E) * _TAIL_ROUGH((size - 2.0) / (size + 2.0)) / (1.0 + 2.0 * size)
    return select(size > _BORDER8, select(x < 0.0, 2.0 - tail, tail), 1.0 - (x + x * _NEAR_ROUGH(x * x)))


@vectorisable
def erfc_f4(x: Any) -> Any:
    """Return 1 - erf(x), by way of float64."""
    return np.float32(_complement_rough(np.float64(x)))


@vectorisable
def ndtr_f4(x: Any) -> Any:
    """Return the normal distribution function, erfc(-x/sqrt(2))/2, by way of float64."""
    return np.float32(0.5 * _complement_rough(np.float64(x) * -_ROOT_HALF))


@vectorisable
def _erfinv_rough(x: Any) -> Any:
    """Return erfinv(x) to a relative 1e-8, in float64, for 0 <= x < 1."""
    w = -log_rough((1.0 - x) * (1.0 + x))
    return x * select(w > 6.25, _SIDE(np.sqrt(w)), _CENTRE(w))


@vectorisable
def erfinv_f8(x: Any) -> Any:
    """Return the inverse of erf: a rough value, corrected by Halley's method.

    The remainder is taken from erf near 0, whose sum begins with an exact difference, and else from erfc.
    """
    size = min(abs(x), 1.0)
    y = _erfinv_rough(select(size < 1.0, size, 0.5))
    square, square_low = multiply(y, y)
    near = (y - size) + y * _NEAR8(square)
    remainder = select(size > 0.52, (1.0 - size) - _tail8(y, 0.0, square, square_low), near)
    step = remainder / (_TWO_OVER_ROOT_PI * exp_f8(-square))
    result = select(size < 1.0, y - step / (1.0 + y * step), np.inf)
    return select(abs(x) <= 1.0, copy_sign(result, x), np.nan)


@vectorisable
def erfinv_f4(x: Any) -> Any:
    """Return the inverse of erf, by way of float64."""
    size = abs(np.float64(x))
    result = select(size < 1.0, _erfinv_rough(select(size < 1.0, size, 0.5)), np.inf)
    return np.float32(select(size <= 1.0, copy_sign(result, np.float64(x)), np.nan))
