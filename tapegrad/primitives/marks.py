"""Records that cost nothing when run: they mark on the tape where a value loses or keeps a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tape.constants import zeros_of
from ..tape.segment import state
from ..tape.types import Type
from . import batching
from .declare import Primitive, Sample, other


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

def _assign_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool]) -> Any:
    size = batching.batch_size(operands, batched)
    a, b = [o if has else batching.expanded(o, (size, *o.shape)) for o, has in zip(operands, batched, strict=True)]
    return primitive(a, b)


# The value of b with the history of a: an edit of a's data that the tape is not to see.
assign = other(
    "assign",
    lambda a, b: b,
    _same_type,
    vjp=lambda g: (g, None),
    jvp=lambda g: g[0],
    batch=_assign_batch,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), np.ones((2, 3)))],
    torch=lambda torch, a, b: b.detach() + (a - a.detach()),
)
assign.transparent = True

# The value of a. The tape sees that it depends on b too, with a derivative of zero.
tie = other(
    "tie",
    lambda a, b: a,
    _same_type,
    vjp=lambda g, types: (g, zeros_of(types[1])),
    jvp=lambda g: g[0],
    batch=_assign_batch,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), np.ones((2, 3)))],
    torch=lambda torch, a, b: a + (b * 0).to(a.dtype),
)


def tied(cotangent: Any, kept: Any, name: str) -> Any:
    """Return a rule's result that, where its graph is created, depends on the value that PyTorch keeps for it.

    A mask made from a value has no derivative; PyTorch's gradient then has a second derivative of zero, not none. `name`
    is what ``grad_fn`` shows.
    """
    return tie(cotangent, kept, name=name) if state.grad_enabled else cotangent


# The value of a, which PyTorch keeps for the derivative of what is composed from here on: see `tied`.
keep = other(
    "keep",
    lambda a, shown: a,
    lambda a, shown: _same_type(a),
    parameters=("shown",),
    vjp=lambda g, a, shown: tied(g, a, shown),
    jvp=lambda g: g[0],
    batch=batching.leading,
    samples=lambda: [Sample(np.arange(6.0).reshape(2, 3), shown="CopyBackwards"), Sample(np.float64(2.0), shown="CopyBackwards")],
    torch=lambda torch, a, shown: a.clone(),
)
keep.transparent = True
