"""Division that rounds, and its remainders, by the rules of each dtype. They are part of arithmetic's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import BOOL, COMPLEX
from ..tape.constants import zeros_of
from ..tape.types import Type
from .declare import Sample, elementwise
from .precision import CastRule, in_single, missing, number, refusing
from .type_rules import promoted

# Away from whole quotients, where the derivatives jump.
_quotients = (np.array([[5.3, -4.1, 0.7, 2.9], [7.7, -0.4, -9.2, 3.3]]), np.array([2.0, 1.5, -2.0, -1.25]))


def _samples() -> list[Sample]:
    a, b = _quotients
    integers = np.array([[-7, 7, -7, 7], [6, -6, 0, 9]])
    return [
        Sample(a, b),
        Sample(a[0, 0], b[0]),
        Sample(a, 1.7),
        Sample(a.T[::2], b[::2, None]),
        Sample(a[:0], b),
        Sample(integers, np.array([2, -2, -2, 2])),
    ]


def _by_kind(of_integers: Callable[[Any, Any], Any], of_floats: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function that divides integers, refusing zero, with one function and floats with another.

    Both get arrays: a Python number is rounded to the dtype first, as quotients jump.
    """

    def divide(a: Any, b: Any) -> Any:
        dtype = np.result_type(a, b)
        if dtype.kind not in "iu":
            return of_floats(np.asarray(a, dtype), np.asarray(b, dtype))
        if not np.all(b):
            raise RuntimeError("ZeroDivisionError")
        return of_integers(a, b)

    return divide


def _truncate_integers(a: Any, b: Any) -> Any:
    """Divide towards zero: one more than the floor where that is negative and the division leaves a remainder."""
    quotient, rest = np.divmod(a, b)
    return quotient + ((rest != 0) & ((a < 0) != (b < 0)))


def _remainder_of_floats(a: Any, b: Any) -> Any:
    """The remainder with the divisor's sign; np.remainder differs in the sign of zeros."""
    rest = np.fmod(a, b)
    return np.where((rest != 0) & (np.less(b, 0) != np.less(rest, 0)), rest + b, rest)


def _divisible(kernel: str) -> CastRule:
    return refusing(promoted, BOOL, COMPLEX, message=f"\"{kernel}_cpu\" not implemented for '{{dtype}}'")


_floor = _by_kind(np.floor_divide, np.floor_divide)

# Kernels, of floats: the rest of a division towards zero, whether that is on the other side of zero than the divisor, the
# quotient without the rest, and that rounded to the whole number next to it.
_REST = "fmod(a, b)"
_CROSSES = f"(({_REST} != T(0)) & ((b < T(0)) != ({_REST} < T(0))))"
_QUOTIENT = f"((a - {_REST}) / b - where({_CROSSES}, T(1), T(0)))"
_WHOLE = f"floor({_QUOTIENT}) + where({_QUOTIENT} - floor({_QUOTIENT}) > T(0.5), T(1), T(0))"
_FLOOR_KERNEL = f"where(b == T(0), a / b, where({_QUOTIENT} == T(0), copysign(T(0), a / b), {_WHOLE}))"


_missing = missing("derivative for aten::floor_divide is not implemented")


def _zero(g: Any, rtype: Type) -> Any:
    return zeros_of(rtype)


# The operator //, which PyTorch does not differentiate.
floor_divide = elementwise(
    "floor_divide",
    _floor,
    (_missing, _missing),
    casts=_divisible("div_floor"),
    samples=_samples,
    torch=lambda torch, a, b: torch.floor_divide(a, b),
    grad_name="NotImplemented",
    kernel=_FLOOR_KERNEL,
)

# Division with a rounding mode: its derivative is zero.
div_floor = elementwise(
    "div_floor",
    _floor,
    (_zero, _zero),
    casts=_divisible("div_floor"),
    samples=_samples,
    torch=lambda torch, a, b: torch.div(a, b, rounding_mode="floor"),
    grad_name="DivBackward2",
    kernel=_FLOOR_KERNEL,
)

trunc_divide = elementwise(
    "trunc_divide",
    _by_kind(_truncate_integers, lambda a, b: np.trunc(np.true_divide(a, b))),
    (_zero, _zero),
    casts=_divisible("div_trunc"),
    samples=_samples,
    torch=lambda torch, a, b: torch.div(a, b, rounding_mode="trunc"),
    grad_name="DivBackward2",
    kernel="trunc(a / b)",
)

remainder = elementwise(
    "remainder",
    _by_kind(np.remainder, in_single(_remainder_of_floats)),
    (lambda g: g, lambda g, a, b: -g * div_floor(a, b)),
    casts=number,
    samples=_samples,
    torch=lambda torch, a, b: torch.remainder(a, b),
    kernel=f"where({_CROSSES}, {_REST} + b, {_REST})",
)

fmod = elementwise(
    "fmod",
    _by_kind(np.fmod, np.fmod),
    (lambda g: g, lambda g, a, b: -g * trunc_divide(a, b)),
    casts=number,
    samples=_samples,
    torch=lambda torch, a, b: torch.fmod(a, b),
    kernel=_REST,
)
