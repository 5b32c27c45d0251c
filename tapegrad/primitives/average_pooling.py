"""Pooling over windows of the last dimensions: their mean.

A mean is a sum over windows along one dimension after the other, then divided. Where a dimension has fewer windows than
a window has elements, each window is summed by itself; otherwise the windows' first elements, their second ones, and so
on, are added up.
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
from .declare import Sample, linear
from .marks import tied
from .pooling_geometry import adaptive_type, adaptive_windows, divides, pooled_type, pooling_padding, refuse
from .precision import in_single
from .windows import Lengths, overlap, padded, padded_lengths, window_counts

# Along one axis: sums over windows, and their transpose, which adds each sum to all elements of its window.


def _sum_windows(array: Any, axis: int, windows: Sequence[slice]) -> Any:
    shape = list(array.shape)
    shape[axis] = len(windows)
    result = np.empty(shape, array.dtype)
    for place, window in enumerate(windows):
        np.add.reduce(array[_at(axis, window)], axis=axis, out=result[_at(axis, place)])
    return result


def _add_to_windows(g: Any, axis: int, windows: Sequence[slice], length: int) -> Any:
    result = _zeros(g, axis, length)
    for place, window in enumerate(windows):
        result[_at(axis, window)] += g[_at(axis, slice(place, place + 1))]
    return result


def _sum_strided_windows(array: Any, axis: int, size: int, step: int, count: int) -> Any:
    windows = _windows(size, step, count)
    if count <= size:
        return _sum_windows(array, axis, windows)
    places = [_at(axis, slice(first, first + step * (count - 1) + 1, step)) for first in range(size)]
    result = array[places[0]].copy()
    for place in places[1:]:
        result += array[place]
    return result


def _add_to_strided_windows(g: Any, axis: int, size: int, step: int, length: int) -> Any:
    count = g.shape[axis]
    if count <= size:
        return _add_to_windows(g, axis, _windows(size, step, count), length)
    result = _zeros(g, axis, length)
    for first in range(size):
        result[_at(axis, slice(first, first + step * (count - 1) + 1, step))] += g
    return result


def _windows(size: int, step: int, count: int) -> list[slice]:
    return [slice(step * place, step * place + size) for place in range(count)]


def _at(axis: int, place: slice | int) -> tuple[slice | int, ...]:
    return (*[slice(None)] * axis, place)


def _zeros(like: Any, axis: int, length: int) -> Any:
    shape = list(like.shape)
    shape[axis] = length
    return np.zeros(shape, like.dtype)


# Means over windows of one size


def mean_of_windows(
    x: Any,
    *,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Return the mean of each window; see `_divisors` for what padding counts as."""
    lengths = x.shape[x.ndim - len(kernel) :]
    lead = x.shape[: x.ndim - len(kernel)]
    pairs = pooling_padding(lengths, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    counts = window_counts(lengths, kernel, stride, pairs, (1,) * len(kernel))
    total = padded(x.reshape(math.prod(lead), *lengths, 1), pairs)
    if total.shape[1:-1] == kernel:  # one window
        total = np.add.reduce(total.reshape(math.prod(lead), math.prod(kernel)), axis=1)
    else:
        for axis, (size, step, count) in enumerate(zip(kernel, stride, counts, strict=True), 1):
            total = _sum_strided_windows(total, axis, size, step, count)
    divisors = _divisors(lengths, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _divide(total.reshape(*lead, *counts), divisors)


def transpose_of_mean(
    g: Any,
    *,
    lengths: Lengths,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Return the transpose of `mean_of_windows`, applied to g."""
    lead = g.shape[: g.ndim - len(kernel)]
    pairs = pooling_padding(lengths, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    divisors = _divisors(lengths, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    shares = _divide(g, divisors).reshape(math.prod(lead), *g.shape[len(lead) :])
    for axis in range(len(kernel), 0, -1):
        length = padded_lengths(lengths, pairs)[axis - 1]
        shares = _add_to_strided_windows(shares, axis, kernel[axis - 1], stride[axis - 1], length)
    return shares[overlap(lengths, pairs)[1]].reshape(*lead, *lengths)


@functools.lru_cache(256)
def _divisors(
    lengths: Lengths,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Return what each window's sum is divided by: an integer, or an array of them.

    It is the count of the window's elements, with or without the padding, but without what ceil mode adds to it.
    """
    if divisor_override is not None:
        return divisor_override
    pairs = pooling_padding(lengths, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    counts = window_counts(lengths, kernel, stride, pairs, (1,) * len(kernel))
    along = []
    for length, size, step, low, count in zip(lengths, kernel, stride, padding, counts, strict=True):
        starts = step * np.arange(count) - low
        stops = np.minimum(starts + size, length + low)
        if not count_include_pad:
            starts, stops = np.maximum(starts, 0), np.minimum(stops, length)
        along.append(stops - starts)
    divisors = _outer(along)
    return int(divisors.flat[0]) if (divisors == divisors.flat[0]).all() else divisors


def _outer(factors: Sequence[Any]) -> Any:
    """Return the outer product of vectors."""
    return functools.reduce(np.multiply.outer, factors)


def _divide(total: Any, divisors: Any) -> Any:
    """Divide by integers; integers are truncated, as in PyTorch."""
    if total.dtype.kind == "i":
        return np.sign(total) * np.sign(divisors) * (np.abs(total) // np.abs(divisors))
    return total / np.asarray(divisors, total.dtype)


# Means over adaptive windows


def mean_of_adaptive_windows(x: Any, *, counts: Lengths) -> Any:
    """Return the mean of each adaptive window."""
    lengths = x.shape[x.ndim - len(counts) :]
    lead = x.shape[: x.ndim - len(counts)]
    if is_whole_plane(counts):
        planes = x.reshape(math.prod(lead), math.prod(lengths))
        return (np.add.reduce(planes, axis=1) / math.prod(lengths)).reshape(*lead, *counts)
    if divides(lengths, counts):
        return mean_of_windows(x, **_even_windows(lengths, counts))
    total = x.reshape(math.prod(lead), *lengths)
    for axis, (length, count) in enumerate(zip(lengths, counts, strict=True), 1):
        total = _sum_windows(total, axis, adaptive_windows(length, count))
    return _divide(total.reshape(*lead, *counts), _adaptive_divisors(lengths, counts))


def transpose_of_adaptive_mean(g: Any, *, lengths: Lengths) -> Any:
    """Return the transpose of `mean_of_adaptive_windows`, applied to g."""
    lead, counts = g.shape[: g.ndim - len(lengths)], g.shape[g.ndim - len(lengths) :]
    if is_whole_plane(counts):
        return np.broadcast_to(g / math.prod(lengths), (*lead, *lengths)).copy()
    if divides(lengths, counts):
        return transpose_of_mean(g, lengths=lengths, **_even_windows(lengths, counts))
    shares = _divide(g, _adaptive_divisors(lengths, counts)).reshape(math.prod(lead), *counts)
    for axis in range(len(lengths), 0, -1):
        windows = adaptive_windows(lengths[axis - 1], counts[axis - 1])
        shares = _add_to_windows(shares, axis, windows, lengths[axis - 1])
    return shares.reshape(*lead, *lengths)


def is_whole_plane(counts: Lengths) -> bool:
    """Whether there is one window, the plane. PyTorch takes its mean, even if it is empty."""
    return all(count == 1 for count in counts)


def _even_windows(lengths: Lengths, counts: Lengths) -> dict[str, Any]:
    """Return the parameters of `mean_of_windows` for adaptive windows that divide the lengths."""
    size = tuple([length // count for length, count in zip(lengths, counts, strict=True)])
    none = (0,) * len(counts)
    return {
        "kernel": size,
        "stride": size,
        "padding": none,
        "ceil_mode": False,
        "count_include_pad": True,
        "divisor_override": None,
    }


@functools.lru_cache(256)
def _adaptive_divisors(lengths: Lengths, counts: Lengths) -> Any:
    """Return the count of elements of each adaptive window."""
    windows = [adaptive_windows(length, count) for length, count in zip(lengths, counts, strict=True)]
    return _outer([np.array([window.stop - window.start for window in along], np.int64) for along in windows])


# The rows

_PARAMETERS = ("kernel", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")


def _avg_pool_type(
    a: Type,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    shape = pooled_type("avg_pool3d", a, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    refuse(f"avg_pool{len(kernel)}d", a, not a.dtype.is_floating_point and a.dtype is not dtypes.int64)
    return a.dtype, shape


def _avg_pool_transpose_type(a: Type, lengths: Lengths, kernel: Lengths, **_parameters: Any) -> Any:
    refuse(f"avg_pool{len(kernel)}d_backward", a, not a.dtype.is_floating_point)
    return a.dtype, (*a.shape[: a.ndim - len(lengths)], *lengths)


def _adaptive_avg_pool_type(a: Type, counts: Lengths) -> Any:
    shape = adaptive_type("adaptive_avg_pool", a, counts, may_be_empty=is_whole_plane(counts))
    refuse(f"adaptive_avg_pool{len(counts)}d", a, a.dtype.category < dtypes.FLOAT)
    return a.dtype, shape


def _adaptive_avg_pool_transpose_type(a: Type, lengths: Lengths) -> Any:
    refuse(f"adaptive_avg_pool{len(lengths)}d_backward", a, a.dtype.category < dtypes.FLOAT)
    return a.dtype, (*a.shape[: a.ndim - len(lengths)], *lengths)


def _to_windows(
    g: Any,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    return avg_pool(
        g,
        kernel=kernel,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


# What ``grad_fn`` shows of the gradients, by the number of dimensions.
_SHOWN = ("SqueezeBackward1", "AvgPool2DBackwardBackward0", "AvgPool3DBackwardBackward0")


def _from_windows(
    g: Any,
    a: Any,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    result = avg_pool_transpose(
        g,
        lengths=a.shape[a.ndim - len(kernel) :],
        kernel=kernel,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )
    return tied(result, a, _SHOWN[len(kernel) - 1])


def _from_adaptive_windows(g: Any, types: tuple[Type], counts: Lengths) -> Any:
    return adaptive_avg_pool_transpose(g, lengths=types[0].shape[types[0].ndim - len(counts) :])


# x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
_CASES: list[tuple[Any, ...]] = [
    ((2, 3, 7), (3,), (2,), (1,), False, True, None),
    ((2, 2, 4, 6), (2, 2), (2, 2), (0, 0), False, True, None),
    ((1, 2, 5, 6), (3, 2), (1, 2), (1, 0), False, False, None),
    ((1, 5, 5), (2, 3), (2, 2), (1, 1), True, True, None),
    ((2, 1, 5, 4), (2, 3), (3, 2), (0, 1), True, False, 5),
    ((2, 1, 3, 4), (3, 4), (3, 4), (0, 0), False, True, None),
    ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), False, True, None),
    ((1, 2, 3, 4, 5), (2, 2, 3), (1, 2, 2), (1, 0, 1), True, True, None),
]
_ADAPTIVE_CASES: list[tuple[Shape, Lengths]] = [
    ((2, 3, 7), (3,)),
    ((2, 2, 4, 6), (2, 3)),
    ((1, 2, 5, 4), (3, 4)),
    ((1, 3, 3), (4, 5)),
    ((2, 5, 3), (1, 1)),
    ((1, 2, 3, 4, 5), (2, 2, 3)),
]


def _samples(transposed: bool) -> list[Sample]:
    random = np.random.default_rng(0)
    samples = []
    for shape, *given in _CASES:
        parameters = dict(zip(_PARAMETERS, given, strict=True))
        x = random.standard_normal(shape)
        if transposed:
            lengths = shape[len(shape) - len(given[0]) :]
            samples.append(Sample(mean_of_windows(x, **parameters), lengths=lengths, **parameters))
        else:
            samples.append(Sample(x, **parameters))
    return samples


def _adaptive_samples(transposed: bool) -> list[Sample]:
    random = np.random.default_rng(0)
    samples = []
    for shape, counts in _ADAPTIVE_CASES:
        lead, lengths = shape[: len(shape) - len(counts)], shape[len(shape) - len(counts) :]
        if transposed:
            samples.append(Sample(random.standard_normal((*lead, *counts)), lengths=lengths))
        else:
            samples.append(Sample(random.standard_normal(shape), counts=counts))
    return samples


def _torch_avg_pool(
    torch: Any,
    x: Any,
    kernel: Lengths,
    stride: Lengths,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    functional = torch.nn.functional
    if len(kernel) == 1:
        return functional.avg_pool1d(x, kernel, stride, padding, ceil_mode, count_include_pad)
    function = functional.avg_pool2d if len(kernel) == 2 else functional.avg_pool3d
    return function(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _torch_adaptive_avg_pool(torch: Any, x: Any, counts: Lengths) -> Any:
    if 0 in x.shape[1:]:
        raise ValueError("PyTorch pools samples without elements, but raises when it differentiates that")
    functional = torch.nn.functional
    names = (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)
    return names[len(counts) - 1](x, counts)


def _torch_transpose(torch: Any, function: Callable[[Any], Any], g: Any, lengths: Lengths) -> Any:
    """Return the transpose of a linear function of PyTorch's, applied to g, so that it can be differentiated again."""
    x = g.new_zeros(*g.shape[: g.ndim - len(lengths)], *lengths)
    return torch.func.vjp(function, x)[1](g)[0]


avg_pool = linear(
    "avg_pool",
    in_single(mean_of_windows),
    _avg_pool_type,
    parameters=_PARAMETERS,
    transpose=_from_windows,
    batch=batching.leading,
    samples=lambda: _samples(transposed=False),
    torch=_torch_avg_pool,
    grad_name="AvgPool2DBackward0",
)

avg_pool_transpose = linear(
    "avg_pool_transpose",
    in_single(transpose_of_mean),
    _avg_pool_transpose_type,
    parameters=("lengths", *_PARAMETERS),
    transpose=_to_windows,
    batch=batching.leading,
    samples=lambda: _samples(transposed=True),
    torch=lambda torch, g, lengths, **given: _torch_transpose(torch, lambda x: _torch_avg_pool(torch, x, **given), g, lengths),
    grad_name="AvgPool2DBackwardBackward0",
)

adaptive_avg_pool = linear(
    "adaptive_avg_pool",
    in_single(mean_of_adaptive_windows),
    _adaptive_avg_pool_type,
    parameters=("counts",),
    transpose=_from_adaptive_windows,
    batch=batching.leading,
    samples=lambda: _adaptive_samples(transposed=False),
    torch=_torch_adaptive_avg_pool,
    grad_name="AdaptiveAvgPool2DBackward0",
)

adaptive_avg_pool_transpose = linear(
    "adaptive_avg_pool_transpose",
    in_single(transpose_of_adaptive_mean),
    _adaptive_avg_pool_transpose_type,
    parameters=("lengths",),
    transpose=lambda g, types, lengths: adaptive_avg_pool(g, counts=types[0].shape[types[0].ndim - len(lengths) :]),
    batch=batching.leading,
    samples=lambda: _adaptive_samples(transposed=True),
    torch=lambda torch, g, lengths: _torch_transpose(
        torch, lambda x: _torch_adaptive_avg_pool(torch, x, g.shape[g.ndim - len(lengths) :]), g, lengths
    ),
    grad_name="AdaptiveAvgPool2DBackwardBackward0",
)
