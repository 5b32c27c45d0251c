"""Activations: elementwise functions, and softmax with what is made of it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes, operators
from ... import random as draws
from ...functions import reductions
from ...functions.declare import accepts_out, require_tensor
from ...functions.options import concrete
from ...primitives import selection, special, transcendental
from ...primitives.arithmetic import neg
from ...primitives.marks import keep
from ...primitives.movement import reshape, slice_axis
from ...primitives.selection import clamp_max, where
from ...primitives.type_rules import normalise_axis
from ...tape.record import here, read, record
from .composition import apply, narrow, of_floats, show, widen

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]

# Rectifiers

_relu = operators.unary(selection.relu)


def relu(input: Any, inplace: bool = False) -> Any:
    """Return each element, but zero for the negative ones.

    >>> import tapegrad
    >>> relu(tapegrad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if inplace:
        return relu_(input)
    if not hasattr(input.__class__, "_node"):
        require_tensor("relu", input)
    return _relu(input)


def relu_(input: Any) -> Any:
    """Do `relu` in place."""
    return apply(_relu, True, require_tensor("relu_", input))


def relu6(input: Any, inplace: bool = False) -> Any:
    """Return each element, limited to the interval from 0 to 6."""
    return apply(_hardtanh, inplace, require_tensor("relu6", input), 0.0, 6.0)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Return each element, the negative ones times `negative_slope`."""
    shown = "LeakyReluBackward1" if inplace else None
    return apply(_leaky_relu, inplace, require_tensor("leaky_relu", input), negative_slope, shown)


def _leaky_relu(input: Any, slope: Any, shown: str | None) -> Any:
    return record(selection.leaky_relu, (input, slope), (), shown)


def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """Do `leaky_relu` in place."""
    return leaky_relu(input, negative_slope, True)


def prelu(input: Any, weight: Any) -> Any:
    """Return each element, the negative ones times `weight`: one number, or one for each channel (dimension 1)."""
    type_ = require_tensor("prelu", input)._node.type
    given = require_tensor("prelu", weight, "weight", 2)._node.type
    if type_.dtype is not given.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {type_.dtype.title} and {given.dtype.title}")
    if given.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {given.ndim}")
    if given.numel != 1:
        if type_.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = type_.shape[1] if type_.ndim > 1 else 1
        if channels != given.numel:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {given.numel} and channel size = {channels}."
            )
    if given.ndim:
        shape = (1,) * type_.ndim if type_.ndim < 2 else (1, given.numel, *(1,) * (type_.ndim - 2))
        weight = record(reshape, (weight,), (shape,))
    return record(selection.leaky_relu, (input, weight), (), "PreluKernelBackward0")


def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """Return each element, the negative ones times slopes drawn from [lower, upper) in training, else times their mean."""
    shown = f"RreluWithNoiseBackward{int(inplace)}"
    return apply(_rrelu, inplace, require_tensor("rrelu", input), lower, upper, training, shown)


def _rrelu(input: Any, lower: float, upper: float, training: bool, shown: str) -> Any:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    slope = _drawn_slopes(input, lower, upper) if training else (lower + upper) / 2
    return record(selection.leaky_relu, (input, slope), (), shown)


def _drawn_slopes(input: Any, lower: float, upper: float) -> Any:
    """Draw a slope for each element that is not positive, and for no other, as PyTorch does."""
    values = read(input)
    dtype = input._node.type.dtype
    slopes = np.ones(values.shape, values.dtype)
    negative = values <= 0
    drawn = draws.uniform((int(np.count_nonzero(negative)),), dtypes.float64, float(lower), float(upper))
    slopes[negative] = drawn.astype(values.dtype)
    return concrete(slopes, dtype)


def rrelu_(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Any:
    """Do `rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """Return each element, but `value` for those that are not above `threshold`."""
    shown = f"ThresholdBackward{int(inplace)}"
    return apply(_threshold, inplace, require_tensor("threshold", input), threshold, value, shown)


def _threshold(input: Any, limit: Any, value: Any, shown: str) -> Any:
    if input._node.type.dtype.category < dtypes.FLOAT:
        limit, value = int(limit), int(value)
    start = here()
    kept = keep(input, shown="ThresholdBackwardBackward0")
    return show(shown, where(kept <= limit, value, kept), start)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """Do `threshold` in place."""
    return apply(_threshold, True, require_tensor("threshold_", input), threshold, value, "ThresholdBackward1")


# Exponential linear units

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _elu(input: Any, alpha: Any, scale: Any = 1.0, input_scale: Any = 1.0) -> Any:
    """The exponential is taken of what is not positive only, so that it cannot overflow."""
    negative = clamp_max(input, 0)
    if input_scale != 1.0:
        negative = negative * input_scale
    positive = input if scale == 1.0 else input * scale
    return where(input > 0, positive, transcendental.expm1(negative) * (alpha * scale))


_elu_of_floats = of_floats("EluBackward0", "elu_cpu")(_elu)
_elu_in_place = of_floats("EluBackward1", "elu_cpu")(_elu)
_celu_of_floats = of_floats("CeluBackward0", "elu_cpu")(_elu)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return each element, but ``alpha * (exp(x) - 1)`` for the negative ones."""
    return apply(_elu_in_place if inplace else _elu_of_floats, inplace, require_tensor("elu", input), alpha)


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """Do `elu` in place."""
    return elu(input, alpha, True)


def selu(input: Any, inplace: bool = False) -> Any:
    """Return the scaled `elu` whose scales keep the mean at zero and the variance at one from layer to layer."""
    function = _elu_in_place if inplace else _elu_of_floats
    return apply(function, inplace, require_tensor("selu", input), _SELU_ALPHA, _SELU_SCALE)


def selu_(input: Any) -> Any:
    """Do `selu` in place."""
    return selu(input, True)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return each element, but ``alpha * (exp(x / alpha) - 1)`` for the negative ones."""
    require_tensor("celu", input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply(_celu_of_floats, inplace, input, alpha, 1.0, 1.0 / alpha)


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """Do `celu` in place."""
    return celu(input, alpha, True)


# Gates: an element times a function of it that goes from 0 to 1


@of_floats("GeluBackward0", "GeluKernelImpl")
def _gelu(input: Any) -> Any:
    return input * 0.5 * (special.erf(input * math.sqrt(0.5)) + 1)


@of_floats("GeluBackward0", "GeluKernelImpl")
def _gelu_by_tanh(input: Any) -> Any:
    inner = (input * input * input * 0.044715 + input) * math.sqrt(2 / math.pi)
    return input * 0.5 * (transcendental.tanh(inner) + 1)


@accepts_out
def gelu(input: Any, approximate: str = "none") -> Any:
    """Return each element times the normal distribution function of it, or (`approximate` "tanh") close to that.

    >>> import tapegrad
    >>> gelu(tapegrad.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    if approximate == "none":
        return _gelu(input)
    if approximate == "tanh":
        return _gelu_by_tanh(input)
    raise RuntimeError("approximate argument must be either none or tanh.")


@of_floats("SiluBackward0", "silu_cpu", takes_complex=True)
def _silu(input: Any) -> Any:
    return input * transcendental.sigmoid(input)


def silu(input: Any, inplace: bool = False) -> Any:
    """Return each element times its sigmoid."""
    return apply(_silu, inplace, input)


@of_floats("MishBackward0", "mish_cpu")
def _mish(input: Any) -> Any:
    return input * transcendental.tanh(transcendental.softplus(input, 1.0, 20.0))


def mish(input: Any, inplace: bool = False) -> Any:
    """Return each element times the tanh of its softplus."""
    return apply(_mish, inplace, input)


@of_floats("HardswishBackward0", "hardswish_cpu")
def _hardswish(input: Any) -> Any:
    return input * selection.hardtanh(input + 3, 0.0, 6.0) / 6


def hardswish(input: Any, inplace: bool = False) -> Any:
    """Return each element times its `hardsigmoid`."""
    return apply(_hardswish, inplace, input)


@accepts_out
def glu(input: Any, dim: int = -1) -> Any:
    """Return the first half along `dim` times the sigmoid of the second half."""
    type_ = require_tensor("glu", input)._node.type
    if type_.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = normalise_axis(dim, type_.ndim)
    size = type_.shape[axis]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {size}")
    start = here()
    wide, half = widen(input), size // 2
    first = slice_axis(wide, 0, axis=axis, length=half, step=1)
    second = slice_axis(wide, half, axis=axis, length=half, step=1)
    return show("GluBackward0", narrow(first * transcendental.sigmoid(second), type_.dtype), start)


# Squashing functions


def sigmoid(input: Any) -> Any:
    """Return ``1 / (1 + exp(-x))`` of each element."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """Return the hyperbolic tangent of each element."""
    return input.tanh()


def softsign(input: Any) -> Any:
    """Return ``x / (1 + |x|)`` of each element."""
    return input / (input.abs() + 1)


def tanhshrink(input: Any) -> Any:
    """Return each element less its hyperbolic tangent."""
    return input - input.tanh()


@accepts_out
def logsigmoid(input: Any) -> Any:
    """Return the logarithm of the sigmoid of each element."""
    return transcendental.log_sigmoid(require_tensor("log_sigmoid", input))


@accepts_out
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """Return ``log(1 + exp(beta * x)) / beta`` of each element, the element itself where ``beta * x`` is above `threshold`."""
    return transcendental.softplus(require_tensor("softplus", input), beta, threshold)


@of_floats("HardsigmoidBackward0", "hardsigmoid_cpu")
def _hardsigmoid(input: Any) -> Any:
    return selection.hardtanh(input + 3, 0.0, 6.0) / 6


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """Return ``(x + 3) / 6`` of each element, limited to the interval from 0 to 1."""
    return apply(_hardsigmoid, inplace, input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Return each element, limited to the interval from `min_val` to `max_val`."""
    require_tensor("hardtanh", input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return apply(_hardtanh, inplace, input, min_val, max_val)


def _hardtanh(input: Any, low: Any, high: Any) -> Any:
    return record(selection.hardtanh, (input, low, high))


def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Do `hardtanh` in place."""
    return hardtanh(input, min_val, max_val, True)


@of_floats("HardshrinkBackward0", "hardshrink_cpu")
def _hardshrink(input: Any, limit: Any) -> Any:
    kept = keep(input, shown="HardshrinkBackwardBackward0")
    return where((kept >= -limit) & (kept <= limit), 0, kept)


@accepts_out
def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """Return each element, but zero for those from ``-lambd`` to ``lambd``."""
    return _hardshrink(input, lambd)


@of_floats("SoftshrinkBackward0", "softshrink_check")
def _softshrink(input: Any, limit: Any) -> Any:
    kept = keep(input, shown="SoftshrinkBackwardBackward0")
    return where(kept > limit, kept - limit, where(kept < -limit, kept + limit, kept * 0))


@accepts_out
def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """Return each element moved towards zero by `lambd`, but not past it."""
    dtype = require_tensor("softshrink", input)._node.type.dtype
    if lambd < 0 and dtype.is_floating_point:
        largest = np.finfo(dtypes.array_type(dtype)).max if dtype is not dtypes.bfloat16 else 3.38953e38
        raise RuntimeError(
            f"lambda must be in range [0, {float(largest):g}] for input dtype {dtype.title}, but found {lambd:g}"
        )
    return _softshrink(input, lambd)


# Softmax


def _implicit_dim(name: str, ndim: int, stack_level: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=stack_level,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Any:
    """Return the exponentials of the elements, divided by their sum along `dim`; computed in `dtype`, if given.

    >>> import tapegrad
    >>> softmax(tapegrad.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return reductions.softmax(input, dim, dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Any:
    """Return `softmax` of the negated elements."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return reductions.softmax(neg(require_tensor("softmin", input)), dim, dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Any:
    """Return the logarithm of `softmax`, computed without overflow."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return reductions.log_softmax(input, dim, dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """Return samples of the Gumbel-softmax distribution; with `hard`, one-hot ones that have the gradient of the soft ones."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    type_ = require_tensor("gumbel_softmax", logits)._node.type
    gumbels = neg(transcendental.log(concrete(draws.exponential(type_.shape, type_.dtype), type_.dtype)))
    soft = reductions.softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = logits.new_zeros(type_.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
