"""Device: tensors are on the CPU."""

from __future__ import annotations

from typing import Any


class Device:
    """Where a tensor is. There is only the CPU.

    >>> Device("cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index")

    type: str
    index: Any

    def __init__(self, name: str | int | Device, index: int | None = None) -> None:
        if isinstance(name, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if isinstance(name, Device):
            index = name.index
            name = name.type
        kind, _, number = str(name).partition(":")
        if kind == "cuda":
            raise AssertionError("tapegrad is not compiled with CUDA enabled: tensors are on the CPU")
        if kind != "cpu":
            raise RuntimeError(f"Expected one of cpu device type at start of device string: {kind}")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))
