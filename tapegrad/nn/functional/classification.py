"""Losses of classifiers: how unlikely the right class is held to be."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import dtypes
from ...functions.arguments import checked
from ...functions.arithmetic import xlogy
from ...functions.declare import wrong_type
from ...functions.reductions import log_softmax, sum
from ...primitives.arithmetic import div, neg
from ...primitives.casting import cast
from ...primitives.losses import binary_cross_entropy as bce_row
from ...primitives.marks import keep
from ...primitives.movement import expand, reshape
from ...primitives.picking import nll_loss as nll_row
from ...primitives.picking import which_count
from ...primitives.rows import log_softmax as log_softmax_row
from ...primitives.selection import where
from ...primitives.transcendental import log_sigmoid
from ...primitives.type_rules import broadcast_shapes
from ...tape.buffers import is_concrete
from ...tape.record import here, look_at, record
from .composition import show
from .reduction import chosen, reduced, reduced_as_one

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "nll_loss"]


# Of several classes


@checked
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Return minus the logarithm of the probability that `input` gives to the right class.

    Args:
        input: the logits: (C), (N, C) or (N, C, ...).
        target: the classes, int64 of the shape of input without C; or probabilities of all classes, of the shape of input.
        weight: a factor for each class, or None.
        size_average: PyTorch's old name for a mean.
        ignore_index: a class that does not count.
        reduce: PyTorch's old name for a reduction.
        reduction: "mean", "sum" or "none".
        label_smoothing: which share of the target is spread over all classes.

    >>> import tapegrad
    >>> cross_entropy(tapegrad.zeros(1, 2), tapegrad.tensor([0]))
    tensor(0.6931)
    """
    try:
        type_, target_type = input._node.type, target._node.type
    except AttributeError:
        argument, position, value = ("target", 2, target) if hasattr(input, "_node") else ("input", 1, input)
        raise wrong_type("cross_entropy_loss", argument, position, "Tensor", value) from None
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = chosen(reduction, size_average, reduce)
    if type_.shape == target_type.shape:
        return _of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing < 0.0 or label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    axis = 0 if type_.ndim <= 1 else 1
    likelihood = record(log_softmax_row, (input,), ((axis,) if type_.ndim else (),))
    if label_smoothing == 0.0:
        return _nll_loss(likelihood, target, weight, ignore_index, reduction)
    return _smoothed(likelihood, target, weight, ignore_index, reduction, label_smoothing)


def _of_probabilities(
    input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float
) -> Any:
    shape = input._node.type.shape
    if not target.dtype.is_floating_point:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.title}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if label_smoothing < 0.0 or label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    axis = 0 if len(shape) <= 1 else 1
    likelihood = log_softmax(input, axis)
    classes = shape[axis]
    if weight is not None:
        _check_weight(weight, input, classes, "cross_entropy: ")
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = likelihood * target
    if weight is not None:
        products = products * _by_class(weight, len(shape), axis)
    if reduction == "none":
        return neg(sum(products, axis))
    total = neg(sum(products))
    if reduction == "sum":
        return total
    return record(div, (total, math.prod(shape[:axis] + shape[axis + 1 :])), (), "DivBackward1")


def _smoothed(
    likelihood: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float
) -> Any:
    """Return the loss with a share of the target spread over all classes."""
    type_ = likelihood._node.type
    axis = 0 if type_.ndim == 1 else 1
    loss = _nll_loss(likelihood, target, weight, ignore_index, reduction)
    weighted = likelihood if weight is None else likelihood * _by_class(weight, type_.ndim, axis)
    smooth = neg(sum(weighted, axis))
    ignored = target == ignore_index
    if target._node.type.shape != smooth._node.type.shape:
        ignored = reshape(ignored, shape=smooth._node.type.shape)
    smooth = where(ignored, 0, smooth)
    if reduction != "none":
        smooth = sum(smooth)
    if reduction == "mean" and weight is None:
        smooth = smooth / sum(~ignored)
    elif reduction == "mean":
        smooth = smooth / _total_weight(weight, target, type_, axis, ignore_index)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / type_.shape[axis])


@checked
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return minus the element of `input`, logarithms of probabilities, at the right class; see `cross_entropy`."""
    for argument, position, value in (("input", 1, input), ("target", 2, target)):
        if not hasattr(value, "_node"):
            raise wrong_type("nll_loss_nd", argument, position, "Tensor", value)
    return _nll_loss(input, target, weight, ignore_index, chosen(reduction, size_average, reduce))


def _nll_loss(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    type_, target_type = input._node.type, target._node.type
    axis = 0 if type_.ndim == 1 else 1
    expected = type_.shape[:axis] + type_.shape[axis + 1 :]
    if target_type.dtype is not dtypes.int64 or target_type.shape != expected or not type_.ndim:
        target = _checked_target(target, type_, target_type, expected)
    if is_concrete(target):
        which_count(look_at(target), type_.shape[axis], ignore_index)
    if weight is None:
        return record(nll_row, (input, target, ignore_index), (axis, reduction), _shown(type_.ndim, reduction))
    _check_weight(weight, input, type_.shape[axis], "")
    start = here()
    weighted = keep(input, shown="NllLossBackwardBackward0") * _by_class(weight, type_.ndim, axis)
    if reduction != "mean":
        loss = record(nll_row, (weighted, target, ignore_index), (axis, reduction))
    else:
        total = record(nll_row, (weighted, target, ignore_index), (axis, "sum"))
        loss = total / _total_weight(weight, target, type_, axis, ignore_index)
    return show(_shown(type_.ndim, reduction) or "NllLossBackward0", loss, start)


def _shown(ndim: int, reduction: str) -> str | None:
    """Return what ``grad_fn`` shows where that is not the primitive's name."""
    if ndim <= 2:
        return None
    return "NllLoss2DBackward0" if ndim == 4 or reduction != "none" else "ViewBackward0"


