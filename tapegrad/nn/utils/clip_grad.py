"""Limits on gradients."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

from ...autograd.grad_mode import no_grad
from ...functions.creation import zeros
from ...functions.joining import stack
from ...functions.norms import vector_norm
from ...tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _as_list(tensors: Tensors) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Any]) -> list[Any]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Return the norm of order `norm_type` of all elements of the tensors together.

    >>> import tapegrad
    >>> get_total_norm([tapegrad.tensor([3.0]), tapegrad.tensor([4.0])])
    tensor(5.)
    """
    found = _as_list(tensors)
    if not found:
        return zeros(())
    norms = [vector_norm(tensor, float(norm_type)) for tensor in found]
    total = vector_norm(stack(norms), float(norm_type))
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Multiply the parameters' gradients such that a total norm of `total_norm` becomes `max_norm`, if it is larger."""
    gradients = _gradients(_as_list(parameters))
    if gradients:
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Multiply the parameters' gradients such that their total norm is at most `max_norm`; return what it was.

    Args:
        parameters: a tensor, or several.
        max_norm: the largest norm.
        norm_type: the order of the norm.
        error_if_nonfinite: whether a norm that is not finite raises RuntimeError.
        foreach: accepted for PyTorch's sake.
    """
    found = _as_list(parameters)
    if isinstance(parameters, types.GeneratorType) and not found:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(_gradients(found), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the parameters' gradients to the interval from ``-clip_value`` to ``clip_value``."""
    limit = float(clip_value)
    for gradient in _gradients(_as_list(parameters)):
        gradient.clamp_(min=-limit, max=limit)
