"""Sorting and what follows from it: topk, kthvalue, medians, mode, searchsorted.

NaN counts as greater than every number. Sorts are stable, and of elements that tie those in front are chosen first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import full, zeros
from ..tape.types import Type
from . import batching
from .declare import Sample, other
from .reductions import reduce_sum
from .selecting import (
    accepting_0d,
    along,
    chosen,
    reduced_with_index,
    reducing,
    refuse,
    require_nonempty,
    with_reduced_axes,
)
from .type_rules import broadcast, reduced_shape, result_dtype

__all__ = ["kthvalue", "median", "median_value", "mode", "nanmedian", "nanmedian_value", "searchsorted", "sort", "topk"]


def _distinct(*shape: int) -> Any:
    """Return operands that do not tie, not even as integers: which of equal elements PyTorch's topk takes is chance."""
    return np.random.default_rng(5).permutation(np.prod(shape, dtype=int)).reshape(shape) + 0.25


def _keys(a: Any) -> Any:
    """Return what to compare: NumPy's sorts know where to put NaN in its own dtypes only, so not in bfloat16."""
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def _is_nan(keys: Any) -> Any:
    return np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(keys.shape, bool)


def _order(keys: Any, axis: int, descending: bool = False) -> Any:
    """Return the indices that sort the keys stably."""
    if not descending:
        return np.argsort(keys, axis, kind="stable")
    backwards = np.argsort(np.flip(keys, axis), axis, kind="stable")  # flipped twice, so that ties stay in order
    return keys.shape[axis] - 1 - np.flip(backwards, axis)


# Sort


def _sort(a: Any, axis: int, descending: bool, stable: bool) -> tuple[Any, Any]:
    indices = _order(_keys(a), axis, descending)
    return np.take_along_axis(a, indices, axis), indices


def _sort_type(a: Type, axis: int, descending: bool, stable: bool) -> Any:
    if a.dtype.is_complex:
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    place = broadcast("sort", (a,))
    return (a.dtype, *place), (dtypes.int64, *place)


sort = along(
    "sort",
    _sort,
    parameters=("axis", "descending", "stable"),
    type_rule=_sort_type,
    samples=lambda: [
        Sample(_distinct(3, 5), axis=1, descending=False, stable=False),
        Sample(_distinct(3, 5), axis=0, descending=True, stable=False),
        Sample(_distinct(4, 6).T[::2], axis=0, descending=False, stable=True),
        Sample(_distinct(), axis=0, descending=True, stable=False),
        Sample(_distinct(0, 3), axis=0, descending=False, stable=False),
    ],
    torch=lambda torch, a, axis, descending, stable: torch.sort(a, dim=axis, descending=descending, stable=stable),
)


# The k extreme elements


def _precedes(keys: Any, threshold: Any, descending: bool) -> Any:
    """Return where keys come before a threshold in sorted order."""
    if descending:
        return (keys > threshold) | (_is_nan(keys) & ~_is_nan(threshold))
    return (keys < threshold) | (~_is_nan(keys) & _is_nan(threshold))


def _equals(keys: Any, threshold: Any) -> Any:
    """Return where keys take the same place as a threshold in sorted order."""
    return (keys == threshold) | (_is_nan(keys) & _is_nan(threshold))


