"""Convolution over one to three dimensions, and its two transposes.

The three are bilinear, and the transposes of each are among them: for ``r = convolution(x, w)``, `convolution_input`
maps a cotangent of r and w to that of x, `convolution_weight` x and a cotangent of r to that of w. The first is also
the transposed convolution of neural networks. Layouts are PyTorch's: x (N, C, *lengths), w (O, C / groups, *kernel).

The work is a matrix product: a block of samples is spread into a matrix that has a column a window (`im2col`). In it the
samples come last, so that a copy runs over many elements at a time; a block is as large as stays in cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Shape, Type
from . import batching
from .columns import col2im, im2col
from .contraction import multiply_matrices
from .declare import Sample, linear
from .precision import in_single
from .windows import (
    Lengths,
    Padding,
    add_to_windows,
    blocks,
    overlap,
    padded,
    padded_lengths,
    view_of_windows,
    window_counts,
    window_spans,
)

__all__ = ["col2im", "convolution", "convolution_input", "convolution_weight", "im2col"]

_SAMPLES_TOGETHER = 16  # wanted in a block, so that its copies run over long stretches


class _Geometry:
    """The sizes of one convolution, and how its work is split into blocks of groups, of samples and of rows of the result."""

    def __init__(
        self, x_shape: Shape, w_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int, itemsize: int
    ) -> None:
        self.samples, channels, *lengths = x_shape
        self.groups = groups
        self.channels, self.results = channels // groups, w_shape[0] // groups  # of each group
        self.lengths = tuple(lengths)
        self.kernel = w_shape[2:]
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.counts = window_counts(lengths, self.kernel, stride, padding, dilation)
        self.depth = self.channels * math.prod(self.kernel)
        self.row_width = math.prod(self.counts[1:])
        self.is_pointwise = all(size == 1 for size in (*self.kernel, *stride))
        bytes_a_group = self.depth * self.row_width * self.counts[0] * itemsize
        group_blocks = list(blocks(groups, bytes_a_group * min(self.samples, _SAMPLES_TOGETHER)))
        bytes_a_sample = bytes_a_group * (group_blocks[0].stop - group_blocks[0].start)
        self.parts = [(groups, samples) for groups in group_blocks for samples in blocks(self.samples, bytes_a_sample)]
        self.row_blocks = list(blocks(self.counts[0], bytes_a_sample // self.counts[0]))

    def windows(self, block: Any, rows: slice) -> Any:
        """Return the view (channels, *kernel, rows, *counts[1:], samples) of a padded block with the samples last."""
        counts = (rows.stop - rows.start, *self.counts[1:])
        return view_of_windows(block[:, rows.start * self.stride[0] :], self.kernel, self.stride, self.dilation, counts)

    def columns(self, x: Any) -> Iterator[tuple[slice, slice, slice, Any]]:
        """Yield blocks of groups, samples and rows, and the matrices (groups, depth, windows) they are spread into."""
        buffer = None
        for groups, samples in self.parts:
            block = padded(np.ascontiguousarray(_samples_last(x[samples, _scaled(groups, self.channels)])), self.padding)
            for rows in self.row_blocks:
                columns = self.windows(block, rows)
                if not self.is_pointwise:
                    if buffer is None:
                        buffer = np.empty(columns.size, x.dtype)
                    copy = buffer[: columns.size].reshape(columns.shape)
                    np.copyto(copy, columns)
                    columns = copy
                yield groups, samples, rows, columns.reshape(_length(groups), self.depth, self._width(samples, rows))

    def weight_matrices(self, w: Any) -> Any:
        """Return w as matrices (groups, results, depth)."""
        return np.ascontiguousarray(w).reshape(self.groups, self.results, self.depth)

    def result_matrices(self, g: Any, groups: slice, samples: slice, rows: slice) -> Any:
        """Return a block of the result's cotangent as matrices (groups, results, windows)."""
        block = np.ascontiguousarray(_samples_last(self.block_of(g, groups, samples, rows)))
        return block.reshape(_length(groups), self.results, self._width(samples, rows))

    def block_of(self, result: Any, groups: slice, samples: slice, rows: slice) -> Any:
        """Return a view of a block of the result."""
        return result[samples, _scaled(groups, self.results), rows]

    def _width(self, samples: slice, rows: slice) -> int:
        return _length(samples) * _length(rows) * self.row_width


def _length(block: slice) -> int:
    length: int = block.stop - block.start
    return length


def _scaled(block: slice, size: int) -> slice:
    """Return the channels of a block of groups."""
    return slice(block.start * size, block.stop * size)


