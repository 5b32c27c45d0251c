"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...functions.joining import cat
from ...tensor import Tensor
from ..modules.naming import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """Return all parameters, flattened, one after the other.

    >>> import tapegrad
    >>> parameters_to_vector([tapegrad.zeros(1, 2), tapegrad.ones(1)])
    tensor([0., 0., 1.])
    """
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Let each parameter be its part of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count
