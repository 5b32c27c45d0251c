"""The adjoints of every value in a history, computed beside the tape.

The segments are copied, every value that is known among their residuals, and the reverse sweep runs over the copies.
So what the user's tape has recorded, kept and released stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd.engine import grad
from ..tape.constants import zeros_of
from ..tape.record import read
from ..tape.segment import Segment, state
from ..tape.trace import LEAF, SEALED
from ..tape.types import Type
from ..tensor import Tensor
from .history import History, Line, Stretch


def adjoints_of(history: History, cotangent: Tensor | None) -> dict[Line, Any]:
    """Return the adjoint of each line that has one, as an array.

    The sweep starts at the root, with this cotangent (None: one, for a real value of one element). There are no
    adjoints where a value that is needed is not known, or where the sweep raises (no derivative, say).
    """
    if history.root is None or not can_start(history.root.type, cotangent):
        return {}
    if any(slot not in stretch.known for stretch in history.stretches for node in stretch.shown() for slot in node.saved):
        return {}
    copies = _copies(history.stretches)
    places = [(line, _stand_in(copies, *place)) for line in history.values() if line.type.requires_grad for place in line.places]
    root = _stand_in(copies, *history.root.places[0])
    with _another_tape():
        try:
            gradients = grad(root, [tensor for _, tensor in places], cotangent, retain_graph=True, allow_unused=True)
            arrays = [None if gradient is None else read(gradient) for gradient in gradients]
        except Exception:  # backward() will raise it to the user; the rest of the table is worth showing
            return {}
    found: dict[Line, Any] = {}
    for (line, _), array in zip(places, arrays, strict=True):
        if array is not None:
            found[line] = np.add(found[line], array) if line in found else array
    return found


def can_start(type_: Type, cotangent: Tensor | None) -> bool:
    """Whether a reverse sweep can start at a value of this type with this cotangent."""
    return type_.requires_grad and (cotangent is not None or (type_.numel == 1 and not type_.dtype.is_complex))


def _copies(stretches: list[Stretch]) -> dict[Segment, Segment]:
    """Return a sealed copy of each segment, which has all that is known as its residuals, and leaves of its own."""
    copies: dict[Segment, Segment] = {}
    for stretch in stretches:
        copy = copies[stretch.segment] = Segment(SEALED)
        copy.serial = stretch.segment.serial
        copy.trace = stretch.path[-1]
        copy.residuals = stretch.known
        for node in stretch.shown():
            if node.primitive is LEAF:
                copy.leaves[node.slot] = _leaf(node.type)
            elif node.slot in stretch.origins:
                origin = stretch.origins[node.slot]
                copy.origins[node.slot] = (copies[origin[0]], origin[1]) if isinstance(origin, tuple) else _leaf(node.type)
    return copies


def _leaf(type_: Any) -> Tensor:
    leaf: Tensor = zeros_of(type_)
    return leaf.requires_grad_()


def _stand_in(copies: dict[Segment, Segment], stretch: Stretch, output: Any) -> Tensor:
    """Return a tensor at this place in the copies; its value does not matter."""
    copy = copies[stretch.segment]
    leaf = copy.leaves.get(output.slot, copy.origins.get(output.slot))
    if isinstance(leaf, Tensor):
        return leaf
    tensor = _leaf(output.type)
    tensor._home = copy
    tensor._home_slot = output.slot
    return tensor


@contextmanager
def _another_tape() -> Iterator[None]:
    """Let this thread record on another segment, and come back to its own."""
    own = state.segment
    state.segment = Segment(SEALED)
    try:
        yield
    finally:
        state.segment = own
