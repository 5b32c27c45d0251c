"""Automatic differentiation: backward, grad, grad modes."""

from ..tape.checks import set_inplace_checks
from . import graph
from .backward import backward, grad
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_inplace_checks",
]
