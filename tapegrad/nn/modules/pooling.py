"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from .. import functional
from .arguments import pair, single, triple
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]

Size = Any  # an int, or one for each dimension

# The largest element


class _MaxPool(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Return the largest element of each window over the last dimension; see `MaxPool2d`."""

    def forward(self, input: Any) -> Any:
        return functional.max_pool1d(input, *self._arguments())


class MaxPool2d(_MaxPool):
    """Return the largest element of each window over the last two dimensions.

    Args:
        kernel_size: the size of a window: an int, or one for each dimension; those below too.
        stride: the step from window to window; by default the size of a window.
        padding: how many minus infinities to put around.
        dilation: the step from element to element within a window.
        return_indices: whether to return where the elements are, too.
        ceil_mode: whether a last window that is only partly filled counts.

    >>> import tapegrad
    >>> MaxPool2d(2)(tapegrad.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 3, 2, 2])
    """

    def forward(self, input: Any) -> Any:
        return functional.max_pool2d(input, *self._arguments())


class MaxPool3d(_MaxPool):
    """Return the largest element of each window over the last three dimensions; see `MaxPool2d`."""

    def forward(self, input: Any) -> Any:
        return functional.max_pool3d(input, *self._arguments())


# The way back


class _MaxUnpool(Module):
    def __init__(self, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...]) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Return zeros with the elements that `MaxPool1d` found put back where they were."""

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__(single(kernel_size), single(kernel_size if stride is None else stride), single(padding))

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return functional.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Return zeros with the elements that `MaxPool2d` found put back where they were."""

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__(pair(kernel_size), pair(kernel_size if stride is None else stride), pair(padding))

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return functional.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Return zeros with the elements that `MaxPool3d` found put back where they were."""

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__(triple(kernel_size), triple(kernel_size if stride is None else stride), triple(padding))

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return functional.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


# The mean


class _AvgPool(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(self, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """Return the mean of each window over the last dimension; see `AvgPool2d`."""

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = single(kernel_size if stride is None else stride)
        super().__init__(single(kernel_size), stride, single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Any) -> Any:
        return functional.avg_pool1d(input, *self._arguments())


class AvgPool2d(_AvgPool):
    """Return the mean of each window over the last two dimensions.

    Args:
        kernel_size: the size of a window: an int, or one for each dimension; `stride` and `padding` too.
        stride: the step from window to window; by default the size of a window.
        padding: how many zeros to put around.
        ceil_mode: whether a last window that is only partly filled counts.
        count_include_pad: whether those zeros count as elements.
        divisor_override: what to divide each window's sum by instead of its number of elements.
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input: Any) -> Any:
        return functional.avg_pool2d(input, *self._arguments(), self.divisor_override)


class AvgPool3d(AvgPool2d):
    """Return the mean of each window over the last three dimensions; see `AvgPool2d`."""

    def forward(self, input: Any) -> Any:
        return functional.avg_pool3d(input, *self._arguments(), self.divisor_override)


# The power mean


class _LPPool(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _arguments(self) -> tuple[Any, ...]:
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPool):
    """Return the norm of order `norm_type` of each window over the last dimension."""

    def forward(self, input: Any) -> Any:
        return functional.lp_pool1d(input, *self._arguments())


class LPPool2d(_LPPool):
    """Return the norm of order `norm_type` of each window over the last two dimensions."""

    def forward(self, input: Any) -> Any:
        return functional.lp_pool2d(input, *self._arguments())


class LPPool3d(_LPPool):
    """Return the norm of order `norm_type` of each window over the last three dimensions."""

    def forward(self, input: Any) -> Any:
        return functional.lp_pool3d(input, *self._arguments())


# Windows by their number


class _AdaptivePool(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptivePool):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Return the largest elements of `output_size` windows that cover the last dimension."""

    def forward(self, input: Any) -> Any:
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Return the largest elements of windows that cover the last two dimensions, as many along each as `output_size` says."""

    def forward(self, input: Any) -> Any:
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Return the largest elements of windows that cover the last three dimensions."""

    def forward(self, input: Any) -> Any:
        return functional.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Return the means of `output_size` windows that cover the last dimension."""

    def forward(self, input: Any) -> Any:
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Return the means of windows that cover the last two dimensions, as many along each as `output_size` says.

    >>> import tapegrad
    >>> AdaptiveAvgPool2d((1, 1))(tapegrad.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 3, 1, 1])
    """

    def forward(self, input: Any) -> Any:
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Return the means of windows that cover the last three dimensions."""

    def forward(self, input: Any) -> Any:
        return functional.adaptive_avg_pool3d(input, self.output_size)
