"""Scatter that combines what meets at a position, by sum, product, mean, largest or smallest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tape.constants import ones, zeros
from ..tape.types import Type
from .batching import grid
from .declare import Sample, other
from .gathering import batch_like_values, check_scatter, gather, resized, scatter, scatter_add, scattered, used_by
from .positions import add_at, wide_type

_UFUNCS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _start(dtype: np.dtype[Any], reduce: str) -> Any:
    """Return the value that changes nothing in a reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max
    return -np.inf if reduce == "amax" else np.inf


def _scatter_reduce(a: Any, index: Any, src: Any, axis: int, reduce: str, include_self: bool) -> Any:
    if index.size == 0:
        return np.array(a)
    values, places, new = scattered(a, index, src, axis)
    result = np.array(values)
    if not include_self:
        result[places] = _start(result.dtype, reduce)
    if reduce in _UFUNCS:
        wide = result.astype(wide_type(result.dtype)) if reduce == "prod" else result
        _UFUNCS[reduce].at(wide, places, new)
        return wide.astype(result.dtype, copy=False).reshape(a.shape)
    result = add_at(result, places, new)
    if reduce == "mean":
        counts = np.full(result.shape, int(include_self))
        np.add.at(counts, places, 1)
        counts = np.maximum(counts, 1)
        if result.dtype.kind in "iu":
            result = result // counts.astype(result.dtype)
        else:
            result = (result / counts).astype(result.dtype)
    return result.reshape(a.shape)


