"""Adaptive pooling: windows by their number, which cover one to three dimensions."""

from __future__ import annotations

from typing import Any

from ...functions.arguments import checked
from ...functions.declare import require_tensor
from ...primitives import pooling as rows
from ...primitives.marks import keep
from ...tape.record import record
from .pooling import Lengths, check_expected, lengths_of

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
]


def _counts(name: str, ndim: int, output_size: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many windows there are along each dimension; None stands for as many as elements."""
    if ndim == 1:
        return lengths_of(name, "output_size", output_size, 1)
    if isinstance(output_size, int):
        return (output_size,) * ndim
    given = tuple(output_size)
    if len(shape) <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    if len(given) != ndim:
        internal = "(): internal error: output_size.size()" if "max" in name else ": output_size"
        raise RuntimeError(f"{name}{internal} must be {ndim}")
    return tuple([shape[axis - ndim] if count is None else int(count) for axis, count in enumerate(given)])


def _check_adaptive(name: str, ndim: int, shape: tuple[int, ...]) -> None:
    if ndim == 1:
        check_expected(name, shape)
    elif len(shape) not in (ndim + 1, ndim + 2):
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got{colon} {list(shape)}")


def _adaptive_avg_pool(ndim: int, input: Any, output_size: Any) -> Any:
    name = f"adaptive_avg_pool{ndim}d"
    shape = require_tensor(name, input)._node.type.shape
    counts = _counts(name, ndim, output_size, shape)
    _check_adaptive(name, ndim, shape)
    shown = ("SqueezeBackward1", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0")[ndim - 1]
    if ndim > 1 and all(count == 1 for count in counts):
        shown = "MeanBackward1"
    if any(count != 1 for count in counts):  # else it is the mean, which keeps nothing
        gradient = ("SqueezeBackward1", "AdaptiveAvgPool2DBackwardBackward0", "AdaptiveAvgPool3DBackwardBackward0")[ndim - 1]
        input = keep(input, shown=gradient)
    return record(rows.adaptive_avg_pool, (input,), (counts,), shown)


@checked
def adaptive_avg_pool1d(input: Any, output_size: Lengths) -> Any:
    """Return the means of `output_size` windows that cover the last dimension."""
    return _adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Return the means of windows that cover the last two dimensions, as many along each as `output_size` says.

    It is an int or a pair; None stands for as many windows as there are elements.
    """
    return _adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Return the means of windows that cover the last three dimensions; see `adaptive_avg_pool2d`."""
    return _adaptive_avg_pool(3, input, output_size)


def _adaptive_max_pool(ndim: int, input: Any, output_size: Any) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{ndim}d"
    shape = require_tensor(name, input)._node.type.shape
    counts = _counts(name, ndim, output_size, shape)
    _check_adaptive(name, ndim, shape)
    if min(counts) < 0:
        sizes = [*shape[: len(shape) - ndim], *[1] * (ndim == 1), *counts]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(counts)}: {sizes}")
    for axis, length in enumerate(shape[1:] if len(shape) == ndim + 2 else shape, len(shape) == ndim + 2):
        if length == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} "
                f"with dimension {axis} being empty"
            )
    shown = ("SqueezeBackward1", "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0")[ndim - 1]
    pair: tuple[Any, Any] = record(rows.adaptive_max_pool, (input,), (counts,), shown)
    return pair


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of windows that cover the last dimension; see `adaptive_max_pool2d`."""
    pair = _adaptive_max_pool(1, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> tuple[Any, Any]:
    """Return the largest elements of windows that cover the last dimension, and where they are."""
    return _adaptive_max_pool(1, input, output_size)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of windows that cover the last two dimensions, as many along each as `output_size` says.

    It is an int, or one for each dimension; None stands for as many windows as there are elements. With `return_indices`,
    return where the elements are, too.
    """
    pair = _adaptive_max_pool(2, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> tuple[Any, Any]:
    """Return the largest elements of windows that cover the last two dimensions, and where they are."""
    return _adaptive_max_pool(2, input, output_size)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of windows that cover the last three dimensions; see `adaptive_max_pool2d`."""
    pair = _adaptive_max_pool(3, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> tuple[Any, Any]:
    """Return the largest elements of windows that cover the last three dimensions, and where they are."""
    return _adaptive_max_pool(3, input, output_size)
