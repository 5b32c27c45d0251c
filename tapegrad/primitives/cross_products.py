"""The cross product. It is bilinear, and its transposes are cross products themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching, type_rules
from .declare import Sample, linear


def _cross(a: Any, b: Any, axis: int) -> Any:
    result = np.empty(np.broadcast(a, b).shape, a.dtype)
    a, b, to = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0), np.moveaxis(result, axis, 0)
    for place, (after, before) in enumerate(((1, 2), (2, 0), (0, 1))):
        np.subtract(a[after] * b[before], a[before] * b[after], out=to[place, ...])
    return result


def _type(a: Type, b: Type, axis: int) -> Any:
    if a.dtype is dtypes.bool:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    return a.dtype, type_rules.broadcast_shapes("linalg_cross", a.shape, b.shape)


def _samples() -> list[Sample]:
    random = np.random.default_rng(0)
    shapes = [((3,), (3,), -1), ((4, 3), (4, 3), -1), ((2, 4, 3), (1, 1, 3), -1), ((3, 4), (3, 1), -2), ((0, 3), (1, 3), -1)]
    samples = [Sample(random.standard_normal(a), random.standard_normal(b), axis=axis) for a, b, axis in shapes]
    whole = random.standard_normal((6, 6))
    return [*samples, Sample(whole[::2, ::-2], whole[3:, :3].T, axis=-1)]


# The axis is counted from the end, so that broadcasting adds dimensions before it.
cross: Any = linear(
    "cross",
    _cross,
    _type,
    transpose=(lambda g, b, axis: cross(b, g, axis=axis), lambda g, a, axis: cross(g, a, axis=axis)),
    parameters=("axis",),
    batch=batching.elementwise,
    samples=_samples,
    torch=lambda torch, a, b, axis: torch.linalg.cross(a, b, dim=axis),
    grad_name="LinalgCrossBackward0",
)
