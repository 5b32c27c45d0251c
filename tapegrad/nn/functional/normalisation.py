"""Normalisation: what has mean 0 and variance 1 over a batch, a layer, groups or an instance; and unit vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...functions.in_place import write
from ...primitives.arithmetic import integer_power, rsqrt
from ...primitives.movement import reshape
from ...primitives.reductions import reduce_sum
from ...tape.record import here, record
from ...tape.segment import in_grad_mode
from .composition import narrow, show, widen

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm",
]

Axes = tuple[int, ...]


def _mean(x: Any, axes: Axes) -> Any:
    """Return the mean over the axes, which stay, with length 1."""
    return record(reduce_sum, (x,), (axes, True)) / math.prod([x._node.type.shape[axis] for axis in axes])


def _moments(x: Any, axes: Axes) -> tuple[Any, Any, Any]:
    """Return the mean over the axes, the tensor less its mean, and the variance (divided by the count)."""
    mean = _mean(x, axes)
    centred = x - mean
    return mean, centred, _mean(record(integer_power, (centred,), (2,)), axes)


def _scale_and_shift(x: Any, weight: Any, bias: Any, shape: tuple[int, ...]) -> Any:
    """Multiply by the weight and add the bias, which count as of this shape; either may be None."""
    if weight is not None:
        x = x * _of_shape(widen(weight), shape)
    return x if bias is None else x + _of_shape(widen(bias), shape)


def _of_shape(tensor: Any, shape: tuple[int, ...]) -> Any:
    return tensor if tensor._node.type.shape == shape else record(reshape, (tensor,), (shape,))


def _check_kernel(kernel: str, type_: Any) -> None:
    if not type_.dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{type_.dtype.title}'")


def _check_mixed(type_: Any, *parameters: Any) -> None:
    """Raise for parameters whose dtype is neither the input's nor, for one of half precision, float32."""
    for parameter in parameters:
        if parameter is None or parameter._node.type.dtype is type_.dtype:
            continue
        if type_.dtype.itemsize != 2 or parameter._node.type.dtype is not dtypes.float32:
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


# Over the batch


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel (dimension 1) over the batch and all other dimensions.

    Args:
        input: a tensor (N, C, ...).
        running_mean: the mean to use when not training; training moves it, in place, towards the batch's. May be None.
        running_var: the same for the variance.
        weight: what each channel is then multiplied by, or None.
        bias: what is then added to each channel, or None.
        training: whether the batch's own mean and variance are used.
        momentum: how far training moves the running mean and variance.
        eps: is added to the variance.
    """
    type_ = require_tensor("batch_norm", input)._node.type
    if training:
        _check_batch_size(input.size())
    _check_eps(training, eps)
    channels = type_.shape[1] if type_.ndim > 1 else 0
    _check_channels(channels, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    _check_kernel("batch_norm", type_)
    _check_mixed(type_, weight, bias, running_mean, running_var)
    axes = (0, *range(2, type_.ndim))
    shape = (channels, *(1,) * (type_.ndim - 2))
    start = here()
    if training:
        normal = _normalised(widen(input), axes, eps, (running_mean, running_var), momentum)
        result = _scale_and_shift(normal, weight, bias, shape)
    else:
        result = _with_statistics(widen(input), running_mean, running_var, weight, bias, eps, shape)
    return show("NativeBatchNormBackward0", narrow(result, type_.dtype), start)


def _check_batch_size(size: Sequence[int]) -> None:
    if math.prod([length for axis, length in enumerate(size) if axis != 1]) == 1 and len(size) > 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _check_eps(training: bool, eps: float) -> None:
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")


def _check_channels(channels: int, training: bool, **tensors: Any) -> None:
    for name, tensor in tensors.items():
        if tensor is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif tensor._node.type.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor._node.type.numel}")


def _normalised(x: Any, axes: Axes, eps: float, running: tuple[Any, Any], momentum: float) -> Any:
    """Normalise by the tensor's own moments, and move the running ones towards them."""
    mean, centred, variance = _moments(x, axes)
    if running[0] is not None and x._node.type.numel:
        count = math.prod([x._node.type.shape[axis] for axis in axes])
        in_grad_mode(False, None, _move_moments, running, mean, variance, count, momentum)
    return centred * record(rsqrt, (variance + eps,))


def _move_moments(running: tuple[Any, Any], mean: Any, variance: Any, count: int, momentum: float) -> None:
    """Move running moments, in place, towards those of `count` values."""
    _move(running[0], mean, momentum)
    _move(running[1], variance * (count / max(count - 1, 1)), momentum)


def _move_means(running: tuple[Any, Any], mean: Any, variance: Any, count: int, momentum: float) -> None:
    """Move running moments towards the means of all instances' moments."""
    _move_moments(running, _mean(mean, (0,)), _mean(variance, (0,)), count, momentum)


def _move(running: Any, new: Any, momentum: float) -> None:
    """Move a running value, in place, towards a new one."""
    new = _of_shape(new, running._node.type.shape)
    write(running, running * (1 - momentum) + new * momentum)


def _with_statistics(
    x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float, shape: tuple[int, ...]
) -> Any:
    """Normalise by a given mean and variance: one factor and one summand a channel."""
    factor = record(rsqrt, (widen(variance) + eps,))
    if weight is not None:
        factor = factor * widen(weight)
    summand = -widen(mean) * factor if bias is None else widen(bias) - widen(mean) * factor
    return x * _of_shape(factor, shape) + _of_shape(summand, shape)


