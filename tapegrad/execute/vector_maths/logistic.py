"""The logistic function and its relatives."""

from __future__ import annotations

from typing import Any

from .exponentials import exp_f4, exp_f8
from .instructions import F4, F8, Format, select, vectorisable


def _sigmoid(form: Format, exp: Any) -> Any:
    """Return 1/(1 + exp(-x)), written with exp(-|x|), which does not overflow."""
    one, zero = form.number(1), form.number(0)

    @vectorisable
    def sigmoid(x: Any) -> Any:
        e = exp(-abs(x))
        return select(x < zero, e, one) / (one + e)

    return sigmoid


sigmoid_f4, sigmoid_f8 = _sigmoid(F4, exp_f4), _sigmoid(F8, exp_f8)