def _topk(a: Any, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    """Choose what comes before the k-th element, and as many of its ties, the first ones, as are left; sort these."""
    lines = np.moveaxis(a, axis, -1)
    keys = _keys(lines)
    length = keys.shape[-1]
    if k == 0 or keys.size == 0:
        indices = np.zeros((*keys.shape[:-1], k), np.int64)
    else:
        place = length - k if largest else k - 1
        threshold = np.partition(keys, place, axis=-1)[..., place : place + 1]
        before = _precedes(keys, threshold, largest)
        tied = _equals(keys, threshold)
        left = k - before.sum(-1, keepdims=True)
        selected = before | (tied & (np.cumsum(tied, -1) <= left))
        indices = np.nonzero(selected)[-1].reshape(*keys.shape[:-1], k)
        ranked = _order(np.take_along_axis(keys, indices, -1), -1, descending=largest)
        indices = np.take_along_axis(indices, ranked, -1)
    indices = np.moveaxis(indices, -1, axis)
    return np.take_along_axis(a, indices, axis), indices


def _topk_type(a: Type, k: int, axis: int, largest: bool, sorted: bool) -> Any:
    if a.dtype.is_complex or a.dtype is dtypes.bool:
        raise RuntimeError(f"topk does not support {'complex' if a.dtype.is_complex else 'bool'} dtypes on CPU")
    if not 0 <= k <= (a.shape[axis] if a.ndim else 1):
        raise RuntimeError("selected index k out of range")
    shape = (*a.shape[:axis], k, *a.shape[axis + 1 :]) if a.ndim else ()
    return (a.dtype, shape), (dtypes.int64, shape)


topk = along(
    "topk",
    _topk,
    parameters=("k", "axis", "largest", "sorted"),
    type_rule=_topk_type,
    samples=lambda: [
        Sample(_distinct(3, 5), k=2, axis=1, largest=True, sorted=True),
        Sample(_distinct(3, 5), k=3, axis=0, largest=False, sorted=True),
        Sample(_distinct(4, 6).T[::2], k=1, axis=0, largest=True, sorted=True),
        Sample(_distinct(3, 5), k=0, axis=1, largest=True, sorted=True),
        Sample(_distinct(), k=1, axis=0, largest=True, sorted=True),
        Sample(_distinct(0, 3), k=2, axis=1, largest=False, sorted=True),
    ],
    torch=lambda torch, a, k, axis, largest, sorted: torch.topk(a, k, axis, largest, sorted),
)


# One element by its rank


def _at_rank(keys: Any, rank: int, axis: int) -> Any:
    """Return the indices (axis kept) of the elements that a stable sort puts at this place, without sorting."""
    threshold = np.partition(keys, rank, axis).take([rank], axis)
    left = rank - _precedes(keys, threshold, False).sum(axis, keepdims=True)
    return np.argmax(np.cumsum(_equals(keys, threshold), axis) > left, axis, keepdims=True)


def _kthvalue(a: Any, k: int, axis: int, keepdims: bool) -> tuple[Any, Any]:
    if a.size == 0:
        return chosen(a, np.zeros(reduced_shape(a.shape, (axis,), True), np.int64), axis, keepdims)
    return chosen(a, _at_rank(_keys(a), k - 1, axis), axis, keepdims)


def _kthvalue_type(a: Type, k: int, axis: int, keepdims: bool) -> Any:
    require_nonempty("kthvalue", a, (axis,))
    if not 1 <= k <= (a.shape[axis] if a.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if a.ndim:
        refuse("kthvalue_cpu", a, dtypes.BOOL, dtypes.COMPLEX)
    return reduced_with_index("kthvalue", a, axis, keepdims)


kthvalue = reducing(
    "kthvalue",
    _kthvalue,
    parameters=("k", "axis", "keepdims"),
    type_rule=_kthvalue_type,
    samples=lambda: [
        Sample(_distinct(3, 5), k=2, axis=1, keepdims=False),
        Sample(_distinct(3, 5), k=3, axis=0, keepdims=True),
        Sample(_distinct(4, 6).T[::2], k=1, axis=0, keepdims=False),
        Sample(_distinct(), k=1, axis=0, keepdims=False),
        Sample(_distinct(0, 3), k=2, axis=1, keepdims=False),
    ],
    torch=lambda torch, a, k, axis, keepdims: torch.kthvalue(a, k, axis, keepdim=keepdims),
)


# Medians: the lower of two middle elements


def _median_index(a: Any, axis: int) -> Any:
    """Return the index (axis kept) of the median, or of the first NaN where there is one."""
    keys = _keys(a)
    missing = _is_nan(keys)
    middle = _at_rank(keys, (keys.shape[axis] - 1) // 2, axis)
    return np.where(missing.any(axis, keepdims=True), np.argmax(missing, axis, keepdims=True), middle)


def _nanmedian_index(a: Any, axis: int) -> Any:
    """Return the index (axis kept) of the median of what is not NaN; 0 where all is."""
    keys = _keys(a)
    present = keys.shape[axis] - _is_nan(keys).sum(axis, keepdims=True)
    return np.take_along_axis(_order(keys, axis), np.maximum(present - 1, 0) // 2, axis)


def _median_of(index: Any) -> Any:
    def choose(a: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
        if a.size == 0:
            return chosen(a, np.zeros(reduced_shape(a.shape, (axis,), True), np.int64), axis, keepdims)
        return chosen(a, index(a, axis), axis, keepdims)

    return choose


def _median_type(a: Type, axis: int, keepdims: bool) -> Any:
    require_nonempty("median", a, (axis,))
    refuse("median_out", a, dtypes.BOOL, dtypes.COMPLEX)
    return reduced_with_index("median", a, axis, keepdims)


def _median_samples() -> list[Sample]:
    return [
        Sample(_distinct(3, 5), axis=1, keepdims=False),
        Sample(_distinct(4, 5), axis=0, keepdims=True),
        Sample(_distinct(4, 6).T[::2], axis=0, keepdims=False),
        Sample(_distinct(), axis=0, keepdims=False),
        Sample(_distinct(0, 3), axis=1, keepdims=False),
    ]


median = reducing(
    "median",
    _median_of(_median_index),
    type_rule=_median_type,
    samples=_median_samples,
    torch=lambda torch, a, axis, keepdims: torch.median(a, axis, keepdim=keepdims),
    grad_name="MedianBackward1",
)

nanmedian = reducing(
    "nanmedian",
    _median_of(_nanmedian_index),
    type_rule=_median_type,
    samples=_median_samples,
    torch=lambda torch, a, axis, keepdims: torch.nanmedian(a, axis, keepdim=keepdims),
    grad_name="NanmedianBackward1",
)


# PyTorch's median of all elements has no index, and its derivative is shared by the elements that equal it.


def _value_of(choose: Any) -> Any:
    """Return the NumPy function for just the median's value; of nothing it is NaN, or the least integer."""

    def value(a: Any, axis: int, keepdims: bool) -> Any:
        if a.shape[axis] == 0:
            nothing = np.iinfo(a.dtype).min if a.dtype.kind in "iu" else np.nan
            return np.full(reduced_shape(a.shape, (axis,), keepdims), nothing, a.dtype)
        return choose(a, axis, keepdims)[0]

    return accepting_0d(value)


def _median_value_type(a: Type, axis: int, keepdims: bool) -> Any:
    refuse("median_cpu", a, dtypes.BOOL, dtypes.COMPLEX)
    return a.dtype, reduced_shape(a.shape, (axis,), keepdims)


def _shares(a: Any, r: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return ones at the elements that equal the median (NaN equals NaN), how many there are, and the axes."""
    from .casting import cast
    from .comparison import equal, isnan

    axes = (axis,) if a.ndim else ()
    r = with_reduced_axes(r, tuple(a.shape), axes)
    mask = cast(equal(a, r) | (isnan(a) & isnan(r)), dtype=a.dtype)
    return mask, reduce_sum(mask, axes=axes, keepdims=True), axes


def _median_value_vjp(g: Any, a: Any, r: Any, axis: int) -> Any:
    mask, count, axes = _shares(a, r, axis)
    return with_reduced_axes(g, tuple(a.shape), axes) / count * mask


def _median_value_jvp(g: Any, a: Any, r: Any, axis: int) -> Any:
    if 0 in a.shape:
        return zeros(tuple(r.shape), r.dtype)
    mask, count, axes = _shares(a, r, axis)
    return batching.reshaped(reduce_sum(g[0] * mask, axes=axes, keepdims=True) / count, tuple(r.shape))


def _torch_median_value(name: str) -> Any:
    """PyTorch has it for all elements only."""

    def value(torch: Any, a: Any, axis: int, keepdims: bool) -> Any:
        function = getattr(torch, name)
        if a.ndim < 2:
            return function(a).reshape([1] * a.ndim if keepdims else [])
        lines = a.movedim(axis, -1).flatten(0, -2).unbind()
        one_too_many = a.sum(dtype=a.dtype).reshape(1)  # there may be none, and stack needs one
        medians = torch.stack([function(line) for line in [*lines, one_too_many]])[:-1]
        return medians.reshape(reduced_shape(tuple(a.shape), (axis,), keepdims))

    return value


median_value = other(
    "median_value",
    _value_of(_median_of(_median_index)),
    _median_value_type,
    vjp=_median_value_vjp,
    jvp=_median_value_jvp,
    parameters=("axis", "keepdims"),
    batch=batching.shifted_axis,
    samples=_median_samples,
    torch=_torch_median_value("median"),
    grad_name="MedianBackward0",
)

nanmedian_value = other(
    "nanmedian_value",
    _value_of(_median_of(_nanmedian_index)),
    _median_value_type,
    vjp=_median_value_vjp,
    jvp=_median_value_jvp,
    parameters=("axis", "keepdims"),
    batch=batching.shifted_axis,
    samples=_median_samples,
    torch=_torch_median_value("nanmedian"),
    grad_name="NanmedianBackward0",
)


# Mode: the most frequent value, the least of several, and the index of its last occurrence


def _mode(a: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
    if a.size == 0:
        return chosen(a, np.zeros(reduced_shape(a.shape, (axis,), True), np.int64), axis, keepdims)
    keys = np.moveaxis(_keys(a), axis, -1)
    order = _order(keys, -1)
    ranked = np.take_along_axis(keys, order, -1)
    edge = np.ones((*keys.shape[:-1], 1), bool)
    changes = ranked[..., 1:] != ranked[..., :-1]
    begins, ends = np.concatenate([edge, changes], -1), np.concatenate([changes, edge], -1)
    places = np.arange(keys.shape[-1])
    counts = places - np.maximum.accumulate(np.where(begins, places, 0), -1) + 1
    winner = np.argmax(np.where(ends, counts, 0), -1, keepdims=True)
    return chosen(a, np.moveaxis(np.take_along_axis(order, winner, -1), -1, axis), axis, keepdims)


def _mode_type(a: Type, axis: int, keepdims: bool) -> Any:
    require_nonempty("mode", a, (axis,))
    if a.numel and a.ndim:
        refuse("mode_cpu", a, dtypes.COMPLEX)
    return reduced_with_index("mode", a, axis, keepdims)


mode = reducing(
    "mode",
    _mode,
    type_rule=_mode_type,
    samples=lambda: [
        *_median_samples(),
        Sample(np.array([[1, 2, 2, 1, 3], [0, 5, 5, 5, 0]]), axis=1, keepdims=True),
        Sample(np.array([2, 2, 7, 7, 7, 2]), axis=0, keepdims=False),
    ],
    torch=lambda torch, a, axis, keepdims: torch.mode(a, axis, keepdim=keepdims),
)


# Search


def _searchsorted(boundaries: Any, values: Any, right: bool) -> Any:
    """Halve the range of every value at once. Python's operators give PyTorch's places for NaN."""
    boundaries, values = np.asarray(boundaries), np.asarray(values)
    low = np.zeros(values.shape, np.int64)
    length = boundaries.shape[-1]
    high = np.full(values.shape, length, np.int64)
    for _ in range(length.bit_length()):
        middle = np.minimum((low + high) // 2, length - 1)
        tested = boundaries[middle] if boundaries.ndim == 1 else np.take_along_axis(boundaries, middle, -1)
        is_before = ~(tested > values if right else tested >= values)
        is_open = low < high
        low = np.where(is_open & is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)
    return low


def _searchsorted_type(boundaries: Type, values: Type, right: bool) -> Any:
    dtype = result_dtype((boundaries, values))
    if dtype.is_complex or dtype is dtypes.bool:
        raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{dtype.title}'")
    if boundaries.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if values.ndim == 0 and boundaries.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({boundaries.ndim}) and input value's dim(0) numel(1)"
        )
    if boundaries.ndim != 1 and (boundaries.ndim != values.ndim or boundaries.shape[:-1] != values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    return dtypes.int64, values.shape


def _searchsorted_batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], right: bool) -> Any:
    """Boundaries that differ in the batch need the values in lines that match theirs."""
    boundaries, values = operands
    size = batching.batch_size(operands, batched)
    if not batched[0] and boundaries.ndim == 1:
        return primitive(boundaries, values, right=right)
    if not batched[0]:
        boundaries = batching.expanded(boundaries, (size, *boundaries.shape))
    if not batching.is_tensor(values):
        values = full((size,), values, dtypes.of_number(values.__class__))
    elif not batched[1]:
        values = batching.expanded(values, (size, *values.shape))
    if boundaries.ndim > 2:
        return primitive(boundaries, values, right=right)
    shape = tuple(values.shape)
    lines = batching.reshaped(values, (size, math.prod(shape[1:])))
    return batching.reshaped(primitive(boundaries, lines, right=right), shape)


def _torch_searchsorted(torch: Any, boundaries: Any, values: Any, right: bool) -> Any:
    """PyTorch warns of operands that are not contiguous."""
    values = values.contiguous() if torch.is_tensor(values) else values
    return torch.searchsorted(boundaries.contiguous(), values, right=right)


searchsorted = other(
    "searchsorted",
    _searchsorted,
    _searchsorted_type,
    vjp=None,
    jvp=None,
    parameters=("right",),
    batch=_searchsorted_batch,
    samples=lambda: [
        Sample(np.array([-1.0, 0.5, 0.5, 2.0]), np.array([[0.5, 3.0, -2.0], [1.0, 2.0, -1.0]]), right=False),
        Sample(np.array([-1.0, 0.5, 0.5, 2.0]), np.array([[0.5, 3.0, -2.0], [1.0, 2.0, -1.0]]), right=True),
        Sample(np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 3.0]]), np.array([[1.0, 5.0], [1.0, 0.0]]), right=True),
        Sample(np.array([1, 3, 3, 7, 9]), np.array([3, 0, 10]), right=False),
        Sample(np.array([1.0, 3.0, 5.0]), 3.0, right=True),
        Sample(np.array([]), np.array([1.0, 2.0]), right=False),
        Sample(np.array([1.0, 3.0]), np.array(2.0), right=False),
    ],
    torch=_torch_searchsorted,
)
