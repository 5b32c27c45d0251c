"""The logarithm of the gamma function, and its derivative.

Both have a polynomial from 1 to 2.5, with the zeros factored out, and Stirling's series above (Abramowitz and Stegun, 6.1 and
6.3); below, the recurrence and the reflection at 0. float32 results are computed in plain float64, float64 results in two
words wherever terms may cancel. The polynomials for float32 are Remez fits of our own; those for float64 are interpolations at
Chebyshev's nodes, by mpmath's ``chebyfit`` with 60 digits.

Below 0 there are infinitely many zeros, none of which a float64 is: next to them the result is what is left of terms that
cancel. In float64, results there are within 2 units in the last place, or 2**-54 of the larger of 1 and the term of 1 + |x|,
log(gamma(1 + |x|)) or digamma(1 + |x|).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .double_words import add, add_any, divide, multiply, product_error
from .instructions import F8, copy_sign, floor, polynomial, select, vectorisable
from .logarithms import log_f8
from .powers import logarithm_two_words
from .trigonometric import half_turns, sine_and_cosine

# log(gamma(y)) = (y - 1)(y - 2) p(y - 1.75) for y between 1 and 2.5, to 5e-16.
_NEAR = polynomial(
    F8,
    -4.787595218177484e-07,
    8.3129001532764e-07,
    -3.144830080476718e-08,
    1.8767608048188146e-07,
    -2.3517250169415936e-06,
    4.172470772640763e-06,
    -6.1922534158389684e-06,
    1.1613722126541768e-05,
    -2.2365782641029414e-05,
    4.181138358056924e-05,
    -7.844293466303538e-05,
    0.0001484955873494909,
    -0.0002831932962695543,
    0.0005448996080962291,
    -0.0010605658442979769,
    0.002095533692178641,
    -0.004226194136976131,
    0.008776370432138877,
    -0.019053957830003656,
    0.04452044719841152,
    -0.11948158662524433,
    0.4501393121092565,
)
# log(gamma(y)) = (y - 1/2) log(y) - y + log(2 pi)/2 + s(1/y**2)/y for y >= 2.5, to 4e-16.
_STIRLING = polynomial(
    F8,
    0.10025202690128135,
    -0.1069681536246018,
    0.05477954854858382,
    -0.01910087023106251,
    0.005740243764355316,
    -0.0018871777343356217,
    0.0008408466669566886,
    -0.000595221884375162,
    0.0007936506418814141,
    -0.002777777777218277,
    0.083333333333333,
)
# digamma(y) = log(y) - 1/(2y) - d(1/y**2)/y**2 for y >= 6, to 1e-14.
_DIGAMMA = polynomial(
    F8, -0.01567028270428636, 0.007420554302738792, -0.004164531050774038, 0.003968240470818392, -0.00833333330192448, 0.08333333333332146
)
_HALF_LOG_2_PI = 0.9189385332046728


@vectorisable
def _sine_and_cosine_of_turns(x: Any) -> Any:
    """Return sin(pi x) and cos(pi x) for x >= 0, up to one common sign."""
    quarters = floor(2.0 * x + 0.5)
    sine, cosine = sine_and_cosine(np.pi * (x - 0.5 * quarters))
    odd = floor(0.5 * quarters) != 0.5 * quarters
    return select(odd, cosine, sine), select(odd, -sine, cosine)


@vectorisable
def _positive_lgamma(x: Any) -> Any:
    """Return log(gamma(x)) for x >= 0."""
    logarithm = log_f8(x)
    small = x < 1.0
    less = select(small, x, x - 1.0)
    near = less * (less - 1.0) * _NEAR(less - 0.75) + select(small, -logarithm, 0.0)
    inverse = 1.0 / select(x > 2.0, x, 2.0)
    far = (x - 0.5) * (logarithm - 1.0) + ((_HALF_LOG_2_PI - 0.5) + inverse * _STIRLING(inverse * inverse))
    return select(x > 2.5, far, near)


@vectorisable
def lgamma_f4(x: Any) -> Any:
    """Return log(|gamma(x)|)."""
    size = abs(np.float64(x))
    positive = _positive_lgamma(size)
    sine, _ = _sine_and_cosine_of_turns(size)
    reflected = log_f8(np.pi / (size * abs(sine))) - positive
    return np.float32(select((x < 0.0) & (size != np.inf), reflected, positive))


@vectorisable
def digamma_f4(x: Any) -> Any:
    """Return the derivative of log(gamma(x))."""
    wide = np.float64(x)
    size = abs(wide)
    y = select(wide < 0.0, 1.0 + size, wide)
    # Below 6: digamma(y + 6) less the sum of 1/(y + i), over a common denominator.
    numerator, denominator = 1.0, y
    for i in range(1, 6):
        numerator = numerator * (y + i) + denominator
        denominator = denominator * (y + i)
    small = y < 6.0
    high = select(small, y + 6.0, y)
    inverse = 1.0 / high
    square = inverse * inverse
    positive = log_f8(high) - (0.5 * inverse + square * _DIGAMMA(square)) - select(small, numerator / denominator, 0.0)
    sine, cosine = _sine_and_cosine_of_turns(size)
    reflected = select(sine == 0.0, np.nan, positive + np.pi * (cosine / sine))
    result = select(wide < 0.0, reflected, positive)
    return np.float32(select(wide == 0.0, copy_sign(np.inf, -wide), result))


# log(gamma(y)) = (y - 1)(y - 2)(c + t p(t)), t = y - 1.75, for y between 1 and 2.5, to 8e-19; c in two words.
_NEAR8 = polynomial(
    F8,
    -5.0333679908980265e-08,
    9.11277895517167e-08,
    1.8847734392676648e-08,
    -3.336913537804954e-08,
    -2.386040832536453e-07,
    4.346200532078776e-07,
    -5.128211509102332e-07,
    9.424957587698116e-07,
    -1.9066804238023735e-06,
    3.516434844428187e-06,
    -6.434822788014993e-06,
    1.194597872164936e-05,
    -2.228191217665965e-05,
    4.170624738675929e-05,
    -7.846167352252309e-05,
    0.00014851664114522942,
    -0.0002831906297104388,
    0.0005448970025495887,
    -0.0010605660749412342,
    0.0020955338792364464,
    -0.004226194125928346,
    0.008776370425277888,
    -0.019053957830247412,
    0.04452044719850941,
    -0.11948158662524275,
)
_NEAR8_AT_0 = (0.4501393121092563, 1.4565309678718125e-17)
# The same series as for float32, for y >= 2.5, to 8e-19.
_STIRLING8 = polynomial(
    F8,
    39.20440789449971,
    -52.04253157376896,
    32.137057787033434,
    -12.40213407072066,
    3.4246714775641687,
    -0.7483471420244691,
    0.14414778463955508,
    -0.02799103855328496,
    0.006358525046715835,
    -0.0019162977797615398,
    0.0008417311910541597,
    -0.0005952379017281656,
    0.0007936507926348376,
    -0.00277777777777564,
    0.08333333333333333,
)
# digamma(y) = (y - root)(c + t p(t)), t = y - 1.75, for y between 1 and 2.5, to 1e-18; c in two words.
_DIGAMMA_NEAR8 = polynomial(
    F8,
    -4.279624085203948e-07,
    7.489345618425701e-07,
    3.744655461967921e-07,
    -6.553134477930105e-07,
    -1.8152982571215072e-06,
    3.176783869523677e-06,
    -2.493637963206625e-06,
    4.363954155587837e-06,
    -9.711942635667115e-06,
    1.699656557302208e-05,
    -2.8781726259309088e-05,
    5.037306922478186e-05,
    -8.848107178256062e-05,
    0.00015488023513747138,
    -0.00027107414127335234,
    0.0004746724618090757,
    -0.0008314991405858443,
    0.0014573755956349848,
    -0.002556686367507804,
    0.00449181364672186,
    -0.007910468781929783,
    0.01398578618617086,
    -0.024890048488912565,
    0.04479965445273985,
    -0.08228558635577836,
    0.15712011335204287,
    -0.3262546278681057,
)
_DIGAMMA_NEAR8_AT_0 = (0.8581832171262995, -7.658604973717205e-18)
_ROOT_LESS_1 = (0.46163214496836236, -1.5522348162858677e-17)
# digamma(y) = log(y) - 1/(2y) - d(1/y**2)/y**2 for y >= 2.5, to 2e-18.
_DIGAMMA8 = polynomial(
    F8,
    726.5923161850394,
    -958.3261044047221,
    586.3578105357735,
    -223.19961996619102,
    60.32814493597424,
    -12.73316140875157,
    2.3170346871474825,
    -0.4114235050835284,
    0.08228902002082664,
    -0.021068167832644653,
    0.007575365827440767,
    -0.004166662822086599,
    0.003968253948113322,
    -0.008333333333291002,
    0.08333333333333331,
)
_HALF_LOG_2_PI_LOW = -3.8782941580672414e-17
_LOG_PI = (1.1447298858494002, 1.0265951162707826e-17)
_PI = (3.141592653589793, 1.2246467991473532e-16)
_TINY = 1e-20  # below, lgamma(x) = -log|x| and digamma(x) = -1/x
_WHOLE = 2.0**52  # from here on, all numbers are whole
_LARGE = 2.0**900  # from here on, low words of products are negligible, and may overflow


@vectorisable
def _times_two_words(x: Any, x_low: Any, constant: Any, constant_low: Any, rest: Any) -> Any:
    """Return (x + x_low)(constant + constant_low + rest) in two words, for |rest| < |constant|."""
    factor, factor_low = add(constant, rest)
    product, product_low = multiply(x, factor)
    return product, product_low + (x * (factor_low + constant_low) + x_low * factor)


@vectorisable
def _lgamma_near(less: Any) -> Any:
    """Return log(gamma(1 + less)) in two words for ``less`` between 0 and 1.5."""
    second, second_low = add_any(less, -1.0)
    zeros, zeros_low = multiply(less, second)
    t = less - 0.75
    return _times_two_words(zeros, zeros_low + less * second_low, _NEAR8_AT_0[0], _NEAR8_AT_0[1], t * _NEAR8(t))


@vectorisable
def _lgamma_far(x: Any, half: Any, logarithm: Any, low: Any) -> Any:
    """Return (x + half) log(x) - x + log(2 pi)/2 + the series in two words for x >= 2.5; ``half`` is 1/2 or -1/2."""
    less, less_low = add(logarithm, -1.0)
    main, main_low = multiply(x, less)
    rest, rest_low = add_any(half * logarithm, _HALF_LOG_2_PI)
    total, total_low = add_any(main, rest)
    inverse = 1.0 / x
    series = inverse * _STIRLING8(inverse * inverse)
    small = total_low + rest_low + (half * low + _HALF_LOG_2_PI_LOW)
    return total, select(x < _LARGE, main_low + x * (less_low + low) + (small + series), 0.0)


@vectorisable
def lgamma_f8(x: Any) -> Any:
    """Return log(|gamma(x)|): below 0, log(pi/|sin(pi x)|) - log(gamma(1 + |x|))."""
    size, negative = abs(x), x < 0.0
    small, is_far = size < 1.0, size > 2.5
    logarithm, logarithm_low = logarithm_two_words(size)
    near, near_low = _lgamma_near(select(small, size, select(is_far, 1.5, size - 1.0)))
    # Between gamma(x) and gamma(1 + x) lies a factor of x.
    times = select(negative, select(small, 0.0, 1.0), select(small, -1.0, 0.0))
    near, shifted_low = add_any(near, times * logarithm)
    near_low += shifted_low + times * logarithm_low
    far, far_low = _lgamma_far(select(is_far, size, 2.5), select(negative, 0.5, -0.5), logarithm, logarithm_low)
    positive, positive_low = select(is_far, far, near), select(is_far, far_low, near_low)

    has_sine = size < _WHOLE
    sine, sine_low, _, _ = half_turns(select(has_sine, size, 0.5))
    is_pole = (sine == 0.0) | (not has_sine)
    height = select(is_pole, 1.0, abs(sine))
    log_sine, log_sine_low = logarithm_two_words(height)
    log_sine_low += select(sine < 0.0, -sine_low, sine_low) / height
    reflected, reflected_low = add_any(_LOG_PI[0], -log_sine)
    reflected, difference_low = add_any(reflected, -positive)
    reflected_low += difference_low + ((_LOG_PI[1] - log_sine_low) - positive_low)

    result = select(negative, select(is_pole, np.inf, reflected + reflected_low), positive + positive_low)
    result = select(size < _TINY, select(size == 0.0, np.inf, -logarithm), result)
    return select(size < np.inf, result, size)


@vectorisable
def _digamma_near(less: Any) -> Any:
    """Return digamma(1 + less) in two words for ``less`` between 0 and 1.5."""
    above, above_low = add_any(less, -_ROOT_LESS_1[0])
    t = less - 0.75
    at_0 = _DIGAMMA_NEAR8_AT_0
    return _times_two_words(above, above_low - _ROOT_LESS_1[1], at_0[0], at_0[1], t * _DIGAMMA_NEAR8(t))


@vectorisable
def digamma_f8(x: Any) -> Any:
    """Return the derivative of log(gamma(x)): below 0, digamma(1 + |x|) + pi cot(pi |x|)."""
    size, negative = abs(x), x < 0.0
    small, is_far, is_tiny = size < 1.0, size > 2.5, size < _TINY
    inverse = 1.0 / select(is_tiny, 1.0, size)
    inverse_low = -product_error(inverse, select(is_tiny, 1.0, size), 1.0) * inverse
    near, near_low = _digamma_near(select(small, size, select(is_far, 1.5, size - 1.0)))
    # Between digamma(x) and digamma(1 + x) lies 1/x.
    times = select(negative, select(small, 0.0, 1.0), select(small, -1.0, 0.0))
    near, shifted_low = add_any(near, times * inverse)
    near_low += shifted_low + times * inverse_low
    logarithm, logarithm_low = logarithm_two_words(select(is_far, size, 2.5))
    half = select(negative, 0.5, -0.5)
    square = select(is_far, inverse * inverse, 0.16)
    far, far_low = add_any(logarithm, half * inverse)
    far_low += logarithm_low + (half * inverse_low - square * _DIGAMMA8(square))
    positive, positive_low = select(is_far, far, near), select(is_far, far_low, near_low)

    has_sine = size < _WHOLE
    sine, sine_low, cosine, cosine_low = half_turns(select(has_sine, size, 0.0))
    is_pole = sine == 0.0
    quotient, quotient_low = divide(cosine, cosine_low, select(is_pole | is_tiny, 1.0, sine), sine_low)
    turned, turned_low = multiply(quotient, _PI[0])
    turned_low += quotient * _PI[1] + quotient_low * _PI[0]
    reflected, reflected_low = add_any(positive, turned)
    reflected_low += positive_low + turned_low

    result = select(negative, select(is_pole, np.nan, reflected + reflected_low), positive + positive_low)
    result = select(is_tiny, -1.0 / x, result)
    return select(x < np.inf, result, x)
