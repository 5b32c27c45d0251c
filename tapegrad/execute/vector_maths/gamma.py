"""The logarithm of the gamma function, and its derivative, in float32.

They have zeros that float64 arithmetic meets well enough for float32 results; for float64 there is none here. Arguments below 0
are reflected; above, a polynomial or Stirling's series is used, after the recurrence (Abramowitz and Stegun, 6.1 and 6.3). The
polynomials are Remez fits of our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .instructions import F8, copy_sign, floor, polynomial, select, vectorisable
from .logarithms import log_f8
from .trigonometric import sine_and_cosine

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
