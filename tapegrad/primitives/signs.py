"""Signs, magnitudes, and the parts of complex numbers. They are part of arithmetic's names.

The functions of complex numbers here are not holomorphic, so they have a VJP and a JVP of their own. The cotangent of a
complex z stands for dL/dx + i dL/dy, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import BOOL, COMPLEX
from ..tape.constants import zeros_of
from ..tape.types import Type
from . import batching, type_rules
from .declare import Primitive, Sample, elementwise, other
from .precision import floating, real_to_float, refusing, type_rule_of
from .selection import where
from .type_rules import Casts, promoted, to_real

INFINITY = float("inf")


def _zero(g: Any, rtype: Type) -> Any:
    return zeros_of(rtype)


def _complex_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    z = random.uniform(-2.0, 2.0, (4, 6)) + 1j * random.uniform(-2.0, 2.0, (4, 6))
    return [Sample(part) for part in (z, z.T[::2], z[0, 0], z[:0])]


def _samples() -> list[Sample]:
    return _complex_samples() + [Sample(sample.operands[0].real) for sample in _complex_samples()]


# Sign and magnitude


def _sign(a: Any) -> Any:
    """NaN has the sign 0, as in PyTorch."""
    if a.dtype.kind == "b":
        return a
    return np.greater(a, 0).astype(a.dtype) - np.less(a, 0).astype(a.dtype)


_SIGN_KERNEL = "where(a > T(0), T(1), where(a < T(0), T(-1), T(0)))"


def _sgn(a: Any) -> Any:
    if a.dtype.kind != "c":
        return _sign(a)
    magnitude = np.abs(a)
    return np.where(magnitude == 0, 0, a / magnitude)


def _sgn_rule(g: Any, a: Any, r: Any, rtype: Type) -> Any:
    """The part of g across the direction of r, over the magnitude: this map is its own transpose."""
    if not rtype.dtype.is_complex:
        return zeros_of(rtype)
    magnitude = absolute(a)
    return where(magnitude == 0, 0, (g - r * real(conj(r) * g)) / magnitude)


def _sgn_jvp(g: Any, a: Any, r: Any, rtype: Type) -> Any:
    return _sgn_rule(g[0], a, r, rtype)


sign = elementwise(
    "sign",
    _sign,
    (_zero,),
    casts=refusing(
        promoted,
        COMPLEX,
        message="Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    ),
    torch=lambda torch, a: torch.sign(a),
    kernel=_SIGN_KERNEL,
    kernel_on="any",
)

sgn = other(
    "sgn",
    _sgn,
    type_rule_of("sgn", promoted),
    vjp=_sgn_rule,
    jvp=_sgn_jvp,
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a: torch.sgn(a),
    casts=promoted,
    kernel=_SIGN_KERNEL,
    kernel_on="any",
)


def _absolute_jvp(g: Any, a: Any, types: Sequence[Type]) -> Any:
    if types[0].dtype.is_complex:
        return real(conj(sgn(a)) * g[0])
    return g[0] * sgn(a)


_absolute_casts = refusing(to_real, BOOL, message="\"abs_cpu\" not implemented for '{dtype}'")

absolute = other(
    "absolute",
    np.absolute,
    type_rule_of("absolute", _absolute_casts),
    vjp=lambda g, a: g * sgn(a),
    jvp=_absolute_jvp,
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a: torch.abs(a),
    grad_name="AbsBackward0",
    casts=_absolute_casts,
    kernel="abs(a)",
    kernel_on="number",
)

copysign = elementwise(
    "copysign",
    np.copysign,
    (lambda g, a, r: g * where(a == 0, 0, r / a), _zero),
    casts=real_to_float,
    torch=lambda torch, a, b: torch.copysign(a, b),
    kernel="copysign(a, b)",
)

nextafter = elementwise(
    "nextafter",
    np.nextafter,
    (lambda g, a, b: where(a == b, 0, g), _zero),
    casts=floating,
    torch=lambda torch, a, b: torch.nextafter(a, b),
)

# The parts of complex numbers


def _conj_of_first(g: Any) -> Any:
    return conj(g[0])


conj: Primitive = other(
    "conj",
    lambda a: np.conjugate(a) if a.dtype.kind == "c" else a,
    type_rule_of("conj", promoted),
    vjp=lambda g: conj(g),
    jvp=_conj_of_first,
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a: torch.conj(a).resolve_conj(),
    kernel="a",
    kernel_on="any",
)


def _part_type(name: str) -> Callable[[Type], Any]:
    """Return the type rule of real or imag: a view, every second element of the memory of complex numbers."""

    def type_rule(a: Type) -> Any:
        if a.dtype.is_complex:
            return a.dtype.to_real(), a.shape, tuple([2 * stride for stride in a.strides])
        if name == "imag":
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return a.dtype, a.shape, a.strides

    return type_rule


def _real_jvp(g: Any) -> Any:
    return real(g[0])


def _imag_jvp(g: Any) -> Any:
    return imag(g[0])


real = other(
    "real",
    lambda a: a.real,
    _part_type("real"),
    vjp=lambda g: g,
    jvp=_real_jvp,
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a: torch.real(a),
    grad_name="SelectBackward0",
)

imag = other(
    "imag",
    lambda a: a.imag,
    _part_type("imag"),
    vjp=lambda g: g * 1j,
    jvp=_imag_jvp,
    batch=batching.elementwise,
    samples=_complex_samples,
    torch=lambda torch, a: torch.imag(a),
    grad_name="SelectBackward0",
)


def _angle_casts(name: str, types: Sequence[Type]) -> Casts:
    dtype = type_rules.promoted_to_float(name, types)[0]
    return dtype, dtype.to_real()


def _angle(a: Any) -> Any:
    if a.dtype.kind == "c":
        return np.arctan2(a.imag, a.real)
    return np.where(np.isnan(a), a, np.where(a < 0, np.asarray(np.pi, a.dtype), np.asarray(0, a.dtype)))


def _angle_vjp(g: Any, a: Any, types: Sequence[Type]) -> Any:
    if not types[0].dtype.is_complex:
        return zeros_of(types[0])
    magnitude = absolute(a)
    length = where(magnitude == 0, INFINITY, magnitude)  # the cotangent is 0 at 0
    return g * (a / length * 1j) / length


def _angle_jvp(g: Any, a: Any, types: Sequence[Type], rtype: Type) -> Any:
    if not types[0].dtype.is_complex:
        return zeros_of(rtype)
    magnitude = absolute(a)
    length = where(magnitude == 0, INFINITY, magnitude)
    return imag(conj(a / length) * g[0]) / length


angle = other(
    "angle",
    _angle,
    type_rule_of("angle", _angle_casts),
    vjp=_angle_vjp,
    jvp=_angle_jvp,
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a: torch.angle(a),
    casts=_angle_casts,
    kernel=f"where(a != a, a, where(a < T(0), T({np.pi}), T(0)))",
)


def _complex_casts(name: str, types: Sequence[Type]) -> Casts:
    first, second = (t.dtype for t in types)
    if not (first.is_floating_point and second.is_floating_point) or dtypes.bfloat16 in (first, second):
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {first.title} and {second.title}")
    if first is not second:
        raise RuntimeError(f"Expected object of scalar type {first.title} but got scalar type {second.title} for second argument")
    if first is dtypes.float16:
        raise RuntimeError("complex: there is no complex dtype whose parts are float16; use float32")
    return first, first.to_complex()


def _make_complex(a: Any, b: Any) -> Any:
    a, b = np.broadcast_arrays(a, b)
    result = np.empty(a.shape, np.result_type(a, np.complex64))
    result.real = a
    result.imag = b
    return result


make_complex = elementwise(
    "make_complex",
    _make_complex,
    (lambda g: g, lambda g: g * 1j),
    casts=_complex_casts,
    torch=lambda torch, a, b: torch.complex(a, b),
    grad_name="ComplexBackward0",
)
