"""The logistic function and its relatives."""

from __future__ import annotations

from typing import Any

from .exponentials import exp_f4, exp_f8
from .instructions import F4, F8, Format, select, vectorisable


def _sigmoid(form: Format, exp: Any) -> Any:
    """Return 1/(1 + exp(-x)), written with e = exp(-|x|), which does not overflow.

    What the rounding of 1 + e took away is put back at the end, to first order: 1/(1 + e) is the quotient itself, or 1 less
    it where the numerator is e.
    """
    one, zero = form.number(1), form.number(0)

    @vectorisable
    def sigmoid(x: Any) -> Any:
        e = exp(-abs(x))
        denominator = one + e
        lost = e - (denominator - one)
        quotient = select(x < zero, e, one) / denominator
        return quotient - quotient * (lost * select(x < zero, one - quotient, quotient))

    return sigmoid


sigmoid_f4, sigmoid_f8 = _sigmoid(F4, exp_f4), _sigmoid(F8, exp_f8)
