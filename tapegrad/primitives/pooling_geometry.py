"""The geometry of pooling: where windows lie, and the errors for those that do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from ..tape.types import Shape, Type
from .windows import Lengths, Padding, window_counts, window_spans

_AXIS_NAMES = "THW"


def pooling_padding(
    lengths: Sequence[int], kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool
) -> Padding:
    """Return PyTorch's padding as pairs; in ceil mode the high side grows, so that a last, partial window fits in.

    Such a window must start inside of the input or the low padding, or it is dropped.

    >>> pooling_padding((5, 6), (2, 2), (2, 2), (0, 0), (1, 1), True)
    ((0, 1), (0, 0))
    """
    pairs = []
    for length, span, step, size in zip(lengths, window_spans(kernel, dilation), stride, padding, strict=True):
        high = size
        if ceil_mode:
            last = -(-(length + 2 * size - span) // step) * step
            if last >= length + size:
                last -= step
            high = max(last + span - length - size, size)
        pairs.append((size, high))
    return tuple(pairs)


def adaptive_windows(length: int, count: int) -> list[slice]:
    """Return PyTorch's adaptive windows along one dimension: they cover it evenly, and may overlap.

    >>> adaptive_windows(5, 2)
    [slice(0, 3, None), slice(2, 5, None)]
    """
    return [slice(length * place // count, -(-length * (place + 1) // count)) for place in range(count)]


def divides(lengths: Sequence[int], counts: Lengths) -> bool:
    """Whether the adaptive windows are all of one size and do not overlap."""
    return all(count and length % count == 0 for length, count in zip(lengths, counts, strict=True))


def pooled_type(
    function: str, a: Type, kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool
) -> Shape:
    """Return the shape of the result, or raise what PyTorch raises, which names the function where there are three dimensions."""
    ndim = len(kernel)
    axes = _AXIS_NAMES[3 - ndim :]
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for what, prefix, values in (("stride", "d", stride), ("kernel size", "k", kernel), ("dilation", "dilation", dilation)):
        if min(values) <= 0:
            got = " ".join([f"{prefix}{axis}: {value}" for axis, value in zip(axes, values, strict=True)])
            raise RuntimeError(f"{what} should be greater than zero, but got {got}")
    for size, gap, low in zip(kernel, dilation, padding, strict=True):
        if low < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {low}")
        if low > (gap * (size - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={low}, kernel_size={size} and dilation={gap}"
            )
    lengths = a.shape[a.ndim - ndim :]
    if ndim == 3 < a.ndim and 0 in a.shape[a.ndim - 4 :]:
        raise RuntimeError(
            f"{function}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(a.shape)} and non-batch dimension 0 has length zero!"
        )
    if a.ndim < ndim or 0 in lengths:
        raise RuntimeError(
            f"Expected {ndim + 1}D or {ndim + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{list(a.shape)}"
        )
    pairs = pooling_padding(lengths, kernel, stride, padding, dilation, ceil_mode)
    counts = window_counts(lengths, kernel, stride, pairs, dilation)
    if min(counts) < 1:
        planes = a.shape[a.ndim - ndim - 1] if a.ndim > ndim else 1
        given, calculated = ["x".join(map(str, [planes, *sizes])) for sizes in (lengths, counts)]
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({calculated}). Output size is too small")
    return (*a.shape[: a.ndim - ndim], *counts)


def adaptive_type(name: str, a: Type, counts: Lengths, may_be_empty: bool = False) -> Shape:
    """Return the shape of the result, or raise what PyTorch raises."""
    name, ndim = f"{name}{len(counts)}d", len(counts)
    if min(counts) < 0:
        received = "{" + ", ".join(map(str, counts)) + "}"
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {received}")
    if a.ndim < ndim:
        raise RuntimeError(f"{name}: expected an input of at least {ndim} dimensions, but got one of size {list(a.shape)}")
    for axis in range(a.ndim - ndim, a.ndim) if not may_be_empty else ():
        if a.shape[axis] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but input has sizes {list(a.shape)} with dimension {axis} being empty"
            )
    return (*a.shape[: a.ndim - ndim], *counts)


def refuse(name: str, a: Type, refused: bool) -> None:
    """Raise PyTorch's error for a dtype that the operation does not take."""
    if refused:
        raise NotImplementedError(f"\"{name}\" not implemented for '{a.dtype.title}'")