def _samples_last(array: Any) -> Any:
    return array.transpose(*range(1, array.ndim), 0)


def _samples_first(array: Any) -> Any:
    return array.transpose(array.ndim - 1, *range(array.ndim - 1))


def convolve(x: Any, w: Any, *, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    """Return the convolution (cross-correlation, as in PyTorch) of two arrays."""
    shape = _Geometry(x.shape, w.shape, stride, padding, dilation, groups, x.itemsize)
    weights = shape.weight_matrices(w)
    result = np.empty((x.shape[0], w.shape[0], *shape.counts), x.dtype)
    for part, samples, rows, columns in shape.columns(x):
        target = shape.block_of(result, part, samples, rows)
        block = np.matmul(weights[part], columns)
        target[...] = _samples_first(block.reshape(*target.shape[1:], target.shape[0]))
    return result


def convolve_input(
    g: Any, w: Any, *, input_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    """Return the transpose of `convolve` in x, applied to g."""
    shape = _Geometry(input_shape, w.shape, stride, padding, dilation, groups, g.itemsize)
    weights = shape.weight_matrices(w).transpose(0, 2, 1)
    result = np.zeros(input_shape, g.dtype)
    inner, outer = overlap(shape.lengths, padding)
    lengths = padded_lengths(shape.lengths, padding)
    for part, samples in shape.parts:
        block = np.zeros((_length(part) * shape.channels, *lengths, _length(samples)), g.dtype)
        for rows in shape.row_blocks:
            windows = shape.windows(block, rows)
            columns = multiply_matrices(weights[part], shape.result_matrices(g, part, samples, rows))
            add_to_windows(windows, columns.reshape(windows.shape), shape.kernel)
        target = result[samples, _scaled(part, shape.channels)]
        target[(slice(None), *inner)] = _samples_first(block[outer])
    return result


def convolve_weight(
    x: Any, g: Any, *, weight_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    """Return the transpose of `convolve` in w, applied to g."""
    shape = _Geometry(x.shape, weight_shape, stride, padding, dilation, groups, x.itemsize)
    total = np.zeros((groups, shape.results, shape.depth), x.dtype)
    for part, samples, rows, columns in shape.columns(x):
        total[part] += np.matmul(shape.result_matrices(g, part, samples, rows), columns.transpose(0, 2, 1))
    return total.reshape(weight_shape)


# The rows


def _check(x_shape: Shape, w_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Lengths:
    """Return the counts of windows, or raise what PyTorch raises for shapes that do not fit."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if w_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {list(w_shape)} instead"
        )
    if w_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w_shape)}] instead"
        )
    if 0 in w_shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got weight of size {list(w_shape)}")
    if x_shape[1] != w_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w_shape)}, expected input{list(x_shape)} to have "
            f"{w_shape[1] * groups} channels, but got {x_shape[1]} channels instead"
        )
    lengths = padded_lengths(x_shape[2:], padding)
    spans = window_spans(w_shape[2:], dilation)
    if any(length < span for length, span in zip(lengths, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, lengths))}). "
            f"Kernel size: ({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size"
        )
    return window_counts(x_shape[2:], w_shape[2:], stride, padding, dilation)


def _check_dtypes(a: Type, b: Type) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
    if a.dtype is dtypes.bool and a.numel:
        raise NotImplementedError("\"slow_conv_cpu\" not implemented for 'Bool'")


def _type(a: Type, b: Type, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    counts = _check(a.shape, b.shape, stride, padding, dilation, groups)
    _check_dtypes(a, b)
    return a.dtype, (a.shape[0], b.shape[0], *counts)


def _input_type(a: Type, b: Type, input_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(b.shape)}, expected input{list(a.shape)} to have "
            f"{b.shape[0]} channels, but got {a.shape[1]} channels instead"
        )
    _require_shape("convolution_input", a.shape, input_shape, b.shape, (stride, padding, dilation, groups))
    _check_dtypes(a, b)
    return a.dtype, input_shape


def _weight_type(a: Type, b: Type, weight_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    _require_shape("convolution_weight", b.shape, a.shape, weight_shape, (stride, padding, dilation, groups))
    _check_dtypes(a, b)
    return a.dtype, weight_shape


def _require_shape(name: str, g_shape: Shape, x_shape: Shape, w_shape: Shape, parameters: Any) -> None:
    expected = (x_shape[0], w_shape[0], *_check(x_shape, w_shape, *parameters))
    if g_shape != expected:
        raise RuntimeError(
            f"{name}: expected a cotangent of size {list(expected)} for input {list(x_shape)} and weight {list(w_shape)}, "
            f"but got {list(g_shape)}"
        )


# How a batch dimension is carried by the primitives themselves, by which operands have one: for each operand and the
# result the axis that takes it in, and whether that axis is split into groups first. Where both have one, each element
# of the batch becomes groups of its own.
_SAMPLES, _CHANNELS, _CHANNELS_IN_GROUPS = (0, False), (1, False), (1, True)
_RESULTS, _RESULTS_IN_GROUPS, _DEPTH = (0, False), (0, True), (1, False)
_PLACES: dict[str, dict[tuple[bool, ...], tuple[Any, Any, Any]]] = {
    "convolution": {
        (True, False): (_SAMPLES, None, _SAMPLES),
        (False, True): (None, _RESULTS_IN_GROUPS, _CHANNELS_IN_GROUPS),
        (True, True): (_CHANNELS, _RESULTS, _CHANNELS),
    },
    "convolution_input": {
        (True, False): (_SAMPLES, None, _SAMPLES),
        (False, True): (None, _DEPTH, _CHANNELS_IN_GROUPS),
        (True, True): (_CHANNELS, _RESULTS, _CHANNELS),
    },
    "convolution_weight": {
        (True, False): (_CHANNELS_IN_GROUPS, None, _DEPTH),
        (False, True): (None, _CHANNELS_IN_GROUPS, _RESULTS_IN_GROUPS),
        (True, True): (_CHANNELS, _CHANNELS, _RESULTS),
    },
}


def _batched(primitive: Any, operands: Sequence[Any], batched: Sequence[bool], *, groups: int, **parameters: Any) -> Any:
    """Merge the batch dimension into samples, channels or groups, apply the primitive, and split the result."""
    size = batching.batch_size(operands, batched)
    *places, (axis, in_groups) = _PLACES[primitive.name][tuple(batched)]
    merged = [
        operand if place is None else _merged(operand, place[0], groups if place[1] else 1)
        for operand, place in zip(operands, places, strict=True)
    ]
    for name in ("input_shape", "weight_shape"):
        if name in parameters:
            shape = list(parameters[name])
            shape[axis] *= size
            parameters[name] = tuple(shape)
    result = primitive(*merged, groups=groups * size if all(batched) else groups, **parameters)
    return _split(result, axis, groups if in_groups else 1, size)


def _merged(tensor: Any, axis: int, groups: int) -> Any:
    """Merge the first dimension into an axis (counted without it) that consists of groups."""
    from .movement import permute

    size, *shape = tensor.shape
    before, length, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    parts = batching.reshaped(tensor, (size, *before, groups, length // groups, *behind))
    order = (*range(1, axis + 2), 0, *range(axis + 2, parts.ndim))
    return batching.reshaped(permute(parts, axes=order), (*before, size * length, *behind))


def _split(tensor: Any, axis: int, groups: int, size: int) -> Any:
    """Undo `_merged`."""
    from .movement import permute

    shape = tuple(tensor.shape)
    before, length, behind = shape[:axis], shape[axis] // size, shape[axis + 1 :]
    parts = batching.reshaped(tensor, (*before, groups, size, length // groups, *behind))
    order = (axis + 1, *range(axis + 1), *range(axis + 2, parts.ndim))
    return batching.reshaped(permute(parts, axes=order), (size, *before, length, *behind))


# Each rule below is one of the three primitives; which is which follows from the shapes that a cotangent must have.


def _from_result_to_input(
    g: Any, b: Any, types: tuple[Type, Type], stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    return convolution_input(g, b, input_shape=types[0].shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _from_result_to_weight(
    g: Any, a: Any, types: tuple[Type, Type], stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    return convolution_weight(a, g, weight_shape=types[1].shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _from_input_to_result(g: Any, b: Any, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    return convolution(g, b, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _from_input_to_weight(
    g: Any, a: Any, types: tuple[Type, Type], stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    return convolution_weight(g, a, weight_shape=types[1].shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _from_weight_to_input(
    g: Any, b: Any, types: tuple[Type, Type], stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    return convolution_input(b, g, input_shape=types[0].shape, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _from_weight_to_result(g: Any, a: Any, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    return convolution(a, g, stride=stride, padding=padding, dilation=dilation, groups=groups)


# x, w, stride, padding, dilation, groups
_CASES: list[tuple[Any, ...]] = [
    ((2, 2, 5), (3, 2, 3), (1,), ((0, 0),), (1,), 1),
    ((1, 2, 6), (2, 1, 2), (2,), ((1, 2),), (2,), 2),
    ((2, 1, 5, 4), (2, 1, 3, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((1, 2, 5, 6), (4, 1, 2, 3), (2, 3), ((1, 1), (0, 2)), (2, 1), 2),
    ((2, 3, 3, 3), (2, 3, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((1, 2, 4, 5), (1, 2, 2, 2), (2, 1), ((-1, 1), (0, -2)), (1, 1), 1),
    ((0, 2, 4, 4), (3, 2, 2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2), (1, 2, 1), ((0, 0), (1, 1), (0, 0)), (1, 1, 2), 1),
]


def _samples(name: str) -> list[Sample]:
    random = np.random.default_rng(0)
    samples = []
    for x_shape, w_shape, stride, padding, dilation, groups in _CASES:
        g_shape = (x_shape[0], w_shape[0], *window_counts(x_shape[2:], w_shape[2:], stride, padding, dilation))
        x, w, g = (random.standard_normal(shape) for shape in (x_shape, w_shape, g_shape))
        parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if name == "convolution":
            samples.append(Sample(x, w, **parameters))
        elif name == "convolution_input":
            samples.append(Sample(g, w, input_shape=x_shape, **parameters))
        else:
            samples.append(Sample(x, g, weight_shape=w_shape, **parameters))
    return samples


def _torch_pad(torch: Any, x: Any, padding: Padding, sign: int = 1) -> Any:
    return torch.nn.functional.pad(x, [sign * size for pair in reversed(padding) for size in pair])


def _torch(torch: Any, x: Any, w: Any, stride: Lengths, padding: Padding, dilation: Lengths, groups: int) -> Any:
    if not w.shape[1]:
        raise ValueError("of no channels PyTorch makes none, and not the zeros that an empty sum is")
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[x.ndim - 3]
    return function(_torch_pad(torch, x, padding), w, None, stride, 0, dilation, groups)


def _torch_input(
    torch: Any, g: Any, w: Any, input_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    function = (torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d)[g.ndim - 3]
    spans = window_spans(w.shape[2:], dilation)
    lengths = padded_lengths(input_shape[2:], padding)
    rest = [
        length - (count - 1) * step - span for length, count, step, span in zip(lengths, g.shape[2:], stride, spans, strict=True)
    ]
    return _torch_pad(torch, function(g, w, None, stride, 0, rest, groups, dilation), padding, -1)


def _torch_weight(
    torch: Any, x: Any, g: Any, weight_shape: Shape, stride: Lengths, padding: Padding, dilation: Lengths, groups: int
) -> Any:
    _require_shape("convolution_weight", g.shape, x.shape, weight_shape, (stride, padding, dilation, groups))
    windows = _torch_pad(torch, x, padding)
    for axis, (span, step, gap) in enumerate(zip(window_spans(weight_shape[2:], dilation), stride, dilation, strict=True), 2):
        windows = windows.unfold(axis, span, step)[..., ::gap]
    places = "abc"[: len(stride)]
    within = "ijk"[: len(stride)]
    windows = windows.reshape(x.shape[0], groups, weight_shape[1], *windows.shape[2:])
    g = g.reshape(g.shape[0], groups, weight_shape[0] // groups, *g.shape[2:])
    return torch.einsum(f"ngx{places}{within},ngo{places}->gox{within}", windows, g).reshape(weight_shape)


convolution = linear(
    "convolution",
    in_single(convolve),
    _type,
    parameters=("stride", "padding", "dilation", "groups"),
    transpose=(_from_result_to_input, _from_result_to_weight),
    batch=_batched,
    samples=lambda: _samples("convolution"),
    torch=_torch,
    grad_name="ConvolutionBackward0",
)

convolution_input = linear(
    "convolution_input",
    in_single(convolve_input),
    _input_type,
    parameters=("input_shape", "stride", "padding", "dilation", "groups"),
    transpose=(_from_input_to_result, _from_input_to_weight),
    batch=_batched,
    samples=lambda: _samples("convolution_input"),
    torch=_torch_input,
    grad_name="ConvolutionBackwardBackward0",
)

convolution_weight = linear(
    "convolution_weight",
    in_single(convolve_weight),
    _weight_type,
    parameters=("weight_shape", "stride", "padding", "dilation", "groups"),
    transpose=(_from_weight_to_input, _from_weight_to_result),
    batch=_batched,
    samples=lambda: _samples("convolution_weight"),
    torch=_torch_weight,
    grad_name="ConvolutionBackwardBackward0",
)
