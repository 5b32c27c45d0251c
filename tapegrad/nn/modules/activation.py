"""Activations as modules."""

from __future__ import annotations

import warnings
from typing import Any

from ...functions.creation import empty
from .. import functional, init
from ..parameter import Parameter
from .module import Module

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax",
    "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]


class _InPlace(Module):
    """An activation that can replace its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _with_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


# Rectifiers


class ReLU(_InPlace):
    """Return each element, but zero for the negative ones."""

    def forward(self, input: Any) -> Any:
        return functional.relu(input, self.inplace)


class LeakyReLU(_InPlace):
    """Return each element, the negative ones times `negative_slope`."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Any) -> Any:
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"negative_slope={self.negative_slope}")


class PReLU(Module):
    """Return each element, the negative ones times a slope that is learned, one for all channels or one for each."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to what they were given as."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(_InPlace):
    """Return each element, the negative ones times slopes drawn from [lower, upper) in training, else times their mean."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Any) -> Any:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"lower={self.lower}, upper={self.upper}")


class Threshold(_InPlace):
    """Return each element, but `value` for those that are not above `threshold`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Any) -> Any:
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"threshold={self.threshold}, value={self.value}")


class Hardtanh(_InPlace):
    """Return each element, limited to the interval from `min_val` to `max_val`."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> Any:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """Return each element, limited to the interval from 0 to 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


# Exponential linear units


class ELU(_InPlace):
    """Return each element, but ``alpha * (exp(x) - 1)`` for the negative ones."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"alpha={self.alpha}")


class CELU(ELU):
    """Return each element, but ``alpha * (exp(x / alpha) - 1)`` for the negative ones."""

    def forward(self, input: Any) -> Any:
        return functional.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """Return the scaled `ELU` that keeps the mean at zero and the variance at one from layer to layer."""

    def forward(self, input: Any) -> Any:
        return functional.selu(input, self.inplace)


# Gates


class GELU(Module):
    """Return each element times the normal distribution function of it, or (`approximate` "tanh") close to that."""

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return functional.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """Return each element times its sigmoid."""

    def forward(self, input: Any) -> Any:
        return functional.silu(input, self.inplace)


class Mish(_InPlace):
    """Return each element times the tanh of its softplus."""

    def forward(self, input: Any) -> Any:
        return functional.mish(input, self.inplace)


class Hardswish(_InPlace):
    """Return each element times its `Hardsigmoid`."""

    def forward(self, input: Any) -> Any:
        return functional.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class GLU(Module):
    """Return the first half along `dim` times the sigmoid of the second half."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


# Squashing functions


class Sigmoid(Module):
    """Return ``1 / (1 + exp(-x))`` of each element."""

    def forward(self, input: Any) -> Any:
        return functional.sigmoid(input)


class Tanh(Module):
    """Return the hyperbolic tangent of each element."""

    def forward(self, input: Any) -> Any:
        return functional.tanh(input)


class Softsign(Module):
    """Return ``x / (1 + |x|)`` of each element."""

    def forward(self, input: Any) -> Any:
        return functional.softsign(input)


class Tanhshrink(Module):
    """Return each element less its hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        return functional.tanhshrink(input)


class LogSigmoid(Module):
    """Return the logarithm of the sigmoid of each element."""

    def forward(self, input: Any) -> Any:
        return functional.logsigmoid(input)


class Hardsigmoid(_InPlace):
    """Return ``(x + 3) / 6`` of each element, limited to the interval from 0 to 1."""

    def forward(self, input: Any) -> Any:
        return functional.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Softplus(Module):
    """Return ``log(1 + exp(beta * x)) / beta`` of each element, the element itself where ``beta * x`` is above `threshold`."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardshrink(Module):
    """Return each element, but zero for those from ``-lambd`` to ``lambd``."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        return functional.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """Return each element moved towards zero by `lambd`, but not past it."""

    def forward(self, input: Any) -> Any:
        return functional.softshrink(input, self.lambd)


# Softmax


class _Softmax(Module):
    """A function of rows along `dim`."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None


class Softmax(_Softmax):
    """Return the exponentials of the elements, divided by their sum along `dim`."""

    def forward(self, input: Any) -> Any:
        return functional.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_Softmax):
    """Return `Softmax` of the negated elements."""

    def forward(self, input: Any) -> Any:
        return functional.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(_Softmax):
    """Return the logarithm of `Softmax`, computed without overflow."""

    def forward(self, input: Any) -> Any:
        return functional.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Return `Softmax` over the channels of images (N, C, height, width), or of one."""

    def forward(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return functional.softmax(input, -3, _stacklevel=5)