def _scatter_reduce_type(a: Type, index: Type, src: Type, axis: int, reduce: str, include_self: bool) -> Any:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    check_scatter(a, index, src, axis)
    if a.dtype is dtypes.bool and reduce == "mean" or a.dtype.is_complex and reduce in ("mean", "amax", "amin"):
        raise NotImplementedError(f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{a.dtype.title}'")
    return a.dtype, a.shape


# Each result depends on its own element of `a` and on the elements of `src` that were scattered to it. So the derivative
# is a factor for each element of `a` and one for each of `src`, and both directions use the same factors.


def _factors(a: Any, index: Any, src: Any, result: Any, axis: int, reduce: str, include_self: bool) -> tuple[Any, Any]:
    """Return the partial derivatives with respect to the elements of `a`, and of `src` where there is an index."""
    untouched = scatter(ones(tuple(a.shape), dtypes.bool), index, False, axis=axis)
    src = resized(src, index.shape)
    if reduce == "prod":
        of_a, of_src = _product_factors(a, index, src, result, axis, include_self)
    elif reduce in ("amax", "amin"):
        of_a, of_src = _winner_factors(a, index, src, result, axis, None if include_self else untouched)
    else:
        of_a, of_src = ones(tuple(a.shape), a.dtype), ones(tuple(src.shape), src.dtype)
        if reduce == "mean":
            counts = scatter_add(of_a if include_self else _as_numbers(untouched, a.dtype), index, of_src, axis=axis)
            of_a = of_a / counts
            of_src = of_src / gather(counts, index, axis=axis)
    if not include_self:
        of_a = scatter(of_a, index, 0, axis=axis)
    return of_a, of_src


def _as_numbers(mask: Any, dtype: Any) -> Any:
    from .casting import cast

    return cast(mask, dtype=dtype)


def _winner_factors(a: Any, index: Any, src: Any, result: Any, axis: int, untouched: Any) -> tuple[Any, Any]:
    """Ties share equally; an element of `a` that is not included does not take part."""
    a_wins = a == result
    if untouched is not None:
        a_wins = a_wins & untouched
    a_wins = _as_numbers(a_wins, a.dtype)
    src_wins = _as_numbers(src == gather(result, index, axis=axis), a.dtype)
    winners = scatter_add(a_wins, index, src_wins, axis=axis)
    return a_wins / winners, src_wins / gather(winners, index, axis=axis)


def _product_factors(a: Any, index: Any, src: Any, result: Any, axis: int, include_self: bool) -> tuple[Any, Any]:
    """Return the product of the others: the product over the element, or with a single zero the product without it."""
    from .indexing import masked_fill
    from .selection import where

    def product(a: Any, src: Any) -> Any:
        return scatter_reduce(a, index, src, axis=axis, reduce="prod", include_self=include_self)

    is_zero = a == 0
    without_a = masked_fill(a, is_zero, 1)
    of_a = product(without_a, src) / without_a
    src_is_zero = src == 0
    counts = scatter_add(zeros(tuple(a.shape), dtypes.int64), index, _as_numbers(src_is_zero, dtypes.int64), axis=axis)
    is_only_zero = src_is_zero & (gather(counts, index, axis=axis) == 1)
    without_src = product(a, masked_fill(src, is_only_zero, 1))
    over_src = gather(result, index, axis=axis) / masked_fill(src, src_is_zero, 1)
    return of_a, where(is_only_zero, gather(without_src, index, axis=axis), over_src)


def _vjp(g: Any, a: Any, b: Any, c: Any, r: Any, types: Any, rtype: Any, axis: int, reduce: str, include_self: bool) -> Any:
    from .arithmetic import conj

    if 0 in types[1].shape:
        return g, None, zeros(types[2].shape, types[2].dtype)
    of_a, of_src = _factors(a, b, c, r, axis, reduce, include_self)
    if rtype.dtype.is_complex:
        of_a, of_src = conj(of_a), conj(of_src)
    return g * of_a, None, resized(gather(g, b, axis=axis) * of_src, types[2].shape)


def _jvp(g: Any, a: Any, b: Any, c: Any, r: Any, types: Any, axis: int, reduce: str, include_self: bool) -> Any:
    tangent, src_tangent = (zeros(types[i].shape, types[i].dtype) if g[i] is None else g[i] for i in (0, 2))
    if 0 in types[1].shape:
        return tangent
    of_a, of_src = _factors(a, b, c, r, axis, reduce, include_self)
    return scatter_add(tangent * of_a, b, resized(src_tangent, b.shape) * of_src, axis=axis)


def _samples() -> list[Sample]:
    index = np.array([[0, 2, 2, 1], [1, 2, 0, 0]])
    values = grid(3, 4) + 0.5
    sources = np.array([[1.5, -2.0, 3.0, 0.25], [-1.25, 2.5, 4.0, 0.75], [9.0, 9.0, 9.0, 9.0]])
    samples = []
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            samples += [
                Sample(values, index, sources, axis=0, reduce=reduce, include_self=include_self),
                Sample(values[0], np.array([1, 1, 3]), sources[0], axis=0, reduce=reduce, include_self=include_self),
            ]
    samples += [
        Sample(values.T, index, sources, axis=1, reduce="prod", include_self=True),
        Sample(np.array(2.0), np.array(0), np.array(3.0), axis=0, reduce="prod", include_self=True),
        Sample(values[0], np.zeros(0, np.int64), sources[0], axis=0, reduce="mean", include_self=False),
    ]
    return samples


def _in_torch(torch: Any, a: Any, index: Any, src: Any, axis: int, reduce: str, include_self: bool) -> Any:
    if a.is_complex():
        raise NotImplementedError("PyTorch has no derivative of this for complex tensors")
    if reduce != "prod":
        return a.scatter_reduce(axis, index, used_by(index, src), reduce, include_self=include_self)
    result = a if include_self else a.scatter(axis, index, 1)  # one factor after the other: PyTorch's own derivative of the
    for place in range(index.shape[axis] if index.ndim else 1):  # product cannot be differentiated again
        part = index.narrow(axis, place, 1) if index.ndim else index
        factor = src.narrow(axis, place, 1) if index.ndim else src
        result = result * torch.ones_like(a).scatter(axis, part, used_by(part, factor))
    return result


scatter_reduce = other(
    "scatter_reduce",
    _scatter_reduce,
    _scatter_reduce_type,
    vjp=_vjp,
    jvp=_jvp,
    parameters=("axis", "reduce", "include_self"),
    batch=batch_like_values,
    samples=_samples,
    torch=_in_torch,
)
