"""Convolution over one to three dimensions, its transpose, and windows spread into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...functions.arguments import checked
from ...functions.declare import c_name, require_tensor
from ...primitives.columns import col2im, im2col
from ...primitives.convolution import convolution, convolution_input
from ...primitives.movement import reshape
from ...tape.record import here, record
from .composition import show

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold", "unfold",
]

Lengths = int | Sequence[int]


def lengths_of(name: str, value: Any, ndim: int) -> tuple[int, ...]:
    """Return one int, or one for each of `ndim` dimensions, as a tuple."""
    if value.__class__ is int:
        return (value,) * ndim
    given = tuple([int(length) for length in value]) if isinstance(value, (tuple, list)) else (int(value),)
    if len(given) == 1:
        return given * ndim
    if len(given) != ndim:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {ndim} values to match the convolution dimensions, "
            f"but got {name}={list(given)}"
        )
    return given


@checked
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Lengths = 1, padding: Lengths | str = 0, dilation: Lengths = 1, groups: int = 1
) -> Any:
    """Return the convolution (cross-correlation) of signals (N, C, length), or of one (C, length); see `conv2d`."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@checked
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Lengths = 1, padding: Lengths | str = 0, dilation: Lengths = 1, groups: int = 1
) -> Any:
    """Return the convolution (cross-correlation) of images (N, C, height, width), or of one (C, height, width).

    Args:
        input: the images.
        weight: the kernels (outputs, C / groups, height, width).
        bias: what is added to each output channel, or None.
        stride: the step from window to window: an int, or one for each dimension; `padding` and `dilation` too.
        padding: how many zeros to put around, or "valid" (none), or "same" (such that the result is as large as the input).
        dilation: the step from element to element within a window.
        groups: the number of groups of channels that do not see each other.

    >>> import tapegrad
    >>> conv2d(tapegrad.ones(1, 1, 3, 3), tapegrad.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@checked
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Lengths = 1, padding: Lengths | str = 0, dilation: Lengths = 1, groups: int = 1
) -> Any:
    """Return the convolution of volumes (N, C, depth, height, width), or of one; see `conv2d`."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def _convolve(
    ndim: int, input: Any, weight: Any, bias: Any, stride: Lengths, padding: Lengths | str, dilation: Lengths, groups: int
) -> Any:
    name = f"conv{ndim}d"
    type_ = require_tensor(name, input)._node.type
    if type_.ndim == ndim + 1:
        batch = record(reshape, (input,), ((1, *type_.shape),), "UnsqueezeBackward0")
        result = _convolve(ndim, batch, weight, bias, stride, padding, dilation, groups)
        return record(reshape, (result,), (result._node.type.shape[1:],), "SqueezeBackward1")
    kernel = require_tensor(name, weight, "weight", 2)._node.type
    _check_ndim(name, ndim, type_, kernel)
    steps, gaps = lengths_of("stride", stride, ndim), lengths_of("dilation", dilation, ndim)
    if isinstance(padding, str):
        pairs = _padding_by_name(padding, kernel.shape[2:], steps, gaps)
    else:
        pairs = tuple([(size, size) for size in lengths_of("padding", padding, ndim)])
    _check_numbers(steps, pairs, gaps, groups)
    _check_groups(kernel, groups)
    start = here()
    result = record(convolution, (input, weight), (steps, pairs, gaps, groups))
    return result if bias is None else _with_bias(result, bias, kernel, kernel.shape[0], start)


def _check_ndim(name: str, ndim: int, input: Any, weight: Any) -> None:
    if input.ndim != ndim + 2:
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim != ndim + 2:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )


def _check_numbers(stride: Sequence[int], padding: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int) -> None:
    if min([low for low, _ in padding]) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero" if min(dilation) < 0 else "non-positive dilation is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_groups(weight: Any, groups: int) -> None:
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(weight.shape)}] instead"
        )


