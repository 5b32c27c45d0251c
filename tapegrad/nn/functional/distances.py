"""Distances and similarities of vectors, and the losses that compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...functions.distances import lengths
from ...functions.options import concrete
from ...functions.reductions import sum
from ...functions.shapes import broadcast_tensors
from ...primitives.movement import reshape
from ...primitives.norms import vector_norm
from ...primitives.row_indexing import index_select
from ...primitives.selection import clamp_min, minimum, where
from ...primitives.type_rules import normalise_axis, result_dtype
from ...tape.record import here, record
from .composition import show
from .reduction import chosen, reduced

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss", "pairwise_distance", "pdist",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]


@checked
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Return the cosine of the angle between vectors along `dim`; norms count as at least `eps`.

    >>> import tapegrad
    >>> cosine_similarity(tapegrad.tensor([[1.0, 0.0]]), tapegrad.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    types = require_tensor("cosine_similarity", x1, "x1")._node.type, require_tensor("cosine_similarity", x2, "x2", 2)._node.type
    dtype = result_dtype(types)
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.title}")
    first, second = x1.to(dtype), x2.to(dtype)
    if first._node.type.shape != second._node.type.shape:
        first, second = broadcast_tensors(first, second)
    if not first._node.type.ndim:
        normalise_axis(dim, 0)
        first, second = record(reshape, (first,), ((1,),)), record(reshape, (second,), ((1,),))
        return record(reshape, (cosine_similarity(first, second, 0, eps),), ((),))
    axis = normalise_axis(dim, first._node.type.ndim)
    return sum(first / _norm(first, axis, eps) * (second / _norm(second, axis, eps)), axis)


def _norm(x: Any, axis: int, eps: float) -> Any:
    """Return the norm along an axis, at least `eps`; gradients pass as if it were not limited."""
    norm = vector_norm(x, order=2.0, axes=(axis,), keepdims=True)
    value = norm.detach()
    return norm + (clamp_min(value, eps) - value)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """Return the norms of order `p` of ``x1 - x2 + eps`` along the last dimension."""
    start = here()
    difference = require_tensor("pairwise_distance", x1, "x1") - require_tensor("pairwise_distance", x2, "x2", 2) + eps
    last = difference._node.type.ndim - 1
    return show("NormBackward1", record(vector_norm, (difference,), (float(p), (last,), keepdim)), start)


def pdist(input: Any, p: float = 2.0) -> Any:
    """Return the distances, by the norm of order `p`, of all pairs of rows: (0, 1), (0, 2), ..., (1, 2), ..."""
    type_ = require_tensor("pdist", input)._node.type
    if type_.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {type_.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = (concrete(indices, dtypes.int64) for indices in np.triu_indices(type_.shape[0], 1))
    start = here()
    difference = index_select(input, first, axis=0) - index_select(input, second, axis=0)
    return show("PdistBackward0", lengths(difference, p), start)


# Losses


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return by how much `input1` fails to be above `input2` (target 1) or below it (target -1) by `margin`."""
    reduction = chosen(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return the distance `input` itself where the target is 1, by how much it falls short of `margin` where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    short = (margin - input).clamp_min(0)
    return reduced(where(target != 1, short, 0) + where(target != -1, input, 0), reduction)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return one less the cosine where the target is 1, by how much it is above `margin` where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    expected = target.ndim + 1
    if input1.ndim != expected or input2.ndim != expected:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {expected}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    axis = target.ndim
    product, square1, square2 = sum(input1 * input2, axis), sum(input1 * input1, axis) + 1e-12, sum(input2 * input2, axis) + 1e-12
    cosine = product / (square1 * square2).sqrt()
    return reduced(where(target == 1, 1 - cosine, 0) + where(target == -1, (cosine - margin).clamp_min(0), 0), reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return by how much the negative fails to be farther from the anchor than the positive by `margin`.

    With `swap`, the negative's distance from the positive counts, if that is smaller than the one from the anchor.
    """
    reduction = chosen(reduction, size_average, reduce)
    return _triplet(
        lambda x1, x2: pairwise_distance(x1, x2, p, eps), anchor, positive, negative, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Return `triplet_margin_loss` with another distance function than `pairwise_distance`."""
    distance = distance_function or pairwise_distance
    return _triplet(distance, anchor, positive, negative, margin, swap, chosen(reduction))


def _triplet(
    distance: Callable[[Any, Any], Any], anchor: Any, positive: Any, negative: Any, margin: float, swap: bool, reduction: str
) -> Any:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    to_positive, to_negative = distance(anchor, positive), distance(anchor, negative)
    if swap:
        to_negative = minimum(to_negative, distance(positive, negative))
    return reduced((margin + to_positive - to_negative).clamp_min(0), reduction)
