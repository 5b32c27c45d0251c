"""Layouts and memory formats: how the elements of a tensor lie in memory."""

from __future__ import annotations

from .tape.types import Shape, contiguous_strides


class layout:  # noqa: N801 - PyTorch's name for it
    """Whether a tensor is an array of all its elements. There is only `strided`.

    >>> strided
    torch.strided
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name


class memory_format:  # noqa: N801 - PyTorch's name for it
    """The order of the dimensions in memory that a function is asked for.

    >>> channels_last
    torch.channels_last
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

_RANKS = {channels_last: 4, channels_last_3d: 5}


def format_strides(shape: Shape, wanted: memory_format) -> Shape:
    """Return the strides, in elements, of a new tensor in this memory format.

    Raises:
        RuntimeError: the format is for another number of dimensions, or is `preserve_format`.

    >>> format_strides((1, 2, 3, 4), channels_last)
    (24, 1, 8, 2)
    """
    if wanted is contiguous_format:
        return contiguous_strides(shape)
    rank = _RANKS.get(wanted)
    if rank is None:
        raise RuntimeError("unsupported memory format Preserve")
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {wanted.name} format")
    channels_inside = contiguous_strides((shape[0], *shape[2:], shape[1]))
    return channels_inside[0], channels_inside[-1], *channels_inside[1:-1]


def preserved_strides(shape: Shape, strides: Shape) -> Shape:
    """Return the strides of a new tensor that is laid out like one with these strides, but without gaps or overlaps.

    >>> preserved_strides((3, 2), (1, 3)), preserved_strides((2, 3), (12, 2)), preserved_strides((2, 3), (0, 1))
    ((1, 3), (3, 1), (3, 1))
    """
    if is_dense(shape, strides):
        return strides
    result = [0] * len(shape)
    step = 1
    for axis in reversed(memory_order(shape, strides)):
        result[axis] = step
        step *= max(shape[axis], 1)
    return tuple(result)


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill their stretch of memory, each once."""
    if 0 in shape:
        return True
    expected = 1
    for stride, length in sorted([(stride, length) for stride, length in zip(strides, shape, strict=True) if length != 1]):
        if stride != expected:
            return False
        expected *= length
    return True


def memory_order(shape: Shape, strides: Shape) -> list[int]:
    """Return the axes from the outermost to the innermost in memory; an axis of stride 0 keeps its place.

    >>> memory_order((2, 3, 4), (1, 8, 2))
    [1, 2, 0]
    """
    order = list(range(len(shape)))
    for last in range(1, len(order)):  # insertion sort: being inside is not transitive where strides are 0
        place = last
        for other in range(last - 1, -1, -1):
            comparison = _compare(shape, strides, order[other], order[place])
            if comparison > 0:
                order[other], order[place] = order[place], order[other]
                place = other
            elif comparison < 0:
                break
    return order


def _compare(shape: Shape, strides: Shape, outer: int, inner: int) -> int:
    """Return 1 if the axes are in the wrong order in memory, -1 if in the right one, 0 if it does not matter."""
    if strides[outer] == 0 or strides[inner] == 0:
        return 0
    if strides[outer] != strides[inner]:
        return 1 if strides[outer] < strides[inner] else -1
    return 1 if shape[outer] < shape[inner] else 0
