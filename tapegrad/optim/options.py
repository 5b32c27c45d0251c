"""Checks of the options that optimizers have in common, with PyTorch's errors."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


def check_rate(lr: Any) -> None:
    """Raise ValueError for a learning rate that is negative, or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_not_negative(name: str, value: Any) -> None:
    """Raise ValueError for a negative option, and for NaN."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError for choices of PyTorch's implementation that exclude each other; here there is only one."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
