"""Exponentials.

The argument is reduced to k ln(2) + r, |r| <= ln(2)/2 (Cody and Waite, Software Manual for the Elementary Functions, 1980);
exp(r) is a polynomial (a Remez fit of our own), and the power of two is put into the exponent's bits.
"""

from __future__ import annotations

from typing import Any

from .double_words import add
from .instructions import F4, F8, Format, bits, copy_sign, polynomial, power_of_two, scale, select, vectorisable

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
# 2**t = 1 + t q(t) for |t| <= 1/2, to a relative 2e-9 and 4e-18.
_BINARY4 = polynomial(F4, 0.00015477744, 0.0013401612, 0.009617999, 0.055503245, 0.2402265, 0.6931472)
_BINARY8 = polynomial(
    F8,
    4.4576027996422374e-10,
    7.074241314336288e-09,
    1.017804502744383e-07,
    1.321543270626734e-06,
    1.5252733870972827e-05,
    0.00015403530462058642,
    0.0013333558146375506,
    0.009618129107590422,
    0.05550410866482176,
    0.2402265069591014,
    0.6931471805599453,
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


def _two_words(form: Format, q: Any, least: float, greatest: float) -> Any:
    """Return exp of a sum of a number and a small one, as two words and a power of two: (high + low) * 2**k.

    It is 0 below ``least`` and infinite above ``greatest``.
    """
    one, zero, low, high = form.number(1), form.number(0), form.number(least), form.number(greatest)
    reduce = _reduction(form)

    @vectorisable
    def exp_two_words(x: Any, small: Any) -> Any:
        bounded = min(max(x, low), high)
        main, lost, k = reduce(bounded)
        r, rest = add(main, lost + select(bounded == x, small, zero))
        head, tail = add(one, r + (rest + r * r * q(r)))
        return head, tail, k

    return exp_two_words


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


def _exp2(form: Format, q: Any, least: float, greatest: float) -> Any:
    """Return 2**x; it is 0 below ``least`` and infinite above ``greatest``."""
    one, low, high, shift = form.number(1), form.number(least), form.number(greatest), form.number(form.shift)
    integer, scaled = form.integer, scale(form)

    @vectorisable
    def exp2(x: Any) -> Any:
        bounded = min(max(x, low), high)
        shifted = bounded + shift
        t = bounded - (shifted - shift)
        return select(x == x, scaled(one + t * q(t), integer(bits(shifted) - bits(shift))), x)

    return exp2


def _expm1(form: Format, q: Any, least: float, greatest: float) -> Any:
    """Return exp(x) - 1 as 2**k ((1 - 2**-k + r) + r**2 q(r)), the sum in brackets in two words.

    It is -1 below ``least`` and infinite above ``greatest``. Where 2**-k would be subnormal it is negligible.
    """
    one, low, high, negligible = form.number(1), form.number(least), form.number(greatest), form.integer(100)
    integer = form.integer
    reduce, scaled, power = _reduction(form), scale(form), power_of_two(form)

    @vectorisable
    def expm1(x: Any) -> Any:
        r, lost, k = reduce(min(max(x, low), high))
        start = one - power(integer(-min(k, negligible)))
        total = start + r
        rest = r - (total - start)
        result = scaled(total + (rest + (lost + r * r * q(r))), k)
        return select(x == x, copy_sign(result, x), x)

    return expm1


_ROUGH = polynomial(
    F8,
    1.5316207515466565e-05,
    0.00015468390477927073,
    0.0013333425558649157,
    0.009618033163341064,
    0.055504109685893345,
    0.2402265109923987,
    0.6931471805400798,
)
_SHIFT8, _power8 = F8.shift, power_of_two(F8)


@vectorisable
def exp2_rough(x: Any) -> Any:
    """Return 2**x in float64 to a relative 5e-11, for results that become a float32: x is bounded to its range."""
    bounded = min(max(x, -200.0), 200.0)
    shifted = bounded + _SHIFT8
    t = bounded - (shifted - _SHIFT8)
    return (1.0 + t * _ROUGH(t)) * _power8(bits(shifted) - bits(_SHIFT8))


exp_moderate_f4, exp_moderate_f8 = _moderate(F4, _Q4), _moderate(F8, _Q8)
exp_two_words_f4, exp_two_words_f8 = _two_words(F4, _Q4, -104.0, 90.0), _two_words(F8, _Q8, -746.0, 712.0)
exp_f4, exp_f8 = _exp(F4, _Q4, -104.0, 89.0), _exp(F8, _Q8, -746.0, 710.0)
exp2_f4, exp2_f8 = _exp2(F4, _BINARY4, -151.0, 129.0), _exp2(F8, _BINARY8, -1076.0, 1025.0)
expm1_f4, expm1_f8 = _expm1(F4, _Q4, -20.0, 89.0), _expm1(F8, _Q8, -40.0, 710.0)
