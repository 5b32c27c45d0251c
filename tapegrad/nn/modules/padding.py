"""Padding as modules."""

from __future__ import annotations

from typing import Any

from .. import functional
from .module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Put elements before and behind the last dimensions; `padding` is one int, or pairs from the last dimension on."""

    __constants__ = ["padding"]
    _mode: str
    _ndim: int  # how many dimensions are padded

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self._ndim)

    def forward(self, input: Any) -> Any:
        return functional.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Any) -> Any:
        expected = (self._ndim + 1, self._ndim + 2)
        if input.ndim not in expected:
            raise ValueError(f"expected {expected[0]}D or {expected[1]}D input (got {input.ndim}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPad):
    """Put a number around the last dimension."""

    _ndim = 1


class ConstantPad2d(_ConstantPad):
    """Put a number around the last two dimensions."""

    _ndim = 2


class ConstantPad3d(_ConstantPad):
    """Put a number around the last three dimensions."""

    _ndim = 3


class ZeroPad1d(ConstantPad1d):
    """Put zeros around the last dimension."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Put zeros around the last two dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Put zeros around the last three dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """Put what is seen in a mirror on the edge around the last dimension."""

    _mode, _ndim = "reflect", 1


class ReflectionPad2d(_Pad):
    """Put what is seen in a mirror on the edge around the last two dimensions."""

    _mode, _ndim = "reflect", 2


class ReflectionPad3d(_Pad):
    """Put what is seen in a mirror on the edge around the last three dimensions."""

    _mode, _ndim = "reflect", 3


class ReplicationPad1d(_Pad):
    """Put what is on the edge around the last dimension."""

    _mode, _ndim = "replicate", 1


class ReplicationPad2d(_Pad):
    """Put what is on the edge around the last two dimensions."""

    _mode, _ndim = "replicate", 2


class ReplicationPad3d(_Pad):
    """Put what is on the edge around the last three dimensions."""

    _mode, _ndim = "replicate", 3


class CircularPad1d(_CircularPad):
    """Put what is at the other end around the last dimension."""

    _ndim = 1


class CircularPad2d(_CircularPad):
    """Put what is at the other end around the last two dimensions."""

    _ndim = 2


class CircularPad3d(_CircularPad):
    """Put what is at the other end around the last three dimensions."""

    _ndim = 3
