"""Windows spread into columns, and columns added back: what `torch.nn.functional.unfold` and `fold` do.

Leading dimensions, before the channels and the spatial dimensions, are all batch dimensions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..tape.types import Type
from . import batching
from .declare import Sample, linear
from .precision import in_single
from .windows import Lengths, Padding, add_to_windows, overlap, padded, padded_lengths, view_of_windows, window_counts


def _spread(x: Any, *, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    """Return the windows of (..., C, *lengths) as columns: (..., C * places in a window, windows)."""
    ndim = len(kernel)
    *lead, channels = x.shape[: x.ndim - ndim]
    lengths = x.shape[x.ndim - ndim :]
    counts = window_counts(lengths, kernel, stride, padding, dilation)
    block = padded(x.reshape(math.prod(lead) * channels, *lengths, 1), padding)
    windows = view_of_windows(block, kernel, stride, dilation, counts)
    return windows.reshape(*lead, channels * math.prod(kernel), math.prod(counts))


def _add_up(g: Any, *, lengths: Lengths, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    """Return the transpose of `_spread`, applied to g."""
    *lead, rows, _ = g.shape
    channels = rows // math.prod(kernel)
    counts = window_counts(lengths, kernel, stride, padding, dilation)
    planes = math.prod(lead) * channels
    block = np.zeros((planes, *padded_lengths(lengths, padding), 1), g.dtype)
    add_to_windows(view_of_windows(block, kernel, stride, dilation, counts), g.reshape(planes, *kernel, *counts, 1), kernel)
    result = np.zeros((planes, *lengths, 1), g.dtype)
    inner, outer = overlap(lengths, padding)
    result[inner] = block[outer]
    return result.reshape(*lead, channels, *lengths)


def _im2col_type(a: Type, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    ndim = len(kernel)
    lengths = a.shape[a.ndim - ndim :]
    counts = window_counts(lengths, kernel, stride, padding, dilation)
    if min(counts) < 1:
        low = tuple([pair[0] for pair in padding])
        raise RuntimeError(
            f"Given input with spatial size {lengths}, kernel_size={kernel}, dilation={dilation}, padding={low}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    _refuse_integers("im2col_out_cpu", a)
    *lead, channels = a.shape[: a.ndim - ndim]
    return a.dtype, (*lead, channels * math.prod(kernel), math.prod(counts))


def _col2im_type(a: Type, lengths: Lengths, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    *lead, rows, columns = a.shape
    low = tuple([pair[0] for pair in padding])
    if rows % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension {a.ndim - 2} to be divisible by the product of kernel_size, "
            f"but got input.size({a.ndim - 2})={rows} and kernel_size={kernel}."
        )
    counts = window_counts(lengths, kernel, stride, padding, dilation)
    if min(counts) < 1 or columns != math.prod(counts):
        raise RuntimeError(
            f"Given output_size={lengths}, kernel_size={kernel}, dilation={dilation}, padding={low}, stride={stride}, "
            f"expected size of input's dimension {a.ndim - 1} to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, counts))} = {math.prod(counts)}, but got input.size({a.ndim - 1})={columns}."
        )
    _refuse_integers("col2im_out_cpu", a)
    return a.dtype, (*lead, rows // math.prod(kernel), *lengths)


def _refuse_integers(name: str, a: Type) -> None:
    if a.dtype.category == dtypes.INTEGER:
        raise NotImplementedError(f"\"{name}\" not implemented for '{a.dtype.title}'")


# x, kernel, stride, padding, dilation
_CASES: list[tuple[Any, ...]] = [
    ((1, 2, 4, 5), (2, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    ((2, 1, 5, 4), (2, 2), (2, 1), ((1, 1), (2, 2)), (1, 2)),
    ((2, 3, 3), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    ((0, 2, 3, 3), (2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1)),
]


def _samples(transposed: bool) -> list[Sample]:
    random = np.random.default_rng(0)
    samples = []
    for shape, *given in _CASES:
        parameters = dict(zip(("kernel", "stride", "padding", "dilation"), given, strict=True))
        x = random.standard_normal(shape)
        if transposed:
            samples.append(Sample(_spread(x, **parameters), lengths=shape[-2:], **parameters))
        else:
            samples.append(Sample(x, **parameters))
    return samples


def _torch_unfold(torch: Any, x: Any, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    return torch.nn.functional.unfold(x, kernel, dilation, [low for low, _ in padding], stride)


def _torch_fold(
    torch: Any, g: Any, lengths: Lengths, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths
) -> Any:
    return torch.nn.functional.fold(g, lengths, kernel, dilation, [low for low, _ in padding], stride)


def _to_columns(g: Any, kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    return im2col(g, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _from_columns(g: Any, types: tuple[Type], kernel: Lengths, stride: Lengths, padding: Padding, dilation: Lengths) -> Any:
    lengths = types[0].shape[types[0].ndim - len(kernel) :]
    return col2im(g, lengths=lengths, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


im2col = linear(
    "im2col",
    _spread,
    _im2col_type,
    parameters=("kernel", "stride", "padding", "dilation"),
    transpose=_from_columns,
    batch=batching.leading,
    samples=lambda: _samples(transposed=False),
    torch=_torch_unfold,
    grad_name="Im2ColBackward0",
)

col2im = linear(
    "col2im",
    in_single(_add_up),
    _col2im_type,
    parameters=("lengths", "kernel", "stride", "padding", "dilation"),
    transpose=_to_columns,
    batch=batching.leading,
    samples=lambda: _samples(transposed=True),
    torch=_torch_fold,
    grad_name="Col2ImBackward0",
)
