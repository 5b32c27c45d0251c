"""The Remez fits of tapegrad/execute/vector_maths: compute its coefficients again (but for their last digits) and print them.

    python bench/polynomials.py [name ...]

The highest power comes first, after the greatest relative error. It needs mpmath.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.dps = 50


def remez(function: Callable[[Any], Any], terms: int, low: Any, high: Any, weight: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """Return the polynomial of ``terms`` coefficients with the least greatest weighted error, and that error.

    The points of greatest error are exchanged on a grid of Chebyshev points, until the errors at them are level.
    """
    low, high = mpf(low), mpf(high)
    middle, half, count = (low + high) / 2, (high - low) / 2, max(400, 20 * terms)
    # A weight that vanishes would put a point where nothing is to be fitted.
    floor = max(abs(weight(x)) for x in (low, middle, high)) / 1000
    grid = [middle - half * mpmath.cos(mpmath.pi * (i + mpf(1) / 2) / count) for i in range(count)]
    values, weights = [function(x) for x in grid], [max(abs(weight(x)), floor) for x in grid]
    points = [round((count - 1) * (1 - mpmath.cos(mpmath.pi * i / terms)) / 2) for i in range(terms + 1)]
    for _ in range(12):
        system, right = mpmath.matrix(terms + 1, terms + 1), mpmath.matrix(terms + 1, 1)
        for row, point in enumerate(points):
            for power in range(terms):
                system[row, power] = grid[point] ** power
            system[row, terms], right[row] = (-1) ** row / weights[point], values[point]
        *coefficients, level = mpmath.lu_solve(system, right)
        errors = [(value - mpmath.polyval(coefficients[::-1], x)) * scale for x, value, scale in zip(grid, values, weights, strict=True)]
        greatest = max(map(abs, errors))
        if greatest < abs(level) * mpf("1.001"):
            break
        points = _extremes(errors, terms + 1)
    return coefficients, greatest


def _extremes(errors: list[Any], wanted: int) -> list[int]:
    """Return where the error is greatest between its changes of sign, without the least of those too many at the ends."""
    extremes: list[int] = []
    for i, error in enumerate(errors):
        if not extremes or mpmath.sign(error) != mpmath.sign(errors[extremes[-1]]):
            extremes.append(i)
        elif abs(error) > abs(errors[extremes[-1]]):
            extremes[-1] = i
    while len(extremes) > wanted:
        extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
    return extremes


class Fit(NamedTuple):
    """A polynomial: what it stands for, the number of its coefficients, where, and 1/(what its error is relative to)."""

    function: Callable[[Any], Any]
    terms: int
    low: Any
    high: Any
    weight: Callable[[Any], Any] = lambda x: mpf(1)


def odd(function: Callable[[Any], Any], terms: int, high: float) -> Fit:
    """Fit p in function(x) = x + x z p(z), z = x**2, for an odd function with the derivative 1 at 0."""
    return Fit(lambda z: (function(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, terms, 0, high, lambda z: z)


def log_ratio(z: Any) -> Any:
    """Return log((1 + s)/(1 - s))/s for s = sqrt(z)."""
    s = mpmath.sqrt(z)
    return mpmath.log((1 + s) / (1 - s)) / s


def scaled_complement(t: Any) -> Any:
    """Return (1 + 2x) exp(x**2) erfc(x) for x = 2 (1 + t)/(1 - t)."""
    x = 2 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


@cache
def inverse_error(w: Any) -> Any:
    """Return erfinv(x)/x for x = sqrt(1 - exp(-w)), by Newton's method on erfc."""
    x = mpmath.sqrt(-mpmath.expm1(-w))
    rest = mpmath.exp(-w) / (1 + x)
    y = mpmath.sqrt(w) if w > 1 else x * mpf("0.9")
    for _ in range(60):
        y += (mpmath.erfc(y) - rest) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
    return y / x


def log_gamma_factor(t: Any) -> Any:
    """Return log(gamma(y))/((y - 1)(y - 2)) for y = t + 1.75."""
    y = t + mpf("1.75")
    return mpmath.loggamma(y) / ((y - 1) * (y - 2))


def stirling(z: Any) -> Any:
    """Return what is left of log(gamma(y)) after Stirling's formula, times y, for y = 1/sqrt(z)."""
    y = 1 / mpmath.sqrt(z)
    return (mpmath.loggamma(y) - ((y - mpf(1) / 2) * mpmath.log(y) - y + mpmath.log(2 * mpmath.pi) / 2)) * y


def digamma_rest(z: Any) -> Any:
    """Return (log(y) - 1/(2y) - digamma(y)) y**2 for y = 1/sqrt(z)."""
    y = 1 / mpmath.sqrt(z)
    return (mpmath.log(y) - 1 / (2 * y) - mpmath.digamma(y)) / z


half_ln2, quarter_pi_squared = mpmath.log(2) / 2 * mpf("1.01"), (mpmath.pi / 4) ** 2 * mpf("1.02")
low_f, high_f = (mpmath.sqrt(mpf(1) / 2) - 1) * mpf("1.002"), (mpmath.sqrt(2) - 1) * mpf("1.002")
ratio_high = ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2 * mpf("1.002")
tail_low, tail_high, tail_high4 = (mpf("0.49") - 2) / mpf("2.49"), mpf(26) / 30, mpf("8.5") / mpf("12.5")


