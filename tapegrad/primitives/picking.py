"""The negative log likelihood: minus one element of an axis for each place of the others, as a target class picks it.

Elements whose index is the number `ignore` count as zero. The losses are returned one by one (reduction "none"), as
their sum, or as their mean over what is not ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .comparison import not_equal
from .declare import Primitive, Sample, linear
from .marks import tied
from .reductions import reduce_sum

REDUCTIONS = ("none", "mean", "sum")


def which_count(index: Any, size: int, ignore: Any) -> Any:
    """Return which places of a target are not ignored, or None for all of them; raise IndexError for one out of range."""
    if not 0 <= ignore < size:
        unsigned = index.view(np.uint64)  # negative ones are large
        if not index.size or unsigned.item(unsigned.argmax()) < size:  # `max` takes microseconds to begin
            return None
    counted = index != ignore
    outside = counted & ((index < 0) | (index >= size))
    if outside.any():
        raise IndexError(f"Target {index[outside].flat[0]} is out of bounds.")
    return counted


def _places(index: Any, counted: Any, axis: int) -> Any:
    """Return the index with its axis back, and 0 where it is ignored."""
    return np.expand_dims(index if counted is None else np.where(counted, index, 0), axis)


def _nll_loss(a: Any, index: Any, ignore: Any, axis: int, reduction: str) -> Any:
    counted = which_count(index, a.shape[axis], ignore)
    if counted is None and a.ndim == 2 and axis == 1:
        picked = a[np.arange(len(a)), index]
    else:
        picked = np.take_along_axis(a, _places(index, counted, axis), axis).squeeze(axis)
        if counted is not None:
            picked = np.where(counted, picked, np.zeros((), a.dtype))
    if reduction == "none":
        return -picked
    total = -np.add.reduce(picked.reshape(-1), dtype=np.float32 if a.dtype.itemsize == 2 else None)
    return total / _number(index, counted, total.dtype) if reduction == "mean" else total


def _number(index: Any, counted: Any, dtype: Any) -> Any:
    """Return how many places are not ignored, as a number of the dtype (so that dividing by zero gives NaN)."""
    return dtype.type(index.size if counted is None else np.count_nonzero(counted))


def _nll_loss_type(a: Type, index: Type, ignore: Type, axis: int, reduction: str) -> Any:
    expected = a.shape[:axis] + a.shape[axis + 1 :]
    if index.shape != expected:
        raise RuntimeError(f"nll_loss: expected a target of shape {list(expected)}, got {list(index.shape)}")
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {index.dtype.title}")
    _require_floating("nll_loss_out_frame" if a.ndim <= 2 else "nll_loss2d_forward_out_frame", a)
    return a.dtype, expected if reduction == "none" else ()


def _require_floating(name: str, a: Type) -> None:
    if not a.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{a.dtype.title}'")


def _nll_loss_transpose(g: Any, index: Any, ignore: Any, axis: int, size: int, reduction: str) -> Any:
    counted = which_count(index, size, ignore)
    share = -g / _number(index, counted, g.dtype) if reduction == "mean" else -g
    if counted is not None:
        share = np.where(counted, share, np.zeros((), g.dtype))
    result = np.zeros((*index.shape[:axis], size, *index.shape[axis:]), g.dtype)
    if counted is None and result.ndim == 2 and axis == 1:
        result[np.arange(len(result)), index] = share
    else:
        share = np.expand_dims(np.broadcast_to(share, index.shape), axis)
        np.put_along_axis(result, _places(index, counted, axis), share, axis)
    return result


def _nll_loss_transpose_type(g: Type, index: Type, ignore: Type, axis: int, size: int, reduction: str) -> Any:
    if g.shape != (index.shape if reduction == "none" else ()):
        raise RuntimeError(f"nll_loss_transpose: the cotangent, {list(g.shape)}, does not fit a target of {list(index.shape)}")
    _require_floating("nll_loss_backward_out_frame", g)
    return g.dtype, (*index.shape[:axis], size, *index.shape[axis:])


# Batching: the batch is one more dimension without a class, and is not reduced over.


def _counts(index: Any, ignore: Any, dtype: dtypes.dtype) -> Any:
    """Return for each element of a batch how many of its places are not ignored."""
    from .casting import cast

    axes = tuple(range(1, index.ndim))
    return cast(reduce_sum(not_equal(index, ignore), axes=axes, keepdims=False), dtype=dtype)


def _batch(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int, reduction: str) -> Any:
    (a, index, ignore), _, _ = batching.with_batch_dimension(operands, batched)
    losses = primitive(a, index, ignore, axis=axis + 1, reduction="none")
    if reduction == "none":
        return losses
    total = reduce_sum(losses, axes=tuple(range(1, losses.ndim)), keepdims=False)
    return total / _counts(index, ignore, a.dtype) if reduction == "mean" else total


def _transpose_batch(
    primitive: Any, operands: Sequence[Any], batched: Sequence[bool], axis: int, size: int, reduction: str
) -> Any:
    (g, index, ignore), count, _ = batching.with_batch_dimension(operands, batched)
    if reduction == "mean":
        g = g / _counts(index, ignore, g.dtype)
    if reduction != "none":
        g = batching.expanded(batching.reshaped(g, (count, *[1] * (index.ndim - 1))), tuple(index.shape))
    return primitive(g, index, ignore, axis=axis + 1, size=size, reduction="none")


# The rows


def _samples() -> list[Sample]:
    random = np.random.default_rng(3)
    cases = [
        ((4, 3), np.array([0, 2, 1, 2]), 1, -100),
        ((4, 3), np.array([0, -1, 1, -1]), 1, -1),
        ((4, 3), np.array([0, 2, 1, 2]), 1, 2),
        ((3,), np.array(1), 0, -100),
        ((2, 3, 4), np.array([[0, 1, 2, 0], [2, 9, 1, 0]]), 1, 9),
        ((0, 3), np.zeros(0, np.int64), 1, -100),
    ]
    return [
        Sample(random.normal(size=shape), index, ignore, axis=axis, reduction=reduction)
        for shape, index, axis, ignore in cases
        for reduction in REDUCTIONS
        if index.size or reduction != "mean"  # which is NaN
    ]


def _transpose_samples() -> list[Sample]:
    random = np.random.default_rng(4)
    samples = []
    for sample in _samples():
        a, index, ignore = sample.operands
        axis, reduction = sample.parameters["axis"], sample.parameters["reduction"]
        g = random.normal(size=index.shape if reduction == "none" else ())
        samples.append(Sample(np.asarray(g), index, ignore, axis=axis, size=a.shape[axis], reduction=reduction))
    return samples


def _torch_nll_loss(torch: Any, a: Any, index: Any, ignore: Any, axis: int, reduction: str) -> Any:
    return torch.nn.functional.nll_loss(a, index, ignore_index=ignore, reduction=reduction)


def _torch_nll_loss_transpose(torch: Any, g: Any, index: Any, ignore: Any, axis: int, size: int, reduction: str) -> Any:
    if not g.dtype.is_floating_point:
        raise NotImplementedError("PyTorch's derivative takes floating point numbers only")
    counted = index != ignore
    share = -(g / counted.sum() if reduction == "mean" else g).expand(index.shape)
    places = torch.where(counted, index, 0).unsqueeze(axis)
    zeros = g.new_zeros(*index.shape[:axis], size, *index.shape[axis:])
    return zeros.scatter_add(axis, places, torch.where(counted, share, 0).unsqueeze(axis))


nll_loss: Primitive = linear(
    "nll_loss",
    _nll_loss,
    _nll_loss_type,
    transpose=(
        lambda g, a, b, c, axis, reduction: tied(
            nll_loss_transpose(g, b, c, axis=axis, size=a.shape[axis], reduction=reduction), a, "NllLossBackwardBackward0"
        ),
        None,
        None,
    ),
    parameters=("axis", "reduction"),
    batch=_batch,
    samples=_samples,
    torch=_torch_nll_loss,
)

nll_loss_transpose: Primitive = linear(
    "nll_loss_transpose",
    _nll_loss_transpose,
    _nll_loss_transpose_type,
    transpose=(lambda g, b, c, axis, reduction: nll_loss(g, b, c, axis=axis, reduction=reduction), None, None),
    parameters=("axis", "size", "reduction"),
    batch=_transpose_batch,
    samples=_transpose_samples,
    torch=_torch_nll_loss_transpose,
    grad_name="NllLossBackwardBackward0",
)
