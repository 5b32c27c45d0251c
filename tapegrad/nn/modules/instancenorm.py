"""Instance normalisation as layers."""

from __future__ import annotations

import warnings
from typing import Any

from .. import functional
from .batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """Normalise each channel of each instance over its spatial dimensions."""

    _spatial: int  # how many there are

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Any) -> None:
        expected = (self._spatial + 1, self._spatial + 2)
        if input.ndim not in expected:
            raise ValueError(f"expected {expected[0]}D or {expected[1]}D input (got {input.ndim}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        axis = input.ndim - self._spatial - 1
        if input.shape[axis] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features ({self.num_features}), but got: {input.shape[axis]}."
                )
            warnings.warn(
                f"input's size at dim={axis} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if axis == 0:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _normalise(self, input: Any) -> Any:
        uses_own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return functional.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, uses_own, momentum, self.eps
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each instance of (N, C, length), or of one; see `InstanceNorm2d`."""

    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each instance of (N, C, height, width), or of one.

    Args:
        num_features: C.
        eps: is added to the variance.
        momentum: how far a batch moves the running statistics.
        affine: whether each channel is then multiplied by a weight and gets a bias.
        track_running_stats: whether there are running statistics, to be used when not training.
        device: the CPU.
        dtype: of the parameters and running statistics.
        bias: whether there is one, if affine.
    """

    _spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each instance of (N, C, depth, height, width), or of one; see `InstanceNorm2d`."""

    _spatial = 3