def _checked_target(target: Any, type_: Any, target_type: Any, expected: tuple[int, ...]) -> Any:
    """Return an unusual target as int64 classes of the shape they must have, or raise PyTorch's error."""
    shape = target_type.shape
    if type_.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if type_.ndim == 1 and target_type.ndim == 1 and shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {shape[0]}")
    if type_.ndim > 1 and (not shape or shape[0] != type_.shape[0]):
        got = shape[0] if shape else 0
        raise ValueError(f"Expected input batch_size ({type_.shape[0]}) to match target batch_size ({got}).")
    if type_.ndim <= 2 and target_type.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if type_.ndim == 4 and target_type.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target_type.ndim}"
        )
    if type_.ndim == 4 and shape != expected:
        raise RuntimeError(f"size mismatch (got input: {list(type_.shape)} , target: {list(shape)}")
    if type_.ndim > 2 and shape != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(shape)}")
    if target_type.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target_type.dtype.title}")
    if target_type.dtype is dtypes.uint8:
        target = cast(target, dtype=dtypes.int64)
    return target if shape == expected else reshape(target, shape=expected)


def _check_weight(weight: Any, input: Any, classes: int, name: str) -> None:
    type_ = weight._node.type
    if type_.shape != (classes,):
        if input._node.type.ndim > 2 and not name:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(
            f"{name}weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(type_.shape)}"
        )
    if type_.dtype is not input.dtype and not name:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {type_.dtype.title}")


def _by_class(weight: Any, ndim: int, axis: int) -> Any:
    """Return a factor a class such that it broadcasts against the classes' axis."""
    behind = ndim - axis - 1
    return weight if not behind else reshape(weight, shape=(weight._node.type.numel, *(1,) * behind))


def _total_weight(weight: Any, target: Any, type_: Any, axis: int, ignore_index: int) -> Any:
    """Return the sum of the factors of the target's classes, without what is ignored."""
    everywhere = expand(_by_class(weight, type_.ndim, axis), shape=type_.shape)
    return -record(nll_row, (everywhere, target, ignore_index), (axis, "sum"))


# Of two classes


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return minus the logarithm of the probability that `input`, the probability of yes, gives to the target.

    `target` has the size of input and is between 0 and 1; `weight` are factors that broadcast against it.
    """
    reduction = chosen(reduction, size_average, reduce)
    if target._node.type.shape != input._node.type.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please "
            "ensure they have the same size."
        )
    if weight is not None:
        broadcast_shapes("binary_cross_entropy", target._node.type.shape, weight._node.type.shape)
    start = here()
    loss = record(bce_row, (input, target))
    if weight is not None:
        loss = loss * weight
    return show("BinaryCrossEntropyBackward0", reduced_as_one(loss, reduction), start)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """Return `binary_cross_entropy` of ``sigmoid(input)``, computed without overflow.

    `pos_weight` is a factor for what the target says yes to.

    >>> import tapegrad
    >>> binary_cross_entropy_with_logits(tapegrad.zeros(2), tapegrad.ones(2))
    tensor(0.6931)
    """
    reduction = chosen(reduction, size_average, reduce)
    if target._node.type.shape != input._node.type.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if target.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {target.dtype.title}")
    start = here()
    likelihood = log_sigmoid(input)
    if pos_weight is not None:
        likelihood = likelihood * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - likelihood
    if weight is not None:
        loss = loss * weight
    return show("BinaryCrossEntropyWithLogitsBackward0", reduced_as_one(loss, reduction), start)


# Of distributions


def kl_div(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Return the Kullback-Leibler divergence ``target * (log(target) - input)``; `input` are logarithms of probabilities.

    With `log_target`, so is `target`. `reduction` may also be "batchmean": the sum, divided by the first length.
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the "
            "next major release.",
            stacklevel=2,
        )
    found = chosen("sum" if reduction == "batchmean" else reduction, size_average, reduce)
    if input.dtype.category < dtypes.FLOAT or target.dtype.category < dtypes.FLOAT:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    losses = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    result = reduced(losses, found)
    return result / input._node.type.shape[0] if reduction == "batchmean" and input._node.type.ndim else result

