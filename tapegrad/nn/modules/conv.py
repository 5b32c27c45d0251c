"""Convolutions, and their transposes, as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...functions.creation import empty
from .. import functional, init
from ..parameter import Parameter
from .arguments import pair, single, triple
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Size = Any  # an int, or one for each dimension
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions have: the sizes of their windows, and the parameters."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size",
    ]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_for_pad(padding, kernel_size, dilation)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(empty((first, second // groups, *kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly, up to one over the root of how many elements each result depends on."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        ndim = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, default in (("padding", (0,) * ndim), ("dilation", (1,) * ndim), ("output_padding", (0,) * ndim), ("groups", 1)):
            value = getattr(self, name)
            if value != default:
                parts.append(f"{name}={value}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def _padded(self, input: Any) -> tuple[Any, Any]:
        """Return the input with the padding that is not of zeros, and the padding that is left for the convolution."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(padding: Any, stride: Sequence[int], padding_mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


def _padding_for_pad(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Return the padding as `functional.pad` takes it: pairs, beginning with the last dimension."""
    if not isinstance(padding, str):
        return [size for size in reversed(padding) for _ in range(2)]
    totals = [gap * (size - 1) if padding == "same" else 0 for gap, size in zip(dilation, kernel, strict=True)]
    return [size for total in reversed(totals) for size in (total // 2, total - total // 2)]


class Conv1d(_ConvNd):
    """Convolve signals (N, C, length); see `Conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else single(padding)
        sizes = (single(kernel_size), single(stride), padding, single(dilation))
        super().__init__(in_channels, out_channels, *sizes, False, (0,), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        input, padding = self._padded(input)
        return functional.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """Convolve images (N, C, height, width).

    Args:
        in_channels: C.
        out_channels: the number of channels of the result.
        kernel_size: the size of a window: an int, or one for each dimension; those below too.
        stride: the step from window to window.
        padding: how many elements to put around, or "valid" (none), or "same" (such that the size stays).
        dilation: the step from element to element within a window.
        groups: the number of groups of channels that do not see each other.
        bias: whether there is one.
        padding_mode: what to put around: "zeros", "reflect", "replicate" or "circular".
        device: the CPU.
        dtype: of the parameters.

    >>> import tapegrad
    >>> Conv2d(3, 8, 3, padding=1)(tapegrad.zeros(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else pair(padding)
        sizes = (pair(kernel_size), pair(stride), padding, pair(dilation))
        super().__init__(in_channels, out_channels, *sizes, False, (0, 0), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        input, padding = self._padded(input)
        return functional.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """Convolve volumes (N, C, depth, height, width); see `Conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else triple(padding)
        sizes = (triple(kernel_size), triple(stride), padding, triple(dilation))
        super().__init__(in_channels, out_channels, *sizes, False, (0, 0, 0), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        input, padding = self._padded(input)
        return functional.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


# The transposes


class _ConvTransposeNd(_ConvNd):
    """What the transposes have: an output size that the input's does not determine."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        sizes: tuple[tuple[int, ...], ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        kernel_size, stride, padding, output_padding, dilation = sizes
        windows = (kernel_size, stride, padding, dilation)
        rest: tuple[Any, ...] = (True, output_padding, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, *windows, *rest)

    def _output_padding(self, input: Any, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return by how much longer than its least size the result is: as set, or such that it has the size asked for."""
        if output_size is None:
            return self.output_padding
        ndim = len(self.kernel_size)
        leading = 2 if input.ndim == ndim + 2 else 1
        wanted = list(output_size)
        if len(wanted) == leading + ndim:
            wanted = wanted[leading:]
        if len(wanted) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {input.ndim}D input, output_size must have {ndim} or {leading + ndim} elements "
                f"(got {len(wanted)})"
            )
        least = [
            (length - 1) * step - 2 * pad + gap * (size - 1) + 1
            for length, step, pad, gap, size in zip(
                input.shape[leading:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})"
            )
        return tuple([size - low for size, low in zip(wanted, least, strict=True)])


class ConvTranspose1d(_ConvTransposeNd):
    """Apply the transpose of a convolution to signals (N, C, length); see `ConvTranspose2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = tuple(map(single, (kernel_size, stride, padding, output_padding, dilation)))
        super().__init__(in_channels, out_channels, sizes, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """Apply the transpose of a convolution to images (N, C, height, width): what `Conv2d` does to a cotangent.

    Args:
        in_channels: C.
        out_channels: the number of channels of the result.
        kernel_size: the size of a window: an int, or one for each dimension; those below too.
        stride: the step from window to window of the convolution that this is the transpose of.
        padding: the padding of that convolution.
        output_padding: by how much longer the result is at its end than it would have to be.
        groups: the number of groups of channels that do not see each other.
        bias: whether there is one.
        dilation: the step from element to element within a window.
        padding_mode: "zeros".
        device: the CPU.
        dtype: of the parameters.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = tuple(map(pair, (kernel_size, stride, padding, output_padding, dilation)))
        super().__init__(in_channels, out_channels, sizes, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """Apply the transpose of a convolution to volumes (N, C, depth, height, width); see `ConvTranspose2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = tuple(map(triple, (kernel_size, stride, padding, output_padding, dilation)))
        super().__init__(in_channels, out_channels, sizes, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