# Over an instance, a layer, groups


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalise each channel of each instance (N, C, ...) over the dimensions behind; the arguments are `batch_norm`'s."""
    type_ = require_tensor("instance_norm", input)._node.type
    if use_input_stats and math.prod(type_.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        start = here()
        result = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        return show("ViewBackward0", result, start)
    _check_kernel("batch_norm", type_)
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter._node.type.numel != type_.shape[1]:
            given, expected = parameter._node.type.numel * type_.shape[0], type_.shape[0] * type_.shape[1]
            raise RuntimeError(f"{name} should contain {expected} elements not {given}")
    _check_mixed(type_, weight, bias)
    start = here()
    mean, centred, variance = _moments(widen(input), tuple(range(2, type_.ndim)))
    if running_mean is not None:
        count = math.prod(type_.shape[2:])
        in_grad_mode(False, None, _move_means, (running_mean, running_var), mean, variance, count, momentum)
    normal = centred * record(rsqrt, (variance + eps,))
    result = _scale_and_shift(normal, weight, bias, (type_.shape[1], *(1,) * (type_.ndim - 2)))
    return show("ViewBackward0", narrow(result, type_.dtype), start)


@checked
def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise over the last dimensions, which have this shape, then multiply by a weight and add a bias of this shape.

    >>> import tapegrad
    >>> layer_norm(tapegrad.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    type_ = require_tensor("layer_norm", input)._node.type
    shape = _shape_from("layer_norm", normalized_shape)
    for name, parameter in (("weight", weight), ("bias", bias)):
        _check_parameter(name, parameter, shape)
    if type_.shape[type_.ndim - len(shape) :] != shape or len(shape) > type_.ndim:
        raise _wrong_shape(shape, type_.shape, "*, ")
    _check_kernel("LayerNormKernelImpl", type_)
    _check_mixed(type_, weight, bias)
    start = here()
    _, centred, variance = _moments(widen(input), tuple(range(type_.ndim - len(shape), type_.ndim)))
    normal = centred * record(rsqrt, (variance + eps,))
    return show("NativeLayerNormBackward0", narrow(_scale_and_shift(normal, weight, bias, shape), type_.dtype), start)


def _shape_from(name: str, normalized_shape: Any) -> tuple[int, ...]:
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(normalized_shape).__name__}"
        )
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    return shape


def _check_parameter(name: str, parameter: Any, shape: tuple[int, ...]) -> None:
    if parameter is not None and parameter._node.type.shape != shape:
        raise RuntimeError(
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{list(parameter._node.type.shape)} and normalized_shape = {list(shape)}"
        )


def _wrong_shape(shape: tuple[int, ...], given: tuple[int, ...], any_before: str) -> RuntimeError:
    return RuntimeError(
        f"Given normalized_shape={list(shape)}, expected input with shape [{any_before}{', '.join(map(str, shape))}], but got "
        f"input of size{list(given)}"
    )


@checked
def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root of the mean square over the last dimensions, which have this shape, and multiply by a weight.

    `eps` is added to the mean square; by default the smallest difference from 1 that the dtype has.
    """
    type_ = require_tensor("rms_norm", input)._node.type
    shape = _shape_from("rms_norm", normalized_shape)
    _check_parameter("weight", weight, shape)
    if type_.shape[type_.ndim - len(shape) :] != shape or len(shape) > type_.ndim:
        raise _wrong_shape(shape, type_.shape, "*")
    if type_.dtype.category < dtypes.FLOAT:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{type_.dtype.title}'")
    wide = widen(input)
    if eps is None:
        eps = float(np.finfo(dtypes.array_type(wide.dtype.to_real())).eps)
    square = _mean(record(integer_power, (wide,), (2,)), tuple(range(type_.ndim - len(shape), type_.ndim)))
    result = wide * record(rsqrt, (square + eps,))
    if weight is not None:
        result = result * widen(weight)
    return narrow(result, type_.dtype)


@checked
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each of `num_groups` groups of channels (dimension 1) of each sample; weight and bias are by channel."""
    type_ = require_tensor("group_norm", input)._node.type
    if type_.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {type_.ndim}")
    samples, channels, *lengths = type_.shape
    _check_batch_size([samples * channels // num_groups, num_groups, *lengths])
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(type_.shape)} and "
            f"num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter._node.type.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(parameter._node.type.shape)} and input of shape {list(type_.shape)}"
            )
    _check_kernel("GroupNormKernelImpl", type_)
    _check_mixed(type_, weight, bias)
    start = here()
    size = channels // num_groups * math.prod(lengths)
    _, centred, variance = _moments(record(reshape, (widen(input),), ((samples, num_groups, size),)), (2,))
    normal = record(reshape, (centred * record(rsqrt, (variance + eps,)),), (type_.shape,))
    result = _scale_and_shift(normal, weight, bias, (channels, *(1,) * len(lengths)))
    return show("NativeGroupNormBackward0", narrow(result, type_.dtype), start)


# Others


@checked
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divide each element by ``(k + alpha * mean of the squares of `size` neighbouring channels) ** beta``."""
    from .padding import pad
    from .pooling import avg_pool2d

    shape = require_tensor("local_response_norm", input)._node.type.shape
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)"
        )
    if 0 in shape:
        return input
    samples, channels = shape[:2]
    squares = record(reshape, (input * input,), ((samples, 1, channels, math.prod(shape[2:])),))
    padded = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = record(reshape, (avg_pool2d(padded, (size, 1), stride=1),), (shape,))
    return input / (means * alpha + k) ** beta


@checked
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """Divide by the norm of order `p` along `dim`, but at least by `eps`.

    >>> import tapegrad
    >>> normalize(tapegrad.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    from ...functions.arithmetic import div

    norm = require_tensor("normalize", input).norm(p, dim, keepdim=True).clamp_min(eps)
    return div(input, norm.expand_as(input), out=out)

