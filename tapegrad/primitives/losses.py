"""Losses whose derivative is not the one that their composition would have."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from .declare import Sample, elementwise
from .precision import in_single
from .selection import clamp_min
from .transcendental import log, log1p
from .type_rules import Casts, promoted

_LEAST_LOGARITHM = -100.0
_LEAST_VARIANCE = 1e-12


def _check_probabilities(a: Any, what: str) -> None:
    if not ((a >= 0) & (a <= 1)).all():
        raise RuntimeError(f"all elements of {what} should be between 0 and 1")


def _binary_cross_entropy(a: Any, b: Any) -> Any:
    _check_probabilities(a, "input")
    _check_probabilities(b, "target")
    if_one, if_zero = np.maximum(np.log(a), _LEAST_LOGARITHM), np.maximum(np.log1p(-a), _LEAST_LOGARITHM)
    return (b - 1) * if_zero - b * if_one


def _casts(name: str, types: tuple[Type, ...]) -> Casts:
    first, second = types
    if first.dtype.category < dtypes.FLOAT or first.dtype.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{first.dtype.title}'")
    if second.dtype is not first.dtype:
        raise RuntimeError(f"Found dtype {second.dtype.title} but expected {first.dtype.title}")
    return promoted(name, types)


def _samples() -> list[Sample]:
    random = np.random.default_rng(0)
    a, b = random.uniform(0.1, 0.9, (2, 4, 6))
    return [Sample(a, b), Sample(a.T[::2], b.T[::2]), Sample(a[0, 0], b[0, 0]), Sample(a[:0], b[:0])]


# Logarithms are at least -100, but the derivative is that of the logarithms, divided by not too small a number.
binary_cross_entropy = elementwise(
    "binary_cross_entropy",
    in_single(_binary_cross_entropy),
    (
        lambda g, a, b: g * (a - b) / clamp_min((1 - a) * a, _LEAST_VARIANCE),
        lambda g, a: g * (clamp_min(log1p(-a), _LEAST_LOGARITHM) - clamp_min(log(a), _LEAST_LOGARITHM)),
    ),
    casts=_casts,
    samples=_samples,
    torch=lambda torch, a, b: torch.nn.functional.binary_cross_entropy(*torch.broadcast_tensors(a, b), reduction="none"),
)
