"""Size: the shape of a tensor, a tuple that prints as PyTorch's does."""

from __future__ import annotations

from typing import Any


class Size(tuple[int, ...]):
    """The lengths of a tensor's dimensions.

    >>> Size((2, 3)), Size((2, 3)).numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        total = 1
        for length in self:
            total *= length
        return total

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)
