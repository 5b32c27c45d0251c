"""Comparisons and tests, logic, and arithmetic of bits and whole numbers. Heaviside apart, no result is a float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, COMPLEX, FLOAT
from ..tape.types import Type
from .declare import Sample, elementwise
from .precision import missing, refusing
from .type_rules import Casts, compared, logical, promoted, result_dtype


def _pairs() -> list[Sample]:
    """Operands with many ties."""
    random = np.random.default_rng(0)
    a, b = random.integers(-2, 3, (2, 4, 6)).astype(float)
    c = random.integers(0, 3, (2, 4, 6))
    pairs = [(a, b), (a.T[::2], b.T[::2]), (a, b[:, :1]), (a[0, 0], b), (a[:0], b[:0]), (c[0], c[1])]
    return [Sample(*pair) for pair in pairs] + [Sample(a, 1.0), Sample(c[0], 1), Sample(a > 0, b > 0)]


def _singles() -> list[Sample]:
    a = np.array([[0.0, -0.0, 1.5, -2.0], [np.nan, np.inf, -np.inf, 3.0]])
    return [Sample(part) for part in (a, a.T[::2], a[1, 0], a[:0], np.arange(-2, 3), np.array([True, False]))]


# Comparisons


def _ordered(kernel: str) -> Any:
    return refusing(compared, COMPLEX, message=f"\"{kernel}_cpu\" not implemented for '{{dtype}}'")


equal = elementwise(
    "equal",
    np.equal,
    None,
    casts=compared,
    samples=_pairs,
    torch=lambda torch, a, b: a == b,
    kernel="a == b",
    kernel_on="any",
)

not_equal = elementwise(
    "not_equal",
    np.not_equal,
    None,
    casts=compared,
    samples=_pairs,
    torch=lambda torch, a, b: a != b,
    kernel="a != b",
    kernel_on="any",
)

less = elementwise(
    "less",
    np.less,
    None,
    casts=_ordered("lt"),
    samples=_pairs,
    torch=lambda torch, a, b: a < b,
    kernel="a < b",
    kernel_on="any",
)

less_equal = elementwise(
    "less_equal",
    np.less_equal,
    None,
    casts=_ordered("le"),
    samples=_pairs,
    torch=lambda torch, a, b: a <= b,
    kernel="a <= b",
    kernel_on="any",
)

greater = elementwise(
    "greater",
    np.greater,
    None,
    casts=_ordered("gt"),
    samples=_pairs,
    torch=lambda torch, a, b: a > b,
    kernel="a > b",
    kernel_on="any",
)

greater_equal = elementwise(
    "greater_equal",
    np.greater_equal,
    None,
    casts=_ordered("ge"),
    samples=_pairs,
    torch=lambda torch, a, b: a >= b,
    kernel="a >= b",
    kernel_on="any",
)

# Tests


def _uncomplex(message: str, error: type[Exception]) -> Any:
    return refusing(compared, COMPLEX, message=message, error=error)


def _signbit(a: Any) -> Any:
    return np.less(a, 0) if a.dtype.kind in "biu" else np.signbit(a)


isnan = elementwise(
    "isnan",
    np.isnan,
    None,
    casts=compared,
    samples=_singles,
    torch=lambda torch, a: torch.isnan(a),
    kernel="a != a",
    kernel_on="any",
)

isinf = elementwise(
    "isinf",
    np.isinf,
    None,
    casts=compared,
    samples=_singles,
    torch=lambda torch, a: torch.isinf(a),
    kernel="isinf(a)",
)

isfinite = elementwise(
    "isfinite",
    np.isfinite,
    None,
    casts=compared,
    samples=_singles,
    torch=lambda torch, a: torch.isfinite(a),
    kernel="isfinite(a)",
)

isposinf = elementwise(
    "isposinf",
    lambda a: np.equal(a, np.inf),
    None,
    casts=_uncomplex("isposinf does not support complex inputs.", RuntimeError),
    samples=_singles,
    torch=lambda torch, a: torch.isposinf(a),
    kernel="a == T(inf)",
)

isneginf = elementwise(
    "isneginf",
    lambda a: np.equal(a, -np.inf),
    None,
    casts=_uncomplex("isneginf does not support complex inputs.", RuntimeError),
    samples=_singles,
    torch=lambda torch, a: torch.isneginf(a),
    kernel="a == T(-inf)",
)

signbit = elementwise(
    "signbit",
    _signbit,
    None,
    casts=_uncomplex("signbit is not implemented for complex tensors.", NotImplementedError),
    samples=lambda: [Sample(np.array([[0.0, -0.0, 1.5, -2.0], [np.inf, -np.inf, 3.0, -1e-40]])), *_singles()[3:]],
    torch=lambda torch, a: torch.signbit(a),
    kernel="copysign(T(1), a) < T(0)",
)

# Logic, on whether the operands are zero

logical_and = elementwise(
    "logical_and",
    np.logical_and,
    None,
    casts=logical,
    samples=lambda: _pairs()[:6],
    torch=lambda torch, a, b: torch.logical_and(a, b),
    kernel="a & b",
    kernel_on="bool",
)

logical_or = elementwise(
    "logical_or",
    np.logical_or,
    None,
    casts=logical,
    samples=lambda: _pairs()[:6],
    torch=lambda torch, a, b: torch.logical_or(a, b),
    kernel="a | b",
    kernel_on="bool",
)

logical_xor = elementwise(
    "logical_xor",
    np.logical_xor,
    None,
    casts=logical,
    samples=lambda: _pairs()[:6],
    torch=lambda torch, a, b: torch.logical_xor(a, b),
    kernel="a ^ b",
    kernel_on="bool",
)

logical_not = elementwise(
    "logical_not",
    np.logical_not,
    None,
    casts=logical,
    samples=_singles,
    torch=lambda torch, a: torch.logical_not(a),
    kernel="~a",
    kernel_on="bool",
)

# Bits and whole numbers


def _whole_pairs() -> list[Sample]:
    a, b = np.random.default_rng(0).integers(-9, 10, (2, 4, 6))
    pairs = [(a, b), (a.T[::2], b.T[::2]), (a, b[:, :1]), (a[0, 0], b), (a[:0], b[:0]), (a, 3)]
    return [Sample(*pair) for pair in pairs]


def _shifts() -> list[Sample]:
    a, b = np.random.default_rng(0).integers(-9, 10, (2, 4, 6))
    return [Sample(a, abs(b)), Sample(a, 2), Sample(a, np.array([0, 1, 62, 63, 64, 100])), Sample(a[:0], abs(b[:0]))]


_bitwise = refusing(promoted, FLOAT, COMPLEX)
_whole = refusing(promoted, BOOL, FLOAT, COMPLEX)


def _shifted(kernel: str) -> Any:
    return refusing(promoted, BOOL, FLOAT, COMPLEX, message=f"\"{kernel}_cpu\" not implemented for '{{dtype}}'")


def _shift_kernel(shift: str, beyond: str) -> Any:
    """Return the function for the kernel of a shift, and what it gives for more bits than there are."""

    def kernel(types: Sequence[Type]) -> str:
        bits = 8 * result_dtype(types).itemsize
        return f"where((b >= T(0)) & (b < T({bits})), {shift}, {beyond})"

    return kernel


bitwise_and = elementwise(
    "bitwise_and",
    np.bitwise_and,
    None,
    casts=_bitwise,
    samples=_whole_pairs,
    torch=lambda torch, a, b: torch.bitwise_and(a, b),
    kernel="a & b",
    kernel_on="bool and integer",
)

bitwise_or = elementwise(
    "bitwise_or",
    np.bitwise_or,
    None,
    casts=_bitwise,
    samples=_whole_pairs,
    torch=lambda torch, a, b: torch.bitwise_or(a, b),
    kernel="a | b",
    kernel_on="bool and integer",
)

bitwise_xor = elementwise(
    "bitwise_xor",
    np.bitwise_xor,
    None,
    casts=_bitwise,
    samples=_whole_pairs,
    torch=lambda torch, a, b: torch.bitwise_xor(a, b),
    kernel="a ^ b",
    kernel_on="bool and integer",
)

bitwise_not = elementwise(
    "bitwise_not",
    np.invert,
    None,
    casts=_bitwise,
    samples=lambda: [Sample(np.arange(-4, 5)), Sample(np.array([True, False])), Sample(np.int64(3))],
    torch=lambda torch, a: torch.bitwise_not(a),
    kernel="~a",
    kernel_on="bool and integer",
)

left_shift = elementwise(
    "left_shift",
    np.left_shift,
    None,
    casts=_shifted("lshift"),
    samples=_shifts,
    torch=lambda torch, a, b: torch.bitwise_left_shift(a, b),
    kernel=_shift_kernel("a << b", "T(0)"),
    kernel_on="integer",
)

right_shift = elementwise(
    "right_shift",
    np.right_shift,
    None,
    casts=_shifted("rshift"),
    samples=_shifts,
    torch=lambda torch, a, b: torch.bitwise_right_shift(a, b),
    kernel=_shift_kernel("a >> b", "where(a < T(0), ~T(0), T(0))"),
    kernel_on="integer",
)

gcd = elementwise(
    "gcd", np.gcd, None, casts=_whole, samples=lambda: _whole_pairs()[:5], torch=lambda torch, a, b: torch.gcd(a, b)
)

lcm = elementwise(
    "lcm", np.lcm, None, casts=_whole, samples=lambda: _whole_pairs()[:5], torch=lambda torch, a, b: torch.lcm(a, b)
)

# The step function: a's sign as 0 or 1, and b where a is 0.


def _heaviside_casts(name: str, types: Sequence[Type]) -> Casts:
    if COMPLEX in [t.dtype.category for t in types]:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if types[0].dtype is not types[1].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return promoted(name, types)


_missing = missing("derivative for aten::heaviside is not implemented")

heaviside = elementwise(
    "heaviside",
    lambda a, b: np.where(np.equal(a, 0), b, np.greater(a, 0).astype(b.dtype)),
    (_missing, _missing),
    casts=_heaviside_casts,
    samples=lambda: _pairs()[:6],
    torch=lambda torch, a, b: torch.heaviside(a, b),
    grad_name="NotImplemented",
    kernel="where(a == T(0), b, where(a > T(0), T(1), T(0)))",
    kernel_on="any",
)
