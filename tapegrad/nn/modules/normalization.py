"""Normalisation over layers, groups and neighbouring channels, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...functions.creation import empty
from .. import functional, init
from ..parameter import Parameter
from .module import Module

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _as_shape(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


class _Affine(Module):
    """A layer that may have a weight and a bias, at first 1 and 0."""

    def _add_parameters(self, shape: Any, has_weight: bool, has_bias: bool, device: Any, dtype: Any) -> None:
        for name, is_there in (("weight", has_weight), ("bias", has_bias)):
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if is_there else None)

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Normalise over the last dimensions.

    Args:
        normalized_shape: their lengths (an int for one).
        eps: is added to the variance.
        elementwise_affine: whether each element is then multiplied by a weight and gets a bias.
        bias: whether there is one, if elementwise_affine.
        device: the CPU.
        dtype: of the parameters.

    >>> import tapegrad
    >>> LayerNorm(2)(tapegrad.tensor([[1.0, 3.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_parameters(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divide by the root of the mean square over the last dimensions, of these lengths; see `LayerNorm`."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalise each of `num_groups` groups of the channels of each sample.

    Args:
        num_groups: how many groups there are.
        num_channels: the number of channels (dimension 1).
        eps: is added to the variance.
        affine: whether each channel is then multiplied by a weight and gets a bias.
        device: the CPU.
        dtype: of the parameters.
        bias: whether there is one, if affine.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_parameters(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Divide each element by ``(k + alpha * mean of the squares of `size` neighbouring channels) ** beta``."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Any) -> Any:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
