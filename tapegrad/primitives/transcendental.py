"""Exponentials, logarithms, trigonometric and hyperbolic functions, and what is made of them with more accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import rsqrt
from .declare import Primitive, Sample, elementwise
from .precision import first_floating, floating, floating_or_complex, in_single, real_to_float
from .selection import where
from .type_rules import promoted_to_float

LN2 = 0.6931471805599453
LN10 = 2.302585092994046
INFINITY = float("inf")

# Exponentials and logarithms

exp = elementwise(
    "exp",
    np.exp,
    (lambda g, r: g * r,),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.exp(a),
    kernel="exp(a)",
)

exp2 = elementwise(
    "exp2",
    np.exp2,
    (lambda g, r: g * r * LN2,),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.exp2(a),
    kernel="exp2(a)",
)

expm1 = elementwise(
    "expm1",
    np.expm1,
    (lambda g, r: g * (r + 1),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.expm1(a),
    kernel="expm1(a)",
)

log = elementwise(
    "log",
    np.log,
    (lambda g, a: g / a,),
    casts=promoted_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.log(a),
    kernel="log(a)",
)

log2 = elementwise(
    "log2",
    np.log2,
    (lambda g, a: g / (a * LN2),),
    casts=promoted_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.log2(a),
    kernel="log2(a)",
)

log10 = elementwise(
    "log10",
    np.log10,
    (lambda g, a: g / (a * LN10),),
    casts=promoted_to_float,
    domain=(0.5, 3.0),
    torch=lambda torch, a: torch.log10(a),
    kernel="log10(a)",
)

log1p = elementwise(
    "log1p",
    np.log1p,
    (lambda g, a: g / (a + 1),),
    casts=promoted_to_float,
    domain=(-0.5, 3.0),
    torch=lambda torch, a: torch.log1p(a),
    grad_name="Log1PBackward0",
    kernel="log1p(a)",
)

# Trigonometric functions

sin = elementwise(
    "sin",
    np.sin,
    (lambda g, a: g * cos(a),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.sin(a),
    kernel="sin(a)",
)

cos: Primitive = elementwise(
    "cos",
    np.cos,
    (lambda g, a: g * -sin(a),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.cos(a),
    kernel="cos(a)",
)

tan = elementwise(
    "tan",
    np.tan,
    (lambda g, r: g * (r * r + 1),),
    casts=promoted_to_float,
    domain=(-1.2, 1.2),
    torch=lambda torch, a: torch.tan(a),
    kernel="tan(a)",
)

asin = elementwise(
    "asin",
    np.arcsin,
    (lambda g, a: g * rsqrt(1 - a * a),),
    casts=promoted_to_float,
    domain=(-0.9, 0.9),
    torch=lambda torch, a: torch.asin(a),
    kernel="asin(a)",
)

acos = elementwise(
    "acos",
    np.arccos,
    (lambda g, a: g * -rsqrt(1 - a * a),),
    casts=promoted_to_float,
    domain=(-0.9, 0.9),
    torch=lambda torch, a: torch.acos(a),
    kernel="acos(a)",
)

atan = elementwise(
    "atan",
    np.arctan,
    (lambda g, a: g / (a * a + 1),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.atan(a),
    kernel="atan(a)",
)


def _squared_radius(a: Any, b: Any) -> Any:
    """The square of the distance to the origin, infinite at it: dividing by it gives 0 there."""
    square = a**2 + b**2
    return where(square == 0, INFINITY, square)


atan2 = elementwise(
    "atan2",
    np.arctan2,
    (
        lambda g, a, b: g * b / _squared_radius(a, b),
        lambda g, a, b: g * -a / _squared_radius(a, b),
    ),
    casts=real_to_float,
    torch=lambda torch, a, b: torch.atan2(a, b),
    kernel="atan2(a, b)",
)

# Hyperbolic functions

sinh = elementwise(
    "sinh",
    np.sinh,
    (lambda g, a: g * cosh(a),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.sinh(a),
    kernel="sinh(a)",
)

cosh: Primitive = elementwise(
    "cosh",
    np.cosh,
    (lambda g, a: g * sinh(a),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.cosh(a),
    kernel="cosh(a)",
)

tanh = elementwise(
    "tanh",
    np.tanh,
    (lambda g, r: g * (1 - r * r),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.tanh(a),
    kernel="tanh(a)",
)

asinh = elementwise(
    "asinh",
    np.arcsinh,
    (lambda g, a: g * rsqrt(a * a + 1),),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.asinh(a),
    kernel="asinh(a)",
)

acosh = elementwise(
    "acosh",
    np.arccosh,
    (lambda g, a: g * rsqrt(a * a - 1),),
    casts=promoted_to_float,
    domain=(1.2, 3.0),
    torch=lambda torch, a: torch.acosh(a),
    kernel="acosh(a)",
)

atanh = elementwise(
    "atanh",
    np.arctanh,
    (lambda g, a: g / (1 - a * a),),
    casts=promoted_to_float,
    domain=(-0.9, 0.9),
    torch=lambda torch, a: torch.atanh(a),
    kernel="atanh(a)",
)

# Exponentials and logarithms combined, so that nothing overflows or cancels on the way


def _sigmoid(a: Any) -> Any:
    """The exponential is taken of a negative number, so a small result keeps all its digits."""
    if a.dtype.kind == "c":
        return 1 / (1 + np.exp(-a))
    small = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, small) / (1 + small)


sigmoid = elementwise(
    "sigmoid",
    in_single(_sigmoid),
    (lambda g, r: g * (1 - r) * r,),
    casts=promoted_to_float,
    torch=lambda torch, a: torch.sigmoid(a),
    kernel="sigmoid(a)",
)

log_sigmoid = elementwise(
    "log_sigmoid",
    in_single(lambda a: np.minimum(a, 0) - np.log1p(np.exp(-np.abs(a)))),
    (lambda g, a: g * sigmoid(-a),),
    casts=floating,
    torch=lambda torch, a: torch.nn.functional.logsigmoid(a),
    kernel="where(a < T(0), a, T(0)) - log1p(exp(-abs(a)))",
)


def _softplus(a: Any, beta: Any, threshold: Any) -> Any:
    scaled = a * beta
    return np.where(scaled > threshold, a, np.log1p(np.exp(scaled)) / beta)


def _softplus_samples() -> list[Sample]:
    a = np.random.default_rng(0).uniform(-2.0, 2.0, (4, 6))
    return [Sample(a, 1.0, 20.0), Sample(a.T[::2], 2.5, 1.0), Sample(a[0, 0], 1.0, 20.0), Sample(a[:0], 1.0, 20.0)]


# Linear above the threshold: beta and threshold are numbers.
softplus = elementwise(
    "softplus",
    in_single(_softplus),
    (lambda g, a, b, c: where(a * b > c, g, g * sigmoid(a * b)), None, None),
    casts=first_floating,
    samples=_softplus_samples,
    torch=lambda torch, a, beta, threshold: torch.nn.functional.softplus(a, beta, threshold),
    kernel="where(a * b > c, a, log1p(exp(a * b)) / b)",
)


def _logaddexp(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind != "c":
        return np.logaddexp(a, b)
    is_first = np.real(a) >= np.real(b)
    larger, smaller = np.where(is_first, a, b), np.where(is_first, b, a)
    is_infinite = np.isinf(np.real(larger)) & (larger == smaller)
    return np.where(is_infinite, larger, larger + np.log1p(np.exp(smaller - larger)))


logaddexp = elementwise(
    "logaddexp",
    _logaddexp,
    (lambda g, a, b: g / (1 + exp(b - a)), lambda g, a, b: g / (1 + exp(a - b))),
    casts=floating_or_complex,
    torch=lambda torch, a, b: torch.logaddexp(a, b),
    kernel=f"where(a == b, a + T({LN2}), where(a > b, a, b) + log1p(exp(-abs(a - b))))",
)

logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    (lambda g, a, b: g / (1 + exp2(b - a)), lambda g, a, b: g / (1 + exp2(a - b))),
    casts=floating,
    torch=lambda torch, a, b: torch.logaddexp2(a, b),
    kernel=f"where(a == b, a + T(1), where(a > b, a, b) + log1p(exp2(-abs(a - b))) / T({LN2}))",
)


def _times_log(function: Any) -> Any:
    """Return a times the function of b, which is 0 for a zero a (but NaN where b is)."""
    return in_single(lambda a, b: np.where(np.equal(a, 0) & ~np.isnan(b), 0, a * function(b)))


xlogy: Primitive = elementwise(
    "xlogy",
    _times_log(np.log),
    (lambda g, a, b: where((a == 0) & (b <= 0), 0, xlogy(g, b)), lambda g, a, b: g * a / b),
    casts=real_to_float,
    domain=((-2.0, 2.0), (0.5, 2.0)),
    torch=lambda torch, a, b: torch.xlogy(a, b),
    kernel="where((a == T(0)) & (b == b), T(0), a * log(b))",
)

xlog1py: Primitive = elementwise(
    "xlog1py",
    _times_log(np.log1p),
    (lambda g, a, b: where((a == 0) & (b <= -1), 0, xlog1py(g, b)), lambda g, a, b: g * a / (b + 1)),
    casts=real_to_float,
    domain=((-2.0, 2.0), (-0.5, 2.0)),
    torch=lambda torch, a, b: torch.special.xlog1py(a, b),
    grad_name="SpecialXlog1PyBackward0",
    kernel="where((a == T(0)) & (b == b), T(0), a * log1p(b))",
)