def _padding_by_name(
    padding: str, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [gap * (size - 1) for size, gap in zip(kernel, dilation, strict=True)]
    return tuple([(total // 2, total - total // 2) for total in totals])


def _with_bias(result: Any, bias: Any, weight: Any, channels: int, start: tuple[int, int], transposed: str = "") -> Any:
    """Add a number to each channel; the whole is one operation."""
    type_ = require_tensor("conv", bias, "bias", 3)._node.type
    if type_.shape != (channels,):
        raise RuntimeError(
            f"Given {transposed}weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {channels} elements, "
            f"but got bias of size {list(type_.shape)} instead"
        )
    made = result._node.type
    if type_.dtype is not made.dtype:
        raise RuntimeError(f"Input type ({c_name(made.dtype)}) and bias type ({c_name(type_.dtype)}) should be the same")
    column = record(reshape, (bias,), ((channels, *(1,) * (made.ndim - 2)),))
    return show("ConvolutionBackward0", result + column, start)


# The transpose


@checked
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Lengths = 1,
    padding: Lengths = 0,
    output_padding: Lengths = 0,
    groups: int = 1,
    dilation: Lengths = 1,
) -> Any:
    """Return the transposed convolution of signals (N, C, length), or of one (C, length); see `conv_transpose2d`."""
    return _transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Lengths = 1,
    padding: Lengths = 0,
    output_padding: Lengths = 0,
    groups: int = 1,
    dilation: Lengths = 1,
) -> Any:
    """Return the transposed convolution of images (N, C, height, width), or of one: what `conv2d` does to a cotangent.

    Args:
        input: the images.
        weight: the kernels (C, outputs / groups, height, width).
        bias: what is added to each output channel, or None.
        stride: the step from window to window of the convolution that this is the transpose of.
        padding: the padding of that convolution.
        output_padding: by how much longer the result is at its end than it would have to be.
        groups: the number of groups of channels that do not see each other.
        dilation: the step from element to element within a window.

    >>> import tapegrad
    >>> conv_transpose2d(tapegrad.ones(1, 1, 2, 2), tapegrad.ones(1, 1, 2, 2)).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    return _transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Lengths = 1,
    padding: Lengths = 0,
    output_padding: Lengths = 0,
    groups: int = 1,
    dilation: Lengths = 1,
) -> Any:
    """Return the transposed convolution of volumes (N, C, depth, height, width), or of one; see `conv_transpose2d`."""
    return _transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _transpose(
    ndim: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Lengths,
    padding: Lengths,
    output_padding: Lengths,
    groups: int,
    dilation: Lengths,
) -> Any:
    name = f"conv_transpose{ndim}d"
    type_ = require_tensor(name, input)._node.type
    if type_.ndim == ndim + 1:
        batch = record(reshape, (input,), ((1, *type_.shape),), "UnsqueezeBackward0")
        result = _transpose(ndim, batch, weight, bias, stride, padding, output_padding, groups, dilation)
        return record(reshape, (result,), (result._node.type.shape[1:],), "SqueezeBackward1")
    kernel = require_tensor(name, weight, "weight", 2)._node.type
    _check_ndim(name, ndim, type_, kernel)
    if isinstance(padding, str):
        raise TypeError(f"{name}(): argument 'padding' must be tuple of ints, not str")
    steps, gaps = lengths_of("stride", stride, ndim), lengths_of("dilation", dilation, ndim)
    pairs = tuple([(size, size) for size in lengths_of("padding", padding, ndim)])
    rest = lengths_of("output_padding", output_padding, ndim)
    _check_numbers(steps, pairs, gaps, groups)
    _check_output_padding(rest, steps, gaps)
    _check_groups(kernel, groups)
    channels = kernel.shape[1] * groups
    pairs = tuple([(low, high - extra) for (low, high), extra in zip(pairs, rest, strict=True)])
    lengths = [
        (length - 1) * step - low - high + gap * (size - 1) + 1
        for length, step, (low, high), gap, size in zip(type_.shape[2:], steps, pairs, gaps, kernel.shape[2:], strict=True)
    ]
    start = here()
    parameters = ((type_.shape[0], channels, *lengths), steps, pairs, gaps, groups)
    result = record(convolution_input, (input, weight), parameters, "ConvolutionBackward0")
    return result if bias is None else _with_bias(result, bias, kernel, channels, start, "transposed=1, ")


def _check_output_padding(rest: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> None:
    if min(rest) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if any(extra >= step and extra >= gap for extra, step, gap in zip(rest, stride, dilation, strict=True)):
        axes = ("depth", "height", "width")[3 - len(rest) :]
        given = [
            f"{name}_{axis}: {value}"
            for name, values in (("output_padding", rest), ("stride", stride), ("dilation", dilation))
            for axis, value in zip(axes, values, strict=True)
        ]
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(given))


# Windows as columns


@checked
def unfold(input: Any, kernel_size: Lengths, dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1) -> Any:
    """Return the windows of images (N, C, height, width), or of one, as columns (N, C * window size, windows)."""
    type_ = require_tensor("im2col", input)._node.type
    if type_.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(type_.shape)}"
        )
    kernel, steps, gaps = (lengths_of("", value, 2) for value in (kernel_size, stride, dilation))
    pairs = tuple([(size, size) for size in lengths_of("padding", padding, 2)])
    return record(im2col, (input,), (kernel, steps, pairs, gaps))


@checked
def fold(
    input: Any, output_size: Lengths, kernel_size: Lengths, dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1
) -> Any:
    """Return images of the size `output_size` in which columns, as `unfold` returns them, are added where they belong."""
    type_ = require_tensor("col2im", input)._node.type
    if type_.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            f"{list(type_.shape)}"
        )
    lengths, kernel, steps, gaps = (lengths_of("", value, 2) for value in (output_size, kernel_size, stride, dilation))
    pairs = tuple([(size, size) for size in lengths_of("padding", padding, 2)])
    return record(col2im, (input,), (lengths, kernel, steps, pairs, gaps))
