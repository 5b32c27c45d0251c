"""Pooling over windows of the last dimensions: the largest element, and where it is.

Leading dimensions are all batch dimensions. A plane is what the spatial dimensions span; an index counts through it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape, Type
from . import batching
from .average_pooling import adaptive_avg_pool, adaptive_avg_pool_transpose, avg_pool, avg_pool_transpose
from .declare import Sample, linear, other
from .marks import tied
from .pooling_geometry import adaptive_type, adaptive_windows, divides, pooled_type, pooling_padding, refuse
from .windows import Lengths, Padding, blocks, padded, view_of_windows, window_counts

__all__ = [
    "adaptive_avg_pool",
    "adaptive_avg_pool_transpose",
    "adaptive_max_pool",
    "avg_pool",
    "avg_pool_transpose",
    "max_pool",
    "pool_gather",
    "pool_scatter",
]

_TABLES = 64
_FEW_PLACES = 32


# The largest element


def max_of_windows(
    x: Any, *, kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool
) -> tuple[Any, Any]:
    """Return the largest element of each window, and its index in the plane."""
    lengths = x.shape[-len(kernel) :]
    pairs = pooling_padding(lengths, kernel, stride, padding, dilation, ceil_mode)
    counts = window_counts(lengths, kernel, stride, pairs, dilation)

    def spread(planes: Any) -> Any:
        block = padded(planes.reshape(len(planes), *lengths, 1), pairs, _lowest(x.dtype))
        windows = view_of_windows(block, kernel, stride, dilation, counts)
        return np.ascontiguousarray(windows).reshape(len(planes), math.prod(kernel), math.prod(counts))

    return _maxima(x, lengths, counts, spread, _table(lengths, kernel, stride, pairs, dilation))


def max_of_adaptive_windows(x: Any, *, counts: Lengths) -> tuple[Any, Any]:
    """Return the largest element of each adaptive window, and its index in the plane."""
    lengths = x.shape[-len(counts) :]
    none, once = (0,) * len(counts), (1,) * len(counts)
    if divides(lengths, counts):
        size = tuple([length // count for length, count in zip(lengths, counts, strict=True)])
        return max_of_windows(x, kernel=size, stride=size, padding=none, dilation=once, ceil_mode=False)
    table = _adaptive_table(lengths, counts)
    return _maxima(x, lengths, counts, lambda planes: planes.take(table.T, axis=1), table)


def _maxima(x: Any, lengths: Lengths, counts: Lengths, spread: Callable[[Any], Any], table: Any) -> tuple[Any, Any]:
    """Spread blocks of planes into (planes, places in a window, windows), and find the largest of each window."""
    lead = x.shape[: x.ndim - len(lengths)]
    planes = x.reshape(math.prod(lead), math.prod(lengths))
    values = np.empty((len(planes), len(table)), x.dtype)
    indices = np.empty(values.shape, np.int64)
    for block in blocks(len(planes), table.size * x.itemsize) if values.size else ():
        elements = spread(planes[block])
        values[block] = elements.max(axis=1)
        places = _places_of(elements, values[block, np.newaxis])
        indices[block] = table.reshape(-1).take(places + table.shape[1] * np.arange(len(table)))
    return values.reshape(*lead, *counts), indices.reshape(*lead, *counts)


def _places_of(elements: Any, largest: Any) -> Any:
    """Return where along axis 1 the largest element is: the first of equal ones, but, as in PyTorch, the last NaN."""
    size = elements.shape[1]
    if size > _FEW_PLACES:
        places = elements.argmax(axis=1)
    else:
        still_before = elements[:, 0] != largest[:, 0]
        places = still_before.astype(np.uint8)
        for place in range(1, size - 1):
            still_before &= elements[:, place] != largest[:, 0]
            places += still_before.view(np.uint8)
    of_nan = (largest != largest)[:, 0]
    if of_nan.any():
        windows = np.moveaxis(elements, 1, -1)[of_nan]
        last = size - 1 - (windows != windows)[:, ::-1].argmax(axis=1)
        places = places.astype(np.intp)
        places[of_nan] = last
    return places


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@functools.lru_cache(_TABLES)
def _table(lengths: Lengths, kernel: Lengths, stride: Lengths, pairs: Padding, dilation: Lengths) -> Any:
    """Return the index in the plane of each place (second axis) of each window (first axis).

    A place in the low padding counts as the first one that is not: a window of nothing but minus infinities has its
    maximum there.
    """
    along = []
    for size, step, gap, (low, _), count in zip(
        kernel, stride, dilation, pairs, window_counts(lengths, kernel, stride, pairs, dilation), strict=True
    ):
        starts = step * np.arange(count)[:, np.newaxis] - low
        places = starts + gap * np.arange(size)
        along.append(np.where(places < 0, starts % gap, places))
    return _joined(lengths, along)


@functools.lru_cache(_TABLES)
def _adaptive_table(lengths: Lengths, counts: Lengths) -> Any:
    """Return the same for adaptive windows; those shorter than the longest repeat their last element."""
    along = []
    for length, count in zip(lengths, counts, strict=True):
        windows = adaptive_windows(length, count)
        longest = max([window.stop - window.start for window in windows], default=0)
        stops = np.array([window.stop for window in windows], np.int64)[:, np.newaxis]
        starts = np.array([window.start for window in windows], np.int64)[:, np.newaxis]
        along.append(np.minimum(starts + np.arange(longest), stops - 1))
    return _joined(lengths, along)


def _joined(lengths: Lengths, along: Sequence[Any]) -> Any:
    """Join tables (windows, places) along single dimensions to one of indices in the plane."""
    table = np.zeros((1, 1), np.int64)
    for length, single in zip(lengths, along, strict=True):
        windows, places = table.shape[0] * single.shape[0], table.shape[1] * single.shape[1]
        table = table[:, np.newaxis, :, np.newaxis] * length + single[:, np.newaxis, :]
        table = table.reshape(windows, places)
    table.flags.writeable = False
    return table


def _gather_from_planes(x: Any, indices: Any, *, ndim: int) -> Any:
    """Return the elements of each plane of x that its indices name."""
    places, size = _places_in_all(indices, x.shape[x.ndim - ndim :])
    return x.reshape(size).take(places).reshape(indices.shape)


def _scatter_to_planes(g: Any, indices: Any, *, lengths: Lengths) -> Any:
    """Return planes of zeros with the elements of g added where the indices name."""
    places, size = _places_in_all(indices, lengths)
    result = np.zeros(size, g.dtype)
    np.add.at(result, places.reshape(-1), g.reshape(-1))
    return result.reshape(*g.shape[: g.ndim - len(lengths)], *lengths)


def _places_in_all(indices: Any, lengths: Lengths) -> tuple[Any, int]:
    """Turn indices into planes into indices into all planes one after the other; return also the size of all."""
    count, plane = math.prod(indices.shape[: indices.ndim - len(lengths)]), math.prod(lengths)
    rows = indices.reshape(count, math.prod(indices.shape[indices.ndim - len(lengths) :]))
    return rows + plane * np.arange(count)[:, np.newaxis], count * plane


# Type rules


def _max_pool_type(a: Type, kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool) -> Any:
    function = "max_pool3d_with_indices_out_cpu_template"
    shape = pooled_type(function, a, kernel, stride, padding, dilation, ceil_mode)
    refuse(f"max_pool{len(kernel)}d", a, a.dtype is dtypes.bool or a.dtype.is_complex)
    return (a.dtype, shape), (dtypes.int64, shape)


def _adaptive_max_pool_type(a: Type, counts: Lengths) -> Any:
    shape = adaptive_type("adaptive_max_pool", a, counts)
    refuse(f"adaptive_max_pool{len(counts)}d", a, not a.dtype.is_floating_point)
    return (a.dtype, shape), (dtypes.int64, shape)


def _gather_type(a: Type, b: Type, ndim: int) -> Any:
    _require_same_lead("pool_gather", a.shape[: a.ndim - ndim], b.shape[: b.ndim - ndim])
    return a.dtype, b.shape


def _scatter_type(a: Type, b: Type, lengths: Lengths) -> Any:
    if a.shape != b.shape:
        raise RuntimeError(f"pool_scatter: expected one index an element, but got {list(b.shape)} for {list(a.shape)}")
    return a.dtype, (*a.shape[: a.ndim - len(lengths)], *lengths)


def _require_same_lead(name: str, first: Shape, second: Shape) -> None:
    if first != second:
        raise RuntimeError(f"{name}: expected equal leading dimensions, but got {list(first)} and {list(second)}")


# The rows


def _aligned(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], **parameters: Any) -> Any:
    """The batch dimension becomes a leading one, in all operands."""
    return primitive(*batching.with_batch_dimension(operands, batched)[0], **parameters)


def _max_pool_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    cases: list[tuple[Shape, Lengths, Lengths, Lengths, Lengths, bool]] = [
        ((2, 3, 7), (3,), (2,), (1,), (1,), False),
        ((2, 2, 4, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
        ((1, 2, 5, 6), (3, 2), (1, 2), (1, 0), (1, 2), False),
        ((2, 5, 5), (2, 3), (2, 2), (1, 1), (2, 1), True),
        ((1, 1, 7, 6), (7, 6), (1, 1), (0, 0), (1, 1), False),
        ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
        ((1, 2, 3, 4, 5), (2, 2, 3), (1, 2, 2), (1, 0, 1), (1, 1, 1), True),
    ]
    names = ("kernel", "stride", "padding", "dilation", "ceil_mode")
    return [Sample(_distinct(random, shape), **dict(zip(names, given, strict=True))) for shape, *given in cases]


def _adaptive_samples() -> list[Sample]:
    random = np.random.default_rng(0)
    cases: list[tuple[Shape, Lengths]] = [
        ((2, 3, 7), (3,)),
        ((2, 2, 4, 6), (2, 3)),
        ((1, 2, 5, 4), (3, 4)),
        ((1, 3, 3), (4, 5)),
        ((2, 7, 6), (1, 1)),
        ((1, 2, 3, 4, 5), (2, 2, 3)),
        ((0, 2, 5, 4), (3, 3)),
    ]
    return [Sample(_distinct(random, shape), counts=counts) for shape, counts in cases]


def _distinct(random: Any, shape: Shape) -> Any:
    """Return elements of which no two are near each other: a maximum has no derivative where they are equal."""
    return random.permutation(math.prod(shape)).reshape(shape) / 8 - 2


def _index_samples(scattering: bool) -> list[Sample]:
    random = np.random.default_rng(0)
    samples = []
    for lead, lengths, counts in [((2, 3), (5,), (4,)), ((2,), (3, 4), (2, 2)), ((), (4, 3), (3, 3)), ((0, 2), (2, 2), (1, 1))]:
        indices = random.integers(0, math.prod(lengths), (*lead, *counts))
        if scattering:
            samples.append(Sample(random.standard_normal(indices.shape), indices, lengths=lengths))
        else:
            samples.append(Sample(random.standard_normal((*lead, *lengths)), indices, ndim=len(lengths)))
    return samples


def _torch_max_pool(
    torch: Any, x: Any, kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool
) -> Any:
    functional = torch.nn.functional
    function = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)[len(kernel) - 1]
    return function(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)


def _torch_adaptive_max_pool(torch: Any, x: Any, counts: Lengths) -> Any:
    functional = torch.nn.functional
    names = (functional.adaptive_max_pool1d, functional.adaptive_max_pool2d, functional.adaptive_max_pool3d)
    return names[len(counts) - 1](x, counts, return_indices=True)


def _torch_gather(torch: Any, x: Any, indices: Any, ndim: int) -> Any:
    return x.flatten(-ndim).gather(-1, indices.flatten(-ndim)).reshape(indices.shape)


def _torch_scatter(torch: Any, g: Any, indices: Any, lengths: Lengths) -> Any:
    ndim = len(lengths)
    lead = g.shape[: g.ndim - ndim]
    planes = g.new_zeros(*lead, math.prod(lengths))
    return planes.scatter_add(-1, indices.flatten(-ndim), g.flatten(-ndim)).reshape(*lead, *lengths)


def _from_places(g: Any, b: Any, types: tuple[Type, Type], ndim: int) -> Any:
    return pool_scatter(g, b, lengths=types[0].shape[types[0].ndim - ndim :])


# What ``grad_fn`` shows of the gradients, by the number of dimensions.
_SHOWN = ("SqueezeBackward1", "MaxPool2DWithIndicesBackwardBackward0", "MaxPool3DWithIndicesBackwardBackward0")
_ADAPTIVE_SHOWN = ("SqueezeBackward1", "AdaptiveMaxPool2DBackwardBackward0", "AdaptiveMaxPool3DBackwardBackward0")


def _to_largest(g: Any, a: Any, indices: Any, windows: Lengths, shown: tuple[str, ...]) -> Any:
    """Return the cotangent of what was pooled, from that of the largest elements."""
    ndim = len(windows)
    return tied(pool_scatter(g, indices, lengths=a.shape[a.ndim - ndim :]), a, shown[ndim - 1])


pool_gather = linear(
    "pool_gather",
    _gather_from_planes,
    _gather_type,
    parameters=("ndim",),
    transpose=(_from_places, None),
    batch=_aligned,
    samples=lambda: _index_samples(scattering=False),
    torch=_torch_gather,
    grad_name="MaxPool2DWithIndicesBackwardBackward0",
)

pool_scatter = linear(
    "pool_scatter",
    _scatter_to_planes,
    _scatter_type,
    parameters=("lengths",),
    transpose=(lambda g, b, lengths: pool_gather(g, b, ndim=len(lengths)), None),
    batch=_aligned,
    samples=lambda: _index_samples(scattering=True),
    torch=_torch_scatter,
    grad_name="MaxPool2DWithIndicesBackwardBackward0",
)

max_pool = other(
    "max_pool",
    max_of_windows,
    _max_pool_type,
    parameters=("kernel", "stride", "padding", "dilation", "ceil_mode"),
    results=2,
    vjp=lambda g, a, r1, kernel: _to_largest(g[0], a, r1, kernel, _SHOWN),
    jvp=lambda g, r1, kernel: (pool_gather(g[0], r1, ndim=len(kernel)), None),
    batch=batching.leading,
    samples=_max_pool_samples,
    torch=_torch_max_pool,
    grad_name="MaxPool2DWithIndicesBackward0",
)

adaptive_max_pool = other(
    "adaptive_max_pool",
    max_of_adaptive_windows,
    _adaptive_max_pool_type,
    parameters=("counts",),
    results=2,
    vjp=lambda g, a, r1, counts: _to_largest(g[0], a, r1, counts, _ADAPTIVE_SHOWN),
    jvp=lambda g, r1, counts: (pool_gather(g[0], r1, ndim=len(counts)), None),
    batch=batching.leading,
    samples=_adaptive_samples,
    torch=_torch_adaptive_max_pool,
    grad_name="AdaptiveMaxPool2DBackward0",
)
