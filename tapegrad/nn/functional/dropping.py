"""Dropout: elements, or whole channels, drawn to be zero in training."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import random as draws
from ...functions.declare import require_tensor
from ...functions.in_place import write
from ...functions.options import concrete
from ...functions.sampling import in_memory_order
from ...tape.checks import check_writable
from ...tape.types import contiguous_strides

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set each element to zero with probability `p`, and divide the others by ``1 - p``; when not training, do nothing.

    >>> import tapegrad
    >>> dropout(tapegrad.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    type_ = require_tensor("dropout", input)._node.type
    if not training or p == 0 or not type_.numel:
        return input
    _check_floating(type_)
    mask = in_memory_order(type_.shape, type_.strides, type_.dtype, lambda shape, dtype, _: draws.dropout_mask(shape, dtype, p))
    return _multiplied(input, concrete(mask, type_.dtype, strides=type_.strides), inplace)


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _check_floating(type_: Any) -> None:
    if not type_.dtype.is_floating_point and not type_.dtype.is_complex:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_.dtype.title}")


def _multiplied(input: Any, mask: Any, inplace: bool) -> Any:
    if not inplace:
        return input * mask
    check_writable(input)
    return write(input, input * mask)


# Whole channels


def _feature_shape(input: Any) -> tuple[int, ...]:
    """Return the shape of one number for each channel of each sample."""
    shape = input._node.type.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1,) * (len(shape) - 2))


def _feature_dropout(input: Any, p: float, training: bool, inplace: bool) -> Any:
    type_ = input._node.type
    if not training or p == 0 or not type_.numel:
        return input
    shape = _feature_shape(input)
    _check_floating(type_)
    return _multiplied(input, concrete(draws.dropout_mask(shape, type_.dtype, p), type_.dtype), inplace)


def _one_sample(input: Any, p: float, training: bool, inplace: bool) -> Any:
    """Apply to one sample: a batch of one."""
    result = _feature_dropout(input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set each channel of (N, C, length), or of (C, length), to zero with probability `p`; see `dropout`."""
    _check_probability(p)
    ndim = require_tensor("dropout1d", input)._node.type.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if ndim == 2:
        return _one_sample(input, p, training, inplace)
    return _feature_dropout(input, p, training, inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set each channel of (N, C, height, width) to zero with probability `p`; see `dropout`."""
    _check_probability(p)
    ndim = require_tensor("dropout2d", input)._node.type.ndim
    if ndim not in (3, 4):
        _warn_of_dimensions("dropout2d", ndim, 2)
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout "
            "behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set each channel of (N, C, depth, height, width), or of one sample, to zero with probability `p`; see `dropout`."""
    _check_probability(p)
    ndim = require_tensor("dropout3d", input)._node.type.ndim
    if ndim not in (4, 5):
        _warn_of_dimensions("dropout3d", ndim, 3)
    if ndim != 5:
        return _one_sample(input, p, training, inplace)
    return _feature_dropout(input, p, training, inplace)


def _warn_of_dimensions(name: str, ndim: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future release. To "
        f"retain the behavior and silence this warning, please use dropout instead. Note that {name} exists to provide "
        f"channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


# What keeps mean and variance of what SELU makes

_ALPHA = 1.7580993408473766


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Set each element with probability `p` to what SELU tends to, and keep the mean 0 and the variance 1 of the whole."""
    _check_probability(p)
    return _alpha_dropout(require_tensor("alpha_dropout", input), input._node.type.shape, p, training, inplace)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Do `alpha_dropout` with whole channels (dimension 1)."""
    _check_probability(p)
    if not training or p == 0 or not require_tensor("feature_alpha_dropout", input)._node.type.numel:
        return input
    return _alpha_dropout(input, _feature_shape(input), p, training, inplace)


def _alpha_dropout(input: Any, shape: tuple[int, ...], p: float, training: bool, inplace: bool) -> Any:
    type_ = input._node.type
    if not training or p == 0 or not type_.numel:
        return input
    _check_floating(type_)
    if p == 1:
        return _multiplied(input, concrete(draws.dropout_mask(shape, type_.dtype, p), type_.dtype), inplace)
    strides = type_.strides if shape == type_.shape else contiguous_strides(shape)
    drawn = in_memory_order(shape, strides, type_.dtype, lambda shape, dtype, _: draws.bernoulli(shape, dtype, 1 - p))
    kept = concrete(drawn, type_.dtype, strides=strides)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    result = input * (kept * scale) + shift
    if not inplace:
        return result
    check_writable(input)
    return write(input, result)
