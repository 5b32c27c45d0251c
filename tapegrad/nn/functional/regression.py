"""Losses of regressions: how far numbers are from their targets."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...functions.reductions import sum
from ...primitives.arithmetic import integer_power
from ...primitives.selection import where
from ...primitives.signs import absolute
from ...tape.record import here, look_at, record
from .composition import narrow, show, widen
from .reduction import chosen, reduced, reduced_as_one, warn_of_sizes

__all__ = ["gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]


def mse_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """Return the squared differences, their mean (weighted, where `weight` is given) or their sum.

    >>> import tapegrad
    >>> mse_loss(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([1.0, 4.0]))
    tensor(2.)
    """
    warn_of_sizes("mse_loss", input, target)
    if weight is not None:
        return _weighted(record(integer_power, (input - target,), (2,)), input, weight, _plain(reduction, size_average, reduce))
    reduction = chosen(reduction, size_average, reduce)
    start = here()
    difference = input - target
    dtype = difference._node.type.dtype
    _check_kernel("mse_cpu", dtype)
    losses = record(integer_power, (widen(difference),), (2,))
    return show("MseLossBackward0", narrow(reduced_as_one(losses, reduction), dtype), start)


def l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """Return the absolute differences, their mean (weighted, where `weight` is given) or their sum."""
    warn_of_sizes("l1_loss", input, target)
    if weight is not None:
        return _weighted(absolute(input - target), input, weight, _plain(reduction, size_average, reduce))
    return reduced(record(absolute, (input - target,)), chosen(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """Return the absolute differences less ``beta / 2``, but ``d * d / (2 * beta)`` for a difference d of less than `beta`."""
    warn_of_sizes("smooth_l1_loss", input, target)
    reduction = chosen(reduction, size_average, reduce)
    if beta == 0.0:
        return reduced(record(absolute, (input - target,)), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    start = here()
    difference = input - target
    dtype = difference._node.type.dtype
    _check_kernel("smooth_l1_cpu", dtype)
    difference = widen(difference)
    size = record(absolute, (difference,))
    losses = where(size < beta, record(integer_power, (difference,), (2,)) * (0.5 / beta), size - 0.5 * beta)
    return show("SmoothL1LossBackward0", narrow(reduced_as_one(losses, reduction), dtype), start)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Return ``d * d / 2`` for differences d up to `delta`, and ``delta * (|d| - delta / 2)`` for larger ones."""
    warn_of_sizes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        return _weighted_mean(_huber(input, target, delta, "none"), input, weight, reduction)
    return _huber(input, target, delta, chosen(reduction))


def _huber(input: Any, target: Any, delta: float, reduction: str) -> Any:
    start = here()
    difference = input - target
    dtype = difference._node.type.dtype
    _check_kernel("huber_cpu", dtype)
    difference = widen(difference)
    size = record(absolute, (difference,))
    losses = where(size <= delta, record(integer_power, (difference,), (2,)) * 0.5, (size - 0.5 * delta) * delta)
    return show("HuberLossBackward0", narrow(reduced_as_one(losses, reduction), dtype), start)


def _check_kernel(kernel: str, dtype: dtypes.dtype) -> None:
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")


# With a weight for each element


def _plain(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction; one that is none raises later, with another text."""
    return reduction if size_average is None and reduce is None else chosen(reduction, size_average, reduce)


def _check_weight(input: Any, weight: Any, reduction: str) -> None:
    if weight._node.type.shape != input._node.type.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _weighted(losses: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Return the weighted losses, their sum, or that divided by the weights' sum."""
    _check_weight(input, weight, reduction)
    losses = losses * weight
    if reduction == "none":
        return losses
    return sum(losses) if reduction == "sum" else sum(losses) / sum(weight)


def _weighted_mean(losses: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Return the weighted losses, their sum, or that divided by how many there are."""
    _check_weight(input, weight, reduction)
    return reduced(losses * weight, reduction)


# Of distributions


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Return minus the logarithm of the probability of `target` under Poisson distributions of the rate ``exp(input)``.

    With `log_input` False, `input` is the rate itself (`eps` is added before its logarithm is taken). With `full`, the
    logarithm of the factorial, which does not depend on input, is there too (by Stirling's formula).
    """
    reduction = chosen(reduction, size_average, reduce)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + where(target <= 1, 0, stirling)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Return minus the logarithm of the density of `target` under normal distributions of the mean `input`.

    Args:
        input: the means.
        target: the observed numbers.
        var: the variances: a number, a tensor of the size of input, or one that lacks its last dimension or has 1 there.
        full: whether to add the constant, too.
        eps: the least variance.
        reduction: "mean", "sum" or "none".
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input.size())
    elif (look_at(var) < 0).any():  # which PyTorch reads too
        raise ValueError("var has negative entry/entries")
    var = _of_size(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    fixed = var.detach()
    var = var + (fixed.clamp(min=eps) - fixed)  # the gradient passes as if the variance were as it was given
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


def _of_size(var: Any, input: Any) -> Any:
    """Return variances that broadcast against the input, or raise ValueError."""
    shape, given = input._node.type.shape, var._node.type.shape
    if shape == given:
        return var
    if shape[:-1] == given:
        return var.unsqueeze(-1)
    if len(shape) != len(given) or [other for length, other in zip(shape, given, strict=True) if length != other] != [1]:
        raise ValueError("var is of incorrect size")
    return var