def exp_tail(r: Any) -> Any:
    """Return (exp(r) - 1 - r)/r**2."""
    return (mpmath.exp(r) - 1 - r) / r**2


def exp2_slope(t: Any) -> Any:
    """Return (2**t - 1)/t."""
    return mpmath.expm1(t * mpmath.log(2)) / t


def erf_slope(z: Any) -> Any:
    """Return erf(x)/x - 1 for x = sqrt(z)."""
    return mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1


def log1p_tail(f: Any) -> Any:
    """Return (log(1 + f) - f + f**2/2)/f**3."""
    return (mpmath.log1p(f) - f + f * f / 2) / f**3


def cos_tail(z: Any) -> Any:
    """Return (cos(x) - 1 + x**2/2)/x**4 for x = sqrt(z)."""
    return (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2


FITS = {
    "exponentials._Q4": Fit(exp_tail, 5, -half_ln2, half_ln2, lambda r: r * r * mpmath.exp(-r)),
    "exponentials._Q8": Fit(exp_tail, 10, -half_ln2, half_ln2, lambda r: r * r * mpmath.exp(-r)),
    "exponentials._BINARY4": Fit(exp2_slope, 6, "-0.505", "0.505", lambda t: t),
    "exponentials._BINARY8": Fit(exp2_slope, 11, "-0.505", "0.505", lambda t: t),
    "exponentials._ROUGH": Fit(exp2_slope, 7, "-0.505", "0.505", lambda t: t),
    "logarithms._P4": Fit(log1p_tail, 9, low_f, high_f, lambda f: f**3 / mpmath.log1p(f) if f else f),
    "logarithms._P8": Fit(lambda z: (log_ratio(z) - 2) / z, 7, 0, ratio_high, lambda z: z / 2),
    "logarithms._ROUGH": Fit(lambda z: (log_ratio(z) - 2) / z, 4, 0, ratio_high, lambda z: z / 2),
    "powers._LOG8": Fit(lambda z: ((log_ratio(z) - 2) / z - mpf(2) / 3) / z, 8, 0, ratio_high, lambda z: z * z / 2),
    "powers._CBRT": Fit(mpmath.cbrt, 7, "0.705", "1.42", lambda m: 1 / mpmath.cbrt(m)),
    "hyperbolic._TANH4": odd(mpmath.tanh, 5, 0.625**2),
    "hyperbolic._TANH8": odd(mpmath.tanh, 12, 0.625**2),
    "hyperbolic._SINH4": odd(mpmath.sinh, 3, 0.7**2),
    "hyperbolic._SINH8": odd(mpmath.sinh, 7, 0.7**2),
    "trigonometric._SIN4": odd(mpmath.sin, 4, quarter_pi_squared),
    "trigonometric._SIN8": odd(mpmath.sin, 6, quarter_pi_squared),
    "trigonometric._COS4": Fit(cos_tail, 3, 0, quarter_pi_squared, lambda z: z * z),
    "trigonometric._COS8": Fit(cos_tail, 6, 0, quarter_pi_squared, lambda z: z * z),
    "inverse_trigonometric._ASIN": odd(mpmath.asin, 13, 0.25),
    "inverse_trigonometric._ATAN": odd(mpmath.atan, 11, 0.1716),
    "error_functions._NEAR4": Fit(erf_slope, 7, 0, 0.93**2, lambda z: 1 / (1 + erf_slope(z or mpf("1e-9")))),
    "error_functions._NEAR8": Fit(erf_slope, 10, 0, 0.51**2, lambda z: 1 / (1 + erf_slope(z or mpf("1e-9")))),
    "error_functions._NEAR_ROUGH": Fit(erf_slope, 6, 0, 0.51**2, lambda z: 1 / (1 + erf_slope(z or mpf("1e-9")))),
    "error_functions._FAR4": Fit(lambda x: mpmath.log(mpmath.erfc(x)) / x, 7, "0.92", 4, lambda x: x * mpmath.erfc(x)),
    "error_functions._TAIL8": Fit(lambda t: (scaled_complement(t) - scaled_complement(mpf(0))) / t, 23, tail_low, tail_high, lambda t: t),
    "error_functions._TAIL_ROUGH": Fit(scaled_complement, 11, tail_low, tail_high4, lambda t: 1 / scaled_complement(t)),
    "error_functions._CENTRE": Fit(inverse_error, 14, 0, "6.3", lambda w: 1 / inverse_error(w or mpf("1e-9"))),
    "error_functions._SIDE": Fit(lambda s: inverse_error(s * s), 13, "2.49", "6.1", lambda s: 1 / inverse_error(s * s)),
    "gamma._NEAR": Fit(log_gamma_factor, 22, "-0.751", "0.7511", lambda t: 1 / log_gamma_factor(t)),
    "gamma._STIRLING": Fit(stirling, 11, 0, "0.1601"),
    "gamma._DIGAMMA": Fit(digamma_rest, 6, 0, mpf(1) / 36),
}


def main() -> None:
    """Print the fits that are named, or all."""
    for name in sys.argv[1:] or FITS:
        coefficients, error = remez(*FITS[name])
        single = name.endswith("4")
        shown = [str(np.float32(float(c))) if single else repr(float(c)) for c in reversed(coefficients)]
        print(f"{name}: {mpmath.nstr(error, 2)}\n    {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
