"""Losses of margins: by how much the right classes fail to be ahead of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import checked
from ...functions.options import concrete
from ...functions.reductions import sum
from ...primitives.movement import reshape
from ...primitives.row_indexing import index_select
from ...primitives.selection import clamp_min, where
from ...primitives.transcendental import exp, log1p, log_sigmoid
from ...tape.record import here, read
from .composition import show
from .reduction import chosen, reduced, reduced_as_one

__all__ = ["multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss"]


def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """Return ``log(1 + exp(-target * input))``; the target is 1 or -1."""
    reduction = chosen(reduction, size_average, reduce)
    start = here()
    return show("SoftMarginLossBackward0", reduced_as_one(log1p(exp(input * -target)), reduction), start)


@checked
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return by how much the target class fails to be ahead of the others by `margin`, to the power `p` (1 or 2).

    What is summed over the other classes is divided by the number of classes; `weight` is a factor a class.
    """
    reduction = chosen(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    classes = input.shape[-1] if input.ndim else 1
    samples = input.shape[0] if input.ndim == 2 else 1
    if not classes or input.ndim > 2:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if target.ndim > 1 or target.numel() != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{samples}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.title}")
    start = here()
    rows = reshape(input, shape=(samples, classes))
    index = reshape(target, shape=(target.numel(), 1))
    short = clamp_min(margin - rows.gather(1, index) + rows, 0)
    if p == 2:
        short = short * short
    if weight is not None:
        short = short * reshape(index_select(weight, reshape(target, shape=(target.numel(),)), axis=0), shape=(target.numel(), 1))
    others = target.new_tensor(range(classes)) != index
    losses = sum(where(others, short, 0), 1) / classes
    if input.ndim < 2 and reduction == "none":
        losses = reshape(losses, shape=())
    return show("MultiMarginLossBackward0", reduced_as_one(losses, reduction), start)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """Return by how much each target class fails to be ahead of each class that is none by 1, divided by their number.

    `target` lists the classes of each sample, up to the first -1.
    """
    reduction = chosen(reduction, size_average, reduce)
    classes = input.shape[-1] if input.ndim else 1
    if not classes or input.ndim > 2:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if target._node.type.shape != input._node.type.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    listed = read(target).reshape(-1, classes)
    valid = np.logical_and.accumulate(listed >= 0, axis=1)
    is_target = np.zeros(listed.shape, np.bool_)
    np.put_along_axis(is_target, np.where(valid, listed, listed[:, :1].clip(0)), True, axis=1)
    is_target &= valid.any(axis=1, keepdims=True)
    start = here()
    rows = reshape(input, shape=(len(listed), classes))
    index = concrete(np.where(valid, listed, 0), dtypes.int64)
    chosen_rows = reshape(rows.gather(1, index), shape=(len(listed), classes, 1))
    short = clamp_min(1 - chosen_rows + reshape(rows, shape=(len(listed), 1, classes)), 0)
    counts = concrete(valid[:, :, np.newaxis] & ~is_target[:, np.newaxis, :], dtypes.bool)
    losses = sum(where(counts, short, 0), (1, 2)) / classes
    if input.ndim < 2 and reduction == "none":
        losses = reshape(losses, shape=())
    return show("MultilabelMarginLossBackward0", reduced_as_one(losses, reduction), start)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return the mean over the classes of what `binary_cross_entropy_with_logits` is for each."""
    reduction = chosen(reduction, size_average, reduce)
    losses = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(sum(losses, losses.ndim - 1) / input.shape[-1], reduction)
