"""Records that cost nothing when run: they mark on the tape where a value loses or keeps a history."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.types import Type
from . import batching
from .declare import Primitive, Sample, linear


def _same_type(a: Type, *_others: Type) -> Any:
    return a.dtype, a.shape, a.strides


def _samples() -> list[Sample]:
    return [Sample(np.arange(6.0).reshape(2, 3)), Sample(np.float64(2.0))]


detach = Primitive(
    "detach",
    lambda a: a,
    _same_type,
    batch=batching.leading,
    samples=_samples,
    torch=lambda torch, a: a.detach(),
)

# The value of b with the history of a: an edit of a's data that the tape is not to see.
assign = linear(
    "assign",
    lambda a, b: b,
    _same_type,
    transpose=(lambda g: g, None),
    batch=batching.elementwise,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), np.ones((2, 3)))],
    torch=lambda torch, a, b: b.detach() + (a - a.detach()),
)
assign.transparent = True
