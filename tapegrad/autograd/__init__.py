"""Automatic differentiation: backward, grad, grad modes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..tape.checks import set_inplace_checks
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from . import anomaly_mode, graph
    from .anomaly_mode import detect_anomaly, set_detect_anomaly
    from .engine import backward, grad
    from .variable import Variable

__all__ = [
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_inplace_checks",
]

_MODULES = {
    "backward": "engine",
    "grad": "engine",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "Variable": "variable",
}


def __getattr__(name: str) -> Any:
    """Load the reverse sweep, and what few programs use, when it is first asked for."""
    if name in _MODULES:
        found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return found
    if name in ("anomaly_mode", "graph"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
