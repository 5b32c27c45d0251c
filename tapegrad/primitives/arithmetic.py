"""Arithmetic: sums, products, quotients, powers and roots.

Signs and complex parts, and division that rounds, are in files of their own, and are part of this module's names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import BOOL
from ..tape.constants import zeros_of
from ..tape.types import Type
from . import batching, type_rules
from .casting import cast
from .declare import Primitive, Sample, elementwise, other
from .division import div_floor, floor_divide, fmod, remainder, trunc_divide
from .marks import tied
from .precision import floating, in_single, refusing
from .selection import where
from .signs import absolute, angle, conj, copysign, imag, make_complex, nextafter, real, sgn, sign
from .type_rules import Casts, promoted, promoted_to_float

__all__ = [
    "absolute",
    "add",
    "angle",
    "conj",
    "copysign",
    "div",
    "div_floor",
    "floor_divide",
    "fmod",
    "frexp",
    "hypot",
    "imag",
    "integer_power",
    "ldexp",
    "make_complex",
    "mul",
    "neg",
    "nextafter",
    "power",
    "real",
    "reciprocal",
    "remainder",
    "rsqrt",
    "sgn",
    "share",
    "sign",
    "sqrt",
    "sub",
    "trunc_divide",
]

LN2 = 0.6931471805599453

# Sums, products, quotients


def _subtractable(name: str, types: Sequence[Type]) -> Casts:
    booleans = [t.dtype is dtypes.bool for t in types]
    if all(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if any(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return promoted(name, types)


_negatable = refusing(
    promoted,
    BOOL,
    message="Negation, the `-` operator, on a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    error=RuntimeError,
)

add = elementwise("add", np.add, (lambda g: g, lambda g: g), torch=lambda torch, a, b: a + b, kernel="a + b", kernel_on="any")

sub = elementwise(
    "sub",
    np.subtract,
    (lambda g: g, lambda g: -g),
    casts=_subtractable,
    torch=lambda torch, a, b: a - b,
    kernel="a - b",
    kernel_on="number",
)

mul = elementwise(
    "mul",
    np.multiply,
    (lambda g, b: g * b, lambda g, a: g * a),
    torch=lambda torch, a, b: a * b,
    kernel="a * b",
    kernel_on="any",
)

neg = elementwise(
    "neg",
    np.negative,
    (lambda g: -g,),
    casts=_negatable,
    torch=lambda torch, a: -a,
    kernel="-a",
    kernel_on="number",
)

div = elementwise(
    "div",
    np.true_divide,
    (lambda g, b: g / b, lambda g, a, b: -g * ((a / b) / b)),
    casts=promoted_to_float,
    domain=((-2.0, 2.0), (0.5, 2.0)),
    torch=lambda torch, a, b: a / b,
    kernel="a / b",
)

reciprocal = elementwise(
    "reciprocal",
    lambda a: np.true_divide(1, a),
    (lambda g, r: -g * (r * r),),
    casts=promoted_to_float,
    domain=(0.5, 2.0),
    torch=lambda torch, a: torch.reciprocal(a),
    kernel="T(1) / a",
)

# Division by a count (a number), as a mean does. A count is like a shape: what keeps it is never released.
share: Primitive = elementwise(
    "share",
    np.true_divide,
    (lambda g, b: share(g, b), None),
    casts=promoted_to_float,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), 4), Sample(np.float64(3.0), 2), Sample(np.ones((0, 2)), 0)],
    torch=lambda torch, a, b: a / b,
    kernel="a / b",
)
share.linear_in = (0,)

# A factor (a number) that is part of an operation, such as alpha in a sum: PyTorch never releases it either.
scale: Primitive = elementwise(
    "scale",
    np.multiply,
    (lambda g, b: scale(g, b), None),
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), 0.5), Sample(np.float64(3.0), 2), Sample(np.ones((0, 2)), 1.5)],
    torch=lambda torch, a, b: a * b,
    kernel="a * b",
    kernel_on="number",
)
scale.linear_in = (0,)


def _add_multiple(a: Any, b: Any, factor: Any) -> Any:
    return np.add(a, np.multiply(b, factor))


def _add_multiple_of_arrays(a: Any, b: Any, factor: Any) -> Any:
    product = np.multiply(b, factor)
    return np.add(a, product, out=product)


def _of_equal_arrays(types: Any) -> Any:
    """Choose the sum that needs no memory of its own, for floats of one shape."""
    a, b, factor = types
    equal = a.shape == b.shape and a.ndim > 0 and a.dtype is b.dtype and a.strides == b.strides
    return _add_multiple_of_arrays if equal and a.dtype in _NATIVE_FLOATS and factor.dtype.category <= a.dtype.category else None


_NATIVE_FLOATS = (dtypes.float32, dtypes.float64)

# a + factor * b, as an optimiser's step needs it: one record; the factor is a number, and not released.
add_multiple: Primitive = elementwise(
    "add_multiple",
    _add_multiple,
    (lambda g: g, lambda g, c: scale(g, c), None),
    casts=lambda name, types: promoted(name, types[:2]),
    samples=lambda: [
        Sample(np.arange(6.0).reshape(2, 3), np.ones((2, 3)), -0.5),
        Sample(np.arange(3.0), np.arange(6.0).reshape(2, 3), 2),
        Sample(np.float64(3.0), np.float64(1.5), 2.0),
        Sample(np.ones((0, 2)), np.ones(2), 1.5),
    ],
    torch=lambda torch, a, b, factor: torch.add(a, b, alpha=factor),
    grad_name="AddBackward0",
    kernel="a + b * c",
    kernel_on="any",
)
add_multiple.linear_in = (0, 1)
add_multiple.jointly = True
add_multiple.specialise = _of_equal_arrays

# Powers and roots


def _power(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind in "iu":
        return _power_of_integers(a, b)
    return np.power(a, b)


def _power_of_integers(a: Any, b: Any) -> Any:
    """A negative exponent gives the reciprocal without its fraction: 0 but for the bases 1 and -1."""
    negative = b < 0
    if not np.any(negative):
        return np.power(a, b)
    reciprocals = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(negative, reciprocals, np.power(a, np.where(negative, 0, b)))


def _power_base_rule(g: Any, a: Any, b: Any, rtype: Type) -> Any:
    exponent = cast(b, dtype=rtype.dtype)  # a Python number must not lose precision in what follows
    return where(exponent == 0, 0, g * (exponent * power(a, exponent - 1)))


def _power_exponent_rule(g: Any, a: Any, b: Any, r: Any, rtype: Type) -> Any:
    from .transcendental import log

    base, exponent = cast(a, dtype=rtype.dtype), cast(b, dtype=rtype.dtype)
    if rtype.dtype.is_complex:
        is_flat = (base == 0) & (imag(exponent) == 0) & (real(exponent) >= 0)
    else:
        is_flat = (base == 0) & (exponent >= 0)
    return g * where(is_flat, 0, r * log(base))


power = elementwise(
    "power",
    _power,
    (_power_base_rule, _power_exponent_rule),
    casts=refusing(promoted, BOOL, message="\"pow\" not implemented for '{dtype}'"),
    domain=((0.5, 2.0), (-2.0, 2.0)),
    torch=lambda torch, a, b: torch.pow(a, b),
    grad_name="PowBackward1",
    kernel="pow(a, b)",
)


def _integer_power(a: Any, n: int) -> Any:
    if n == 1:
        return a
    if n == 2:
        return np.multiply(a, a)
    if n == 3:
        return np.multiply(np.multiply(a, a), a)
    if n == -1:
        return np.true_divide(1, a)
    if n == -2:
        return np.true_divide(1, np.multiply(a, a))
    return np.power(a, np.asarray(n).astype(a.dtype))


def _integer_power_kernel(types: Sequence[Type], n: int) -> str | None:
    """Multiply for small exponents, which is as exact as a power and many times faster."""
    if n in _PRODUCTS:
        return _PRODUCTS[n]
    if types[0].dtype.category < dtypes.FLOAT:
        return None
    return f"T(1) / ({_PRODUCTS[-n]})" if n in (-1, -2) else f"pow(a, T({n}))"


_PRODUCTS = {0: "T(1)", 1: "a", 2: "a * a", 3: "a * a * a", 4: "(a * a) * (a * a)"}


def _integer_power_casts(name: str, types: Sequence[Type]) -> Casts:
    dtype = dtypes.int64 if types[0].dtype is dtypes.bool else types[0].dtype
    return dtype, dtype


def _integer_power_type(a: Type, n: int) -> Any:
    dtype, _ = _integer_power_casts("integer_power", (a,))
    if n < 0 and dtype.category < dtypes.FLOAT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return dtype, *type_rules.broadcast("integer_power", (a,))


def _integer_power_rule(g: Any, a: Any, n: int, rtype: Type) -> Any:
    if n == 0:
        return zeros_of(rtype)
    if n == 1:
        return tied(g, a, "MulBackward0")
    return g * (n * integer_power(a, n=n - 1))


def _integer_power_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    base = random.uniform(0.5, 2.0, (3, 4)) * random.choice([-1.0, 1.0], (3, 4))
    exponents = [Sample(base, n=n) for n in (-3, -2, -1, 0, 1, 2, 3, 7)]
    parts = [Sample(part, n=3) for part in (base.T[::2], base[0, 0], base[:0], np.arange(-4, 5))]
    return exponents + parts


# The operator ** with a Python integer.
integer_power = Primitive(
    "integer_power",
    in_single(_integer_power),
    _integer_power_type,
    parameters=("n",),
    derivatives=(_integer_power_rule,),
    casts=_integer_power_casts,
    batch=batching.elementwise,
    samples=_integer_power_samples,
    torch=lambda torch, a, n: torch.pow(a, n),
    grad_name="PowBackward0",
    kernel=_integer_power_kernel,
    kernel_on="number",
)

sqrt = elementwise(
    "sqrt",
    np.sqrt,
    (lambda g, r: g / (2 * r),),
    casts=promoted_to_float,
    domain=(0.5, 2.0),
    torch=lambda torch, a: torch.sqrt(a),
    kernel="sqrt(a)",
)

rsqrt = elementwise(
    "rsqrt",
    in_single(lambda a: np.true_divide(1, np.sqrt(a))),
    (lambda g, r: -0.5 * g * r**3,),
    casts=promoted_to_float,
    domain=(0.5, 2.0),
    torch=lambda torch, a: torch.rsqrt(a),
    kernel="T(1) / sqrt(a)",
)

# The larger magnitude, times the hypotenuse of 1 and the ratio; infinite where an operand is, even if the other is NaN.
_LARGER, _SMALLER = [f"where(abs(a) > abs(b), abs({a}), abs({b}))" for a, b in ("ab", "ba")]
_HYPOT = f"{_LARGER} * sqrt(T(1) + {_SMALLER} / {_LARGER} * ({_SMALLER} / {_LARGER}))"
_HYPOT_KERNEL = f"where(isinf(a) | isinf(b), T(inf), where({_LARGER} == T(0), {_SMALLER}, {_HYPOT}))"

hypot = elementwise(
    "hypot",
    np.hypot,
    (lambda g, a, r: g * (a / r), lambda g, b, r: g * (b / r)),
    casts=floating,
    torch=lambda torch, a, b: torch.hypot(a, b),
    kernel=_HYPOT_KERNEL,
)

# Powers of two


def _ldexp_samples() -> list[Sample]:
    """Float exponents of some length: PyTorch's derivative is wrong for integers, and its tangent is float64 for 0-d."""
    a, b = np.random.default_rng(0).uniform(-2.0, 2.0, (2, 4, 6))
    return [Sample(*pair) for pair in [(a, b), (a.T[::2], b.T[::2]), (a[:, :1], b[0]), (a[:0], b[:0])]]


