"""Dropout as modules."""

from __future__ import annotations

from typing import Any

from .. import functional
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, set each element to zero with probability `p`, and divide the others by ``1 - p``."""

    def forward(self, input: Any) -> Any:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """In training, set each channel of (N, C, length) to zero with probability `p`."""

    def forward(self, input: Any) -> Any:
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """In training, set each channel of (N, C, height, width) to zero with probability `p`."""

    def forward(self, input: Any) -> Any:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """In training, set each channel of (N, C, depth, height, width) to zero with probability `p`."""

    def forward(self, input: Any) -> Any:
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """In training, set each element with probability `p` to what SELU tends to; mean 0 and variance 1 stay."""

    def forward(self, input: Any) -> Any:
        return functional.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """Do what `AlphaDropout` does with whole channels."""

    def forward(self, input: Any) -> Any:
        return functional.feature_alpha_dropout(input, self.p, self.training)
