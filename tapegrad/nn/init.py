"""Initial values of parameters: each function fills a tensor in place, without history, and returns it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import random as draws
from ..autograd.grad_mode import no_grad
from ..functions.options import concrete
from ..functions.sampling import in_memory_order

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_",
    "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")

# Random numbers


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with numbers uniform in [a, b).

    >>> import tapegrad
    >>> _ = tapegrad.manual_seed(0)
    >>> uniform_(tapegrad.empty(2))
    tensor([0.4963, 0.7682])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal numbers of this mean and standard deviation."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Fill with normal numbers of this mean and standard deviation, drawn again until they are in [a, b]."""
    type_ = tensor._current_type()

    def draw(shape: tuple[int, ...], dtype: Any, contiguous: bool) -> Any:
        return draws.trunc_normal(shape, dtype, mean, std, a, b, generator, contiguous=contiguous)

    array = in_memory_order(type_.shape, type_.strides, type_.dtype, draw)
    with no_grad():
        return tensor.copy_(concrete(array, type_.dtype))


# Numbers that are not random


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity: ones on the diagonal, zeros elsewhere."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill kernels of a convolution such that it returns its input, in each of the groups of channels."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *lengths = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tensor.shape)
    size = outputs // groups
    centre = tuple([length // 2 for length in lengths])
    for group in range(groups):
        for place in range(min(size, inputs)):
            values[(group * size + place, place, *centre)] = 1
    return _filled(tensor, values)


def _filled(tensor: Any, values: Any) -> Any:
    from ..tensor import Tensor

    with no_grad():
        return tensor.copy_(Tensor._from_array(values))


# Variances that depend on the sizes


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return by what the standard deviation of weights should be multiplied before a nonlinearity.

    `param` is the negative slope of "leaky_relu".

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """Return how many elements of the input each element of the output depends on, and the other way round."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *lengths = tensor.shape
    size = math.prod(lengths)
    return inputs * size, outputs * size


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform numbers such that variances stay from layer to layer, forwards and backwards on average."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal numbers such that variances stay from layer to layer, forwards and backwards on average."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_deviation(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation, or None for a tensor that has no elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill with uniform numbers such that variances stay from layer to layer.

    Args:
        tensor: the weights.
        a: the negative slope of "leaky_relu".
        mode: whether variances stay forwards ("fan_in") or backwards ("fan_out").
        nonlinearity: what follows the layer.
        generator: what to draw from; the default generator if None.
    """
    deviation = _kaiming_deviation(tensor, a, mode, nonlinearity)
    if deviation is None:
        return tensor
    bound = math.sqrt(3.0) * deviation
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill with normal numbers such that variances stay from layer to layer; see `kaiming_uniform_`."""
    deviation = _kaiming_deviation(tensor, a, mode, nonlinearity)
    return tensor if deviation is None else normal_(tensor, 0, deviation, generator)


# Structures


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fill with a (semi-)orthogonal matrix, multiplied by `gain`; dimensions behind the first count as one."""
    from ..functions.factors import qr

    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with no_grad():
        normal = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = qr(normal.t() if rows < columns else normal)
        q = q * r.diagonal().sign()
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill a matrix with normal numbers, but that share of zeros in each column."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    values = tensor.detach().numpy().copy()
    for column in range(columns):
        values[draws.randperm(rows)[:zeros], column] = 0
    return _filled(tensor, values)