ldexp: Primitive = elementwise(
    "ldexp",
    in_single(lambda a, b: np.multiply(a, np.exp2(b))),
    (lambda g, b: ldexp(g, b), lambda g, r: g * r * LN2),
    casts=promoted_to_float,
    samples=_ldexp_samples,
    torch=lambda torch, a, b: torch.ldexp(a, b),
    kernel="a * exp2(b)",
)


def _frexp_type(a: Type) -> Any:
    if not a.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    layout = type_rules.broadcast("frexp", (a,))
    return (a.dtype, *layout), (dtypes.int32, *layout)


def _frexp_rule(g: Any, r1: Any, types: Sequence[Type]) -> Any:
    return ldexp(g[0], cast(-r1, dtype=types[0].dtype))


def _frexp_samples() -> list[Sample]:
    a = np.random.default_rng(0).uniform(-5.0, 5.0, (4, 6))
    return [Sample(part) for part in (a, a.T[::2], a[0, 0], a[:0])]


frexp = other(
    "frexp",
    np.frexp,
    _frexp_type,
    vjp=_frexp_rule,
    jvp=lambda g, r1, types: (_frexp_rule(g, r1, types), None),
    results=2,
    batch=batching.elementwise,
    samples=_frexp_samples,
    torch=lambda torch, a: torch.frexp(a),
)
