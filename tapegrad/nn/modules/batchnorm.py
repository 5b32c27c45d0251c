"""Batch normalisation as layers."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...functions.creation import empty, ones, zeros
from .. import functional, init
from ..parameter import Parameter
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """What layers with running statistics have."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, device=device, dtype=dtype)) if is_there else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=dtypes.int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0, and reset the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version", None)
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Normalise each channel over the batch and all other dimensions."""

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked  # the running values are plain means
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        passes_running = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if passes_running else None,
            self.running_var if passes_running else None,
            self.weight,
            self.bias,
            uses_batch,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each of the channels of (N, C) or (N, C, length); see `BatchNorm2d`."""

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalise each of the channels of (N, C, height, width): in training over the batch, else by running statistics.

    Args:
        num_features: C.
        eps: is added to the variance.
        momentum: how far a batch moves the running statistics; None makes them plain means over all batches.
        affine: whether each channel is then multiplied by a weight and gets a bias.
        track_running_stats: whether there are running statistics; if not, the batch's own are always used.
        device: the CPU.
        dtype: of the parameters and running statistics.
        bias: whether there is one, if affine.

    >>> import tapegrad
    >>> BatchNorm2d(1)(tapegrad.tensor([[[[1.0, 3.0]]]])).detach()
    tensor([[[[-1.0000,  1.0000]]]])
    """

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim != 4:
            raise ValueError(f"expected 4D input (got {input.ndim}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalise each of the channels of (N, C, depth, height, width); see `BatchNorm2d`."""

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim != 5:
            raise ValueError(f"expected 5D input (got {input.ndim}D input)")


class SyncBatchNorm(_BatchNorm):
    """Do what `BatchNorm2d` does for any number of dimensions: in one process there is nothing to synchronise."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")
