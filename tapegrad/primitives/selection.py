"""Selection: each element of the result is one of the operands' (or a multiple of it), chosen by comparing.

At ties and edges the derivatives are PyTorch's choices, and what is not chosen gets an exact zero (never zero times an
infinite or NaN cotangent).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import BOOL, COMPLEX
from ..tape.types import Type
from . import batching, type_rules
from .declare import Primitive, Sample, elementwise
from .marks import tied
from .precision import first_floating, in_single, of_first, refusing
from .type_rules import promoted

# Where


def _where_type(c: Type, a: Type, b: Type) -> Any:
    if c.dtype not in (dtypes.bool, dtypes.uint8):
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {c.dtype.title}")
    return type_rules.result_dtype((a, b)), *type_rules.broadcast("where", (c, a, b))


def _where_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    c = random.random((3, 4)) < 0.5
    a, b = random.uniform(-2.0, 2.0, (2, 3, 4))
    return [
        Sample(c, a, b),
        Sample(c, a[0], b[:, :1]),
        Sample(c[0], a[0, 0], b),
        Sample(c[:, 0, None], a[0], np.float64(2.0)),
        Sample(c, a, 0.5),
        Sample(c.T[::2], a.T[::2], b.T[::2]),
        Sample(np.bool_(True), a[0, 0], b[0, 0]),
        Sample(c[:0], a[:0], b[:0]),
    ]


where: Primitive = Primitive(
    "where",
    np.where,
    _where_type,
    derivatives=(None, lambda g, a: where(a, g, 0), lambda g, a: where(a, 0, g)),
    batch=batching.elementwise,
    samples=_where_samples,
    torch=lambda torch, c, a, b: torch.where(c, a, b),
    kernel=lambda types: "where(a, T(b), T(c))" if types[0].dtype is dtypes.bool else None,
    kernel_on="any",
)

# The larger and the smaller. A tie of maximum and minimum is shared, one of fmax and fmin goes to the first operand.

_comparable = refusing(promoted, COMPLEX, message="{name} not implemented for complex tensors.", error=RuntimeError)


def _larger(a: str, b: str) -> str:
    """Return the kernel of the larger, NaN where either is."""
    return f"where(({a} > {b}) | ({a} != {a}), {a}, {b})"


def _smaller(a: str, b: str) -> str:
    return f"where(({a} < {b}) | ({a} != {a}), {a}, {b})"


maximum = elementwise(
    "maximum",
    np.maximum,
    (
        lambda g, a, b: where(a < b, 0, where(a == b, g / 2, g)),
        lambda g, a, b: where(a > b, 0, where(a == b, g / 2, g)),
    ),
    casts=_comparable,
    torch=lambda torch, a, b: torch.maximum(a, b),
    kernel=_larger("a", "b"),
    kernel_on="any",
)

minimum = elementwise(
    "minimum",
    np.minimum,
    (
        lambda g, a, b: where(a > b, 0, where(a == b, g / 2, g)),
        lambda g, a, b: where(a < b, 0, where(a == b, g / 2, g)),
    ),
    casts=_comparable,
    torch=lambda torch, a, b: torch.minimum(a, b),
    kernel=_smaller("a", "b"),
    kernel_on="any",
)

fmax = elementwise(
    "fmax",
    np.fmax,
    (
        lambda g, a, b: where((a >= b) | (b != b), g, 0),
        lambda g, a, b: where((a >= b) | (b != b), 0, g),
    ),
    casts=_comparable,
    torch=lambda torch, a, b: torch.fmax(a, b),
    kernel="where((a >= b) | (b != b), a, b)",
    kernel_on="any",
)

fmin = elementwise(
    "fmin",
    np.fmin,
    (
        lambda g, a, b: where((a <= b) | (b != b), g, 0),
        lambda g, a, b: where((a <= b) | (b != b), 0, g),
    ),
    casts=_comparable,
    torch=lambda torch, a, b: torch.fmin(a, b),
    kernel="where((a <= b) | (b != b), a, b)",
    kernel_on="any",
)

# Clamping. At an edge the derivative is 1; hardtanh is the same function with derivative 0 there.

_clampable = refusing(promoted, COMPLEX, message="clamp is not supported for complex types")


def _clamp(a: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


_CLAMP_KERNEL = _smaller(_larger("a", "b"), "c")


def _bounded_samples(bounds: int) -> list[Sample]:
    random = np.random.default_rng(0)
    a = random.uniform(-2.0, 2.0, (3, 4))
    numbers = (-0.7, 0.6)[:bounds]
    arrays = [number + random.uniform(-0.1, 0.1, (4,)) for number in numbers]
    arrays_of_a = [Sample(a, *arrays), Sample(a[0], *arrays), Sample(a[0, 0], *[array[0] for array in arrays])]
    return [Sample(a, *numbers), Sample(a.T[::2], *numbers), Sample(a[:0], *numbers), *arrays_of_a]


clamp = elementwise(
    "clamp",
    _clamp,
    (
        lambda g, a, b, c: where((a >= b) & (a <= c), g, 0),
        lambda g, a, b, c: where((a < b) & (b < c), g, 0),
        lambda g, a, b, c: where((a > c) | (c < b), g, 0),
    ),
    casts=_clampable,
    samples=lambda: _bounded_samples(2),
    torch=lambda torch, a, low, high: torch.clamp(a, low, high),
    grad_name="ClampBackward1",
    kernel=_CLAMP_KERNEL,
    kernel_on="any",
)

clamp_min = elementwise(
    "clamp_min",
    np.maximum,
    (lambda g, a, b: where(a >= b, g, 0), lambda g, a, b: where(a < b, g, 0)),
    casts=_clampable,
    samples=lambda: _bounded_samples(1),
    torch=lambda torch, a, low: torch.clamp(a, min=low),
    kernel=_larger("a", "b"),
    kernel_on="any",
)

clamp_max = elementwise(
    "clamp_max",
    np.minimum,
    (lambda g, a, b: where(a <= b, g, 0), lambda g, a, b: where(a > b, g, 0)),
    casts=_clampable,
    samples=lambda: _bounded_samples(1),
    torch=lambda torch, a, high: torch.clamp(a, max=high),
    kernel=_smaller("a", "b"),
    kernel_on="any",
)

hardtanh = elementwise(
    "hardtanh",
    _clamp,
    (lambda g, a, b, c: tied(where((a <= b) | (a >= c), 0, g), a, "HardtanhBackwardBackward0"), None, None),
    casts=of_first(refusing(_clampable, BOOL, message="Bool inputs not supported for hardtanh", error=RuntimeError)),
    samples=lambda: _bounded_samples(2)[:3],
    torch=lambda torch, a, low, high: torch.nn.functional.hardtanh(a, low, high),
    kernel=_CLAMP_KERNEL,
    kernel_on="number",
)

# Rectifiers

relu = elementwise(
    "relu",
    lambda a: np.maximum(a, 0),
    (lambda g, r: tied(where(r <= 0, 0, g), r, "ThresholdBackwardBackward0"),),
    casts=refusing(_clampable, BOOL, message="Boolean inputs not supported for relu", error=RuntimeError),
    torch=lambda torch, a: torch.relu(a),
    kernel="where(a < T(0), T(0), a)",
    kernel_on="number",
)


def _leaky_relu(a: Any, slope: Any) -> Any:
    return np.where(np.greater(a, 0), a, np.multiply(a, slope))


def _leaky_relu_samples() -> list[Sample]:
    a = np.random.default_rng(0).uniform(-2.0, 2.0, (4, 6))
    return [Sample(a, 0.1), Sample(a.T[::2], -0.5), Sample(a[0, 0], 0.1), Sample(a[:0], 0.1)]


# The slope is a number, or for prelu and rrelu a tensor that broadcasts against the operand.
leaky_relu = elementwise(
    "leaky_relu",
    in_single(_leaky_relu),
    (lambda g, a, b: tied(where(a > 0, g, g * b), a, "LeakyReluBackwardBackward0"), lambda g, a: where(a > 0, 0, a * g)),
    casts=first_floating,
    samples=_leaky_relu_samples,
    torch=lambda torch, a, slope: torch.nn.functional.leaky_relu(a, slope),
    kernel="where(a > T(0), a, a * b)",
)

# Replacing what is not finite


def _nan_to_num(a: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    a = np.asarray(a)
    if a.dtype.kind == "c":
        result = np.empty_like(a)
        result.real = _nan_to_num(a.real, nan, posinf, neginf)
        result.imag = _nan_to_num(a.imag, nan, posinf, neginf)
        return result
    if a.dtype.kind in "biu":
        return a
    result = np.where(np.isnan(a), np.asarray(nan, a.dtype), a)
    result = np.where(a == np.inf, np.asarray(posinf, a.dtype), result)
    return np.where(a == -np.inf, np.asarray(neginf, a.dtype), result)


def _nan_to_num_rule(g: Any, a: Any) -> Any:
    from .comparison import isfinite

    return where(isfinite(a), g, 0)


def _nan_to_num_samples() -> list[Sample]:
    a = np.random.default_rng(0).uniform(-2.0, 2.0, (4, 6))
    return [Sample(part, 0.5, 100.0, -100.0) for part in (a, a.T[::2], a[0, 0], a[:0])]


nan_to_num = elementwise(
    "nan_to_num",
    _nan_to_num,
    (_nan_to_num_rule, None, None, None),
    casts=of_first(promoted),
    samples=_nan_to_num_samples,
    torch=lambda torch, a, nan, posinf, neginf: torch.nan_to_num(a, nan, posinf, neginf),
    kernel="where(a != a, b, where(a == T(inf), c, where(a == T(-inf), d, a)))",
)
