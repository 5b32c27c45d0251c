"""The kernel of sums over all dimensions but those in the middle: of a layer's channels, over samples and places.

Loops have rows and columns of which one is reduced; here there is something reduced on both sides.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..tape.types import contiguous_strides
from .memory import HEAD, Input, Memory, Written

_CHUNK = 1 << 14  # elements that one call of a kernel gets, at least
_MOST_CHUNKS = 64
_BLOCK = 512  # so many elements are added in any order; the sums of blocks are added in float64

_SOURCE = """
def kernel(args, lo, hi):
    x = pointer_{kind}(word(word(args)))
    channels = word(args + 8)
    length = word(args + 16)
    chunk = lo // word(args + 24)
    total = pointer_f8(word(args + 32) + 8 * chunk * channels)
    for channel in range(channels):
        total[channel] = 0.0
    for sample in range(lo, hi):
        for channel in range(channels):
            begin = (sample * channels + channel) * length
            start = 0
            while start < length:
                stop = least(start + {block}, length)
                part = {kind}(0)
                for place in range(start, stop):
                    part = add_in_any_order(part, x[begin + place])
                total[channel] += f8(part)
                start += {block}
    return 0
"""


class _Sum(NamedTuple):
    """What the parts of a result, one a chunk, are added up to."""

    slot: int
    kind: str
    reduction: str = "sum"


def lower_channel_sum(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of a sum over the first and the last dimensions of an array in contiguous memory, or None."""
    (x,) = operands
    shape = node.operands[0].type.shape
    axes = node.parameters.get("axes", ())
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if x.__class__ is not Input or x.kind not in ("f4", "f8") or node.type.dtype is not node.operands[0].type.dtype:
        return None
    if not kept or kept != list(range(kept[0], kept[-1] + 1)) or x.strides != contiguous_strides(shape) or 0 in shape:
        return None
    samples, channels = math.prod(shape[: kept[0]]), math.prod(shape[kept[0] : kept[-1] + 1])
    length = math.prod(shape[kept[-1] + 1 :])
    step = min(max(-(-_CHUNK // (channels * length)), -(-samples // _MOST_CHUNKS)), samples)
    words = [Memory("cell", x.slot), *[Memory("word", value) for value in (channels, length, step)]]
    words.append(Memory("partial", (node.slot, channels)))
    source = HEAD + "\n" + _SOURCE.format(kind=x.kind, block=_BLOCK)
    return Written(source, words, samples, step, [(_Sum(node.slot, x.kind), "f8", channels, -(-samples // step))])
