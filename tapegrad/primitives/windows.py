"""Windows that slide over the spatial dimensions: their geometry, and views of arrays through them.

A padding is a pair (low, high) a dimension; a negative one crops. Arrays are laid out (any, *lengths, any): the
dimension before the spatial ones and the one behind them are carried along.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Lengths = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]

BLOCK_BYTES = 2**20


def window_counts(lengths: Sequence[int], kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Lengths:
    """Return how many windows fit along each dimension.

    >>> window_counts((28, 28), (5, 5), (1, 2), ((0, 0), (2, 2)), (1, 1))
    (24, 14)
    """
    spans = window_spans(kernel, dilation)
    padded = padded_lengths(lengths, padding)
    return tuple([(length - span) // step + 1 for length, span, step in zip(padded, spans, stride, strict=True)])


def window_spans(kernel: Lengths, dilation: Lengths) -> Lengths:
    """Return the distance from the first element of a window to just behind the last."""
    return tuple([gap * (size - 1) + 1 for size, gap in zip(kernel, dilation, strict=True)])


def padded_lengths(lengths: Sequence[int], padding: Padding) -> Lengths:
    """Return the lengths with the padding."""
    return tuple([length + low + high for length, (low, high) in zip(lengths, padding, strict=True)])


def padded(array: Any, padding: Padding, fill: Any = 0) -> Any:
    """Return the array with its spatial dimensions padded; without padding, the array itself."""
    if not any([low or high for low, high in padding]):
        return array
    lengths = array.shape[1:-1]
    shape = (array.shape[0], *padded_lengths(lengths, padding), array.shape[-1])
    result = np.full(shape, fill, array.dtype)
    inner, outer = overlap(lengths, padding)
    result[outer] = array[inner]
    return result


def overlap(lengths: Sequence[int], padding: Padding) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where an array and its padded (or cropped) version coincide: the index of that part in each."""
    inner, outer = [slice(None)], [slice(None)]
    for length, (low, high) in zip(lengths, padding, strict=True):
        first, stop = max(-low, 0), length - max(-high, 0)
        inner.append(slice(first, max(stop, first)))
        outer.append(slice(first + low, max(stop, first) + low))
    return tuple(inner), tuple(outer)


def view_of_windows(array: Any, kernel: Lengths, stride: Lengths, dilation: Lengths, counts: Lengths) -> Any:
    """Return the view (any, *kernel, *counts, any) of a padded array: what each window holds at each of its places.

    The view can be written to through one place at a time, as elements of different windows are then distinct.
    """
    first, *steps, last = array.strides
    within = [step * gap for step, gap in zip(steps, dilation, strict=True)]
    between = [step * gap for step, gap in zip(steps, stride, strict=True)]
    shape = (array.shape[0], *kernel, *counts, array.shape[-1])
    return np.lib.stride_tricks.as_strided(array, shape, (first, *within, *between, last))


def blocks(count: int, bytes_each: int) -> Iterator[slice]:
    """Split `count` pieces of work evenly into blocks whose data stays in cache."""
    fitting = max(BLOCK_BYTES // max(bytes_each, 1), 1)
    size = -(-count // max(-(-count // fitting), 1))
    for first in range(0, count, max(size, 1)):
        yield slice(first, min(first + size, count))


def add_to_windows(windows: Any, elements: Any, kernel: Lengths) -> None:
    """Add elements (any, *kernel, *counts, any) to a writable view of windows, which may overlap."""
    for place in itertools.product(*map(range, kernel)):
        part = windows[(slice(None), *place)]
        np.add(part, elements[(slice(None), *place)], out=part)
