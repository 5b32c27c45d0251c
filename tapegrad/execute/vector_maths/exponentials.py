"""Exponentials.

The argument is reduced to k ln(2) + r, |r| <= ln(2)/2 (Cody and Waite, Software Manual for the Elementary Functions, 1980);
exp(r) is a polynomial (a Remez fit of our own), and the power of two is put into the exponent's bits.
"""

from __future__ import annotations

from typing import Any

from .instructions import F4, F8, Format, bits, polynomial, power_of_two, scale, select, vectorisable

# exp(r) = 1 + r + r**2 q(r) for |r| <= ln(2)/2, to a relative 3e-9 and 4e-18.
_Q4 = polynomial(F4, 0.0013813134, 0.008369419, 0.041668456, 0.16666515, 0.49999994)
_Q8 = polynomial(
    F8,
    2.499906979815398e-08,
    2.763168620867493e-07,
    2.7557596930200587e-06,
    2.4801489355286092e-05,
    0.00019841269486461433,
    0.0013888888946917287,
    0.008333333333507519,
    0.041666666666519164,
    0.16666666666666385,
    0.5000000000000012,
)


def _reduction(form: Format) -> Any:
    """Return a function from x to r, what r's rounding took away, and k, which is an integer."""
    log2_e, shift = form.number(1.4426950408889634), form.number(form.shift)
    ln2_high, ln2_low = form.number(form.ln2_high), form.number(form.ln2_low)
    integer = form.integer

    @vectorisable
    def reduce(x: Any) -> Any:
        shifted = x * log2_e + shift
        k = shifted - shift
        exact = x - k * ln2_high
        r = exact - k * ln2_low
        return r, (exact - r) - k * ln2_low, integer(bits(shifted) - bits(shift))

    return reduce


def _moderate(form: Format, q: Any) -> Any:
    """Return exp for arguments whose result is a normal number."""
    one, reduce, power = form.number(1), _reduction(form), power_of_two(form)

    @vectorisable
    def exp_moderate(x: Any) -> Any:
        r, lost, k = reduce(x)
        return (one + (r + (lost + r * r * q(r)))) * power(k)

    return exp_moderate


def _exp(form: Format, q: Any, least: float, greatest: float) -> Any:
    """Return exp; it is 0 below ``least`` and infinite above ``greatest``."""
    one, low, high = form.number(1), form.number(least), form.number(greatest)
    reduce, scaled = _reduction(form), scale(form)

    @vectorisable
    def exp(x: Any) -> Any:
        r, lost, k = reduce(min(max(x, low), high))
        return select(x == x, scaled(one + (r + (lost + r * r * q(r))), k), x)

    return exp


exp_moderate_f4, exp_moderate_f8 = _moderate(F4, _Q4), _moderate(F8, _Q8)
exp_f4, exp_f8 = _exp(F4, _Q4, -104.0, 89.0), _exp(F8, _Q8, -746.0, 710.0)
