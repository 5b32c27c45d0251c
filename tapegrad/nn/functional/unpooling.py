"""The way back from max pooling: the largest elements, put where they were."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...primitives.gathering import scatter
from ...primitives.movement import reshape
from ...tape import constants
from ...tape.buffers import is_concrete
from ...tape.record import here, look_at, record
from .composition import show
from .pooling import Lengths, lengths_of, strides_of

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _unpool(ndim: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    """Return zeros with the elements put where their indices say."""
    name = f"max_unpool{ndim}d"
    type_ = require_tensor(name, input)._node.type
    index_type = require_tensor(name, indices, "indices", 2)._node.type
    kernel = lengths_of(name, "kernel_size", kernel_size, ndim)
    padding = lengths_of(name, "padding", padding, ndim)
    lengths = _unpooled_lengths(type_.shape, kernel, strides_of(name, stride, kernel), padding, output_size)
    if index_type.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {index_type.dtype.title}")
    if index_type.shape != type_.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(type_.shape)}) but got indices tensor with "
            f"shape: {list(index_type.shape)}"
        )
    if is_concrete(indices):
        _check_unpool_indices(look_at(indices), lengths)
    lead, plane = type_.shape[: type_.ndim - ndim], math.prod(type_.shape[type_.ndim - ndim :])
    count = math.prod(lead)
    start = here()
    flat, places = (reshape(tensor, shape=(count, plane)) for tensor in (input, indices))
    empty = constants.zeros((count, math.prod(lengths)), type_.dtype)
    result = reshape(record(scatter, (empty, places, flat), (1,)), shape=(*lead, *lengths))
    return show(("SqueezeBackward1", "MaxUnpool2DBackward0", "MaxUnpool3DBackward0")[ndim - 1], result, start)


def _check_unpool_indices(indices: Any, lengths: tuple[int, ...]) -> None:
    outside = (indices < 0) | (indices >= math.prod(lengths))
    if outside.any():
        volumes = "x".join(map(str, lengths if len(lengths) > 1 else (*lengths, 1)))
        raise RuntimeError(f"Found an invalid max index: {indices[outside].flat[0]} (output volumes are of size {volumes})")


def _unpooled_lengths(
    shape: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], output_size: Any
) -> tuple[int, ...]:
    ndim = len(kernel)
    default = [
        (length - 1) * step + size - 2 * pad
        for length, step, size, pad in zip(shape[len(shape) - ndim :], stride, kernel, padding, strict=True)
    ]
    if output_size is None:
        return tuple(default)
    given = list(output_size)
    if len(given) == ndim + 2:
        given = given[2:]
    if len(given) != ndim:
        raise ValueError(
            f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it has a length of '{len(given)}'"
        )
    for axis, (length, expected, step) in enumerate(zip(given, default, stride, strict=True)):
        if not expected - step < length < expected + step:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {axis} must be between {expected - step} and {expected + step})'
            )
    return tuple(given)


@checked
def max_unpool1d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:
    """Return zeros with the elements that `max_pool1d` found put back where they were."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@checked
def max_unpool2d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:
    """Return zeros with the elements that `max_pool2d` found put back where they were."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@checked
def max_unpool3d(
    input: Any, indices: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None
) -> Any:
    """Return zeros with the elements that `max_pool3d` found put back where they were."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
