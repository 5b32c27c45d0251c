"""Interpolation: signals, images and volumes in another size.

Each dimension is done for itself: its elements in the new size are weighted sums of elements of the old one.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...functions.arguments import is_integer
from ...functions.declare import require_tensor
from ...functions.options import concrete
from ...primitives.movement import contiguous, reshape
from ...primitives.row_indexing import index_select
from ...tape.record import here, record
from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .composition import narrow, show, widen

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

# The number of spatial dimensions that a mode is for (0: any), and what ``grad_fn`` shows.
_MODES = {
    "nearest": (0, "UpsampleNearest{}DBackward0"),
    "nearest-exact": (0, "UpsampleNearestExact{}DBackward0"),
    "area": (0, ""),
    "linear": (1, "UpsampleLinear1DBackward0"),
    "bilinear": (2, "UpsampleBilinear2DBackward0"),
    "trilinear": (3, "UpsampleTrilinear3DBackward0"),
    "bicubic": (2, "UpsampleBicubic2DBackward0"),
}
_CUBIC = -0.75


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Return a tensor (N, C, ...) with its last one to three dimensions in another size.

    Args:
        input: the tensor.
        size: the new size: an int, or one for each dimension.
        scale_factor: instead of a size, what to multiply it by: a number, or one for each dimension.
        mode: "nearest", "nearest-exact", "area"; "linear", "bilinear" and "bicubic", "trilinear" for one, two and three dimensions.
        align_corners: whether the centres of the corner elements stay in place, and not the corners of these.
        recompute_scale_factor: whether the scale that is used is that of the rounded new size.
        antialias: not supported.

    >>> import tapegrad
    >>> interpolate(tapegrad.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    shape = require_tensor("interpolate", input)._node.type.shape
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    ndim = len(shape) - 2
    sizes, scales = _sizes(shape[2:], size, scale_factor, ndim)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or mode == "area":
        scales = None
    if antialias:
        raise NotImplementedError("interpolate(): antialias=True is not supported by tapegrad")
    _check_mode(mode, ndim)
    if min(sizes) <= 0 or 0 in shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {shape[2]}) output (H: {sizes[0]})"
        )
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[ndim - 1](input, tuple(sizes))
    return _resized(input, sizes, scales, mode, bool(align_corners))


def _sizes(lengths: Sequence[int], size: Any, scale_factor: Any, ndim: int) -> tuple[list[int], list[float] | None]:
    """Return the new lengths, and the scales that were given for them."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        for length in size if isinstance(size, (list, tuple)) else (size,):
            if not is_integer(length):
                raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, not {type(length).__name__}")
        if isinstance(size, (list, tuple)):
            _check_count(size, ndim, lengths, "output size of {}", "output size in (o1, o2, ...,oK)")
            return [int(length) for length in size], None
        return [int(size)] * ndim, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        _check_count(scale_factor, ndim, lengths, "scale_factor of shape {}", "scale_factor in (s1, s2, ...,sK)")
        scales = [float(scale) for scale in scale_factor]
    else:
        scales = [float(scale_factor)] * ndim
    return [math.floor(length * scale) for length, scale in zip(lengths, scales, strict=True)], scales


def _check_count(given: Sequence[Any], ndim: int, lengths: Sequence[int], what: str, form: str) -> None:
    if len(given) != ndim:
        subject = "output" if what.startswith("output") else "scale_factor"
        raise ValueError(
            f"Input and {subject} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(lengths)} and {what.format(given)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {form} "
            "format."
        )


def _check_mode(mode: str, ndim: int) -> None:
    wanted = _MODES.get(mode, (-1, ""))[0]
    if wanted in (0, ndim) and ndim in (1, 2, 3):
        return
    if wanted > 0 and mode != "bicubic" and ndim in (1, 2, 3):
        raise NotImplementedError(f"Got {ndim + 2}D input, but {mode} mode needs {wanted + 2}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim + 2}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _resized(input: Any, sizes: Sequence[int], scales: Sequence[float] | None, mode: str, align_corners: bool) -> Any:
    type_ = input._node.type
    start = here()
    result = widen(input)
    precision = np.float64 if type_.dtype is dtypes.float64 else np.float32
    for axis, size in enumerate(sizes, 2):
        scale = 0.0 if scales is None else scales[axis - 2]
        if size == type_.shape[axis] and scales is None:
            continue
        places, shares = _taps(type_.shape[axis], size, scale, mode, align_corners, precision)
        result = _weighted_sum(result, axis, places, shares)
    if result is input:
        result = contiguous(input)
    return show(_MODES[mode][1].format(len(sizes)), narrow(result, type_.dtype), start)


def _weighted_sum(x: Any, axis: int, places: Any, shares: Any) -> Any:
    """Return the sum over the rows of `places` of the elements there along an axis, times their shares."""
    terms = []
    for row, share in zip(places, shares, strict=True):
        term = record(index_select, (x, concrete(row, dtypes.int64)), (axis,))
        if share is not None:
            dtype = x._node.type.dtype
            factor = concrete(share.astype(dtypes.array_type(dtype)), dtype)
            term = term * reshape(factor, shape=(len(row), *(1,) * (x._node.type.ndim - axis - 1)))
        terms.append(term)
    return functools.reduce(lambda total, term: total + term, terms)


@functools.lru_cache(128)
def _taps(length: int, size: int, scale: float, mode: str, align_corners: bool, precision: Any) -> tuple[Any, Any]:
    """Return which elements make up each element of the new size (one row a summand), and their shares (None: all)."""
    step = _step(length, size, scale, align_corners, precision)
    targets = np.arange(size, dtype=precision)
    if mode == "nearest":
        return [np.minimum(np.floor(targets * step), length - 1).astype(np.int64)], [None]
    half = precision(0.5)
    if mode == "nearest-exact":
        return [np.minimum(np.floor((targets + half) * step), length - 1).astype(np.int64)], [None]
    sources = targets * step if align_corners else (targets + half) * step - half
    if mode == "bicubic":
        return _cubic_taps(sources, length)
    sources = np.maximum(sources, precision(0))
    first = np.minimum(sources.astype(np.int64), length - 1)
    share = np.clip(sources - first, precision(0), precision(1))
    return [first, np.minimum(first + 1, length - 1)], [1 - share, share]


def _step(length: int, size: int, scale: float, align_corners: bool, precision: Any) -> Any:
    """Return how far apart in the old size neighbours of the new size are."""
    if align_corners:
        return precision((length - 1) / (size - 1)) if size > 1 else precision(0)
    return precision(1.0 / scale) if scale > 0 else precision(length) / precision(size)


def _cubic_taps(sources: Any, length: int) -> tuple[Any, Any]:
    first = np.floor(sources)
    t = sources - first
    near = [((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1 for x in (t, 1 - t)]
    far = [((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC for x in (t + 1, 2 - t)]
    places = [np.clip(first.astype(np.int64) + offset, 0, length - 1) for offset in (-1, 0, 1, 2)]
    return places, [far[0], near[0], near[1], far[1]]


# PyTorch's older names


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """Do what `interpolate` does, under its old name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Do what `interpolate` does in its mode "nearest"."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Do what `interpolate` does in its mode "bilinear", with corners aligned."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
