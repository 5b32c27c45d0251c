"""Padding: numbers, or the tensor's own elements, put around it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...functions.options import concrete
from ...primitives import movement
from ...primitives.marks import keep
from ...primitives.row_indexing import index_select
from ...tape.record import here, record
from .composition import show

__all__ = ["pad"]

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}  # to NumPy's names
_SHOWN = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}


@checked
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Return the tensor with elements put before and behind it.

    Args:
        input: the tensor.
        pad: how many, in pairs (before, behind), beginning with the last dimension; negative numbers take away.
        mode: "constant" puts `value`; "reflect" what is seen in a mirror on the edge; "replicate" what is on the edge;
            "circular" what is at the other end.
        value: for "constant"; 0 by default.

    >>> import tapegrad
    >>> pad(tapegrad.tensor([[1, 2, 3]]), (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    type_ = require_tensor("pad", input)._node.type
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * type_.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {type_.ndim}"
        )
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    if mode == "constant":
        return _constant(input, pairs, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pairs) not in (1, 2, 3) or type_.ndim not in (len(pairs) + 1, len(pairs) + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {type_.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check(type_.shape, pairs, mode)
    start = here()
    result = keep(input, shown=f"{_SHOWN[mode]}{len(pairs)}DBackwardBackward0") if mode in _SHOWN else input
    for back, (low, high) in enumerate(pairs, 1):
        if low or high:
            axis = type_.ndim - back
            index = concrete(_sources(type_.shape[axis], low, high, _MODES[mode]), dtypes.int64)
            result = record(index_select, (result, index), (axis,))
    if not any(low or high for low, high in pairs):
        result = record(movement.contiguous, (input,))
    shown = f"{_SHOWN[mode]}{len(pairs)}DBackward0" if mode in _SHOWN else "torch::autograd::CopySlices"
    return show(shown, result, start)


def _constant(input: Any, pairs: list[tuple[int, int]], value: Any) -> Any:
    type_ = input._node.type
    for back, (low, high) in enumerate(pairs, 1):
        if type_.shape[-back] + low + high < 0:
            if low + type_.shape[-back] < 0 or low < 0 and high < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
            raise RuntimeError(
                f"The input size {type_.shape[-back]}, plus negative padding {low} and {high} resulted in a negative output size, "
                f"which is invalid. Check dimension {type_.ndim - back} of your input."
            )
    none = [(0, 0)] * (type_.ndim - len(pairs))
    before, behind = zip(*(none + pairs[::-1]), strict=True) if type_.ndim else ((), ())
    if type_.dtype.category < dtypes.FLOAT and isinstance(value, float):
        value = int(value)
    return record(movement.pad, (input, value), (before, behind))


def _check(shape: tuple[int, ...], pairs: list[tuple[int, int]], mode: str) -> None:
    ndim, count = len(shape), len(pairs)
    if mode == "circular":
        for back, (low, high) in enumerate(pairs, 1):
            if low > shape[-back] or high > shape[-back]:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if low + high + shape[-back] < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    if 0 in shape[ndim - count - (ndim == count + 1) :] or 0 in shape[1:]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(shape)}"
        )
    for back, (low, high) in enumerate(pairs, 1):
        length = shape[-back]
        if mode == "reflect" and (low >= length or high >= length):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {ndim - back} of input {list(shape)}"
            )
        if low + high + length < 1:
            name = "WHD"[back - 1]
            raise RuntimeError(
                f"input ({name}: {length}) is too small. Calculated output {name}: {low + high + length}"
            )


@functools.lru_cache(256)
def _sources(length: int, low: int, high: int, mode: str) -> Any:
    """Return which element each place of the padded dimension gets."""
    cut = slice(max(-low, 0), length - max(-high, 0))
    more: Any = {"pad_width": (max(low, 0), max(high, 0)), "mode": mode}
    if mode == "wrap":  # what is cut off does not come back at the other end
        places = np.pad(np.arange(length)[cut], **more)
    else:
        places = np.pad(np.arange(length), **more)
        places = places[cut.start : len(places) - max(-high, 0)]
    places.flags.writeable = False
    return places
