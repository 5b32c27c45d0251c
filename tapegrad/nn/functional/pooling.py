"""Pooling over windows of one to three dimensions: the largest element, the mean, a power mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...functions.arguments import checked
from ...functions.declare import accepts_out, require_tensor
from ...primitives import pooling as rows
from ...tape.record import record

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices",
    "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]

Lengths = int | Sequence[int]
_WORDS = ("", "one int", "two ints", "three ints")


def lengths_of(name: str, argument: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Return one int, or one for each of `ndim` dimensions, as a tuple."""
    if value.__class__ is int:
        return (value,) * ndim
    given = tuple([int(length) for length in value]) if isinstance(value, (tuple, list)) else (int(value),)
    if len(given) not in (1, ndim):
        if ndim == 1 and name.startswith("max"):
            raise RuntimeError(
                f"{name}() {argument} must be an int, list of ints or tuple of ints of size 1 but got size {len(given)}"
            )
        if ndim == 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(given)})")
        verb = "must be" if name == "avg_pool3d" else "must either be"
        raise RuntimeError(f"{name}: {argument} {verb} a single int, or a tuple of {_WORDS[ndim]}")
    return given * ndim if len(given) == 1 else given


def strides_of(name: str, stride: Any, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides; windows side by side if none are given."""
    return kernel if stride is None or stride == () or stride == [] else lengths_of(name, "stride", stride, len(kernel))


# The largest element


def _check_max_pool(ndim: int, shape: tuple[int, ...]) -> None:
    if ndim == 1:
        if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
            raise RuntimeError(
                f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
            )
    elif len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(f"non-empty {ndim + 1}D or {ndim + 2}D (batch mode) tensor expected for input")


def _check_windows(length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> None:
    """Raise PyTorch's errors, which for one dimension it has of its own."""
    for name, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    room = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


def _max_pool(
    ndim: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    with_indices: bool = True,
) -> tuple[Any, Any]:
    name = f"max_pool{ndim}d"
    _check_max_pool(ndim, require_tensor(name, input)._node.type.shape)
    kernel = lengths_of(name, "kernel_size", kernel_size, ndim)
    parameters = (
        kernel,
        strides_of(name, stride, kernel),
        lengths_of(name, "padding", padding, ndim),
        lengths_of(name, "dilation", dilation, ndim),
        bool(ceil_mode),
    )
    if ndim == 1 and not with_indices:
        (size,), (step,), (pad,), (gap,) = parameters[:4]
        _check_windows(input.shape[-1], size, step, pad, gap, bool(ceil_mode))
    shown = ("SqueezeBackward1", "MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0")[ndim - 1]
    pair: tuple[Any, Any] = record(rows.max_pool, (input,), parameters, shown)
    return pair


@checked
def max_pool1d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window over the last dimension; see `max_pool2d`."""
    pair = _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return pair if return_indices else pair[0]


@checked
def max_pool1d_with_indices(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Any, Any]:
    """Return the largest element of each window over the last dimension, and where it is."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


@checked
def max_pool2d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window over the last two dimensions.

    Args:
        input: with one or two dimensions (channels, samples) before those.
        kernel_size: the size of a window: an int, or one for each dimension; those below too.
        stride: the step from window to window; by default the size of a window.
        padding: how many minus infinities to put around.
        dilation: the step from element to element within a window.
        ceil_mode: whether a last window that is only partly filled counts.
        return_indices: whether to return where the elements are, too: each an index into what the dimensions span.

    >>> import tapegrad
    >>> max_pool2d(tapegrad.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    pair = _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return pair if return_indices else pair[0]


@checked
def max_pool2d_with_indices(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Any, Any]:
    """Return the largest element of each window over the last two dimensions, and where it is."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


@checked
def max_pool3d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window over the last three dimensions; see `max_pool2d`."""
    pair = _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return pair if return_indices else pair[0]


@checked
def max_pool3d_with_indices(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Any, Any]:
    """Return the largest element of each window over the last three dimensions, and where it is."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


# The mean


@checked
def avg_pool1d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Return the mean of each window over the last dimension; see `avg_pool2d`."""
    shape = require_tensor("avg_pool1d", input)._node.type.shape
    check_expected("avg_pool1d", shape)
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@accepts_out
def avg_pool2d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Return the mean of each window over the last two dimensions.

    Args:
        input: with one or two dimensions (channels, samples) before those.
        kernel_size: the size of a window: an int, or one for each dimension; `stride` and `padding` too.
        stride: the step from window to window; by default the size of a window.
        padding: how many zeros to put around.
        ceil_mode: whether a last window that is only partly filled counts.
        count_include_pad: whether those zeros count as elements.
        divisor_override: what to divide each window's sum by instead of its number of elements.
    """
    shape = require_tensor("avg_pool2d", input)._node.type.shape
    if len(shape) not in (3, 4):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@accepts_out
def avg_pool3d(
    input: Any,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Return the mean of each window over the last three dimensions; see `avg_pool2d`."""
    if require_tensor("avg_pool3d", input)._node.type.ndim not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def check_expected(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )


def _avg_pool(
    ndim: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    name = f"avg_pool{ndim}d"
    kernel = lengths_of(name, "kernel_size", kernel_size, ndim)
    parameters = (
        kernel,
        strides_of(name, stride, kernel),
        lengths_of(name, "padding", padding, ndim),
        bool(ceil_mode),
        bool(count_include_pad),
        divisor_override,
    )
    shown = ("SqueezeBackward1", "AvgPool2DBackward0", "AvgPool3DBackward0")[ndim - 1]
    return record(rows.avg_pool, (input,), parameters, shown)


# Power means


def _lp_pool(ndim: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    """Return the norm of order `norm_type` of each window."""
    maximum = (max_pool1d, max_pool2d, max_pool3d)[ndim - 1]
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[ndim - 1]
    if math.isinf(norm_type):
        sign = 1 if norm_type > 0 else -1
        largest = maximum(input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode)
        return largest if sign == 1 else -largest
    powers = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    size = math.prod(lengths_of(f"lp_pool{ndim}d", "kernel_size", kernel_size, ndim))
    return (powers.sign() * powers.abs().relu()).mul(size).pow(1.0 / norm_type)


@checked
def lp_pool1d(input: Any, norm_type: float, kernel_size: int, stride: Lengths | None = None, ceil_mode: bool = False) -> Any:
    """Return the norm of order `norm_type` of each window over the last dimension."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@checked
def lp_pool2d(input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False) -> Any:
    """Return the norm of order `norm_type` of each window over the last two dimensions."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@checked
def lp_pool3d(input: Any, norm_type: float, kernel_size: Lengths, stride: Lengths | None = None, ceil_mode: bool = False) -> Any:
    """Return the norm of order `norm_type` of each window over the last three dimensions."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
