"""The logistic function and its relatives."""

from __future__ import annotations

from typing import Any

from .exponentials import exp_f4, exp_f8
from .instructions import F4, F8, Format, select, vectorisable
from .logarithms import log1p_f4, log1p_f8


def _sigmoid(form: Format, exp: Any) -> Any:
    """Return 1/(1 + exp(-x)), written with e = exp(-|x|), which does not overflow.

    What the rounding of 1 + e took away is put back at the end, to first order: 1/(1 + e) is the quotient itself, or 1 less
    it where the numerator is e. The greatest error is 1.97 units in the last place (of all float32).
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


def _softplus(form: Format, exp: Any, log1p: Any) -> Any:
    """Return log(1 + exp(x)), written with exp(-|x|), which does not overflow."""
    zero = form.number(0)

    @vectorisable
    def softplus(x: Any) -> Any:
        return max(x, zero) + log1p(exp(-abs(x)))

    return softplus


def _log_sigmoid(form: Format, softplus: Any) -> Any:
    """Return log(sigmoid(x)); where that is 0, it is +0, as in PyTorch."""
    zero = form.number(0)

    @vectorisable
    def log_sigmoid(x: Any) -> Any:
        return zero - softplus(-x)

    return log_sigmoid


sigmoid_f4, sigmoid_f8 = _sigmoid(F4, exp_f4), _sigmoid(F8, exp_f8)
softplus_f4, softplus_f8 = _softplus(F4, exp_f4, log1p_f4), _softplus(F8, exp_f8, log1p_f8)
log_sigmoid_f4, log_sigmoid_f8 = _log_sigmoid(F4, softplus_f4), _log_sigmoid(F8, softplus_f8)
